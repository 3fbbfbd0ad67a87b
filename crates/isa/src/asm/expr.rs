//! Expressions: parsed once, evaluated when their symbols are known.
//!
//! An expression is kept in postfix order, so neither evaluating nor dropping it recurses, however
//! long it is. Only parentheses make the parser recurse, and
//! [`Limits::nesting`](super::Limits::nesting) bounds them.

use std::sync::Arc;

use super::cursor::{Cursor, Fail};
use crate::span::Span;

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Postfix: operands before their operator.
    code: Vec<(Op, Span)>,
    span: Span,
}

/// A step of an expression in postfix order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A number.
    Const(i128),
    /// The value of a symbol.
    Symbol(Arc<str>),
    /// A local label: its number, and whether it is the next one rather than the last.
    Local(u64, bool),
    /// The address of the statement.
    Dot,
    /// `-a`.
    Neg,
    /// `~a`.
    Not,
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`, truncated.
    Div,
    /// `a % b`, with the sign of `a`.
    Rem,
    /// `a << b`.
    Shl,
    /// `a >> b`, keeping the sign.
    Shr,
    /// `a & b`.
    And,
    /// `a ^ b`.
    Xor,
    /// `a | b`.
    Or,
}

impl Op {
    /// How it is written.
    fn sign(&self) -> &'static str {
        match self {
            Self::Const(_) | Self::Symbol(_) | Self::Local(..) => "",
            Self::Dot => ".",
            Self::Neg | Self::Sub => "-",
            Self::Not => "~",
            Self::Add => "+",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::And => "&",
            Self::Xor => "^",
            Self::Or => "|",
        }
    }
}

/// A value, and whether it is an address: a label or `.`, plus or minus numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) number: i128,
    pub(super) address: bool,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EvalError {
    /// `/` or `%` by zero.
    DivisionByZero(Span),
    /// A result below -2^63 or above 2^64-1.
    Overflow(&'static str, Span),
    /// A shift by less than 0 or more than 63.
    Shift(i128, Span),
    /// What the environment said about a symbol.
    Symbol(SymbolError, Span),
}

/// Why a symbol has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SymbolError {
    /// It is not defined anywhere.
    Undefined(Arc<str>),
    /// There is no such local label in that direction.
    NoLocal(u64, bool),
    /// It is not known yet where it is used.
    NotYet(Arc<str>),
    /// It has several values, all of them after this use.
    Ambiguous(Arc<str>),
    /// Its value needs itself.
    Cycle(Vec<Arc<str>>),
    /// Its own error has been reported.
    Reported,
}

/// The least and the greatest value.
const RANGE: std::ops::RangeInclusive<i128> = -(1 << 63)..=(1 << 64) - 1;

impl Expr {
    /// A number.
    #[must_use]
    pub fn constant(value: i64, span: Span) -> Self {
        Self { code: vec![(Op::Const(i128::from(value)), span)], span }
    }

    /// A number, a symbol, a local label or `.`. Operators make `None`.
    #[must_use]
    pub fn leaf(op: Op, span: Span) -> Option<Self> {
        let leaf = matches!(op, Op::Const(_) | Op::Symbol(_) | Op::Local(..) | Op::Dot);
        leaf.then(|| Self { code: vec![(op, span)], span })
    }

    /// `self op other`; `op` must be a binary operator, else the result is `self`.
    #[must_use]
    pub fn binary(mut self, op: Op, other: Self) -> Self {
        use Op::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        if matches!(op, Add | Sub | Mul | Div | Rem | Shl | Shr | And | Xor | Or) {
            self.span = self.span.to(other.span);
            self.code.extend(other.code);
            self.code.push((op, self.span));
        }
        self
    }

    /// `self op value`.
    #[must_use]
    pub fn with(self, op: Op, value: i64) -> Self {
        let span = self.span;
        self.binary(op, Self::constant(value, span))
    }

    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The number, if it is just one.
    #[must_use]
    pub fn as_constant(&self) -> Option<i128> {
        match self.code.as_slice() {
            [(Op::Const(value), _)] => Some(*value),
            _ => None,
        }
    }

    /// The symbols that it names.
    pub(super) fn symbols(&self) -> impl Iterator<Item = &Arc<str>> {
        self.code.iter().filter_map(|(op, _)| match op {
            Op::Symbol(name) => Some(name),
            _ => None,
        })
    }

    /// The value, where `symbol` knows the values of symbols, local labels and `.`.
    pub(super) fn eval(
        &self,
        symbol: &mut dyn FnMut(&Op) -> Result<Value, SymbolError>,
    ) -> Result<Value, EvalError> {
        let mut stack: Vec<Value> = Vec::new();
        for (op, span) in &self.code {
            let value = match op {
                Op::Const(number) => Value { number: *number, address: false },
                Op::Symbol(_) | Op::Local(..) | Op::Dot => {
                    symbol(op).map_err(|e| EvalError::Symbol(e, *span))?
                }
                Op::Neg | Op::Not => {
                    let a = stack.pop().unwrap_or(Value { number: 0, address: false });
                    let number = if *op == Op::Neg { -a.number } else { !a.number };
                    Value { number, address: false }
                }
                _ => {
                    let (b, a) = (stack.pop(), stack.pop());
                    let zero = Value { number: 0, address: false };
                    apply(op, a.unwrap_or(zero), b.unwrap_or(zero), *span)?
                }
            };
            if !RANGE.contains(&value.number) {
                return Err(EvalError::Overflow(op.sign(), *span));
            }
            stack.push(value);
        }
        // The constructors leave exactly one value.
        Ok(stack.pop().unwrap_or(Value { number: 0, address: false }))
    }
}

/// A binary operator. Operands are within [`RANGE`], so 128 bits hold every result but those of
/// large shifts.
fn apply(op: &Op, a: Value, b: Value, span: Span) -> Result<Value, EvalError> {
    let overflow = || EvalError::Overflow(op.sign(), span);
    let (x, y) = (a.number, b.number);
    let number = match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x.checked_mul(y).ok_or_else(overflow)?,
        Op::Div | Op::Rem if y == 0 => return Err(EvalError::DivisionByZero(span)),
        Op::Div => x / y,
        Op::Rem => x % y,
        Op::Shl | Op::Shr if !(0..64).contains(&y) => return Err(EvalError::Shift(y, span)),
        Op::Shl => x.checked_mul(1 << y).ok_or_else(overflow)?,
        Op::Shr => x >> y,
        Op::And => x & y,
        Op::Xor => x ^ y,
        _ => x | y,
    };
    let address = match op {
        Op::Add => a.address ^ b.address,
        Op::Sub => a.address && !b.address,
        _ => false,
    };
    Ok(Value { number, address })
}

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Expr, Fail> {
    let mark = cursor.mark();
    let mut code = Vec::new();
    binary(cursor, 0, 0, &mut code)?;
    Ok(Expr { code, span: cursor.span_from(mark) })
}

/// Functions may make an expression this long.
const MOST_STEPS: usize = 1 << 20;

/// Binary operators with their precedence, longest signs first.
const BINARY: [(&str, u32, Op); 10] = [
    ("<<", 4, Op::Shl),
    (">>", 4, Op::Shr),
    ("*", 6, Op::Mul),
    ("/", 6, Op::Div),
    ("%", 6, Op::Rem),
    ("+", 5, Op::Add),
    ("-", 5, Op::Sub),
    ("&", 3, Op::And),
    ("^", 2, Op::Xor),
    ("|", 1, Op::Or),
];

type Code = Vec<(Op, Span)>;

/// Operands joined by operators of at least this precedence.
fn binary(c: &mut Cursor<'_>, least: u32, depth: u32, out: &mut Code) -> Result<(), Fail> {
    let mark = c.mark();
    unary(c, depth, out)?;
    loop {
        // `->` is punctuation of some languages, never a minus.
        let rest = c.rest();
        let found = BINARY.iter().find(|(sign, ..)| rest.starts_with(sign));
        let Some((sign, precedence, op)) = found else { return Ok(()) };
        if *precedence < least || rest.starts_with("->") || !c.eat(sign) {
            return Ok(());
        }
        // Each level of precedence recurses once at most, so `depth` bounds the whole.
        binary(c, precedence + 1, depth, out)?;
        out.push((op.clone(), c.span_from(mark)));
    }
}

fn unary(c: &mut Cursor<'_>, depth: u32, out: &mut Code) -> Result<(), Fail> {
    let mark = c.mark();
    let mut pending = Vec::new();
    loop {
        if c.eat("-") {
            pending.push(Op::Neg);
        } else if c.eat("~") {
            pending.push(Op::Not);
        } else if !c.eat("+") {
            break;
        }
    }
    primary(c, depth, out)?;
    let span = c.span_from(mark);
    out.extend(pending.into_iter().rev().map(|op| (op, span)));
    Ok(())
}

fn primary(c: &mut Cursor<'_>, depth: u32, out: &mut Code) -> Result<(), Fail> {
    let mark = c.mark();
    let function = c.peek() == Some('%');
    if function {
        c.eat("%");
    }
    let name = if function { c.word() } else { None };
    if function && name.is_none() {
        return Err(c.expected("the name of a function"));
    }
    if name.is_some() || c.peek() == Some('(') {
        let limit = c.dialect().syntax.limits.nesting;
        if depth >= limit {
            let message = format!("more than {limit} parentheses inside one another");
            return Err(c.fail("asm::nesting", message));
        }
        c.expect("(")?;
        let start = out.len();
        binary(c, 0, depth + 1, out)?;
        c.expect(")")?;
        if let Some(name) = name {
            let argument = Expr { code: out.split_off(start), span: c.span_from(mark) };
            let result = c.dialect().operands.function(name, argument);
            let unknown =
                || c.fail_from(mark, "asm::function", format!("there is no function `%{name}`"));
            out.extend(result.ok_or_else(unknown)?.code);
            // A function that repeats its argument doubles it at each nesting.
            if out.len() > MOST_STEPS {
                return Err(c.fail_from(mark, "asm::nesting", "the expression is too long"));
            }
        }
        return Ok(());
    }
    let op = leaf(c)?;
    out.push((op, c.span_from(mark)));
    Ok(())
}

fn leaf(c: &mut Cursor<'_>) -> Result<Op, Fail> {
    if let Some((number, forward)) = c.local_reference() {
        return Ok(Op::Local(number, forward));
    }
    if let Some(value) = c.integer()? {
        return Ok(Op::Const(i128::from(value)));
    }
    let mark = c.mark();
    match c.word() {
        Some(".") => Ok(Op::Dot),
        Some(word) if !c.dialect().is_reserved(word) => Ok(Op::Symbol(word.into())),
        _ => {
            c.back_to(mark);
            Err(c.expected("an expression"))
        }
    }
}
