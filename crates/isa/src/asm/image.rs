//! What assembling gives: bytes at addresses, symbols, and which statement made what.

use std::fmt::Write as _;

use crate::diag::Diagnostics;
use crate::span::{SourceFile, Span};

/// An assembled program.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// The bytes, by increasing address, without overlap.
    pub segments: Vec<Segment>,
    /// The symbols, in order of first mention.
    pub symbols: Vec<SymbolEntry>,
    /// The statements that made bytes, by increasing address.
    pub lines: Vec<Line>,
    /// The machine's own directives, in order.
    pub directives: Vec<MachineDirective>,
    /// What is accepted but probably not what was meant.
    pub warnings: Diagnostics,
}

/// Bytes at consecutive addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Name of the section that it is part of.
    pub section: String,
    /// Address of the first byte.
    pub address: u64,
    /// The bytes; at least one.
    pub bytes: Vec<u8>,
}

/// A symbol with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolEntry {
    /// The name.
    pub name: String,
    /// The value; its low 64 bits if it is negative.
    pub value: u64,
    /// Whether it is an address rather than a number.
    pub address: bool,
    /// Whether `.globl` names it.
    pub global: bool,
}

/// The bytes of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub length: u64,
    /// The statement, without labels before it.
    pub span: Span,
}

/// A directive that only the machine understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDirective {
    /// With its dot.
    pub name: String,
    /// The rest of the statement.
    pub arguments: String,
    /// The address at which it stands.
    pub address: u64,
    /// Where it stands.
    pub span: Span,
}

/// A line of the listing shows this many bytes.
const LISTED_BYTES: usize = 8;

impl Image {
    /// The symbol of a name.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&SymbolEntry> {
        self.symbols.iter().find(|s| s.name == name)
    }

    /// The bytes from an address on, as far as its segment goes.
    #[must_use]
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let next = self.segments.partition_point(|s| s.address <= address);
        let segment = self.segments.get(next.checked_sub(1)?)?;
        let offset = usize::try_from(address - segment.address).ok()?;
        segment.bytes.get(offset..).filter(|b| !b.is_empty())
    }

    /// All bytes from address 0 on, zero where there are none; `None` if that would be more than
    /// `limit` bytes.
    #[must_use]
    pub fn flat(&self, limit: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for segment in &self.segments {
            let start = usize::try_from(segment.address).ok().filter(|&start| start <= limit)?;
            if segment.bytes.len() > limit - start {
                return None;
            }
            out.resize(start, 0);
            out.extend(&segment.bytes);
        }
        Some(out)
    }

    /// The statement that made the byte at an address.
    #[must_use]
    pub fn line_at(&self, address: u64) -> Option<&Line> {
        let next = self.lines.partition_point(|l| l.address <= address);
        let line = self.lines.get(next.checked_sub(1)?)?;
        (address - line.address < line.length).then_some(line)
    }

    /// How many bytes there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.segments.iter().map(|s| s.bytes.len()).sum()
    }

    /// Address, bytes and source of every statement, then the symbols. Of long data, the first
    /// bytes are shown.
    #[must_use]
    pub fn listing(&self, file: &SourceFile) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let all = self.bytes_at(line.address).unwrap_or_default();
            let length = usize::try_from(line.length).unwrap_or(usize::MAX).min(all.len());
            let shown = &all[..length.min(LISTED_BYTES)];
            let mut hex: String = shown.iter().map(|b| format!("{b:02x}")).collect();
            if length > shown.len() {
                hex.push_str("..");
            }
            let number = file.line_col(line.span.start).line;
            let source = file.text().get(line.span.range()).unwrap_or_default().trim();
            let source = source.lines().next().unwrap_or_default();
            let _ = writeln!(out, "{:08x}  {hex:<18}  {number:>5}  {source}", line.address);
        }
        if !self.symbols.is_empty() {
            out.push('\n');
        }
        for symbol in &self.symbols {
            let kind = if symbol.address { "label" } else { "value" };
            let global = if symbol.global { " global" } else { "" };
            let _ = writeln!(out, "{:016x}  {kind}{global}  {}", symbol.value, symbol.name);
        }
        out
    }
}
