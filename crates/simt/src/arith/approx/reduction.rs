//! Reduction of angles modulo a quarter turn.

use super::kernels::ROUNDER;

/// From here on the product of the quarter count and the leading part of `pi/2` may not be exact.
pub const LARGE: f64 = 131_072.0; // 2^17

/// `pi/2` rounded down to 29 digits, and the rest (Cody and Waite).
pub const HALF_PI: (f64, f64) = (1.570_796_325_802_803, 9.920_935_796_805_404e-10);

/// The digits of `2/pi` behind the point, the highest first, after 64 zeros.
pub const TWO_OVER_PI: [u64; 5] =
    [0, 0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// Splits a finite binary32 number `x` into `n * pi/2 + r` with `|r| <= pi/4` (but for rounding);
/// gives `n` modulo 2^64 or 4, and `r` to a relative error below 2^-32.
#[inline]
pub(super) fn quarter_turns(x: f64) -> (u64, f64) {
    if x.abs() < LARGE {
        let shifted = x * std::f64::consts::FRAC_2_PI + ROUNDER;
        let n = shifted - ROUNDER;
        let r = (x - n * HALF_PI.0) - n * HALF_PI.1;
        (shifted.to_bits().wrapping_sub(ROUNDER.to_bits()), r)
    } else {
        large(x)
    }
}

/// Payne and Hanek: only those digits of `2/pi` are multiplied that reach below four quarter turns.
fn large(x: f64) -> (u64, f64) {
    // x = m * 2^e, m of 24 digits.
    let bits = x.to_bits();
    let m = u128::from((bits & ((1 << 52) - 1) | 1 << 52) >> 29);
    let e = (bits >> 52 & 0x7ff) as i32 - 1023 - 23;
    // The window whose top digit, times 2^e, weighs two quarter turns; e >= -6 here.
    let start = (e - 2 + 64) as usize;
    let (word, shift) = (start / 64, start % 64);
    let pair = |i: usize| u128::from(TWO_OVER_PI[i]) << 64 | u128::from(TWO_OVER_PI[i + 1]);
    let window = pair(word) << shift | (u128::from(TWO_OVER_PI[word + 2]) << shift >> 64);
    // Quarter turns with 126 digits behind the point, modulo four.
    let product = m.wrapping_mul(window);
    let n = (product.wrapping_add(1 << 125) >> 126) as u64;
    let fraction = ((product << 2) as i128 >> 64) as i64;
    let r = fraction as f64 * (std::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0);
    if x < 0.0 { (n.wrapping_neg(), -r) } else { (n, r) }
}
