//! Memory and launches, for both models.

use std::ops::Range;

use ::prf::timing::{State as Cycle, changes};
use ::prf::{LaunchError, Options, Prf, Timed, Trap};
use inputs::launch::MachineOption;
use simt::machine::Machine;
use simt::memory::{Addr, MemoryMap, Permission};
use simt::trap::Fault;

use super::super::debugged;
use super::super::listing::Listing;
use super::super::runner::{self, Bounds, Code, Debugged, Extents, Guest};
use super::super::shared::{self, option_text, problem};
use super::program::PrfProgram;
use super::timeline;
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::LaunchMonitor;
use crate::program::{Context, MemoryRange};
use crate::stats::LaunchStats;

/// Issues between two polls of the monitor.
const SLICE: u64 = 1 << 16;
/// The same for the cycle-level model, where an issue may take many cycles.
const TIMED_SLICE: u64 = 1 << 12;
/// Default limit of issues.
const LIMIT: u64 = 1_000_000_000;
/// Most instructions in a timeline.
const RECORDS: usize = 200_000;
/// Most changes of registers and predicates that are kept.
const CHANGES: usize = 200_000;
/// Address of the argument block.
const ARGUMENTS: u64 = 0x0f00_0000;
/// Start of the heap, which programs without parameters get by default.
const HEAP: u64 = 0x1000_0000;
/// End of what is mapped of the stacks that compiled programs use, and its length: that of the
/// first thread ends at 0xf100_0000, those of the others lie above.
const STACK: (u64, u64) = (0xf110_0000, 2 << 20);
/// Start of the data of compiled programs, and the length that is mapped of it.
const STATIC: (u64, u64) = (0x10_0000, 1 << 20);
/// Address range of buffers.
const BUFFERS: (u64, u64) = (0x2000_0000, 0xf000_0000);
/// Alignment of buffers, and the least unmapped space between two of them, in bytes.
const ALIGN: u64 = 256;

/// Returns the number of a state's blocks that have ended.
type BlocksDone<S> = fn(&S) -> u32;
/// Issues between two polls, the blocks that have ended, and the test for circles.
type How<S, K> = (u64, BlocksDone<S>, Circles<S, K>);

pub(super) struct PrfContext<'p> {
    program: &'p PrfProgram,
    memory: MemoryMap,
    /// Address of the next buffer.
    next: u64,
}

/// Parses the options of a request.
fn options(given: &[MachineOption]) -> Result<Options, LaunchProblem> {
    let mut options = Options::default();
    for (index, option) in given.iter().enumerate() {
        let value = option_text(option);
        let set = options.set(&option.key.value, &value);
        set.map_err(|error| problem(Subject::Option(index), error.to_string()))?;
    }
    Ok(options)
}

/// Returns the x extent; this machine has only one dimension.
fn extent(extents: [u64; 3], about: Subject) -> Result<u32, LaunchProblem> {
    let [x, y, z] = extents;
    if y != 1 || z != 1 {
        return Err(problem(about, "this machine has one dimension"));
    }
    u32::try_from(x).map_err(|_| problem(about, format!("{x} is more than {}", u32::MAX)))
}

/// Builds the argument block: one 32-bit word for each parameter.
fn arguments(params: &[(String, bool)], block: &[u8]) -> Result<Vec<u8>, LaunchProblem> {
    let mut words = Vec::new();
    let mut rest = block;
    for (name, pointer) in params {
        let (value, after) = rest.split_at(rest.len().min(if *pointer { 8 } else { 4 }));
        rest = after;
        let value = isa::decode::window(value).0;
        let word = u32::try_from(value).map_err(|_| {
            problem(Subject::Args, format!("{value:#x} for `{name}` is no 32-bit address"))
        })?;
        words.extend(word.to_le_bytes());
    }
    Ok(words)
}

impl<'p> PrfContext<'p> {
    pub(super) fn new(program: &'p PrfProgram) -> Self {
        Self { program, memory: MemoryMap::new(), next: BUFFERS.0 }
    }

    /// Writes `data` to a fixed region, which is mapped first if it is absent or too small.
    fn fixed(&mut self, name: &str, at: u64, length: u64, data: &[u8]) -> Result<(), String> {
        let there = self.memory.region_at(Addr(at)).map(|r| (r.base(), r.len()));
        if let Some((base, had)) = there {
            if base != Addr(at) || had < length {
                self.memory.free(base).map_err(|e| e.to_string())?;
            } else {
                return self.memory.host_write(Addr(at), data).map_err(|e| e.to_string());
            }
        }
        let mapped = self.memory.map_at(name, Addr(at), length, Permission::ReadWrite);
        mapped.map_err(|e| e.to_string())?;
        self.memory.host_write(Addr(at), data).map_err(|e| e.to_string())
    }

    /// Maps what is not mapped yet of a range, in whole units of 16 bytes.
    fn add(&mut self, name: &str, start: u64, length: u64) -> Result<(), String> {
        let end = (start + length).next_multiple_of(16);
        for Range { start, end } in self.memory.gaps(start & !15..end) {
            let mapped = self.memory.map_at(name, Addr(start), end - start, Permission::ReadWrite);
            mapped.map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn prepare(
        &mut self,
        request: &LaunchRequest<'_>,
        options: &Options,
    ) -> Result<::prf::Launch, LaunchProblem> {
        if request.shared > 0 {
            return Err(problem(Subject::Shared, "this machine has no shared memory"));
        }
        if request.warp_size != 32 {
            return Err(problem(Subject::WarpSize, "warps of this machine have 32 lanes"));
        }
        let in_launch = |why: String| problem(Subject::Launch, why);
        let params = &self.program.params;
        let mut argument = options.argument.unwrap_or(0);
        if !params.is_empty() {
            let words = arguments(params, request.params)?;
            self.fixed("arguments", ARGUMENTS, 4096, &words).map_err(in_launch)?;
            if options.argument.is_none() {
                argument = ARGUMENTS as u32;
            }
        }
        // A program without parameters has no other place for its results.
        let heap = options.heap.unwrap_or(if params.is_empty() { 1 << 20 } else { 0 });
        if heap > 0 {
            self.fixed("heap", HEAP, heap, &[]).map_err(in_launch)?;
        }
        if params.is_empty() {
            self.add("stack", STACK.0 - STACK.1, STACK.1).map_err(in_launch)?;
            if let (::prf::Start::Header { argument: there }, None) =
                (self.program.program.start(), options.argument)
            {
                argument = there;
            }
            if matches!(self.program.program.start(), ::prf::Start::Header { .. }) {
                self.add("static", STATIC.0, STATIC.1).map_err(in_launch)?;
            }
        }
        for &(start, length) in &options.map {
            self.add("mapped", start.into(), length.into()).map_err(in_launch)?;
        }
        let memory = self.memory.try_clone().map_err(|e| in_launch(e.to_string()))?;
        let threads = options.threads.map_or_else(|| extent(request.block, Subject::Block), Ok)?;
        let blocks = options.blocks.map_or_else(|| extent(request.grid, Subject::Grid), Ok)?;
        let Options { total, entry, .. } = *options;
        Ok(::prf::Launch { threads, blocks, total, argument, entry, memory })
    }

    /// Launches a program on one of the models and runs it to its end.
    fn execute<M, K>(
        &mut self,
        (machine, debug): (&M, Option<Debugged<M>>),
        program: &::prf::Program,
        launch: ::prf::Launch,
        (request, monitor): (&LaunchRequest<'_>, &mut dyn LaunchMonitor),
        (slice, done, circles): How<M::State, K>,
    ) -> Result<(End, LaunchStats, M::State), LaunchProblem>
    where
        M: Machine<
                1,
                Program = ::prf::Program,
                Launch = ::prf::Launch,
                LaunchError = LaunchError,
                Cause = Trap,
            >,
    {
        let (threads, blocks) = (launch.threads, u64::from(launch.blocks));
        let total = launch.total.unwrap_or(u64::from(threads) * blocks);
        let mut state = machine.launch(program, launch).map_err(|error| {
            let about = match error {
                LaunchError::Threads(_) | LaunchError::Warps { .. } => Subject::Block,
                LaunchError::NoBlocks => Subject::Grid,
                _ => Subject::Launch,
            };
            problem(about, error.to_string())
        })?;
        let listing = &self.program.listing;
        let pcs = program.code_bytes();
        let symbols = &self.program.labels;
        let code = Code { machine, program, listing, pcs, symbols, debug };
        let extents = Extents {
            grid: [blocks, 1, 1],
            block: [threads.into(), 1, 1],
            blocks,
            block_threads: threads.into(),
            threads: total,
        };
        let bounds = Bounds { slice, limit: request.limit.unwrap_or(LIMIT) };
        let guest = &mut Faults { listing, blocks_done: done, circles, mark: None };
        let (end, stats) =
            runner::run(&code, &mut state, guest, (extents, bounds), request, monitor);
        Ok((end, stats, state))
    }

    /// Runs a launch on the functional model.
    fn functional(
        &mut self,
        options: &Options,
        program: &::prf::Program,
        launch: ::prf::Launch,
        both: (&LaunchRequest<'_>, &mut dyn LaunchMonitor),
    ) -> Result<LaunchResult, LaunchProblem> {
        let machine = Prf { config: options.config };
        let circles =
            Circles { mark: ::prf::State::mark, is_at: ::prf::State::is_at, pc: ::prf::State::pc };
        let how: How<::prf::State, ::prf::Mark> = (SLICE, ::prf::State::blocks_done, circles);
        let detailed = both.0.detailed;
        let (end, mut stats, state) =
            self.execute((&machine, Some(debugged::predicated)), program, launch, both, how)?;
        let counts = *state.counts();
        stats.own = counts.named().map(|(name, count)| (name.to_owned(), count)).collect();
        self.memory = state.memory;
        let words = if detailed { counts.to_string() } else { String::new() };
        Ok(LaunchResult { end, stats, output: Vec::new(), words })
    }

    /// Runs a launch on the cycle-level model.
    fn timed(
        &mut self,
        options: &Options,
        program: &::prf::Program,
        launch: ::prf::Launch,
        both: (&LaunchRequest<'_>, &mut dyn LaunchMonitor),
    ) -> Result<LaunchResult, LaunchProblem> {
        if both.1.debugger().is_some() {
            let message =
                "the cycle-level model cannot be debugged: leave the option `timing` away";
            return Err(problem(Subject::Launch, message));
        }
        let records = if options.trace || options.vcd { RECORDS } else { 0 };
        let changes = if options.vcd || options.changes { CHANGES } else { 0 };
        let machine = Timed { records, changes, ..options.timed() };
        let circles = Circles { mark: Cycle::mark, is_at: Cycle::is_at, pc: Cycle::pc };
        let how: How<Cycle, ::prf::timing::Mark> = (TIMED_SLICE, Cycle::blocks_done, circles);
        let detailed = both.0.detailed;
        let (end, mut stats, state) = self.execute((&machine, None), program, launch, both, how)?;
        let (counts, timing) = (*state.counts(), state.timing());
        let named = counts.named().map(|(name, count)| (name.to_owned(), count));
        stats.own = named.chain(timing.named()).collect();
        stats.counts.cycles = timing.cycles;
        if options.trace {
            stats.timeline = timeline::events(&state, &self.program.listing);
        }
        let (kept, missed) = (state.changes(), state.changes_missed());
        if options.vcd {
            let predicates = options.config.encoding.predicates.count() as u8;
            let text = changes::to_vcd(kept, state.records(), predicates);
            stats.texts.push(("vcd", text));
        }
        if options.changes {
            stats.texts.push(("changes", changes::to_text(kept, missed)));
        }
        let mut words = String::new();
        if detailed {
            words = format!("{counts}{timing}");
            for met in state.hazards() {
                words.push_str(&format!("hazard: {met}\n"));
            }
        }
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output: Vec::new(), words })
    }
}

/// Faults of launches, with their statements, the number of blocks that have ended, and circles.
struct Faults<'a, S, K> {
    listing: &'a Listing,
    blocks_done: BlocksDone<S>,
    circles: Circles<S, K>,
    mark: Option<K>,
}

/// How a model's states are remembered, recognised, and located.
struct Circles<S, K> {
    mark: fn(&S) -> Option<K>,
    is_at: fn(&S, &K) -> bool,
    pc: fn(&S) -> Option<u32>,
}

impl<M: Machine<1, Cause = Trap>, K> Guest<M> for Faults<'_, M::State, K> {
    fn fault(&self, _: &M::State, fault: &Fault<Trap>) -> Stop {
        let (block, warp) = (fault.group.cta, fault.group.group);
        self.listing.fault(fault, &format!("block {block}, warp {warp}"))
    }

    fn blocks_done(&self, state: &M::State) -> u64 {
        (self.blocks_done)(state).into()
    }

    fn remember(&mut self, state: &M::State) -> bool {
        self.mark = (self.circles.mark)(state);
        self.mark.is_some()
    }

    fn repeats(&self, state: &M::State) -> Option<Stop> {
        self.mark.as_ref().filter(|mark| (self.circles.is_at)(state, mark))?;
        let pc = (self.circles.pc)(state)?;
        let at = self.listing.span(pc.into()).map(|span| (span, "it comes here again".to_owned()));
        let message = "the complete state repeats: the program never ends";
        let mut stop = self.listing.stop("repeats", message, at);
        stop.report = stop.report.note(format!("at {pc:#x}, without a store in between"));
        Some(stop)
    }
}

impl Context for PrfContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        let length = data.len() as u64;
        let at = self.next;
        let end = at.checked_add(length).filter(|&end| end <= BUFFERS.1);
        let end = end.ok_or_else(|| {
            format!("the buffers exceed the memory from {:#x} to {:#x}", BUFFERS.0, BUFFERS.1)
        })?;
        let mapped = self.memory.map_at(name, Addr(at), length, Permission::ReadWrite);
        mapped.map_err(|e| e.to_string())?;
        self.memory.host_write(Addr(at), data).map_err(|e| e.to_string())?;
        self.next = (end + ALIGN).next_multiple_of(ALIGN);
        Ok(at)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn ranges(&self) -> Vec<MemoryRange> {
        shared::ranges(&self.memory)
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        self.program.labels.iter().find(|(label, _)| label == name).map(|(_, at)| *at)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        let options = options(request.options)?;
        let program = self.program.configured(options.config);
        let program = program.map_err(|why| problem(Subject::Launch, why))?;
        let launch = self.prepare(request, &options)?;
        if options.timing() {
            self.timed(&options, &program, launch, (request, monitor))
        } else {
            self.functional(&options, &program, launch, (request, monitor))
        }
    }
}
