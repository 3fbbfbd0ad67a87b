//! What checks find in kernels.
//!
//! A [`Finding`] is a defect of a program: its [`Kind`], where it is, the threads and accesses that
//! take part, why it is one, and what to do. [`Findings`] keeps each once, in order, and bounded;
//! [`Suppressions`] take out those that a user has accepted. [`report`] renders them for people and
//! for the tools of continuous integration.
//!
//! The kinds are one table ([`kind`]): names, severities, exit codes, the rules of SARIF, the JSON
//! Schema and the page follow from its rows. What observes launches is in `checks`.

mod finding;
mod found;
pub mod kind;
pub mod page;
pub mod report;
mod suppress;

pub use finding::{AccessRecord, Finding, Location};
pub use found::{Findings, MOST_OF_A_KIND};
pub use kind::{Check, CheckSet, Kind};
pub use suppress::{Suppression, Suppressions};
