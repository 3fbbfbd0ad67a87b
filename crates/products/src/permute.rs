//! Permutations between the registers of a warp and rows of words.
//!
//! A tile's register has lane `4 * line + word`; computations want a vector for each word, whose
//! elements are lines. Compilers do not find the permutations of vectors for that: they make
//! accesses to single words of such loops. So there is one implementation for each level.
#![allow(unsafe_code, reason = "vector instructions that not every host has")]

use super::terms::ROWS;
use crate::level::Avx512;

/// The words of sixteen lines, by word.
pub(super) type Words = [[u32; ROWS]; 4];

/// The permutations of a level.
pub(super) trait Permute: Copy {
    /// The words of lines 0 to 7 and 8 to 15, which are in two registers.
    fn words(self, tiles: [&[u32; 32]; 2]) -> Words;

    /// The two registers with these words: the inverse of [`Self::words`].
    fn registers(self, words: &Words) -> [[u32; 32]; 2];
}

/// Permutations as loops, or with what each host of an architecture has.
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// The matrix of four by four words at a place of two matrices of sixteen by four.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn transposed(rows: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    std::array::from_fn(|row| std::array::from_fn(|column| rows[column][row]))
}

/// The transpose of four by four words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed(rows: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    use std::arch::x86_64::{_mm_unpackhi_epi32, _mm_unpacklo_epi32};
    use std::arch::x86_64::{_mm_unpackhi_epi64, _mm_unpacklo_epi64};
    // SAFETY: every bit pattern is a value of both types, and each host of the architecture has
    // the instructions.
    unsafe {
        let [a, b, c, d] =
            std::mem::transmute::<[[u32; 4]; 4], [std::arch::x86_64::__m128i; 4]>(rows);
        let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (ef, gh) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        std::mem::transmute([
            _mm_unpacklo_epi64(ab, cd),
            _mm_unpackhi_epi64(ab, cd),
            _mm_unpacklo_epi64(ef, gh),
            _mm_unpackhi_epi64(ef, gh),
        ])
    }
}

/// The transpose of eight by eight halves of words.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn transposed_halves(rows: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| rows[column][row]))
}

/// The transpose of eight by eight halves of words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn transposed_halves(rows: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi16, _mm_unpacklo_epi16};
    // Each round exchanges a bit of the row's number and one of the column's.
    let mut rows: [__m128i; 8] =
        // SAFETY: every bit pattern is a value of both types.
        unsafe { std::mem::transmute::<[[u16; 8]; 8], [__m128i; 8]>(*rows) };
    for _ in 0..3 {
        let [a, b, c, d, e, f, g, h] = rows;
        // SAFETY: each host of the architecture has the instructions.
        rows = unsafe {
            [
                _mm_unpacklo_epi16(a, e),
                _mm_unpackhi_epi16(a, e),
                _mm_unpacklo_epi16(b, f),
                _mm_unpackhi_epi16(b, f),
                _mm_unpacklo_epi16(c, g),
                _mm_unpackhi_epi16(c, g),
                _mm_unpacklo_epi16(d, h),
                _mm_unpackhi_epi16(d, h),
            ]
        };
    }
    // SAFETY: every bit pattern is a value of both types.
    unsafe { std::mem::transmute::<[__m128i; 8], [[u16; 8]; 8]>(rows) }
}

impl Permute for Portable {
    #[inline(always)]
    fn words(self, tiles: [&[u32; 32]; 2]) -> Words {
        let mut words = [[0; ROWS]; 4];
        for (half, tile) in tiles.into_iter().enumerate() {
            let (lines, _) = tile.as_chunks::<4>();
            for first in [0, 4] {
                let block = transposed([
                    lines[first],
                    lines[first + 1],
                    lines[first + 2],
                    lines[first + 3],
                ]);
                for (words, block) in words.iter_mut().zip(block) {
                    words[8 * half + first..][..4].copy_from_slice(&block);
                }
            }
        }
        words
    }

    #[inline(always)]
    fn registers(self, words: &Words) -> [[u32; 32]; 2] {
        let mut out = [[0; 32]; 2];
        let (lines, _) = out.as_flattened_mut().as_chunks_mut::<4>();
        for first in [0, 4, 8, 12] {
            let of = |word: usize| std::array::from_fn(|i| words[word][first + i]);
            lines[first..][..4].copy_from_slice(&transposed([of(0), of(1), of(2), of(3)]));
        }
        out
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Permute for Avx512 {
    #[inline(always)]
    fn words(self, tiles: [&[u32; 32]; 2]) -> Words {
        Portable.words(tiles)
    }

    #[inline(always)]
    fn registers(self, words: &Words) -> [[u32; 32]; 2] {
        Portable.registers(words)
    }
}

/// Permutations of whole rows of sixteen words.
#[cfg(target_arch = "x86_64")]
impl Permute for Avx512 {
    #[inline(always)]
    fn words(self, tiles: [&[u32; 32]; 2]) -> Words {
        // SAFETY: the host has AVX-512, and every bit pattern is a value of both types.
        unsafe {
            std::mem::transmute::<[std::arch::x86_64::__m512i; 4], Words>(avx512::words(tiles))
        }
    }

    #[inline(always)]
    fn registers(self, words: &Words) -> [[u32; 32]; 2] {
        use std::arch::x86_64::__m512i;
        use std::mem::transmute;
        // SAFETY: the host has AVX-512, and every bit pattern is a value of both types.
        unsafe {
            let words = transmute::<Words, [__m512i; 4]>(*words);
            transmute::<[[__m512i; 2]; 2], [[u32; 32]; 2]>(avx512::registers(words))
        }
    }
}

/// The permutations of AVX-512.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_castsi512_si256, _mm512_inserti64x4, _mm512_loadu_si512,
        _mm512_permutex2var_epi32, _mm512_permutex2var_epi64, _mm512_shuffle_i64x2,
        _mm512_storeu_si512,
    };
    use std::mem::transmute;

    /// A vector of constants.
    #[inline(always)]
    fn vector(words: [u32; 16]) -> __m512i {
        // SAFETY: every bit pattern is a value of both types.
        unsafe { transmute(words) }
    }

    /// Of vectors of four lines: words `first` and `first + 1` of eight lines.
    const fn pick(first: u32) -> [u32; 16] {
        let mut out = [0; 16];
        let mut i = 0;
        while i < 16 {
            out[i as usize] = 4 * (i % 8) + first + i / 8;
            i += 1;
        }
        out
    }

    /// Of two vectors: the elements from `first` on in turn.
    const fn zip(first: u32) -> [u32; 16] {
        let mut out = [0; 16];
        let mut i = 0;
        while i < 16 {
            out[i as usize] = first + i / 2 + 16 * (i % 2);
            i += 1;
        }
        out
    }

    /// The words of lines 0 to 7 and 8 to 15, by word.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn words(tiles: [&[u32; 32]; 2]) -> [__m512i; 4] {
        let [[a, b], [c, d]] = [load(tiles[0]), load(tiles[1])];
        let (even, odd) = (vector(pick(0)), vector(pick(2)));
        let low = _mm512_permutex2var_epi32(a, even, b);
        let high = _mm512_permutex2var_epi32(c, even, d);
        let low2 = _mm512_permutex2var_epi32(a, odd, b);
        let high2 = _mm512_permutex2var_epi32(c, odd, d);
        [
            _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high)),
            _mm512_shuffle_i64x2::<0xee>(low, high),
            _mm512_inserti64x4::<1>(low2, _mm512_castsi512_si256(high2)),
            _mm512_shuffle_i64x2::<0xee>(low2, high2),
        ]
    }

    /// A register as two vectors.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn load(register: &[u32; 32]) -> [__m512i; 2] {
        let halves = register.as_chunks::<16>().0;
        // SAFETY: each half is readable.
        [0, 1].map(
            #[inline(always)]
            |half| unsafe { _mm512_loadu_si512(halves[half].as_ptr().cast()) },
        )
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn store(register: &mut [u32; 32], [low, high]: [__m512i; 2]) {
        let halves = register.as_chunks_mut::<16>().0;
        // SAFETY: each half is writable.
        unsafe {
            _mm512_storeu_si512(halves[0].as_mut_ptr().cast(), low);
            _mm512_storeu_si512(halves[1].as_mut_ptr().cast(), high);
        }
    }

    /// The two registers with these words: the inverse of [`words`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn registers([a, b, c, d]: [__m512i; 4]) -> [[__m512i; 2]; 2] {
        let (low, high) = (vector(zip(0)), vector(zip(8)));
        let [ab, cd] = [_mm512_permutex2var_epi32(a, low, b), _mm512_permutex2var_epi32(c, low, d)];
        let [ab2, cd2] =
            [_mm512_permutex2var_epi32(a, high, b), _mm512_permutex2var_epi32(c, high, d)];
        let (first, second) = (quads(0), quads(4));
        [
            [_mm512_permutex2var_epi64(ab, first, cd), _mm512_permutex2var_epi64(ab, second, cd)],
            [
                _mm512_permutex2var_epi64(ab2, first, cd2),
                _mm512_permutex2var_epi64(ab2, second, cd2),
            ],
        ]
    }

    /// Of two vectors: the pairs of elements from `first` on in turn.
    #[inline(always)]
    fn quads(first: i64) -> __m512i {
        let index: [i64; 8] = std::array::from_fn(|i| first + i as i64 / 2 + 8 * (i as i64 % 2));
        // SAFETY: every bit pattern is a value of both types.
        unsafe { transmute::<[i64; 8], __m512i>(index) }
    }
}
