//! Products of matrices.
#![allow(unsafe_code, reason = "matrixmultiply takes pointers; sizes and strides are checked here")]

use crate::matrix::{Matrix, Op, View, ViewMut};
use crate::scalar::Scalar;

/// Returns the number of elements that a matrix with strides needs.
fn needed(rows: usize, cols: usize, rs: usize, cs: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    (rows - 1).checked_mul(rs)?.checked_add((cols - 1).checked_mul(cs)?)?.checked_add(1)
}

#[allow(clippy::needless_pass_by_value, reason = "an exclusive borrow is consumed")]
/// `c = alpha a b + beta c`. With `beta` 0, what was in `c` does not matter, not even a NaN.
///
/// # Panics
/// If sizes do not match, or a view goes beyond its memory.
pub fn gemm<T: Scalar>(alpha: T, a: View<'_, T>, b: View<'_, T>, beta: T, c: ViewMut<'_, T>) {
    let (m, k, n) = (a.rows, a.cols, b.cols);
    assert!(b.rows == k && c.rows == m && c.cols == n, "sizes of a product");
    let fits =
        |len: usize, rows, cols, rs, cs| needed(rows, cols, rs, cs).is_some_and(|n| n <= len);
    assert!(fits(a.data.len(), m, k, a.rs, a.cs) && fits(b.data.len(), k, n, b.rs, b.cs));
    assert!(fits(c.data.len(), m, n, c.rs, c.cs));
    // Elements of a result must be different ones.
    assert!(c.rs == 1 && c.cs >= m || c.cs == 1 && c.rs >= n, "a result with overlapping elements");
    if m == 0 || n == 0 {
        return;
    }
    let strides = |rs: usize, cs: usize| (rs as isize, cs as isize);
    let ((rsa, csa), (rsb, csb), (rsc, csc)) =
        (strides(a.rs, a.cs), strides(b.rs, b.cs), strides(c.rs, c.cs));
    // SAFETY: all elements of the views are in their slices, as has been checked; `c` is borrowed
    // exclusively, and its elements do not overlap.
    unsafe {
        T::raw_gemm(
            [m, k, n],
            alpha,
            (a.data.as_ptr(), rsa, csa),
            (b.data.as_ptr(), rsb, csb),
            beta,
            (c.data.as_mut_ptr(), rsc, csc),
        );
    }
}

/// `c = alpha op(a) op(b) + beta c`.
///
/// # Panics
/// As [`gemm`].
pub fn product<T: Scalar>(
    alpha: T,
    (a, op_a): (&Matrix<T>, Op),
    (b, op_b): (&Matrix<T>, Op),
    beta: T,
    c: &mut Matrix<T>,
) {
    // `matrixmultiply` does not conjugate.
    let conjugated = |m: &Matrix<T>, op| {
        (T::COMPLEX && op == Op::Adjoint).then(|| {
            let data = m.data.iter().map(|x| x.conj()).collect();
            Matrix { data, rows: m.rows, cols: m.cols }
        })
    };
    let (held_a, held_b) = (conjugated(a, op_a), conjugated(b, op_b));
    let (a, b) = (held_a.as_ref().unwrap_or(a), held_b.as_ref().unwrap_or(b));
    gemm(alpha, turned(a, op_a), turned(b, op_b), beta, c.view_mut());
}

fn turned<T: Scalar>(m: &Matrix<T>, op: Op) -> View<'_, T> {
    if op == Op::None { m.view() } else { m.view().t() }
}
