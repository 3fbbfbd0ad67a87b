//! Warp collectives.
//!
//! A target has `ballot`, the lanes of those that execute it in which a predicate holds; votes
//! follow from it. For values, lanes write a word each and read the others': all lanes of a group
//! write before the next instruction reads. Lanes that are not there at that time, on another path,
//! are no members.
//!
//! Where a warp of PTX is several warps of the machine, these wait for each other before they read,
//! and before what they have read may be overwritten. Which of them would come is known only of
//! collectives of all lanes, which the others are refused for. On machines where no two lanes need
//! run in step, all lanes of the warp wait for each other once, and words have two places by turns:
//! see `gather`.

use super::barrier::{Peers, Word};
use super::build::word;
use super::launch::{LANES, Stage, Value};
use super::words::missing;
use crate::Missing;
use ir::mods::{AtomOp, Cmp, Flag, Flags, Shuffle, Space, Vote};
use ir::{Inst, Op, Operand, Reg, Ty};

impl Stage<'_> {
    /// Emits what stands for a collective; `None` if it is none, or one that the target has.
    pub(super) fn collective(&mut self, inst: &Inst) -> Option<Result<(), Missing>> {
        let collective = inst.op.info().class == ir::op::Class::Collective;
        let has = (self.target.has)(inst) && inst.op != Op::Ballot && !self.layout.collectives;
        if !collective || has {
            return None;
        }
        if !self.narrow() {
            return Some(self.expand_collective(inst));
        }
        if !self.whole_warp(inst) {
            if self.layout.collectives && inst.op == Op::WarpSync {
                let behind = self.skip(inst);
                self.builder.keep(Inst { guard: None, ..inst.clone() });
                self.rejoin(behind);
                return Some(Ok(()));
            }
            return Some(Err(missing(inst, "collectives of some lanes of several warps")));
        }
        let behind = self.skip(inst);
        let done = self.expand_collective(&Inst { guard: None, ..inst.clone() });
        self.rejoin(behind);
        Some(done)
    }

    /// Whether a collective names all lanes of the warp as its members.
    fn whole_warp(&self, inst: &Inst) -> bool {
        use Op::{Ballot, Elect, Match, Redux, Shfl, Vote, WarpSync};
        if !matches!(inst.op, Ballot | Elect | Match | Redux | Shfl | Vote | WarpSync) {
            // One that has no sequence; but for a question about the lanes that happen to be there.
            return inst.op != Op::ActiveMask || self.layout.collectives;
        }
        let members = inst
            .operands
            .last()
            .copied()
            .filter(|_| !inst.mods.flags.has(Flag::NoMask) && self.is_member_operand(inst));
        let members = match members {
            Some(Operand::Reg(Reg::Lane(reg))) => self.constants.get(&reg).copied(),
            Some(Operand::Imm(members)) => Some(members as u32),
            _ => None,
        };
        let all = match self.launch.threads() {
            threads @ 0..LANES => (1 << threads) - 1,
            _ => u32::MAX,
        };
        members.is_some_and(|members| members & all == all)
    }

    /// Whether the last operand is the members.
    fn is_member_operand(&self, inst: &Inst) -> bool {
        let before = match inst.op {
            Op::Shfl => 3,
            Op::Elect | Op::WarpSync => 0,
            _ => 1,
        };
        inst.operands.len() > before
    }

    fn expand_collective(&mut self, inst: &Inst) -> Result<(), Missing> {
        match inst.op {
            Op::WarpSync => {
                self.together();
                return Ok(());
            }
            Op::Shfl => return self.shuffle(inst),
            Op::Vote => return self.vote(inst),
            Op::Match => return self.matched(inst),
            _ => {}
        }
        let value = match inst.op {
            Op::Ballot => {
                let on = self.ballot(inst, inst.operands[0])?;
                self.of_members(inst, 1, on)
            }
            Op::ActiveMask => self.ballot(inst, Operand::Imm(1))?,
            Op::Redux => self.reduced(inst)?,
            Op::Elect => {
                let on = self.ballot(inst, Operand::Imm(1))?;
                let on = self.of_members(inst, 0, on);
                let lane = self.lowest(on);
                let own = self.begin_with(Value::Lane);
                let me = self.builder.compare(Cmp::Eq, Ty::B32, lane, own);
                self.give(inst, 1, me, Ty::Pred);
                lane
            }
            _ => return Err(missing(inst, &format!("operation `{}`", inst.op.name()))),
        };
        self.give(inst, 0, value, Ty::B32);
        Ok(())
    }

    /// Writes a result, if it is asked for.
    pub(super) fn give(&mut self, inst: &Inst, index: usize, value: Operand, ty: Ty) {
        let Some(&Some(result)) = inst.results.get(index) else { return };
        self.builder.emit(Inst::new(Op::Mov).ty(ty).operand(value).result(result));
    }

    /// The lanes, of those that execute this, in which a predicate holds.
    fn ballot(&mut self, inst: &Inst, holds: Operand) -> Result<Operand, Missing> {
        if self.layout.collectives {
            let lane = self.begin_with(Value::Lane);
            let bit = self.builder.bit(holds);
            let bit = self.builder.shl(bit, lane);
            return Ok(self.gathered(Peers::Warp, AtomOp::Or, bit));
        }
        let part = self.own_ballot(inst, holds)?;
        if !self.narrow() {
            return Ok(part);
        }
        let (words, own) = (self.begin_with(Value::Barrier), self.own());
        let votes = self.offset_of(Word::Votes);
        self.write(own, votes, part);
        self.together();
        let first = self.first_part();
        let first = self.builder.add(words, first);
        let mut all = word(0);
        for index in 0..self.parts() {
            let part = self.read(first, votes + 4 * index);
            let part = self.builder.shl(part, word(index * self.layout.lanes));
            all = self.builder.or(all, part);
        }
        self.together();
        Ok(all)
    }

    /// The same of the machine's warp: its first lane is bit 0.
    pub(super) fn own_ballot(&mut self, inst: &Inst, holds: Operand) -> Result<Operand, Missing> {
        let mut ballot = Inst::new(Op::Ballot).operand(holds);
        ballot.mods.flags = Flags::of(&[Flag::NoMask]);
        if !(self.target.has)(&ballot) {
            return Err(missing(inst, "votes of lanes"));
        }
        Ok(self.builder.value(ballot))
    }

    /// The lanes among the members that an operand names, if it is there.
    fn of_members(&mut self, inst: &Inst, index: usize, lanes: Operand) -> Operand {
        match inst.operands.get(index) {
            Some(&members) => self.builder.and(lanes, members),
            None => lanes,
        }
    }

    /// The lowest set bit's number.
    fn lowest(&mut self, bits: Operand) -> Operand {
        let negative = self.builder.sub(word(0), bits);
        let lowest = self.builder.and(bits, negative);
        let below = self.builder.sub(lowest, word(1));
        self.builder.op(Op::Popc, Ty::B32, &[below])
    }

    /// Each lane's word for the others. Returns where the words of the warp begin.
    fn offer(&mut self, value: Operand) -> Operand {
        let mut words = self.begin_with(Value::Exchange);
        if self.layout.collectives {
            words = self.half(Peers::Warp, words, 4 * LANES);
        }
        let lane = self.begin_with(Value::Lane);
        let at = self.builder.shl(lane, word(2));
        let own = self.builder.add(words, at);
        let mut store = Inst::new(Op::St).ty(Ty::B32).operand(own).operand(value);
        store.mods.space = Some(Space::Global);
        self.builder.emit(store);
        self.together();
        words
    }

    /// Bytes for the words that lanes of a warp exchange.
    pub(super) fn exchange_bytes(&self) -> u32 {
        let places = if self.layout.collectives { 2 } else { 1 };
        4 * LANES * places
    }

    /// Waits until all have read what was offered.
    fn apart(&mut self) {
        if !self.layout.collectives {
            self.together();
        }
    }

    /// A word at an address.
    pub(super) fn read(&mut self, address: Operand, offset: u32) -> Operand {
        let mut load = Inst::new(Op::Ld).ty(Ty::B32).operand(address);
        (load.mods.space, load.offset) = (Some(Space::Global), i64::from(offset));
        self.builder.value(load)
    }

    /// Stores a word.
    pub(super) fn write(&mut self, address: Operand, offset: u32, value: Operand) {
        let mut store = Inst::new(Op::St).ty(Ty::B32).operand(address).operand(value);
        (store.mods.space, store.offset) = (Some(Space::Global), i64::from(offset));
        self.builder.emit(store);
    }

    fn shuffle(&mut self, inst: &Inst) -> Result<(), Missing> {
        let [value, by, clamp] = [0, 1, 2].map(|index| inst.operands[index]);
        let words = self.offer(value);
        let lane = self.begin_with(Value::Lane);
        let by = self.builder.and(by, word(LANES - 1));
        let segment = self.builder.shr(clamp, word(8));
        let segment = self.builder.and(segment, word(LANES - 1));
        let least = self.builder.and(lane, segment);
        let not_segment = self.builder.not(segment);
        let clamped = self.builder.and(clamp, word(LANES - 1));
        let clamped = self.builder.and(clamped, not_segment);
        let most = self.builder.or(least, clamped);
        let (source, cmp, ty) = match inst.mods.shuffle {
            Some(Shuffle::Up) => (self.builder.sub(lane, by), Cmp::Ge, Ty::S32),
            Some(Shuffle::Down) => (self.builder.add(lane, by), Cmp::Ls, Ty::U32),
            Some(Shuffle::Bfly) => (self.builder.xor(lane, by), Cmp::Ls, Ty::U32),
            _ => {
                let within = self.builder.and(by, not_segment);
                (self.builder.or(least, within), Cmp::Ls, Ty::U32)
            }
        };
        let inside = self.builder.compare(cmp, ty, source, most);
        let from = self.builder.select(inside, source, lane);
        let at = self.builder.shl(from, word(2));
        let address = self.builder.add(words, at);
        let got = self.read(address, 0);
        self.apart();
        self.give(inst, 0, got, Ty::B32);
        self.give(inst, 1, inside, Ty::Pred);
        Ok(())
    }

    fn vote(&mut self, inst: &Inst) -> Result<(), Missing> {
        let holds = inst.operands[0];
        let yes = self.ballot(inst, holds)?;
        let yes = self.of_members(inst, 1, yes);
        let not = match holds {
            Operand::Imm(value) => Operand::Imm(u128::from(value & 1 == 0)),
            holds => self.builder.logic(Op::Not, &[holds]),
        };
        let result = match inst.mods.vote {
            Some(Vote::Any) => self.builder.compare(Cmp::Ne, Ty::B32, yes, word(0)),
            vote => {
                let no = self.ballot(inst, not)?;
                let no = self.of_members(inst, 1, no);
                let all = self.builder.compare(Cmp::Eq, Ty::B32, no, word(0));
                match vote {
                    Some(Vote::Uni) => {
                        let none = self.builder.compare(Cmp::Eq, Ty::B32, yes, word(0));
                        self.builder.logic(Op::Or, &[all, none])
                    }
                    _ => all,
                }
            }
        };
        self.give(inst, 0, result, Ty::Pred);
        Ok(())
    }

    /// The words of a value of 32 or 64 bits.
    fn words_of(&mut self, value: Operand, ty: Ty) -> Vec<Operand> {
        if ty.bits() <= 32 {
            return vec![value];
        }
        let (low, high) = (self.builder.temp(), self.builder.temp());
        let mut unpack = Inst::new(Op::Unpack).ty(Ty::B64).operand(value);
        unpack.ty2 = Some(Ty::B32);
        self.builder.emit(unpack.result(Reg::Lane(low)).result(Reg::Lane(high)));
        vec![Operand::lane(low), Operand::lane(high)]
    }

    fn matched(&mut self, inst: &Inst) -> Result<(), Missing> {
        let parts = self.words_of(inst.operands[0], inst.ty.unwrap_or(Ty::B32));
        let on = self.ballot(inst, Operand::Imm(1))?;
        let on = self.of_members(inst, 1, on);
        let mut equal = on;
        for part in parts {
            let words = self.offer(part);
            let mut same = word(0);
            for lane in 0..LANES {
                let other = self.read(words, 4 * lane);
                let holds = self.builder.compare(Cmp::Eq, Ty::B32, other, part);
                let bit = self.builder.bit(holds);
                let bit = self.builder.shl(bit, word(lane));
                same = self.builder.or(same, bit);
            }
            self.apart();
            equal = self.builder.and(equal, same);
        }
        if inst.mods.flags.has(Flag::All) {
            let all = self.builder.compare(Cmp::Eq, Ty::B32, equal, on);
            let value = self.builder.select(all, on, word(0));
            self.give(inst, 0, value, Ty::B32);
            self.give(inst, 1, all, Ty::Pred);
            return Ok(());
        }
        self.give(inst, 0, equal, Ty::B32);
        Ok(())
    }

    /// The reduction over the members, lane 0 first.
    fn reduced(&mut self, inst: &Inst) -> Result<Operand, Missing> {
        let (ty, Some(op)) = (inst.ty.unwrap_or(Ty::U32), inst.mods.atom) else {
            return Err(missing(inst, "such reduction"));
        };
        let (op, ty) = match op {
            AtomOp::Add => (Op::Add, Ty::U32),
            AtomOp::Min => (Op::Min, ty),
            AtomOp::Max => (Op::Max, ty),
            AtomOp::And => (Op::And, Ty::B32),
            AtomOp::Or => (Op::Or, Ty::B32),
            AtomOp::Xor => (Op::Xor, Ty::B32),
            _ => return Err(missing(inst, "such reduction")),
        };
        if ty == Ty::F32 {
            return Err(missing(inst, "reductions of floats"));
        }
        let on = self.ballot(inst, Operand::Imm(1))?;
        let on = self.of_members(inst, 1, on);
        // A lane's own value is one of them: it takes the place of those of others.
        let own = inst.operands[0];
        let words = self.offer(own);
        let neutral = match op {
            Op::Add | Op::Or | Op::Xor => word(0),
            Op::And => word(u32::MAX),
            _ => own,
        };
        let mut value = neutral;
        for lane in 0..LANES {
            let other = self.read(words, 4 * lane);
            let bit = self.builder.and(on, word(1 << lane));
            let member = self.builder.compare(Cmp::Ne, Ty::B32, bit, word(0));
            let part = self.builder.select(member, other, neutral);
            value = self.builder.op(op, ty, &[value, part]);
        }
        self.apart();
        Ok(value)
    }
}
