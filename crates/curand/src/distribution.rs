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
    fn pairs_of_normal_numbers_have_the_radius_of_the_first() {
        for x in [1, 77, 1 << 20, u32::MAX - 5] {
            let [a, b] = normal(x, 123_456_789).map(f64::from);
            let radius = -2.0 * libm::log(uniform(x).into());
            assert!((a * a + b * b - radius).abs() < 1e-5 * radius.max(1e-3), "{x}");
        }
    }
}
