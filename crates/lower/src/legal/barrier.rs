//! CTA barriers of machines without them.
//!
//! A warp counts its arrivals in a word that it alone writes, and waits until those of all warps of
//! the block have come as far. As the block has its words from another one that has ended, a second
//! word says whose they are: it is written after the count has become zero. A warp that has ended
//! has arrived everywhere, so threads end in one last block, where its count becomes the highest.

use super::build::word;
use super::launch::{Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::mods::{Barrier, Cmp};
use ir::op::Slot;
use ir::{Function, Inst, Op, Operand, Reg, RegTy, Sreg, Ty};

/// Words of a warp.
const WORDS: u32 = 3;

impl Stage<'_> {
    /// Whether warps wait for each other.
    pub(super) fn waits(&self, source: &Function) -> bool {
        let bar = |inst: &Inst| inst.op == Op::Bar && !(self.target.has)(inst);
        self.launch.warps() > 1 && source.blocks.iter().flat_map(|b| &b.insts).any(bar)
    }

    /// Bytes of a block's words.
    pub(super) fn barrier_bytes(&self) -> u32 {
        4 * WORDS * self.launch.warps()
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<(), Missing> {
        if (self.target.has)(inst) {
            self.builder.keep(inst.clone());
            return Ok(());
        }
        let all = match Self::slot(inst, Slot::B32) {
            None => true,
            // Zero stands for all.
            Some(Operand::Imm(count)) => [0, self.launch.threads()].contains(&(count as u32)),
            Some(_) => false,
        };
        if !all {
            return Err(missing(inst, "barriers of some threads"));
        }
        match inst.mods.barrier {
            Some(Barrier::Sync) => {
                self.meet(inst);
                Ok(())
            }
            Some(Barrier::Arrive) | None => Err(missing(inst, "arrivals without waiting")),
            Some(kind) => self.reduce(inst, kind),
        }
    }

    /// The count, or the predicate: both may be left out.
    fn slot(inst: &Inst, slot: Slot) -> Option<Operand> {
        let index = (1..inst.operands.len()).find(|&i| inst.operand_slot(i) == Some(slot))?;
        inst.operands.get(index).copied()
    }

    /// The word of a kind of this warp.
    fn own(&mut self) -> Operand {
        let words = self.begin_with(Value::Barrier);
        let thread = self.begin_with(Value::Thread);
        let warp = self.builder.shr(thread, word(5));
        let at = self.builder.shl(warp, word(2));
        self.builder.add(words, at)
    }

    /// Whose words they are.
    fn owner(&mut self) -> Operand {
        if self.launch.blocks() == 1 {
            return word(1);
        }
        let block = self.builder.op(Op::Sreg, Ty::U32, &[Operand::Sreg(Sreg::CtaidX)]);
        self.builder.add(block, word(1))
    }

    /// What a warp does before anything else.
    pub(super) fn enter(&mut self) {
        let warps = self.launch.warps();
        let (own, owner) = (self.own(), self.owner());
        self.write(own, 0, word(0));
        self.write(own, 8 * warps, word(0));
        self.write(own, 4 * warps, owner);
    }

    /// What a warp does when its threads have ended.
    pub(super) fn leave(&mut self) {
        let own = self.own();
        self.write(own, 8 * self.launch.warps(), word(0));
        self.write(own, 0, word(u32::MAX));
    }

    /// Waits for all warps.
    fn meet(&mut self, inst: &Inst) {
        let warps = self.launch.warps();
        if warps == 1 {
            return;
        }
        let behind = self.skip(inst);
        let (words, own, owner) = (self.begin_with(Value::Barrier), self.own(), self.owner());
        let before = self.read(own, 0);
        let count = self.builder.add(before, word(1));
        self.write(own, 0, count);
        let at = self.builder.temp();
        self.builder.put(Some(at), word(0));
        self.cut(ir::TermKind::Fall);
        let head = self.flow.label();
        self.flow.place(head);
        let other = self.builder.add(words, Operand::lane(at));
        let (whose, arrived) = (self.read(other, 4 * warps), self.read(other, 0));
        let here = self.builder.compare(Cmp::Eq, Ty::B32, whose, owner);
        let come = self.builder.compare(Cmp::Hs, Ty::U32, arrived, count);
        let both = self.builder.logic(Op::And, &[here, come]);
        let bit = self.builder.bit(both);
        let step = self.builder.shl(bit, word(2));
        let next = self.builder.add(Operand::lane(at), step);
        self.builder.put(Some(at), next);
        let more = self.builder.compare(Cmp::Lo, Ty::U32, Operand::lane(at), word(4 * warps));
        self.branch(more, head);
        self.rejoin(behind);
    }

    /// Counts threads whose predicate holds, or asks whether all or any hold.
    fn reduce(&mut self, inst: &Inst, kind: Barrier) -> Result<(), Missing> {
        let behind = self.skip(inst);
        let inst = &Inst { guard: None, ..inst.clone() };
        let warps = self.launch.warps();
        let holds = Self::slot(inst, Slot::P).unwrap_or(Operand::Imm(1));
        // All hold if none does not.
        let counted = match (kind, holds) {
            (Barrier::RedAnd, Operand::Imm(value)) => Operand::Imm(u128::from(value & 1 == 0)),
            (Barrier::RedAnd, holds) => self.builder.logic(Op::Not, &[holds]),
            _ => holds,
        };
        let lanes = self.ballot(inst, counted)?;
        let mut sum = self.builder.op(Op::Popc, Ty::B32, &[lanes]);
        if warps > 1 {
            let (words, own) = (self.begin_with(Value::Barrier), self.own());
            self.write(own, 8 * warps, sum);
            self.meet(inst);
            sum = word(0);
            for warp in 0..warps {
                let part = self.read(words, 8 * warps + 4 * warp);
                sum = self.builder.add(sum, part);
            }
            // Nobody counts again before all have read.
            self.meet(inst);
        }
        let held = match inst.results.first() {
            Some(&Some(Reg::Lane(reg))) => self.builder.function.regs[reg.index()].ty,
            _ => RegTy::B32,
        };
        let (value, ty) = match kind {
            Barrier::RedPopc => (sum, Ty::B32),
            _ => {
                let cmp = if kind == Barrier::RedAnd { Cmp::Eq } else { Cmp::Ne };
                (self.builder.compare(cmp, Ty::B32, sum, word(0)), Ty::Pred)
            }
        };
        let value = match (ty, held) {
            (Ty::Pred, RegTy::B32) => self.builder.bit(value),
            _ => value,
        };
        let ty = if held == RegTy::Pred { Ty::Pred } else { Ty::B32 };
        self.give(inst, 0, value, ty);
        self.rejoin(behind);
        Ok(())
    }
}
