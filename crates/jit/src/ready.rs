//! Launches made ready to run, and kept for the next ones of the same kernel and shape.

use crate::{Compiled, Coverage, Refused};
use fast::{Declined, Finished, GoOn, Kernel, Level};
use rustc_hash::FxHashMap;
use std::borrow::BorrowMut;
use std::sync::Arc;
use vm::{Program, State};

/// Launches that a [`Cache`] keeps, at most.
const KEPT: usize = 256;

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

/// How launches are to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    /// Whether indices are taken not to wrap: see [`fast::prepare`].
    pub assume: bool,
    /// The vector instructions.
    pub level: Level,
    /// Whether they are compiled, where that can be.
    pub compile: bool,
    /// Whether more than their statistics is counted.
    pub detailed: bool,
    /// Threads of the host that they may take; 0 for all.
    pub threads: usize,
    /// Whether they take all of them even if that does not pay.
    pub eager: bool,
}

/// All that a decoded launch of one program depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kernel: u32,
    grid: [u32; 3],
    block: [u32; 3],
    variables: Box<[u64]>,
    how: How,
}

/// Launches of one program that were decoded and compiled before. Bounded.
#[derive(Debug, Default)]
pub struct Cache {
    ready: FxHashMap<Key, Result<Arc<Ready>, Declined>>,
}

impl Cache {
    /// A launch that is ready to run, from before if it was made ready before. The program is to be the same for all calls.
    ///
    /// # Errors
    /// Why the exact engine has to run it.
    pub fn ready(
        &mut self,
        program: &Program,
        state: &State<1>,
        how: How,
    ) -> Result<Arc<Ready>, Declined> {
        fast::may_run(state)?;
        let setup = state.setup();
        let variables = setup.variables.into();
        let key =
            Key { kernel: setup.kernel, grid: setup.grid, block: setup.block, variables, how };
        if let Some(known) = self.ready.get(&key) {
            return known.clone();
        }
        let ready = fast::prepare(program, state, how.assume).map(|kernel| {
            let kernel = kernel.on_threads(how.threads);
            let kernel = if how.eager { kernel.eagerly() } else { kernel };
            let make = if how.compile { Ready::new } else { Ready::interpreted };
            Arc::new(make(kernel, how.level, how.detailed))
        });
        if self.ready.len() >= KEPT {
            self.ready.clear();
        }
        self.ready.insert(key, ready.clone());
        ready
    }
}
