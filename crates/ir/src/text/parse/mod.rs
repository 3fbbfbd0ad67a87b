//! The parser of the text form.
//!
//! Three passes over the tokens: items with their headers and declarations, so that everything may
//! be used before it stands; then addresses in initialisers; then function bodies. An error costs
//! the rest of its line: parsing goes on at the next.

mod body;
mod header;
mod inst;
mod item;

use super::lex::{Tok, Token, lex};
use super::literal;
use crate::module::{Loc, LocId, Module, Symbol};
use header::Scope;
pub(in crate::text) use inst::argument_ty;
use isa::{Diagnostic, Diagnostics, FileId, Span};
use rustc_hash::FxHashMap;

/// Longest text in bytes.
pub const MAX_TEXT: usize = 64 << 20;

/// Most registers that the counted declarations (`reg %r<100>: b32`) of a module can make.
pub const MAX_COUNTED_REGS: u32 = 1 << 16;

/// What a step of the parser gives: errors are boxed because they are large and rare.
type Parse<T> = Result<T, Box<Diagnostic>>;

/// Reads a module.
///
/// `file` is put into the spans of places and diagnostics. The module is not verified.
///
/// # Errors
/// All errors found, each with its place.
pub fn parse(file: FileId, text: &str) -> Result<Module, Diagnostics> {
    if text.len() > MAX_TEXT {
        let mut out = Diagnostics::new();
        let message = format!("the text has {} bytes; {MAX_TEXT} is the most", text.len());
        out.push(Diagnostic::error("ir::limit", message).at(Span::new(file, 0, 0), ""));
        return Err(out);
    }
    let mut parser = Parser {
        text,
        tokens: lex(file, text),
        at: 0,
        out: Diagnostics::new(),
        module: Module::new(),
        symbols: FxHashMap::default(),
        relocs: Vec::new(),
        scopes: Vec::new(),
        counted_regs: 0,
    };
    parser.items();
    parser.initialiser_addresses();
    for scope in std::mem::take(&mut parser.scopes) {
        parser.body(&scope);
    }
    if parser.out.has_errors() { Err(parser.out) } else { Ok(parser.module) }
}

/// The tokens, how far they are read, and what was made of them so far.
struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    out: Diagnostics,
    module: Module,
    /// Symbols of the module.
    symbols: FxHashMap<String, Symbol>,
    /// Where `reloc` clauses stand: index of the variable, index of the token.
    relocs: Vec<(usize, usize)>,
    /// Functions whose bodies are to be read.
    scopes: Vec<Scope>,
    counted_regs: u32,
}

fn error(span: Span, code: &'static str, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, message).at(span, ""))
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token {
        self.ahead(0)
    }

    /// The token `n` further on; past the end, the last one, which is of kind `End`.
    fn ahead(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += usize::from(token.kind != Tok::End);
        token
    }

    fn slice(&self, span: Span) -> &'t str {
        self.text.get(span.range()).unwrap_or("")
    }

    fn is(&self, punct: u8) -> bool {
        self.peek().kind == Tok::Punct(punct)
    }

    fn eat(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punct: u8) -> Parse<Span> {
        if self.is(punct) {
            Ok(self.next().span)
        } else {
            Err(self.unexpected(&format!("`{}`", char::from(punct))))
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().kind == Tok::Word && self.slice(self.peek().span) == word
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// "expected this, found what stands here".
    fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let token = self.peek();
        let found = match token.kind {
            Tok::Newline => "the end of the line".to_owned(),
            Tok::End => "the end of the text".to_owned(),
            Tok::Unterminated => {
                return error(token.span, "ir::syntax", "a string without its closing quote");
            }
            _ => format!("`{}`", self.slice(token.span)),
        };
        error(token.span, "ir::syntax", format!("expected {expected}, found {found}"))
    }

    fn skip_newlines(&mut self) {
        while self.peek().kind == Tok::Newline {
            self.at += 1;
        }
    }

    /// Past the end of this line.
    fn skip_line(&mut self) {
        while !matches!(self.peek().kind, Tok::Newline | Tok::End) {
            self.at += 1;
        }
        self.next();
    }

    /// Nothing more may stand on this line.
    fn end_of_line(&mut self) -> Parse<()> {
        match self.peek().kind {
            Tok::Newline | Tok::End => {
                self.next();
                Ok(())
            }
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    /// Reports an error and goes on at the next line.
    fn recover(&mut self, result: Parse<()>) {
        if let Err(diagnostic) = result {
            self.out.push(*diagnostic);
            self.skip_line();
        }
    }

    /// What stands between an opening bracket, already read, and `close`, separated by commas.
    /// Lines may end in between.
    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        loop {
            self.skip_newlines();
            if self.eat(close) {
                return Ok(());
            }
            item(self)?;
            self.skip_newlines();
            if !self.eat(b',') {
                self.expect(close)?;
                return Ok(());
            }
        }
    }

    /// The name in a token, without sigil and quotes.
    fn name_of(&self, token: Token) -> Parse<String> {
        let text = self.slice(token.span).trim_start_matches(['%', '@']);
        if !text.starts_with('"') {
            return Ok(text.to_owned());
        }
        let bytes = literal::unquote(text).map_err(|e| error(token.span, "ir::string", e))?;
        String::from_utf8(bytes)
            .map_err(|_| error(token.span, "ir::string", "a name must be valid UTF-8"))
    }

    /// A name with a sigil (or without, for words and strings) of one of these kinds.
    fn name(&mut self, kinds: &[Tok], what: &str) -> Parse<(String, Span)> {
        if !kinds.contains(&self.peek().kind) {
            return Err(self.unexpected(what));
        }
        let token = self.next();
        Ok((self.name_of(token)?, token.span))
    }

    /// An unsigned number.
    fn unsigned(&mut self, what: &str) -> Parse<u64> {
        if self.peek().kind != Tok::Number {
            return Err(self.unexpected(what));
        }
        let token = self.next();
        let value = literal::read(self.slice(token.span), false, None)
            .map_err(|e| error(token.span, "ir::number", e))?;
        u64::try_from(value)
            .map_err(|_| error(token.span, "ir::number", format!("{what} does not fit 64 bits")))
    }

    /// An unsigned 32-bit number.
    fn unsigned32(&mut self, what: &str) -> Parse<u32> {
        let span = self.peek().span;
        let value = self.unsigned(what)?;
        u32::try_from(value)
            .map_err(|_| error(span, "ir::number", format!("{what} does not fit 32 bits")))
    }

    /// `+ N` or `- N` after an address, if one follows.
    fn offset(&mut self) -> Parse<Option<i64>> {
        let negative = self.is(b'-');
        if !negative && !self.is(b'+') {
            return Ok(None);
        }
        self.next();
        let span = self.peek().span;
        let magnitude = self.unsigned("a byte offset")?;
        let value =
            if negative { 0i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() };
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(error(span, "ir::number", "the byte offset does not fit 64 bits")),
        }
    }

    /// Enters the place of an item in the table.
    fn place(&mut self, span: Span) -> LocId {
        self.module.add_loc(Loc { span, line: None })
    }

    /// A symbol of the module, or of the function before it.
    fn symbol(&mut self, scope: Option<&Scope>) -> Parse<Symbol> {
        let global = self.peek().kind == Tok::ModuleSym;
        let (name, span) = self.name(&[Tok::Sym, Tok::ModuleSym], "a symbol such as `@name`")?;
        let own = scope.filter(|_| !global).and_then(|s| s.symbols.get(&name));
        if let Some(&symbol) = own.or_else(|| self.symbols.get(&name)) {
            return Ok(symbol);
        }
        let known = scope.map(|s| s.symbols.keys()).into_iter().flatten();
        let help = closest(&name, known.chain(self.symbols.keys()).map(String::as_str));
        let help = help.map(|name| format!("@{name}"));
        let message = format!("nothing is named `@{name}`");
        Err(suggest(error(span, "ir::unknown-name", message), help.as_deref()))
    }
}

/// Adds "did you mean".
fn suggest(mut diagnostic: Box<Diagnostic>, word: Option<&str>) -> Box<Diagnostic> {
    diagnostic.help = word.map(|w| format!("did you mean `{w}`?")).or(diagnostic.help);
    diagnostic
}

/// The word nearest to `word`, at most two edits away (one, for short words). The first in order of
/// the words, so that the answer does not depend on the order of a table.
fn closest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = match word.len() {
        0 | 1 => return None,
        2..5 => 1,
        _ => 2,
    };
    let near = words.take(4096).filter_map(|w| Some((edits(word, w, most)?, w)));
    near.min().map(|(_, w)| w)
}

/// Edits between two words, if they are at most `most`.
fn edits(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len() > 40 || a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().filter(|&n| n <= most)
}
