//! Guest memory and launches of IR programs.

use std::collections::BTreeMap;

use ::flow::analysis::{Options, Shape};
use converge::{BuildMechanism, Pass, Start};
use engine::{
    EngineUsed, Exact, ExactLaunch, ExactRun, Guest, Monitor, Outcome, Restart, Selected,
};
use ir::{FuncId, VerifiedModule};
use isa::Diagnostic;
use simt::memory::MemoryMap;
use vm::{FactCheck, Launch, LaunchError, PassCost, Retry, State, Variables};

use super::program::VmProgram;
use super::spin::Programs;
use super::statistics::{RunTotals, counters, inserted, result};
use super::{debugged, options, report};
use crate::adapters::shared;
use crate::launch::{Choice, End, LaunchProblem, LaunchRequest, LaunchResult, Schedule, Subject};
use crate::monitor::{Attached, LaunchMonitor, Progress};
use crate::probe::{self, EventSink, LaunchStart, Probe, Screen};
use crate::program::{Context, ContextState};
use crate::stats::CodeCost;

/// The global memory that all launches of a run share.
pub(super) struct VmContext<'p> {
    program: &'p VmProgram,
    /// The program as transformed by the passes of mechanisms, by kernel and pass.
    prepared: BTreeMap<(FuncId, Pass), (VmProgram, PassCost)>,
    memory: MemoryMap,
    variables: Variables,
}

impl<'p> VmContext<'p> {
    pub(super) fn new(program: &'p VmProgram) -> Result<Self, Diagnostic> {
        Self::resume(program, &mut ContextState::default())
    }

    pub(super) fn resume(
        program: &'p VmProgram,
        saved: &mut ContextState,
    ) -> Result<Self, Diagnostic> {
        let variables = match saved.variables.take() {
            Some(variables) => variables,
            None => vm::load_variables(&program.program, &mut saved.memory).map_err(|error| {
                Diagnostic::error(
                    "run::memory",
                    format!("no room for the program's variables: {error}"),
                )
            })?,
        };
        let memory = std::mem::take(&mut saved.memory);
        Ok(Self { program, prepared: BTreeMap::new(), memory, variables })
    }

    fn run<const N: usize>(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem>
    where
        State<N>: Exact<N>,
        Start<N>: BuildMechanism<N>,
    {
        let (launch, pass) = self.prepare::<N>(request, MemoryMap::new())?;
        let key = pass.map(|pass| (launch.kernel, pass));
        let prepared = match key {
            Some(key) => Some(self.take_prepared(key)?),
            None => None,
        };
        let program = prepared.as_ref().map_or(self.program, |(program, _)| program);
        let mut result = self.run_program(program, launch, request, monitor);
        if let (Some(key), Some((program, pass))) = (key, prepared) {
            if let Ok(result) = &mut result
                && result.stats.retried.is_none()
            {
                let inserted = inserted(&program, &result.stats.by_pc);
                result.stats.code = Some(CodeCost { pass, inserted });
            }
            self.prepared.insert(key, (program, pass));
        }
        result
    }

    /// Runs a launch on the exact engine, on this memory.
    fn run_program<const N: usize>(
        &mut self,
        program: &VmProgram,
        launch: Launch<N>,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem>
    where
        State<N>: Exact<N>,
        Start<N>: BuildMechanism<N>,
    {
        if options::checks_facts(request.options) {
            let memory = self.memory.try_clone();
            let memory = memory.map_err(|error| general(error.to_string()))?;
            self.check_facts(program, Launch { memory, ..launch.clone() }, request)?;
        }
        let mut state = self.begin(program, launch, request, monitor)?;
        let mut memory = std::mem::take(&mut self.memory);
        let mut stopped_by_user = false;
        let mut again = None;
        if let Some(client) = monitor.debugger() {
            let begin = |other: &str| self.begin_under::<N>(other, request);
            let launch = (request, &begin as debug_vm::Begin<'_, N>);
            let left = debugged::run(program, (state, &mut memory), launch, client);
            stopped_by_user = left.after == debug::After::Stop;
            (state, again) = (left.state, left.again);
        }
        // What a pass has made of the program has other places than the program itself.
        let program = if again.is_some() { self.program } else { program };
        if stopped_by_user {
            self.memory = memory;
            let totals = RunTotals {
                stats: state.stats(),
                counters: counters(program, request).unwrap_or_default(),
                output: state.output(),
                retried: false,
            };
            return Ok(result(program, request, End::Interrupted, totals));
        }
        let launch =
            ExactLaunch { program: &program.program, state, counters: counters(program, request) };
        let mut guest = Guest { memory: &mut memory, heap: None };
        let mut restart = || self.restart::<N>(request);
        let restart: Option<Restart<'_, '_, N, _>> = match retries(request) {
            true => Some(&mut restart),
            false => None,
        };
        let blocks = request.grid.iter().product();
        let run = engine::run_exact(
            launch,
            &mut guest,
            restart,
            false,
            &mut MonitorAdapter { monitor, blocks },
        );
        self.memory = memory;
        let ExactRun { end, state, counters, mut retried } = run.map_err(stopped)?;
        retried |= again == Some(Retry::MECHANISM);
        let counters = counters.unwrap_or_default();
        let totals = RunTotals { stats: state.stats(), counters, output: state.output(), retried };
        let program = if retried { self.program } else { program };
        let programs = Programs { run: program, written: self.program };
        Ok(result(program, request, report::end(programs, end, request), totals))
    }

    /// Begins a launch as the monitor's probe wants it, and tells the probe. Memory is still to be
    /// lent.
    fn begin<const N: usize>(
        &self,
        program: &VmProgram,
        mut launch: Launch<N>,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<State<N>, LaunchProblem>
    where
        Start<N>: BuildMechanism<N>,
    {
        if let Some(probe) = monitor.probe() {
            launch.guard = probe.guard();
            launch.asynchrony = launch.asynchrony.or(probe.asynchrony());
        }
        let [grid, block] = [launch.grid, launch.block].map(|extents| extents.map(u64::from));
        let shape = probe::Shape { grid, block, width: launch.width };
        let state = vm::begin_bare(&program.program, launch);
        let state = state.map_err(|error| self.problem(&error))?;
        if let Some(probe) = monitor.probe() {
            let places = program.places();
            probe.begin(&LaunchStart { kernel: request.kernel, shape, places });
        }
        Ok(state)
    }

    /// The launch under another mechanism, for the debugger.
    fn begin_under<const N: usize>(
        &self,
        mechanism: &str,
        request: &LaunchRequest<'_>,
    ) -> Result<debug_vm::Begun<'_, N>, String>
    where
        Start<N>: BuildMechanism<N>,
    {
        let other = LaunchRequest { mechanism, ..request.clone() };
        let (launch, pass) = self.prepare::<N>(&other, MemoryMap::new()).map_err(|e| e.message)?;
        if pass.is_some() {
            return Err(format!("`{mechanism}` compiles code of its own, which has other places"));
        }
        let state = vm::begin_bare(&self.program.program, launch);
        let state = state.map_err(|error| error.to_string())?;
        let (program, places) = (&self.program.program, self.program.places());
        Ok(debug_vm::Begun { program, places, state })
    }

    /// The launch again, under the mechanism with forward progress. Its memory and heap are still
    /// to be lent.
    fn restart<const N: usize>(
        &self,
        request: &LaunchRequest<'_>,
    ) -> Result<ExactLaunch<'p, N>, LaunchProblem>
    where
        Start<N>: BuildMechanism<N>,
    {
        let fair = LaunchRequest { mechanism: Retry::MECHANISM, ..request.clone() };
        let (launch, _) = self.prepare::<N>(&fair, MemoryMap::new())?;
        let state = vm::begin_bare(&self.program.program, launch);
        let state = state.map_err(|error| self.problem(&error))?;
        let counters = counters(self.program, request);
        Ok(ExactLaunch { program: &self.program.program, state, counters })
    }

    /// Runs a launch on the engine that is best for it.
    fn run_best(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        let (launch, _) = self.prepare::<1>(request, MemoryMap::new())?;
        let state = self.begin(self.program, launch, request, monitor)?;
        let (level, threads, detailed) = (request.level, request.threads, request.detailed);
        let options = engine::Options {
            engine: request.engine,
            level,
            threads,
            detailed,
            keeps_waiting: false,
            takes_back: false,
        };
        let (program, cache) = (&self.program.program, &self.program.cache);
        let launch = engine::Launch { program, cache, options, state, corrupt_byte: None };
        let mut memory = std::mem::take(&mut self.memory);
        let guest = Guest { memory: &mut memory, heap: None };
        let mut restart = || self.restart::<1>(request);
        let restart: Option<Restart<'_, '_, 1, _>> = match retries(request) {
            true => Some(&mut restart),
            false => None,
        };
        let blocks = request.grid.iter().product();
        let outcome =
            engine::launch(launch, guest, restart, &mut MonitorAdapter { monitor, blocks });
        self.memory = memory;
        let Outcome { end, stats, counters, output, ran, .. } = outcome.map_err(stopped)?;
        let retried = ran == EngineUsed::Retried;
        let totals = RunTotals { stats: &stats, counters, output: &output, retried };
        let programs = Programs { run: self.program, written: self.program };
        let end = report::end(programs, end, request);
        let mut result = result(self.program, request, end, totals);
        if let EngineUsed::Fast(_) = ran {
            result.stats.engine = "fast";
        }
        Ok(result)
    }

    /// Runs a copy of the launch with every fact of the analyses checked at run time.
    fn check_facts<const N: usize>(
        &self,
        program: &VmProgram,
        launch: Launch<N>,
        request: &LaunchRequest<'_>,
    ) -> Result<(), LaunchProblem>
    where
        State<N>: Exact<N>,
    {
        let problem = general;
        if request.mechanism != "ipdom" {
            return Err(problem("facts are checked under the mechanism `ipdom` alone".to_owned()));
        }
        if launch.warp != vm::WARP_SIZE {
            return Err(problem("facts are checked for warps of 32 threads alone".to_owned()));
        }
        let shape = Shape { grid: launch.grid, block: launch.block, width: launch.width };
        let mut check = FactCheck::new(&program.program, shape, Options::default())
            .map_err(|error| problem(error.to_string()))?;
        let memory = launch.memory;
        let launch = Launch { memory: MemoryMap::new(), ..launch };
        let state = vm::begin_bare(&program.program, launch);
        let mut state = state.map_err(|error| self.problem(&error))?;
        *state.memory_mut() = memory;
        let checked = state.check(&program.program, &mut check);
        checked.map_err(|violation| problem(format!("a fact is wrong: {violation}")))
    }

    /// Takes the program that a mechanism's pass produces for a kernel out of the cache, or
    /// prepares it.
    fn take_prepared(
        &mut self,
        key: (FuncId, Pass),
    ) -> Result<(VmProgram, PassCost), LaunchProblem> {
        if let Some(prepared) = self.prepared.remove(&key) {
            return Ok(prepared);
        }
        let problem = |message: String, span| {
            let about = Subject::Mechanism;
            LaunchProblem { about, message, help: None, span }
        };
        let (kernel, pass) = key;
        let verified = VerifiedModule::new(self.program.module_of(kernel))
            .map_err(|errors| problem(errors.to_string(), None))?;
        let (module, cost) = vm::prepare_counted(&verified, kernel, pass)
            .map_err(|error| problem(error.to_string(), self.program.span(error.loc)))?;
        match vm::Program::link(module) {
            Ok(program) => {
                let (text, target) = (self.program.text.clone(), self.program.target);
                Ok((VmProgram::new(program, text, target), cost))
            }
            Err(errors) => {
                let first = errors.first().map_or_else(String::new, |e| e.kind.to_string());
                Err(problem(first, None))
            }
        }
    }

    /// Translates the request into a launch on `memory`, and returns the pass that its mechanism
    /// needs.
    pub(super) fn prepare<const N: usize>(
        &self,
        request: &LaunchRequest<'_>,
        memory: MemoryMap,
    ) -> Result<(Launch<N>, Option<Pass>), LaunchProblem>
    where
        Start<N>: BuildMechanism<N>,
    {
        let problem =
            |about, message: String| LaunchProblem { about, message, help: None, span: None };
        let entry = converge::Entry::find(request.mechanism)
            .map_err(|error| problem(Subject::Mechanism, error.to_string()))?;
        let kernel = self.program.module().function(request.kernel).ok_or_else(|| {
            problem(Subject::Kernel, format!("there is no kernel `{}`", request.kernel))
        })?;
        let mut launch = Launch::new(kernel, vm::catalogued(entry));
        for (name, about, from, to) in [
            ("grid", Subject::Grid, request.grid, &mut launch.grid),
            ("block", Subject::Block, request.block, &mut launch.block),
        ] {
            for (to, from) in to.iter_mut().zip(from) {
                *to = u32::try_from(from).map_err(|_| {
                    problem(about, format!("a {name} extent of {from} is too large"))
                })?;
            }
        }
        launch.params = request.params.to_vec();
        launch.dynamic_shared = request.shared;
        launch.width = u32::try_from(request.warp_size).unwrap_or(u32::MAX);
        launch.scope = entry.scope;
        launch.guards_are_masks = matches!(entry.pass, Some(Pass::Predication | Pass::MaskedBanks));
        options::apply(&mut launch, request.options, request.seed, self.program.target)?;
        if !entry.knobs.contains(&"policy") {
            launch.policy = converge::Policy::First;
        }
        if let Some(limit) = request.limit {
            launch.limit = limit;
        }
        launch.memory = memory;
        launch.variables = self.variables.clone();
        Ok((launch, entry.pass))
    }

    /// Attributes an error of the engine to a part of the request.
    pub(super) fn problem(&self, error: &LaunchError) -> LaunchProblem {
        let (about, help) = match error {
            LaunchError::Dimension { what: "grid", .. } => (Subject::Grid, None),
            LaunchError::Dimension { .. }
            | LaunchError::Threads(_)
            | LaunchError::Bounds { .. } => (Subject::Block, None),
            LaunchError::Shared { .. } => (Subject::Shared, Some(options::OTHER_DEVICE)),
            LaunchError::Width { .. } => (Subject::WarpSize, None),
            LaunchError::Collective { .. } => {
                (Subject::WarpSize, Some("use a warp size that divides 32, or a multiple of 32"))
            }
            LaunchError::LaneMask { .. } => (
                Subject::WarpSize,
                Some(
                    "leave the option `warp` at 32; `--warp-size 64` issues two such warps together",
                ),
            ),
            LaunchError::WholeWarp { .. } => {
                (Subject::WarpSize, Some("leave the option `warp` at 32"))
            }
            LaunchError::NotAKernel(_) => (Subject::Kernel, None),
            LaunchError::Params { .. } => (Subject::Args, None),
            _ => (Subject::Launch, None),
        };
        let span = match error {
            LaunchError::Collective { loc, .. }
            | LaunchError::LaneMask { loc, .. }
            | LaunchError::WholeWarp { loc, .. } => self.program.span(*loc),
            _ => None,
        };
        LaunchProblem { about, message: error.to_string(), help: help.map(str::to_owned), span }
    }
}

/// Returns a problem of the launch as a whole.
pub(super) fn general(message: String) -> LaunchProblem {
    LaunchProblem { about: Subject::Launch, message, help: None, span: None }
}

/// Whether a launch that hangs runs again under the mechanism with forward progress.
fn retries(request: &LaunchRequest<'_>) -> bool {
    options::needs_progress(request.options) && request.mechanism != Retry::MECHANISM
}

/// Why a launch has come to no end.
fn stopped(error: engine::Error<LaunchProblem>) -> LaunchProblem {
    match error {
        engine::Error::Restart(problem) => problem,
        error => general(error.to_string()),
    }
}

/// The monitor of a run as the monitor of one launch.
struct MonitorAdapter<'w> {
    monitor: &'w mut dyn LaunchMonitor,
    /// Blocks of the grid.
    blocks: u64,
}

impl Monitor for MonitorAdapter<'_> {
    fn poll(&mut self, progress: engine::Progress) -> bool {
        let engine::Progress { blocks_done, issues } = progress;
        self.monitor.poll(Progress { blocks_done, blocks: self.blocks, issues })
    }

    fn selected(&mut self, selected: &Selected<'_>) {
        self.monitor.engine_selected(&selected.to_string());
    }

    fn sink(&mut self) -> Option<&mut dyn EventSink> {
        self.monitor.probe().map(|probe| probe as &mut dyn EventSink)
    }

    fn screen(&mut self) -> Option<&mut dyn Screen> {
        self.monitor.probe().and_then(Probe::screen)
    }

    fn attached(&mut self) -> engine::Attached<'_> {
        let Attached { probe, strategy } = self.monitor.attached();
        engine::Attached { sink: probe.map(|probe| probe as &mut dyn EventSink), strategy }
    }
}

impl Context for VmContext<'_> {
    fn take_state(&mut self) -> ContextState {
        let memory = std::mem::take(&mut self.memory);
        ContextState { memory, variables: Some(self.variables.clone()) }
    }

    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        shared::allocate(&mut self.memory, name, data)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn variables(&self) -> Vec<(String, Vec<u8>)> {
        let vars = self.program.module().vars.iter().enumerate();
        let global = vars.filter(|(_, var)| var.space == ir::mods::Space::Global);
        let read = |(index, var): (usize, &ir::module::Var)| {
            let address = self.variables.address(index)?;
            let length = usize::try_from(var.size).ok()?;
            Some((var.name.clone(), self.read(address.0, length).ok()?))
        };
        global.filter_map(read).collect()
    }

    fn schedule(&self, request: &LaunchRequest<'_>) -> Schedule {
        // Errors in the request are reported at the launch.
        let launch = self.prepare::<16>(request, MemoryMap::new()).ok();
        let resident = launch.map_or(vm::Resident::Device, |(launch, _)| launch.resident);
        let resident = match resident {
            vm::Resident::Fixed(count) => format!("{count} resident blocks"),
            vm::Resident::Device => format!(
                "{} resident blocks (all that the device holds, where none of these ends for {} rounds)",
                vm::defaults::RESIDENT,
                vm::STALLED_ROUNDS
            ),
        };
        let about = format!(
            "each group of {} lanes runs until it waits, ends or has gone back {} times in loops; then the next \
             group of the block, and the next of {resident}",
            request.warp_size,
            vm::BACK_EDGES,
        );
        Schedule { class: "canonical", about }
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        let scheduled = monitor.attached().strategy.is_some();
        let needs_events = |probe: &mut dyn Probe| probe.observes() && probe.screen().is_none();
        let observed = monitor.probe().is_some_and(needs_events)
            || monitor.debugger().is_some()
            || options::checks_facts(request.options);
        let exact = match request.engine {
            Choice::Exact => Some("asked for"),
            _ if scheduled => Some("the schedule is not the canonical one"),
            _ if observed => Some("something looks at its events"),
            _ if request.mechanism != "ipdom" => {
                Some("the fast engine has the mechanism ipdom alone")
            }
            _ if options::counts_warps(request.options) => {
                Some("the fast engine has barriers of threads alone")
            }
            _ if request.warp_size != 32 => Some("the fast engine has warps of 32 lanes alone"),
            Choice::Fast | Choice::Interpreted | Choice::Compiled | Choice::Both => None,
        };
        match exact {
            None => self.run_best(request, monitor),
            Some(why) => {
                monitor.engine_selected(&format!("exact ({why})"));
                self.on_exact(request, monitor)
            }
        }
    }
}

impl VmContext<'_> {
    /// Runs a launch on the exact engine.
    pub(super) fn on_exact(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        let whole_block = converge::Entry::find(request.mechanism)
            .is_ok_and(|entry| entry.scope == converge::Scope::Cta);
        let threads = request.block.iter().copied().fold(1, u64::saturating_mul);
        let span = if whole_block {
            threads.max(1).div_ceil(request.warp_size.max(1)).saturating_mul(request.warp_size)
        } else {
            request.warp_size
        };
        if span <= 64 {
            return self.run::<1>(request, monitor);
        }
        if monitor.attached().strategy.is_some() {
            let message = format!("schedules are for groups of up to 64 lanes, not of {span}");
            return Err(LaunchProblem { about: Subject::Mechanism, ..general(message) });
        }
        self.run::<16>(request, monitor)
    }
}
