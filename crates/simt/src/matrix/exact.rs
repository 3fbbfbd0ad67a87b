//! Sums of products other than those of a device's units: exact ones, and chains of fused
//! multiply-adds.
//!
//! **Exact.** The products of an instruction and the addend are added without any rounding; the sum
//! is rounded once to the format of the result, to nearest, ties to even.
//!
//! **Chain.** The addend in single precision, then a fused multiply-add of single precision for
//! each product in the order of `k`, each rounded to nearest, ties to even. A result of half
//! precision is rounded once more, at the end.
//!
//! In both a result that is zero has no sign, and every NaN is the canonical one, as in the sums of
//! devices. The formats are those of IEEE 754 and of OCP's 8-bit floats.

use super::dot::{Exception, Lines, exceptional, nearest};
use crate::arith::{F16, F32, FpEnv, float};
use std::ops::Range;

/// Words of a sum in fixed point.
const WORDS: usize = 10;

/// The power of two of the lowest bit of a sum, negated: products of `tf32` are multiples of
/// `2^-272`, and sums of 256 of them are less than `2^265`.
const LOWEST: i32 = 320;

/// A sum in fixed point, as two's complement.
struct Fixed([u64; WORDS]);

impl Fixed {
    /// Adds `significand * 2^exponent`, a multiple of the lowest bit.
    fn add(&mut self, significand: i64, exponent: i32) {
        let at = (exponent + LOWEST) as usize;
        let wide = i128::from(significand) << (at % 64);
        let (low, high, sign) = (wide as u64, (wide >> 64) as u64, (wide >> 127) as u64);
        let mut carry = false;
        for (i, word) in self.0[at / 64..].iter_mut().enumerate() {
            let term = [low, high].get(i).copied().unwrap_or(sign);
            let (sum, first) = word.overflowing_add(term);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*word, carry) = (sum, first || second);
        }
    }

    /// Whether it is negative, and its magnitude as a number of 63 bits, the lowest of which is set
    /// if any bit below is, and the power of two of that number's lowest bit.
    fn rounded_to_odd(mut self) -> (bool, u64, i32) {
        let negative = self.0[WORDS - 1] >> 63 != 0;
        if negative {
            let mut carry = true;
            for word in &mut self.0 {
                (*word, carry) = (!*word).overflowing_add(carry.into());
            }
        }
        let Some(high) = self.0.iter().rposition(|&word| word != 0) else {
            return (false, 0, 0);
        };
        let top = high as i32 * 64 + 63 - self.0[high].leading_zeros() as i32;
        let from = (top - 62).max(0);
        let (word, bit) = (from as usize / 64, from % 64);
        let pair = |i: usize| u128::from(self.0.get(i).copied().unwrap_or(0));
        let bits = ((pair(word) | pair(word + 1) << 64) >> bit) as u64 & (u64::MAX >> 1);
        let below = self.0[..word].iter().any(|&w| w != 0) || self.0[word] & ((1 << bit) - 1) != 0;
        (negative, bits | u64::from(below), from - LOWEST)
    }
}

/// A number's significand and the power of two of its lowest bit.
fn scaled(lines: &Lines, at: usize) -> (i64, i32) {
    (lines.significands[at].into(), lines.exponents[at] - lines.fraction as i32)
}

/// The exact sum, rounded once. `addend` is one number; `exception` the result that is not finite,
/// if there is one.
pub(super) fn exact(
    (a, left): (&Lines, Range<usize>),
    (b, right): (&Lines, Range<usize>),
    addend: &Lines,
    exception: Option<Exception>,
    half: bool,
) -> u64 {
    if let Some(exception) = exception {
        return exceptional(exception, half);
    }
    let mut sum = Fixed([0; WORDS]);
    for (x, y) in left.zip(right) {
        let ((x, down), (y, lower)) = (scaled(a, x), scaled(b, y));
        if x * y != 0 {
            sum.add(x * y, down + lower);
        }
    }
    let (significand, exponent) = scaled(addend, 0);
    if significand != 0 {
        sum.add(significand, exponent);
    }
    let (negative, magnitude, unit) = sum.rounded_to_odd();
    match nearest(magnitude, unit, half) {
        0 => 0,
        bits => bits | u64::from(negative) << if half { 15 } else { 31 },
    }
}

/// A number in single precision, which has all numbers of narrower formats.
fn single(lines: &Lines, at: usize) -> u64 {
    let (significand, exponent) = scaled(lines, at);
    if let Some(special) = lines.special(at) {
        return exceptional(special, false);
    }
    // Powers of two and products of both are exact in double precision.
    let value = significand as f64 * f64::from_bits(((exponent + 1023) as u64) << 52);
    (value as f32).to_bits().into()
}

/// A chain of fused multiply-adds from `addend` on, one number.
pub(super) fn chain(
    (a, left): (&Lines, Range<usize>),
    (b, right): (&Lines, Range<usize>),
    addend: &Lines,
    half: bool,
) -> u64 {
    let step = |sum, (x, y)| float::fma::<F32>(single(a, x), single(b, y), sum, FpEnv::PTX);
    let sum = left.zip(right).fold(single(addend, 0), step);
    let (result, sign) = match half {
        true => (float::convert::<F32, F16>(sum, FpEnv::PTX), 1 << 15),
        false => (sum, 1 << 31),
    };
    if result == sign { 0 } else { result }
}
