//! What the lowering takes as it is.

use crate::legal::{Target, usual};
use ir::mods::{Barrier, Rounding};
use ir::op::Class;
use ir::{Inst, Op, Operand, Sreg, Ty};

/// LinxISA: cells of 64 bits a lane, integers of 8 to 64 bits, IEEE 754 formats of 16 to 64.
pub const TARGET: Target = Target { has };

/// Whether a type is an integer, or plain bits, that a cell holds.
pub(super) fn integer(ty: Ty) -> bool {
    use Ty::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64)
}

/// Whether a type is a float that the machine computes with.
pub(super) fn float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F32 | Ty::F64)
}

fn has(inst: &Inst) -> bool {
    let ty = inst.ty.unwrap_or(Ty::B32);
    if inst.op == Op::Bar {
        return matches!(inst.mods.barrier, None | Some(Barrier::Sync));
    }
    if inst.op.info().class != Class::Compute {
        return true;
    }
    let whole = integer(ty);
    if let Some(has) = usual(inst, whole, float(ty)) {
        return has;
    }
    let nearest = matches!(inst.mods.rounding, None | Some(Rounding::Rn));
    match inst.op {
        Op::Sreg => matches!(inst.operands.first(), Some(&Operand::Sreg(sreg)) if special(sreg)),
        Op::Pack | Op::Unpack | Op::CvtaTo | Op::CvtaFrom => true,
        Op::Add | Op::Sub | Op::Mul if float(ty) => nearest,
        Op::Fma | Op::Div | Op::Rcp | Op::Sqrt if float(ty) => nearest && ty != Ty::F16,
        Op::Abs | Op::MulWide | Op::MadWide => whole,
        Op::Cvt => convert(inst, ty, nearest),
        _ => false,
    }
}

/// Special registers that counters and sizes of the launch give.
fn special(sreg: Sreg) -> bool {
    use Sreg::{
        CtaidX, CtaidY, CtaidZ, LaneId, NctaidX, NctaidY, NctaidZ, NtidX, NtidY, NtidZ, TidX, TidY,
        TidZ, WarpId,
    };
    matches!(sreg, TidX | TidY | TidZ | NtidX | NtidY | NtidZ | LaneId | WarpId)
        || matches!(sreg, CtaidX | CtaidY | CtaidZ | NctaidX | NctaidY | NctaidZ)
}

fn convert(inst: &Inst, ty: Ty, nearest: bool) -> bool {
    let from = inst.ty2.unwrap_or(Ty::B32);
    let truncates = matches!(inst.mods.rounding, Some(Rounding::Rzi | Rounding::Rz));
    if inst.operands.len() != 1 {
        return false;
    }
    match (integer(ty), integer(from)) {
        (true, true) => true,
        (false, true) => float(ty) && nearest,
        // A NaN is 0 on the machine, and in 64 bits another value in PTX.
        (true, false) => float(from) && truncates && ty.bits() == 32,
        (false, false) => float(ty) && float(from) && ty != from && nearest,
    }
}
