//! Formats that store blocks or padding: BSR, blocked ELL and sliced ELL.
//!
//! In each of them the place of a stored value follows from lists of indices; an index of -1 is
//! that of padding.

use culibs::{Error, Outcome};

use crate::entries::{read_lines, read_padded};
use crate::objects::{Format, Sparse};

/// The place of a stored value; `None` for padding.
pub(crate) type Slot = Option<(usize, usize)>;

impl Sparse {
    /// Returns the places of the stored values, in the order of storage.
    pub(crate) fn block_slots(&self) -> Outcome<Vec<Slot>> {
        match self.format {
            Format::Bsr { block, by_rows } => self.bsr_slots(block, by_rows),
            Format::BlockedEll { block, width } => self.blocked_ell_slots(block, width),
            Format::SlicedEll { slice, stored } => self.sliced_ell_slots(slice, stored),
            _ => Err(Error::Internal),
        }
    }

    fn bsr_slots(&self, [height, width]: [usize; 2], by_rows: bool) -> Outcome<Vec<Slot>> {
        let (lines, columns) = (self.rows / height, self.cols / width);
        let blocks = self.nnz / (height * width);
        let rows = read_lines(self.first, lines, blocks, self.first_index, self.base)?;
        let cols = read_padded(self.second, blocks, self.second_index, self.base, columns)?;
        let mut slots = Vec::with_capacity(self.nnz);
        for (row, col) in rows.into_iter().zip(cols) {
            let col = col.ok_or(Error::Execution)?;
            slots.extend((0..height * width).map(|k| {
                let (i, j) =
                    if by_rows { (k / width, k % width) } else { (k % height, k / height) };
                Some((row * height + i, col * width + j))
            }));
        }
        Ok(slots)
    }

    /// Values are stored row by row, `width` of them each, which belong to `width / block` blocks.
    fn blocked_ell_slots(&self, block: usize, width: usize) -> Outcome<Vec<Slot>> {
        let (lines, of_line, columns) = (self.rows / block, width / block, self.cols / block);
        let count = lines * of_line;
        let cols = read_padded(self.second, count, self.second_index, self.base, columns)?;
        let slot = |k: usize| {
            let (i, j) = (k / width, k % width);
            cols[i / block * of_line + j / block].map(|col| (i, col * block + j % block))
        };
        Ok((0..self.rows * width).map(slot).collect())
    }

    /// A slice of rows has as many columns as its longest row, stored column by column.
    fn sliced_ell_slots(&self, slice: usize, stored: usize) -> Outcome<Vec<Slot>> {
        let slices = self.rows.div_ceil(slice);
        let of = read_lines(self.first, slices, stored, self.first_index, self.base)?;
        let cols = read_padded(self.second, stored, self.second_index, self.base, self.cols)?;
        let (mut slots, mut start) = (Vec::with_capacity(stored), 0);
        for (k, col) in cols.into_iter().enumerate() {
            if k > 0 && of[k] != of[k - 1] {
                start = k;
            }
            let row = of[k] * slice + (k - start) % slice;
            slots.push(col.filter(|_| row < self.rows).map(|col| (row, col)));
        }
        Ok(slots)
    }
}
