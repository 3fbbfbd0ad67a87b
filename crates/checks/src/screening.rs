//! Judges accesses of launches that run without events.
//!
//! The barriers of a block part its launch into phases. In a launch that is not suspicious, a word
//! that a thread writes is accessed by no other thread in the same phase, and by no other block,
//! except where all of these accesses are atomics; and nothing is read that nobody has written.
//! Such a launch has no race by the memory model of PTX, whatever fences and atomics order besides,
//! and no undefined value anywhere. Other launches need not have a defect.
//!
//! For each word, the last write and the last read are kept, as HiRace (Jacobson, Burtscher and
//! Gopalakrishnan, SC 2024) keeps the state of an address.

use std::ops::RangeInclusive;

use engine::{ScreenedAccess, ScreenedLaunch};
use findings::{Check, CheckSet};
use rustc_hash::FxHashMap;
use simt::WarpMask;
use simt::observe::{AccessKind, Order, Scope, Space};
use vm::UndefinedMemory;

/// Bytes of a page of global memory.
const PAGE: u64 = 4096;

/// Most pages of global memory that are followed: 256 MiB.
const MOST_PAGES: usize = 1 << 16;

/// Most words of these, which take 1 GiB of the host.
const MOST_WORDS: usize = 1 << 26;

/// Most bytes of local memory of a block that are followed.
const MOST_LOCAL: usize = 16 << 20;

/// Bits of a number of a phase, and of a thread in its block.
const PHASE_BITS: u32 = 19;
const THREAD_BITS: u32 = 11;

/// Phases of a block, and of blocks that use the same words one after the other.
const MOST_PHASES: u64 = 1 << PHASE_BITS;

/// Stands for several blocks.
const SEVERAL: u64 = u32::MAX as u64;

/// Who accesses a word, and when: the phase (from 1), then the thread, the block, and two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp(u64);

impl Stamp {
    const MARK: u64 = 1 << 63;
    /// Of writes: one of the block was no atomic.
    const WEAK: u64 = 1 << 62;
    const BLOCK: u64 = SEVERAL << (PHASE_BITS + THREAD_BITS);

    fn new(block: u64, thread: u32, phase: u64) -> Self {
        Self(block << (PHASE_BITS + THREAD_BITS) | u64::from(thread) << PHASE_BITS | phase)
    }

    fn is_none(self) -> bool {
        self.0 == 0
    }

    fn phase(self) -> u64 {
        self.0 & (MOST_PHASES - 1)
    }

    fn block(self) -> u64 {
        (self.0 & Self::BLOCK) >> (PHASE_BITS + THREAD_BITS)
    }

    fn is_marked(self) -> bool {
        self.0 & Self::MARK != 0
    }

    fn marked(self) -> Self {
        Self(self.0 | Self::MARK)
    }

    fn weak(self) -> Self {
        Self(self.0 | Self::WEAK)
    }

    fn is_weak(self) -> bool {
        self.0 & Self::WEAK != 0
    }

    fn of_several(self) -> Self {
        Self(self.0 | Self::BLOCK)
    }

    /// Returns whether an access of this stamp happens before one of another.
    fn is_before(self, now: Self) -> bool {
        let same = self.0 & !Self::WEAK == now.0;
        same || self.block() == now.block() && self.phase() < now.phase()
    }
}

/// The last accesses to a word.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Marked if it was an atomic; of several blocks if atomics were.
    write: Stamp,
    /// Marked if several threads of the phase read.
    read: Stamp,
}

impl Word {
    /// Records a read; returns whether nothing is suspicious.
    fn read(&mut self, now: Stamp) -> bool {
        let read = self.read;
        self.read = if read.is_none() || read.is_before(now) {
            now
        } else if read.block() == now.block() {
            now.marked()
        } else {
            now.of_several()
        };
        self.write.is_none() || self.write.is_before(now)
    }

    /// Records a write; returns whether nothing is suspicious.
    fn write(&mut self, now: Stamp) -> bool {
        let ordered = |last: Stamp| last.is_none() || last.is_before(now);
        let fine = ordered(self.write) && ordered(self.read);
        self.write = now.weak();
        fine
    }

    /// Records an atomic; returns whether nothing is suspicious.
    fn atomic(&mut self, now: Stamp) -> bool {
        let last = self.write;
        let earlier = |last: Stamp| last.block() == now.block() && last.phase() < now.phase();
        let read = self.read.is_none() || earlier(self.read);
        let among_atomics = last.is_marked() && (last.block() == now.block() || !last.is_weak());
        let fine = read && (last.is_none() || among_atomics || earlier(last));
        let mut write = now.marked();
        if last.is_weak() {
            write = write.weak();
        }
        let alone = last.is_none() || last.block() == now.block();
        self.write = if alone { write } else { write.of_several() };
        fine
    }

    fn access(&mut self, kind: AccessKind, now: Stamp) -> bool {
        match kind {
            AccessKind::Load => self.read(now),
            AccessKind::Store => self.write(now),
            AccessKind::Atomic => self.atomic(now),
        }
    }
}

/// Words of a page of global memory.
struct Page {
    number: u64,
    words: Box<[Word]>,
    /// Whether it had undefined bytes when the launch began.
    undefined: bool,
}

/// A block.
#[derive(Default)]
struct Block {
    /// Its first phase. Words with earlier stamps are those of a block that has ended.
    first_phase: u64,
    phase: u64,
    shared: Vec<Word>,
    /// Which bytes of local memory were written, by thread.
    local: Vec<bool>,
}

/// Judges the accesses of launches.
pub(crate) struct Screening {
    /// Whether accesses have to be ordered.
    race: bool,
    /// Whether values have to be written before they are read.
    init: bool,
    launch: ScreenedLaunch,
    /// The binary logarithm of the bytes of a word.
    word: u32,
    pages: Vec<Page>,
    /// Indices of pages, by number, and that of the last one.
    numbers: FxHashMap<u64, usize>,
    last_page: usize,
    blocks: FxHashMap<u64, Block>,
    /// Storage of a block that has ended.
    spare: Vec<Block>,
}

impl Screening {
    /// Returns what judges accesses for these checks, or `None` if one of them needs all events.
    pub(crate) fn new(checks: CheckSet) -> Option<Self> {
        checks.observes().then_some(())?;
        (!checks.has(Check::Volatile)).then(|| Self {
            race: checks.has(Check::Race),
            init: checks.has(Check::Init),
            launch: ScreenedLaunch::default(),
            word: 0,
            pages: Vec::new(),
            numbers: FxHashMap::default(),
            last_page: 0,
            blocks: FxHashMap::default(),
            spare: Vec::new(),
        })
    }

    fn clear(&mut self) {
        (self.pages, self.spare) = (Vec::new(), Vec::new());
        self.numbers.clear();
        self.blocks.clear();
    }

    pub(crate) fn begin(&mut self, launch: &ScreenedLaunch) -> bool {
        self.clear();
        self.launch = *launch;
        self.word = launch.smallest_word.trailing_zeros();
        let local = (launch.threads as usize).saturating_mul(launch.local_bytes);
        launch.ctas < SEVERAL && launch.threads < 1 << THREAD_BITS && local <= MOST_LOCAL
    }

    /// Judges an access of a warp.
    pub(crate) fn access(
        &mut self,
        access: &ScreenedAccess<'_>,
        undefined: Option<&UndefinedMemory>,
    ) -> bool {
        let &ScreenedAccess { kind, order, space, .. } = access;
        let followed = !self.race || kind == AccessKind::Atomic || order == Order::Weak;
        followed
            && match space {
                Space::Global => self.global(access, undefined),
                Space::Shared => self.shared(access),
                Space::Local => self.local(access),
                _ => kind == AccessKind::Load,
            }
    }

    fn global(&mut self, access: &ScreenedAccess<'_>, undefined: Option<&UndefinedMemory>) -> bool {
        let &ScreenedAccess { cta, first_thread, kind, scope, size, at, .. } = access;
        let race = self.race;
        if race && kind == AccessKind::Atomic && scope == Scope::Cta {
            return false;
        }
        let Some(phase) = self.block(cta).map(|block| block.phase) else { return false };
        for lane in WarpMask::from_bits(access.on.into()) {
            let (at, now) = (at[lane], Stamp::new(cta, first_thread + lane as u32, phase));
            // Accesses that go from page to page are not aligned.
            let (number, within) = (at / PAGE, at % PAGE);
            if within + u64::from(size) > PAGE {
                return false;
            }
            let Some(index) = self.page(number, undefined) else { return false };
            let (page, unit) = (&mut self.pages[index], 1 << self.word);
            for word in words(within, size, self.word) {
                let start = number * PAGE + word as u64 * unit;
                let last = &mut page.words[word];
                let written = !last.write.is_none()
                    || !page.undefined
                    || undefined.is_none_or(|memory| memory.is_defined(start, unit));
                let ordered = last.access(kind, now) || !race;
                if kind != AccessKind::Store && !written || !ordered {
                    return false;
                }
            }
        }
        true
    }

    /// Returns the index of a page, which is made if there is room for it.
    fn page(&mut self, number: u64, undefined: Option<&UndefinedMemory>) -> Option<usize> {
        if self.pages.get(self.last_page).is_some_and(|page| page.number == number) {
            return Some(self.last_page);
        }
        let next = self.pages.len();
        let index = *self.numbers.entry(number).or_insert(next);
        if index == next {
            let words = PAGE as usize >> self.word;
            if next >= MOST_PAGES || (next + 1) * words > MOST_WORDS {
                return None;
            }
            let words = vec![Word::default(); words].into();
            let defined = |memory: &UndefinedMemory| memory.is_defined(number * PAGE, PAGE);
            let undefined = !undefined.is_none_or(defined);
            self.pages.push(Page { number, words, undefined });
        }
        self.last_page = index;
        Some(index)
    }

    fn shared(&mut self, access: &ScreenedAccess<'_>) -> bool {
        let &ScreenedAccess { cta, first_thread, kind, size, at, .. } = access;
        let (bytes, shift) = (self.launch.shared_bytes, self.word);
        let (race, init) = (self.race, self.init);
        let Some(block) = self.block(cta) else { return false };
        let (first, phase) = (block.first_phase, block.phase);
        for lane in WarpMask::from_bits(access.on.into()) {
            let (at, now) = (at[lane], Stamp::new(0, first_thread + lane as u32, phase));
            if at + u64::from(size) > bytes {
                return false;
            }
            for word in words(at, size, shift) {
                let last = &mut block.shared[word];
                if last.write.phase() < first {
                    last.write = Stamp::default();
                }
                if last.read.phase() < first {
                    last.read = Stamp::default();
                }
                let unwritten = init && kind != AccessKind::Store && last.write.is_none();
                let ordered = last.access(kind, now) || !race;
                if unwritten || !ordered {
                    return false;
                }
            }
        }
        true
    }

    fn local(&mut self, access: &ScreenedAccess<'_>) -> bool {
        let &ScreenedAccess { cta, first_thread, kind, size, at, .. } = access;
        let (init, bytes) = (self.init, self.launch.local_bytes);
        let Some(block) = self.block(cta) else { return false };
        for lane in WarpMask::from_bits(access.on.into()) {
            let from = at[lane] as usize;
            if from + size as usize > bytes {
                return false;
            }
            let start = (first_thread as usize + lane) * bytes + from;
            let written = &mut block.local[start..start + size as usize];
            match kind {
                AccessKind::Load if init && !written.iter().all(|&written| written) => {
                    return false;
                }
                AccessKind::Load => {}
                AccessKind::Store => written.fill(true),
                AccessKind::Atomic => return false,
            }
        }
        true
    }

    /// Returns a block, or `None` if it has too many phases.
    fn block(&mut self, cta: u64) -> Option<&mut Block> {
        let ScreenedLaunch { threads, shared_bytes, local_bytes, .. } = self.launch;
        let shift = self.word;
        let spare = &mut self.spare;
        let block = self.blocks.entry(cta).or_insert_with(|| {
            let mut block = spare.pop().unwrap_or_default();
            block.shared.resize((shared_bytes as usize >> shift) + 1, Word::default());
            block.local.clear();
            block.local.resize(threads as usize * local_bytes, false);
            block.phase += 1;
            block.first_phase = block.phase;
            block
        });
        (block.phase < MOST_PHASES).then_some(block)
    }

    pub(crate) fn barrier(&mut self, cta: u64) {
        self.block(cta).into_iter().for_each(|block| block.phase += 1);
    }

    pub(crate) fn cta_ended(&mut self, cta: u64) {
        let Some(mut block) = self.blocks.remove(&cta) else { return };
        if block.phase > MOST_PHASES / 2 {
            block = Block::default();
        }
        self.spare.push(block);
    }

    /// Makes the words defined that the launch has written.
    pub(crate) fn ended(&mut self, undefined: Option<&mut UndefinedMemory>) {
        if let Some(undefined) = undefined {
            let unit = 1 << self.word;
            for page in self.pages.iter().filter(|page| page.undefined) {
                let start = page.number * PAGE;
                let mut at = start;
                for run in page.words.chunk_by(|a, b| a.write.is_none() == b.write.is_none()) {
                    let len = run.len() as u64 * unit;
                    if !run[0].write.is_none() {
                        undefined.define(at, len);
                    }
                    at += len;
                }
            }
        }
        self.clear();
    }
}

/// Returns the words, of so many bits of an address, of at least one byte.
fn words(at: u64, size: u32, bits: u32) -> RangeInclusive<usize> {
    let last = at + u64::from(size.max(1)) - 1;
    (at >> bits) as usize..=(last >> bits) as usize
}
