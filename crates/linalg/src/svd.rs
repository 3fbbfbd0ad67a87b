//! Singular values and vectors by one-sided Jacobi rotations (Hestenes, 1958), after a QR
//! factorisation of a tall matrix: slower than bidiagonalisation, and more accurate for small
//! singular values (Demmel and Veselić, 1992).

use num_traits::{Float, One, Zero};

use crate::gemm::product;
use crate::matrix::{Matrix, Op};
use crate::qr::{apply_q, complete, norm, qr};
use crate::scalar::Scalar;

/// Sweeps over all pairs of columns, after which it gives up; ten are many.
const SWEEPS: usize = 60;

/// `a = u diag(s) v*`, with `s` in descending order.
#[derive(Clone, Debug)]
pub struct Svd<T: Scalar> {
    /// As many as the smaller dimension.
    pub s: Vec<T::Real>,
    /// Left singular vectors as columns, as many as rows of `a` if whole, else as many as `s`.
    pub u: Matrix<T>,
    /// Right singular vectors as columns, as many as columns of `a` if whole, else as many as `s`.
    pub v: Matrix<T>,
}

/// Returns the singular value decomposition; `None` if it does not converge, as for a matrix with
/// NaN. With `whole`, `u` and `v` are square.
#[must_use]
pub fn svd<T: Scalar>(a: &Matrix<T>, whole: bool) -> Option<Svd<T>> {
    if a.data.iter().any(|x| !x.abs1().is_finite()) {
        return None;
    }
    if a.rows < a.cols {
        let Svd { s, u, v } = svd(&a.op(Op::Adjoint), whole)?;
        return Some(Svd { s, u: v, v: u });
    }
    let n = a.cols;
    // The rotations work on r alone, or better on its adjoint, whose columns are graded.
    let mut factors = a.clone();
    let taus = qr(&mut factors);
    let r = Matrix::from_fn(n, n, |i, j| if i <= j { factors[(i, j)] } else { T::zero() });
    let (s, left, right) = jacobi(r.op(Op::Adjoint))?;
    // r* = left s right*, so r = right s left*.
    let mut u = Matrix::zeros(a.rows, n);
    u.set_block(0, 0, &right);
    apply_q(&factors, &taus, Op::None, &mut u);
    let u = if whole { complete(&u) } else { u };
    Some(Svd { s, u, v: left })
}

/// Returns the Frobenius norm of `a - left diag(values) right*`, of as many columns as values.
#[must_use]
pub fn residual<T: Scalar>(
    a: &Matrix<T>,
    left: &Matrix<T>,
    values: &[T::Real],
    right: &Matrix<T>,
) -> T::Real {
    let mut scaled = left.block(0, 0, left.rows, values.len());
    for (j, &value) in values.iter().enumerate() {
        scaled.col_mut(j).iter_mut().for_each(|x| *x = x.scale(value));
    }
    let right = right.block(0, 0, right.rows, values.len());
    let mut rest = a.clone();
    product(-T::one(), (&scaled, Op::None), (&right, Op::Adjoint), T::one(), &mut rest);
    norm(&rest.data)
}

/// Singular values, left and right singular vectors.
type Parts<T> = (Vec<<T as Scalar>::Real>, Matrix<T>, Matrix<T>);

/// Returns singular values, left and right singular vectors of a square matrix.
fn jacobi<T: Scalar>(mut a: Matrix<T>) -> Option<Parts<T>> {
    let n = a.cols;
    let mut v: Matrix<T> = Matrix::eye(n, n);
    let big = a.data.iter().fold(T::Real::zero(), |m, x| m.max(x.modulus()));
    let scale = if big > T::Real::zero() { big } else { T::Real::one() };
    for x in &mut a.data {
        *x = T::from_parts(x.re() / scale, x.im() / scale);
    }
    let rows = <T::Real as num_traits::NumCast>::from(n.max(1))?;
    let tolerance = T::Real::epsilon() * rows.sqrt();
    // Squares below this are inexact. Columns without rank shrink with each rotation until theirs
    // are, next to a largest element of one: they are taken for zero.
    let least = T::Real::min_positive_value() / (T::Real::epsilon() * T::Real::epsilon());
    let mut sweep = 0;
    while rotate_all(&mut a, &mut v, tolerance, least) {
        sweep += 1;
        if sweep == SWEEPS {
            return None;
        }
    }
    let mut order: Vec<(T::Real, usize)> = (0..n).map(|j| (norm(a.col(j)), j)).collect();
    order.sort_by(|x, y| y.0.partial_cmp(&x.0).unwrap_or(std::cmp::Ordering::Equal));
    // Twice as much, for the norm is rounded in another way.
    let smallest = least.sqrt() + least.sqrt();
    let rank = order.iter().filter(|(s, _)| *s > smallest).count();
    let mut u = Matrix::zeros(n, rank);
    for (to, &(s, j)) in order.iter().take(rank).enumerate() {
        for (x, y) in u.col_mut(to).iter_mut().zip(a.col(j)) {
            *x = T::from_parts(y.re() / s, y.im() / s);
        }
    }
    let right = order.iter().flat_map(|&(_, j)| v.col(j).to_vec()).collect();
    let s = order.iter().map(|(s, _)| *s * scale).collect();
    let u = if rank < n { complete(&u) } else { u };
    Some((s, u, Matrix::new(n, n, right)))
}

/// Makes each pair of columns orthogonal once, but those whose squares are at most `least`. Returns
/// whether one was not.
fn rotate_all<T: Scalar>(
    a: &mut Matrix<T>,
    v: &mut Matrix<T>,
    tolerance: T::Real,
    least: T::Real,
) -> bool {
    let (zero, one) = (T::Real::zero(), T::Real::one());
    let two = one + one;
    let mut rotated = false;
    let mut squares: Vec<T::Real> =
        (0..a.cols).map(|j| a.col(j).iter().map(|x| x.norm_sqr()).sum()).collect();
    for i in 0..a.cols {
        for j in i + 1..a.cols {
            let (x, y) = a.two_cols(i, j);
            let dot: T = x.iter().zip(y.iter()).map(|(x, y)| x.conj() * *y).sum();
            let size = dot.modulus();
            let allowed = tolerance * squares[i].sqrt() * squares[j].sqrt();
            if size <= allowed || squares[i].min(squares[j]) <= least {
                continue;
            }
            rotated = true;
            // The rotation of the real problem, with the phase of the product taken out.
            let zeta = (squares[j] - squares[i]) / (two * size);
            let sign = if zeta < zero { -one } else { one };
            let t = sign / (zeta.abs() + zeta.hypot(one));
            let c = one / t.hypot(one);
            let s = c * t;
            let phase = T::from_parts(dot.re() / size, dot.im() / size);
            turn(x, y, c, s, phase);
            let (x, y) = v.two_cols(i, j);
            turn(x, y, c, s, phase);
            for k in [i, j] {
                squares[k] = a.col(k).iter().map(|x| x.norm_sqr()).sum();
            }
        }
    }
    rotated
}

/// Rotates two columns.
fn turn<T: Scalar>(x: &mut [T], y: &mut [T], c: T::Real, s: T::Real, phase: T) {
    for (x, y) in x.iter_mut().zip(y) {
        let turned = *y * phase.conj();
        let old = *x;
        *x = old.scale(c) - turned.scale(s);
        *y = (old.scale(s) + turned.scale(c)) * phase;
    }
}
