//! Launches: what is asked of a machine, and what came of it.

pub use engine::{Choice, HostThreads, Level};
use isa::{Diagnostic, Span};
use places::Place;
use thiserror::Error;

use crate::launch::MachineOption;
use crate::probe::Probe;
use crate::stats::LaunchStats;

/// The order in which a launch lets its groups run, and what that promises: the same class, the same results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Short name of the class.
    pub class: &'static str,
    /// What it is, in a line.
    pub about: String,
}

/// One launch, ready to run.
#[derive(Clone, Debug)]
pub struct LaunchRequest<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block in x, y, z.
    pub block: [u64; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The parameter block.
    pub params: &'a [u8],
    /// Convergence mechanism, one of the machine's.
    pub mechanism: &'a str,
    /// Lanes of an issue group.
    pub warp_size: u64,
    /// Seed for scheduling choices that are left open.
    pub seed: u64,
    /// Most issues; the machine's default if none.
    pub limit: Option<u64>,
    /// Whether statistics beyond the lane slots are wanted.
    pub detailed: bool,
    /// The engine.
    pub engine: Choice,
    /// The vector instructions that its engine may use, at most; all that the host has if none. Only time depends on them.
    pub level: Option<Level>,
    /// Threads of the host that may run it, where the machine can use several.
    pub threads: HostThreads,
    /// The machine's own options.
    pub options: &'a [MachineOption],
}

/// What about a request cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct LaunchProblem {
    /// What it is about.
    pub about: Subject,
    /// What is wrong, in one line.
    pub message: String,
    /// A way out.
    pub help: Option<String>,
    /// A place in the program, if one explains it.
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

/// What came of a launch.
#[derive(Clone, Debug)]
pub struct LaunchResult {
    /// How it ended.
    pub end: End,
    /// What it cost.
    pub stats: LaunchStats,
    /// What the kernel printed.
    pub output: Vec<u8>,
    /// What the machine tells of itself in words: printed behind the output, and no part of what runs are compared by.
    pub words: String,
}

/// How a launch ended.
#[derive(Clone, Debug)]
pub enum End {
    /// All threads ended.
    Done,
    /// A fault.
    Fault(Stop),
    /// No end was in sight.
    Hang(Stop),
    /// The machine's engines, run side by side, do not agree: a fault of this project's, not of the program's.
    Differs(Stop),
    /// The watcher stopped it.
    Interrupted,
}

/// A fault or a hang.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Short name: a trap's, or `deadlock`, `repeats`, `limit`.
    pub code: &'static str,
    /// What is told to the user.
    pub report: Diagnostic,
    /// The program's line.
    pub line: Option<u64>,
    /// Where in the grid it was, on machines that have one: of a hang, where the first path waits.
    pub place: Option<Box<Place>>,
}

/// How the note begins that tells a hang in a sentence: with the mechanism, then who waits where for whom.
pub const HANGS: &str = "hangs under ";

impl Stop {
    /// A hang in a sentence, where the machine tells one.
    #[must_use]
    pub fn sentence(report: &Diagnostic) -> Option<&str> {
        report.notes.iter().map(String::as_str).find(|note| note.starts_with(HANGS))
    }
}

impl End {
    /// `done`, `interrupted`, or the short name of the fault, hang or difference.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Fault(stop) | Self::Hang(stop) | Self::Differs(stop) => stop.code,
            Self::Interrupted => "interrupted",
        }
    }
}

/// How far a launch has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Blocks completed.
    pub blocks_done: u64,
    /// Blocks in all.
    pub blocks: u64,
    /// Instructions issued.
    pub issues: u64,
}

/// Is asked now and then whether a launch should go on.
pub trait Watch {
    /// Takes note of the progress; `false` stops the launch.
    fn go_on(&mut self, progress: Progress) -> bool;

    /// Is told which engine runs a launch, and why no faster one does. Machines with one engine do not call it.
    fn ran_on(&mut self, _engine: &str) {}

    /// Is told where a buffer lies before the first launch: its name, its address, its size in
    /// bytes.
    fn placed(&mut self, _buffer: &str, _address: u64, _bytes: u64) {}

    /// What looks at the events of the launch, if anything does. Machines without events ignore it.
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        None
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn go_on(&mut self, _progress: Progress) -> bool {
        true
    }
}
