//! binary16 and bfloat16 by way of binary32.
//!
//! Sums and products of two numbers of either format, rounded to binary32 and then to the format,
//! are those rounded once: 24 bits are at least twice 11 and two more (Figueroa, 1995). Where that
//! does not hold, in fused operations and in products that may be subnormal in binary32, the first
//! rounding is to odd, which no second one notices (Boldo and Melquiond, 2008).

use super::build::{Builder, word};
use super::float::Round;
use super::words::{Words, missing};
use crate::Missing;
use ir::mods::{Cmp, Flags, Rounding};
use ir::{Inst, Op, Operand, Ty};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
/// The NaN that is made.
const NAN: u32 = 0x7fff;

/// The format of an element of a type, if it is one of the two.
pub(super) fn half(ty: Ty) -> Option<Ty> {
    match ty {
        Ty::F16 | Ty::F16x2 => Some(Ty::F16),
        Ty::Bf16 | Ty::Bf16x2 => Some(Ty::Bf16),
        _ => None,
    }
}

impl Builder {
    /// A number as a binary32; a NaN as some NaN.
    pub(super) fn widen(&mut self, value: Operand, format: Ty) -> Operand {
        if format == Ty::Bf16 {
            return self.shl(value, word(16));
        }
        let sign = self.and(value, word(0x8000));
        let sign = self.shl(sign, word(16));
        let magnitude = self.and(value, word(0x7fff));
        let up = self.shl(magnitude, word(13));
        let normal = self.add(up, word(112 << 23));
        let special = self.or(up, word(INFINITY));
        let mut convert = Inst::new(Op::Cvt).ty(Ty::F32).operand(magnitude);
        (convert.ty2, convert.mods.rounding) = (Some(Ty::S32), Some(Rounding::Rn));
        let whole = self.value(convert);
        // Times 2^-24.
        let tiny = self.op(Op::Mul, Ty::F32, &[whole, word(0x3380_0000)]);
        let is_special = self.compare(Cmp::Hs, Ty::U32, magnitude, word(0x7c00));
        let is_tiny = self.compare(Cmp::Lo, Ty::U32, magnitude, word(0x400));
        let value = self.select(is_special, special, normal);
        let value = self.select(is_tiny, tiny, value);
        self.or(value, sign)
    }

    /// A binary32 rounded to nearest.
    pub(super) fn narrow_float(&mut self, value: Operand, format: Ty) -> Operand {
        let magnitude = self.and(value, word(!SIGN));
        let nan = self.compare(Cmp::Hi, Ty::U32, magnitude, word(INFINITY));
        let number = match format {
            Ty::Bf16 => self.rounded(value, word(16)),
            _ => self.binary16(value, magnitude),
        };
        self.select(nan, word(NAN), number)
    }

    /// Shifts right, to nearest, ties to even.
    fn rounded(&mut self, value: Operand, down: Operand) -> Operand {
        let kept = self.shr(value, down);
        let odd = self.and(kept, word(1));
        let below = self.sub(down, word(1));
        let half = self.shl(word(1), below);
        let half = self.sub(half, word(1));
        let half = self.add(half, odd);
        let sum = self.add(value, half);
        self.shr(sum, down)
    }

    fn binary16(&mut self, value: Operand, magnitude: Operand) -> Operand {
        let sign = self.shr(value, word(16));
        let sign = self.and(sign, word(0x8000));
        let less = self.sub(magnitude, word(112 << 23));
        let normal = self.rounded(less, word(13));
        // Below 2^-14 in units of 2^-24.
        let exponent = self.shr(magnitude, word(23));
        let fraction = self.and(magnitude, word(0x7f_ffff));
        let significand = self.or(fraction, word(0x80_0000));
        let down = self.sub(word(126), exponent);
        let down = self.at_most(down, 31);
        let tiny = self.rounded(significand, down);
        let is_tiny = self.compare(Cmp::Lo, Ty::U32, magnitude, word(113 << 23));
        let is_large = self.compare(Cmp::Hs, Ty::U32, magnitude, word(143 << 23));
        let number = self.select(is_tiny, tiny, normal);
        let number = self.select(is_large, word(0x7c00), number);
        self.or(number, sign)
    }

    /// One operation on elements of a format.
    fn half_op(&mut self, op: Op, format: Ty, parts: &[Operand]) -> Option<Operand> {
        let wide: Vec<Operand> = match op {
            Op::Neg => return Some(self.xor(parts[0], word(0x8000))),
            Op::Abs => return Some(self.and(parts[0], word(0x7fff))),
            _ => parts.iter().map(|&part| self.widen(part, format)).collect(),
        };
        let value = match (op, wide.as_slice()) {
            (Op::Fma, &[a, b, c]) => self.fused(Round::Odd, [a, b, c])?,
            (Op::Mul, &[a, b]) if format == Ty::Bf16 => {
                let signs = self.xor(a, b);
                let zero = self.and(signs, word(SIGN));
                self.fused(Round::Odd, [a, b, zero])?
            }
            (Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max, &[a, b]) => {
                self.op(op, Ty::F32, &[a, b])
            }
            _ => return None,
        };
        Some(self.narrow_float(value, format))
    }
}

impl Words<'_> {
    /// An operation on numbers of 16 bits, or on pairs of them.
    pub(super) fn half(&mut self, inst: &Inst, format: Ty) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::F16);
        let nearest = matches!(inst.mods.rounding, None | Some(Rounding::Rn));
        let what = || missing(inst, &format!("operations on {ty} values"));
        if inst.mods.flags != Flags::NONE || !nearest || inst.mods.precision.is_some() {
            return Err(what());
        }
        let pair = ty.bits() == 32;
        if inst.op == Op::Setp && !pair {
            let parts = [self.low(inst, 0), self.low(inst, 1)];
            let [a, b] = parts.map(|part| self.builder.widen(part, format));
            let mut compare = Inst::new(Op::Setp).ty(Ty::F32).operand(a).operand(b);
            compare.mods.cmp = inst.mods.cmp;
            let p = self.builder.holds(compare);
            self.put_predicates(inst, p);
            return Ok(());
        }
        let operands: Vec<Operand> = (0..inst.operands.len()).map(|i| self.low(inst, i)).collect();
        if !pair {
            let value = self.builder.half_op(inst.op, format, &operands).ok_or_else(what)?;
            self.put_word(inst, value);
            return Ok(());
        }
        let low: Vec<Operand> =
            operands.iter().map(|&operand| self.builder.and(operand, word(0xffff))).collect();
        let high: Vec<Operand> =
            operands.iter().map(|&operand| self.builder.shr(operand, word(16))).collect();
        let low = self.builder.half_op(inst.op, format, &low).ok_or_else(what)?;
        let high = self.builder.half_op(inst.op, format, &high).ok_or_else(what)?;
        let high = self.builder.shl(high, word(16));
        let value = self.builder.or(high, low);
        self.put_word(inst, value);
        Ok(())
    }

    /// A conversion from or to numbers of 16 bits; `None` if there is no sequence for it.
    pub(super) fn convert_half(&mut self, inst: &Inst) -> Option<()> {
        let (ty, from) = (inst.ty?, inst.ty2?);
        let rounding = inst.mods.rounding;
        if inst.mods.flags != Flags::NONE || !matches!(rounding, None | Some(Rounding::Rn)) {
            return None;
        }
        let value = match (ty, from) {
            (Ty::F32, Ty::F16 | Ty::Bf16) if inst.operands.len() == 1 => {
                let low = self.low(inst, 0);
                let wide = self.builder.widen(low, from);
                let magnitude = self.builder.and(wide, word(!SIGN));
                let nan = self.builder.compare(Cmp::Hi, Ty::U32, magnitude, word(INFINITY));
                self.builder.select(nan, word(0x7fff_ffff), wide)
            }
            (Ty::F16 | Ty::Bf16, Ty::F32) if inst.operands.len() == 1 => {
                let low = self.low(inst, 0);
                self.builder.narrow_float(low, ty)
            }
            (Ty::F16x2 | Ty::Bf16x2, Ty::F32) if inst.operands.len() == 2 => {
                let format = half(ty)?;
                let (high, low) = (self.low(inst, 0), self.low(inst, 1));
                let high = self.builder.narrow_float(high, format);
                let low = self.builder.narrow_float(low, format);
                let high = self.builder.shl(high, word(16));
                self.builder.or(high, low)
            }
            _ => return None,
        };
        self.put_word(inst, value);
        Some(())
    }
}
