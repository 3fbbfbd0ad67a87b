//! Calls of the host and ends of turns: what is live in registers is kept in the warp's seat.

use super::Resume;
use super::emit::Emitter;
use super::function::{AddressBase, Argument, Inst, Leave, MAX_OPERANDS, Micro, Piece};
use super::graph::vector_bytes;
use super::register::{INT, MASK, Registers, VECTOR, View, int};
use crate::asm::{Label, at};
use crate::frame::Frame;
use crate::warp_context::WarpContext;
use iced_x86::{Code as Op, Register};
use regalloc2::PReg;

use Register::{R8, R9, RAX, RBP, RCX, RDX, RSI};

/// Registers of a stub's arguments.
const ARGUMENTS: [Register; 4] = [RSI, RDX, RCX, R9];

impl Emitter<'_> {
    /// Emits a call or the end of a turn. `index` is its place among the function's machine
    /// instructions.
    pub(super) fn leave(&mut self, i: usize, inst: &Inst, index: u32, leave: u32) {
        let f = self.f;
        let leave = &f.leaves[leave as usize];
        let mut kept = self.kept(i, inst, index, leave);
        if leave.resume.is_none() {
            kept = kept.without(Registers::preserved());
        }
        let allocations = self.output.inst_allocs(regalloc2::Inst::new(i));
        let recorded = leave.recorded.iter().map(|&operand| allocations[usize::from(operand)]);
        recorded.clone().filter_map(regalloc2::Allocation::as_reg).for_each(|r| kept.insert(r));
        let places = self.places(kept);
        let place = |at: regalloc2::Allocation| match at.as_reg() {
            Some(register) => places.iter().find(|p| p.0 == register).map_or(0, |p| p.1),
            None => self.slot(at),
        };
        let recorded: Vec<i64> = recorded.map(place).collect();
        places.iter().for_each(|&(register, to)| self.save(register, to));
        self.arguments(i, leave);
        match leave.resume {
            None => self.asm.jump(Op::Call_rel32_64, leave.stub),
            Some(resume) => self.switch(leave.stub, resume, recorded),
        }
        places.iter().for_each(|&(register, from)| self.restore(register, from));
        self.places = places;
    }

    /// Stores the address of what follows, and jumps to a stub.
    fn switch(&mut self, stub: Label, resume: u32, recorded: Vec<i64>) {
        let here = self.asm.label();
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.address(RAX, here);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::AT), RAX);
        self.asm.jump(Op::Jmp_rel32_64, stub);
        self.asm.bind(here);
        self.resumes.push(Resume { name: resume, recorded });
    }

    /// Returns what is read after this place: by later instructions, or by the rest of this one.
    fn kept(&self, i: usize, inst: &Inst, index: u32, leave: &Leave) -> Registers {
        let mut kept = self.liveness.after(i);
        let named = self.named_after(inst, index) & !leave.results;
        // Recorded values come after the others, and no code names them.
        let operands = self.output.inst_allocs(regalloc2::Inst::new(i)).iter().zip(0..MAX_OPERANDS);
        let registers = operands.filter_map(|(at, operand)| Some((at.as_reg()?, 1u64 << operand)));
        // A source may have the register of a result, and be read before that is written.
        for (register, bit) in registers.clone() {
            if leave.results & bit != 0 {
                kept.remove(register);
            }
        }
        registers.filter(|(_, bit)| named & bit != 0).for_each(|(r, _)| kept.insert(r));
        kept
    }

    /// Returns the operands, as bits, that code of the instruction may name after a place.
    fn named_after(&self, inst: &Inst, index: u32) -> u64 {
        let micros = &self.f.micros[inst.micros.range()];
        let outside = (inst.outside - inst.micros.start) as usize;
        let label = |label| micros.iter().position(|m| matches!(m, Micro::Bind(l) if *l == label));
        let mut seen = vec![false; micros.len()];
        let mut bits = 0;
        let after = (index - inst.micros.start) as usize + 1;
        // Code in line ends where code out of line begins.
        let mut work: Vec<usize> = Some(after).filter(|&at| at != outside).into_iter().collect();
        while let Some(start) = work.pop() {
            for at in start..micros.len() {
                if std::mem::replace(&mut seen[at], true) {
                    break;
                }
                bits |= self.named(&micros[at]);
                let goes_on = match micros[at] {
                    Micro::Local(op, to) => {
                        work.extend(label(to));
                        op != Op::Jmp_rel32_64
                    }
                    Micro::Stub(op, _) => op != Op::Jmp_rel32_64,
                    Micro::Op(_) | Micro::Bind(_) | Micro::Leave(_) => true,
                };
                if !goes_on || at + 1 == outside {
                    break;
                }
            }
        }
        bits
    }

    /// Returns the operands, as bits, that a machine instruction names.
    fn named(&self, micro: &Micro) -> u64 {
        let bit = |operand: u8| 1u64 << operand;
        match micro {
            Micro::Op(machine) => {
                let first = machine.pieces as usize;
                let pieces = &self.f.pieces[first..first + usize::from(machine.count)];
                let of = |piece: &Piece| match piece {
                    Piece::Reg(operand, _) => bit(*operand),
                    Piece::Mem(address) => {
                        let base = match address.base {
                            AddressBase::Reg(operand) => bit(operand),
                            _ => 0,
                        };
                        base | address.index.map_or(0, |(operand, _)| bit(operand))
                    }
                    Piece::Imm(_) | Piece::Imm64(_) => 0,
                };
                let mask = machine.mask.map_or(0, bit);
                pieces.iter().fold(mask, |bits, piece| bits | of(piece))
            }
            Micro::Leave(leave) => {
                let list = self.f.leaves[*leave as usize].arguments.iter().flatten();
                list.fold(0, |bits, argument| match argument {
                    Argument::Operand(operand) => bits | bit(*operand),
                    Argument::Imm(_) => bits,
                })
            }
            Micro::Local(..) | Micro::Bind(_) | Micro::Stub(..) => 0,
        }
    }

    /// Assigns places in the seat to registers.
    fn places(&mut self, registers: Registers) -> Vec<(PReg, i64)> {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        let mut to = self.saved;
        for class in [VECTOR, INT, MASK] {
            for register in registers.of(class) {
                places.push((register, to));
                to += if class == VECTOR { vector_bytes(self.f.level) as i64 } else { 8 };
            }
        }
        self.saved_bytes = self.saved_bytes.max(to - self.saved);
        places
    }

    /// Moves arguments to their registers. Everything that is live is saved.
    fn arguments(&mut self, i: usize, leave: &Leave) {
        let allocations = self.output.inst_allocs(regalloc2::Inst::new(i));
        let mut moves = [None; ARGUMENTS.len()];
        for ((to, argument), place) in ARGUMENTS.into_iter().zip(leave.arguments).zip(&mut moves) {
            let Some(Argument::Operand(operand)) = argument else { continue };
            let from = allocations[usize::from(operand)].as_reg();
            *place = from.map(|from| (int(to), from)).filter(|(to, from)| to != from);
        }
        while let Some((to, from)) = self.next_move(&mut moves) {
            let (to, from) = (self.full(to), self.full(from));
            self.asm.rr(Op::Mov_r64_rm64, to, from);
        }
        for (to, argument) in ARGUMENTS.into_iter().zip(leave.arguments) {
            if let Some(Argument::Imm(value)) = argument {
                self.asm.ri(Op::Mov_r32_imm32, View::R32.of(int(to), self.f.level), value as i32);
            }
        }
    }

    /// Takes a move whose destination no other one reads. If there is none, all that is left is
    /// cycles among the destinations, and `rax` is free to break one.
    fn next_move(&mut self, moves: &mut [Option<(PReg, PReg)>]) -> Option<(PReg, PReg)> {
        let free = |to: PReg| moves.iter().flatten().all(|&(_, from)| from != to);
        let next = moves.iter().position(|m| m.is_some_and(|(to, _)| free(to)));
        if let Some(next) = next {
            return moves[next].take();
        }
        let &(to, _) = moves.iter().flatten().next()?;
        let rax = int(RAX);
        for (_, from) in moves.iter_mut().flatten().filter(|(_, from)| *from == to) {
            *from = rax;
        }
        Some((rax, to))
    }
}
