//! Chains of fused multiply-adds of single precision in the order of the depth.

use super::Sums;
use super::factors::{Left, Right, parts};
use std::arch::x86_64::{
    _CMP_UNORD_Q, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm512_add_ps, _mm512_cmp_ps_mask,
    _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_fmadd_ps, _mm512_setzero_ps,
};

/// Adds the products of finite numbers, `D` tiles deep.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add<const F: u8, const N: usize, const E: usize, const D: usize>(
    left: &[Left<N, E>; D],
    right: &[Right; D],
    sums: &mut Sums,
) {
    let mut totals = *sums;
    for (left, right) in left.iter().zip(right) {
        for word in 0..4 {
            for part in 0..parts(F) {
                let x = left.values[word * parts(F) + part];
                for (column, total) in totals.iter_mut().enumerate() {
                    *total = _mm512_fmadd_ps(x, right.value(part, word, column), *total);
                }
            }
        }
    }
    *sums = totals;
}

/// Rounds sums to half precision, if results have it, and takes the signs of zeros away. Returns
/// `false` if a sum is NaN.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn finish<const HALF: bool>(sums: &mut Sums) -> bool {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let mut unordered = 0;
    for sum in sums {
        unordered |= _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(*sum, *sum);
        if HALF {
            *sum = _mm512_cvtph_ps(_mm512_cvtps_ph::<NEAREST>(*sum));
        }
        *sum = _mm512_add_ps(*sum, _mm512_setzero_ps());
    }
    unordered == 0
}
