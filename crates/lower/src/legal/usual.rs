//! What machines have in common that compute with integers and IEEE 754 formats.

use ir::mods::Flags;
use ir::{Inst, Op};

/// Whether such a machine takes a computation as it is, whose type is an integer or a float that it
/// has; `None` of what machines differ in.
#[must_use]
pub(crate) fn usual(inst: &Inst, whole: bool, float: bool) -> Option<bool> {
    if inst.mods.flags != Flags::NONE || inst.mods.precision.is_some() {
        return Some(false);
    }
    Some(match inst.op {
        Op::Mov | Op::Selp | Op::And | Op::Or | Op::Xor | Op::Not | Op::AndNot => true,
        Op::Setp => whole || float,
        Op::Min | Op::Max => (whole || float) && inst.operands.len() == 2,
        Op::Neg | Op::Abs if float => true,
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::MulHi | Op::Cnot | Op::Neg if !float => whole,
        Op::Shl | Op::Shr | Op::Div | Op::Rem | Op::Popc | Op::Clz if !float => whole,
        _ => return None,
    })
}
