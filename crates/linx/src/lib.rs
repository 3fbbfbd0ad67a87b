//! LinxISA v0.4: block headers, SIMT kernel bodies under an EXEC mask, precise traps.
//!
//! The target is v0.4 as released at commit 76d65dc of LinxISA/linx-isa; encodings of v0.57 and
//! later are not mixed in. One table, `forms.tsv`, yields decoder, encoder, assembler, disassembler
//! and reference page of all 740 forms; that table is derived from LinxISA/linx-isa (BSD-3-Clause,
//! Copyright (c) 2026 Kevin Zhou; see `licenses/LINX-ISA.txt`).

pub mod action;
mod bodies;
mod body;
pub mod cases;
mod checks;
mod compute;
mod conflict;
mod conform;
mod effects;
mod elf;
mod encoding;
mod engine;
mod frame;
mod header;
mod host;
mod insn;
mod inspect;
mod lints;
mod machine;
mod memory;
pub mod names;
mod operand;
mod options;
mod parameters;
mod program;
mod prose;
pub mod regid;
mod regions;
mod rows;
mod scalar;
mod state;
mod system;
mod tile;
mod trap;
mod variant;
mod vector;
mod vmem;

use std::sync::LazyLock;

use isa::asm::{Dialect, Image, Section, Syntax};
use isa::{Diagnostics, FileId, Table};

pub use conflict::{Conflict, Shared};
pub use conform::{Report, Row, conform, tight};
pub use elf::{ElfProgramError, is_compiled, load_elf};
pub use encoding::{Conventions, Encoding};
pub use machine::Linx;
pub use names::TileOps;
pub use operand::LinxOperands;
pub use options::{OPTIONS, OptionInfo};
pub use parameters::{Parameter, ParameterType, parameters};
pub use program::{LoadError, Program, binary};
pub use prose::prose;
pub use regid::Codec;
pub use regions::{BodyBlock, Runs};
pub use state::{Inactive, Launch, LaunchError, Linear, Mark, Options, POISON, Region, State};
pub use trap::{Detail, Family, Trap, TrapNum};
pub use variant::{Variant, VariantError};

/// The address where code starts.
pub const TEXT: u64 = 0x1_0000;
/// The address where `.data` starts.
pub const DATA: u64 = 0x10_0000;

/// The address where `.rodata` starts.
pub const RODATA: u64 = 0x40_0000;
/// The address where `.bss` starts.
pub const BSS: u64 = 0x80_0000;

/// The source of the table.
const FORMS: &str = include_str!("forms.tsv");

fn build(encoding: Encoding, codec: Codec) -> Table {
    let text = encoding.conventions.forms(FORMS);
    parsed(&text, encoding.tile_ops, codec).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The table of forms that differ from those of LinxISA.
fn build_from(forms: &str) -> Result<Table, isa::table::TableErrors> {
    parsed(forms, TileOps::V04, Codec::RegId10)
}

/// Reads forms; the names that stand for the codes of the operand codec become numbers.
fn parsed(forms: &str, tile_ops: TileOps, codec: Codec) -> Result<Table, isa::table::TableErrors> {
    let mut text = forms.to_owned();
    for (name, ranges) in regid::legal_of(codec) {
        text = text.replace(name, &ranges);
    }
    Table::parse(&text.replace("@tileop", &tile_ops.legal()))
}

/// The tables, in the order of [`Encoding::index`].
static TABLES: [LazyLock<Table>; 4] = [
    LazyLock::new(|| build(Encoding::at(0), Codec::RegId10)),
    LazyLock::new(|| build(Encoding::at(1), Codec::RegId10)),
    LazyLock::new(|| build(Encoding::at(2), Codec::RegId10)),
    LazyLock::new(|| build(Encoding::at(3), Codec::RegId10)),
];
static OTHER: LazyLock<Table> = LazyLock::new(|| build(Encoding::default(), Codec::Other));

/// The instruction table. Encodings differ in the legal numbers of one form (tile operations) and
/// in the units of some fields (conventions); the order of the forms is the same.
#[must_use]
pub fn table(encoding: impl Into<Encoding>) -> &'static Table {
    let encoding = encoding.into();
    encoding.variant.map_or_else(|| &*TABLES[encoding.index()], |variant| &variant.table)
}

static SYNTAX: Syntax = Syntax {
    hash_in_names: true,
    directives: &[".param"],
    sections: &[
        Section { name: ".text", base: TEXT, code: true },
        Section { name: ".data", base: DATA, code: false },
        Section { name: ".rodata", base: RODATA, code: false },
        Section { name: ".bss", base: BSS, code: false },
    ],
    ..Syntax::DEFAULT
};

const fn operands(index: usize, exact: bool) -> LinxOperands {
    LinxOperands { exact, encoding: Encoding::at(index), codec: Codec::RegId10 }
}

/// Operands of listings and exact ones, in the order of [`Encoding::index`].
static OPERANDS: [[LinxOperands; 2]; 4] = [
    [operands(0, false), operands(0, true)],
    [operands(1, false), operands(1, true)],
    [operands(2, false), operands(2, true)],
    [operands(3, false), operands(3, true)],
];

/// The assembly language. With `exact`, what it prints reads back to the same bits; without,
/// address bases print as in listings, which leave their type out.
#[must_use]
pub fn dialect(encoding: impl Into<Encoding>, exact: bool) -> Dialect<'static> {
    let encoding = encoding.into();
    let operands = &OPERANDS[encoding.index()][usize::from(exact)];
    Dialect { table: table(encoding), operands, syntax: &SYNTAX }
}

/// The assembly language in codec B, another operand codec of the 64-bit forms: for reading and
/// writing, not for running.
#[must_use]
pub fn other_dialect() -> Dialect<'static> {
    static OPERANDS: LinxOperands =
        LinxOperands { exact: true, encoding: Encoding::at(0), codec: Codec::Other };
    Dialect { table: &OTHER, operands: &OPERANDS, syntax: &SYNTAX }
}

/// Assembles a text whose findings refer to `file`.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn assemble(
    file: FileId,
    text: &str,
    encoding: impl Into<Encoding>,
) -> Result<Image, Diagnostics> {
    let encoding = encoding.into();
    match isa::asm::assemble(dialect(encoding, true), file, text) {
        Ok(image) => checks::shifts(image, encoding),
        Err(found) => Err(checks::newer(&found, text)),
    }
}

/// Listing of a flat binary's code, and of its data in bytes. Texts are those of listings: an
/// address base does not show its type. [`source`] is exact.
#[must_use]
pub fn listing(binary: &[u8], encoding: impl Into<Encoding>) -> String {
    isa::disasm::listing(&disassemble(code_of(binary), TEXT, encoding))
}

/// Instructions that lie at an address, as listings print them.
#[must_use]
pub fn disassemble(
    code: &[u8],
    address: u64,
    encoding: impl Into<Encoding>,
) -> Vec<isa::disasm::Disassembled> {
    let encoding = encoding.into();
    let exact = isa::disasm::disassemble(dialect(encoding, true), code, address);
    let labels: std::collections::BTreeMap<u64, String> =
        exact.iter().filter_map(|l| Some((l.address, l.label.clone()?))).collect();
    let label = |target: u64| labels.get(&target).cloned();
    let shown = |mut line: isa::disasm::Disassembled| {
        if let (Some(found), None) = (line.instruction, &line.comment) {
            let at = isa::asm::PrintContext { address: line.address, label: &label };
            line.text = dialect(encoding, false).print_at(found, &at);
        }
        if line.instruction.is_none()
            && let Some(why) = insn::refusal(&line.bytes, encoding)
        {
            line.comment = Some(why);
        }
        line
    };
    exact.into_iter().map(shown).collect()
}

/// A source text that assembles to the same binary.
#[must_use]
pub fn source(binary: &[u8], tile_ops: TileOps) -> String {
    let code = code_of(binary);
    let lines = isa::disasm::disassemble(dialect(tile_ops, true), code, TEXT);
    let mut out = isa::disasm::source(dialect(tile_ops, true), &lines);
    let data = binary.get((DATA - TEXT) as usize..).unwrap_or_default();
    if !data.is_empty() {
        out.push_str(".data\n");
    }
    for bytes in data.chunks(16) {
        let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
        out.push_str(&format!("    .byte {}\n", list.join(", ")));
    }
    out
}

/// The code of a flat binary, without the zeros between code and data.
fn code_of(binary: &[u8]) -> &[u8] {
    let room = (DATA - TEXT) as usize;
    if binary.len() <= room {
        return binary;
    }
    let code = &binary[..room];
    let used = code.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &code[..(used + 2).min(room) & !1]
}
