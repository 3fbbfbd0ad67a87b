//! Eigenvalues and eigenvectors of matrices without structure: reduction to Hessenberg form by
//! reflectors, the QR algorithm with Wilkinson's shifts, and back substitution (Golub and Van Loan,
//! Matrix Computations, 2013, chapter 7). All is done in complex numbers of two `f64`.

use crate::matrix::Matrix;
use crate::scalar::{Scalar, c64};

/// Steps for one eigenvalue, after which LAPACK gives up, too.
const STEPS: usize = 60;

/// Returns the eigenvalues, and eigenvectors of length one as columns if `vectors`; `None` if the
/// algorithm does not converge, as for a matrix with NaN.
#[must_use]
pub fn general_eigen(a: &Matrix<c64>, vectors: bool) -> Option<(Vec<c64>, Option<Matrix<c64>>)> {
    let n = a.rows;
    if a.data.iter().any(|x| !x.abs1().is_finite()) {
        return None;
    }
    let mut t = a.clone();
    let mut z = vectors.then(|| Matrix::eye(n, n));
    hessenberg(&mut t, z.as_mut());
    triangularise(&mut t, z.as_mut())?;
    let values = (0..n).map(|i| t[(i, i)]).collect();
    Some((values, z.map(|z| vectors_of(&t, &z))))
}

/// Reduces in place to `q* a q` with zeros below the subdiagonal, and multiplies `z` by `q`.
fn hessenberg(a: &mut Matrix<c64>, mut z: Option<&mut Matrix<c64>>) {
    let n = a.rows;
    for j in 0..n.saturating_sub(2) {
        let mut v = a.col(j)[j + 1..].to_vec();
        let norm = crate::qr::norm(&v);
        if v[1..].iter().all(|x| *x == c64::default()) || norm == 0.0 {
            continue;
        }
        let phase = if v[0].norm() == 0.0 { c64::new(1.0, 0.0) } else { v[0] / v[0].norm() };
        v[0] += phase * norm;
        let square: f64 = v.iter().map(c64::norm_sqr).sum();
        // From the left, and from the right.
        for c in j..n {
            let column = &mut a.col_mut(c)[j + 1..];
            let dot: c64 = v.iter().zip(&*column).map(|(v, x)| v.conj() * x).sum();
            let by = dot * 2.0 / square;
            column.iter_mut().zip(&v).for_each(|(x, v)| *x -= *v * by);
        }
        for m in [Some(&mut *a), z.as_deref_mut()].into_iter().flatten() {
            for r in 0..n {
                let dot: c64 = v.iter().enumerate().map(|(i, v)| m[(r, j + 1 + i)] * v).sum();
                let by = dot * 2.0 / square;
                for (i, v) in v.iter().enumerate() {
                    m[(r, j + 1 + i)] -= by * v.conj();
                }
            }
        }
        a.col_mut(j)[j + 2..].fill(c64::default());
    }
}

/// The eigenvalue of the last two rows and columns up to `end` that is nearer to the last element.
fn shift(t: &Matrix<c64>, end: usize) -> c64 {
    let (a, b) = (t[(end - 1, end - 1)], t[(end - 1, end)]);
    let (c, d) = (t[(end, end - 1)], t[(end, end)]);
    let (half, product) = ((a - d) / 2.0, b * c);
    let root = (half * half + product).sqrt();
    let sum = if (half.conj() * root).re >= 0.0 { half + root } else { half - root };
    if sum == c64::default() { d } else { d - product / sum }
}

/// Makes a Hessenberg matrix upper triangular in place by rotations, and turns `z` along.
fn triangularise(t: &mut Matrix<c64>, mut z: Option<&mut Matrix<c64>>) -> Option<()> {
    let scale = t.data.iter().fold(0.0_f64, |m, x| m.max(x.norm()));
    let (mut end, mut steps) = (t.rows.saturating_sub(1), 0);
    while end > 0 {
        let small = |t: &Matrix<c64>, l: usize| {
            let near = t[(l - 1, l - 1)].norm() + t[(l, l)].norm();
            let near = if near == 0.0 { scale } else { near };
            t[(l, l - 1)].norm() <= f64::EPSILON * near
        };
        let start = (1..=end).rev().find(|&l| small(t, l)).unwrap_or(0);
        if start > 0 {
            t[(start, start - 1)] = c64::default();
        }
        if start == end {
            (end, steps) = (end - 1, 0);
            continue;
        }
        steps += 1;
        if steps > STEPS {
            return None;
        }
        let by = match steps % 10 {
            // Another shift, where the usual one goes round in circles.
            0 => t[(end, end)] + t[(end, end - 1)].norm(),
            _ => shift(t, end),
        };
        step(t, z.as_deref_mut(), start, end, by);
    }
    Some(())
}

/// One step of the QR algorithm on the rows and columns from `start` to `end`.
fn step(
    t: &mut Matrix<c64>,
    mut z: Option<&mut Matrix<c64>>,
    start: usize,
    end: usize,
    shift: c64,
) {
    let n = t.rows;
    (start..=end).for_each(|i| t[(i, i)] -= shift);
    let mut rotations = Vec::with_capacity(end - start);
    for k in start..end {
        let (x, y) = (t[(k, k)], t[(k + 1, k)]);
        let norm = x.norm().hypot(y.norm());
        let (c, s) =
            if norm == 0.0 { (c64::new(1.0, 0.0), c64::default()) } else { (x / norm, y / norm) };
        for j in k..n {
            let (x, y) = (t[(k, j)], t[(k + 1, j)]);
            t[(k, j)] = c.conj() * x + s.conj() * y;
            t[(k + 1, j)] = c * y - s * x;
        }
        rotations.push((c, s));
    }
    for (k, &(c, s)) in (start..end).zip(&rotations) {
        let rows = (k + 2).min(end + 1);
        let parts = [(Some(&mut *t), rows), (z.as_deref_mut(), n)];
        for (m, rows) in parts.into_iter().filter_map(|(m, rows)| Some((m?, rows))) {
            let (left, right) = m.two_cols(k, k + 1);
            for (x, y) in left[..rows].iter_mut().zip(right) {
                let (p, q) = (*x, *y);
                *x = p * c + q * s;
                *y = q * c.conj() - p * s.conj();
            }
        }
    }
    (start..=end).for_each(|i| t[(i, i)] += shift);
}

/// The eigenvectors of `z t z*`, for an upper triangular `t`.
fn vectors_of(t: &Matrix<c64>, z: &Matrix<c64>) -> Matrix<c64> {
    let n = t.rows;
    let norm = t.data.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.norm()));
    let mut out = Matrix::zeros(n, n);
    for k in 0..n {
        let mut x = vec![c64::default(); k + 1];
        x[k] = c64::new(1.0, 0.0);
        for i in (0..k).rev() {
            let sum: c64 = (i + 1..=k).map(|j| t[(i, j)] * x[j]).sum();
            let apart = t[(i, i)] - t[(k, k)];
            let least = f64::EPSILON * norm;
            let apart = if apart.norm() < least { c64::new(least, 0.0) } else { apart };
            x[i] = -sum / apart;
            // A matrix without as many vectors makes them grow.
            if x[i].norm() > 1e100 {
                x[i..].iter_mut().for_each(|x| *x /= 1e100);
            }
        }
        let mut v = vec![c64::default(); n];
        for (j, x) in x.iter().enumerate() {
            v.iter_mut().zip(z.col(j)).for_each(|(v, z)| *v += *z * x);
        }
        let length = crate::qr::norm(&v);
        out.col_mut(k).iter_mut().zip(v).for_each(|(out, v)| *out = v / length);
    }
    out
}
