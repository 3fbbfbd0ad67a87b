//! Operations on scalars.

use super::masks::{Relation, condition, relation};
use super::{Lowering, Val};
use crate::Refused;
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, types};
use fast::ops::{Logic, Native, Op32, Op64, Test};
use ir::mods::BoolOp;
use vector::Value;

impl Lowering<'_> {
    pub(super) fn scalar(&mut self, native: Native, args: &[Value], result: Option<Value>) {
        let value = match native {
            Native::Narrow(op) => self.narrow_scalar(op, args),
            Native::Wide(op) => self.wide_scalar(op, args),
            Native::Low => self.s32(args[0]),
            Native::Test { test, wide, combine } => {
                let bit = self.scalar_test(test, wide, args);
                match combine {
                    Some(how) => self.combined(how, bit, args[2]),
                    None => bit,
                }
            }
            Native::Select { .. } => {
                let (a, b, by) = (self.s(args[0]), self.s(args[1]), self.s32(args[2]));
                let by = self.b.ins().band_imm_s(by, 1);
                self.b.ins().select(by, a, b)
            }
            Native::Logic(op) => self.scalar_logic(op, args),
        };
        self.put_scalar(result, value);
    }

    /// Combines the outcome of a comparison with the lowest bit of a scalar.
    fn combined(&mut self, how: BoolOp, bit: Val, other: Value) -> Val {
        let other = self.s32(other);
        let bit = self.b.ins().uextend(types::I32, bit);
        let value = match how {
            BoolOp::And => self.b.ins().band(bit, other),
            BoolOp::Or => self.b.ins().bor(bit, other),
            BoolOp::Xor => self.b.ins().bxor(bit, other),
        };
        self.b.ins().band_imm_s(value, 1)
    }

    fn scalar_logic(&mut self, op: Logic, args: &[Value]) -> Val {
        let a = self.s32(args[0]);
        let mut two = || self.s32(args[1]);
        let value = match op {
            Logic::Mov => a,
            Logic::Not => self.b.ins().bnot(a),
            Logic::And => {
                let b = two();
                self.b.ins().band(a, b)
            }
            Logic::Or => {
                let b = two();
                self.b.ins().bor(a, b)
            }
            Logic::Xor => {
                let b = two();
                self.b.ins().bxor(a, b)
            }
            Logic::AndNot => {
                let b = two();
                let b = self.b.ins().bnot(b);
                self.b.ins().band(a, b)
            }
        };
        self.b.ins().band_imm_s(value, 1)
    }

    /// Compares scalars: a byte of 0 or 1.
    fn scalar_test(&mut self, test: Test, wide: bool, args: &[Value]) -> Val {
        match test {
            Test::F(cmp) => {
                let (a, b) = (self.single(args[0]), self.single(args[1]));
                let Some(relation) = relation(cmp) else {
                    self.refuse(Refused::Unsound);
                    return self.b.ins().fcmp(FloatCC::Equal, a, b);
                };
                self.float_test(&relation, a, b)
            }
            Test::U(rel) | Test::S(rel) => {
                let condition = condition(rel, matches!(test, Test::S(_)));
                let [a, b] = match wide {
                    true => [args[0], args[1]].map(|v| self.s(v)),
                    false => [args[0], args[1]].map(|v| self.s32(v)),
                };
                self.b.ins().icmp(condition, a, b)
            }
        }
    }

    fn float_test(&mut self, relation: &Relation, a: Val, b: Val) -> Val {
        let condition = match relation {
            Relation::Is(condition) => *condition,
            Relation::IsNot(condition) => condition.complement(),
            Relation::Differs => FloatCC::OrderedNotEqual,
            Relation::DiffersNot => FloatCC::UnorderedOrEqual,
            Relation::Numbers => FloatCC::Ordered,
            Relation::NotNumbers => FloatCC::Unordered,
        };
        self.b.ins().fcmp(condition, a, b)
    }

    fn single(&mut self, value: Value) -> Val {
        let bits = self.s32(value);
        self.cast(types::F32, bits)
    }

    fn double(&mut self, value: Value) -> Val {
        let bits = self.s(value);
        self.cast(types::F64, bits)
    }

    /// Returns the bits of a float, of which a NaN becomes the canonical one.
    fn float_bits(&mut self, value: Val, wide: bool) -> Val {
        let ty = if wide { types::I64 } else { types::I32 };
        let bits = self.cast(ty, value);
        let nan = if wide { i64::MAX } else { 0x7fff_ffff };
        let nan = self.b.ins().iconst(ty, nan);
        let unordered = self.b.ins().fcmp(FloatCC::Unordered, value, value);
        self.b.ins().select(unordered, nan, bits)
    }

    fn narrow_scalar(&mut self, op: Op32, args: &[Value]) -> Val {
        let a = self.s32(args[0]);
        match op {
            Op32::Mov => a,
            Op32::Not => self.b.ins().bnot(a),
            Op32::Neg => self.b.ins().ineg(a),
            Op32::Popc => self.b.ins().popcnt(a),
            Op32::Clz => self.b.ins().clz(a),
            Op32::FAbs => self.b.ins().band_imm_s(a, 0x7fff_ffff),
            Op32::FNeg => {
                let sign = self.iconst32(1 << 31);
                self.b.ins().bxor(a, sign)
            }
            Op32::AbsS => {
                let negated = self.b.ins().ineg(a);
                self.b.ins().smax(a, negated)
            }
            Op32::FFromU | Op32::FFromS | Op32::FSqrt | Op32::FRcp => {
                self.float_of_one(op, args[0])
            }
            Op32::FAdd | Op32::FSub | Op32::FMul | Op32::FDiv | Op32::FFma => {
                let args = &args[..if op == Op32::FFma { 3 } else { 2 }];
                let list: Vec<Val> = args.iter().map(|&v| self.single(v)).collect();
                let value = match op {
                    Op32::FAdd => self.b.ins().fadd(list[0], list[1]),
                    Op32::FSub => self.b.ins().fsub(list[0], list[1]),
                    Op32::FMul => self.b.ins().fmul(list[0], list[1]),
                    Op32::FDiv => self.b.ins().fdiv(list[0], list[1]),
                    _ => self.b.ins().fma(list[0], list[1], list[2]),
                };
                self.float_bits(value, false)
            }
            _ => self.narrow_of_two(op, a, args),
        }
    }

    fn float_of_one(&mut self, op: Op32, arg: Value) -> Val {
        let value = match op {
            Op32::FFromU => {
                let bits = self.s32(arg);
                self.b.ins().fcvt_from_uint(types::F32, bits)
            }
            Op32::FFromS => {
                let bits = self.s32(arg);
                self.b.ins().fcvt_from_sint(types::F32, bits)
            }
            Op32::FSqrt => {
                let a = self.single(arg);
                self.b.ins().sqrt(a)
            }
            _ => {
                let (one, a) = (self.b.ins().f32const(1.0), self.single(arg));
                self.b.ins().fdiv(one, a)
            }
        };
        self.float_bits(value, false)
    }

    fn narrow_of_two(&mut self, op: Op32, a: Val, args: &[Value]) -> Val {
        let b = self.s32(args[1]);
        match op {
            Op32::Add => self.b.ins().iadd(a, b),
            Op32::Sub => self.b.ins().isub(a, b),
            Op32::Mul => self.b.ins().imul(a, b),
            Op32::Mad => {
                let product = self.b.ins().imul(a, b);
                let c = self.s32(args[2]);
                self.b.ins().iadd(product, c)
            }
            Op32::MulHiU => self.b.ins().umulhi(a, b),
            Op32::MulHiS => self.b.ins().smulhi(a, b),
            Op32::And => self.b.ins().band(a, b),
            Op32::Or => self.b.ins().bor(a, b),
            Op32::Xor => self.b.ins().bxor(a, b),
            Op32::Shl => self.shift(Shift::Left, a, b, false),
            Op32::ShrU => self.shift(Shift::Right, a, b, false),
            Op32::ShrS => self.shift(Shift::Signed, a, b, false),
            Op32::MinU => self.b.ins().umin(a, b),
            Op32::MaxU => self.b.ins().umax(a, b),
            Op32::MinS => self.b.ins().smin(a, b),
            Op32::MaxS => self.b.ins().smax(a, b),
            _ => {
                self.refuse(Refused::Form(format!("{op:?} has no pattern")));
                a
            }
        }
    }

    /// A shift whose amount may exceed the width.
    fn shift(&mut self, shift: Shift, a: Val, by: Val, wide: bool) -> Val {
        let most = if wide { 63 } else { 31 };
        let ty = if wide { types::I64 } else { types::I32 };
        let far = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, by, most);
        if shift == Shift::Signed {
            let most = self.b.ins().iconst(ty, most);
            let by = self.b.ins().select(far, most, by);
            return self.b.ins().sshr(a, by);
        }
        let value = match shift {
            Shift::Left => self.b.ins().ishl(a, by),
            _ => self.b.ins().ushr(a, by),
        };
        let zero = self.b.ins().iconst(ty, 0);
        self.b.ins().select(far, zero, value)
    }

    fn wide_scalar(&mut self, op: Op64, args: &[Value]) -> Val {
        let a = self.s(args[0]);
        match op {
            Op64::Mov => a,
            Op64::Not => self.b.ins().bnot(a),
            Op64::Neg => self.b.ins().ineg(a),
            Op64::Zext32 => self.low_word(a),
            Op64::Sext32 => self.sign_extended(a),
            Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DDiv | Op64::DFma => {
                self.double_scalar(op, args)
            }
            _ => self.wide_of_two(op, a, args),
        }
    }

    /// The low word of a scalar widened with its sign.
    fn sign_extended(&mut self, a: Val) -> Val {
        let low = self.low_word(a);
        self.b.ins().sextend(types::I64, low)
    }

    fn wide_of_two(&mut self, op: Op64, a: Val, args: &[Value]) -> Val {
        let b = self.s(args[1]);
        match op {
            Op64::Add => self.b.ins().iadd(a, b),
            Op64::Sub => self.b.ins().isub(a, b),
            Op64::And => self.b.ins().band(a, b),
            Op64::Or => self.b.ins().bor(a, b),
            Op64::Xor => self.b.ins().bxor(a, b),
            Op64::Mul | Op64::MulWideU => self.b.ins().imul(a, b),
            Op64::Mad | Op64::MadWideU => {
                let product = self.b.ins().imul(a, b);
                let c = self.s(args[2]);
                self.b.ins().iadd(product, c)
            }
            Op64::MulWideS | Op64::MadWideS => {
                let [a, b] = [a, b].map(|v| self.sign_extended(v));
                let product = self.b.ins().imul(a, b);
                if op == Op64::MulWideS {
                    return product;
                }
                let c = self.s(args[2]);
                self.b.ins().iadd(product, c)
            }
            Op64::Shl => self.shift(Shift::Left, a, b, true),
            Op64::ShrU => self.shift(Shift::Right, a, b, true),
            Op64::ShrS => self.shift(Shift::Signed, a, b, true),
            Op64::MinU => self.b.ins().umin(a, b),
            Op64::MaxU => self.b.ins().umax(a, b),
            Op64::MinS => self.b.ins().smin(a, b),
            Op64::MaxS => self.b.ins().smax(a, b),
            _ => {
                self.refuse(Refused::Form(format!("{op:?} has no pattern")));
                a
            }
        }
    }

    fn double_scalar(&mut self, op: Op64, args: &[Value]) -> Val {
        let (a, b) = (self.double(args[0]), self.double(args[1]));
        let value = match op {
            Op64::DAdd => self.b.ins().fadd(a, b),
            Op64::DSub => self.b.ins().fsub(a, b),
            Op64::DMul => self.b.ins().fmul(a, b),
            Op64::DDiv => self.b.ins().fdiv(a, b),
            _ => {
                let c = self.double(args[2]);
                self.b.ins().fma(a, b, c)
            }
        };
        self.float_bits(value, true)
    }

    /// Whether a 32-bit line wraps around over the lanes of a warp when it is widened.
    pub(super) fn wraps(&mut self, signed: bool, stride: i64, base: Value, result: Option<Value>) {
        let reach = i64::from(stride.saturating_mul(31) as i32);
        let base = self.s(base);
        let start = match signed {
            true => self.sign_extended(base),
            false => {
                let low = self.low_word(base);
                self.widened(low)
            }
        };
        let end = self.b.ins().iadd_imm_s(start, reach);
        let bit = if signed {
            let cut = self.sign_extended(end);
            self.b.ins().icmp(IntCC::NotEqual, cut, end)
        } else {
            // Bit 32 is set if the sum leaves the range of words, on either side.
            self.b.ins().ushr_imm_u(end, 32)
        };
        self.put_scalar(result, bit);
    }
}

/// A shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left,
    Right,
    Signed,
}
