//! Products of doubles: chains of fused multiply-adds in increasing depth, rounded to nearest even.

use super::terms::COLUMNS;
use super::tiles::Tiles;

/// The canonical NaN.
const NAN: u64 = 0x7fff_ffff_ffff_ffff;

/// Multiplies the registers of `left` and `right` and adds `addends`, `TILES` tiles of eight rows
/// at once.
#[inline(always)]
pub(super) fn multiply<const TILES: usize>(
    tiles: &Tiles,
    [left, right, addends]: [&[&[u64; 32]]; 3],
    results: &mut [[u64; 32]],
) {
    for band in 0..tiles.left.lines / TILES {
        for column in 0..tiles.right.lines {
            let mut sums = [[[0.0f64; 8]; TILES]; COLUMNS];
            for (tile, odd) in places::<TILES>() {
                let at = tiles.addends.register(TILES * band + tile, column, odd);
                for word in 0..4 {
                    for row in 0..8 {
                        let bits = addends[at][4 * row + word];
                        sums[2 * word + odd][tile][row] = f64::from_bits(bits);
                    }
                }
            }
            for depth in 0..tiles.left.depth {
                let mut factor = [[[0.0f64; 8]; TILES]; 4];
                for tile in 0..TILES {
                    let register = left[tiles.left.register(TILES * band + tile, depth)];
                    for word in 0..4 {
                        for row in 0..8 {
                            factor[word][tile][row] = f64::from_bits(register[4 * row + word]);
                        }
                    }
                }
                let register = right[tiles.right.register(column, depth)];
                for (column, sums) in sums.iter_mut().enumerate() {
                    for (word, factor) in factor.iter().enumerate() {
                        let y = f64::from_bits(register[4 * column + word]);
                        for tile in 0..TILES {
                            for row in 0..8 {
                                sums[tile][row] = factor[tile][row].mul_add(y, sums[tile][row]);
                            }
                        }
                    }
                }
            }
            for (tile, odd) in places::<TILES>() {
                let at = tiles.results.register(TILES * band + tile, column, odd);
                for row in 0..8 {
                    for word in 0..4 {
                        let sum = sums[2 * word + odd][tile][row];
                        let bits = if sum.is_nan() { NAN } else { sum.to_bits() };
                        results[at][4 * row + word] = bits;
                    }
                }
            }
        }
    }
}

/// The tiles of a band, and in each the even columns and the odd ones.
#[inline(always)]
fn places<const TILES: usize>() -> impl Iterator<Item = (usize, usize)> {
    (0..2 * TILES).map(|i| (i / 2, i % 2))
}
