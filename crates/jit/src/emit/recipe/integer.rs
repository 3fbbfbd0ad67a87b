//! Integer arithmetic: `simt::arith::int`.

use super::{Arith, Build, Micro, Recipe, Say, Sort, Value, convert};
use iced_x86::RoundingControl;
use ir::mods::Flag;
use ir::{Op, Ty};

pub(super) fn recipe(say: &Say<'_>) -> Option<Recipe> {
    if matches!(say.ty, Ty::U16x2 | Ty::S16x2) {
        return packed(say);
    }
    match say.inst.op {
        Op::Add | Op::Sub if say.has(Flag::Sat) => saturating(say),
        Op::Add | Op::Sub | Op::Mul | Op::Mad => plain(say),
        Op::Min | Op::Max => extreme(say),
        Op::Abs | Op::Neg | Op::Sad => distance(say),
        Op::Div | Op::Rem if say.ty.bits() <= 32 => divide(say),
        Op::MulWide | Op::MadWide if say.ty.bits() == 16 => wide_product(say),
        Op::MulHi if say.ty.bits() == 64 => high_product(say),
        Op::MulHi | Op::MadHi if say.ty.bits() < 64 && !say.has(Flag::Sat) => high_word(say),
        Op::Mul24 | Op::Mad24 | Op::Mul24Hi => product24(say),
        Op::Mad24Hi if !say.has(Flag::Sat) => product24(say),
        Op::AddCarry | Op::SubCarry | Op::MadCarry | Op::MadHiCarry => carry(say),
        _ => None,
    }
}

/// Arithmetic on values of 16 bits or fewer, for which there are no vector instructions.
fn plain(say: &Say<'_>) -> Option<Recipe> {
    if say.ty.bits() >= 32 {
        return None;
    }
    let mut b = Build::for_type(say);
    let (x, y) = (b.arg(0), b.arg(1));
    let value = match say.inst.op {
        Op::Add => b.add(x, y),
        Op::Sub => b.sub(x, y),
        _ => b.binary(Micro::Mul, x, y),
    };
    let value = if say.inst.op == Op::Mad {
        let z = b.arg(2);
        b.add(value, z)
    } else {
        value
    };
    let value = b.cut(value, say.ty.bits());
    b.one(value)
}

/// Adds or subtracts signed words in 64-bit lanes, clamped to the range of a word.
fn saturating(say: &Say<'_>) -> Option<Recipe> {
    if say.ty != Ty::S32 {
        return None;
    }
    let mut b = Build::new(say, true);
    let (x, y) = (b.integer(0, Ty::S32), b.integer(1, Ty::S32));
    let value = if say.inst.op == Op::Add { b.add(x, y) } else { b.sub(x, y) };
    let value = clamp(&mut b, value, (i64::from(i32::MIN), i64::from(i32::MAX)));
    b.word(value)
}

/// Clamps a signed value of 64-bit lanes.
pub(super) fn clamp(b: &mut Build, value: Value, (least, most): (i64, i64)) -> Value {
    let (low, high) = (b.c(least as u64), b.c(most as u64));
    let above = b.binary(Micro::Greater, value, high);
    let value = b.choose(above, high, value);
    let below = b.binary(Micro::Greater, low, value);
    b.choose(below, low, value)
}

fn extreme(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let (x, y) = (b.integer(0, say.ty), b.integer(1, say.ty));
    if say.inst.operands.len() != 2 {
        return None;
    }
    let max = say.inst.op == Op::Max;
    // An unsigned value narrower than the lane is not negative as a signed one.
    let greater = if say.ty.is_signed() || say.ty.bits() < 32 {
        b.binary(Micro::Greater, x, y)
    } else {
        b.greater_unsigned(x, y)
    };
    let value = if max { b.choose(greater, x, y) } else { b.choose(greater, y, x) };
    let value = if say.has(Flag::Relu) { relu(&mut b, value) } else { value };
    let value = b.cut(value, say.ty.bits());
    b.one(value)
}

/// Replaces negative values by zero.
fn relu(b: &mut Build, value: Value) -> Value {
    let negative = b.negative(value);
    b.binary(Micro::AndNot, negative, value)
}

fn distance(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let x = b.integer(0, say.ty);
    let zero = b.c(0);
    let value = match say.inst.op {
        Op::Neg => b.sub(zero, x),
        Op::Abs => {
            let sign = b.negative(x);
            let flipped = b.xor(x, sign);
            b.sub(flipped, sign)
        }
        _ => {
            let y = b.integer(1, say.ty);
            let greater = if say.ty.is_signed() || say.ty.bits() < 32 {
                b.binary(Micro::Greater, y, x)
            } else {
                b.greater_unsigned(y, x)
            };
            // Negates the difference where the second operand is greater.
            let apart = b.sub(x, y);
            let apart = b.xor(apart, greater);
            let apart = b.sub(apart, greater);
            let z = b.arg(2);
            b.add(apart, z)
        }
    };
    let value = b.cut(value, say.ty.bits());
    b.one(value)
}

/// Divides values of 32 bits or fewer in double precision; the truncated quotient is exact.
fn divide(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let [x, y] = [0, 1].map(|i| b.integer(i, say.ty));
    let [p, q] = [x, y].map(|v| convert::double_of(&mut b, v));
    let quotient = b.arith(Arith::Div, [p, q, q]);
    let quotient = b.unary(Micro::Integral(RoundingControl::RoundTowardZero), quotient);
    let quotient = convert::integer_of(&mut b, quotient);
    let zero = b.c(0);
    let nothing = b.binary(Micro::Equal, y, zero);
    let value = if say.inst.op == Op::Div {
        b.or(quotient, nothing)
    } else {
        let product = b.binary(Micro::Mul, quotient, y);
        let product = b.binary(Micro::AndNot, nothing, product);
        b.sub(x, product)
    };
    let value = b.cut(value, say.ty.bits());
    b.word(value)
}

/// Multiplies 16-bit values to 32 bits.
fn wide_product(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let (x, y) = (b.integer(0, say.ty), b.integer(1, say.ty));
    let value = b.binary(Micro::Mul, x, y);
    let value = if say.inst.op == Op::MadWide {
        let z = b.arg(2);
        b.add(value, z)
    } else {
        value
    };
    b.one(value)
}

/// Computes the upper half of a product of 32 bits or fewer in 64-bit lanes.
fn high_word(say: &Say<'_>) -> Option<Recipe> {
    let bits = say.ty.bits();
    let mut b = Build::new(say, true);
    let (x, y) = (b.integer(0, say.ty), b.integer(1, say.ty));
    let multiply = if say.ty.is_signed() { Micro::MulSigned } else { Micro::Mul };
    let product = b.binary(multiply, x, y);
    let value = b.shr(product, bits as u8);
    let value = if say.inst.op == Op::MadHi {
        let z = b.arg(2);
        b.add(value, z)
    } else {
        value
    };
    let value = b.cut(value, bits);
    b.word(value)
}

/// Computes the upper half of a 64-bit product from products of words.
fn high_product(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let (x, y) = (b.operand(0), b.operand(1));
    let low = b.binary(Micro::Mul, x, y);
    let low = b.shr(low, 32);
    let high_x = b.shr(x, 32);
    let cross = b.binary(Micro::Mul, high_x, y);
    let middle = b.add(cross, low);
    let high_y = b.shr(y, 32);
    let cross = b.binary(Micro::Mul, x, high_y);
    let part = b.cut(middle, 32);
    let other = b.add(cross, part);
    let high = b.binary(Micro::Mul, high_x, high_y);
    let middle = b.shr(middle, 32);
    let high = b.add(high, middle);
    let other = b.shr(other, 32);
    let mut value = b.add(high, other);
    if say.ty.is_signed() {
        for (sign, of) in [(0, 1), (1, 0)] {
            let (sign, of) = (b.again(sign), b.again(of));
            let sign = b.negative(sign);
            let less = b.and(sign, of);
            value = b.sub(value, less);
        }
    }
    b.one(value)
}

/// Multiplies the low 24 bits.
fn product24(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let signed = say.ty.is_signed();
    let [x, y] = [0, 1].map(|i| {
        let x = b.arg(i);
        let x = b.cut(x, 24);
        if !signed {
            return x;
        }
        let x = b.with(Micro::Xor, x, 1 << 23);
        b.with(Micro::Sub, x, 1 << 23)
    });
    let product = b.binary(if signed { Micro::MulSigned } else { Micro::Mul }, x, y);
    let high = matches!(say.inst.op, Op::Mul24Hi | Op::Mad24Hi);
    let value = if high { b.shr(product, 16) } else { product };
    let value = if matches!(say.inst.op, Op::Mad24 | Op::Mad24Hi) {
        let z = b.arg(2);
        b.add(value, z)
    } else {
        value
    };
    let value = b.cut(value, 32);
    b.word(value)
}

/// Adds with carry in and carry out.
fn carry(say: &Say<'_>) -> Option<Recipe> {
    match say.ty.bits() {
        32 => carry_word(say),
        64 => carry_whole(say),
        _ => None,
    }
}

/// Adds words in 64-bit lanes: the carry is the bits above the word.
fn carry_word(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let (x, y) = (b.arg(0), b.arg(1));
    let (x, y) = (b.cut(x, 32), b.cut(y, 32));
    let multiply = if say.ty.is_signed() { Micro::MulSigned } else { Micro::Mul };
    let [a, c, p] = match say.inst.op {
        Op::MadCarry => {
            let product = b.binary(Micro::Mul, x, y);
            [b.cut(product, 32), b.arg(2), b.arg(3)]
        }
        Op::MadHiCarry => {
            let product = b.binary(multiply, x, y);
            [b.shr(product, 32), b.arg(2), b.arg(3)]
        }
        Op::SubCarry => {
            let ones = b.c(u64::from(u32::MAX));
            [x, b.xor(y, ones), b.arg(2)]
        }
        _ => [x, y, b.arg(2)],
    };
    let c = b.cut(c, 32);
    let both = b.add(c, p);
    let value = b.add(a, both);
    let zero = b.c(0);
    let out = b.shr(value, 32);
    let out = b.binary(Micro::Greater, out, zero);
    let value = b.cut(value, 32);
    b.give(vec![(value, Sort::Word), (out, Sort::Predicate)])
}

/// Adds 64-bit values: there is a carry out if either of the two sums wraps around.
fn carry_whole(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::new(say, true);
    let (x, y, p) = (b.arg(0), b.arg(1), b.arg(2));
    let y = match say.inst.op {
        Op::AddCarry => y,
        Op::SubCarry => {
            let ones = b.c(u64::MAX);
            b.xor(y, ones)
        }
        _ => return None,
    };
    let sum = b.add(x, y);
    let first = b.greater_unsigned(x, sum);
    let value = b.add(sum, p);
    let second = b.greater_unsigned(sum, value);
    let out = b.or(first, second);
    b.give(vec![(value, Sort::Whole), (out, Sort::Predicate)])
}

/// Computes each half of a pair of 16-bit integers.
fn packed(say: &Say<'_>) -> Option<Recipe> {
    let half = if say.ty == Ty::S16x2 { Ty::S16 } else { Ty::U16 };
    if say.inst.operands.len() != 2 {
        return None;
    }
    let mut b = Build::new(say, false);
    let (x, y) = (b.arg(0), b.arg(1));
    let mut parts = Vec::new();
    for shift in [0, 16] {
        let (x, y) = (b.shr(x, shift), b.shr(y, shift));
        let (x, y) = (b.extended(x, half), b.extended(y, half));
        let value = match say.inst.op {
            Op::Add => b.add(x, y),
            Op::Min => b.binary(Micro::MinS, x, y),
            Op::Max => b.binary(Micro::MaxS, x, y),
            _ => return None,
        };
        let value =
            if say.has(Flag::Relu) && say.ty == Ty::S16x2 { relu(&mut b, value) } else { value };
        let value = if shift == 0 { b.cut(value, 16) } else { b.shl(value, 16) };
        parts.push(value);
    }
    let value = b.or(parts[0], parts[1]);
    b.one(value)
}
