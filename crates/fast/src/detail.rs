//! Counts of events: those that an observer of all events of the exact engine would have made.
//!
//! A whole block runs with one set of lanes, so lane slots are summed by block, and distributed to
//! the block's instructions at the end of the launch. Lanes that guards turn off are counted by
//! step.

use crate::code::{Code, End, Kind};
use crate::tier::WorkerCounts;
use simt::counts::Counts;
use simt::slots::{GroupLanes, LaneSlots};
use vm::WARP_SIZE;

/// The detailed counts of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The counts of events but accesses, which the launch's observer counts.
    pub counts: Counts,
    /// The number of issues by number of active lanes; empty if there were no issues.
    pub active_lanes: Vec<u64>,
    /// Lane slots by place, in increasing order, for all places of the kernel and the functions
    /// that it calls.
    pub by_place: Vec<(u64, LaneSlots)>,
    /// Slots of whole runs of each block: those of one of its issues, summed over the runs.
    blocks: Vec<LaneSlots>,
    /// Slots of issues that were not part of a whole run: by step, then by block for the blocks'
    /// ends.
    places: Vec<LaneSlots>,
    /// Lanes that guards turned off, by step; then those of ends of blocks whose guard does not
    /// hold, all together.
    off: Vec<u64>,
    /// Branches that are calls by address: the launch's statistics count them as branches, its
    /// details do not.
    calls_by_address: Counts,
}

impl Detail {
    pub(crate) fn new(code: &Code) -> Self {
        Self {
            active_lanes: vec![0; 33],
            blocks: vec![LaneSlots::default(); code.blocks.len()],
            places: vec![LaneSlots::default(); code.steps.len() + code.blocks.len()],
            off: vec![0; code.steps.len() + 1],
            ..Self::default()
        }
    }

    /// Counts `n` issues from instruction `first` of a block on. `slots` holds the lane slots of
    /// one of them.
    pub(crate) fn count(
        &mut self,
        code: &Code,
        block: u32,
        (first, n): (usize, usize),
        slots: &LaneSlots,
        depth: u32,
    ) {
        let depth = u64::from(depth);
        self.counts.max_depth = self.counts.max_depth.max(depth);
        self.counts.depth_sum += depth * n as u64;
        self.active_lanes[slots.active() as usize] += n as u64;
        self.add_slots(code, block, (first, n), slots);
    }

    /// Adds lane slots to each of `n` issues from instruction `first` of a block on.
    fn add_slots(
        &mut self,
        code: &Code,
        block: u32,
        (first, n): (usize, usize),
        slots: &LaneSlots,
    ) {
        let (index, block) = (block as usize, &code.blocks[block as usize]);
        let whole = block.steps.len() + usize::from(block.end_issues);
        if (first, n) == (0, whole) {
            self.blocks[index].add(slots);
            return;
        }
        for i in first..first + n {
            let at = if i < block.steps.len() {
                block.steps.start + i
            } else {
                code.steps.len() + index
            };
            self.places[at].add(slots);
        }
    }

    pub(crate) fn predicate_off(&mut self, step: usize, lanes: u32) {
        self.off[step] += u64::from(lanes.count_ones());
    }

    /// Counts lanes of an end of a block whose guard does not hold.
    pub(crate) fn guard_off_at_end(&mut self, lanes: u32) {
        if let Some(ends) = self.off.last_mut() {
            *ends += u64::from(lanes.count_ones());
        }
    }

    /// Adds the counts of a worker.
    pub(crate) fn add_counts(&mut self, code: &Code, counts: &WorkerCounts) {
        for site in &counts.sites {
            let (never_launched, exited, active) = (site.never_launched, site.exited, site.lanes);
            let lanes = GroupLanes { never_launched, exited, waiting: 0, active };
            let slots = LaneSlots::of_issues(site.times, WARP_SIZE, lanes);
            self.add_slots(code, site.block, (site.first, site.issues), &slots);
        }
        for (sum, &more) in self.off.iter_mut().zip(&counts.off) {
            *sum += more;
        }
        for (sum, &more) in self.active_lanes.iter_mut().zip(&counts.active_lanes) {
            *sum += more;
        }
        self.counts.depth_sum += counts.depth_sum;
        self.counts.max_depth = self.counts.max_depth.max(counts.max_depth);
    }

    /// Adds the counts of other CTAs of the launch. Neither side may have been
    /// [finished](Self::finish).
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.calls_by_address.add(&other.calls_by_address);
        let counts = |to: &mut [u64], from: &[u64]| {
            to.iter_mut().zip(from).for_each(|(sum, more)| *sum += more);
        };
        counts(&mut self.active_lanes, &other.active_lanes);
        counts(&mut self.off, &other.off);
        let slots = |to: &mut [LaneSlots], from: &[LaneSlots]| {
            to.iter_mut().zip(from).for_each(|(sum, more)| sum.add(more));
        };
        slots(&mut self.blocks, &other.blocks);
        slots(&mut self.places, &other.places);
    }

    /// Counts a call by address whose lanes go to so many functions.
    pub(crate) fn call_by_address(&mut self, callees: usize) {
        let calls = &mut self.calls_by_address;
        calls.conditional_branches += 1;
        if callees > 1 {
            calls.divergent_branches += 1;
            calls.divergent_paths += callees as u64;
        }
    }

    /// Counts the events that are counted in every launch. `stats` counts all of the launch up to
    /// now, `done` what the exact engine has run of it before.
    fn add_totals(&mut self, stats: &Counts, done: &Counts) {
        let counts = &mut self.counts;
        let calls = std::mem::take(&mut self.calls_by_address);
        let total = |of: fn(&Counts) -> u64| of(stats) - of(done) - of(&calls);
        counts.branches += total(|counts| counts.conditional_branches);
        counts.divergent_branches += total(|counts| counts.divergent_branches);
        counts.divergent_paths += total(|counts| counts.divergent_paths);
        counts.depth_issues += stats.slots.vector_issues - done.slots.vector_issues;
        counts.ctas += stats.ctas - done.ctas;
    }

    /// Distributes slots to places, and computes what depends on them and on the counts of every
    /// launch.
    pub(crate) fn finish(&mut self, code: &Code, stats: &Counts, done: &Counts) {
        self.add_totals(stats, done);
        self.counts.control_guard_off += self.off.last_mut().map_or(0, std::mem::take);
        for (index, block) in code.blocks.iter().enumerate() {
            let whole = self.blocks[index];
            if block.is_free {
                continue;
            }
            for (i, step) in block.steps.clone().enumerate() {
                let mut slots = self.places[step];
                slots.add(&whole);
                if matches!(code.steps[step].kind, Kind::Fence) {
                    self.counts.fences += slots.vector_issues;
                }
                slots.predicate_off(self.off[step]);
                self.by_place.push((block.first + i as u64, slots));
            }
            if block.end_issues {
                let mut slots = self.places[code.steps.len() + index];
                slots.add(&whole);
                if let End::Go(_) = block.end {
                    self.counts.branches += slots.vector_issues;
                    self.counts.branch_targets += slots.vector_issues;
                }
                self.by_place.push((block.pc, slots));
            }
        }
        // Copies of a function have the same places.
        self.by_place.sort_by_key(|p| p.0);
        self.by_place.dedup_by(|more, sum| {
            let same = more.0 == sum.0;
            if same {
                sum.1.add(&more.1);
            }
            same
        });
        if self.active_lanes.iter().all(|&n| n == 0) {
            self.active_lanes.clear();
        }
    }
}
