//! Products of floats by AVX-512: a vector is sixteen rows of a column.
//!
//! The sums are those of `simt::matrix`, bit for bit, as in [`super::sums`]: all terms are
//! multiplied by a power of two, which aligns them to the greatest exponent, cut by their
//! conversion to integers, and added. What is left to the other implementation, which has the model
//! behind it: sparse factors, infinities and NaN, and numbers near the ends
//! of the range of single precision.
#![allow(unsafe_code, reason = "vector instructions that not every host has")]

mod block;
mod bytes;
mod factors;

use super::permute::avx512::{registers, store, words};
use super::terms::COLUMNS;
use super::tiles::Tiles;
use crate::level::Avx512;
use block::add;
use factors::{BF16, E4M3, E5M2, F16, Left, Right, TF32};
use simt::matrix::Element;
use std::arch::x86_64::{
    __m512, __m512i, _MM_FROUND_NO_EXC, _mm512_castps_si512, _mm512_castsi512_ps,
    _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32, _mm512_cvtph_ps, _mm512_cvtps_ph,
    _mm512_or_si512, _mm512_setzero_ps, _mm512_slli_epi32, _mm512_srli_epi32,
};

/// Sums of sixteen rows, by column.
type Sums = [__m512; COLUMNS];

/// The registers of the left factor, the right one and the addends.
type Registers<'r> = [&'r [&'r [u32; 32]]; 3];

/// Multiplies bytes, adds the addends, and saturates or wraps.
#[inline]
pub(super) fn multiply_bytes(
    _: Avx512,
    tiles: &Tiles,
    signed: [bool; 2],
    saturate: bool,
    registers: Registers<'_>,
    results: &mut [[u32; 32]],
) {
    // SAFETY: the host has AVX-512.
    unsafe { bytes::products(tiles, signed, saturate, registers, results) }
}

/// Multiplies the registers of the factors and adds the addends. Returns `None`, with `results`
/// undefined, if this implementation does not have the product of these numbers.
#[inline]
pub(super) fn multiply(
    _: Avx512,
    tiles: &Tiles,
    elements: [Element; 4],
    registers: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    let [result, factor, other, addend] = elements;
    if factor != other || result != addend {
        return None;
    }
    // SAFETY: the host has AVX-512.
    unsafe {
        match result {
            Element::F32 => of_format::<false>(tiles, factor, registers, results),
            Element::F16 => of_format::<true>(tiles, factor, registers, results),
            _ => None,
        }
    }
}

/// Multiplies with sums of half precision, or of single precision.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn of_format<const HALF: bool>(
    tiles: &Tiles,
    factor: Element,
    registers: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    match factor {
        Element::F16 => products::<F16, 8, 4, HALF>(tiles, registers, results),
        Element::Bf16 => products::<BF16, 8, 4, HALF>(tiles, registers, results),
        Element::Tf32 => products::<TF32, 4, 4, HALF>(tiles, registers, results),
        Element::E4m3 => products::<E4M3, 16, 8, HALF>(tiles, registers, results),
        Element::E5m2 => products::<E5M2, 16, 8, HALF>(tiles, registers, results),
        _ => None,
    }
}

/// Multiplies factors of a format, of which a block has `N` elements along the depth and `E`
/// vectors of exponents.
#[target_feature(enable = "avx512f,avx512bw")]
fn products<const F: u8, const N: usize, const E: usize, const HALF: bool>(
    tiles: &Tiles,
    [left, right, addends]: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    let (mut a, mut b) = (Left::<N, E>::zero(), Right::zero());
    for band in 0..tiles.left.lines / 2 {
        for column in 0..tiles.right.lines {
            let mut sums = [[_mm512_setzero_ps(); COLUMNS]; 2];
            read::<HALF>(tiles, addends, (band, column), &mut sums[0]);
            let mut finite = true;
            for depth in 0..tiles.left.depth {
                let tile = |half| left[tiles.left.register(2 * band + half, depth)];
                finite &= a.decode::<F>([tile(0), tile(1)]);
                finite &= b.decode::<F>(right[tiles.right.register(column, depth)]);
                let [even, odd] = &mut sums;
                let (before, after) = if depth % 2 == 0 { (&*even, odd) } else { (&*odd, even) };
                if !add::<F, N, E, HALF>(&a, &b, before, after) {
                    return None;
                }
            }
            if !finite {
                return None;
            }
            write::<HALF>(tiles, &sums[tiles.left.depth % 2], (band, column), results);
        }
    }
    Some(())
}

/// Reads addends.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn read<const HALF: bool>(
    tiles: &Tiles,
    from: &[&[u32; 32]],
    (band, column): (usize, usize),
    to: &mut Sums,
) {
    for odd in 0..2 {
        let tile = |half| from[tiles.addends.register(2 * band + half, column, odd)];
        for (word, sums) in words([tile(0), tile(1)]).into_iter().enumerate() {
            // Of half precision a register holds an even column and the odd one behind it.
            to[2 * word + odd] = match (HALF, odd) {
                (false, _) => _mm512_castsi512_ps(sums),
                (true, 0) => _mm512_cvtph_ps(_mm512_cvtepi32_epi16(sums)),
                (true, _) => _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(sums))),
            };
        }
    }
}

/// Writes results.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn write<const HALF: bool>(
    tiles: &Tiles,
    sums: &Sums,
    (band, column): (usize, usize),
    to: &mut [[u32; 32]],
) {
    for odd in 0..if HALF { 1 } else { 2 } {
        let of = |word: usize| match HALF {
            false => _mm512_castps_si512(sums[2 * word + odd]),
            true => pairs(sums[2 * word], sums[2 * word + 1]),
        };
        let [upper, lower] = registers([of(0), of(1), of(2), of(3)]);
        store(&mut to[tiles.results.register(2 * band, column, odd)], upper);
        store(&mut to[tiles.results.register(2 * band + 1, column, odd)], lower);
    }
}

/// Words with numbers that half precision has.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(low: __m512, high: __m512) -> __m512i {
    let half = |x| _mm512_cvtepu16_epi32(_mm512_cvtps_ph::<_MM_FROUND_NO_EXC>(x));
    _mm512_or_si512(half(low), _mm512_slli_epi32::<16>(half(high)))
}
