//! Code shared by the machines with simple programs: one kernel, read from text or a binary, in one
//! memory.

use std::collections::BTreeMap;

use engine::Counters;
use inputs::kernel::{ParamInfo, ParamKind};
use inputs::launch::{MachineOption, OptionValue};
use isa::asm::Line;
use isa::{Diagnostic, Diagnostics, SourceFile, Span};
use simt::memory::{Addr, MemoryMap};
use simt::slots::LaneSlots;

use crate::interface::{Command, Image};
use crate::launch::{LaunchProblem, Stop, Subject};
use crate::program::Program;
use crate::stats::LineSlots;

/// Commands of a machine with an assembler and a conformance suite, but without a control-flow
/// graph.
pub(super) const COMMANDS: &[Command] =
    &[Command::Run, Command::Check, Command::List, Command::Asm, Command::Disasm, Command::Conform];

/// Returns diagnostics with a single error, without a location.
pub(super) fn refused(code: &'static str, message: impl Into<String>) -> Diagnostics {
    one(Diagnostic::error(code, message))
}

fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

/// Returns the text of an image that must be text.
pub(super) fn text_of<'a>(image: &Image<'a>) -> Result<&'a str, Diagnostics> {
    image.text().map_err(one)
}

/// Returns the text of an image that may be a binary. Text is UTF-8 without zero bytes.
pub(super) fn as_text<'a>(image: &Image<'a>) -> Option<&'a str> {
    let text = std::str::from_utf8(image.bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Turns the result of reading a program into that of [`Isa::load`](crate::interface::Isa::load).
pub(super) fn loaded<P: Program + 'static>(
    read: Result<P, Diagnostics>,
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    match read {
        Ok(program) => Some(Box::new(program)),
        Err(errors) => {
            found.append(errors);
            None
        }
    }
}

/// Returns a problem with part of a request.
pub(super) fn problem(about: Subject, message: impl Into<String>) -> LaunchProblem {
    LaunchProblem { about, message: message.into(), help: None, span: None }
}

/// Returns an option's value as the command line spells it.
pub(super) fn option_text(option: &MachineOption) -> String {
    match &option.value.value {
        OptionValue::String(text) => text.clone(),
        OptionValue::Integer(number) => number.to_string(),
        OptionValue::Float(number) => number.to_string(),
        OptionValue::Boolean(true) => "on".to_owned(),
        OptionValue::Boolean(false) => "off".to_owned(),
    }
}

/// Returns parameters of eight bytes each, as `.param` declares them.
pub(super) fn parameters(names: &[String]) -> Vec<ParamInfo> {
    let param = |(name, offset): (&String, u64)| ParamInfo {
        name: name.clone(),
        spelling: ".param".to_owned(),
        offset,
        size: 8,
        kind: ParamKind::Bits,
    };
    names.iter().zip((0..).step_by(8)).map(param).collect()
}

/// Allocates a region and fills it with `data`.
pub(super) fn allocate(memory: &mut MemoryMap, name: &str, data: &[u8]) -> Result<u64, String> {
    let address = memory.allocate(name, data.len() as u64).map_err(|e| e.to_string())?;
    memory.host_write(address, data).map_err(|e| e.to_string())?;
    Ok(address.0)
}

/// Reads `length` bytes of memory.
pub(super) fn read(memory: &MemoryMap, address: u64, length: usize) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    data.try_reserve_exact(length).map_err(|e| e.to_string())?;
    data.resize(length, 0);
    memory.read_bytes(Addr(address), &mut data).map_err(|e| e.to_string())?;
    Ok(data)
}

/// Returns the stop of a program that has used up its issues.
pub(super) fn limit_reached(limit: u64) -> Stop {
    let message = format!("the program has not ended after {limit} issues: it may hang");
    let report = Diagnostic::error("limit", message);
    let report = report.help("raise it with --limit if the program needs that long");
    Stop { code: "limit", report, line: None, place: None }
}

/// Maps instructions to the text that they were assembled from. Empty for a binary.
#[derive(Default)]
pub(super) struct Listing {
    /// The text.
    pub(super) text: Option<SourceFile>,
    /// The statements, by address.
    pub(super) lines: Vec<Line>,
}

impl Listing {
    pub(super) fn new(text: &str, lines: Vec<Line>) -> Self {
        Self { text: Some(SourceFile::new("", text)), lines }
    }

    /// Returns the statement at an address.
    pub(super) fn span(&self, pc: u64) -> Option<Span> {
        let next = self.lines.partition_point(|line| line.address <= pc);
        let line = self.lines.get(next.checked_sub(1)?)?;
        (pc - line.address < line.length).then_some(line.span)
    }

    /// Returns the line at which a span starts.
    pub(super) fn line(&self, span: Span) -> Option<u32> {
        self.text.as_ref().map(|text| text.line_col(span.start).line)
    }

    /// Returns lane slots by line.
    pub(super) fn line_slots(&self, counters: &Counters) -> Vec<LineSlots> {
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
