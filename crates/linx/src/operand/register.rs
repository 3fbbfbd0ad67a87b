//! Registers: those of the 64-bit forms in both codecs, the 5-bit codes, system registers.

use isa::asm::{Cursor, Fail, OperandSlot, OperandValue, Relation};
use isa::table::Kind;

use super::{Out, Read, set};
use crate::names::{REGISTERS, system_register_id};
use crate::regid::{self, other};

/// A name and, after `#`, a number, with the suffixes that follow it.
pub(super) fn register<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, Option<u64>), Fail> {
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

/// The type of an operand whose text leaves it out, as texts of v0.3 do: it follows from the
/// instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implied {
    /// Singles.
    Float,
    /// Lanes of this width letter, signed; scalars of 64 bits.
    Integer(char),
    /// Scalars of 64 bits, lanes of 32.
    Index,
}

impl Implied {
    /// Of an integer form: the size of what it accesses, else 32 bits.
    pub(super) fn integer(slot: OperandSlot<'_>) -> Self {
        let size = slot.form.attribute("k").and_then(|k| k.parse::<usize>().ok());
        Self::Integer(size.and_then(|k| "bhwd".chars().nth(k)).unwrap_or('w'))
    }

    fn suffix(self, name: &str) -> String {
        let lane = HANDS.contains(&name);
        match self {
            Self::Float => "fs".to_owned(),
            Self::Integer(width) if lane => format!("s{width}"),
            Self::Index if lane => "sw".to_owned(),
            _ if name.starts_with("lc") || name.starts_with("lb") => "ud".to_owned(),
            _ => "sd".to_owned(),
        }
    }

    /// The width of a destination.
    fn width(self, name: &str) -> String {
        match self {
            Self::Integer(width) if HANDS.contains(&name) => width.to_string(),
            _ => "d".to_owned(),
        }
    }
}

/// The lane queues.
const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];

pub(super) fn source(cursor: &mut Cursor<'_>, implied: Implied) -> Result<i64, Fail> {
    let float = implied == Implied::Float;
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
            // There is no format after `.fb`.
            Some(bits) if !float || (suffix.starts_with('f') && suffix != "fb") => {
                return Ok(code | bits);
            }
            _ => cursor.back_to(mark),
        }
    } else if matches!(code & 0x7f, 0x5c | 0x5f) && !float {
        return Ok(code);
    } else {
        let bits = regid::type_code(&implied.suffix(&name.to_ascii_lowercase()));
        return Ok(code | bits.unwrap_or(0));
    }
    Err(cursor.expected(if float { "a type: .fd .fs or .fh" } else { "a type such as .sw or .ud" }))
}

/// A register of codec B; types are read and dropped.
pub(super) fn untyped(
    cursor: &mut Cursor<'_>,
    name_of: fn(i64) -> Option<String>,
) -> Result<i64, Fail> {
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

pub(super) fn dest(cursor: &mut Cursor<'_>, implied: Implied) -> Result<i64, Fail> {
    let mark = cursor.mark();
    let (name, entry) = register(cursor)?;
    let width = if cursor.eat_prefix(".") {
        Some(
            cursor.take_while(|c| c.is_ascii_alphabetic()).unwrap_or_default().to_ascii_lowercase(),
        )
    } else {
        None
    };
    let name = name.to_ascii_lowercase();
    let code = match (&width, entry) {
        (None, None) if !matches!(name.as_str(), "p" | "zero") => {
            regid::dest_code(&name, None, Some(&implied.width(&name)))
        }
        _ => regid::dest_code(&name, entry, width.as_deref()),
    };
    code.ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("a destination such as vt.w, t.d, ro0.d or p")
    })
}

pub(super) fn base(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
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

/// A register of the 5-bit codes.
pub(super) fn scalar_register(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
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

pub(super) fn register_name(code: i64) -> &'static str {
    REGISTERS[(code & 31) as usize]
}

pub(super) fn system(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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
