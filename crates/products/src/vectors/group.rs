//! Products of warp groups: the right factor is decoded once for the rows of four warps.

use super::super::group::{Factors, Tile};
use super::super::permute::avx512::{store, words};
use super::super::sparse::Expansion;
use super::factors::{BF16, E4M3, E5M2, F16, Left, Right, TF32, is_wide};
use super::{CHAIN, GROUP, block, by_format, chain, expanded, read, write};
use crate::level::Avx512;
use simt::matrix::{Element, MatrixSums, WARPS};
use std::arch::x86_64::_mm512_setzero_ps;

/// Factors, and for each of them what its sparse left factors stand for.
type Products<'f> = (&'f [Factors], Vec<Option<[Expansion; WARPS]>>);

/// Adds the products of floats, one after the other, to the sums, warp after warp and register
/// after register, but for the cells, of a warp and eight columns, that are returned. Returns
/// `None`, having changed nothing, if this implementation does not have the product.
pub(crate) fn multiply_group(
    _: Avx512,
    rule: MatrixSums,
    elements: [Element; 3],
    of: &Products<'_>,
    sums: &mut [&mut Tile],
) -> Option<Vec<(usize, usize)>> {
    let [result, factor, other] = elements;
    if factor != other || rule == MatrixSums::Exact {
        return None;
    }
    let (chain, sparse) = (rule == MatrixSums::F32, of.1.iter().any(Option::is_some));
    // SAFETY: the host has AVX-512.
    unsafe {
        by_format!(factor, F, N, E => match (result, chain, sparse) {
            (Element::F32, false, false) => Some(products::<F, N, E, false, GROUP, 2>(of, sums)),
            (Element::F32, true, false) => Some(products::<F, N, 0, false, CHAIN, 2>(of, sums)),
            (Element::F32, false, true) => Some(products::<F, N, E, false, GROUP, 4>(of, sums)),
            (Element::F32, true, true) => Some(products::<F, N, 0, false, CHAIN, 4>(of, sums)),
            // No instruction has such results of wide formats.
            _ if const { is_wide(F) } || result != Element::F16 => None,
            (_, false, false) => Some(products::<F, N, E, true, GROUP, 2>(of, sums)),
            (_, true, false) => Some(products::<F, N, 0, true, CHAIN, 2>(of, sums)),
            (_, false, true) => Some(products::<F, N, E, true, GROUP, 4>(of, sums)),
            (_, true, true) => Some(products::<F, N, 0, true, CHAIN, 4>(of, sums)),
        })
    }
}

/// Multiplies factors of a format, `D` tiles deep.
#[target_feature(enable = "avx512f,avx512bw")]
fn products<
    const F: u8,
    const N: usize,
    const E: usize,
    const HALF: bool,
    const RULE: u8,
    const D: usize,
>(
    (factors, expansions): &Products<'_>,
    sums: &mut [&mut Tile],
) -> Vec<(usize, usize)> {
    // By warp and product.
    let mut left = Vec::with_capacity(WARPS * factors.len());
    let mut finite = [true; WARPS];
    for (warp, finite) in finite.iter_mut().enumerate() {
        for (factors, expansions) in factors.iter().zip(expansions) {
            let mut tiles = [Left::<N, E>::zero(); D];
            for (depth, left) in tiles.iter_mut().enumerate() {
                *finite &= match expansions {
                    None => {
                        let tile = |half| factors.left(warp, half, depth);
                        left.decode::<F, RULE>(words([tile(0), tile(1)]), None)
                    }
                    Some(expansions) => expanded::<F, N, E, RULE>(&expansions[warp], depth, left),
                };
            }
            left.push(tiles);
        }
    }
    let (each, of_warp) = (if HALF { 2 } else { 4 }, sums.len() / WARPS);
    let (mut right, mut undone) = (vec![[Right::zero(); D]; factors.len()], Vec::new());
    for column in 0..of_warp / each {
        let mut finite_right = true;
        for (right, factors) in right.iter_mut().zip(*factors) {
            for (right, tile) in right.iter_mut().zip(&factors.b[column * D..]) {
                finite_right &= right.decode::<F, RULE>(tile);
            }
        }
        for (warp, left) in left.chunks_exact(factors.len()).enumerate() {
            let sums = &mut sums[warp * of_warp + column * each..][..each];
            let finite = finite_right && finite[warp];
            if !(finite && cell::<F, N, E, HALF, RULE, D>(left, &right, sums)) {
                undone.push((warp, column));
            }
        }
    }
    undone
}

/// Adds the products of a warp's rows and eight columns, one after the other. Returns `false`,
/// having changed nothing, if that is left to others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn cell<
    const F: u8,
    const N: usize,
    const E: usize,
    const HALF: bool,
    const RULE: u8,
    const D: usize,
>(
    left: &[[Left<N, E>; D]],
    right: &[[Right; D]],
    sums: &mut [&mut Tile],
) -> bool {
    let register = |half: usize, odd: usize| if HALF { half } else { 2 * half + odd };
    let of = |odd| [&*sums[register(0, odd)], &*sums[register(1, odd)]];
    let mut before = read::<HALF>([of(0), of(1)]);
    for (left, right) in left.iter().zip(right) {
        if const { RULE == CHAIN } {
            chain::add::<F, N, E, D>(left, right, &mut before);
            // Results of single precision are rounded already; the signs of zeros do not matter
            // before the last product, and NaN stays.
            if HALF && !chain::finish::<HALF>(&mut before) {
                return false;
            }
            continue;
        }
        let mut after = [_mm512_setzero_ps(); 8];
        if !block::add::<F, N, E, HALF, RULE, D>(left, right, &before, &mut after) {
            return false;
        }
        before = after;
    }
    if const { RULE == CHAIN && !HALF } && !chain::finish::<HALF>(&mut before) {
        return false;
    }
    let made = write::<HALF>(&before);
    for (odd, made) in made.into_iter().enumerate().take(if HALF { 1 } else { 2 }) {
        for (half, made) in made.into_iter().enumerate() {
            store(sums[register(half, odd)], made);
        }
    }
    true
}
