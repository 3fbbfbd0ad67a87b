//! Conversions: `simt::arith::float` and `simt::arith::int`.

use super::float::{self, Format, clamped};
use super::integer::clamp;
use super::{Arith, Build, Micro, Recipe, Say, Value};
use iced_x86::RoundingControl;
use ir::Ty;
use ir::mods::{Flag, Rounding};

use RoundingControl::{RoundDown, RoundToNearest, RoundTowardZero};

/// Doubles whose low bits can be set to an integer: 2^52; 2^52 + 2^51, for signed integers; 2^84,
/// in units of 2^32.
const WHOLE: u64 = 0x4330_0000_0000_0000;
const SIGNED: u64 = 0x4338_0000_0000_0000;
const UPPER: u64 = 0x4530_0000_0000_0000;

pub(super) fn recipe(say: &Say<'_>) -> Option<Recipe> {
    let from = say.inst.ty2?;
    if say.has(Flag::SatFinite) {
        return None;
    }
    let float = |ty: Ty| matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64);
    // Packed and short float types have the same widths, so width alone does not decide.
    let integer = |ty: Ty| {
        let bits = matches!(ty, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64);
        let signed = matches!(ty, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64);
        bits || signed || matches!(ty, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64)
    };
    match say.inst.operands.len() {
        2 => pack(say, from),
        1 if integer(from) && integer(say.ty) => between_integers(say, from),
        1 if integer(from) && float(say.ty) => to_float(say, from),
        1 if float(from) && integer(say.ty) => to_integer(say, Format::of(from)?),
        1 if float(from) && float(say.ty) => between_floats(say, Format::of(from)?),
        _ => None,
    }
}

/// Ends a recipe with a result that is extended, as its type demands, to its register.
fn in_register(say: &Say<'_>, mut b: Build, value: Value) -> Option<Recipe> {
    let value = b.extended(value, say.ty);
    let value = b.cut(value, say.register);
    let ty = if say.register > 32 { Ty::B64 } else { Ty::B32 };
    b.typed(value, ty)
}

fn between_integers(say: &Say<'_>, from: Ty) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let sat = say.has(Flag::Sat);
    if !sat && from.bits() <= 32 && say.register <= 32 && !say.whole {
        b = Build::new(say, false);
    }
    let value = b.integer(0, from);
    if !sat {
        return in_register(say, b, value);
    }
    let bits = say.ty.bits();
    let (least, most) = match (say.ty.is_signed(), bits) {
        (true, _) => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        (false, 64) => (0, i64::MAX),
        (false, _) => (0, (1 << bits) - 1),
    };
    let huge = from.bits() == 64 && !from.is_signed();
    let value = match (huge, say.ty.is_signed(), bits) {
        // Nothing to clamp, or only one bound.
        (true, false, 64) => value,
        (false, false, 64) => {
            let negative = b.negative(value);
            b.binary(Micro::AndNot, negative, value)
        }
        (true, ..) => {
            let limit = b.c(most as u64);
            let above = b.greater_unsigned(value, limit);
            b.choose(above, limit, value)
        }
        (false, ..) => clamp(&mut b, value, (least, most)),
    };
    in_register(say, b, value)
}

/// Converts signed integers of at most 33 bits, in 64-bit lanes, to doubles. Exact.
pub(super) fn double_of(b: &mut Build, value: Value) -> Value {
    let biased = b.with(Micro::Add, value, SIGNED);
    b.with(Micro::Float(Arith::Sub, RoundToNearest), biased, SIGNED)
}

/// Converts doubles with integral values of at most 51 bits to integers.
pub(super) fn integer_of(b: &mut Build, value: Value) -> Value {
    let biased = b.with(Micro::Float(Arith::Add, RoundToNearest), value, SIGNED);
    b.with(Micro::Sub, biased, SIGNED)
}

/// Converts 64-bit integers to doubles: each word exactly, then one rounded sum.
fn double_of_whole(b: &mut Build, value: Value, signed: bool, rounding: RoundingControl) -> Value {
    let high = b.shr(value, 32);
    // Biases a signed high word to an unsigned one.
    let (flip, less) = if signed { (1 << 31, 2f64.powi(63)) } else { (0, 0.0) };
    let high = b.with(Micro::Xor, high, UPPER | flip);
    let off = (2f64.powi(84) + less + 2f64.powi(52)).to_bits();
    let high = b.with(Micro::Float(Arith::Sub, RoundToNearest), high, off);
    let low = b.cut(value, 32);
    let low = b.with(Micro::Or, low, WHOLE);
    let sum = b.binary(Micro::Float(Arith::Add, rounding), high, low);
    if rounding != RoundDown {
        return sum;
    }
    // Rounding down must not produce a negative zero.
    let zero = b.c(0);
    let none = b.binary(Micro::Equal, value, zero);
    b.binary(Micro::AndNot, none, sum)
}

/// Folds the digits of 64-bit integers that single precision cannot hold into a sticky bit, so that
/// the conversion to double precision is exact.
fn few_digits(b: &mut Build, value: Value, signed: bool) -> Value {
    let low = b.with(Micro::And, value, 0x7ff);
    let low = b.with(Micro::Add, low, 0x7ff);
    let sticky = b.or(value, low);
    let few = b.with(Micro::And, sticky, !0x7ff);
    // Below 2^52 the conversion is exact without that.
    let (offset, range) = if signed { (1 << 52, 1 << 53) } else { (0, 1 << 52) };
    let moved = b.with(Micro::Add, value, offset);
    let limit = b.c(range);
    let many = b.greater_unsigned(moved, limit);
    b.choose(many, few, value)
}

fn to_float(say: &Say<'_>, from: Ty) -> Option<Recipe> {
    let format = Format::of(say.ty)?;
    let rounding = say.rounding(RoundToNearest)?;
    let signed = from.is_signed();
    if from.bits() <= 32 && matches!(say.ty, Ty::F32 | Ty::F16) {
        let mut b = Build::new(say, false);
        let value = b.integer(0, from);
        let single = if signed || from.bits() < 32 {
            b.unary(Micro::FloatOf(rounding), value)
        } else {
            // Both halves convert exactly; only their sum is rounded.
            let (high, low) = (b.shr(value, 16), b.cut(value, 16));
            let high = b.unary(Micro::FloatOf(RoundToNearest), high);
            let low = b.unary(Micro::FloatOf(RoundToNearest), low);
            let high =
                b.with(Micro::Float(Arith::Mul, RoundToNearest), high, 65_536f32.to_bits().into());
            b.binary(Micro::Float(Arith::Add, rounding), high, low)
        };
        let single = clamped(say, &mut b, single);
        // Values with more digits than half precision has after this rounding are beyond its range.
        let bits = format.lowered(&mut b, single, rounding);
        return b.one(bits);
    }
    let mut b = Build::new(say, true);
    let value = b.integer(0, from);
    let whole = from.bits() == 64;
    let double = match (whole, say.ty) {
        (false, _) => double_of(&mut b, value),
        (true, Ty::F64) => double_of_whole(&mut b, value, signed, rounding),
        (true, _) => {
            let few = few_digits(&mut b, value, signed);
            double_of_whole(&mut b, few, signed, RoundToNearest)
        }
    };
    if say.ty == Ty::F64 {
        let double = clamped(say, &mut b, double);
        return b.one(double);
    }
    let single = match say.ty {
        Ty::F32 => b.unary(Micro::Single(rounding), double),
        _ => float::single_to_odd(&mut b, double),
    };
    b.wide = false;
    let single = clamped(say, &mut b, single);
    let bits = format.lowered(&mut b, single, rounding);
    b.word(bits)
}

/// Converts a float operand to double precision, in 64-bit lanes. Exact.
fn double_operand(b: &mut Build, from: Format, ftz: bool) -> Value {
    if from.ty == Ty::F64 {
        return b.arg(0);
    }
    b.wide = false;
    let single = from.operand(b, 0, ftz);
    b.wide = true;
    b.unary(Micro::Double, single)
}

fn to_integer(say: &Say<'_>, from: Format) -> Option<Recipe> {
    // Conversions without a rounding modifier round toward zero.
    let rounding = say.rounding(RoundTowardZero)?;
    let mut b = Build::new(say, true);
    let x = double_operand(&mut b, from, say.has(Flag::Ftz));
    let bits = say.ty.bits();
    let signed = say.ty.is_signed();
    let rounded = b.unary(Micro::Integral(rounding), x);
    let value = if bits == 64 {
        whole_of(&mut b, rounded, signed)
    } else {
        let (least, most) = match signed {
            true => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
            false => (0.0, 2f64.powi(bits as i32) - 1.0),
        };
        let least = b.c(least.to_bits());
        let value = b.binary(Micro::FMax, rounded, least);
        let most = b.c(most.to_bits());
        let value = b.binary(Micro::FMin, value, most);
        integer_of(&mut b, value)
    };
    let wide = bits == 64 || from.ty == Ty::F64;
    let nan = b.c(if wide { 1 << (bits - 1) } else { 0 });
    let no_number = b.nan(x);
    let value = b.choose(no_number, nan, value);
    in_register(say, b, value)
}

/// Converts doubles with integral values to 64-bit integers, saturated: shifts the significand by
/// the exponent.
fn whole_of(b: &mut Build, x: Value, signed: bool) -> Value {
    let exponent = b.shr(x, 52);
    let exponent = b.with(Micro::And, exponent, 0x7ff);
    let digits = b.with(Micro::And, x, (1 << 52) - 1);
    let digits = b.with(Micro::Or, digits, 1 << 52);
    // One of the two amounts is negative, that is, huge as an unsigned number, and its shift yields
    // 0.
    let up = b.with(Micro::Sub, exponent, 1075);
    let left = b.binary(Micro::Shl, digits, up);
    let zero = b.c(0);
    let down = b.sub(zero, up);
    let right = b.binary(Micro::Shr, digits, down);
    let value = b.or(left, right);
    let negative = b.negative(x);
    if !signed {
        let value = b.binary(Micro::AndNot, negative, value);
        let limit = b.c(2f64.powi(64).to_bits());
        let above = b.compare(0x1d, x, limit);
        return b.or(value, above);
    }
    let value = b.xor(value, negative);
    let value = b.sub(value, negative);
    let (limit, most) = (b.c(2f64.powi(63).to_bits()), b.c(i64::MAX as u64));
    let above = b.compare(0x1d, x, limit);
    let value = b.choose(above, most, value);
    let (limit, least) = (b.c((-(2f64.powi(63))).to_bits()), b.c(i64::MIN as u64));
    let below = b.compare(0x12, x, limit);
    b.choose(below, least, value)
}

fn between_floats(say: &Say<'_>, from: Format) -> Option<Recipe> {
    let to = Format::of(say.ty)?;
    let rounding = say.rounding(RoundToNearest)?;
    let ftz = say.has(Flag::Ftz);
    if to.ty == from.ty {
        return same(say, to, rounding);
    }
    // `.ftz` applies to single precision only.
    let flush = ftz && from.ty == Ty::F32;
    if to.ty == Ty::F64 {
        let mut b = Build::new(say, true);
        let double = double_operand(&mut b, from, flush);
        let double = clamped(say, &mut b, double);
        let bits = to.lowered(&mut b, double, rounding);
        return b.one(bits);
    }
    if from.ty != Ty::F64 {
        let mut b = Build::new(say, false);
        let single = from.operand(&mut b, 0, flush);
        let single =
            if ftz && to.ty == Ty::F32 { to.flushed(&mut b, single, true) } else { single };
        let single = clamped(say, &mut b, single);
        let bits = to.lowered(&mut b, single, rounding);
        return b.one(bits);
    }
    let mut b = Build::new(say, true);
    let double = b.arg(0);
    let single = match to.ty {
        Ty::F32 => b.unary(Micro::Single(rounding), double),
        _ => float::single_to_odd(&mut b, double),
    };
    b.wide = false;
    let single = if to.ty == Ty::F32 { to.flushed(&mut b, single, ftz) } else { single };
    let single = clamped(say, &mut b, single);
    let bits = to.lowered(&mut b, single, rounding);
    b.word(bits)
}

/// Converts within a format: a copy, or rounding to an integral value.
fn same(say: &Say<'_>, format: Format, rounding: RoundingControl) -> Option<Recipe> {
    let integral = matches!(
        say.inst.mods.rounding,
        Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
    );
    let mut b = Build::for_type(say);
    // Rounding to an integral value sees the flushed operand; a copy is flushed in single precision
    // only.
    let ftz = say.has(Flag::Ftz) && (integral || format.ty == Ty::F32);
    let value = format.operand(&mut b, 0, ftz);
    let value = if integral { b.unary(Micro::Integral(rounding), value) } else { value };
    let value = clamped(say, &mut b, value);
    let bits = format.lowered(&mut b, value, RoundToNearest);
    b.one(bits)
}

/// Packs two floats of single precision into a pair, the first in the high half.
fn pack(say: &Say<'_>, from: Ty) -> Option<Recipe> {
    let format = Format::of(say.ty).filter(|f| matches!(f.ty, Ty::F16 | Ty::Bf16))?;
    if from != Ty::F32 || !matches!(say.ty, Ty::F16x2 | Ty::Bf16x2) {
        return None;
    }
    let rounding = say.rounding(RoundToNearest)?;
    let mut b = Build::new(say, false);
    let mut parts = Vec::new();
    for i in 0..2 {
        let x = b.arg(i);
        let x = Format::F32.flushed(&mut b, x, say.has(Flag::Ftz));
        let x = clamped(say, &mut b, x);
        let bits = format.lowered(&mut b, x, rounding);
        parts.push(if i == 0 { b.shl(bits, 16) } else { bits });
    }
    let value = b.or(parts[0], parts[1]);
    b.one(value)
}
