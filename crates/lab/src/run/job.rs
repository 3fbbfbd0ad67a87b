//! Jobs: everything that a run needs, read and checked.

use std::path::PathBuf;
use std::sync::Arc;

use inputs::array::Array;
use inputs::kernel::KernelInfo;
use inputs::launch::{LaunchEntry, Located, MachineOption, NamedBuffer};
use inputs::limits::Limits;
use isa::{Diagnostic, Span};
use machines::{Choice, HostThreads, Isa, Level, Program};

use super::checks::Check;
use super::memory::MemoryRequest;

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
    /// Parts of guest memory that the report keeps.
    pub memory: Vec<MemoryRequest>,
}

/// Everything that a run needs, read and checked.
pub struct Job {
    pub(super) machine: &'static Isa,
    pub(super) program: Arc<dyn Program>,
    pub(super) module: PathBuf,
    pub(super) module_name: String,
    pub(super) mechanism: Located<String>,
    pub(super) warp_size: Located<u64>,
    pub(super) seed: u64,
    pub(super) limit: Option<u64>,
    pub(super) engine: Choice,
    pub(super) level: Option<Level>,
    pub(super) threads: HostThreads,
    pub(super) options: Vec<MachineOption>,
    pub(super) buffers: Vec<(NamedBuffer, Array)>,
    pub(super) launches: Vec<(KernelInfo, LaunchEntry)>,
    pub(super) checks: Vec<Check>,
    pub(super) skipped_checks: usize,
    pub(super) memory: Vec<MemoryRequest>,
    /// What the machine warned of when it loaded the program.
    pub(super) load_warnings: Vec<Diagnostic>,
}

impl Job {
    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &'static Isa {
        self.machine
    }

    /// Returns the name of the mechanism.
    #[must_use]
    pub fn mechanism(&self) -> &str {
        &self.mechanism.value
    }

    /// Returns the place of a setting, or that of the launch if the setting has none.
    pub(super) fn place(&self, wanted: Option<Span>, launch: &LaunchEntry) -> Span {
        wanted.unwrap_or(launch.span)
    }
}

/// Diagnostic code for a program that cannot run under a mechanism or at a warp size.
pub const UNSUPPORTED: &str = "run::unsupported";

/// The result type of this module.
pub(crate) type Result<T> = std::result::Result<T, isa::Diagnostics>;
