//! Floating-point operations without flags: what a machine that keeps none should call.
//!
//! Each takes and returns encodings of a [`Format`] in the low bits of a `u64`, and gives exactly
//! the value of the function of the same name in [`super::soft`]; where the host computes that
//! value itself, it does.

use super::compare::{Cmp, Relation};
use super::env::{FpEnv, Rounding};
use super::fast;
use super::format::{F32, F64, Format};
use super::int::Int;
use super::soft::{self, default_nan};

pub use super::soft::{IntConversion, MinMax, flush};

/// `a + b`.
#[must_use]
#[inline]
pub fn add<F: Format>(a: u64, b: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::binary::<F>(a, b, env, |a, b| a + b, |a, b| a + b)
    } else {
        soft::add::<F>(a, b, env).0
    }
}

/// `a - b`.
#[must_use]
#[inline]
pub fn sub<F: Format>(a: u64, b: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::binary::<F>(a, b, env, |a, b| a - b, |a, b| a - b)
    } else {
        soft::sub::<F>(a, b, env).0
    }
}

/// `a * b`.
#[must_use]
#[inline]
pub fn mul<F: Format>(a: u64, b: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::binary::<F>(a, b, env, |a, b| a * b, |a, b| a * b)
    } else {
        soft::mul::<F>(a, b, env).0
    }
}

/// `a * b + c`, rounded once.
#[must_use]
#[inline]
pub fn fma<F: Format>(a: u64, b: u64, c: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::fma::<F>(a, b, c, env)
    } else {
        soft::fma::<F>(a, b, c, env).0
    }
}

/// `a / b`.
#[must_use]
#[inline]
pub fn div<F: Format>(a: u64, b: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::binary::<F>(a, b, env, |a, b| a / b, |a, b| a / b)
    } else {
        soft::div::<F>(a, b, env).0
    }
}

/// `1 / a`. PTX `rcp.rnd`.
#[must_use]
#[inline]
pub fn rcp<F: Format>(a: u64, env: FpEnv) -> u64 {
    div::<F>(F::ONE, a, env)
}

/// The square root of `a`.
#[must_use]
#[inline]
pub fn sqrt<F: Format>(a: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::unary::<F>(a, env, f32::sqrt, f64::sqrt)
    } else {
        soft::sqrt::<F>(a, env).0
    }
}

/// The integral number nearest by the rounding mode. PTX `cvt.{rni,rzi,rmi,rpi}` within a format.
#[must_use]
#[inline]
pub fn round_to_integral<F: Format>(a: u64, env: FpEnv) -> u64 {
    soft::round_to_integral::<F>(a, env).0
}

/// The lesser.
#[must_use]
#[inline]
pub fn min<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> u64 {
    soft::min::<F>(a, b, rule, env).0
}

/// The greater.
#[must_use]
#[inline]
pub fn max<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> u64 {
    soft::max::<F>(a, b, rule, env).0
}

/// The relation of `a` to `b`; with [`FpEnv::ftz`], subnormals compare as zeros.
#[must_use]
#[inline]
pub fn compare<F: Format>(a: u64, b: u64, env: FpEnv) -> Relation {
    soft::compare::<F>(a, b, env).0
}

/// Returns whether the operator is true of `a` and `b`.
#[must_use]
#[inline]
pub fn holds<F: Format>(op: Cmp, a: u64, b: u64, env: FpEnv) -> bool {
    op.holds(compare::<F>(a, b, env))
}

/// Converts from format `S` to format `D`; flushing applies to binary32 sides only.
#[must_use]
#[inline]
pub fn convert<S: Format, D: Format>(a: u64, env: FpEnv) -> u64 {
    fast::convert::<S, D>(a, env).unwrap_or_else(|| soft::convert::<S, D>(a, env).0)
}

/// Converts from format `S` to format `D`; a number beyond the largest finite one, or an infinity,
/// becomes the largest finite one of its sign. PTX `.satfinite`.
#[must_use]
#[inline]
pub fn convert_satfinite<S: Format, D: Format>(a: u64, env: FpEnv) -> u64 {
    let value = convert::<S, D>(a, env);
    let not_finite = value & D::MAGNITUDE > D::MAX_FINITE;
    if not_finite && !S::is_nan(a) { value & D::SIGN | D::MAX_FINITE } else { value }
}

/// The number nearest, by the rounding mode, to an integer of type `T`.
#[must_use]
#[inline]
pub fn from_int<T: Int, F: Format>(a: u64, env: FpEnv) -> u64 {
    if fast::applies::<F>(env) {
        fast::from_int::<T, F>(a)
    } else {
        soft::from_int::<T, F>(a, env).0
    }
}

/// Converts to an integer of type `T`.
#[must_use]
#[inline]
pub fn to_int<F: Format, T: Int>(a: u64, rule: IntConversion, env: FpEnv) -> u64 {
    fast::to_int::<F, T>(a, rule, env).unwrap_or_else(|| soft::to_int::<F, T>(a, rule, env).0)
}

/// `a` with its sign cleared; a NaN keeps its payload.
#[must_use]
#[inline]
pub fn abs<F: Format>(a: u64, ftz: bool) -> u64 {
    flush::<F>(a, ftz) & !F::SIGN
}

/// `a` with its sign flipped; a NaN keeps its payload.
#[must_use]
#[inline]
pub fn neg<F: Format>(a: u64, ftz: bool) -> u64 {
    flush::<F>(a, ftz) ^ F::SIGN
}

/// `magnitude` with the sign of `sign`. PTX `copysign d, sign, magnitude`; RISC-V `fsgnj magnitude,
/// sign`.
#[must_use]
#[inline]
pub fn copysign<F: Format>(sign: u64, magnitude: u64) -> u64 {
    magnitude & F::MAGNITUDE | sign & F::SIGN
}

/// `a` clamped to `[+0, 1]`; a NaN and minus zero become plus zero. PTX `.sat`.
#[must_use]
#[inline]
pub fn saturate<F: Format>(a: u64) -> u64 {
    let a = a & F::MASK;
    if F::is_nan(a) || F::is_negative(a) { 0 } else { a.min(F::ONE) }
}

/// `max(a, +0)`; a NaN becomes the NaN of the environment. PTX `.relu`.
#[must_use]
#[inline]
pub fn relu<F: Format>(a: u64, env: FpEnv) -> u64 {
    if F::is_nan(a) {
        default_nan::<F>(env)
    } else if F::is_negative(a) {
        0
    } else {
        a & F::MASK
    }
}

/// The lesser of the magnitudes with the product of the signs. PTX `min.xorsign.abs`.
#[must_use]
#[inline]
pub fn min_xorsign_abs<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> u64 {
    xorsign::<F>(a, b, min::<F>(a & F::MAGNITUDE, b & F::MAGNITUDE, rule, env))
}

/// The greater of the magnitudes with the product of the signs. PTX `max.xorsign.abs`.
#[must_use]
#[inline]
pub fn max_xorsign_abs<F: Format>(a: u64, b: u64, rule: MinMax, env: FpEnv) -> u64 {
    xorsign::<F>(a, b, max::<F>(a & F::MAGNITUDE, b & F::MAGNITUDE, rule, env))
}

#[inline]
fn xorsign<F: Format>(a: u64, b: u64, magnitude: u64) -> u64 {
    if F::is_nan(magnitude) { magnitude } else { magnitude | (a ^ b) & F::SIGN }
}

/// A property of a number that PTX `testp` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// `finite`: neither infinite nor NaN.
    Finite,
    /// `infinite`.
    Infinite,
    /// `number`: not a NaN.
    Number,
    /// `notanumber`.
    NotANumber,
    /// `normal`: a normal number or, as PTX has it, a zero.
    Normal,
    /// `subnormal`.
    Subnormal,
}

impl Property {
    /// Returns whether `a` has the property. PTX `testp`.
    #[must_use]
    #[inline]
    pub fn holds<F: Format>(self, a: u64) -> bool {
        let (nan, infinite) = (F::is_nan(a), F::is_infinite(a));
        match self {
            Self::Finite => !nan && !infinite,
            Self::Infinite => infinite,
            Self::Number => !nan,
            Self::NotANumber => nan,
            Self::Normal => !nan && !infinite && !F::is_subnormal(a),
            Self::Subnormal => F::is_subnormal(a),
        }
    }
}

/// The class of `a` as the one-hot mask of RISC-V `fclass`: bits 0 to 9 are -inf, negative normal,
/// negative subnormal, -0, +0, positive subnormal, positive normal, +inf, signalling NaN, quiet
/// NaN.
#[must_use]
#[inline]
pub fn classify<F: Format>(a: u64) -> u64 {
    let bit = if F::is_nan(a) {
        if F::is_signalling(a) { 8 } else { 9 }
    } else {
        let rank = if F::is_infinite(a) {
            3
        } else if F::is_zero(a) {
            0
        } else if F::is_subnormal(a) {
            1
        } else {
            2
        };
        if F::is_negative(a) { 3 - rank } else { 4 + rank }
    };
    1 << bit
}

/// Rounds a binary32 to TensorFloat-32. PTX `cvt.{rna,rn,rz}.tf32.f32`.
#[must_use]
#[inline]
pub fn to_tf32(a: u64, rounding: Rounding) -> u64 {
    convert::<F32, super::format::TF32>(a, FpEnv::PTX.with_rounding(rounding))
}

/// A host `f32` as a carrier.
#[must_use]
#[inline]
pub fn f32_bits(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// The host `f32` in a carrier.
#[must_use]
#[inline]
pub fn f32_value(bits: u64) -> f32 {
    f32::from_bits((bits & F32::MASK) as u32)
}

/// The host `f64` in a carrier.
#[must_use]
#[inline]
pub fn f64_value(bits: u64) -> f64 {
    f64::from_bits(bits & F64::MASK)
}
