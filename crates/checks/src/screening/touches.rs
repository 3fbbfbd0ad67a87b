//! The words of lines that the lanes of a warp access.

use engine::{RowPattern, ScreenedAccess, ScreenedAddresses, Verdict};
use simt::WarpMask;
use simt::observe::AccessKind;

use super::line::{LANES, Threads, Touch, WORDS};

/// Calls a function for each line that an access reaches, with the line's number, until it refuses.
/// `bits` is the binary logarithm of the bytes of a word.
#[inline]
pub(super) fn touches(
    access: &ScreenedAccess<'_>,
    bits: u32,
    patterns: &mut Vec<Option<Box<WordPattern>>>,
    mut f: impl FnMut(u64, &Touch<'_>) -> Verdict,
) -> Verdict {
    let mut verdict = Verdict::Idle;
    let fine = lines(access, bits, patterns, |number, touch| {
        let one = f(number, touch);
        if one == Verdict::Passed {
            verdict = one;
        }
        one != Verdict::Refused
    });
    if fine { verdict } else { Verdict::Refused }
}

/// Calls a function for each line that an access reaches, until it returns `false`.
#[inline]
fn lines(
    access: &ScreenedAccess<'_>,
    bits: u32,
    patterns: &mut Vec<Option<Box<WordPattern>>>,
    mut f: impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let &ScreenedAccess { first_thread, size, on, .. } = access;
    match access.at {
        ScreenedAddresses::Line { first, stride } => {
            let lane = on.trailing_zeros();
            let at = first.wrapping_add_signed(stride * i64::from(lane));
            let thread = first_thread + lane;
            if stride == 0 {
                let several = if on.is_power_of_two() { 0 } else { u32::MAX };
                return one(at, (size, bits), (thread, several), f);
            }
            if stride == i64::from(size) && size == 1 << bits {
                return adjacent(at >> bits, on >> lane, thread, f);
            }
            let next = (on >> lane).wrapping_add(1);
            if stride == i64::from(size) && size < 1 << bits && next & (on >> lane) == 0 {
                return packed(at, on.count_ones() * size, (size, bits), thread, f);
            }
            let at = std::array::from_fn(|lane| first.wrapping_add_signed(stride * lane as i64));
            each(access, &at, bits, &mut f)
        }
        ScreenedAddresses::Pattern { at, pattern } => {
            if at.is_multiple_of(1 << bits)
                && let Some(words) = words(patterns, pattern, access, bits)
            {
                let low = at.wrapping_add_signed(pattern.low.into()) >> bits;
                return words.touches(low, first_thread, f);
            }
            each(access, &std::array::from_fn(|lane| access.at.of(lane)), bits, &mut f)
        }
        ScreenedAddresses::Each(at) => each(access, at, bits, &mut f),
    }
}

/// Words that lanes access, counted from the first one, of addresses with a pattern.
pub(super) struct WordPattern {
    /// Nothing if the words are too far apart.
    words: u64,
    several: u64,
    /// A lane that accesses each, between those of two lines.
    lanes: [u8; LANES],
}

impl WordPattern {
    fn new(pattern: &RowPattern, access: &ScreenedAccess<'_>, bits: u32) -> Self {
        let mut new = Self { words: 0, several: 0, lanes: [0; LANES] };
        let (size, unit) = (access.size, 1 << bits);
        let fits =
            pattern.high.wrapping_sub(pattern.low) as u32 / unit + size / unit <= 2 * WORDS as u32;
        if !fits || !size.is_multiple_of(unit) {
            return new;
        }
        for lane in WarpMask::from_bits(access.on.into()) {
            let distance = pattern.distances[lane].wrapping_sub(pattern.low) as u32;
            if !distance.is_multiple_of(unit) {
                return Self { words: 0, ..new };
            }
            for word in distance / unit..(distance + size) / unit {
                new.several |= new.words & 1 << word;
                new.words |= 1 << word;
                new.lanes[WORDS + word as usize] = lane as u8;
            }
        }
        new
    }

    /// Does as [`lines`]; the first word has this number.
    #[inline]
    fn touches(
        &self,
        low: u64,
        first_thread: u32,
        mut f: impl FnMut(u64, &Touch<'_>) -> bool,
    ) -> bool {
        let (line, within) = (low / WORDS as u64, (low % WORDS as u64) as u32);
        let [words, several] = [self.words, self.several].map(|all| u128::from(all) << within);
        for next in 0..3 {
            let [words, several] = [words, several].map(|all| (all >> (32 * next)) as u32);
            let from = (32 + 32 * next as u32) - within;
            let threads = Threads::Lanes { lanes: &self.lanes, from, first: first_thread };
            if words != 0 && !f(line + next, &Touch { words, several, threads }) {
                return false;
            }
        }
        true
    }
}

/// Returns the words of a pattern, if they are near each other.
#[inline]
fn words<'p>(
    patterns: &'p mut Vec<Option<Box<WordPattern>>>,
    pattern: &RowPattern,
    access: &ScreenedAccess<'_>,
    bits: u32,
) -> Option<&'p WordPattern> {
    let id = pattern.id as usize;
    if patterns.len() <= id {
        patterns.resize_with(id + 1, || None);
    }
    let new = || Box::new(WordPattern::new(pattern, access, bits));
    let words = patterns[id].get_or_insert_with(new);
    (words.words != 0).then_some(&**words)
}

/// Lanes that access the same words.
#[inline]
fn one(
    at: u64,
    (size, bits): (u32, u32),
    (thread, several): (u32, u32),
    mut f: impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let last = at.saturating_add(u64::from(size.max(1)) - 1) >> bits;
    let mut word = at >> bits;
    // An access has few words.
    while word <= last {
        let within = (word % WORDS as u64) as u32;
        let count = (last - word + 1).min(u64::from(32 - within)) as u32;
        let words = u32::MAX >> (32 - count) << within;
        let threads = [thread as u16; WORDS];
        let threads = Threads::Each(&threads);
        if !f(word / WORDS as u64, &Touch { words, several: words & several, threads }) {
            return false;
        }
        word += u64::from(count);
    }
    true
}

/// Lanes that access parts of words, one after the other.
#[inline]
fn packed(
    at: u64,
    bytes: u32,
    (size, bits): (u32, u32),
    thread: u32,
    mut f: impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let end = at.saturating_add(u64::from(bytes));
    let (first, last) = (at >> bits, (end - 1) >> bits);
    for line in first / WORDS as u64..=last / WORDS as u64 {
        let start = line * WORDS as u64;
        let (low, high) = (first.max(start), last.min(start + WORDS as u64 - 1));
        let words = u32::MAX >> (31 - (high - low)) << (low - start);
        let mut several = words;
        let mut threads = [0; WORDS];
        for word in low..=high {
            let from = (word << bits).max(at) - at;
            let to = ((word + 1) << bits).min(end) - at;
            threads[(word - start) as usize] = (thread + from as u32 / size) as u16;
            if to - from <= u64::from(size) {
                several &= !(1 << (word - start));
            }
        }
        if !f(line, &Touch { words, several, threads: Threads::Each(&threads) }) {
            return false;
        }
    }
    true
}

/// Lanes that access a word each, one after the other.
#[inline]
fn adjacent(word: u64, on: u32, thread: u32, mut f: impl FnMut(u64, &Touch<'_>) -> bool) -> bool {
    let (line, within) = (word / WORDS as u64, (word % WORDS as u64) as u32);
    let first = thread.wrapping_sub(within);
    let threads = Threads::Adjacent(first);
    if !f(line, &Touch { words: on << within, several: 0, threads }) {
        return false;
    }
    let rest = (u64::from(on) << within >> 32) as u32;
    let threads = Threads::Adjacent(first.wrapping_add(32));
    rest == 0 || f(line + 1, &Touch { words: rest, several: 0, threads })
}

/// Lanes with any addresses.
fn each(
    access: &ScreenedAccess<'_>,
    at: &[u64; 32],
    bits: u32,
    f: &mut impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let &ScreenedAccess { size, on, .. } = access;
    let unit = (1 << bits) - 1;
    let aligned = WarpMask::from_bits(on.into()).into_iter().all(|lane| at[lane] & unit == 0);
    if !aligned || u64::from(size) & unit != 0 {
        return by_lane(access, at, bits, f);
    }
    // Words of an access are judged one after the other.
    (0..u64::from(size >> bits)).all(|word| {
        engine::wide(
            #[inline(always)]
            || by_line(access, at, (bits, word), &mut *f),
        )
    })
}

/// Lanes that access a word each: those of each line together.
#[inline(always)]
fn by_line(
    access: &ScreenedAccess<'_>,
    at: &[u64; 32],
    (bits, word): (u32, u64),
    f: &mut impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let &ScreenedAccess { first_thread, kind, on, .. } = access;
    let words: [u64; 32] = std::array::from_fn(|lane| (at[lane] >> bits) + word);
    let within: [u32; 32] = std::array::from_fn(|lane| words[lane] as u32 % WORDS as u32);
    let mut threads = [0; WORDS];
    let mut left = on;
    while left != 0 {
        let line = words[left.trailing_zeros() as usize % 32] / WORDS as u64;
        let (mut same, mut touched) = (0, 0);
        for lane in 0..32 {
            let is = u32::from(words[lane] / WORDS as u64 == line) & left >> lane;
            same |= (is & 1) << lane;
            touched |= (is & 1) << within[lane];
        }
        left &= !same;
        let mut several = 0;
        if kind == AccessKind::Atomic {
            // Whose atomics change a word does not matter.
            let threads = Threads::Adjacent(first_thread);
            if !f(line, &Touch { words: touched, several, threads }) {
                return false;
            }
            continue;
        }
        if same.count_ones() != touched.count_ones() {
            let mut seen = 0u32;
            for lane in WarpMask::from_bits(same.into()) {
                several |= seen & 1 << within[lane];
                seen |= 1 << within[lane];
            }
        }
        for lane in WarpMask::from_bits(same.into()) {
            threads[within[lane] as usize % WORDS] = (first_thread + lane as u32) as u16;
        }
        let touch = Touch { words: touched, several, threads: Threads::Each(&threads) };
        if !f(line, &touch) {
            return false;
        }
    }
    true
}

/// Lanes that access parts of words, or unaligned ones: those that follow each other in a line
/// together.
fn by_lane(
    access: &ScreenedAccess<'_>,
    at: &[u64; 32],
    bits: u32,
    f: &mut impl FnMut(u64, &Touch<'_>) -> bool,
) -> bool {
    let mut threads = [0; WORDS];
    let (mut line, mut words, mut several) = (u64::MAX, 0u32, 0u32);
    for lane in WarpMask::from_bits(access.on.into()) {
        let thread = (access.first_thread + lane as u32) as u16;
        let mut word = at[lane] >> bits;
        let last = at[lane].saturating_add(u64::from(access.size.max(1)) - 1) >> bits;
        while word <= last {
            if word / WORDS as u64 != line {
                let touch = Touch { words, several, threads: Threads::Each(&threads) };
                if words != 0 && !f(line, &touch) {
                    return false;
                }
                (line, words, several) = (word / WORDS as u64, 0, 0);
            }
            let within = (word % WORDS as u64) as usize;
            several |= words & 1 << within;
            words |= 1 << within;
            threads[within] = thread;
            word += 1;
        }
    }
    words == 0 || f(line, &Touch { words, several, threads: Threads::Each(&threads) })
}
