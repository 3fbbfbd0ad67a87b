//! Comparisons and selections.

use super::bits::combined;
use super::float::Format;
use super::{Build, Micro, Recipe, Say, Sort, Value};
use crate::emit::predicate::float_relation;
use ir::mods::{Cmp, Flag, TestP};
use ir::{Op, Ty};

pub(super) fn recipe(say: &Say<'_>) -> Option<Recipe> {
    match say.inst.op {
        Op::Setp | Op::Set => relation(say),
        Op::Selp => select(say),
        Op::Slct => by_sign(say),
        Op::Testp => property(say),
        Op::Copysign => copysign(say),
        _ => None,
    }
}

/// Computes the mask of a comparison, and its complement for a second result.
fn relation(say: &Say<'_>) -> Option<Recipe> {
    if matches!(say.ty, Ty::F16x2 | Ty::Bf16x2 | Ty::F32x2) {
        return None;
    }
    let ty2 = say.inst.ty2.filter(|_| say.inst.op == Op::Set);
    let wide = say.ty.bits() > 32 || ty2.is_some_and(|t| t.bits() > 32);
    let mut b = Build::new(say, wide);
    let cmp = say.inst.mods.cmp?;
    let (holds, fails) =
        if say.ty.is_float() { floats(say, &mut b, cmp)? } else { integers(say, &mut b, cmp)? };
    let p = say.inst.mods.bool_op.map(|how| (how, b.predicate(2)));
    let mut combine = |holds| match p {
        Some((how, p)) => combined(&mut b, how, holds, p),
        None => holds,
    };
    let holds = combine(holds);
    if say.inst.op == Op::Setp {
        let mut results = vec![(holds, Sort::Predicate)];
        if say.inst.results.len() > 1 {
            results.push((combine(fails), Sort::Predicate));
        }
        return b.give(results);
    }
    let ty = ty2.unwrap_or(Ty::U32);
    let truth = match ty {
        Ty::F32 => 0x3f80_0000,
        Ty::F16 => 0x3c00,
        Ty::Bf16 => 0x3f80,
        Ty::U16 | Ty::S16 => 0xffff,
        Ty::U32 | Ty::S32 => 0xffff_ffff,
        _ => return None,
    };
    let value = b.with(Micro::And, holds, truth);
    b.word(value)
}

fn floats(say: &Say<'_>, b: &mut Build, cmp: Cmp) -> Option<(Value, Value)> {
    let format = Format::of(say.ty)?;
    if b.wide && say.ty != Ty::F64 {
        return None;
    }
    let ftz = say.has(Flag::Ftz);
    let (x, y) = (format.operand(b, 0, ftz), format.operand(b, 1, ftz));
    let holds = b.compare(float_relation(cmp)? as u8, x, y);
    let fails = b.not(holds);
    Some((holds, fails))
}

fn integers(say: &Say<'_>, b: &mut Build, cmp: Cmp) -> Option<(Value, Value)> {
    let unsigned = matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs) || !say.ty.is_signed();
    let ty = match (say.ty.bits(), unsigned) {
        (_, false) => say.ty,
        (8, _) => Ty::U8,
        (16, _) => Ty::U16,
        (32, _) => Ty::U32,
        _ => Ty::U64,
    };
    let (x, y) = (b.integer(0, ty), b.integer(1, ty));
    // An unsigned value narrower than the lane is not negative as a signed one.
    let signed = !unsigned || ty.bits() < if b.wide { 64 } else { 32 };
    let mut greater =
        |x, y| if signed { b.binary(Micro::Greater, x, y) } else { b.greater_unsigned(x, y) };
    let (value, complement) = match cmp {
        Cmp::Eq => (b.binary(Micro::Equal, x, y), false),
        Cmp::Ne => (b.binary(Micro::Equal, x, y), true),
        Cmp::Gt | Cmp::Hi => (greater(x, y), false),
        Cmp::Le | Cmp::Ls => (greater(x, y), true),
        Cmp::Lt | Cmp::Lo => (greater(y, x), false),
        Cmp::Ge | Cmp::Hs => (greater(y, x), true),
        _ => return None,
    };
    let other = b.not(value);
    Some(if complement { (other, value) } else { (value, other) })
}

fn select(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let (x, y, p) = (b.arg(0), b.arg(1), b.predicate(2));
    let value = b.choose(p, x, y);
    b.one(value)
}

/// Selects the first operand where the third is at least zero, else the second.
fn by_sign(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    if b.wide {
        return None;
    }
    let (x, y, z) = (b.arg(0), b.arg(1), b.arg(2));
    let value = if say.inst.ty2 == Some(Ty::F32) {
        let z = Format::F32.flushed(&mut b, z, say.has(Flag::Ftz));
        let zero = b.c(0);
        let holds = b.compare(0x1d, z, zero);
        b.choose(holds, x, y)
    } else {
        let negative = b.negative(z);
        b.choose(negative, y, x)
    };
    b.one(value)
}

fn property(say: &Say<'_>) -> Option<Recipe> {
    let mut b = Build::for_type(say);
    let format = Format::of(say.ty).filter(|f| matches!(f.ty, Ty::F32 | Ty::F64))?;
    let x = b.arg(0);
    let exponent = b.with(Micro::And, x, format.exponent);
    let (all, zero) = (b.c(format.exponent), b.c(0));
    let value = match say.inst.mods.testp {
        None | Some(TestP::Finite) => {
            let beyond = b.binary(Micro::Equal, exponent, all);
            b.not(beyond)
        }
        Some(TestP::Infinite) => {
            let magnitude = b.with(Micro::And, x, !format.sign);
            b.binary(Micro::Equal, magnitude, all)
        }
        Some(TestP::Number) => b.compare(0x07, x, x),
        Some(TestP::NotANumber) => b.nan(x),
        // `testp.normal` includes zeros.
        Some(test @ (TestP::Normal | TestP::Subnormal)) => {
            let small = b.binary(Micro::Equal, exponent, zero);
            let magnitude = b.with(Micro::And, x, !format.sign);
            let none = b.binary(Micro::Equal, magnitude, zero);
            let subnormal = b.binary(Micro::AndNot, none, small);
            if test == TestP::Subnormal {
                subnormal
            } else {
                let beyond = b.binary(Micro::Equal, exponent, all);
                let neither = b.or(subnormal, beyond);
                b.not(neither)
            }
        }
    };
    b.give(vec![(value, Sort::Predicate)])
}

fn copysign(say: &Say<'_>) -> Option<Recipe> {
    let format = Format::of(say.ty)?;
    let mut b = Build::for_type(say);
    let (sign, magnitude) = (b.arg(0), b.arg(1));
    let mask = b.c(format.sign);
    let value = b.ternary(Micro::Table(0xca), mask, sign, magnitude);
    let value = b.cut(value, say.ty.bits());
    b.one(value)
}
