//! Elementary functions in binary64, for operands that are binary32 numbers.
//!
//! Each returns the function to a relative error below 2^-32, a NaN where it has no value, and
//! never calls the host's math library. Coefficients are minimax in relative error, found with the
//! Remez exchange in 40-digit arithmetic and rounded to binary64; each comment gives the error of
//! the polynomial on its interval.

use super::reduction::quarter_turns;

/// Adding and subtracting this rounds a number below 2^51 to an integer, which lies in the low bits
/// of the sum.
pub const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// `(2^f - 1) / f` on [-1/2, 1/2]: 2^-32.0.
pub const EXP2: [f64; 7] = [
    0.693_147_180_581_564_4,
    0.240_226_509_200_457_02,
    0.055_504_107_276_379_853,
    0.009_618_057_037_574_486,
    0.001_333_366_940_476_343_8,
    0.000_154_613_297_908_370_15,
    0.000_015_252_732_376_357_992,
];

/// `log2((1 + s) / (1 - s)) / s` in `s^2`, for arguments of the logarithm in [sqrt(1/2), sqrt(2)]:
/// 2^-37.8.
pub const LOG2: [f64; 5] = [
    2.885_390_081_790_086,
    0.961_796_673_341_364_3,
    0.577_083_585_035_826_8,
    0.411_672_715_530_298_77,
    0.340_730_159_995_573_96,
];

/// `(sin(r) / r - 1) / r^2` in `r^2` on [-pi/4, pi/4]; of the sine: 2^-37.6.
pub const SIN: [f64; 4] = [
    -0.166_666_666_416_166_4,
    0.008_333_329_384_734_42,
    -0.000_198_393_344_611_149_05,
    0.000_002_718_307_887_847_802_7,
];

/// `(cos(r) - 1) / r^2` in `r^2` on [-pi/4, pi/4]; of the cosine: 2^-34.1.
pub const COS: [f64; 4] = [
    -0.499_999_997_249_942_6,
    0.041_666_623_311_036_24,
    -0.001_388_676_336_248_402,
    0.000_024_390_409_178_124_263,
];

/// Horner's rule, every product and sum rounded.
#[inline]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let highest = coefficients[N - 1];
    coefficients[..N - 1].iter().rev().fold(highest, |sum, c| sum * x + c)
}

/// `2^x` as `(1 + p) * scale`: `p = 2^f - 1` for the fraction `f` of `x`, `scale` a power of two.
#[inline]
fn exp2_parts(x: f64) -> (f64, f64) {
    // Beyond these, every binary32 result is zero or infinite. A NaN passes and makes `p` a NaN.
    let x = x.clamp(-200.0, 200.0);
    let shifted = x + ROUNDER;
    let f = x - (shifted - ROUNDER);
    let p = f * polynomial(&EXP2, f);
    let integer = shifted.to_bits().wrapping_sub(ROUNDER.to_bits());
    (p, f64::from_bits(integer.wrapping_add(1023) << 52))
}

/// `2^x`.
#[inline]
pub(super) fn exp2(x: f64) -> f64 {
    let (p, scale) = exp2_parts(x);
    (1.0 + p) * scale
}

/// `log2(x)`.
#[inline]
pub(super) fn log2(x: f64) -> f64 {
    if x <= 0.0 || x == f64::INFINITY || x.is_nan() {
        return if x == 0.0 {
            f64::NEG_INFINITY
        } else if x < 0.0 {
            f64::NAN
        } else {
            x
        };
    }
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
    let offset = x.to_bits() as i64 - std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64;
    let e = offset >> 52;
    let m = f64::from_bits((x.to_bits() as i64 - (e << 52)) as u64);
    let s = (m - 1.0) / (m + 1.0);
    e as f64 + s * polynomial(&LOG2, s * s)
}

/// The sine of `x` plus that many quarter turns: 0 gives the sine, 1 the cosine.
#[inline]
pub(super) fn sin_cos(x: f64, quarters: u64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (turns, r) = quarter_turns(x);
    let quadrant = turns.wrapping_add(quarters);
    let z = r * r;
    let value = if quadrant & 1 == 0 {
        r * (1.0 + z * polynomial(&SIN, z))
    } else {
        1.0 + z * polynomial(&COS, z)
    };
    if quadrant & 2 == 0 { value } else { -value }
}

/// `tanh(x)` as `(e^2x - 1) / (e^2x + 1)`, the numerator without cancellation.
#[inline]
pub(super) fn tanh(x: f64) -> f64 {
    // From 10 on the result rounds to one.
    let t = x.abs().min(10.0) * (2.0 * std::f64::consts::LOG2_E);
    let (p, scale) = exp2_parts(t);
    let numerator = (scale - 1.0) + scale * p;
    let value = (numerator / (numerator + 2.0)).copysign(x);
    if x.is_nan() { x } else { value }
}
