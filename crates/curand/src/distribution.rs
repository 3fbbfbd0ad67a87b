//! From bits to numbers of a distribution, by the formulas of `curand_uniform.h` and
//! `curand_normal.h`.

/// Two to the power of -32.
const INVERSE: f32 = 1.0 / 4_294_967_296.0;

/// Above 0, at most 1.
pub(crate) fn uniform(x: u32) -> f32 {
    x as f32 * INVERSE + INVERSE / 2.0
}

/// Above 0, at most 1, of one number of 32 bits.
pub(crate) fn uniform_of_one(x: u32) -> f64 {
    let inverse = f64::from(INVERSE);
    f64::from(x) * inverse + inverse
}

/// Above 0, at most 1, of 53 bits.
pub(crate) fn uniform_of_two(x: u32, y: u32) -> f64 {
    let z = u64::from(x) ^ u64::from(y) << 21;
    let inverse = 1.0 / (1_u64 << 53) as f64;
    z as f64 * inverse + inverse / 2.0
}

/// Above 0, at most 1, of the upper 53 of 64 bits.
pub(crate) fn uniform_of_long(x: u64) -> f64 {
    let inverse = 1.0 / (1_u64 << 53) as f64;
    (x >> 11) as f64 * inverse + inverse / 2.0
}

/// A normal number of `len` bits, by the inverse of its distribution. The upper half of the numbers
/// are mirrored, so that none loses precision near one.
pub(crate) fn normal_of_bits(bits: u64, len: u32) -> f64 {
    let (half, inverse) = (1_u64 << (len - 1), 1.0 / (1_u64 << len) as f64);
    let (bits, sign) = if bits > half { (2 * half - 1 - bits, 1.0) } else { (bits, -1.0) };
    let p = bits as f64 * inverse + inverse / 2.0;
    sign * std::f64::consts::SQRT_2 * erfc_inverse(2.0 * p)
}

/// The same in single precision, of 32 bits.
pub(crate) fn normal_of_one(bits: u32) -> f32 {
    let (bits, sign) = if bits > 1 << 31 { (u32::MAX - bits, 1.0) } else { (bits, -1.0) };
    let p = uniform(bits);
    sign * std::f32::consts::SQRT_2 * erfc_inverse(f64::from(2.0 * p)) as f32
}

/// The inverse of the complementary error function for `0 < y <= 1`: Halley's method from
/// Winitzki's approximation (2008), which is within 2e-3.
fn erfc_inverse(y: f64) -> f64 {
    let a = 0.147;
    let log = libm::log(y * (2.0 - y));
    let t = 2.0 / (std::f64::consts::PI * a) + log / 2.0;
    let mut x = ((t * t - log / a).sqrt() - t).max(0.0).sqrt();
    for _ in 0..4 {
        // Of the two functions the one that is below a half keeps its precision.
        let error = if y > 0.5 { (1.0 - y) - libm::erf(x) } else { libm::erfc(x) - y };
        let slope = -std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x);
        let step = error / slope;
        x -= step / (1.0 + x * step);
    }
    x
}

/// Two independent normal numbers of a uniform one and an angle (Box and Muller, 1958).
fn box_muller(u: f32, v: f32) -> [f32; 2] {
    let s = (-2.0 * libm::log(u.into()) as f32).sqrt();
    let v = f64::from(v);
    [libm::sin(v) as f32 * s, libm::cos(v) as f32 * s]
}

/// Two normal numbers of two numbers of 32 bits.
pub(crate) fn normal(x: u32, y: u32) -> [f32; 2] {
    let by = INVERSE * std::f32::consts::TAU;
    box_muller(uniform(x), (y as f32).mul_add(by, by / 2.0))
}

/// Two normal numbers of two uniform ones.
pub(crate) fn normal_of_uniform(x: f32, y: f32) -> [f32; 2] {
    box_muller(x, y * std::f32::consts::TAU)
}

/// Two normal numbers of two uniform ones.
pub(crate) fn normal_double(u: f64, v: f64) -> [f64; 2] {
    let s = (-2.0 * libm::log(u)).sqrt();
    let angle = v * 2.0 * std::f64::consts::PI;
    [libm::sin(angle) * s, libm::cos(angle) * s]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_are_above_zero_and_at_most_one() {
        assert_eq!((uniform(0), uniform(u32::MAX)), (INVERSE / 2.0, 1.0));
        assert!(uniform_of_two(0, 0) > 0.0 && uniform_of_two(u32::MAX, u32::MAX) <= 1.0);
        assert_eq!(uniform_of_one(u32::MAX), 1.0);
    }

    #[test]
    fn normal_numbers_invert_the_distribution() {
        for bits in [0, 1, 77, 1 << 20, (1 << 31) - 1, 1 << 31, u32::MAX - 5, u32::MAX] {
            let z = normal_of_bits(bits.into(), 32);
            // Tails keep their precision, so the smaller one is compared.
            let tail = libm::erfc(z.abs() / std::f64::consts::SQRT_2) / 2.0;
            let from = if bits >= 1 << 31 { u32::MAX - bits } else { bits };
            let p = (f64::from(from) + 0.5) / 4_294_967_296.0;
            assert!((tail / p - 1.0).abs() < 1e-13, "{bits}: {tail} {p}");
            assert_eq!(z < 0.0, bits < 1 << 31, "{bits}");
            assert!((f64::from(normal_of_one(bits)) - z).abs() < 1e-6 * z.abs().max(1e-3));
        }
    }

    #[test]
    fn pairs_of_normal_numbers_have_the_radius_of_the_first() {
        for x in [1, 77, 1 << 20, u32::MAX - 5] {
            let [a, b] = normal(x, 123_456_789).map(f64::from);
            let radius = -2.0 * libm::log(uniform(x).into());
            assert!((a * a + b * b - radius).abs() < 1e-5 * radius.max(1e-3), "{x}");
        }
    }
}
