//! Fragments in memory, line by line, and tiles of eight rows of 16 bytes.
//!
//! A line is a row, or a column of a fragment that is stored by columns. All lanes of a warp
//! together access every element of each line, so that a line is one access.

use products::transposed_halves;
use simt::matrix::{Fragment, LANES};

/// Most bytes of a fragment.
pub(crate) const MOST_BYTES: usize = 1024;

/// Where the elements of a fragment are in the lines that hold it.
#[derive(Clone, Debug)]
pub struct Lines {
    fragment: Fragment,
    /// Lines.
    pub(crate) count: usize,
    /// Bytes of a line.
    pub(crate) bytes: usize,
    /// Bytes of what a lane accesses at once: a register, or an element of it.
    pub(crate) unit: usize,
    /// Where each unit is in the lines one after another, by register, unit and lane.
    places: Vec<[u16; LANES]>,
}

impl Lines {
    /// The lines of a fragment that is stored by columns or not; `None` if its registers are not
    /// all alike, or it is larger than any.
    #[must_use]
    pub fn new(fragment: Fragment, columns: bool) -> Option<Self> {
        let along = |register, lane, part| {
            let (_, row, column) = fragment.place(lane, register, part);
            if columns { (column, row) } else { (row, column) }
        };
        let (rows, width) = (fragment.rows(), fragment.columns());
        let (count, width) = if columns { (width, rows) } else { (rows, width) };
        let (bits, parts) = (fragment.element.bits(), fragment.parts());
        let is_whole = |register, lane| {
            let (line, at) = along(register, lane, 0);
            (1..parts).all(|part| along(register, lane, part) == (line, at + part))
        };
        let whole = is_whole(0, 0);
        let registers = 0..fragment.distinct();
        let mut all = registers.clone().flat_map(|r| (0..LANES).map(move |lane| (r, lane)));
        if !all.all(|(register, lane)| is_whole(register, lane) == whole) {
            return None;
        }
        let (units, unit) = if whole { (1, bits * parts) } else { (parts, bits) };
        let bytes = width * bits / 8;
        if unit % 8 != 0 || fragment.matrices() != 1 || count * bytes > MOST_BYTES {
            return None;
        }
        let place = |register, part| {
            std::array::from_fn(|lane| {
                let (line, at) = along(register, lane, part);
                (line * bytes + at * bits / 8) as u16
            })
        };
        let places = registers.flat_map(|r| (0..units).map(move |part| place(r, part))).collect();
        Some(Self { fragment, count, bytes, unit: unit / 8, places })
    }

    /// Bytes from a line to the next one, if lines have so many elements in between; `None` if that
    /// is no whole number of bytes, or a large one.
    pub(crate) fn distance(&self, elements: u64) -> Option<u64> {
        let bits = elements * self.fragment.element.bits() as u64;
        (elements < 1 << 32 && bits.is_multiple_of(8)).then_some(bits / 8)
    }

    /// Registers that hold a copy of others.
    pub(crate) fn distinct(&self) -> usize {
        self.fragment.distinct()
    }

    /// The value of a register in each lane, from lines one after another.
    #[inline]
    pub(crate) fn load(&self, lines: &[u8; MOST_BYTES], register: usize) -> [u64; LANES] {
        let units = self.places.len() / self.distinct();
        let mut out = [0; LANES];
        for (part, places) in self.places[register * units..][..units].iter().enumerate() {
            let shift = 8 * self.unit * part;
            match self.unit {
                8 => read::<8>(lines, places, shift, &mut out),
                4 => read::<4>(lines, places, shift, &mut out),
                2 => read::<2>(lines, places, shift, &mut out),
                _ => read::<1>(lines, places, shift, &mut out),
            }
        }
        out
    }

    /// Puts the value of a register in each lane into lines one after another.
    #[inline]
    pub(crate) fn store(
        &self,
        lines: &mut [u8; MOST_BYTES],
        register: usize,
        values: &[u64; LANES],
    ) {
        let units = self.places.len() / self.distinct();
        for (part, places) in self.places[register * units..][..units].iter().enumerate() {
            let shift = 8 * self.unit * part;
            for (&at, value) in places.iter().zip(values) {
                let value = (value >> shift).to_le_bytes();
                lines[at.into()..][..self.unit].copy_from_slice(&value[..self.unit]);
            }
        }
    }
}

/// Adds the units of `N` bytes at the places of each lane to its value.
#[inline(always)]
fn read<const N: usize>(
    lines: &[u8; MOST_BYTES],
    places: &[u16; LANES],
    shift: usize,
    out: &mut [u64; LANES],
) {
    for (&at, value) in places.iter().zip(out) {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&lines[at.into()..][..N]);
        *value |= u64::from_le_bytes(bytes) << shift;
    }
}

/// The register of an 8 by 8 matrix of 16-bit elements with these rows, perhaps transposed: lane
/// `4 * row + word`, as `simt::matrix::tile_place` has it.
#[inline]
pub(crate) fn register_of_rows(rows: &[[u8; 16]; 8], transposed: bool) -> [u32; LANES] {
    let halves = rows.map(|row| {
        std::array::from_fn(|column| u16::from_le_bytes([row[2 * column], row[2 * column + 1]]))
    });
    let halves = if transposed { transposed_halves(&halves) } else { halves };
    let pairs = halves.as_flattened().as_chunks::<2>().0;
    std::array::from_fn(|lane| u32::from(pairs[lane][1]) << 16 | u32::from(pairs[lane][0]))
}

/// The rows of an 8 by 8 matrix of 16-bit elements in a register, perhaps transposed.
#[inline]
pub(crate) fn rows_of_register(register: &[u32; LANES], transposed: bool) -> [[u8; 16]; 8] {
    let half = |row: usize, column: usize| register[4 * row + column / 2] >> (16 * (column % 2));
    let halves: [[u16; 8]; 8] =
        std::array::from_fn(|row| std::array::from_fn(|column| half(row, column) as u16));
    let halves = if transposed { transposed_halves(&halves) } else { halves };
    halves.map(|row| std::array::from_fn(|at| row[at / 2].to_le_bytes()[at % 2]))
}

#[cfg(test)]
mod tests {
    use super::{register_of_rows, rows_of_register};
    use simt::matrix::tile_place;

    #[test]
    fn tiles_have_their_elements_where_the_isa_has_them() {
        let rows = std::array::from_fn(|row| std::array::from_fn(|at| (16 * row + at) as u8));
        for transposed in [false, true] {
            let register = register_of_rows(&rows, transposed);
            for (lane, found) in register.into_iter().enumerate() {
                let [low, high] = [0, 1].map(|part| {
                    let (row, column) = tile_place(lane, part, transposed);
                    u16::from_le_bytes([rows[row][2 * column], rows[row][2 * column + 1]])
                });
                let element = u32::from(high) << 16 | u32::from(low);
                assert_eq!(found, element, "lane {lane}, transposed: {transposed}");
            }
            assert_eq!(rows_of_register(&register, transposed), rows, "transposed: {transposed}");
        }
    }
}
