//! Comparison of convergence mechanisms on one kernel.
//!
//! [`compare()`] runs a job under several mechanisms and warp sizes, compares every run with fair
//! serial execution and gives each a verdict. [`to_text`] and [`to_json`] render the resulting
//! [`Comparison`].

mod axes;
mod compare;
mod earliest;
mod explain;
mod json;
mod lanes;
mod names;
mod part;
mod race;
mod rejoin;
mod study;
mod tables;
mod text;
mod timeline;
mod verdict;
mod watching;

pub use axes::{Settings, settings_named, usual_settings};
pub use compare::{Comparison, Impact, Plan, Row, Views, compare};
pub use earliest::{Earliest, Splits};
pub use explain::{Explanation, Line, Losses};
pub(crate) use json::access_name;
pub use json::{COMPARE_SCHEMA_NAME, COMPARE_VERSION, to_json};
pub use lanes::{Causes, Recorded, Recorder, Step, Warp};
pub(crate) use names::one_mechanism;
pub use names::{catalogue_text, mechanisms_named, numbers_named, order_named};
pub use part::{Moment, Parted, Parting, Recording};
pub use race::{Race, Races, Side, Thread};
pub use rejoin::{Rejoins, Times};
pub use study::{Diff, diff, explain, trace};
pub use text::to_text;
pub use timeline::{Timeline, document};
pub use verdict::{Difference, Verdict};
pub use watching::{Watched, Witnesses};
