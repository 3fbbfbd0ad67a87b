//! The approximate functions of PTX (`.approx`, `.full`) as published sequences of IEEE operations.
//!
//! Hardware computes these with tables that are not published, so no implementation can give the
//! same bits. Ours are defined here instead: each result is that of a fixed sequence of binary64
//! additions, subtractions, multiplications, divisions, square roots and integer operations,
//! rounded to nearest even, and one final rounding to the format. Any host, scalar or vector, gets
//! the same bits. There are no tables to gather from and no calls into a math library.
//!
//! Errors measured over every binary32 operand (the ignored tests `every_binary32_*` repeat it),
//! against the bound of the PTX ISA. An ulp is that of the exact result:
//!
//! | function | PTX bound | ours |
//! |---|---|---|
//! | [`rcp`] | 2^-23 absolute on 1 to 2 | 0.5 ulp: correctly rounded |
//! | [`sqrt`] | 2^-23 relative | 0.5 ulp: correctly rounded |
//! | [`rsqrt`] | 2^-22.4 absolute on 1 to 4 | 0.5000 ulp |
//! | [`ex2`] | 2^-22.5 for the fraction | 0.5011 ulp |
//! | [`lg2`] | 2^-22.6 absolute for the mantissa | 0.5001 ulp |
//! | [`sin`], [`cos`] | 2^-20.9 absolute in the first quadrant | 0.5009 ulp, at any magnitude |
//! | [`tanh`] | 2^-11 relative | 0.5037 ulp |
//! | [`div`] | 2 ulp, 0 for divisors above 2^126 | 0.5 ulp, 0 for divisors above 2^126 |
//! | [`div_full`] | 2 ulp | 0.5 ulp: correctly rounded |
//!
//! Special operands follow the tables of the PTX ISA; with [`FpEnv::ftz`], subnormal operands and
//! results are zeros of their sign. [`FpEnv::rounding`] is not looked at. The functions also serve
//! `f16` and `bf16`, whose bounds are far wider.

mod kernels;
mod reduction;

/// The constants of the sequences, for engines that carry them out on vectors.
pub mod constants {
    pub use super::kernels::{COS, EXP2, LOG2, ROUNDER, SIN};
    pub use super::reduction::{HALF_PI, LARGE, TWO_OVER_PI};
}

use super::env::{FpEnv, Rounding};
use super::float;
use super::format::{F32, F64, Format};
use super::soft::{flush, nan_of};

/// `1 / a`. PTX `rcp.approx.f32`.
#[must_use]
#[inline]
pub fn rcp<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, |x| 1.0 / x)
}

/// The square root. PTX `sqrt.approx.f32`.
#[must_use]
#[inline]
pub fn sqrt<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, f64::sqrt)
}

/// `1 / sqrt(a)`; infinite, with the sign of `a`, at zero. PTX `rsqrt.approx.f32`.
#[must_use]
#[inline]
pub fn rsqrt<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, |x| 1.0 / x.sqrt())
}

/// `2^a`; exact where `a` is integral. PTX `ex2.approx`.
#[must_use]
#[inline]
pub fn ex2<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, kernels::exp2)
}

/// `e^a`, within 0.5011 ulp: the base-2 exponential of `a` times `log2(e)`. LinxISA.
#[must_use]
#[inline]
pub fn exp<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, |x| kernels::exp2(x * std::f64::consts::LOG2_E))
}

/// The base-2 logarithm; exact for powers of two, minus infinity at zero. PTX `lg2.approx.f32`.
#[must_use]
#[inline]
pub fn lg2<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, kernels::log2)
}

/// The sine of an angle in radians. PTX `sin.approx.f32`.
///
/// The operand is reduced modulo `pi/2` with enough digits at any magnitude, so large operands lose
/// no accuracy.
#[must_use]
#[inline]
pub fn sin<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, |x| kernels::sin_cos(x, 0))
}

/// The cosine of an angle in radians. PTX `cos.approx.f32`. Reduced like [`sin`].
#[must_use]
#[inline]
pub fn cos<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, |x| kernels::sin_cos(x, 1))
}

/// The hyperbolic tangent. PTX `tanh.approx`.
#[must_use]
#[inline]
pub fn tanh<F: Format>(a: u64, env: FpEnv) -> u64 {
    unary::<F>(a, env, kernels::tanh)
}

/// `a / b`, but zero (a NaN, for infinite `a`) where `2^126 < |b| < 2^128`, because `1 / b` is
/// subnormal there. PTX `div.approx.f32`.
#[must_use]
#[inline]
pub fn div(a: u64, b: u64, env: FpEnv) -> u64 {
    /// 2^126.
    const LIMIT: u64 = (126 + 127) << 23;
    let magnitude = b & F32::MAGNITUDE;
    if magnitude > LIMIT && magnitude < F32::INFINITY {
        return float::mul::<F32>(a, b & F32::SIGN, env.with_rounding(Rounding::NearestEven));
    }
    div_full(a, b, env)
}

/// `a / b`. PTX `div.full.f32`.
#[must_use]
#[inline]
pub fn div_full(a: u64, b: u64, env: FpEnv) -> u64 {
    float::div::<F32>(a, b, env.with_rounding(Rounding::NearestEven))
}

/// `1 / sqrt(a)` of a binary64, two roundings. PTX `rsqrt.approx.f64`.
#[must_use]
#[inline]
pub fn rsqrt_f64(a: u64, env: FpEnv) -> u64 {
    let env = env.with_rounding(Rounding::NearestEven);
    float::rcp::<F64>(float::sqrt::<F64>(a, env), env)
}

/// `1 / a` of the upper word of a binary64, rounded to the 20 fraction bits of that word; the lower
/// word is zero. PTX `rcp.approx.ftz.f64`.
#[must_use]
#[inline]
pub fn rcp_upper_f64(a: u64) -> u64 {
    upper_word(a, |x| 1.0 / x)
}

/// `1 / sqrt(a)` of the upper word of a binary64, rounded to the 20 fraction bits of that word; the
/// lower word is zero. PTX `rsqrt.approx.ftz.f64`.
#[must_use]
#[inline]
pub fn rsqrt_upper_f64(a: u64) -> u64 {
    upper_word(a, |x| 1.0 / x.sqrt())
}

/// Applies a binary64 kernel to a format whose numbers are all binary32 numbers.
#[inline]
fn unary<F: Format>(a: u64, env: FpEnv, kernel: impl Fn(f64) -> f64) -> u64 {
    const { assert!(F::PRECISION <= 24 && F::EXPONENT_BITS <= 8, "binary32 or narrower") };
    let exact = FpEnv { rounding: Rounding::NearestEven, ftz: false, nan: env.nan };
    let x = float::convert::<F, F64>(flush::<F>(a, env.ftz), exact);
    let y = kernel(f64::from_bits(x));
    if y.is_nan() {
        return nan_of::<F>(&[a], env);
    }
    flush::<F>(float::convert::<F64, F>(y.to_bits(), exact), env.ftz)
}

/// Applies a kernel to the upper word of a binary64, subnormals flushed, and rounds to that word.
#[inline]
fn upper_word(a: u64, kernel: impl Fn(f64) -> f64) -> u64 {
    const LOWER: u64 = 0xffff_ffff;
    let y = kernel(f64::from_bits(flush::<F64>(a & !LOWER, true)));
    if y.is_nan() {
        return F64::PTX_NAN & !LOWER;
    }
    let bits = y.to_bits();
    let rounded = bits + (LOWER >> 1) + (bits >> 32 & 1);
    flush::<F64>(rounded & !LOWER, true)
}
