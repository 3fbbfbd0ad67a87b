//! Products of floats by AVX-512: a vector is sixteen rows of a column.
//!
//! The sums are those of `simt::matrix`, bit for bit, as in [`super::sums`]: all terms are
//! multiplied by a power of two, which aligns them to the greatest exponent, cut by their
//! conversion to integers, and added. What is left to the other implementation, which has the model
//! behind it: sums of half precision, sparse factors, infinities and NaN, and numbers near the ends
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
use std::arch::x86_64::{__m512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_setzero_ps};

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
    let [Element::F32, factor, other, Element::F32] = elements else { return None };
    if factor != other {
        return None;
    }
    // SAFETY: the host has AVX-512.
    unsafe {
        match factor {
            Element::F16 => products::<F16, 8, 4>(tiles, registers, results),
            Element::Bf16 => products::<BF16, 8, 4>(tiles, registers, results),
            Element::Tf32 => products::<TF32, 4, 4>(tiles, registers, results),
            Element::E4m3 => products::<E4M3, 16, 8>(tiles, registers, results),
            Element::E5m2 => products::<E5M2, 16, 8>(tiles, registers, results),
            _ => None,
        }
    }
}

/// Multiplies factors of a format, of which a block has `N` elements along the depth and `E`
/// vectors of exponents.
#[target_feature(enable = "avx512f,avx512bw")]
fn products<const F: u8, const N: usize, const E: usize>(
    tiles: &Tiles,
    [left, right, addends]: Registers<'_>,
    results: &mut [[u32; 32]],
) -> Option<()> {
    let (mut a, mut b) = (Left::<N, E>::zero(), Right::zero());
    for band in 0..tiles.left.lines / 2 {
        for column in 0..tiles.right.lines {
            let mut sums = [[_mm512_setzero_ps(); COLUMNS]; 2];
            read(tiles, addends, (band, column), &mut sums[0]);
            let mut finite = true;
            for depth in 0..tiles.left.depth {
                let tile = |half| left[tiles.left.register(2 * band + half, depth)];
                finite &= a.decode::<F>([tile(0), tile(1)]);
                finite &= b.decode::<F>(right[tiles.right.register(column, depth)]);
                let [even, odd] = &mut sums;
                let (before, after) = if depth % 2 == 0 { (&*even, odd) } else { (&*odd, even) };
                if !add::<F, N, E>(&a, &b, before, after) {
                    return None;
                }
            }
            if !finite {
                return None;
            }
            write(tiles, &sums[tiles.left.depth % 2], (band, column), results);
        }
    }
    Some(())
}

/// Reads addends.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn read(tiles: &Tiles, from: &[&[u32; 32]], (band, column): (usize, usize), to: &mut Sums) {
    for odd in 0..2 {
        let tile = |half| from[tiles.addends.register(2 * band + half, column, odd)];
        for (word, sums) in words([tile(0), tile(1)]).into_iter().enumerate() {
            to[2 * word + odd] = _mm512_castsi512_ps(sums);
        }
    }
}

/// Writes results.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn write(tiles: &Tiles, sums: &Sums, (band, column): (usize, usize), to: &mut [[u32; 32]]) {
    for odd in 0..2 {
        let of = |word: usize| _mm512_castps_si512(sums[2 * word + odd]);
        let [upper, lower] = registers([of(0), of(1), of(2), of(3)]);
        store(&mut to[tiles.results.register(2 * band, column, odd)], upper);
        store(&mut to[tiles.results.register(2 * band + 1, column, odd)], lower);
    }
}
