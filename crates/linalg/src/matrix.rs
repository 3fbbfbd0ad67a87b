//! Matrices in column-major order.

use std::ops::{Index, IndexMut};

use crate::scalar::Scalar;

/// What an operand of a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The matrix.
    None,
    /// Its transpose.
    Transpose,
    /// Its conjugate transpose.
    Adjoint,
}

/// The half of a square matrix that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

impl Triangle {
    /// Returns whether an element is in this half.
    #[must_use]
    pub fn has(self, row: usize, column: usize) -> bool {
        match self {
            Self::Lower => row >= column,
            Self::Upper => row <= column,
        }
    }

    /// The rows of a column of a matrix with `n` rows that are in this half.
    #[must_use]
    pub fn rows(self, n: usize, column: usize) -> std::ops::Range<usize> {
        match self {
            Self::Lower => column..n,
            Self::Upper => 0..(column + 1).min(n),
        }
    }
}

/// A matrix in column-major order without gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T> {
    /// The elements, column after column.
    pub data: Vec<T>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
}

impl<T: Scalar> Matrix<T> {
    /// A matrix of these elements, column after column.
    ///
    /// # Panics
    /// If their number is another one.
    #[must_use]
    pub fn new(rows: usize, cols: usize, data: Vec<T>) -> Self {
        assert_eq!(data.len(), rows * cols, "a matrix of {rows} by {cols}");
        Self { data, rows, cols }
    }

    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { data: vec![T::zero(); rows * cols], rows, cols }
    }

    /// A matrix of elements by row and column.
    #[must_use]
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> T) -> Self {
        // Columns without elements are not walked: there may be 2^63 of them.
        let filled = if rows == 0 { 0 } else { cols };
        let data = (0..filled).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| f(i, j));
        Self { data: data.collect(), rows, cols }
    }

    /// The first columns of the unit matrix.
    #[must_use]
    pub fn eye(rows: usize, cols: usize) -> Self {
        Self::from_fn(rows, cols, |i, j| if i == j { T::one() } else { T::zero() })
    }

    /// A column.
    #[must_use]
    pub fn col(&self, j: usize) -> &[T] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// A column, to change it.
    pub fn col_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Two different columns, to change them.
    ///
    /// # Panics
    /// Unless `i < j`.
    pub fn two_cols(&mut self, i: usize, j: usize) -> (&mut [T], &mut [T]) {
        assert!(i < j);
        let (left, right) = self.data.split_at_mut(j * self.rows);
        (&mut left[i * self.rows..(i + 1) * self.rows], &mut right[..self.rows])
    }

    /// The matrix as an operand.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View { data: &self.data, rows: self.rows, cols: self.cols, rs: 1, cs: self.rows }
    }

    /// The matrix as a result.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        let (rows, cols) = (self.rows, self.cols);
        ViewMut { data: &mut self.data, rows, cols, rs: 1, cs: rows }
    }

    /// Returns `op(self)`.
    #[must_use]
    pub fn op(&self, op: Op) -> Self {
        match op {
            Op::None => self.clone(),
            Op::Transpose => Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)]),
            Op::Adjoint => Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)].conj()),
        }
    }

    /// Returns a block.
    #[must_use]
    pub fn block(&self, r: usize, c: usize, rows: usize, cols: usize) -> Self {
        Self::from_fn(rows, cols, |i, j| self[(r + i, c + j)])
    }

    /// Overwrites a block.
    pub fn set_block(&mut self, r: usize, c: usize, block: &Self) {
        let filled = if block.rows == 0 { 0 } else { block.cols };
        for j in 0..filled {
            self.col_mut(c + j)[r..r + block.rows].copy_from_slice(block.col(j));
        }
    }
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[j * self.rows + i]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[j * self.rows + i]
    }
}

/// A matrix with strides, as an operand.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) rs: usize,
    pub(crate) cs: usize,
}

impl<T> View<'_, T> {
    /// The transpose.
    #[must_use]
    pub fn t(self) -> Self {
        let Self { data, rows, cols, rs, cs } = self;
        Self { data, rows: cols, cols: rows, rs: cs, cs: rs }
    }

    /// A block.
    ///
    /// # Panics
    /// If it goes beyond the matrix.
    #[must_use]
    pub fn sub(self, r: usize, c: usize, rows: usize, cols: usize) -> Self {
        assert!(r + rows <= self.rows && c + cols <= self.cols);
        let start = (r * self.rs + c * self.cs).min(self.data.len());
        Self { data: &self.data[start..], rows, cols, ..self }
    }
}

/// A matrix with strides, as a result.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) rs: usize,
    pub(crate) cs: usize,
}

impl<T> ViewMut<'_, T> {
    /// A block.
    ///
    /// # Panics
    /// If it goes beyond the matrix.
    #[must_use]
    pub fn sub(self, r: usize, c: usize, rows: usize, cols: usize) -> Self {
        assert!(r + rows <= self.rows && c + cols <= self.cols);
        let start = (r * self.rs + c * self.cs).min(self.data.len());
        Self { data: &mut self.data[start..], rows, cols, ..self }
    }
}
