//! Transforms along each axis.

use culibs::device::{Rows, zeroed};
use culibs::{Number, Outcome, size};
use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::layout::{Kind, Layout, Side};

/// A type to transform in.
pub(crate) trait Precision: FftNum + Number {
    /// Returns the transform of a length, made once.
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

/// Transforms one dense array: the sizes of the real or complex data, and its elements.
fn one<T: Precision>(
    mut data: Vec<Complex<T>>,
    sizes: &[usize],
    kind: Kind,
    direction: FftDirection,
) -> Vec<Complex<T>> {
    let last = sizes.len() - 1;
    let (n, half) = (sizes[last], sizes[last] / 2 + 1);
    let mut halved = sizes.to_vec();
    halved[last] = half;
    match kind {
        Kind::Complex => {
            along(&mut data, sizes, last, direction);
            along_others(&mut data, sizes, direction);
            data
        }
        Kind::Forward => {
            along(&mut data, sizes, last, FftDirection::Forward);
            let rows = data.chunks_exact(n);
            let mut spectrum: Vec<Complex<T>> =
                rows.flat_map(|row| row[..half].iter().copied()).collect();
            along_others(&mut spectrum, &halved, FftDirection::Forward);
            spectrum
        }
        Kind::Inverse => {
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

/// Runs a transform from one address to another; this is work.
pub(crate) fn run<T: Precision>(layout: &Layout, from: u64, to: u64, inverse: bool) -> Outcome
where
    Complex<T>: Number,
{
    let in_place = from == to;
    let (input, output) = (layout.side(true, in_place)?, layout.side(false, in_place)?);
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let source: Vec<Complex<T>> = input.dtype.read(whole(&input, from, layout.batches)?)?;
    let rows = whole(&output, to, layout.batches)?;
    let mut target: Vec<Complex<T>> = match output.is_dense(layout.batches) {
        true => zeroed(size(&[rows.width])?)?,
        // What is between the elements stays.
        false => output.dtype.read(rows)?,
    };
    for batch in 0..layout.batches {
        let mut data = Vec::with_capacity(layout.sizes.iter().product());
        let len = input.sizes[input.sizes.len() - 1];
        for start in input.rows(batch) {
            data.extend((0..len).map(|i| source[start + i * input.stride()]));
        }
        let done = one(data, &layout.sizes, layout.types.kind, direction);
        let len = output.sizes[output.sizes.len() - 1];
        for (start, row) in output.rows(batch).into_iter().zip(done.chunks_exact(len)) {
            for (i, x) in row.iter().enumerate() {
                target[start + i * output.stride()] = *x;
            }
        }
    }
    output.dtype.write(rows, &target)
}

fn whole(side: &Side, at: u64, batches: usize) -> Outcome<Rows> {
    Ok(Rows::flat(at, side.span(batches)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, in `f64`.
    fn defined(data: &[Complex<f64>], sizes: [usize; 2], sign: f64) -> Vec<Complex<f64>> {
        let [m, n] = sizes;
        let mut out = Vec::new();
        for (p, q) in (0..m).flat_map(|p| (0..n).map(move |q| (p, q))) {
            let mut sum = Complex::new(0.0, 0.0);
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let turns = (p * i) as f64 / m as f64 + (q * j) as f64 / n as f64;
                sum += data[i * n + j] * Complex::cis(sign * std::f64::consts::TAU * turns);
            }
            out.push(sum);
        }
        out
    }

    fn near(a: &[Complex<f64>], b: &[Complex<f64>]) {
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-11), "{a:?} {b:?}");
    }

    #[test]
    fn two_axes_are_as_defined() {
        for [m, n] in [[1, 1], [3, 4], [4, 5], [2, 7]] {
            let data: Vec<Complex<f64>> =
                (0..m * n).map(|i| Complex::new((i * i % 7) as f64, (i % 3) as f64)).collect();
            let forward = one(data.clone(), &[m, n], Kind::Complex, FftDirection::Forward);
            near(&forward, &defined(&data, [m, n], -1.0));
            let inverse = one(data.clone(), &[m, n], Kind::Complex, FftDirection::Inverse);
            near(&inverse, &defined(&data, [m, n], 1.0));
            let real: Vec<Complex<f64>> = data.iter().map(|x| Complex::new(x.re, 0.0)).collect();
            let half = one(real.clone(), &[m, n], Kind::Forward, FftDirection::Forward);
            let whole = defined(&real, [m, n], -1.0);
            let expected: Vec<_> =
                whole.chunks(n).flat_map(|row| row[..n / 2 + 1].to_vec()).collect();
            near(&half, &expected);
            let back = one(half, &[m, n], Kind::Inverse, FftDirection::Inverse);
            let scaled: Vec<_> = real.iter().map(|x| x * (m * n) as f64).collect();
            near(&back, &scaled);
        }
    }
}
