//! Recipes as they are written: a value for each micro-operation. Constants are computed at once, equal values are one.

use super::{Arith, Micro, Node, Recipe, Say, Sort};
use iced_x86::RoundingControl;
use ir::Ty;

/// A value of a recipe, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) struct Value(pub(in crate::emit) usize);

const SIGN64: u64 = 1 << 63;

/// A recipe that is being written, on lanes of one width; some of its operations may be on 32-bit halves of lanes.
#[derive(Debug)]
pub(in crate::emit) struct Build {
    /// Whether operations are on 64-bit lanes, and whether the recipe's lanes are such.
    pub(super) wide: bool,
    pub(super) lanes: bool,
    pub(super) nodes: Vec<Node>,
    /// Operands that are numbers.
    numbers: Vec<Option<u64>>,
}

impl Build {
    pub(super) fn new(say: &Say<'_>, wide: bool) -> Self {
        let numbers = (0..say.inst.operands.len()).map(|i| say.number(i)).collect();
        Self { wide, lanes: wide, nodes: Vec::new(), numbers }
    }

    /// On lanes that values of the instruction's type fit in.
    pub(super) fn for_type(say: &Say<'_>) -> Self {
        Self::new(say, say.ty.bits() > 32)
    }

    pub(super) fn one(self, result: Value) -> Option<Recipe> {
        let sort = if self.lanes { Sort::Whole } else { Sort::Word };
        self.give(vec![(result, sort)])
    }

    /// A word of 64-bit lanes.
    pub(super) fn word(self, result: Value) -> Option<Recipe> {
        self.give(vec![(result, Sort::Word)])
    }

    /// A value of a type.
    pub(super) fn typed(self, result: Value, ty: Ty) -> Option<Recipe> {
        let sort = if ty.bits() > 32 { Sort::Whole } else { Sort::Word };
        self.give(vec![(result, sort)])
    }

    pub(super) fn give(self, results: Vec<(Value, Sort)>) -> Option<Recipe> {
        Some(Recipe::new(self, results))
    }

    fn node(&mut self, node: Node) -> Value {
        let known = self.nodes.iter().position(|n| *n == node);
        Value(known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        }))
    }

    /// An operand of the instruction.
    pub(super) fn arg(&mut self, index: usize) -> Value {
        match self.numbers.get(index) {
            Some(&Some(bits)) => self.constant(bits, self.lanes),
            _ => self.operand(index),
        }
    }

    /// The same, never as a constant.
    pub(super) fn operand(&mut self, index: usize) -> Value {
        self.node(Node::Operand(index, false))
    }

    /// The same once more, so that it need not stay in between.
    pub(super) fn again(&mut self, index: usize) -> Value {
        self.node(Node::Operand(index, true))
    }

    /// Bits in all lanes.
    pub(super) fn c(&mut self, bits: u64) -> Value {
        let wide = self.wide;
        self.constant(bits, wide)
    }

    /// The same in lanes of 64 bits or of 32.
    pub(super) fn constant(&mut self, bits: u64, wide: bool) -> Value {
        let low = bits & 0xffff_ffff;
        self.node(Node::Const(if wide { bits } else { low << 32 | low }))
    }

    /// A byte for each of 16 in turn.
    pub(super) fn bytes(&mut self, bytes: [u8; 16]) -> Value {
        self.node(Node::Bytes(bytes))
    }

    fn known(&self, value: Value, wide: bool) -> Option<u64> {
        match self.nodes[value.0] {
            Node::Const(bits) if wide => Some(bits),
            // Halves of 64-bit constants may differ.
            Node::Const(bits) => {
                Some(bits & 0xffff_ffff).filter(|low| bits >> 32 == *low || !self.lanes)
            }
            _ => None,
        }
    }

    /// What an operation gives for constants.
    fn fold(micro: Micro, a: u64, b: u64, wide: bool) -> Option<u64> {
        let bits = if wide { 64 } else { 32 };
        let shift = |by: u64, f: fn(u64, u32) -> u64| if by < bits { f(a, by as u32) } else { 0 };
        Some(match micro {
            Micro::And => a & b,
            Micro::Or => a | b,
            Micro::Xor => a ^ b,
            Micro::AndNot => !a & b,
            Micro::Add => a.wrapping_add(b),
            Micro::Sub => a.wrapping_sub(b),
            Micro::Shl => shift(b, |a, by| a << by),
            Micro::Shr => shift(b, |a, by| a >> by),
            Micro::MinU => a.min(b),
            Micro::ShlBy(by) => a << by,
            Micro::ShrBy(by) => a >> by,
            _ => return None,
        })
    }

    fn act(&mut self, micro: Micro, operands: [Value; 3], wide: bool) -> Value {
        let [mut a, mut b, c] = operands;
        if let (Some(x), Some(y)) = (self.known(a, wide), self.known(b, wide))
            && let Some(bits) = Self::fold(micro, x, y, wide)
        {
            return self.constant(bits, wide);
        }
        let commutes = matches!(
            micro,
            Micro::And
                | Micro::Or
                | Micro::Xor
                | Micro::Add
                | Micro::Mul
                | Micro::MinU
                | Micro::Equal
        );
        if commutes && matches!(self.nodes[a.0], Node::Const(_) | Node::Bytes(_)) {
            (a, b) = (b, a);
        }
        // Shifts by one amount of all lanes have a form of their own.
        if let (Micro::Shl | Micro::Shr | Micro::Sar, Some(by)) = (micro, self.known(b, wide)) {
            let bits = if wide { 64 } else { 32 };
            return match micro {
                Micro::Sar => self.act(Micro::SarBy(by.min(31) as u8), [a; 3], wide),
                _ if by >= bits => self.constant(0, wide),
                Micro::Shl => self.act(Micro::ShlBy(by as u8), [a; 3], wide),
                _ => self.act(Micro::ShrBy(by as u8), [a; 3], wide),
            };
        }
        let nothing = match micro {
            Micro::ShlBy(0) | Micro::ShrBy(0) | Micro::SarBy(0) => true,
            Micro::Or | Micro::Xor | Micro::Add | Micro::Sub => self.known(b, wide) == Some(0),
            Micro::And => self.known(b, wide) == Some(if wide { u64::MAX } else { 0xffff_ffff }),
            _ => false,
        };
        if nothing {
            return a;
        }
        let operands = match micro.operands() {
            1 => [a; 3],
            2 => [a, b, b],
            _ => [a, b, c],
        };
        self.node(Node::Do(micro, operands, wide))
    }

    pub(super) fn unary(&mut self, micro: Micro, a: Value) -> Value {
        self.act(micro, [a; 3], self.wide)
    }

    pub(super) fn binary(&mut self, micro: Micro, a: Value, b: Value) -> Value {
        self.act(micro, [a, b, b], self.wide)
    }

    pub(super) fn ternary(&mut self, micro: Micro, a: Value, b: Value, c: Value) -> Value {
        self.act(micro, [a, b, c], self.wide)
    }

    /// With a constant.
    pub(super) fn with(&mut self, micro: Micro, a: Value, bits: u64) -> Value {
        let c = self.c(bits);
        self.binary(micro, a, c)
    }

    /// On 32-bit halves of lanes, with a constant.
    pub(super) fn half_with(&mut self, micro: Micro, a: Value, bits: u64) -> Value {
        let c = self.constant(bits, false);
        self.act(micro, [a, c, c], false)
    }

    pub(super) fn half(&mut self, micro: Micro, a: Value, b: Value) -> Value {
        self.act(micro, [a, b, b], false)
    }

    pub(super) fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(Micro::And, a, b)
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.binary(Micro::Or, a, b)
    }

    pub(super) fn xor(&mut self, a: Value, b: Value) -> Value {
        self.binary(Micro::Xor, a, b)
    }

    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(Micro::Add, a, b)
    }

    pub(super) fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(Micro::Sub, a, b)
    }

    pub(super) fn shl(&mut self, a: Value, by: u8) -> Value {
        self.unary(Micro::ShlBy(by), a)
    }

    pub(super) fn shr(&mut self, a: Value, by: u8) -> Value {
        self.unary(Micro::ShrBy(by), a)
    }

    pub(super) fn choose(&mut self, holds: Value, yes: Value, no: Value) -> Value {
        self.ternary(Micro::Choose, holds, yes, no)
    }

    /// The complement.
    pub(super) fn not(&mut self, holds: Value) -> Value {
        self.with(Micro::Xor, holds, u64::MAX)
    }

    /// Where a value is negative, as a mask.
    pub(super) fn negative(&mut self, a: Value) -> Value {
        if self.wide {
            let zero = self.c(0);
            return self.binary(Micro::Greater, zero, a);
        }
        self.unary(Micro::SarBy(31), a)
    }

    /// Where the first is greater as an unsigned number.
    pub(super) fn greater_unsigned(&mut self, a: Value, b: Value) -> Value {
        let sign = if self.wide { SIGN64 } else { 1 << 31 };
        let (a, b) = (self.with(Micro::Xor, a, sign), self.with(Micro::Xor, b, sign));
        self.binary(Micro::Greater, a, b)
    }

    /// A shift that brings the sign along; amounts beyond the width leave nothing else.
    pub(super) fn sar(&mut self, a: Value, by: Value) -> Value {
        if !self.wide {
            return self.binary(Micro::Sar, a, by);
        }
        let sign = self.negative(a);
        let a = self.xor(a, sign);
        let a = self.binary(Micro::Shr, a, by);
        self.xor(a, sign)
    }

    /// A predicate operand as a mask.
    pub(super) fn predicate(&mut self, index: usize) -> Value {
        let (zero, p) = (self.c(0), self.arg(index));
        self.sub(zero, p)
    }

    /// An operand of an integer type, extended to the lane.
    pub(super) fn integer(&mut self, index: usize, ty: Ty) -> Value {
        let a = self.arg(index);
        self.extended(a, ty)
    }

    /// The low bits of a lane that are a value of an integer type, extended to the lane.
    pub(super) fn extended(&mut self, a: Value, ty: Ty) -> Value {
        let lane = if self.wide { 64 } else { 32 };
        let bits = ty.bits();
        if bits >= lane {
            return a;
        }
        if ty.is_signed() && !self.wide {
            let a = self.shl(a, (32 - bits) as u8);
            return self.unary(Micro::SarBy((32 - bits) as u8), a);
        }
        let a = self.cut(a, bits);
        if !ty.is_signed() {
            return a;
        }
        let sign = 1 << (bits - 1);
        let a = self.with(Micro::Xor, a, sign);
        self.with(Micro::Sub, a, sign)
    }

    /// The low bits.
    pub(super) fn cut(&mut self, a: Value, bits: u32) -> Value {
        if bits >= 64 { a } else { self.with(Micro::And, a, (1 << bits) - 1) }
    }

    pub(super) fn arith(&mut self, arith: Arith, operands: [Value; 3]) -> Value {
        let nearest = RoundingControl::RoundToNearest;
        self.act(Micro::Float(arith, nearest), operands, self.wide)
    }

    pub(super) fn compare(&mut self, relation: u8, a: Value, b: Value) -> Value {
        self.binary(Micro::Compare(relation), a, b)
    }

    /// Where a float is no number.
    pub(super) fn nan(&mut self, a: Value) -> Value {
        self.compare(3, a, a)
    }
}
