//! Products of warp groups: the right factor is decoded once for the rows of four warps.

use super::super::group::{Factors, Tile};
use super::super::permute::avx512::{store, words};
use super::super::sparse::Expansion;
use super::factors::{BF16, E4M3, E5M2, F16, Left, Right, TF32};
use super::{CHAIN, GROUP, block, by_format, chain, expanded, read, write};
use crate::level::Avx512;
use simt::matrix::{Element, MatrixSums, WARPS};
use std::arch::x86_64::_mm512_setzero_ps;

/// Adds the products of floats to the sums, warp after warp and register after register, but for
/// the cells, of a warp and eight columns, that are returned. Returns `None`, having changed
/// nothing, if this implementation does not have the product.
pub(crate) fn multiply_group(
    _: Avx512,
    rule: MatrixSums,
    elements: [Element; 3],
    factors: &Factors,
    expansions: Option<&[Expansion; WARPS]>,
    sums: &mut [Tile],
) -> Option<Vec<(usize, usize)>> {
    let [result, factor, other] = elements;
    if factor != other || rule == MatrixSums::Exact {
        return None;
    }
    let (chain, sparse) = (rule == MatrixSums::F32, expansions.is_some());
    // SAFETY: the host has AVX-512.
    unsafe {
        by_format!(factor, F, N, E => Some(match (result == Element::F16, chain, sparse) {
            (false, false, false) => {
                products::<F, N, E, false, GROUP, 2>(factors, expansions, sums)
            }
            (true, false, false) => products::<F, N, E, true, GROUP, 2>(factors, expansions, sums),
            (false, true, false) => products::<F, N, E, false, CHAIN, 2>(factors, expansions, sums),
            (true, true, false) => products::<F, N, E, true, CHAIN, 2>(factors, expansions, sums),
            (false, false, true) => products::<F, N, E, false, GROUP, 4>(factors, expansions, sums),
            (true, false, true) => products::<F, N, E, true, GROUP, 4>(factors, expansions, sums),
            (false, true, true) => products::<F, N, E, false, CHAIN, 4>(factors, expansions, sums),
            (true, true, true) => products::<F, N, E, true, CHAIN, 4>(factors, expansions, sums),
        }))
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
    factors: &Factors,
    expansions: Option<&[Expansion; WARPS]>,
    sums: &mut [Tile],
) -> Vec<(usize, usize)> {
    let mut left = [([Left::<N, E>::zero(); D], true); WARPS];
    for (warp, (left, finite)) in left.iter_mut().enumerate() {
        for (depth, left) in left.iter_mut().enumerate() {
            *finite &= match expansions {
                None => {
                    let tile = |half| factors.left(warp, half, depth);
                    left.decode::<F, RULE>(words([tile(0), tile(1)]), None)
                }
                Some(expansions) => expanded::<F, N, E, RULE>(&expansions[warp], depth, left),
            };
        }
    }
    let (each, of_warp) = (if HALF { 2 } else { 4 }, sums.len() / WARPS);
    let (mut right, mut undone) = ([Right::zero(); D], Vec::new());
    for (column, tiles) in factors.b.chunks_exact(D).enumerate() {
        let mut finite = true;
        for (right, tile) in right.iter_mut().zip(tiles) {
            finite &= right.decode::<F, RULE>(tile);
        }
        for (warp, (left, of_left)) in left.iter().enumerate() {
            let sums = &mut sums[warp * of_warp + column * each..][..each];
            if !(finite && *of_left && cell::<F, N, E, HALF, RULE, D>(left, &right, sums)) {
                undone.push((warp, column));
            }
        }
    }
    undone
}

/// Adds the products of a warp's rows and eight columns. Returns `false`, having changed nothing,
/// if that is left to others.
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
    left: &[Left<N, E>; D],
    right: &[Right; D],
    sums: &mut [Tile],
) -> bool {
    let register = |half: usize, odd: usize| if HALF { half } else { 2 * half + odd };
    let of = |odd| [&sums[register(0, odd)], &sums[register(1, odd)]];
    let mut before = read::<HALF>([of(0), of(1)]);
    let mut after = [_mm512_setzero_ps(); 8];
    let done = match RULE {
        CHAIN => {
            chain::add::<F, N, E, D>(left, right, &mut before);
            after = before;
            chain::finish::<HALF>(&mut after)
        }
        _ => block::add::<F, N, E, HALF, RULE, D>(left, right, &before, &mut after),
    };
    if done {
        let made = write::<HALF>(&after);
        for (odd, made) in made.into_iter().enumerate().take(if HALF { 1 } else { 2 }) {
            for (half, made) in made.into_iter().enumerate() {
                store(&mut sums[register(half, odd)], made);
            }
        }
    }
    done
}
