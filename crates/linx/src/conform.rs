//! Conformance tables: facts of other sources that assembler, disassembler and machine must
//! reproduce.
//!
//! The header line names the kind of table. Lines that are empty or start with `#` are skipped;
//! columns are separated by tabs.
//!
//! | header | what is checked |
//! |---|---|
//! | `addr bytes bits text status src` | listings: the text assembles to the bytes, and back |
//! | `bytes bits [word] text note` | the same without addresses; codec B by opcode and immediate |
//! | `name block launch ...` | programs with known results, by name: see [`crate::cases`] |
//! | `name number` (or no header) | opcode map: names and numbers of operations and instructions |
//!
//! Columns of opcode maps may also be separated by commas or blanks. Listings leave out the type of
//! an address base, and clamp tile sizes to 4 KB in rows with status `size-clamped`: those bits are
//! not compared. Rows with a `legacy` status hold encodings of older versions; they pass if this
//! version does not decode them as what they were.

use isa::asm::{Image, PrintContext};
use isa::table::{Form, Part, Template};
use isa::{FileId, Instruction};

use crate::names::TileOps;

/// The outcome of checking a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Line of the table, from 1.
    pub line: u32,
    /// The subject of the row.
    pub name: String,
    /// Expected and got, if they differ.
    pub failure: Option<String>,
}

impl Report {
    /// Rows that were reproduced.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.rows.iter().filter(|r| r.failure.is_none()).count()
    }

    /// Rows that were not.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.rows.len() - self.passed()
    }
}

/// One line for each failing row, then `N passed, M failed`.
impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in &self.rows {
            if let Some(failure) = &row.failure {
                writeln!(f, "line {}: {}: {failure}", row.line, row.name)?;
            }
        }
        write!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Listing,
    Encodings,
    Worked,
    Cases,
    Opcodes,
}

/// Checks a table.
#[must_use]
pub fn conform(table: &str, tile_ops: TileOps) -> Report {
    let mut report = Report::default();
    let mut kind = None;
    for (line, number) in table.lines().zip(1u32..) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        // Opcode maps of other projects are often separated by commas or blanks.
        let columns: Vec<&str> = if line.contains('\t') {
            line.split('\t').map(str::trim).collect()
        } else {
            line.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()).collect()
        };
        let Some(known) = kind else {
            let header = match columns.as_slice() {
                ["addr", "bytes", "bits", "text", ..] => Some(Kind::Listing),
                ["bytes", "bits", "word", "text", ..] => Some(Kind::Worked),
                ["bytes", "bits", "text", ..] => Some(Kind::Encodings),
                ["name", "block", "launch", ..] => Some(Kind::Cases),
                ["name" | "op" | "mnemonic", ..] => Some(Kind::Opcodes),
                _ => None,
            };
            kind = Some(header.unwrap_or(Kind::Opcodes));
            if header.is_none() {
                report.rows.push(row(number, columns[0], opcode(&columns, tile_ops)));
            }
            continue;
        };
        let (name, result) = match (known, columns.as_slice()) {
            (Kind::Listing, [addr, bytes, _, text, status, ..]) => {
                (*text, listing(addr, bytes, text, status, tile_ops))
            }
            (Kind::Encodings, [bytes, _, text, rest @ ..]) => {
                (*text, encoding(bytes, text, rest.first().copied().unwrap_or(""), tile_ops))
            }
            (Kind::Worked, [bytes, _, _, text, rest @ ..]) => {
                (*text, encoding(bytes, text, rest.first().copied().unwrap_or(""), tile_ops))
            }
            (Kind::Cases, [name, _, _, _, _, replay, exec, ..]) => {
                (*name, crate::cases::check(name, replay, exec))
            }
            (Kind::Opcodes, [name, ..]) => (*name, opcode(&columns, tile_ops)),
            _ => (columns[0], Err(format!("{} columns are too few", columns.len()))),
        };
        report.rows.push(row(number, name, result));
    }
    report
}

fn row(line: u32, name: &str, result: Result<(), String>) -> Row {
    Row { line, name: name.to_owned(), failure: result.err() }
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn parse_bytes(hex: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = hex.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(d) if !d.is_empty() && d.len() % 2 == 0 => {
            Ok(d.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => Err(format!("`{hex}` is not bytes in hexadecimal")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn assemble_at(text: &str, at: u64, tile_ops: TileOps) -> Result<Image, String> {
    let source = format!(".org {at:#x}\n{text}\n");
    crate::assemble(FileId::default(), &source, tile_ops).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        format!("expected `{text}` to assemble, got: {first}")
    })
}

/// Normalises text to its significant differences: blanks only between words, lower case, decimal
/// numbers.
#[must_use]
pub fn tight(text: &str) -> String {
    let wordy = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#');
    let mut out = String::new();
    for token in text.split_whitespace() {
        if out.ends_with(wordy) && token.starts_with(wordy) {
            out.push(' ');
        }
        out.push_str(&token.to_ascii_lowercase());
    }
    let mut decimal = String::new();
    let mut rest = out.as_str();
    while let Some(at) = rest.find("0x") {
        decimal.push_str(&rest[..at]);
        let digits = rest[at + 2..].find(|c: char| !c.is_ascii_hexdigit());
        let end = digits.map_or(rest.len(), |d| at + 2 + d);
        match u64::from_str_radix(&rest[at + 2..end], 16) {
            Ok(value) => decimal.push_str(&value.to_string()),
            Err(_) => decimal.push_str(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    decimal + rest
}

/// The bits of a word that its listing text does not show.
fn unshown(found: Instruction, clamped: bool, tile_ops: TileOps) -> u64 {
    let form = crate::table(tile_ops).form(found.form);
    let mut mask = 0;
    for part in &form.syntax.parts {
        if let Part::Operand { fields, kind } = part {
            let kind = crate::table(tile_ops).kind(*kind).name.as_str();
            let field = fields.first().and_then(|&i| form.fields.get(i));
            if let (Some(field), "base" | "mem" | "mems" | "memi") = (field, kind) {
                mask |= field.insert(0, 1 << 9).unwrap_or(0);
            }
        }
    }
    if clamped && let Some(size) = form.field("imm5") {
        mask |= size.insn_mask();
    }
    mask
}

fn listing(
    addr: &str,
    bytes: &str,
    text: &str,
    status: &str,
    tile_ops: TileOps,
) -> Result<(), String> {
    let at = if addr == "-" {
        0
    } else {
        parse_number(addr).ok_or(format!("`{addr}` is not an address"))?
    };
    let bytes = parse_bytes(bytes)?;
    if status.starts_with("legacy") {
        return legacy(&bytes, text, at, tile_ops);
    }
    let clamped = status.starts_with("size-clamped");
    both_ways(&bytes, text, at, clamped, tile_ops)
}

fn decode(bytes: &[u8], tile_ops: TileOps) -> Result<Instruction, String> {
    let table = crate::table(tile_ops);
    match table.decode_bytes(bytes) {
        Ok(found) if table.form(found.form).bytes() == bytes.len() => Ok(found),
        Ok(found) => {
            let text = crate::dialect(tile_ops, false).print(found, 0);
            Err(format!("expected one instruction, got `{text}` and more"))
        }
        Err(error) => Err(format!("expected an instruction, got: {error}")),
    }
}

fn legacy(bytes: &[u8], text: &str, at: u64, tile_ops: TileOps) -> Result<(), String> {
    let printed =
        decode(bytes, tile_ops).map(|found| crate::dialect(tile_ops, false).print(found, at));
    match printed {
        Ok(printed) if tight(&printed) == tight(text) => {
            Err("expected not to be read as in older versions, but it is".to_owned())
        }
        _ => Ok(()),
    }
}

/// The texts that print a word: absolute targets, distances.
fn prints(found: Instruction, at: u64, tile_ops: TileOps) -> [String; 2] {
    let dialect = crate::dialect(tile_ops, false);
    let relative = |target: u64| Some(format!(".{:+}", target.wrapping_sub(at) as i64));
    let by_distance = dialect.print_at(found, &PrintContext { address: at, label: &relative });
    [dialect.print(found, at), by_distance]
}

fn both_ways(
    bytes: &[u8],
    text: &str,
    at: u64,
    clamped: bool,
    tile_ops: TileOps,
) -> Result<(), String> {
    let found = decode(bytes, tile_ops)?;
    let mut texts = prints(found, at, tile_ops);
    if clamped {
        texts = texts.map(|t| ["8KB", "16KB"].iter().fold(t, |t, size| t.replace(size, "4KB")));
    }
    if !texts.iter().any(|t| tight(t) == tight(text)) {
        return Err(format!("expected text `{text}`, got `{}`", texts[0]));
    }
    same_bytes(bytes, text, at, unshown(found, clamped, tile_ops), tile_ops)
}

fn same_bytes(
    bytes: &[u8],
    text: &str,
    at: u64,
    ignored: u64,
    tile_ops: TileOps,
) -> Result<(), String> {
    let image = assemble_at(text, at, tile_ops)?;
    let got = image.bytes_at(at).unwrap_or_default();
    let (want_word, have_word) = (word(bytes), word(got));
    if got.len() == bytes.len() && (want_word ^ have_word) & !ignored == 0 {
        return Ok(());
    }
    Err(format!("expected bytes {}, got {}", hex(bytes), hex(got)))
}

fn word(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all.iter_mut().zip(bytes).for_each(|(a, b)| *a = *b);
    u64::from_le_bytes(all)
}

/// The address of facts without one, so that distances may be negative.
const PLACE: u64 = 0x10_0000;

fn encoding(bytes: &str, text: &str, note: &str, tile_ops: TileOps) -> Result<(), String> {
    let bytes = parse_bytes(bytes)?;
    if note.starts_with("codec B") {
        return other_codec(&bytes, text);
    }
    if let Some(facts) = text.find("simm=") {
        return fields(&bytes, &text[facts..], tile_ops);
    }
    // `(P+14)` is 14 bytes after the instruction.
    let text = text.replace("(P", "(.");
    if let Some(rest) = note.strip_prefix("collides: decodes as ") {
        same_bytes(&bytes, &text, PLACE, 0, tile_ops)?;
        let found = decode(&bytes, tile_ops)?;
        let first = rest.split_whitespace().next().unwrap_or_default();
        let name = &crate::table(tile_ops).form(found.form).name;
        return if name.eq_ignore_ascii_case(first) {
            Ok(())
        } else {
            Err(format!("expected {first}, got {name}"))
        };
    }
    let found = decode(&bytes, tile_ops)?;
    same_bytes(&bytes, &text, PLACE, unshown(found, false, tile_ops), tile_ops)?;
    // Any spelling of the same instruction is right: the printed one must encode the same.
    let printed = &prints(found, PLACE, tile_ops)[0];
    same_bytes(&bytes, printed, PLACE, unshown(found, false, tile_ops), tile_ops)
}

/// `simm=3 uimm=1`: values of fields in units of half-words.
fn fields(bytes: &[u8], facts: &str, tile_ops: TileOps) -> Result<(), String> {
    let found = decode(bytes, tile_ops)?;
    let form = crate::table(tile_ops).form(found.form);
    for fact in facts.split_whitespace() {
        let Some((name, value)) = fact.split_once('=') else { continue };
        let value: i64 = value.parse().map_err(|_| format!("`{fact}` is not a fact"))?;
        let field = form.fields.iter().find(|f| f.name.starts_with(name));
        let field =
            field.ok_or_else(|| format!("expected a field {name}, {} has none", form.name))?;
        let got = (field.extract(found.word) - field.bias) / i64::from(field.scale);
        if got != value {
            return Err(format!("expected {fact}, got {got}"));
        }
    }
    Ok(())
}

/// Rows in codec B, both ways in its own dialect.
fn other_codec(bytes: &[u8], text: &str) -> Result<(), String> {
    let dialect = crate::other_dialect();
    let found = dialect.table.decode_bytes(bytes);
    let found = found.map_err(|error| format!("expected an instruction, got: {error}"))?;
    let printed = dialect.print(found, 0);
    if tight(&printed) != tight(text) {
        return Err(format!("expected text `{text}`, got `{printed}`"));
    }
    let image = isa::asm::assemble(dialect, FileId::default(), text).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        format!("expected `{text}` to assemble, got: {first}")
    })?;
    let got = image.bytes_at(crate::TEXT).unwrap_or_default();
    if got == bytes {
        Ok(())
    } else {
        Err(format!("expected bytes {}, got {}", hex(bytes), hex(got)))
    }
}

/// `name number`: a tile operation's number, or the fixed bits of an instruction.
fn opcode(columns: &[&str], tile_ops: TileOps) -> Result<(), String> {
    let (Some(name), Some(number)) = (columns.first(), columns.get(1)) else {
        return Err("expected a name and a number".to_owned());
    };
    let number = parse_number(number).ok_or(format!("`{number}` is not a number"))?;
    let wanted = name.to_ascii_lowercase().replace(' ', ".");
    let forms = crate::table(tile_ops).forms().iter();
    let mut known: Vec<u64> =
        forms.filter(|form| is_called(form, &wanted)).map(|form| form.pattern).collect();
    if known.is_empty() {
        known.push(u64::from(tile_ops.by_name(name)?));
    }
    if known.contains(&number) {
        return Ok(());
    }
    let got: Vec<String> = known.iter().map(|pattern| format!("{pattern:#x}")).collect();
    Err(format!("expected {number:#x}, got {}", got.join(" or ")))
}

/// Returns whether a form has this name, or this word before its operands in one of its spellings:
/// several forms share one.
fn is_called(form: &Form, wanted: &str) -> bool {
    let mnemonic = |template: &Template| {
        let word = template.text.split([' ', '{', ',']).next().unwrap_or_default();
        word.to_ascii_lowercase().trim_end_matches(".short") == wanted
    };
    form.name == wanted
        || mnemonic(&form.syntax)
        || form.aliases.iter().any(|alias| mnemonic(&alias.syntax))
}
