//! Lanes over time: what each lane of a warp did at each of its issues, as far as memory is given to it. A probe.
//!
//! The first warps of a run are followed from their first issue on; in the end those are kept that are worth a look: the very
//! first, and of the others those that lost the largest share of their lane slots. Whatever is left out is counted, so that a
//! report can say so.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use simt::observe::{Events, GroupId, Issue};
use simt::slots::SlotCause;

use crate::probe::{Beginning, EventSink, Lanes, Place, Probe, WORDS};

/// Warps that are followed.
const FOLLOWED: usize = 48;
/// Different lane sets that are told apart, in lanes.
const LANES: usize = 1 << 18;

/// Which lanes fell under which cause at an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Causes {
    /// In the order of [`SlotCause::ALL`].
    by_cause: [Lanes; 6],
    /// Of the predicated-off lanes, those that the machine's mask turns off.
    masked_off: Lanes,
}

impl Causes {
    /// Those of an issue.
    fn of(issue: &Issue<'_, WORDS>) -> Self {
        Self { by_cause: issue.lanes.by_cause(), masked_off: issue.lanes.masked_off() }
    }

    /// Lanes under a cause.
    #[must_use]
    pub fn lanes(&self, cause: SlotCause) -> Lanes {
        self.by_cause[cause as usize]
    }

    /// Of the predicated-off lanes, those that the machine's mask turns off.
    #[must_use]
    pub fn masked_off(&self) -> Lanes {
        self.masked_off
    }
}

/// One issue of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of its place among those of the recording.
    pub place: u32,
    /// Index of its lanes among those of the recording.
    pub lanes: u32,
    /// Paths that the warp has.
    pub depth: u32,
}

/// A warp and its first issues.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    /// The launch, from 0.
    pub launch: usize,
    /// Who.
    pub group: GroupId,
    /// Lanes.
    pub width: u32,
    /// Its first issues.
    pub steps: Vec<Step>,
    /// All its issues.
    pub issues: u64,
    /// Lane slots, and those of them that did no work.
    pub slots: u64,
    /// Lane slots that did no work.
    pub lost: u64,
}

/// What was recorded of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The warps that are kept, in the order of their beginning.
    pub warps: Vec<Warp>,
    /// Warps that the run had.
    pub of: usize,
    /// Instructions.
    pub places: Vec<Place>,
    /// Lane sets.
    pub lanes: Vec<Causes>,
}

/// The probe.
#[derive(Debug)]
pub struct Recorder {
    /// Issues of a warp that are kept.
    most: usize,
    launch: usize,
    code: Arc<[Place]>,
    /// Index among the places, plus one, by program counter.
    seen: Vec<u32>,
    warps: Vec<Warp>,
    index: FxHashMap<(usize, GroupId), Option<usize>>,
    places: Vec<Place>,
    sets: Vec<Causes>,
    set_index: FxHashMap<Causes, u32>,
    last: Option<((usize, GroupId), Option<usize>)>,
}

impl Recorder {
    /// A recorder that keeps so many issues of a warp.
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

    /// What was recorded, of at most so many warps.
    #[must_use]
    pub fn recorded(self, warps: usize) -> Recorded {
        let of = self.index.len();
        let share = |w: &Warp| w.lost as f64 / w.slots.max(1) as f64;
        let mut chosen: Vec<usize> = (1..self.warps.len()).collect();
        chosen.sort_by(|&a, &b| share(&self.warps[b]).total_cmp(&share(&self.warps[a])));
        chosen.truncate(warps.saturating_sub(1));
        let first = !self.warps.is_empty() && warps > 0;
        chosen.extend(first.then_some(0));
        chosen.sort_unstable();
        let kept = chosen.into_iter().map(|at| self.warps[at].clone()).collect();
        Recorded { warps: kept, of, places: self.places, lanes: self.sets }
    }

    /// Index of a warp, if it is followed.
    fn warp(&mut self, group: GroupId, width: u32) -> Option<usize> {
        let key = (self.launch, group);
        if let Some((last, at)) = self.last
            && last == key
        {
            return at;
        }
        let warps = &mut self.warps;
        let at = *self.index.entry(key).or_insert_with(|| {
            (warps.len() < FOLLOWED).then(|| {
                let (steps, issues, slots, lost) = (Vec::new(), 0, 0, 0);
                warps.push(Warp { launch: key.0, group, width, steps, issues, slots, lost });
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

    fn set(&mut self, causes: Causes, width: u32) -> Option<u32> {
        if let Some(&at) = self.set_index.get(&causes) {
            return Some(at);
        }
        if self.sets.len().saturating_mul(width as usize) >= LANES {
            return None;
        }
        let at = u32::try_from(self.sets.len()).ok()?;
        self.sets.push(causes);
        self.set_index.insert(causes, at);
        Some(at)
    }
}

impl Probe for Recorder {
    fn begin(&mut self, launch: &Beginning<'_>) {
        self.launch = if self.code.is_empty() { 0 } else { self.launch + 1 };
        self.code = Arc::clone(launch.places);
        self.seen = vec![0; launch.places.len()];
        self.last = None;
    }
}

impl EventSink for Recorder {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let width = issue.lanes.width;
        let Some(at) = self.warp(issue.group, width) else { return };
        let causes = Causes::of(issue);
        let warp = &mut self.warps[at];
        let whole = warp.steps.len() as u64 == warp.issues;
        // Scalar issues have one lane, vectors of some machines as many as they ask for.
        warp.width = warp.width.max(width);
        warp.issues += 1;
        warp.slots += u64::from(width);
        warp.lost += u64::from(width - causes.lanes(SlotCause::On).count().min(width));
        // What is kept has no holes.
        if !whole || warp.steps.len() >= self.most {
            return;
        }
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        if let (Some(place), Some(lanes)) = (self.place(pc), self.set(causes, width)) {
            self.warps[at].steps.push(Step { place, lanes, depth: issue.depth });
        }
    }
}
