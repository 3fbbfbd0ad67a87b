//! Exact floating point in integer arithmetic, generic over [`Format`].
//!
//! Every operation computes the exact result (or as many digits of it as rounding can see, the rest
//! folded into the lowest bit), then rounds once. All take the full [`FpEnv`] and return the value
//! with its [`Flags`]. This is the reference of the crate; [`super::float`] takes the host's own
//! arithmetic where the result is known to be the same.
//!
//! Always holds: operand bits above the format are ignored, result bits above it are zero; a
//! NaN result comes from [`FpEnv::nan`]; a signalling NaN operand raises NV.

mod addmul;
mod compare;
mod convert;
mod divsqrt;

pub use addmul::{add, fma, mul, sub};
pub use compare::{MinMax, compare, compare_signalling, max, min};
pub use convert::{IntConversion, convert, from_int, round_to_integral, to_int};
pub use divsqrt::{div, sqrt};

use super::env::{Flags, FpEnv, NanRule, Rounding};
use super::format::Format;

/// A decoded operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Zero,
    /// `significand / 2^63 * 2^exponent`, the top bit of the significand set.
    Finite {
        exponent: i32,
        significand: u64,
    },
    Infinite,
    Nan,
}

/// Sign and class of an encoding; with `ftz`, a subnormal is a zero.
#[inline]
fn decode<F: Format>(bits: u64, ftz: bool) -> (bool, Class) {
    let sign = F::is_negative(bits);
    let magnitude = (bits & F::MAGNITUDE) >> F::PAD_BITS;
    let class = if F::is_nan(bits) {
        Class::Nan
    } else if F::is_infinite(bits) {
        Class::Infinite
    } else if magnitude == 0 || ftz && F::is_subnormal(bits) {
        Class::Zero
    } else {
        let biased = (magnitude >> F::FRACTION_BITS) as i32;
        let fraction = magnitude & ((1 << F::FRACTION_BITS) - 1);
        if biased == 0 {
            let shift = fraction.leading_zeros();
            let exponent = F::MIN_EXPONENT - F::FRACTION_BITS as i32 + (63 - shift as i32);
            Class::Finite { exponent, significand: fraction << shift }
        } else {
            let significand = (1 << F::FRACTION_BITS | fraction) << (64 - F::PRECISION);
            Class::Finite { exponent: biased - F::BIAS, significand }
        }
    };
    (sign, class)
}

#[inline]
fn signed<F: Format>(sign: bool, magnitude: u64) -> u64 {
    if sign { F::SIGN | magnitude } else { magnitude }
}

#[inline]
fn zero<F: Format>(sign: bool) -> u64 {
    signed::<F>(sign, 0)
}

#[inline]
fn infinity<F: Format>(sign: bool) -> u64 {
    signed::<F>(sign, F::INFINITY)
}

/// The NaN for an invalid operation none of whose operands is a NaN.
#[inline]
fn invalid<F: Format>(env: FpEnv) -> (u64, Flags) {
    (default_nan::<F>(env), Flags::NV)
}

/// The NaN that the rule of `env` gives when there is none to propagate.
#[inline]
pub(crate) fn default_nan<F: Format>(env: FpEnv) -> u64 {
    match env.nan {
        NanRule::Ptx => F::PTX_NAN,
        NanRule::RiscV | NanRule::Propagate => F::RISCV_NAN,
    }
}

/// The NaN that an operation on these operands delivers.
#[inline]
pub(crate) fn nan_of<F: Format>(operands: &[u64], env: FpEnv) -> u64 {
    match env.nan {
        NanRule::Propagate => operands
            .iter()
            .find(|&&bits| F::is_nan(bits))
            .map_or(F::RISCV_NAN, |&bits| bits & F::MASK | F::QUIET),
        _ => default_nan::<F>(env),
    }
}

/// The result of an operation at least one of whose operands is a NaN.
fn nan<F: Format>(operands: &[u64], env: FpEnv) -> (u64, Flags) {
    let signalling = operands.iter().any(|&bits| F::is_signalling(bits));
    (nan_of::<F>(operands, env), Flags::NV.when(signalling))
}

/// Zero of the same sign if the encoding is a subnormal and `ftz` is set.
#[must_use]
#[inline]
pub fn flush<F: Format>(bits: u64, ftz: bool) -> u64 {
    let bits = bits & F::MASK;
    if ftz && F::is_subnormal(bits) { bits & F::SIGN } else { bits }
}

/// An integer that orders encodings of numbers as the numbers are, minus zero below plus zero.
#[inline]
fn order_key<F: Format>(bits: u64) -> i64 {
    let magnitude = (bits & F::MAGNITUDE) as i64;
    if F::is_negative(bits) { !magnitude } else { magnitude }
}

/// `value >> by` with every bit shifted out folded into the lowest one; `by` may be anything.
#[inline]
fn shift_right_jam(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => value >> by | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

/// `significand >> drop` with the first bit dropped and whether any later one was set.
#[inline]
fn split(significand: u64, drop: u32) -> (u64, bool, bool) {
    match drop {
        0 => (significand, false, false),
        1..=63 => {
            let half = significand >> (drop - 1) & 1 != 0;
            let sticky = significand & ((1 << (drop - 1)) - 1) != 0;
            (significand >> drop, half, sticky)
        }
        64 => (0, significand >> 63 != 0, significand << 1 != 0),
        _ => (0, false, significand != 0),
    }
}

/// Rounds a nonzero `significand / 2^127 * 2^exponent` of any normalisation into the format.
fn round_wide<F: Format>(sign: bool, exponent: i32, significand: u128, env: FpEnv) -> (u64, Flags) {
    let shift = significand.leading_zeros();
    let normal = significand << shift;
    let jam = u64::from(normal as u64 != 0);
    round::<F>(sign, exponent - shift as i32, (normal >> 64) as u64 | jam, env)
}

/// Rounds `significand / 2^63 * 2^exponent` into the format.
///
/// The top bit of the significand is set; its lowest bit stands for itself and every nonzero digit
/// beyond. That bit lies at least ten places below the last digit that any format keeps.
fn round<F: Format>(sign: bool, exponent: i32, significand: u64, env: FpEnv) -> (u64, Flags) {
    if exponent > F::MAX_EXPONENT {
        return overflow::<F>(sign, env);
    }
    let below = exponent < F::MIN_EXPONENT;
    let drop =
        64 - F::PRECISION + if below { F::MIN_EXPONENT.abs_diff(exponent).min(128) } else { 0 };
    let (kept, half, sticky) = split(significand, drop);
    let up = env.rounding.increments(sign, kept & 1 != 0, half, sticky);
    // A kept implicit digit adds one to the exponent field, as does a carry out of the fraction.
    let base = if below { 0 } else { ((exponent - F::MIN_EXPONENT) as u64) << F::FRACTION_BITS };
    let magnitude = (base + kept + u64::from(up)) << F::PAD_BITS;
    if magnitude > F::MAX_FINITE {
        return overflow::<F>(sign, env);
    }
    let inexact = half || sticky;
    let mut flags = Flags::NX.when(inexact);
    if below && inexact && tiny_after_rounding::<F>(sign, exponent, significand, env.rounding) {
        flags |= Flags::UF;
    }
    if env.ftz && magnitude != 0 && magnitude < F::MIN_NORMAL {
        return (zero::<F>(sign), Flags::UF | Flags::NX);
    }
    (signed::<F>(sign, magnitude), flags)
}

/// Returns whether a number below the smallest normal one stays below it when rounded to full
/// precision.
fn tiny_after_rounding<F: Format>(
    sign: bool,
    exponent: i32,
    significand: u64,
    rounding: Rounding,
) -> bool {
    let (kept, half, sticky) = split(significand, 64 - F::PRECISION);
    let carries = kept == (1 << F::PRECISION) - 1 && rounding.increments(sign, true, half, sticky);
    exponent < F::MIN_EXPONENT - 1 || !carries
}

/// A result beyond the largest finite number.
fn overflow<F: Format>(sign: bool, env: FpEnv) -> (u64, Flags) {
    let to_infinity = env.rounding.increments(sign, true, true, true);
    let magnitude = if to_infinity { F::INFINITY } else { F::MAX_FINITE };
    (signed::<F>(sign, magnitude), Flags::OF | Flags::NX)
}
