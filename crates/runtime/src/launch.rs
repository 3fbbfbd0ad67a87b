//! Launches: on the fast engine where it can, on the exact one otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fast::{Declined, Level};
use ir::FuncId;
use jit::How;
use simt::machine::{Machine as _, Step};
use simt::memory::Snapshot;
use simt::observe::Blind;
use thiserror::Error;
use vm::{Claim, Engine, Launch, LaunchError, RecheckError, Resident, Retry, State, Stats};

use crate::context::{Context, ContextError, Engines, ModuleId};
use crate::module::Module;
use crate::standing::Look;
use crate::stop::Stop;

/// Issues of the exact engine between two looks at the outcome.
const SLICE: u64 = 1 << 20;

/// The convergence mechanism of launches, unless they hang under it.
const USUAL: &str = "ipdom";

/// How many threads, and how much shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// Whether all blocks run side by side, so that they may wait for each other.
    pub cooperative: bool,
}

/// Which engine ran a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The fast one.
    Fast(Level),
    /// The exact one, and why the fast one did not.
    Exact(Option<Declined>),
    /// The exact one, lane by lane: it hangs where lanes of a warp go on together. Blocks that had ended for good on the fast engine are not run
    /// again: their counts are those of warps whose lanes go on together.
    Lanes,
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
    /// The engines cannot be compared.
    #[error(transparent)]
    Compare(#[from] RecheckError),
    /// It faulted or hangs: guest memory is as it was then. Or the engines differ: guest memory is
    /// the exact engine's. Memory of the host has not changed.
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
        let mut look = Look::new(self.watch.take(), Arc::clone(&module), kernel, shape);
        let end = self.launch_looked_at((id, &module), kernel, (shape, params), &mut look);
        self.watch = look.watch;
        end
    }

    fn launch_looked_at(
        &mut self,
        (id, module): (ModuleId, &Module),
        kernel: FuncId,
        (shape, params): (Shape, &[u8]),
        look: &mut Look,
    ) -> Result<Report, Failure> {
        let workspace = if shape.cooperative {
            self.grid_workspace().map_err(ContextError::from)?.0
        } else {
            0
        };
        let what = (kernel, shape, params, workspace);
        let mut state = self.fresh(id, module, what, USUAL)?;
        let gone = |gone: crate::mirror::Gone| ContextError::Host(gone.address);
        let begin = Instant::now();
        let before = self.mirrors.copy_in(&mut self.memory).map_err(gone)?;
        let compared = (self.settings.engines == Engines::Both)
            .then(|| (state.clone(), self.memory.snapshot()));
        let declined = match self.try_fast(id, module, state, look)? {
            Tried::Ran(mut report) => {
                let claim = Claim { done: true, stats: Some(report.stats) };
                self.compare(module, (kernel, shape), compared.as_ref(), &claim, look)?;
                self.mirrors.copy_out(&self.memory, &before).map_err(gone)?;
                report.time = begin.elapsed();
                return Ok(*report);
            }
            Tried::Exact(fresh, declined) => {
                state = *fresh;
                declined
            }
        };
        // Blocks that the fast engine has run for good.
        let done = state.stats().ctas;
        let retry = Retry::new(&mut self.memory, &state);
        let heap = self.heap.clone();
        let mut step = self.run_exact(module, &mut state, look);
        let mut ran = Ran::Exact(declined);
        if done > 0 && !matches!(&step, Step::Hang(_)) {
            // The fast engine has run some of its blocks for good.
            let claim = Claim { done: step == Step::Done, stats: Some(*state.stats()) };
            self.compare(module, (kernel, shape), compared.as_ref(), &claim, look)?;
        }
        if Retry::may_help(&step) {
            let memory = retry.memory(self.settings.memory).map_err(ContextError::from)?;
            let hung = (
                std::mem::replace(&mut self.memory, memory),
                std::mem::replace(&mut self.heap, heap),
            );
            state = self.fresh(id, module, what, Retry::MECHANISM)?;
            retry.skip(&mut state);
            let again = self.run_exact(module, &mut state, look);
            if matches!(again, Step::Done) {
                (step, ran) = (again, Ran::Lanes);
            } else {
                (self.memory, self.heap) = hung;
            }
        }
        let name = module.function(kernel).map_or("", |f| f.name.as_str());
        let stop = match step {
            Step::Fault(fault) => {
                let stop = Stop::fault(module, name, &shape, &fault);
                stop.traced(module.function(kernel), params, &self.blocks)
            }
            Step::Hang(hang) => Stop::hang(module, name, &shape, &hang),
            Step::Done | Step::Issued => {
                self.mirrors.copy_out(&self.memory, &before).map_err(gone)?;
                let (stats, output) = (*state.stats(), state.output().to_vec());
                return Ok(Report { stats, ran, output, time: begin.elapsed() });
            }
        };
        Err(Failure::Stopped(Box::new(stop)))
    }

    /// Runs a state to its end, on the context's memory and device heap.
    fn run_exact(
        &mut self,
        module: &Module,
        state: &mut State<1>,
        look: &mut Look,
    ) -> Step<vm::Cause, 1> {
        std::mem::swap(state.memory_mut(), &mut self.memory);
        std::mem::swap(state.heap_mut(), &mut self.heap);
        let end = loop {
            match Engine::<1>.run(module.program(), state, &mut Blind, SLICE) {
                Step::Issued => look.at_state(state),
                end => break end,
            }
        };
        std::mem::swap(state.memory_mut(), &mut self.memory);
        std::mem::swap(state.heap_mut(), &mut self.heap);
        end
    }

    /// The state before the launch, with memory still to be lent.
    fn fresh(
        &self,
        id: ModuleId,
        module: &Module,
        (kernel, shape, params, workspace): (FuncId, Shape, &[u8], u64),
        mechanism: &str,
    ) -> Result<State<1>, Failure> {
        let entry = converge::Entry::find(mechanism).map_err(|_| ContextError::Module)?;
        let mut launch = Launch::new(kernel, vm::catalogued(entry));
        launch.grid = shape.grid;
        launch.block = shape.block;
        launch.dynamic_shared = shape.shared;
        launch.params = params.to_vec();
        launch.limit = self.settings.limit;
        launch.workspace = workspace;
        launch.device = self.settings.device.device(module.target());
        if shape.cooperative {
            let blocks = shape.grid.iter().fold(1, |n: u32, &extent| n.saturating_mul(extent));
            launch.resident = Resident::Fixed(blocks);
        }
        launch.variables = self.loaded.get(&id).ok_or(ContextError::Module)?.variables.clone();
        Ok(vm::begin_bare(module.program(), launch)?)
    }

    /// Runs the launch on the fast engine, if it can. Otherwise memory is as the state is to go on with.
    fn try_fast(
        &mut self,
        id: ModuleId,
        module: &Module,
        first: State<1>,
        look: &mut Look,
    ) -> Result<Tried, Failure> {
        let mut state = first;
        if self.settings.engines == Engines::Exact {
            return Ok(Tried::Exact(Box::new(state), None));
        }
        let (threads, level) = (self.settings.threads, self.settings.level);
        let level = level.unwrap_or_else(Level::best).or_less();
        // With assumptions about indices first, and without if one of them fails.
        for assume in [true, false] {
            let how = How { assume, level, compile: true, detailed: false, threads, eager: false };
            let cache = self.loaded.get_mut(&id).map(|loaded| &mut loaded.ready);
            let ready = cache.ok_or(ContextError::Module)?.ready(module.program(), &state, how);
            let ready = match ready {
                Ok(ready) => ready,
                Err(declined) => return Ok(Tried::Exact(Box::new(state), Some(declined))),
            };
            std::mem::swap(state.memory_mut(), &mut self.memory);
            match ready.run(&mut state, look) {
                Ok(finished) => {
                    self.memory = finished.memory;
                    let (stats, ran) = (finished.stats, Ran::Fast(finished.level));
                    let (output, time) = (Vec::new(), Duration::ZERO);
                    let report = Report { stats, ran, output, time };
                    return Ok(Tried::Ran(Box::new(report)));
                }
                Err(declined) => {
                    std::mem::swap(state.memory_mut(), &mut self.memory);
                    if declined != Declined::Wrapped || !assume {
                        return Ok(Tried::Exact(Box::new(state), Some(declined)));
                    }
                }
            }
        }
        Ok(Tried::Exact(Box::new(state), None))
    }

    /// Runs a launch again on the exact engine, if that is asked for, and compares memory, which
    /// becomes the exact engine's.
    fn compare(
        &mut self,
        module: &Module,
        (kernel, shape): (FuncId, Shape),
        before: Option<&(State<1>, Snapshot)>,
        claim: &Claim,
        look: &mut Look,
    ) -> Result<(), Failure> {
        let Some((fresh, before)) = before else { return Ok(()) };
        #[cfg(test)]
        if let Some(at) = self.tampered {
            self.memory.host_write(at, &[0xee]).expect("it is there");
        }
        let memory = (before, &mut self.memory);
        let mut go_on = |state: &State<1>| {
            look.at_state(state);
            true
        };
        let came = vm::recheck(module.program(), fresh, memory, claim, &mut go_on)?;
        let name = module.function(kernel).map_or("", |f| f.name.as_str());
        match Stop::difference(module, name, &shape, &came) {
            None => Ok(()),
            Some(stop) => Err(Failure::Stopped(Box::new(stop))),
        }
    }
}

/// What came of trying.
enum Tried {
    Ran(Box<Report>),
    /// The exact engine has to run this state to its end, to which memory is still to be lent.
    Exact(Box<State<1>>, Option<Declined>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    const TEXT: &str = "
        .version 7.0 .target sm_70 .address_size 64
        // Lane 0 waits for what the others write behind the loop, which comes first or last in the text.
        .visible .entry first(.param .u64 at) {
            .reg .b32 %i, %v; .reg .b64 %a; .reg .pred %p;
            ld.param.u64 %a, [at];
            mov.u32 %i, %tid.x;
            setp.ne.u32 %p, %i, 0;
            @%p bra write;
        again:
            ld.volatile.global.u32 %v, [%a];
            setp.eq.u32 %p, %v, 0;
            @%p bra again;
            st.global.u32 [%a], 9;
            bra end;
        write:
            st.volatile.global.u32 [%a], 1;
        end:
            ret;
        }
        .visible .entry last(.param .u64 at) {
            .reg .b32 %i, %v; .reg .b64 %a; .reg .pred %p;
            ld.param.u64 %a, [at];
            mov.u32 %i, %tid.x;
            setp.eq.u32 %p, %i, 0;
            @%p bra again;
            st.volatile.global.u32 [%a], 1;
            bra end;
        again:
            ld.volatile.global.u32 %v, [%a];
            setp.eq.u32 %p, %v, 0;
            @%p bra again;
            st.global.u32 [%a], 9;
        end:
            ret;
        }
        .visible .entry forever(.param .u64 at) { loop: bra loop; }";

    fn run(kernel: &str) -> (Result<Report, Failure>, u32) {
        let module = Module::load("t", TEXT).unwrap();
        let mut context = Context::new(Settings::default());
        let at = context.allocate("out", 4).unwrap();
        let id = context.load(&module).unwrap();
        let shape = Shape { grid: [1; 3], block: [32, 1, 1], shared: 0, cooperative: false };
        let kernel = module.kernel(kernel).unwrap();
        let end = context.launch(id, kernel, shape, &at.0.to_le_bytes());
        let mut word = [0; 4];
        context.read(at, &mut word).unwrap();
        (end, u32::from_le_bytes(word))
    }

    /// Thread t stores t; the launch is compared, with a byte changed between the engines if that is
    /// wanted.
    fn compared(tampered: Option<u64>) -> (Result<Report, Failure>, Vec<u8>) {
        const STORE: &str = "
            .version 7.0 .target sm_70 .address_size 64
            .visible .entry store(.param .u64 out) {
                .reg .b32 %t; .reg .b64 %a;
                ld.param.u64 %a, [out];
                mov.u32 %t, %tid.x;
                mad.wide.u32 %a, %t, 4, %a;
                st.global.u32 [%a], %t;
                ret;
            }";
        let module = Module::load("t", STORE).unwrap();
        let settings = Settings { engines: Engines::Both, ..Settings::default() };
        let mut context = Context::new(settings);
        let out = context.allocate("out", 256).unwrap();
        context.tampered = tampered.map(|at| out.wrapping_add(at));
        let id = context.load(&module).unwrap();
        let shape = Shape { grid: [1; 3], block: [64, 1, 1], shared: 0, cooperative: false };
        let kernel = module.kernel("store").unwrap();
        let end = context.launch(id, kernel, shape, &out.0.to_le_bytes());
        let mut bytes = vec![0; 256];
        context.read(out, &mut bytes).unwrap();
        (end, bytes)
    }

    #[test]
    fn engines_that_differ_are_told_by_the_first_word() {
        let expected: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
        let (end, bytes) = compared(None);
        assert!(matches!(end.unwrap().ran, Ran::Fast(_)));
        assert_eq!(bytes, expected);
        let (end, bytes) = compared(Some(4 * 41));
        let Err(Failure::Stopped(stop)) = end else { panic!("{end:?}") };
        assert_eq!((stop.kind, stop.code), (crate::StopKind::Difference, "engines-differ"));
        let site = &stop.place.site;
        assert_eq!((site.block, site.warp, &*site.lanes), ([0; 3], 1, &[9][..]));
        assert_eq!(
            stop.place.text.as_ref().map(|p| (p.line, &*p.text)),
            Some((8, "st.global.u32 [%a], %t;"))
        );
        assert!(
            stop.message.contains("0x000000ee") && stop.message.contains("0x00000029"),
            "{stop}"
        );
        assert!(stop.message.contains("\"out\"") && stop.message.contains("+ 164"), "{stop}");
        // What the exact engine makes of it stays.
        assert_eq!(bytes, expected);
    }

    #[test]
    fn lanes_that_wait_for_each_other_go_on() {
        let ran = ["first", "last"].map(|kernel| {
            let (end, word) = run(kernel);
            assert_eq!(word, 9, "{end:?}");
            end.unwrap().ran
        });
        // One of the two orders is the one that the usual mechanism takes.
        assert_eq!(ran.iter().filter(|&&r| r == Ran::Lanes).count(), 1, "{ran:?}");
    }

    #[test]
    fn what_hangs_in_any_order_hangs() {
        let (end, _) = run("forever");
        assert!(matches!(end, Err(Failure::Stopped(stop)) if stop.kind == crate::StopKind::Hang));
    }
}
