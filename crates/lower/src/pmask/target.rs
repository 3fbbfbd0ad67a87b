//! What the machine computes by itself: RV64IMF with Zba and Zbb, on words in lanes.

use crate::legal::{Target, usual};
use ir::mods::{AtomOp, Rounding};
use ir::op::Class;
use ir::{Inst, Op, Ty};

/// RISC-V with PMASK.
pub const TARGET: Target = Target { has };

/// Whether a type is an integer of 32 bits, or plain bits.
pub(super) fn whole(ty: Ty) -> bool {
    matches!(ty, Ty::U32 | Ty::S32 | Ty::B32)
}

fn has(inst: &Inst) -> bool {
    let ty = inst.ty.unwrap_or(Ty::B32);
    match inst.op.info().class {
        Class::Compute => {}
        // Masks of the machine's own warps.
        Class::Collective => return inst.op == Op::Ballot,
        Class::Barrier => return false,
        _ if inst.op == Op::Atom => return atomic(inst, ty),
        _ => return true,
    }
    let float = ty == Ty::F32;
    if let Some(has) = usual(inst, whole(ty), float) {
        return has;
    }
    match inst.op {
        Op::Sreg => true,
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Fma | Op::Sqrt | Op::Rcp if float => {
            !matches!(inst.mods.rounding, Some(Rounding::Rna))
        }
        Op::Abs => ty == Ty::S32,
        Op::Cvt => match (ty, inst.ty2) {
            (Ty::F32, Some(Ty::S32 | Ty::U32)) => {
                inst.operands.len() == 1 && !matches!(inst.mods.rounding, Some(Rounding::Rna))
            }
            (Ty::S32 | Ty::U32, Some(Ty::F32)) => rounding(inst).is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether an atomic has an instruction, or is a reserved load and a conditional store.
fn atomic(inst: &Inst, ty: Ty) -> bool {
    match inst.mods.atom {
        Some(AtomOp::Add) => whole(ty) || ty == Ty::F32,
        Some(_) => whole(ty),
        None => false,
    }
}

/// The name of an instruction's rounding mode; nearest if it has none.
pub(super) fn rounding(inst: &Inst) -> Option<&'static str> {
    Some(match inst.mods.rounding {
        None | Some(Rounding::Rn | Rounding::Rni) => "rne",
        Some(Rounding::Rz | Rounding::Rzi) => "rtz",
        Some(Rounding::Rm | Rounding::Rmi) => "rdn",
        Some(Rounding::Rp | Rounding::Rpi) => "rup",
        Some(Rounding::Rna) => return None,
    })
}
