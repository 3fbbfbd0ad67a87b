//! Ends of blocks: branches without divergence run in the code; lanes that part or meet, and ends of threads, are the interpreter's.

use super::Emitter;
use crate::asm::{Label, at};
use crate::frame::Frame;
use fast::code::{Block, Code, End, Rejoin, Src};
use iced_x86::{Code as Op, Register};

/// Code out of line.
pub(super) enum Away {
    /// The interpreter executes the end of a block.
    End(Label, u32),
    /// Lanes that may wait go to a block.
    Go(Label, u32),
    /// The turn is over; lanes stand before a block.
    Over(Label, u32),
}

/// Blocks at which lanes may wait for others.
pub(super) fn waits(code: &Code) -> Vec<bool> {
    let mut waits = vec![false; code.blocks.len()];
    for block in &code.blocks {
        if let Rejoin::At(to) = block.rejoin
            && let Some(wait) = waits.get_mut(to as usize)
        {
            *wait = true;
        }
    }
    waits
}

impl Emitter<'_> {
    pub(super) fn end(&mut self, b: u32, block: &Block) {
        match &block.end {
            End::Go(to) => self.go(b, block, *to, block.end_issues),
            End::Branch(guard, to, next) => {
                use Register::{EAX, EBX, RBP};
                self.asm.m(Op::Inc_rm64, at(RBP, Frame::BRANCHES));
                let uniform = matches!(guard.pred, Src::Line(..) | Src::Const(_));
                if to == next {
                    self.go(b, block, *to, true);
                    return;
                }
                let other = self.asm.label();
                self.guarded_lanes(guard, EAX);
                self.asm.jump(Op::Je_rel32_64, other);
                if !uniform {
                    self.asm.rr(Op::Cmp_r32_rm32, EAX, EBX);
                    let parted = self.asm.label();
                    self.away.push(Away::End(parted, b));
                    self.asm.jump(Op::Jne_rel32_64, parted);
                }
                self.go(u32::MAX, block, *to, true);
                self.asm.bind(other);
                self.go(b, block, *next, true);
            }
            End::Switch(..) | End::Exit(..) => {
                self.asm.ri64(Register::RSI, b.into());
                let stub = self.end_stub;
                self.asm.jump(Op::Jmp_rel32_64, stub);
            }
        }
    }

    /// All lanes that run go to a block. `b` is the block that is being compiled if the next one may be fallen into.
    fn go(&mut self, b: u32, block: &Block, to: u32, issues: bool) {
        use Register::RBP;
        if issues && self.code.blocks[to as usize].first <= block.pc {
            let over = self.asm.label();
            self.asm.m(Op::Dec_rm32, at(RBP, Frame::LEFT));
            self.asm.jump(Op::Jle_rel32_64, over);
            self.away.push(Away::Over(over, to));
        }
        if self.waits[to as usize] {
            let meet = self.asm.label();
            self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::REJOIN), to as i32);
            self.asm.jump(Op::Je_rel32_64, meet);
            self.away.push(Away::Go(meet, to));
        }
        if b == u32::MAX || to != b + 1 {
            let to = self.blocks[to as usize];
            self.asm.jump(Op::Jmp_rel32_64, to);
        }
    }

    pub(super) fn ends_out_of_line(&mut self) {
        let (end, go, leave) = (self.end_stub, self.go_stub, self.leave);
        for away in std::mem::take(&mut self.away) {
            let (label, block, stub) = match away {
                Away::End(label, block) => (label, block, end),
                Away::Go(label, block) => (label, block, go),
                Away::Over(label, block) => (label, block, leave),
            };
            self.asm.bind(label);
            self.asm.ri64(Register::RSI, block.into());
            self.asm.jump(Op::Jmp_rel32_64, stub);
        }
    }
}
