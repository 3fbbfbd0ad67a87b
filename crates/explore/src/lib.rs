//! Other schedules of a run than the canonical one: whether results, hangs and faults depend on
//! them, and the shortest that shows it.
//!
//! [`explore()`] runs a job again and again, each time in another order of warps, CTAs and paths of
//! warps ([`vm::Strategy`]): random ones, or all that differ in more than what commutes. It groups
//! them by [`Outcome`], shortens a schedule for each difference, and says which two accesses come
//! in another order there. A [`RecordedSchedule`] can be written to a file and run again
//! ([`run_recorded`]).
//!
//! Instructions take effect one after another, and all see the same memory: orders that only a
//! weaker memory model allows are not among them. The check `race` finds accesses that need a
//! fence.

mod blame;
mod explore;
mod happens;
mod outcome;
mod random;
mod recorded;
mod recorder;
mod replay;
mod report;
mod rerun;
mod search;
mod shorten;
mod trace;

pub use explore::{Class, Exploration, How, Plan, Row, default_mechanisms, explore};
pub use outcome::{Ending, Outcome};
pub use recorded::{Deviation, RecordedSchedule};
pub use report::{conclude, to_json, to_text};
pub use rerun::{Unfit, run_recorded};
