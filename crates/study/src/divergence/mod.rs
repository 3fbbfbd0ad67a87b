//! Comparison of convergence mechanisms on one kernel.
//!
//! [`compare()`] runs a job under several mechanisms and warp sizes, compares every run with fair
//! serial execution and gives each a verdict. [`to_text`] and [`to_json`] render the resulting
//! [`Comparison`].

mod axes;
mod compare;
mod comparison;
mod json;
mod names;
pub mod pool;
mod sentence;
mod study;
mod tables;
mod text;
mod verdict;
mod views;

pub use study::{Diff, diff, explain, trace, trace_masks};

pub use axes::{Settings, default_settings, settings_named};
pub use compare::{Baseline, Cell, Plan, RowOptions, compare};
pub use comparison::{Comparison, Impact, Row};
pub use json::{COMPARE_SCHEMA_NAME, COMPARE_VERSION, to_json};
pub use names::{numbers_named, order_named, profiles_named, variant_named, variants_named};
pub use text::to_text;
pub(crate) use text::{alike, labels};
pub use verdict::{Difference, Verdict, differences};
pub use views::Views;
