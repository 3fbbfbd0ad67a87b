//! The assembly language beyond the table.
//!
//! An instruction's mask and packet bits follow its operands: `add x1, x2, x3, p5, 1, 0` names the
//! predicate, whether the instruction starts a packet, and whether it ends one. The defaults are
//! p0, 0 and 1: every instruction is a packet of its own. `@p5` and `!1,0` mean the same, alone or
//! together. Comments start with `#`, `;` or `//`. Code starts at 0x24, after the launch block;
//! data at 0x10_0000. A number after `jal` or `jpnz` is a distance. `.param NAME` and `.param NAME
//! ptr` declare the contents of the block of arguments. `prsw p1..p5, 8(x9)` and `prlw` of a range
//! stand for an instruction for each predicate, with words one after another.
//!
//! Texts of the published project (Purdue-SoCET/cardinal) are read as they are: predicates as bare
//! numbers (`mul x8, x3, x6, 2`, `bne 2, x12, x0`), its placeholder `pred` for p0, `org ADDRESS`,
//! and a predicate behind a jump, which has none (a warning; its assembler drops it).

use isa::asm::{
    Cursor, Dialect, Expr, Fail, Image, OperandSlot, OperandValue, Operands, PrintContext, Pseudo,
    Relation, Section, Syntax, assemble as assemble_text,
};
use isa::{Diagnostic, Diagnostics, FileId};

use crate::encoding::Encoding;
use crate::op::Insn;

/// The address where code starts by default: the first word after the launch block.
pub const CODE_START: u32 = 0x24;
/// The address where code ends and data starts.
pub const CODE_END: u32 = 0x10_0000;

static SYNTAX: Syntax = Syntax {
    line_comments: &["#", ";", "//"],
    separator: None,
    directives: &[".param"],
    bare_directives: &[("org", ".org")],
    sections: &[
        Section { name: ".text", base: CODE_START as u64, code: true },
        Section { name: ".data", base: CODE_END as u64, code: false },
    ],
    ..Syntax::DEFAULT
};

struct PrfOperands;

/// Parses what follows the operands: the predicate and the packet bits.
fn guard(
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: &mut [OperandValue],
) -> Result<(), Fail> {
    let place = |name: &str| {
        let named = |&i: &usize| slot.form.fields.get(i).is_some_and(|f| f.name == name);
        slot.fields.iter().position(named)
    };
    let mut set = |name: &str, value: OperandValue| {
        if let Some(value_of) = place(name).and_then(|i| out.get_mut(i)) {
            *value_of = value;
        }
    };
    let masked = place("pred").is_some();
    if matches!(cursor.peek(), Some('@' | '!')) {
        if cursor.eat("@") {
            if !masked {
                return Err(cursor.fail("prf::guard", "this instruction takes no predicate"));
            }
            set("pred", predicate(cursor)?);
        }
        if cursor.eat("!") {
            set("start", flag(cursor)?);
            cursor.expect(",")?;
            set("end", flag(cursor)?);
        }
        return Ok(());
    }
    // Without operands before it there is no comma either.
    let bare = slot.form.fields.len() == slot.fields.len();
    if !bare {
        cursor.expect(",")?;
    }
    if masked {
        set("pred", predicate(cursor)?);
        if !cursor.eat(",") {
            return Ok(());
        }
    } else if ignored_predicate(cursor) && !cursor.eat(",") {
        return Ok(());
    }
    set("start", flag(cursor)?);
    if cursor.eat(",") {
        set("end", flag(cursor)?);
    }
    Ok(())
}

/// `p5` or `5`, as the number that its field checks; `pred` is p0.
fn predicate(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    let mark = cursor.mark();
    number_of_predicate(cursor).map(OperandValue::Now).ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("a predicate")
    })
}

fn number_of_predicate(cursor: &mut Cursor<'_>) -> Option<i64> {
    if let Ok(Some(number)) = cursor.integer() {
        return i64::try_from(number).ok();
    }
    let word = cursor.word()?;
    if word.eq_ignore_ascii_case("pred") {
        return Some(0);
    }
    word.strip_prefix(['p', 'P'])?.parse::<u8>().ok().map(i64::from)
}

/// Reads a predicate behind a jump, which has no field for one. 0 and 1 are not taken for one: they
/// are packet bits.
fn ignored_predicate(cursor: &mut Cursor<'_>) -> bool {
    let mark = cursor.mark();
    let named = matches!(cursor.peek(), Some('p' | 'P'));
    match number_of_predicate(cursor) {
        Some(number) if (named || number > 1) && number < 32 => true,
        _ => {
            cursor.back_to(mark);
            false
        }
    }
}

fn flag(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    Ok(OperandValue::Later(cursor.expr()?, Relation::Absolute))
}

/// The names of the special registers.
const CSRS: [&str; 4] = ["tid", "bid", "bdim", "argp"];

fn special_register(cursor: &mut Cursor<'_>) -> Result<OperandValue, Fail> {
    let mark = cursor.mark();
    if let Some(word) = cursor.word() {
        let word = word.to_ascii_lowercase();
        let numbered = word.strip_prefix('x').and_then(|n| n.parse::<u16>().ok().map(i64::from));
        let named = CSRS.iter().zip(0..).find_map(|(name, n)| (*name == word).then_some(n));
        if let Some(number) = numbered.or(named) {
            return Ok(OperandValue::Now(number));
        }
        cursor.back_to(mark);
    }
    let expr: Expr = cursor.expr()?;
    Ok(OperandValue::Later(expr, Relation::Absolute))
}

/// The instructions that a store or load of the predicates `p1..p5` to or from words one after
/// another stands for; `None` if the first operand is no range.
fn range(pseudo: &Pseudo<'_>) -> Option<Result<Vec<String>, String>> {
    let word = pseudo.mnemonic.to_ascii_lowercase();
    if word != "prsw" && word != "prlw" {
        return None;
    }
    let (first, last) = pseudo.operands.first()?.0.split_once("..")?;
    let number = |text: &str| {
        let digits = text.trim().strip_prefix(['p', 'P'])?;
        digits.parse::<i64>().ok().filter(|&n| n < i64::from(PREDICATES))
    };
    let (Some(first), Some(last)) = (number(first), number(last)) else {
        return Some(Err("a range of predicates is written `p1..p5`".to_owned()));
    };
    let place = match pseudo.operands.as_slice() {
        [_, (place, _)] => offset_and_base(place),
        _ => None,
    };
    let Some((offset, base)) = place else {
        let form = format!("`{word} p{first}..p{last}, OFFSET(BASE)`, each in a packet of its own");
        return Some(Err(format!("a range takes a number and a register: {form}")));
    };
    if last < first {
        return Some(Err(format!("`p{first}..p{last}` has no predicate")));
    }
    let end = offset.saturating_add(WORD * (last - first));
    if !OFFSETS.contains(&offset) || !OFFSETS.contains(&end) {
        let (least, most) = (OFFSETS.start(), OFFSETS.end());
        return Some(Err(format!(
            "the range takes words at {offset} to {end}; offsets hold {least} to {most}: move the \
             base, or split the range"
        )));
    }
    let line = |p: i64| format!("{word} p{p}, {}({base})", offset + WORD * (p - first));
    Some(Ok((first..=last).map(line).collect()))
}

/// Predicates that fields can name.
const PREDICATES: u8 = 32;
/// Bytes of a predicate in memory.
const WORD: i64 = 4;
/// What the offset of `prsw` and `prlw` holds.
const OFFSETS: std::ops::RangeInclusive<i64> = -32..=31;

/// Reads `OFFSET(BASE)`.
fn offset_and_base(text: &str) -> Option<(i64, &str)> {
    let (offset, base) = text.trim().strip_suffix(')')?.split_once('(')?;
    Some((offset.trim().parse().ok()?, base.trim()))
}

impl Operands for PrfOperands {
    fn expand(&self, pseudo: &Pseudo<'_>) -> Option<Result<Vec<String>, String>> {
        range(pseudo)
    }

    fn is_reserved(&self, word: &str) -> bool {
        let number = word.strip_prefix(['p', 'P']).and_then(|n| n.parse::<u8>().ok());
        number.is_some_and(|n| n < 32)
    }

    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Result<(), Fail> {
        match (slot.kind, out) {
            ("guard", out) => guard(slot, cursor, out),
            ("p", [number]) => {
                *number = predicate(cursor)?;
                Ok(())
            }
            ("csr", [number]) => {
                *number = special_register(cursor)?;
                Ok(())
            }
            (kind, _) => {
                let message = format!("operand kind `{kind}` cannot be read");
                Err(cursor.fail("asm::operand-kind", message))
            }
        }
    }

    fn print(
        &self,
        slot: OperandSlot<'_>,
        values: &[i64],
        _at: &PrintContext<'_>,
        out: &mut String,
    ) {
        let first = values.first().copied().unwrap_or_default();
        match slot.kind {
            "csr" => return out.push_str(&first.to_string()),
            "p" => return out.push_str(&format!("p{first}")),
            _ => {}
        }
        let bare = slot.form.fields.len() == slot.fields.len();
        let comma = if bare { " " } else { ", " };
        match *values {
            [predicate, 0, 1] => out.push_str(&format!("{comma}p{predicate}")),
            [predicate, start, end] => {
                out.push_str(&format!("{comma}p{predicate}, {start}, {end}"));
            }
            [start, end] => out.push_str(&format!("{comma}{start}, {end}")),
            _ => {}
        }
    }
}

/// The assembly language of an encoding.
#[must_use]
pub fn dialect(encoding: Encoding) -> Dialect<'static> {
    Dialect { table: encoding.table(), operands: &PrfOperands, syntax: &SYNTAX }
}

/// Assembles a text whose findings refer to `file`. Warnings report code that can run past its end
/// and packets that do not end.
///
/// # Errors
/// Returns all errors of the text.
pub fn assemble(encoding: Encoding, file: FileId, text: &str) -> Result<Image, Diagnostics> {
    let mut image = assemble_text(dialect(encoding), file, text)?;
    let mut found = Diagnostics::new();
    for segment in &image.segments {
        let end = segment.address.saturating_add(segment.bytes.len() as u64);
        if end > 1 << 32 {
            let message = format!("the program reaches {end:#x}; addresses have 32 bits");
            found.push(Diagnostic::error("prf::address", message));
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    found.append(open_ends(encoding, &image));
    found.append(jump_predicates(&image, text));
    image.warnings.append(found);
    Ok(image)
}

/// Returns the parameters that a program declares, in order: name, and whether it is the address of
/// a buffer. `.param NAME` is a word, `.param NAME ptr` an address. Each takes one word of the
/// block of arguments.
///
/// # Errors
/// Returns diagnostics for words that are not names, repeated names, and unknown kinds.
pub fn parameters(image: &Image) -> Result<Vec<(String, bool)>, Diagnostics> {
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut found = Diagnostics::new();
    for directive in &image.directives {
        let words: Vec<&str> = directive.arguments.split_whitespace().collect();
        let wordy = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let wrong = match words.as_slice() {
            [name, kind @ ..] if matches!(kind, [] | ["ptr" | "word"]) => {
                if !name.chars().all(wordy) {
                    "a parameter's name has letters, digits and `_`"
                } else if names.iter().any(|(other, _)| other == name) {
                    "this parameter is declared twice"
                } else if names.len() == MOST_PARAMETERS {
                    "there are too many parameters"
                } else {
                    names.push(((*name).to_owned(), kind == ["ptr"]));
                    continue;
                }
            }
            _ => "`.param` takes a name, and `ptr` if it is the address of a buffer",
        };
        found.push(Diagnostic::error("prf::param", wrong).at(directive.span, ""));
    }
    if found.has_errors() { Err(found) } else { Ok(names) }
}

/// Most parameters of a program.
const MOST_PARAMETERS: usize = 256;

/// Warnings about jumps that name a predicate: they have none, and the reference assembler drops
/// it.
fn jump_predicates(image: &Image, text: &str) -> Diagnostics {
    let mut found = Diagnostics::new();
    for line in &image.lines {
        let statement = text.get(line.span.range()).unwrap_or_default();
        let first = statement.split_whitespace().next().unwrap_or_default();
        if !first.eq_ignore_ascii_case("jal") && !first.eq_ignore_ascii_case("jalr") {
            continue;
        }
        let is_predicate = |operand: &str| {
            let digits = operand.strip_prefix(['p', 'P']).unwrap_or(operand);
            digits.parse::<u8>().is_ok_and(|n| n > 1 || digits.len() < operand.len())
        };
        // `jalr` has a distance as its third operand.
        let skipped = if first.len() == 3 || statement.contains('(') { 2 } else { 3 };
        if statement.split(',').map(str::trim).skip(skipped).any(is_predicate) {
            let message = format!("`{first}` acts on the whole warp: its predicate has no effect");
            let warning = Diagnostic::warning("prf::jump-predicate", message).at(line.span, "");
            found.push(warning.help("leave it out; `jpnz` is the conditional jump"));
        }
    }
    found
}

/// Warnings about the last instruction of each run of code.
fn open_ends(encoding: Encoding, image: &Image) -> Diagnostics {
    let mut found = Diagnostics::new();
    for segment in image.segments.iter().filter(|s| s.section == ".text") {
        let last = segment.address + (segment.bytes.len() as u64 & !3);
        let mut insns =
            segment.bytes.chunks_exact(4).filter_map(|word| Insn::decode(encoding, word));
        let Some(insn) = insns.next_back() else { continue };
        let span = last.checked_sub(4).and_then(|at| image.line_at(at)).map(|line| line.span);
        let mut warn = |code, message: &str, help: &str| {
            let warning = Diagnostic::warning(code, message);
            let warning = if let Some(span) = span { warning.at(span, "") } else { warning };
            found.push(warning.help(help));
        };
        if !insn.leaves() {
            warn("prf::no-halt", "the code runs on past its end", "end it with `halt`");
        }
        if !insn.end {
            let help = "the last instruction of a packet has its end bit set";
            warn("prf::open-packet", "the packet does not end", help);
        }
    }
    found
}
