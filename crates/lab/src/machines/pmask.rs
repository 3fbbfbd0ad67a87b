//! The machine `pmask`: a RISC-V core with XPHMG_PMASK. A program is an ELF file or assembly text with one kernel,
//! `program`, that takes nothing; there is no grid.

use std::fmt::Write as _;

use isa::{Diagnostic, Diagnostics, SourceFile, Span};
use pmask::config::{Config, OPTIONS};
use pmask::trap::StopCause;
use pmask::{Launch, Pmask};
use simt::machine::{HangKind, Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{Blind, Observer};
use simt::trap::{Cause as _, Fault};

use crate::launch::{Located, MachineOption};
use crate::machine::{
    Command, ConformCase, Context, ControlFlow, End, Image, Isa, KernelInfo, LaunchProblem,
    LaunchRequest, LaunchResult, Named, Program, Progress, Stop, Subject, Watch,
};
use crate::machines::shared::{self, option_text, problem, refused, text_of};
use crate::stats::{Counters, LaunchStats};

/// The machine `pmask`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PmaskMachine;

/// The one kernel of a program.
const KERNEL: &str = "program";
/// Steps between two looks at the watch.
const SLICE: u64 = 1 << 18;

struct PmaskProgram {
    program: pmask::Program,
    text: Option<SourceFile>,
}

fn read(image: Image<'_>) -> Result<PmaskProgram, Diagnostics> {
    let program = pmask::Program::load(image.bytes, image.file).map_err(|error| match error {
        pmask::program::LoadError::Text(found) => found,
        other => refused("pmask::load", other.to_string()),
    })?;
    let text = std::str::from_utf8(image.bytes).ok().filter(|_| program.image.is_some());
    Ok(PmaskProgram { program, text: text.map(|text| SourceFile::new("", text)) })
}

/// The options of a machine, by the names that the book lists.
fn configure(options: &[MachineOption]) -> Result<Config, (usize, String)> {
    let mut config = Config::default();
    for (index, option) in options.iter().enumerate() {
        let value = option_text(option);
        let name = crate::elem::shortened(&option.key.value);
        config.set(&name, &value).map_err(|error| (index, error.to_string()))?;
    }
    Ok(config)
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

    fn usual_mechanisms(&self) -> &'static [&'static str] {
        &["masks"]
    }

    fn default_warp_size(&self) -> u64 {
        64
    }

    fn has_grid(&self) -> bool {
        false
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

    /// An ELF executable.
    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Ok(pmask::elf::write(&read(image)?.program))
    }

    /// All segments, with the names of places.
    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let program = read(image)?.program;
        let mut out = String::new();
        for segment in &program.segments {
            let lines = pmask::asm::disassemble(&segment.bytes, segment.address);
            // Writing to a string does not fail.
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
        Ok(Box::new(PmaskContext { program: self, memory: MemoryMap::new() }))
    }
}

/// The program's memory after its last launch; a launch starts from the program's own.
struct PmaskContext<'p> {
    program: &'p PmaskProgram,
    memory: MemoryMap,
}

impl PmaskContext<'_> {
    fn drive<O: Observer<1>>(
        &self,
        machine: &Pmask,
        state: &mut pmask::State,
        observer: &mut O,
        limit: u64,
        watch: &mut dyn Watch,
    ) -> End {
        let mut left = limit;
        loop {
            let slice = SLICE.min(left);
            let step = machine.run(&self.program.program, state, observer, slice);
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
            if !watch.go_on(progress) {
                return End::Interrupted;
            }
        }
    }

    /// Code 0 is the good end.
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
        Stop { code, report, line: span.and_then(|span| self.program.line(span)) }
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
        shared::allocate(&mut self.memory, name, data)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> Result<LaunchResult, LaunchProblem> {
        if request.grid.iter().chain(&request.block).any(|extent| *extent != 1) {
            return Err(problem(Subject::Grid, "this machine has one hart: grid and block are 1"));
        }
        let config = configure(request.options)
            .map_err(|(index, why)| problem(Subject::Option(index), why))?;
        let machine = Pmask { config };
        let started = machine.launch(&self.program.program, Launch::default());
        let mut state = started.map_err(|error| problem(Subject::Launch, error.to_string()))?;
        let limit = request.limit.unwrap_or(pmask::run::DEFAULT_LIMIT);
        let mut counters = Counters::default();
        let end = if request.detailed {
            self.drive(&machine, &mut state, &mut counters, limit, watch)
        } else {
            self.drive(&machine, &mut state, &mut Blind, limit, watch)
        };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            outcome: end.name().to_owned(),
            slots: state.slots,
            counters,
            threads: 1,
            ..LaunchStats::default()
        };
        let output = std::mem::take(&mut state.host.output);
        self.memory = state.memory;
        Ok(LaunchResult { end, stats, output })
    }
}
