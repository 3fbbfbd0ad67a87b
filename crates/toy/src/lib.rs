//! A machine in fifty lines: the smallest instruction set behind the
//! [`Machine`](simt::machine::Machine) trait.
//!
//! It shows how little a machine is when the house does the rest. Its table (`toy.tsv`) yields
//! decoder, encoder, assembler, disassembler and reference page; the module `exec` maps its 19
//! instructions to lane arithmetic, guest memory and lane slots; everything else here is how it is
//! loaded and launched.
//!
//! The machine: a group of up to 64 lanes runs one instruction at a time under one program counter.
//! Each lane has eight 64-bit registers and three predicates; the group has eight uniform
//! registers. There is no divergence: control flow is uniform, and paths of lanes are predicates.
//! Code and data are apart: code starts at address 0 of its own space and is not guest memory;
//! `.data` lies at `0x1_0000` of guest memory.

mod conform;
mod exec;
mod inspect;
mod machine;

use std::sync::LazyLock;

use isa::asm::{Dialect, Image, PlainOperands, Syntax};
use isa::disasm::Disassembled;
use isa::{Diagnostic, Diagnostics, FileId, Table};

pub use conform::{TABLE as CONFORM_TABLE, conform};
use machine::{DATA, IMAGE_LIMIT};
pub use machine::{Launch, LaunchError, LoadError, Program, State, Toy, Trap};

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::parse(include_str!("toy.tsv")).unwrap_or_else(|errors| panic!("{errors}"))
});

/// The instruction table.
#[must_use]
pub fn table() -> &'static Table {
    &TABLE
}

/// Nothing of its own but `.param NAME`, which names what `s0`, `s1`, ... start with.
static SYNTAX: Syntax = Syntax { directives: &[".param"], ..Syntax::DEFAULT };

/// The assembly language: nothing beside the table and `.param`.
#[must_use]
pub fn dialect() -> Dialect<'static> {
    Dialect { table: table(), operands: &PlainOperands, syntax: &SYNTAX }
}

/// The parameters that a program declares, one `.param NAME` each; they arrive in `s0`, `s1`, ...
/// in this order.
///
/// # Errors
/// What is not a name, is there twice, or has no register left.
pub fn parameters(image: &Image) -> Result<Vec<String>, Diagnostics> {
    let mut names: Vec<String> = Vec::new();
    let mut found = Diagnostics::new();
    for directive in &image.directives {
        let name = &directive.arguments;
        let wordy = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let wrong = if name.is_empty() || !name.chars().all(wordy) {
            "`.param` takes one name"
        } else if names.contains(name) {
            "this parameter is declared twice"
        } else if names.len() == 8 {
            "there are 8 uniform registers, so 8 parameters"
        } else {
            names.push(name.clone());
            continue;
        };
        found.push(Diagnostic::error("toy::param", wrong).at(directive.span, ""));
    }
    if found.has_errors() { Err(found) } else { Ok(names) }
}

/// Assembles a text whose findings refer to `file`.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn assemble(file: FileId, text: &str) -> Result<Image, Diagnostics> {
    isa::asm::assemble(dialect(), file, text)
}

/// The binary of an assembled program, as [`Toy`] loads it: code from address 0, data from
/// `0x1_0000` on, zeros between.
///
/// # Errors
/// If it is too long, or code reaches into data.
pub fn binary(image: &Image) -> Result<Vec<u8>, LoadError> {
    let end = |s: &isa::asm::Segment| s.address.saturating_add(s.bytes.len() as u64);
    let code = image.segments.iter().filter(|s| s.address < DATA).map(end).max();
    if let Some(end) = code.filter(|&end| end > DATA) {
        return Err(LoadError::CodeInData(end));
    }
    let length = image.segments.iter().map(end).max().unwrap_or(0);
    image.flat(IMAGE_LIMIT).ok_or(LoadError::TooLong(length))
}

/// A source text of a binary that assembles to the same binary.
#[must_use]
pub fn source(binary: &[u8]) -> String {
    let (code, data) = binary.split_at(binary.len().min(DATA as usize));
    // Zeros between code and data are not code, but up to three may end the last instruction.
    let used = if data.is_empty() { code.len() } else { (trimmed(code) + 3).min(code.len()) };
    let mut out = isa::disasm::source(dialect(), &disassemble(&code[..used], 0));
    if !data.is_empty() {
        out.push_str(".data\n");
    }
    for bytes in data.chunks(16) {
        let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
        out.push_str(&format!("    .byte {}\n", list.join(", ")));
    }
    out
}

/// The length without zeros at the end.
pub(crate) fn trimmed(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1)
}

/// Disassembles code that lies at an address.
#[must_use]
pub fn disassemble(code: &[u8], address: u64) -> Vec<Disassembled> {
    isa::disasm::disassemble(dialect(), code, address)
}
