//! Operands of LinxISA text that are more than a register, a name or a number.
//!
//! What is printed reads back to the same fields. One exception, and only without `exact`: the type bits of an address
//! base, which listings do not show (see [`regid::print_base`](crate::regid)).

use isa::asm::{Cursor, Fail, OperandSlot, OperandValue, Operands, PrintContext, Relation};
use isa::table::Kind;

use crate::names::{
    ARG_FORMATS, CONVERT_FLOAT, CONVERT_INT, DATA_TYPES, SCALAR_FLOAT, SCALAR_SIGNED,
    SCALAR_UNSIGNED, TileOps, system_register, system_register_id,
};
use crate::regid::{self, Codec, other};

/// The operand kinds of LinxISA.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinxOperands {
    /// Print every bit, where listings leave some out.
    pub exact: bool,
    /// Numbers of tile operations.
    pub tile_ops: TileOps,
    /// How operands of 64-bit forms are read.
    pub codec: Codec,
}

type Out<'o> = &'o mut [OperandValue];
type Read = Result<(), Fail>;
/// Names of convert types, short and long.
type Types = &'static [(&'static str, &'static str)];

const HANDS: [char; 4] = ['t', 'u', 'm', 'n'];

impl Operands for LinxOperands {
    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Read {
        match slot.kind {
            "src" => set(out, 0, self.source(cursor, false)?),
            "fsrc" => set(out, 0, self.source(cursor, true)?),
            "dst" => set(out, 0, self.dest(cursor)?),
            "base" => set(out, 0, self.base(cursor)?),
            "vmod" => vector_modified(*self, slot, cursor, out)?,
            "mod" | "modn" | "modw" => modified(slot, cursor, out)?,
            "mem" | "mems" => memory(*self, slot, cursor, out)?,
            "memi" => memory_immediate(*self, slot, cursor, out)?,
            "dtype" => named_or_int(cursor, out, &DATA_TYPES, "a data type such as FP32")?,
            "cube" => named_or_int(cursor, out, &CUBE, "a CUBE function")?,
            "tma" => named_or_int(cursor, out, &TMA, "a TMA function")?,
            "argfmt" => named_or_int(cursor, out, &ARG_WORDS, "a format")?,
            "tileop" => self.tile_op(cursor, out)?,
            "attr" => attributes(cursor, out)?,
            "hint" => hint(cursor, out)?,
            "ior" => scalars(slot, cursor, out)?,
            "tiles" => tiles(cursor, out)?,
            "iotdst" | "iotidst" => tile_dest(slot, cursor, out)?,
            "amo" | "qflags" => flags(slot, cursor, out)?,
            "local" => {
                let local = cursor.eat(".local");
                set(out, 0, i64::from(local));
            }
            "prfm" => prefetch_level(cursor, out)?,
            "btarget" | "pcount" => distance(slot, cursor, out)?,
            "setcimm" => shifted(slot, cursor, out)?,
            "ssr" => system(cursor, out)?,
            kind => match convert_types(kind) {
                Some(types) => convert(types, cursor, out)?,
                None => return Err(cursor.fail("asm::operand-kind", format!("no kind `{kind}`"))),
            },
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
        let v = |i: usize| values.get(i).copied().unwrap_or(0);
        let text = match slot.kind {
            "src" => self.source_text(v(0), false),
            "fsrc" => self.source_text(v(0), true),
            "dst" => self.dest_text(v(0)),
            "base" => self.base_text(v(0)),
            "vmod" => {
                let invert = if v(1) == 3 { invert(slot) } else { "" };
                format!("{}{invert}{}", self.source_text(v(0), false), shift(v(2)))
            }
            "mod" | "modn" | "modw" => {
                let name = register_name(v(0));
                format!("{name}{}{}", modifier(slot.kind, v(1)), shift(v(2)))
            }
            "mem" | "mems" => {
                let k = scale(slot);
                let mut index = self.source_text(v(2), false);
                if index == "lc0" {
                    // Without types it would read as the lane term.
                    index.push_str(".ud");
                }
                let amount =
                    if slot.kind == "mems" { format!("<<{}", k + v(3)) } else { shift(v(3)) };
                format!("[{}, {}{index}{amount}]", self.base_text(v(0)), lane(k, v(1)))
            }
            "memi" => {
                let (base, k) = (self.base_text(v(0)), scale(slot));
                format!("[{base}, {}{}]", lane(k, v(1)), v(2))
            }
            "dtype" => name_or_number(&DATA_TYPES, v(0)),
            "cube" => name_or_number(&CUBE, v(0)),
            "tma" => name_or_number(&TMA, v(0)),
            "argfmt" => name_or_number(&ARG_FORMATS, v(0)),
            "tileop" => match self.tile_ops.find(v(0) as u64) {
                Some(op) => op.name.to_owned(),
                None => format!("{:#05x}", v(0)),
            },
            "attr" => print_attributes(values),
            "hint" => print_hint(values),
            "ior" => print_scalars(values),
            "tiles" => format!("[{}]", print_tiles(values)),
            "iotdst" => print_tile_dest(v(0), v(1), register_name(v(1))),
            "iotidst" => print_tile_dest(v(0), v(1), &bytes_of_code(v(1))),
            "amo" | "qflags" => print_flags(slot, values),
            "local" => if v(0) == 0 { "" } else { ".local" }.to_owned(),
            "prfm" => match v(0) {
                0 => String::new(),
                level @ 1..=3 => format!(".l{level}"),
                other => format!(".m{other}"),
            },
            "btarget" => {
                let label = (at.label)(at.address.wrapping_add_signed(v(0)));
                label.unwrap_or_else(|| format!(".{:+}", v(0)))
            }
            "pcount" => (v(0) / 2).to_string(),
            "setcimm" => print_shifted(slot, v(0), v(1)),
            "ssr" => system_register(v(0)).unwrap_or_else(|| format!("{:#x}", v(0))),
            kind => match convert_types(kind) {
                Some((from, to)) => format!("{}2{}", type_name(from, v(0)), type_name(to, v(1))),
                None => String::new(),
            },
        };
        out.push_str(&text);
    }

    fn is_reserved(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        matches!(word.as_str(), "p" | "zero") || regid::source_code(&word, None, false).is_some()
    }
}

impl LinxOperands {
    fn source(self, cursor: &mut Cursor<'_>, float: bool) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => source(cursor, float),
            Codec::Other => untyped(cursor, other::source),
        }
    }

    fn dest(self, cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => dest(cursor),
            Codec::Other => untyped(cursor, other::dest),
        }
    }

    fn base(self, cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => base(cursor),
            Codec::Other => untyped(cursor, other::source),
        }
    }

    fn source_text(self, code: i64, float: bool) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_source(code, float),
            Codec::Other => other::source(code).unwrap_or_else(|| format!("?{code:#x}")),
        }
    }

    fn dest_text(self, code: i64) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_dest(code),
            Codec::Other => other::dest(code).unwrap_or_else(|| format!("?{code:#x}")),
        }
    }

    fn base_text(self, code: i64) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_base(code, self.exact),
            Codec::Other => self.source_text(code, false),
        }
    }

    fn tile_op(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
        let mark = cursor.mark();
        let number = match cursor.integer()? {
            Some(number) => {
                if cursor.eat("(") {
                    cursor.word().ok_or_else(|| cursor.expected("the operation's name"))?;
                    cursor.expect(")")?;
                }
                number
            }
            None => {
                let name = cursor.word().ok_or_else(|| cursor.expected("a tile operation"))?;
                let number = self.tile_ops.by_name(name);
                u64::from(number.map_err(|m| cursor.fail_from(mark, "linx::tile-op", m))?)
            }
        };
        if self.tile_ops.find(number).is_none() {
            return Err(cursor.fail_from(mark, "linx::tile-op", self.tile_ops.refusal(number)));
        }
        set(out, 0, number as i64);
        Ok(())
    }
}

const CUBE: [(&str, i64); 3] = [("TMATMUL", 0), ("TMATMUL.ACC", 2), ("ACCCVT", 8)];
const TMA: [(&str, i64); 3] = [("TLOAD", 0), ("TSTORE", 1), ("TMOV", 2)];
/// What is read for `B.ARG format`: more names than are printed, since some share a number.
const ARG_WORDS: [(&str, i64); 7] = [
    ("NORM", 0),
    ("V2V", 0),
    ("A2V", 1),
    ARG_FORMATS[0],
    ARG_FORMATS[1],
    ARG_FORMATS[2],
    ARG_FORMATS[3],
];

fn set(out: Out<'_>, index: usize, value: i64) {
    if let Some(slot) = out.get_mut(index) {
        *slot = OperandValue::Now(value);
    }
}

/// A name and, behind `#`, a number, with what suffixes follow it.
fn register<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, Option<u64>), Fail> {
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric());
    let name = name.ok_or_else(|| cursor.expected("a register"))?;
    let entry = if cursor.eat_prefix("#") {
        let digits = cursor.take_while(|c| c.is_ascii_digit()).and_then(|d| d.parse().ok());
        Some(digits.ok_or_else(|| cursor.expected("the number of a queue entry"))?)
    } else {
        None
    };
    Ok((name, entry))
}

fn source(cursor: &mut Cursor<'_>, float: bool) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let reuse = cursor.eat_prefix(".reuse");
    let Some(code) = regid::source_code(&name.to_ascii_lowercase(), entry, reuse) else {
        cursor.back_to(mark);
        return Err(cursor.expected("a kernel register such as vt#1, ri0, lc0, t#1 or p"));
    };
    let mark = cursor.mark();
    if cursor.eat_prefix(".") {
        let suffix = cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default();
        let suffix = suffix.to_ascii_lowercase();
        match regid::type_code(&suffix) {
            Some(bits) if float == suffix.starts_with('f') || !float => return Ok(code | bits),
            _ => cursor.back_to(mark),
        }
    } else if matches!(code & 0x7f, 0x5c | 0x5f) {
        return Ok(code);
    }
    Err(cursor.expected(if float { "a type: .fd .fs or .fh" } else { "a type such as .sw or .ud" }))
}

/// A register of codec B; types are read and dropped.
fn untyped(cursor: &mut Cursor<'_>, name_of: fn(i64) -> Option<String>) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let name = match entry {
        Some(entry) => format!("{}#{entry}", name.to_ascii_lowercase()),
        None => name.to_ascii_lowercase(),
    };
    let Some(code) = other::code(&name, name_of) else {
        cursor.back_to(mark);
        return Err(cursor.expected("a register of codec B such as vt#1, ri0, lc0, t#1 or p"));
    };
    let mark = cursor.mark();
    if cursor.eat_prefix(".") {
        let suffix = cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default();
        let suffix = suffix.to_ascii_lowercase();
        // `.w` of a destination is the width of `.uw`.
        let typed = regid::type_code(&suffix).or_else(|| regid::type_code(&format!("u{suffix}")));
        if typed.is_none() {
            cursor.back_to(mark);
        }
    }
    Ok(code)
}

fn dest(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let width = if cursor.eat_prefix(".") {
        Some(
            cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default().to_ascii_lowercase(),
        )
    } else {
        None
    };
    regid::dest_code(&name.to_ascii_lowercase(), entry, width.as_deref()).ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("a destination such as vt.w, t.d, ro0.d or p")
    })
}

fn base(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let reuse = cursor.eat_prefix(".reuse");
    let Some(code) = regid::source_code(&name.to_ascii_lowercase(), entry, reuse) else {
        cursor.back_to(mark);
        return Err(cursor.expected("an address base such as ri0 or ta"));
    };
    if !cursor.eat_prefix(".") {
        return Ok(code);
    }
    let suffix = cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default();
    let bits = regid::type_code(&suffix.to_ascii_lowercase());
    Ok(code | bits.ok_or_else(|| cursor.expected("a type such as .ud"))?)
}

/// `<<n`, 0 if it is not there.
fn shift_amount(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    if !cursor.eat("<<") {
        return Ok(0);
    }
    let amount = cursor.take_while(|c| c.is_ascii_digit()).and_then(|d| d.parse().ok());
    amount.ok_or_else(|| cursor.expected("a shift amount"))
}

fn invert(slot: OperandSlot<'_>) -> &'static str {
    if slot.form.attribute("invert") == Some("not") { ".not" } else { ".neg" }
}

fn vector_modified(
    this: LinxOperands,
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: Out<'_>,
) -> Read {
    set(out, 0, this.source(cursor, false)?);
    set(out, 1, if cursor.eat(invert(slot)) { 3 } else { 0 });
    let mark = cursor.mark();
    let amount = shift_amount(cursor)?;
    if amount != 0 && out.len() < 3 {
        return Err(cursor.fail_from(mark, "asm::syntax", "this operand takes no shift"));
    }
    set(out, 2, amount);
    Ok(())
}

fn modifier(kind: &str, code: i64) -> &'static str {
    match (code, kind) {
        (0, _) => "",
        (1, _) => ".sw",
        (2, _) => ".uw",
        (_, "mod") => ".neg",
        (_, "modn") => ".not",
        _ => ".none",
    }
}

fn modified(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    set(out, 0, scalar_register(cursor)?);
    let found = (1..4).find(|&code| cursor.eat(modifier(slot.kind, code)));
    set(out, 1, found.unwrap_or(0));
    if out.len() > 2 {
        set(out, 2, shift_amount(cursor)?);
    }
    Ok(())
}

/// A register of the 5-bit codes.
fn scalar_register(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let table = cursor.dialect().table;
    let rest = cursor.rest();
    let names = table.kinds().iter().find(|k| k.name == "r").map(|k| &k.kind);
    if let Some(Kind::Names(names)) = names
        && let Some((length, value)) = names.prefix(rest, true)
    {
        let mark = cursor.mark();
        cursor.back_to(mark + length);
        return Ok(value);
    }
    Err(cursor.expected("a register such as a0, t#1 or zero"))
}

/// Registers by their 5-bit codes.
pub(crate) const REGISTERS: [&str; 32] = [
    "zero", "sp", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "ra", "s0", "s1", "s2", "s3",
    "s4", "s5", "s6", "s7", "s8", "x0", "x1", "x2", "x3", "t#1", "t#2", "t#3", "t#4", "u#1", "u#2",
    "u#3", "u#4",
];

fn register_name(code: i64) -> &'static str {
    REGISTERS[(code & 31) as usize]
}

fn shift(amount: i64) -> String {
    if amount == 0 { String::new() } else { format!("<<{amount}") }
}

/// log2 of the access size.
fn scale(slot: OperandSlot<'_>) -> i64 {
    slot.form.attribute("k").and_then(|k| k.parse().ok()).unwrap_or(0)
}

/// The lane term.
fn lane(k: i64, present: i64) -> String {
    match (present, k) {
        (0, _) => String::new(),
        (_, 0) => "lc0, ".to_owned(),
        _ => format!("lc0<<{k}, "),
    }
}

/// Takes `lc0<<k` (`lc0` if k is 0) and says whether it was there. An `lc0` with a type is an index instead.
fn eat_lane(cursor: &mut Cursor<'_>, k: i64) -> Result<bool, Fail> {
    let mark = cursor.mark();
    if !cursor.eat("lc0") || cursor.peek() == Some('.') {
        cursor.back_to(mark);
        return Ok(false);
    }
    let amount = shift_amount(cursor)?;
    if amount != k {
        let message = format!("the lane term of this access is lc0<<{k}, not lc0<<{amount}");
        return Err(cursor.fail_from(mark, "linx::lane-term", message));
    }
    Ok(true)
}

fn memory(
    this: LinxOperands,
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: Out<'_>,
) -> Read {
    let k = scale(slot);
    cursor.expect("[")?;
    set(out, 0, this.base(cursor)?);
    let mut lane = false;
    let zero = if this.codec == Codec::Other { 0 } else { 2 << 5 | 31 | 1 << 9 };
    let (mut index, mut amount) = (zero, if slot.kind == "mems" { k } else { 0 });
    if cursor.eat(",") {
        lane = eat_lane(cursor, k)?;
        if !lane || cursor.eat(",") {
            index = this.source(cursor, false)?;
            let mark = cursor.mark();
            amount = shift_amount(cursor)?;
            if slot.kind == "mems" && amount < k {
                let message = format!("the index of this store is shifted by {k} at least");
                return Err(cursor.fail_from(mark, "linx::index-shift", message));
            }
        }
    }
    cursor.expect("]")?;
    set(out, 1, i64::from(lane));
    set(out, 2, index);
    set(out, 3, if slot.kind == "mems" { amount - k } else { amount });
    Ok(())
}

fn memory_immediate(
    this: LinxOperands,
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: Out<'_>,
) -> Read {
    cursor.expect("[")?;
    set(out, 0, this.base(cursor)?);
    let mut lane = false;
    set(out, 2, 0);
    if cursor.eat(",") {
        lane = eat_lane(cursor, scale(slot))?;
        if !lane || cursor.eat(",") {
            let offset = cursor.expr()?;
            if let Some(slot) = out.get_mut(2) {
                *slot = OperandValue::Later(offset, Relation::Absolute);
            }
        }
    }
    set(out, 1, i64::from(lane));
    cursor.expect("]")
}

fn name_or_number(names: &[(&str, i64)], value: i64) -> String {
    let found = names.iter().find(|(_, v)| *v == value);
    found.map_or_else(|| value.to_string(), |(name, _)| (*name).to_owned())
}

fn named_or_int(cursor: &mut Cursor<'_>, out: Out<'_>, names: &[(&str, i64)], what: &str) -> Read {
    let value = match cursor.integer()? {
        Some(value) => i64::try_from(value).ok(),
        None => cursor.word().and_then(|word| {
            names.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, value)| *value)
        }),
    };
    set(out, 0, value.ok_or_else(|| cursor.expected(what))?);
    Ok(())
}

/// Names of the flags of B.ATTR, in the order of its fields; the others take a value.
const ATTRIBUTES: [&str; 10] =
    ["trap", "atomic", "aq", "rl", "far", "layout", "type", "pad", "C", "DR"];

fn attributes(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    (0..ATTRIBUTES.len()).for_each(|i| set(out, i, 0));
    if cursor.at_end() {
        return Ok(());
    }
    loop {
        let mark = cursor.mark();
        let word = cursor.take_while(|c| c.is_ascii_alphanumeric()).unwrap_or_default();
        match ATTRIBUTES.iter().position(|name| name.eq_ignore_ascii_case(word)) {
            Some(6) => {
                cursor.expect("=")?;
                named_or_int(cursor, &mut out[6..], &DATA_TYPES, "a data type")?;
            }
            Some(i @ (5 | 7)) => {
                cursor.expect("=")?;
                named_or_int(cursor, &mut out[i..], &[], "a number")?;
            }
            Some(i) => set(out, i, 1),
            None if word.eq_ignore_ascii_case("aqrl") => {
                [2, 3].iter().for_each(|&i| set(out, i, 1));
            }
            None => {
                cursor.back_to(mark);
                let list = ATTRIBUTES.join(", ");
                return Err(cursor.expected(format!("an attribute: {list}")));
            }
        }
        if !cursor.eat(",") {
            return Ok(());
        }
    }
}

fn print_attributes(values: &[i64]) -> String {
    let mut list = Vec::new();
    for (i, (&name, &value)) in ATTRIBUTES.iter().zip(values).enumerate() {
        match (i, value) {
            (_, 0) => {}
            (6, _) => list.push(format!("type={}", name_or_number(&DATA_TYPES, value))),
            (5 | 7, _) => list.push(format!("{name}={value}")),
            _ => list.push(name.to_owned()),
        }
    }
    list.join(", ")
}

const TEMPERATURES: [&str; 4] = ["TEMP.hot", "TEMP.warm", "TEMP.cool", "TEMP.none"];
/// By `V` and `likely`.
const BRANCHES: [&str; 4] = ["", "BR.reserved", "BR.unlikely", "BR.likely"];

fn hint(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let branch = (1..4usize).find(|&i| cursor.eat(BRANCHES[i])).unwrap_or(0);
    if branch > 0 {
        cursor.expect(",")?;
    }
    let temperature = TEMPERATURES.iter().position(|name| cursor.eat(name));
    let temperature = temperature.ok_or_else(|| cursor.expected("TEMP.hot or the like"))?;
    set(out, 0, branch as i64 >> 1);
    set(out, 1, branch as i64 & 1);
    set(out, 2, temperature as i64);
    set(out, 3, 0);
    if cursor.eat(",") {
        named_or_int(cursor, &mut out[3..], &[], "a prefetch size")
    } else {
        Ok(())
    }
}

fn print_hint(values: &[i64]) -> String {
    let v = |i: usize| values.get(i).copied().unwrap_or(0);
    let branch = BRANCHES[(v(0) << 1 & 2 | v(1) & 1) as usize];
    let comma = if branch.is_empty() { "" } else { ", " };
    format!("{branch}{comma}{}, {}", TEMPERATURES[(v(2) & 3) as usize], v(3))
}

/// `[a0,a1],[a2]` or `[a0, a1], ->a2`.
fn scalars(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    (0..slot.fields.len()).for_each(|i| set(out, i, 0));
    cursor.expect("[")?;
    for i in 0..3 {
        if cursor.peek() == Some(']') {
            break;
        }
        if i > 0 {
            cursor.expect(",")?;
        }
        if !matches!(cursor.peek(), Some(']' | ',')) {
            set(out, i, scalar_register(cursor)?);
        }
    }
    cursor.expect("]")?;
    cursor.expect(",")?;
    if cursor.eat("->") {
        set(out, 3, scalar_register(cursor)?);
        return Ok(());
    }
    cursor.expect("[")?;
    if cursor.peek() != Some(']') {
        set(out, 3, scalar_register(cursor)?);
    }
    cursor.expect("]")
}

fn print_scalars(values: &[i64]) -> String {
    let sources = values.get(..3).unwrap_or_default();
    let used = sources.iter().rposition(|&r| r != 0).map_or(0, |last| last + 1);
    let list: Vec<&str> = sources[..used].iter().map(|&r| register_name(r)).collect();
    let dest = values.get(3).filter(|&&r| r != 0).map_or("", |&r| register_name(r));
    format!("[{}],[{dest}]", list.join(","))
}

/// Fields: absent, tile, reuse; twice. An absent source whose other bits are not zero is written with `~`.
fn tiles(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    for i in [0, 3] {
        set(out, i, 1);
        set(out, i + 1, 0);
        set(out, i + 2, 0);
    }
    cursor.expect("[")?;
    for i in [0, 3] {
        if matches!(cursor.peek(), Some(']')) {
            break;
        }
        if i > 0 {
            cursor.expect(",")?;
        }
        if !matches!(cursor.peek(), Some(']' | ',')) {
            tile(cursor, &mut out[i..])?;
        }
    }
    cursor.expect("]")
}

fn tile(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let absent = cursor.eat("~");
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let hand =
        HANDS.iter().position(|h| name.len() == 1 && name.starts_with(h.to_ascii_lowercase()));
    let (Some(hand), Some(k @ 1..=8)) = (hand, entry) else {
        cursor.back_to(mark);
        return Err(cursor.expected("a tile: t#1 to t#8, u#1.., m#1.. or n#1.."));
    };
    set(out, 0, i64::from(absent));
    set(out, 1, hand as i64 * 8 + k as i64 - 1);
    set(out, 2, i64::from(cursor.eat_prefix(".reuse")));
    Ok(())
}

fn print_tiles(values: &[i64]) -> String {
    let one = |v: &[i64]| match *v {
        [1, 0, 0] => String::new(),
        [absent, tile, reuse] => {
            let sign = if absent == 0 { "" } else { "~" };
            let hint = if reuse == 0 { "" } else { ".reuse" };
            format!("{sign}{}#{}{hint}", HANDS[(tile >> 3 & 3) as usize], (tile & 7) + 1)
        }
        _ => String::new(),
    };
    let list: Vec<String> = values.chunks(3).map(one).collect();
    match list.as_slice() {
        [a, b] if b.is_empty() => a.clone(),
        _ => list.join(", "),
    }
}

const TILE_DESTS: [&str; 8] = ["t", "u", "m", "n", "acc", "d5", "d6", "none"];

/// ` ->t<4KB>`, or nothing for a descriptor without destination.
fn tile_dest(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    set(out, 0, 7);
    set(out, 1, 0);
    if cursor.at_end() {
        return Ok(());
    }
    cursor.eat(",");
    cursor.expect("->")?;
    let dest = TILE_DESTS.iter().position(|name| cursor.eat(name));
    let dest = dest.ok_or_else(|| cursor.expected("t, u, m, n or acc"))?;
    set(out, 0, dest as i64);
    cursor.expect("<")?;
    let size = if slot.kind == "iotdst" { scalar_register(cursor)? } else { size_code(cursor)? };
    set(out, 1, size);
    cursor.expect(">")
}

/// `4KB` as the code of 2^(code+4) bytes.
fn size_code(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let digits = cursor.take_while(|c| c.is_ascii_digit()).and_then(|d| d.parse::<u64>().ok());
    let unit = ["GB", "MB", "KB", "B"].iter().position(|unit| cursor.eat_prefix(unit));
    let bytes = match (digits, unit) {
        (Some(n), Some(unit)) => n.checked_shl([30, 20, 10, 0][unit]).filter(|b| b >> 40 == 0),
        _ => None,
    };
    let code = bytes.filter(|b| b.is_power_of_two()).map(|b| i64::from(b.trailing_zeros()) - 4);
    code.filter(|c| (0..32).contains(c)).ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("a size: 512B, 1KB, 2KB or 4KB")
    })
}

fn bytes_of_code(code: i64) -> String {
    let log = (code & 31) + 4;
    let unit = ["B", "KB", "MB", "GB"][(log / 10) as usize];
    format!("{}{unit}", 1u32 << (log % 10))
}

fn print_tile_dest(dest: i64, size: i64, shown: &str) -> String {
    if dest == 7 && size == 0 {
        return String::new();
    }
    format!(" ->{}<{shown}>", TILE_DESTS[(dest & 7) as usize])
}

/// The letters of one-bit fields: their names, `f` for `far`.
fn flag_names<'a>(slot: OperandSlot<'a>) -> impl Iterator<Item = &'a str> {
    let name = |&i: &usize| slot.form.fields.get(i).map_or("", |f| f.name.as_str());
    slot.fields.iter().map(name).map(|name| if name == "far" { "f" } else { name })
}

/// `.aqrl` and the like: any of the flags, in order.
fn flags(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    (0..slot.fields.len()).for_each(|i| set(out, i, 0));
    if !cursor.eat_prefix(".") {
        return Ok(());
    }
    let mark = cursor.mark();
    let word = cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default();
    let word = word.to_ascii_lowercase();
    let mut rest = word.as_str();
    for (i, name) in flag_names(slot).enumerate() {
        if let Some(after) = rest.strip_prefix(name) {
            set(out, i, 1);
            rest = after;
        }
    }
    if rest.is_empty() && !word.is_empty() {
        return Ok(());
    }
    cursor.back_to(mark);
    let names: Vec<&str> = flag_names(slot).collect();
    Err(cursor.expected(format!("some of {}", names.join(", "))))
}

fn print_flags(slot: OperandSlot<'_>, values: &[i64]) -> String {
    let set: String =
        flag_names(slot).zip(values).filter(|(_, v)| **v != 0).map(|(n, _)| n).collect();
    if set.is_empty() { set } else { format!(".{set}") }
}

fn prefetch_level(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    set(out, 0, 0);
    let stem = [".l", ".m"].iter().position(|stem| cursor.eat_prefix(stem));
    if stem.is_none() {
        return Ok(());
    }
    let level = cursor.take_while(|c| c.is_ascii_digit()).and_then(|d| d.parse::<i64>().ok());
    set(out, 0, level.ok_or_else(|| cursor.expected("a level"))?);
    Ok(())
}

/// A number counts half-words; anything else is a place in the program.
fn distance(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let mark = cursor.mark();
    let negative = cursor.eat("-");
    if let Some(number) = cursor.integer()?
        && cursor.rest().starts_with([',', ';']) | cursor.at_end()
    {
        let count = i64::try_from(number).ok().and_then(|n| n.checked_mul(2));
        let count = count.ok_or_else(|| cursor.fail_from(mark, "asm::number", "too far"))?;
        set(out, 0, if negative { -count } else { count });
        return Ok(());
    }
    cursor.back_to(mark);
    let expr = cursor.expr()?;
    let relation = if slot.kind == "btarget" { Relation::Target } else { Relation::Distance };
    if let Some(slot) = out.get_mut(0) {
        *slot = OperandValue::Later(expr, relation);
    }
    Ok(())
}

/// The least shift with which a product can be encoded.
fn canonical(slot: OperandSlot<'_>, product: i64) -> Option<(i64, i64)> {
    let (low, high) = slot.form.fields.get(*slot.fields.first()?)?.range();
    (0..32).find_map(|shift| {
        let value = product >> shift;
        (value << shift == product && (low..=high).contains(&value)).then_some((value, shift))
    })
}

/// `product` or `value shl shift`.
fn shifted(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let mark = cursor.mark();
    let negative = cursor.eat("-");
    let number = cursor.integer()?.and_then(|n| i64::try_from(n).ok());
    set(out, 1, 0);
    if let Some(number) = number {
        let number = if negative { -number } else { number };
        if cursor.eat("shl") {
            let shift = cursor.integer()?.and_then(|n| i64::try_from(n).ok());
            set(out, 0, number);
            set(out, 1, shift.ok_or_else(|| cursor.expected("a shift amount"))?);
            return Ok(());
        }
        if cursor.at_end() {
            let (value, shift) = canonical(slot, number).unwrap_or((number, 0));
            set(out, 0, value);
            set(out, 1, shift);
            return Ok(());
        }
    }
    cursor.back_to(mark);
    let expr = cursor.expr()?;
    if let Some(slot) = out.get_mut(0) {
        *slot = OperandValue::Later(expr, Relation::Absolute);
    }
    Ok(())
}

fn print_shifted(slot: OperandSlot<'_>, value: i64, shift: i64) -> String {
    let product = i128::from(value) << (shift & 31);
    match i64::try_from(product) {
        Ok(product) if canonical(slot, product) == Some((value, shift)) => product.to_string(),
        _ => format!("{value} shl {shift}"),
    }
}

fn system(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let mark = cursor.mark();
    let id = match cursor.word() {
        Some(word) => match system_register_id(word) {
            Some(id) => id,
            None => {
                cursor.back_to(mark);
                return Err(cursor.expected("a system register such as CSTATE or EVBASE_ACR0"));
            }
        },
        None => {
            let expr = cursor.expr()?;
            if let Some(slot) = out.get_mut(0) {
                *slot = OperandValue::Later(expr, Relation::Absolute);
            }
            return Ok(());
        }
    };
    set(out, 0, id);
    Ok(())
}

/// The types that a convert kind names, before and after the `2`.
fn convert_types(kind: &str) -> Option<(Types, Types)> {
    Some(match kind {
        "cvtff" => (&CONVERT_FLOAT, &CONVERT_FLOAT),
        "cvtfi" => (&CONVERT_FLOAT, &CONVERT_INT),
        "cvtii" => (&CONVERT_INT, &CONVERT_INT),
        "cvtif" => (&CONVERT_INT, &CONVERT_FLOAT),
        "scvtff" => (&SCALAR_FLOAT, &CONVERT_FLOAT),
        "scvtfi" => (&SCALAR_FLOAT, &CONVERT_INT),
        "scvtsf" => (&SCALAR_SIGNED, &CONVERT_FLOAT),
        "scvtuf" => (&SCALAR_UNSIGNED, &CONVERT_FLOAT),
        _ => return None,
    })
}

fn type_name(types: Types, code: i64) -> String {
    let found = usize::try_from(code).ok().and_then(|i| types.get(i));
    found.map_or_else(|| format!("x{code}"), |(name, _)| (*name).to_owned())
}

fn type_code(types: Types, name: &str) -> Option<i64> {
    let same = |&(a, b): &(&str, &str)| a == name || b == name;
    let reserved = || name.strip_prefix('x').and_then(|n| n.parse::<i64>().ok());
    let named = types.iter().position(same).map(|i| i as i64);
    named.or_else(|| reserved().filter(|&code| code >= types.len() as i64))
}

fn convert((from, to): (Types, Types), cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
    let mark = cursor.mark();
    let word = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '.').unwrap_or_default();
    let word = word.to_ascii_lowercase();
    for (at, _) in word.match_indices('2') {
        let (source, dest) = (type_code(from, &word[..at]), type_code(to, &word[at + 1..]));
        if let (Some(source), Some(dest)) = (source, dest) {
            set(out, 0, source);
            set(out, 1, dest);
            return Ok(());
        }
    }
    cursor.back_to(mark);
    Err(cursor.expected("two types such as fs2fh"))
}
