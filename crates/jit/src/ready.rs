//! Decoded launches with the code compiled for them, or without code where there can be none.

use crate::{Compiled, Coverage, Refused};
use fast::{Declined, Finished, Kernel, LaunchObserver, Level};
use std::borrow::BorrowMut;
use vm::State;

/// A decoded launch that can run many times.
#[derive(Debug)]
pub enum Ready {
    /// With compiled code.
    Compiled(Box<Compiled>),
    /// For the interpreter, because code was not wanted or cannot be made.
    Decoded(Box<Decoded>),
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
        }
    }

    /// Runs a launch.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch, or to continue it: see
    /// [`fast::run`].
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
        }
    }
}
