//! CTA barriers of machines without them.
//!
//! A warp counts its arrivals in a word that it alone writes, and waits until those of all warps of
//! the block have come as far. As the block has its words from another one that has ended, a second
//! word says whose they are: it is written after the count has become zero. A warp that has ended
//! has arrived everywhere, so threads end in one last block, where its count becomes the highest.
//!
//! These are warps of the machine. Where they have fewer lanes than those of PTX, the ones that
//! make up a warp of PTX count their arrivals at collectives apart. Where warps run in turns, one
//! that waits sleeps, and one that has waited says so at the variable `lowered.progress`: if none
//! does in a round, they wait for ever.

use super::build::word;
use super::launch::{LANES, Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::mods::{AtomOp, Barrier, Cmp};
use ir::op::Slot;
use ir::{Function, Inst, Op, Operand, Reg, RegTy, Sreg, Ty};

/// A word of each warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Its arrivals at barriers.
    Arrived,
    /// The block that it is of, plus one.
    Owner,
    /// Its part of a reduction.
    Sum,
    /// Its part of a ballot.
    Votes,
    /// Its arrivals at collectives of the warp of PTX.
    Met,
}

/// Words of a warp if it is one of PTX, and if it is a part of one.
const WORDS: [u32; 2] = [3, 5];

/// Which warps wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peers {
    /// Those of the block.
    Block,
    /// Those that make up a warp of PTX.
    Warp,
}

impl Stage<'_> {
    /// Whether warps wait for each other.
    pub(super) fn waits(&self, source: &Function) -> bool {
        let waits = |inst: &Inst| match inst.op {
            Op::Bar => !(self.target.has)(inst),
            op => op.info().class == ir::op::Class::Collective && self.narrow(),
        };
        !self.layout.collectives
            && self.groups() > 1
            && source.blocks.iter().flat_map(|b| &b.insts).any(waits)
    }

    /// Warps of the machine in a block.
    pub(super) fn groups(&self) -> u32 {
        self.launch.threads().div_ceil(self.layout.lanes)
    }

    /// Warps of the machine in one of PTX.
    pub(super) fn parts(&self) -> u32 {
        LANES / self.layout.lanes
    }

    /// Whether a warp of PTX is more than one of the machine.
    pub(super) fn narrow(&self) -> bool {
        self.layout.collectives || self.parts() > 1 && self.groups() > 1
    }

    /// Warps of the machine in a block, those that make up whole warps of PTX.
    fn padded(&self) -> u32 {
        self.groups().next_multiple_of(self.parts())
    }

    /// Bytes of a block's words.
    pub(super) fn barrier_bytes(&self) -> u32 {
        4 * WORDS[usize::from(self.narrow())] * self.padded()
    }

    /// The offset of words from where those of a kind begin.
    pub(super) fn offset_of(&self, kind: Word) -> u32 {
        4 * self.padded() * kind as u32
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<(), Missing> {
        if (self.target.has)(inst) && (!self.layout.collectives || inst.guard.is_none()) {
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
                let behind = self.skip(inst);
                self.meet(&Inst { guard: None, ..inst.clone() }, Peers::Block);
                self.rejoin(behind);
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
    pub(super) fn own(&mut self) -> Operand {
        let words = self.begin_with(Value::Barrier);
        let thread = self.begin_with(Value::Thread);
        let group = self.builder.shr(thread, word(self.layout.lanes.trailing_zeros()));
        let at = self.builder.shl(group, word(2));
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

    fn set(&mut self, own: Operand, kind: Word, value: Operand) {
        self.write(own, self.offset_of(kind), value);
    }

    /// What a warp does before anything else.
    pub(super) fn enter(&mut self) {
        let (own, owner) = (self.own(), self.owner());
        self.set(own, Word::Arrived, word(0));
        self.set(own, Word::Sum, word(0));
        if self.narrow() {
            self.set(own, Word::Votes, word(0));
            self.set(own, Word::Met, word(0));
        }
        self.set(own, Word::Owner, owner);
    }

    /// What a warp does when its threads have ended.
    pub(super) fn leave(&mut self) {
        let own = self.own();
        self.set(own, Word::Sum, word(0));
        if self.narrow() {
            self.set(own, Word::Votes, word(0));
            self.set(own, Word::Met, word(u32::MAX));
        }
        self.set(own, Word::Arrived, word(u32::MAX));
    }

    /// Where the words of the warps of PTX begin, one word a warp of the machine: the thread's.
    pub(super) fn first_part(&mut self) -> Operand {
        let thread = self.begin_with(Value::Thread);
        let warp = self.builder.shr(thread, word(LANES.trailing_zeros()));
        self.builder.shl(warp, word(2 + self.parts().trailing_zeros()))
    }

    /// Waits for the other warps of the machine that are a part of the warp of PTX.
    pub(super) fn together(&mut self) {
        if self.layout.collectives {
            let members = Operand::Imm(u128::from(u32::MAX));
            self.builder.emit(Inst::new(Op::WarpSync).operand(members));
        } else if self.narrow() {
            self.meet(&Inst::new(Op::Nop), Peers::Warp);
        }
    }

    /// Waits for all peers.
    pub(super) fn meet(&mut self, inst: &Inst, peers: Peers) {
        let groups = self.groups();
        if self.layout.collectives {
            let mut bar = Inst::new(Op::Bar).operand(word(0));
            bar.mods.barrier = Some(Barrier::Sync);
            self.builder.emit(bar);
            return;
        }
        if groups == 1 {
            return;
        }
        let behind = self.skip(inst);
        let (words, own, owner) = (self.begin_with(Value::Barrier), self.own(), self.owner());
        let kind = if peers == Peers::Block { Word::Arrived } else { Word::Met };
        let (arrivals, owners) = (self.offset_of(kind), self.offset_of(Word::Owner));
        let before = self.read(own, arrivals);
        let count = self.builder.add(before, word(1));
        self.write(own, arrivals, count);
        let (start, end) = match peers {
            Peers::Block => (word(0), word(4 * groups)),
            Peers::Warp => {
                let start = self.first_part();
                let end = self.builder.add(start, word(4 * self.parts()));
                // The last warp of PTX may have fewer.
                (start, self.builder.at_most(end, 4 * groups))
            }
        };
        let at = self.builder.temp();
        self.builder.put(Some(at), start);
        self.cut(ir::TermKind::Fall);
        let head = self.flow.label();
        self.flow.place(head);
        let other = self.builder.add(words, Operand::lane(at));
        let (whose, arrived) = (self.read(other, owners), self.read(other, arrivals));
        let here = self.builder.compare(Cmp::Eq, Ty::B32, whose, owner);
        let come = self.builder.compare(Cmp::Hs, Ty::U32, arrived, count);
        let both = self.builder.logic(Op::And, &[here, come]);
        if self.layout.turns {
            let missing = self.builder.logic(Op::Not, &[both]);
            self.builder.emit_under(missing, Inst::new(Op::Nanosleep).operand(word(0)));
        }
        let bit = self.builder.bit(both);
        let step = self.builder.shl(bit, word(2));
        let next = self.builder.add(Operand::lane(at), step);
        self.builder.put(Some(at), next);
        let more = self.builder.compare(Cmp::Lo, Ty::U32, Operand::lane(at), end);
        self.branch(more, head);
        if self.layout.turns {
            let progress = self.region("progress", 4, 1);
            let progress = self.address(progress);
            self.write(progress, 0, word(1));
        }
        self.rejoin(behind);
    }

    /// Counts threads whose predicate holds, or asks whether all or any hold.
    fn reduce(&mut self, inst: &Inst, kind: Barrier) -> Result<(), Missing> {
        let behind = self.skip(inst);
        let inst = &Inst { guard: None, ..inst.clone() };
        let groups = self.groups();
        let holds = Self::slot(inst, Slot::P).unwrap_or(Operand::Imm(1));
        // All hold if none does not.
        let counted = match (kind, holds) {
            (Barrier::RedAnd, Operand::Imm(value)) => Operand::Imm(u128::from(value & 1 == 0)),
            (Barrier::RedAnd, holds) => self.builder.logic(Op::Not, &[holds]),
            _ => holds,
        };
        let mut sum = match self.layout.collectives {
            true => {
                let bit = self.builder.bit(counted);
                self.gathered(Peers::Block, AtomOp::Add, bit)
            }
            false => {
                let lanes = self.own_ballot(inst, counted)?;
                self.builder.op(Op::Popc, Ty::B32, &[lanes])
            }
        };
        if groups > 1 && !self.layout.collectives {
            let (words, own) = (self.begin_with(Value::Barrier), self.own());
            self.set(own, Word::Sum, sum);
            self.meet(inst, Peers::Block);
            sum = word(0);
            for group in 0..groups {
                let part = self.read(words, self.offset_of(Word::Sum) + 4 * group);
                sum = self.builder.add(sum, part);
            }
            // Nobody counts again before all have read.
            self.meet(inst, Peers::Block);
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
