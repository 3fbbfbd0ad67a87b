//! Probes: what a study records of a run.

mod branches;
mod explain;
mod first_difference;
mod lane_trace;
mod missed_rejoins;
mod rejoin;
mod timeline;

pub use branches::{BranchCost, BranchCosts, BranchTable};
pub use explain::{Explanation, LineLosses, LostSlots};
pub use first_difference::{FirstDifference, IssueComparison, IssueRecord, IssueRecording};
pub use lane_trace::{IssueEntry, LaneCauses, LaneTrace, LaneTraceProbe, WarpTrace};
pub use missed_rejoins::{MissedRejoins, SplitCounts};
pub use rejoin::Rejoins;
pub use timeline::Timeline;
