//! Who accessed a word last, where blocks of the launch share it.

use simt::observe::AccessKind;

/// Bits of a number of a phase, and of a thread in its block.
const PHASE_BITS: u32 = 19;
pub(super) const THREAD_BITS: u32 = 11;

/// Phases of a block, and of blocks that use the same words one after the other.
pub(super) const MOST_PHASES: u32 = 1 << PHASE_BITS;

/// Stands for several blocks.
pub(super) const SEVERAL: u32 = u32::MAX;

/// Who accesses a word, and when: the phase (from 1), then the thread, the block, and two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    const MARK: u64 = 1 << 63;
    /// Of writes: one of the block was no atomic.
    const WEAK: u64 = 1 << 62;
    const BLOCK: u64 = (SEVERAL as u64) << (PHASE_BITS + THREAD_BITS);

    pub(super) fn new(block: u32, thread: u32, phase: u32) -> Self {
        let block = u64::from(block) << (PHASE_BITS + THREAD_BITS);
        Self(block | u64::from(thread) << PHASE_BITS | u64::from(phase))
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    fn phase(self) -> u64 {
        self.0 & (u64::from(MOST_PHASES) - 1)
    }

    fn block(self) -> u64 {
        (self.0 & Self::BLOCK) >> (PHASE_BITS + THREAD_BITS)
    }

    pub(super) fn is_of_several(self) -> bool {
        self.0 & Self::BLOCK == Self::BLOCK
    }

    fn is_marked(self) -> bool {
        self.0 & Self::MARK != 0
    }

    pub(super) fn marked(self) -> Self {
        Self(self.0 | Self::MARK)
    }

    pub(super) fn weak(self) -> Self {
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
pub(super) struct Word {
    /// Marked if it was an atomic; of several blocks if atomics were.
    pub(super) write: Stamp,
    /// Marked if several threads of the phase read.
    pub(super) read: Stamp,
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

    pub(super) fn access(&mut self, kind: AccessKind, now: Stamp) -> bool {
        match kind {
            AccessKind::Load => self.read(now),
            AccessKind::Store => self.write(now),
            AccessKind::Atomic => self.atomic(now),
        }
    }
}
