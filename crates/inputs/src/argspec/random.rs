//! Reproducible random contents.
//!
//! Element `i` (flat index in C order, from 0) depends only on the seed and on `i`. Its 64 random
//! bits are output number `i` of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", OOPSLA 2014), started at the seed. All arithmetic is modulo 2^64:
//!
//! ```text
//! z = seed + (i + 1) * 0x9e3779b97f4a7c15
//! z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
//! z = (z ^ (z >> 27)) * 0x94d049bb133111eb
//! z =  z ^ (z >> 31)
//! ```
//!
//! * Floats in `[lo, hi)` (default 0 to 1): `lo + (hi - lo) * ((z >> 11) * 2^-53)` in `f64`, each
//!   operation rounded to nearest even, then rounded to the element type; a result not below `hi`
//!   becomes the next value below `hi`.
//! * Integers in `[lo, hi]` (default: the whole range of the type): `lo + floor(z * (hi - lo + 1) /
//!   2^64)`, exactly.
//!
//! In NumPy, for `f32[n]:random(seed=s,lo=a,hi=b)`:
//!
//! ```text
//! i = np.arange(1, n + 1, dtype=np.uint64)
//! z = np.uint64(s) + i * np.uint64(0x9e3779b97f4a7c15)
//! z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
//! z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
//! z =  z ^ (z >> np.uint64(31))
//! x = (a + (b - a) * ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53)).astype(np.float32)
//! x = np.minimum(x, np.nextafter(np.float32(b), np.float32(-np.inf)))
//! ```
//!
//! If the specification has no seed, [`seed_for`] derives one from the run's seed and the buffer's
//! name, so that the buffers of a run differ and a run with the same seed repeats.

use crate::elem::ElemType;

/// The range of random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Integers from `lo` to `hi`, inclusive.
    Int {
        /// Lower bound.
        lo: i128,
        /// Upper bound.
        hi: i128,
    },
    /// Floats from `lo` to `hi`, without `hi`.
    Float {
        /// Lower bound.
        lo: f64,
        /// Upper bound, exclusive.
        hi: f64,
    },
}

/// Returns 64 random bits for element `index`.
#[must_use]
pub fn bits(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the seed of a buffer without one: the 64-bit FNV-1a hash of its name, exclusive-or the
/// run's seed.
#[must_use]
pub fn seed_for(run_seed: u64, name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash ^ run_seed
}

/// Returns the bit pattern of element `index` of type `ty`. The range has to be of the type's kind
/// and not empty.
#[must_use]
pub fn element(ty: ElemType, range: Range, seed: u64, index: u64) -> u64 {
    let z = bits(seed, index);
    match range {
        Range::Int { lo, hi } => {
            let count = (hi - lo + 1).clamp(1, 1 << 64) as u128;
            // The factors have at most 64 and 65 bits; the largest product, (2^64 - 1) * 2^64, fits
            // 128 bits.
            let offset = (u128::from(z) * count) >> 64;
            ty.wrap(lo + offset as i128)
        }
        Range::Float { lo, hi } => {
            let unit = (z >> 11) as f64 * (0.5_f64).powi(53);
            let rounded = ty.round(lo + (hi - lo) * unit).unwrap_or(0);
            let below = ty.to_f64(rounded).is_some_and(|value| value < hi);
            if below { rounded } else { next_below(ty, hi) }
        }
    }
}

/// Returns the largest value of a float type below `hi`.
fn next_below(ty: ElemType, hi: f64) -> u64 {
    let sign = 1_u64 << (ty.bits() - 1);
    let nearest = ty.round(hi).unwrap_or(0);
    if ty.to_f64(nearest).is_some_and(|value| value < hi) {
        return nearest;
    }
    if nearest & !sign == 0 {
        // The largest value below a zero of either sign is the smallest negative number.
        return sign | 1;
    }
    if nearest & sign == 0 { nearest - 1 } else { nearest + 1 }
}
