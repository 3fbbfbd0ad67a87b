//! `createpolicy`: cache policies are values that no access reads, so they are all zero.

use ir::{Op, Origin};

use super::Lowering;
use super::constant::{Constant, evaluate};
use super::emit::inst;
use super::function::Body;
use crate::ast::{Instruction, Operand, Type};
use crate::spelling::{Kind, Spelled};

impl Body<'_, '_> {
    /// Checks the operands, and sets the destination to zero.
    pub(super) fn cache_policy_of(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let (least, most) = match () {
            () if s.has(Kind::Range) => (4, 4),
            () if s.has(Kind::PolicyCvt) => (2, 2),
            () => (1, 2),
        };
        self.count(i, least, most)?;
        let [to, from @ ..] = &tree.operands[i.operands] else { return Ok(()) };
        let to = self.destination(to, Type::B64, false, false)?;
        match from {
            [place, sizes @ ..] if s.has(Kind::Range) => {
                self.address(place)?;
                for size in sizes {
                    self.source(size, Type::U32, false)?;
                }
            }
            [property] if s.has(Kind::PolicyCvt) => {
                self.source(property, Type::B64, false)?;
            }
            [fraction] => self.fraction(fraction)?,
            _ => {}
        }
        if let Some(to) = to {
            self.emit(inst(Op::Mov, Some(ir::Ty::B64), to, &[ir::Operand::Imm(0)]), Origin::Source);
        }
        Ok(())
    }

    /// A fraction of accesses: greater than 0, at most 1.
    fn fraction(&mut self, operand: &Operand) -> Lowering<()> {
        self.source(operand, Type::F32, false)?;
        let value = match evaluate(self.cx.tree, operand) {
            Ok(Some(Constant::F32(bits))) => f32::from_bits(bits).into(),
            Ok(Some(Constant::F64(bits))) => f64::from_bits(bits),
            _ => return Ok(()),
        };
        if value > 0.0 && value <= 1.0 {
            return Ok(());
        }
        let message = "a fraction of the accesses is greater than 0 and at most 1";
        self.cx.error("ptx::constant-range", message, operand.span, "out of range")
    }
}
