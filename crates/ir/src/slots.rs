//! Which slot of its row an instruction's operand fills, and which type a slot asks for.
//!
//! Slots are filled in order; a repeated slot takes all that remain. One row needs more than
//! counting: a reduction by `bar` has its predicate last, whether or not a thread count stands
//! before it.

use crate::mods::Barrier;
use crate::module::Inst;
use crate::op::{Arity, Op, Slot};
use crate::ty::Ty;

impl Arity {
    /// The slot, however often it may occur.
    #[must_use]
    pub const fn slot(self) -> Slot {
        match self {
            Self::One(slot) | Self::Opt(slot) | Self::Many(slot) | Self::Some(slot) => slot,
        }
    }

    /// Whether it takes all that remain.
    #[must_use]
    pub const fn repeats(self) -> bool {
        matches!(self, Self::Many(_) | Self::Some(_))
    }

    /// Whether it may be left out.
    #[must_use]
    pub const fn optional(self) -> bool {
        matches!(self, Self::Opt(_) | Self::Some(_))
    }
}

/// The slot of the value at `index` of a list.
fn nth(list: &[Arity], index: usize) -> Option<Slot> {
    let arity = list.get(index).or_else(|| list.last().filter(|last| last.repeats()))?;
    Some(arity.slot())
}

/// How many values a list takes: the least, and the most if there is one.
#[must_use]
pub fn count_range(list: &[Arity]) -> (usize, Option<usize>) {
    let least = list.iter().filter(|a| !a.optional()).count();
    let most = (!list.iter().any(|a| a.repeats())).then_some(list.len());
    (least, most)
}

impl Barrier {
    /// Whether it reduces a predicate.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(self, Self::RedPopc | Self::RedAnd | Self::RedOr)
    }
}

impl Inst {
    /// The slot that result `index` fills, if its row has one.
    #[must_use]
    pub fn result_slot(&self, index: usize) -> Option<Slot> {
        nth(self.op.info().results, index)
    }

    /// The slot that operand `index` fills, if its row has one.
    #[must_use]
    pub fn operand_slot(&self, index: usize) -> Option<Slot> {
        let reduces = self.mods.barrier.is_some_and(Barrier::reduces);
        if self.op == Op::Bar && reduces && index > 0 && index + 1 == self.operands.len() {
            return Some(Slot::P);
        }
        nth(self.op.info().operands, index)
    }

    /// The type that a slot asks for in this instruction; none for slots that hold no typed value,
    /// and for those that take any.
    #[must_use]
    pub fn slot_ty(&self, slot: Slot) -> Option<Ty> {
        match slot {
            Slot::T => self.ty,
            Slot::T2 => self.ty2,
            Slot::Wide => self.ty.and_then(Ty::widened),
            Slot::P => Some(Ty::Pred),
            Slot::B16 => Some(Ty::B16),
            Slot::B32 => Some(Ty::B32),
            Slot::B64 => Some(Ty::B64),
            Slot::Mask => Some(Ty::Mask),
            Slot::Addr | Slot::Imm | Slot::Sreg | Slot::Func | Slot::Block | Slot::Any => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Operand;

    #[test]
    fn a_reductions_predicate_comes_last() {
        let mut bar = Inst::new(Op::Bar).operand(Operand::Imm(0)).operand(Operand::Imm(1));
        assert_eq!(bar.operand_slot(1), Some(Slot::B32));
        bar.mods.barrier = Some(Barrier::RedOr);
        assert_eq!(bar.operand_slot(0), Some(Slot::B32));
        assert_eq!(bar.operand_slot(1), Some(Slot::P));
        bar = bar.operand(Operand::Imm(1));
        assert_eq!((bar.operand_slot(1), bar.operand_slot(2)), (Some(Slot::B32), Some(Slot::P)));
    }

    #[test]
    fn repeated_slots_take_the_rest() {
        let st = Inst::new(Op::St);
        assert_eq!(st.operand_slot(0), Some(Slot::Addr));
        assert_eq!(st.operand_slot(4), Some(Slot::T));
        assert_eq!(st.result_slot(0), None);
        assert_eq!(count_range(Op::St.info().operands), (2, None));
        assert_eq!(count_range(Op::Shfl.info().operands), (3, Some(4)));
    }
}
