//! Poisson numbers of uniform ones.

/// Means below this take Knuth's method.
const SMALL: f64 = 16.0;

/// The greatest mean, as cuRAND has it.
pub(crate) const LARGEST: f64 = 400_000.0;

/// Returns a Poisson number.
pub(crate) fn poisson(mean: f64, uniform: &mut impl FnMut() -> f64) -> u32 {
    if mean < SMALL { knuth(mean, uniform) } else { rejection(mean, uniform) }
}

/// Returns the Poisson number of one uniform number, by the inverse of the distribution; for large
/// means by the normal number that `normal` gives.
pub(crate) fn inverse(mean: f64, uniform: f64, normal: impl Fn() -> f64) -> u32 {
    if mean >= 1000.0 {
        return (mean.sqrt() * normal() + mean + 0.5) as u32;
    }
    // The first term of the sum has to be a normal number: the rest of the factor is the other
    // side's.
    let factor = mean.min(700.0);
    let wanted = uniform * libm::exp(mean - factor);
    let (mut term, mut count) = (libm::exp(-factor), 0_u32);
    let mut sum = term;
    while sum < wanted && count < 4000 {
        count += 1;
        term *= mean / f64::from(count);
        sum += term;
    }
    count
}

/// Counts uniform numbers until their product is small (Knuth, The Art of Computer Programming 2).
fn knuth(mean: f64, uniform: &mut impl FnMut() -> f64) -> u32 {
    let limit = libm::exp(-mean);
    let (mut count, mut product) = (0, uniform());
    while product > limit {
        count += 1;
        product *= uniform();
    }
    count
}

/// Transformed rejection, PTRS (Hörmann, 1993).
fn rejection(mean: f64, uniform: &mut impl FnMut() -> f64) -> u32 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse = 1.1239 + 1.1328 / (b - 3.4);
    let accepted = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (uniform() - 0.5, uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
        if us >= 0.07 && v <= accepted {
            return k as u32;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = libm::log(v * inverse / (a / (us * us) + b));
        if left <= k * libm::log(mean) - mean - libm::lgamma(k + 1.0) {
            return k as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Mt19937;

    #[test]
    fn inverted_numbers_have_the_mean_and_variance() {
        for mean in [0.5, 16.0, 690.0, 710.0, 999.0, 1000.0] {
            let n = 20_000;
            let numbers = (0..n).map(|i| {
                let u = (f64::from(i) + 0.5) / f64::from(n);
                let bits = (u * 4_294_967_296.0) as u64;
                f64::from(inverse(mean, u, || crate::distribution::normal_of_bits(bits, 32)))
            });
            let list: Vec<f64> = numbers.collect();
            let average = list.iter().sum::<f64>() / f64::from(n);
            let spread = list.iter().map(|x| (x - average).powi(2)).sum::<f64>() / f64::from(n);
            assert!((average / mean - 1.0).abs() < 1e-3, "{mean}: {average}");
            assert!((spread / mean - 1.0).abs() < 2e-3, "{mean}: {spread}");
        }
    }

    #[test]
    fn mean_and_variance_are_the_parameter() {
        let mut generator = Mt19937::new(1);
        let mut uniform = || (f64::from(generator.next()) + 0.5) / 4_294_967_296.0;
        for mean in [0.5, 10.0, 16.0, 100.0, 3000.0] {
            let n = 20_000;
            let list: Vec<f64> = (0..n).map(|_| poisson(mean, &mut uniform).into()).collect();
            let average = list.iter().sum::<f64>() / f64::from(n);
            let spread = list.iter().map(|x| (x - average).powi(2)).sum::<f64>() / f64::from(n);
            let error = (mean / f64::from(n)).sqrt();
            assert!((average - mean).abs() < 5.0 * error, "{mean}: {average}");
            assert!((spread / mean - 1.0).abs() < 0.06, "{mean}: {spread}");
        }
    }
}
