//! Decoded launches with the code compiled for them, or without code where there can be none.

use crate::{Compiled, Coverage, Refused};
use fast::{Declined, Finished, GoOn, Kernel, Level};
use std::borrow::BorrowMut;
use vm::State;

/// A decoded launch that can run many times: with code, or without where there can be none.
#[derive(Debug)]
pub enum Ready {
    /// With code.
    Compiled(Box<Compiled>),
    /// Without.
    Decoded(Box<Decoded>),
}

/// A launch for the interpreter.
#[derive(Debug)]
pub struct Decoded {
    kernel: Kernel,
    level: Level,
    detailed: bool,
    /// Why it is not compiled, if that was asked for.
    refused: Option<Refused>,
}

impl Ready {
    /// Compiles a kernel for this host with the vector instructions of a level, if that can be, for launches in detail or for others.
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

    /// A kernel for the interpreter alone.
    #[must_use]
    pub fn interpreted(kernel: Kernel, level: Level, detailed: bool) -> Self {
        Self::Decoded(Box::new(Decoded { kernel, level, detailed, refused: None }))
    }

    /// How much of it runs compiled, or why nothing does; `None` if it was not to be compiled.
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
    /// Why the exact engine has to run it, or go on with it: see [`fast::run`].
    pub fn run(
        &self,
        state: impl BorrowMut<State<1>>,
        watch: &mut dyn GoOn,
    ) -> Result<Finished, Declined> {
        match self {
            Self::Compiled(compiled) => compiled.run(state, watch),
            Self::Decoded(decoded) => {
                let Decoded { kernel, level, detailed, .. } = &**decoded;
                fast::run(kernel, state, *level, *detailed, watch)
            }
        }
    }
}
