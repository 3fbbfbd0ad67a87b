//! Comparison and selection.

use crate::operations::harness::{check, check2};
use crate::operations::integer::number;
use ir::RegTy::{B32, Pred};
use ir::Ty;
use std::cmp::Ordering::{self, Equal, Greater, Less};

/// Whether a comparison's word holds of an outcome; none is unordered.
fn holds(word: &str, outcome: Option<Ordering>) -> bool {
    let Some(order) = outcome else {
        return matches!(word, "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" | "isnan");
    };
    match word.trim_end_matches('u') {
        "eq" => order == Equal,
        "ne" => order != Equal,
        "lt" | "lo" => order == Less,
        "le" | "ls" => order != Greater,
        "gt" | "hi" => order == Greater,
        "ge" | "hs" => order != Less,
        "n" | "num" => true,
        _ => false,
    }
}

type Combine = fn(bool, bool) -> bool;

const SIGNED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "isnan"];

fn words(ty: Ty) -> &'static [&'static str] {
    match ty {
        Ty::B16 | Ty::B32 | Ty::B64 => &SIGNED[..2],
        Ty::S16 | Ty::S32 | Ty::S64 => &SIGNED,
        Ty::U16 | Ty::U32 | Ty::U64 => &UNSIGNED,
        _ => &FLOAT,
    }
}

/// The outcome of a comparison, by the host.
fn outcome(ty: Ty, a: u64, b: u64) -> Option<Ordering> {
    let single = |v: u64| f32::from_bits(v as u32);
    match ty {
        Ty::F32 => single(a).partial_cmp(&single(b)),
        Ty::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        // Every bfloat16 value is the upper half of a binary32 one.
        Ty::Bf16 => single(a << 16).partial_cmp(&single(b << 16)),
        _ => Some(number(a, ty).cmp(&number(b, ty))),
    }
}

const TYPES: [Ty; 12] = [
    Ty::B16,
    Ty::B32,
    Ty::B64,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F32,
    Ty::F64,
    Ty::Bf16,
];

#[test]
fn comparisons() {
    for ty in TYPES {
        for word in words(ty) {
            check(&format!("%x = setp.{word}.{ty} %a, %b"), &[ty, ty], Pred, |[a, b, ..]| {
                u64::from(holds(word, outcome(ty, a, b)))
            });
        }
    }
}

#[test]
fn comparisons_combined_with_a_predicate() {
    let ops: [(&str, Combine); 3] =
        [("and", |a, b| a & b), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)];
    for ty in [Ty::S32, Ty::U64, Ty::F32] {
        for (op, f) in ops {
            let operands = [ty, ty, Ty::Pred];
            let inst = format!("%x, %y = setp.le.{op}.{ty} %a, %b, %c");
            check2(&inst, &operands, [Pred, Pred], |[a, b, c, _]| {
                let le = holds("le", outcome(ty, a, b));
                [u64::from(f(le, c != 0)), u64::from(f(!le, c != 0))]
            });
            let inst = format!("%x = set.le.{op}.{ty}.u32 %a, %b, %c");
            check(&inst, &operands, B32, |[a, b, c, _]| {
                if f(holds("le", outcome(ty, a, b)), c != 0) { u64::MAX } else { 0 }
            });
        }
    }
}

#[test]
fn truth_as_a_value() {
    for (ty, truth) in [
        (Ty::U32, 0xffff_ffff),
        (Ty::S32, 0xffff_ffff),
        (Ty::F32, 0x3f80_0000),
        (Ty::U16, 0xffff),
        (Ty::F16, 0x3c00),
    ] {
        check(&format!("%x = set.lt.s64.{ty} %a, %b"), &[Ty::S64; 2], ty.reg(), |[a, b, ..]| {
            if (a as i64) < b as i64 { truth } else { 0 }
        });
    }
}

#[test]
fn flushing_compares_subnormals_as_zero() {
    let flush = |v: u64| if v & 0x7f80_0000 == 0 { v & 0x8000_0000 } else { v };
    for word in FLOAT {
        check(&format!("%x = setp.{word}.ftz.f32 %a, %b"), &[Ty::F32; 2], Pred, |[a, b, ..]| {
            u64::from(holds(word, outcome(Ty::F32, flush(a), flush(b))))
        });
    }
}

#[test]
fn selection() {
    for ty in [Ty::B8, Ty::B16, Ty::U32, Ty::F32, Ty::B64, Ty::Pred] {
        check(
            &format!("%x = selp.{ty} %a, %b, %c"),
            &[ty, ty, Ty::Pred],
            ty.reg(),
            |[a, b, c, _]| {
                if c != 0 { a } else { b }
            },
        );
    }
    for ty in [Ty::B16, Ty::B32, Ty::B64] {
        check(
            &format!("%x = slct.{ty}.s32 %a, %b, %c"),
            &[ty, ty, Ty::S32],
            ty.reg(),
            |[a, b, c, _]| {
                if c as i32 >= 0 { a } else { b }
            },
        );
        check(
            &format!("%x = slct.{ty}.f32 %a, %b, %c"),
            &[ty, ty, Ty::F32],
            ty.reg(),
            |[a, b, c, _]| {
                if f32::from_bits(c as u32) >= 0.0 { a } else { b }
            },
        );
    }
}
