//! Operands that are neither registers nor descriptors: flags, levels, distances, products, types
//! of converts.

use isa::asm::{Cursor, OperandSlot, OperandValue, Relation};

use super::{Out, Read, set};
use crate::names::{CONVERT_FLOAT, CONVERT_INT, SCALAR_FLOAT, SCALAR_SIGNED, SCALAR_UNSIGNED};

/// Names of convert types, short and long.
type Types = &'static [(&'static str, &'static str)];

/// The letters of one-bit fields: their names, `f` for `far`.
fn flag_names<'a>(slot: OperandSlot<'a>) -> impl Iterator<Item = &'a str> {
    let name = |&i: &usize| slot.form.fields.get(i).map_or("", |f| f.name.as_str());
    slot.fields.iter().map(name).map(|name| if name == "far" { "f" } else { name })
}

/// `.aqrl` and the like: any of the flags, in order.
pub(super) fn flags(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_flags(slot: OperandSlot<'_>, values: &[i64]) -> String {
    let set: String =
        flag_names(slot).zip(values).filter(|(_, v)| **v != 0).map(|(n, _)| n).collect();
    if set.is_empty() { set } else { format!(".{set}") }
}

pub(super) fn prefetch_level(cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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
pub(super) fn distance(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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
pub(super) fn shifted(slot: OperandSlot<'_>, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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

pub(super) fn print_shifted(slot: OperandSlot<'_>, value: i64, shift: i64) -> String {
    let product = i128::from(value) << (shift & 31);
    match i64::try_from(product) {
        Ok(product) if canonical(slot, product) == Some((value, shift)) => product.to_string(),
        _ => format!("{value} shl {shift}"),
    }
}

/// The types that a convert kind names, before and after the `2`.
pub(super) fn convert_types(kind: &str) -> Option<(Types, Types)> {
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

pub(super) fn type_name(types: Types, code: i64) -> String {
    let found = usize::try_from(code).ok().and_then(|i| types.get(i));
    found.map_or_else(|| format!("x{code}"), |(name, _)| (*name).to_owned())
}

fn type_code(types: Types, name: &str) -> Option<i64> {
    let same = |&(a, b): &(&str, &str)| a == name || b == name;
    let reserved = || name.strip_prefix('x').and_then(|n| n.parse::<i64>().ok());
    let named = types.iter().position(same).map(|i| i as i64);
    named.or_else(|| reserved().filter(|&code| code >= types.len() as i64))
}

pub(super) fn convert((from, to): (Types, Types), cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
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
