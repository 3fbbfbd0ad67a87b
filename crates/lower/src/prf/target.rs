//! What the lowering takes as it is.

use super::values::whole;
use crate::legal::Target;
use ir::mods::{Flags, Rounding};
use ir::op::Class;
use ir::{Inst, Op, Ty};

/// The predicate-register-file GPU.
pub const TARGET: Target = Target { has };

fn has(inst: &Inst) -> bool {
    let ty = inst.ty.unwrap_or(Ty::B32);
    match inst.op.info().class {
        Class::Compute => {}
        Class::Memory => return matches!(inst.op, Op::Ld | Op::St),
        // Masks are stored as words.
        Class::Collective => return inst.op == Op::Ballot,
        Class::Barrier => return false,
        _ => return true,
    }
    if inst.mods.flags != Flags::NONE {
        return false;
    }
    let nearest = matches!(inst.mods.rounding, None | Some(Rounding::Rn));
    let two = inst.operands.len() == 2;
    match inst.op {
        Op::Mov | Op::Selp | Op::Sreg => true,
        Op::Setp => whole(ty) || ty == Ty::F32,
        Op::And | Op::Or | Op::Xor | Op::Not | Op::AndNot => true,
        Op::Add | Op::Sub | Op::Mul if ty == Ty::F32 => nearest,
        Op::Neg | Op::Abs if ty == Ty::F32 => true,
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Cnot | Op::Neg | Op::Shl | Op::Shr => whole(ty),
        Op::Abs | Op::Div | Op::Rem => ty == Ty::S32,
        Op::Min | Op::Max => whole(ty) && two,
        Op::Cvt => match (ty, inst.ty2) {
            (Ty::F32, Some(Ty::S32)) => nearest,
            (Ty::S32, Some(Ty::F32)) => {
                matches!(inst.mods.rounding, Some(Rounding::Rzi | Rounding::Rz))
            }
            _ => false,
        },
        _ => false,
    }
}
