//! Operands that reach the corners: every special encoding, neighbours of powers of two, and random
//! bits of several shapes, from a fixed seed.

use simt::arith::Format;

/// A small deterministic generator (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// An encoding of the format, of one of several shapes; upper bits are noise that must be
    /// ignored.
    pub(crate) fn float<F: Format>(&mut self) -> u64 {
        let fraction_mask = (1u64 << F::FRACTION_BITS) - 1;
        let exponent_mask = (1u64 << F::EXPONENT_BITS) - 1;
        let r = self.next();
        let fraction = match r % 5 {
            0 => self.next() & fraction_mask,
            1 => 0u64.wrapping_sub(1 << self.below(u64::from(F::PRECISION))) & fraction_mask,
            2 => (1 << self.below(u64::from(F::PRECISION))) & fraction_mask,
            3 => self.below(4) & fraction_mask,
            _ => 0u64.wrapping_sub(1 + self.below(4)) & fraction_mask,
        };
        let exponent = match r / 5 % 4 {
            0 => self.next(),
            1 => (F::BIAS as u64).wrapping_add(self.below(9)).wrapping_sub(4),
            2 => self.below(3),
            _ => exponent_mask.wrapping_sub(self.below(3)),
        } & exponent_mask;
        let sign = self.next() & 1;
        let bits = (sign << F::EXPONENT_BITS | exponent) << F::FRACTION_BITS | fraction;
        bits << F::PAD_BITS | if F::BITS < 64 { self.next() << F::BITS } else { 0 }
    }

    /// Three operands that may cancel or meet near a tie.
    pub(crate) fn triple<F: Format>(&mut self) -> [u64; 3] {
        let [a, b, mut c] = [self.float::<F>(), self.float::<F>(), self.float::<F>()];
        if self.below(4) == 0 {
            // An addend near minus the product: cancellation.
            let product = simt::arith::soft::mul::<F>(a, b, simt::arith::FpEnv::PTX).0;
            c = (product ^ F::SIGN).wrapping_add(self.below(5)).wrapping_sub(2);
        }
        [a, b, c]
    }
}

/// Encodings that every operation is tried on in all combinations.
pub(crate) fn special<F: Format>() -> Vec<u64> {
    let unit = 1u64 << F::PAD_BITS;
    let magnitudes = [
        0,
        unit,
        2 * unit,
        3 * unit,
        F::MIN_NORMAL / 2,
        F::MIN_NORMAL - unit,
        F::MIN_NORMAL,
        F::MIN_NORMAL + unit,
        2 * F::MIN_NORMAL,
        F::ONE - unit,
        F::ONE,
        F::ONE + unit,
        F::ONE + F::MIN_NORMAL / 2,
        F::ONE + F::MIN_NORMAL,
        F::MAX_FINITE - unit,
        F::MAX_FINITE,
        F::INFINITY,
        F::INFINITY | unit,
        F::INFINITY | F::QUIET,
        F::MAGNITUDE,
    ];
    magnitudes.iter().flat_map(|&m| [m, m | F::SIGN]).collect()
}
