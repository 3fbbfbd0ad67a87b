//! The machine `toy`: assembly text or a binary, with a single kernel, `main`.
//!
//! It has no blocks, no shared memory and no divergence: a launch is `grid * block` threads in
//! groups of the warp size.

use ::toy::{LaunchError, Toy, Trap};
use engine::{Counters, PcSlots};
use inputs::kernel::KernelInfo;
use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics};
use simt::counts::Counts;
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{Blind, Observer};
use simt::trap::{Cause as _, Fault};

use crate::adapters::listing_probe::ListingPlaces;
use crate::adapters::shared::{
    self, Listing, as_text, limit_reached, loaded, problem, refused, text_of,
};
use crate::graph::ControlFlow;
use crate::interface::{Command, ConformCase, Image, Isa, Named};
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::{LaunchMonitor, Progress};
use crate::program::{Context, Program};
use crate::stats::LaunchStats;

/// The machine `toy`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToyMachine;

/// The only kernel of a program.
const KERNEL: &str = "main";
/// Issues between two polls of the monitor.
const SLICE: u64 = 1 << 16;
/// Default limit of issues.
const LIMIT: u64 = 1_000_000_000;

/// A loaded program, with its text if it was assembled from one.
struct ToyProgram {
    program: ::toy::Program,
    params: Vec<String>,
    listing: Listing,
}

fn read(image: Image<'_>) -> Result<ToyProgram, Diagnostics> {
    let not_loaded = |error: ::toy::LoadError| refused("toy::load", error.to_string());
    let Some(text) = as_text(&image) else {
        let program = Toy.load(image.bytes).map_err(not_loaded)?;
        return Ok(ToyProgram { program, params: Vec::new(), listing: Listing::default() });
    };
    let assembled = ::toy::assemble(image.file, text)?;
    let params = ::toy::parameters(&assembled)?;
    let binary = ::toy::binary(&assembled).map_err(not_loaded)?;
    let program = Toy.load(&binary).map_err(not_loaded)?;
    Ok(ToyProgram { program, params, listing: Listing::new(text, assembled.lines) })
}

impl Isa for ToyMachine {
    fn name(&self) -> &'static str {
        Toy::NAME
    }

    fn about(&self) -> &'static str {
        "a machine in fifty lines: uniform control flow, lanes by predicates"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["toys", "toy"]
    }

    fn commands(&self) -> &'static [Command] {
        shared::COMMANDS
    }

    fn mechanisms(&self) -> Vec<Named> {
        vec![Named { name: "uniform", about: "one program counter; lanes never part" }]
    }

    fn default_mechanisms(&self) -> &'static [&'static str] {
        &["uniform"]
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        loaded(read(image), found)
    }

    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        let text = text_of(&image)?;
        let assembled = ::toy::assemble(image.file, text)?;
        ::toy::binary(&assembled).map_err(|error| refused("toy::load", error.to_string()))
    }

    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        Toy.load(image.bytes).map_err(|error| refused("toy::load", error.to_string()))?;
        Ok(::toy::source(image.bytes))
    }

    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        let report = ::toy::conform(::toy::CONFORM_TABLE);
        let case = |c: isa::conform::Case| ConformCase {
            name: format!("line {}: {}", c.line, c.fact),
            failure: c.failure,
        };
        Ok(report.cases.into_iter().map(case).collect())
    }
}

impl Program for ToyProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let params = shared::parameters(&self.params);
        let span = self.listing.span(0);
        vec![KernelInfo { name: KERNEL.to_owned(), params, span, ..KernelInfo::default() }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(ToyContext { program: self, memory: MemoryMap::new() }))
    }
}

struct ToyContext<'p> {
    program: &'p ToyProgram,
    memory: MemoryMap,
}

/// Returns the number of threads of a request.
fn threads(request: &LaunchRequest<'_>) -> Result<u32, LaunchProblem> {
    let extents = request.grid.iter().chain(&request.block);
    let product = extents.copied().try_fold(1u64, u64::checked_mul);
    product
        .and_then(|n| u32::try_from(n).ok())
        .ok_or_else(|| problem(Subject::Grid, format!("more than {} threads in all", u32::MAX)))
}

impl ToyContext<'_> {
    fn prepare(&self, request: &LaunchRequest<'_>) -> Result<::toy::Launch, LaunchProblem> {
        if request.shared > 0 {
            return Err(problem(Subject::Shared, "the toy machine has no shared memory"));
        }
        if let Some(option) = request.options.first() {
            let name = inputs::elem::shortened(&option.key.value);
            return Err(problem(Subject::Option(0), format!("there is no option `{name}`")));
        }
        let word = |bytes: &[u8]| isa::decode::window(bytes).0;
        let memory = self.memory.try_clone();
        Ok(::toy::Launch {
            threads: threads(request)?,
            width: u32::try_from(request.warp_size).unwrap_or(u32::MAX),
            arguments: request.params.chunks(8).map(word).collect(),
            memory: memory.map_err(|error| problem(Subject::Launch, error.to_string()))?,
        })
    }

    /// Runs until the program ends, reaches the limit, or the monitor stops it.
    fn drive<O: Observer<1>>(
        &self,
        state: &mut ::toy::State,
        observer: &mut O,
        request: &LaunchRequest<'_>,
        (listing_places, monitor): (&ListingPlaces, &mut dyn LaunchMonitor),
    ) -> End {
        let limit = request.limit.unwrap_or(LIMIT);
        loop {
            let issues = Toy.slots(state).issues();
            let slice = SLICE.min(limit.saturating_sub(issues));
            let what = (&Toy, &self.program.program);
            match listing_places.run(what, state, observer, slice, monitor) {
                Step::Done => return End::Done,
                Step::Fault(fault) => return End::Fault(self.fault(&fault)),
                // The machine has no synchronisation: only a loop can keep it from ending.
                Step::Issued | Step::Hang(_) if slice < SLICE => {
                    return End::Hang(limit_reached(limit));
                }
                Step::Issued | Step::Hang(_) => {}
            }
            let progress = Progress { blocks_done: 0, blocks: 1, issues: issues + slice };
            if !monitor.poll(progress) {
                return End::Interrupted;
            }
        }
    }

    fn fault(&self, fault: &Fault<Trap>) -> Stop {
        let span = self.program.listing.span(fault.pc.0);
        let mut report = Diagnostic::error(fault.cause.code(), fault.cause.to_string());
        if let Some(span) = span {
            report = report.at(span, format!("lanes {} fault here", fault.lanes));
        }
        let (group, pc) = (fault.group.group, fault.pc.0);
        report = report.note(format!("in group {group}, lanes {}, at {pc:#x}", fault.lanes));
        let line = span.and_then(|span| self.program.listing.line(span)).map(u64::from);
        Stop { code: fault.cause.code(), report, line, place: None }
    }
}

impl Context for ToyContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        shared::allocate(&mut self.memory, name, data)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        let launch = self.prepare(request)?;
        let count = launch.threads;
        let started = Toy.launch(&self.program.program, launch);
        let mut state = started.map_err(|error| {
            let about = match error {
                LaunchError::Width(_) => Subject::WarpSize,
                LaunchError::NoThreads => Subject::Grid,
                LaunchError::Arguments(_) => Subject::Args,
                LaunchError::Memory(_) | LaunchError::Data(_) => Subject::Launch,
            };
            problem(about, error.to_string())
        })?;
        let listing_places = ListingPlaces::of(&self.program.listing);
        listing_places.begin(request.kernel, request.warp_size, u64::from(count), monitor);
        let mut counters = Counters::default();
        let end = if request.detailed {
            counters = Counters::with_pcs(PcSlots::new(self.program.program.code_bytes()));
            self.drive(&mut state, &mut counters, request, (&listing_places, monitor))
        } else {
            self.drive(&mut state, &mut Blind, request, (&listing_places, monitor))
        };
        let slots = *Toy.slots(&state);
        let counts = Counts { slots, threads: count.into(), ..Counts::default() };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            outcome: end.name().to_owned(),
            lines: self.program.listing.line_slots(&counters),
            ..LaunchStats::of(&counts, counters)
        };
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output: Vec::new(), words: String::new() })
    }
}
