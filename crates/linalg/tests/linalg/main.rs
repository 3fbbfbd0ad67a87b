//! Factorisations and products against their definitions, in sums of `f64` and of numbers twice as
//! long.

mod factorisations;
mod products;

use linalg::{Matrix, Op, Scalar, product};
use num_traits::{Float, NumCast};

/// Numbers between -1 and 1 from a seed, without a pattern.
pub(crate) fn random<T: Scalar>(rows: usize, cols: usize, seed: u64) -> Matrix<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let mut part = || <T::Real as NumCast>::from(next()).unwrap();
    let data = (0..rows * cols).map(|_| T::from_parts(part(), part())).collect();
    Matrix::new(rows, cols, data)
}

/// `op(a) op(b)`.
pub(crate) fn times<T: Scalar>(a: (&Matrix<T>, Op), b: (&Matrix<T>, Op)) -> Matrix<T> {
    let rows = if a.1 == Op::None { a.0.rows } else { a.0.cols };
    let cols = if b.1 == Op::None { b.0.cols } else { b.0.rows };
    let mut c = Matrix::zeros(rows, cols);
    product(T::one(), a, b, T::zero(), &mut c);
    c
}

/// Checks that two matrices differ by rounding alone.
pub(crate) fn near<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>, scale: f64) {
    assert_eq!((a.rows, a.cols), (b.rows, b.cols));
    let eps: f64 = NumCast::from(T::Real::epsilon()).unwrap();
    let bound = scale * eps * 16.0 * (a.rows + a.cols + 2) as f64;
    for (x, y) in a.data.iter().zip(&b.data) {
        let error: f64 = NumCast::from((*x - *y).modulus()).unwrap();
        assert!(error <= bound, "{x:?} {y:?}: {error:e} over {bound:e}");
    }
}

/// Runs a check for each of the four types.
macro_rules! each_type {
    ($check:ident($($arg:expr),*)) => {
        $check::<f32>($($arg),*);
        $check::<f64>($($arg),*);
        $check::<linalg::c32>($($arg),*);
        $check::<linalg::c64>($($arg),*);
    };
}
pub(crate) use each_type;
