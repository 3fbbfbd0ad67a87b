//! Sums of blocks of products in single precision.
//!
//! A product of two factors is exact in single precision. The terms of a block are aligned to the
//! greatest exponent by one multiplication by a power of two, and cut by their conversion to
//! integers, whose sum is exact. So results are those of `simt::matrix`, bit for bit, as long as
//! products do not leave the range of single precision and sums its range of normal numbers.
#![allow(
    unsafe_code,
    reason = "conversions to integers that fit: `as` also handles those that do not, which costs \
              ten times as much as the rest, for compilers do not vectorize it"
)]

use super::terms::{BIAS, COLUMNS, Format, Left, ROWS, Single, Term, ZERO};

/// The least exponent to which a block may be aligned in single precision, with [`BIAS`] added:
/// products that are too small for single precision are cut to nothing, and results are normal.
const LOW: i32 = BIAS - 100;

/// The greatest such exponent; results are far from infinite.
const HIGH: i32 = 110;

/// The greatest number of half precision.
pub(super) const GREATEST_HALF: f32 = 65504.0;

/// The rules of sums.
pub(super) trait Rule {
    /// Fraction bits of terms below the greatest exponent.
    const FRACTION: i32;
    /// Whether results are of half precision.
    const HALF: bool;
    /// The least exponent of results that are not zero.
    const LEAST: i32 = if Self::HALF { -14 } else { ZERO };
}

/// The rules for factors of some format.
pub(super) struct Sums<const FRACTION: i32, const HALF: bool>;

impl<const FRACTION: i32, const HALF: bool> Rule for Sums<FRACTION, HALF> {
    const FRACTION: i32 = FRACTION;
    const HALF: bool = HALF;
}

/// A block of a right factor, as sixteen rows of the left one meet it.
pub(super) trait Factor {
    /// An exponent that none exceeds.
    fn top(&self) -> i32;

    /// The number in a part of a word in a column that a row meets, and its exponent.
    fn term(&self, part: usize, word: usize, column: usize, row: usize) -> Term;
}

/// Sums of sixteen rows and eight columns so far.
///
/// **Invariant.** Sums are finite, and less than `2^(top + 1)`.
#[repr(C, align(64))]
pub(super) struct Accumulators {
    /// By column.
    pub(super) sums: [[f32; ROWS]; COLUMNS],
    /// An exponent that no sum's exceeds.
    pub(super) top: i32,
    /// The least exponent of a sum that is not zero.
    pub(super) least: i32,
}

impl Accumulators {
    /// Zeros.
    pub(super) const NONE: Self = Self { sums: [[0.0; ROWS]; COLUMNS], top: ZERO, least: ZERO };
}

/// Adds a block of products of finite numbers to sums. Returns `false`, with the results undefined,
/// if that needs double precision.
#[inline(always)]
pub(super) fn block<R: Rule, const P: usize>(
    left: &Left<P>,
    right: &impl Factor,
    before: &Accumulators,
    after: &mut Accumulators,
) -> bool {
    let top = before.top.max(left.top() + right.top());
    if top > HIGH {
        return false;
    }
    // Less than 32 terms, each less than twice as great as its exponent says, and products four
    // times.
    after.top = top + 6;
    after.least = R::LEAST;
    let least = (before.least + BIAS).max(LOW);
    let (mut lowest, mut greatest) = ([i32::MAX; ROWS], [0; ROWS]);
    for column in 0..COLUMNS {
        let (sums, results) = (&before.sums[column], &mut after.sums[column]);
        for row in 0..ROWS {
            let sum = sums[row];
            let field = (sum.to_bits() >> 23 & 0xff) as i32;
            let mut top = field.max(if R::HALF && sum == 0.0 { LOW } else { least });
            for part in 0..P {
                for word in 0..4 {
                    let (_, x) = left.term(part, word, row);
                    let (_, y) = right.term(part, word, column, row);
                    top = top.max(x + y);
                }
            }
            lowest[row] = lowest[row].min(top);
            // Powers of two whose exponents are the fraction bits less the greatest exponent, and
            // the negative of that; the former is at most 124.
            let place = (top as u32) << 23;
            let scale = f32::from_bits((((2 * BIAS + R::FRACTION) as u32) << 23) - place);
            let unit = f32::from_bits(place - ((R::FRACTION as u32) << 23));
            // SAFETY: the sum is finite and less than 2^(top + 1) without the bias; the scale is
            // 2^24 / 2^top or less.
            let mut total = unsafe { cut(sum * scale) };
            for part in 0..P {
                for word in 0..4 {
                    let (x, _) = left.term(part, word, row);
                    let (y, _) = right.term(part, word, column, row);
                    // SAFETY: exponents are at most 127, and their sum at most `top`, which is at
                    // most 110. So the product is finite and less than 2^(top + 2).
                    total += unsafe { cut(x * y * scale) };
                }
            }
            let result = rounded::<R>(total, unit);
            results[row] = result;
            if R::HALF {
                greatest[row] = greatest[row].max(Single::magnitude(result.to_bits()));
            }
        }
    }
    let low = lowest.into_iter().fold(i32::MAX, i32::min) <= LOW;
    let infinite = greatest.into_iter().fold(0, u32::max) > GREATEST_HALF.to_bits();
    !low && !infinite
}

/// `total * unit`, a normal number or zero, as a sum so far: cut to single precision, or rounded to
/// half precision. The magnitude of `total` is less than 2^30.
#[inline(always)]
fn rounded<R: Rule>(total: i32, unit: f32) -> f32 {
    let magnitude = total.wrapping_abs();
    // To nearest: of more than 24 bits, the result may be too great by the last place.
    let nearest = magnitude as f32;
    let bits = match R::FRACTION {
        // At most 17 terms of 15 bits; single precision keeps 13 fraction bits.
        13 if R::HALF => nearest.to_bits(),
        13 => nearest.to_bits() & !0x3ff,
        _ => {
            // SAFETY: it is 2^30 or less.
            let back = unsafe { cut(nearest) };
            let toward_zero = nearest.to_bits() - u32::from(back > magnitude);
            // What has been cut matters to the second rounding only as not being zero.
            toward_zero | u32::from(R::HALF && back != magnitude)
        }
    };
    let value = f32::from_bits(bits | total as u32 & 0x8000_0000) * unit;
    if !R::HALF {
        return value;
    }
    rounded_to_half(value)
}

/// A number that half precision has the range of, rounded to it: to nearest, ties to even.
#[inline(always)]
pub(super) fn rounded_to_half(value: f32) -> f32 {
    // The last place of `shift` is that of half precision: 10 bits below the greatest one, but not
    // below that of subnormals.
    let place = (value.to_bits() >> 23 & 0xff).max(127 - 14) + 13;
    let shift = f32::from_bits(place << 23 | 0x40_0000);
    (value + shift) - shift
}

/// `value` as an integer, cut toward zero.
///
/// # Safety
/// `value` must be neither NaN nor infinite, and its magnitude less than 2^31.
#[inline(always)]
unsafe fn cut(value: f32) -> i32 {
    // SAFETY: the caller's.
    unsafe { value.to_int_unchecked::<i32>() }
}
