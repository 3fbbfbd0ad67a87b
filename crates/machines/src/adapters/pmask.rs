//! The machine `pmask`: a RISC-V core with XPHMG_PMASK.
//!
//! A program is an ELF file or assembly text with a single kernel, `program`, without parameters
//! and grid; or it has kernels that it names by their launch blocks, as `simtlab lower` writes
//! them: docs/pmask.md has the layout.

use std::fmt::Write as _;

use inputs::elem::{parse_any_integer, shortened};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use inputs::launch::{Located, MachineOption};
use isa::{Diagnostic, Diagnostics, Span};
use pmask::config::{Config, OPTIONS};
use pmask::trap::StopCause;
use pmask::{Launch, Mark, Pmask};
use simt::machine::{HangKind, Machine};
use simt::memory::{Addr, MemoryMap, Permission};
use simt::trap::{Cause as _, Fault};

use super::debugged;
use super::listing::Listing;
use super::runner::{self, Bounds, Code, Extents, Guest};
use super::shared::{
    self, address_ranges, loaded, named, option_text, problem, refused, single, text_of,
};
use crate::graph::ControlFlow;
use crate::interface::{Axis, ConformCase, Image, Isa, Named, Reference, Tools, no_variant};
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::LaunchMonitor;
use crate::program::{Context, MemoryRange, Program};

/// The machine `pmask`.
pub(crate) static PMASK: Isa = Isa {
    name: Pmask::NAME,
    about: "RISC-V with banked predicate masks (XPHMG_PMASK) and RSV lanes",
    extensions: &["s", "elf"],
    mechanisms: &[Named { name: "masks", about: "one program counter; lanes by mask banks" }],
    default_mechanisms: &["masks"],
    retry_mechanism: None,
    default_warp_size: 64,
    reference: Reference { mechanism: "masks", warp_size: 64, settings: &[("vlmax", "8")] },
    profiles: &[],
    axes: &[
        Axis::new("zmode", &["merge", "zero"]),
        Axis::new("banks", &["4", "3", "2", "1"]),
        Axis::new("lane-forms", &["on", "off"]),
        Axis::new("vlmax", &["64", "32", "16", "8"]),
        Axis::on_request("profile", &["full", "p0-only"]),
        Axis::on_request("level", &["m2", "m1"]),
        Axis::on_request("maskw", &["64", "32", "16", "8"]),
        Axis::on_request("fused-branches", &["on", "off"]),
        Axis::on_request("to-p0-bank", &["on", "off"]),
        Axis::on_request("cexp", &["on", "off"]),
        Axis::on_request("pcmp-bank", &["off", "on"]),
        Axis::on_request("scalar-algebra", &["off", "on"]),
        Axis::on_request("literal-tests", &["off", "on"]),
        Axis::on_request("misaligned", &["allow", "trap"]),
    ],
    options: &[&named!(OPTIONS, about), &RUN_OPTIONS],
    bare_argument: None,
    has_grid: false,
    has_graphs: false,
    has_checks: false,
    group_mask: None,
    configuration: Some(|options| Ok(configure(options)?.0.to_string())),
    variant: no_variant,
    load,
    summary: None,
    tools: Some(Tools {
        assemble,
        listing: None,
        disassemble,
        conform,
        conform_table: Some(conform_table),
    }),
};

/// Options of a run, in addition to those of the machine.
const RUN_OPTIONS: [Named; 4] = [
    Named { name: "input", about: "what the program can read from its console" },
    Named { name: "arguments", about: "its command line, for semihosting" },
    Named { name: "ram", about: "bytes of main memory" },
    Named { name: "map", about: "ranges ADDRESS+LENGTH of further memory" },
];

/// The only kernel of a program.
const KERNEL: &str = "program";
/// Ends of the names of a kernel's symbols: its launch block, entry, parameters, and their end.
const LAUNCH: &str = ".launch";
const START: &str = ".start";
const PARAMS: &str = ".params";
const END: &str = ".end.params";
/// Address range of the buffers of kernels: their addresses are positive as words.
const BUFFERS: (u64, u64) = (0x2000_0000, 0x8000_0000);
/// Alignment of buffers, and the least unmapped space between two of them, in bytes.
const ALIGN: u64 = 256;
/// Largest size of main memory in bytes.
const MOST_RAM: u64 = 1 << 30;
/// Bytes of a segment in which a debugger looks for instructions.
const MOST_CODE: usize = 1 << 20;
/// Steps between two polls of the monitor.
const SLICE: u64 = 1 << 18;

/// A loaded program, with its text if it was assembled from one.
struct PmaskProgram {
    program: pmask::Program,
    listing: Listing,
}

fn read(image: Image<'_>) -> Result<PmaskProgram, Diagnostics> {
    let program = pmask::Program::load(image.bytes, image.file).map_err(|error| match error {
        pmask::program::LoadError::Text(found) => found,
        other => {
            let mut found = Diagnostics::new();
            let finding = Diagnostic::error("pmask::load", other.to_string());
            found.push(finding.at(Span::new(image.file, 0, 0), ""));
            found
        }
    })?;
    let text = std::str::from_utf8(image.bytes).ok();
    let listing = match (text, &program.image) {
        (Some(text), Some(image)) => Listing::new(text, image.lines.clone()),
        _ => Listing::default(),
    };
    Ok(PmaskProgram { program, listing })
}

fn load(
    image: Image<'_>,
    _wanted: &[Located<String>],
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    let read = read(image).map(|mut program| {
        if let Some(assembled) = &mut program.program.image {
            found.append(std::mem::take(&mut assembled.warnings));
        }
        program
    });
    loaded(read, found)
}

/// Returns an ELF executable.
fn assemble(image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
    Ok(pmask::elf::write(&read(image)?.program))
}

/// Disassembles all segments, with symbol names.
fn disassemble(image: Image<'_>) -> Result<String, Diagnostics> {
    let program = read(image)?.program;
    let mut out = String::new();
    for segment in &program.segments {
        let lines = pmask::asm::disassemble(&segment.bytes, segment.address);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# {:#x}: {} bytes", segment.address, segment.size);
        out.push_str(&isa::disasm::listing(&lines));
    }
    Ok(out)
}

fn conform() -> Result<Vec<ConformCase>, Diagnostics> {
    let mut cases = Vec::new();
    for (name, table) in pmask::conform::TABLES {
        cases.extend(conform_cases(name, table)?);
    }
    Ok(cases)
}

fn conform_table(name: &str, image: Image<'_>) -> Result<Vec<ConformCase>, Diagnostics> {
    conform_cases(name, text_of(&image)?)
}

fn conform_cases(name: &str, table: &str) -> Result<Vec<ConformCase>, Diagnostics> {
    let report = pmask::conform::conform(table, &Config::default())
        .map_err(|why| refused("pmask::conform", format!("{name}: {why}")))?;
    let good = (0..report.passed).map(|_| ConformCase { name: name.to_owned(), failure: None });
    let bad = report
        .failed
        .into_iter()
        .map(|(row, why)| ConformCase { name: format!("{name}: {row}"), failure: Some(why) });
    Ok(good.chain(bad).collect())
}

/// Parses the options, whose names the book lists. On an error, returns the index of the option.
fn configure(options: &[MachineOption]) -> Result<(Config, Launch), (usize, String)> {
    let (mut config, mut launch) = (Config::default(), Launch::default());
    for (index, option) in options.iter().enumerate() {
        let value = option_text(option);
        match option.key.value.as_str() {
            "input" => launch.input = value.into_bytes(),
            "arguments" => launch.arguments = value,
            "ram" => {
                let bytes = parse_any_integer(&value);
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let bytes = bytes.filter(|bytes| (16..=MOST_RAM).contains(bytes));
                launch.ram = bytes
                    .ok_or_else(|| (index, format!("`ram` is a number from 16 to {MOST_RAM}")))?;
            }
            "map" => {
                let ranges = address_ranges(&value).map_err(|why| (index, why))?;
                launch.map.extend(ranges.into_iter().map(|r| (r.start, r.length)));
            }
            name => {
                let name = shortened(name);
                config.set(&name, &value).map_err(|error| (index, error.to_string()))?;
            }
        }
    }
    Ok((config, launch))
}

impl PmaskProgram {
    /// The kernels with launch blocks, in the order of their names.
    fn named_kernels(&self) -> Vec<KernelInfo> {
        let symbols = &self.program.symbols;
        let names = symbols.keys().filter_map(|symbol| symbol.strip_suffix(LAUNCH));
        names.filter_map(|name| self.named_kernel(name)).collect()
    }

    fn named_kernel(&self, name: &str) -> Option<KernelInfo> {
        let symbol = |end: &str| self.program.symbol(&format!("{name}{end}"));
        let (start, params, end) = (symbol(START)?, symbol(PARAMS)?, symbol(END)?);
        // A parameter ends where the next label of the block stands.
        let mut labels: Vec<(u64, &str)> = self
            .program
            .symbols
            .iter()
            .filter(|(_, at)| (params..=end).contains(at))
            .filter_map(|(symbol, &at)| Some((at, symbol.strip_prefix(name)?)))
            .filter(|(_, label)| *label != PARAMS)
            .collect();
        labels.sort_unstable();
        let param = |pair: &[(u64, &str)]| {
            let [(at, label), (next, _)] = *pair else { return None };
            let name = label.strip_prefix(".param.")?.to_owned();
            let (offset, size) = (at - params, next - at);
            let spelling = format!("{size} bytes");
            let kind = if size > 8 { ParamKind::Aggregate } else { ParamKind::Bits };
            Some(ParamInfo { name, spelling, offset, size, kind })
        };
        let params = labels.windows(2).filter_map(param).collect();
        let span = self.program.span_at(start);
        Some(KernelInfo { name: name.to_owned(), params, span, ..KernelInfo::default() })
    }

    /// Writes a kernel's parameters and lets it start. A launch names the extents that the program
    /// is made for, or none.
    fn enter(
        &self,
        state: &mut pmask::State,
        request: &LaunchRequest<'_>,
    ) -> Result<(), LaunchProblem> {
        let name = request.kernel;
        let symbol = |end: &str| self.program.symbol(&format!("{name}{end}"));
        let (Some(block), Some(start), Some(params)) =
            (symbol(LAUNCH), symbol(START), symbol(PARAMS))
        else {
            return Err(problem(
                Subject::Launch,
                format!("the program has no launch block of `{name}`"),
            ));
        };
        let mut bytes = [0; 28];
        let in_launch = |e: Box<simt::memory::AccessError>| problem(Subject::Launch, e.to_string());
        state.memory.read_bytes(Addr(block), &mut bytes).map_err(in_launch)?;
        let mut made = [0; 7];
        for (word, bytes) in made.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        let named = request.grid != [1; 3] || request.block != [1; 3] || request.shared != 0;
        let wanted = [&request.grid[..], &request.block[..], &[request.shared][..]].concat();
        if named && wanted != made {
            let [x, y, z, tx, ty, tz, shared] = made;
            let message = format!(
                "`{name}` is made for a grid of [{x}, {y}, {z}], blocks of [{tx}, {ty}, {tz}] and \
                 {shared} bytes of dynamic shared memory"
            );
            return Err(problem(Subject::Grid, message));
        }
        state.memory.host_write(Addr(params), request.params).map_err(in_launch)?;
        state.pc = start;
        Ok(())
    }
}

impl Program for PmaskProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let named = self.named_kernels();
        if !named.is_empty() {
            return named;
        }
        let span = self.program.span_at(self.program.entry);
        vec![KernelInfo { name: KERNEL.to_owned(), span, ..KernelInfo::default() }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(PmaskContext {
            program: self,
            buffers: Vec::new(),
            named: !self.named_kernels().is_empty(),
            next: BUFFERS.0,
            memory: MemoryMap::new(),
        }))
    }
}

/// Memory and launches. A buffer lies at the symbol of the same name, those of programs with named
/// kernels at addresses that are arguments. A launch starts from the program's initial memory and
/// the buffers as the previous launch left them.
struct PmaskContext<'p> {
    program: &'p PmaskProgram,
    buffers: Vec<Buffer>,
    /// Whether the program has named kernels.
    named: bool,
    /// Address of the next buffer of a named kernel.
    next: u64,
    /// What the last launch left, for dumps.
    memory: MemoryMap,
}

struct Buffer {
    address: u64,
    data: Vec<u8>,
}

/// Returns the bytes from a symbol to the next one, or to the end of its segment.
fn room(program: &pmask::Program, address: u64) -> Option<u64> {
    let inside =
        |s: &&pmask::program::Segment| address >= s.address && address - s.address < s.size;
    let segment = program.segments.iter().find(inside)?;
    let end = segment.address.saturating_add(segment.size);
    let next = program.symbols.values().copied().filter(|&at| at > address).min();
    Some(next.map_or(end, |next| next.min(end)) - address)
}

impl PmaskContext<'_> {
    /// Gives a buffer of a named kernel an address.
    fn reserve(&mut self, data: &[u8]) -> Result<u64, String> {
        let at = self.next;
        let end = at.checked_add(data.len() as u64).filter(|&end| end <= BUFFERS.1);
        let end = end.ok_or_else(|| {
            format!("the buffers exceed the memory from {:#x} to {:#x}", BUFFERS.0, BUFFERS.1)
        })?;
        self.next = (end + ALIGN).next_multiple_of(ALIGN);
        self.buffers.push(Buffer { address: at, data: data.to_vec() });
        Ok(at)
    }

    /// Maps the buffers of named kernels, and starts the kernel.
    fn prepare(
        &self,
        state: &mut pmask::State,
        request: &LaunchRequest<'_>,
    ) -> Result<(), LaunchProblem> {
        for buffer in &self.buffers {
            let size = (buffer.data.len() as u64).next_multiple_of(16).max(16);
            let mapped =
                state.memory.map_at("buffer", Addr(buffer.address), size, Permission::ReadWrite);
            mapped.map_err(|error| problem(Subject::Launch, error.to_string()))?;
        }
        self.program.enter(state, request)
    }
}

impl Context for PmaskContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        if self.named {
            return self.reserve(data);
        }
        let program = &self.program.program;
        let Some(address) = program.symbol(name) else {
            let near = isa::suggest::nearest(name, program.symbols.keys().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(format!("buffers are the program's symbols, and it has no `{name}`{near}"));
        };
        let (size, room) = (data.len() as u64, room(program, address).unwrap_or(0));
        if size > room {
            return Err(format!("it has {size} bytes, the program reserves {room} for `{name}`"));
        }
        self.buffers.push(Buffer { address, data: data.to_vec() });
        Ok(address)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        let buffer = self.buffers.iter().find(|b| b.address == address && b.data.len() == length);
        match buffer {
            Some(buffer) => Ok(buffer.data.clone()),
            None => shared::read(&self.memory, address, length),
        }
    }

    fn ranges(&self) -> Vec<MemoryRange> {
        shared::ranges(&self.memory)
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        self.program.program.symbol(name)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        if !self.named {
            single(request, "this machine has one hart: grid and block are 1")?;
        }
        let (config, launch) = configure(request.options)
            .map_err(|(index, why)| problem(Subject::Option(index), why))?;
        let machine = Pmask { config };
        let in_launch = |why: String| problem(Subject::Launch, why);
        let started = machine.launch(&self.program.program, launch);
        let mut state = started.map_err(|error| in_launch(error.to_string()))?;
        if self.named {
            self.prepare(&mut state, request)?;
        }
        for buffer in &self.buffers {
            let placed = state.memory.host_write(Addr(buffer.address), &buffer.data);
            placed.map_err(|error| in_launch(error.to_string()))?;
        }
        let program = &self.program.program;
        let symbols: Vec<(String, u64)> =
            program.symbols.iter().map(|(name, at)| (name.clone(), *at)).collect();
        let code = Code {
            machine: &machine,
            program,
            listing: &self.program.listing,
            pcs: 0,
            symbols: &symbols,
            debug: Some(|code, state, launch, client| {
                let exit = |state: &pmask::State| state.host.exit;
                let about = debugged::About { abilities: debugged::MASKS, exit, instructions };
                debugged::described(code, state, launch, (client, about))
            }),
        };
        let (grid, block) = (request.grid, request.block);
        let extents = Extents { grid, block, blocks: 1, block_threads: 1, threads: 1 };
        let limit = request.limit.unwrap_or(pmask::run::DEFAULT_LIMIT);
        let bounds = Bounds { slice: SLICE, limit };
        let guest = &mut Ends { program: self.program, mark: None };
        let (end, stats) =
            runner::run(&code, &mut state, guest, (extents, bounds), request, monitor);
        let output = std::mem::take(&mut state.host.console.output);
        for buffer in &mut self.buffers {
            // Cannot fail: the launch wrote the buffer there, and memory stays mapped.
            let _ = state.memory.read_bytes(Addr(buffer.address), &mut buffer.data);
        }
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output, words: String::new() })
    }
}

/// The instructions of a binary, for debuggers: what can be read as one in its first bytes.
fn instructions(program: &pmask::Program) -> Vec<debug::Instruction> {
    let segments = program.segments.iter().flat_map(|segment| {
        let bytes = &segment.bytes[..segment.bytes.len().min(MOST_CODE)];
        pmask::asm::disassemble(bytes, segment.address)
    });
    let found = segments.filter(|found| found.instruction.is_some());
    let shown = |found: isa::disasm::Disassembled| debug::Instruction {
        pc: simt::Pc(found.address),
        text: found.text.into(),
        line: None,
        source: None,
    };
    found.map(shown).collect()
}

/// The ends of launches.
struct Ends<'p> {
    program: &'p PmaskProgram,
    /// A state that the program may come to again.
    mark: Option<Mark>,
}

impl Ends<'_> {
    /// Returns the end of a program that has exited; code 0 means success.
    fn exit(&self, state: &pmask::State) -> End {
        match state.host.exit {
            Some(0) | None => End::Done,
            Some(code) => {
                let message = format!("the program ended with code {code}");
                End::Fault(self.stop(state, "exit-code", &message))
            }
        }
    }

    fn stop(&self, state: &pmask::State, code: &'static str, message: &str) -> Stop {
        let program = &self.program.program;
        let at = program.span_at(state.pc).map(|span| (span, "here".to_owned()));
        let mut stop = self.program.listing.stop(code, message, at);
        let place = program.place(state.pc);
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        stop.report = stop.report.note(format!("at {:#x}{place}", state.pc));
        stop
    }
}

impl Guest<Pmask> for Ends<'_> {
    fn fault(&self, state: &pmask::State, fault: &Fault<StopCause>) -> Stop {
        let mut stop = self.stop(state, fault.cause.code(), &fault.cause.to_string());
        if state.rsv.enabled {
            stop.report = stop.report.note(format!("in lane {}", fault.lanes));
        }
        stop
    }

    fn done(&self, state: &pmask::State) -> End {
        self.exit(state)
    }

    fn stopped(&self, state: &pmask::State, hang: Option<HangKind>) -> Option<End> {
        if hang == Some(HangKind::Repeats) {
            let message = "the program repeats itself for ever";
            return Some(End::Hang(self.stop(state, "repeats", message)));
        }
        state.host.exit.map(|_| self.exit(state))
    }

    fn remember(&mut self, state: &pmask::State) -> bool {
        self.mark = Some(state.mark());
        true
    }

    fn repeats(&self, state: &pmask::State) -> Option<Stop> {
        self.mark.as_ref().filter(|mark| state.is_at(mark))?;
        let message = "the complete state repeats: the program never ends";
        let mut stop = self.stop(state, "repeats", message);
        let note = "no store, read of a counter or call of the host lies in between";
        stop.report = stop.report.note(note);
        Some(stop)
    }

    /// The limit is one of steps.
    fn spent(&self, _: &Pmask, _: &pmask::State, steps: u64) -> u64 {
        steps
    }

    fn limit_reached(&self, state: &pmask::State, limit: u64) -> Stop {
        let message = format!("the program has not ended after {limit} steps");
        self.stop(state, "limit", &message)
    }
}
