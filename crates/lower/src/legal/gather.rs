//! Collectives of lanes of which no two need run in step: by atomics on memory, and one wait.
//!
//! Lanes of a warp execute the same collectives in the same order, those of all lanes, so a number
//! that each of them counts is the same in all. What is put together has a doubleword whose high
//! word is that number: a lane first raises it to the number with a low word of zero, which has no
//! effect if another one has been there before, and then adds its part. Numbers grow, so nothing
//! need be cleared; but for a block's first one, as another block has had the memory before.
//!
//! Of two places, odd and even numbers have one each. A lane that is ahead of another by one
//! collective does not write what that one has not read yet; by two it cannot be, because it waits.

use super::barrier::Peers;
use super::build::word;
use super::launch::{Stage, Value};
use ir::mods::{AtomOp, Mods, Space};
use ir::{Inst, Op, Operand, Reg, RegTy, Ty};

/// Bytes of the two places.
pub(super) const GATHERED: u32 = 16;

impl Stage<'_> {
    /// Counts the next collective; returns its place of the two at an address, each of so many
    /// bytes.
    pub(super) fn half(&mut self, peers: Peers, at: Operand, bytes: u32) -> Operand {
        let round = self.begin_with(Value::Round(peers));
        let next = self.builder.add(round, word(1));
        if let Operand::Reg(Reg::Lane(reg)) = round {
            self.builder.put(Some(reg), next);
        }
        let odd = self.builder.and(round, word(1));
        let offset = self.builder.shl(odd, word(bytes.trailing_zeros()));
        self.builder.add(at, offset)
    }

    /// The sum, or the bits, of what all peers that come have given.
    pub(super) fn gathered(&mut self, peers: Peers, op: AtomOp, part: Operand) -> Operand {
        let at = self.begin_with(Value::Gather(peers));
        let at = self.half(peers, at, GATHERED / 2);
        let round = self.begin_with(Value::Round(peers));
        let start = self.doubleword(word(0), round);
        self.atomically(AtomOp::Max, Ty::S64, at, start);
        let part = self.doubleword(part, word(0));
        let ty = if op == AtomOp::Add { Ty::U64 } else { Ty::B64 };
        self.atomically(op, ty, at, part);
        match peers {
            Peers::Warp => self.together(),
            Peers::Block => self.meet(&Inst::new(Op::Nop), Peers::Block),
        }
        self.read(at, 0)
    }

    fn doubleword(&mut self, low: Operand, high: Operand) -> Operand {
        let to = self.builder.function.new_reg("both", RegTy::B64);
        let mut pack = Inst::new(Op::Pack).ty(Ty::B64).operand(low).operand(high);
        pack.ty2 = Some(Ty::B32);
        self.builder.emit(pack.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    fn atomically(&mut self, op: AtomOp, ty: Ty, at: Operand, value: Operand) {
        let mut atom = Inst::new(Op::Atom).ty(ty).operand(at).operand(value);
        atom.mods = Mods { space: Some(Space::Global), atom: Some(op), ..Mods::default() };
        atom.results.push(None);
        self.builder.emit(atom);
    }

    /// What threads do before anything else: another block may have left higher numbers.
    pub(super) fn begin_gathering(&mut self) {
        if self.launch.blocks() == 1 {
            return;
        }
        let mut any = false;
        for peers in [Peers::Warp, Peers::Block] {
            if !self.begins_with(Value::Gather(peers)) {
                continue;
            }
            any = true;
            let at = self.begin_with(Value::Gather(peers));
            for offset in (0..GATHERED).step_by(4) {
                self.write(at, offset, word(0));
            }
        }
        if any {
            self.meet(&Inst::new(Op::Nop), Peers::Block);
        }
    }
}
