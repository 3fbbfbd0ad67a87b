//! The text form of an instruction table.
//!
//! Lines that are empty or start with `# ` (or are just `#`) are skipped. Lines that start with `@`
//! declare:
//!
//! | line | meaning |
//! |---|---|
//! | `@isa NAME` | name of the instruction set |
//! | `@kind NAME names N...` | operand kind: a name for each value; `a b=4 c` counts on, `r0..r15` is a range |
//! | `@kind NAME registers N...` | the same, and no symbol may have one of these names |
//! | `@kind NAME custom` | operand kind that the machine reads and prints |
//! | `@length MASK PATTERN BITS` | width of an instruction whose low bits are so; first match counts |
//!
//! Every other line is a form: columns separated by tabs, the last two may be left out.
//!
//! | column | example |
//! |---|---|
//! | name | `add` |
//! | bits | `32` |
//! | mask, hexadecimal | `fe00707f` |
//! | match, hexadecimal | `00000033` |
//! | fields, separated by `;` | `rd=7:5;rs1=15:5;rs2=20:5` |
//! | syntax | `add {rd:x}, {rs1:x}, {rs2:x}` |
//! | attributes, separated by `;` | `group=alu;status=core`; `priority=1` wins overlaps |
//! | doc | `rd = rs1 + rs2` |
//!
//! A field is `name=piece+piece...`, a piece `insn_lsb:width@value_lsb` (`@0` may be left out),
//! then attributes after blanks: `signed`, `scale=N`, `bias=N`, `default=N`, `legal=1..255|-1`. A
//! line that starts with `=` is another way to write the form above it: `=`, syntax, fixed fields
//! (`rd=0 rs1=0`), and `print` if it is the one to print.

use super::kind::parse_int;
use super::{
    AliasSpec, Field, FormSpec, Kind, KindDef, LengthRule, Names, Piece, Problem, TableError,
    TableSpec,
};

/// Reads the text form; validation is [`Table::new`](super::Table::new)'s.
pub(super) fn parse(text: &str) -> Result<TableSpec, Vec<TableError>> {
    let mut spec = TableSpec::default();
    let mut errors = Vec::new();
    for (line, number) in text.lines().zip(1u32..) {
        if line.trim().is_empty() || line.starts_with("# ") || line.trim_end() == "#" {
            continue;
        }
        if let Err(text) = read_line(line, number, &mut spec) {
            let form = line.split(['\t', ' ']).next().unwrap_or_default().to_owned();
            errors.push(TableError { line: number, form, problem: Problem::Text(text) });
        }
    }
    if errors.is_empty() { Ok(spec) } else { Err(errors) }
}

fn read_line(line: &str, number: u32, spec: &mut TableSpec) -> Result<(), String> {
    if let Some(declaration) = line.strip_prefix('@') {
        return declare(declaration, spec);
    }
    if let Some(alias) = line.strip_prefix("=\t") {
        let (form, _) = spec.forms.last_mut().ok_or("no form above to be another way to write")?;
        form.aliases.push(read_alias(alias)?);
        return Ok(());
    }
    spec.forms.push((read_form(line)?, number));
    Ok(())
}

fn declare(line: &str, spec: &mut TableSpec) -> Result<(), String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "isa" => spec.name = rest.trim().to_owned(),
        "kind" => spec.kinds.push(read_kind(rest)?),
        "length" => {
            let columns: Vec<&str> = rest.split_whitespace().collect();
            let [mask, pattern, bits] = columns.as_slice() else {
                return Err("expected `@length MASK PATTERN BITS`".to_owned());
            };
            let bits = bits.parse().map_err(|_| format!("`{bits}` is not a width"))?;
            spec.lengths.push(LengthRule { mask: hex(mask)?, pattern: hex(pattern)?, bits });
        }
        _ => return Err(format!("`@{word}` is unknown; there are @isa, @kind, @length")),
    }
    Ok(())
}

fn read_kind(rest: &str) -> Result<KindDef, String> {
    let mut words = rest.splitn(3, ' ');
    let (name, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let names = words.next().unwrap_or_default();
    let kind = match what {
        "names" => Kind::Names(Names::parse(names, false)?),
        "registers" => Kind::Names(Names::parse(names, true)?),
        "custom" => Kind::Custom,
        _ => return Err("expected `@kind NAME names|registers|custom ...`".to_owned()),
    };
    Ok(KindDef { name: name.to_owned(), kind })
}

fn read_form(line: &str) -> Result<FormSpec, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let (head, rest) = columns.split_at(columns.len().min(6));
    let [name, bits, mask, pattern, fields, syntax] = head else {
        return Err(format!("{} columns; a form has at least 6, separated by tabs", columns.len()));
    };
    if rest.len() > 2 {
        return Err(format!("{} columns; a form has at most 8", columns.len()));
    }
    let fields = split_list(fields).map(read_field).collect::<Result<_, _>>()?;
    let mut form = FormSpec {
        name: (*name).to_owned(),
        bits: bits.parse().map_err(|_| format!("`{bits}` is not a width"))?,
        mask: hex(mask)?,
        pattern: hex(pattern)?,
        fields,
        syntax: (*syntax).to_owned(),
        doc: rest.get(1).copied().unwrap_or_default().to_owned(),
        ..FormSpec::default()
    };
    for attribute in split_list(rest.first().copied().unwrap_or_default()) {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        if name == "priority" {
            form.priority =
                value.parse().map_err(|_| format!("priority `{value}` is not a number"))?;
        } else {
            form.attributes.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(form)
}

fn split_list(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|s| !s.is_empty())
}

/// `imm=31:1@12+7:1@11 signed scale=2`.
fn read_field(text: &str) -> Result<Field, String> {
    let (name, rest) = text.split_once('=').ok_or(format!("field `{text}` has no `=`"))?;
    let mut words = rest.split_whitespace();
    let pieces = words.next().unwrap_or_default();
    let pieces: Result<Vec<Piece>, String> = pieces.split('+').map(read_piece).collect();
    let mut field = Field { pieces: pieces?, ..Field::new(name.trim(), 0, 1) };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || parse_int(value).ok_or(format!("`{word}`: not a number"));
        match key {
            "signed" => field.signed = true,
            "scale" => {
                let scale = u32::try_from(number()?);
                field.scale = scale.map_err(|_| format!("`{word}`: not a scale"))?;
            }
            "bias" => field.bias = number()?,
            "default" => field.default = Some(number()?),
            "legal" => field.legal = value.split('|').map(read_range).collect::<Result<_, _>>()?,
            _ => return Err(format!("field `{name}`: `{word}` is unknown")),
        }
    }
    Ok(field)
}

fn read_piece(text: &str) -> Result<Piece, String> {
    let wrong = || format!("piece `{text}` is not insn_lsb:width@value_lsb");
    let (insn_lsb, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (width, value_lsb) = rest.split_once('@').unwrap_or((rest, "0"));
    let number = |s: &str| s.parse::<u8>().map_err(|_| wrong());
    let (insn_lsb, width, value_lsb) = (number(insn_lsb)?, number(width)?, number(value_lsb)?);
    if insn_lsb >= 64 || width > 64 || value_lsb >= 64 {
        return Err(wrong());
    }
    Ok(Piece { insn_lsb, width, value_lsb })
}

fn read_range(text: &str) -> Result<(i64, i64), String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    match (parse_int(low), parse_int(high)) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err(format!("`{text}` is not a range of values")),
    }
}

/// `=<TAB>syntax<TAB>fixed<TAB>print`, without the first column.
fn read_alias(text: &str) -> Result<AliasSpec, String> {
    let mut columns = text.split('\t');
    let mut alias =
        AliasSpec { syntax: columns.next().unwrap_or_default().to_owned(), ..AliasSpec::default() };
    for item in columns.next().unwrap_or_default().split_whitespace() {
        let fixed = item.split_once('=').and_then(|(n, v)| Some((n.to_owned(), parse_int(v)?)));
        alias.fixed.push(fixed.ok_or(format!("`{item}` is not field=value"))?);
    }
    alias.printed = match columns.next() {
        None | Some("") => false,
        Some("print") => true,
        Some(other) => return Err(format!("expected `print`, not `{other}`")),
    };
    if columns.next().is_some() {
        return Err("too many columns".to_owned());
    }
    Ok(alias)
}

fn hex(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is not a hexadecimal number"))
}
