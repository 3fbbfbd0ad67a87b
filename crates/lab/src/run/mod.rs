//! Runs, from a launch file or a program with arguments to a report.
//!
//! [`Job::prepare`] reads and checks everything that does not require execution (files, buffers,
//! types, expected contents), so that mistakes are reported before the first instruction.
//! [`Job::run`] then creates a context, places the buffers, runs the launches in order and checks
//! the expectations. A job can be run more than once; each run starts from the same memory.

mod bound_launch;
mod checks;
mod execute;
mod load;
mod prepare;
mod run_words;
mod time;
mod variant;
mod warnings;

use std::path::PathBuf;
use std::sync::Arc;

use isa::Span;

pub use bound_launch::BoundLaunch;
pub use checks::CheckOutcome;
pub use load::{MAX_PROGRAM_BYTES, io_reason, read_input};
pub use prepare::{JobParts, choose_kernel, load_program, wanted};
pub use run_words::{RunWords, Word};
pub use time::Timing;
pub use variant::{Variant, VariantRun};

use crate::array::Array;
use crate::launch::{LaunchEntry, Located, MachineOption, NamedBuffer};
use crate::limits::Limits;
use crate::machine::{Choice, End, HostThreads, Isa, KernelInfo, Level, Program, Schedule};
use crate::stats::RunStats;
use checks::Check;

/// Settings of a run; they take precedence over those of the launch file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Convergence mechanism.
    pub mechanism: Option<Located<String>>,
    /// Width of an issue group in lanes.
    pub warp_size: Option<Located<u64>>,
    /// Seed of the scheduling policy and of random buffers.
    pub seed: Option<u64>,
    /// Limit of issues.
    pub limit: Option<u64>,
    /// The engine.
    pub engine: Choice,
    /// Highest level of vector instructions that it may use; the host's if `None`.
    pub level: Option<Level>,
    /// Host threads of each launch.
    pub threads: HostThreads,
    /// Limits of memory.
    pub limits: Limits,
}

/// Everything that a run needs, read and checked.
pub struct Job {
    machine: &'static dyn Isa,
    program: Arc<dyn Program>,
    module: PathBuf,
    module_name: String,
    mechanism: Located<String>,
    warp_size: Located<u64>,
    seed: u64,
    limit: Option<u64>,
    engine: Choice,
    level: Option<Level>,
    threads: HostThreads,
    options: Vec<MachineOption>,
    buffers: Vec<(NamedBuffer, Array)>,
    launches: Vec<(KernelInfo, LaunchEntry)>,
    checks: Vec<Check>,
    skipped_checks: usize,
}

/// A buffer after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalBuffer {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub contents: Array,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Warnings about arguments.
    pub warnings: Vec<isa::Diagnostic>,
    /// Statistics of all launches that were started.
    pub stats: RunStats,
    /// The schedule of each of them.
    pub schedules: Vec<Schedule>,
    /// The end of each of them.
    pub ends: Vec<End>,
    /// All buffers, including those created for arguments.
    pub buffers: Vec<FinalBuffer>,
    /// Output that the kernels printed.
    pub output: Vec<u8>,
    /// The results of the applicable expectations. Empty if the run was interrupted, the engines
    /// differ, or a fault or hang was not expected.
    pub checks: Vec<CheckOutcome>,
    /// Number of expectations for other mechanisms or warp sizes.
    pub skipped_checks: usize,
    /// Whether an expectation names the fault or hang in which the last launch ended.
    pub expected_end: bool,
}

/// The overall result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All launches ended as expected, and all expectations are met.
    Met,
    /// An expectation is not met.
    Unmet,
    /// A fault or hang that no expectation names.
    Stopped,
    /// The results of the machine's engines differ.
    Differs,
    /// Stopped by the user.
    Interrupted,
}

impl Report {
    /// Returns the overall result.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.ends.last() {
            Some(End::Interrupted) => Verdict::Interrupted,
            Some(End::Differs(_)) => Verdict::Differs,
            Some(End::Fault(_) | End::Hang(_)) if !self.expected_end => Verdict::Stopped,
            _ if self.checks.iter().all(|c| c.passed) => Verdict::Met,
            _ => Verdict::Unmet,
        }
    }

    /// Returns the buffer of this name.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&Array> {
        self.buffers.iter().find(|b| b.name == name).map(|b| &b.contents)
    }
}

impl Job {
    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &'static dyn Isa {
        self.machine
    }

    /// Returns the name of the mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &str {
        &self.mechanism.value
    }

    /// Returns the place of a setting, or that of the launch if the setting has none.
    fn place(&self, wanted: Option<Span>, launch: &LaunchEntry) -> Span {
        wanted.unwrap_or(launch.span)
    }
}

/// Diagnostic code for a program that cannot run under a mechanism or at a warp size.
pub const UNSUPPORTED: &str = "run::unsupported";

/// The result type of this module.
pub(crate) type Result<T> = std::result::Result<T, isa::Diagnostics>;
