//! What a machine is to the rest of the house.
//!
//! A [`Machine`] loads programs, launches them, and executes one issue at a time. Its `State` can be cloned and holds no code,
//! observer or thread: debuggers, replay and time travel stand on that, and so does stepping two launches on two
//! host threads. `step` never recurses and never blocks.

use crate::mask::LaneMask;
use crate::observe::{GroupId, Observer, Pc};
use crate::slots::LaneSlots;
use crate::trap::{Cause, Fault};
use std::fmt;

/// A machine whose issue groups have up to `64 * N` lanes.
pub trait Machine<const N: usize = 1> {
    /// The name used by `--isa` and in fault messages.
    const NAME: &'static str;
    /// Loaded code: immutable, shared by all launches.
    type Program: Send + Sync;
    /// What `load` can reject.
    type LoadError;
    /// What a launch needs besides the program: sizes, arguments, memory, knobs.
    type Launch;
    /// What `launch` can reject.
    type LaunchError;
    /// Everything that changes while a launch runs, guest memory included.
    type State: Clone + Send;
    /// Why it stops.
    type Cause: Cause;

    /// Reads a program.
    ///
    /// # Errors
    /// Whatever is wrong with the image; all of it, where the machine can go on reading.
    fn load(&self, image: &[u8]) -> Result<Self::Program, Self::LoadError>;

    /// The state before the first issue.
    ///
    /// # Errors
    /// Sizes or arguments that the program or the machine cannot take.
    fn launch(
        &self,
        program: &Self::Program,
        launch: Self::Launch,
    ) -> Result<Self::State, Self::LaunchError>;

    /// Executes one issue.
    fn step<O: Observer<N>>(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
        observer: &mut O,
    ) -> Step<Self::Cause, N>;

    /// The lane slots counted so far.
    fn slots<'s>(&self, state: &'s Self::State) -> &'s LaneSlots;

    /// Steps until the launch ends, faults or hangs, or `limit` issues have been made.
    fn run<O: Observer<N>>(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
        observer: &mut O,
        limit: u64,
    ) -> Step<Self::Cause, N> {
        for _ in 0..limit {
            match self.step(program, state, observer) {
                Step::Issued => {}
                end => return end,
            }
        }
        Step::Issued
    }
}

/// What one step came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<C, const N: usize = 1> {
    /// An instruction was issued; there is more to do.
    Issued,
    /// The launch has ended; nothing was issued.
    Done,
    /// The launch stopped at a fault.
    Fault(Box<Fault<C, N>>),
    /// No lane can ever go on.
    Hang(Box<Hang<N>>),
}

/// Why a launch is taken to hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HangKind {
    /// No group can run.
    Deadlock,
    /// The complete state has been seen before: it repeats for ever.
    Repeats,
    /// The issue limit was reached: it may or may not end.
    Limit,
}

/// Who waits where for whom when nothing goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Hang<const N: usize = 1> {
    /// How it is known.
    pub kind: HangKind,
    /// Everybody who is not done, by CTA and group; capped at [`Hang::MAX_WAITERS`].
    pub waiters: Vec<Waiter<N>>,
    /// How many more were left out.
    pub more: usize,
}

impl<const N: usize> Hang<N> {
    /// More waiters than this are counted, not listed.
    pub const MAX_WAITERS: usize = 64;
}

/// A path that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter<const N: usize = 1> {
    /// Whose path.
    pub group: GroupId,
    /// Where it stands.
    pub pc: Pc,
    /// Its lanes.
    pub lanes: LaneMask<N>,
    /// What it waits for.
    pub wait: Wait<N>,
}

/// What a path waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait<const N: usize = 1> {
    /// Nothing: it could run (and does, without end).
    Running,
    /// For its turn: the mechanism runs another path of its group first.
    Turn,
    /// For more threads at a CTA barrier.
    Barrier {
        /// Which barrier.
        id: u32,
        /// Threads that have arrived.
        arrived: u32,
        /// Threads it takes.
        expected: u32,
    },
    /// For lanes that its collective names.
    Collective {
        /// Named lanes that have not come, as lanes of the group.
        missing: LaneMask<N>,
    },
}

impl<const N: usize> fmt::Display for Wait<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => write!(f, "runs without end"),
            Self::Turn => write!(f, "waits for another path of its group"),
            Self::Barrier { id, arrived, expected } => {
                write!(f, "waits at barrier {id}: {arrived} of {expected} threads have arrived")
            }
            Self::Collective { missing } => {
                write!(f, "waits for lanes {missing} at its collective")
            }
        }
    }
}
