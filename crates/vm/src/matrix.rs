//! Matrices in the registers of a warp: products, and loads and stores of fragments.
//!
//! [`Matrix`] describes an instruction without a state: which pieces of memory each lane accesses,
//! which registers they become, and what is multiplied. [`simt::matrix`] defines the positions of
//! elements; [`products`] multiplies.

use products::{Level, Multiply};
use simt::matrix::{Fragment, LANES, MatrixSums, Misuse, Tiles, tile_place};
use smallvec::SmallVec;

/// An operation on matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Multiplies.
    Multiply(Multiply),
    /// Transposes an 8 by 8 matrix of 16-bit elements.
    Transpose,
    /// Loads or stores small matrices whose rows lie at addresses of their own.
    Tiles(Tiles),
    /// Loads a fragment, stored by columns or not.
    LoadFragment(Fragment, bool),
    /// Stores a fragment, by columns or not.
    StoreFragment(Fragment, bool),
}

/// A piece of memory that a lane reads or writes at once; it is aligned to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its address.
    pub at: u64,
    /// Its bytes: 1, 2, 4, 8 or 16.
    pub bytes: u32,
}

/// The pieces of a lane.
pub type Pieces = SmallVec<[Piece; 8]>;

/// The contents of a lane's pieces.
pub type Values = SmallVec<[u128; 8]>;

/// Registers with a value for every lane.
pub type Registers = Vec<[u64; LANES]>;

impl Matrix {
    /// Returns whether it writes memory.
    #[must_use]
    pub fn stores(self) -> bool {
        match self {
            Self::Tiles(tiles) => tiles.stored,
            _ => matches!(self, Self::StoreFragment(..)),
        }
    }

    /// Returns whether it accesses memory: it then has an address, and for fragments a stride, as
    /// its first operands.
    #[must_use]
    pub fn is_memory(self) -> bool {
        !matches!(self, Self::Multiply(_) | Self::Transpose)
    }

    /// Operands before those that are registers of matrices.
    #[must_use]
    pub fn address_operands(self) -> usize {
        match self {
            Self::Multiply(_) | Self::Transpose => 0,
            Self::Tiles(_) => 1,
            Self::LoadFragment(..) | Self::StoreFragment(..) => 2,
        }
    }

    /// Returns the pieces that a lane accesses, from its address and the number of elements between
    /// rows, or columns.
    #[must_use]
    pub fn pieces(self, lane: usize, address: u64, stride: u64) -> Pieces {
        match self {
            Self::Tiles(tiles) if lane < tiles.lines() => {
                SmallVec::from_elem(Piece { at: address, bytes: 16 }, 1)
            }
            Self::LoadFragment(fragment, columns) | Self::StoreFragment(fragment, columns) => {
                let mut out = Pieces::new();
                for register in 0..fragment.distinct() {
                    let whole = is_whole(&fragment, columns, lane, register);
                    let parts = if whole { 1 } else { fragment.parts() };
                    for part in 0..parts {
                        let (_, row, column) = fragment.place(lane, register, part);
                        let (outer, inner) = if columns { (column, row) } else { (row, column) };
                        let index = (outer as u64).wrapping_mul(stride).wrapping_add(inner as u64);
                        let bits = index.wrapping_mul(fragment.element.bits() as u64);
                        let unit = fragment.element.register_bits() / parts;
                        // An element that begins within a byte is misaligned; an odd address stands
                        // for that.
                        let odd = u64::from(!bits.is_multiple_of(8));
                        let at = address.wrapping_add((bits / 8) | odd);
                        out.push(Piece { at, bytes: unit as u32 / 8 });
                    }
                }
                out
            }
            _ => Pieces::new(),
        }
    }

    /// Returns the registers for loaded pieces.
    #[must_use]
    pub fn loaded(self, values: &[Values; LANES]) -> Registers {
        match self {
            Self::Tiles(tiles) if !tiles.stored => {
                tiles.loaded(|row| values[row].first().copied().unwrap_or(0))
            }
            Self::LoadFragment(fragment, columns) => {
                let mut out = vec![[0; LANES]; fragment.registers()];
                for (lane, values) in values.iter().enumerate() {
                    let mut next = values.iter();
                    for (register, lanes) in out.iter_mut().enumerate().take(fragment.distinct()) {
                        let whole = is_whole(&fragment, columns, lane, register);
                        let parts = if whole { 1 } else { fragment.parts() };
                        for part in 0..parts {
                            let value = next.next().copied().unwrap_or(0) as u64;
                            lanes[lane] |= value << (part * fragment.element.bits());
                        }
                    }
                }
                let (distinct, repeated) = out.split_at_mut(fragment.distinct());
                for (i, register) in repeated.iter_mut().enumerate() {
                    *register = distinct[i % distinct.len()];
                }
                out
            }
            _ => Registers::new(),
        }
    }

    /// Returns the values that registers store to the pieces of each lane.
    #[must_use]
    pub fn stored(self, registers: &[[u64; LANES]]) -> Vec<Values> {
        let mut out = vec![Values::new(); LANES];
        match self {
            Self::Tiles(tiles) if tiles.stored => {
                for (values, line) in out.iter_mut().zip(tiles.stored(registers)) {
                    values.push(line);
                }
            }
            Self::StoreFragment(fragment, columns) => {
                let bits = fragment.element.bits();
                for (lane, values) in out.iter_mut().enumerate() {
                    for (register, lanes) in registers.iter().enumerate() {
                        if is_whole(&fragment, columns, lane, register) {
                            values.push(lanes[lane].into());
                            continue;
                        }
                        for part in 0..fragment.parts() {
                            let element = lanes[lane] >> (part * bits) & (u64::MAX >> (64 - bits));
                            values.push(element.into());
                        }
                    }
                }
            }
            _ => {}
        }
        out
    }

    /// A lane's metadata of a sparse left factor, and what is wrong with it; operands are given by
    /// their index.
    #[must_use]
    pub fn misuse(self, lane: usize, operand: impl Fn(usize) -> u64) -> Option<(u32, Misuse)> {
        let Self::Multiply(product) = self else { return None };
        let product = product.product();
        let metadata = product.metadata()?;
        let at = product.registers();
        if !metadata.is_read(lane, operand(at + 1)) {
            return None;
        }
        let word = operand(at) as u32;
        metadata.misuse(word).map(|misuse| (word, misuse))
    }

    /// Returns the results of an operation without memory accesses; products of floats are added by
    /// a rule.
    #[must_use]
    pub fn computed(self, rule: MatrixSums, operands: &[[u64; LANES]]) -> Registers {
        match self {
            Self::Multiply(multiply) => multiply.multiply(Level::best(), rule, operands),
            Self::Transpose => {
                let mut out = [0; LANES];
                for (lane, value) in out.iter_mut().enumerate() {
                    for part in 0..2 {
                        // The element at the mirrored place.
                        let (row, column) = tile_place(lane, part, true);
                        let from = operands[0][4 * row + column / 2] >> (16 * (column % 2));
                        *value |= (from & 0xffff) << (16 * part);
                    }
                }
                vec![out]
            }
            _ => Registers::new(),
        }
    }
}

/// Returns whether the parts of a lane's register are contiguous in memory.
fn is_whole(fragment: &Fragment, columns: bool, lane: usize, register: usize) -> bool {
    let along = |part| {
        let (_, row, column) = fragment.place(lane, register, part);
        if columns { (column, row) } else { (row, column) }
    };
    let (outer, inner) = along(0);
    (1..fragment.parts()).all(|part| along(part) == (outer, inner + part))
}
