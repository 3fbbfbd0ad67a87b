//! Products of floats with the sums of `simt::matrix`, sixteen rows at a time.
//!
//! Blocks of products are added by [`block`] in single precision, or by [`block_of_doubles`] where
//! that could leave the range of single precision.

use super::permute::Permute;
use super::sparse::{Chosen, Selection};
use super::sums::{Accumulators, Factor, Rule, block};
use super::sums_of_doubles::block_of_doubles;
use super::terms::{COLUMNS, Format, Half, Left, ROWS, Right, Single, one_by_one};
use super::tiles::Tiles;
use simt::matrix::Element;

/// Multiplies the registers of `left` and `right` and adds `addends`. Each word of a factor's
/// register holds `P` elements. Returns `None`, with `results` undefined, if a number is infinite
/// or NaN, or a sum becomes so.
#[inline(always)]
pub(super) fn multiply<R: Rule, const P: usize, const SPARSE: bool>(
    permute: impl Permute,
    tiles: &Tiles,
    elements: [Element; 4],
    selection: Option<&Selection>,
    [left, right, addends]: [&[&[u32; 32]]; 3],
    results: &mut [[u32; 32]],
) -> Option<()> {
    let [_, a, b, addend] = elements;
    let (a, b) = if tiles.transposed { (b, a) } else { (a, b) };
    for band in 0..tiles.left.lines / 2 {
        for column in 0..tiles.right.lines {
            let mut sums = [Accumulators::NONE; 2];
            read::<R>(permute, tiles, addend, addends, (band, column), &mut sums[0])?;
            for depth in 0..tiles.left.depth {
                let tile = |half| left[tiles.left.register(2 * band + half, depth)];
                let left = Left::<P>::new(a, &permute.words([tile(0), tile(1)]))?;
                let [even, odd] = &mut sums;
                let (before, after) = if depth % 2 == 0 { (&*even, odd) } else { (&*odd, even) };
                if let Some(selection) = selection.filter(|_| SPARSE) {
                    let of = |at| Right::<P>::new(b, right[tiles.right.register(column, at)]);
                    let all = [of(0)?, of(1)?, of(2)?, of(3)?];
                    let right = Chosen::new(selection, depth, &all);
                    add::<R, P>(&left, &right, before, after)?;
                    continue;
                }
                let right = Right::<P>::new(b, right[tiles.right.register(column, depth)])?;
                add::<R, P>(&left, &right, before, after)?;
            }
            write::<R>(permute, tiles, &sums[tiles.left.depth % 2].sums, (band, column), results);
        }
    }
    Some(())
}

/// Adds a block of products to sums. Returns `None` if a sum becomes infinite.
#[inline(always)]
fn add<R: Rule, const P: usize>(
    left: &Left<P>,
    right: &impl Factor,
    before: &Accumulators,
    after: &mut Accumulators,
) -> Option<()> {
    if block::<R, P>(left, right, before, after) {
        return Some(());
    }
    block_of_doubles::<R, P>(left, right, before, after)
}

/// Reads addends; `None` if one is not finite.
#[inline(always)]
fn read<R: Rule>(
    permute: impl Permute,
    tiles: &Tiles,
    element: Element,
    registers: &[&[u32; 32]],
    place: (usize, usize),
    to: &mut Accumulators,
) -> Option<()> {
    match element {
        Element::F16 => {
            read_as::<Half>(permute, tiles, registers, place, to)?;
            // A sum of single precision takes its addend as such.
            to.least = R::LEAST;
        }
        _ => read_as::<Single>(permute, tiles, registers, place, to)?,
    }
    Some(())
}

#[inline(always)]
fn read_as<F: Format>(
    permute: impl Permute,
    tiles: &Tiles,
    registers: &[&[u32; 32]],
    (band, column): (usize, usize),
    to: &mut Accumulators,
) -> Option<()> {
    let mut greatest = [0; ROWS];
    for odd in 0..2 {
        let tile = |half| registers[tiles.addends.register(2 * band + half, column, odd)];
        let words = permute.words([tile(0), tile(1)]);
        for (word, words) in words.iter().enumerate() {
            one_by_one();
            let sums = &mut to.sums[2 * word + odd];
            for row in 0..ROWS {
                // Of half precision a register holds an even column and the odd one behind it.
                let bits = if F::BITS == 16 { words[row] >> (16 * odd) } else { words[row] };
                sums[row] = F::decode(bits).0;
                greatest[row] = greatest[row].max(F::magnitude(bits));
            }
        }
    }
    to.top = F::exponent(greatest.into_iter().fold(0, u32::max))?;
    Some(())
}

/// Writes results.
#[inline(always)]
fn write<R: Rule>(
    permute: impl Permute,
    tiles: &Tiles,
    sums: &[[f32; ROWS]; COLUMNS],
    (band, column): (usize, usize),
    results: &mut [[u32; 32]],
) {
    let mut words = [[[0; ROWS]; 4]; 2];
    for (odd, words) in words.iter_mut().enumerate() {
        for (word, words) in words.iter_mut().enumerate() {
            one_by_one();
            for row in 0..ROWS {
                let value = sums[2 * word + odd][row];
                words[row] = if R::HALF { encoding(value) } else { value.to_bits() };
            }
        }
    }
    if R::HALF {
        // A register holds an even column and the odd one behind it.
        let [even, odd] = &mut words;
        for (even, odd) in even.as_flattened_mut().iter_mut().zip(odd.as_flattened()) {
            *even |= odd << 16;
        }
    }
    for (odd, words) in words.iter().enumerate().take(if R::HALF { 1 } else { 2 }) {
        let [upper, lower] = permute.registers(words);
        results[tiles.results.register(2 * band, column, odd)] = upper;
        results[tiles.results.register(2 * band + 1, column, odd)] = lower;
    }
}

/// The encoding of a number that half precision has.
#[inline(always)]
pub(super) fn encoding(value: f32) -> u32 {
    let bits = value.to_bits();
    // Below the least normal number, the scale makes a subnormal number of single precision.
    let small = (value.abs() * f32::from_bits((127 - 112) << 23)).to_bits() >> 13;
    small | (bits >> 16 & 0x8000)
}
