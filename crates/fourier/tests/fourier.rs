//! Transforms against their definition.

use fourier::{FftDirection, TransformKind, transform};
use num_complex::Complex;

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
        let forward =
            transform(data.clone(), &[m, n], TransformKind::Complex, FftDirection::Forward);
        near(&forward, &defined(&data, [m, n], -1.0));
        let inverse =
            transform(data.clone(), &[m, n], TransformKind::Complex, FftDirection::Inverse);
        near(&inverse, &defined(&data, [m, n], 1.0));
        let real: Vec<Complex<f64>> = data.iter().map(|x| Complex::new(x.re, 0.0)).collect();
        let half = transform(real.clone(), &[m, n], TransformKind::Forward, FftDirection::Forward);
        let whole = defined(&real, [m, n], -1.0);
        let expected: Vec<_> = whole.chunks(n).flat_map(|row| row[..n / 2 + 1].to_vec()).collect();
        near(&half, &expected);
        let back = transform(half, &[m, n], TransformKind::Inverse, FftDirection::Inverse);
        let scaled: Vec<_> = real.iter().map(|x| x * (m * n) as f64).collect();
        near(&back, &scaled);
    }
}
