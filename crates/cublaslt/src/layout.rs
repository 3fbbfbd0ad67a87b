//! Matrices as layouts describe them.

use culibs::device::{Rows, read};
use culibs::{DataType, Error, Outcome, count};
use linalg::{Matrix, Op};
use operands::Blas;

use crate::objects::{Object, ObjectKind, find};

/// A matrix, or a batch of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) dtype: DataType,
    by_rows: bool,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    ld: usize,
    pub(crate) batches: usize,
    distance: i64,
    /// Whether the address is that of a list of addresses on the device, one for each matrix.
    listed: bool,
}

/// Returns the attributes of a new layout.
pub(crate) fn object(dtype: i32, rows: u64, cols: u64, ld: i64) -> Object {
    Object::new(ObjectKind::Layout)
        .with(0, dtype)
        .with(2, rows)
        .with(3, cols)
        .with(4, ld)
        .with(5, 1_i32)
}

impl Layout {
    /// Returns the layout that a client passes.
    pub(crate) fn of(descriptor: u64) -> Outcome<Self> {
        let object = find(descriptor, ObjectKind::Layout)?;
        let by_rows = match object.get::<i32>(1) {
            0 => false,
            1 => true,
            _ => return Err(Error::NotSupported),
        };
        let listed = match object.get::<i32>(8) {
            0 => false,
            1 => true,
            // Groups, whose sizes are on the device.
            _ => return Err(Error::NotSupported),
        };
        // Real and imaginary parts in planes.
        if object.get::<i64>(7) != 0 {
            return Err(Error::NotSupported);
        }
        let size = |attribute| count(object.get::<i64>(attribute));
        let (rows, cols, ld) = (size(2)?, size(3)?, size(4)?);
        let dtype = DataType::of(object.get(0))?;
        let batches = count(object.get::<i32>(5).into())?.max(1);
        if ld < if by_rows { cols } else { rows } {
            return Err(Error::InvalidValue);
        }
        Ok(Self { dtype, by_rows, rows, cols, ld, batches, distance: object.get(6), listed })
    }

    /// Returns the sizes of `op` of the matrix.
    pub(crate) fn size(&self, op: Op) -> [usize; 2] {
        if op == Op::None { [self.rows, self.cols] } else { [self.cols, self.rows] }
    }

    fn memory(&self, at: u64, batch: usize) -> Outcome<Rows> {
        let (width, height) =
            if self.by_rows { (self.cols, self.rows) } else { (self.rows, self.cols) };
        if self.listed {
            let at = read::<u64>(at.wrapping_add(8 * batch as u64), 1)?[0];
            return Ok(Rows { at, width, height, pitch: self.ld });
        }
        let elements = self.distance.wrapping_mul(batch as i64);
        let bytes = elements.wrapping_mul(self.dtype.bytes() as i64);
        Ok(Rows { at: at.wrapping_add(bytes as u64), width, height, pitch: self.ld })
    }

    /// Reads a matrix of the batch.
    pub(crate) fn read<T: Blas>(&self, at: u64, batch: usize) -> Outcome<Matrix<T>> {
        let data = self.dtype.read(self.memory(at, batch)?)?;
        Ok(match self.by_rows {
            false => Matrix::new(self.rows, self.cols, data),
            true => Matrix::new(self.cols, self.rows, data).op(Op::Transpose),
        })
    }

    /// Returns zeros for a matrix of the batch that is going to be written.
    pub(crate) fn zeros<T: Blas>(&self, at: u64, batch: usize) -> Outcome<Matrix<T>> {
        self.dtype.check_write(self.memory(at, batch)?)?;
        Ok(Matrix::zeros(self.rows, self.cols))
    }

    /// Writes a matrix of the batch.
    pub(crate) fn write<T: Blas>(&self, at: u64, batch: usize, matrix: &Matrix<T>) -> Outcome {
        let memory = self.memory(at, batch)?;
        match self.by_rows {
            false => self.dtype.write(memory, &matrix.data),
            true => self.dtype.write(memory, &matrix.op(Op::Transpose).data),
        }
    }
}
