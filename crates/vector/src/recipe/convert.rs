//! Conversions.

use super::build::{Build, Results, one, row_of};
use super::float::{self, Format, clamped};
use crate::function::{Type, Value};
use crate::op::{Conversion, LaneOp, Rounding};
use fast::ops::{Rel, Test};
use ir::Ty;
use ir::mods::{Cmp, Flag, Rounding as Word};

use Rounding::{Nearest, Zero};

/// Returns whether a type is one of integers. Packed and short float types have the same widths, so
/// width alone does not decide.
fn is_integer(ty: Ty) -> bool {
    let bits = matches!(ty, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64);
    let signed = matches!(ty, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64);
    bits || signed || matches!(ty, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64)
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
}

pub(super) fn recipe(b: &mut Build<'_>) -> Option<Results> {
    let from = b.inst.ty2?;
    let short = |ty: Ty| matches!(ty, Ty::E4m3x2 | Ty::E5m2x2);
    if short(b.ty) || short(from) {
        return bytes(b, from);
    }
    if b.ty == Ty::Tf32 {
        return tensor_float(b, from);
    }
    if b.has(Flag::SatFinite) {
        return None;
    }
    match b.operands() {
        2 => pack(b, from),
        1 if is_integer(from) && is_integer(b.ty) => between_integers(b, from),
        1 if is_integer(from) && is_float(b.ty) => to_float(b, from),
        1 if is_float(from) && is_integer(b.ty) => to_integer(b, Format::of(from)?),
        1 if is_float(from) && is_float(b.ty) => between_floats(b, Format::of(from)?),
        _ => None,
    }
}

/// Returns an integer of the instruction's type, in the low bits of lanes, as its register holds
/// it.
fn in_register(b: &mut Build<'_>, value: Value) -> Option<Results> {
    let (ty, register) = (b.ty, b.register);
    let value = b.extended(value, ty);
    let row = row_of(register);
    let value = match (b.ty(value), row) {
        (Type::Row32, Type::Row64) if ty.is_signed() => b.sign_extend(value),
        _ => b.sized(value, row),
    };
    one(b.cut(value, register))
}

fn between_integers(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    if b.has(Flag::Sat) {
        return saturated(b, from);
    }
    let row = row_of(b.register.max(b.ty.bits()));
    let row = if row == Type::Row64 { row_of(from.bits().max(b.ty.bits())) } else { row };
    let value = b.integer(0, from, row);
    in_register(b, value)
}

/// Clamps an integer of a type to the range of the instruction's type.
fn saturated(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    let (to, row) = (b.ty, row_of(from.bits().max(b.ty.bits())));
    let value = b.integer(0, from, row);
    let lane = b.bits(value);
    let value = match (from.is_signed(), to.is_signed()) {
        (true, true) if to.bits() < lane => {
            let value = b.with(LaneOp::MaxS, value, (i64::MIN >> (64 - to.bits())) as u64);
            b.with(LaneOp::MinS, value, (i64::MAX >> (64 - to.bits())) as u64)
        }
        (true, true) => value,
        (true, false) => {
            let value = b.with(LaneOp::MaxS, value, 0);
            greatest(b, value, to.bits())
        }
        (false, true) => greatest(b, value, to.bits() - 1),
        (false, false) => greatest(b, value, to.bits()),
    };
    in_register(b, value)
}

/// Clamps an unsigned integer to so many bits.
fn greatest(b: &mut Build<'_>, value: Value, bits: u32) -> Value {
    if bits >= b.bits(value) { value } else { b.with(LaneOp::MinU, value, (1 << bits) - 1) }
}

fn to_float(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    let format = Format::of(b.ty)?;
    let rounding = b.rounding(Nearest)?;
    let signed = from.is_signed();
    let whole = from.bits() == 64;
    let value = b.integer(0, from, row_of(from.bits()));
    let word = |to: Conversion, other: Conversion| if signed { to } else { other };
    let lane = match b.ty {
        Ty::F64 if whole => {
            let op = if signed { LaneOp::FloatOfS(rounding) } else { LaneOp::FloatOfU(rounding) };
            b.unary(op, value)
        }
        Ty::F64 => b.convert(word(Conversion::DoubleOfS, Conversion::DoubleOfU), value),
        Ty::F32 if whole => {
            let to = word(Conversion::SingleOfS(rounding), Conversion::SingleOfU(rounding));
            b.convert(to, value)
        }
        // Of words, values with more digits than half precision has after this rounding are beyond
        // its range.
        Ty::F32 | Ty::F16 if !whole => {
            let op = if signed { LaneOp::FloatOfS(rounding) } else { LaneOp::FloatOfU(rounding) };
            b.unary(op, value)
        }
        _ if whole => {
            let double = double_to_odd(b, value, signed);
            float::single_to_odd(b, double)
        }
        _ => {
            let double = b.convert(word(Conversion::DoubleOfS, Conversion::DoubleOfU), value);
            float::single_to_odd(b, double)
        }
    };
    let lane = clamped(b, lane);
    // Integers are no NaNs.
    let bits = match b.ty {
        Ty::F32 | Ty::F64 => lane,
        _ => format.lowered(b, lane, rounding),
    };
    one(bits)
}

/// Converts 64-bit integers to double precision, rounded to odd.
fn double_to_odd(b: &mut Build<'_>, value: Value, signed: bool) -> Value {
    let (to, from) = match signed {
        true => (LaneOp::FloatOfS(Zero), LaneOp::SignedOf(Zero)),
        false => (LaneOp::FloatOfU(Zero), LaneOp::UnsignedOf(Zero)),
    };
    let cut = b.unary(to, value);
    let back = b.unary(from, cut);
    let inexact = b.test(Test::U(Rel::Ne), back, value);
    let odd = b.with(LaneOp::Or, cut, 1);
    b.select(inexact, odd, cut)
}

fn to_integer(b: &mut Build<'_>, from: Format) -> Option<Results> {
    // Conversions without a rounding modifier round toward zero.
    let rounding = b.rounding(Zero)?;
    let x = from.operand(b, 0, b.has(Flag::Ftz));
    let wide = b.ty.bits() == 64 || from.ty == Ty::F64;
    if !wide {
        let value = word_of(b, x, rounding);
        return in_register(b, value);
    }
    let x = match from.ty {
        Ty::F64 => x,
        _ => b.convert(Conversion::DoubleOfSingle, x),
    };
    let value = if b.ty.bits() == 64 {
        whole_of(b, x, rounding)
    } else {
        let value = b.unary(LaneOp::Integral(rounding), x);
        let (bits, signed) = (b.ty.bits() as i32, b.ty.is_signed());
        let (least, most) = match signed {
            true => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0),
            false => (0.0, 2f64.powi(bits) - 1.0),
        };
        let value = b.with(LaneOp::FMax, value, least.to_bits());
        let value = b.with(LaneOp::FMin, value, most.to_bits());
        b.convert(
            if signed { Conversion::SignedOfDouble } else { Conversion::UnsignedOfDouble },
            value,
        )
    };
    let nan = b.is_nan(x);
    let value = b.select_bits(nan, 1 << (b.ty.bits() - 1), value);
    in_register(b, value)
}

/// Converts single precision to integers of 32 bits or fewer: clamped, NaNs 0.
fn word_of(b: &mut Build<'_>, x: Value, rounding: Rounding) -> Value {
    let (bits, signed) = (b.ty.bits(), b.ty.is_signed());
    if !signed {
        // Negative numbers and NaNs are 0; greater ones than there are have all bits.
        let x = b.with(LaneOp::FMax, x, 0);
        let value = b.unary(LaneOp::UnsignedOf(rounding), x);
        return greatest(b, value, bits);
    }
    let value = b.unary(LaneOp::SignedOf(rounding), x);
    let limit = b.like(x, 2_147_483_648f32.to_bits().into());
    let above = b.compare(Cmp::Ge, x, limit);
    let value = b.select_bits(above, i32::MAX as u64, value);
    let nan = b.is_nan(x);
    let value = b.select_bits(nan, 0, value);
    if bits == 32 {
        return value;
    }
    let value = b.with(LaneOp::MaxS, value, (i64::MIN >> (64 - bits)) as u64);
    b.with(LaneOp::MinS, value, (i64::MAX >> (64 - bits)) as u64)
}

/// Converts doubles to 64-bit integers, saturated.
fn whole_of(b: &mut Build<'_>, x: Value, rounding: Rounding) -> Value {
    if !b.ty.is_signed() {
        let x = b.with(LaneOp::FMax, x, 0);
        return b.unary(LaneOp::UnsignedOf(rounding), x);
    }
    let value = b.unary(LaneOp::SignedOf(rounding), x);
    let limit = b.like(x, 2f64.powi(63).to_bits());
    let above = b.compare(Cmp::Ge, x, limit);
    b.select_bits(above, i64::MAX as u64, value)
}

fn between_floats(b: &mut Build<'_>, from: Format) -> Option<Results> {
    let to = Format::of(b.ty)?;
    let rounding = b.rounding(Nearest)?;
    let ftz = b.has(Flag::Ftz);
    if to.ty == from.ty {
        return same(b, to, rounding);
    }
    // `.ftz` applies to single precision only.
    let value = from.operand(b, 0, ftz && from.ty == Ty::F32);
    let value = match (from.ty, to.ty) {
        (_, Ty::F64) => b.convert(Conversion::DoubleOfSingle, value),
        (Ty::F64, Ty::F32) => b.convert(Conversion::SingleOfDouble(rounding), value),
        (Ty::F64, _) => float::single_to_odd(b, value),
        _ => value,
    };
    let value = to.flushed(b, value, ftz && to.ty == Ty::F32);
    let value = clamped(b, value);
    one(to.lowered(b, value, rounding))
}

/// Converts within a format: a copy, or rounding to an integral value.
fn same(b: &mut Build<'_>, format: Format, rounding: Rounding) -> Option<Results> {
    let integral =
        matches!(b.inst.mods.rounding, Some(Word::Rni | Word::Rzi | Word::Rmi | Word::Rpi));
    // Rounding to an integral value sees the flushed operand; a copy is flushed in single precision
    // only.
    let ftz = b.has(Flag::Ftz) && (integral || format.ty == Ty::F32);
    let value = format.operand(b, 0, ftz);
    let value = if integral { b.unary(LaneOp::Integral(rounding), value) } else { value };
    let value = clamped(b, value);
    one(format.lowered(b, value, Nearest))
}

/// Packs two floats of single precision into a pair, the first in the high half.
fn pack(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    let format = Format::of(b.ty)?;
    if from != Ty::F32 || !matches!(b.ty, Ty::F16x2 | Ty::Bf16x2) {
        return None;
    }
    let rounding = b.rounding(Nearest)?;
    let [high, low] = [0, 1].map(|i| {
        let x = Format::F32.operand(b, i, b.has(Flag::Ftz));
        let x = clamped(b, x);
        format.lowered(b, x, rounding)
    });
    let high = b.shl(high, 16);
    one(b.or(high, low))
}

/// Rounds single precision to the ten fraction bits of `tf32`.
fn tensor_float(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    if from != Ty::F32 || b.has(Flag::Ftz) || b.has(Flag::Sat) {
        return None;
    }
    let x = b.word(0);
    let rounded = match b.inst.mods.rounding {
        Some(Word::Rna) => b.with(LaneOp::Add, x, 0x1000),
        Some(Word::Rz) => x,
        None | Some(Word::Rn) => {
            let odd = b.shr(x, 13);
            let odd = b.with(LaneOp::And, odd, 1);
            let more = b.with(LaneOp::Add, odd, 0x0fff);
            b.sum(x, more)
        }
        _ => return None,
    };
    let mut value = b.with(LaneOp::And, rounded, 0xffff_e000);
    if b.has(Flag::SatFinite) {
        let magnitude = b.with(LaneOp::And, value, 0x7fff_ffff);
        let most = b.with(LaneOp::MinU, magnitude, 0x7f7f_e000);
        let sign = b.with(LaneOp::And, value, 0x8000_0000);
        value = b.or(most, sign);
    }
    let nan = b.is_nan(x);
    if b.has(Flag::Relu) {
        value = b.with(LaneOp::MaxS, value, 0);
    }
    one(b.select_bits(nan, 0x7fff_e000, value))
}

/// A format of 8 bits, as single precision sees it.
struct Byte {
    /// The greatest finite number.
    most: f32,
    /// The least normal number.
    least: f32,
    /// A power of two whose last digit weighs as much as the least subnormal number.
    magic: f32,
    /// Bits of the fraction.
    digits: u32,
    bias: u64,
}

impl Byte {
    fn of(ty: Ty) -> Option<Self> {
        Some(match ty {
            Ty::E4m3x2 => {
                Self { most: 448.0, least: 1.0 / 64.0, magic: 16_384.0, digits: 3, bias: 7 }
            }
            Ty::E5m2x2 => {
                let least = 1.0 / 16_384.0;
                Self { most: 57_344.0, least, magic: 128.0, digits: 2, bias: 15 }
            }
            _ => return None,
        })
    }

    /// Rounds single precision to nearest, saturated.
    fn lowered(&self, b: &mut Build<'_>, x: Value) -> Value {
        let relu = b.has(Flag::Relu);
        let bits = |x: f32| u64::from(x.to_bits());
        let magnitude = b.with(LaneOp::And, x, 0x7fff_ffff);
        let magnitude = b.with(LaneOp::MinU, magnitude, bits(self.most));
        let rest = 23 - self.digits;
        let odd = b.shr(magnitude, rest);
        let odd = b.with(LaneOp::And, odd, 1);
        let rounded = b.with(LaneOp::Add, magnitude, (1 << (rest - 1)) - 1);
        let rounded = b.sum(rounded, odd);
        let normal = b.shr(rounded, rest);
        let normal = b.with(LaneOp::Sub, normal, (127 - self.bias) << self.digits);
        let small =
            b.with(LaneOp::Float(crate::op::Arith::Add, Nearest), magnitude, bits(self.magic));
        let small = b.with(LaneOp::Sub, small, bits(self.magic));
        let is_small = b.test_with(Test::U(Rel::Lt), magnitude, bits(self.least));
        let value = b.select(is_small, small, normal);
        let sign = b.shr(x, 24);
        let sign = b.with(LaneOp::And, sign, 0x80);
        let mut value = b.or(value, sign);
        if relu {
            let negative = b.is_negative(x);
            value = b.select_bits(negative, 0, value);
        }
        let nan = b.is_nan(x);
        b.select_bits(nan, 0x7f, value)
    }
}

/// Conversions to and from pairs of 8-bit floats.
fn bytes(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    if b.has(Flag::Sat) || b.has(Flag::Ftz) {
        return None;
    }
    if b.ty == Ty::F16x2 {
        return halves_of_bytes(b, from);
    }
    let byte = Byte::of(b.ty)?;
    if !b.has(Flag::SatFinite) || b.rounding(Nearest)? != Nearest {
        return None;
    }
    let [high, low] = match from {
        Ty::F32 if b.operands() == 2 => [0, 1].map(|i| b.word(i)),
        Ty::F16x2 if b.operands() == 1 => {
            let x = b.word(0);
            [16, 0].map(|shift| {
                let half = b.shr(x, shift);
                b.unary(LaneOp::SingleOfHalf, half)
            })
        }
        _ => return None,
    };
    let (high, low) = (byte.lowered(b, high), byte.lowered(b, low));
    let high = b.shl(high, 8);
    one(b.or(high, low))
}

/// Widens pairs of 8-bit floats to pairs of half precision. Exact.
fn halves_of_bytes(b: &mut Build<'_>, from: Ty) -> Option<Results> {
    if b.operands() != 1 || b.has(Flag::SatFinite) {
        return None;
    }
    let x = b.word(0);
    let [low, high] = [0, 8].map(|shift| {
        let byte = b.shr(x, shift);
        let byte = b.cut(byte, 8);
        let half = match from {
            Ty::E5m2x2 => b.shl(byte, 8),
            _ => {
                // The fraction in its place, with an exponent that is too small by 8.
                let up = b.shl(byte, 7);
                let magnitude = b.with(LaneOp::And, up, 0x3f80);
                let single = b.unary(LaneOp::SingleOfHalf, magnitude);
                let times = LaneOp::Float(crate::op::Arith::Mul, Nearest);
                let single = b.with(times, single, 256f32.to_bits().into());
                let half = b.unary(LaneOp::HalfOfSingle(Nearest), single);
                let sign = b.shl(byte, 8);
                let sign = b.with(LaneOp::And, sign, 0x8000);
                b.or(half, sign)
            }
        };
        let magnitude = b.with(LaneOp::And, byte, 0x7f);
        let most = if from == Ty::E5m2x2 { 0x7c } else { 0x7e };
        let nan = b.test_with(Test::U(Rel::Gt), magnitude, most);
        let half = if b.has(Flag::Relu) {
            let negative = b.with(LaneOp::And, byte, 0x80);
            let negative = b.is_nonzero(negative);
            b.select_bits(negative, 0, half)
        } else {
            half
        };
        b.select_bits(nan, 0x7fff, half)
    });
    let high = b.shl(high, 16);
    one(b.or(high, low))
}

/// Packs two integers, clamped to a short type, above the low bits of a third.
pub(super) fn pack_integers(b: &mut Build<'_>) -> Option<Results> {
    let bits = b.ty.bits();
    let whole = match (b.ty, b.operands()) {
        (Ty::U8 | Ty::S8 | Ty::U4 | Ty::S4 | Ty::U2 | Ty::S2, 3) => false,
        (Ty::U16 | Ty::S16, 2) => true,
        _ => return None,
    };
    let signed = matches!(b.ty, Ty::S16 | Ty::S8 | Ty::S4 | Ty::S2);
    let (least, most): (i32, i32) = match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    let [x, y] = [0, 1].map(|i| {
        let mut x = b.word(i);
        if b.has(Flag::Sat) {
            x = b.with(LaneOp::MaxS, x, u64::from(least as u32));
            x = b.with(LaneOp::MinS, x, u64::from(most as u32));
        }
        b.cut(x, bits)
    });
    let x = b.shl(x, bits);
    let pair = b.or(x, y);
    if whole {
        return one(pair);
    }
    let z = b.word(2);
    let z = b.shl(z, 2 * bits);
    one(b.or(z, pair))
}
