//! Operations on the EXEC mask, which is `p`, and the ends of blocks.

use super::code::{Item, Mask, Src, Val, When};
use super::select::{Alias, Select};
use crate::Missing;
use ir::module::{Guard, MaskRef, MaskTest, Term, TermKind};
use ir::{Inst, Op, Operand, Reg, Ty};

impl Select<'_> {
    /// An operation that reads or writes a mask.
    pub(super) fn exec(&mut self, inst: &Inst) -> Result<(), Missing> {
        match inst.op {
            Op::ExecRead => {
                let to = self.mask_to(inst)?;
                self.save_to(to);
            }
            Op::ExecWrite => match inst.operands.first() {
                Some(Operand::Reg(Reg::Warp(reg))) => self.restore_any(Val::Group(reg.0)),
                _ => self.set_mask("v.addi zero.ud, 0", &[], Mask::Narrowed),
            },
            Op::ExecAndSave => {
                let to = self.mask_to(inst)?;
                self.save_to(to);
                self.narrow(self.pred(inst, false)?)?;
            }
            Op::ExecAndNot => self.narrow(self.pred(inst, true)?)?,
            Op::ExecXor => {
                let saved = self.mask(inst, 0)?;
                self.set_mask("v.and {0}, p.ud.not", &[saved], Mask::Within(saved));
                if let Some(alive) = self.alive {
                    self.set_mask("v.and p.ud, {0}", &[alive], Mask::Narrowed);
                }
            }
            Op::ExecOr => {
                let saved = self.mask(inst, 0)?;
                self.restore(saved);
            }
            Op::MaskOf => {
                let to = self.mask_to(inst)?;
                let all = self.save();
                self.narrow(self.pred(inst, false)?)?;
                self.save_to(to);
                self.set_mask("v.addi {0}, 0", &[all], Mask::Restored(all));
            }
            _ if inst.ty == Some(Ty::Mask) => self.mask_arithmetic(inst)?,
            _ => return Err(self.missing(format!("operation `{}`", inst.op.name()))),
        }
        Ok(())
    }

    fn restore_any(&mut self, mask: Val) {
        match self.alive {
            None => self.set_mask("v.addi {0}, 0", &[mask], Mask::Within(mask)),
            Some(alive) => self.set_mask("v.and {0}, {1}", &[mask, alive], Mask::Within(mask)),
        }
    }

    fn mask_arithmetic(&mut self, inst: &Inst) -> Result<(), Missing> {
        let to = self.mask_to(inst)?;
        if let (Op::Mov, Some(Operand::Imm(0))) = (inst.op, inst.operands.first()) {
            self.group("v.addi zero.ud, 0", &[], to);
            return Ok(());
        }
        let a = (Src::Val(self.mask(inst, 0)?), "ud");
        let text = match inst.op {
            Op::Mov => {
                self.group("v.addi {0}, 0", &[a], to);
                return Ok(());
            }
            Op::Or => "v.or {0}, {1}",
            Op::And => "v.and {0}, {1}",
            Op::Xor => "v.xor {0}, {1}",
            Op::AndNot => {
                let b = (Src::Val(self.mask(inst, 1)?), "ud.not");
                self.group("v.and {0}, {1}", &[a, b], to);
                return Ok(());
            }
            _ => return Err(self.missing("such operation on masks")),
        };
        let b = (Src::Val(self.mask(inst, 1)?), "ud");
        self.group(text, &[a, b], to);
        Ok(())
    }

    fn mask(&self, inst: &Inst, index: usize) -> Result<Val, Missing> {
        match inst.operands.get(index) {
            Some(Operand::Reg(Reg::Warp(reg))) => Ok(Val::Group(reg.0)),
            _ => Err(self.missing("such mask")),
        }
    }

    fn mask_to(&self, inst: &Inst) -> Result<Val, Missing> {
        match inst.results.first() {
            Some(Some(Reg::Warp(reg))) => Ok(Val::Group(reg.0)),
            _ => Err(self.missing("such mask")),
        }
    }

    fn pred(&self, inst: &Inst, negated: bool) -> Result<Guard, Missing> {
        match inst.operands.first() {
            Some(&Operand::Reg(Reg::Lane(pred))) => Ok(Guard { pred, negated }),
            _ => Err(self.missing("such mask")),
        }
    }

    /// The end of a block; `end` is the label of the end of the body.
    pub(super) fn end(&mut self, term: &Term, end: u32, last: bool) -> Result<(), Missing> {
        self.loc = term.loc;
        match &term.kind {
            TermKind::Fall => {}
            TermKind::Br(to) => self.body.items.push(Item::Branch(When::Always, to.0)),
            TermKind::MaskBr(test, mask, to) => {
                let when = match (test, mask) {
                    (MaskTest::Any, MaskRef::Exec) => When::AnyLane,
                    (MaskTest::None, MaskRef::Exec) => When::NoLane,
                    (MaskTest::Any, MaskRef::Reg(reg)) => When::Filled(Val::Group(reg.0)),
                    (MaskTest::None, MaskRef::Reg(reg)) => When::Empty(Val::Group(reg.0)),
                    (_, MaskRef::Pred(_)) => return Err(self.missing("branches on predicates")),
                };
                self.body.items.push(Item::Branch(when, to.0));
            }
            TermKind::Ret(None) | TermKind::Exit(None) => {
                if !last {
                    self.body.items.push(Item::Branch(When::Always, end));
                }
            }
            TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) => self.exit(*guard)?,
            TermKind::CondBr(..) | TermKind::Switch(..) => {
                return Err(self.missing("branches on values of lanes"));
            }
        }
        Ok(())
    }

    /// Ends lanes for good: restored masks leave them off.
    fn exit(&mut self, guard: Guard) -> Result<(), Missing> {
        let Some(alive) = self.alive else { return Err(self.missing("such end of lanes")) };
        let ends = (Src::Val(alive), "ud");
        if self.alias.get(&guard.pred) == Some(&Alias::Constant(1)) && !guard.negated {
            self.group("v.and {0}, p.ud.not", &[ends], alive);
            self.set_mask("v.addi zero.ud, 0", &[], Mask::Narrowed);
            return Ok(());
        }
        let all = self.save();
        self.narrow(guard)?;
        self.group("v.and {0}, p.ud.not", &[ends], alive);
        self.set_mask("v.and {0}, p.ud.not", &[all], Mask::Within(all));
        Ok(())
    }
}
