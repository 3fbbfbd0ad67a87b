//! Ends of blocks. On a stack of its own, with the rules and charges of `fast`'s stack, code
//! executes branches of two targets, calls, unguarded returns, and the exit of whole warps. The
//! interpreter executes switches and the other ends, and everything if the stack is too deep or if
//! the launch runs the sides of branches in another order.

use super::Emitter;
use crate::asm::{Label, at};
use crate::frame::{
    ENTRY_BLOCK, ENTRY_DEPTH, ENTRY_LANES, ENTRY_REJOIN, ENTRY_SIZE, Frame, NO_BLOCK,
};
use fast::code::{Block, Code, End, Rejoin, Src};
use iced_x86::{Code as Op, Register};

/// Code out of line.
pub(super) enum Away {
    /// Lanes split at the end of a block; `eax` holds those that take the first target.
    Part(Label, u32),
    /// Lanes go to a block that may be their reconvergence point.
    Go(Label, u32),
    /// The turn is over; lanes stand before a block.
    Over(Label, u32),
    /// The interpreter executes the end of a block.
    Slow(Label, u32),
}

/// Returns which blocks are reconvergence points.
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
                // The predicate may still be in `eax`: load it before anything is emitted.
                self.predicate(guard.pred, EAX);
                self.asm.m(Op::Inc_rm64, at(RBP, Frame::BRANCHES));
                let uniform = matches!(guard.pred, Src::Line(..) | Src::Const(_));
                if to == next {
                    self.go(b, block, *to, true);
                    return;
                }
                let other = self.asm.label();
                if guard.negated {
                    self.asm.r(Op::Not_rm32, EAX);
                }
                self.asm.rr(Op::And_r32_rm32, EAX, EBX);
                self.asm.jump(Op::Je_rel32_64, other);
                if !uniform {
                    self.asm.rr(Op::Cmp_r32_rm32, EAX, EBX);
                    let parted = self.asm.label();
                    self.away.push(Away::Part(parted, b));
                    self.asm.jump(Op::Jne_rel32_64, parted);
                }
                self.go(u32::MAX, block, *to, true);
                self.asm.bind(other);
                self.go(b, block, *next, true);
            }
            End::Call(to, back) => self.call_function(b, block, *to, *back),
            End::Return(None, _, back) => self.come_back(b, *back),
            End::Switch(..) | End::Exit(..) | End::Return(..) => {
                self.asm.ri64(Register::RSI, b.into());
                let all = matches!(block.end, End::Exit(None, _));
                let stub = if all { self.stubs.exit } else { self.stubs.end };
                self.asm.jump(Op::Jmp_rel32_64, stub);
            }
        }
    }

    /// Sends all running lanes to a block. `b` is the block being compiled if control may fall
    /// through to the next one.
    fn go(&mut self, b: u32, block: &Block, to: u32, issues: bool) {
        use Register::RBP;
        if issues && self.code.blocks[to as usize].first <= block.pc {
            let over = self.asm.label();
            self.asm.m(Op::Dec_rm32, at(RBP, Frame::BACK_EDGES_LEFT));
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
        for away in std::mem::take(&mut self.away) {
            match away {
                Away::Part(label, block) => {
                    self.asm.bind(label);
                    self.part(block);
                }
                Away::Go(label, block) => {
                    let stub = self.stubs.settle;
                    self.away_to(label, block, stub);
                }
                Away::Over(label, block) => {
                    let stub = self.stubs.leave;
                    self.away_to(label, block, stub);
                }
                Away::Slow(label, block) => {
                    let stub = self.stubs.end;
                    self.away_to(label, block, stub);
                }
            }
        }
    }

    fn away_to(&mut self, label: Label, block: u32, stub: Label) {
        self.asm.bind(label);
        self.asm.ri64(Register::RSI, block.into());
        self.asm.jump(Op::Jmp_rel32_64, stub);
    }

    /// Sets `r8` to the top of the stack; jumps to `slow` if the interpreter has the stack, or if
    /// it is full.
    fn own_stack(&mut self, slow: Label) {
        use Register::{R8, RBP};
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::TOP));
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::LAST));
        self.asm.jump(Op::Jae_rel32_64, slow);
    }

    /// Splits the lanes at the end of a block.
    fn part(&mut self, b: u32) {
        use Register::{EAX, EBX, ECX, EDX, ESI, R8, RBP};
        let block = &self.code.blocks[b as usize];
        let End::Branch(_, to, next) = block.end else { return };
        let slow = self.asm.label();
        self.own_stack(slow);
        if let Some(short) = self.short(block) {
            self.convert(&short);
        }
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::SPLIT_BRANCHES));
        // edx: the lanes that take the second target.
        self.asm.rr(Op::Mov_r32_rm32, EDX, EBX);
        self.asm.rr(Op::Xor_r32_rm32, EDX, EAX);
        self.asm.rm(Op::Mov_r32_rm32, ECX, at(RBP, Frame::REJOIN));
        self.asm.rm(Op::Mov_r32_rm32, ESI, at(R8, ENTRY_DEPTH));
        let joined = match block.rejoin {
            Rejoin::At(r) => {
                // The waiting lanes keep their entry, unless the entry already has this
                // reconvergence point.
                let same = self.asm.label();
                self.asm.ri(Op::Cmp_rm32_imm32, ECX, r as i32);
                self.asm.jump(Op::Je_rel32_64, same);
                self.asm.mi(Op::Mov_rm32_imm32, at(R8, ENTRY_BLOCK), r as i32);
                self.asm.ri(Op::Add_rm64_imm8, R8, ENTRY_SIZE as i32);
                self.asm.r(Op::Inc_rm32, ESI);
                self.asm.ri(Op::Mov_r32_imm32, ECX, r as i32);
                self.asm.bind(same);
                Some(r)
            }
            Rejoin::Enclosing | Rejoin::Return(_) => None,
        };
        self.asm.ri(Op::Sub_rm64_imm8, R8, ENTRY_SIZE as i32);
        let first_is_to = self.taken_first(block, to, next);
        let order = if first_is_to { [(next, EDX), (to, EAX)] } else { [(to, EAX), (next, EDX)] };
        for (target, lanes) in order {
            self.push(target, lanes, joined);
        }
        self.set_top();
        let back = [to, next].iter().any(|&t| self.code.blocks[t as usize].first <= block.pc);
        if back {
            let over = self.stubs.over;
            self.asm.m(Op::Dec_rm32, at(RBP, Frame::BACK_EDGES_LEFT));
            self.asm.jump(Op::Jle_rel32_64, over);
        }
        let resume = self.stubs.resume;
        self.asm.jump(Op::Jmp_rel32_64, resume);
        self.asm.bind(slow);
        self.asm.ri64(Register::RSI, b.into());
        let stub = self.stubs.end;
        self.asm.jump(Op::Jmp_rel32_64, stub);
    }

    /// Pushes lanes above `r8`, unless their target is their reconvergence point: they are in the
    /// waiting entry already.
    fn push(&mut self, target: u32, lanes: Register, joined: Option<u32>) {
        use Register::{ECX, ESI, R8, RBP};
        if joined == Some(target) {
            return;
        }
        let skip = self.asm.label();
        if joined.is_none() {
            self.asm.ri(Op::Cmp_rm32_imm32, ECX, target as i32);
            self.asm.jump(Op::Je_rel32_64, skip);
        }
        self.asm.ri(Op::Add_rm64_imm8, R8, ENTRY_SIZE as i32);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, ENTRY_BLOCK), target as i32);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_REJOIN), ECX);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_LANES), lanes);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_DEPTH), ESI);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::PUSHES));
        if joined.is_none() {
            self.asm.bind(skip);
        }
    }

    /// Makes the entry at `r8` the top of the stack.
    fn set_top(&mut self) {
        use Register::{R8, RBP, RCX, RDX};
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::TOP), R8);
        // The height of the stack, in entries.
        self.asm.rr(Op::Mov_r64_rm64, RCX, R8);
        self.asm.rm(Op::Sub_r64_rm64, RCX, at(RBP, Frame::BOTTOM));
        self.asm.ri(Op::Shr_rm64_imm8, RCX, ENTRY_SIZE.trailing_zeros() as i32);
        self.asm.r(Op::Inc_rm64, RCX);
        self.asm.rm(Op::Mov_r64_rm64, RDX, at(RBP, Frame::MAX_HEIGHT));
        self.asm.rr(Op::Cmp_r64_rm64, RCX, RDX);
        self.asm.rr(Op::Cmovb_r64_rm64, RCX, RDX);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::MAX_HEIGHT), RCX);
    }

    /// Sends all running lanes to a copy of a function; they reconverge where it returns to.
    fn call_function(&mut self, b: u32, block: &Block, to: u32, back: u32) {
        use Register::{EAX, EBX, R8, RBP};
        let slow = self.asm.label();
        self.away.push(Away::Slow(slow, b));
        self.own_stack(slow);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, ENTRY_BLOCK), back as i32);
        self.asm.rm(Op::Mov_r32_rm32, EAX, at(R8, ENTRY_DEPTH));
        self.asm.ri(Op::Add_rm64_imm8, R8, ENTRY_SIZE as i32);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, ENTRY_BLOCK), to as i32);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, ENTRY_REJOIN), NO_BLOCK as i32);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_LANES), EBX);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_DEPTH), EAX);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::PUSHES));
        self.set_top();
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::REJOIN), NO_BLOCK as i32);
        if self.code.blocks[to as usize].first <= block.pc {
            let over = self.stubs.over;
            self.asm.m(Op::Dec_rm32, at(RBP, Frame::BACK_EDGES_LEFT));
            self.asm.jump(Op::Jle_rel32_64, over);
        }
        if to != b + 1 {
            let to = self.blocks[to as usize];
            self.asm.jump(Op::Jmp_rel32_64, to);
        }
    }

    /// Returns all running lanes from a function. If no lanes wait in the function, their callers
    /// are the next entry of the stack.
    fn come_back(&mut self, b: u32, back: u32) {
        use Register::{EAX, EBX, R8, RBP};
        let slow = self.asm.label();
        self.away.push(Away::Slow(slow, b));
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::TOP));
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::BOTTOM));
        self.asm.jump(Op::Je_rel32_64, slow);
        self.asm.ri(Op::Sub_rm64_imm8, R8, ENTRY_SIZE as i32);
        self.asm.mi(Op::Cmp_rm32_imm32, at(R8, ENTRY_BLOCK), back as i32);
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::EMPTIED));
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::TOP), R8);
        // Lanes that returned earlier may have waited there.
        let resume = self.stubs.resume;
        self.asm.mr(Op::Cmp_rm32_r32, at(R8, ENTRY_LANES), EBX);
        self.asm.jump(Op::Jne_rel32_64, resume);
        self.asm.rm(Op::Mov_r32_rm32, EAX, at(R8, ENTRY_REJOIN));
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::REJOIN), EAX);
        self.count_depth();
        let back = self.blocks[back as usize];
        self.asm.jump(Op::Jmp_rel32_64, back);
    }

    /// Returns whether a branch's target runs before its fall-through, in the order `taken`.
    fn taken_first(&self, block: &Block, to: u32, next: u32) -> bool {
        let key = |b: u32| {
            let place = self.code.blocks[b as usize].first;
            (place == block.pc + 1, place)
        };
        key(to) <= key(next)
    }
}
