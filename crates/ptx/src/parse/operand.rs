//! Operands and constant expressions.
//!
//! One grammar for all opcodes. Frequent forms become a single [`Operand`]; everything else becomes
//! an [`Expression`]. Parentheses leave no trace: the tree has the same shape without them.

use isa::{Diagnostic, Span};

use super::{Failed, Parsed, Parser};
use crate::ast::{Expression, Integer, MAX_DEPTH, Name, Operand, OperandKind, Operator};
use crate::lexer::TokenKind;
use crate::names::kw;
use crate::pool::Run;

/// Returns an operator and how strongly it binds.
fn binary_operator(kind: TokenKind) -> Option<(u8, Operator)> {
    Some(match kind {
        TokenKind::OrOr => (1, Operator::OrOr),
        TokenKind::AndAnd => (2, Operator::AndAnd),
        TokenKind::Or => (3, Operator::Or),
        TokenKind::Caret => (4, Operator::Xor),
        TokenKind::And => (5, Operator::And),
        TokenKind::EqualEqual => (6, Operator::Eq),
        TokenKind::NotEqual => (6, Operator::Ne),
        TokenKind::Less => (7, Operator::Lt),
        TokenKind::Greater => (7, Operator::Gt),
        TokenKind::LessEqual => (7, Operator::Le),
        TokenKind::GreaterEqual => (7, Operator::Ge),
        TokenKind::ShiftLeft => (8, Operator::Shl),
        TokenKind::ShiftRight => (8, Operator::Shr),
        TokenKind::Plus => (9, Operator::Add),
        TokenKind::Minus => (9, Operator::Sub),
        TokenKind::Star => (10, Operator::Mul),
        TokenKind::Slash => (10, Operator::Div),
        TokenKind::Percent => (10, Operator::Rem),
        _ => return None,
    })
}

/// Returns whether an operand surely ends before this token.
fn ends_operand(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Comma
            | TokenKind::Semi
            | TokenKind::CloseBracket
            | TokenKind::CloseBrace
            | TokenKind::CloseParen
    )
}

impl Parser<'_> {
    /// Reads one operand. `call` says that `(...)` is a list even if it has a single element.
    pub(super) fn operand(&mut self, call: bool) -> Parsed<Operand> {
        let start = self.token.start;
        match self.kind() {
            TokenKind::Ident => {
                let first = self.named();
                if ends_operand(self.kind()) { Ok(first) } else { self.behind(first, 0) }
            }
            TokenKind::Int => {
                let first = self.integer();
                if ends_operand(self.kind()) { Ok(first) } else { self.behind(first, 0) }
            }
            TokenKind::OpenBracket => self.nested(Self::bracket),
            TokenKind::OpenBrace => {
                self.bump();
                self.braces += 1;
                let run = self.nested(|p| p.operands_until(TokenKind::CloseBrace))?;
                self.braces = self.braces.saturating_sub(1);
                Ok(Operand { kind: OperandKind::Vector(run), span: self.since(start) })
            }
            TokenKind::OpenParen if !self.at_cast() => self.list(call),
            _ => self.expression(0),
        }
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.enter()?;
        let result = parse(self)?;
        self.leave();
        Ok(result)
    }

    /// `(a, b)`: the arguments of a call; elsewhere a single operand is only parenthesised.
    fn list(&mut self, call: bool) -> Parsed<Operand> {
        let start = self.token.start;
        let first = self.scratch.len();
        self.bump();
        if !(call && self.eat(TokenKind::CloseParen)) {
            self.nested(|p| p.separated(TokenKind::CloseParen))?;
        }
        let span = self.since(start);
        if self.scratch.len() == first + 1
            && (!call || binary_operator(self.kind()).is_some())
            && let Some(only) = self.scratch.pop()
        {
            return self.behind(Operand { kind: only.kind, span }, 0);
        }
        Ok(Operand { kind: OperandKind::List(self.pool_from(first)), span })
    }

    /// One or more operands with commas, and the closing token.
    pub(super) fn operands_until(&mut self, close: TokenKind) -> Parsed<Run<Operand>> {
        let start = self.scratch.len();
        self.separated(close)?;
        Ok(self.pool_from(start))
    }

    /// The same, left in `scratch`.
    fn separated(&mut self, close: TokenKind) -> Parsed<()> {
        loop {
            let operand = self.operand(false)?;
            self.scratch.push(operand);
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.eat(close) {
                return Ok(());
            }
            let what = match close {
                TokenKind::CloseBrace => "`,` or `}`",
                TokenKind::CloseBracket => "`,` or `]`",
                _ => "`,` or `)`",
            };
            return Err(self.fail(what));
        }
    }

    /// Moves the operands read since `start` to the tree.
    pub(super) fn pool_from(&mut self, start: usize) -> Run<Operand> {
        let start = start.min(self.scratch.len());
        self.module.operands.push_all(self.scratch.drain(start..))
    }

    /// `[...]`, and a word after it.
    fn bracket(&mut self) -> Parsed<Operand> {
        let start = self.token.start;
        self.bump();
        let first = self.scratch.len();
        // The frequent forms need no list.
        let operand = self.operand(false)?;
        let kind = if self.eat(TokenKind::CloseBracket) {
            match operand.kind {
                OperandKind::Name(name) => OperandKind::Address(name, 0),
                OperandKind::Sum(name, offset) => OperandKind::Address(name, offset),
                _ => OperandKind::Bracket(self.module.operands.push_all([operand])),
            }
        } else {
            self.scratch.push(operand);
            if !self.eat(TokenKind::Comma) {
                return Err(self.fail("`,` or `]`"));
            }
            self.separated(TokenKind::CloseBracket)?;
            OperandKind::Bracket(self.pool_from(first))
        };
        let operand = Operand { kind, span: self.since(start) };
        if self.kind() == TokenKind::Dotted && self.token.start == self.prev_end {
            let inner = self.module.operands.push(operand);
            let word = self.take_name();
            let kind = OperandKind::Suffixed(inner, word.symbol);
            return Ok(Operand { kind, span: self.since(start) });
        }
        Ok(operand)
    }

    /// A name and its suffix: `.x`, `[3]`, `(sym)`.
    fn named(&mut self) -> Operand {
        let Name { symbol, span } = self.take_name();
        let kind = match self.kind() {
            _ if symbol == kw::SINK => OperandKind::Sink,
            // A member directly follows its register; a directive on the next line does not.
            TokenKind::Dotted if self.token.start == span.end => {
                let member = self.take_name();
                OperandKind::Member(symbol, member.symbol)
            }
            _ => OperandKind::Name(symbol),
        };
        Operand { kind, span: self.since(span.start) }
    }

    /// Parses the rest after a first operand: an index, an argument, operators.
    pub(super) fn behind(&mut self, first: Operand, level: u8) -> Parsed<Operand> {
        let first = self.postfix(first)?;
        self.binary(first, level)
    }

    fn postfix(&mut self, first: Operand) -> Parsed<Operand> {
        match (self.kind(), first.kind) {
            (TokenKind::OpenBracket, OperandKind::Name(name)) => {
                self.bump();
                let index = self.nested(|p| p.operand(false))?;
                self.expect(TokenKind::CloseBracket)?;
                let span = self.since(first.span.start);
                let index = self.module.operands.push(index);
                Ok(Operand { kind: OperandKind::Element(name, index), span })
            }
            (TokenKind::OpenParen, OperandKind::Name(_) | OperandKind::Integer(_)) => {
                self.bump();
                let argument = self.nested(|p| p.operand(false))?;
                self.expect(TokenKind::CloseParen)?;
                let span = self.since(first.span.start);
                self.node(Operator::Apply, &[first, argument], span)
            }
            _ => Ok(first),
        }
    }

    /// A constant expression whose operators bind at least as strongly as `level`.
    fn expression(&mut self, level: u8) -> Parsed<Operand> {
        self.enter()?;
        let first = self.unary()?;
        let result = self.binary(first, level)?;
        self.leave();
        Ok(result)
    }

    fn binary(&mut self, mut left: Operand, level: u8) -> Parsed<Operand> {
        while let Some((strength, op)) = binary_operator(self.kind()) {
            if strength < level {
                return Ok(left);
            }
            self.bump();
            let right = self.expression(strength + 1)?;
            left = self.combine(op, left, right)?;
        }
        if level == 0 && self.eat(TokenKind::Question) {
            let start = left.span.start;
            let yes = self.expression(0)?;
            self.expect(TokenKind::Colon)?;
            let no = self.expression(0)?;
            let span = self.since(start);
            left = self.node(Operator::Choose, &[left, yes, no], span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Operand> {
        let start = self.token.start;
        let op = match self.kind() {
            TokenKind::Minus => Operator::Neg,
            TokenKind::Bang => Operator::Not,
            TokenKind::Tilde => Operator::Complement,
            TokenKind::Plus => {
                self.bump();
                return self.nested(Self::unary);
            }
            TokenKind::OpenParen => match self.cast()? {
                Some(op) => op,
                None => return self.nested(Self::parenthesised),
            },
            _ => {
                let first = self.primary()?;
                return self.postfix(first);
            }
        };
        if matches!(op, Operator::Neg | Operator::Not | Operator::Complement) {
            self.bump();
        }
        let inner = self.nested(Self::unary)?;
        let span = self.since(start);
        let kind = match (op, inner.kind) {
            (Operator::Neg, OperandKind::Integer(i)) => {
                OperandKind::Integer(Integer { bits: i.bits.wrapping_neg(), ..i })
            }
            (Operator::Neg, OperandKind::F32(bits)) => OperandKind::F32(bits ^ (1 << 31)),
            (Operator::Neg, OperandKind::F64(bits)) => OperandKind::F64(bits ^ (1 << 63)),
            (Operator::Neg, OperandKind::Name(name)) => OperandKind::Neg(name),
            (Operator::Not, OperandKind::Name(name)) => OperandKind::Not(name),
            _ => return self.node(op, &[inner], span),
        };
        Ok(Operand { kind, span })
    }

    fn parenthesised(&mut self) -> Parsed<Operand> {
        let start = self.token.start;
        self.bump();
        let inner = self.expression(0)?;
        self.expect(TokenKind::CloseParen)?;
        Ok(Operand { kind: inner.kind, span: self.since(start) })
    }

    /// Returns whether `(` begins a cast `(.s64)`.
    fn at_cast(&self) -> bool {
        let rest = self.text.get(self.token.end as usize..).unwrap_or("");
        rest.trim_start().starts_with('.')
    }

    /// Takes `(.s64)` or `(.u64)`.
    fn cast(&mut self) -> Parsed<Option<Operator>> {
        if !self.at_cast() {
            return Ok(None);
        }
        self.bump();
        let op = match self.symbol() {
            kw::S64 => Operator::CastS64,
            kw::U64 => Operator::CastU64,
            _ => return Err(self.fail("`.s64` or `.u64`")),
        };
        self.bump();
        self.expect(TokenKind::CloseParen)?;
        Ok(Some(op))
    }

    fn primary(&mut self) -> Parsed<Operand> {
        let span = self.span();
        let slice = self.slice();
        let kind = match self.kind() {
            TokenKind::Ident => return Ok(self.named()),
            TokenKind::Int => return Ok(self.integer()),
            TokenKind::HexF32 => {
                let digits = slice.get(2..).unwrap_or("");
                u32::from_str_radix(digits, 16).ok().map(OperandKind::F32)
            }
            TokenKind::HexF64 => {
                let digits = slice.get(2..).unwrap_or("");
                u64::from_str_radix(digits, 16).ok().map(OperandKind::F64)
            }
            TokenKind::Float | TokenKind::Dotted => {
                let number = slice.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
                    || self.kind() == TokenKind::Float;
                let value = slice.parse::<f64>().ok().filter(|_| number);
                value.map(|v| OperandKind::F64(v.to_bits()))
            }
            TokenKind::Text => {
                let inner = slice.get(1..slice.len().saturating_sub(1)).unwrap_or("");
                Some(OperandKind::Text(self.module.names.intern(inner)))
            }
            TokenKind::BadNumber => return Err(self.bad_number()),
            _ => None,
        };
        match kind {
            Some(kind) => {
                self.bump();
                Ok(Operand { kind, span })
            }
            None => Err(self.fail("an operand")),
        }
    }

    #[cold]
    fn bad_number(&mut self) -> Failed {
        let message = format!("{} is not a number", self.found());
        let diagnostic = Diagnostic::error("ptx::bad-number", message)
            .at(self.span(), "here")
            .note("integers are decimal, 0x1f, 0b101 or 017, with an optional U")
            .note("0f takes exactly 8 hexadecimal digits, 0d exactly 16");
        self.report(diagnostic)
    }

    /// Takes an integer token.
    fn integer(&mut self) -> Operand {
        let span = self.span();
        let slice = self.slice();
        let (digits, suffix) = match slice.strip_suffix('U') {
            Some(digits) => (digits, true),
            None => (slice, false),
        };
        let value = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => u64::from_str_radix(digits.get(2..).unwrap_or(""), 16),
            [b'0', b'b' | b'B', ..] => u64::from_str_radix(digits.get(2..).unwrap_or(""), 2),
            [b'0', _, ..] => u64::from_str_radix(digits, 8),
            _ => digits.parse(),
        };
        let bits = value.unwrap_or_else(|_| {
            self.report(
                Diagnostic::error("ptx::integer-range", "the integer does not fit 64 bits")
                    .at(span, "too large")
                    .note("PTX integers are at most 64 bits wide"),
            );
            0
        });
        self.bump();
        let unsigned = suffix || i64::try_from(bits).is_err();
        Operand { kind: OperandKind::Integer(Integer { bits, unsigned }), span }
    }

    /// An integer token as a count; other forms are errors.
    pub(super) fn count(&mut self, what: &str) -> Parsed<u64> {
        if self.kind() != TokenKind::Int {
            return Err(self.fail(what));
        }
        match self.integer().kind {
            OperandKind::Integer(i) => Ok(i.bits),
            _ => Ok(0),
        }
    }

    /// Joins two operands: into one of the frequent forms, or by a node.
    fn combine(&mut self, op: Operator, left: Operand, right: Operand) -> Parsed<Operand> {
        let span = left.span.to(right.span);
        let kind = match (op, left.kind, right.kind) {
            (Operator::Or, a, b) => match (pair_part(a), pair_part(b)) {
                (Some(a), Some(b)) => Some(OperandKind::Pair(a, b)),
                _ => None,
            },
            (Operator::Add, OperandKind::Name(name), OperandKind::Integer(i)) => {
                small(i).map(|v| OperandKind::Sum(name, v))
            }
            (Operator::Sub, OperandKind::Name(name), OperandKind::Integer(i)) => {
                small(i).and_then(i64::checked_neg).map(|v| OperandKind::Sum(name, v))
            }
            (Operator::Add, OperandKind::Sum(name, offset), OperandKind::Integer(i)) => {
                small(i).and_then(|v| offset.checked_add(v)).map(|v| OperandKind::Sum(name, v))
            }
            (Operator::Sub, OperandKind::Sum(name, offset), OperandKind::Integer(i)) => {
                small(i).and_then(|v| offset.checked_sub(v)).map(|v| OperandKind::Sum(name, v))
            }
            _ => None,
        };
        match kind {
            Some(kind) => Ok(Operand { kind, span }),
            None => self.node(op, &[left, right], span),
        }
    }

    fn node(&mut self, op: Operator, args: &[Operand], span: Span) -> Parsed<Operand> {
        let depth = args.iter().map(|a| self.depth_of(a)).max().unwrap_or(0) + 1;
        if depth > MAX_DEPTH {
            let diagnostic =
                Diagnostic::error("ptx::nesting", "the expression is nested too deeply")
                    .at(span, format!("more than {MAX_DEPTH} levels"));
            return Err(self.report(diagnostic));
        }
        let args = self.module.operands.push_all(args.iter().cloned());
        let id = self.module.expressions.push(Expression { op, args, depth });
        Ok(Operand { kind: OperandKind::Expression(id), span })
    }

    fn depth_of(&self, operand: &Operand) -> u16 {
        match operand.kind {
            OperandKind::Expression(id) => self.module.expressions[id].depth,
            OperandKind::Element(_, id) | OperandKind::Suffixed(id, _) => {
                1 + self.depth_of(&self.module.operands[id])
            }
            _ => 0,
        }
    }
}

/// One side of `p|q`.
fn pair_part(kind: OperandKind) -> Option<crate::Symbol> {
    match kind {
        OperandKind::Name(name) => Some(name),
        OperandKind::Sink => Some(kw::SINK),
        _ => None,
    }
}

/// The value of an integer that fits 64 bits with a sign.
fn small(integer: Integer) -> Option<i64> {
    if integer.unsigned { i64::try_from(integer.bits).ok() } else { Some(integer.bits as i64) }
}
