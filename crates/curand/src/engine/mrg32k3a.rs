//! MRG32k3a: L'Ecuyer's combined multiple recursive generator (Operations Research 47, 1999),
//! seeded as cuRAND's device interface does.

use std::sync::OnceLock;

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

/// The binary logarithm of the distance of subsequences.
const SUBSEQUENCE: u32 = 76;

/// The scale from 1..=M1 to numbers below one.
const NORM: f64 = 2.328_306_549_837_829e-10;

/// The scale from 1..=M1 to all numbers of 32 bits. In the header it has this many digits.
const BITS_NORM: f64 = 1.000_000_048_662;

/// The state of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mrg32k3a {
    first: [u64; 3],
    second: [u64; 3],
}

type Map = [[u64; 3]; 3];

/// One step of the first component, and of the second.
const FIRST: Map = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
const SECOND: Map = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];

fn times(a: &Map, v: [u64; 3], modulus: u64) -> [u64; 3] {
    a.map(|row| row.iter().zip(v).fold(0, |sum, (a, v)| (sum + a * v % modulus) % modulus))
}

fn product(a: &Map, b: &Map, modulus: u64) -> Map {
    let mut out = [[0; 3]; 3];
    for (i, row) in out.iter_mut().enumerate() {
        for (j, out) in row.iter_mut().enumerate() {
            *out = (0..3).fold(0, |sum, k| (sum + a[i][k] * b[k][j] % modulus) % modulus);
        }
    }
    out
}

/// What moves both components on by a subsequence: 4096 of them begin a generator.
fn subsequence() -> &'static [Map; 2] {
    static MAPS: OnceLock<[Map; 2]> = OnceLock::new();
    let power = |map, modulus| (0..SUBSEQUENCE).fold(map, |map, _| product(&map, &map, modulus));
    MAPS.get_or_init(|| [power(FIRST, M1), power(SECOND, M2)])
}

/// Applies a map `count` times.
fn jump(map: Map, mut v: [u64; 3], count: u64, modulus: u64) -> [u64; 3] {
    let (mut power, mut left) = (map, count);
    while left != 0 {
        if left & 1 == 1 {
            v = times(&power, v, modulus);
        }
        power = product(&power, &power, modulus);
        left >>= 1;
    }
    v
}

impl Mrg32k3a {
    /// A generator at the beginning of the first subsequence.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        if seed == 0 {
            return Self { first: [12_345; 3], second: [12_345; 3] };
        }
        let x1 = u64::from(seed as u32 ^ 0x5555_5555);
        let x2 = u64::from((seed >> 32) as u32 ^ 0xaaaa_aaaa);
        let (first, second) = ([x1, x2, x1], [x2, x1, x2]);
        Self { first: first.map(|x| x * 12_345 % M1), second: second.map(|x| x * 12_345 % M2) }
    }

    /// Moves on to the next subsequence.
    pub fn next_subsequence(&mut self) {
        let [first, second] = subsequence();
        self.first = times(first, self.first, M1);
        self.second = times(second, self.second, M2);
    }

    /// Skips numbers.
    pub fn skip(&mut self, count: u64) {
        self.first = jump(FIRST, self.first, count, M1);
        self.second = jump(SECOND, self.second, count, M2);
    }

    /// Returns the next number, from 1 to `M1`.
    fn step(&mut self) -> f64 {
        let [a, b, c] = self.first;
        let p1 = (1_403_580 * b + 810_728 * (M1 - a)) % M1;
        self.first = [b, c, p1];
        let [d, e, f] = self.second;
        let p2 = (527_612 * f + 1_370_589 * (M2 - d)) % M2;
        self.second = [e, f, p2];
        (if p1 <= p2 { p1 + M1 - p2 } else { p1 - p2 }) as f64
    }

    /// Returns the next number of 32 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u32 {
        (self.step() * BITS_NORM) as u32
    }

    /// Returns the next number above 0, at most 1.
    pub fn uniform(&mut self) -> f64 {
        self.step() * NORM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_is_as_many_steps() {
        for count in [0, 1, 2, 31, 1000] {
            let (mut skipped, mut stepped) = (Mrg32k3a::new(5), Mrg32k3a::new(5));
            skipped.skip(count);
            for _ in 0..count {
                stepped.step();
            }
            assert_eq!(skipped, stepped, "{count}");
        }
    }

    #[test]
    fn subsequences_are_as_far_apart_as_they_shall_be() {
        let (mut moved, mut skipped) = (Mrg32k3a::new(5), Mrg32k3a::new(5));
        moved.next_subsequence();
        for _ in 0..1 << (SUBSEQUENCE - 63) {
            skipped.skip(1 << 63);
        }
        assert_eq!(moved, skipped);
    }

    #[test]
    fn the_first_numbers_of_the_authors_program() {
        // L'Ecuyer's program, with all seeds 12345, scales by one over M1 + 1.
        let mut generator = Mrg32k3a::new(0);
        for expected in [0.127_011_122_046_6, 0.318_527_565_396_7, 0.309_186_015_583_3] {
            let number = generator.step() / (M1 + 1) as f64;
            assert!((number - expected).abs() < 1e-12, "{number}");
        }
    }
}
