//! The counts of an observer of all events of the exact engine, to compare with the fast engine's
//! details.

use fast::{AccessSink, Detail, ForkedSink, LaunchObserver, StridedAccess, WarpAccesses};
use simt::machine::{Machine, Step};
use simt::memory::{MemoryMap, Space};
use simt::observe::{
    Access, AccessKind, AnyObserver, Branch, CtaEvent, Events, Issue, Observer, Sync, SyncKind,
};
use simt::slots::LaneSlots;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use vm::{Counts, Engine, Launch, Program};

/// All counts except those of accesses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    counts: Counts,
    active_lanes: BTreeMap<u64, u64>,
    by_place: BTreeMap<u64, LaneSlots>,
}

/// Counts events, and hashes accesses with their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) counted: Counted,
    pub(crate) accesses: Accesses,
}

/// Hashes of accesses: one depends on their order, the other one depends neither on order nor on
/// multiples of [`StridedAccess::CONGRUENCE`] bytes, nor on lanes and addresses whose traffic the
/// engine may add up: see [`Taken`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Accesses {
    count: u64,
    ordered: u64,
    congruent: u64,
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

impl Accesses {
    fn add(
        &mut self,
        (pc, kind, space, size): (u64, AccessKind, Space, u32),
        lanes: impl Iterator<Item = (u64, u64)>,
        times: u64,
    ) {
        let what = [pc, kind as u64, space as u64, size.into()];
        let of_what = what.into_iter().fold(0, mix);
        self.ordered = what.into_iter().fold(self.ordered, mix);
        let lanes: Vec<(u64, u64)> = lanes.map(|(thread, at)| (thread % 32, at)).collect();
        let (mut hash, first) = (of_what, lanes.first().map_or(0, |l| l.1));
        for &(lane, at) in &lanes {
            self.ordered = mix(mix(self.ordered, lane), at);
            hash = mix(mix(hash, lane), at.wrapping_sub(first));
        }
        hash = mix(hash, first % StridedAccess::CONGRUENCE);
        if let Some(taken) = Taken::of(kind, space, size.into(), &lanes) {
            hash = taken.hash(of_what);
        }
        self.count += times;
        self.congruent = self.congruent.wrapping_add(hash.wrapping_mul(times));
    }

    fn access(&mut self, access: &Access<'_>, times: u64) {
        let first = u64::from(access.group.first_thread);
        let lanes = access.lanes.iter().map(|&(lane, at)| (first + u64::from(lane), at));
        self.add((access.pc.0, access.kind, access.space, access.size), lanes, times);
    }

    /// Returns whether these are the same accesses in any order, up to congruent addresses.
    pub(crate) fn are_congruent(&self, other: &Self) -> bool {
        (self.count, self.congruent) == (other.count, other.congruent)
    }
}

/// What an access takes, if sums over accesses are all that the engine has to report of it.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// One or two passes over the banks of shared memory, for words of 4 bytes.
    Passes(u64),
    /// Sectors and words of global memory, for some lanes of a warp on one word or on a line of
    /// words.
    Sectors(u64, u64),
}

impl Taken {
    fn of(kind: AccessKind, space: Space, size: u64, lanes: &[(u64, u64)]) -> Option<Self> {
        let different = |by: u64| lanes.iter().map(|l| l.1 / by).collect::<BTreeSet<u64>>();
        let is_line = |stride: u64| {
            let base = |&(lane, at): &(u64, u64)| at.wrapping_sub(lane * stride);
            lanes.windows(2).all(|pair| base(&pair[0]) == base(&pair[1]))
        };
        let passes = || {
            let words: Vec<u64> = match kind {
                AccessKind::Atomic => lanes.iter().map(|l| l.1 / 4).collect(),
                _ => different(4).into_iter().collect(),
            };
            let bank = |bank| words.iter().filter(|&word| word % 32 == bank).count() as u64;
            (0..32).map(bank).max().unwrap_or(0)
        };
        let some = !lanes.is_empty() && lanes.len() < 32;
        match space {
            Space::Shared if size == 4 => Some(Self::Passes(passes())).filter(|_| passes() <= 2),
            Space::Global if some && is_line(0) => Some(Self::Sectors(1, 1)),
            Space::Global if some && size == 4 && is_line(4) => {
                Some(Self::Sectors(different(32).len() as u64, lanes.len() as u64))
            }
            _ => None,
        }
    }

    /// Returns a hash that is linear in what is taken.
    fn hash(self, of_what: u64) -> u64 {
        let part = |which: u64, amount: u64| mix(of_what, which).wrapping_mul(amount);
        match self {
            Self::Passes(passes) => part(0, 1).wrapping_add(part(1, passes)),
            Self::Sectors(sectors, words) => {
                part(2, 1).wrapping_add(part(3, sectors)).wrapping_add(part(4, words))
            }
        }
    }
}

impl Observer<1> for Observed {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        let counted = &mut self.counted;
        counted.counts.max_depth = counted.counts.max_depth.max(issue.depth.into());
        counted.counts.depth_sum += u64::from(issue.depth);
        counted.counts.depth_issues += 1;
        counted.counts.control_guard_off += u64::from(issue.guard_off);
        counted.by_place.entry(issue.pc.0).or_default().vector(issue.lanes);
        *counted.active_lanes.entry(issue.lanes.active.count().into()).or_default() += 1;
    }

    fn branch(&mut self, branch: &Branch<'_, 1>) {
        let (counts, targets) = (&mut self.counted.counts, branch.targets.len() as u64);
        counts.branches += 1;
        counts.branch_targets += targets;
        if targets > 1 {
            counts.divergent_branches += 1;
            counts.divergent_paths += targets;
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.accesses.access(access, 1);
    }

    fn sync(&mut self, sync: &Sync<'_, 1>) {
        match sync.kind {
            SyncKind::BarrierArrive | SyncKind::ClusterArrive => {
                self.counted.counts.barrier_arrivals += 1;
            }
            SyncKind::BarrierRelease
            | SyncKind::ClusterRelease
            | SyncKind::CollectiveArrive
            | SyncKind::CollectiveComplete => {}
            SyncKind::Collective => self.counted.counts.collectives += 1,
            SyncKind::Fence(..) | SyncKind::ProxyFence { .. } => self.counted.counts.fences += 1,
        }
    }

    fn cta(&mut self, _: u64, event: CtaEvent) {
        self.counted.counts.ctas += u64::from(event == CtaEvent::End);
    }
}

/// Hashes the fast engine's accesses. Takes every other line as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashingObserver {
    pub(crate) accesses: Accesses,
    strided: u64,
    /// Accesses of committed CTAs.
    committed: Accesses,
    committed_counts: Counted,
}

impl HashingObserver {
    /// Returns the counts of committed CTAs, with which the exact engine resumes.
    pub(crate) fn committed(&self) -> Observed {
        Observed { counted: self.committed_counts.clone(), accesses: self.committed.clone() }
    }
}

impl LaunchObserver for HashingObserver {
    fn poll(&mut self, _: u64, _: u64) -> bool {
        true
    }

    /// So that positions are looked at while launches run.
    fn wants_lanes(&mut self) -> bool {
        true
    }

    fn accesses(&mut self) -> Option<&mut dyn AccessSink> {
        Some(self)
    }

    fn can_commit(&self) -> bool {
        true
    }

    fn commit(&mut self) {
        self.committed = self.accesses.clone();
    }

    fn declined_after_commit(&mut self, detail: &Detail) {
        self.committed_counts = of_fast(detail);
    }

    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        Some(Box::new(Self::default()))
    }

    /// Adds the hashes of other accesses. The ordered hash is no longer meaningful afterwards.
    fn merge(&mut self, fork: Box<dyn ForkedSink>) {
        let other = fork.into_any().downcast::<Self>().expect("one of its own");
        self.accesses.count += other.accesses.count;
        self.accesses.congruent = self.accesses.congruent.wrapping_add(other.accesses.congruent);
    }
}

impl AccessSink for HashingObserver {
    fn access(&mut self, access: &Access<'_>) {
        self.accesses.access(access, 1);
    }

    fn repeated_access(&mut self, access: &Access<'_>, times: u64) {
        self.accesses.access(access, times);
    }

    fn strided_access(&mut self, access: &StridedAccess) -> bool {
        self.strided += 1;
        if self.strided.is_multiple_of(2) {
            return false;
        }
        let lane = |i: u64| {
            let at = access.at.wrapping_add_signed(i as i64 * access.stride);
            (u64::from(access.first_thread) + i, at)
        };
        let lanes = (0..u64::from(access.lanes)).map(lane);
        self.accesses.add(
            (access.pc.0, access.kind, access.space, access.size),
            lanes,
            access.times,
        );
        true
    }

    /// Takes the first half.
    fn warp_accesses(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        let &WarpAccesses { pc, kind, space, size, on, at, page } = accesses;
        let half = on.len() / 2;
        for (on, at) in on.iter().zip(at).take(half) {
            let address = |lane: u64| u64::from(page) << 32 | u64::from(at[lane as usize]);
            let lanes = (0..32).filter(|lane| on >> lane & 1 != 0).map(|l| (l, address(l)));
            self.accesses.add((pc.0, kind, space, size), lanes, 1);
        }
        half
    }
}

impl ForkedSink for HashingObserver {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// The outcome of a launch on the exact engine.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) end: Step<vm::Cause>,
    pub(crate) memory: Vec<Vec<u8>>,
    pub(crate) stats: Counts,
    pub(crate) output: Vec<u8>,
    pub(crate) observed: Observed,
}

impl Exact {
    pub(crate) fn new(program: &Program, launch: &Launch<1>) -> Self {
        let engine = Engine::<1>;
        let mut state = engine.launch(program, launch.clone()).expect("it launches");
        let mut observed = Observed::default();
        let end = engine.run_observed(
            program,
            &mut state,
            &mut AnyObserver::new(&mut observed),
            u64::MAX,
        );
        let (stats, output) = (*state.stats(), state.output().to_vec());
        Self { end, memory: bytes(&state.into_memory()), stats, output, observed }
    }
}

/// Returns the bytes of all regions of a memory map.
pub(crate) fn bytes(memory: &MemoryMap) -> Vec<Vec<u8>> {
    let region = |r: &simt::memory::Region| {
        let mut out = vec![0; r.len() as usize];
        if r.is_live() && !r.is_empty() {
            memory.read_bytes(r.base(), &mut out).expect("a live region");
        }
        out
    };
    memory.regions().iter().map(region).collect()
}

/// Returns the same counts from the fast engine.
pub(crate) fn of_fast(detail: &Detail) -> Counted {
    let lanes = detail.active_lanes.iter().enumerate();
    let places = detail.by_place.iter().copied();
    Counted {
        counts: detail.counts,
        active_lanes: lanes.filter(|l| *l.1 > 0).map(|(n, &count)| (n as u64, count)).collect(),
        by_place: places.filter(|p| p.1.issues() > 0).collect(),
    }
}
