//! Integer arithmetic.

use super::build::{Build, Results, one, row_of};
use crate::function::{Type, Value};
use crate::op::{LaneOp, MaskOp};
use fast::ops::{Rel, Test};
use ir::mods::Flag;
use ir::{Op, Ty};

pub(super) fn plain(b: &mut Build<'_>) -> Option<Results> {
    if b.has(Flag::Sat) {
        return saturating(b);
    }
    let (x, y) = (b.lane(0), b.lane(1));
    let value = match b.inst.op {
        Op::Add => b.sum(x, y),
        Op::Sub => b.difference(x, y),
        _ => b.binary(LaneOp::Mul, x, y),
    };
    let value = if b.inst.op == Op::Mad {
        let z = b.lane(2);
        b.sum(value, z)
    } else {
        value
    };
    one(b.cut(value, b.ty.bits()))
}

fn saturating(b: &mut Build<'_>) -> Option<Results> {
    if b.ty != Ty::S32 || !matches!(b.inst.op, Op::Add | Op::Sub) {
        return None;
    }
    let (x, y) = (b.word(0), b.word(1));
    one(saturated(b, b.inst.op == Op::Sub, x, y))
}

/// Returns the sum or difference of signed words, clamped to their range.
fn saturated(b: &mut Build<'_>, subtract: bool, x: Value, y: Value) -> Value {
    let value = if subtract { b.difference(x, y) } else { b.sum(x, y) };
    // It overflows if the sign of the result is not that of the first operand, although the second
    // one has the same sign, or, subtracted, the other one.
    let table = if subtract { 0x18 } else { 0x42 };
    let over = b.ternary(LaneOp::Table(table), x, y, value);
    let over = b.is_negative(over);
    let sign = b.with(LaneOp::Sar, x, 31);
    let limit = b.with(LaneOp::Xor, sign, i32::MAX as u64);
    b.select(over, limit, value)
}

/// Returns the minimum or the maximum of a type's integers.
fn extreme_op(ty: Ty, max: bool) -> LaneOp {
    match (ty.is_signed(), max) {
        (true, false) => LaneOp::MinS,
        (true, true) => LaneOp::MaxS,
        (false, false) => LaneOp::MinU,
        (false, true) => LaneOp::MaxU,
    }
}

pub(super) fn extreme(b: &mut Build<'_>) -> Option<Results> {
    if b.operands() != 2 {
        return None;
    }
    let row = row_of(b.ty.bits());
    let (x, y) = (b.integer(0, b.ty, row), b.integer(1, b.ty, row));
    let mut value = b.binary(extreme_op(b.ty, b.inst.op == Op::Max), x, y);
    if b.has(Flag::Relu) {
        value = b.with(LaneOp::MaxS, value, 0);
    }
    one(b.cut(value, b.ty.bits()))
}

pub(super) fn magnitude(b: &mut Build<'_>) -> Option<Results> {
    let x = b.integer(0, b.ty, row_of(b.ty.bits()));
    let minus = b.minus(x);
    let value = b.binary(LaneOp::MaxS, x, minus);
    one(b.cut(value, b.ty.bits()))
}

pub(super) fn negative(b: &mut Build<'_>) -> Option<Results> {
    let x = b.lane(0);
    let value = b.minus(x);
    one(b.cut(value, b.ty.bits()))
}

/// `sad`: the distance of two values, added to a third.
pub(super) fn distance(b: &mut Build<'_>) -> Option<Results> {
    let row = row_of(b.ty.bits());
    let (x, y, z) = (b.integer(0, b.ty, row), b.integer(1, b.ty, row), b.lane(2));
    let [low, high] = [false, true].map(|max| b.binary(extreme_op(b.ty, max), x, y));
    let apart = b.difference(high, low);
    let value = b.sum(apart, z);
    one(b.cut(value, b.ty.bits()))
}

/// Multiplies values of 16 or of 32 bits to twice the width.
pub(super) fn wide_product(b: &mut Build<'_>) -> Option<Results> {
    let row = match b.ty.bits() {
        16 => Type::Row32,
        32 => Type::Row64,
        _ => return None,
    };
    let op = match (row, b.ty.is_signed()) {
        (Type::Row32, _) => LaneOp::Mul,
        (_, true) => LaneOp::MulLowS,
        (_, false) => LaneOp::MulLowU,
    };
    let (x, y) = (b.integer(0, b.ty, row), b.integer(1, b.ty, row));
    let value = b.binary(op, x, y);
    if b.inst.op == Op::MulWide {
        return one(value);
    }
    let z = b.arg(2, row);
    one(b.sum(value, z))
}

pub(super) fn high_product(b: &mut Build<'_>) -> Option<Results> {
    let bits = b.ty.bits();
    let (sat, row) = (b.has(Flag::Sat), row_of(bits));
    if sat && b.ty != Ty::S32 {
        return None;
    }
    let (x, y) = (b.integer(0, b.ty, row), b.integer(1, b.ty, row));
    let value = high_of(b, x, y);
    if b.inst.op == Op::MulHi {
        return one(b.cut(value, bits));
    }
    let z = b.lane(2);
    if sat {
        return one(saturated(b, false, value, z));
    }
    let value = b.sum(value, z);
    one(b.cut(value, bits))
}

/// Returns the upper half of the product of two integers of the instruction's type, extended.
fn high_of(b: &mut Build<'_>, x: Value, y: Value) -> Value {
    let signed = b.ty.is_signed();
    match b.ty.bits() {
        64 => high_whole(b, x, y, signed),
        32 => b.binary(if signed { LaneOp::MulHighS } else { LaneOp::MulHighU }, x, y),
        bits => {
            let product = b.binary(LaneOp::Mul, x, y);
            b.with(if signed { LaneOp::Sar } else { LaneOp::Shr }, product, bits.into())
        }
    }
}

/// Computes the upper half of a 64-bit product from products of words.
fn high_whole(b: &mut Build<'_>, x: Value, y: Value, signed: bool) -> Value {
    let multiply = LaneOp::MulLowU;
    let low = b.binary(multiply, x, y);
    let low = b.shr(low, 32);
    let (high_x, high_y) = (b.shr(x, 32), b.shr(y, 32));
    let cross = b.binary(multiply, high_x, y);
    let middle = b.sum(cross, low);
    let cross = b.binary(multiply, x, high_y);
    let part = b.cut(middle, 32);
    let other = b.sum(cross, part);
    let high = b.binary(multiply, high_x, high_y);
    let middle = b.shr(middle, 32);
    let high = b.sum(high, middle);
    let other = b.shr(other, 32);
    let mut value = b.sum(high, other);
    if signed {
        for (sign, of) in [(x, y), (y, x)] {
            let sign = b.with(LaneOp::Sar, sign, 63);
            let less = b.and(sign, of);
            value = b.difference(value, less);
        }
    }
    value
}

/// Multiplies the low 24 bits.
pub(super) fn product24(b: &mut Build<'_>) -> Option<Results> {
    let high = matches!(b.inst.op, Op::Mul24Hi | Op::Mad24Hi);
    let (signed, sat) = (b.ty.is_signed(), b.has(Flag::Sat));
    if sat && (!signed || b.inst.op != Op::Mad24Hi) {
        return None;
    }
    let [x, y] = [0, 1].map(|i| {
        let x = b.word(i);
        if !signed {
            return b.cut(x, 24);
        }
        let x = b.shl(x, 8);
        b.with(LaneOp::Sar, x, 8)
    });
    let mut value = b.binary(LaneOp::Mul, x, y);
    if high {
        // Bits 16 to 47.
        let above = b.binary(if signed { LaneOp::MulHighS } else { LaneOp::MulHighU }, x, y);
        let above = b.shl(above, 16);
        let low = b.shr(value, 16);
        value = b.or(above, low);
    }
    if matches!(b.inst.op, Op::Mul24 | Op::Mul24Hi) {
        return one(value);
    }
    let z = b.word(2);
    one(if sat { saturated(b, false, value, z) } else { b.sum(value, z) })
}

/// Adds with carry in and carry out: there is one if either of two sums wraps around.
pub(super) fn carry(b: &mut Build<'_>) -> Option<Results> {
    if b.ty.bits() < 32 {
        return None;
    }
    let (x, y) = (b.lane(0), b.lane(1));
    let (x, y, last) = match b.inst.op {
        Op::MadCarry | Op::MadHiCarry => {
            let product = match b.inst.op {
                Op::MadCarry => b.binary(LaneOp::Mul, x, y),
                _ => high_of(b, x, y),
            };
            (product, b.lane(2), 3)
        }
        // A difference is the sum with the complement; the carry is what is not borrowed.
        Op::SubCarry => (x, b.not(y), 2),
        _ => (x, y, 2),
    };
    let p = b.predicate(last);
    let sum = b.sum(x, y);
    let first = b.test(Test::U(Rel::Lt), sum, x);
    let more = b.with(LaneOp::Add, sum, 1);
    let second = b.is_zero(more);
    let second = b.mask(MaskOp::And, second, p);
    let value = b.select(p, more, sum);
    let out = b.mask(MaskOp::Or, first, second);
    Some(Results::from_slice(&[value, out]))
}

/// Computes both halves of pairs of 16-bit integers.
pub(super) fn packed(b: &mut Build<'_>) -> Option<Results> {
    if b.operands() != 2 || b.has(Flag::Sat) {
        return None;
    }
    let signed = b.ty == Ty::S16x2;
    let op = match (b.inst.op, signed) {
        (Op::Add, _) => LaneOp::Add16,
        (Op::Min, true) => LaneOp::MinS16,
        (Op::Min, false) => LaneOp::MinU16,
        (_, true) => LaneOp::MaxS16,
        (_, false) => LaneOp::MaxU16,
    };
    let (x, y) = (b.word(0), b.word(1));
    let value = b.binary(op, x, y);
    let relu = b.has(Flag::Relu) && b.inst.op != Op::Add && signed;
    one(if relu { b.with(LaneOp::MaxS16, value, 0) } else { value })
}
