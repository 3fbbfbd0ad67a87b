//! Shadow memory: the accesses with which later ones may race.
//!
//! Memory is followed in granules of eight bytes. A granule keeps the last write of each byte and
//! the later reads that are not ordered among themselves, at most [`READS`] of them. Of those that
//! are dropped the threads, epochs and scopes are kept: a write that all of them happen before, or
//! that is strong as they are, cannot race with them. The number of granules is bounded too.

use std::collections::hash_map::Entry as MapEntry;

use rustc_hash::FxHashMap;
use simt::observe::{AccessKind, Scope};
use smallvec::SmallVec;

use super::asynchronous::copies_for;
use super::vector_clock::{Thread, VectorClock};

/// Most reads that a granule keeps.
const READS: usize = 16;
/// Most granules.
const GRANULES: usize = 1 << 20;
/// Most epochs of dropped reads, of all granules.
const DROPPED: usize = 1 << 20;

/// A granule: its block if it is in shared memory, and its address divided by 8.
pub(super) type Key = (Option<u64>, u64);

/// An access to bytes of a granule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) thread: Thread,
    pub(super) epoch: u32,
    pub(super) pc: u64,
    /// When, in events of the launch.
    pub(super) at: u64,
    /// Whether an asynchronous operation makes it through the async proxy.
    pub(super) proxy: bool,
    pub(super) kind: AccessKind,
    /// The scope of a strong access; `None` for a weak one.
    pub(super) strong: Option<Scope>,
    /// Whether it is volatile, and has to be ordered for that.
    pub(super) volatile: bool,
    pub(super) bytes: u8,
    /// The bytes of the granule that it reads or writes, if they are known.
    pub(super) value: Option<u64>,
}

impl Entry {
    /// Returns the value of some of its bytes.
    pub(super) fn value_of(&self, bytes: u8) -> Option<u64> {
        let bits = (0..8).filter(|i| bytes >> i & 1 != 0).fold(0, |set, i| set | 0xff << (8 * i));
        self.value.map(|value| (value & bits) >> (8 * (bytes.trailing_zeros() & 7)))
    }

    /// Returns whether two accesses to common bytes need no order.
    fn agrees(&self, other: &Self) -> bool {
        !self.volatile && !other.volatile && self.is_morally_strong_to(other)
    }

    /// Returns whether both are strong, and each thread is in the other's scope.
    pub(super) fn is_morally_strong_to(&self, other: &Self) -> bool {
        agree((self.thread, self.strong), (other.thread, other.strong))
    }

    /// Its scope, if strong accesses of other threads need no order with it.
    fn agreeing(&self) -> Option<Scope> {
        self.strong.filter(|_| !self.volatile)
    }
}

/// [`Entry::is_morally_strong_to`] by thread and scope.
fn agree(a: (Thread, Option<Scope>), b: (Thread, Option<Scope>)) -> bool {
    let (Some(wide_a), Some(wide_b)) = (a.1, b.1) else { return false };
    a.0.cta == b.0.cta || (wide_a != Scope::Cta && wide_b != Scope::Cta)
}

/// What is kept of the reads of a thread that were dropped.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    /// The last epoch.
    epoch: u32,
    /// The scope if all were strong and of this scope.
    strong: Option<Scope>,
}

/// Returns whether an access happens before another one of a thread or operation that knows this.
fn happens_before(old: &Entry, now: &Entry, known: &VectorClock) -> bool {
    // What threads have written is visible to asynchronous operations behind a proxy fence alone.
    match now.proxy && !old.proxy && old.kind.writes() && now.kind == AccessKind::Load {
        true => known.covers_fenced(old.thread, old.epoch),
        false => known.covers(old.thread, old.epoch),
    }
}

#[derive(Clone, Debug, Default)]
struct Granule {
    writes: SmallVec<[Entry; 1]>,
    reads: SmallVec<[Entry; 1]>,
    /// Of threads whose reads were dropped.
    dropped: FxHashMap<Thread, Dropped>,
    /// Whether some of these were not kept.
    forgotten: bool,
}

/// The granules of a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    /// By block of shared memory, and address divided by 8.
    granules: FxHashMap<Option<u64>, FxHashMap<u64, Granule>>,
    /// Granules of all of these.
    count: usize,
    /// Epochs of dropped reads that are kept.
    dropped: usize,
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
        let granules = self.granules.entry(key.0).or_default();
        let granule = match granules.entry(key.1) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(_) if self.count >= GRANULES => {
                self.lossy = true;
                return;
            }
            MapEntry::Vacant(new) => {
                self.count += 1;
                new.insert(Granule::default())
            }
        };
        // The copies of a thread are in no order among themselves.
        let is_copy = copies_for(now.thread).is_some();
        let same = |old: &Entry| old.thread == now.thread && !(is_copy && old.at != now.at);
        let ordered = |old: &Entry| same(old) || happens_before(old, &now, known);
        let meets = |old: &Entry| old.bytes & now.bytes != 0 && !ordered(old) && !old.agrees(&now);
        granule.writes.iter().filter(|old| meets(old)).for_each(&mut race);
        if !now.kind.writes() {
            // A read that happens before this one can be dropped: whatever this one happens before,
            // it does too.
            granule.reads.retain(|old| !(ordered(old) && old.bytes & !now.bytes == 0));
            if granule.reads.len() == READS {
                let old = granule.reads.remove(0);
                if self.dropped < DROPPED {
                    let before = granule.dropped.len();
                    let new = Dropped { epoch: old.epoch, strong: old.agreeing() };
                    let kept = granule.dropped.entry(old.thread).or_insert(new);
                    kept.epoch = old.epoch.max(kept.epoch);
                    kept.strong = kept.strong.filter(|_| kept.strong == old.agreeing());
                    self.dropped += granule.dropped.len() - before;
                } else {
                    granule.forgotten = true;
                }
            }
            granule.reads.push(now);
            return;
        }
        granule.reads.iter().filter(|old| meets(old)).for_each(&mut race);
        // Dropped reads matter only if a write follows.
        let dropped = std::mem::take(&mut granule.dropped);
        self.dropped -= dropped.len();
        let harmless = |(&thread, old): (&Thread, &Dropped)| {
            thread == now.thread
                || known.covers(thread, old.epoch)
                || agree((thread, old.strong), (now.thread, now.agreeing()))
        };
        self.lossy |= std::mem::take(&mut granule.forgotten) || !dropped.iter().all(harmless);
        for list in [&mut granule.writes, &mut granule.reads] {
            list.iter_mut().for_each(|old| old.bytes &= !now.bytes);
            list.retain(|old| old.bytes != 0);
        }
        granule.writes.push(now);
    }

    /// The accesses to the shared memory of a block that are kept, with the granule of each.
    pub(super) fn of_block(&self, cta: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let granules = self.granules.get(&Some(cta)).into_iter().flatten();
        granules.flat_map(|(&at, granule)| {
            granule.writes.iter().chain(&granule.reads).map(move |entry| (at, entry))
        })
    }

    /// Drops the shared memory of a block that has ended.
    pub(super) fn forget(&mut self, cta: u64) {
        let Some(ended) = self.granules.remove(&Some(cta)) else { return };
        self.count -= ended.len();
        self.dropped -= ended.values().map(|granule| granule.dropped.len()).sum::<usize>();
    }
}
