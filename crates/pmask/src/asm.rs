//! The assembly language beyond the table: operand kinds of its own, pseudo-instructions, `.level`.
//!
//! Syntax is that of GNU as; a PMASK bank is written `2` or `pbank=2`, a branch target with or
//! without a leading `%`.
//!
//! | pseudo-instruction | stands for |
//! |---|---|
//! | `li rd, value` | the shortest sequence of `lui`, `addi`, `addiw`, `slli` for a known value |
//! | `la rd, symbol` (`lla`) | `auipc`, `addi` |
//! | `call symbol`, `tail symbol` | `auipc`, `jalr` through `ra` or `t1` |
//! | `ld rd, symbol` and the other loads | `auipc`, load |
//!
//! `%hi(x)` and `%lo(x)` are the 20 and 12 bits for `lui` and an addition; `.level m1` or `.level
//! m2` declares what the machine offers, and instructions above it are warned of.

use isa::asm::{
    Cursor, Expr, Fail, Image, Op, OperandSlot, OperandValue, Operands, PrintContext, Pseudo,
    Relation, assemble as assemble_text,
};
use isa::{Diagnostic, Diagnostics, FileId};

use crate::csr;
use crate::table::{dialect, table};

/// The operand kinds that are not sets of names.
pub(crate) struct RvOperands;

const FENCE: [(char, i64); 4] = [('i', 8), ('o', 4), ('r', 2), ('w', 1)];

impl Operands for RvOperands {
    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Result<(), Fail> {
        match (slot.kind, out) {
            ("bank", [bank]) => {
                if cursor.eat("pbank") {
                    cursor.expect("=")?;
                }
                *bank = OperandValue::Later(cursor.expr()?, Relation::Absolute);
            }
            ("label", [target]) => *target = OperandValue::Later(label(cursor)?, Relation::Target),
            ("csr", [number]) => *number = csr_operand(cursor)?,
            ("lui", [value]) => *value = compressed_upper(cursor)?,
            ("fence", [pred, succ]) => {
                *pred = fence_set(cursor)?;
                cursor.expect(",")?;
                *succ = fence_set(cursor)?;
            }
            ("order", [acquire, release]) => {
                let both = cursor.eat(".aqrl");
                let aq = both || cursor.eat(".aq");
                let rl = both || cursor.eat(".rl");
                *acquire = OperandValue::Now(aq.into());
                *release = OperandValue::Now(rl.into());
            }
            ("ff", [a, b]) => {
                let register = float_register(cursor)?;
                *a = OperandValue::Now(register);
                *b = OperandValue::Now(register);
            }
            (kind, _) => {
                let message = format!("operand kind `{kind}` cannot be read");
                return Err(cursor.fail("asm::operand-kind", message));
            }
        }
        Ok(())
    }

    fn print(
        &self,
        slot: OperandSlot<'_>,
        values: &[i64],
        at: &PrintContext<'_>,
        out: &mut String,
    ) {
        match (slot.kind, values) {
            ("label", [distance]) => out.push_str(&at.target(*distance)),
            ("csr", [number]) => match csr::name(*number as u16) {
                Some(name) => out.push_str(name),
                None => out.push_str(&format!("{number:#x}")),
            },
            ("fence", [pred, succ]) => {
                out.push_str(&format!("{}, {}", fence_letters(*pred), fence_letters(*succ)));
            }
            ("order", [acquire, release]) => out.push_str(match (acquire, release) {
                (0, 0) => "",
                (_, 0) => ".aq",
                (0, _) => ".rl",
                _ => ".aqrl",
            }),
            (_, [value, ..]) => out.push_str(&value.to_string()),
            _ => {}
        }
    }

    fn function(&self, name: &str, argument: Expr) -> Option<Expr> {
        let rounded = argument.with(Op::Add, 0x800);
        match name {
            // The upper 20 of 32 bits, such that adding the sign-extended lower 12 gives the whole.
            "hi" => Some(rounded.with(Op::Shr, 12).with(Op::And, 0xf_ffff)),
            "lo" => Some(rounded.with(Op::And, 0xfff).with(Op::Sub, 0x800)),
            _ => None,
        }
    }

    fn expand(&self, pseudo: &Pseudo<'_>) -> Option<Result<Vec<String>, String>> {
        let name = pseudo.mnemonic.to_ascii_lowercase();
        let lines = match (name.as_str(), pseudo.operands.as_slice()) {
            ("li", [(rd, _), (text, value)]) => match value {
                Some(value) => load_immediate(rd, *value as u64 as i64),
                None => {
                    return Some(Err(format!(
                        "`li` needs a value that is known here, `{text}` is not; `la` takes labels"
                    )));
                }
            },
            ("la" | "lla", [(rd, _), (symbol, _)]) => vec![
                format!("auipc {rd}, %hi({symbol} - .)"),
                format!("addi {rd}, {rd}, %lo({symbol} - . + 4)"),
            ],
            ("call", [(symbol, _)]) => far_jump("ra", "ra", symbol),
            ("tail", [(symbol, _)]) => far_jump("zero", "t1", symbol),
            ("lb" | "lh" | "lw" | "ld" | "lbu" | "lhu" | "lwu", [(rd, _), (symbol, _)])
                if !symbol.contains('(') =>
            {
                vec![
                    format!("auipc {rd}, %hi({symbol} - .)"),
                    format!("{name} {rd}, %lo({symbol} - . + 4)({rd})"),
                ]
            }
            ("li" | "la" | "lla", _) => {
                return Some(Err(format!("`{name}` takes a register and a value")));
            }
            ("call" | "tail", _) => return Some(Err(format!("`{name}` takes a label"))),
            _ => return None,
        };
        Some(Ok(lines))
    }
}

fn far_jump(link: &str, through: &str, symbol: &str) -> Vec<String> {
    vec![
        format!("auipc {through}, %hi({symbol} - .)"),
        format!("jalr {link}, %lo({symbol} - . + 4)({through})"),
    ]
}

/// A label, after `%` or not.
fn label(cursor: &mut Cursor<'_>) -> Result<Expr, Fail> {
    let mark = cursor.mark();
    if cursor.eat("%") && cursor.word().is_some() && cursor.peek() != Some('(') {
        cursor.back_to(mark);
        cursor.eat("%");
    } else {
        cursor.back_to(mark);
    }
    cursor.expr()
}

fn csr_operand(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    let mark = cursor.mark();
    if let Some(number) = cursor.word().and_then(csr::number) {
        return Ok(OperandValue::Now(number.into()));
    }
    cursor.back_to(mark);
    Ok(OperandValue::Later(cursor.expr()?, Relation::Absolute))
}

/// The immediate of `c.lui`: -32 to 31, or, as in GNU as, its low 20 bits.
fn compressed_upper(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    let expr = cursor.expr()?;
    Ok(match expr.as_constant() {
        Some(value @ 0xf_ffe0..=0xf_ffff) => OperandValue::Now(value as i64 - 0x10_0000),
        _ => OperandValue::Later(expr, Relation::Absolute),
    })
}

fn fence_set(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    let letters = cursor.take_while(|c| "iorw0".contains(c));
    let letters = letters.ok_or_else(|| cursor.expected("a set out of i, o, r, w"))?;
    let bit = |c| FENCE.iter().find(|(letter, _)| *letter == c).map_or(0, |(_, bit)| *bit);
    Ok(OperandValue::Now(letters.chars().fold(0, |set, c| set | bit(c))))
}

fn fence_letters(set: i64) -> String {
    let letters: String =
        FENCE.iter().filter(|(_, bit)| set & bit != 0).map(|(letter, _)| letter).collect();
    if letters.is_empty() { "0".to_owned() } else { letters }
}

fn float_register(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let kind = table().kinds().iter().find(|k| k.name == "f").map(|k| &k.kind);
    let mark = cursor.mark();
    let word = cursor.word();
    let found = match (kind, word) {
        (Some(isa::table::Kind::Names(names)), Some(word)) => names.value(word, true),
        _ => None,
    };
    found.ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("ft0, ft1, ... ft11")
    })
}

/// The instructions that make a 64-bit value in a register.
fn load_immediate(rd: &str, value: i64) -> Vec<String> {
    if (-2048..2048).contains(&value) {
        return vec![format!("addi {rd}, zero, {value}")];
    }
    let low = (value << 52) >> 52;
    if i64::from(value as i32) == value {
        let upper = (value.wrapping_sub(low) >> 12) & 0xf_ffff;
        let mut lines = vec![format!("lui {rd}, {upper:#x}")];
        if low != 0 {
            lines.push(format!("addiw {rd}, {rd}, {low}"));
        }
        return lines;
    }
    // The rest has at least 12 significant bits less: this recurs at most four times.
    let rest = value.wrapping_sub(low) >> 12;
    let zeros = rest.trailing_zeros().min(51);
    let mut lines = load_immediate(rd, rest >> zeros);
    lines.push(format!("slli {rd}, {rd}, {}", 12 + zeros));
    if low != 0 {
        lines.push(format!("addi {rd}, {rd}, {low}"));
    }
    lines
}

/// Assembles a text, with warnings for instructions above a level declared with `.level`.
///
/// # Errors
/// Returns all errors of the text.
pub fn assemble(file: FileId, text: &str) -> Result<Image, Diagnostics> {
    let mut image = assemble_text(dialect(), file, text)?;
    let warnings = level_warnings(&image);
    if warnings.has_errors() {
        return Err(warnings);
    }
    image.warnings.append(warnings);
    Ok(image)
}

/// Returns warnings for instructions above the levels that `.level` directives declare.
fn level_warnings(image: &Image) -> Diagnostics {
    let mut found = Diagnostics::new();
    let mut levels = Vec::new();
    for directive in &image.directives {
        match directive.arguments.trim().to_ascii_lowercase().as_str() {
            "m1" => levels.push((directive.span.start, true)),
            "m2" => levels.push((directive.span.start, false)),
            other => found.push(
                Diagnostic::error("pmask::level", format!("there is no level `{other}`"))
                    .at(directive.span, "")
                    .help("levels are m1 and m2"),
            ),
        }
    }
    if levels.is_empty() {
        return found;
    }
    for line in &image.lines {
        let before = levels.partition_point(|(start, _)| *start < line.span.start);
        let only_m1 = before.checked_sub(1).and_then(|i| levels.get(i)).is_some_and(|l| l.1);
        let bytes = image.bytes_at(line.address).unwrap_or_default();
        let form = table().decode_bytes(bytes).ok().map(|i| table().form(i.form));
        if let (true, Some(form)) = (only_m1, form)
            && matches!(form.attribute("ext"), Some("M2" | "FUSED"))
        {
            let message = format!("`{}` is not in level m1", form.name);
            found.push(
                Diagnostic::warning("pmask::level", message)
                    .at(line.span, "")
                    .note("it raises an illegal-instruction trap on a machine of level m1"),
            );
        }
    }
    found
}

/// A disassembly of bytes at an address, one instruction a line.
#[must_use]
pub fn disassemble(bytes: &[u8], address: u64) -> Vec<isa::disasm::Disassembled> {
    isa::disasm::disassemble(dialect(), bytes, address)
}

/// The same words as `.insn` and `.4byte` lines for GNU as, whose own disassembler cannot name
/// them.
#[must_use]
pub fn insn_line(word: u32) -> String {
    let field = |lsb: u32, bits: u32| word >> lsb & ((1 << bits) - 1);
    let (opcode, rd, f3) = (field(0, 7), field(7, 5), field(12, 3));
    let (rs1, rs2, f7) = (field(15, 5), field(20, 5), field(25, 7));
    match (opcode, f3) {
        (0x2b, 6 | 7) => {
            let distance = field(8, 4) << 1 | field(25, 6) << 5 | field(7, 1) << 11;
            let distance = distance as i32 - if field(31, 1) == 1 { 4096 } else { 0 };
            format!(".insn b {opcode:#x}, {f3}, x{rs1}, x{rs2}, .{distance:+}")
        }
        (0x2b, 2) => format!(".insn r {opcode:#x}, {f3}, {f7:#x}, x{rd}, x{rs1}, x{rs2}"),
        (0x0b, _) => {
            format!(".insn i {opcode:#x}, {f3}, x{rd}, x{rs1}, {}", (word as i32) >> 20)
        }
        _ => format!(".4byte {word:#010x}"),
    }
}
