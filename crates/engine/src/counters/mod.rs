//! The observer that counts events.

mod accesses;
mod batch;
mod small_set;
mod traffic;

pub(crate) use accesses::AccessCounts;
pub use traffic::PcTraffic;

use fast::{Detail, StridedAccess, WarpAccess, WarpAccesses};
use simt::counts::{Counts, Traffic};
use simt::observe::{
    Access, AccessKind, Branch, CtaEvent, Events, Issue, Observer, Sync, SyncKind,
};
use simt::slots::{Domain, LaneSlots};

use batch::Batch;

/// Counts of the events of one launch: an observer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The counts of events. Those of the machine are 0.
    pub counts: Counts,
    /// Vector issues by the number of active lanes in the issuing group; index 0 counts idle
    /// issues.
    pub active_lanes: Vec<u64>,
    /// Traffic by instruction.
    pub traffic_by_pc: PcTraffic,
    /// Lane slots by instruction, for machines whose program counters are small and dense.
    pub by_pc: PcSlots,
}

/// Lane slots by program counter, for program counters below a fixed bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PcSlots(Vec<LaneSlots>);

impl PcSlots {
    /// Creates counts for program counters below `bound`; issues at other ones are ignored.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        Self(vec![LaneSlots::default(); bound])
    }

    /// Adds `slots` to those of `pc`, if it is below the bound.
    pub(crate) fn add(&mut self, pc: u64, slots: &LaneSlots) {
        if let Some(place) = usize::try_from(pc).ok().and_then(|pc| self.0.get_mut(pc)) {
            place.add(slots);
        }
    }

    /// Returns the slots by program counter.
    #[must_use]
    pub fn slots(&self) -> &[LaneSlots] {
        &self.0
    }
}

impl Counters {
    /// Creates empty counters that also count by instruction into `by_pc`.
    #[must_use]
    pub fn with_pcs(by_pc: PcSlots) -> Self {
        Self { by_pc, ..Self::default() }
    }

    /// Adds what the fast engine has counted beside accesses, of a launch or of its committed CTAs.
    pub(crate) fn add_detail(&mut self, detail: &Detail) {
        self.counts.add(&detail.counts);
        if self.active_lanes.len() < detail.active_lanes.len() {
            self.active_lanes.resize(detail.active_lanes.len(), 0);
        }
        for (sum, count) in self.active_lanes.iter_mut().zip(&detail.active_lanes) {
            *sum += count;
        }
        for &(place, slots) in &detail.by_place {
            self.by_pc.add(place, &slots);
        }
    }

    /// Adds counters of the same program that have counted accesses alone.
    pub(crate) fn add_accesses(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.traffic_by_pc.add(&other.traffic_by_pc);
    }

    /// Counts accesses of the pattern `line`. Returns `false`, having counted nothing, if the
    /// pattern has to be counted lane by lane.
    pub(crate) fn strided_access(&mut self, line: &StridedAccess) -> bool {
        let Some(found) = self.traffic_by_pc.strided_access(line) else { return false };
        self.counts.traffic.add(&found);
        self.count_kind(line.kind, line.times);
        true
    }

    /// Counts `access` and `times - 1` others with congruent addresses.
    pub(crate) fn congruent_accesses(&mut self, access: &Access<'_>, times: u64) {
        self.count_kind(access.kind, times);
        let found = self.traffic_by_pc.congruent_accesses(access, times);
        self.counts.traffic.add(&found);
    }

    /// Counts an access of a warp; its traffic may stay in `batch` until enough accesses have
    /// accumulated. Returns `false`, having counted nothing, if the access has to be counted lane
    /// by lane.
    #[inline(always)]
    pub(crate) fn warp_access(&mut self, access: &WarpAccess<'_>, batch: &mut Batch) -> bool {
        let taken = batch.push(
            access,
            #[inline(always)]
            |pc, found| self.add_traffic(pc, &found),
        );
        if taken {
            self.count_kind(access.kind, access.times);
        }
        taken
    }

    /// Counts the longest prefix of `accesses`, all of one instruction, that `batch` accepts;
    /// returns its length.
    #[inline(always)]
    pub(crate) fn warp_accesses(
        &mut self,
        accesses: &WarpAccesses<'_>,
        batch: &mut Batch,
    ) -> usize {
        let taken = batch.push_prefix(
            accesses,
            #[inline(always)]
            |pc, found| self.add_traffic(pc, &found),
        );
        self.count_kind(accesses.kind, taken as u64);
        taken
    }

    /// Counts the traffic of the accesses left in `batch`.
    pub(crate) fn finish(&mut self, batch: &mut Batch) {
        batch.finish(|pc, found| self.add_traffic(pc, &found));
    }

    fn add_traffic(&mut self, pc: u64, found: &Traffic) {
        self.traffic_by_pc.add_at(pc, found);
        self.counts.traffic.add(found);
    }

    fn count_kind(&mut self, kind: AccessKind, times: u64) {
        match kind {
            AccessKind::Load => self.counts.loads += times,
            AccessKind::Store => self.counts.stores += times,
            AccessKind::Atomic => self.counts.atomics += times,
        }
    }
}

impl<const N: usize> Observer<N> for Counters {
    const EVENTS: Events =
        Events::ISSUE.and(Events::BRANCH).and(Events::ACCESS).and(Events::SYNC).and(Events::CTA);

    fn issue(&mut self, issue: &Issue<'_, N>) {
        self.counts.max_depth = self.counts.max_depth.max(u64::from(issue.depth));
        self.counts.depth_sum += u64::from(issue.depth);
        self.counts.depth_issues += 1;
        self.counts.control_guard_off += u64::from(issue.guard_off);
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        let slots = self.by_pc.0.get_mut(pc);
        if issue.domain == Domain::Uniform {
            if let Some(slots) = slots {
                slots.uniform();
            }
            return;
        }
        if let Some(slots) = slots {
            slots.vector(issue.lanes);
        }
        let active = issue.lanes.active.count() as usize;
        if self.active_lanes.len() <= active {
            let width = (issue.lanes.width as usize).max(active);
            self.active_lanes.resize(width + 1, 0);
        }
        self.active_lanes[active] += 1;
    }

    fn branch(&mut self, branch: &Branch<'_, N>) {
        self.counts.branches += 1;
        self.counts.divergent_branches += u64::from(branch.targets.len() > 1);
        self.counts.branch_targets += branch.targets.len() as u64;
        if branch.targets.len() > 1 {
            self.counts.divergent_paths += branch.targets.len() as u64;
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.congruent_accesses(access, 1);
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        match sync.kind {
            SyncKind::BarrierArrive | SyncKind::ClusterArrive => self.counts.barrier_arrivals += 1,
            SyncKind::BarrierRelease
            | SyncKind::ClusterRelease
            | SyncKind::CollectiveArrive
            | SyncKind::CollectiveComplete => {}
            SyncKind::Collective => self.counts.collectives += 1,
            SyncKind::Fence(..) | SyncKind::ProxyFence { .. } => self.counts.fences += 1,
        }
    }

    fn cta(&mut self, _cta: u64, event: CtaEvent) {
        self.counts.ctas += u64::from(event == CtaEvent::End);
    }
}
