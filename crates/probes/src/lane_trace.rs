//! A probe that records what each lane of a warp did at each issue, within fixed bounds of memory.
//!
//! It follows the first warps of a run from their first issue. At the end it keeps the first warp,
//! and of the others those that lost the largest share of their lane slots. It counts what it
//! omits, so that reports can say so.

use std::sync::Arc;

use machines::probe::{EventSink, Lanes, LaunchStart, Place, Probe, WORDS};
use rustc_hash::FxHashMap;
use simt::observe::{Events, GroupId, Issue};
use simt::slots::{ByCause, Domain, SlotCause};

/// Warps that are followed.
const MAX_WARPS: usize = 48;
/// Bound on the distinct lane sets, in lanes.
const MAX_LANES: usize = 1 << 18;

/// The lanes of an issue by the cause of their slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneCauses {
    by_cause: ByCause<Lanes>,
    /// The predicated-off lanes that the machine's mask, not a guard, turns off.
    masked_off: Lanes,
    /// Whether the issue runs once for the group.
    uniform: bool,
}

impl LaneCauses {
    /// Returns the causes of an issue.
    fn of(issue: &Issue<'_, WORDS>) -> Self {
        Self {
            by_cause: issue.lanes.by_cause(),
            masked_off: issue.lanes.masked_off(),
            uniform: issue.domain == Domain::Uniform,
        }
    }

    /// Returns whether the issue runs once for the group: the lanes that are on are those of its
    /// mask.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.uniform
    }

    /// Returns the lanes with a cause.
    #[must_use]
    pub fn lanes(&self, cause: SlotCause) -> Lanes {
        *self.by_cause.of(cause)
    }

    /// Returns the predicated-off lanes that the machine's mask, not a guard, turns off.
    #[must_use]
    pub fn masked_off(&self) -> Lanes {
        self.masked_off
    }
}

/// One issue of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueEntry {
    /// Index of the instruction in [`LaneTrace::places`].
    pub place: u32,
    /// Index of the lane sets in [`LaneTrace::lanes`].
    pub lanes: u32,
    /// Number of paths of the warp.
    pub depth: u32,
}

/// A recorded warp.
#[derive(Clone, Debug, PartialEq)]
pub struct WarpTrace {
    /// Index of the launch, from 0.
    pub launch: usize,
    /// The group.
    pub group: GroupId,
    /// Width in lanes.
    pub width: u32,
    /// Its first issues.
    pub steps: Vec<IssueEntry>,
    /// Number of all its issues.
    pub issues: u64,
    /// Number of its lane slots.
    pub slots: u64,
    /// Lane slots in which no lane was on.
    pub lost: u64,
}

/// The record of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneTrace {
    /// The warps that are kept, in the order of their first issues.
    pub warps: Vec<WarpTrace>,
    /// Number of warps of the run.
    pub of: usize,
    /// Instructions that the steps refer to.
    pub places: Vec<Place>,
    /// Distinct lane sets that the steps refer to.
    pub lanes: Vec<LaneCauses>,
}

/// The recording probe.
#[derive(Debug)]
pub struct LaneTraceProbe {
    /// Most recorded issues of a warp.
    most: usize,
    launch: usize,
    code: Arc<[Place]>,
    /// Index into `places`, plus one, by program counter; 0 for none.
    seen: Vec<u32>,
    warps: Vec<WarpTrace>,
    index: FxHashMap<(usize, GroupId), Option<usize>>,
    places: Vec<Place>,
    sets: Vec<LaneCauses>,
    set_index: FxHashMap<LaneCauses, u32>,
    last: Option<((usize, GroupId), Option<usize>)>,
}

impl LaneTraceProbe {
    /// Creates a recorder that keeps at most `most` issues of a warp.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            launch: 0,
            code: Arc::default(),
            seen: Vec::new(),
            warps: Vec::new(),
            index: FxHashMap::default(),
            places: Vec::new(),
            sets: Vec::new(),
            set_index: FxHashMap::default(),
            last: None,
        }
    }

    /// Returns the record of at most `warps` warps.
    #[must_use]
    pub fn recorded(self, warps: usize) -> LaneTrace {
        let of = self.index.len();
        let share = |w: &WarpTrace| w.lost as f64 / w.slots.max(1) as f64;
        let mut chosen: Vec<usize> = (1..self.warps.len()).collect();
        chosen.sort_by(|&a, &b| share(&self.warps[b]).total_cmp(&share(&self.warps[a])));
        chosen.truncate(warps.saturating_sub(1));
        let first = !self.warps.is_empty() && warps > 0;
        chosen.extend(first.then_some(0));
        chosen.sort_unstable();
        let kept = chosen.into_iter().map(|at| self.warps[at].clone()).collect();
        LaneTrace { warps: kept, of, places: self.places, lanes: self.sets }
    }

    /// Returns the index of a warp, if it is followed.
    fn warp(&mut self, group: GroupId, width: u32) -> Option<usize> {
        let key = (self.launch, group);
        if let Some((last, at)) = self.last
            && last == key
        {
            return at;
        }
        let warps = &mut self.warps;
        let at = *self.index.entry(key).or_insert_with(|| {
            (warps.len() < MAX_WARPS).then(|| {
                let (steps, issues, slots, lost) = (Vec::new(), 0, 0, 0);
                warps.push(WarpTrace { launch: key.0, group, width, steps, issues, slots, lost });
                warps.len() - 1
            })
        });
        self.last = Some((key, at));
        at
    }

    fn place(&mut self, pc: usize) -> Option<u32> {
        let seen = self.seen.get_mut(pc)?;
        if *seen == 0 {
            self.places.push(self.code.get(pc)?.clone());
            *seen = u32::try_from(self.places.len()).ok()?;
        }
        Some(*seen - 1)
    }

    fn set(&mut self, causes: LaneCauses, width: u32) -> Option<u32> {
        if let Some(&at) = self.set_index.get(&causes) {
            return Some(at);
        }
        if self.sets.len().saturating_mul(width as usize) >= MAX_LANES {
            return None;
        }
        let at = u32::try_from(self.sets.len()).ok()?;
        self.sets.push(causes);
        self.set_index.insert(causes, at);
        Some(at)
    }
}

impl Probe for LaneTraceProbe {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.launch = if self.code.is_empty() { 0 } else { self.launch + 1 };
        self.code = Arc::clone(launch.places);
        self.seen = vec![0; launch.places.len()];
        self.last = None;
    }
}

impl EventSink for LaneTraceProbe {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let width = issue.lanes.width;
        let Some(at) = self.warp(issue.group, width) else { return };
        let causes = LaneCauses::of(issue);
        let warp = &mut self.warps[at];
        let whole = warp.steps.len() as u64 == warp.issues;
        // Issues of one warp differ in width: scalar issues have one lane, and vector issues of
        // some machines as many as they request.
        warp.width = warp.width.max(width);
        warp.issues += 1;
        if !causes.uniform {
            warp.slots += u64::from(width);
            warp.lost += u64::from(width - causes.lanes(SlotCause::On).count().min(width));
        }
        // The recorded issues are a prefix of the warp's issues, without gaps.
        if !whole || warp.steps.len() >= self.most {
            return;
        }
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        if let (Some(place), Some(lanes)) = (self.place(pc), self.set(causes, width)) {
            self.warps[at].steps.push(IssueEntry { place, lanes, depth: issue.depth });
        }
    }
}
