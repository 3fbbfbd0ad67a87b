//! Sparse matrices as lists of entries on the host.

use culibs::device::{Rows, read, write};
use culibs::{DataType, Error, Outcome};
use linalg::{Matrix, Op, Scalar};

use crate::blocks::Slot;
use crate::objects::{Dense, Format, Index, Sparse, SparseVector, Vector};
use operands::Blas;

/// An entry: row, column, value.
pub(crate) type Entry<T> = (usize, usize, T);

/// Reads indices, and takes the base off. One that is out of range is an error of the work: on a
/// device it would be a wild access.
pub(crate) fn read_indices(
    at: u64,
    len: usize,
    index: Index,
    base: i64,
    limit: usize,
) -> Outcome<Vec<usize>> {
    let list: Vec<i64> = match index {
        Index::Narrow => read::<i32>(at, len)?.into_iter().map(i64::from).collect(),
        Index::Wide => read(at, len)?,
    };
    let inside = |i: i64| {
        let i = usize::try_from(i.wrapping_sub(base)).ok()?;
        (i < limit).then_some(i)
    };
    list.into_iter().map(|i| inside(i).ok_or(Error::Execution)).collect()
}

/// Reads indices of which some are -1, for padding.
pub(crate) fn read_padded(
    at: u64,
    len: usize,
    index: Index,
    base: i64,
    limit: usize,
) -> Outcome<Vec<Option<usize>>> {
    // One more than the limit, from one before the base on.
    let list = read_indices(at, len, index, base.min(0) - 1, limit + base as usize + 1)?;
    let place = |i: usize| match i {
        0 => Ok(None),
        _ => Ok(Some((i - 1).checked_sub(base as usize).ok_or(Error::Execution)?)),
    };
    list.into_iter().map(place).collect()
}

/// Checks that indices can be written, before room is made for them.
pub(crate) fn check_indices(at: u64, len: usize, index: Index) -> Outcome {
    match index {
        Index::Narrow => Rows::flat(at, len).check_write::<i32>(),
        Index::Wide => Rows::flat(at, len).check_write::<i64>(),
    }
}

/// Writes indices, with the base added.
pub(crate) fn write_indices(at: u64, list: &[usize], index: Index, base: i64) -> Outcome {
    match index {
        Index::Narrow => {
            write(at, &list.iter().map(|&i| (i as i64 + base) as i32).collect::<Vec<_>>())
        }
        Index::Wide => write(at, &list.iter().map(|&i| i as i64 + base).collect::<Vec<_>>()),
    }
}

/// Reads offsets of a compressed format, as the line of each entry.
pub(crate) fn read_lines(
    at: u64,
    lines: usize,
    nnz: usize,
    index: Index,
    base: i64,
) -> Outcome<Vec<usize>> {
    let list = read_lines_within(at, lines, nnz, index, base)?;
    if list.len() == nnz { Ok(list) } else { Err(Error::Execution) }
}

/// The same of a matrix that may have fewer entries than there is room for, as on a device.
fn read_lines_within(
    at: u64,
    lines: usize,
    room: usize,
    index: Index,
    base: i64,
) -> Outcome<Vec<usize>> {
    let offsets = read_indices(at, lines + 1, index, base, room + 1)?;
    if offsets[0] != 0 || offsets.windows(2).any(|w| w[0] > w[1]) {
        return Err(Error::Execution);
    }
    let line = |(line, w): (usize, &[usize])| std::iter::repeat_n(line, w[1] - w[0]);
    Ok(offsets.windows(2).enumerate().flat_map(line).collect())
}

/// Returns the offsets of lines, given the line of each entry in ascending order.
pub(crate) fn offsets(lines: usize, of: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut offsets = vec![0; lines + 1];
    for line in of {
        offsets[line + 1] += 1;
    }
    for line in 0..lines {
        offsets[line + 1] += offsets[line];
    }
    offsets
}

impl Sparse {
    /// Reads the row and the column of each stored value, in the order of storage.
    pub(crate) fn slots(&self) -> Outcome<Vec<Slot>> {
        let Self { rows, cols, nnz, base, .. } = *self;
        let lines = |lines| read_lines_within(self.first, lines, nnz, self.first_index, base);
        let others = |len, limit| read_indices(self.second, len, self.second_index, base, limit);
        let (rows, cols) = match self.format {
            Format::Csr => {
                let rows = lines(rows)?;
                let cols = others(rows.len(), cols)?;
                (rows, cols)
            }
            Format::Csc => {
                let cols = lines(cols)?;
                (others(cols.len(), rows)?, cols)
            }
            Format::Coo => {
                (read_indices(self.first, nnz, self.first_index, base, rows)?, others(nnz, cols)?)
            }
            _ => return self.block_slots(),
        };
        Ok(rows.into_iter().zip(cols).map(Some).collect())
    }

    fn values(&self) -> Rows {
        let stored = match self.format {
            Format::SlicedEll { stored, .. } => stored,
            _ => self.nnz,
        };
        Rows::flat(self.values, stored)
    }

    /// Reads the values, in the order of storage.
    pub(crate) fn read_values<T: Blas>(&self) -> Outcome<Vec<T>> {
        self.dtype.read(self.values())
    }

    /// Writes the values, in the order of storage.
    pub(crate) fn write_values<T: Blas>(&self, values: &[T]) -> Outcome {
        self.dtype.write(Rows::flat(self.values, values.len()), values)
    }

    /// Reads all entries of `op` of the matrix, in the order of storage.
    pub(crate) fn read<T: Blas>(&self, op: Op) -> Outcome<Vec<Entry<T>>> {
        // Values first: then there are as many places as memory has room for.
        let values = self.read_values::<T>()?;
        let stored = self.slots()?.into_iter().zip(values);
        Ok(stored
            .filter_map(|(slot, x)| {
                let (i, j) = slot?;
                Some(match op {
                    Op::None => (i, j, x),
                    Op::Transpose => (j, i, x),
                    Op::Adjoint => (j, i, x.conj()),
                })
            })
            .collect())
    }

    /// Returns the matrix of a batch.
    pub(crate) fn batch(&self, batch: usize) -> Self {
        let bytes = |step: i64, each: usize| {
            step.wrapping_mul(batch as i64).wrapping_mul(each as i64) as u64
        };
        let [first, second, values] = self.steps;
        Self {
            first: self.first.wrapping_add(bytes(first, self.first_index.bytes())),
            second: self.second.wrapping_add(bytes(second, self.second_index.bytes())),
            values: self.values.wrapping_add(bytes(values, self.dtype.bytes())),
            ..*self
        }
    }

    /// Returns the sizes of `op` of the matrix.
    pub(crate) fn size(&self, op: Op) -> [usize; 2] {
        if op == Op::None { [self.rows, self.cols] } else { [self.cols, self.rows] }
    }

    /// Sorts entries as the format stores them.
    pub(crate) fn sort<T>(&self, entries: &mut [Entry<T>]) {
        match self.format {
            Format::Csc => entries.sort_by_key(|&(i, j, _)| (j, i)),
            _ => entries.sort_by_key(|&(i, j, _)| (i, j)),
        }
    }

    /// Writes offsets or rows, of entries that are sorted.
    pub(crate) fn write_first<T>(&self, entries: &[Entry<T>]) -> Outcome {
        let len = match self.format {
            Format::Csr => self.rows + 1,
            Format::Csc => self.cols + 1,
            _ => entries.len(),
        };
        check_indices(self.first, len, self.first_index)?;
        let list = match self.format {
            Format::Csr => offsets(self.rows, entries.iter().map(|e| e.0)),
            Format::Csc => offsets(self.cols, entries.iter().map(|e| e.1)),
            Format::Coo => entries.iter().map(|e| e.0).collect(),
            _ => return Err(Error::NotSupported),
        };
        write_indices(self.first, &list, self.first_index, self.base)
    }

    /// Writes columns and values, of entries that are sorted.
    pub(crate) fn write_rest<T: Blas>(&self, entries: &[Entry<T>]) -> Outcome {
        self.write_second(entries)?;
        self.write_values(&entries.iter().map(|e| e.2).collect::<Vec<T>>())
    }

    /// Writes columns, of entries that are sorted.
    pub(crate) fn write_second<T>(&self, entries: &[Entry<T>]) -> Outcome {
        let by_column = self.format == Format::Csc;
        let list: Vec<usize> = entries.iter().map(|e| if by_column { e.0 } else { e.1 }).collect();
        write_indices(self.second, &list, self.second_index, self.base)
    }
}

impl Dense {
    fn memory(&self, batch: usize) -> Rows {
        let (width, height) =
            if self.by_rows { (self.cols, self.rows) } else { (self.rows, self.cols) };
        let bytes =
            self.distance.wrapping_mul(batch as i64).wrapping_mul(self.dtype.bytes() as i64);
        Rows { at: self.values.wrapping_add(bytes as u64), width, height, pitch: self.ld }
    }

    /// Reads the matrix of a batch.
    pub(crate) fn read<T: Blas>(&self, batch: usize) -> Outcome<Matrix<T>> {
        let data = self.dtype.read(self.memory(batch))?;
        Ok(match self.by_rows {
            false => Matrix::new(self.rows, self.cols, data),
            true => Matrix::new(self.cols, self.rows, data).op(Op::Transpose),
        })
    }

    /// Returns zeros for the matrix of a batch that is going to be written.
    pub(crate) fn zeros<T: Blas>(&self, batch: usize) -> Outcome<Matrix<T>> {
        self.dtype.check_write(self.memory(batch))?;
        Ok(Matrix::zeros(self.rows, self.cols))
    }

    /// Writes the matrix of a batch.
    pub(crate) fn write<T: Blas>(&self, batch: usize, matrix: &Matrix<T>) -> Outcome {
        match self.by_rows {
            false => self.dtype.write(self.memory(batch), &matrix.data),
            true => self.dtype.write(self.memory(batch), &matrix.op(Op::Transpose).data),
        }
    }

    /// Returns the sizes of `op` of the matrix.
    pub(crate) fn size(&self, op: Op) -> [usize; 2] {
        if op == Op::None { [self.rows, self.cols] } else { [self.cols, self.rows] }
    }
}

impl Vector {
    /// Returns zeros for a vector that is going to be written.
    pub(crate) fn zeros<T: Blas>(&self) -> Outcome<Vec<T>> {
        self.dtype.check_write(Rows::flat(self.values, self.len))?;
        Ok(vec![T::zero(); self.len])
    }

    pub(crate) fn read<T: Blas>(&self) -> Outcome<Vec<T>> {
        self.dtype.read(Rows::flat(self.values, self.len))
    }

    pub(crate) fn write<T: Blas>(&self, list: &[T]) -> Outcome {
        self.dtype.write(Rows::flat(self.values, list.len()), list)
    }
}

impl SparseVector {
    pub(crate) fn places(&self) -> Outcome<Vec<usize>> {
        read_indices(self.indices, self.nnz, self.index, self.base, self.len)
    }

    pub(crate) fn read<T: Blas>(&self) -> Outcome<Vec<T>> {
        self.dtype.read(Rows::flat(self.values, self.nnz))
    }

    pub(crate) fn write<T: Blas>(&self, list: &[T]) -> Outcome {
        self.dtype.write(Rows::flat(self.values, list.len()), list)
    }
}

/// Checks that a function's operands and its type of computation are ones that it has.
pub(crate) fn consistent(compute: i32, types: &[DataType]) -> Outcome {
    use DataType as D;
    let compute = DataType::of(compute)?;
    let fits = |&dtype: &DataType| match compute {
        D::F32 => matches!(dtype, D::F32 | D::F16 | D::BF16 | D::I8),
        D::F64 => dtype == D::F64,
        D::C32 => matches!(dtype, D::C32 | D::C16 | D::CBF16),
        D::C64 => dtype == D::C64,
        _ => false,
    };
    if types.iter().all(fits) { Ok(()) } else { Err(Error::NotSupported) }
}

/// Returns `factor` times each element, or zeros for a factor of zero, whatever they are.
pub(crate) fn scaled<T: Scalar>(factor: T, mut data: Vec<T>) -> Vec<T> {
    for x in &mut data {
        *x = if factor == T::zero() { T::zero() } else { factor * *x };
    }
    data
}
