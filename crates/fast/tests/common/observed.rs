//! What an observer of all events of the exact engine counts, for comparison with the fast engine's detailed counts.

use fast::{Detail, GoOn, Line};
use simt::memory::Space;
use simt::observe::{
    Access, AccessKind, Branch, CtaEvent, Events, Issue, Observer, Sync, SyncKind,
};
use simt::slots::LaneSlots;
use std::collections::BTreeMap;
use vm::Stats;

/// Everything but accesses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    branches: u64,
    branch_targets: u64,
    max_depth: u64,
    depth_sum: u64,
    barrier_arrivals: u64,
    collectives: u64,
    fences: u64,
    active_lanes: BTreeMap<u64, u64>,
    by_place: BTreeMap<u64, LaneSlots>,
    ctas: u64,
}

/// Counts events; accesses go into a number that tells their order, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) counted: Counted,
    pub(crate) accesses: Accesses,
}

/// A fingerprint of accesses in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Accesses {
    count: u64,
    hash: u64,
}

impl Accesses {
    fn add(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn begin(&mut self, pc: u64, kind: AccessKind, space: Space, size: u32) {
        self.count += 1;
        for part in [pc, kind as u64, space as u64, size.into()] {
            self.add(part);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.begin(access.pc.0, access.kind, access.space, access.size);
        for &(lane, at) in access.lanes {
            self.add(u64::from(access.group.first_thread) + u64::from(lane));
            self.add(at);
        }
    }
}

impl Observer<1> for Observed {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        let counted = &mut self.counted;
        counted.max_depth = counted.max_depth.max(issue.depth.into());
        counted.depth_sum += u64::from(issue.depth);
        counted.by_place.entry(issue.pc.0).or_default().vector(issue.lanes);
        *counted.active_lanes.entry(issue.lanes.active.count().into()).or_default() += 1;
    }

    fn branch(&mut self, branch: &Branch<'_, 1>) {
        self.counted.branches += 1;
        self.counted.branch_targets += branch.targets.len() as u64;
    }

    fn access(&mut self, access: &Access<'_>) {
        self.accesses.access(access);
    }

    fn sync(&mut self, sync: &Sync<'_, 1>) {
        match sync.kind {
            SyncKind::BarrierArrive => self.counted.barrier_arrivals += 1,
            SyncKind::BarrierRelease => {}
            SyncKind::Collective => self.counted.collectives += 1,
            SyncKind::Fence(..) => self.counted.fences += 1,
        }
    }

    fn cta(&mut self, _: u64, event: CtaEvent) {
        self.counted.ctas += u64::from(event == CtaEvent::End);
    }
}

/// Takes note of the fast engine's accesses; lines are taken as such every other time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noting {
    pub(crate) accesses: Accesses,
    lines: u64,
}

impl GoOn for Noting {
    fn go_on(&mut self, _: u64, _: u64) -> bool {
        true
    }

    fn access(&mut self, access: &Access<'_>) {
        self.accesses.access(access);
    }

    fn line(&mut self, line: &Line) -> bool {
        self.lines += 1;
        if self.lines.is_multiple_of(2) {
            return false;
        }
        self.accesses.begin(line.pc.0, line.kind, line.space, line.size);
        for lane in 0..i64::from(line.lanes) {
            self.accesses.add(u64::from(line.first_thread) + lane as u64);
            self.accesses.add(line.at.wrapping_add_signed(lane * line.stride));
        }
        true
    }
}

/// The same of the fast engine.
pub(crate) fn of_fast(detail: &Detail, stats: &Stats) -> Counted {
    let lanes = detail.active_lanes.iter().enumerate();
    let places = detail.by_place.iter().copied();
    Counted {
        branches: detail.branches,
        branch_targets: detail.branch_targets,
        max_depth: detail.max_depth,
        depth_sum: detail.depth_sum,
        barrier_arrivals: detail.barrier_arrivals,
        collectives: detail.collectives,
        fences: detail.fences,
        active_lanes: lanes.filter(|l| *l.1 > 0).map(|(n, &count)| (n as u64, count)).collect(),
        by_place: places.filter(|p| p.1.issues() > 0).collect(),
        ctas: stats.ctas,
    }
}
