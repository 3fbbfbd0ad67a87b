//! Shadow memory: the accesses with which later ones may race.
//!
//! Memory is followed in granules of eight bytes. A granule keeps the last write of each byte and
//! the later reads that are not ordered among themselves, at most [`READS`] of them. The number of
//! granules is bounded too.

use rustc_hash::FxHashMap;
use simt::observe::{AccessKind, Scope};
use smallvec::SmallVec;

use super::vector_clock::{Thread, VectorClock};

/// Most reads that a granule keeps.
const READS: usize = 16;
/// Most granules.
const GRANULES: usize = 1 << 20;

/// A granule: its block if it is in shared memory, and its address divided by 8.
pub(super) type Key = (Option<u64>, u64);

/// An access to bytes of a granule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) thread: Thread,
    pub(super) epoch: u32,
    pub(super) pc: u64,
    pub(super) kind: AccessKind,
    /// The scope of a strong access; `None` for a weak one.
    pub(super) strong: Option<Scope>,
    pub(super) bytes: u8,
}

impl Entry {
    /// Returns whether two accesses to common bytes need no order: both are strong, and each thread
    /// is in the other's scope.
    fn agrees(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (self.strong, other.strong) else { return false };
        self.thread.cta == other.thread.cta || (a != Scope::Cta && b != Scope::Cta)
    }
}

#[derive(Clone, Debug, Default)]
struct Granule {
    writes: SmallVec<[Entry; 1]>,
    reads: SmallVec<[Entry; 1]>,
    /// Whether reads were dropped with which a write could race.
    forgotten: bool,
}

/// The granules of a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    granules: FxHashMap<Key, Granule>,
    /// Whether an access was not followed.
    pub(super) lossy: bool,
}

impl Shadow {
    /// Records an access; calls `race` for each earlier access that it races with.
    pub(super) fn access(
        &mut self,
        key: Key,
        now: Entry,
        known: &VectorClock,
        mut race: impl FnMut(&Entry),
    ) {
        if self.granules.len() >= GRANULES && !self.granules.contains_key(&key) {
            self.lossy = true;
            return;
        }
        let granule = self.granules.entry(key).or_default();
        let ordered = |old: &Entry| old.thread == now.thread || known.covers(old.thread, old.epoch);
        let meets = |old: &Entry| old.bytes & now.bytes != 0 && !ordered(old) && !old.agrees(&now);
        granule.writes.iter().filter(|old| meets(old)).for_each(&mut race);
        if !now.kind.writes() {
            // A read that happens before this one can be dropped: whatever this one happens before,
            // it does too.
            granule.reads.retain(|old| !(ordered(old) && old.bytes & !now.bytes == 0));
            if granule.reads.len() == READS {
                granule.reads.remove(0);
                granule.forgotten = true;
            }
            granule.reads.push(now);
            return;
        }
        granule.reads.iter().filter(|old| meets(old)).for_each(&mut race);
        // Dropped reads matter only if a write follows.
        self.lossy |= std::mem::take(&mut granule.forgotten);
        for list in [&mut granule.writes, &mut granule.reads] {
            list.iter_mut().for_each(|old| old.bytes &= !now.bytes);
            list.retain(|old| old.bytes != 0);
        }
        granule.writes.push(now);
    }

    /// Drops the shared memory of a block that has ended.
    pub(super) fn forget(&mut self, cta: u64) {
        self.granules.retain(|key, _| key.0 != Some(cta));
    }
}
