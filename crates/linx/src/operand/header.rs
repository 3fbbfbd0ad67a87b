//! Operands of markers and descriptors: functions, attributes, hints, scalars, tiles and their
//! sizes.

use isa::asm::{Cursor, Fail, OperandSlot};

use super::register::{register, register_name, scalar_register};
use super::{Out, Read, name_or_number, named_or_int, set};
use crate::names::{ARG_FORMATS, DATA_TYPES};

pub(super) const CUBE: [(&str, i64); 3] = [("TMATMUL", 0), ("TMATMUL.ACC", 2), ("ACCCVT", 8)];

pub(super) const TMA: [(&str, i64); 3] = [("TLOAD", 0), ("TSTORE", 1), ("TMOV", 2)];
/// The words read for `B.ARG format`: more names than are printed, since some share a number.
pub(super) const ARG_WORDS: [(&str, i64); 7] = [
    ("NORM", 0),
    ("V2V", 0),
    ("A2V", 1),
    ARG_FORMATS[0],
    ARG_FORMATS[1],
    ARG_FORMATS[2],
    ARG_FORMATS[3],
];

/// Names of the flags of B.ATTR, in the order of its fields; the others take a value.
const ATTRIBUTES: [&str; 10] =
    ["trap", "atomic", "aq", "rl", "far", "layout", "type", "pad", "C", "DR"];

pub(super) fn attributes(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_attributes(values: &[i64]) -> String {
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

pub(super) fn hint(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_hint(values: &[i64]) -> String {
    let v = |i: usize| values.get(i).copied().unwrap_or(0);
    let branch = BRANCHES[(v(0) << 1 & 2 | v(1) & 1) as usize];
    let comma = if branch.is_empty() { "" } else { ", " };
    format!("{branch}{comma}{}, {}", TEMPERATURES[(v(2) & 3) as usize], v(3))
}

/// `[a0,a1],[a2]` or `[a0, a1], ->a2`.
pub(super) fn scalars(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_scalars(values: &[i64]) -> String {
    let sources = values.get(..3).unwrap_or_default();
    let used = sources.iter().rposition(|&r| r != 0).map_or(0, |last| last + 1);
    let list: Vec<&str> = sources[..used].iter().map(|&r| register_name(r)).collect();
    let dest = values.get(3).filter(|&&r| r != 0).map_or("", |&r| register_name(r));
    format!("[{}],[{dest}]", list.join(","))
}

const HANDS: [char; 4] = ['t', 'u', 'm', 'n'];

/// Fields: absent, tile, reuse; twice. An absent source whose other bits are not zero is written
/// with `~`.
pub(super) fn tiles(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_tiles(values: &[i64]) -> String {
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
pub(super) fn tile_dest(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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
        (Some(n), Some(unit)) => n.checked_mul(1 << [30, 20, 10, 0][unit]),
        _ => None,
    };
    let code = bytes.filter(|b| b.is_power_of_two()).map(|b| i64::from(b.trailing_zeros()) - 4);
    code.filter(|c| (0..32).contains(c)).ok_or_else(|| {
        cursor.back_to(mark);
        cursor.expected("a size: 512B, 1KB, 2KB or 4KB")
    })
}

pub(super) fn bytes_of_code(code: i64) -> String {
    let log = (code & 31) + 4;
    let unit = ["B", "KB", "MB", "GB"][(log / 10) as usize];
    format!("{}{unit}", 1u32 << (log % 10))
}

pub(super) fn print_tile_dest(dest: i64, size: i64, shown: &str) -> String {
    if dest == 7 && size == 0 {
        return String::new();
    }
    format!(" ->{}<{shown}>", TILE_DESTS[(dest & 7) as usize])
}
