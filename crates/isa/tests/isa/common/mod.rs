//! A dialect for the test table: what a machine has to write beside its table.

use std::sync::LazyLock;

use isa::asm::{
    Cursor, Dialect, Expr, Fail, Image, Op, OperandSlot, OperandValue, Operands, PrintContext,
    Pseudo, Syntax, assemble,
};
use isa::{Diagnostics, FileId, SourceFile, Table};

pub(crate) static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::parse(include_str!("../../data/testv.tsv")).unwrap());

pub(crate) struct TestOperands;

pub(crate) static SYNTAX: Syntax = Syntax {
    // `c.nop`
    code_fill: &[1, 0],
    directives: &[".lanes"],
    ..Syntax::DEFAULT
};

const FENCE: [(char, i64); 4] = [('i', 8), ('o', 4), ('r', 2), ('w', 1)];

impl Operands for TestOperands {
    /// Two sets out of `iorw`, as in `rw, w`; the empty set is `0`.
    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Result<(), Fail> {
        assert_eq!((slot.kind, slot.form.name.as_str()), ("fence", "fence"));
        for (i, value) in out.iter_mut().enumerate() {
            if i > 0 {
                cursor.expect(",")?;
            }
            let letters = cursor.take_while(|c| "iorw0".contains(c));
            let letters = letters.ok_or_else(|| cursor.expected("a set out of i, o, r, w"))?;
            let bit = |c| FENCE.iter().find(|(l, _)| *l == c).map_or(0, |(_, bit)| *bit);
            *value = OperandValue::Now(letters.chars().fold(0, |set, c| set | bit(c)));
        }
        Ok(())
    }

    fn print(&self, _: OperandSlot<'_>, values: &[i64], _: &PrintContext<'_>, out: &mut String) {
        for (i, value) in values.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let set = FENCE.iter().filter(|(_, bit)| value & bit != 0);
            let letters: String = set.map(|(letter, _)| letter).collect();
            out.push_str(if letters.is_empty() { "0" } else { &letters });
        }
    }

    fn function(&self, name: &str, argument: Expr) -> Option<Expr> {
        match name {
            // The upper 20 bits, so that adding the sign-extended lower 12 gives the whole.
            "hi" => Some(argument.with(Op::Add, 0x800).with(Op::And, 0xffff_f000)),
            "lo" => Some(argument.with(Op::Add, 0x800).with(Op::And, 0xfff).with(Op::Sub, 0x800)),
            "twice" => Some(argument.clone().binary(Op::Add, argument)),
            _ => None,
        }
    }

    fn expand(&self, pseudo: &Pseudo<'_>) -> Option<Result<Vec<String>, String>> {
        let lines = match (pseudo.mnemonic, pseudo.operands.as_slice()) {
            ("la" | "li", [(rd, _), (value, known)]) => match known {
                Some(v) if (-2048..2048).contains(v) => vec![format!("addi {rd}, zero, {v}")],
                _ => vec![
                    format!("lui {rd}, %hi({value})"),
                    format!("addi {rd}, {rd}, %lo({value})"),
                ],
            },
            ("la", _) => return Some(Err("`la` takes a register and a value".to_owned())),
            ("forever", _) => vec!["forever".to_owned()],
            ("many", _) => vec!["c.nop".to_owned(); 65],
            _ => return None,
        };
        Some(Ok(lines))
    }
}

pub(crate) fn dialect() -> Dialect<'static> {
    Dialect { table: &TABLE, operands: &TestOperands, syntax: &SYNTAX }
}

/// Assembles, with each finding as `line:column code: message`.
pub(crate) fn try_assemble(text: &str) -> Result<Image, Vec<String>> {
    assemble(dialect(), FileId(0), text).map_err(|d| findings(text, &d))
}

pub(crate) fn findings(text: &str, diagnostics: &Diagnostics) -> Vec<String> {
    let file = SourceFile::new("t.s", text);
    let show = |d: &isa::Diagnostic| {
        let at = d.primary.as_ref().map_or(String::new(), |label| {
            let at = file.line_col(label.span.start);
            format!("{}:{} ", at.line, at.column)
        });
        format!("{at}{}: {}", d.code, d.message)
    };
    diagnostics.iter().map(show).collect()
}

/// The 32-bit words of the first segment.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn words(text: &str) -> Vec<u32> {
    let image = try_assemble(text).unwrap();
    let bytes = &image.segments[0].bytes;
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}
