//! Tiles of matrices in shared memory, as `ldmatrix` and `stmatrix` move them.
//!
//! Source: PTX ISA 9.1, "ldmatrix" and "stmatrix". A row of 16 bytes lies at the address that one
//! lane holds. Four lanes hold what a row becomes, or the column of a transposed matrix: two
//! elements of 16 bits or four of 8 in each register. Elements of 6 or 4 bits lie side by side at
//! the beginning of their 16 bytes, and become bytes whose upper bits are zero.

use super::{LANES, tile_place};

/// The width of the elements of a tile in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileElement {
    /// 16 bits.
    Bits16,
    /// 8 bits.
    Bits8,
    /// 6 bits.
    Bits6,
    /// 4 bits.
    Bits4,
}

/// The tiles that an instruction moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiles {
    /// How many matrices there are.
    pub matrices: usize,
    /// Their elements.
    pub element: TileElement,
    /// Whether they are transposed on their way.
    pub transposed: bool,
    /// Whether they are stored, not loaded: a transposed matrix of bytes is 16 by 8 then, and 16 by
    /// 16 else.
    pub stored: bool,
}

impl Tiles {
    /// Rows of a matrix in memory, each at the address of a lane.
    #[must_use]
    pub const fn rows(self) -> usize {
        let bytes = !matches!(self.element, TileElement::Bits16);
        if bytes && self.transposed && !self.stored { 16 } else { 8 }
    }

    /// Rows of all matrices: the lanes whose addresses are used.
    #[must_use]
    pub const fn lines(self) -> usize {
        self.matrices * self.rows()
    }

    /// Registers of a lane.
    #[must_use]
    pub const fn registers(self) -> usize {
        self.lines() / 8
    }

    /// Bits of an element in memory.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self.element {
            TileElement::Bits16 => 16,
            TileElement::Bits8 => 8,
            TileElement::Bits6 => 6,
            TileElement::Bits4 => 4,
        }
    }

    /// Elements in a register.
    #[must_use]
    pub const fn parts(self) -> usize {
        match self.element {
            TileElement::Bits16 => 2,
            _ => 4,
        }
    }

    /// The row, counted over all matrices, and the column in memory of a part of a lane's register.
    #[must_use]
    pub const fn place(self, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        let (row, column) = match (self.element, self.transposed, self.stored) {
            (TileElement::Bits16, transposed, _) => tile_place(lane, part, transposed),
            (_, false, _) => (group, 4 * thread + part),
            // The second register of a matrix has the columns of its other half.
            (_, true, false) => (4 * thread + part, group + 8 * (register % 2)),
            (_, true, true) => (2 * thread + part % 2, group + 8 * (part / 2)),
        };
        let registers = self.rows() / 8;
        (register / registers * self.rows() + row, column)
    }

    /// The registers of the warp that rows in memory become.
    #[must_use]
    pub fn loaded(self, line: impl Fn(usize) -> u128) -> Vec<[u64; LANES]> {
        let (bits, container) = (self.bits(), 32 / self.parts());
        let mut out = vec![[0; LANES]; self.registers()];
        for (register, lanes) in out.iter_mut().enumerate() {
            for (lane, value) in lanes.iter_mut().enumerate() {
                for part in 0..self.parts() {
                    let (row, column) = self.place(lane, register, part);
                    let element = (line(row) >> (bits * column)) as u64 & ((1 << bits) - 1);
                    *value |= element << (container * part);
                }
            }
        }
        out
    }

    /// The rows in memory that registers of the warp become.
    #[must_use]
    pub fn stored(self, registers: &[[u64; LANES]]) -> Vec<u128> {
        let bits = self.bits();
        let mut out = vec![0; self.lines()];
        for (register, lanes) in registers.iter().enumerate().take(self.registers()) {
            for (lane, value) in lanes.iter().enumerate() {
                for part in 0..self.parts() {
                    let (row, column) = self.place(lane, register, part);
                    let element = u128::from(value >> (bits * part) & ((1 << bits) - 1));
                    out[row] |= element << (bits * column);
                }
            }
        }
        out
    }
}
