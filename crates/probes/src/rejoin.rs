//! A probe that measures reconvergence times.
//!
//! A *split* is a branch issue whose lanes go to more than one place. It *rejoins* at the first
//! later issue of its group in which all lanes of the split that have not exited are active
//! together, if lanes of more than one side are left. Its reconvergence time is the number of
//! issues of the group between the two. The definition does not depend on the mechanism, so
//! mechanisms with stacks, lists or barriers are measured alike. Splits that do not rejoin are
//! counted, not timed.

use std::collections::BTreeMap;

use lab::stats::ReconvergenceTimes;
use machines::probe::{EventSink, Lanes, LaunchStart, Probe, WORDS};
use simt::observe::{Branch, CtaEvent, Events, GroupId, Issue};
use smallvec::SmallVec;

/// Most open splits of a group that are followed; beyond, the oldest counts as never rejoined.
const MOST_OPEN: usize = 2048;

/// The probe of reconvergence times.
#[derive(Clone, Debug, Default)]
pub struct Rejoins {
    groups: BTreeMap<GroupId, GroupSplits>,
    /// Times of all launches so far.
    all: Histogram,
    /// Times of the current launch.
    launch: Histogram,
    /// Times of the launches before the current one.
    done: Vec<ReconvergenceTimes>,
    begun: bool,
    /// Number of open splits.
    open_now: usize,
}

/// Frequencies of times, and the number of splits without one.
#[derive(Clone, Debug, Default)]
struct Histogram {
    times: BTreeMap<u64, u64>,
    never: u64,
}

#[derive(Clone, Debug, Default)]
struct GroupSplits {
    issues: u64,
    open: Vec<OpenSplit>,
    exited: Lanes,
}

#[derive(Clone, Debug)]
struct OpenSplit {
    at: u64,
    lanes: Lanes,
    sides: SmallVec<[Lanes; 2]>,
}

impl Histogram {
    fn times(&self, open: u64) -> ReconvergenceTimes {
        let rejoined: u64 = self.times.values().sum();
        let sum: u128 = self.times.iter().map(|(t, n)| u128::from(*t) * u128::from(*n)).sum();
        let mean = (rejoined > 0).then(|| sum as f64 / rejoined as f64);
        let never = self.never + open;
        ReconvergenceTimes { rejoined, never, mean, p50: self.quantile(50), p99: self.quantile(99) }
    }

    /// Returns the smallest time that at least `percent` of the splits do not exceed; `None` if
    /// none rejoined.
    fn quantile(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.times.values().sum();
        let rank = all.saturating_mul(percent).div_ceil(100).max(1);
        let mut below = 0;
        for (&time, &n) in &self.times {
            below += n;
            if below >= rank {
                return Some(time);
            }
        }
        None
    }
}

impl Rejoins {
    /// Returns the times so far. Open splits count as never rejoined.
    #[must_use]
    pub fn times(&self) -> ReconvergenceTimes {
        self.all.times(self.open())
    }

    /// Returns the times of each launch.
    #[must_use]
    pub fn by_launch(&self) -> Vec<ReconvergenceTimes> {
        let mut out = self.done.clone();
        out.extend(self.begun.then(|| self.launch.times(self.open())));
        out
    }

    fn open(&self) -> u64 {
        self.groups.values().map(|g| g.open.len() as u64).sum()
    }

    fn count_never(&mut self, splits: u64) {
        self.all.never += splits;
        self.launch.never += splits;
    }
}

impl Probe for Rejoins {
    fn begin(&mut self, _launch: &LaunchStart<'_>) {
        let open = self.open();
        self.count_never(open);
        self.groups.clear();
        self.open_now = 0;
        let last = std::mem::take(&mut self.launch);
        if std::mem::replace(&mut self.begun, true) {
            self.done.push(last.times(0));
        }
    }
}

impl EventSink for Rejoins {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::BRANCH).and(Events::CTA)
    }

    /// Times are differences: nothing is missed while no split is open.
    fn idle(&self) -> bool {
        self.open_now == 0
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let group = self.groups.entry(issue.group).or_default();
        let now = group.issues;
        group.issues += 1;
        group.exited = issue.lanes.exited;
        let active = issue.lanes.active;
        // A single lane cannot rejoin anything, and most of the time no split is open.
        if group.open.is_empty() || active.count() < 2 {
            return;
        }
        let exited = group.exited;
        let before = group.open.len();
        let Self { all, launch, open_now, .. } = self;
        group.open.retain(|split| {
            let left = split.lanes - exited;
            if split.sides.iter().any(|side| left.is_subset(side)) {
                all.never += 1;
                launch.never += 1;
                return false;
            }
            if left.is_subset(&active) {
                *all.times.entry(now - split.at).or_default() += 1;
                *launch.times.entry(now - split.at).or_default() += 1;
                return false;
            }
            true
        });
        *open_now = open_now.saturating_sub(before - group.open.len());
    }

    fn branch(&mut self, branch: &Branch<'_, WORDS>) {
        if branch.targets.len() < 2 {
            return;
        }
        let group = self.groups.entry(branch.group).or_default();
        let sides: SmallVec<[Lanes; 2]> = branch.targets.iter().map(|t| t.1).collect();
        let lanes = sides.iter().fold(Lanes::EMPTY, |all, side| all | *side);
        if group.open.len() == MOST_OPEN {
            group.open.remove(0);
            self.all.never += 1;
            self.launch.never += 1;
            self.open_now = self.open_now.saturating_sub(1);
        }
        self.open_now += 1;
        group.open.push(OpenSplit { at: group.issues, lanes, sides });
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            let first = GroupId { cta, group: 0, first_thread: 0 };
            let last = GroupId { cta, group: u32::MAX, first_thread: u32::MAX };
            let ended: Vec<GroupId> = self.groups.range(first..=last).map(|g| *g.0).collect();
            for id in ended {
                let open = self.groups.remove(&id).map_or(0, |g| g.open.len() as u64);
                self.count_never(open);
                self.open_now = self.open_now.saturating_sub(usize::try_from(open).unwrap_or(0));
            }
        }
    }
}
