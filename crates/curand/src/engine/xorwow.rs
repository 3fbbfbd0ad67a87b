//! XORWOW: Marsaglia's xorshift of 160 bits with a Weyl sequence (Journal of Statistical Software
//! 8, 2003), seeded as cuRAND's device interface does. Skipping is a power of the linear map of
//! the 160 bits.

use std::sync::OnceLock;

/// The binary logarithm of the distance of subsequences.
const SUBSEQUENCE: usize = 67;

/// What the Weyl sequence grows by.
const WEYL: u32 = 362_437;

/// The state of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xorwow {
    bits: [u32; 5],
    weyl: u32,
}

/// A linear map of 160 bits: the image of each unit vector.
type Map = [[u32; 5]; 160];

fn step(v: [u32; 5]) -> [u32; 5] {
    let t = v[0] ^ v[0] >> 2;
    [v[1], v[2], v[3], v[4], v[4] ^ v[4] << 4 ^ t ^ t << 1]
}

fn apply(map: &Map, v: [u32; 5]) -> [u32; 5] {
    let mut out = [0; 5];
    for (word, mut bits) in v.into_iter().enumerate() {
        while bits != 0 {
            let image = map[word * 32 + bits.trailing_zeros() as usize];
            bits &= bits - 1;
            for (out, image) in out.iter_mut().zip(image) {
                *out ^= image;
            }
        }
    }
    out
}

/// The maps of 1, 2, 4, ... steps, up to the distance of two subsequences and beyond.
fn powers() -> &'static [Map] {
    static POWERS: OnceLock<Vec<Map>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let mut map = [[0; 5]; 160];
        for (i, image) in map.iter_mut().enumerate() {
            let mut unit = [0; 5];
            unit[i / 32] = 1 << (i % 32);
            *image = step(unit);
        }
        let mut powers = vec![map];
        for i in 0..SUBSEQUENCE + 32 {
            let last = &powers[i];
            powers.push(last.map(|image| apply(last, image)));
        }
        powers
    })
}

impl Xorwow {
    /// A generator at the beginning of a subsequence.
    #[must_use]
    pub fn new(seed: u64, subsequence: u32) -> Self {
        let s0 = seed as u32 ^ 0xaad2_6b49;
        let s1 = (seed >> 32) as u32 ^ 0xf7dc_efdd;
        let (t0, t1) = (s0.wrapping_mul(1_099_087_573), s1.wrapping_mul(2_591_861_531));
        let bits = [
            123_456_789_u32.wrapping_add(t0),
            362_436_069 ^ t0,
            521_288_629_u32.wrapping_add(t1),
            88_675_123 ^ t1,
            5_783_321_u32.wrapping_add(t0),
        ];
        let weyl = 6_615_241_u32.wrapping_add(t1).wrapping_add(t0);
        let mut new = Self { bits, weyl };
        new.jump(subsequence.into(), SUBSEQUENCE);
        new
    }

    /// Skips `count` times two to the power of `log2` steps of the linear map.
    fn jump(&mut self, count: u64, log2: usize) {
        for i in (0..64).filter(|i| count >> i & 1 == 1) {
            self.bits = apply(&powers()[log2 + i], self.bits);
        }
    }

    /// Moves on to the next subsequence. Its distance is a multiple of the Weyl sequence's period.
    pub fn next_subsequence(&mut self) {
        self.jump(1, SUBSEQUENCE);
    }

    /// Skips numbers.
    pub fn skip(&mut self, count: u64) {
        self.jump(count, 0);
        self.weyl = self.weyl.wrapping_add((count as u32).wrapping_mul(WEYL));
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u32 {
        self.bits = step(self.bits);
        self.weyl = self.weyl.wrapping_add(WEYL);
        self.bits[4].wrapping_add(self.weyl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_is_as_many_steps() {
        for count in [0, 1, 2, 31, 1000] {
            let (mut skipped, mut stepped) = (Xorwow::new(99, 0), Xorwow::new(99, 0));
            skipped.skip(count);
            for _ in 0..count {
                stepped.next();
            }
            assert_eq!(skipped, stepped, "{count}");
        }
    }

    #[test]
    fn subsequences_follow_each_other() {
        let mut first = Xorwow::new(7, 3);
        first.next_subsequence();
        assert_eq!(first, Xorwow::new(7, 4));
        // Two to the power of 67 steps, as 16 times two to the power of 63.
        let mut stepped = Xorwow::new(7, 0);
        for _ in 0..16 {
            stepped.skip(1 << 63);
        }
        assert_eq!(stepped, Xorwow::new(7, 1));
    }
}
