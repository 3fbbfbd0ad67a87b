//! Round-to-nearest-even on the host's own `f32` and `f64`, without flags.
//!
//! IEEE 754 fixes every bit of these results but those of NaNs, and Rust guarantees IEEE results for the basic
//! operations and `sqrt`; NaNs are replaced by what [`FpEnv`] asks for. So these give the same bits as
//! [`super::soft`] on every host, which tests check.

use super::env::{FpEnv, Rounding};
use super::format::{Format, Native};
use super::soft::{flush, nan_of};

/// Whether the host computes operations of this format in this environment.
#[inline]
pub(super) fn applies<F: Format>(env: FpEnv) -> bool {
    !matches!(F::NATIVE, Native::No) && matches!(env.rounding, Rounding::NearestEven)
}

/// Applies the host's operation to operands already flushed, then the NaN and flushing rules to the result.
#[inline]
pub(super) fn apply<F: Format, const N: usize>(
    operands: [u64; N],
    env: FpEnv,
    single: impl Fn([f32; N]) -> f32,
    double: impl Fn([f64; N]) -> f64,
) -> u64 {
    let flushed = operands.map(|x| flush::<F>(x, env.ftz));
    let raw = if matches!(F::NATIVE, Native::Single) {
        u64::from(single(flushed.map(|x| f32::from_bits(x as u32))).to_bits())
    } else {
        double(flushed.map(f64::from_bits)).to_bits()
    };
    if F::is_nan(raw) { nan_of::<F>(&operands, env) } else { flush::<F>(raw, env.ftz) }
}

/// `a * b + c` of binary32, rounded once, in binary64 operations.
///
/// The product is exact (48 digits). Its sum with `c` is rounded to odd: the error of the rounded sum is computed
/// exactly (Knuth's two-sum), and where it is not zero the last digit is made odd. Rounding that to binary32 then
/// gives the correctly rounded result, since 53 >= 24 + 2 (Boldo and Melquiond, 2008). Nothing overflows or
/// underflows on the way: the exponents of binary32 products and sums fit binary64 with room.
#[inline]
pub(super) fn fma_single([a, b, c]: [f32; 3]) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    let virtual_c = sum - product;
    let error = (product - (sum - virtual_c)) + (c - virtual_c);
    let bits = sum.to_bits();
    let even = bits & 1 == 0;
    // Not finite: the error is a NaN or meaningless.
    if even && error != 0.0 && sum.is_finite() {
        let away = (error > 0.0) == (sum > 0.0);
        let odd = if away { bits + 1 } else { bits - 1 };
        f64::from_bits(odd) as f32
    } else {
        sum as f32
    }
}
