//! The builder of recipes: operands of an instruction, and one method per operation. Operations
//! work on lanes of the width of their first operand.

use crate::function::{Block, Function, Type, Value};
use crate::op::{Arith, Conversion, LaneOp, MaskOp, Op, Rounding};
use fast::ops::{Rel, Test};
use ir::mods::{Cmp, Flag};
use ir::{Inst, Ty};
use smallvec::SmallVec;

/// The results of a recipe: rows and masks.
pub(crate) type Results = SmallVec<[Value; 2]>;

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    /// A row as wide as the operand's register, and whether it has one value in all lanes.
    Row(Value, bool),
    /// A predicate.
    Mask(Value),
    /// The same bits in all lanes.
    Const(u64),
}

/// A recipe under construction.
#[derive(Debug)]
pub(crate) struct Build<'f> {
    function: &'f mut Function,
    block: Block,
    pub(super) inst: &'f Inst,
    /// The instruction's type.
    pub(super) ty: Ty,
    /// Bits of the first result's register.
    pub(super) register: u32,
    args: &'f [Arg],
    /// Whether products that are added are fused with the sum.
    pub(super) fused: bool,
}

/// Returns the type of rows that hold values of so many bits.
pub(super) fn row_of(bits: u32) -> Type {
    if bits > 32 { Type::Row64 } else { Type::Row32 }
}

/// Returns the results of a recipe with one.
pub(super) fn one(value: Value) -> Option<Results> {
    Some(SmallVec::from_slice(&[value]))
}

impl<'f> Build<'f> {
    pub(super) fn new(
        function: &'f mut Function,
        block: Block,
        (inst, ty, register): (&'f Inst, Ty, u32),
        args: &'f [Arg],
    ) -> Self {
        Self { function, block, inst, ty, register, args, fused: false }
    }

    pub(super) fn has(&self, flag: Flag) -> bool {
        self.inst.mods.flags.has(flag)
    }

    /// Returns the instruction's rounding, or `or` if it names none; `None` for one that vectors
    /// lack.
    pub(super) fn rounding(&self, or: Rounding) -> Option<Rounding> {
        use ir::mods::Rounding as Word;
        Some(match self.inst.mods.rounding {
            None => or,
            Some(Word::Rn | Word::Rni) => Rounding::Nearest,
            Some(Word::Rz | Word::Rzi) => Rounding::Zero,
            Some(Word::Rm | Word::Rmi) => Rounding::Down,
            Some(Word::Rp | Word::Rpi) => Rounding::Up,
            Some(Word::Rna) => return None,
        })
    }

    // Operands.

    /// Returns the number of operands.
    pub(super) fn operands(&self) -> usize {
        self.args.len()
    }

    /// Returns an operand that is a constant.
    pub(super) fn number(&self, index: usize) -> Option<u64> {
        match self.args.get(index) {
            Some(&Arg::Const(bits)) => Some(bits),
            _ => None,
        }
    }

    /// Returns whether an operand has one value in all lanes.
    pub(super) fn is_uniform(&self, index: usize) -> bool {
        matches!(self.args.get(index), Some(Arg::Const(_) | Arg::Row(_, true)))
    }

    /// Returns whether two operands are the same.
    pub(super) fn are_same(&self, a: usize, b: usize) -> bool {
        match (self.args.get(a), self.args.get(b)) {
            (Some(Arg::Row(a, _)), Some(Arg::Row(b, _))) => a == b,
            _ => false,
        }
    }

    /// Returns an operand in lanes of a type: its low bits, or widened with zeros.
    pub(super) fn arg(&mut self, index: usize, ty: Type) -> Value {
        let value = match self.args.get(index) {
            Some(&Arg::Row(value, _)) => value,
            Some(&Arg::Mask(mask)) => self.add(Op::RowOfMask, &[mask], Type::Row32),
            Some(&Arg::Const(bits)) => return self.constant(bits, ty),
            None => return self.constant(0, ty),
        };
        self.sized(value, ty)
    }

    /// Returns the low 32 bits of an operand.
    pub(super) fn word(&mut self, index: usize) -> Value {
        self.arg(index, Type::Row32)
    }

    /// Returns an operand in lanes that fit the instruction's type.
    pub(super) fn lane(&mut self, index: usize) -> Value {
        self.arg(index, row_of(self.ty.bits()))
    }

    /// Returns an operand of an integer type, extended to lanes of a type.
    pub(super) fn integer(&mut self, index: usize, of: Ty, ty: Type) -> Value {
        if ty == Type::Row64 && of.bits() <= 32 {
            let word = self.word(index);
            let word = self.extended(word, of);
            let op = if of.is_signed() { Op::SignExtend } else { Op::ZeroExtend };
            return self.add(op, &[word], ty);
        }
        let value = self.arg(index, ty);
        self.extended(value, of)
    }

    /// Returns a predicate operand.
    pub(super) fn predicate(&mut self, index: usize) -> Value {
        match self.args.get(index) {
            Some(&Arg::Mask(mask)) => mask,
            Some(&Arg::Const(bits)) => {
                self.add(Op::MaskConst(if bits & 1 != 0 { u32::MAX } else { 0 }), &[], Type::Mask)
            }
            _ => {
                let value = self.word(index);
                let bit = self.with(LaneOp::And, value, 1);
                self.is_nonzero(bit)
            }
        }
    }

    // Values.

    fn add(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let inst = self.function.append(self.block, op, args, &[ty]);
        self.function.inst(inst).results[0]
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// Returns the bits of a value's lanes.
    pub(super) fn bits(&self, value: Value) -> u32 {
        if self.ty(value) == Type::Row64 { 64 } else { 32 }
    }

    /// Returns a constant in all lanes.
    pub(super) fn constant(&mut self, bits: u64, ty: Type) -> Value {
        let bits = if ty == Type::Row64 { bits } else { bits & 0xffff_ffff };
        self.add(Op::Const(bits), &[], ty)
    }

    /// Returns a constant in lanes like those of a value.
    pub(super) fn like(&mut self, value: Value, bits: u64) -> Value {
        self.constant(bits, self.ty(value))
    }

    /// Returns the low bits of lanes, or lanes widened with zeros.
    pub(super) fn sized(&mut self, value: Value, ty: Type) -> Value {
        match (self.ty(value), ty) {
            (Type::Row64, Type::Row32) => self.add(Op::Low, &[value], ty),
            (Type::Row32, Type::Row64) => self.add(Op::ZeroExtend, &[value], ty),
            _ => value,
        }
    }

    /// Widens lanes with copies of their signs.
    pub(super) fn sign_extend(&mut self, value: Value) -> Value {
        self.add(Op::SignExtend, &[value], Type::Row64)
    }

    pub(super) fn convert(&mut self, conversion: Conversion, value: Value) -> Value {
        self.add(Op::Convert(conversion), &[value], conversion.types()[1])
    }

    pub(super) fn unary(&mut self, op: LaneOp, a: Value) -> Value {
        self.add(Op::Lanes(op), &[a], self.ty(a))
    }

    pub(super) fn binary(&mut self, op: LaneOp, a: Value, b: Value) -> Value {
        self.add(Op::Lanes(op), &[a, b], self.ty(a))
    }

    pub(super) fn ternary(&mut self, op: LaneOp, a: Value, b: Value, c: Value) -> Value {
        self.add(Op::Lanes(op), &[a, b, c], self.ty(a))
    }

    /// Applies an operation to a value and a constant.
    pub(super) fn with(&mut self, op: LaneOp, a: Value, bits: u64) -> Value {
        let c = self.like(a, bits);
        self.binary(op, a, c)
    }

    pub(super) fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(LaneOp::And, a, b)
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.binary(LaneOp::Or, a, b)
    }

    pub(super) fn xor(&mut self, a: Value, b: Value) -> Value {
        self.binary(LaneOp::Xor, a, b)
    }

    pub(super) fn sum(&mut self, a: Value, b: Value) -> Value {
        self.binary(LaneOp::Add, a, b)
    }

    pub(super) fn difference(&mut self, a: Value, b: Value) -> Value {
        self.binary(LaneOp::Sub, a, b)
    }

    pub(super) fn shl(&mut self, a: Value, by: u32) -> Value {
        if by == 0 { a } else { self.with(LaneOp::Shl, a, by.into()) }
    }

    pub(super) fn shr(&mut self, a: Value, by: u32) -> Value {
        if by == 0 { a } else { self.with(LaneOp::Shr, a, by.into()) }
    }

    pub(super) fn not(&mut self, a: Value) -> Value {
        self.with(LaneOp::Xor, a, u64::MAX)
    }

    pub(super) fn minus(&mut self, a: Value) -> Value {
        let zero = self.like(a, 0);
        self.difference(zero, a)
    }

    /// Clears all but the low `bits` bits.
    pub(super) fn cut(&mut self, a: Value, bits: u32) -> Value {
        if bits >= self.bits(a) { a } else { self.with(LaneOp::And, a, (1 << bits) - 1) }
    }

    /// Extends the low bits of lanes, values of an integer type, to the lanes.
    pub(super) fn extended(&mut self, a: Value, of: Ty) -> Value {
        let rest = self.bits(a).saturating_sub(of.bits());
        if rest == 0 {
            return a;
        }
        if !of.is_signed() {
            return self.cut(a, of.bits());
        }
        let up = self.shl(a, rest);
        self.with(LaneOp::Sar, up, rest.into())
    }

    // Masks.

    pub(super) fn test(&mut self, test: Test, a: Value, b: Value) -> Value {
        self.add(Op::Test(test), &[a, b], Type::Mask)
    }

    /// Compares a value with a constant.
    pub(super) fn test_with(&mut self, test: Test, a: Value, bits: u64) -> Value {
        let c = self.like(a, bits);
        self.test(test, a, c)
    }

    pub(super) fn compare(&mut self, cmp: Cmp, a: Value, b: Value) -> Value {
        self.test(Test::F(cmp), a, b)
    }

    pub(super) fn is_zero(&mut self, a: Value) -> Value {
        self.test_with(Test::U(Rel::Eq), a, 0)
    }

    pub(super) fn is_nonzero(&mut self, a: Value) -> Value {
        self.test_with(Test::U(Rel::Ne), a, 0)
    }

    pub(super) fn is_negative(&mut self, a: Value) -> Value {
        self.test_with(Test::S(Rel::Lt), a, 0)
    }

    pub(super) fn is_nan(&mut self, a: Value) -> Value {
        self.add(Op::Unordered, &[a, a], Type::Mask)
    }

    pub(super) fn mask(&mut self, op: MaskOp, a: Value, b: Value) -> Value {
        self.add(Op::Mask(op), &[a, b], Type::Mask)
    }

    pub(super) fn complement(&mut self, mask: Value) -> Value {
        self.add(Op::Mask(MaskOp::Not), &[mask], Type::Mask)
    }

    pub(super) fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.add(Op::Select, &[mask, a, b], self.ty(a))
    }

    /// Selects a constant where the mask is set.
    pub(super) fn select_bits(&mut self, mask: Value, bits: u64, other: Value) -> Value {
        let c = self.like(other, bits);
        self.select(mask, c, other)
    }

    // Floats.

    pub(super) fn arith(&mut self, arith: Arith, a: Value, b: Value) -> Value {
        self.binary(LaneOp::Float(arith, Rounding::Nearest), a, b)
    }

    /// Returns `a * b + c`, fused or not.
    pub(super) fn product_sum(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.fused {
            return self.ternary(LaneOp::Float(Arith::Fma, Rounding::Nearest), a, b, c);
        }
        let product = self.arith(Arith::Mul, a, b);
        self.arith(Arith::Add, product, c)
    }
}
