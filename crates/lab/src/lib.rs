//! The laboratory behind the command line: runs, expectations, statistics and reports.
//!
//! A job is made of what users write ([`inputs`]) and of a machine ([`machines`]); it runs the
//! launches, checks the expectations, and turns what was counted into reports. The crate never
//! prints: the command line and the file tests decide where text goes.

pub mod compare;
pub mod render;
pub mod run;
pub mod show;
pub mod stats;
pub mod trace_events;
