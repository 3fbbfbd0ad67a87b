//! Random contents that any program can reproduce.
//!
//! Element `i` (flat index in C order, from 0) depends on the seed and on `i` alone. Its 64 random bits are output number `i`
//! of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) started at the
//! seed. All arithmetic is modulo 2^64:
//!
//! ```text
//! z = seed + (i + 1) * 0x9e3779b97f4a7c15
//! z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
//! z = (z ^ (z >> 27)) * 0x94d049bb133111eb
//! z =  z ^ (z >> 31)
//! ```
//!
//! * Floats in `[lo, hi)` (default 0 to 1): `lo + (hi - lo) * ((z >> 11) * 2^-53)` in `f64`, each operation rounded to
//!   nearest even, then rounded to the element type; a result not below `hi` becomes the next value below `hi`.
//! * Integers in `[lo, hi]` (default: all that the type has): `lo + floor(z * (hi - lo + 1) / 2^64)`, exactly.
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
//! A specification that names no seed gets one from the run's seed and the buffer's name ([`seed_for`]), so that two buffers
//! of a run differ and a run with the same seed repeats.

use crate::elem::ElemType;

/// Where random numbers lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Integers from `lo` to `hi`, both included.
    Int {
        /// Smallest.
        lo: i128,
        /// Largest.
        hi: i128,
    },
    /// Floats from `lo` to below `hi`.
    Float {
        /// Smallest.
        lo: f64,
        /// Upper bound, not reached.
        hi: f64,
    },
}

/// 64 random bits for element `index`.
#[must_use]
pub fn bits(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of a buffer that names none: FNV-1a of its name (64 bits), exclusive-or the run's seed.
#[must_use]
pub fn seed_for(run_seed: u64, name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash ^ run_seed
}

/// Bit pattern of element `index` of type `ty`; the range is of the type's kind and not empty.
#[must_use]
pub fn element(ty: ElemType, range: Range, seed: u64, index: u64) -> u64 {
    let z = bits(seed, index);
    match range {
        Range::Int { lo, hi } => {
            let count = (hi - lo + 1).clamp(1, 1 << 64) as u128;
            // At most 64 bits times 65 bits shifted down by 64: the product needs up to 2^128 - 2^64, which fits.
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

/// The largest value of a float type that is below `hi`.
fn next_below(ty: ElemType, hi: f64) -> u64 {
    let sign = 1_u64 << (ty.bits() - 1);
    let nearest = ty.round(hi).unwrap_or(0);
    if ty.to_f64(nearest).is_some_and(|value| value < hi) {
        return nearest;
    }
    if nearest & !sign == 0 {
        // Below zero of either sign comes the smallest negative value.
        return sign | 1;
    }
    if nearest & sign == 0 { nearest - 1 } else { nearest + 1 }
}
