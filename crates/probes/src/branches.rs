//! The cost of each branch: which way lanes went, where they came together again, and the lane
//! slots that were lost while they were apart.
//!
//! A *split* is a branch issue whose lanes go to more than one place. A lane slot that is lost
//! because its lane is on another path is charged to the latest split that is open and has that
//! lane on another side than lanes that are active. So each diverged slot is charged to one branch,
//! or to none: to a call or return whose lanes parted, or to a split whose sides have met in part.
//! A split is open until all its lanes that have not exited are active together, or are of one
//! side; the place of the issue at which they are is where it rejoined.

use std::collections::BTreeMap;
use std::sync::Arc;

use machines::probe::{EventSink, Lanes, LaunchStart, Place, Probe, WORDS};
use serde_json::{Value, json};
use simt::observe::{Branch, CtaEvent, Events, GroupId, Issue};
use simt::slots::{Domain, SlotCause};
use smallvec::SmallVec;

/// Most open splits of a group that are followed; beyond, the oldest is forgotten.
const MOST_OPEN: usize = 2048;
/// Longest forward region, in instructions, whose predication is estimated.
const LONGEST: u64 = 256;

/// The probe of the costs of branches.
#[derive(Clone, Debug, Default)]
pub struct BranchCosts {
    places: Arc<[Place]>,
    by_pc: BTreeMap<u64, Counted>,
    issues: Vec<u64>,
    groups: BTreeMap<GroupId, Vec<OpenSplit>>,
    table: BranchTable,
}

/// What was counted of one branch in the current launch.
#[derive(Clone, Debug, Default)]
struct Counted {
    executed: u64,
    divergent: u64,
    jumping: u64,
    falling: u64,
    rejoined: BTreeMap<u64, u64>,
    never: u64,
    lost: u64,
    /// The lowest and the highest place that lanes went to.
    targets: Option<(u64, u64)>,
}

#[derive(Clone, Debug)]
struct OpenSplit {
    pc: u64,
    lanes: Lanes,
    sides: SmallVec<[Lanes; 2]>,
}

/// The branches of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchTable {
    /// The branches that were issued, by launch and place.
    pub branches: Vec<BranchCost>,
    /// Diverged lane slots of the run.
    pub diverged: u64,
}

/// The cost of one branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchCost {
    /// The branch.
    pub place: Place,
    /// Its issues.
    pub executed: u64,
    /// Those of them whose lanes went to more than one place.
    pub divergent: u64,
    /// Lanes that jumped, summed over issues.
    pub jumping: u64,
    /// Lanes that went on to the next instruction.
    pub falling: u64,
    /// Places at which splits rejoined, with how many, most frequent first.
    pub rejoined: Vec<(Place, u64)>,
    /// Splits that never rejoined.
    pub never: u64,
    /// Diverged lane slots that are charged to it.
    pub lost: u64,
    /// Issues that predicating its region would save; negative if it would cost some. `None` if the
    /// region is not known to be a short one that only goes forward and meets at one place.
    pub predicated_saves: Option<i64>,
}

impl BranchTable {
    /// Returns the diverged lane slots that are charged to no branch.
    #[must_use]
    pub fn unattributed(&self) -> u64 {
        self.diverged - self.branches.iter().map(|b| b.lost).sum::<u64>()
    }

    /// Returns the branches that cost most first: by lost slots, then by splits.
    #[must_use]
    pub fn by_cost(&self) -> Vec<&BranchCost> {
        let mut all: Vec<&BranchCost> = self.branches.iter().collect();
        all.sort_by_key(|b| std::cmp::Reverse((b.lost, b.divergent, b.executed)));
        all
    }

    /// Renders JSON as `docs/explain.md` describes it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let branch = |b: &BranchCost| {
            let rejoined = b.rejoined.iter().map(|(place, n)| {
                let mut value = crate::place_json::place_json(place);
                value["count"] = json!(n);
                value
            });
            let mut value = crate::place_json::place_json(&b.place);
            value["executed"] = json!(b.executed);
            value["divergent"] = json!(b.divergent);
            value["lanes_jumping"] = json!(b.jumping);
            value["lanes_falling_through"] = json!(b.falling);
            value["rejoined"] = rejoined.collect();
            value["never_rejoined"] = json!(b.never);
            value["slots_lost"] = json!(b.lost);
            value["predicated_saves"] = json!(b.predicated_saves);
            value
        };
        json!({
            "branches": self.branches.iter().map(branch).collect::<Vec<_>>(),
            "slots_diverged": self.diverged,
            "slots_unattributed": self.unattributed(),
        })
    }
}

impl BranchCosts {
    /// Returns the branches of all launches.
    #[must_use]
    pub fn table(mut self) -> BranchTable {
        self.fold_launch();
        self.table
    }

    fn fold_launch(&mut self) {
        for split in std::mem::take(&mut self.groups).into_values().flatten() {
            self.by_pc.entry(split.pc).or_default().never += 1;
        }
        let by_pc = std::mem::take(&mut self.by_pc);
        let place = |pc: u64| self.places.get(usize::try_from(pc).ok()?).cloned();
        for (&pc, counted) in by_pc.iter().filter(|(_, counted)| counted.executed > 0) {
            let Some(of) = place(pc) else { continue };
            let mut rejoined: Vec<(u64, u64)> =
                counted.rejoined.iter().map(|(at, n)| (*at, *n)).collect();
            rejoined.sort_by_key(|&(at, n)| (std::cmp::Reverse(n), at));
            let places = rejoined.iter().filter_map(|&(at, n)| Some((place(at)?, n)));
            self.table.branches.push(BranchCost {
                place: of,
                executed: counted.executed,
                divergent: counted.divergent,
                jumping: counted.jumping,
                falling: counted.falling,
                rejoined: places.collect(),
                never: counted.never,
                lost: counted.lost,
                predicated_saves: self.saves(pc, counted, &by_pc),
            });
        }
        self.issues.clear();
    }

    /// Returns the issues saved if the region from a branch to where its lanes meet ran as
    /// predicated code: each of its instructions but jumps once for each issue of the branch, and
    /// no branch.
    fn saves(&self, pc: u64, counted: &Counted, by_pc: &BTreeMap<u64, Counted>) -> Option<i64> {
        let [end] = counted.rejoined.keys().copied().collect::<Vec<_>>()[..] else { return None };
        if end <= pc + 1 || end - pc > LONGEST || counted.never > 0 {
            return None;
        }
        let inside = |c: &Counted| c.targets.is_none_or(|(low, high)| low > pc && high <= end);
        if !inside(counted) || !by_pc.range(pc + 1..end).all(|(_, c)| inside(c)) {
            return None;
        }
        let range = usize::try_from(pc + 1).ok()?..usize::try_from(end).ok()?;
        let jump = |place: &Place| place.text.split_whitespace().any(|w| w.starts_with("bra"));
        let kept = self.places.get(range.clone())?.iter().filter(|p| !jump(p)).count() as u64;
        let issued: u64 = self.issues.get(range)?.iter().sum();
        let predicated = kept.saturating_mul(counted.executed);
        i64::try_from(issued + counted.executed).ok()?.checked_sub(i64::try_from(predicated).ok()?)
    }
}

impl Probe for BranchCosts {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.fold_launch();
        self.places = Arc::clone(launch.places);
        self.issues = vec![0; launch.places.len()];
    }
}

impl EventSink for BranchCosts {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::BRANCH).and(Events::CTA)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        if let Some(n) = usize::try_from(issue.pc.0).ok().and_then(|pc| self.issues.get_mut(pc)) {
            *n += 1;
        }
        if issue.domain == Domain::Uniform {
            return;
        }
        let active = issue.lanes.active;
        let mut diverged = *issue.lanes.by_cause().of(SlotCause::Diverged);
        self.table.diverged += u64::from(diverged.count());
        let Some(open) = self.groups.get_mut(&issue.group) else { return };
        for split in open.iter().rev() {
            if diverged.is_empty() {
                break;
            }
            let mine = diverged & split.lanes;
            if mine.is_empty() || split.lanes.is_disjoint(&active) {
                continue;
            }
            let apart = split.sides.iter().filter(|side| side.is_disjoint(&active));
            let charged = apart.fold(Lanes::EMPTY, |all, side| all | *side) & mine;
            diverged -= charged;
            self.by_pc.entry(split.pc).or_default().lost += u64::from(charged.count());
        }
        let exited = issue.lanes.exited;
        let by_pc = &mut self.by_pc;
        open.retain(|split| {
            let left = split.lanes - exited;
            if split.sides.iter().any(|side| left.is_subset(side)) {
                by_pc.entry(split.pc).or_default().never += 1;
                return false;
            }
            if left.is_subset(&active) {
                let branch = by_pc.entry(split.pc).or_default();
                *branch.rejoined.entry(issue.pc.0).or_default() += 1;
                return false;
            }
            true
        });
    }

    fn branch(&mut self, branch: &Branch<'_, WORDS>) {
        let counted = self.by_pc.entry(branch.pc.0).or_default();
        counted.executed += 1;
        for (to, lanes) in branch.targets {
            let count = u64::from(lanes.count());
            if to.0 == branch.pc.0 + 1 {
                counted.falling += count;
            } else {
                counted.jumping += count;
            }
            let (low, high) = counted.targets.unwrap_or((to.0, to.0));
            counted.targets = Some((low.min(to.0), high.max(to.0)));
        }
        if branch.targets.len() < 2 {
            return;
        }
        counted.divergent += 1;
        let open = self.groups.entry(branch.group).or_default();
        let sides: SmallVec<[Lanes; 2]> = branch.targets.iter().map(|t| t.1).collect();
        let lanes = sides.iter().fold(Lanes::EMPTY, |all, side| all | *side);
        if open.len() == MOST_OPEN {
            let oldest = open.remove(0);
            self.by_pc.entry(oldest.pc).or_default().never += 1;
        }
        open.push(OpenSplit { pc: branch.pc.0, lanes, sides });
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            let first = GroupId { cta, group: 0, first_thread: 0 };
            let last = GroupId { cta, group: u32::MAX, first_thread: u32::MAX };
            let ended: Vec<GroupId> = self.groups.range(first..=last).map(|g| *g.0).collect();
            for split in ended.iter().filter_map(|id| self.groups.remove(id)).flatten() {
                self.by_pc.entry(split.pc).or_default().never += 1;
            }
        }
    }
}
