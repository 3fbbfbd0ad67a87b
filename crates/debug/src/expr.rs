//! Expressions over registers, memory and lane numbers.
//!
//! Operators are those of C. A register is an unsigned number of its size; `:TYPE` behind an
//! operand reads its bits as another type, and `[ADDRESS]:TYPE` reads global memory,
//! `shared[OFFSET]:TYPE` and so on other spaces. `%r3@5` is the register of lane 5.

use simt::inspect::FramePlace;
use simt::memory::Space;
use thiserror::Error;

/// The type of a value in memory or a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An unsigned number of so many bits.
    Unsigned(u32),
    /// A signed number of so many bits.
    Signed(u32),
    /// A binary floating-point number of 16, 32 or 64 bits.
    Float(u32),
}

impl Type {
    /// Returns the type of a name such as `u32`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let bits =
            |text: &str, known: &[u32]| text.parse().ok().filter(|bits: &u32| known.contains(bits));
        match name {
            "pred" => return Some(Self::Unsigned(1)),
            "float" => return Some(Self::Float(32)),
            "double" => return Some(Self::Float(64)),
            "int" => return Some(Self::Signed(32)),
            _ => {}
        }
        let (letter, size) = name.split_at_checked(1)?;
        match letter {
            "u" | "b" | "x" => bits(size, &[8, 16, 32, 64, 128]).map(Self::Unsigned),
            "s" | "i" => bits(size, &[8, 16, 32, 64]).map(Self::Signed),
            "f" => bits(size, &[16, 32, 64]).map(Self::Float),
            _ => None,
        }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        let (Self::Unsigned(bits) | Self::Signed(bits) | Self::Float(bits)) = self;
        bits.div_ceil(8) as usize
    }

    /// Returns the value of bits.
    #[must_use]
    pub fn value(self, bits: u128) -> Value {
        match self {
            Self::Unsigned(128) => Value::Int(bits as i128),
            Self::Unsigned(width) => Value::Int((bits & ((1 << width) - 1)) as i128),
            Self::Signed(width) => {
                let shift = 128 - width;
                Value::Int((bits << shift) as i128 >> shift)
            }
            Self::Float(16) => Value::Float(half(bits as u16)),
            Self::Float(32) => Value::Float(f32::from_bits(bits as u32).into()),
            Self::Float(_) => Value::Float(f64::from_bits(bits as u64)),
        }
    }

    /// Returns the bits of a value.
    #[must_use]
    pub fn bits(self, value: Value) -> u128 {
        match (self, value) {
            (Self::Float(32), Value::Int(int)) => (int as f32).to_bits().into(),
            (Self::Float(32), Value::Float(float)) => (float as f32).to_bits().into(),
            (Self::Float(64), Value::Int(int)) => (int as f64).to_bits().into(),
            (Self::Float(64), Value::Float(float)) => float.to_bits().into(),
            (Self::Float(_) | Self::Unsigned(_) | Self::Signed(_), value) => {
                let (Self::Unsigned(width) | Self::Signed(width) | Self::Float(width)) = self;
                let mask = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
                value.int() as u128 & mask
            }
        }
    }
}

/// The value of a half-precision number.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// Returns whether it is not zero.
    #[must_use]
    pub fn holds(self) -> bool {
        match self {
            Self::Int(int) => int != 0,
            Self::Float(float) => float != 0.0,
        }
    }

    /// Returns a whole number, towards zero.
    #[must_use]
    pub fn int(self) -> i128 {
        match self {
            Self::Int(int) => int,
            Self::Float(float) => float as i128,
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            Self::Float(float) => write!(f, "{float:?}"),
        }
    }
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}, at `{rest}`")]
pub struct ExprError {
    /// The problem.
    pub message: String,
    /// The text from where it was found.
    pub rest: String,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Value(Value),
    /// A name, and the lane if another one is meant.
    Name(String, Option<Box<Node>>),
    Load(Space, Box<Node>, Type),
    Cast(Box<Node>, Type),
    Unary(char, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
}

/// What expressions are about.
pub(crate) trait Names {
    /// The value of a name in a lane: bits, and the type that it has by default.
    fn name(&self, name: &str, at: FramePlace) -> Result<(u128, Type), String>;
    /// Reads memory.
    fn load(&self, space: Space, address: u64, ty: Type, at: FramePlace) -> Result<u128, String>;
}

/// Binary operators by precedence, the loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Nesting that is parsed.
const DEPTH: u32 = 100;

struct Parser<'t> {
    rest: &'t str,
    depth: u32,
}

type Parsed<T> = Result<T, ExprError>;

impl<'t> Parser<'t> {
    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let rest = if self.rest.is_empty() { "end" } else { self.rest };
        let rest = rest.chars().take(40).collect();
        Err(ExprError { message: message.into(), rest })
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.space();
        let found = LEVELS[level].iter().copied().find(|op| self.rest.starts_with(op))?;
        let after = &self.rest[found.len()..];
        // `&` is not the start of `&&`, `<` not that of `<<`.
        let longer = match found {
            "|" | "&" => after.starts_with(found),
            "<" | ">" => after.starts_with(found),
            _ => false,
        };
        // A register's sigil follows without a blank: `a % b` is a remainder, `a %b` is not.
        let sigil = found == "%" && after.starts_with(|c: char| c.is_ascii_alphabetic());
        if longer || sigil {
            return None;
        }
        self.rest = after;
        Some(found)
    }

    fn binary(&mut self, level: usize) -> Parsed<Node> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let right = self.binary(level + 1)?;
            left = Node::Binary(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.error("too deeply nested");
        }
        self.space();
        let sign = self.rest.chars().next().filter(|c| "!-~".contains(*c));
        let node = match sign {
            Some(sign) => {
                self.rest = &self.rest[1..];
                Node::Unary(sign, Box::new(self.unary()?))
            }
            None => self.postfix()?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn postfix(&mut self) -> Parsed<Node> {
        let mut node = self.primary()?;
        loop {
            if let (true, Node::Name(name, None)) = (self.rest.starts_with('@'), &node) {
                self.rest = &self.rest[1..];
                let lane = self.primary()?;
                node = Node::Name(name.clone(), Some(Box::new(lane)));
            } else if self.rest.starts_with(':') {
                self.rest = &self.rest[1..];
                let ty = self.ty()?;
                node = match node {
                    Node::Load(space, address, _) => Node::Load(space, address, ty),
                    node => Node::Cast(Box::new(node), ty),
                };
            } else {
                return Ok(node);
            }
        }
    }

    fn word(&mut self) -> &'t str {
        let wordy = |c: char| c.is_ascii_alphanumeric() || "_.$#".contains(c);
        let end = self.rest.find(|c: char| !wordy(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn ty(&mut self) -> Parsed<Type> {
        let before = self.rest;
        let word = self.word();
        match Type::find(word) {
            Some(ty) => Ok(ty),
            None => {
                self.rest = before;
                self.error("a type is u8 to u128, s8 to s64, f16, f32, f64 or pred")
            }
        }
    }

    fn primary(&mut self) -> Parsed<Node> {
        self.space();
        if self.eat("(") {
            self.depth += 1;
            if self.depth > DEPTH {
                return self.error("too deeply nested");
            }
            let inner = self.binary(0)?;
            self.depth -= 1;
            return if self.eat(")") { Ok(inner) } else { self.error("a `)` is missing") };
        }
        if self.eat("[") {
            return self.load(Space::Global);
        }
        match self.rest.chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('%') => {
                self.rest = &self.rest[1..];
                let word = self.word();
                match word.is_empty() {
                    true => self.error("a register's name is missing behind `%`"),
                    false => Ok(Node::Name(format!("%{word}"), None)),
                }
            }
            Some(c) if c.is_ascii_alphabetic() || "_$".contains(c) => {
                let word = self.word();
                let space = match word {
                    "global" => Some(Space::Global),
                    "shared" => Some(Space::Shared),
                    "local" => Some(Space::Local),
                    "param" => Some(Space::Param),
                    _ => None,
                };
                if let Some(space) = space
                    && self.eat("[")
                {
                    return self.load(space);
                }
                Ok(Node::Name(word.to_owned(), None))
            }
            _ => self.error("a number, a register or `[address]` is missing"),
        }
    }

    fn load(&mut self, space: Space) -> Parsed<Node> {
        let address = self.binary(0)?;
        if !self.eat("]") {
            return self.error("a `]` is missing");
        }
        Ok(Node::Load(space, Box::new(address), Type::Unsigned(32)))
    }

    fn number(&mut self) -> Parsed<Node> {
        let before = self.rest;
        let word = self.word();
        let digits = word.replace('_', "");
        let int = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u128::from_str_radix(hex, 16).ok(),
            None => match digits.strip_prefix("0b") {
                Some(bits) => u128::from_str_radix(bits, 2).ok(),
                None => digits.parse().ok(),
            },
        };
        if let Some(int) = int.and_then(|int| i128::try_from(int).ok()) {
            return Ok(Node::Value(Value::Int(int)));
        }
        match digits.parse::<f64>() {
            Ok(float) => Ok(Node::Value(Value::Float(float))),
            Err(_) => {
                self.rest = before;
                self.error("this is not a number")
            }
        }
    }
}

impl Expr {
    /// Parses a whole text.
    ///
    /// # Errors
    /// Returns what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let (expr, rest) = Self::parse_start(text)?;
        match rest.trim() {
            "" => Ok(expr),
            rest => Parser { rest, depth: 0 }.error("this was not expected"),
        }
    }

    /// Parses the start of a text; returns the rest.
    ///
    /// # Errors
    /// Returns what is wrong, and where.
    pub fn parse_start(text: &str) -> Result<(Self, &str), ExprError> {
        let mut parser = Parser { rest: text, depth: 0 };
        let node = parser.binary(0)?;
        Ok((Self(node), parser.rest))
    }

    /// Returns the name, if it is nothing else.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        match &self.0 {
            Node::Name(name, None) => Some(name),
            _ => None,
        }
    }

    /// Returns space, address and type of a load, if it is nothing else.
    pub(crate) fn as_load(&self) -> Option<(Space, Self, Type)> {
        match &self.0 {
            Node::Load(space, address, ty) => Some((*space, Self((**address).clone()), *ty)),
            _ => None,
        }
    }

    /// Evaluates it for a lane.
    pub(crate) fn evaluate(&self, names: &dyn Names, at: FramePlace) -> Result<Value, String> {
        value(&self.0, names, at)
    }

    /// Evaluates it and gives the type that its bits are best shown in, if it is one operand.
    pub(crate) fn typed(
        &self,
        names: &dyn Names,
        at: FramePlace,
    ) -> Result<(Value, Option<Type>), String> {
        match &self.0 {
            Node::Name(..) => {
                let (bits, ty) = operand(&self.0, names, at)?;
                Ok((ty.value(bits), Some(ty)))
            }
            Node::Load(.., ty) | Node::Cast(_, ty) => Ok((value(&self.0, names, at)?, Some(*ty))),
            node => Ok((value(node, names, at)?, None)),
        }
    }
}

/// The bits of an operand, with its type.
fn operand(node: &Node, names: &dyn Names, at: FramePlace) -> Result<(u128, Type), String> {
    match node {
        Node::Name(name, None) => names.name(name, at),
        Node::Name(name, Some(lane)) => {
            let lane = value(lane, names, at)?.int();
            let lane = u32::try_from(lane).map_err(|_| format!("there is no lane {lane}"))?;
            names.name(name, FramePlace { lane, ..at })
        }
        Node::Load(space, address, ty) => {
            let address = value(address, names, at)?.int() as u64;
            Ok((names.load(*space, address, *ty, at)?, *ty))
        }
        node => {
            let value = value(node, names, at)?;
            let ty = match value {
                Value::Int(_) => Type::Unsigned(128),
                Value::Float(_) => Type::Float(64),
            };
            Ok((ty.bits(value), ty))
        }
    }
}

fn value(node: &Node, names: &dyn Names, at: FramePlace) -> Result<Value, String> {
    Ok(match node {
        Node::Value(value) => *value,
        Node::Name(..) | Node::Load(..) => {
            let (bits, ty) = operand(node, names, at)?;
            ty.value(bits)
        }
        Node::Cast(inner, ty) => ty.value(operand(inner, names, at)?.0),
        Node::Unary('!', inner) => Value::Int(i128::from(!value(inner, names, at)?.holds())),
        Node::Unary('~', inner) => Value::Int(!value(inner, names, at)?.int()),
        Node::Unary(_, inner) => match value(inner, names, at)? {
            Value::Int(int) => Value::Int(int.wrapping_neg()),
            Value::Float(float) => Value::Float(-float),
        },
        Node::Binary("||", a, b) => {
            let either = value(a, names, at)?.holds() || value(b, names, at)?.holds();
            Value::Int(either.into())
        }
        Node::Binary("&&", a, b) => {
            let both = value(a, names, at)?.holds() && value(b, names, at)?.holds();
            Value::Int(both.into())
        }
        Node::Binary(op, a, b) => binary(op, value(a, names, at)?, value(b, names, at)?)?,
    })
}

fn binary(op: &str, a: Value, b: Value) -> Result<Value, String> {
    let floats = matches!(a, Value::Float(_)) || matches!(b, Value::Float(_));
    let order =
        if floats { a.float().partial_cmp(&b.float()) } else { Some(a.int().cmp(&b.int())) };
    let truth = |holds: bool| Ok(Value::Int(holds.into()));
    match op {
        "==" => return truth(order.is_some_and(std::cmp::Ordering::is_eq)),
        "!=" => return truth(!order.is_some_and(std::cmp::Ordering::is_eq)),
        "<" => return truth(order.is_some_and(std::cmp::Ordering::is_lt)),
        "<=" => return truth(order.is_some_and(std::cmp::Ordering::is_le)),
        ">" => return truth(order.is_some_and(std::cmp::Ordering::is_gt)),
        ">=" => return truth(order.is_some_and(std::cmp::Ordering::is_ge)),
        _ => {}
    }
    if floats {
        let (a, b) = (a.float(), b.float());
        return Ok(Value::Float(match op {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            _ => return Err(format!("`{op}` takes whole numbers")),
        }));
    }
    let (a, b) = (a.int(), b.int());
    let shift = || u32::try_from(b).ok().filter(|&b| b < 128);
    let zero = || "division by zero".to_owned();
    Ok(Value::Int(match op {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" => a.checked_div(b).ok_or_else(zero)?,
        "%" => a.checked_rem(b).ok_or_else(zero)?,
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => shift().map_or(0, |by| a.wrapping_shl(by)),
        _ => shift().map_or(0, |by| a >> by),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Names for Nothing {
        fn name(&self, name: &str, at: FramePlace) -> Result<(u128, Type), String> {
            match name {
                "lane" => Ok((at.lane.into(), Type::Unsigned(32))),
                "%r1" => Ok((0xffff_fffe, Type::Unsigned(32))),
                "%f1" => Ok((0x3fc0_0000, Type::Unsigned(32))),
                _ => Err(format!("no {name}")),
            }
        }

        fn load(&self, _: Space, address: u64, _: Type, _: FramePlace) -> Result<u128, String> {
            Ok(u128::from(address) + 1)
        }
    }

    fn eval(text: &str) -> String {
        match Expr::parse(text) {
            Ok(expr) => match expr.evaluate(&Nothing, FramePlace::default()) {
                Ok(value) => value.to_string(),
                Err(error) => error,
            },
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("-7 / 2", "-3"),
            ("7 % 4", "3"),
            ("1 << 4 | 1", "17"),
            ("0x10 == 16 && !0", "1"),
            ("%r1:s32", "-2"),
            ("%r1 > 5", "1"),
            ("%f1:f32 * 2", "3.0"),
            ("%r1@3 == %r1", "1"),
            ("lane@7 + 1", "8"),
            ("[0x10 + 4]:u8", "21"),
            ("shared[8]", "9"),
            ("0x3c00:f16", "1.0"),
            ("1.5 < 2", "1"),
            ("1 / 0", "division by zero"),
            ("lane && 1 / 0", "0"),
        ] {
            assert_eq!(eval(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_places() {
        for (text, expected) in [
            ("1 +", "a number, a register or `[address]` is missing, at `end`"),
            ("(1", "a `)` is missing, at `end`"),
            ("1 2", "this was not expected, at `2`"),
            ("%", "a register's name is missing behind `%`, at `end`"),
            ("12x", "this is not a number, at `12x`"),
            ("%r1:u7", "a type is u8 to u128, s8 to s64, f16, f32, f64 or pred, at `u7`"),
            ("ü", "a number, a register or `[address]` is missing, at `ü`"),
        ] {
            assert_eq!(eval(text), expected, "{text}");
        }
        assert!(eval(&"(".repeat(10_000)).starts_with("too deeply nested"));
        assert!(eval(&"-".repeat(10_000)).starts_with("too deeply nested"));
    }
}
