//! The machine `pmask`: a RISC-V core with XPHMG_PMASK.
//!
//! A program is an ELF file or assembly text with a single kernel, `program`, without parameters.
//! There is no grid.

use std::fmt::Write as _;

use engine::Counters;
use inputs::kernel::KernelInfo;
use inputs::launch::{Located, MachineOption};
use isa::{Diagnostic, Diagnostics, SourceFile, Span};
use pmask::config::{Config, OPTIONS};
use pmask::trap::StopCause;
use pmask::{Launch, Pmask};
use simt::counts::Counts;
use simt::machine::{HangKind, Machine, Step};
use simt::memory::Addr;
use simt::observe::{Blind, Observer};
use simt::trap::{Cause as _, Fault};

use crate::adapters::listing_probe::ListingPlaces;
use crate::adapters::shared::{self, option_text, problem, refused, text_of};
use crate::graph::ControlFlow;
use crate::interface::{Axis, Command, ConformCase, Image, Isa, Named};
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::{LaunchMonitor, Progress};
use crate::program::{Context, Program};
use crate::stats::LaunchStats;

/// The machine `pmask`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PmaskMachine;

/// The only kernel of a program.
const KERNEL: &str = "program";
/// Largest size of main memory in bytes.
const MOST_RAM: u64 = 1 << 30;
/// Steps between two polls of the monitor.
const SLICE: u64 = 1 << 18;

struct PmaskProgram {
    program: pmask::Program,
    text: Option<SourceFile>,
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
    let text = std::str::from_utf8(image.bytes).ok().filter(|_| program.image.is_some());
    Ok(PmaskProgram { program, text: text.map(|text| SourceFile::new("", text)) })
}

/// Options of a run, in addition to those of the machine.
const RUN_OPTIONS: [Named; 3] = [
    Named { name: "input", about: "what the program can read from its console" },
    Named { name: "arguments", about: "its command line, for semihosting" },
    Named { name: "ram", about: "bytes of main memory" },
];

/// Parses the options, whose names the book lists. On an error, returns the index of the option.
fn configure(options: &[MachineOption]) -> Result<(Config, Launch), (usize, String)> {
    let (mut config, mut launch) = (Config::default(), Launch::default());
    for (index, option) in options.iter().enumerate() {
        let value = option_text(option);
        match option.key.value.as_str() {
            "input" => launch.input = value.into_bytes(),
            "arguments" => launch.arguments = value,
            "ram" => {
                let bytes = inputs::elem::parse_any_integer(&value);
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let bytes = bytes.filter(|bytes| (16..=MOST_RAM).contains(bytes));
                launch.ram = bytes
                    .ok_or_else(|| (index, format!("`ram` is a number from 16 to {MOST_RAM}")))?;
            }
            name => {
                let name = inputs::elem::shortened(name);
                config.set(&name, &value).map_err(|error| (index, error.to_string()))?;
            }
        }
    }
    Ok((config, launch))
}

impl Isa for PmaskMachine {
    fn name(&self) -> &'static str {
        Pmask::NAME
    }

    fn about(&self) -> &'static str {
        "RISC-V with banked predicate masks (XPHMG_PMASK) and RSV lanes"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["s", "elf"]
    }

    fn commands(&self) -> &'static [Command] {
        shared::COMMANDS
    }

    fn mechanisms(&self) -> Vec<Named> {
        vec![Named { name: "masks", about: "one program counter; lanes by mask banks" }]
    }

    fn default_mechanisms(&self) -> &'static [&'static str] {
        &["masks"]
    }

    fn default_warp_size(&self) -> u64 {
        64
    }

    fn has_grid(&self) -> bool {
        false
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            Axis::new("zmode", &["merge", "zero"]),
            Axis::new("banks", &["4", "3", "2", "1"]),
            Axis::new("lane-forms", &["on", "off"]),
            Axis::new("vlmax", &["64", "32", "16", "8"]),
        ]
    }

    fn reference_settings(&self) -> &'static [(&'static str, &'static str)] {
        &[("vlmax", "8")]
    }

    fn options(&self) -> Vec<Named> {
        let own = OPTIONS.iter().map(|o| Named { name: o.name, about: o.about });
        own.chain(RUN_OPTIONS).collect()
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        match read(image) {
            Ok(mut program) => {
                if let Some(assembled) = &mut program.program.image {
                    found.append(std::mem::take(&mut assembled.warnings));
                }
                Some(Box::new(program))
            }
            Err(errors) => {
                found.append(errors);
                None
            }
        }
    }

    /// Returns an ELF executable.
    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Ok(pmask::elf::write(&read(image)?.program))
    }

    /// Disassembles all segments, with symbol names.
    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
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

    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        let mut cases = Vec::new();
        for (name, table) in pmask::conform::TABLES {
            cases.extend(conform_cases(name, table)?);
        }
        Ok(cases)
    }

    fn conform_table(&self, name: &str, image: Image<'_>) -> Result<Vec<ConformCase>, Diagnostics> {
        let text = text_of(&image)?;
        conform_cases(name, text)
    }
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

impl PmaskProgram {
    fn line(&self, span: Span) -> Option<u64> {
        self.text.as_ref().map(|text| text.line_col(span.start).line.into())
    }
}

impl Program for PmaskProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let span = self.program.span_at(self.program.entry);
        vec![KernelInfo { name: KERNEL.to_owned(), span, ..KernelInfo::default() }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(PmaskContext { program: self, buffers: Vec::new() }))
    }
}

/// Memory and launches. A buffer lies at the symbol of the same name. A launch starts from the
/// program's initial memory and the buffers as the previous launch left them.
struct PmaskContext<'p> {
    program: &'p PmaskProgram,
    buffers: Vec<Buffer>,
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
    fn drive<O: Observer<1>>(
        &self,
        machine: &Pmask,
        state: &mut pmask::State,
        observer: &mut O,
        limit: u64,
        (listing_places, monitor): (&ListingPlaces, &mut dyn LaunchMonitor),
    ) -> End {
        let mut left = limit;
        loop {
            let slice = SLICE.min(left);
            let what = (machine, &self.program.program);
            let step = listing_places.run(what, state, observer, slice, monitor);
            left -= slice;
            match step {
                Step::Done => return self.exit(state),
                Step::Fault(fault) => return End::Fault(self.fault(state, &fault)),
                Step::Hang(hang) if hang.kind == HangKind::Repeats => {
                    let message = "the program repeats itself for ever";
                    return End::Hang(self.stop(state, "repeats", message));
                }
                Step::Issued | Step::Hang(_) if state.host.exit.is_some() => {
                    return self.exit(state);
                }
                Step::Issued | Step::Hang(_) if left == 0 => {
                    let message = format!("the program has not ended after {limit} steps");
                    return End::Hang(self.stop(state, "limit", &message));
                }
                Step::Issued | Step::Hang(_) => {}
            }
            let progress = Progress { blocks_done: 0, blocks: 1, issues: limit - left };
            if !monitor.poll(progress) {
                return End::Interrupted;
            }
        }
    }

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
        let span = self.program.program.span_at(state.pc);
        let mut report = Diagnostic::error(code, message);
        if let Some(span) = span {
            report = report.at(span, "here");
        }
        let place = self.program.program.place(state.pc);
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        report = report.note(format!("at {:#x}{place}", state.pc));
        let line = span.and_then(|span| self.program.line(span));
        Stop { code, report, line, place: None }
    }

    fn fault(&self, state: &pmask::State, fault: &Fault<StopCause>) -> Stop {
        let mut stop = self.stop(state, fault.cause.code(), &fault.cause.to_string());
        if state.rsv.enabled {
            stop.report = stop.report.note(format!("in lane {}", fault.lanes));
        }
        stop
    }
}

impl Context for PmaskContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
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
        buffer.map(|b| b.data.clone()).ok_or_else(|| "no buffer lies there".to_owned())
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        if request.grid.iter().chain(&request.block).any(|extent| *extent != 1) {
            return Err(problem(Subject::Grid, "this machine has one hart: grid and block are 1"));
        }
        let (config, launch) = configure(request.options)
            .map_err(|(index, why)| problem(Subject::Option(index), why))?;
        let machine = Pmask { config };
        let in_launch = |why: String| problem(Subject::Launch, why);
        let started = machine.launch(&self.program.program, launch);
        let mut state = started.map_err(|error| in_launch(error.to_string()))?;
        for buffer in &self.buffers {
            let placed = state.memory.host_write(Addr(buffer.address), &buffer.data);
            placed.map_err(|error| in_launch(error.to_string()))?;
        }
        let limit = request.limit.unwrap_or(pmask::run::DEFAULT_LIMIT);
        let lines = self.program.program.image.as_ref().map_or(&[][..], |image| &image.lines);
        let listing_places = ListingPlaces::new(self.program.text.as_ref(), lines);
        listing_places.begin(request.kernel, request.warp_size, 1, monitor);
        let mut counters = Counters::default();
        let end = if request.detailed {
            self.drive(&machine, &mut state, &mut counters, limit, (&listing_places, monitor))
        } else {
            self.drive(&machine, &mut state, &mut Blind, limit, (&listing_places, monitor))
        };
        let counts = Counts { slots: state.slots, threads: 1, ..Counts::default() };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            outcome: end.name().to_owned(),
            ..LaunchStats::of(&counts, counters)
        };
        let output = std::mem::take(&mut state.host.output);
        for buffer in &mut self.buffers {
            // Cannot fail: the launch wrote the buffer there, and memory stays mapped.
            let _ = state.memory.read_bytes(Addr(buffer.address), &mut buffer.data);
        }
        Ok(LaunchResult { end, stats, output, words: String::new() })
    }
}
