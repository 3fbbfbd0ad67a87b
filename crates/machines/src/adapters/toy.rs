//! The machine `toy`: assembly text or a binary, with a single kernel, `main`.
//!
//! It has no blocks, no shared memory and no divergence: a launch is `grid * block` threads in
//! groups of the warp size.

use ::toy::{LaunchError, Toy, Trap};
use inputs::elem::shortened;
use inputs::kernel::KernelInfo;
use isa::{Diagnostic, Diagnostics};
use simt::machine::Machine;
use simt::memory::MemoryMap;
use simt::trap::Fault;

use super::debugged;
use super::listing::Listing;
use super::runner::{self, Bounds, Code, Extents, Guest};
use super::shared::{self, as_text, loaded, problem, refused, text_of};
use crate::graph::ControlFlow;
use crate::interface::{ConformCase, Image, Isa, Named, Reference, Tools, no_variant};
use crate::launch::{LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::LaunchMonitor;
use crate::program::{Context, Program};

/// The machine `toy`.
pub(crate) static TOY: Isa = Isa {
    name: Toy::NAME,
    about: "a machine in fifty lines: uniform control flow, lanes by predicates",
    extensions: &["toys", "toy"],
    mechanisms: &[Named { name: "uniform", about: "one program counter; lanes never part" }],
    default_mechanisms: &["uniform"],
    retry_mechanism: None,
    default_warp_size: 32,
    reference: Reference { mechanism: "uniform", warp_size: 32, settings: &[] },
    profiles: &[],
    axes: &[],
    options: &[],
    bare_argument: None,
    has_grid: true,
    has_graphs: false,
    has_checks: false,
    group_mask: None,
    configuration: None,
    variant: no_variant,
    load: |image, _, found| loaded(read(image), found),
    summary: None,
    tools: Some(Tools { assemble, listing: None, disassemble, conform, conform_table: None }),
};

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

fn assemble(image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
    let text = text_of(&image)?;
    let assembled = ::toy::assemble(image.file, text)?;
    ::toy::binary(&assembled).map_err(|error| refused("toy::load", error.to_string()))
}

fn disassemble(image: Image<'_>) -> Result<String, Diagnostics> {
    Toy.load(image.bytes).map_err(|error| refused("toy::load", error.to_string()))?;
    Ok(::toy::source(image.bytes))
}

fn conform() -> Result<Vec<ConformCase>, Diagnostics> {
    let report = ::toy::conform(::toy::CONFORM_TABLE);
    let case = |c: isa::conform::Case| ConformCase {
        name: format!("line {}: {}", c.line, c.fact),
        failure: c.failure,
    };
    Ok(report.cases.into_iter().map(case).collect())
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
            let name = shortened(&option.key.value);
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
        let code = Code {
            machine: &Toy,
            program: &self.program.program,
            listing: &self.program.listing,
            pcs: self.program.program.code_bytes(),
            symbols: &[],
            debug: Some(debugged::predicated),
        };
        let threads = u64::from(count);
        let (grid, block) = (request.grid, request.block);
        let extents = Extents { grid, block, blocks: 1, block_threads: threads, threads };
        let bounds = Bounds { slice: SLICE, limit: request.limit.unwrap_or(LIMIT) };
        let guest = &mut Faults(&self.program.listing);
        let (end, stats) =
            runner::run(&code, &mut state, guest, (extents, bounds), request, monitor);
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output: Vec::new(), words: String::new() })
    }
}

/// Faults of launches, with their statements.
struct Faults<'a>(&'a Listing);

impl Guest<Toy> for Faults<'_> {
    fn fault(&self, _: &::toy::State, fault: &Fault<Trap>) -> Stop {
        self.0.fault(fault, &format!("group {}", fault.group.group))
    }
}
