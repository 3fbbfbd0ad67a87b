//! Memory and launches.

use ::linx::{LaunchError, Linx, Trap, TrapNum};
use simt::machine::Machine;
use simt::memory::{Addr, MemoryMap, Permission, Region as Mapped};
use simt::trap::{Cause as _, Fault};

use super::super::listing::Listing;
use super::super::runner::{self, Bounds, Code, Extents, Guest};
use super::super::shared::{self, problem, single};
use super::options::{Range, configure};
use super::program::LinxProgram;
use crate::launch::{LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
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

/// Traps of launches, and the ranges that remain to be mapped.
struct Traps<'a> {
    listing: &'a Listing,
    mapped: Vec<Range>,
}

impl Guest<Linx> for Traps<'_> {
    fn fault(&self, _: &::linx::State, fault: &Fault<Trap>) -> Stop {
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
        if trap.num == TrapNum::DataPageFault {
            stop.report = stop.report.help("the option `map` can make an address good and go on");
        }
        stop
    }

    fn resolve(&mut self, state: &mut ::linx::State, fault: &Fault<Trap>) -> bool {
        map_for(state, &fault.cause, &mut self.mapped)
    }

    /// The machine counts its issues in replays, too.
    fn spent(&self, _: &Linx, state: &::linx::State, _steps: u64) -> u64 {
        state.issues()
    }
}

/// Maps the range that contains a fault's address. Each range is mapped at most once.
fn map_for(state: &mut ::linx::State, trap: &Trap, mapped: &mut Vec<Range>) -> bool {
    let Some(address) = trap.arg.filter(|_| trap.num == TrapNum::DataPageFault) else {
        return false;
    };
    let inside = |r: &Range| address >= r.start && address - r.start < r.length;
    let Some(at) = mapped.iter().position(inside) else { return false };
    let range = mapped.remove(at);
    state.memory.map_at("mapped", Addr(range.start), range.length, Permission::ReadWrite).is_ok()
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
        let code = Code { machine: &machine, program, listing, pcs: 0 };
        let (grid, block) = (request.grid, request.block);
        let extents = Extents { grid, block, blocks: 1, block_threads: 1, threads: 1 };
        let bounds = Bounds { slice: SLICE, limit: request.limit.unwrap_or(LIMIT) };
        let guest = &mut Traps { listing, mapped: choices.mapped };
        let (end, stats) =
            runner::run(&code, &mut state, guest, (extents, bounds), request, monitor);
        let mut output = Vec::new();
        if let Some(status) = state.status().filter(|&status| status != 0) {
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
