//! The toy machine: assembly text or a binary, one kernel `main`.
//!
//! It has no blocks, no shared memory and no divergence: a launch is `grid * block` threads in groups of the warp size.

use std::collections::BTreeMap;

use ::toy::{LaunchError, Toy, Trap};
use isa::asm::Line;
use isa::{Diagnostic, Diagnostics, SourceFile, Span};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap};
use simt::observe::{Blind, Observer};
use simt::slots::LaneSlots;
use simt::trap::{Cause as _, Fault};

use crate::launch::Located;
use crate::machine::{
    Command, ConformCase, Context, ControlFlow, End, Image, Isa, KernelInfo, LaunchProblem,
    LaunchRequest, LaunchResult, Named, ParamInfo, ParamKind, Program, Progress, Stop, Subject,
    Watch,
};
use crate::stats::{Counters, LaunchStats, LineSlots, PcSlots};

/// The machine `toy`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToyMachine;

/// The one kernel of a program.
const KERNEL: &str = "main";
/// Issues between two looks at the watch.
const SLICE: u64 = 1 << 16;
/// Most issues when nothing else is said.
const LIMIT: u64 = 1_000_000_000;

/// A loaded program, with its text if it came from one.
struct ToyProgram {
    program: ::toy::Program,
    params: Vec<String>,
    text: Option<SourceFile>,
    lines: Vec<Line>,
}

/// A text has no zero byte; every binary has one.
fn as_text<'a>(image: &Image<'a>) -> Option<&'a str> {
    let text = std::str::from_utf8(image.bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn refused(code: &'static str, message: String) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(Diagnostic::error(code, message));
    found
}

fn read(image: Image<'_>) -> Result<ToyProgram, Diagnostics> {
    let not_loaded = |error: ::toy::LoadError| refused("toy::load", error.to_string());
    let Some(text) = as_text(&image) else {
        let program = Toy.load(image.bytes).map_err(not_loaded)?;
        return Ok(ToyProgram { program, params: Vec::new(), text: None, lines: Vec::new() });
    };
    let assembled = ::toy::assemble(image.file, text)?;
    let params = ::toy::parameters(&assembled)?;
    let binary = ::toy::binary(&assembled).map_err(not_loaded)?;
    let program = Toy.load(&binary).map_err(not_loaded)?;
    let text = Some(SourceFile::new("", text));
    Ok(ToyProgram { program, params, text, lines: assembled.lines })
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
        use Command::{Asm, Check, Conform, Disasm, List, Run};
        &[Run, Check, List, Asm, Disasm, Conform]
    }

    fn mechanisms(&self) -> Vec<Named> {
        vec![Named { name: "uniform", about: "one program counter; lanes never part" }]
    }

    fn usual_mechanisms(&self) -> &'static [&'static str] {
        &["uniform"]
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        match read(image) {
            Ok(program) => Some(Box::new(program)),
            Err(errors) => {
                found.append(errors);
                None
            }
        }
    }

    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        let text = image.text().map_err(|finding| {
            let mut found = Diagnostics::new();
            found.push(finding);
            found
        })?;
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

impl ToyProgram {
    /// The statement at an address of code.
    fn span(&self, pc: u64) -> Option<Span> {
        let next = self.lines.partition_point(|line| line.address <= pc);
        let line = self.lines.get(next.checked_sub(1)?)?;
        (pc - line.address < line.length).then_some(line.span)
    }

    fn line(&self, span: Span) -> Option<u32> {
        self.text.as_ref().map(|text| text.line_col(span.start).line)
    }

    /// Slots by line of the text; none for a binary.
    fn line_slots(&self, counters: &Counters) -> Vec<LineSlots> {
        let mut by_line: BTreeMap<u32, LaneSlots> = BTreeMap::new();
        for (pc, slots) in (0..).zip(counters.by_pc.slots()) {
            let line = self.span(pc).and_then(|span| self.line(span));
            if let Some(line) = line.filter(|_| slots.issues() > 0) {
                by_line.entry(line).or_default().add(slots);
            }
        }
        let lines = by_line.into_iter();
        lines.map(|(line, slots)| LineSlots { file: String::new(), line, slots }).collect()
    }
}

impl Program for ToyProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let param = |(name, offset): (&String, u64)| ParamInfo {
            name: name.clone(),
            spelling: ".param".to_owned(),
            offset,
            size: 8,
            kind: ParamKind::Bits,
        };
        let params = self.params.iter().zip((0..).step_by(8)).map(param).collect();
        let span = self.span(0);
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

fn problem(about: Subject, message: impl Into<String>) -> LaunchProblem {
    LaunchProblem { about, message: message.into(), help: None, span: None }
}

/// Threads of a request, as far as this machine can have them.
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
            let name = crate::elem::shortened(&option.key.value);
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

    /// Steps to the end, to the limit, or until the watch says to stop.
    fn drive<O: Observer<1>>(
        &self,
        state: &mut ::toy::State,
        observer: &mut O,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> End {
        let limit = request.limit.unwrap_or(LIMIT);
        loop {
            let issues = Toy.slots(state).issues();
            let slice = SLICE.min(limit.saturating_sub(issues));
            match Toy.run(&self.program.program, state, observer, slice) {
                Step::Done => return End::Done,
                Step::Fault(fault) => return End::Fault(self.fault(&fault)),
                // The machine has no synchronisation, so nothing but a loop can keep it from ending.
                Step::Issued | Step::Hang(_) if slice < SLICE => {
                    return End::Hang(self.limit(limit));
                }
                Step::Issued | Step::Hang(_) => {}
            }
            let progress = Progress { blocks_done: 0, blocks: 1, issues: issues + slice };
            if !watch.go_on(progress) {
                return End::Interrupted;
            }
        }
    }

    fn fault(&self, fault: &Fault<Trap>) -> Stop {
        let span = self.program.span(fault.pc.0);
        let mut report = Diagnostic::error(fault.cause.code(), fault.cause.to_string());
        if let Some(span) = span {
            report = report.at(span, format!("lanes {} fault here", fault.lanes));
        }
        let (group, pc) = (fault.group.group, fault.pc.0);
        report = report.note(format!("in group {group}, lanes {}, at {pc:#x}", fault.lanes));
        let line = span.and_then(|span| self.program.line(span)).map(u64::from);
        Stop { code: fault.cause.code(), report, line }
    }

    fn limit(&self, limit: u64) -> Stop {
        let message = format!("the program has not ended after {limit} issues: it may hang");
        let report = Diagnostic::error("limit", message);
        let report = report.help("raise it with --limit if the program needs that long");
        Stop { code: "limit", report, line: None }
    }
}

impl Context for ToyContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        let address = self.memory.allocate(name, data.len() as u64).map_err(|e| e.to_string())?;
        self.memory.host_write(address, data).map_err(|e| e.to_string())?;
        Ok(address.0)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        let mut data = Vec::new();
        data.try_reserve_exact(length).map_err(|e| e.to_string())?;
        data.resize(length, 0);
        self.memory.read_bytes(Addr(address), &mut data).map_err(|e| e.to_string())?;
        Ok(data)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
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
        let mut counters = Counters::default();
        let end = if request.detailed {
            counters = Counters::with_pcs(PcSlots::new(self.program.program.code_bytes()));
            self.drive(&mut state, &mut counters, request, watch)
        } else {
            self.drive(&mut state, &mut Blind, request, watch)
        };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            outcome: end.name().to_owned(),
            slots: *Toy.slots(&state),
            lines: self.program.line_slots(&counters),
            counters,
            threads: u64::from(count),
            ..LaunchStats::default()
        };
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output: Vec::new() })
    }
}
