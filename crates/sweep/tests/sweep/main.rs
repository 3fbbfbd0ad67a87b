//! Sweeps from suite files to tables: stopped, gone on with, parted and merged, and what is said of
//! wrong input.

mod page;
mod shards;
mod suites;
