//! Special and random values of registers and memory before an instruction.

use crate::operations::table::{SPECIAL, SPECIAL64};
use ir::testing::Rng;

/// Values of both half-precision formats: zeros, infinities, NaNs, subnormals, the greatest
/// numbers.
const SPECIAL16: [u16; 20] = [
    0, 1, 0x8000, 0x7c00, 0xfc00, 0x7e01, 0x7c01, 0x3c00, 0xbc00, 0x03ff, 0x0400, 0x7bff, 0x7f80,
    0xff80, 0x7fc0, 0x3f80, 0x0080, 0x007f, 0xffff, 0x7fff,
];

fn half(rng: &mut Rng) -> u64 {
    u64::from(SPECIAL16[rng.below(SPECIAL16.len())])
}

/// Returns a value of `bits` bits.
pub(super) fn value(bits: u32, rng: &mut Rng) -> u64 {
    let word = |rng: &mut Rng| u64::from(SPECIAL[rng.below(SPECIAL.len())]);
    match (bits, rng.below(6)) {
        (_, 0) => rng.value(),
        (0..=16, 1) => rng.below(40) as u64,
        (0..=16, 2) => word(rng) & 0xffff,
        (0..=16, _) => half(rng),
        (32, 1) => half(rng) << 16 | half(rng),
        (32, 2) => rng.below(70) as u64,
        (32, _) => word(rng),
        (_, 1) => word(rng) << 32 | word(rng),
        (_, 2) => rng.below(70) as u64,
        _ => SPECIAL64[rng.below(SPECIAL64.len())],
    }
}
