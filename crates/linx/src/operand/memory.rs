//! Operands with modifiers and shifts, and addresses of the 64-bit forms.

use isa::asm::{Cursor, Fail, OperandSlot, OperandValue, Relation};

use super::register::{Implied, scalar_register};
use super::{LinxOperands, Out, Read, set};
use crate::encoding::Conventions;
use crate::regid::Codec;

/// `<<n`, 0 if it is absent.
fn shift_amount(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    if !cursor.eat("<<") {
        return Ok(0);
    }
    let amount = cursor.take_while(|c| c.is_ascii_digit()).and_then(|d| d.parse().ok());
    amount.ok_or_else(|| cursor.expected("a shift amount"))
}

pub(super) fn shift(amount: i64) -> String {
    if amount == 0 { String::new() } else { format!("<<{amount}") }
}

pub(super) fn invert(slot: OperandSlot<'_>) -> &'static str {
    if slot.form.attribute("invert") == Some("not") { ".not" } else { ".neg" }
}

pub(super) fn vector_modified(
    this: LinxOperands,
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: Out<'_>,
) -> Read {
    set(out, 0, this.source(cursor, Implied::integer(slot))?);
    set(out, 1, if cursor.eat(invert(slot)) { 3 } else { 0 });
    let mark = cursor.mark();
    let amount = shift_amount(cursor)?;
    if amount != 0 && out.len() < 3 {
        return Err(cursor.fail_from(mark, "asm::syntax", "this operand takes no shift"));
    }
    set(out, 2, amount);
    Ok(())
}

pub(super) fn modifier(kind: &str, code: i64) -> &'static str {
    match (code, kind) {
        (0, _) => "",
        (1, _) => ".sw",
        (2, _) => ".uw",
        (_, "mod") => ".neg",
        (_, "modn") => ".not",
        _ => ".none",
    }
}

pub(super) fn modified(
    conventions: Conventions,
    slot: OperandSlot<'_>,
    cursor: &mut Cursor<'_>,
    out: Out<'_>,
) -> Read {
    set(out, 0, scalar_register(cursor)?);
    let found = (1..4).find(|&code| cursor.eat(modifier(slot.kind, code)));
    set(out, 1, conventions.code(found.unwrap_or(0)));
    if out.len() > 2 {
        set(out, 2, shift_amount(cursor)?);
    }
    Ok(())
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

/// Takes `lc0<<k` (`lc0` if k is 0) and returns whether it was there. An `lc0` with a type is an
/// index instead.
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

pub(super) fn memory(
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
            index = this.source(cursor, Implied::Index)?;
            let mark = cursor.mark();
            // Without a shift, the index of a store is that of an element, as upstream writes it.
            if slot.kind != "mems" || cursor.rest().starts_with("<<") {
                amount = shift_amount(cursor)?;
            }
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

pub(super) fn memory_immediate(
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

/// `[ri0, lc0<<2, vt#1.ud<<1]`; the index of a store (`mems`) is also scaled by the access.
pub(super) fn print_memory(this: LinxOperands, slot: OperandSlot<'_>, values: [i64; 4]) -> String {
    let [base, present, index, amount] = values;
    let k = scale(slot);
    let mut index = this.source_text(index, false);
    if index == "lc0" {
        // Without types it would read as the lane term.
        index.push_str(".ud");
    }
    let amount = if slot.kind == "mems" { format!("<<{}", k + amount) } else { shift(amount) };
    format!("[{}, {}{index}{amount}]", this.base_text(base), lane(k, present))
}

/// `[ri0, lc0<<2, 256]`.
pub(super) fn print_memory_immediate(
    this: LinxOperands,
    slot: OperandSlot<'_>,
    [base, present, offset]: [i64; 3],
) -> String {
    format!("[{}, {}{offset}]", this.base_text(base), lane(scale(slot), present))
}
