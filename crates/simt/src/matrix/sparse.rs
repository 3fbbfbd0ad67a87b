//! Left factors of which half the elements are stored, and metadata that says which.
//!
//! A row is made of chunks. Of each chunk a code of four bits gives two indices of two bits, the
//! first one in the lower bits; an index names one of four positions. A position is one element of
//! 8 or 16 bits, a pair of elements of 4 bits, and half an element of `tf32`: there the two
//! positions of a code are the halves of one element, so that 0b0100 and 0b1110 are all codes.
//!
//! Codes are in one register of some of the four lanes of a group; the selector says of which.
//! Group `g` holds the codes of rows `g` and `g + 8`. Elements of 16 and 32 bits: a word has four
//! chunks of row `g`, then the same chunks of row `g + 8`; the words of further chunks are in the
//! lanes that follow. Elements of 4 and 8 bits: a word has eight chunks of row `g`, the next
//! lane's word has those of row `g + 8`, and the two lanes behind have the next eight chunks.
//!
//! Source: PTX ISA 9.1, "Sparse matrix storage" and "Matrix fragments for multiply-accumulate
//! operation with sparse matrix A". The figures of that section agree with the order in which
//! CUTLASS stores metadata (`reorder_meta`) and with the code that `ptxas` 13.5 makes for devices
//! without the instruction: of `mma.sp` for compute capability 10.0, which sorts the indices of
//! each lane's own elements, and of 4-bit elements for 9.0.

use super::{Element, LANES};
use thiserror::Error;

/// In which order the two indices of a code may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexOrder {
    /// In any.
    Any,
    /// The first one is less than the second one.
    Increasing,
}

/// A code that the PTX ISA leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{code:#06b}, in bits {low} to {}, {why}", low + 3)]
pub struct Misuse {
    /// The code.
    pub code: u8,
    /// Its lowest bit in the word.
    pub low: u32,
    /// What is wrong with it.
    pub why: Wrong,
}

/// What is wrong with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Wrong {
    /// Both indices are the same.
    #[error("names one position twice")]
    Equal,
    /// The indices must increase.
    #[error("names its positions in decreasing order")]
    Decreasing,
    /// The positions are not those of one element.
    #[error("names no element of 32 bits: 0b0100 and 0b1110 do")]
    Halves,
}

/// Where the metadata of a left factor is, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// What the elements of the factor are.
    pub element: Element,
    /// Columns of the whole factor, of which half are stored.
    pub columns: usize,
    /// In which order indices may be.
    pub order: IndexOrder,
}

impl Metadata {
    /// Columns of a chunk.
    #[must_use]
    pub const fn chunk(&self) -> usize {
        match self.element.bits() {
            32 => 2,
            4 => 8,
            _ => 4,
        }
    }

    /// Whether a word has codes of one row.
    const fn by_rows(&self) -> bool {
        self.element.bits() <= 8
    }

    /// How many lanes of each four have metadata: 1, 2 or 4.
    #[must_use]
    pub const fn lanes(&self) -> usize {
        // 16 rows of such chunks of four bits, in eight groups, in words of 32 bits.
        self.columns / self.chunk() / 4
    }

    /// How many selectors there are, from 0.
    #[must_use]
    pub const fn selectors(&self) -> usize {
        4 / self.lanes()
    }

    /// Whether a lane's word is read.
    #[must_use]
    pub const fn is_read(&self, lane: usize, selector: u64) -> bool {
        (lane % 4 / self.lanes()) as u64 == selector
    }

    /// What is wrong with a word that is read.
    #[must_use]
    pub fn misuse(&self, word: u32) -> Option<Misuse> {
        (0..32).step_by(4).find_map(|low| {
            let code = (word >> low & 15) as u8;
            self.wrong(code).map(|why| Misuse { code, low, why })
        })
    }

    fn wrong(&self, code: u8) -> Option<Wrong> {
        let (first, second) = (code & 3, code >> 2);
        match self.element.bits() {
            32 => (code != 0b0100 && code != 0b1110).then_some(Wrong::Halves),
            _ if first == second => Some(Wrong::Equal),
            _ if first > second && self.order == IndexOrder::Increasing => Some(Wrong::Decreasing),
            _ => None,
        }
    }

    /// The columns that the stored elements of a row have in the whole factor, in their order.
    #[must_use]
    pub fn row(&self, words: &[u64; LANES], selector: u64, row: usize) -> Vec<usize> {
        let chunk = self.chunk();
        let codes = (0..self.columns / chunk).map(|at| self.code(words, selector, row, at));
        codes.enumerate().flat_map(|(at, code)| self.chosen(code, chunk * at)).collect()
    }

    /// The code of a chunk of a row.
    #[must_use]
    #[inline]
    pub fn code(&self, words: &[u64; LANES], selector: u64, row: usize, chunk: usize) -> u64 {
        let first = 4 * (row % 8) + self.lanes() * selector as usize;
        let (lane, low) = match self.by_rows() {
            true => (2 * (chunk / 8) + row / 8, 4 * (chunk % 8)),
            false => (chunk / 4, 4 * (chunk % 4) + 16 * (row / 8)),
        };
        words[(first + lane) % LANES] >> low & 15
    }

    /// The columns that a code names in the chunk from a column on, in the order in which their
    /// elements are stored.
    pub fn chosen(&self, code: u64, column: usize) -> impl Iterator<Item = usize> {
        let [first, second] = [code & 3, code >> 2].map(|index| index as usize);
        let (count, columns) = match self.element.bits() {
            32 => (1, [first / 2, 0, 0, 0]),
            4 => (4, [2 * first, 2 * first + 1, 2 * second, 2 * second + 1]),
            _ => (2, [first, second, 0, 0]),
        };
        columns.into_iter().take(count).map(move |at| column + at)
    }
}
