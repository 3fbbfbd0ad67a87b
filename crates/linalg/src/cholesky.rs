//! Cholesky factorisation, as LAPACK's `potrf`.

use num_traits::{Float, Zero};

use crate::gemm::gemm;
use crate::matrix::{Matrix, Op, Triangle};
use crate::scalar::Scalar;
use crate::triangular::solve_triangular;

/// Columns that are factorised one by one, between products.
const BLOCK: usize = 32;

/// Factorises a Hermitian positive definite `a = l l*` or `a = u* u` in place; the other half is
/// left alone. Returns 0, or the order, from 1, of the first leading minor that is not positive
/// definite, at which it stops.
pub fn cholesky<T: Scalar>(a: &mut Matrix<T>, half: Triangle) -> usize {
    if half == Triangle::Upper {
        let mut lower = a.op(Op::Adjoint);
        let info = cholesky(&mut lower, Triangle::Lower);
        for j in 0..a.cols {
            for i in 0..=j {
                a[(i, j)] = lower[(j, i)].conj();
            }
        }
        return info;
    }
    let n = a.rows;
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        for j in start..end {
            let pivot = a[(j, j)].re();
            if pivot.is_nan() || pivot <= T::Real::zero() {
                return j + 1;
            }
            let root = pivot.sqrt();
            a[(j, j)] = T::from_real(root);
            for i in j + 1..end {
                a[(i, j)] = a[(i, j)].scale(root.recip());
            }
            for c in j + 1..end {
                let by = a[(c, j)].conj();
                for i in c..end {
                    let l = a[(i, j)];
                    a[(i, c)] -= by * l;
                }
            }
        }
        let size = end - start;
        if end < n {
            // l21 = a21 l11^-*, as l11 x = a21*.
            let corner = a.block(start, start, size, size);
            let mut below = a.block(end, start, n - end, size).op(Op::Adjoint);
            solve_triangular(&corner, Triangle::Lower, Op::None, false, &mut below);
            let below_t = below;
            let below = below_t.op(Op::Adjoint);
            a.set_block(end, start, &below);
            // The other half of what remains is left alone.
            let mut change = Matrix::zeros(n - end, n - end);
            gemm(T::one(), below.view(), below_t.view(), T::zero(), change.view_mut());
            for c in end..n {
                for i in c..n {
                    a[(i, c)] -= change[(i - end, c - end)];
                }
            }
        }
        start = end;
    }
    0
}
