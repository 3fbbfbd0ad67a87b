//! Counters of a launch. All exact; lane slots are in [`LaneSlots`].

use converge::Charges;
use simt::slots::LaneSlots;

/// The counters of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Where the lanes of every issue went.
    pub slots: LaneSlots,
    /// Branch issues: conditional and indirect branches, calls through addresses, branches on
    /// masks.
    pub branches: u64,
    /// Branch issues with more than one distinct next place.
    pub divergent_branches: u64,
    /// Distinct next places of divergent branches, summed.
    pub divergent_paths: u64,
    /// Issues of a block's first instruction: block visits.
    pub block_issues: u64,
    /// Memory instructions issued with some lane on.
    pub memory_instructions: u64,
    /// Collectives that completed, by architectural warp.
    pub collectives: u64,
    /// CTA barriers that completed.
    pub barriers: u64,
    /// CTAs that ended.
    pub ctas: u64,
    /// Threads launched.
    pub threads: u64,
    /// Charges of the mechanisms, summed over all groups.
    pub charges: Charges,
}

impl Stats {
    /// Share of branch issues that did not diverge; 1 without branches.
    #[must_use]
    pub fn branch_efficiency(&self) -> f64 {
        if self.branches == 0 {
            return 1.0;
        }
        (self.branches - self.divergent_branches) as f64 / self.branches as f64
    }

    /// Adds another launch's counters.
    pub fn add(&mut self, other: &Self) {
        self.slots.add(&other.slots);
        self.charges.add(&other.charges);
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.divergent_paths += other.divergent_paths;
        self.block_issues += other.block_issues;
        self.memory_instructions += other.memory_instructions;
        self.collectives += other.collectives;
        self.barriers += other.barriers;
        self.ctas += other.ctas;
        self.threads += other.threads;
    }
}
