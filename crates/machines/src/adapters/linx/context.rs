//! Memory and launches.

use ::linx::{Conflict, LaunchError, Linx, Shared, Trap, TrapNum};
use simt::machine::Machine;
use simt::memory::{Addr, MemoryMap, Region as Mapped};
use simt::trap::{Cause as _, Fault};

use super::super::debugged;
use super::super::listing::Listing;
use super::super::runner::{self, Bounds, Code, Extents, Guest};
use super::super::shared::{self, problem, single};
use super::options::configure;
use super::program::LinxProgram;
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::LaunchMonitor;
use crate::program::{Context, MemoryRange};

/// Issues between two polls of the monitor.
const SLICE: u64 = 1 << 16;
/// Default limit of issues.
const LIMIT: u64 = 100_000_000;

pub(super) struct LinxContext<'p> {
    program: &'p LinxProgram,
    memory: MemoryMap,
}

impl<'p> LinxContext<'p> {
    pub(super) fn new(program: &'p LinxProgram) -> Self {
        Self { program, memory: MemoryMap::new() }
    }
}

/// Traps of launches.
struct Traps<'a> {
    program: &'a ::linx::Program,
    listing: &'a Listing,
    /// A state that the program may come to again.
    mark: Option<::linx::Mark>,
}

impl Traps<'_> {
    /// The stop for a parallel kernel whose result depends on the order of its groups: both
    /// instructions, and the byte of the buffer.
    fn order_dependent(&self, state: &::linx::State, conflict: Conflict) -> Stop {
        let Conflict { shared, first, second, places: [earlier, later] } = conflict;
        let place = match shared {
            Shared::Memory(address) => match state.memory.region_at(Addr(address)) {
                Some(region) => {
                    let offset = address - region.base().0;
                    format!("byte {offset} of \"{}\" ({address:#x})", region.name())
                }
                None => format!("{address:#x}"),
            },
            other => other.to_string(),
        };
        let message = format!("the result depends on the order of groups: {place}");
        let label = format!("group {second} uses it here");
        let at = self.listing.span(later).map(|span| (span, label));
        let mut stop = self.listing.stop(Stop::ORDER_DEPENDENT, message, at);
        if let Some(span) = self.listing.span(earlier) {
            stop.report = stop.report.also(span, format!("group {first} has used it here"));
        }
        stop.report = stop
            .report
            .note("one of them writes it, or updates it in a way that does not commute")
            .help("MSEQ runs groups in order; stores of equal bytes do not count");
        stop
    }
}

impl Guest<Linx> for Traps<'_> {
    fn fault(&self, state: &::linx::State, fault: &Fault<Trap>) -> Stop {
        let trap = &fault.cause;
        let at = self.listing.span(trap.tpc).map(|span| (span, "this instruction".to_owned()));
        let mut stop = self.listing.stop(trap.code(), trap.to_string(), at);
        let arg = trap.arg.map_or("not valid".to_owned(), |arg| format!("{arg:#x}"));
        stop.report = stop.report.note(format!(
            "TRAPNO {:#018x}, TRAPNUM {}, CAUSE {:#x}, TRAPARG0 {arg}, BI {}, TPC {:#x}",
            trap.trapno(),
            trap.num as u8,
            trap.cause,
            u8::from(trap.bi),
            trap.tpc
        ));
        if trap.bi {
            stop.report =
                stop.report.note(format!("in group {}, lanes {}", fault.group.group, fault.lanes));
        }
        if let Some((_, p, [lc0, lc1, lc2])) = state.group() {
            let (p, count) = (p.bits(), p.count());
            stop.report = stop
                .report
                .note(format!("p {p:#x} ({count} lanes on), lc0 from {lc0}, lc1 {lc1}, lc2 {lc2}"));
        }
        if let Some(place) = self.program.place(trap.tpc) {
            let text = self.program.text_at(trap.tpc);
            let text = text.map_or(String::new(), |text| format!(": {text}"));
            stop.report = stop.report.note(format!("at {:#x} ({place}){text}", trap.tpc));
        }
        // Addresses of the program itself are mapped: `map` cannot make them writable.
        let mapped = trap.arg.and_then(|at| state.memory.region_at(Addr(at)));
        if trap.num == TrapNum::DataPageFault && !mapped.is_some_and(Mapped::is_live) {
            stop.report = stop.report.help("the option `map` can make an address good and go on");
        }
        stop
    }

    fn done(&self, state: &::linx::State) -> End {
        if let Some(conflict) = state.conflict() {
            return End::Fault(self.order_dependent(state, conflict));
        }
        match state.host.exit {
            Some(0) | None => End::Done,
            Some(code) => {
                let message = format!("the program ended with code {code}");
                End::Fault(self.listing.stop("exit-code", message, None))
            }
        }
    }

    fn resolve(&mut self, state: &mut ::linx::State, fault: &Fault<Trap>) -> bool {
        let trap = &fault.cause;
        trap.is_page_fault() && trap.arg.is_some_and(|address| state.page_in(address))
    }

    fn remember(&mut self, state: &::linx::State) -> bool {
        self.mark = Some(state.mark());
        true
    }

    fn repeats(&self, state: &::linx::State) -> Option<Stop> {
        self.mark.as_ref().filter(|mark| state.is_at(mark))?;
        let pc = state.pc()?;
        let at = self.listing.span(pc).map(|span| (span, "it comes here again".to_owned()));
        let message = "the complete state repeats: the program never ends";
        let mut stop = self.listing.stop("repeats", message, at);
        let place = self.program.place(pc).map_or(String::new(), |place| format!(" ({place})"));
        stop.report = stop.report.note(format!("at {pc:#x}{place}, without a store in between"));
        Some(stop)
    }

    /// The machine counts its issues in replays, too.
    fn spent(&self, _: &Linx, state: &::linx::State, _steps: u64) -> u64 {
        state.issues()
    }
}

impl Context for LinxContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        shared::allocate(&mut self.memory, name, data)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn ranges(&self) -> Vec<MemoryRange> {
        shared::ranges(&self.memory)
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        self.program.labels.get(name).copied()
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        single(request, "block headers say how many lanes there are: grid and block are 1")?;
        let choices = configure(self.program, request)?;
        let arguments = self.program.arguments(request.params);
        let memory = self.memory.try_clone();
        let launch = ::linx::Launch {
            memory: memory.map_err(|error| problem(Subject::Launch, error.to_string()))?,
            arguments,
            entry: choices.entry,
            demand: choices
                .mapped
                .iter()
                .map(|r| r.start..r.start.saturating_add(r.length))
                .collect(),
            options: choices.machine,
            command: choices.command,
            input: choices.input,
        };
        let machine = Linx { tile_ops: self.program.tile_ops };
        let started = machine.launch(&self.program.code, launch);
        let mut state = started.map_err(|error| {
            let about = match error {
                LaunchError::GroupWidth(_) => Subject::WarpSize,
                LaunchError::Arguments(_) => Subject::Args,
                LaunchError::Memory(_) | LaunchError::Data(_) => Subject::Launch,
            };
            problem(about, error.to_string())
        })?;
        let (program, listing) = (&self.program.code, &self.program.listing);
        let debug = Some(debugged::masked as _);
        let symbols: Vec<(String, u64)> =
            self.program.labels.iter().map(|(name, at)| (name.clone(), *at)).collect();
        let code = Code { machine: &machine, program, listing, pcs: 0, symbols: &symbols, debug };
        let (grid, block) = (request.grid, request.block);
        let extents = Extents { grid, block, blocks: 1, block_threads: 1, threads: 1 };
        let bounds = Bounds { slice: SLICE, limit: request.limit.unwrap_or(LIMIT) };
        let guest = &mut Traps { program, listing, mark: None };
        let (end, stats) =
            runner::run(&code, &mut state, guest, (extents, bounds), request, monitor);
        let mut output = std::mem::take(&mut state.host.console.output);
        let ended = state.status().filter(|&status| status != 0 && state.host.exit.is_none());
        if let Some(status) = ended {
            output.extend(format!("status {status:#x}\n").bytes());
        }
        for finding in state.findings() {
            output.extend(finding.bytes().chain([b'\n']));
        }
        self.memory = unmapped(state, &self.memory);
        Ok(LaunchResult { end, stats, output, words: String::new() })
    }
}

/// Returns the memory after a launch without the regions that the launch mapped, so that the next
/// launch can map them again.
fn unmapped(state: ::linx::State, before: &MemoryMap) -> MemoryMap {
    let mut kept = state.memory;
    // Regions of earlier launches are freed, but still listed.
    let was = |base: Addr| before.region_at(base).is_some_and(Mapped::is_live);
    let regions = kept.regions().iter();
    let own: Vec<Addr> =
        regions.filter(|r| r.is_live()).map(Mapped::base).filter(|&base| !was(base)).collect();
    for base in own {
        // Freeing cannot fail: every base in the list is that of a live region.
        let _ = kept.free(base);
    }
    kept
}
