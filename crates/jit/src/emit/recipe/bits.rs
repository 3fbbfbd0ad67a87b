//! Logic, shifts, bit fields, counts, permutes, packing: `simt::arith::int`.

use super::{Build, Micro, Recipe, Say, Sort, Value};
use iced_x86::RoundingControl;
use ir::mods::{BoolOp, Flag, Space};
use ir::{Op, Ty};
use simt::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

pub(super) fn recipe(say: &Say<'_>) -> Option<Recipe> {
    match say.inst.op {
        Op::Mov | Op::And | Op::Or | Op::Xor | Op::Not | Op::AndNot | Op::Cnot => logic(say),
        Op::Lop3 => lop3(say),
        Op::Shl | Op::Shr => shift(say),
        Op::ShfL | Op::ShfR => funnel(say),
        Op::Bfe => extract(say),
        Op::Bfi => insert(say),
        Op::Bfind | Op::Clz | Op::Popc => count(say),
        Op::Brev => reverse(say),
        Op::Prmt => permute(say),
        Op::Bmsk => run(say),
        Op::Szext => extend(say),
        Op::Dp4a | Op::Dp2a => dot(say),
        Op::Pack => pack(say),
        Op::Unpack => unpack(say),
        Op::CvtaTo | Op::CvtaFrom => window(say),
        _ => None,
    }
}

fn logic(say: &Say<'_>) -> Option<Recipe> {
    if say.ty == Ty::Pred {
        return None;
    }
    let mut b = Build::for_type(say);
    let x = b.arg(0);
    let value = match say.inst.op {
        Op::Mov => x,
        Op::Not => b.not(x),
        Op::Cnot => {
            let x = b.cut(x, say.ty.bits());
            let (zero, one) = (b.c(0), b.c(1));
            let holds = b.binary(Micro::Equal, x, zero);
            b.and(holds, one)
        }
        Op::And => {
            let y = b.arg(1);
            b.and(x, y)
        }
        Op::Or => {
            let y = b.arg(1);
            b.or(x, y)
        }
        Op::Xor => {
            let y = b.arg(1);
            b.xor(x, y)
        }
        _ => {
            let y = b.arg(1);
            b.binary(Micro::AndNot, y, x)
        }
    };
    let value = b.cut(value, say.ty.bits());
    b.one(value)
}

fn lop3(say: &Say<'_>) -> Option<Recipe> {
    let table = say.number(3)? as u8;
    let mut b = Build::new(say, false);
    let (x, y, z) = (b.arg(0), b.arg(1), b.arg(2));
    let value = b.ternary(Micro::Table(table), x, y, z);
    if say.inst.results.len() < 2 {
        return b.one(value);
    }
    let zero = b.c(0);
    let same = b.binary(Micro::Equal, value, zero);
    let mut holds = b.not(same);
    if let Some(how) = say.inst.mods.bool_op {
        let p = b.predicate(4);
        holds = combined(&mut b, how, holds, p);
    }
    b.give(vec![(value, Sort::Word), (holds, Sort::Predicate)])
}

pub(super) fn combined(b: &mut Build, how: BoolOp, holds: Value, p: Value) -> Value {
    match how {
        BoolOp::And => b.and(holds, p),
        BoolOp::Or => b.or(holds, p),
        BoolOp::Xor => b.xor(holds, p),
    }
}

/// Shifts values of 16 bits or fewer, for which there are no vector shifts.
fn shift(say: &Say<'_>) -> Option<Recipe> {
    let bits = say.ty.bits();
    if bits >= 32 {
        return None;
    }
    let mut b = Build::new(say, false);
    let (x, by) = (b.integer(0, say.ty), b.arg(1));
    let value = match say.inst.op {
        Op::Shl => b.binary(Micro::Shl, x, by),
        _ if say.ty.is_signed() => b.sar(x, by),
        _ => b.binary(Micro::Shr, x, by),
    };
    let value = b.cut(value, bits);
    b.one(value)
}

/// Shifts a pair of words in one 64-bit lane.
fn funnel(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let (low, high, by) = (b.arg(0), b.arg(1), b.arg(2));
    let by = b.cut(by, 32);
    let by = if say.has(Flag::Wrap) { b.cut(by, 5) } else { b.half_with(Micro::MinU, by, 32) };
    let high = b.shl(high, 32);
    let low = b.cut(low, 32);
    let both = b.or(high, low);
    let value = if say.inst.op == Op::ShfL {
        let value = b.binary(Micro::Shl, both, by);
        b.shr(value, 32)
    } else {
        let value = b.binary(Micro::Shr, both, by);
        b.cut(value, 32)
    };
    b.word(value)
}

/// Returns a mask of `length` low bits in each lane; all bits if `length` is the lane's width or
/// more.
fn ones(b: &mut Build, length: Value) -> Value {
    let one = b.c(1);
    let above = b.binary(Micro::Shl, one, length);
    b.sub(above, one)
}

fn extract(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let (x, start, length) = (b.arg(0), b.arg(1), b.arg(2));
    let (start, length) = (b.cut(start, 8), b.cut(length, 8));
    let value = if say.ty.is_signed() {
        let bits = u64::from(say.ty.bits());
        let shifted = b.sar(x, start);
        // Shifts the field's top bit to the lane's, and back with sign extension.
        let length = b.half_with(Micro::MinU, length, bits);
        let width = b.c(bits);
        let rest = b.sub(width, length);
        let value = b.binary(Micro::Shl, shifted, rest);
        b.sar(value, rest)
    } else {
        let shifted = b.binary(Micro::Shr, x, start);
        let mask = ones(&mut b, length);
        b.and(shifted, mask)
    };
    b.one(value)
}

fn insert(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let (start, length) = (b.arg(2), b.arg(3));
    let (start, length) = (b.cut(start, 8), b.cut(length, 8));
    let mask = ones(&mut b, length);
    let mask = b.binary(Micro::Shl, mask, start);
    let x = b.arg(0);
    let field = b.binary(Micro::Shl, x, start);
    let y = b.arg(1);
    let value = b.ternary(Micro::Table(0xca), mask, field, y);
    b.one(value)
}

/// Counts the leading zeros of 32-bit words, by the exponent of the word as a float. Masking it
/// with `!(x >> 1)` keeps the highest set bit and cannot round up to the next power of two.
fn leading_zeros(b: &mut Build, x: Value) -> Value {
    let next = b.half_with(Micro::Shr, x, 1);
    let highest = b.half(Micro::AndNot, next, x);
    let float = b.half(Micro::FloatOf(RoundingControl::RoundToNearest), highest, highest);
    let exponent = b.half_with(Micro::Shr, float, 23);
    let bias = b.constant(158, false);
    let zeros = b.half(Micro::Sub, bias, exponent);
    // Negative if the float's sign bit is set, that is for words with no leading zero; 158, and so
    // 32, for 0.
    let zeros = b.half_with(Micro::MaxS, zeros, 0);
    b.half_with(Micro::MinU, zeros, 32)
}

/// Counts the leading zeros of lanes.
fn leading(b: &mut Build, x: Value) -> Value {
    let zeros = leading_zeros(b, x);
    if !b.wide {
        return zeros;
    }
    let (high, low) = (b.shr(zeros, 32), b.cut(zeros, 32));
    let all = b.c(32);
    let none = b.binary(Micro::Equal, high, all);
    let low = b.and(none, low);
    b.add(high, low)
}

fn count(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let x = b.arg(0);
    let value = match say.inst.op {
        Op::Clz => leading(&mut b, x),
        Op::Popc => population(&mut b, x),
        _ => {
            let x = if say.ty.is_signed() {
                let sign = b.negative(x);
                b.xor(x, sign)
            } else {
                x
            };
            let zeros = leading(&mut b, x);
            let bits = u64::from(say.ty.bits());
            if say.has(Flag::ShiftAmt) {
                let width = b.c(bits);
                let none = b.binary(Micro::Equal, zeros, width);
                b.or(zeros, none)
            } else {
                let top = b.c(bits - 1);
                b.sub(top, zeros)
            }
        }
    };
    let value = b.cut(value, 32);
    b.word(value)
}

/// Counts set bits: a table lookup for each four bits, summed over bytes.
fn population(b: &mut Build, x: Value) -> Value {
    let table = b.bytes([0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4]);
    let four = 0x0f0f_0f0f_0f0f_0f0f;
    let low = b.with(Micro::And, x, four);
    let low = b.binary(Micro::Shuffle, table, low);
    let high = b.shr(x, 4);
    let high = b.with(Micro::And, high, four);
    let high = b.binary(Micro::Shuffle, table, high);
    let mut sum = b.add(low, high);
    for by in if b.wide { &[32, 16, 8][..] } else { &[16, 8] } {
        let above = b.shr(sum, *by);
        sum = b.add(sum, above);
    }
    b.cut(sum, 7)
}

/// Reverses the bits of each byte by table lookups, then the bytes.
fn reverse(say: &Say<'_>) -> Option<Recipe> {
    let bytes = say.ty.bits() as u8 / 8;
    let mut b = Build::for_type(say);
    let x = b.arg(0);
    let turned: [u8; 16] = std::array::from_fn(|i| (i as u8).reverse_bits() >> 4);
    let (table, raised) = (b.bytes(turned), b.bytes(turned.map(|t| t << 4)));
    let four = 0x0f0f_0f0f_0f0f_0f0f;
    let low = b.with(Micro::And, x, four);
    let low = b.binary(Micro::Shuffle, raised, low);
    let high = b.shr(x, 4);
    let high = b.with(Micro::And, high, four);
    let high = b.binary(Micro::Shuffle, table, high);
    let value = b.or(low, high);
    let order = std::array::from_fn(|i| i as u8 / bytes * bytes + (bytes - 1 - i as u8 % bytes));
    let order = b.bytes(order);
    let value = b.binary(Micro::Shuffle, value, order);
    b.one(value)
}

fn permute(say: &Say<'_>) -> Option<Recipe> {
    let mode = say.inst.mods.prmt;
    let mut b = Build::new(say, false);
    let (x, y) = (b.arg(0), b.arg(1));
    let Some(number) = say.number(2) else {
        return if mode.is_none() { permute_any(b, x, y) } else { None };
    };
    let control = mode.map_or(number, |mode| mode.generic_control(number));
    let selector = |i: u8| control >> (4 * (i % 4)) & 0xf;
    // A shuffle of each of the two words puts its selected bytes in place and zeros elsewhere.
    let mut value = None;
    for (word, from) in [(x, 0), (y, 4)] {
        let index = |i: usize| {
            let byte = selector(i as u8) & 7;
            if byte & 4 == from { byte as u8 & 3 | i as u8 & 12 } else { 0x80 }
        };
        if (0..4).all(|i| index(i) == 0x80) {
            continue;
        }
        let index = b.bytes(std::array::from_fn(index));
        let part = b.binary(Micro::Shuffle, word, index);
        value = Some(value.map_or(part, |other| b.or(other, part)));
    }
    let value = value?;
    let signs = (0..4u8).fold(0, |m, i| m | if selector(i) & 8 != 0 { 0xff << (8 * i) } else { 0 });
    if signs == 0 {
        return b.one(value);
    }
    let sign = sign_bytes(&mut b, value);
    let mask = b.c(signs);
    let value = b.ternary(Micro::Table(0xca), mask, sign, value);
    b.one(value)
}

/// Sets all bits of each byte whose lowest bit is set, and clears the other bytes.
fn whole_bytes(b: &mut Build, x: Value) -> Value {
    let x = b.with(Micro::And, x, 0x0101_0101);
    let above = b.shl(x, 8);
    b.sub(above, x)
}

fn sign_bytes(b: &mut Build, x: Value) -> Value {
    let x = b.shr(x, 7);
    whole_bytes(b, x)
}

/// Permutes with selectors that vary by lane, one expanded into each byte.
fn permute_any(mut b: Build, x: Value, y: Value) -> Option<Recipe> {
    let c = b.arg(2);
    let c = b.cut(c, 16);
    let above = b.shl(c, 8);
    let c = b.or(c, above);
    let c = b.with(Micro::And, c, 0x00ff_00ff);
    let above = b.shl(c, 4);
    let c = b.or(c, above);
    let c = b.with(Micro::And, c, 0x0f0f_0f0f);
    let index = b.with(Micro::And, c, 0x0303_0303);
    let lane = b.bytes(std::array::from_fn(|i| i as u8 & 12));
    let index = b.or(index, lane);
    let low = b.binary(Micro::Shuffle, x, index);
    let high = b.binary(Micro::Shuffle, y, index);
    let second = b.shr(c, 2);
    let second = whole_bytes(&mut b, second);
    let value = b.ternary(Micro::Table(0xca), second, high, low);
    let signs = b.shr(c, 3);
    let signs = whole_bytes(&mut b, signs);
    let sign = sign_bytes(&mut b, value);
    let value = b.ternary(Micro::Table(0xca), signs, sign, value);
    b.one(value)
}

fn run(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, false);
    let (mut position, mut width) = (b.arg(0), b.arg(1));
    if say.has(Flag::Wrap) {
        (position, width) = (b.cut(position, 5), b.cut(width, 5));
    }
    let mask = ones(&mut b, width);
    let value = b.binary(Micro::Shl, mask, position);
    b.one(value)
}

fn extend(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, false);
    let (x, bits) = (b.arg(0), b.arg(1));
    let bits = if say.has(Flag::Wrap) { b.cut(bits, 5) } else { b.with(Micro::MinU, bits, 32) };
    let value = if say.ty.is_signed() {
        let width = b.c(32);
        let rest = b.sub(width, bits);
        let value = b.binary(Micro::Shl, x, rest);
        b.sar(value, rest)
    } else {
        let mask = ones(&mut b, bits);
        b.and(x, mask)
    };
    b.one(value)
}

/// Extends every other byte to a 16-bit word.
fn every_other(b: &mut Build, x: Value, signed: bool) -> Value {
    let x = b.with(Micro::And, x, 0x00ff_00ff);
    if !signed {
        return x;
    }
    let x = b.with(Micro::Xor, x, 0x0080_0080);
    b.with(Micro::Sub16, x, 0x0080_0080)
}

fn dot(say: &Say<'_>) -> Option<Recipe> {
    let (first, second) = (say.ty.is_signed(), say.inst.ty2?.is_signed());
    let mut b = Build::new(say, false);
    let (x, y, z) = (b.arg(0), b.arg(1), b.arg(2));
    let mut sum = z;
    for odd in [false, true] {
        let part = if say.inst.op == Op::Dp4a {
            let by = if odd { 8 } else { 0 };
            let (x, y) = (b.shr(x, by), b.shr(y, by));
            let (x, y) = (every_other(&mut b, x, first), every_other(&mut b, y, second));
            b.binary(Micro::Dot16, x, y)
        } else {
            let by = u8::from(odd);
            let x = b.shr(x, 16 * by);
            let y = b.shr(y, 8 * by + if say.has(Flag::Upper) { 16 } else { 0 });
            let x = b.extended(x, if first { Ty::S16 } else { Ty::U16 });
            let y = b.extended(y, if second { Ty::S8 } else { Ty::U8 });
            b.binary(Micro::Mul, x, y)
        };
        sum = b.add(sum, part);
    }
    b.one(sum)
}

/// Packs parts of one width, the first in the low bits.
fn pack(say: &Say<'_>) -> Option<Recipe> {
    let bits = say.inst.ty2.map_or(32, Ty::bits);
    let mut b = Build::for_type(say);
    let mut value = b.arg(0);
    for i in 1..say.inst.operands.len() {
        let part = b.arg(i);
        let part = b.shl(part, u8::try_from(bits * i as u32).ok().filter(|&s| s < 64)?);
        value = b.or(value, part);
    }
    b.one(value)
}

fn unpack(say: &Say<'_>) -> Option<Recipe> {
    let bits = say.inst.ty2.map_or(32, Ty::bits);
    let mut b = Build::for_type(say);
    let whole = b.arg(0);
    let mut parts = Vec::new();
    for i in 0..say.inst.results.len() {
        let part = b.shr(whole, u8::try_from(bits * i as u32).ok().filter(|&s| s < 64)?);
        parts.push((b.cut(part, bits), if bits > 32 { Sort::Whole } else { Sort::Word }));
    }
    b.give(parts)
}

/// Converts addresses in a window to generic ones, or back.
fn window(say: &Say<'_>) -> Option<Recipe> {
    let start = match say.inst.mods.space? {
        Space::Shared => SHARED_WINDOW.start,
        Space::Local => LOCAL_WINDOW.start,
        Space::Param => PARAM_WINDOW.start,
        Space::Global | Space::Const | Space::Generic => 0,
    };
    let mut b = Build::new(say, true);
    let x = b.arg(0);
    let op = if say.inst.op == Op::CvtaTo { Micro::Add } else { Micro::Sub };
    let value = b.with(op, x, start);
    let value = b.cut(value, say.ty.bits());
    b.typed(value, say.ty)
}
