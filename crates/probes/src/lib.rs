//! Probes: what a study records of a run.
//!
//! Probes see every event of a launch, and pages are made once: this crate is optimised, `study`,
//! which makes the pages, is not.

mod branches;
mod explain;
mod first_difference;
mod first_merge;
mod lane_trace;
mod least_issues;
mod mask_trace;
mod missed_rejoins;
mod occupancy;
mod place_json;
mod rejoin;
mod slot_columns;
mod timeline;

pub use branches::{BranchCost, BranchCosts, BranchTable};
pub use explain::{Explanation, LineLosses, LostSlots};
pub use first_difference::{FirstDifference, IssueComparison, IssueRecord, IssueRecording};
pub use first_merge::{FirstMerge, first_merge};
pub use lane_trace::{IssueEntry, LaneCauses, LaneTrace, LaneTraceProbe, WarpTrace};
pub use least_issues::{ExecutionCounts, LeastIssues};
pub use mask_trace::{MaskCost, MaskTrace, MaskWriters};
pub use missed_rejoins::{MissedRejoins, SplitCounts};
pub use occupancy::{Occupancy, OccupancyMap, Occupied};
pub use place_json::place_json;
pub use rejoin::Rejoins;
pub use slot_columns::{Column, SLOTS};
pub use timeline::Timeline;
