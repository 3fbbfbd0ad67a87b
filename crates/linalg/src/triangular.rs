//! Triangular and Hermitian matrices, of which one half is stored.

use crate::gemm::gemm;
use crate::matrix::{Matrix, Op, Triangle};
use crate::scalar::Scalar;

/// Columns that are solved one by one, between products.
const BLOCK: usize = 48;

/// Returns the whole triangular matrix whose half is stored in `a`, with zeros in the other half,
/// and ones on the diagonal if `unit`.
#[must_use]
pub fn triangular_full<T: Scalar>(a: &Matrix<T>, half: Triangle, unit: bool) -> Matrix<T> {
    Matrix::from_fn(a.rows, a.cols, |i, j| match (i == j, half.has(i, j)) {
        (true, _) if unit => T::one(),
        (_, true) => a[(i, j)],
        (_, false) => T::zero(),
    })
}

/// Returns the whole symmetric matrix, or Hermitian if `conj`, whose half is stored in `a`. The
/// imaginary part of a Hermitian matrix's diagonal is taken for zero.
#[must_use]
pub fn hermitian_full<T: Scalar>(a: &Matrix<T>, half: Triangle, conj: bool) -> Matrix<T> {
    Matrix::from_fn(a.rows, a.cols, |i, j| match half.has(i, j) {
        true if i == j && conj => T::from_real(a[(i, i)].re()),
        true => a[(i, j)],
        false if conj => a[(j, i)].conj(),
        false => a[(j, i)],
    })
}

/// Solves `op(a) x = b` in place, for a triangular `a` of which `half` is read; with `unit`, its
/// diagonal is taken for ones. A zero on the diagonal gives infinities or NaN, as in BLAS.
///
/// # Panics
/// If sizes do not match.
pub fn solve_triangular<T: Scalar>(
    a: &Matrix<T>,
    half: Triangle,
    op: Op,
    unit: bool,
    b: &mut Matrix<T>,
) {
    assert!(a.rows == a.cols && a.rows == b.rows);
    let full = triangular_full(a, half, unit).op(op);
    let lower = (half == Triangle::Lower) == (op == Op::None);
    if lower { forward(&full, b) } else { backward(&full, b) }
}

fn forward<T: Scalar>(a: &Matrix<T>, b: &mut Matrix<T>) {
    let (n, cols) = (a.rows, b.cols);
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        for c in 0..cols {
            let x = b.col_mut(c);
            for j in start..end {
                if x[j] == T::zero() {
                    continue;
                }
                x[j] /= a[(j, j)];
                let by = x[j];
                for i in j + 1..end {
                    x[i] -= by * a[(i, j)];
                }
            }
        }
        let solved = b.block(start, 0, end - start, cols);
        let below = a.view().sub(end, start, n - end, end - start);
        let rest = b.view_mut().sub(end, 0, n - end, cols);
        gemm(-T::one(), below, solved.view(), T::one(), rest);
        start = end;
    }
}

fn backward<T: Scalar>(a: &Matrix<T>, b: &mut Matrix<T>) {
    let cols = b.cols;
    let mut end = a.rows;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        for c in 0..cols {
            let x = b.col_mut(c);
            for j in (start..end).rev() {
                if x[j] == T::zero() {
                    continue;
                }
                x[j] /= a[(j, j)];
                let by = x[j];
                for i in start..j {
                    x[i] -= by * a[(i, j)];
                }
            }
        }
        let solved = b.block(start, 0, end - start, cols);
        let above = a.view().sub(0, start, start, end - start);
        let rest = b.view_mut().sub(0, 0, start, cols);
        gemm(-T::one(), above, solved.view(), T::one(), rest);
        end = start;
    }
}
