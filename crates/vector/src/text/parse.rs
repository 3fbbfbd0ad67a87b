//! The parser.

use super::parts::{Found, Part, number};
use crate::function::{
    Block, BlockData, Condition, Function, InstData, Target, Terminator, Type, Value,
};
use crate::op::Op;
use thiserror::Error;

/// Most values and blocks of a text.
const MOST: i128 = 1 << 20;

/// What is wrong with a text, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {kind}")]
pub struct ParseError {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// Something else should be here.
    #[error("expected {0}, found `{1}`")]
    Expected(&'static str, String),
    /// There is no such operation, or it lacks a part.
    #[error("`{0}` is not an operation with these words, numbers and attributes")]
    Operation(String),
    /// An operation has numbers or attributes that it does not use.
    #[error("`{0}` is not a part of the operation")]
    Surplus(String),
    /// Blocks do not have the numbers 0, 1 and so on.
    #[error("expected block{0}")]
    BlockOrder(usize),
    /// A target does not exist.
    #[error("there is no block{0}")]
    NoBlock(usize),
    /// A value is defined in two places.
    #[error("v{0} is defined twice")]
    DefinedTwice(usize),
    /// A block has no end, or goes on behind it.
    #[error("each block ends with one of `jump`, `branch`, `switch` and `end`")]
    BlockEnd,
}

use ParseErrorKind::{BlockEnd, BlockOrder, DefinedTwice, Expected, NoBlock, Operation, Surplus};

type Result<T> = std::result::Result<T, ParseErrorKind>;

/// Parses a function. Empty lines and comments, which begin with `//`, are passed over. Whether the
/// function is well-formed, [`Function::verify`] says.
///
/// # Errors
/// Returns the first error.
pub fn parse(text: &str) -> std::result::Result<Function, ParseError> {
    let mut parser = Parser::default();
    let mut last = 1;
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        let tokens = tokens(line);
        if tokens.is_empty() {
            continue;
        }
        last = number + 1;
        parser
            .line(&mut Tokens { list: &tokens })
            .map_err(|kind| ParseError { line: last, kind })?;
    }
    parser.finish().map_err(|kind| ParseError { line: last, kind })
}

/// Splits a line into words and punctuation.
fn tokens(line: &str) -> Vec<&str> {
    let mut list = Vec::new();
    for piece in line.split_whitespace() {
        let mut rest = piece;
        while let Some(at) = rest.find([',', ':', '(', ')', '=', '{', '}']) {
            if at > 0 {
                list.push(&rest[..at]);
            }
            list.push(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            list.push(rest);
        }
    }
    list
}

struct Tokens<'a, 't> {
    list: &'a [&'t str],
}

impl<'t> Tokens<'_, 't> {
    fn peek(&self) -> Option<&'t str> {
        self.list.first().copied()
    }

    fn next(&mut self, what: &'static str) -> Result<&'t str> {
        let (first, rest) = self.list.split_first().ok_or(Expected(what, String::new()))?;
        self.list = rest;
        Ok(first)
    }

    /// Takes a token if it is next; returns whether it was.
    fn accept(&mut self, token: &str) -> bool {
        let is = self.peek() == Some(token);
        if is {
            self.list = &self.list[1..];
        }
        is
    }

    /// Takes a list in parentheses, with commas between its items.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect("(")?;
        let mut list = Vec::new();
        while !self.accept(")") {
            if !list.is_empty() {
                self.expect(",")?;
            }
            list.push(item(self)?);
        }
        Ok(list)
    }

    fn expect(&mut self, token: &'static str) -> Result<()> {
        match self.next(token)? {
            found if found == token => Ok(()),
            found => Err(Expected(token, found.to_owned())),
        }
    }

    fn end(&self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(token) => Err(Expected("the end of the line", token.to_owned())),
        }
    }

    /// Takes a letter or a word with a number behind it.
    fn index(&mut self, prefix: &str, what: &'static str) -> Result<usize> {
        let token = self.next(what)?;
        let digits =
            token.strip_prefix(prefix).filter(|d| d.starts_with(|c: char| c.is_ascii_digit()));
        let index = digits.and_then(number).filter(|&n| n < MOST);
        index.map(|n| n as usize).ok_or_else(|| Expected(what, token.to_owned()))
    }
}

/// Returns whether a token is a value.
fn is_value(token: &str) -> bool {
    token.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[derive(Default)]
struct Parser {
    function: Function,
    /// Whether values are defined.
    defined: Vec<bool>,
    /// Whether the last block has its end.
    ended: bool,
    /// The greatest number of a target.
    most_target: Option<usize>,
}

impl Parser {
    fn line(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<()> {
        let first = tokens.peek().unwrap_or_default();
        if first.starts_with("block") {
            return self.label(tokens);
        }
        if self.function.block_count() == 0 || self.ended {
            return Err(BlockEnd);
        }
        let block = Block::new(self.function.block_count() - 1);
        if let Some(end) = self.terminator(first, tokens)? {
            tokens.end()?;
            self.function.set_end(block, end);
            self.ended = true;
            return Ok(());
        }
        let inst = self.inst(tokens)?;
        tokens.end()?;
        let inst = self.function.add_data(inst);
        self.function.block_mut(block).insts.push(inst);
        Ok(())
    }

    fn label(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<()> {
        let count = self.function.block_count();
        if count > 0 && !self.ended {
            return Err(BlockEnd);
        }
        if tokens.index("block", "a block")? != count {
            return Err(BlockOrder(count));
        }
        self.ended = false;
        let block = self.function.add_block();
        let params = tokens.list(|tokens| self.definition(tokens))?;
        tokens.expect(":")?;
        tokens.end()?;
        let BlockData { params: list, .. } = self.function.block_mut(block);
        *list = params;
        Ok(())
    }

    /// Takes a value with its type.
    fn definition(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<Value> {
        let index = tokens.index("v", "a value")?;
        tokens.expect(":")?;
        let name = tokens.next("a type")?;
        let ty = Type::NAMES.iter().find(|n| n.1 == name);
        let ty = ty.ok_or_else(|| Expected("a type", name.to_owned()))?.0;
        let value = self.value(index);
        if std::mem::replace(&mut self.defined[index], true) {
            return Err(DefinedTwice(index));
        }
        self.function.set_ty(value, ty);
        Ok(value)
    }

    /// Returns the value of a number.
    fn value(&mut self, index: usize) -> Value {
        while self.function.value_count() <= index {
            self.function.add_value(Type::Scalar);
            self.defined.push(false);
        }
        Value::new(index)
    }

    fn use_of(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<Value> {
        let index = tokens.index("v", "a value")?;
        Ok(self.value(index))
    }

    fn target(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<Target> {
        let block = tokens.index("block", "a block")?;
        self.most_target = self.most_target.max(Some(block));
        let args = tokens.list(|tokens| self.use_of(tokens))?;
        Ok(Target { block: Block::new(block), args })
    }

    fn terminator(
        &mut self,
        name: &str,
        tokens: &mut Tokens<'_, '_>,
    ) -> Result<Option<Terminator>> {
        if !matches!(name, "jump" | "branch.any" | "branch.bit" | "switch" | "end") {
            return Ok(None);
        }
        tokens.next("an end")?;
        Ok(Some(match name {
            "jump" => Terminator::Jump(self.target(tokens)?),
            "end" => Terminator::End,
            _ => {
                let value = self.use_of(tokens)?;
                tokens.expect(",")?;
                if name == "switch" {
                    return self.cases(value, tokens).map(Some);
                }
                let yes = self.target(tokens)?;
                tokens.expect(",")?;
                let no = self.target(tokens)?;
                let any = name == "branch.any";
                let condition = if any { Condition::Any(value) } else { Condition::Bit(value) };
                Terminator::Branch(condition, yes, no)
            }
        }))
    }

    fn cases(&mut self, value: Value, tokens: &mut Tokens<'_, '_>) -> Result<Terminator> {
        let mut cases = Vec::new();
        while tokens.peek().is_some_and(|token| !token.starts_with("block")) {
            let token = tokens.next("a number")?;
            let case = number(token).and_then(|n| n.try_into().ok());
            let case = case.ok_or_else(|| Expected("a number", token.to_owned()))?;
            tokens.expect(":")?;
            cases.push((case, self.target(tokens)?));
            tokens.expect(",")?;
        }
        Ok(Terminator::Switch(value, cases, self.target(tokens)?))
    }

    fn inst(&mut self, tokens: &mut Tokens<'_, '_>) -> Result<InstData> {
        let mut results = Vec::new();
        if tokens.peek().is_some_and(is_value) {
            results.push(self.definition(tokens)?);
            while tokens.accept(",") {
                results.push(self.definition(tokens)?);
            }
            tokens.expect("=")?;
        }
        let name = tokens.next("an operation")?;
        let (mut args, mut numbers) = (Vec::new(), Vec::new());
        while tokens.peek().is_some_and(|token| token != "{") {
            if !args.is_empty() || !numbers.is_empty() {
                tokens.expect(",")?;
            }
            match tokens.peek() {
                Some(token) if is_value(token) => args.push(self.use_of(tokens)?),
                _ => numbers.push(tokens.next("a value")?),
            }
        }
        let attributes = attributes(tokens)?;
        let words: Vec<&str> = name.split('.').collect();
        let (words, numbers) = (words.into_iter(), numbers.into_iter());
        let mut found = Found { words, numbers, attributes };
        let op = Op::take(&mut found).ok_or_else(|| Operation(name.to_owned()))?;
        let rest = found.words.next().or_else(|| found.numbers.next());
        let rest = rest.or_else(|| found.attributes.first().map(|a| a.0));
        match rest {
            Some(surplus) => Err(Surplus(surplus.to_owned())),
            None => Ok(InstData { op, args: args.into(), results: results.into() }),
        }
    }

    fn finish(self) -> Result<Function> {
        if !self.ended {
            return Err(BlockEnd);
        }
        match self.most_target {
            Some(most) if most >= self.function.block_count() => Err(NoBlock(most)),
            _ => Ok(self.function),
        }
    }
}

/// Takes attributes in braces, if there are any: names with their values.
fn attributes<'t>(tokens: &mut Tokens<'_, 't>) -> Result<Vec<(&'t str, Vec<&'t str>)>> {
    let mut list = Vec::new();
    if !tokens.accept("{") {
        return Ok(list);
    }
    loop {
        let name = tokens.next("an attribute")?;
        let mut values = Vec::new();
        loop {
            match tokens.next("`,` or `}`")? {
                "," => break,
                "}" => {
                    list.push((name, values));
                    return Ok(list);
                }
                value => values.push(value),
            }
        }
        list.push((name, values));
    }
}
