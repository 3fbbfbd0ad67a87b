//! Quotients and remainders of integers, by floats that hold them exactly or nearly so.

use super::build::{Build, Results, one};
use super::compare::EQUAL;
use crate::function::{Type, Value};
use crate::op::{Arith, Conversion, LaneOp, Rounding};
use fast::ops::{Rel, Test};
use ir::Op;

use Rounding::{Nearest, Zero};

pub(super) fn recipe(b: &mut Build<'_>) -> Option<Results> {
    let (signed, remainder) = (b.ty.is_signed(), b.inst.op == Op::Rem);
    one(match b.ty.bits() {
        32 => words(b, signed, remainder),
        64 if signed => signed_wholes(b, remainder),
        64 => {
            let (x, y) = (b.lane(0), b.lane(1));
            wholes(b, x, y)[usize::from(remainder)]
        }
        _ => {
            let value = halves(b, remainder);
            b.cut(value, b.ty.bits())
        }
    })
}

/// Values of 16 bits or fewer: single precision has so many digits more that the quotient's cut is
/// exact.
fn halves(b: &mut Build<'_>, remainder: bool) -> Value {
    let [x, y] = [0, 1].map(|i| b.integer(i, b.ty, Type::Row32));
    let [p, q] = [x, y].map(|v| b.unary(LaneOp::FloatOfS(Nearest), v));
    let quotient = b.arith(Arith::Div, p, q);
    let quotient = b.unary(LaneOp::SignedOf(Zero), quotient);
    let none = b.is_zero(y);
    finish(b, [x, y], quotient, none, remainder)
}

/// Returns a quotient that is all bits where the divisor is 0, or the remainder.
fn finish(
    b: &mut Build<'_>,
    [x, y]: [Value; 2],
    quotient: Value,
    none: Value,
    remainder: bool,
) -> Value {
    if remainder {
        // The dividend, where the divisor is 0.
        let product = b.binary(LaneOp::Mul, quotient, y);
        return b.difference(x, product);
    }
    b.select_bits(none, u64::MAX, quotient)
}

/// Divides words: quotients in double precision, cut, are exact.
pub(super) fn words(b: &mut Build<'_>, signed: bool, remainder: bool) -> Value {
    if !signed && b.is_uniform(1) {
        return by_one(b, remainder);
    }
    let (x, y) = (b.word(0), b.word(1));
    let (widen, cut) = match signed {
        true => (Conversion::DoubleOfS, Conversion::SignedOfDouble),
        false => (Conversion::DoubleOfU, Conversion::UnsignedOfDouble),
    };
    let [p, q] = [x, y].map(|v| b.convert(widen, v));
    let quotient = b.arith(Arith::Div, p, q);
    let quotient = b.convert(cut, quotient);
    if !signed && !remainder {
        // By 0, an infinity or a NaN becomes all bits.
        return quotient;
    }
    let none = b.is_zero(y);
    finish(b, [x, y], quotient, none, remainder)
}

/// Divides unsigned words by a divisor that is the same in all lanes. Its inverse and the product
/// are rounded toward zero, so that a quotient is right or too small by 1; of 0 the inverse is
/// infinite, and quotients have all bits.
fn by_one(b: &mut Build<'_>, remainder: bool) -> Value {
    let (x, y) = (b.word(0), b.word(1));
    let divisor = b.convert(Conversion::DoubleOfU, y);
    let one = b.like(divisor, 1f64.to_bits());
    let inverse = b.binary(LaneOp::Float(Arith::Div, Zero), one, divisor);
    let dividend = b.convert(Conversion::DoubleOfU, x);
    let quotient = b.binary(LaneOp::Float(Arith::Mul, Zero), dividend, inverse);
    let quotient = b.convert(Conversion::UnsignedOfDouble, quotient);
    let product = b.binary(LaneOp::Mul, quotient, y);
    let rest = b.difference(x, product);
    // The remainder is above the divisor less 1 if the quotient is too small; never if the divisor
    // is 0.
    let most = b.with(LaneOp::Add, y, u64::MAX);
    let more = b.test(Test::U(Rel::Gt), rest, most);
    let (value, corrected) = if remainder {
        (rest, b.difference(rest, y))
    } else {
        (quotient, b.with(LaneOp::Add, quotient, 1))
    };
    b.select(more, corrected, value)
}

/// Divides 64-bit integers; returns quotients and remainders.
///
/// A quotient `q` of doubles is off by `x / y * 2^-50` and a half at most, so that the rest `x - q
/// y` is `y / 2 + 2^14` at most and a signed integer, as long as `y` is below 2^63. The quotient of
/// the rest, added, is off by less than 1, and the last rest's sign shows the direction. From 2^63
/// on, quotients are 0 or 1.
fn wholes(b: &mut Build<'_>, x: Value, y: Value) -> [Value; 2] {
    let (dividend, divisor) =
        (b.unary(LaneOp::FloatOfU(Nearest), x), b.unary(LaneOp::FloatOfU(Nearest), y));
    let one = b.like(divisor, 1f64.to_bits());
    let inverse = b.arith(Arith::Div, one, divisor);
    let first = b.arith(Arith::Mul, dividend, inverse);
    let first = b.unary(LaneOp::UnsignedOf(Nearest), first);
    let product = b.binary(LaneOp::Mul, first, y);
    let rest = b.difference(x, product);
    let second = b.unary(LaneOp::FloatOfS(Nearest), rest);
    let second = b.arith(Arith::Mul, second, inverse);
    let second = b.unary(LaneOp::SignedOf(Nearest), second);
    let product = b.binary(LaneOp::Mul, second, y);
    let rest = b.difference(rest, product);
    let quotient = b.sum(first, second);
    let below = b.is_negative(rest);
    let less = b.with(LaneOp::Add, quotient, u64::MAX);
    let more = b.sum(rest, y);
    let (quotient, rest) = (b.select(below, less, quotient), b.select(below, more, rest));
    // Divisors from 2^63 on.
    let great = b.is_negative(y);
    let reached = b.test(Test::U(Rel::Ge), x, y);
    let (yes, no) = (b.like(x, 1), b.like(x, 0));
    let once = b.select(reached, yes, no);
    let left = b.difference(x, y);
    let left = b.select(reached, left, x);
    let (quotient, rest) = (b.select(great, once, quotient), b.select(great, left, rest));
    let none = b.is_zero(y);
    [b.select_bits(none, u64::MAX, quotient), b.select(none, x, rest)]
}

/// Divides the magnitudes of signed 64-bit integers.
fn signed_wholes(b: &mut Build<'_>, remainder: bool) -> Value {
    let (x, y) = (b.lane(0), b.lane(1));
    let [sign_x, sign_y] = [x, y].map(|v| b.with(LaneOp::Sar, v, 63));
    let magnitude = |b: &mut Build<'_>, value: Value, sign: Value| {
        let value = b.xor(value, sign);
        b.difference(value, sign)
    };
    let (p, q) = (magnitude(b, x, sign_x), magnitude(b, y, sign_y));
    let [quotient, rest] = wholes(b, p, q);
    if remainder {
        // A remainder has the sign of the dividend.
        return magnitude(b, rest, sign_x);
    }
    let sign = b.xor(sign_x, sign_y);
    let quotient = magnitude(b, quotient, sign);
    let none = b.test_with(EQUAL, y, 0);
    b.select_bits(none, u64::MAX, quotient)
}
