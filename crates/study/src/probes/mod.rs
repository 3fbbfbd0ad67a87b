//! Probes: what a study records of a run.

mod branches;
mod explain;
mod first_difference;
mod first_merge;
mod lane_trace;
mod least_issues;
mod mask_trace;
mod missed_rejoins;
mod occupancy;
mod rejoin;
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
pub use rejoin::Rejoins;
pub use timeline::Timeline;
