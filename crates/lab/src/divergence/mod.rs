//! Comparison of convergence mechanisms on one kernel.
//!
//! [`compare()`] runs a job under several mechanisms and warp sizes, compares every run with fair
//! serial execution and gives each a verdict. [`to_text`] and [`to_json`] render the resulting
//! [`Comparison`].

mod axes;
mod compare;
mod explain;
mod first_difference;
mod json;
mod lane_trace;
mod missed_rejoins;
mod names;
mod probed;
mod race;
mod rejoin;
mod study;
mod tables;
mod text;
mod timeline;
mod verdict;

pub use axes::{Settings, default_settings, settings_named};
pub use compare::{Comparison, Impact, Plan, Row, Views, compare};
pub use explain::{Explanation, LineLosses, LostSlots};
pub use first_difference::{FirstDifference, IssueComparison, IssueRecord, IssueRecording};
pub(crate) use json::access_name;
pub use json::{COMPARE_SCHEMA_NAME, COMPARE_VERSION, to_json};
pub use lane_trace::{IssueEntry, LaneCauses, LaneTrace, LaneTraceProbe, WarpTrace};
pub use missed_rejoins::{MissedRejoins, SplitCounts};
pub(crate) use names::one_mechanism;
pub use names::{catalogue_text, mechanisms_named, numbers_named, order_named};
pub use probed::{ProbedMonitor, ScheduleDependenceProbe};
pub use race::{Race, Races, RacingAccess, Thread};
pub use rejoin::{ReconvergenceTimes, Rejoins};
pub use study::{Diff, diff, explain, trace};
pub use text::to_text;
pub use timeline::{Timeline, document};
pub use verdict::{Difference, Verdict};
