//! Logic, shifts, bit fields, counts, permutations of bytes, packing, addresses.

use super::build::{Build, Results, one, row_of};
use crate::function::{Type, Value};
use crate::op::{LaneOp, MaskOp};
use ir::mods::{BoolOp, Flag, Space};
use ir::{Op, Ty};
use simt::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

/// The table of a selection by the bits of the first operand.
const CHOICE: LaneOp = LaneOp::Table(0xca);

/// Moves 128-bit values, which are two operands and two results, low and high.
pub(super) fn pair(b: &mut Build<'_>) -> Option<Results> {
    let halves = b.inst.op == Op::Mov || b.inst.ty2.is_some_and(|t| t.bits() == 64);
    if !halves || b.operands() != 2 {
        return None;
    }
    let (low, high) = (b.arg(0, Type::Row64), b.arg(1, Type::Row64));
    Some(Results::from_slice(&[low, high]))
}

pub(super) fn logic(b: &mut Build<'_>) -> Option<Results> {
    let x = b.lane(0);
    let value = match b.inst.op {
        Op::Mov => x,
        Op::Not => b.not(x),
        op => {
            let y = b.lane(1);
            match op {
                Op::And => b.and(x, y),
                Op::Or => b.or(x, y),
                Op::Xor => b.xor(x, y),
                _ => b.binary(LaneOp::AndNot, y, x),
            }
        }
    };
    one(b.cut(value, b.ty.bits()))
}

/// `cnot`: 1 where the operand is 0.
pub(super) fn is_zero(b: &mut Build<'_>) -> Option<Results> {
    let x = b.lane(0);
    let x = b.cut(x, b.ty.bits());
    let holds = b.is_zero(x);
    let (yes, no) = (b.like(x, 1), b.like(x, 0));
    one(b.select(holds, yes, no))
}

pub(super) fn lop3(b: &mut Build<'_>) -> Option<Results> {
    let table = b.number(3)? as u8;
    let (x, y, z) = (b.word(0), b.word(1), b.word(2));
    let value = b.ternary(LaneOp::Table(table), x, y, z);
    if b.inst.results.len() < 2 {
        return one(value);
    }
    let mut holds = b.is_nonzero(value);
    if let Some(how) = b.inst.mods.bool_op {
        let p = b.predicate(4);
        holds = combined(b, how, holds, p);
    }
    Some(Results::from_slice(&[value, holds]))
}

/// Combines a condition with a predicate.
pub(super) fn combined(b: &mut Build<'_>, how: BoolOp, holds: Value, p: Value) -> Value {
    let op = match how {
        BoolOp::And => MaskOp::And,
        BoolOp::Or => MaskOp::Or,
        BoolOp::Xor => MaskOp::Xor,
    };
    b.mask(op, holds, p)
}

pub(super) fn shift(b: &mut Build<'_>) -> Option<Results> {
    let row = row_of(b.ty.bits());
    let (x, by) = (b.integer(0, b.ty, row), b.word(1));
    // Amounts are words.
    let by = b.sized(by, row);
    let op = match b.inst.op {
        Op::Shl => LaneOp::Shl,
        _ if b.ty.is_signed() => LaneOp::Sar,
        _ => LaneOp::Shr,
    };
    let value = b.binary(op, x, by);
    one(b.cut(value, b.ty.bits()))
}

pub(super) fn funnel(b: &mut Build<'_>) -> Option<Results> {
    one(funnel_of(b, b.inst.op == Op::ShfL, b.has(Flag::Wrap)))
}

/// Shifts the second operand's word over the first one's.
pub(super) fn funnel_of(b: &mut Build<'_>, left: bool, wraps: bool) -> Value {
    let (low, high, by) = (b.word(0), b.word(1), b.word(2));
    if wraps && b.are_same(0, 1) {
        let by = if left { by } else { b.minus(by) };
        return b.binary(LaneOp::Rotl, low, by);
    }
    let by = match wraps {
        true => b.with(LaneOp::And, by, 31),
        false => b.with(LaneOp::MinU, by, 32),
    };
    let width = b.like(by, 32);
    let rest = b.difference(width, by);
    // A word that is shifted by all its bits is 0.
    let (up, down) = if left { (by, rest) } else { (rest, by) };
    let high = b.binary(LaneOp::Shl, high, up);
    let low = b.binary(LaneOp::Shr, low, down);
    b.or(high, low)
}

/// Returns lanes with `length` low bits set; all if `length` is the lane's width or more.
fn ones(b: &mut Build<'_>, length: Value) -> Value {
    let one = b.like(length, 1);
    let above = b.binary(LaneOp::Shl, one, length);
    b.with(LaneOp::Add, above, u64::MAX)
}

/// Returns an operand's lowest byte in lanes of the instruction's type.
fn byte(b: &mut Build<'_>, index: usize) -> Value {
    let value = b.lane(index);
    b.cut(value, 8)
}

pub(super) fn extract(b: &mut Build<'_>) -> Option<Results> {
    let (x, start, length) = (b.lane(0), byte(b, 1), byte(b, 2));
    if !b.ty.is_signed() {
        let shifted = b.binary(LaneOp::Shr, x, start);
        let mask = ones(b, length);
        return one(b.and(shifted, mask));
    }
    // Shifts the field's top bit to the lane's, and back with sign extension.
    let bits = u64::from(b.ty.bits());
    let shifted = b.binary(LaneOp::Sar, x, start);
    let length = b.with(LaneOp::MinU, length, bits);
    let width = b.like(length, bits);
    let rest = b.difference(width, length);
    let value = b.binary(LaneOp::Shl, shifted, rest);
    one(b.binary(LaneOp::Sar, value, rest))
}

pub(super) fn insert(b: &mut Build<'_>) -> Option<Results> {
    let (start, length) = (byte(b, 2), byte(b, 3));
    let mask = ones(b, length);
    let mask = b.binary(LaneOp::Shl, mask, start);
    let x = b.lane(0);
    let field = b.binary(LaneOp::Shl, x, start);
    let y = b.lane(1);
    one(b.ternary(CHOICE, mask, field, y))
}

pub(super) fn count(b: &mut Build<'_>) -> Option<Results> {
    if b.ty.bits() < 32 {
        return None;
    }
    let x = b.lane(0);
    let value = match b.inst.op {
        Op::Clz => b.unary(LaneOp::Clz, x),
        Op::Popc => b.unary(LaneOp::Popc, x),
        _ => return one(b.unary(LaneOp::Reverse, x)),
    };
    one(b.sized(value, Type::Row32))
}

/// `bfind`: the position of the highest bit that differs from the sign.
pub(super) fn find(b: &mut Build<'_>) -> Option<Results> {
    let bits = b.ty.bits();
    if bits < 32 {
        return None;
    }
    let mut x = b.lane(0);
    if b.ty.is_signed() {
        let sign = b.with(LaneOp::Sar, x, u64::from(bits) - 1);
        x = b.xor(x, sign);
    }
    let zeros = b.unary(LaneOp::Clz, x);
    let zeros = b.sized(zeros, Type::Row32);
    if b.has(Flag::ShiftAmt) {
        let none = b.test_with(super::compare::EQUAL, zeros, bits.into());
        return one(b.select_bits(none, u64::MAX, zeros));
    }
    let top = b.like(zeros, u64::from(bits) - 1);
    one(b.difference(top, zeros))
}

pub(super) fn permute(b: &mut Build<'_>) -> Option<Results> {
    let (x, y) = (b.word(0), b.word(1));
    let mode = b.inst.mods.permute;
    let Some(number) = b.number(2) else {
        return if mode.is_none() { permute_any(b, x, y) } else { None };
    };
    let control = mode.map_or(number, |mode| mode.generic_control(number));
    let selectors: [u8; 4] = std::array::from_fn(|i| (control >> (4 * i) & 0xf) as u8);
    // The selected bytes of each word in their places, and zeros elsewhere.
    let mut value = None;
    for (word, from) in [(x, 0), (y, 4)] {
        let places = selectors.map(|s| if s & 4 == from { s & 3 } else { 0x80 });
        if places != [0x80; 4] {
            let part = b.with(LaneOp::Bytes, word, u32::from_le_bytes(places).into());
            value = Some(value.map_or(part, |other| b.or(other, part)));
        }
    }
    let value = value?;
    let signs = u32::from_le_bytes(selectors.map(|s| if s & 8 != 0 { 0xff } else { 0 }));
    if signs == 0 {
        return one(value);
    }
    let sign = sign_bytes(b, value);
    let mask = b.like(value, signs.into());
    one(b.ternary(CHOICE, mask, sign, value))
}

/// Sets all bits of each byte whose lowest bit is set, and clears the other bytes.
fn whole_bytes(b: &mut Build<'_>, x: Value) -> Value {
    let x = b.with(LaneOp::And, x, 0x0101_0101);
    let above = b.shl(x, 8);
    b.difference(above, x)
}

fn sign_bytes(b: &mut Build<'_>, x: Value) -> Value {
    let x = b.shr(x, 7);
    whole_bytes(b, x)
}

/// Permutes with selectors that vary by lane, one expanded into each byte.
fn permute_any(b: &mut Build<'_>, x: Value, y: Value) -> Option<Results> {
    let c = b.word(2);
    let c = b.cut(c, 16);
    let above = b.shl(c, 8);
    let c = b.or(c, above);
    let c = b.with(LaneOp::And, c, 0x00ff_00ff);
    let above = b.shl(c, 4);
    let c = b.or(c, above);
    let c = b.with(LaneOp::And, c, 0x0f0f_0f0f);
    let index = b.with(LaneOp::And, c, 0x0303_0303);
    let low = b.binary(LaneOp::Bytes, x, index);
    let high = b.binary(LaneOp::Bytes, y, index);
    let second = b.shr(c, 2);
    let second = whole_bytes(b, second);
    let value = b.ternary(CHOICE, second, high, low);
    let signs = b.shr(c, 3);
    let signs = whole_bytes(b, signs);
    let sign = sign_bytes(b, value);
    one(b.ternary(CHOICE, signs, sign, value))
}

/// `bmsk`: a run of bits.
pub(super) fn mask(b: &mut Build<'_>) -> Option<Results> {
    let (mut position, mut width) = (b.word(0), b.word(1));
    if b.has(Flag::Wrap) {
        (position, width) = (b.cut(position, 5), b.cut(width, 5));
    }
    let mask = ones(b, width);
    one(b.binary(LaneOp::Shl, mask, position))
}

/// `szext`: extension of the low bits.
pub(super) fn extend(b: &mut Build<'_>) -> Option<Results> {
    let (x, bits) = (b.word(0), b.word(1));
    let bits = if b.has(Flag::Wrap) { b.cut(bits, 5) } else { b.with(LaneOp::MinU, bits, 32) };
    if !b.ty.is_signed() {
        let mask = ones(b, bits);
        return one(b.and(x, mask));
    }
    let width = b.like(bits, 32);
    let rest = b.difference(width, bits);
    let value = b.binary(LaneOp::Shl, x, rest);
    one(b.binary(LaneOp::Sar, value, rest))
}

/// Extends every other byte, from the first one or the second one on, to a half of the word.
fn every_other(b: &mut Build<'_>, x: Value, odd: bool, signed: bool) -> Value {
    let x = if odd { b.shr(x, 8) } else { x };
    let x = b.with(LaneOp::And, x, 0x00ff_00ff);
    if !signed {
        return x;
    }
    // Flips the sign, and subtracts its weight.
    let x = b.with(LaneOp::Xor, x, 0x0080_0080);
    b.with(LaneOp::Add16, x, 0xff80_ff80)
}

pub(super) fn dot(b: &mut Build<'_>) -> Option<Results> {
    let (first, second) = (b.ty.is_signed(), b.inst.ty2?.is_signed());
    let (x, y, mut sum) = (b.word(0), b.word(1), b.word(2));
    for odd in [false, true] {
        let part = if b.inst.op == Op::Dp4a {
            let (x, y) = (every_other(b, x, odd, first), every_other(b, y, odd, second));
            b.binary(LaneOp::Dot16, x, y)
        } else {
            let by = u32::from(odd);
            let x = b.shr(x, 16 * by);
            let y = b.shr(y, 8 * by + if b.has(Flag::Upper) { 16 } else { 0 });
            let x = b.extended(x, if first { Ty::S16 } else { Ty::U16 });
            let y = b.extended(y, if second { Ty::S8 } else { Ty::U8 });
            b.binary(LaneOp::Mul, x, y)
        };
        sum = b.sum(sum, part);
    }
    one(sum)
}

/// Packs parts of one width, the first in the low bits.
pub(super) fn pack(b: &mut Build<'_>) -> Option<Results> {
    let bits = b.inst.ty2.map_or(32, Ty::bits);
    let mut value = b.lane(0);
    for i in 1..b.operands() {
        let part = b.lane(i);
        let part = b.shl(part, Some(bits * i as u32).filter(|&s| s < b.ty.bits())?);
        value = b.or(value, part);
    }
    one(value)
}

pub(super) fn unpack(b: &mut Build<'_>) -> Option<Results> {
    let bits = b.inst.ty2.map_or(32, Ty::bits);
    let whole = b.lane(0);
    let mut parts = Results::new();
    for i in 0..b.inst.results.len() as u32 {
        let part = b.shr(whole, Some(bits * i).filter(|&s| s < b.ty.bits())?);
        let part = b.sized(part, row_of(bits));
        parts.push(b.cut(part, bits));
    }
    Some(parts)
}

/// Converts addresses in a window to generic ones, or back.
pub(super) fn window(b: &mut Build<'_>) -> Option<Results> {
    let start = match b.inst.mods.space? {
        Space::Shared => SHARED_WINDOW.start,
        Space::Local => LOCAL_WINDOW.start,
        Space::Param => PARAM_WINDOW.start,
        Space::Global | Space::Const | Space::Generic => 0,
    };
    let x = b.lane(0);
    let op = if b.inst.op == Op::CvtaTo { LaneOp::Add } else { LaneOp::Sub };
    one(b.with(op, x, start))
}
