//! LU factorisation with partial pivoting, as LAPACK's `getrf`, `getrs` and `getri`.

use crate::gemm::gemm;
use crate::matrix::{Matrix, Op, Triangle};
use crate::scalar::Scalar;
use crate::triangular::solve_triangular;

/// Columns that are factorised one by one, between products.
const BLOCK: usize = 32;

/// Factorises `a = p l u` in place: `l` below the diagonal, without its ones, and `u` on and above
/// it. Returns, for each of the first `min(rows, cols)` rows, the row that it was swapped with; and
/// the number, from 1, of the first zero on the diagonal of `u`, or 0. Without `pivoting`, no rows
/// are swapped.
pub fn lu<T: Scalar>(a: &mut Matrix<T>, pivoting: bool) -> (Vec<usize>, usize) {
    let (m, n) = (a.rows, a.cols);
    let steps = m.min(n);
    let mut swaps = Vec::with_capacity(steps);
    let mut info = 0;
    let mut start = 0;
    while start < steps {
        let end = (start + BLOCK).min(steps);
        for j in start..end {
            let pivot = if pivoting { largest(a, j) } else { j };
            swaps.push(pivot);
            if pivot != j {
                for c in 0..n {
                    a.col_mut(c).swap(j, pivot);
                }
            }
            if a[(j, j)] == T::zero() {
                info = if info == 0 { j + 1 } else { info };
                continue;
            }
            let by = a[(j, j)];
            for x in &mut a.col_mut(j)[j + 1..] {
                *x /= by;
            }
            for c in j + 1..end {
                let (left, right) = a.two_cols(j, c);
                let by = right[j];
                for (x, l) in right[j + 1..].iter_mut().zip(&left[j + 1..]) {
                    *x -= by * *l;
                }
            }
        }
        finish_block(a, start, end);
        start = end;
    }
    (swaps, info)
}

/// Returns the row on or below the diagonal with the largest element of a column.
fn largest<T: Scalar>(a: &Matrix<T>, j: usize) -> usize {
    let mut best = j;
    for i in j + 1..a.rows {
        if a[(i, j)].abs1() > a[(best, j)].abs1() {
            best = i;
        }
    }
    best
}

/// Applies the columns of a block to the columns after it.
fn finish_block<T: Scalar>(a: &mut Matrix<T>, start: usize, end: usize) {
    let (m, n) = (a.rows, a.cols);
    if end == n {
        return;
    }
    let size = end - start;
    let mut above = a.block(start, end, size, n - end);
    let corner = a.block(start, start, size, size);
    solve_triangular(&corner, Triangle::Lower, Op::None, true, &mut above);
    a.set_block(start, end, &above);
    let below = a.block(end, start, m - end, size);
    let rest = a.view_mut().sub(end, end, m - end, n - end);
    gemm(-T::one(), below.view(), above.view(), T::one(), rest);
}

/// Swaps the rows of `b` as a factorisation has, or back.
fn permute<T: Scalar>(b: &mut Matrix<T>, swaps: &[usize], back: bool) {
    let mut swap = |(i, &p): (usize, &usize)| {
        if p != i && p < b.rows {
            for c in 0..b.cols {
                b.col_mut(c).swap(i, p);
            }
        }
    };
    if back {
        swaps.iter().enumerate().rev().for_each(&mut swap);
    } else {
        swaps.iter().enumerate().for_each(&mut swap);
    }
}

/// Solves `op(a) x = b` in place, given the factors of `a`.
pub fn solve_lu<T: Scalar>(factors: &Matrix<T>, swaps: &[usize], op: Op, b: &mut Matrix<T>) {
    if op == Op::None {
        permute(b, swaps, false);
        solve_triangular(factors, Triangle::Lower, op, true, b);
        solve_triangular(factors, Triangle::Upper, op, false, b);
    } else {
        solve_triangular(factors, Triangle::Upper, op, false, b);
        solve_triangular(factors, Triangle::Lower, op, true, b);
        permute(b, swaps, true);
    }
}

/// Returns the inverse of a matrix, given its factors.
#[must_use]
pub fn inverse_of_lu<T: Scalar>(factors: &Matrix<T>, swaps: &[usize]) -> Matrix<T> {
    let mut inverse = Matrix::eye(factors.rows, factors.cols);
    solve_lu(factors, swaps, Op::None, &mut inverse);
    inverse
}
