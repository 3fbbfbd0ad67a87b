//! Counters that code keeps in launches that run in detail, beyond those of blocks: issues by
//! place and number of active lanes (`histograms`), lanes that guards turn off, split levels, and
//! accesses (`access_groups`).

use crate::access_groups::{AccessGroup, GroupTables, GroupedAccesses};
use crate::frame::RegionCache;
use crate::histograms::{Histograms, IssueCells, Sums};

/// A flag in the number of a step that the interpreter is to execute: its access has been counted.
pub(crate) const COUNTED: u32 = 1 << 31;
/// Marks a step whose access is not allowed, in place of what it does.
pub(crate) const REFUSED: u32 = 1 << 30;

/// A run of issues that is counted at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssueSpan {
    pub(crate) block: u32,
    pub(crate) first: usize,
    pub(crate) issues: usize,
}

/// The part of the frame that points to the counters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Counters {
    /// The greatest number of split levels in which lanes have run.
    pub(crate) max_depth: u64,
    pub(crate) off: *mut u64,
    /// The histograms of warps with as many live lanes as the running one's.
    pub(crate) histograms: *mut u64,
    pub(crate) groups: GroupTables,
}

impl Counters {
    /// For launches that do not run in detail.
    pub(crate) const NONE: Self = Self {
        max_depth: 0,
        off: std::ptr::null_mut(),
        histograms: std::ptr::null_mut(),
        groups: GroupTables::NONE,
    };
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct WorkerCounters {
    off: Box<[u64]>,
    pub(crate) histograms: Histograms,
    pub(crate) groups: GroupedAccesses,
    max_depth: u64,
}

impl WorkerCounters {
    pub(crate) fn new(issue_cells: &[IssueCells], groups: &[AccessGroup], steps: usize) -> Self {
        Self {
            off: vec![0; steps].into(),
            histograms: Histograms::new(issue_cells),
            groups: GroupedAccesses::new(groups),
            max_depth: 0,
        }
    }

    /// Returns pointers to the counters, for a visit.
    pub(crate) fn counters(&mut self) -> Counters {
        Counters {
            max_depth: 0,
            off: self.off.as_mut_ptr(),
            histograms: self.histograms.bank(0, 0),
            groups: self.groups.tables(),
        }
    }

    /// Takes over the counts of a visit.
    pub(crate) fn take(&mut self, counters: &Counters) {
        self.max_depth = self.max_depth.max(counters.max_depth);
    }

    /// Moves the counts for a region aside, because entry `entry` now holds another one.
    pub(crate) fn region_replaced(&mut self, entry: usize, region: &RegionCache) {
        self.groups.region_replaced(entry, region);
    }

    /// Returns all counts since the last call, and resets them.
    pub(crate) fn finish(&mut self, regions: &[RegionCache]) -> fast::WorkerCounts {
        let Sums { sites, active_lanes, depth_sum } = self.histograms.take();
        // Lanes that never split are in one level.
        let issued = sites.iter().any(|site| site.times > 0);
        self.max_depth = self.max_depth.max(u64::from(issued));
        let (strided, congruent, logged) = self.groups.finish(regions);
        fast::WorkerCounts {
            sites,
            off: self.off.iter_mut().map(std::mem::take).collect(),
            active_lanes: active_lanes.into(),
            depth_sum,
            max_depth: self.max_depth,
            strided,
            congruent,
            logged,
        }
    }
}
