//! Which bits of results depend on undefined bits of sources.
//!
//! A computation is repeated with other values in place of the undefined bits; bits of its results
//! that differ are undefined. So every operation passes on exactly what can be seen to depend on an
//! undefined value: `x & 0` and `x ^ x` are defined. Values are tried that comparisons and masks
//! tell apart: no bits, all bits, and the values of the other sources.

use smallvec::SmallVec;

use super::cta::Bits;

/// Values that are tried for undefined bits, beside those of other sources.
const TRIES: usize = 5;

/// A number that looks arbitrary, the same for the same number.
const fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The value that takes the place of undefined bits in a try; `key` names the source: sources with
/// the same key have the same value.
pub(super) fn tried(attempt: usize, key: u64) -> u64 {
    match attempt {
        0 => 0,
        1 => u64::MAX,
        2 => mix(key),
        3 => !mix(key),
        _ => mix(key ^ 0x5555),
    }
}

/// A source: its value, its undefined bits, and what it is the value of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) value: u64,
    pub(super) bits: u64,
    pub(super) key: u64,
}

/// Returns the values of sources in all tries: for each source a row, whose first word is its own
/// value.
pub(super) fn varied(sources: &[Source]) -> (Vec<u64>, usize) {
    let others: SmallVec<[u64; 8]> = sources.iter().map(|source| source.value).collect();
    let count = 1 + TRIES + others.len();
    let mut rows = Vec::with_capacity(sources.len() * count);
    for source in sources {
        let with = |value: u64| source.value & !source.bits | value & source.bits;
        rows.push(source.value);
        rows.extend((0..TRIES).map(|attempt| with(tried(attempt, source.key))));
        rows.extend(others.iter().map(|&other| with(other)));
    }
    (rows, count)
}

/// Returns the bits in which a row of results differs from its first word.
pub(super) fn differing(row: &[u64]) -> u64 {
    let Some((first, rest)) = row.split_first() else { return 0 };
    rest.iter().fold(0, |bits, other| bits | (first ^ other))
}

/// Repeats a computation of many values with others in place of undefined bits: returns for each
/// result the bits that differ. `run` computes all results from all sources.
pub(super) fn vary(
    values: &[u64],
    undefined: &[Bits],
    run: impl Fn(&[u64]) -> Vec<u64>,
) -> Vec<u64> {
    let first = run(values);
    let mut bits = vec![0; first.len()];
    for attempt in 0..TRIES {
        let with = |(i, (value, undefined)): (usize, (&u64, &Bits))| {
            value & !undefined.bits | tried(attempt, i as u64) & undefined.bits
        };
        let other: Vec<u64> = values.iter().zip(undefined).enumerate().map(with).collect();
        for (bits, (a, b)) in bits.iter_mut().zip(first.iter().zip(run(&other))) {
            *bits |= a ^ b;
        }
    }
    bits
}
