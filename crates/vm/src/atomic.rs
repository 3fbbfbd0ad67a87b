//! Read-modify-write operations on one value.

use ir::Ty;
use ir::mods::AtomOp;
use simt::arith::soft::MinMax;
use simt::arith::{BF16, F16, F32, F64, Format, FpEnv, float, int};

/// Returns whether an operation exists on a type.
pub(crate) fn supported(op: AtomOp, ty: Ty) -> bool {
    use AtomOp::{Add, And, Cas, Dec, Exch, Inc, Max, Min, Or, Xor};
    match op {
        Add if ty.is_float() => true,
        Min | Max if ty.is_float() => matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2),
        Add | Min | Max => matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64),
        And | Or | Xor => matches!(ty, Ty::B32 | Ty::B64),
        Exch | Cas => matches!(ty, Ty::B16 | Ty::B32 | Ty::B64 | Ty::B128),
        Inc | Dec => ty == Ty::U32,
    }
}

/// Returns whether an asynchronous operation combines values of a type so: as [`supported`], and
/// bits and increments of 64 bits.
pub(crate) fn combines(op: AtomOp, ty: Ty) -> bool {
    supported(op, ty) && !matches!(op, AtomOp::Exch | AtomOp::Cas)
}

/// The value after the operation. `operands` are its operands: two for compare-and-swap, else one.
#[must_use]
pub fn apply(op: AtomOp, ty: Ty, old: u64, operands: &[u64]) -> u64 {
    let a = operands.first().copied().unwrap_or(0);
    match op {
        AtomOp::Exch => a,
        AtomOp::Cas => {
            let mask = u64::MAX >> (64 - ty.bits().min(64));
            if old & mask == a & mask { operands.get(1).copied().unwrap_or(0) } else { old }
        }
        AtomOp::And => old & a,
        AtomOp::Or => old | a,
        AtomOp::Xor => old ^ a,
        AtomOp::Inc => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        AtomOp::Add | AtomOp::Min | AtomOp::Max => arithmetic(op, ty, old, a),
    }
}

fn arithmetic(op: AtomOp, ty: Ty, a: u64, b: u64) -> u64 {
    fn integer<T: int::Int>(op: AtomOp, a: u64, b: u64) -> u64 {
        match op {
            AtomOp::Min => int::min::<T>(a, b),
            AtomOp::Max => int::max::<T>(a, b),
            _ => int::add::<T>(a, b),
        }
    }
    match ty {
        Ty::S32 => integer::<i32>(op, a, b),
        Ty::U64 => integer::<u64>(op, a, b),
        Ty::S64 => integer::<i64>(op, a, b),
        // Global `atom.add.f32` flushes subnormals on hardware and shared does not; both keep them
        // here, as PTX leaves the choice to the target.
        Ty::F32 => real::<F32>(op, a, b),
        Ty::F64 => real::<F64>(op, a, b),
        Ty::F16 => real::<F16>(op, a, b),
        Ty::Bf16 => real::<BF16>(op, a, b),
        Ty::F16x2 => int::lanes2([a, b], |[a, b]| real::<F16>(op, a, b)),
        Ty::Bf16x2 => int::lanes2([a, b], |[a, b]| real::<BF16>(op, a, b)),
        _ => integer::<u32>(op, a, b),
    }
}

fn real<F: Format>(op: AtomOp, a: u64, b: u64) -> u64 {
    match op {
        AtomOp::Min => float::min::<F>(a, b, MinMax::Number, FpEnv::PTX),
        AtomOp::Max => float::max::<F>(a, b, MinMax::Number, FpEnv::PTX),
        _ => float::add::<F>(a, b, FpEnv::PTX),
    }
}

/// Exchange and compare-and-swap of 128 bits, low word first.
pub(crate) fn apply_wide(op: AtomOp, old: [u64; 2], operands: &[u64]) -> [u64; 2] {
    let word = |i: usize| operands.get(i).copied().unwrap_or(0);
    match op {
        AtomOp::Cas if old != [word(0), word(1)] => old,
        AtomOp::Cas => [word(2), word(3)],
        _ => [word(0), word(1)],
    }
}
