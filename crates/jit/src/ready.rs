//! Decoded launches with the code compiled for them, or without code where there can be none.

use crate::{Compiled, Coverage, Refused};
use fast::{Declined, Finished, Kernel, LaunchObserver, Level};
use std::borrow::BorrowMut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vm::State;

/// A decoded launch that can run many times.
#[derive(Debug)]
pub enum Ready {
    /// With compiled code.
    Compiled(Box<Compiled>),
    /// For the interpreter, because code was not wanted or cannot be made.
    Decoded(Box<Decoded>),
    /// For the interpreter, and compiled once it has issued enough.
    Deferred(Box<Deferred>),
}

/// Issues for each instruction of a kernel that the interpreter carries out before the kernel is
/// compiled: they take about as long as compiling does, so that a launch takes at most twice the
/// time that it takes in the better way.
const ISSUES_PER_STEP: u64 = 64;

/// A decoded launch that is compiled once the interpreter has issued enough of it.
#[derive(Debug)]
pub struct Deferred {
    compiled: Compiled,
    /// Issues that are left to the interpreter.
    left: AtomicU64,
}

impl Deferred {
    fn run(
        &self,
        state: impl BorrowMut<State<1>>,
        observer: &mut dyn LaunchObserver,
    ) -> Result<Finished, Declined> {
        let left = self.left.load(Relaxed);
        if left == 0 {
            return self.compiled.run(state, observer);
        }
        let ran = self.compiled.interpret(state, observer, left);
        let issues = match &ran {
            Ok(finished) => finished.stats.slots.vector_issues,
            Err(Declined::Long) => left,
            Err(_) => 0,
        };
        self.left.store(left.saturating_sub(issues), Relaxed);
        ran
    }
}

/// A decoded launch for the interpreter.
#[derive(Debug)]
pub struct Decoded {
    kernel: Kernel,
    level: Level,
    detailed: bool,
    /// The reason that the kernel is not compiled, if code was wanted.
    refused: Option<Refused>,
}

impl Ready {
    /// Compiles a kernel for this host with the vector instructions of `level`, or keeps it for the
    /// interpreter if it cannot be compiled. Code for launches in detail differs from code for
    /// others.
    #[must_use]
    pub fn new(kernel: Kernel, level: Level, detailed: bool) -> Self {
        match Compiled::at(kernel, level, detailed) {
            Ok(compiled) => Self::Compiled(Box::new(compiled)),
            Err((kernel, refused)) => {
                let refused = Some(refused);
                Self::Decoded(Box::new(Decoded { kernel, level, detailed, refused }))
            }
        }
    }

    /// Keeps a kernel for the interpreter, and compiles it as [`Self::new`] does when launches of
    /// so many warps are, or have been, long enough for that to pay. A launch that turns out to be
    /// long is [declined](Declined::Long): it has to begin again, from the same state.
    #[must_use]
    pub fn deferred(kernel: Kernel, level: Level, detailed: bool, warps: u64) -> Self {
        // Most warps issue most instructions at least once.
        if warps >= ISSUES_PER_STEP {
            return Self::new(kernel, level, detailed);
        }
        let left = AtomicU64::new(ISSUES_PER_STEP * kernel.code().steps.len() as u64);
        match Compiled::deferred(kernel, level, detailed) {
            Ok(compiled) => Self::Deferred(Box::new(Deferred { compiled, left })),
            Err((kernel, refused)) => {
                let refused = Some(refused);
                Self::Decoded(Box::new(Decoded { kernel, level, detailed, refused }))
            }
        }
    }

    /// Keeps a kernel for the interpreter without compiling it.
    #[must_use]
    pub fn interpreted(kernel: Kernel, level: Level, detailed: bool) -> Self {
        Self::Decoded(Box::new(Decoded { kernel, level, detailed, refused: None }))
    }

    /// Returns how much of the kernel is compiled, or why it is not; `None` if code was not wanted.
    #[must_use]
    pub fn coverage(&self) -> Option<Result<Coverage, &Refused>> {
        match self {
            Self::Compiled(compiled) => Some(Ok(compiled.coverage())),
            Self::Decoded(decoded) => decoded.refused.as_ref().map(Err),
            Self::Deferred(deferred) => deferred.compiled.outcome(),
        }
    }

    /// Runs a launch.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch, or to continue it: see
    /// [`fast::run`]; [`Declined::Long`] if it has to begin again, and then runs in code.
    pub fn run(
        &self,
        state: impl BorrowMut<State<1>>,
        observer: &mut dyn LaunchObserver,
    ) -> Result<Finished, Declined> {
        match self {
            Self::Compiled(compiled) => compiled.run(state, observer),
            Self::Decoded(decoded) => {
                let Decoded { kernel, level, detailed, .. } = &**decoded;
                fast::run(kernel, state, *level, *detailed, observer)
            }
            Self::Deferred(deferred) => deferred.run(state, observer),
        }
    }
}
