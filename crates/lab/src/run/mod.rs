//! Running: from a launch file or a program with arguments to a report.
//!
//! [`Job::prepare`] reads and checks everything that does not need execution (files, buffers, types, expected contents), so
//! that a mistake is told before the first instruction. [`Job::run`] then makes a context, places the buffers, runs the
//! launches in order and holds what came of them against the expectations. A job can be run more than once; each run
//! starts from the same memory.

mod checks;
mod execute;
mod load;
mod orders;
mod prepare;
mod time;
mod vary;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use isa::Span;

pub use checks::CheckOutcome;
pub use load::{MAX_PROGRAM_BYTES, io_reason, read_input};
pub use orders::Order;
pub use prepare::{JobParts, choose_kernel, load_program, wanted};
pub use time::Timing;
pub use vary::{Variant, VariantRun};
pub use words::{RunWords, Word};

use crate::array::Array;
use crate::launch::{LaunchEntry, Located, MachineOption, NamedBuffer};
use crate::limits::Limits;
use crate::machine::{Choice, End, HostThreads, Isa, KernelInfo, Level, Program, Schedule};
use crate::stats::RunStats;
use checks::Check;

/// How to run, where the launch file does not say or is overruled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Convergence mechanism.
    pub mechanism: Option<Located<String>>,
    /// Lanes of an issue group.
    pub warp_size: Option<Located<u64>>,
    /// Seed for everything random.
    pub seed: Option<u64>,
    /// Most issues of one launch.
    pub limit: Option<u64>,
    /// The engine.
    pub engine: Choice,
    /// The vector instructions that it may use, at most; all that the host has if none.
    pub level: Option<Level>,
    /// Threads of the host for each launch.
    pub threads: HostThreads,
    /// Caps on memory.
    pub limits: Limits,
}

/// Everything needed to run, read and checked.
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

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Statistics of all launches that began.
    pub stats: RunStats,
    /// In which order each of them let its groups run.
    pub schedules: Vec<Schedule>,
    /// How each of them ended.
    pub ends: Vec<End>,
    /// All buffers, those made for arguments included.
    pub buffers: Vec<FinalBuffer>,
    /// What the kernels printed.
    pub output: Vec<u8>,
    /// The expectations that apply, each met or not. Empty if a fault or hang that nobody expected made them moot.
    pub checks: Vec<CheckOutcome>,
    /// Expectations that other mechanisms or warp sizes have.
    pub skipped_checks: usize,
    /// Whether the last launch ended in a fault or hang that an expectation names.
    pub expected_end: bool,
}

/// A run in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All launches ended as expected, and all expectations are met.
    Met,
    /// An expectation is not met.
    Unmet,
    /// A fault or a hang that nobody expected.
    Stopped,
    /// The machine's engines differ.
    Differs,
    /// Stopped by the user.
    Interrupted,
}

impl Report {
    /// The run in one word.
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

    /// The buffer of this name.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&Array> {
        self.buffers.iter().find(|b| b.name == name).map(|b| &b.contents)
    }
}

impl Job {
    /// The machine that runs it.
    #[must_use]
    pub fn machine(&self) -> &'static dyn Isa {
        self.machine
    }

    /// The mechanism it runs under.
    #[must_use]
    pub fn mechanism(&self) -> &str {
        &self.mechanism.value
    }

    /// Where the warp size was asked for, or the launch.
    fn place(&self, wanted: Option<Span>, launch: &LaunchEntry) -> Span {
        wanted.unwrap_or(launch.span)
    }
}

/// Code of the finding that a program cannot run under a mechanism or at a warp size.
pub const UNSUPPORTED: &str = "run::unsupported";

/// Results of this module.
pub(crate) type Result<T> = std::result::Result<T, isa::Diagnostics>;
