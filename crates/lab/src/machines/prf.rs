//! The machine `prf`: assembly text or words in hexadecimal, one kernel `main`.
//!
//! `.param` declares what the block of arguments holds, one word each; its address is special register 3. Buffers lie from
//! `0x2000_0000` on, apart from one another.

use ::prf::{LaunchError, OPTIONS, Options, Prf, Trap, Words};
use isa::{Diagnostic, Diagnostics, FileId};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use simt::observe::{Blind, Observer};
use simt::trap::{Cause as _, Fault};

use crate::launch::{Located, MachineOption};
use crate::machine::{
    Command, ConformCase, Context, ControlFlow, End, Image, Isa, KernelInfo, LaunchProblem,
    LaunchRequest, LaunchResult, Named, ParamInfo, ParamKind, Program, Progress, Stop, Subject,
    Watch,
};
use crate::machines::shared::{
    self, Listing, limit_reached, loaded, option_text, problem, refused, text_of,
};
use crate::stats::{Counters, LaunchStats, PcSlots};

/// The machine `prf`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrfMachine;

/// The one kernel of a program.
const KERNEL: &str = "main";
/// Issues between two looks at the watch.
const SLICE: u64 = 1 << 16;
/// Most issues when nothing else is said.
const LIMIT: u64 = 1_000_000_000;
/// Where the block of arguments lies.
const ARGUMENTS: u64 = 0x0f00_0000;
/// Where the heap of programs that bring no buffers starts.
const HEAP: u64 = 0x1000_0000;
/// Where buffers start and end.
const BUFFERS: (u64, u64) = (0x2000_0000, 0xf000_0000);
/// Buffers start at multiples of this, with as much unmapped between them at least.
const ALIGN: u64 = 256;

/// A loaded program, with its text if it came from one.
struct PrfProgram {
    words: Words,
    program: ::prf::Program,
    params: Vec<(String, bool)>,
    file: FileId,
    listing: Listing,
}

fn read(image: Image<'_>, found: &mut Diagnostics) -> Result<PrfProgram, Diagnostics> {
    let not_loaded = |error: &dyn ToString| refused("prf::load", error.to_string());
    let text = text_of(&image)?;
    let config = Options::default().config;
    if Words::looks_like(text) {
        let words = Words::parse(text).map_err(|e| not_loaded(&e))?;
        let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
        let (params, listing) = Default::default();
        return Ok(PrfProgram { words, program, params, file: image.file, listing });
    }
    let mut assembled = ::prf::assemble(config.encoding, image.file, text)?;
    found.append(std::mem::take(&mut assembled.warnings));
    let params = ::prf::parameters(&assembled)?;
    let words = Words::assembled(&assembled);
    let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
    let listing = Listing::new(text, assembled.lines);
    Ok(PrfProgram { words, program, params, file: image.file, listing })
}

impl Isa for PrfMachine {
    fn name(&self) -> &'static str {
        Prf::NAME
    }

    fn about(&self) -> &'static str {
        "a GPU whose control flow is predicate masks alone"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["prf", "hex"]
    }

    fn commands(&self) -> &'static [Command] {
        shared::COMMANDS
    }

    fn mechanisms(&self) -> Vec<Named> {
        vec![Named { name: "predicates", about: "one program counter; lanes by predicate masks" }]
    }

    fn usual_mechanisms(&self) -> &'static [&'static str] {
        &["predicates"]
    }

    fn options(&self) -> Vec<Named> {
        OPTIONS.iter().map(|o| Named { name: o.name, about: o.about }).collect()
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        loaded(read(image, found), found)
    }

    /// Addressed words.
    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Ok(read(image, &mut Diagnostics::new())?.words.to_text().into_bytes())
    }

    /// A text that assembles to the same words.
    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let program = read(image, &mut Diagnostics::new())?;
        let dialect = ::prf::dialect(Options::default().config.encoding);
        let text = |(address, bytes): (u32, Vec<u8>)| {
            isa::disasm::source(dialect, &isa::disasm::disassemble(dialect, &bytes, address.into()))
        };
        Ok(program.words.runs().into_iter().map(text).collect())
    }

    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        let tables = ::prf::CONFORM_TABLES.iter();
        Ok(tables.flat_map(|(name, table)| conform_cases(name, table)).collect())
    }

    fn conform_table(&self, name: &str, image: Image<'_>) -> Result<Vec<ConformCase>, Diagnostics> {
        let text = text_of(&image)?;
        Ok(conform_cases(name, text))
    }
}

fn conform_cases(name: &str, table: &str) -> Vec<ConformCase> {
    let case = |c: isa::conform::Case| ConformCase {
        name: format!("{name}: line {}: {}", c.line, c.fact),
        failure: c.failure,
    };
    ::prf::conform_own(name, table).cases.into_iter().map(case).collect()
}

impl PrfProgram {
    /// The program in a configuration: texts are assembled for its encoding, words decoded by it.
    fn configured(&self, config: ::prf::Config) -> Result<::prf::Program, String> {
        if config == Options::default().config {
            return Ok(self.program.clone());
        }
        let words = match &self.listing.text {
            Some(text) => {
                let assembled = ::prf::assemble(config.encoding, self.file, text.text());
                let assembled = assembled.map_err(|errors| {
                    let first = errors.iter().next().map_or("", |d| d.message.as_str());
                    format!("the program does not fit these options: {first}")
                })?;
                Words::assembled(&assembled)
            }
            None => self.words.clone(),
        };
        ::prf::Program::new(&words, config).map_err(|error| error.to_string())
    }
}

impl Program for PrfProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let mut offset = 0;
        let param = |(name, pointer): &(String, bool)| {
            let size = if *pointer { 8 } else { 4 };
            let at = offset;
            offset += size;
            let spelling = if *pointer { "ptr" } else { "word" }.to_owned();
            ParamInfo { name: name.clone(), spelling, offset: at, size, kind: ParamKind::Bits }
        };
        let params = self.params.iter().map(param).collect();
        let span = self.listing.span(self.program.entry().into());
        vec![KernelInfo { name: KERNEL.to_owned(), params, span, ..KernelInfo::default() }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        let next = BUFFERS.0;
        Ok(Box::new(PrfContext { program: self, memory: MemoryMap::new(), next }))
    }
}

struct PrfContext<'p> {
    program: &'p PrfProgram,
    memory: MemoryMap,
    /// Where the next buffer starts.
    next: u64,
}

/// What the options of a request say.
fn options(given: &[MachineOption]) -> Result<Options, LaunchProblem> {
    let mut options = Options::default();
    for (index, option) in given.iter().enumerate() {
        let value = option_text(option);
        let set = options.set(&option.key.value, &value);
        set.map_err(|error| problem(Subject::Option(index), error.to_string()))?;
    }
    Ok(options)
}

/// The x extent, as far as this machine can have it.
fn extent(extents: [u64; 3], about: Subject) -> Result<u32, LaunchProblem> {
    let [x, y, z] = extents;
    if y != 1 || z != 1 {
        return Err(problem(about, "this machine has one dimension"));
    }
    u32::try_from(x).map_err(|_| problem(about, format!("{x} is more than {}", u32::MAX)))
}

/// The block of arguments: one word for each parameter.
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

impl PrfContext<'_> {
    /// Maps a region at a fixed address unless it is there; fills it.
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
        // Programs without parameters have nowhere else to put results.
        let heap = options.heap.unwrap_or(if params.is_empty() { 1 << 20 } else { 0 });
        if heap > 0 {
            self.fixed("heap", HEAP, heap, &[]).map_err(in_launch)?;
        }
        let memory = self.memory.try_clone().map_err(|e| in_launch(e.to_string()))?;
        let threads = options.threads.map_or_else(|| extent(request.block, Subject::Block), Ok)?;
        let blocks = options.blocks.map_or_else(|| extent(request.grid, Subject::Grid), Ok)?;
        let Options { total, entry, .. } = *options;
        Ok(::prf::Launch { threads, blocks, total, argument, entry, memory })
    }

    /// Steps to the end, to the limit, or until the watch says to stop.
    fn drive<O: Observer<1>>(
        &self,
        machine: Prf,
        program: &::prf::Program,
        state: &mut ::prf::State,
        observer: &mut O,
        (request, watch): (&LaunchRequest<'_>, &mut dyn Watch),
        blocks: u64,
    ) -> End {
        let limit = request.limit.unwrap_or(LIMIT);
        loop {
            let issues = machine.slots(state).issues();
            let slice = SLICE.min(limit.saturating_sub(issues));
            match machine.run(program, state, observer, slice) {
                Step::Done => return End::Done,
                Step::Fault(fault) => return End::Fault(self.fault(&fault)),
                Step::Issued | Step::Hang(_) if slice < SLICE => {
                    return End::Hang(limit_reached(limit));
                }
                Step::Issued | Step::Hang(_) => {}
            }
            let blocks_done = state.blocks_done().into();
            if !watch.go_on(Progress { blocks_done, blocks, issues: issues + slice }) {
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
        let (block, warp, pc) = (fault.group.cta, fault.group.group, fault.pc.0);
        let place = format!("in block {block}, warp {warp}, lanes {}, at {pc:#x}", fault.lanes);
        let line = span.and_then(|span| self.program.listing.line(span)).map(u64::from);
        Stop { code: fault.cause.code(), report: report.note(place), line }
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

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> Result<LaunchResult, LaunchProblem> {
        let options = options(request.options)?;
        let machine = Prf { config: options.config };
        let program = self.program.configured(options.config);
        let program = program.map_err(|why| problem(Subject::Launch, why))?;
        let launch = self.prepare(request, &options)?;
        let (threads, blocks) = (launch.threads, launch.blocks);
        let full = u64::from(threads) * u64::from(blocks);
        let mut state = machine.launch(&program, launch).map_err(|error| {
            let about = match error {
                LaunchError::Threads(_) => Subject::Block,
                LaunchError::NoBlocks => Subject::Grid,
                _ => Subject::Launch,
            };
            problem(about, error.to_string())
        })?;
        let mut counters = Counters::default();
        let end = if request.detailed {
            counters = Counters::with_pcs(PcSlots::new(program.code_bytes()));
            let both = (request, watch);
            self.drive(machine, &program, &mut state, &mut counters, both, blocks.into())
        } else {
            self.drive(machine, &program, &mut state, &mut Blind, (request, watch), blocks.into())
        };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: [blocks.into(), 1, 1],
            block: [threads.into(), 1, 1],
            outcome: end.name().to_owned(),
            slots: *machine.slots(&state),
            lines: self.program.listing.line_slots(&counters),
            counters,
            threads: options.total.unwrap_or(full),
            ..LaunchStats::default()
        };
        let counts = *state.counts();
        self.memory = state.memory;
        let output = if request.detailed { counts.to_string().into_bytes() } else { Vec::new() };
        Ok(LaunchResult { end, stats, output })
    }
}
