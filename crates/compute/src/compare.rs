//! Comparisons and selection.

use crate::{LaneFn, Settings, by_format, by_int, lane, lane2};
use ir::mods::{BoolOp, Cmp as Word};
use ir::{Inst, Op, Ty};
use simt::arith::float;
use simt::arith::int::{self, Int};
use simt::arith::{BF16, Cmp, F16, F32, Format};

pub(super) fn resolve(inst: &Inst, ty: Ty) -> Option<LaneFn> {
    match inst.op {
        Op::Setp if ty == Ty::F16x2 => Some(setp_packed::<F16>(inst.results.len())),
        Op::Setp if ty == Ty::Bf16x2 => Some(setp_packed::<BF16>(inst.results.len())),
        Op::Setp if ty.is_float() => by_format!(ty, setp_float(inst.results.len())),
        Op::Setp => by_int!(unsigned_if(inst, ty), setp_int(inst.results.len())),
        Op::Set if ty == Ty::F16x2 => Some(set_packed::<F16>()),
        Op::Set if ty == Ty::Bf16x2 => Some(set_packed::<BF16>()),
        Op::Set if ty.is_float() => by_format!(ty, set_float(inst.ty2?)),
        Op::Set => by_int!(unsigned_if(inst, ty), set_int(inst.ty2?)),
        Op::Selp => Some(lane!(|_e, a, b, p| if p != 0 { a } else { b })),
        Op::Slct if inst.ty2 == Some(Ty::F32) => {
            Some(lane!(|e, a, b, c| if float::holds::<F32>(Cmp::Ge, c, 0, e.env) { a } else { b }))
        }
        Op::Slct => Some(lane!(|_e, a, b, c| if c as i32 >= 0 { a } else { b })),
        _ => None,
    }
}

/// `lo`, `ls`, `hi`, `hs` compare without sign whatever the type says.
fn unsigned_if(inst: &Inst, ty: Ty) -> Ty {
    let unsigned = matches!(inst.mods.cmp, Some(Word::Lo | Word::Ls | Word::Hi | Word::Hs));
    if unsigned { ty.reg().ty() } else { ty }
}

#[inline]
fn cmp(e: &Settings) -> Cmp {
    match e.mods.cmp {
        None | Some(Word::Eq) => Cmp::Eq,
        Some(Word::Ne) => Cmp::Ne,
        Some(Word::Lt | Word::Lo) => Cmp::Lt,
        Some(Word::Le | Word::Ls) => Cmp::Le,
        Some(Word::Gt | Word::Hi) => Cmp::Gt,
        Some(Word::Ge | Word::Hs) => Cmp::Ge,
        Some(Word::Equ) => Cmp::Equ,
        Some(Word::Neu) => Cmp::Neu,
        Some(Word::Ltu) => Cmp::Ltu,
        Some(Word::Leu) => Cmp::Leu,
        Some(Word::Gtu) => Cmp::Gtu,
        Some(Word::Geu) => Cmp::Geu,
        Some(Word::Num) => Cmp::Num,
        Some(Word::Nan) => Cmp::Nan,
    }
}

/// A comparison's outcome combined with a predicate operand.
#[inline]
fn combine(e: &Settings, holds: bool, p: u64) -> u64 {
    let holds = u64::from(holds);
    match e.mods.bool_op {
        None => holds,
        Some(BoolOp::And) => holds & p,
        Some(BoolOp::Or) => holds | p,
        Some(BoolOp::Xor) => holds ^ p,
    }
}

fn setp_int<T: Int>(results: usize) -> LaneFn {
    if results == 2 {
        lane2!([T: Int]; |e, a, b, p| {
            let holds = int::holds::<T>(cmp(e), a, b);
            (combine(e, holds, p), combine(e, !holds, p))
        })
    } else {
        lane!([T: Int]; |e, a, b, p| combine(e, int::holds::<T>(cmp(e), a, b), p))
    }
}

fn setp_float<F: Format>(results: usize) -> LaneFn {
    if results == 2 {
        lane2!([F: Format]; |e, a, b, p| {
            let holds = float::holds::<F>(cmp(e), a, b, e.env);
            (combine(e, holds, p), combine(e, !holds, p))
        })
    } else {
        lane!([F: Format]; |e, a, b, p| combine(e, float::holds::<F>(cmp(e), a, b, e.env), p))
    }
}

/// Compares packed pairs: the result for the low halves, then the one for the high halves.
fn setp_packed<F: Format>(results: usize) -> LaneFn {
    if results == 2 {
        lane2!([F: Format]; |e, a, b, p| {
            let half = |a, b| combine(e, float::holds::<F>(cmp(e), a, b, e.env), p);
            (half(a & 0xffff, b & 0xffff), half(a >> 16 & 0xffff, b >> 16 & 0xffff))
        })
    } else {
        lane!([F: Format]; |e, a, b, p| {
            combine(e, float::holds::<F>(cmp(e), a & 0xffff, b & 0xffff, e.env), p)
        })
    }
}

/// True as a value of the result type: 1.0, or all ones.
#[inline]
fn truth(e: &Settings, holds: u64) -> u64 {
    if holds == 0 { 0 } else { e.extra }
}

/// Returns the value that `set` writes for true in a result type.
pub(super) fn truth_of(ty: Ty) -> u64 {
    match ty {
        Ty::F32 => 0x3f80_0000,
        Ty::F64 => 0x3ff0_0000_0000_0000,
        Ty::F16 => 0x3c00,
        Ty::Bf16 => 0x3f80,
        Ty::F16x2 => 0x3c00_3c00,
        Ty::Bf16x2 => 0x3f80_3f80,
        Ty::U16 | Ty::S16 => 0xffff,
        Ty::U64 | Ty::S64 => u64::MAX,
        _ => 0xffff_ffff,
    }
}

fn set_int<T: Int>(_result: Ty) -> LaneFn {
    lane!([T: Int]; |e, a, b, p| truth(e, combine(e, int::holds::<T>(cmp(e), a, b), p)))
}

fn set_float<F: Format>(_result: Ty) -> LaneFn {
    lane!([F: Format]; |e, a, b, p| truth(e, combine(e, float::holds::<F>(cmp(e), a, b, e.env), p)))
}

/// Both halves of a packed pair, each combined with the same predicate.
fn set_packed<F: Format>() -> LaneFn {
    lane!([F: Format]; |e, a, b, p| {
        let ones = int::lanes2([a, b], |[a, b]| {
            0xffff * combine(e, float::holds::<F>(cmp(e), a, b, e.env), p)
        });
        ones & e.extra
    })
}
