//! Products of integers and of bits, sixteen rows at a time.
//!
//! Sums are exact: those of the products of a row and a column are at most 2^22, so that single
//! precision holds them, whose products are faster than those of words. They are added to the
//! addend at the end, which wraps or saturates.

use super::permute::Permute;
use super::sparse::{Place, Selection};
use super::terms::{COLUMNS, ROWS, one_by_one};
use super::tiles::Tiles;
use simt::matrix::Element;

/// How elements are multiplied, and products added.
pub(super) trait Arithmetic {
    /// An element, or a word of bits.
    type Number: Copy + Default;

    /// A part of a word.
    fn number(element: Element, word: u32, part: usize) -> Self::Number;

    /// Adds the product of two numbers.
    fn add(sum: Self::Number, x: Self::Number, y: Self::Number) -> Self::Number;

    /// A sum as an integer.
    fn integer(sum: Self::Number) -> i32;
}

/// Integers, of which a word holds `P`.
pub(super) struct Integers<const P: usize>;

/// Words of bits: the ones of their exclusive or.
pub(super) struct Xor;

/// Words of bits: the ones of their conjunction.
pub(super) struct And;

impl<const P: usize> Arithmetic for Integers<P> {
    type Number = f32;

    #[inline(always)]
    fn number(element: Element, word: u32, part: usize) -> f32 {
        let bits = 32 / P;
        let high = word << (32 - bits - bits * part);
        let signed = matches!(element, Element::S8 | Element::S4);
        let high = if signed { high as i32 >> (32 - bits) } else { (high >> (32 - bits)) as i32 };
        high as f32
    }

    #[inline(always)]
    fn add(sum: f32, x: f32, y: f32) -> f32 {
        sum + x * y
    }

    #[inline(always)]
    fn integer(sum: f32) -> i32 {
        // There are at most 64 products of 16 bits: in this sum, the lowest bit of the encoding is
        // that of the integer.
        const SHIFT: f32 = 12_582_912.0;
        ((sum + SHIFT).to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32)
    }
}

macro_rules! bits {
    ($name:ident |$x:ident, $y:ident| $e:expr) => {
        impl Arithmetic for $name {
            type Number = u32;

            #[inline(always)]
            fn number(_: Element, word: u32, _: usize) -> u32 {
                word
            }

            #[inline(always)]
            fn add(sum: u32, $x: u32, $y: u32) -> u32 {
                sum + $e.count_ones()
            }

            #[inline(always)]
            fn integer(sum: u32) -> i32 {
                sum as i32
            }
        }
    };
}

bits!(Xor | x, y | (x ^ y));
bits!(And | x, y | (x & y));

/// Multiplies the registers of `left` and `right` and adds `addends`, saturating or not. Words of
/// factors have `P` elements, or are one word of bits. Of products of eight rows, sixteen are
/// computed.
#[inline(always)]
pub(super) fn multiply<A: Arithmetic, const P: usize, const SPARSE: bool>(
    permute: impl Permute,
    tiles: &Tiles,
    elements: [Element; 4],
    saturate: bool,
    selection: Option<&Selection>,
    [left, right, addends]: [&[&[u32; 32]]; 3],
    results: &mut [[u32; 32]],
) {
    let [_, a, b, _] = elements;
    let (a, b) = if tiles.transposed { (b, a) } else { (a, b) };
    for (band, rows) in tiles.bands() {
        for column in 0..tiles.right.lines {
            let mut sums = [[A::Number::default(); ROWS]; COLUMNS];
            for depth in 0..tiles.left.depth {
                let tile = |row| left[tiles.left.register(row, depth)];
                let words = permute.words([tile(band), tile(band + rows - 1)]);
                for part in 0..P {
                    let mut factors = [[A::Number::default(); ROWS]; 4];
                    for (factors, words) in factors.iter_mut().zip(&words) {
                        one_by_one();
                        for row in 0..ROWS {
                            factors[row] = A::number(a, words[row], part);
                        }
                    }
                    let tile = |depth| right[tiles.right.register(column, depth)];
                    if let Some(selection) = selection.filter(|_| SPARSE) {
                        add::<A>(&factors, &mut sums, |word, column, row| {
                            let stored = Place { tile: depth, word, part };
                            let from = selection.place::<P>(row, stored);
                            A::number(b, tile(from.tile)[4 * column + from.word], from.part)
                        });
                        continue;
                    }
                    let mut others = [A::Number::default(); 32];
                    for (other, &word) in others.iter_mut().zip(tile(depth)) {
                        *other = A::number(b, word, part);
                    }
                    add::<A>(&factors, &mut sums, |word, column, _| others[4 * column + word]);
                }
            }
            for odd in 0..2 {
                let word = |word: usize| sums[2 * word + odd].map(|sum| A::integer(sum) as u32);
                let sums = permute.registers(&std::array::from_fn(word));
                for (row, sums) in sums.iter().enumerate().take(rows) {
                    let from = addends[tiles.addends.register(band + row, column, odd)];
                    let to = &mut results[tiles.results.register(band + row, column, odd)];
                    for lane in 0..32 {
                        let (addend, sum) = (from[lane] as i32, sums[lane] as i32);
                        to[lane] = match saturate {
                            true => addend.saturating_add(sum) as u32,
                            false => addend.wrapping_add(sum) as u32,
                        };
                    }
                }
            }
        }
    }
}

/// Adds the products of four columns of the left factor and what each row meets in a word of a
/// column.
#[inline(always)]
fn add<A: Arithmetic>(
    left: &[[A::Number; ROWS]; 4],
    sums: &mut [[A::Number; ROWS]; COLUMNS],
    right: impl Fn(usize, usize, usize) -> A::Number,
) {
    for (column, sums) in sums.iter_mut().enumerate() {
        one_by_one();
        for row in 0..ROWS {
            let mut sum = sums[row];
            for (word, left) in left.iter().enumerate() {
                sum = A::add(sum, left[row], right(word, column, row));
            }
            sums[row] = sum;
        }
    }
}
