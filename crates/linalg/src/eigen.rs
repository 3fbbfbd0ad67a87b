//! Eigenvalues and eigenvectors of Hermitian matrices: reduction to tridiagonal form by reflectors,
//! then the QL algorithm with implicit shifts (Bowdler, Martin, Reinsch and Wilkinson, 1968).

use num_traits::{Float, One, Zero};

use crate::matrix::Matrix;
use crate::qr::reflector;
use crate::scalar::{Real, Scalar};

/// Iterations for one eigenvalue, after which LAPACK gives up, too.
const ITERATIONS: usize = 60;

/// Eigenvalues, and eigenvectors as columns if they were asked for.
pub type Eigen<T> = (Vec<<T as Scalar>::Real>, Option<Matrix<T>>);

/// A diagonal, a subdiagonal, and the unitary matrix of the reduction if it was asked for.
type Tridiagonal<T> = (Vec<<T as Scalar>::Real>, Vec<<T as Scalar>::Real>, Option<Matrix<T>>);

/// Returns the eigenvalues of a Hermitian matrix in ascending order, and its eigenvectors as
/// columns if `vectors`; `None` if the algorithm does not converge, as for a matrix with NaN.
#[must_use]
pub fn hermitian_eigen<T: Scalar>(a: &Matrix<T>, vectors: bool) -> Option<Eigen<T>> {
    let n = a.rows;
    if a.data.iter().any(|x| !x.abs1().is_finite()) {
        return None;
    }
    // Scaled, so that squares neither overflow nor vanish.
    let big = a.data.iter().fold(T::Real::zero(), |m, x| m.max(x.modulus()));
    let scale = if big > T::Real::zero() { big } else { T::Real::one() };
    let mut work = a.clone();
    for x in &mut work.data {
        *x = T::from_parts(x.re() / scale, x.im() / scale);
    }
    let (mut diagonal, mut below, mut q) = tridiagonal(work, vectors);
    ql(&mut diagonal, &mut below, q.as_mut())?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| {
        diagonal[i].partial_cmp(&diagonal[j]).unwrap_or(std::cmp::Ordering::Equal)
    });
    let values = order.iter().map(|&i| diagonal[i] * scale).collect();
    let sorted = q.map(|q| {
        let data = order.iter().flat_map(|&i| q.col(i).iter().copied()).collect();
        Matrix::new(n, n, data)
    });
    Some((values, sorted))
}

/// Returns the diagonal and the real subdiagonal of `q* a q`, and `q` if `vectors`.
fn tridiagonal<T: Scalar>(mut a: Matrix<T>, vectors: bool) -> Tridiagonal<T> {
    let n = a.rows;
    let mut below = vec![T::Real::zero(); n];
    let mut reflectors = Vec::new();
    for (j, below) in below.iter_mut().enumerate().take(n.saturating_sub(1)) {
        let mut v = a.col(j)[j + 1..].to_vec();
        let tau = reflector(&mut v);
        *below = v[0].re();
        v[0] = T::one();
        if tau != T::zero() {
            two_sided(&mut a, j + 1, &v, tau);
        }
        reflectors.push((tau, v));
    }
    let diagonal = (0..n).map(|i| a[(i, i)].re()).collect();
    let q = vectors.then(|| {
        let mut q = Matrix::eye(n, n);
        for (j, (tau, v)) in reflectors.iter().enumerate().rev() {
            if *tau == T::zero() {
                continue;
            }
            for c in j + 1..n {
                let column = &mut q.col_mut(c)[j + 1..];
                let dot: T = v.iter().zip(column.iter()).map(|(v, x)| v.conj() * *x).sum();
                let by = *tau * dot;
                for (x, v) in column.iter_mut().zip(v) {
                    *x -= by * *v;
                }
            }
        }
        q
    });
    (diagonal, below, q)
}

/// Replaces the block of `a` from `from` on by `h* a h`, with `h = 1 - tau v v*`.
fn two_sided<T: Scalar>(a: &mut Matrix<T>, from: usize, v: &[T], tau: T) {
    let n = v.len();
    // p = tau a v; w = p - (tau* (p* v)* / 2) v; a - v w* - w v*.
    let mut p = vec![T::zero(); n];
    for (c, &by) in v.iter().enumerate() {
        let column = &a.col(from + c)[from..];
        for (p, x) in p.iter_mut().zip(column) {
            *p += *x * by;
        }
    }
    for p in &mut p {
        *p *= tau;
    }
    let dot: T = p.iter().zip(v).map(|(p, v)| p.conj() * *v).sum();
    let half = (tau * dot).scale(T::Real::one() / (T::Real::one() + T::Real::one()));
    for (p, v) in p.iter_mut().zip(v) {
        *p -= half * *v;
    }
    for c in 0..n {
        let (wc, vc) = (p[c].conj(), v[c].conj());
        let column = &mut a.col_mut(from + c)[from..];
        for ((x, v), w) in column.iter_mut().zip(v).zip(&p) {
            *x -= *v * wc + *w * vc;
        }
    }
}

/// Diagonalises a real symmetric tridiagonal matrix, and applies the rotations to the columns of
/// `q`. `None` if it does not converge.
fn ql<T: Scalar<Real = R>, R: Real>(
    d: &mut [R],
    e: &mut [R],
    mut q: Option<&mut Matrix<T>>,
) -> Option<()> {
    let n = d.len();
    let two = R::one() + R::one();
    for l in 0..n {
        for iteration in 0.. {
            let small = |m: &usize| e[*m].abs() <= R::epsilon() * (d[*m].abs() + d[*m + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            if iteration == ITERATIONS {
                return None;
            }
            let mut g = (d[l + 1] - d[l]) / (two * e[l]);
            let r = g.hypot(R::one());
            g = d[m] - d[l] + e[l] / (g + if g < R::zero() { -r } else { r });
            let (mut s, mut c, mut p) = (R::one(), R::one(), R::zero());
            let mut deflated = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                if r == R::zero() {
                    d[i + 1] -= p;
                    e[m] = R::zero();
                    deflated = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                let r = (d[i] - g) * s + two * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                if let Some(q) = q.as_deref_mut() {
                    let (left, right) = q.two_cols(i, i + 1);
                    for (x, y) in left.iter_mut().zip(right) {
                        let f = *y;
                        *y = x.scale(s) + f.scale(c);
                        *x = x.scale(c) - f.scale(s);
                    }
                }
            }
            if !deflated {
                d[l] -= p;
                e[l] = g;
                e[m] = R::zero();
            }
        }
    }
    Some(())
}
