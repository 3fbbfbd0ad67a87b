//! Sparse left factors: as dense ones, or by the elements of the right factor that each row meets.

use super::permute::Words;
use super::sums::Factor;
use super::terms::{COLUMNS, ROWS, Right, Term, ZERO};
use simt::matrix::{LANES, Metadata};

/// Words of a row of a whole factor: 64 bytes.
const WORDS: usize = 16;

/// A sparse left factor of sixteen rows as a dense one.
pub(super) struct Expansion {
    /// By word along the depth, and row. Elements that the factor does not have are zero.
    pub(super) words: [[u32; ROWS]; WORDS],
    /// Ones where the factor has no element.
    pub(super) absent: [[u32; ROWS]; WORDS],
}

impl Expansion {
    /// Spreads the stored words of tiles along the depth by the words of metadata and the selector.
    pub(super) fn new(
        metadata: &Metadata,
        [words, selectors]: [&[u32; LANES]; 2],
        stored: impl Fn(usize) -> Words,
    ) -> Self {
        let mut this = Self { words: [[0; ROWS]; WORDS], absent: [[!0; ROWS]; WORDS] };
        let (bits, words) = (metadata.element.bits(), words.map(u64::from));
        let (parts, mask) = (32 / bits, u32::MAX >> (32 - bits));
        let chunks = metadata.columns / metadata.chunk();
        let each = metadata.columns / 2 / chunks;
        for tile in 0..metadata.columns / 2 / (4 * parts) {
            let stored = stored(tile);
            for (word, stored) in stored.iter().enumerate() {
                let first = (4 * tile + word) * parts;
                for (row, &stored) in stored.iter().enumerate() {
                    for chunk in first / each..(first + parts).div_ceil(each) {
                        let code = metadata.code(&words, selectors[0].into(), row, chunk);
                        let columns = metadata.chosen(code, metadata.chunk() * chunk);
                        for (at, column) in (chunk * each..).zip(columns) {
                            let element = stored >> (at % parts * bits) & mask;
                            let (to, low) = (column / parts, column % parts * bits);
                            this.words[to][row] |= element << low;
                            this.absent[to][row] &= !(mask << low);
                        }
                    }
                }
            }
        }
        this
    }
}

/// Most stored elements of a row.
const DEPTH: usize = 64;

/// Which elements of the right factor the stored ones of each row are multiplied with.
pub(super) struct Selection {
    /// By row and stored element.
    depths: [[u8; DEPTH]; ROWS],
}

/// An element of a register of a factor: the tile along the depth, the word and the part.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) tile: usize,
    pub(super) word: usize,
    pub(super) part: usize,
}

impl Selection {
    /// Reads the words of metadata and the selector of each lane.
    pub(super) fn new(metadata: &Metadata, [words, selectors]: [&[u32; LANES]; 2]) -> Self {
        let mut depths = [[0; DEPTH]; ROWS];
        let words = words.map(u64::from);
        for (row, depths) in depths.iter_mut().enumerate() {
            let chosen = metadata.row(&words, selectors[0].into(), row);
            for (to, from) in depths.iter_mut().zip(chosen) {
                *to = from as u8;
            }
        }
        Self { depths }
    }

    /// The element that a row's stored element meets, where words have `P` elements.
    #[inline(always)]
    pub(super) fn place<const P: usize>(&self, row: usize, stored: Place) -> Place {
        let at = (stored.tile * 4 + stored.word) * P + stored.part;
        let depth = usize::from(self.depths[row][at % DEPTH]);
        Place { tile: depth / (4 * P), word: depth / P % 4, part: depth % P }
    }
}

/// A block of a right factor as each row meets it.
#[repr(align(64))]
pub(super) struct Chosen<const P: usize> {
    values: [[[[f32; ROWS]; 4]; P]; COLUMNS],
    exponents: [[[[i32; ROWS]; 4]; P]; COLUMNS],
    top: i32,
}

impl<const P: usize> Chosen<P> {
    /// What the stored elements of the block at a tile of the depth meet in a right factor of twice
    /// as many tiles.
    #[inline(always)]
    pub(super) fn new(selection: &Selection, tile: usize, right: &[Right<P>]) -> Self {
        let mut this = Self {
            values: [[[[0.0; ROWS]; 4]; P]; COLUMNS],
            exponents: [[[[0; ROWS]; 4]; P]; COLUMNS],
            top: right.iter().map(Factor::top).fold(ZERO, i32::max),
        };
        for part in 0..P {
            for word in 0..4 {
                for row in 0..ROWS {
                    let from = selection.place::<P>(row, Place { tile, word, part });
                    for column in 0..COLUMNS {
                        let term = right[from.tile].term(from.part, from.word, column, 0);
                        this.values[column][part][word][row] = term.0;
                        this.exponents[column][part][word][row] = term.1;
                    }
                }
            }
        }
        this
    }
}

impl<const P: usize> Factor for Chosen<P> {
    #[inline(always)]
    fn top(&self) -> i32 {
        self.top
    }

    #[inline(always)]
    fn term(&self, part: usize, word: usize, column: usize, row: usize) -> Term {
        (self.values[column][part][word][row], self.exponents[column][part][word][row])
    }
}
