//! Products and triangular solves.

use linalg::{
    Matrix, Op, Scalar, Triangle, hermitian_full, product, solve_triangular, triangular_full,
};
use proptest::prelude::*;

use crate::{each_type, near, random, times};

const OPS: [Op; 3] = [Op::None, Op::Transpose, Op::Adjoint];

/// The definition.
fn defined<T: Scalar>(alpha: T, a: &Matrix<T>, b: &Matrix<T>, beta: T, c: &Matrix<T>) -> Matrix<T> {
    Matrix::from_fn(a.rows, b.cols, |i, j| {
        let sum: T = (0..a.cols).map(|k| a[(i, k)] * b[(k, j)]).sum();
        alpha * sum + beta * c[(i, j)]
    })
}

fn products<T: Scalar>([m, n, k]: [usize; 3], (op_a, op_b): (Op, Op), seed: u64) {
    let stored = |op, r, c| if op == Op::None { (r, c) } else { (c, r) };
    let ((ar, ac), (br, bc)) = (stored(op_a, m, k), stored(op_b, k, n));
    let (a, b) = (random::<T>(ar, ac, seed), random::<T>(br, bc, seed + 1));
    let c = random::<T>(m, n, seed + 2);
    let (alpha, beta) = (random::<T>(1, 1, seed + 3).data[0], random::<T>(1, 1, seed + 4).data[0]);
    let mut got = c.clone();
    product(alpha, (&a, op_a), (&b, op_b), beta, &mut got);
    near(&got, &defined(alpha, &a.op(op_a), &b.op(op_b), beta, &c), 4.0);
    // With a factor of zero, what was there does not matter.
    let nan = T::from_real(num_traits::Float::nan());
    let mut fresh = Matrix::from_fn(m, n, |_, _| nan);
    product(alpha, (&a, op_a), (&b, op_b), T::zero(), &mut fresh);
    near(&fresh, &defined(alpha, &a.op(op_a), &b.op(op_b), T::zero(), &c), 4.0);
}

fn solves<T: Scalar>(n: usize, half: Triangle, op: Op, unit: bool, seed: u64) {
    let mut a = random::<T>(n, n, seed);
    for x in &mut a.data {
        // Well conditioned also for many rows.
        *x = x.scale(num_traits::NumCast::from(1.0 / n as f64).unwrap());
    }
    for i in 0..n {
        a[(i, i)] += T::one() + T::one();
    }
    let b = random::<T>(n, 3, seed + 1);
    let mut x = b.clone();
    solve_triangular(&a, half, op, unit, &mut x);
    near(&times((&triangular_full(&a, half, unit), op), (&x, Op::None)), &b, 4.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn products_are_as_defined(
        m in 0..30_usize, n in 0..30_usize, k in 0..30_usize,
        ops in (0..3_usize, 0..3_usize), seed in 1..u64::MAX / 2,
    ) {
        each_type!(products([m, n, k], (OPS[ops.0], OPS[ops.1]), seed));
    }

    #[test]
    fn solutions_satisfy_their_systems(
        n in 1..130_usize, lower: bool, op in 0..3_usize, unit: bool, seed in 1..u64::MAX / 2,
    ) {
        let half = if lower { Triangle::Lower } else { Triangle::Upper };
        each_type!(solves(n, half, OPS[op], unit, seed));
    }
}

#[test]
fn the_stored_half_makes_the_whole() {
    let a = random::<linalg::c64>(4, 4, 9);
    for half in [Triangle::Lower, Triangle::Upper] {
        let whole = hermitian_full(&a, half, true);
        assert_eq!(whole, whole.op(Op::Adjoint));
        let symmetric = hermitian_full(&a, half, false);
        assert_eq!(symmetric, symmetric.op(Op::Transpose));
        let (i, j) = if half == Triangle::Lower { (3, 1) } else { (1, 3) };
        assert_eq!((whole[(i, j)], symmetric[(j, i)]), (a[(i, j)], a[(i, j)]));
    }
}

#[test]
fn columns_without_elements_are_not_walked() {
    let wide = Matrix::<f32>::from_fn(0, usize::MAX, |_, _| unreachable!("there is no row"));
    assert_eq!(wide.op(Op::Transpose).rows, usize::MAX);
    assert_eq!(wide.op(Op::Transpose).op(Op::Adjoint), wide);
    let mut copy = wide.clone();
    copy.set_block(0, 0, &wide);
    assert!(copy.data.is_empty());
}
