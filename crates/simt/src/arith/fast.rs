//! Round-to-nearest-even on the host's own `f32` and `f64`, without flags.
//!
//! IEEE 754 fixes every bit of these results but those of NaNs, and Rust guarantees IEEE results
//! for the basic operations and `sqrt`; NaNs are replaced by what [`FpEnv`] asks for. So these give
//! the same bits as [`super::soft`] on every host, which tests check.

use super::env::{FpEnv, Rounding};
use super::format::{F32, F64, Format, Native};
use super::int::Int;
use super::soft::{self, IntConversion, flush, nan_of};

/// Returns whether the host computes operations of this format in this environment.
#[inline]
pub(super) fn applies<F: Format>(env: FpEnv) -> bool {
    !matches!(F::NATIVE, Native::No) && matches!(env.rounding, Rounding::NearestEven)
}

/// Applies the host's operation of one operand, flushed before and after, and the NaN rule.
#[inline]
pub(super) fn unary<F: Format>(
    a: u64,
    env: FpEnv,
    single: impl Fn(f32) -> f32,
    double: impl Fn(f64) -> f64,
) -> u64 {
    let x = flush::<F>(a, env.ftz);
    let raw = match F::NATIVE {
        Native::Single => single(f32::from_bits(x as u32)).to_bits().into(),
        Native::Double => double(f64::from_bits(x)).to_bits(),
        _ => narrow::<F>(double(wide::<F>(x))),
    };
    finish::<F>(raw, &[a], env)
}

/// [`unary`] with two operands.
#[inline]
pub(super) fn binary<F: Format>(
    a: u64,
    b: u64,
    env: FpEnv,
    single: impl Fn(f32, f32) -> f32,
    double: impl Fn(f64, f64) -> f64,
) -> u64 {
    let (x, y) = (flush::<F>(a, env.ftz), flush::<F>(b, env.ftz));
    let raw = match F::NATIVE {
        Native::Single => {
            single(f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits().into()
        }
        Native::Double => double(f64::from_bits(x), f64::from_bits(y)).to_bits(),
        _ => narrow::<F>(double(wide::<F>(x), wide::<F>(y))),
    };
    finish::<F>(raw, &[a, b], env)
}

/// `a * b + c`, rounded once.
#[inline]
pub(super) fn fma<F: Format>(a: u64, b: u64, c: u64, env: FpEnv) -> u64 {
    let (x, y, z) = (flush::<F>(a, env.ftz), flush::<F>(b, env.ftz), flush::<F>(c, env.ftz));
    let raw = match F::NATIVE {
        Native::Single => {
            let wide = |x: u64| f64::from(f32::from_bits(x as u32));
            (fma_to_odd(wide(x), wide(y), wide(z)) as f32).to_bits().into()
        }
        Native::Double => f64::from_bits(x).mul_add(f64::from_bits(y), f64::from_bits(z)).to_bits(),
        _ => narrow::<F>(fma_to_odd(wide::<F>(x), wide::<F>(y), wide::<F>(z))),
    };
    finish::<F>(raw, &[a, b, c], env)
}

#[inline]
fn finish<F: Format>(raw: u64, operands: &[u64], env: FpEnv) -> u64 {
    if F::is_nan(raw) { nan_of::<F>(operands, env) } else { flush::<F>(raw, env.ftz) }
}

/// `a * b + c` of numbers of at most 24 digits within the range of binary32, such that rounding it
/// to at most 24 digits gives the fused result.
///
/// The product is exact (48 digits). Its sum with `c` is rounded to odd: the error of the rounded
/// sum is computed exactly (Knuth's two-sum), and where it is not zero the last digit is made odd.
/// Rounding that to `p` digits then gives the correctly rounded result, since 53 >= p + 2 (Boldo
/// and Melquiond, 2008). Nothing overflows or underflows on the way: the exponents of binary32
/// products and sums fit binary64 with room.
#[inline]
fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    let virtual_c = sum - product;
    let error = (product - (sum - virtual_c)) + (c - virtual_c);
    let bits = sum.to_bits();
    // Where the sum is not finite, the error is a NaN or meaningless. No branch: which way it goes
    // is random.
    let inexact = (error != 0.0) & (sum.abs() < f64::INFINITY);
    let even = bits & 1 == 0;
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact & even { odd } else { bits })
}

/// A number of a format narrower than binary32 (a NaN stays one).
///
/// Its encoding, aligned to binary32's fields, reads as the number times a power of two, subnormals
/// included; the product with the inverse of that power is exact.
#[inline]
fn wide<F: Format>(bits: u64) -> f64 {
    let magnitude = (bits & F::MAGNITUDE) << (F32::FRACTION_BITS - F::FRACTION_BITS);
    let scale = f32::from_bits(((127 + F32::BIAS - F::BIAS) as u32) << F32::FRACTION_BITS);
    let number = f64::from(f32::from_bits(magnitude as u32)) * f64::from(scale);
    let value = if F::is_nan(bits) {
        f64::NAN
    } else if F::is_infinite(bits) {
        f64::INFINITY
    } else {
        number
    };
    if F::is_negative(bits) { -value } else { value }
}

/// Rounds to a narrower format.
#[inline]
fn narrow<F: Format>(value: f64) -> u64 {
    soft::convert::<F64, F>(value.to_bits(), FpEnv::PTX).0
}

/// Converts to binary64 and binary32 from narrower formats, and from binary64 to binary32; `None`
/// for NaNs, other formats and other roundings.
#[inline]
pub(super) fn convert<S: Format, D: Format>(a: u64, env: FpEnv) -> Option<u64> {
    if S::is_nan(a) {
        return None;
    }
    match (S::NATIVE, D::NATIVE) {
        (Native::ViaDouble, Native::Double) => Some(wide::<S>(a).to_bits()),
        (Native::ViaDouble, Native::Single) => {
            // Every number of these formats is a binary32 number; bfloat16 has subnormal ones to
            // flush.
            Some(flush::<D>((wide::<S>(a) as f32).to_bits().into(), env.ftz))
        }
        (Native::Single, Native::Double) => {
            let x = f32::from_bits(flush::<S>(a, env.ftz) as u32);
            Some(f64::from(x).to_bits())
        }
        (Native::Double, Native::Single) if applies::<D>(env) => {
            let x = f64::from_bits(a) as f32;
            Some(flush::<D>(x.to_bits().into(), env.ftz))
        }
        _ => None,
    }
}

/// The nearest number to an integer; the conversions of Rust round to nearest even. For formats and
/// environments where the host [`applies`].
#[inline]
pub(super) fn from_int<T: Int, F: Format>(a: u64) -> u64 {
    let value = T::extend(a);
    match (F::NATIVE, T::SIGNED) {
        (Native::Single, true) => (value as i64 as f32).to_bits().into(),
        (Native::Single, false) => (value as f32).to_bits().into(),
        (Native::Double, true) => (value as i64 as f64).to_bits(),
        (Native::Double, false) => (value as f64).to_bits(),
        // Two roundings of a 64-bit integer could differ from one.
        _ => soft::from_int::<T, F>(a, FpEnv::PTX).0,
    }
}

/// Truncates with clamping, as the conversions of Rust do; `None` for NaNs, other rules, other
/// roundings and other formats.
#[inline]
pub(super) fn to_int<F: Format, T: Int>(a: u64, rule: IntConversion, env: FpEnv) -> Option<u64> {
    let clamps = !matches!(rule, IntConversion::Indefinite);
    if F::is_nan(a) || !clamps || !matches!(env.rounding, Rounding::TowardZero) {
        return None;
    }
    let x = match F::NATIVE {
        Native::Single => f64::from(f32::from_bits(a as u32)),
        Native::Double => f64::from_bits(a),
        Native::ViaDouble => wide::<F>(a),
        Native::No => return None,
    };
    Some(if T::SIGNED {
        let (least, greatest) = (T::extend(T::MIN_BITS) as i64, T::MAX_BITS as i64);
        T::truncate((x as i64).clamp(least, greatest) as u64)
    } else {
        (x as u64).min(T::MAX_BITS)
    })
}
