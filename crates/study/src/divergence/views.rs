//! Detailed records of the runs of a comparison, within bounds that a page can hold.

use probes::{BranchTable, Explanation, LaneTrace, OccupancyMap};

/// Detailed records of a row's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// Lost lane slots by line.
    pub losses: Explanation,
    /// Lanes over time, for some warps.
    pub lanes: LaneTrace,
    /// The cost of each branch.
    pub branches: BranchTable,
    /// Occupied lanes over the whole run.
    pub occupancy: OccupancyMap,
}

/// Most issues on a page, over all warps of all rows.
const STEPS: usize = 96_000;
/// Most warps of a row.
pub(super) const WARPS: usize = 4;
/// Most and least issues of a warp.
const STEPS_OF_WARP: (usize, usize) = (1_500, 50);

/// Returns how many issues of each warp a page with this many rows holds.
#[must_use]
pub(super) fn steps_of_warp(rows: usize) -> usize {
    let (most, least) = STEPS_OF_WARP;
    (STEPS / (WARPS * rows.max(1))).clamp(least, most)
}
