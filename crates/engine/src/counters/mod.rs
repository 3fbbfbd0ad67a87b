//! The observer that counts events.

mod accesses;
mod batch;
mod small_set;
mod traffic;

pub(crate) use accesses::AccessCounts;
pub use traffic::{AffineAccess, PcTraffic, Traffic};

use fast::{Detail, WarpAccess, WarpAccesses};
use simt::observe::{
    Access, AccessKind, Branch, CtaEvent, Events, Issue, Observer, Sync, SyncKind,
};
use simt::slots::{Domain, LaneSlots};

use batch::Batch;

/// Event counts of one launch. Lane slots are counted elsewhere. All counts are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Branches issued.
    pub branches: u64,
    /// Branches whose lanes went to more than one place.
    pub divergent_branches: u64,
    /// Distinct next places, summed over all branches.
    pub branch_targets: u64,
    /// Distinct next places, summed over divergent branches.
    pub divergent_targets: u64,
    /// Most paths that one group held at once.
    pub max_depth: u64,
    /// Paths of the issuing group, summed over all issues.
    pub depth_sum: u64,
    /// Number of issues in `depth_sum`.
    pub depth_issues: u64,
    /// Load instructions issued with a lane on.
    pub loads: u64,
    /// Store instructions issued with a lane on.
    pub stores: u64,
    /// Atomic instructions issued with a lane on.
    pub atomics: u64,
    /// Arrivals of groups at CTA barriers.
    pub barrier_arrivals: u64,
    /// Warp-wide collectives completed.
    pub collectives: u64,
    /// Memory fences issued.
    pub fences: u64,
    /// CTAs completed.
    pub ctas: u64,
    /// Vector issues by the number of active lanes in the issuing group; index 0 counts idle
    /// issues.
    pub active_lanes: Vec<u64>,
    /// Traffic to global and shared memory.
    pub traffic: Traffic,
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

    /// Adds the counts of another launch. Drops the counts by instruction, because the programs may
    /// differ.
    pub fn add(&mut self, other: &Self) {
        self.add_events(other);
        self.traffic.add(&other.traffic);
        self.traffic_by_pc = PcTraffic::default();
        self.by_pc = PcSlots::default();
    }

    /// Adds the event counts only: neither traffic nor counts by instruction.
    pub(crate) fn add_events(&mut self, other: &Self) {
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.branch_targets += other.branch_targets;
        self.divergent_targets += other.divergent_targets;
        self.max_depth = self.max_depth.max(other.max_depth);
        self.depth_sum += other.depth_sum;
        self.depth_issues += other.depth_issues;
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.barrier_arrivals += other.barrier_arrivals;
        self.collectives += other.collectives;
        self.fences += other.fences;
        self.ctas += other.ctas;
        if self.active_lanes.len() < other.active_lanes.len() {
            self.active_lanes.resize(other.active_lanes.len(), 0);
        }
        for (sum, count) in self.active_lanes.iter_mut().zip(&other.active_lanes) {
            *sum += count;
        }
    }

    /// Adds what the fast engine has counted beside accesses, of a launch or of its committed CTAs.
    pub(crate) fn add_detail(&mut self, detail: &Detail) {
        self.add_events(&Self {
            branches: detail.branches,
            branch_targets: detail.branch_targets,
            max_depth: detail.max_depth,
            depth_sum: detail.depth_sum,
            barrier_arrivals: detail.barrier_arrivals,
            collectives: detail.collectives,
            fences: detail.fences,
            active_lanes: detail.active_lanes.clone(),
            ..Self::default()
        });
        for &(place, slots) in &detail.by_place {
            self.by_pc.add(place, &slots);
        }
    }

    /// Sets the counts that every launch has, detailed or not: of all its CTAs up to now.
    pub(crate) fn set_totals(&mut self, stats: &vm::Stats) {
        self.divergent_branches = stats.divergent_branches;
        self.divergent_targets = stats.divergent_paths;
        self.depth_issues = stats.slots.vector_issues;
        self.ctas = stats.ctas;
    }

    /// Adds the access counts and the traffic of another launch of the same program.
    pub(crate) fn add_accesses(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.traffic.add(&other.traffic);
        self.traffic_by_pc.add(&other.traffic_by_pc);
    }

    /// Counts `times` accesses of the pattern `line`. Returns `false`, having counted nothing, if
    /// the pattern has to be counted lane by lane.
    pub(crate) fn affine_accesses(&mut self, line: &AffineAccess, times: u64) -> bool {
        let Some(found) = self.traffic_by_pc.affine_accesses(line, times) else { return false };
        self.traffic.add(&found);
        self.count_kind(line.kind, times);
        true
    }

    /// Counts `access` and `times - 1` others with congruent addresses.
    pub(crate) fn congruent_accesses(&mut self, access: &Access<'_>, times: u64) {
        self.count_kind(access.kind, times);
        let found = self.traffic_by_pc.congruent_accesses(access, times);
        self.traffic.add(&found);
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
        self.traffic.add(found);
    }

    fn count_kind(&mut self, kind: AccessKind, times: u64) {
        match kind {
            AccessKind::Load => self.loads += times,
            AccessKind::Store => self.stores += times,
            AccessKind::Atomic => self.atomics += times,
        }
    }
}

impl<const N: usize> Observer<N> for Counters {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, N>) {
        self.max_depth = self.max_depth.max(u64::from(issue.depth));
        self.depth_sum += u64::from(issue.depth);
        self.depth_issues += 1;
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
        self.branches += 1;
        self.divergent_branches += u64::from(branch.targets.len() > 1);
        self.branch_targets += branch.targets.len() as u64;
        if branch.targets.len() > 1 {
            self.divergent_targets += branch.targets.len() as u64;
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.congruent_accesses(access, 1);
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        match sync.kind {
            SyncKind::BarrierArrive => self.barrier_arrivals += 1,
            SyncKind::BarrierRelease => {}
            SyncKind::Collective => self.collectives += 1,
            SyncKind::Fence(..) => self.fences += 1,
        }
    }

    fn cta(&mut self, _cta: u64, event: CtaEvent) {
        self.ctas += u64::from(event == CtaEvent::End);
    }
}
