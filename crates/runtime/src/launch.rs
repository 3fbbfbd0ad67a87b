//! Launches: on the fast engine where it can, on the exact one otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fast::{Declined, Level};
use ir::FuncId;
use simt::machine::{Machine as _, Step};
use simt::memory::{MemoryMap, Snapshot};
use simt::observe::Blind;
use thiserror::Error;
use vm::{Engine, Launch, LaunchError, State, Stats};

use crate::context::{Context, ContextError, ModuleId};
use crate::module::Module;
use crate::stop::Stop;

/// Issues of the exact engine between two looks at the outcome.
const SLICE: u64 = 1 << 20;

/// Launches of different shapes whose decoded form is kept for a module.
const KEPT: usize = 256;

/// How many threads, and how much shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
}

/// What a decoded launch is valid for: its kernel, its shape, and whether it assumes that indices do not wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prepared {
    kernel: FuncId,
    shape: Shape,
    assume: bool,
}

/// Which engine ran a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The fast one.
    Fast(Level),
    /// The exact one, and why the fast one did not.
    Exact(Option<Declined>),
}

/// A launch that has ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it did.
    pub stats: Stats,
    /// Which engine ran it.
    pub ran: Ran,
    /// What the kernel printed.
    pub output: Vec<u8>,
    /// Time it took.
    pub time: Duration,
}

/// Why a launch did not end well.
#[derive(Debug, Error)]
pub enum Failure {
    /// It could not begin. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// Memory or module.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// It faulted or hangs. Guest memory is as it was then; memory of the host has not changed.
    #[error("{0}")]
    Stopped(Box<Stop>),
}

impl Context {
    /// Runs a kernel of a loaded module to its end. `params` is the parameter block, laid out as the kernel says.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn launch(
        &mut self,
        id: ModuleId,
        kernel: FuncId,
        shape: Shape,
        params: &[u8],
    ) -> Result<Report, Failure> {
        let loaded = self.loaded.get(&id).ok_or(ContextError::Module)?;
        let module = Arc::clone(&loaded.module);
        let fresh = || self.fresh(id, &module, kernel, shape, params);
        let mut state = fresh()?;
        let gone = |gone: crate::mirror::Gone| ContextError::Host(gone.address);
        let begin = Instant::now();
        let before = self.mirrors.copy_in(&mut self.memory).map_err(gone)?;
        let declined = match self.try_fast(id, &module, state, (kernel, shape, params))? {
            Tried::Ran(mut report) => {
                self.mirrors.copy_out(&self.memory, &before).map_err(gone)?;
                report.time = begin.elapsed();
                return Ok(*report);
            }
            Tried::Exact(fresh, declined) => {
                state = *fresh;
                declined
            }
        };
        std::mem::swap(state.memory_mut(), &mut self.memory);
        let step = run_exact(module.program(), &mut state);
        std::mem::swap(state.memory_mut(), &mut self.memory);
        let name = module.function(kernel).map_or("", |f| f.name.as_str());
        let stop = match step {
            Step::Fault(fault) => Stop::fault(&module, name, &shape, &fault),
            Step::Hang(hang) => Stop::hang(&module, name, &shape, &hang),
            Step::Done | Step::Issued => {
                self.mirrors.copy_out(&self.memory, &before).map_err(gone)?;
                let (stats, output) = (*state.stats(), state.output().to_vec());
                let ran = Ran::Exact(declined);
                return Ok(Report { stats, ran, output, time: begin.elapsed() });
            }
        };
        Err(Failure::Stopped(Box::new(stop)))
    }

    /// The state before the launch, with memory still to be lent.
    fn fresh(
        &self,
        id: ModuleId,
        module: &Module,
        kernel: FuncId,
        shape: Shape,
        params: &[u8],
    ) -> Result<State<1>, Failure> {
        let entry = converge::Entry::find("ipdom").map_err(|_| ContextError::Module)?;
        let mut launch = Launch::new(kernel, vm::catalogued(entry));
        launch.grid = shape.grid;
        launch.block = shape.block;
        launch.dynamic_shared = shape.shared;
        launch.params = params.to_vec();
        launch.limit = self.settings.limit;
        launch.variables = self.loaded.get(&id).ok_or(ContextError::Module)?.variables.clone();
        Ok(Engine::<1>.launch(module.program(), launch)?)
    }

    /// Runs the launch on the fast engine, if it can. Otherwise memory is as before.
    fn try_fast(
        &mut self,
        id: ModuleId,
        module: &Module,
        first: State<1>,
        (kernel, shape, params): (FuncId, Shape, &[u8]),
    ) -> Result<Tried, Failure> {
        let mut state = first;
        if self.settings.exact {
            return Ok(Tried::Exact(Box::new(state), None));
        }
        // With assumptions about indices first, and without if one of them fails.
        for assume in [true, false] {
            let key = Prepared { kernel, shape, assume };
            let ready = match self.prepared(id, module, &state, key) {
                Ok(ready) => ready,
                Err(declined) => return Ok(Tried::Exact(Box::new(state), Some(declined))),
            };
            let saved = self.memory.snapshot();
            std::mem::swap(state.memory_mut(), &mut self.memory);
            let ran = fast::run(&ready, state, Level::best(), false, &mut |_, _| true);
            self.keep(id, key, Ok(ready));
            match ran {
                Ok(finished) => {
                    self.memory = finished.memory;
                    let (stats, ran) = (finished.stats, Ran::Fast(finished.level));
                    let (output, time) = (Vec::new(), Duration::ZERO);
                    let report = Report { stats, ran, output, time };
                    return Ok(Tried::Ran(Box::new(report)));
                }
                Err(declined) => {
                    self.take_back(&saved)?;
                    state = self.fresh(id, module, kernel, shape, params)?;
                    if declined != Declined::Wrapped || !assume {
                        return Ok(Tried::Exact(Box::new(state), Some(declined)));
                    }
                }
            }
        }
        Ok(Tried::Exact(Box::new(state), None))
    }

    /// Memory as it was, after an engine has kept it.
    fn take_back(&mut self, saved: &Snapshot) -> Result<(), ContextError> {
        self.memory = MemoryMap::with_limit(self.settings.memory);
        Ok(self.memory.restore(saved)?)
    }

    /// The decoded launch, from before if it was decoded before; [`Self::keep`] keeps it for the next time.
    fn prepared(
        &mut self,
        id: ModuleId,
        module: &Module,
        state: &State<1>,
        key: Prepared,
    ) -> Result<Box<fast::Kernel>, Declined> {
        let known = self.loaded.get_mut(&id).and_then(|l| l.prepared.remove(&key));
        let ready = known
            .unwrap_or_else(|| fast::prepare(module.program(), state, key.assume).map(Box::new));
        if let Err(declined) = &ready {
            self.keep(id, key, Err(*declined));
        }
        ready
    }

    fn keep(&mut self, id: ModuleId, key: Prepared, ready: Result<Box<fast::Kernel>, Declined>) {
        let Some(loaded) = self.loaded.get_mut(&id) else { return };
        if loaded.prepared.len() >= KEPT {
            loaded.prepared.clear();
        }
        loaded.prepared.insert(key, ready);
    }
}

/// What came of trying.
enum Tried {
    Ran(Box<Report>),
    /// The exact engine has to run this state, to which memory is still to be lent.
    Exact(Box<State<1>>, Option<Declined>),
}

fn run_exact(program: &vm::Program, state: &mut State<1>) -> Step<vm::Cause, 1> {
    loop {
        match Engine::<1>.run(program, state, &mut Blind, SLICE) {
            Step::Issued => {}
            end => return end,
        }
    }
}
