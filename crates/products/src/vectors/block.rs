//! Sums of a block of products and the sums so far.

use super::super::terms::COLUMNS;
use super::factors::{Left, Right, is_wide, parts, vectors};
use super::{GROUP, Sums};
use std::arch::x86_64::{
    __m512, __m512i, __mmask16, _CMP_NEQ_UQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT,
    _MM_FROUND_TO_ZERO, _mm512_abs_epi32, _mm512_add_epi32, _mm512_add_ps, _mm512_adds_epi16,
    _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmpge_epu32_mask,
    _mm512_cmpgt_epi32_mask, _mm512_cmple_epi32_mask, _mm512_cmpneq_epi32_mask,
    _mm512_cvt_roundepi32_ps, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_cvttps_epi32,
    _mm512_mask_cmp_ps_mask, _mm512_mask_max_epi32, _mm512_mask_or_epi32, _mm512_max_epi16,
    _mm512_max_epi32, _mm512_max_epu32, _mm512_min_epi32, _mm512_mul_ps, _mm512_set1_epi16,
    _mm512_set1_epi32, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_sub_epi32,
};

/// The exponent field of single precision.
const FIELD: i32 = 0x7f80_0000;

/// Its place.
const PLACE: u32 = 23;

/// The greatest field to which a block is aligned: sums are far from infinite.
const HIGH: i32 = 127 + 110;

/// The greatest field to which no block is aligned, unless its sum is zero. Of wide formats,
/// products that are too small for single precision are cut to nothing above it, and results are
/// normal; of the others, no product but zero is as small.
const fn low(format: u8) -> i32 {
    if is_wide(format) { 127 - 100 } else { 127 - 30 }
}

/// Fraction bits of terms below the greatest exponent; of 13 single precision keeps 13.
const fn fraction(format: u8, rule: u8) -> i32 {
    match parts(format) {
        4 => 13,
        _ if rule == GROUP => 25,
        _ => 24,
    }
}

/// Totals of at least this magnitude may not fit a word: 16 products of less than `2^27` each do,
/// and with a sum of less than `2^26` they are less than `2^31 + 2^26`, which wraps to such a
/// magnitude.
const WRAPPED: i32 = i32::MAX - (1 << 26);

#[inline]
#[target_feature(enable = "avx512f")]
fn exponent_field(numbers: __m512) -> __m512i {
    _mm512_and_si512(_mm512_castps_si512(numbers), _mm512_set1_epi32(FIELD))
}

/// The field of the greatest exponent of a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn top<const F: u8, const N: usize, const E: usize, const HALF: bool, const D: usize>(
    left: &[Left<N, E>; D],
    right: &[Right; D],
    column: usize,
    sum: __m512,
) -> __m512i {
    let mut most = _mm512_setzero_si512();
    for (tile, (left, right)) in left.iter().zip(right).enumerate() {
        for at in 0..E {
            let other = right.exponents(at % vectors(F), at / vectors(F), column);
            // Where a field is too great for a half, so is the block's.
            let fields = _mm512_adds_epi16(left.exponents[at], other);
            most = if tile + at == 0 { fields } else { _mm512_max_epi16(most, fields) };
        }
    }
    if is_wide(F) {
        // Scales stay finite.
        most = _mm512_max_epi16(most, _mm512_set1_epi16((low(F) << 7) as i16));
    }
    if parts(F) > 1 {
        most = _mm512_max_epi16(most, _mm512_slli_epi32::<16>(most));
    }
    let mut field = exponent_field(sum);
    if HALF {
        // Subnormal numbers of half precision have the exponent of the least normal ones.
        let some = is_not_zero(sum, !0);
        field = _mm512_mask_max_epi32(field, some, field, _mm512_set1_epi32((127 - 14) << PLACE));
    }
    _mm512_and_si512(_mm512_max_epi32(most, field), _mm512_set1_epi32(FIELD))
}

/// Adds a block of products of finite numbers, `D` tiles deep. Returns `false`, with the results
/// undefined, if single precision cannot align it, or words cannot hold the sums.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn add<
    const F: u8,
    const N: usize,
    const E: usize,
    const HALF: bool,
    const RULE: u8,
    const D: usize,
>(
    left: &[Left<N, E>; D],
    right: &[Right; D],
    before: &Sums,
    after: &mut Sums,
) -> bool {
    let (mut lowest, mut highest) = (_mm512_set1_epi32(i32::MAX), _mm512_setzero_si512());
    let mut greatest = _mm512_setzero_si512();
    for column in 0..COLUMNS {
        let sum = before[column];
        let top = top::<F, N, E, HALF, D>(left, right, column, sum);
        lowest = _mm512_min_epi32(lowest, top);
        highest = _mm512_max_epi32(highest, top);
        let scale = _mm512_set1_epi32((2 * 127 + fraction(F, RULE)) << PLACE);
        let scale = _mm512_castsi512_ps(_mm512_sub_epi32(scale, top));
        let mut total = _mm512_cvttps_epi32(_mm512_mul_ps(sum, scale));
        for (left, right) in left.iter().zip(right) {
            for word in 0..4 {
                for part in 0..parts(F) {
                    let other = right.value(part, word, column);
                    let product = _mm512_mul_ps(left.values[word * parts(F) + part], other);
                    let term = _mm512_cvttps_epi32(_mm512_mul_ps(product, scale));
                    total = _mm512_add_epi32(total, term);
                }
            }
        }
        if fraction(F, RULE) == 25 {
            greatest = _mm512_max_epu32(greatest, _mm512_abs_epi32(total));
        }
        after[column] = rounded::<F, HALF, RULE>(total, top);
    }
    let high = _mm512_cmpgt_epi32_mask(highest, _mm512_set1_epi32(HIGH << PLACE));
    let low = _mm512_cmple_epi32_mask(lowest, _mm512_set1_epi32(low(F) << PLACE));
    let wrapped = _mm512_cmpge_epu32_mask(greatest, _mm512_set1_epi32(WRAPPED));
    let fits = high == 0 && wrapped == 0;
    fits && (low == 0 || only_zeros::<F, N, E, HALF, D>(left, right, before))
}

/// A total of terms, cut to single precision, or rounded to half precision: infinite if it is too
/// great, which the next block does not take.
#[inline]
#[target_feature(enable = "avx512f")]
fn rounded<const F: u8, const HALF: bool, const RULE: u8>(total: __m512i, top: __m512i) -> __m512 {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let cut = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(total);
    let mut bits = _mm512_castps_si512(cut);
    if HALF {
        // What has been cut matters to the second rounding only as not being zero.
        let some = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), total);
        bits = _mm512_mask_or_epi32(bits, some, bits, _mm512_set1_epi32(1));
    } else if fraction(F, RULE) == 13 {
        bits = _mm512_and_si512(bits, _mm512_set1_epi32(!0x3ff));
    }
    let unit = _mm512_sub_epi32(top, _mm512_set1_epi32(fraction(F, RULE) << PLACE));
    let sum = _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_castsi512_ps(unit));
    if !HALF {
        return sum;
    }
    let half = _mm512_cvtph_ps(_mm512_cvtps_ph::<NEAREST>(sum));
    // Zero has no sign.
    _mm512_add_ps(half, _mm512_setzero_ps())
}

/// Whether all terms of the sums with low exponents are zero.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
fn only_zeros<const F: u8, const N: usize, const E: usize, const HALF: bool, const D: usize>(
    left: &[Left<N, E>; D],
    right: &[Right; D],
    before: &Sums,
) -> bool {
    (0..COLUMNS).all(|column| {
        let top = top::<F, N, E, HALF, D>(left, right, column, before[column]);
        let rows = _mm512_cmple_epi32_mask(top, _mm512_set1_epi32(low(F) << PLACE));
        let mut some = is_not_zero(before[column], rows);
        for (left, right) in left.iter().zip(right) {
            for (at, &x) in left.values.iter().enumerate() {
                let y = right.value(at % parts(F), at / parts(F), column);
                some |= is_not_zero(x, rows) & is_not_zero(y, rows);
            }
        }
        some == 0
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn is_not_zero(numbers: __m512, rows: __mmask16) -> __mmask16 {
    _mm512_mask_cmp_ps_mask::<_CMP_NEQ_UQ>(rows, numbers, _mm512_setzero_ps())
}
