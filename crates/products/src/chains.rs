//! Products of floats by chains of fused multiply-adds of single precision, sixteen rows at a time.

use crate::floats::encoding;
use crate::permute::{Permute, Portable};
use crate::sparse::{Place, Selection};
use crate::sums::rounded_to_half;
use crate::terms::{COLUMNS, Format, Half, Left, ROWS, Right, Single};
use crate::tiles::Tiles;
use simt::matrix::Element;

/// A number for each row and column.
type Cell = [[f32; ROWS]; COLUMNS];

/// Multiplies the registers of `left` and `right`, words of which hold `P` elements each, and adds
/// `addends`. Returns `None`, with `results` undefined, if a number is infinite or NaN, or a sum
/// becomes so.
#[inline(always)]
pub(crate) fn multiply<const P: usize>(
    tiles: &Tiles,
    elements: [Element; 4],
    selection: Option<&Selection>,
    [left, right, addends]: [&[&[u32; 32]]; 3],
    results: &mut [[u32; 32]],
) -> Option<()> {
    let [result, a, b, addend] = elements;
    let (a, b) = if tiles.transposed { (b, a) } else { (a, b) };
    for band in 0..tiles.left.lines / 2 {
        for column in 0..tiles.right.lines {
            let mut sums = read(tiles, addend == Element::F16, addends, (band, column));
            let of = |at| Right::<P>::new(b, right[tiles.right.register(column, at)]);
            for depth in 0..tiles.left.depth {
                let tile = |half| left[tiles.left.register(2 * band + half, depth)];
                let left = Left::<P>::new(a, &Portable.words([tile(0), tile(1)]))?;
                match selection {
                    None => dense(&left, &of(depth)?, &mut sums),
                    Some(selection) => {
                        let all = [of(0)?, of(1)?, of(2)?, of(3)?];
                        sparse(&left, &all, (selection, depth), &mut sums);
                    }
                }
            }
            write(tiles, result == Element::F16, &sums, (band, column), results)?;
        }
    }
    Some(())
}

#[inline(always)]
fn dense<const P: usize>(left: &Left<P>, right: &Right<P>, sums: &mut Cell) {
    use crate::sums::Factor;
    for (column, sums) in sums.iter_mut().enumerate() {
        for word in 0..4 {
            for part in 0..P {
                let (y, _) = right.term(part, word, column, 0);
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = left.term(part, word, row).0.mul_add(y, *sum);
                }
            }
        }
    }
}

/// Adds the products of stored elements, which a row has in the order of the depth but for those
/// of a code: its two may be the other way around.
#[inline(always)]
fn sparse<const P: usize>(
    left: &Left<P>,
    right: &[Right<P>; 4],
    (selection, tile): (&Selection, usize),
    sums: &mut Cell,
) {
    use crate::sums::Factor;
    for row in 0..ROWS {
        let mut order: [(usize, usize); 16] = [(usize::MAX, 0); 16];
        let order = &mut order[..4 * P];
        for (at, order) in order.iter_mut().enumerate() {
            let place = selection.place::<P>(row, Place { tile, word: at / P, part: at % P });
            *order = ((place.tile * 4 + place.word) * P + place.part, at);
        }
        order.sort_unstable();
        for &(depth, at) in &*order {
            let (x, _) = left.term(at % P, at / P, row);
            for (column, sums) in sums.iter_mut().enumerate() {
                let right = &right[depth / (4 * P)];
                let (y, _) = right.term(depth % P, depth / P % 4, column, 0);
                sums[row] = x.mul_add(y, sums[row]);
            }
        }
    }
}

/// Reads addends, whatever they are.
#[inline(always)]
fn read(
    tiles: &Tiles,
    half: bool,
    registers: &[&[u32; 32]],
    (band, column): (usize, usize),
) -> Cell {
    let mut to = [[0.0; ROWS]; COLUMNS];
    for odd in 0..2 {
        let tile = |half| registers[tiles.addends.register(2 * band + half, column, odd)];
        for (word, words) in Portable.words([tile(0), tile(1)]).into_iter().enumerate() {
            to[2 * word + odd] = words.map(|bits| match half {
                true => {
                    let bits = bits >> (16 * odd);
                    let special = Half::exponent(Half::magnitude(bits)).is_none();
                    if special { f32::NAN } else { Half::decode(bits).0 }
                }
                false => Single::decode(bits).0,
            });
        }
    }
    to
}

/// Writes results; returns `None` if one is not finite.
#[inline(always)]
fn write(
    tiles: &Tiles,
    half: bool,
    sums: &Cell,
    (band, column): (usize, usize),
    results: &mut [[u32; 32]],
) -> Option<()> {
    let of = |value: f32| match half {
        true => encoding(rounded_to_half(value)),
        false => value.to_bits(),
    };
    let most = if half { crate::sums::GREATEST_HALF } else { f32::MAX };
    if !sums.iter().flatten().all(|sum| sum.abs() <= most) {
        return None;
    }
    let unsigned = |bits: u32| if bits << if half { 17 } else { 1 } == 0 { 0 } else { bits };
    for odd in 0..if half { 1 } else { 2 } {
        let words = std::array::from_fn(|word| {
            std::array::from_fn(|row| {
                let of = |odd: usize| unsigned(of(sums[2 * word + odd][row]));
                if half { of(0) | of(1) << 16 } else { of(odd) }
            })
        });
        for (half, made) in Portable.registers(&words).into_iter().enumerate() {
            results[tiles.results.register(2 * band + half, column, odd)] = made;
        }
    }
    Some(())
}
