//! Operations of steps as operations on lanes.

use super::Translator;
use crate::function::{Type, Value};
use crate::op::{Arith, LaneOp, MaskOp, Op, Rounding};
use fast::code::Src;
use fast::ops::{Logic, Op32, Op64};

/// Returns whether the values of an operand have 32 bits at most.
pub(super) fn is_word(src: Src) -> bool {
    match src {
        Src::Narrow(_) => true,
        Src::Line(_, _, mask) => mask <= u64::from(u32::MAX),
        Src::Const(bits) => bits <= u64::from(u32::MAX),
        _ => false,
    }
}

impl Translator<'_> {
    pub(super) fn lanes(&mut self, op: LaneOp, args: &[Value], ty: Type) -> Value {
        self.one(Op::Lanes(op), args, ty)
    }

    /// Makes the NaNs of a float result canonical.
    fn float(&mut self, value: Value, ty: Type) -> Value {
        let nan = self.one(Op::Unordered, &[value, value], Type::Mask);
        let bits = if ty == Type::Row64 { 0x7fff_ffff_ffff_ffff } else { 0x7fff_ffff };
        let canonical = self.constant(bits, ty);
        self.one(Op::Select, &[nan, canonical, value], ty)
    }

    pub(super) fn narrow(&mut self, op: Op32, src: &[Src; 3]) -> Value {
        const TY: Type = Type::Row32;
        use Rounding::Nearest;
        let plain = match op {
            Op32::Add => Some(LaneOp::Add),
            Op32::Sub => Some(LaneOp::Sub),
            Op32::Mul => Some(LaneOp::Mul),
            Op32::MulHiU => Some(LaneOp::MulHighU),
            Op32::MulHiS => Some(LaneOp::MulHighS),
            Op32::And => Some(LaneOp::And),
            Op32::Or => Some(LaneOp::Or),
            Op32::Xor => Some(LaneOp::Xor),
            Op32::Shl => Some(LaneOp::Shl),
            Op32::ShrU => Some(LaneOp::Shr),
            Op32::ShrS => Some(LaneOp::Sar),
            Op32::MinU => Some(LaneOp::MinU),
            Op32::MaxU => Some(LaneOp::MaxU),
            Op32::MinS => Some(LaneOp::MinS),
            Op32::MaxS => Some(LaneOp::MaxS),
            Op32::Popc => Some(LaneOp::Popc),
            Op32::Clz => Some(LaneOp::Clz),
            Op32::FFromU => Some(LaneOp::FloatOfU(Nearest)),
            Op32::FFromS => Some(LaneOp::FloatOfS(Nearest)),
            _ => None,
        };
        let a = self.row32(src[0]);
        if let Some(plain) = plain {
            let b = if plain.operands() == 2 { Some(self.row32(src[1])) } else { None };
            let args: Vec<Value> = std::iter::once(a).chain(b).collect();
            return self.lanes(plain, &args, TY);
        }
        let float = |arith| LaneOp::Float(arith, Nearest);
        match op {
            Op32::Mad => {
                let (b, c) = (self.row32(src[1]), self.row32(src[2]));
                let product = self.lanes(LaneOp::Mul, &[a, b], TY);
                self.lanes(LaneOp::Add, &[product, c], TY)
            }
            Op32::Not | Op32::FAbs | Op32::FNeg => {
                let (op, bits) = match op {
                    Op32::Not => (LaneOp::Xor, 0xffff_ffff),
                    Op32::FAbs => (LaneOp::And, 0x7fff_ffff),
                    _ => (LaneOp::Xor, 0x8000_0000),
                };
                let bits = self.constant(bits, TY);
                self.lanes(op, &[a, bits], TY)
            }
            Op32::Neg | Op32::AbsS => {
                let zero = self.constant(0, TY);
                let negative = self.lanes(LaneOp::Sub, &[zero, a], TY);
                match op {
                    Op32::Neg => negative,
                    _ => self.lanes(LaneOp::MaxS, &[a, negative], TY),
                }
            }
            Op32::FAdd | Op32::FSub | Op32::FMul | Op32::FDiv => {
                let arith = match op {
                    Op32::FAdd => Arith::Add,
                    Op32::FSub => Arith::Sub,
                    Op32::FMul => Arith::Mul,
                    _ => Arith::Div,
                };
                let b = self.row32(src[1]);
                let value = self.lanes(float(arith), &[a, b], TY);
                self.float(value, TY)
            }
            Op32::FFma => {
                let (b, c) = (self.row32(src[1]), self.row32(src[2]));
                let value = self.lanes(float(Arith::Fma), &[a, b, c], TY);
                self.float(value, TY)
            }
            Op32::FRcp => {
                let one = self.constant(1f32.to_bits().into(), TY);
                let value = self.lanes(float(Arith::Div), &[one, a], TY);
                self.float(value, TY)
            }
            Op32::FSqrt => {
                let value = self.lanes(float(Arith::Sqrt), &[a], TY);
                self.float(value, TY)
            }
            // A copy; all others are above.
            _ => a,
        }
    }

    pub(super) fn wide(&mut self, op: Op64, src: &[Src; 3]) -> Value {
        const TY: Type = Type::Row64;
        let words = is_word(src[0]) && is_word(src[1]);
        let multiply = match op {
            Op64::MulWideS | Op64::MadWideS => LaneOp::MulLowS,
            _ if words => LaneOp::MulLowU,
            _ => LaneOp::Mul,
        };
        let plain = match op {
            Op64::Add => Some(LaneOp::Add),
            Op64::Sub => Some(LaneOp::Sub),
            Op64::Mul | Op64::MulWideU | Op64::MulWideS => Some(multiply),
            Op64::And => Some(LaneOp::And),
            Op64::Or => Some(LaneOp::Or),
            Op64::Xor => Some(LaneOp::Xor),
            Op64::Shl => Some(LaneOp::Shl),
            Op64::ShrU => Some(LaneOp::Shr),
            Op64::ShrS => Some(LaneOp::Sar),
            Op64::MinU => Some(LaneOp::MinU),
            Op64::MaxU => Some(LaneOp::MaxU),
            Op64::MinS => Some(LaneOp::MinS),
            Op64::MaxS => Some(LaneOp::MaxS),
            _ => None,
        };
        if let Op64::Zext32 | Op64::Sext32 = op {
            let row = self.row32(src[0]);
            let op = if op == Op64::Zext32 { Op::ZeroExtend } else { Op::SignExtend };
            return self.one(op, &[row], TY);
        }
        let a = self.row64(src[0]);
        if let Some(plain) = plain {
            let b = self.row64(src[1]);
            return self.lanes(plain, &[a, b], TY);
        }
        let float = |arith| LaneOp::Float(arith, Rounding::Nearest);
        match op {
            Op64::Mad | Op64::MadWideU | Op64::MadWideS => {
                let (b, c) = (self.row64(src[1]), self.row64(src[2]));
                let product = self.lanes(multiply, &[a, b], TY);
                self.lanes(LaneOp::Add, &[product, c], TY)
            }
            Op64::Not => {
                let bits = self.constant(u64::MAX, TY);
                self.lanes(LaneOp::Xor, &[a, bits], TY)
            }
            Op64::Neg => {
                let zero = self.constant(0, TY);
                self.lanes(LaneOp::Sub, &[zero, a], TY)
            }
            Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DDiv => {
                let arith = match op {
                    Op64::DAdd => Arith::Add,
                    Op64::DSub => Arith::Sub,
                    Op64::DMul => Arith::Mul,
                    _ => Arith::Div,
                };
                let b = self.row64(src[1]);
                let value = self.lanes(float(arith), &[a, b], TY);
                self.float(value, TY)
            }
            Op64::DFma => {
                let (b, c) = (self.row64(src[1]), self.row64(src[2]));
                let value = self.lanes(float(Arith::Fma), &[a, b, c], TY);
                self.float(value, TY)
            }
            // A copy; all others are above.
            _ => a,
        }
    }

    pub(super) fn logic(&mut self, op: Logic, src: [Src; 2]) -> Value {
        let a = self.mask(src[0]);
        let op = match op {
            Logic::Mov => return a,
            Logic::Not => return self.one(Op::Mask(MaskOp::Not), &[a], Type::Mask),
            Logic::And => MaskOp::And,
            Logic::Or => MaskOp::Or,
            Logic::Xor => MaskOp::Xor,
            Logic::AndNot => MaskOp::AndNot,
        };
        let b = self.mask(src[1]);
        self.one(Op::Mask(op), &[a, b], Type::Mask)
    }
}
