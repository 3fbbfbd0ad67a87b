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
mod engine;
mod header;
mod insn;
mod machine;
pub mod names;
mod operand;
mod options;
mod parameters;
mod program;
mod prose;
pub mod regid;
mod scalar;
mod state;
mod system;
mod tile;
mod trap;
mod vector;
mod vmem;

use std::sync::LazyLock;

use isa::asm::{Dialect, Image, Section, Syntax};
use isa::{Diagnostics, FileId, Table};

pub use conflict::{Conflict, Shared};
pub use conform::{Report, Row, conform, tight};
pub use machine::Linx;
pub use names::TileOps;
pub use operand::LinxOperands;
pub use options::{OPTIONS, OptionInfo};
pub use parameters::{Parameter, ParameterType, parameters};
pub use program::{LoadError, Program, binary};
pub use prose::prose;
pub use regid::Codec;
pub use state::{Inactive, Launch, LaunchError, Linear, Options, POISON, Region, State};
pub use trap::{Detail, Family, Trap, TrapNum};

/// The address where code starts.
pub const TEXT: u64 = 0x1_0000;
/// The address where `.data` starts.
pub const DATA: u64 = 0x10_0000;

/// The source of the table.
const FORMS: &str = include_str!("forms.tsv");

fn build(tile_ops: TileOps, codec: Codec) -> Table {
    let mut text = FORMS.to_owned();
    for (name, ranges) in regid::legal_of(codec) {
        text = text.replace(name, &ranges);
    }
    text = text.replace("@tileop", &tile_ops.legal());
    Table::parse(&text).unwrap_or_else(|errors| panic!("{errors}"))
}

static V04: LazyLock<Table> = LazyLock::new(|| build(TileOps::V04, Codec::RegId10));
static OTHER: LazyLock<Table> = LazyLock::new(|| build(TileOps::V04, Codec::Other));
static V03: LazyLock<Table> = LazyLock::new(|| build(TileOps::V03, Codec::RegId10));

/// The instruction table. The two numberings of tile operations differ in the legal numbers of one
/// form.
#[must_use]
pub fn table(tile_ops: TileOps) -> &'static Table {
    match tile_ops {
        TileOps::V04 => &V04,
        TileOps::V03 => &V03,
    }
}

static SYNTAX: Syntax = Syntax {
    hash_in_names: true,
    directives: &[".param"],
    sections: &[
        Section { name: ".text", base: TEXT, code: true },
        Section { name: ".data", base: DATA, code: false },
    ],
    ..Syntax::DEFAULT
};

static OPERANDS: [LinxOperands; 4] = [
    LinxOperands { exact: false, tile_ops: TileOps::V04, codec: Codec::RegId10 },
    LinxOperands { exact: true, tile_ops: TileOps::V04, codec: Codec::RegId10 },
    LinxOperands { exact: false, tile_ops: TileOps::V03, codec: Codec::RegId10 },
    LinxOperands { exact: true, tile_ops: TileOps::V03, codec: Codec::RegId10 },
];

/// The assembly language. With `exact`, what it prints reads back to the same bits; without,
/// address bases print as in listings, which leave their type out.
#[must_use]
pub fn dialect(tile_ops: TileOps, exact: bool) -> Dialect<'static> {
    let index = 2 * usize::from(tile_ops == TileOps::V03) + usize::from(exact);
    Dialect { table: table(tile_ops), operands: &OPERANDS[index], syntax: &SYNTAX }
}

/// The assembly language in codec B, another operand codec of the 64-bit forms: for reading and
/// writing, not for running.
#[must_use]
pub fn other_dialect() -> Dialect<'static> {
    static OPERANDS: LinxOperands =
        LinxOperands { exact: true, tile_ops: TileOps::V04, codec: Codec::Other };
    Dialect { table: &OTHER, operands: &OPERANDS, syntax: &SYNTAX }
}

/// Assembles a text whose findings refer to `file`.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn assemble(file: FileId, text: &str, tile_ops: TileOps) -> Result<Image, Diagnostics> {
    match isa::asm::assemble(dialect(tile_ops, true), file, text) {
        Ok(image) => checks::shifts(image, tile_ops),
        Err(found) => Err(checks::newer(&found, text)),
    }
}

/// Listing of a flat binary's code, and of its data in bytes. Texts are those of listings: an
/// address base does not show its type. [`source`] is exact.
#[must_use]
pub fn listing(binary: &[u8], tile_ops: TileOps) -> String {
    isa::disasm::listing(&disassemble(code_of(binary), TEXT, tile_ops))
}

/// Instructions that lie at an address, as listings print them.
#[must_use]
pub fn disassemble(code: &[u8], address: u64, tile_ops: TileOps) -> Vec<isa::disasm::Disassembled> {
    let exact = isa::disasm::disassemble(dialect(tile_ops, true), code, address);
    let labels: std::collections::BTreeMap<u64, String> =
        exact.iter().filter_map(|l| Some((l.address, l.label.clone()?))).collect();
    let label = |target: u64| labels.get(&target).cloned();
    let shown = |mut line: isa::disasm::Disassembled| {
        if let (Some(found), None) = (line.instruction, &line.comment) {
            let at = isa::asm::PrintContext { address: line.address, label: &label };
            line.text = dialect(tile_ops, false).print_at(found, &at);
        }
        if line.instruction.is_none()
            && let Some(why) = insn::refusal(&line.bytes, tile_ops)
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
