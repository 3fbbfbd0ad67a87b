//! The disassembler: words to text by the templates that the assembler reads.
//!
//! Always holds: the text of [`disassemble`] assembles to the same bytes at the same address. Each
//! line is checked by assembling it; where the text of an instruction cannot say all of its bits
//! (fields that the syntax does not write), the line is data, with the instruction as a comment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::asm::{Dialect, OperandSlot, PrintContext, assemble};
use crate::span::FileId;
use crate::table::decode::{Hex, Instruction};
use crate::table::{Form, Kind, Part};

/// One line of a disassembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// A statement that assembles to these bytes.
    pub text: String,
    /// The instruction, if the bytes are one.
    pub instruction: Option<Instruction>,
    /// The label that stands here, if something in the disassembly refers to it.
    pub label: Option<String>,
    /// What the bytes are, where `text` is data because the instruction's own text would lose bits.
    pub comment: Option<String>,
}

impl Dialect<'_> {
    /// An instruction at an address as text.
    #[must_use]
    pub fn print(&self, instruction: Instruction, address: u64) -> String {
        self.print_at(instruction, &PrintContext { address, label: &|_| None })
    }

    /// An instruction as text, targets by their labels.
    #[must_use]
    pub fn print_at(&self, instruction: Instruction, at: &PrintContext<'_>) -> String {
        let form = self.table.form(instruction.form);
        let values = self.table.values(instruction);
        let alias = form.aliases.iter().find(|a| {
            let mut free: Vec<bool> = vec![true; values.len()];
            a.syntax.for_each_field(|i| free[i] = false);
            let fixed = a.fixed.iter().all(|&(i, v)| {
                free[i] = false;
                values[i] == v
            });
            let default = |i: usize| !free[i] || values[i] == form.fields[i].default_value();
            a.printed && fixed && (0..values.len()).all(default)
        });
        let template = alias.map_or(&form.syntax, |a| &a.syntax);
        let mut out = template.mnemonic.clone();
        self.print_parts(form, &template.parts, &values, at, &mut out);
        out
    }

    fn print_parts(
        &self,
        form: &Form,
        parts: &[Part],
        values: &[i64],
        at: &PrintContext<'_>,
        out: &mut String,
    ) {
        for part in parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Operand { fields, kind } => {
                    let kind = self.table.kind(*kind);
                    let values: Vec<i64> = fields.iter().map(|&i| values[i]).collect();
                    let value = values.first().copied().unwrap_or_default();
                    // Writing to a string does not fail.
                    let _ = match &kind.kind {
                        Kind::Int | Kind::Distance => write!(out, "{value}"),
                        Kind::Hex if value < 0 => write!(out, "-{:#x}", value.unsigned_abs()),
                        Kind::Hex => write!(out, "{value:#x}"),
                        Kind::Target => write!(out, "{}", at.target(value)),
                        Kind::Names(names) => match names.name(value) {
                            Some(name) => write!(out, "{name}"),
                            None => write!(out, "{value}"),
                        },
                        Kind::Custom => {
                            let slot = OperandSlot { kind: &kind.name, form, fields };
                            self.operands.print(slot, &values, at, out);
                            Ok(())
                        }
                    };
                }
                Part::Optional(inner) => {
                    let mut present = false;
                    crate::table::for_each_field(inner, &mut |i| {
                        present |= values[i] != form.fields[i].default_value();
                    });
                    if present {
                        self.print_parts(form, inner, values, at, out);
                    }
                }
            }
        }
    }
}

/// Disassembles bytes that lie at an address. Targets among them get labels.
#[must_use]
pub fn disassemble(dialect: Dialect<'_>, bytes: &[u8], address: u64) -> Vec<Disassembled> {
    let wanted = RefCell::new(BTreeSet::new());
    let want = |target| {
        wanted.borrow_mut().insert(target);
        None
    };
    let mut lines = Vec::new();
    let mut rest = bytes;
    let mut at = address;
    while !rest.is_empty() {
        let line = one(dialect, rest, at, &want);
        rest = &rest[line.bytes.len()..];
        at = at.wrapping_add(line.bytes.len() as u64);
        lines.push(line);
    }
    name_labels(dialect, &mut lines, &wanted.into_inner());
    lines
}

/// The first line of some bytes.
fn one(
    dialect: Dialect<'_>,
    bytes: &[u8],
    address: u64,
    label: &dyn Fn(u64) -> Option<String>,
) -> Disassembled {
    let (window, have) = crate::table::decode::window(bytes);
    let line = |length: usize, text, instruction, comment| {
        let bytes = bytes[..length].to_vec();
        Disassembled { address, bytes, text, instruction, label: None, comment }
    };
    match dialect.table.decode(window, have) {
        Ok(instruction) => {
            let length = dialect.table.form(instruction.form).bytes();
            let text = dialect.print_at(instruction, &PrintContext { address, label });
            if reads_back(dialect, &text, address, &bytes[..length]) {
                line(length, text, Some(instruction), None)
            } else {
                line(length, data(&bytes[..length]), Some(instruction), Some(text))
            }
        }
        Err(_) => {
            let length = (dialect.table.length(window) as usize / 8).clamp(1, bytes.len());
            line(length, data(&bytes[..length]), None, None)
        }
    }
}

/// Whether a statement assembles to these bytes at this address.
fn reads_back(dialect: Dialect<'_>, text: &str, address: u64, bytes: &[u8]) -> bool {
    let source = format!(".org {address:#x}\n{text}\n");
    assemble(dialect, FileId::default(), &source)
        .is_ok_and(|image| image.bytes_at(address) == Some(bytes) && image.segments.len() == 1)
}

/// Bytes as a data directive.
fn data(bytes: &[u8]) -> String {
    let directive = match bytes.len() {
        2 => ".half",
        4 => ".word",
        8 => ".dword",
        _ => {
            let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
            return format!(".byte {}", list.join(", "));
        }
    };
    let (word, bits) = crate::table::decode::window(bytes);
    format!("{directive} {}", Hex { word, bits })
}

/// Gives the lines that are targets their labels, and prints those that refer to them again.
fn name_labels(dialect: Dialect<'_>, lines: &mut [Disassembled], wanted: &BTreeSet<u64>) {
    let here = lines.iter().map(|l| l.address).filter(|a| wanted.contains(a));
    let labels: BTreeMap<u64, String> = here.map(|a| (a, format!("L_{a:x}"))).collect();
    if labels.is_empty() {
        return;
    }
    for line in lines {
        line.label = labels.get(&line.address).cloned();
        if let (Some(instruction), None) = (line.instruction, &line.comment) {
            let label = |target| labels.get(&target).cloned();
            let at = PrintContext { address: line.address, label: &label };
            line.text = dialect.print_at(instruction, &at);
        }
    }
}

/// Address, bytes and text of each line.
#[must_use]
pub fn listing(lines: &[Disassembled]) -> String {
    let mut out = String::new();
    for line in lines {
        if let Some(label) = &line.label {
            let _ = writeln!(out, "{label}:");
        }
        let hex: String = line.bytes.iter().map(|b| format!("{b:02x}")).collect();
        let _ = write!(out, "{:8x}:  {hex:<16}  {}", line.address, line.text);
        let _ = match &line.comment {
            Some(comment) => writeln!(out, "  # {comment}"),
            None => writeln!(out),
        };
    }
    out
}

/// A source text that assembles to the same bytes at the same addresses.
#[must_use]
pub fn source(dialect: Dialect<'_>, lines: &[Disassembled]) -> String {
    let mut out = String::new();
    if let Some(first) = lines.first() {
        let _ = writeln!(out, ".org {:#x}", first.address);
    }
    let sign = dialect.syntax.line_comments.first();
    for line in lines {
        if let Some(label) = &line.label {
            let _ = writeln!(out, "{label}:");
        }
        let _ = write!(out, "    {}", line.text);
        let _ = match (&line.comment, sign) {
            (Some(comment), Some(sign)) => writeln!(out, "  {sign} {comment}"),
            _ => writeln!(out),
        };
    }
    out
}
