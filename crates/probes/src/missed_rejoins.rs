//! A probe that counts the splits that do not rejoin at the earliest possible instruction.
//!
//! Paths merge wherever their lanes are at the same place (see [`converge`]), so the earliest sound
//! rejoin point of a split is the first instruction that lanes from more than one of its sides
//! reach. A split *misses* it if an instruction is issued for lanes of one side alone after it was
//! issued, since the split, for lanes of another side alone. A split whose sides have no
//! instruction in common cannot miss it.

use std::collections::BTreeMap;

use machines::probe::{EventSink, Lanes, LaunchStart, Probe, WORDS};
use rustc_hash::FxHashSet;
use simt::observe::{Branch, CtaEvent, Events, GroupId, Issue};
use smallvec::SmallVec;

/// Most open splits of a group that are followed; further ones are not judged.
const MOST_OPEN: usize = 256;

/// The probe of missed rejoin points.
#[derive(Clone, Debug, Default)]
pub struct MissedRejoins {
    groups: BTreeMap<GroupId, Vec<Split>>,
    count: SplitCounts,
}

/// Numbers of splits by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitCounts {
    /// Splits that merged at the earliest sound point, or that had none.
    pub early: u64,
    /// Splits of which a common instruction was issued for each side separately.
    pub missed: u64,
    /// Splits that were not followed.
    pub untracked: u64,
}

#[derive(Clone, Debug)]
struct Split {
    sides: SmallVec<[Side; 2]>,
}

/// Lanes that took one direction, and the program counters that they have visited since.
#[derive(Clone, Debug)]
struct Side {
    lanes: Lanes,
    seen: FxHashSet<u64>,
}

/// The consequence of an issue for a split.
enum SplitOutcome {
    Open,
    Early,
    Missed,
}

impl Split {
    fn issue(&mut self, pc: u64, active: &Lanes, exited: &Lanes) -> SplitOutcome {
        let mut touched = self.sides.iter().enumerate().filter(|(_, s)| (s.lanes & *active).any());
        let Some((first, _)) = touched.next() else { return SplitOutcome::Open };
        let others: SmallVec<[usize; 2]> = touched.map(|(at, _)| at).collect();
        if others.is_empty() {
            let mut rest = self.sides.iter().enumerate().filter(|(at, _)| *at != first);
            if rest.any(|(_, side)| side.seen.contains(&pc)) {
                return SplitOutcome::Missed;
            }
            self.sides[first].seen.insert(pc);
            return SplitOutcome::Open;
        }
        // These sides run together from here on, so they become one.
        for at in others.into_iter().rev() {
            let side = self.sides.remove(at);
            self.sides[first].lanes |= side.lanes;
            self.sides[first].seen.extend(side.seen);
        }
        let alive = self.sides.iter().filter(|s| (s.lanes - *exited).any()).count();
        if alive < 2 { SplitOutcome::Early } else { SplitOutcome::Open }
    }
}

impl MissedRejoins {
    /// Returns the outcomes of the splits so far. Open splits have missed nothing.
    #[must_use]
    pub fn splits(&self) -> SplitCounts {
        let open: usize = self.groups.values().map(Vec::len).sum();
        SplitCounts { early: self.count.early + open as u64, ..self.count }
    }

    fn close(&mut self, group: GroupId) {
        self.count.early += self.groups.remove(&group).map_or(0, |splits| splits.len() as u64);
    }
}

impl Probe for MissedRejoins {
    fn begin(&mut self, _launch: &LaunchStart<'_>) {
        let open: Vec<GroupId> = self.groups.keys().copied().collect();
        open.into_iter().for_each(|group| self.close(group));
    }
}

impl EventSink for MissedRejoins {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::BRANCH).and(Events::CTA)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let Some(open) = self.groups.get_mut(&issue.group) else { return };
        let (active, exited) = (issue.lanes.active, issue.lanes.exited);
        let count = &mut self.count;
        open.retain_mut(|split| match split.issue(issue.pc.0, &active, &exited) {
            SplitOutcome::Open => true,
            SplitOutcome::Early => {
                count.early += 1;
                false
            }
            SplitOutcome::Missed => {
                count.missed += 1;
                false
            }
        });
    }

    fn branch(&mut self, branch: &Branch<'_, WORDS>) {
        if branch.targets.len() < 2 {
            return;
        }
        let open = self.groups.entry(branch.group).or_default();
        if open.len() >= MOST_OPEN {
            self.count.untracked += 1;
            return;
        }
        let side = |lanes: Lanes| Side { lanes, seen: FxHashSet::default() };
        open.push(Split { sides: branch.targets.iter().map(|t| side(t.1)).collect() });
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            let first = GroupId { cta, group: 0, first_thread: 0 };
            let last = GroupId { cta, group: u32::MAX, first_thread: u32::MAX };
            let ended: Vec<GroupId> = self.groups.range(first..=last).map(|g| *g.0).collect();
            ended.into_iter().for_each(|group| self.close(group));
        }
    }
}
