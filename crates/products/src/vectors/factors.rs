//! Tiles of factors as numbers and exponents.
//!
//! Exponents are halves of words: the exponent field of single precision as it stands in the upper
//! half of a word, so that one addition and one maximum serve two elements. To those of right
//! factors is added what makes the sum of both the field of the product. Chains of multiply-adds
//! need none.

use super::super::permute::avx512::load;
use super::CHAIN;
use std::arch::x86_64::{
    __m512, __m512i, _mm512_add_epi16, _mm512_and_si512, _mm512_andnot_si512, _mm512_castsi512_ps,
    _mm512_cmpge_epi16_mask, _mm512_mask_max_epi16, _mm512_max_epi16, _mm512_mul_ps,
    _mm512_or_si512, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_setzero_si512, _mm512_slli_epi16, _mm512_slli_epi32, _mm512_srai_epi32,
    _mm512_srli_epi16, _mm512_store_ps, _mm512_store_si512, _mm512_test_epi16_mask,
};

// Formats. They are numbers, for functions for vector instructions cannot be in implementations of
// traits.
pub(super) const F16: u8 = 0;
pub(super) const BF16: u8 = 1;
pub(super) const TF32: u8 = 2;
pub(super) const E4M3: u8 = 3;
pub(super) const E5M2: u8 = 4;

/// Elements in a word.
pub(super) const fn parts(format: u8) -> usize {
    match format {
        F16 | BF16 => 2,
        TF32 => 1,
        _ => 4,
    }
}

/// Vectors of exponents for a vector of words.
pub(super) const fn vectors(format: u8) -> usize {
    if parts(format) == 4 { 2 } else { 1 }
}

/// Whether the exponents are those of single precision. Zero then has the exponent of subnormals,
/// which is the model's; in the other formats it has a low one that no product of others has.
pub(super) const fn is_wide(format: u8) -> bool {
    matches!(format, BF16 | TF32)
}

/// What makes the sum of two factors' fields the one of their product.
const fn bias(format: u8) -> i16 {
    match format {
        F16 | E5M2 => 127 - 2 * 15,
        E4M3 => 127 - 2 * 7,
        _ => -127,
    }
}

/// The field of zero, before biases, of formats whose exponents are few.
const ZERO: i16 = -33;

/// The exponents of two elements that are not there: with any other one, less than all sums.
const NONE: u32 = 0x8000_8000;

/// The words and exponents of some lines.
struct Decoded {
    /// Numbers, by part.
    values: [__m512; 4],
    exponents: [__m512i; 2],
    /// The greatest magnitude in each half, as an encoding.
    greatest: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn int(bits: u32) -> __m512i {
    _mm512_set1_epi32(bits.cast_signed())
}

/// Decodes pairs of half precision: the numbers times a scale over 2^112, exponents, magnitudes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn halves(words: __m512i, scale: u32) -> ([__m512; 2], __m512i, __m512i) {
    let magnitude = _mm512_and_si512(words, int(0x7fff_7fff));
    let field = _mm512_srli_epi16::<3>(_mm512_and_si512(words, int(0x7c00_7c00)));
    let (some, zero) = (_mm512_test_epi16_mask(magnitude, magnitude), ZERO << 7);
    let least = _mm512_set1_epi16(1 << 7);
    let field = _mm512_mask_max_epi16(_mm512_set1_epi16(zero), some, field, least);
    // The sign stays, exponent and fraction move to their places in single precision.
    let (keep, scale) = (int(0x8fff_e000), _mm512_set1_ps(f32::from_bits(scale)));
    let value = |words| {
        let moved = _mm512_and_si512(_mm512_srai_epi32::<3>(words), keep);
        _mm512_mul_ps(_mm512_castsi512_ps(moved), scale)
    };
    ([value(_mm512_slli_epi32::<16>(words)), value(words)], field, magnitude)
}

/// Decodes the bytes of words, which are the upper bytes of half precision.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn bytes([even, odd]: [__m512i; 2], scale: u32) -> Decoded {
    let ((x, first, m), (y, second, n)) = (halves(even, scale), halves(odd, scale));
    let greatest = _mm512_max_epi16(m, n);
    Decoded { values: [x[0], y[0], x[1], y[1]], exponents: [first, second], greatest }
}

/// The scale of half precision, whose exponents have a bias of 15.
const HALF: u32 = (127 + 127 - 15) << 23;

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn decoded<const F: u8>(words: __m512i) -> Decoded {
    let zero = _mm512_setzero_ps();
    let upper = _mm512_and_si512(words, int(0xffff_0000));
    // Even bytes of words, and odd ones, in the upper halves of 16 bits.
    let pairs = [_mm512_slli_epi16::<8>(words), _mm512_and_si512(words, int(0xff00_ff00))];
    match F {
        F16 => {
            let ([low, high], field, greatest) = halves(words, HALF);
            Decoded { values: [low, high, zero, zero], exponents: [field; 2], greatest }
        }
        BF16 => {
            let lower = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words));
            let values = [lower, _mm512_castsi512_ps(upper), zero, zero];
            single(values, words, 0x7f80_7f80)
        }
        TF32 => {
            let value = _mm512_castsi512_ps(_mm512_and_si512(words, int(!0x1fff)));
            single([value, zero, zero, zero], words, 0x7f80_0000)
        }
        E5M2 => bytes(pairs, HALF),
        _ => {
            // The exponent of half precision has a bit more, and a bias greater by 8.
            let half = |x: __m512i| {
                let sign = _mm512_and_si512(x, int(0x8000_8000));
                let rest = _mm512_srli_epi16::<1>(_mm512_and_si512(x, int(0x7f00_7f00)));
                _mm512_or_si512(sign, rest)
            };
            bytes(pairs.map(half), HALF + (8 << 23))
        }
    }
}

/// Numbers with the exponent fields of single precision in halves of words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn single(values: [__m512; 4], words: __m512i, mask: u32) -> Decoded {
    let greatest = _mm512_and_si512(words, int(mask));
    let field = _mm512_max_epi16(greatest, int(mask & 0x0080_0080));
    Decoded { values, exponents: [field; 2], greatest }
}

/// The least magnitude that is infinite or NaN.
const fn special(format: u8) -> i16 {
    match format {
        F16 | E5M2 => 0x7c00,
        E4M3 => 0x3f80,
        _ => 0x7f80,
    }
}

/// Whether magnitudes are those of finite numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn are_finite<const F: u8>(greatest: __m512i) -> bool {
    _mm512_cmpge_epi16_mask(greatest, _mm512_set1_epi16(special(F))) == 0
}

/// A tile of a left factor: `N` elements of sixteen rows, `E` vectors of exponents.
#[derive(Clone, Copy)]
pub(super) struct Left<const N: usize, const E: usize> {
    pub(super) values: [__m512; N],
    pub(super) exponents: [__m512i; E],
}

impl<const N: usize, const E: usize> Left<N, E> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> Self {
        Self { values: [_mm512_setzero_ps(); N], exponents: [_mm512_setzero_si512(); E] }
    }

    /// Decodes the words of sixteen lines; `absent` has ones where a sparse factor has no element.
    /// Returns whether all numbers are finite.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn decode<const F: u8, const RULE: u8>(
        &mut self,
        words: [__m512i; 4],
        absent: Option<[__m512i; 4]>,
    ) -> bool {
        let mut greatest = _mm512_setzero_si512();
        for (word, words) in words.into_iter().enumerate() {
            let made = decoded::<F>(words);
            greatest = _mm512_max_epi16(greatest, made.greatest);
            for part in 0..parts(F) {
                self.values[word * parts(F) + part] = made.values[part];
            }
            for vector in 0..if RULE == CHAIN { 0 } else { vectors(F) } {
                let mut exponents = made.exponents[vector];
                if let (Some(absent), true) = (absent, is_wide(F)) {
                    // Such a product has no exponent, where one of zero has a low one.
                    let none = _mm512_and_si512(absent[word], int(NONE));
                    exponents = _mm512_andnot_si512(absent[word], exponents);
                    exponents = _mm512_or_si512(exponents, none);
                }
                self.exponents[word * vectors(F) + vector] = exponents;
            }
        }
        are_finite::<F>(greatest)
    }
}

/// A tile of eight columns of a right factor, by lane: four times the column, plus the word.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub(super) struct Right {
    values: [[f32; 32]; 4],
    exponents: [[i32; 32]; 2],
}

impl Right {
    pub(super) fn zero() -> Self {
        Self { values: [[0.0; 32]; 4], exponents: [[0; 32]; 2] }
    }

    /// An element of a column in all rows.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn value(&self, part: usize, word: usize, column: usize) -> __m512 {
        _mm512_set1_ps(self.values[part][4 * column + word])
    }

    /// The exponents of elements of a column in all rows.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn exponents(&self, vector: usize, word: usize, column: usize) -> __m512i {
        _mm512_set1_epi32(self.exponents[vector][4 * column + word])
    }

    /// Decodes a register. Returns whether all numbers are finite.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn decode<const F: u8, const RULE: u8>(&mut self, tile: &[u32; 32]) -> bool {
        let mut greatest = _mm512_setzero_si512();
        let bias = match F {
            // The lower halves are not exponents.
            TF32 => _mm512_set1_epi32(i32::from(bias(F)) << 23),
            _ => _mm512_set1_epi16(bias(F) << 7),
        };
        for (half, words) in load(tile).into_iter().enumerate() {
            let made = decoded::<F>(words);
            greatest = _mm512_max_epi16(greatest, made.greatest);
            for part in 0..parts(F) {
                let to = &mut self.values[part].as_chunks_mut::<16>().0[half];
                // SAFETY: the sixteen numbers are there, at a multiple of 64 bytes.
                unsafe { _mm512_store_ps(to.as_mut_ptr(), made.values[part]) };
            }
            for vector in 0..if RULE == CHAIN { 0 } else { vectors(F) } {
                let fields = _mm512_add_epi16(made.exponents[vector], bias);
                let to = &mut self.exponents[vector].as_chunks_mut::<16>().0[half];
                // SAFETY: the sixteen words are there, at a multiple of 64 bytes.
                unsafe { _mm512_store_si512(to.as_mut_ptr().cast(), fields) };
            }
        }
        are_finite::<F>(greatest)
    }
}
