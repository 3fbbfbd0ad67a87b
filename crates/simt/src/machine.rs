//! The interface of a machine to the rest of the project.
//!
//! A [`Machine`] loads programs, launches them, and executes one issue at a time. Its `State` can
//! be cloned and holds no code, observer or thread: debuggers, replay and time travel rely on that,
//! and so does stepping two launches on two host threads. `step` never recurses and never blocks.

use crate::mask::LaneMask;
use crate::observe::{AnyObserver, GroupId, Observer, Pc};
use crate::slots::LaneSlots;
use crate::trap::{Cause, Fault};
use std::fmt;

/// A machine whose issue groups have up to `64 * N` lanes.
pub trait Machine<const N: usize = 1> {
    /// The name used by `--isa` and in fault messages.
    const NAME: &'static str;
    /// Loaded code: immutable, shared by all launches.
    type Program: Send + Sync;
    /// The error of `load`.
    type LoadError;
    /// The parameters of a launch besides the program: sizes, arguments, memory, knobs.
    type Launch;
    /// The error of `launch`.
    type LaunchError;
    /// Everything that changes while a launch runs, guest memory included.
    type State: Clone + Send;
    /// The causes of its faults.
    type Cause: Cause;

    /// Reads a program.
    ///
    /// # Errors
    /// Returns the errors of the image; all of them, where the machine can continue reading.
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

    /// [`Machine::run`] without an observer. Not generic, so that it is compiled once, with the
    /// machine.
    fn run_unobserved(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
        limit: u64,
    ) -> Step<Self::Cause, N>;

    /// [`Machine::run`] with any observer. Not generic either.
    fn run_observed(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
        observer: &mut AnyObserver<'_, N>,
        limit: u64,
    ) -> Step<Self::Cause, N>;
}

/// The methods of a [`Machine`] that are compiled with it, once for all who run it.
#[macro_export]
macro_rules! compiled_runs {
    () => {
        fn run_unobserved(
            &self,
            program: &Self::Program,
            state: &mut Self::State,
            limit: u64,
        ) -> $crate::machine::Step<Self::Cause> {
            self.run(program, state, &mut $crate::observe::Blind, limit)
        }

        fn run_observed(
            &self,
            program: &Self::Program,
            state: &mut Self::State,
            observer: &mut $crate::observe::AnyObserver<'_, 1>,
            limit: u64,
        ) -> $crate::machine::Step<Self::Cause> {
            self.run(program, state, observer, limit)
        }
    };
}

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<C, const N: usize = 1> {
    /// An instruction was issued; there is more to do.
    Issued,
    /// The launch has ended; nothing was issued.
    Done,
    /// The launch stopped at a fault.
    Fault(Box<Fault<C, N>>),
    /// No lane can ever continue.
    Hang(Box<Hang<N>>),
}

/// The evidence of a hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HangKind {
    /// No group can run.
    Deadlock,
    /// The complete state has been seen before: it repeats forever.
    Repeats,
    /// The issue limit was reached: it may or may not end.
    Limit,
}

/// A report of the paths that wait when nothing makes progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Hang<const N: usize = 1> {
    /// The evidence.
    pub kind: HangKind,
    /// Every path that has not ended, by CTA and group; capped at [`Hang::MAX_WAITERS`].
    pub waiters: Vec<Waiter<N>>,
    /// Number of paths left out.
    pub more: usize,
}

impl<const N: usize> Hang<N> {
    /// More waiters than this are counted, not listed.
    pub const MAX_WAITERS: usize = 64;
}

/// A path that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter<const N: usize = 1> {
    /// The group of the path.
    pub group: GroupId,
    /// The place of the path.
    pub pc: Pc,
    /// Its lanes.
    pub lanes: LaneMask<N>,
    /// Those of them that a mask of the machine turns off there: EXEC, a predicate, a mask bank.
    pub off: LaneMask<N>,
    /// The reason that it waits.
    pub wait: Wait<N>,
}

impl<const N: usize> Waiter<N> {
    /// Its lanes that no mask turns off.
    #[must_use]
    pub fn on(&self) -> LaneMask<N> {
        self.lanes - self.off
    }
}

/// The reason that a path waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait<const N: usize = 1> {
    /// Nothing: it could run (and does, without end).
    Running,
    /// For its turn: the mechanism runs another path of its group first.
    Turn,
    /// For more threads at a CTA barrier.
    Barrier {
        /// The barrier.
        id: u32,
        /// Threads that have arrived.
        arrived: u32,
        /// Threads it takes.
        expected: u32,
    },
    /// For lanes that its collective names.
    Collective {
        /// Named lanes that have not arrived, as lanes of the group.
        missing: LaneMask<N>,
    },
    /// For products of its warp group.
    WarpGroup {
        /// Warps of the group that have not issued the oldest of them, as bits.
        missing: u32,
    },
    /// For more threads at the barrier of the cluster.
    Cluster {
        /// Threads that have arrived.
        arrived: u32,
        /// Threads it takes.
        expected: u32,
    },
    /// For a phase of a barrier in memory.
    Mbarrier(Box<MbarrierWait>),
    /// For groups of bulk copies.
    BulkGroup,
    /// For groups of other copies (`cp.async`).
    CopyGroup,
}

/// A barrier in shared memory that a path waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MbarrierWait {
    /// The variable that it is in, with the bytes before it; empty where no variable is.
    pub name: String,
    /// Its offset in the shared memory of its CTA.
    pub offset: u64,
    /// The current phase, modulo 4; none if there is no valid object.
    pub phase: Option<u64>,
    /// Arrivals that the phase waits for.
    pub pending: u32,
    /// Arrivals that it began with.
    pub expected: u32,
    /// Bytes of transactions that it waits for.
    pub transactions: i64,
}

impl fmt::Display for MbarrierWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "the barrier at shared address {:#x}", self.offset)?,
            name => write!(f, "barrier `{name}`")?,
        }
        let Some(phase) = self.phase else { return write!(f, ", which is not initialised") };
        let arrived = self.expected.saturating_sub(self.pending);
        write!(
            f,
            ", in a phase of parity {}: {arrived} of {} arrivals came",
            phase & 1,
            self.expected
        )?;
        match self.transactions {
            0 => Ok(()),
            bytes if bytes > 0 => write!(f, ", {bytes} bytes of transactions are missing"),
            bytes => write!(f, ", {} bytes of transactions are too many", -bytes),
        }
    }
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
            Self::WarpGroup { missing } => {
                write!(
                    f,
                    "waits for products that warps {missing:#06b} of its group have not issued"
                )
            }
            Self::Cluster { arrived, expected } => write!(
                f,
                "waits at the barrier of the cluster: {arrived} of {expected} threads have arrived"
            ),
            Self::Mbarrier(barrier) => write!(f, "waits for {barrier}"),
            Self::BulkGroup => write!(f, "waits for a group of bulk copies"),
            Self::CopyGroup => write!(f, "waits for a group of copies"),
        }
    }
}
