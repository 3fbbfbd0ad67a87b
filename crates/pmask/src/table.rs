//! The instruction table, and the assembly language on top of it.

use std::sync::LazyLock;

use isa::asm::{Dialect, Section, Syntax};
use isa::{FormId, Table};

use crate::asm::RvOperands;
use crate::op::{Op, op_of};

/// The address where program text and main memory start.
pub const TEXT_BASE: u64 = 0x8000_0000;

static SYNTAX: Syntax = Syntax {
    line_comments: &["#", "//"],
    separator: Some(';'),
    sections: &[
        Section { name: ".text", base: TEXT_BASE, code: true },
        Section { name: ".rodata", base: TEXT_BASE + 0x10_0000, code: false },
        Section { name: ".data", base: TEXT_BASE + 0x20_0000, code: false },
        Section { name: ".bss", base: TEXT_BASE + 0x40_0000, code: false },
    ],
    // `c.nop`: instructions are multiples of two bytes.
    code_fill: &[1, 0],
    directives: &[".level"],
    ..Syntax::DEFAULT
};

/// The table with the operation of each form.
pub(crate) struct Forms {
    pub(crate) table: Table,
    pub(crate) ops: Vec<Op>,
}

/// The embedded table is part of the program, and a test reads it, so it is correct here.
#[allow(clippy::expect_used, clippy::unwrap_used, reason = "embedded, and read by a test")]
pub(crate) static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let table = match Table::parse(include_str!("rv64.tsv")) {
        Ok(table) => table,
        Err(errors) => panic!("{errors}"),
    };
    let ops = table.forms().iter().map(|form| match form.attribute("as") {
        Some(_) => Op::Illegal,
        None => op_of(&form.name).unwrap_or(Op::Illegal),
    });
    let ops = ops.collect();
    Forms { table, ops }
});

/// The instruction table: RV64IMAFDC, Zicsr, Zifencei, Zba, Zbb, Zbc, Zbs, PMASK, RSV, CEXP-M1 and
/// `RT.BBOX`.
#[must_use]
pub fn table() -> &'static Table {
    &FORMS.table
}

/// The operation of a form.
#[must_use]
pub fn operation(form: FormId) -> Op {
    FORMS.ops.get(form.index()).copied().unwrap_or(Op::Illegal)
}

/// The assembly language.
#[must_use]
pub fn dialect() -> Dialect<'static> {
    Dialect { table: table(), operands: &RvOperands, syntax: &SYNTAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_an_operation() {
        let table = table();
        for (id, form) in table.iter() {
            match form.attribute("as") {
                Some(target) => {
                    let name = target.split(' ').next().unwrap();
                    assert!(table.find(name).is_some(), "{}: no form {name}", form.name);
                }
                None => {
                    let instruction = form.attribute("assembly-only").is_none();
                    assert_eq!(operation(id) != Op::Illegal, instruction, "{}", form.name);
                }
            }
        }
    }
}
