//! Operands and constant expressions.

use isa::Span;

use crate::names::Symbol;
use crate::pool::{Id, Run};

/// An operand, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Its form.
    pub kind: OperandKind,
    /// Its place.
    pub span: Span,
}

/// An integer literal's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// The value, in two's complement when signed.
    pub bits: u64,
    /// Whether it is unsigned: it has a `U`, or does not fit 64 bits with a sign.
    pub unsigned: bool,
}

/// The forms of operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandKind {
    /// Nothing where something could be: the dimension of `a[]`.
    Absent,
    /// `_`
    Sink,
    /// A register, special register, variable, label or function.
    Name(Symbol),
    /// `%tid.x`, `%v.b0`: a name and a member without its dot.
    Member(Symbol, Symbol),
    /// `!p`
    Not(Symbol),
    /// `-r`
    Neg(Symbol),
    /// `p|q`; either may be `_`.
    Pair(Symbol, Symbol),
    /// An integer.
    Integer(Integer),
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal number: the bits of an f64.
    F64(u64),
    /// `"text"`, without quotes, escapes kept.
    Text(Symbol),
    /// `name+4` outside brackets.
    Sum(Symbol, i64),
    /// `name[3]`: an element of an array or vector.
    Element(Symbol, Id<Operand>),
    /// `[name]`, `[name+4]`.
    Address(Symbol, i64),
    /// `[...]` with anything else in it: `[16]`, `[tex, {x, y}]`.
    Bracket(Run<Operand>),
    /// `[...].unified`: an operand and the word after it.
    Suffixed(Id<Operand>, Symbol),
    /// `{a, b}`
    Vector(Run<Operand>),
    /// `(a, b)` of a call.
    List(Run<Operand>),
    /// A constant expression with operators.
    Expression(Id<Expression>),
}

/// An operator and its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The operator.
    pub op: Operator,
    /// One to three operands.
    pub args: Run<Operand>,
    /// Longest path to a leaf.
    pub depth: u16,
}

/// Operators of constant expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `-a`
    Neg,
    /// `!a`
    Not,
    /// `~a`
    Complement,
    /// `(.s64) a`
    CastS64,
    /// `(.u64) a`
    CastU64,
    /// `f(a)`: `generic(sym)`, or a mask `0xff00(sym)`; the first argument is `f`.
    Apply,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a << b`
    Shl,
    /// `a >> b`
    Shr,
    /// `a < b`
    Lt,
    /// `a > b`
    Gt,
    /// `a <= b`
    Le,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a & b`
    And,
    /// `a ^ b`
    Xor,
    /// `a | b`
    Or,
    /// `a && b`
    AndAnd,
    /// `a || b`
    OrOr,
    /// `a ? b : c`
    Choose,
}

impl Operator {
    /// Returns its spelling; empty for `Apply` and `Choose`, which are not a single word.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Neg | Self::Sub => "-",
            Self::Add => "+",
            Self::Not => "!",
            Self::Complement => "~",
            Self::CastS64 => "(.s64)",
            Self::CastU64 => "(.u64)",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Lt => "<",
            Self::Gt => ">",
            Self::Le => "<=",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::And => "&",
            Self::Xor => "^",
            Self::Or => "|",
            Self::AndAnd => "&&",
            Self::OrOr => "||",
            Self::Apply | Self::Choose => "",
        }
    }
}

impl OperandKind {
    /// A signed integer.
    #[must_use]
    pub fn signed(value: i64) -> Self {
        Self::Integer(Integer { bits: value as u64, unsigned: false })
    }
}
