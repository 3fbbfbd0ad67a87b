//! Approximate functions: the published sequences of `simt::arith::approx`.
//!
//! Each is a sequence of 64-bit IEEE operations on a 32-bit operand; the constants are those
//! published there. Products that are added are fused where results are single precision: that
//! leaves the bits of all results unchanged, as `jit`'s ignored test of all operands shows.

use super::build::{Build, Results, one};
use super::float::{self, Format};
use crate::function::Value;
use crate::op::{Arith, Conversion, LaneOp, Rounding};
use fast::ops::{Rel, Test};
use ir::mods::{Cmp, Flag, Precision};
use ir::{Op, Ty};
use simt::arith::approx::constants::{COS, EXP2, HALF_PI, LOG2, ROUNDER, SIN};

use Rounding::Nearest;

/// Returns whether an operation has approximate forms alone.
pub(super) fn is_function(op: Op) -> bool {
    matches!(op, Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Tanh)
}

/// Angles below this, of either sign, are reduced by two constants, others in another way.
pub(crate) const NEAR: f32 = 131_072.0;

/// An operation, or a function of one operand in double precision.
pub(super) fn recipe(b: &mut Build<'_>) -> Option<Results> {
    let ftz = b.has(Flag::Ftz);
    if b.ty == Ty::F64 {
        return doubles(b, ftz);
    }
    let format = Format::of(b.ty)?;
    if b.inst.op == Op::Div {
        return if b.ty == Ty::F32 { divide(b, ftz) } else { None };
    }
    if matches!(b.ty, Ty::F16x2 | Ty::Bf16x2) {
        let x = b.word(0);
        let [low, high] = [0, 16].map(|shift| {
            let half = b.shr(x, shift);
            function(b, format, half, ftz)
        });
        let high = high?;
        let high = b.shl(high, 16);
        let low = low?;
        return one(b.or(high, low));
    }
    if b.ty == Ty::F32x2 {
        return None;
    }
    let x = b.word(0);
    one(function(b, format, x, ftz)?)
}

/// Computes a function of a format's values; the result has no bits above the format.
fn function(b: &mut Build<'_>, format: Format, x: Value, ftz: bool) -> Option<Value> {
    let x = format.flushed(b, x, ftz);
    let x = format.raised(b, x);
    b.fused = format.ty == Ty::F32;
    // Correctly rounded in single precision, too: double precision has more than twice as many
    // digits.
    let value = match b.inst.op {
        Op::Rcp if format.ty == Ty::F32 => {
            let one = b.like(x, 1f32.to_bits().into());
            b.arith(Arith::Div, one, x)
        }
        Op::Sqrt if format.ty == Ty::F32 => b.unary(LaneOp::Float(Arith::Sqrt, Nearest), x),
        op => {
            let x = b.convert(Conversion::DoubleOfSingle, x);
            let value = match op {
                Op::Rcp => reciprocal(b, x),
                Op::Sqrt => b.unary(LaneOp::Float(Arith::Sqrt, Nearest), x),
                Op::Rsqrt => {
                    let root = b.unary(LaneOp::Float(Arith::Sqrt, Nearest), x);
                    reciprocal(b, root)
                }
                Op::Ex2 => exp2(b, x),
                Op::Lg2 => log2(b, x),
                Op::Sin => sin_cos(b, x, 0),
                Op::Cos => sin_cos(b, x, 1),
                Op::Tanh => tanh(b, x),
                _ => return None,
            };
            match format.ty {
                Ty::F32 => b.convert(Conversion::SingleOfDouble(Nearest), value),
                _ => float::single_to_odd(b, value),
            }
        }
    };
    let value = match format.ty {
        // Flushed before NaNs become canonical, so that the latter can be left out.
        Ty::F32 => format.flushed(b, value, ftz),
        _ => value,
    };
    let bits = format.lowered(b, value, Nearest);
    Some(if format.ty == Ty::F32 { bits } else { format.flushed(b, bits, ftz) })
}

fn reciprocal(b: &mut Build<'_>, x: Value) -> Value {
    let one = b.like(x, 1f64.to_bits());
    b.arith(Arith::Div, one, x)
}

/// `div.approx` and `div.full`.
fn divide(b: &mut Build<'_>, ftz: bool) -> Option<Results> {
    let format = Format::F32;
    let [x, y] = [0, 1].map(|i| {
        let value = b.word(i);
        format.flushed(b, value, ftz)
    });
    let mut value = b.arith(Arith::Div, x, y);
    if b.inst.mods.precision == Some(Precision::Approx) {
        // A zero or a NaN for great divisors.
        let magnitude = b.with(LaneOp::And, y, 0x7fff_ffff);
        let least = ((126 + 127) << 23) + 1;
        let offset = b.with(LaneOp::Sub, magnitude, least);
        let great = b.test_with(Test::U(Rel::Lt), offset, 0x7f80_0000 - least);
        let sign = b.with(LaneOp::And, y, 0x8000_0000);
        let none = b.arith(Arith::Mul, x, sign);
        value = b.select(great, none, value);
    }
    let value = format.flushed(b, value, ftz);
    one(format.lowered(b, value, Nearest))
}

/// Functions of the upper words of doubles, and the reciprocal square root of doubles.
fn doubles(b: &mut Build<'_>, ftz: bool) -> Option<Results> {
    let (format, x) = (Format::F64, b.lane(0));
    let function = |b: &mut Build<'_>, x: Value| match b.inst.op {
        Op::Rcp => Some(reciprocal(b, x)),
        Op::Rsqrt => {
            let root = b.unary(LaneOp::Float(Arith::Sqrt, Nearest), x);
            Some(reciprocal(b, root))
        }
        _ => None,
    };
    if b.inst.op == Op::Rsqrt && !ftz {
        let value = function(b, x)?;
        return one(format.lowered(b, value, Nearest));
    }
    let upper = b.with(LaneOp::And, x, 0xffff_ffff_0000_0000);
    let upper = format.flushed(b, upper, true);
    let value = function(b, upper)?;
    // Rounds to the upper word, ties to even.
    let odd = b.shr(value, 32);
    let odd = b.with(LaneOp::And, odd, 1);
    let more = b.with(LaneOp::Add, odd, 0x7fff_ffff);
    let rounded = b.sum(value, more);
    let rounded = b.with(LaneOp::And, rounded, 0xffff_ffff_0000_0000);
    let rounded = format.flushed(b, rounded, true);
    let nan = b.is_nan(value);
    one(b.select_bits(nan, 0x7fff_ffff_0000_0000, rounded))
}

fn float64(b: &mut Build<'_>, like: Value, value: f64) -> Value {
    b.like(like, value.to_bits())
}

/// Applies float arithmetic to a value and a constant.
fn arith_with(b: &mut Build<'_>, arith: Arith, x: Value, c: f64) -> Value {
    let c = float64(b, x, c);
    b.arith(arith, x, c)
}

/// Evaluates a polynomial by Horner's rule.
fn polynomial(b: &mut Build<'_>, coefficients: &[f64], x: Value) -> Value {
    let mut value = float64(b, x, coefficients[coefficients.len() - 1]);
    for &c in coefficients[..coefficients.len() - 1].iter().rev() {
        let c = float64(b, x, c);
        value = b.product_sum(value, x, c);
    }
    value
}

/// Splits `2^x` into two factors of `2^f - 1` for the fraction `f` of `x`, and a power of two.
fn exp2_parts(b: &mut Build<'_>, x: Value) -> ([Value; 2], Value) {
    let shifted = arith_with(b, Arith::Add, x, ROUNDER);
    let integer = arith_with(b, Arith::Sub, shifted, ROUNDER);
    let f = b.arith(Arith::Sub, x, integer);
    let p = polynomial(b, &EXP2, f);
    // The integer lies in the low bits; the shift drops what is above.
    let exponent = b.with(LaneOp::Add, shifted, 1023_u64.wrapping_sub(ROUNDER.to_bits()));
    ([f, p], b.shl(exponent, 52))
}

fn exp2(b: &mut Build<'_>, x: Value) -> Value {
    // The second operand, if it is a NaN, stays.
    let least = float64(b, x, -200.0);
    let x = b.binary(LaneOp::FMax, least, x);
    let most = float64(b, x, 200.0);
    let x = b.binary(LaneOp::FMin, most, x);
    let ([f, p], scale) = exp2_parts(b, x);
    let one = float64(b, x, 1.0);
    let p = b.product_sum(f, p, one);
    b.arith(Arith::Mul, p, scale)
}

fn log2(b: &mut Build<'_>, x: Value) -> Value {
    let offset = b.with(LaneOp::Sub, x, std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = b.with(LaneOp::Sar, offset, 52);
    let up = b.shl(exponent, 52);
    let m = b.difference(x, up);
    let less = arith_with(b, Arith::Sub, m, 1.0);
    let more = arith_with(b, Arith::Add, m, 1.0);
    let s = b.arith(Arith::Div, less, more);
    let square = b.arith(Arith::Mul, s, s);
    let p = polynomial(b, &LOG2, square);
    let exponent = b.unary(LaneOp::FloatOfS(Nearest), exponent);
    let value = b.product_sum(s, p, exponent);
    // Infinity and NaNs are their own logarithms; those of negative numbers are NaNs.
    let special = b.test_with(Test::U(Rel::Ge), x, f64::INFINITY.to_bits());
    let value = b.select(special, x, value);
    let zero = float64(b, x, 0.0);
    let negative = b.compare(Cmp::Lt, x, zero);
    let value = b.select_bits(negative, f64::NAN.to_bits(), value);
    let none = b.compare(Cmp::Eq, x, zero);
    b.select_bits(none, f64::NEG_INFINITY.to_bits(), value)
}

/// The sine of an angle below [`NEAR`] plus that many quarter turns; a NaN for infinities.
fn sin_cos(b: &mut Build<'_>, x: Value, quarters: u64) -> Value {
    let (turn, rounder) = (float64(b, x, std::f64::consts::FRAC_2_PI), float64(b, x, ROUNDER));
    let shifted = b.product_sum(x, turn, rounder);
    let n = arith_with(b, Arith::Sub, shifted, ROUNDER);
    let (high, low) = (float64(b, x, -HALF_PI.0), float64(b, x, -HALF_PI.1));
    let r = b.product_sum(n, high, x);
    let r = b.product_sum(n, low, r);
    let quadrant = b.with(LaneOp::Add, shifted, quarters.wrapping_sub(ROUNDER.to_bits()));
    let z = b.arith(Arith::Mul, r, r);
    let [sine, cosine] = [&SIN[..], &COS[..]].map(|coefficients| {
        let p = polynomial(b, coefficients, z);
        let one = float64(b, z, 1.0);
        b.product_sum(z, p, one)
    });
    let sine = b.arith(Arith::Mul, r, sine);
    let odd = b.with(LaneOp::And, quadrant, 1);
    let odd = b.is_nonzero(odd);
    let value = b.select(odd, cosine, sine);
    // The second bit of the quadrant is the sign.
    let sign = b.shl(quadrant, 62);
    let sign = b.with(LaneOp::And, sign, 1 << 63);
    b.xor(value, sign)
}

fn tanh(b: &mut Build<'_>, x: Value) -> Value {
    let magnitude = b.with(LaneOp::And, x, !(1 << 63));
    // From 10 on the result rounds to one.
    let t = b.with(LaneOp::FMin, magnitude, 10f64.to_bits());
    let t = arith_with(b, Arith::Mul, t, 2.0 * std::f64::consts::LOG2_E);
    let ([f, p], scale) = exp2_parts(b, t);
    let p = b.arith(Arith::Mul, f, p);
    let less = arith_with(b, Arith::Sub, scale, 1.0);
    let numerator = b.product_sum(scale, p, less);
    let denominator = arith_with(b, Arith::Add, numerator, 2.0);
    let value = b.arith(Arith::Div, numerator, denominator);
    let sign = b.like(x, 1 << 63);
    let value = b.ternary(LaneOp::Table(0xca), sign, x, value);
    let nan = b.is_nan(x);
    b.select(nan, x, value)
}
