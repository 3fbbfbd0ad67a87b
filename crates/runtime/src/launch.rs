//! Launches on the fast engine where possible, else on the exact engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use converge::Policy;
use debug::After;
use engine::{
    Choice, End, EngineUsed, ExactLaunch, Guest, HostThreads, KeptLaunch, Launch, Monitor as _,
    Options, Outcome, Restart,
};
use findings::Check;
use ir::FuncId;
use thiserror::Error;
use vm::{Counts, LaunchError, RecheckError, Resident, Retry, State};

use crate::context::{Context, ContextError, ModuleId, Settings};
use crate::debugger;
use crate::device_launches::ChildLaunch;
use crate::faults::{Faults, ToleratedAccess, Undo};
use crate::mirror::{HostActivity, HostSnapshot, Unit};
use crate::status::StatusReporter;
use crate::stop::{Stop, StopKind};
use modules::Module;

/// The convergence mechanism of launches. Launches that hang under it are retried under another.
pub(crate) const USUAL: &str = "ipdom";
/// That of launches that cannot be retried: with paths in turn, every lane makes progress.
const FORWARD: &str = "min-pc";

/// The numbers of blocks and threads, and the dynamic shared memory, of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The numbers of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The numbers of threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// Whether all blocks are resident at once, so that they can wait for each other.
    pub cooperative: bool,
    /// The numbers of blocks of a cluster in x, y and z; none: those that the kernel declares.
    pub cluster: Option<[u32; 3]>,
}

/// The outcome of a launch that has ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The launch's statistics.
    pub stats: Counts,
    /// The engine that ran the launch.
    pub ran: EngineUsed,
    /// The kernel's output.
    pub output: Vec<u8>,
    /// The grids that the kernel has launched, and those that these have, in the order in which
    /// they ran.
    pub children: Vec<ChildLaunch>,
    /// The refused accesses from which the launch went on, by instruction ([`Faults::Warn`]).
    pub tolerated: Vec<ToleratedAccess>,
    /// The duration of the launch.
    pub time: Duration,
}

/// The reason why a launch failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The launch could not begin. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// An error of the context: its memory or its module.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The launch has accessed this address, in host memory that is not mapped
    /// ([`Context::set_unmapped`]). Nothing has changed.
    #[error("the host memory at {0:#x} is not mapped")]
    Unmapped(u64),
    /// The engines cannot be compared.
    #[error(transparent)]
    Compare(#[from] RecheckError),
    /// The debugger has stopped the launch. Guest memory is as it was then.
    #[error("the launch was stopped in the debugger")]
    Debugger,
    /// The launch faulted or hangs, and memory is as it was then, or before it
    /// ([`Faults::Launch`]); or the engines differ, and guest memory is the exact engine's. Host
    /// memory that the launch did not access in place has not changed.
    #[error("{0}")]
    Stopped(Box<Stop>),
}

/// What has become of a launch.
#[derive(Debug)]
pub enum Launched {
    /// It has ended.
    Ended(Box<Report>),
    /// All its threads wait for memory to change. What it has written to host memory so far is
    /// there.
    Waits(Box<WaitingLaunch>),
}

impl Launched {
    /// Returns the report; a launch that waits is a hang.
    fn report(self) -> Result<Report, Failure> {
        match self {
            Self::Ended(report) => Ok(*report),
            Self::Waits(waiting) => Err(Failure::Stopped(waiting.stop)),
        }
    }
}

/// A launch whose threads wait for memory to change.
pub struct WaitingLaunch {
    state: KeptLaunch,
    id: ModuleId,
    kernel: FuncId,
    shape: Shape,
    params: Vec<u8>,
    begun: Instant,
    stop: Box<Stop>,
    /// What it has left of host memory that it accesses in place, if it goes on doing so.
    shown: Option<HostSnapshot>,
}

impl WaitingLaunch {
    /// Returns where its threads are: the hang that it is if nothing changes memory.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}

impl std::fmt::Debug for WaitingLaunch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingLaunch").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// Returns whether a launch was stopped by a fault or a hang.
fn is_stopped(end: &Result<Launched, Failure>) -> bool {
    matches!(end, Err(Failure::Stopped(stop)) if stop.kind != StopKind::Difference)
}

/// A launch that has begun: its kernel, its sizes, its arguments, and when.
struct Begun<'l> {
    id: ModuleId,
    module: &'l Module,
    kernel: FuncId,
    shape: Shape,
    params: &'l [u8],
    begin: Instant,
}

impl From<engine::Error<Self>> for Failure {
    fn from(error: engine::Error<Self>) -> Self {
        match error {
            engine::Error::Restart(failure) => failure,
            engine::Error::Memory(error) => Self::Context(error.into()),
            engine::Error::Recheck(error) => Self::Compare(error),
        }
    }
}

impl Context {
    /// Runs a kernel of a loaded module to its end, with all that it launches. `params` is the
    /// parameter block in the kernel's layout.
    ///
    /// # Errors
    /// Returns [`Failure`] if the launch cannot begin, is stopped, or the engines differ.
    pub fn launch(
        &mut self,
        id: ModuleId,
        kernel: FuncId,
        shape: Shape,
        params: &[u8],
    ) -> Result<Report, Failure> {
        self.launch_until_wait((id, kernel), shape, params, false)?.report()
    }

    /// Does the same. With `keeps`, a launch whose threads all wait for memory to change is kept,
    /// to go on later; launches whose events are checked, and those that launch others, are not.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn launch_until_wait(
        &mut self,
        (id, kernel): (ModuleId, FuncId),
        shape: Shape,
        params: &[u8],
        keeps: bool,
    ) -> Result<Launched, Failure> {
        let queue = self.loaded.get(&id).ok_or(ContextError::Module)?.queue;
        let takes_back = self.takes_back();
        if takes_back && self.shares_host() {
            self.host = HostActivity::Runs;
        }
        self.mirrors.place(&mut self.memory, self.host).map_err(ContextError::from)?;
        // The engine takes back one grid that is stopped, and none that tolerates faults.
        let memory = queue.is_some() || self.settings.faults == Faults::Warn;
        let undo = takes_back.then(|| (Undo::keep(self, memory), self.found.clone()));
        let end = match queue {
            Some(queue) => {
                let end = self.launch_tree((id, queue), kernel, shape, params);
                end.map(|report| Launched::Ended(Box::new(report)))
            }
            None => self.launch_kept((id, kernel), shape, params, keeps),
        };
        let Some((undo, found)) = undo else { return end };
        let missed = self.unmapped.missed(&end);
        if missed.is_some() || self.settings.faults == Faults::Launch && is_stopped(&end) {
            undo.restore(self).map_err(ContextError::from)?;
        }
        match missed {
            Some(address) => {
                self.found = found;
                Err(Failure::Unmapped(address))
            }
            None => end,
        }
    }

    /// Goes on with a launch that was kept, after memory has changed.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn resume(&mut self, waiting: WaitingLaunch) -> Result<Launched, Failure> {
        let WaitingLaunch { state, id, kernel, shape, params, begun: begin, shown, .. } = waiting;
        let module = Arc::clone(&self.loaded.get(&id).ok_or(ContextError::Module)?.module);
        let mut reporter =
            StatusReporter::new(self.callback.take(), Arc::clone(&module), kernel, shape);
        // In place, nobody could tell whether the host has changed it but by what was there.
        self.host = match &shown {
            Some(_) => HostActivity::Shares,
            None => HostActivity::Runs,
        };
        let placed = self.mirrors.place(&mut self.memory, self.host).map_err(ContextError::from);
        let end = placed.map_err(Failure::from).and_then(|was_in_place| {
            let before = self.mirrors.copy_in(&mut self.memory);
            let before = before.map_err(|error| ContextError::HostUnmapped(error.address))?;
            let has_changed = shown.is_some_and(|shown| shown.differs_from(&self.memory));
            self.host_changes += u64::from(before.changed || was_in_place || has_changed);
            let mut memory = std::mem::take(&mut self.memory);
            let mut heap = std::mem::take(&mut self.heap);
            let guest = Guest { memory: &mut memory, heap: Some(&mut heap) };
            let outcome = engine::resume(module.program(), state, guest, &mut reporter);
            (self.memory, self.heap) = (memory, heap);
            let begun = Begun { id, module: &module, kernel, shape, params: &params, begin };
            self.conclude(&begun, outcome, &before)
        });
        self.callback = reporter.callback;
        end
    }

    /// Runs one grid.
    pub(crate) fn launch_grid(
        &mut self,
        id: ModuleId,
        kernel: FuncId,
        shape: Shape,
        params: &[u8],
    ) -> Result<Report, Failure> {
        self.launch_kept((id, kernel), shape, params, false)?.report()
    }

    /// Runs one grid, which is kept if it waits.
    fn launch_kept(
        &mut self,
        (id, kernel): (ModuleId, FuncId),
        shape: Shape,
        params: &[u8],
        keeps: bool,
    ) -> Result<Launched, Failure> {
        let loaded = self.loaded.get(&id).ok_or(ContextError::Module)?;
        let module = Arc::clone(&loaded.module);
        let mut reporter =
            StatusReporter::new(self.callback.take(), Arc::clone(&module), kernel, shape);
        reporter.checker = self.checker.take();
        if let Some(checker) = &mut reporter.checker {
            let name = module.function(kernel).map_or("", |f| f.name.as_str());
            loaded.begin(checker, name, &shape);
        }
        let keeps = keeps && reporter.checker.is_none();
        let what = (kernel, shape, params);
        let end = self.launch_reported((id, &module), what, keeps, &mut reporter);
        self.callback = reporter.callback;
        self.checker = reporter.checker;
        if let Some(checker) = &mut self.checker {
            self.found.append(checker.take());
        }
        end
    }

    fn launch_reported(
        &mut self,
        (id, module): (ModuleId, &Module),
        (kernel, shape, params): (FuncId, Shape, &[u8]),
        keeps: bool,
        reporter: &mut StatusReporter,
    ) -> Result<Launched, Failure> {
        let workspace = if shape.cooperative {
            self.grid_workspace().map_err(ContextError::from)?.0
        } else {
            0
        };
        let what = (kernel, shape, params, workspace);
        let mechanism = if self.shares_host() { FORWARD } else { USUAL };
        let state = self.fresh(id, module, what, mechanism)?;
        let begin = Instant::now();
        let before = self
            .mirrors
            .copy_in(&mut self.memory)
            .map_err(|error| ContextError::HostUnmapped(error.address))?;
        let outcome = self.run((id, module), what, state, keeps, reporter)?;
        let begun = Begun { id, module, kernel, shape, params, begin };
        self.conclude(&begun, outcome, &before)
    }

    /// Makes the results of a launch visible, or says why it has none.
    fn conclude(
        &mut self,
        begun: &Begun<'_>,
        outcome: Outcome,
        before: &HostSnapshot,
    ) -> Result<Launched, Failure> {
        let &Begun { id, module, kernel, shape, params, begin } = begun;
        let name = module.function(kernel).map_or("", |f| f.name.as_str());
        let stop = match outcome.end {
            End::Fault(fault) => {
                let stop = Stop::fault(module, name, &shape, &fault);
                stop.traced(module.function(kernel), params, &self.blocks)
            }
            End::Hang(hang) => {
                let stop = Stop::hang(module, name, &shape, &hang);
                let Some(state) = outcome.waiting else {
                    return Err(Failure::Stopped(Box::new(stop)));
                };
                // The host may write bytes beside those of the launch meanwhile.
                self.copy_out(before, Unit::Byte)?;
                let (params, stop) = (params.to_vec(), Box::new(stop));
                let begun = begin;
                let shown = self.shares_host().then(|| self.mirrors.snapshot(&mut self.memory));
                let waiting =
                    WaitingLaunch { state, id, kernel, shape, params, begun, stop, shown };
                return Ok(Launched::Waits(Box::new(waiting)));
            }
            End::Differs(recheck) => Stop::difference(module, name, &shape, &recheck),
            // The monitor of this crate stops no launch.
            End::Done | End::Interrupted => {
                self.copy_out(before, Unit::Word)?;
                let Outcome { stats, ran, output, tolerated, .. } = outcome;
                let tolerated = tolerated.places().map(|(fault, issues)| {
                    let first = Stop::fault(module, name, &shape, fault);
                    let first = first.traced(module.function(kernel), params, &self.blocks);
                    ToleratedAccess { first, issues }
                });
                let tolerated = tolerated.collect();
                let (time, children) = (begin.elapsed(), Vec::new());
                let report = Report { stats, ran, output, tolerated, children, time };
                return Ok(Launched::Ended(Box::new(report)));
            }
        };
        Err(Failure::Stopped(Box::new(stop)))
    }

    /// Copies what a launch has changed of host memory to the host.
    fn copy_out(&self, before: &HostSnapshot, unit: Unit) -> Result<(), ContextError> {
        let end = self.mirrors.copy_out(&self.memory, before, unit);
        end.map_err(|error| ContextError::Host(error.address))
    }

    /// Runs a launch on the context's memory and device heap.
    fn run(
        &mut self,
        (id, module): (ModuleId, &Module),
        what: (FuncId, Shape, &[u8], u64),
        mut state: State<1>,
        keeps_waiting: bool,
        reporter: &mut StatusReporter,
    ) -> Result<Outcome, Failure> {
        let mut memory = std::mem::take(&mut self.memory);
        let mut heap = std::mem::take(&mut self.heap);
        let mut client = self.debugger.take();
        let mut guest = Guest { memory: &mut memory, heap: Some(&mut heap) };
        let outcome = match self.loaded.get(&id) {
            Some(loaded) => {
                let begin = |mechanism: &str| {
                    let state = self.fresh(id, module, what, mechanism);
                    let state = state.map_err(|error| error.to_string())?;
                    let (program, places) = (module.program(), loaded.places());
                    Ok(debug_vm::Begun { program, places, state })
                };
                let kernel = (what.0, what.1, &begin as debug_vm::Begin<'_, 1>);
                guest.swap(&mut state);
                let (debugged, after) =
                    debugger::debug(client.as_mut(), (loaded, module), kernel, state);
                state = debugged;
                guest.swap(&mut state);
                let threads = HostThreads::up_to(self.settings.threads);
                let Settings { mut engine, level, .. } = self.settings;
                let events = reporter.checker.is_some() && reporter.screen().is_none();
                if events || after.is_some() || self.shares_host() {
                    engine = Choice::Exact;
                }
                let takes_back = self.takes_back();
                let detailed = false;
                let options =
                    Options { engine, level, threads, detailed, keeps_waiting, takes_back };
                let (program, cache) = (module.program(), &loaded.cache);
                #[cfg(test)]
                let corrupt_byte = self.corrupt_byte;
                #[cfg(not(test))]
                let corrupt_byte = None;
                let launch = Launch { program, cache, options, state, corrupt_byte };
                let mut restart = || {
                    let state = self.fresh(id, module, what, Retry::MECHANISM)?;
                    Ok(ExactLaunch { program, state, counters: None })
                };
                // A launch that was changed in the debugger cannot begin again, nor one whose
                // stores the host has seen.
                let restart: Option<Restart<'_, '_, 1, Failure>> = match after {
                    None if !self.shares_host() => Some(&mut restart),
                    _ => None,
                };
                match after {
                    Some(After::Stop) => Err(Failure::Debugger),
                    _ => engine::launch(launch, guest, restart, reporter).map_err(Failure::from),
                }
            }
            None => Err(ContextError::Module.into()),
        };
        (self.memory, self.heap, self.debugger) = (memory, heap, client);
        outcome
    }

    /// Returns whether launches run on the host's bytes although its threads run.
    fn shares_host(&self) -> bool {
        self.host == HostActivity::Shares
    }

    /// Returns whether launches that are stopped are taken back.
    fn takes_back(&self) -> bool {
        self.settings.faults == Faults::Launch || !self.unmapped.is_empty()
    }

    /// Creates the initial state of the launch, without memory.
    fn fresh(
        &self,
        id: ModuleId,
        module: &Module,
        (kernel, shape, params, workspace): (FuncId, Shape, &[u8], u64),
        mechanism: &str,
    ) -> Result<State<1>, Failure> {
        let entry = converge::Entry::find(mechanism).map_err(|_| ContextError::Module)?;
        let mut launch = vm::Launch::new(kernel, vm::catalogued(entry));
        if mechanism == FORWARD {
            launch.policy = Policy::RoundRobin { turn: 0 };
        }
        launch.grid = shape.grid;
        launch.block = shape.block;
        launch.cluster = shape.cluster;
        launch.dynamic_shared = shape.shared;
        launch.params = params.to_vec();
        launch.limit = self.settings.limit;
        launch.workspace = workspace;
        launch.tolerant = self.settings.faults == Faults::Warn;
        launch.guard = if self.settings.checks.has(Check::Memory) { checks::GUARD } else { 0 };
        launch.asynchrony =
            self.settings.asynchrony.or(crate::checks::asynchrony(self.settings.checks));
        launch.matrix_sums = self.settings.matrix_sums;
        launch.device = self.settings.device.device(module.target());
        if shape.cooperative {
            let blocks = shape.grid.iter().fold(1, |n: u32, &extent| n.saturating_mul(extent));
            launch.resident = Resident::Fixed(blocks);
        }
        launch.variables = self.loaded.get(&id).ok_or(ContextError::Module)?.variables.clone();
        Ok(vm::begin_bare(module.program(), launch)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        .version 7.0 .target sm_70 .address_size 64
        // Lane 0 loops until another lane has stored; the loop is first or last in the text.
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
        let shape =
            Shape { grid: [1; 3], block: [32, 1, 1], shared: 0, cooperative: false, cluster: None };
        let kernel = module.kernel(kernel).unwrap();
        let end = context.launch(id, kernel, shape, &at.0.to_le_bytes());
        let mut word = [0; 4];
        context.read(at, &mut word).unwrap();
        (end, u32::from_le_bytes(word))
    }

    /// Runs a kernel in which thread t stores t, on both engines. A byte at `corrupt_at` is changed
    /// between the engines.
    fn compared(corrupt_at: Option<u64>) -> (Result<Report, Failure>, Vec<u8>) {
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
        let settings = Settings { engine: Choice::Both, ..Settings::default() };
        let mut context = Context::new(settings);
        let out = context.allocate("out", 256).unwrap();
        context.corrupt_byte = corrupt_at.map(|at| (out.wrapping_add(at), 0xee));
        let id = context.load(&module).unwrap();
        let shape =
            Shape { grid: [1; 3], block: [64, 1, 1], shared: 0, cooperative: false, cluster: None };
        let kernel = module.kernel("store").unwrap();
        let end = context.launch(id, kernel, shape, &out.0.to_le_bytes());
        let mut bytes = vec![0; 256];
        context.read(out, &mut bytes).unwrap();
        (end, bytes)
    }

    /// What a thread reads of a bulk copy for which it does not wait: 7, or 0 before it is done.
    fn read_too_early(checks: findings::CheckSet) -> u32 {
        const TEXT: &str = "
            .version 8.6 .target sm_90 .address_size 64
            .visible .entry k(.param .u64 at) {
                .reg .b32 %v, %s, %b; .reg .b64 %a;
                .shared .align 16 .b32 words[4]; .shared .align 8 .b64 bar;
                ld.param.u64 %a, [at];
                mov.u32 %s, words;
                mov.u32 %b, bar;
                st.shared.u32 [%s], 0;
                st.global.u32 [%a], 7;
                mbarrier.init.shared.b64 [%b], 1;
                fence.proxy.async;
                mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 16;
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%a], 16, [%b];
                ld.shared.u32 %v, [%s];
                st.global.u32 [%a+16], %v;
                ret;
            }";
        let module = Module::load("t", TEXT).unwrap();
        let mut context = Context::new(Settings { checks, ..Settings::default() });
        let at = context.allocate("words", 32).unwrap();
        let id = context.load(&module).unwrap();
        let shape =
            Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false, cluster: None };
        let kernel = module.kernel("k").unwrap();
        context.launch(id, kernel, shape, &at.0.to_le_bytes()).unwrap();
        let mut word = [0; 4];
        context.read(at.wrapping_add(16), &mut word).unwrap();
        u32::from_le_bytes(word)
    }

    #[test]
    fn asynchronous_steps_are_late_where_events_are_checked() {
        assert_eq!(read_too_early(findings::CheckSet::default()), 7);
        assert_eq!(read_too_early(findings::CheckSet::parse("race").unwrap()), 0);
    }

    #[test]
    fn engines_that_differ_are_reported_with_the_first_word() {
        let expected: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
        let (end, bytes) = compared(None);
        assert!(matches!(end.unwrap().ran, EngineUsed::Fast(_)));
        assert_eq!(bytes, expected);
        let (end, bytes) = compared(Some(4 * 41));
        let Err(Failure::Stopped(stop)) = end else { panic!("{end:?}") };
        assert_eq!((stop.kind, stop.code), (StopKind::Difference, "engines-differ"));
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
        // Memory is the exact engine's.
        assert_eq!(bytes, expected);
    }

    /// Thread t of 64 allocates a block of the device heap, adds 1 to word t of 32 words, and then
    /// the word behind its own. Returns the words, and whether the heap holds blocks.
    fn beyond(faults: Faults) -> (Result<Report, Failure>, Vec<u32>, bool) {
        const TEXT: &str = "
            .version 7.0 .target sm_70 .address_size 64
            .extern .func (.param .b64 got) malloc(.param .b64 size);
            .visible .entry k(.param .u64 out) {
                .reg .b32 %t, %v; .reg .b64 %a, %p;
                ld.param.u64 %a, [out];
                mov.u32 %t, %tid.x;
                mad.wide.u32 %a, %t, 4, %a;
                { .param .b64 size, got; st.param.b64 [size], 16; call (got), malloc, (size); }
                atom.global.add.u32 %v, [%a], 1;
                ld.global.u32 %v, [%a+4];
                red.global.add.u32 [%a], %v;
                ret;
            }";
        let module = Module::load("t", TEXT).unwrap();
        let mut context = Context::new(Settings { faults, ..Settings::default() });
        let out = context.allocate("out", 128).unwrap();
        context.fill(out, &7_u32.to_le_bytes(), 32).unwrap();
        let id = context.load(&module).unwrap();
        let shape =
            Shape { grid: [1; 3], block: [64, 1, 1], shared: 0, cooperative: false, cluster: None };
        let kernel = module.kernel("k").unwrap();
        let end = context.launch(id, kernel, shape, &out.0.to_le_bytes());
        let mut bytes = vec![0; 128];
        context.read(out, &mut bytes).unwrap();
        let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        (end, words.collect(), context.heap.blocks().next().is_some())
    }

    #[test]
    fn faults_stop_undo_or_warn() {
        // The first warp has added its words when its last lane loads beyond them.
        let (end, words, held) = beyond(Faults::Stop);
        assert!(matches!(end, Err(Failure::Stopped(_))), "{end:?}");
        assert!(words == [8; 32] && held, "{words:?}");
        let (end, words, held) = beyond(Faults::Launch);
        assert!(matches!(end, Err(Failure::Stopped(_))), "{end:?}");
        assert!(words == [7; 32] && !held, "{words:?}");
        // All lanes load before any adds what it has loaded; the last one has loaded zero.
        let (end, words, _) = beyond(Faults::Warn);
        let report = end.unwrap();
        let places: Vec<(&str, u64)> =
            report.tolerated.iter().map(|t| (t.first.code, t.issues)).collect();
        // The second warp reaches nothing: its atomic operations, its loads and its reductions.
        assert_eq!(places.len(), 3, "{places:?}");
        assert!(places.iter().all(|(code, _)| *code == "out-of-bounds"), "{places:?}");
        let issues: Vec<u64> = places.iter().map(|(_, issues)| *issues).collect();
        assert_eq!(issues, [2, 1, 1]);
        assert_eq!(words[..31], [16; 31]);
        assert_eq!(words[31], 8);
    }

    #[test]
    fn lanes_that_wait_for_each_other_finish() {
        let ran = ["first", "last"].map(|kernel| {
            let (end, word) = run(kernel);
            assert_eq!(word, 9, "{end:?}");
            end.unwrap().ran
        });
        // One of the two orders is the one that the usual mechanism takes.
        assert_eq!(ran.iter().filter(|&&r| r == EngineUsed::Retried).count(), 1, "{ran:?}");
    }

    #[test]
    fn a_kept_launch_resumes_after_a_change_of_memory() {
        // Thread 0 waits for the word to be 1, then adds 1 and waits for 3.
        const TEXT: &str = "
            .version 7.0 .target sm_70 .address_size 64
            .visible .entry k(.param .u64 at) {
                .reg .b32 %v; .reg .b64 %a; .reg .pred %p;
                ld.param.u64 %a, [at];
            one:
                ld.volatile.global.u32 %v, [%a];
                setp.ne.u32 %p, %v, 1;
                @%p bra one;
                st.volatile.global.u32 [%a], 2;
            three:
                ld.volatile.global.u32 %v, [%a];
                setp.ne.u32 %p, %v, 3;
                @%p bra three;
                st.volatile.global.u32 [%a], 4;
                ret;
            }";
        let module = Module::load("t", TEXT).unwrap();
        let mut context = Context::new(Settings::default());
        let at = context.allocate("word", 4).unwrap();
        let id = context.load(&module).unwrap();
        let kernel = module.kernel("k").unwrap();
        let shape =
            Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false, cluster: None };
        let word = |context: &Context| {
            let mut word = [0; 4];
            context.read(at, &mut word).unwrap();
            u32::from_le_bytes(word)
        };
        let params = at.0.to_le_bytes();
        let mut end = context.launch_until_wait((id, kernel), shape, &params, true).unwrap();
        // Something else is written, then what the thread waits for.
        for (value, then) in [(7_u32, 7), (1, 2), (5, 5), (3, 4)] {
            let Launched::Waits(waiting) = end else { panic!("it does not wait: {end:?}") };
            assert_eq!(waiting.stop().kind, StopKind::Hang);
            context.write(at, &value.to_le_bytes()).unwrap();
            end = context.resume(*waiting).unwrap();
            assert_eq!(word(&context), then);
        }
        assert!(matches!(end, Launched::Ended(_)), "{end:?}");
        // Nobody changes memory for a launch that is not kept.
        let end = context.launch(id, kernel, shape, &params);
        assert!(matches!(end, Err(Failure::Stopped(stop)) if stop.kind == StopKind::Hang));
    }

    #[test]
    fn a_hang_in_every_order_is_reported() {
        let (end, _) = run("forever");
        assert!(matches!(end, Err(Failure::Stopped(stop)) if stop.kind == StopKind::Hang));
    }
}
