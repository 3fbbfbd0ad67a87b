//! What a caller sees of a launch while it runs.

use std::fmt;

use fast::{Declined, Level, Screen, Threads};
use jit::{Coverage, Refused};
use simt::observe::GroupId;
use simt::{Pc, WarpMask};

use crate::sink::EventSink;

/// How far a launch has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// CTAs that have ended.
    pub blocks_done: u64,
    /// Instructions issued.
    pub issues: u64,
}

/// Steers a launch, and receives what the caller wants to know of it while it runs. When it is
/// called never changes results or statistics.
pub trait Monitor {
    /// Returns whether the launch goes on. Called every few thousand issues.
    fn poll(&mut self, progress: Progress) -> bool;

    /// Returns whether [`Self::lanes`] is to be called. Called after [`Self::poll`].
    fn wants_lanes(&mut self) -> bool {
        false
    }

    /// Receives where the lanes of resident CTAs are: one item for each path. The fast engine
    /// passes the running path of each warp alone, and groups of more than 64 lanes pass nothing.
    fn lanes(&mut self, _lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {}

    /// Receives the choice of the engine.
    fn selected(&mut self, _selected: &Selected<'_>) {}

    /// Returns the receiver of single events, if there is one. The exact engine alone has events.
    fn sink(&mut self) -> Option<&mut dyn EventSink> {
        None
    }

    /// Returns what judges accesses, if the receiver of events needs none of a launch in which
    /// nothing is refused: see [`Screen`].
    fn screen(&mut self) -> Option<&mut dyn Screen> {
        None
    }

    /// Returns the receiver of single events and the strategy that chooses the schedule, as far as
    /// there are such. The exact engine alone follows a strategy, for groups of up to 64 lanes.
    fn attached(&mut self) -> Attached<'_> {
        Attached { sink: self.sink(), strategy: None }
    }
}

/// What is attached to a launch.
pub struct Attached<'a> {
    /// The receiver of single events.
    pub sink: Option<&'a mut dyn EventSink>,
    /// What chooses the schedule, in place of the canonical one.
    pub strategy: Option<&'a mut dyn vm::Strategy<1>>,
}

/// Lets every launch run to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn poll(&mut self, _progress: Progress) -> bool {
        true
    }
}

/// Which engine runs a launch, and why.
#[derive(Clone, Copy, Debug)]
pub enum Selected<'a> {
    /// The fast engine has run it.
    Fast {
        /// The vector instructions.
        level: Level,
        /// How much of the kernel was compiled, or why nothing was; `None` if nothing was to be.
        coverage: Option<Result<Coverage, &'a Refused>>,
        /// The host threads.
        threads: Threads,
    },
    /// The exact engine runs it or the rest of it, because the fast engine declined.
    Exact(&'a Declined),
    /// Both engines have run it, to the same end.
    Agree,
}

/// In a line, for people: `fast (compiled, avx512), 2 threads`.
impl fmt::Display for Selected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, coverage, threads) = match self {
            Self::Exact(declined) => return write!(f, "exact ({declined})"),
            Self::Agree => return f.write_str("exact (side by side: the engines agree)"),
            Self::Fast { level, coverage, threads } => (level, coverage, threads),
        };
        match coverage {
            None => write!(f, "fast ({})", level.interpreter())?,
            Some(Ok(Coverage { native, steps, .. })) if native == steps => {
                write!(f, "fast (compiled, {level})")?;
            }
            Some(Ok(Coverage { native, steps, .. })) => {
                let left = steps - native;
                write!(f, "fast (compiled, {level}; {left} of {steps} instructions interpreted)")?;
            }
            Some(Err(refused)) => {
                write!(f, "fast ({}; not compiled: {refused})", level.interpreter())?;
            }
        }
        match threads {
            Threads::Many(n) => write!(f, ", {n} threads"),
            Threads::One(why) => write!(f, ", one thread: {why}"),
            Threads::Asked => Ok(()),
        }
    }
}
