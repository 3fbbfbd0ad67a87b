//! MT19937, the Mersenne Twister (Matsumoto and Nishimura, ACM TOMACS 8, 1998), with the
//! initialisation of 2002.

const N: usize = 624;
const M: usize = 397;

/// The state of a generator.
#[derive(Clone, Debug)]
pub struct Mt19937 {
    state: Vec<u32>,
    at: usize,
}

impl Mt19937 {
    /// A generator at its beginning.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = vec![seed];
        for i in 1..N as u32 {
            let last = state[i as usize - 1];
            state.push((last ^ last >> 30).wrapping_mul(1_812_433_253).wrapping_add(i));
        }
        Self { state, at: N }
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = self.state[i] & 0x8000_0000 | self.state[(i + 1) % N] & 0x7fff_ffff;
            let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ y >> 1 ^ twist;
        }
        self.at = 0;
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u32 {
        if self.at == N {
            self.refill();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_tenthousandth_number() {
        // C++'s [rand.predef] requires it of std::mt19937.
        let mut generator = Mt19937::new(5489);
        let last = (0..10_000).map(|_| generator.next()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
