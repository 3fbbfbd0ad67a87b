//! A builder for recipes, with one value per micro-operation. It folds constants and shares equal
//! values.

use super::{Arith, Micro, Node, Recipe, Say, Sort};
use iced_x86::RoundingControl;
use ir::Ty;

/// A value of a recipe, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) struct Value(pub(in crate::emit) usize);

const SIGN64: u64 = 1 << 63;

/// A recipe under construction, on lanes of one width. Single operations may work on the 32-bit
/// halves of 64-bit lanes.
#[derive(Debug)]
pub(in crate::emit) struct Build {
    /// Whether operations are now on 64-bit lanes, and whether the recipe's lanes have 64 bits.
    pub(super) wide: bool,
    pub(super) lanes: bool,
    pub(super) nodes: Vec<Node>,
    /// The operands that are immediates.
    numbers: Vec<Option<u64>>,
}

impl Build {
    pub(super) fn new(say: &Say<'_>, wide: bool) -> Self {
        let numbers = (0..say.inst.operands.len()).map(|i| say.number(i)).collect();
        Self { wide, lanes: wide, nodes: Vec::new(), numbers }
    }

    /// Starts a recipe on the narrowest lanes that fit the instruction's type.
    pub(super) fn for_type(say: &Say<'_>) -> Self {
        Self::new(say, say.ty.bits() > 32)
    }

    pub(super) fn one(self, result: Value) -> Option<Recipe> {
        let sort = if self.lanes { Sort::Whole } else { Sort::Word };
        self.give(vec![(result, sort)])
    }

    /// Ends the recipe with the low word of each lane as its result.
    pub(super) fn word(self, result: Value) -> Option<Recipe> {
        self.give(vec![(result, Sort::Word)])
    }

    /// Ends the recipe with a value of a type as its result.
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

    /// Returns an operand of the instruction, as a constant if it is an immediate.
    pub(super) fn arg(&mut self, index: usize) -> Value {
        match self.numbers.get(index) {
            Some(&Some(bits)) => self.constant(bits, self.lanes),
            _ => self.operand(index),
        }
    }

    /// Returns an operand that is not folded as a constant.
    pub(super) fn operand(&mut self, index: usize) -> Value {
        self.node(Node::Operand(index, false))
    }

    /// Returns the same operand, loaded again, so that it need not stay in a register.
    pub(super) fn again(&mut self, index: usize) -> Value {
        self.node(Node::Operand(index, true))
    }

    /// Returns a constant in all lanes of the current width.
    pub(super) fn c(&mut self, bits: u64) -> Value {
        let wide = self.wide;
        self.constant(bits, wide)
    }

    /// Returns a constant in all lanes of 64 bits or of 32.
    pub(super) fn constant(&mut self, bits: u64, wide: bool) -> Value {
        let low = bits & 0xffff_ffff;
        self.node(Node::Const(if wide { bits } else { low << 32 | low }))
    }

    /// Returns a constant of 16 bytes, repeated.
    pub(super) fn bytes(&mut self, bytes: [u8; 16]) -> Value {
        self.node(Node::Bytes(bytes))
    }

    fn known(&self, value: Value, wide: bool) -> Option<u64> {
        match self.nodes[value.0] {
            Node::Const(bits) if wide => Some(bits),
            // The halves of a 64-bit constant may differ.
            Node::Const(bits) => {
                Some(bits & 0xffff_ffff).filter(|low| bits >> 32 == *low || !self.lanes)
            }
            _ => None,
        }
    }

    /// Evaluates an operation on constants.
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
        // Shifts of all lanes by one amount have their own micro-operations.
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

    /// Applies an operation to a value and a constant.
    pub(super) fn with(&mut self, micro: Micro, a: Value, bits: u64) -> Value {
        let c = self.c(bits);
        self.binary(micro, a, c)
    }

    /// Applies an operation on 32-bit halves of lanes to a value and a constant.
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

    /// Complements all bits.
    pub(super) fn not(&mut self, holds: Value) -> Value {
        self.with(Micro::Xor, holds, u64::MAX)
    }

    /// Returns a mask of the lanes with a negative value.
    pub(super) fn negative(&mut self, a: Value) -> Value {
        if self.wide {
            let zero = self.c(0);
            return self.binary(Micro::Greater, zero, a);
        }
        self.unary(Micro::SarBy(31), a)
    }

    /// Returns a mask of the lanes in which `a` is greater than `b` as an unsigned number.
    pub(super) fn greater_unsigned(&mut self, a: Value, b: Value) -> Value {
        let sign = if self.wide { SIGN64 } else { 1 << 31 };
        let (a, b) = (self.with(Micro::Xor, a, sign), self.with(Micro::Xor, b, sign));
        self.binary(Micro::Greater, a, b)
    }

    /// Shifts right with sign extension; amounts beyond the width leave only copies of the sign.
    pub(super) fn sar(&mut self, a: Value, by: Value) -> Value {
        if !self.wide {
            return self.binary(Micro::Sar, a, by);
        }
        let sign = self.negative(a);
        let a = self.xor(a, sign);
        let a = self.binary(Micro::Shr, a, by);
        self.xor(a, sign)
    }

    /// Returns a predicate operand as a mask.
    pub(super) fn predicate(&mut self, index: usize) -> Value {
        let (zero, p) = (self.c(0), self.arg(index));
        self.sub(zero, p)
    }

    /// Returns an operand of an integer type, extended to the lane.
    pub(super) fn integer(&mut self, index: usize, ty: Ty) -> Value {
        let a = self.arg(index);
        self.extended(a, ty)
    }

    /// Extends the low bits of a lane, a value of an integer type, to the lane.
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

    /// Clears all but the low `bits` bits.
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

    /// Returns a mask of the lanes with a NaN.
    pub(super) fn nan(&mut self, a: Value) -> Value {
        self.compare(3, a, a)
    }
}
