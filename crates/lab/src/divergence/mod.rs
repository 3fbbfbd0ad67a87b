//! One kernel, every mechanism: what each does to it, and why they differ.
//!
//! [`compare()`] runs a job under mechanisms and warp sizes, holds every run against fair serial execution and gives each a
//! verdict; its [`Comparison`] becomes a table ([`to_text`]) or JSON ([`to_json`]).

mod compare;
mod json;
mod names;
mod rejoin;
mod text;
mod verdict;
mod watching;

pub use compare::{Comparison, Impact, Plan, Row, compare};
pub use json::{COMPARE_SCHEMA_NAME, COMPARE_VERSION, to_json};
pub use names::{catalogue_text, mechanisms_named, numbers_named, order_named};
pub use rejoin::{Rejoins, Times};
pub use text::to_text;
pub use verdict::{Difference, Verdict};
pub use watching::{Watched, Witnesses};
