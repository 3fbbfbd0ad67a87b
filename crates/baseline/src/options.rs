//! Prices of European options.

/// Prices by the formula of Black and Scholes, of options (price, strike, years, volatility).
#[inline(always)]
pub(super) fn price(
    rate: f32,
    [price, strike, years, volatility]: &[Vec<f32>; 4],
    calls: &mut [f32],
    puts: &mut [f32],
) {
    let given = price.iter().zip(strike).zip(years.iter().zip(volatility));
    for (((&s, &k), (&t, &v)), (call, put)) in given.zip(calls.iter_mut().zip(puts)) {
        let deviation = v * t.sqrt();
        let d1 = (ln(s / k) + (rate + 0.5 * v * v) * t) / deviation;
        let d2 = d1 - deviation;
        let discounted = k * exp(-rate * t);
        *call = s * normal(d1) - discounted * normal(d2);
        *put = discounted * normal(-d2) - s * normal(-d1);
    }
}

/// The normal distribution: Abramowitz and Stegun 26.2.17.
#[inline(always)]
fn normal(d: f32) -> f32 {
    let k = 1.0 / 0.231_641_9f32.mul_add(d.abs(), 1.0);
    let series = [1.330_274_4, -1.821_256, 1.781_477_9, -0.356_563_78, 0.319_381_53];
    let sum = series.into_iter().fold(0f32, |sum, c| sum.mul_add(k, c)) * k;
    let tail = 0.398_942_3 * exp(-0.5 * d * d) * sum;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// The exponential function in single precision, by a polynomial on half of an octave (Cephes).
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding this rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.clamp(-87.0, 88.0).mul_add(std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let rest = whole.mul_add(2.121_944_4e-4, whole.mul_add(-0.693_359_4, x.clamp(-87.0, 88.0)));
    let series =
        [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5, 1.0, 1.0];
    let sum = series.into_iter().fold(0f32, |sum, c| sum.mul_add(rest, c));
    sum * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

/// The natural logarithm of a normal number, by a polynomial around 1 (Cephes).
#[inline(always)]
fn ln(x: f32) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    let above = x.to_bits().wrapping_sub(ROOT);
    let octaves = (above as i32 >> 23) as f32;
    let z = f32::from_bits((above & 0x007f_ffff).wrapping_add(ROOT)) - 1.0;
    let series = [
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_99,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_58,
        0.200_007_15,
        -0.249_999_94,
        0.333_333_3,
        -0.5,
        1.0,
        0.0,
    ];
    let sum = series.into_iter().fold(0f32, |sum, c| sum.mul_add(z, c));
    octaves.mul_add(std::f32::consts::LN_2, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_approximate_those_of_the_host() {
        for i in 1..4000 {
            let x = i as f32 * 0.01;
            assert!((ln(x) - x.ln()).abs() < 2e-6 * (1.0 + x.ln().abs()), "ln {x}: {}", ln(x));
            let x = x - 20.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 2e-6, "exp {x}: {}", exp(x));
        }
    }

    #[test]
    fn prices_match_published_values() {
        // Hull, Options, Futures, and Other Derivatives: 42, 40, half a year, 20 %, at 10 %.
        let options = [[42.0], [40.0], [0.5], [0.2]].map(|v| v.to_vec());
        let (mut calls, mut puts) = ([0.0], [0.0]);
        price(0.1, &options, &mut calls, &mut puts);
        assert!((calls[0] - 4.76).abs() < 0.01 && (puts[0] - 0.81).abs() < 0.01);
    }
}
