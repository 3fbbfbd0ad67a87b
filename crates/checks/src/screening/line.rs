//! The accesses to 32 words that follow each other, as bits: one step judges all words of a line
//! that a warp accesses.

use engine::Verdict;
use simt::WarpMask;
use simt::observe::AccessKind;
use std::ops::Range;

use super::stamp::{Stamp, THREAD_BITS, Word};

/// Words of a line.
pub(super) const WORDS: usize = 32;

/// Most lines on either side that [`run_around`] looks at.
const MOST_LINES: u64 = 64;

/// Returns the words around one that have a property, by the words of each line that have it.
pub(super) fn run_around(word: u64, mut having: impl FnMut(u64) -> u32) -> Range<u64> {
    let (line, bit) = (word / WORDS as u64, (word % WORDS as u64) as u32);
    let words = having(line);
    let (before, after) = (words << (31 - bit), words >> bit);
    let (mut start, mut end) = (word + 1, word);
    let mut left = before.leading_ones();
    start -= u64::from(left);
    for line in (line.saturating_sub(MOST_LINES)..line).rev() {
        if start % WORDS as u64 != 0 || left == 0 {
            break;
        }
        left = having(line).leading_ones();
        start -= u64::from(left);
    }
    let mut right = after.trailing_ones();
    end += u64::from(right);
    for line in line + 1..line + 1 + MOST_LINES {
        if end % WORDS as u64 != 0 || right == 0 {
            break;
        }
        right = having(line).trailing_ones();
        end += u64::from(right);
    }
    start.min(end)..end
}

/// The bits of a thread's number.
const THREADS: u32 = (1 << THREAD_BITS) - 1;

/// What a warp accesses of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<'a> {
    pub(super) words: u32,
    /// Those that several threads access.
    pub(super) several: u32,
    pub(super) threads: Threads<'a>,
}

/// The words of a pattern, with the words of a line before them and of one after them.
pub(super) const LANES: usize = 4 * WORDS;

/// The threads that access words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threads<'a> {
    /// The first word's number, perhaps below 0; the other words have the next ones.
    Adjacent(u32),
    /// By word.
    Each(&'a [u16; WORDS]),
    /// By word from the number `from` on, the number of the lane after the first.
    Lanes { lanes: &'a [u8; LANES], from: u32, first: u32 },
}

impl Threads<'_> {
    fn of(self, word: usize) -> u32 {
        match self {
            Self::Adjacent(first) => first.wrapping_add(word as u32),
            Self::Each(threads) => threads[word].into(),
            Self::Lanes { lanes, from, first } => {
                first + u32::from(lanes.get(word + from as usize).copied().unwrap_or(0))
            }
        }
    }

    /// Returns those of all words.
    #[inline]
    fn all(self) -> [u16; WORDS] {
        match self {
            Self::Adjacent(first) => {
                std::array::from_fn(|word| (first as u16).wrapping_add(word as u16))
            }
            Self::Each(threads) => *threads,
            Self::Lanes { lanes, from, first } => {
                let lanes = lanes.get(from as usize..).and_then(|rest| rest.first_chunk::<WORDS>());
                lanes.map_or([0; WORDS], |lanes| lanes.map(|lane| first as u16 + u16::from(lane)))
            }
        }
    }
}

/// Returns all bits by word for some words, and none for others.
#[inline]
fn spread(words: u32) -> [u16; WORDS] {
    // Half by half: the vectors that every host has compare 16 bits.
    std::array::from_fn(|word| {
        let half = (words >> (word / 16 * 16)) as u16;
        0u16.wrapping_sub(u16::from(half & 1 << (word % 16) != 0))
    })
}

/// Words by what happened to them.
#[derive(Clone, Copy, Debug, Default)]
struct Accessed {
    written: u32,
    read: u32,
    /// By atomics.
    changed: u32,
}

impl Accessed {
    fn any(self) -> u32 {
        self.written | self.read | self.changed
    }
}

/// What happened to the words of a line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Line {
    /// The block that accesses them, and its phase.
    block: u32,
    phase: u32,
    /// What the block did in its phase; what it did before.
    now: Accessed,
    before: Accessed,
    /// Words that several threads have read in the phase.
    several: u32,
    /// Words that several blocks have accessed: see [`Self::common`], [`Self::counters`],
    /// [`Self::stamped`]. They are in none of the above.
    alike: u32,
    unlike: u32,
    /// Words with contents, and those that the launch has written.
    pub(super) defined: u32,
    pub(super) stored: u32,
    /// Who has written or alone read a word in the phase, as [`Threads::Adjacent`] has it, or
    /// [`APART`].
    first: u32,
    apart: Option<Box<Apart>>,
}

/// Stands for threads that are not adjacent.
const APART: u32 = 1 << 31;

/// What few lines have.
#[derive(Clone, Debug, Default)]
struct Apart {
    threads: [u16; WORDS],
    stamps: Option<Box<[Word; WORDS]>>,
}

impl Line {
    pub(super) const fn new(defined: u32) -> Self {
        const NONE: Accessed = Accessed { written: 0, read: 0, changed: 0 };
        Self {
            block: 0,
            phase: 0,
            now: NONE,
            before: NONE,
            several: 0,
            alike: 0,
            unlike: 0,
            defined,
            stored: 0,
            first: APART,
            apart: None,
        }
    }

    /// Forgets what happened, but not the room for it.
    #[inline]
    pub(super) fn reset(&mut self, defined: u32) {
        let apart = self.apart.take();
        *self = Self { apart, ..Self::new(defined) };
    }

    /// Forgets what happened before a phase.
    #[inline]
    pub(super) fn begin_at(&mut self, phase: u32, defined: u32) {
        if self.phase < phase {
            self.reset(defined);
            self.phase = phase;
        }
    }

    /// Words that several blocks read, and none writes.
    #[inline]
    pub(super) fn common(&self) -> u32 {
        self.alike & !self.unlike
    }

    /// Words that atomics of several blocks change, and nothing else accesses.
    fn counters(&self) -> u32 {
        self.alike & self.unlike
    }

    /// Other words that several blocks have accessed.
    fn stamped(&self) -> u32 {
        self.unlike & !self.alike
    }

    /// Words that several threads have read in a phase of the only block that accesses them.
    pub(super) fn several_in(&self, phase: u32) -> u32 {
        if self.phase == phase { self.several } else { 0 }
    }

    /// Words with contents, unless all that is known is from before a phase.
    pub(super) fn defined_since(&self, phase: u32) -> u32 {
        if self.phase >= phase { self.defined } else { 0 }
    }

    /// Records an access.
    #[inline]
    pub(super) fn access(
        &mut self,
        kind: AccessKind,
        (block, phase): (u32, u32),
        touch: &Touch<'_>,
    ) -> Verdict {
        if kind == AccessKind::Load && touch.words & !self.common() == 0 {
            return Verdict::Idle;
        }
        if (self.block, self.phase) != (block, phase) {
            self.begin(kind, (block, phase), touch);
        } else if kind == AccessKind::Load && touch.words & !(self.common() | self.several) == 0 {
            return Verdict::Idle;
        }
        let fine = match kind {
            AccessKind::Load => self.read(touch),
            AccessKind::Store => self.write(touch),
            AccessKind::Atomic => self.change(touch),
        };
        if fine { Verdict::Passed } else { Verdict::Refused }
    }

    /// Records a read; returns whether nothing is suspicious.
    fn read(&mut self, touch: &Touch<'_>) -> bool {
        let mut words = touch.words & !(self.common() | self.several);
        let others = words & (self.now.changed | self.unlike);
        if others != 0 {
            let fine =
                others & !self.stamped() == 0 && self.by_stamp(AccessKind::Load, others, touch);
            if !fine {
                return false;
            }
            words &= !others;
        }
        let written = words & self.now.written;
        if written != 0 {
            if touch.several & written != 0 || !self.is_of(written, touch) {
                return false;
            }
            words &= !written;
        }
        self.several |= words & touch.several;
        let again = words & self.now.read & !self.several;
        if again != 0 {
            self.several |= self.of_others(again, touch);
        }
        let new = words & !self.now.read;
        self.now.read |= new;
        self.set_threads(new & !touch.several, new, touch);
        true
    }

    fn write(&mut self, touch: &Touch<'_>) -> bool {
        let words = touch.words;
        let refused = self.now.changed | self.several | self.alike;
        if words & refused != 0 || touch.several != 0 {
            return false;
        }
        let others = words & self.stamped();
        if others != 0 && !self.by_stamp(AccessKind::Store, others, touch) {
            return false;
        }
        let words = words & !others;
        let seen = words & (self.now.written | self.now.read);
        if seen != 0 && !self.is_of(seen, touch) {
            return false;
        }
        self.now.written |= words;
        self.set_threads(words & !seen, words & !seen, touch);
        true
    }

    fn change(&mut self, touch: &Touch<'_>) -> bool {
        let words = touch.words & !self.counters();
        if words & (self.now.written | self.now.read | self.common()) != 0 {
            return false;
        }
        let others = words & self.stamped();
        if others != 0 && !self.by_stamp(AccessKind::Atomic, others, touch) {
            return false;
        }
        self.now.changed |= words & !others;
        true
    }

    /// Whether the same threads have accessed words in this phase.
    fn is_of(&self, words: u32, touch: &Touch<'_>) -> bool {
        if let Threads::Adjacent(other) = touch.threads
            && self.first != APART
        {
            return self.first == other;
        }
        let (last, threads, among) = (self.threads().all(), touch.threads.all(), spread(words));
        let differ = |word: usize| (last[word] ^ threads[word]) & among[word];
        (0..WORDS).fold(0, |all, word| all | differ(word)) == 0
    }

    /// The words that other threads have accessed.
    fn of_others(&self, words: u32, touch: &Touch<'_>) -> u32 {
        if let Threads::Adjacent(other) = touch.threads
            && self.first != APART
        {
            return if self.first == other { 0 } else { words };
        }
        let (last, threads) = (self.threads().all(), touch.threads.all());
        let other = |&word: &usize| last[word] != threads[word];
        WarpMask::from_bits(words.into()).into_iter().filter(other).map(|word| 1 << word).sum()
    }

    fn threads(&self) -> Threads<'_> {
        match &self.apart {
            Some(apart) if self.first == APART => Threads::Each(&apart.threads),
            _ => Threads::Adjacent(self.first),
        }
    }

    /// Keeps the threads of `words`, after `new` words were added to those that have one.
    #[inline]
    fn set_threads(&mut self, words: u32, new: u32, touch: &Touch<'_>) {
        if words == 0 {
            return;
        }
        if let Threads::Adjacent(first) = touch.threads {
            let known = (self.now.written | self.now.read) & !new;
            if known == 0 || self.first == first {
                self.first = first;
                return;
            }
        }
        let apart = self.apart.get_or_insert_default();
        if self.first != APART {
            apart.threads = Threads::Adjacent(self.first).all();
            self.first = APART;
        }
        let (threads, among) = (touch.threads.all(), spread(words));
        for (word, last) in apart.threads.iter_mut().enumerate() {
            *last = *last & !among[word] | threads[word] & among[word];
        }
    }

    /// Begins a phase of a block.
    #[inline(never)]
    fn begin(&mut self, kind: AccessKind, (block, phase): (u32, u32), touch: &Touch<'_>) {
        if self.block == block {
            let Accessed { written, read, changed } = std::mem::take(&mut self.now);
            self.before.written |= written;
            self.before.read |= read;
            self.before.changed |= changed;
        } else {
            self.leave(kind, touch);
            (self.now, self.before) = Default::default();
        }
        (self.several, self.first) = (0, APART);
        (self.block, self.phase) = (block, phase);
    }

    /// Keeps what a block did for accesses of others.
    fn leave(&mut self, kind: AccessKind, touch: &Touch<'_>) {
        let (now, before) = (self.now, self.before);
        let all = now.any() | before.any();
        if all == 0 {
            return;
        }
        let read = now.read | before.read;
        if kind == AccessKind::Load && all == read & touch.words {
            let changed = now.written | before.written | now.changed | before.changed;
            if changed == 0 {
                (self.alike, self.unlike) = (self.alike | all, self.unlike & !all);
                return;
            }
        }
        let (first, block, several) = (self.first, self.block, self.several);
        let (this, last) = (self.phase, self.phase.saturating_sub(1));
        let Apart { threads, stamps } = &mut **self.apart.get_or_insert_default();
        let stamps = stamps.get_or_insert_default();
        for word in WarpMask::from_bits(all.into()) {
            let is = |words: u32| words >> word & 1 != 0;
            let thread = match first {
                APART => threads[word].into(),
                first => first.wrapping_add(word as u32) & THREADS,
            };
            let stamp = Stamp::new(block, thread, this);
            let earlier = Stamp::new(block, 0, last);
            let mut write = Stamp::default();
            if is(now.written) {
                write = stamp.weak();
            } else if is(now.changed) {
                write = Stamp::new(block, 0, this).marked();
            } else if is(before.changed) {
                write = earlier.marked();
            } else if is(before.written) {
                write = earlier.weak();
            }
            if is(before.written) && !write.is_none() {
                write = write.weak();
            }
            let mut read = Stamp::default();
            if is(several) {
                read = stamp.marked();
            } else if is(now.read) {
                read = stamp;
            } else if is(before.read) {
                read = earlier;
            }
            stamps[word] = Word { write, read };
        }
        (self.alike, self.unlike) = (self.alike & !all, self.unlike | all);
    }

    /// Judges words that several blocks have accessed.
    #[inline(never)]
    fn by_stamp(&mut self, kind: AccessKind, words: u32, touch: &Touch<'_>) -> bool {
        let (block, phase) = (self.block, self.phase);
        let stamps = self.apart.get_or_insert_default().stamps.get_or_insert_default();
        for word in WarpMask::from_bits(words.into()) {
            let (bit, thread) = (1 << word, touch.threads.of(word));
            let last = &mut stamps[word];
            let mut fine = last.access(kind, Stamp::new(block, thread, phase));
            if touch.several & bit != 0 {
                fine &= last.access(kind, Stamp::new(block, thread ^ 1, phase));
            }
            if !fine {
                return false;
            }
            match kind {
                AccessKind::Load if last.write.is_none() && last.read.is_of_several() => {
                    (self.alike, self.unlike) = (self.alike | bit, self.unlike & !bit);
                }
                AccessKind::Atomic if last.read.is_none() && last.write.is_of_several() => {
                    self.alike |= bit;
                }
                _ => {}
            }
        }
        true
    }
}
