//! Runs, from a launch file or a program with arguments to a report.
//!
//! [`Job::prepare`] reads and checks everything that does not require execution (files, buffers,
//! types, expected contents), so that mistakes are reported before the first instruction.
//! [`Job::run`] then creates a context, places the buffers, runs the launches in order and checks
//! the expectations. A job can be run more than once; each run starts from the same memory.

mod bound_launch;
mod checks;
mod execute;
mod job;
mod lowered;
mod memory;
mod prepare;
mod report;
mod run_words;
pub mod table;
mod time;
mod variant;
mod warnings;

pub use bound_launch::BoundLaunch;
pub use job::{Job, Settings, UNSUPPORTED};
pub use lowered::{LoweredProgram, LoweredRun};
pub use memory::{MemoryContents, MemoryRequest};
pub use prepare::{JobParts, load_program, wanted};
pub use report::{CheckOutcome, FinalBuffer, Report, Verdict};
pub use run_words::{RunWords, Word};
pub use time::{Clock, Timing, wall_time};
pub use variant::{Variant, VariantRun};
