//! Operands of cuBLAS and cuSOLVER functions: flags, and vectors and matrices in device memory.
//!
//! Functions that read an argument of a client return [`Error::InvalidValue`] for what it must not
//! be; those that access memory return [`Error::Fault`] if the device refuses the access.

use culibs::device::{Rows, zeroed};
use culibs::{DataType, Error, Number, Outcome, count};
use linalg::{Matrix, Op, Scalar, Triangle};

/// A type that functions compute with.
pub trait Blas: Scalar + Number {}

impl<T: Scalar + Number> Blas for T {}

/// Reads `cublasOperation_t`.
///
/// # Errors
/// [`Error::InvalidValue`] for other numbers, and [`Error::NotSupported`] for the placeholder among
/// them; the same of the functions below.
pub fn op(value: i32) -> Outcome<Op> {
    match value {
        0 => Ok(Op::None),
        1 => Ok(Op::Transpose),
        2 => Ok(Op::Adjoint),
        3 => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

/// Reads `cublasFillMode_t`.
///
/// # Errors
/// As described for this crate.
pub fn triangle(value: i32) -> Outcome<Triangle> {
    match value {
        0 => Ok(Triangle::Lower),
        1 => Ok(Triangle::Upper),
        _ => Err(Error::InvalidValue),
    }
}

/// Reads `cublasDiagType_t`: whether the diagonal is taken for ones.
///
/// # Errors
/// As described for this crate.
pub fn unit(value: i32) -> Outcome<bool> {
    flag(value)
}

/// Reads `cublasSideMode_t`: whether the matrix is on the right.
///
/// # Errors
/// As described for this crate.
pub fn right(value: i32) -> Outcome<bool> {
    flag(value)
}

fn flag(value: i32) -> Outcome<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// Reads dimensions.
///
/// # Errors
/// As described for this crate.
pub fn dimensions<const N: usize>(values: [i64; N]) -> Outcome<[usize; N]> {
    let mut out = [0; N];
    for (out, value) in out.iter_mut().zip(values) {
        *out = count(value)?;
    }
    Ok(out)
}

/// The most elements of a vector that are all one element of memory.
const MOST_COPIES: usize = 1 << 26;

/// A vector in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    at: u64,
    /// The number of elements.
    pub len: usize,
    step: i64,
    dtype: DataType,
}

impl Vector {
    /// A vector of the type with the number of elements, the address and the step of the client.
    /// The last element is the first in memory if the step is negative.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn new(dtype: DataType, len: usize, at: u64, step: i64) -> Outcome<Self> {
        if step == i64::MIN || (at == 0 && len > 0) {
            return Err(Error::InvalidValue);
        }
        Ok(Self { at, len, step, dtype })
    }

    /// A vector whose step must not be 0.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn stepping(dtype: DataType, len: usize, at: u64, step: i64) -> Outcome<Self> {
        if step == 0 {
            return Err(Error::InvalidValue);
        }
        Self::new(dtype, len, at, step)
    }

    fn rows(&self) -> Rows {
        let step = self.step.unsigned_abs() as usize;
        Rows::strided(self.at, if step == 0 { self.len.min(1) } else { self.len }, step.max(1))
    }

    /// Reads the elements.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn read<T: Number>(&self) -> Outcome<Vec<T>> {
        let mut data: Vec<T> = self.dtype.read(self.rows())?;
        if self.step < 0 {
            data.reverse();
        }
        if self.step == 0 && self.len > 1 {
            // Memory does not bound how often one element is taken.
            if self.len > MOST_COPIES {
                return Err(Error::OutOfMemory);
            }
            let first = data[0];
            data = zeroed(self.len)?;
            data.fill(first);
        }
        Ok(data)
    }

    /// Reads what a result is added to: zeros if it is multiplied by zero, whatever is in memory.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn read_scaled<T: Blas>(&self, beta: T) -> Outcome<Vec<T>> {
        if beta != T::zero() {
            return self.read();
        }
        self.dtype.check_write(self.rows())?;
        zeroed(self.len)
    }

    /// Writes the elements.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn write<T: Number>(&self, mut data: Vec<T>) -> Outcome {
        if self.step < 0 {
            data.reverse();
        }
        if self.step == 0 && self.len > 1 {
            data = data.split_off(self.len - 1);
        }
        self.dtype.write(self.rows(), &data)
    }
}

/// A matrix in device memory, in column-major order.
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    at: u64,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    ld: usize,
    dtype: DataType,
}

impl Dense {
    /// A matrix of the type with the address and the leading dimension of the client, which is at
    /// least the number of rows, and 1.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn new(dtype: DataType, [rows, cols]: [usize; 2], at: u64, ld: i64) -> Outcome<Self> {
        let ld = count(ld)?;
        if ld < rows.max(1) || (at == 0 && rows > 0 && cols > 0) {
            return Err(Error::InvalidValue);
        }
        Ok(Self { at, rows, cols, ld, dtype })
    }

    /// A matrix whose address is not known yet: lists of addresses are read when the work is done.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn form(dtype: DataType, [rows, cols]: [usize; 2], ld: i64) -> Outcome<Self> {
        Self::new(dtype, [rows, cols], 1, ld)
    }

    /// The address of the first element.
    #[must_use]
    pub fn address(self) -> u64 {
        self.at
    }

    /// The same at another address.
    #[must_use]
    pub fn at(self, at: u64) -> Self {
        Self { at, ..self }
    }

    /// The same `elements` after it.
    #[must_use]
    pub fn offset(self, elements: i64) -> Self {
        let bytes = elements.wrapping_mul(self.dtype.bytes() as i64);
        self.at(self.at.wrapping_add(bytes as u64))
    }

    fn memory(&self) -> Rows {
        Rows { at: self.at, width: self.rows, height: self.cols, pitch: self.ld }
    }

    /// Reads the elements.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn read<T: Blas>(&self) -> Outcome<Matrix<T>> {
        Ok(Matrix::new(self.rows, self.cols, self.dtype.read(self.memory())?))
    }

    /// Reads what a result is added to: zeros if it is multiplied by zero, whatever is in memory.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn read_scaled<T: Blas>(&self, beta: T) -> Outcome<Matrix<T>> {
        if beta != T::zero() {
            return self.read();
        }
        self.zeros()
    }

    /// Checks that a result can be written, before it is computed: then it is as small as memory.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn check_write(&self) -> Outcome {
        self.dtype.check_write(self.memory())
    }

    /// Returns zeros for a result that is going to be written.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn zeros<T: Blas>(&self) -> Outcome<Matrix<T>> {
        self.check_write()?;
        Ok(Matrix::new(self.rows, self.cols, zeroed(culibs::size(&[self.rows, self.cols])?)?))
    }

    /// Writes the elements.
    ///
    /// # Errors
    /// As described for this crate.
    pub fn write<T: Blas>(&self, matrix: &Matrix<T>) -> Outcome {
        self.dtype.write(self.memory(), &matrix.data)
    }
}

/// Returns the sizes of the matrix whose `op` is `rows` by `cols`.
#[must_use]
pub fn stored(op: Op, rows: usize, cols: usize) -> [usize; 2] {
    if op == Op::None { [rows, cols] } else { [cols, rows] }
}
