//! Launches: requests to a machine, and their results.

pub use engine::{Choice, HostThreads, Level, host_threads};
use inputs::launch::MachineOption;
use isa::{Diagnostic, Span};
use places::Place;
use thiserror::Error;

use crate::stats::LaunchStats;

/// The order in which a launch issues its groups. Schedules of the same class promise the same
/// results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Short name of the class.
    pub class: &'static str,
    /// A one-line description.
    pub about: String,
}

/// One launch with all its settings.
#[derive(Clone, Debug)]
pub struct LaunchRequest<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Size of the grid in x, y, z, in blocks.
    pub grid: [u64; 3],
    /// Size of a block in x, y, z, in threads.
    pub block: [u64; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u64,
    /// The parameter block.
    pub params: &'a [u8],
    /// Convergence mechanism, by the machine's name for it.
    pub mechanism: &'a str,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// Seed of the scheduling policy.
    pub seed: u64,
    /// Limit of issues, of a block or of the launch as the machine defines it; the machine's
    /// default if `None`.
    pub limit: Option<u64>,
    /// Whether to collect statistics beyond the lane slots.
    pub detailed: bool,
    /// The engine.
    pub engine: Choice,
    /// Highest level of vector instructions that the engine may use; the host's if `None`. Affects
    /// time only, never results.
    pub level: Option<Level>,
    /// Host threads that may run it, if the machine can use several.
    pub threads: HostThreads,
    /// The machine's own options.
    pub options: &'a [MachineOption],
}

/// What about a request cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct LaunchProblem {
    /// The part of the request at fault.
    pub about: Subject,
    /// The problem, in one line.
    pub message: String,
    /// A way to solve it.
    pub help: Option<String>,
    /// The place in the program that causes it, if one does.
    pub span: Option<Span>,
}

/// Parts of a launch request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The launch as a whole.
    Launch,
    /// The kernel's name.
    Kernel,
    /// The grid's extents.
    Grid,
    /// The block's extents.
    Block,
    /// Dynamic shared memory.
    Shared,
    /// Arguments.
    Args,
    /// The mechanism.
    Mechanism,
    /// The warp size.
    WarpSize,
    /// An option, by its index.
    Option(usize),
}

/// The result of a launch.
#[derive(Clone, Debug)]
pub struct LaunchResult {
    /// How it ended.
    pub end: End,
    /// Its statistics.
    pub stats: LaunchStats,
    /// The output that the kernel printed.
    pub output: Vec<u8>,
    /// The machine's own report as text, printed after the output. Comparisons of runs ignore it.
    pub words: String,
}

/// How a launch ended.
#[derive(Clone, Debug)]
pub enum End {
    /// All threads ended.
    Done,
    /// A fault.
    Fault(Stop),
    /// A hang: deadlock, repeated state, or limit.
    Hang(Stop),
    /// The results of the machine's engines differ: a defect of this project, not of the program.
    Differs(Stop),
    /// The monitor stopped it.
    Interrupted,
}

/// A fault or a hang.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Short name: a trap's, or `deadlock`, `repeats`, `limit`.
    pub code: &'static str,
    /// The diagnostic for the user.
    pub report: Diagnostic,
    /// Line of the program.
    pub line: Option<u64>,
    /// Its place in the grid, on machines that have one; for a hang, that of the first waiting
    /// path.
    pub place: Option<Box<Place>>,
}

/// Start of the note that explains a hang in one sentence; the mechanism follows.
pub const HANGS: &str = "hangs under ";

impl Stop {
    /// The code of a launch that has ended with a result that depends on the order of its groups.
    pub const ORDER_DEPENDENT: &str = "order-dependent";

    /// Returns whether the launch has come to its end: what a check has found in it, rather than a
    /// fault or a hang.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        self.code == Self::ORDER_DEPENDENT
    }

    /// Returns the note that explains a hang in one sentence, if the machine wrote one.
    #[must_use]
    pub fn sentence(report: &Diagnostic) -> Option<&str> {
        report.notes.iter().map(String::as_str).find(|note| note.starts_with(HANGS))
    }
}

impl End {
    /// Returns `done`, `interrupted`, or the short name of the fault, hang or difference.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Fault(stop) | Self::Hang(stop) | Self::Differs(stop) => stop.code,
            Self::Interrupted => "interrupted",
        }
    }
}
