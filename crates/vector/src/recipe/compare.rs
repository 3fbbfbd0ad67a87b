//! Comparisons and selections.

use super::bits::combined;
use super::build::{Build, Results, one, row_of};
use super::float::Format;
use crate::function::Value;
use crate::op::LaneOp;
use fast::ops::{Rel, Test};
use ir::mods::{Cmp, Flag, TestP};
use ir::{Op, Ty};

/// Whether bits are equal.
pub(super) const EQUAL: Test = Test::U(Rel::Eq);

/// `setp` and `set`: a condition, and its complement for a second result.
pub(super) fn relation(b: &mut Build<'_>) -> Option<Results> {
    let cmp = b.inst.mods.cmp?;
    let holds = if b.ty.is_float() { floats(b, cmp)? } else { integers(b, cmp)? };
    let two = b.inst.results.len() > 1;
    let mut results = Results::new();
    let p = b.inst.mods.bool_op.map(|how| (how, b.predicate(2)));
    for complement in [false, true].into_iter().take(1 + usize::from(two)) {
        let holds = if complement { b.complement(holds) } else { holds };
        results.push(match p {
            Some((how, p)) => combined(b, how, holds, p),
            None => holds,
        });
    }
    if b.inst.op == Op::Setp { Some(results) } else { one(truth(b, results[0])?) }
}

/// Returns what `set` writes: a value of its result type where the mask is set, else 0.
fn truth(b: &mut Build<'_>, holds: Value) -> Option<Value> {
    let ty = b.inst.ty2.unwrap_or(Ty::U32);
    let bits = match ty {
        Ty::F32 => 1f32.to_bits().into(),
        Ty::F64 => 1f64.to_bits(),
        Ty::F16 => 0x3c00,
        Ty::Bf16 => 0x3f80,
        Ty::U16 | Ty::S16 => 0xffff,
        Ty::U32 | Ty::S32 => 0xffff_ffff,
        Ty::U64 | Ty::S64 => u64::MAX,
        _ => return None,
    };
    let row = row_of(ty.bits());
    let (yes, no) = (b.constant(bits, row), b.constant(0, row));
    Some(b.select(holds, yes, no))
}

/// Returns whether a relation is one of floats.
fn is_float_relation(cmp: Cmp) -> bool {
    !matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs)
}

fn floats(b: &mut Build<'_>, cmp: Cmp) -> Option<Value> {
    let format = Format::of(b.ty).filter(|_| is_float_relation(cmp))?;
    let ftz = b.has(Flag::Ftz);
    let (x, y) = (format.operand(b, 0, ftz), format.operand(b, 1, ftz));
    Some(b.compare(cmp, x, y))
}

fn integers(b: &mut Build<'_>, cmp: Cmp) -> Option<Value> {
    let test = Test::of_integers(cmp, b.ty.is_signed())?;
    let ty = match (b.ty.bits(), test) {
        (_, Test::S(_)) => b.ty,
        (8, _) => Ty::U8,
        (16, _) => Ty::U16,
        (32, _) => Ty::U32,
        _ => Ty::U64,
    };
    let row = row_of(ty.bits());
    let (x, y) = (b.integer(0, ty, row), b.integer(1, ty, row));
    Some(b.test(test, x, y))
}

/// `setp` of two halves, each with a result of its own, and `set` of both.
pub(super) fn packed(b: &mut Build<'_>) -> Option<Results> {
    let cmp = b.inst.mods.cmp.filter(|&cmp| is_float_relation(cmp))?;
    let format = Format::of(b.ty)?;
    let ftz = b.has(Flag::Ftz);
    let words = [b.word(0), b.word(1)];
    let p = b.inst.mods.bool_op.map(|how| (how, b.predicate(2)));
    let mut results = Results::new();
    for shift in [0, 16] {
        let [x, y] = words.map(|word| {
            let half = b.shr(word, shift);
            let half = b.cut(half, 16);
            let half = format.flushed(b, half, ftz);
            format.raised(b, half)
        });
        let holds = b.compare(cmp, x, y);
        results.push(match p {
            Some((how, p)) => combined(b, how, holds, p),
            None => holds,
        });
    }
    if b.inst.op == Op::Setp {
        results.truncate(b.inst.results.len().max(1));
        return Some(results);
    }
    let truth: u32 = match b.inst.ty2.unwrap_or(Ty::U32) {
        Ty::F16x2 => 0x3c00_3c00,
        Ty::Bf16x2 => 0x3f80_3f80,
        Ty::U32 | Ty::S32 => u32::MAX,
        _ => return None,
    };
    let none = b.like(words[0], 0);
    let low = b.select_bits(results[0], u64::from(truth & 0xffff), none);
    let high = b.select_bits(results[1], u64::from(truth & 0xffff_0000), none);
    one(b.or(low, high))
}

pub(super) fn select(b: &mut Build<'_>) -> Option<Results> {
    if b.ty == Ty::B128 {
        let row = row_of(64);
        let [x, high_x, y, high_y] = [0, 1, 2, 3].map(|i| b.arg(i, row));
        let p = b.predicate(4);
        let (low, high) = (b.select(p, x, y), b.select(p, high_x, high_y));
        return Some(Results::from_slice(&[low, high]));
    }
    let (x, y, p) = (b.lane(0), b.lane(1), b.predicate(2));
    let value = b.select(p, x, y);
    one(b.cut(value, b.ty.bits()))
}

/// `slct`: the first operand where the third is at least zero, else the second.
pub(super) fn by_sign(b: &mut Build<'_>) -> Option<Results> {
    let (x, y, z) = (b.lane(0), b.lane(1), b.word(2));
    if b.inst.ty2 == Some(Ty::F32) {
        let z = Format::F32.flushed(b, z, b.has(Flag::Ftz));
        let zero = b.like(z, 0);
        let holds = b.compare(Cmp::Ge, z, zero);
        return one(b.select(holds, x, y));
    }
    let negative = b.is_negative(z);
    one(b.select(negative, y, x))
}

pub(super) fn property(b: &mut Build<'_>) -> Option<Results> {
    let format = Format::of(b.ty).filter(|f| matches!(f.ty, Ty::F32 | Ty::F64))?;
    let x = b.lane(0);
    let magnitude = b.with(LaneOp::And, x, !format.sign);
    let least = format.exponent & format.exponent.wrapping_neg();
    one(match b.inst.mods.testp {
        None | Some(TestP::Finite) => b.test_with(Test::U(Rel::Lt), magnitude, format.exponent),
        Some(TestP::Infinite) => b.test_with(EQUAL, magnitude, format.exponent),
        Some(TestP::Number) => b.compare(Cmp::Num, x, x),
        Some(TestP::NotANumber) => b.is_nan(x),
        // One less, as an unsigned number: zero is beyond all others.
        Some(TestP::Subnormal) => {
            let less = b.with(LaneOp::Add, magnitude, u64::MAX);
            b.test_with(Test::U(Rel::Lt), less, least - 1)
        }
        // `testp.normal` includes zeros.
        Some(TestP::Normal) => {
            let more = b.with(LaneOp::Sub, magnitude, least);
            let normal = b.test_with(Test::U(Rel::Lt), more, format.exponent - least);
            let zero = b.is_zero(magnitude);
            b.mask(crate::op::MaskOp::Or, normal, zero)
        }
    })
}

pub(super) fn copysign(b: &mut Build<'_>) -> Option<Results> {
    let format = Format::of(b.ty)?;
    let (sign, magnitude) = (b.lane(0), b.lane(1));
    let mask = b.like(sign, format.sign);
    let value = b.ternary(LaneOp::Table(0xca), mask, sign, magnitude);
    one(b.cut(value, b.ty.bits()))
}
