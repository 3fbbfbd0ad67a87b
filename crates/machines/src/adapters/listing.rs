//! The text that a program was assembled from.

use std::collections::BTreeMap;

use engine::Counters;
use isa::asm::Line;
use isa::{Diagnostic, SourceFile, Span};
use simt::slots::LaneSlots;
use simt::trap::{Cause, Fault};

use crate::launch::Stop;
use crate::stats::LineSlots;

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

    /// Returns the stop for a fault or hang: its diagnostic, placed at a span.
    pub(super) fn stop(
        &self,
        code: &'static str,
        message: impl Into<String>,
        at: Option<(Span, String)>,
    ) -> Stop {
        let line = at.as_ref().and_then(|(span, _)| self.line(*span)).map(u64::from);
        let mut report = Diagnostic::error(code, message);
        if let Some((span, label)) = at {
            report = report.at(span, label);
        }
        Stop { code, report, line, place: None }
    }

    /// Returns the stop for a fault of the instruction at the fault's program counter; `place`
    /// describes the group.
    pub(super) fn fault<C: Cause>(&self, fault: &Fault<C>, place: &str) -> Stop {
        let label = format!("lanes {} fault here", fault.lanes);
        let at = self.span(fault.pc.0).map(|span| (span, label));
        let mut stop = self.stop(fault.cause.code(), fault.cause.to_string(), at);
        let note = format!("in {place}, lanes {}, at {:#x}", fault.lanes, fault.pc.0);
        stop.report = stop.report.note(note);
        stop
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
