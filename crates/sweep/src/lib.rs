//! Sweeps: suites of kernels under mechanisms, warp sizes, orders, profiles, options and inputs.
//!
//! A [`Suite`] lists groups, one for each launch file and seed, and the cells of each group: the
//! settings of one run. A run makes one [`Record`], a row of the tables. Rows are appended to a
//! [`Store`], a directory that one sweep owns; a sweep that was stopped goes on from there.
//! Invariants:
//!
//! - a row has a key, the hash of program, inputs, settings and versions; a finished row is never
//!   run again, and a run that fails is a row, too;
//! - rows do not depend on the number of threads, on the shard, or on what stopped a sweep;
//! - memory is bounded by what the runs in progress need, and a hash for each finished row.

mod export;
mod group;
mod merge;
pub mod plot;
mod record;
mod report;
mod run;
mod store;
mod suite;

pub use export::{columns_json, csv, sorted_rows};
pub use group::OpenGroup;
pub use merge::merge;
pub use record::{COLUMNS, Column, Record, Type, columns};
pub use report::report;
pub use run::{Progress, run};
pub use store::{Manifest, Shard, Store, StoreError};
pub use suite::{Group, Suite};
