//! Shadow memory: the accesses with which later ones may race.
//!
//! Memory is followed in granules of eight bytes. A later access covers an earlier one if whatever
//! races with the earlier one races with it, too: the earlier one happens before it, and no access
//! agrees with the later one alone (a strong write does not cover a weak one). A granule keeps the
//! reads and writes that none covers, at most [`KEPT`] of each. Of those that are dropped the
//! threads, epochs and scopes are kept: an access that all of them happen before, or that is strong
//! as they are, cannot race with them. The number of granules is bounded too.

use std::collections::hash_map::Entry as MapEntry;

use rustc_hash::FxHashMap;
use simt::observe::{AccessKind, Scope};
use smallvec::SmallVec;

use super::asynchronous::{copies_for, is_agent};
use super::vector_clock::{Thread, VectorClock};

/// Most reads and most writes that a granule keeps.
const KEPT: usize = 16;
/// Most granules.
const GRANULES: usize = 1 << 20;
/// Most threads whose dropped accesses a granule keeps when a strong write follows.
const DROPPED_BEHIND_STRONG: usize = 1 << 12;
/// Most epochs of dropped accesses, of all granules.
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
    /// Whether it writes what is there: see [`Content`].
    pub(super) silent: bool,
}

impl Entry {
    /// Returns the value of some of its bytes.
    pub(super) fn value_of(&self, bytes: u8) -> Option<u64> {
        self.value.map(|value| (value & bits_of(bytes)) >> (8 * (bytes.trailing_zeros() & 7)))
    }

    /// Returns whether one of two accesses of threads reads, and the other writes what is there.
    pub(super) fn is_silent_to(&self, other: &Self) -> bool {
        let silent = |write: &Self, read: &Self| write.silent && !read.kind.writes();
        let of_threads = !is_agent(self.thread) && !is_agent(other.thread);
        of_threads && (silent(self, other) || silent(other, self))
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

    /// Returns whether strong accesses of threads of other CTAs agree with it.
    fn agrees_beyond_cta(&self) -> bool {
        self.agreeing().is_some_and(|scope| scope != Scope::Cta)
    }

    /// Returns whether every access that agrees with this one agrees with `old`, too.
    fn agrees_with_no_more_than(&self, old: &Self) -> bool {
        let Some(scope) = self.agreeing() else { return true };
        let wide_enough = |of_old| scope == Scope::Cta || of_old != Scope::Cta;
        self.thread.cta == old.thread.cta && old.agreeing().is_some_and(wide_enough)
    }
}

/// The bits of some of eight bytes.
fn bits_of(bytes: u8) -> u64 {
    (0..8).filter(|i| bytes >> i & 1 != 0).fold(0, |set, i| set | 0xff << (8 * i))
}

/// [`Entry::is_morally_strong_to`] by thread and scope.
fn agree(a: (Thread, Option<Scope>), b: (Thread, Option<Scope>)) -> bool {
    let (Some(wide_a), Some(wide_b)) = (a.1, b.1) else { return false };
    a.0.cta == b.0.cta || (wide_a != Scope::Cta && wide_b != Scope::Cta)
}

/// What is kept of the accesses of a thread that were dropped.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The last one.
    last: u32,
    /// The scope if all accesses were strong and of this scope.
    strong: Option<Scope>,
}

/// What is kept of dropped accesses.
#[derive(Clone, Debug, Default)]
struct Dropped {
    epochs: FxHashMap<Thread, Epoch>,
    /// Whether an access does not agree with all that are strong beyond their CTA, as atomics on
    /// one word do.
    narrow: bool,
    /// Whether the epochs of some were not kept.
    forgotten: bool,
}

impl Dropped {
    /// Adds an access. At most `room` epochs may be added.
    fn add(&mut self, old: &Entry, room: usize) {
        self.narrow |= !old.agrees_beyond_cta();
        if room == 0 && !self.epochs.contains_key(&old.thread) {
            self.forgotten = true;
            return;
        }
        let new = Epoch { last: old.epoch, strong: old.agreeing() };
        let kept = self.epochs.entry(old.thread).or_insert(new);
        kept.last = old.epoch.max(kept.last);
        kept.strong = kept.strong.filter(|_| kept.strong == old.agreeing());
    }

    /// Returns whether none of them can race with an access; `known` says up to which epochs they
    /// happen before.
    fn is_harmless(&self, now: &Entry, known: impl Fn(Thread, u32) -> bool) -> bool {
        if !self.narrow && now.agrees_beyond_cta() {
            return true;
        }
        let harmless = |(&thread, old): (&Thread, &Epoch)| {
            thread == now.thread
                || known(thread, old.last)
                || agree((thread, old.strong), (now.thread, now.agreeing()))
        };
        !self.forgotten && self.epochs.iter().all(harmless)
    }

    /// Drops what need not be kept after a write that was judged.
    fn cover(&mut self, now: &Entry) {
        if now.agreeing().is_none() {
            *self = Self::default();
        } else if self.epochs.len() > DROPPED_BEHIND_STRONG {
            self.epochs.clear();
            self.forgotten = true;
        }
    }
}

/// Returns whether an access happens before another one of a thread or operation that knows this;
/// with `relaxed`, the order of relaxed accesses counts where a store follows.
fn happens_before(old: &Entry, now: &Entry, known: &VectorClock, relaxed: bool) -> bool {
    // What threads have written is visible to asynchronous operations behind a proxy fence alone.
    let fenced = now.proxy && !old.proxy && now.kind == AccessKind::Load;
    match old.kind.writes() {
        true if fenced => known.covers_fenced(old.thread, old.epoch),
        true => writes_before(now, known, relaxed)(old.thread, old.epoch),
        false => reads_before(known, relaxed)(old.thread, old.epoch),
    }
}

/// Says which writes are before an access.
fn writes_before(now: &Entry, known: &VectorClock, relaxed: bool) -> impl Fn(Thread, u32) -> bool {
    let overwrites = relaxed && now.kind == AccessKind::Store;
    move |thread, epoch| {
        known.covers(thread, epoch) || overwrites && known.covers_overwritten(thread, epoch)
    }
}

/// Says which reads are before.
fn reads_before(known: &VectorClock, relaxed: bool) -> impl Fn(Thread, u32) -> bool {
    move |thread, epoch| {
        known.covers_read(thread, epoch) || relaxed && known.covers_relaxed_read(thread, epoch)
    }
}

/// The reads or the writes of a granule.
#[derive(Clone, Debug, Default)]
struct History {
    kept: SmallVec<[Entry; 1]>,
    dropped: Dropped,
}

impl History {
    /// Removes the bytes of `now` from the accesses that it covers.
    fn cover(&mut self, now: &Entry, covers: impl Fn(&Entry) -> bool) {
        self.kept.iter_mut().filter(|old| covers(old)).for_each(|old| old.bytes &= !now.bytes);
        self.kept.retain(|old| old.bytes != 0);
    }

    /// Adds an access. At most `room` epochs of dropped ones may be added.
    fn push(&mut self, now: Entry, room: usize) {
        if self.kept.len() == KEPT {
            // Weak accesses stay: more of what may follow races with them.
            let strong = self.kept.iter().position(|old| old.agreeing().is_some());
            let old = self.kept.remove(strong.unwrap_or(0));
            self.dropped.add(&old, room);
        }
        self.kept.push(now);
    }
}

/// What the bytes of a granule have, as far as accesses have told.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    value: u64,
    known: u8,
}

impl Content {
    /// Applies an access; returns whether it is a silent store, which writes what is there (Lepak
    /// and Lipasti, ISCA 2000).
    fn access(&mut self, now: &Entry) -> bool {
        let bits = bits_of(now.bytes);
        let Some(value) = now.value.filter(|_| now.kind != AccessKind::Atomic) else {
            if now.kind.writes() {
                self.known &= !now.bytes;
            }
            return false;
        };
        let same = self.known & now.bytes == now.bytes && (self.value ^ value) & bits == 0;
        self.value = self.value & !bits | value & bits;
        self.known |= now.bytes;
        same && now.kind.writes()
    }
}

#[derive(Clone, Debug, Default)]
struct Granule {
    writes: History,
    reads: History,
    content: Content,
}

impl Granule {
    /// How many epochs of dropped accesses it has.
    fn dropped(&self) -> usize {
        self.writes.dropped.epochs.len() + self.reads.dropped.epochs.len()
    }
}

/// The granules of a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    /// By block of shared memory, and address divided by 8.
    granules: FxHashMap<Option<u64>, FxHashMap<u64, Granule>>,
    /// Granules of all of these.
    count: usize,
    /// Epochs of dropped accesses, of all of these.
    dropped: usize,
    /// Whether an access was not followed.
    pub(super) lossy: bool,
    /// Whether an order of relaxed accesses does not keep reads before writes, and silent stores
    /// count as others do.
    strict: bool,
}

impl Shadow {
    /// Returns empty memory; with `strict`, relaxed accesses order nothing, and silent stores have
    /// to be ordered.
    pub(super) fn new(strict: bool) -> Self {
        Self { strict, ..Self::default() }
    }

    /// Records an access; calls `race` for each earlier access that it races with.
    pub(super) fn access(
        &mut self,
        key: Key,
        mut now: Entry,
        known: &VectorClock,
        mut race: impl FnMut(&Entry, &Entry),
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
        now.silent = granule.content.access(&now);
        let relaxed = !self.strict;
        let ordered = |old: &Entry| same(old) || happens_before(old, &now, known, relaxed);
        let agrees = |old: &Entry| old.agrees(&now) || relaxed && old.is_silent_to(&now);
        let meets = |old: &Entry| old.bytes & now.bytes != 0 && !ordered(old) && !agrees(old);
        // Reads do not race with a silent store, and with the write before they do.
        let shows = |old: &Entry| now.silent && old.kind.writes() && !old.silent;
        let covers = |old: &Entry| ordered(old) && now.agrees_with_no_more_than(old) && !shows(old);
        let before = granule.dropped();
        let room = DROPPED.saturating_sub(self.dropped);
        let Granule { writes, reads, .. } = granule;
        let mut is_found = false;
        let mut race = |old: &Entry| {
            is_found = true;
            race(old, &now);
        };
        writes.kept.iter().filter(|old| meets(old)).for_each(&mut race);
        let (written, read) = (&writes.dropped, &reads.dropped);
        let mut is_harmless =
            self.lossy || written.is_harmless(&now, writes_before(&now, known, relaxed));
        if now.kind.writes() {
            reads.kept.iter().filter(|old| meets(old)).for_each(&mut race);
            is_harmless &= self.lossy || read.is_harmless(&now, reads_before(known, relaxed));
            // A race is found once: what was found to race need not be kept.
            for history in [&mut *writes, reads] {
                history.cover(&now, |old| covers(old) || meets(old));
                if !now.silent {
                    history.dropped.cover(&now);
                }
            }
            writes.push(now, room);
        } else {
            reads.cover(&now, covers);
            reads.push(now, room);
        }
        self.lossy |= !is_harmless && !is_found;
        self.dropped = self.dropped + granule.dropped() - before;
    }

    /// The accesses to the shared memory of a block that are kept, with the granule of each.
    pub(super) fn of_block(&self, cta: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let granules = self.granules.get(&Some(cta)).into_iter().flatten();
        granules.flat_map(|(&at, granule)| {
            granule.writes.kept.iter().chain(&granule.reads.kept).map(move |entry| (at, entry))
        })
    }

    /// Drops the shared memory of a block that has ended.
    pub(super) fn forget(&mut self, cta: u64) {
        let Some(ended) = self.granules.remove(&Some(cta)) else { return };
        self.count -= ended.len();
        self.dropped -= ended.values().map(Granule::dropped).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Threads of two blocks, more than a granule keeps accesses.
    const THREADS: usize = 24;

    const KINDS: &[AccessKind] = &[AccessKind::Load, AccessKind::Store, AccessKind::Atomic];

    fn thread(number: usize) -> Thread {
        Thread { cta: number as u64 % 2, index: number as u32 / 2 }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A thread accesses bytes of the granule, each of which has this value then, if it is
        /// known.
        Access(usize, AccessKind, Option<Scope>, u8, Option<u8>),
        /// What a thread has done so far happens before what another one does next.
        Order(usize, usize),
        /// The same of its reads alone.
        OrderReads(usize, usize),
        /// Relaxed accesses put its reads before.
        Relaxed(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let thread = prop_oneof![2 => 0..4_usize, 1 => 0..THREADS];
        let scope = prop_oneof![Just(None), Just(Some(Scope::Cta)), Just(Some(Scope::Gpu))];
        let bytes = prop_oneof![Just(0xff), Just(0x0f), Just(0xf0), Just(0x3c), Just(0x01)];
        let value = prop_oneof![Just(None), (0..2_u8).prop_map(Some)];
        let access = (thread.clone(), prop::sample::select(KINDS), scope, bytes, value);
        prop_oneof![
            2 => access.prop_map(|(thread, kind, scope, bytes, value)| {
                let scope = scope.or((kind == AccessKind::Atomic).then_some(Scope::Gpu));
                Step::Access(thread, kind, scope, bytes, value)
            }),
            1 => (thread.clone(), thread.clone()).prop_map(|(from, to)| Step::Order(from, to)),
            1 => (thread.clone(), thread.clone()).prop_map(|(from, to)| Step::OrderReads(from, to)),
            1 => (thread.clone(), thread).prop_map(|(from, to)| Step::Relaxed(from, to)),
        ]
    }

    /// Says for each access whether it races with an earlier one, by a comparison with all of them.
    #[derive(Default)]
    struct AllPairs {
        strict: bool,
        accesses: Vec<Entry>,
        /// What bytes have, if that is known.
        bytes: [Option<u8>; 8],
    }

    impl AllPairs {
        /// Whether all bytes of an access had its value before, which they have from now on.
        fn had(&mut self, now: &Entry) -> bool {
            let value = now.value.map(|value| value as u8);
            let value = value.filter(|_| now.kind != AccessKind::Atomic);
            let mut had = true;
            for at in (0..8).filter(|at| now.bytes >> at & 1 != 0) {
                had &= self.bytes[at].is_some() && self.bytes[at] == value;
                if value.is_some() || now.kind != AccessKind::Load {
                    self.bytes[at] = value;
                }
            }
            had
        }

        /// Whether a race changes no result.
        fn is_harmless(old: &Entry, now: &Entry, known: &VectorClock) -> bool {
            match (old.kind, now.kind) {
                (AccessKind::Load, _) => {
                    now.silent || known.covers_relaxed_read(old.thread, old.epoch)
                }
                (_, AccessKind::Load) => old.silent,
                _ => false,
            }
        }

        fn access(&mut self, mut now: Entry, known: &VectorClock) -> bool {
            now.silent = self.had(&now) && now.kind == AccessKind::Store;
            let strict = self.strict;
            let races = self.accesses.iter().any(|old| {
                let strong = |scope: Option<Scope>| scope.is_some();
                let wide = |scope| scope == Some(Scope::Gpu);
                let together = old.thread.cta == now.thread.cta;
                let agree = strong(old.strong)
                    && strong(now.strong)
                    && (together || wide(old.strong) && wide(now.strong));
                old.thread != now.thread
                    && old.bytes & now.bytes != 0
                    && (old.kind != AccessKind::Load || now.kind != AccessKind::Load)
                    && !known.covers(old.thread, old.epoch)
                    && (old.kind != AccessKind::Load || !known.covers_read(old.thread, old.epoch))
                    && !agree
                    && (strict || !Self::is_harmless(old, &now, known))
            });
            self.accesses.push(now);
            races
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_first_race_is_the_first_of_all_pairs(
            strict in any::<bool>(),
            steps in prop::collection::vec(step(), 1..80),
        ) {
            let mut clocks = vec![VectorClock::default(); THREADS];
            let mut epochs = [1; THREADS];
            let mut shadow = Shadow::new(strict);
            let mut pairs = AllPairs { strict, ..AllPairs::default() };
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Order(from, to) => {
                        let mut known = clocks[from].clone();
                        known.advance(thread(from), epochs[from]);
                        epochs[from] += 1;
                        clocks[to].join(&known);
                    }
                    Step::OrderReads(from, to) => {
                        clocks[to].advance_reads(thread(from), epochs[from]);
                        epochs[from] += 1;
                    }
                    Step::Relaxed(from, to) => {
                        let mut known = clocks[from].clone();
                        known.advance(thread(from), epochs[from]);
                        epochs[from] += 1;
                        clocks[to].join(&known.relaxed());
                    }
                    Step::Access(number, kind, strong, bytes, value) => {
                        let now = Entry {
                            thread: thread(number),
                            epoch: epochs[number],
                            pc: at as u64,
                            at: at as u64,
                            proxy: false,
                            kind,
                            strong,
                            volatile: false,
                            bytes,
                            value: value.map(|value| u64::from(value) * 0x0101_0101_0101_0101),
                            silent: false,
                        };
                        let mut found = false;
                        shadow.access((None, 0), now, &clocks[number], |_, _| found = true);
                        let expected = pairs.access(now, &clocks[number]);
                        prop_assert!(found == expected || shadow.lossy && !found);
                        if expected {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }
}
