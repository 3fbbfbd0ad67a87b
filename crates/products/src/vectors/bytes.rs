//! Products of bytes. Sums are exact until the addend is added.

use super::super::permute::avx512::{load, registers, store, words};
use super::super::sparse::Expansion;
use super::super::terms::COLUMNS;
use super::super::tiles::Tiles;
use super::{Registers, vectors_of};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_madd_epi16, _mm512_set1_epi16,
    _mm512_set1_epi32, _mm512_setzero_si512, _mm512_slli_epi16, _mm512_srai_epi16,
    _mm512_srli_epi16, _mm512_store_si512,
};

/// The even bytes of words, and the odd ones, as numbers of 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn widened(words: __m512i, signed: bool) -> [__m512i; 2] {
    match signed {
        true => {
            [_mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(words)), _mm512_srai_epi16::<8>(words)]
        }
        false => [_mm512_and_si512(words, _mm512_set1_epi16(0xff)), _mm512_srli_epi16::<8>(words)],
    }
}

/// Pairs of numbers of eight columns, of even bytes and of odd ones, by lane.
#[repr(align(64))]
struct Right([[i32; 32]; 2]);

/// The sum of products of what is in a tile of the depth, and sums so far.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add(left: &[[__m512i; 2]; 4], right: &Right, sums: &mut [__m512i; COLUMNS]) {
    for (column, sum) in sums.iter_mut().enumerate() {
        for (word, left) in left.iter().enumerate() {
            for (parity, &left) in left.iter().enumerate() {
                let other = _mm512_set1_epi32(right.0[parity][4 * column + word]);
                *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(left, other));
            }
        }
    }
}

/// Multiplies bytes, adds the addends, and saturates or wraps. Of products of eight rows, sixteen
/// are computed.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn products(
    (tiles, expansion): (&Tiles, Option<&Expansion>),
    [of_left, of_right]: [bool; 2],
    saturate: bool,
    [left, right, addends]: Registers<'_>,
    results: &mut [[u32; 32]],
) {
    let mut b = Right([[0; 32]; 2]);
    for (band, rows) in tiles.bands() {
        for column in 0..tiles.right.lines {
            let mut sums = [_mm512_setzero_si512(); COLUMNS];
            for depth in 0..tiles.right.depth {
                let tile = |row| left[tiles.left.register(row, depth)];
                let a = match expansion {
                    None => words([tile(band), tile(band + rows - 1)]),
                    Some(expansion) => vectors_of(&expansion.words, depth),
                };
                let a = a.map(|w| widened(w, of_left));
                let tile = load(right[tiles.right.register(column, depth)]);
                for (half, words) in tile.into_iter().enumerate() {
                    for (to, made) in b.0.iter_mut().zip(widened(words, of_right)) {
                        let to = to.as_chunks_mut::<16>().0[half].as_mut_ptr();
                        // SAFETY: the sixteen words are there, at a multiple of 64 bytes.
                        unsafe { _mm512_store_si512(to.cast(), made) };
                    }
                }
                add(&a, &b, &mut sums);
            }
            for odd in 0..2 {
                let [a, b, c, d] = [0, 1, 2, 3].map(|word| sums[2 * word + odd]);
                for (row, sums) in registers([a, b, c, d]).into_iter().enumerate().take(rows) {
                    let from = addends[tiles.addends.register(band + row, column, odd)];
                    let to = &mut results[tiles.results.register(band + row, column, odd)];
                    store(to, sums);
                    for (to, &addend) in to.iter_mut().zip(from) {
                        let (addend, sum) = (addend.cast_signed(), to.cast_signed());
                        *to = match saturate {
                            true => addend.saturating_add(sum).cast_unsigned(),
                            false => addend.wrapping_add(sum).cast_unsigned(),
                        };
                    }
                }
            }
        }
    }
}
