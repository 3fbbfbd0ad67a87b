//! Discrete Fourier transforms of dense arrays of several axes on host memory, by `rustfft`.
//!
//! Plans of both precisions are compiled here, apart from the libraries that offer them.

use num_complex::Complex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use rustfft::FftDirection;

/// What a transform takes and yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformKind {
    /// Complex numbers, in the given direction.
    Complex,
    /// Real numbers, whose spectrum has half of the last axis.
    Forward,
    /// Such a spectrum, to real numbers.
    Inverse,
}

/// The precision of a transform.
pub trait Precision: FftNum {
    /// Returns the transform of a length; the process makes each one once.
    fn plan(len: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
}

macro_rules! precision {
    ($($ty:ty)+) => {$(
        impl Precision for $ty {
            fn plan(len: usize, direction: FftDirection) -> Arc<dyn Fft<Self>> {
                static PLANNER: OnceLock<Mutex<FftPlanner<$ty>>> = OnceLock::new();
                let planner = PLANNER.get_or_init(|| Mutex::new(FftPlanner::new()));
                planner.lock().unwrap_or_else(PoisonError::into_inner).plan_fft(len, direction)
            }
        }
    )+};
}

precision! { f32 f64 }

/// Transforms in place along an axis of a dense array.
fn along<T: Precision>(data: &mut [Complex<T>], sizes: &[usize], axis: usize, to: FftDirection) {
    let (len, inner) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
    let fft = T::plan(len, to);
    if inner == 1 {
        fft.process(data);
        return;
    }
    let mut row = vec![Complex::new(T::zero(), T::zero()); len];
    for block in data.chunks_exact_mut(len * inner) {
        for offset in 0..inner {
            for (i, x) in row.iter_mut().enumerate() {
                *x = block[i * inner + offset];
            }
            fft.process(&mut row);
            for (i, x) in row.iter().enumerate() {
                block[i * inner + offset] = *x;
            }
        }
    }
}

/// Transforms all axes but the last.
fn along_others<T: Precision>(data: &mut [Complex<T>], sizes: &[usize], to: FftDirection) {
    for axis in 0..sizes.len() - 1 {
        along(data, sizes, axis, to);
    }
}

/// Transforms a dense array along all axes; results are not scaled.
///
/// `sizes` are those of the real or complex data, at least one, none 0. A spectrum of real numbers
/// has `sizes[last] / 2 + 1` elements along its last axis. `direction` counts for
/// [`TransformKind::Complex`] alone. Real numbers are elements without imaginary parts.
///
/// # Panics
/// Panics if `data` does not have as many elements as the sizes tell.
#[must_use]
pub fn transform<T: Precision>(
    mut data: Vec<Complex<T>>,
    sizes: &[usize],
    kind: TransformKind,
    direction: FftDirection,
) -> Vec<Complex<T>> {
    let last = sizes.len() - 1;
    let (n, half) = (sizes[last], sizes[last] / 2 + 1);
    let mut halved = sizes.to_vec();
    halved[last] = half;
    match kind {
        TransformKind::Complex => {
            along(&mut data, sizes, last, direction);
            along_others(&mut data, sizes, direction);
            data
        }
        TransformKind::Forward => {
            along(&mut data, sizes, last, FftDirection::Forward);
            let rows = data.chunks_exact(n);
            let mut spectrum: Vec<Complex<T>> =
                rows.flat_map(|row| row[..half].iter().copied()).collect();
            along_others(&mut spectrum, &halved, FftDirection::Forward);
            spectrum
        }
        TransformKind::Inverse => {
            along_others(&mut data, &halved, FftDirection::Inverse);
            let mut whole = Vec::with_capacity(data.len() / half * n);
            for row in data.chunks_exact(half) {
                // The other half of a real signal's spectrum is the conjugate; what has none is
                // real.
                let real = |x: Complex<T>| Complex::new(x.re, T::zero());
                whole.push(real(row[0]));
                for k in 1..n {
                    whole.push(match 2 * k {
                        double if double < n => row[k],
                        double if double == n => real(row[k]),
                        _ => row[n - k].conj(),
                    });
                }
            }
            along(&mut whole, sizes, last, FftDirection::Inverse);
            whole
        }
    }
}
