//! QR factorisation by Householder reflectors, as LAPACK's `geqrf`, `orgqr` and `ormqr`.

use num_traits::{Float, Zero};

use crate::matrix::{Matrix, Op};
use crate::scalar::Scalar;

/// Returns the norm of a vector, without overflow in between.
pub(crate) fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let big = x.iter().fold(T::Real::zero(), |m, v| {
        let v = v.abs1();
        if v > m || v.is_nan() { v } else { m }
    });
    if big == T::Real::zero() || !big.is_finite() {
        return big;
    }
    let sum: T::Real = x.iter().map(|v| v.scale(big.recip()).norm_sqr()).sum();
    if sum.is_finite() {
        return big * sum.sqrt();
    }
    let sum: T::Real =
        x.iter().map(|&v| T::from_parts(v.re() / big, v.im() / big).norm_sqr()).sum();
    big * sum.sqrt()
}

/// Makes the reflector `1 - tau v v*` whose adjoint maps `x` to a multiple of the first unit
/// vector, real and of the sign that does not cancel. `x` becomes that multiple, then `v` without
/// its first element, which is 1. Returns `tau`.
pub(crate) fn reflector<T: Scalar>(x: &mut [T]) -> T {
    let Some((first, rest)) = x.split_first_mut() else { return T::zero() };
    let below = norm(rest);
    let alpha = *first;
    if below == T::Real::zero() && alpha.im() == T::Real::zero() {
        return T::zero();
    }
    let length = alpha.re().hypot(alpha.im()).hypot(below);
    let beta = if alpha.re() > T::Real::zero() { -length } else { length };
    let tau = T::from_parts((beta - alpha.re()) / beta, -alpha.im() / beta);
    let by = alpha - T::from_real(beta);
    for v in rest {
        *v /= by;
    }
    *first = T::from_real(beta);
    tau
}

/// Applies `1 - tau v v*` to a column, from the row of the first element of `v` on.
fn reflect<T: Scalar>(v: &[T], tau: T, column: &mut [T]) {
    let (first, rest) = (column[0], &column[1..]);
    let mut dot = first;
    for (c, v) in rest.iter().zip(&v[1..]) {
        dot += v.conj() * *c;
    }
    let by = tau * dot;
    column[0] -= by;
    for (c, v) in column[1..].iter_mut().zip(&v[1..]) {
        *c -= by * *v;
    }
}

/// Factorises `a = q r` in place: `r` on and above the diagonal, and below it the reflectors whose
/// product is `q`, of which it returns the factors.
pub fn qr<T: Scalar>(a: &mut Matrix<T>) -> Vec<T> {
    let (m, n) = (a.rows, a.cols);
    let mut taus = Vec::with_capacity(m.min(n));
    for j in 0..m.min(n) {
        let tau = reflector(&mut a.col_mut(j)[j..]);
        taus.push(tau);
        if tau == T::zero() {
            continue;
        }
        for c in j + 1..n {
            let (v, column) = a.two_cols(j, c);
            reflect(&v[j..], tau.conj(), &mut column[j..]);
        }
    }
    taus
}

/// Multiplies `c` by `op(q)` from the left in place, given reflectors and their factors. `op` is
/// not the transpose of a complex matrix.
pub fn apply_q<T: Scalar>(reflectors: &Matrix<T>, taus: &[T], op: Op, c: &mut Matrix<T>) {
    let mut apply = |j: usize| {
        let tau = if op == Op::None { taus[j] } else { taus[j].conj() };
        if tau != T::zero() {
            for column in 0..c.cols {
                reflect(&reflectors.col(j)[j..], tau, &mut c.col_mut(column)[j..]);
            }
        }
    };
    // q = h0 h1 ...: the last reflector is the first that is applied.
    if op == Op::None {
        (0..taus.len()).rev().for_each(&mut apply);
    } else {
        (0..taus.len()).for_each(&mut apply);
    }
}

/// Returns the first `cols` columns of `q`.
#[must_use]
pub fn form_q<T: Scalar>(reflectors: &Matrix<T>, taus: &[T], cols: usize) -> Matrix<T> {
    let mut q = Matrix::eye(reflectors.rows, cols);
    apply_q(reflectors, taus, Op::None, &mut q);
    q
}

/// Returns an orthonormal basis whose first columns are those of `q`, which are orthonormal.
pub(crate) fn complete<T: Scalar>(q: &Matrix<T>) -> Matrix<T> {
    let mut reflectors = q.clone();
    let taus = qr(&mut reflectors);
    let mut whole = form_q(&reflectors, &taus, q.rows);
    // A reflector maps a column to plus or minus a unit vector: the given columns are kept.
    whole.set_block(0, 0, q);
    whole
}
