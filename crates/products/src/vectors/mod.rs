//! Products of floats by AVX-512: a vector is sixteen rows of a column.
//!
//! The sums are those of `simt::matrix`, bit for bit. Those of devices are made as in
//! [`super::sums`]: all terms are multiplied by a power of two, which aligns them to the greatest
//! exponent, cut by their conversion to integers, and added. A sparse left factor is made a dense
//! one, whose added elements have no exponents. What is left to the other implementation, which has
//! the model behind it: infinities and NaN, and numbers near the ends of the range of single
//! precision.
#![allow(unsafe_code, reason = "vector instructions that not every host has")]

mod block;
mod bytes;
mod chain;
mod factors;
mod group;

use super::permute::avx512::{registers, store, words};
use super::sparse::Expansion;
use super::terms::{COLUMNS, ROWS};
use super::tiles::Tiles;
use crate::level::Avx512;
use factors::{BF16, E4M3, E5M2, F16, Left, Right, TF32, is_wide};
pub(super) use group::multiply_group;
use simt::matrix::{Element, MatrixSums};
use std::arch::x86_64::{
    __m512, __m512i, _MM_FROUND_NO_EXC, _mm512_castps_si512, _mm512_castsi512_ps,
    _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32, _mm512_cvtph_ps, _mm512_cvtps_ph,
    _mm512_loadu_si512, _mm512_or_si512, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_slli_epi32, _mm512_srli_epi32,
};

// Rules of sums. They are numbers, as formats are.
/// Blocks as `mma` adds them.
const WARP: u8 = 0;
/// Blocks as `wgmma` adds them.
const GROUP: u8 = 1;
/// Chains of multiply-adds.
const CHAIN: u8 = 2;

/// Sums of sixteen rows, by column.
type Sums = [__m512; COLUMNS];

/// The registers of the left factor, the right one and the addends.
type Registers<'r> = [&'r [&'r [u32; 32]]; 3];

/// Multiplies bytes, adds the addends, and saturates or wraps.
#[inline]
pub(super) fn multiply_bytes(
    _: Avx512,
    of: (&Tiles, Option<&Expansion>),
    signed: [bool; 2],
    saturate: bool,
    registers: Registers<'_>,
    results: &mut [[u32; 32]],
) {
    // SAFETY: the host has AVX-512.
    unsafe { bytes::products(of, signed, saturate, registers, results) }
}

/// Evaluates a call with the constants of a format: its number, its elements in a tile of a line,
/// vectors of their exponents.
macro_rules! by_format {
    ($factor:expr, $F:ident, $N:ident, $E:ident => $call:expr) => {
        match $factor {
            Element::F16 => by_format!(@ F16 8 4, $F $N $E $call),
            Element::Bf16 => by_format!(@ BF16 8 4, $F $N $E $call),
            Element::Tf32 => by_format!(@ TF32 4 4, $F $N $E $call),
            Element::E4m3 => by_format!(@ E4M3 16 8, $F $N $E $call),
            Element::E5m2 => by_format!(@ E5M2 16 8, $F $N $E $call),
            _ => None,
        }
    };
    (@ $format:ident $n:literal $e:literal, $F:ident $N:ident $E:ident $call:expr) => {{
        const $F: u8 = $format;
        const $N: usize = $n;
        const $E: usize = $e;
        $call
    }};
}
use by_format;

/// Multiplies the registers of the factors and adds the addends. Returns `None`, with `results`
/// undefined, if this implementation does not have the product of these numbers.
#[inline]
pub(super) fn multiply(
    _: Avx512,
    (tiles, expansion): (&Tiles, Option<&Expansion>),
    (rule, elements): (MatrixSums, [Element; 4]),
    registers: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    let [result, factor, other, addend] = elements;
    let chain = rule == MatrixSums::F32;
    if factor != other || result != addend || rule == MatrixSums::Exact {
        return None;
    }
    let of = (tiles, expansion);
    // SAFETY: the host has AVX-512.
    unsafe {
        by_format!(factor, F, N, E => match (result, chain, expansion.is_some()) {
            (Element::F32, true, _) => {
                products::<F, N, E, false, CHAIN, 1>(of, registers, results)
            }
            (Element::F32, _, false) => {
                products::<F, N, E, false, WARP, 1>(of, registers, results)
            }
            (Element::F32, _, true) => products::<F, N, E, false, WARP, 2>(of, registers, results),
            // No instruction has such results of wide formats.
            _ if const { is_wide(F) } || result != Element::F16 => None,
            (_, true, _) => products::<F, N, E, true, CHAIN, 1>(of, registers, results),
            (_, _, false) => products::<F, N, E, true, WARP, 1>(of, registers, results),
            (_, _, true) => products::<F, N, E, true, WARP, 2>(of, registers, results),
        })
    }
}

/// Multiplies factors of a format, in blocks of `D` tiles along the depth, each with `N` elements
/// of a line and `E` vectors of exponents.
#[target_feature(enable = "avx512f,avx512bw")]
fn products<
    const F: u8,
    const N: usize,
    const E: usize,
    const HALF: bool,
    const RULE: u8,
    const D: usize,
>(
    (tiles, expansion): (&Tiles, Option<&Expansion>),
    [left, right, addends]: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    let (mut a, mut b) = ([Left::<N, E>::zero(); D], [Right::zero(); D]);
    for band in 0..tiles.left.lines / 2 {
        for column in 0..tiles.right.lines {
            let mut sums = [[_mm512_setzero_ps(); COLUMNS]; 2];
            let place = |odd| [0, 1].map(|h| tiles.addends.register(2 * band + h, column, odd));
            sums[0] = read::<HALF>([0, 1].map(|odd| place(odd).map(|at| addends[at])));
            let (mut finite, blocks) = (true, tiles.right.depth / D);
            for block in 0..blocks {
                for at in 0..D {
                    let depth = block * D + at;
                    finite &= match expansion {
                        None => {
                            let tile = |half| left[tiles.left.register(2 * band + half, depth)];
                            a[at].decode::<F, RULE>(words([tile(0), tile(1)]), None)
                        }
                        Some(expansion) => expanded::<F, N, E, RULE>(expansion, depth, &mut a[at]),
                    };
                    finite &= b[at].decode::<F, RULE>(right[tiles.right.register(column, depth)]);
                }
                let [even, odd] = &mut sums;
                if const { RULE == CHAIN } {
                    chain::add::<F, N, E, D>(&a, &b, even);
                    continue;
                }
                let (before, after) = if block % 2 == 0 { (&*even, odd) } else { (&*odd, even) };
                if !block::add::<F, N, E, HALF, RULE, D>(&a, &b, before, after) {
                    return None;
                }
            }
            let sums = &mut sums[if const { RULE == CHAIN } { 0 } else { blocks % 2 }];
            if !finite || const { RULE == CHAIN } && !chain::finish::<HALF>(sums) {
                return None;
            }
            let made = write::<HALF>(sums);
            for (odd, made) in made.into_iter().enumerate().take(if HALF { 1 } else { 2 }) {
                for (half, made) in made.into_iter().enumerate() {
                    store(&mut results[tiles.results.register(2 * band + half, column, odd)], made);
                }
            }
        }
    }
    Some(())
}

/// Decodes a tile of what has been a sparse factor.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn expanded<const F: u8, const N: usize, const E: usize, const RULE: u8>(
    expansion: &Expansion,
    depth: usize,
    left: &mut Left<N, E>,
) -> bool {
    let words = vectors_of(&expansion.words, depth);
    left.decode::<F, RULE>(words, Some(vectors_of(&expansion.absent, depth)))
}

/// The words of a tile along the depth, of sixteen rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn vectors_of(words: &[[u32; ROWS]; 16], depth: usize) -> [__m512i; 4] {
    let mut out = [_mm512_setzero_si512(); 4];
    for (out, words) in out.iter_mut().zip(&words[4 * depth..]) {
        // SAFETY: the sixteen words are readable.
        *out = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
    }
    out
}

/// The addends of the registers of even columns and of odd ones, each of rows 0 to 7 and 8 to 15.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn read<const HALF: bool>(tiles: [[&[u32; 32]; 2]; 2]) -> Sums {
    let mut to = [_mm512_setzero_ps(); COLUMNS];
    for (odd, tiles) in tiles.into_iter().enumerate() {
        for (word, sums) in words(tiles).into_iter().enumerate() {
            // Of half precision a register holds an even column and the odd one behind it.
            to[2 * word + odd] = match (HALF, odd) {
                (false, _) => _mm512_castsi512_ps(sums),
                (true, 0) => _mm512_cvtph_ps(_mm512_cvtepi32_epi16(sums)),
                (true, _) => _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(sums))),
            };
        }
    }
    to
}

/// The registers of results: of even columns and of odd ones, each of rows 0 to 7 and 8 to 15; of
/// half precision the first two are all.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn write<const HALF: bool>(sums: &Sums) -> [[[__m512i; 2]; 2]; 2] {
    let mut words = [[_mm512_castps_si512(_mm512_setzero_ps()); 4]; 2];
    for (odd, words) in words.iter_mut().enumerate() {
        for (word, to) in words.iter_mut().enumerate() {
            *to = match HALF {
                false => _mm512_castps_si512(sums[2 * word + odd]),
                true => pairs(sums[2 * word], sums[2 * word + 1]),
            };
        }
    }
    [registers(words[0]), registers(words[1])]
}

/// Words with numbers that half precision has.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(low: __m512, high: __m512) -> __m512i {
    let half = |x| _mm512_cvtepu16_epi32(_mm512_cvtps_ph::<_MM_FROUND_NO_EXC>(x));
    _mm512_or_si512(half(low), _mm512_slli_epi32::<16>(half(high)))
}
