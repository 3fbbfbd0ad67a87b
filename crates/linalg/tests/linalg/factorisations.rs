//! Factors give back their matrix; bases are orthonormal; values are those of known matrices.

use linalg::{
    Matrix, Op, Scalar, Triangle, apply_q, cholesky, form_q, hermitian_eigen, hermitian_full,
    inverse_of_lu, lu, qr, residual, solve_lu, svd, triangular_full,
};
use num_traits::{NumCast, One, Zero};
use proptest::prelude::*;

use crate::{each_type, near, random, times};

fn orthonormal<T: Scalar>(q: &Matrix<T>) {
    near(&times((q, Op::Adjoint), (q, Op::None)), &Matrix::eye(q.cols, q.cols), 2.0);
}

fn lu_factors<T: Scalar>(m: usize, n: usize, seed: u64) {
    let a = random::<T>(m, n, seed);
    let mut factors = a.clone();
    let (swaps, zero) = lu(&mut factors, true);
    let k = m.min(n);
    assert_eq!((swaps.len(), zero), (k, 0));
    let lower = triangular_full(&factors.block(0, 0, m, k), Triangle::Lower, true);
    let upper = triangular_full(&factors.block(0, 0, k, n), Triangle::Upper, false);
    let mut back = times((&lower, Op::None), (&upper, Op::None));
    for (i, &p) in swaps.iter().enumerate().rev() {
        for j in 0..n {
            back.col_mut(j).swap(i, p);
        }
    }
    near(&back, &a, 8.0);
    // Every multiplier is at most 1: rows were swapped.
    let one: T::Real = One::one();
    let small = |i: usize, j: usize| lower[(i, j)].abs1() <= one + one;
    assert!((0..k).all(|j| (j..m).all(|i| small(i, j))));
}

fn lu_solutions<T: Scalar>(n: usize, seed: u64) {
    let mut a = random::<T>(n, n, seed);
    for i in 0..n {
        a[(i, i)] += T::from_real(NumCast::from(2 * n).unwrap());
    }
    let b = random::<T>(n, 2, seed + 1);
    let mut factors = a.clone();
    let (swaps, _) = lu(&mut factors, true);
    for op in [Op::None, Op::Transpose, Op::Adjoint] {
        let mut x = b.clone();
        solve_lu(&factors, &swaps, op, &mut x);
        near(&times((&a, op), (&x, Op::None)), &b, 8.0);
    }
    let inverse = inverse_of_lu(&factors, &swaps);
    near(&times((&a, Op::None), (&inverse, Op::None)), &Matrix::eye(n, n), 8.0);
}

fn cholesky_factors<T: Scalar>(n: usize, half: Triangle, seed: u64) {
    let root = random::<T>(n, n, seed);
    let mut a = times((&root, Op::None), (&root, Op::Adjoint));
    for i in 0..n {
        a[(i, i)] = T::from_real(a[(i, i)].re() + NumCast::from(n).unwrap());
    }
    let mut factor = a.clone();
    assert_eq!(cholesky(&mut factor, half), 0);
    let l = triangular_full(&factor, half, false);
    let (left, right) =
        if half == Triangle::Lower { (Op::None, Op::Adjoint) } else { (Op::Adjoint, Op::None) };
    near(&times((&l, left), (&l, right)), &a, 2.0 * n as f64);
    // A minor that is not positive definite.
    let k = seed as usize % n;
    a[(k, k)] = T::from_real(-<T::Real as One>::one());
    assert_eq!(cholesky(&mut a, half), k + 1);
}

fn qr_factors<T: Scalar>(m: usize, n: usize, seed: u64) {
    let a = random::<T>(m, n, seed);
    let mut factors = a.clone();
    let taus = qr(&mut factors);
    let k = m.min(n);
    let r = triangular_full(&factors.block(0, 0, k, n), Triangle::Upper, false);
    let q = form_q(&factors, &taus, k);
    orthonormal(&q);
    near(&times((&q, Op::None), (&r, Op::None)), &a, 8.0);
    let mut back = a.clone();
    apply_q(&factors, &taus, Op::Adjoint, &mut back);
    apply_q(&factors, &taus, Op::None, &mut back);
    near(&back, &a, 8.0);
}

fn eigenvectors<T: Scalar>(n: usize, seed: u64) {
    let a = hermitian_full(&random::<T>(n, n, seed), Triangle::Lower, true);
    let (values, vectors) = hermitian_eigen(&a, true).unwrap();
    let vectors = vectors.unwrap();
    assert!(values.windows(2).all(|w| w[0] <= w[1]));
    orthonormal(&vectors);
    let scaled = Matrix::from_fn(n, n, |i, j| vectors[(i, j)].scale(values[j]));
    near(&times((&a, Op::None), (&vectors, Op::None)), &scaled, 2.0 + n as f64);
}

fn singular_vectors<T: Scalar>(m: usize, n: usize, rank: usize, seed: u64) {
    let rank = rank.min(m).min(n);
    let left = random::<T>(m, rank, seed);
    decomposed(&times((&left, Op::None), (&random::<T>(rank, n, seed + 1), Op::None)));
}

/// Columns that are there twice leave columns of rounding errors, which are parallel, too.
fn singular_vectors_of_repeated_columns<T: Scalar>(m: usize, n: usize, seed: u64) {
    let a = random::<T>(m, n, seed);
    decomposed(&Matrix::from_fn(m, n, |i, j| a[(i, j % n.div_ceil(2))]));
}

fn decomposed<T: Scalar>(a: &Matrix<T>) {
    let (m, n) = (a.rows, a.cols);
    let found = svd(a, true).unwrap();
    assert!(found.s.windows(2).all(|w| w[0] >= w[1]));
    assert!(found.s.iter().all(|s| *s >= Zero::zero()));
    orthonormal(&found.u);
    orthonormal(&found.v);
    let scaled = Matrix::from_fn(m, n, |i, j| match found.s.get(j) {
        Some(s) => found.u[(i, j.min(m - 1))].scale(*s),
        None => T::zero(),
    });
    let first = found.v.block(0, 0, n, n);
    near(&times((&scaled, Op::None), (&first, Op::Adjoint)), a, 4.0 * (m + n) as f64);
}

/// What the largest values leave has the norm of the others (Eckart and Young, 1936).
#[test]
fn residuals_are_those_of_the_values_left_out() {
    let a: Matrix<f64> = random(9, 5, 7);
    let found = svd(&a, false).unwrap();
    for kept in 0..=5 {
        let rest = residual(&a, &found.u, &found.s[..kept], &found.v);
        let expected = found.s[kept..].iter().map(|s| s * s).sum::<f64>().sqrt();
        assert!((rest - expected).abs() < 1e-13, "{kept}: {rest} {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn factors_of_lu(m in 1..80_usize, n in 1..80_usize, seed in 1..u64::MAX / 2) {
        each_type!(lu_factors(m, n, seed));
    }

    #[test]
    fn solutions_of_lu(n in 1..70_usize, seed in 1..u64::MAX / 2) {
        each_type!(lu_solutions(n, seed));
    }

    #[test]
    fn factors_of_cholesky(n in 1..80_usize, lower: bool, seed in 1..u64::MAX / 2) {
        let half = if lower { Triangle::Lower } else { Triangle::Upper };
        each_type!(cholesky_factors(n, half, seed));
    }

    #[test]
    fn factors_of_qr(m in 1..60_usize, n in 1..60_usize, seed in 1..u64::MAX / 2) {
        each_type!(qr_factors(m, n, seed));
    }

    #[test]
    fn eigenvectors_of_hermitian_matrices(n in 1..50_usize, seed in 1..u64::MAX / 2) {
        each_type!(eigenvectors(n, seed));
    }

    #[test]
    fn singular_vectors_of_any_rank(
        m in 1..40_usize, n in 1..40_usize, rank in 0..40_usize, seed in 1..u64::MAX / 2,
    ) {
        each_type!(singular_vectors(m, n, rank, seed));
    }
}

#[test]
fn singular_vectors_of_columns_that_repeat() {
    for seed in 1..60 {
        let (m, n) = (10 + seed % 29, 8 + seed % 23);
        each_type!(singular_vectors_of_repeated_columns(m, n, seed as u64));
    }
}

#[test]
fn singular_matrices_are_told() {
    let mut a = Matrix::new(3, 3, vec![1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.5, 0.25, 1.0]);
    // The second column is twice the first.
    assert_eq!(lu(&mut a, true).1, 2);
    let mut zero: Matrix<f32> = Matrix::zeros(2, 2);
    assert_eq!(lu(&mut zero, true).1, 1);
}

#[test]
fn known_eigenvalues() {
    // Second differences: 2 - 2 cos(k pi / (n + 1)).
    let n = 40;
    let a = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    });
    let (values, none): (Vec<f64>, _) = hermitian_eigen(&a, false).unwrap();
    assert_eq!(none, None);
    for (k, value) in values.iter().enumerate() {
        let angle = (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
        assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14, "{k}: {value}");
    }
}

#[test]
fn numbers_that_are_not_finite_do_not_converge() {
    let a = Matrix::new(2, 2, vec![1.0, f64::NAN, 0.0, 1.0]);
    assert!(hermitian_eigen(&a, true).is_none() && svd(&a, true).is_none());
    let extreme = Matrix::new(2, 2, vec![1e300, 0.0, 0.0, -1e300]);
    assert_eq!(hermitian_eigen(&extreme, false).unwrap().0, [-1e300, 1e300]);
    assert_eq!(svd(&extreme, false).unwrap().s, [1e300, 1e300]);
}
