//! Entry and exit of compiled code, and calls of its host. The stack is aligned within the code,
//! and off by a return address in the stub of steps.

use super::Emitter;
use crate::asm::{Asm, Label, at};
use crate::frame::{ENTRY_BLOCK, ENTRY_LANES, ENTRY_REJOIN, ENTRY_SIZE, Frame, NO_BLOCK, stopped};
use iced_x86::{Code as Op, Register};

use Register::{EAX, EBX, EDX, ESI, R9D, R10D, R11, R12, R13, R14, R15, RAX, RBP, RBX, RDI, RSP};

const SAVED: [Register; 6] = [RBX, RBP, R12, R13, R14, R15];

/// Labels of the code that all blocks share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stubs {
    /// The function that the host calls.
    pub(crate) enter: Label,
    /// Calls of the host: for a step, to drain an access log, for the end of a block, to enter a
    /// block.
    pub(super) step: Label,
    pub(super) drain: Label,
    pub(super) end: Label,
    pub(super) go: Label,
    /// Return to the host: with lanes before a block; with all state in memory.
    pub(super) leave: Label,
    pub(super) out: Label,
    /// The stack's top has reached its reconvergence point; is to run; has used up its turn.
    pub(super) settle: Label,
    pub(super) resume: Label,
    pub(super) over: Label,
    /// Take a warp: the first of a visit; at its entry; to continue; one that code cannot take; one
    /// whose stack the interpreter has.
    pub(crate) first: Label,
    pub(crate) fresh: Label,
    pub(crate) again: Label,
    pub(crate) before: Label,
    pub(crate) alone: Label,
    /// The turn of a warp is over, and its rows are in memory or dead.
    pub(super) next: Label,
    /// All lanes of a warp may have exited; a warp waits at a barrier; the warps that wait there
    /// continue.
    pub(super) exit: Label,
    pub(super) park: Label,
    pub(super) release: Label,
    /// Search a step's patterns for an access that does not match the current one.
    pub(super) note32: Label,
    pub(super) note64: Label,
}

impl Stubs {
    pub(super) fn new(asm: &mut Asm) -> Self {
        Self {
            enter: asm.label(),
            step: asm.label(),
            drain: asm.label(),
            end: asm.label(),
            go: asm.label(),
            leave: asm.label(),
            out: asm.label(),
            settle: asm.label(),
            resume: asm.label(),
            over: asm.label(),
            first: asm.label(),
            fresh: asm.label(),
            again: asm.label(),
            before: asm.label(),
            alone: asm.label(),
            next: asm.label(),
            exit: asm.label(),
            park: asm.label(),
            release: asm.label(),
            note32: asm.label(),
            note64: asm.label(),
        }
    }
}

impl Emitter<'_> {
    pub(super) fn stubs(&mut self) {
        self.entry();
        self.leaving();
        self.step_stub();
        if self.detailed {
            let (note32, note64) = (self.stubs.note32, self.stubs.note64);
            self.note_stub(note32, false);
            self.note_stub(note64, true);
            self.drain_stub();
        }
        let (end, go) = (self.stubs.end, self.stubs.go);
        self.block_stub(end, Frame::END);
        self.block_stub(go, Frame::GO);
        self.stack_stubs();
        self.seat_stubs();
    }

    /// Emits the entry point: `(frame)`, by the System V convention.
    fn entry(&mut self) {
        let enter = self.stubs.enter;
        self.asm.bind(enter);
        for register in SAVED {
            self.asm.r(Op::Push_r64, register);
        }
        self.asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        self.asm.rr(Op::Mov_r64_rm64, RBP, RDI);
        self.asm.rm(Op::Mov_r64_rm64, R11, at(RBP, Frame::CONSTANTS));
        self.asm.m(Op::Jmp_rm64, at(RBP, Frame::START));
    }

    /// Ends the turn, with the lanes' block in `rsi`; returns to the host if the interpreter has
    /// the stack.
    fn leaving(&mut self) {
        let (leave, settle) = (self.stubs.leave, self.stubs.settle);
        self.asm.bind(leave);
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Je_rel32_64, settle);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::STOPPED), stopped::WITHIN as i32);
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::BLOCK), ESI);
        self.spill();
        let out = self.stubs.out;
        self.asm.bind(out);
        self.asm.ri(Op::Add_rm64_imm8, RSP, 8);
        for register in SAVED.into_iter().rev() {
            self.asm.r(Op::Pop_r64, register);
        }
        self.asm.op0(Op::VEX_Vzeroupper);
        self.asm.op0(Op::Retnq);
    }

    /// Calls the host for the step in `rsi` and the lanes in `rdx`.
    fn step_stub(&mut self) {
        let (stub, stay) = (self.stubs.step, self.asm.label());
        self.asm.bind(stub);
        self.spill();
        self.asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        self.asm.rr(Op::Mov_r64_rm64, RDI, RBP);
        self.asm.op0(Op::VEX_Vzeroupper);
        self.asm.m(Op::Call_rm64, at(RBP, Frame::STEP));
        self.asm.ri(Op::Add_rm64_imm8, RSP, 8);
        self.asm.rr(Op::Test_rm32_r32, EAX, EAX);
        self.asm.jump(Op::Je_rel32_64, stay);
        self.asm.ri(Op::Add_rm64_imm8, RSP, 8);
        self.return_now();
        self.asm.bind(stay);
        self.reload();
        self.asm.op0(Op::Retnq);
    }

    /// Calls the host to drain the access log numbered `esi`, before a step for the lanes in `edx`.
    fn drain_stub(&mut self) {
        let stub = self.stubs.drain;
        self.asm.bind(stub);
        self.spill();
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::ON), EDX);
        self.asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        self.asm.rr(Op::Mov_r64_rm64, RDI, RBP);
        self.asm.op0(Op::VEX_Vzeroupper);
        self.asm.m(Op::Call_rm64, at(RBP, Frame::DRAIN));
        self.asm.ri(Op::Add_rm64_imm8, RSP, 8);
        self.reload();
        self.asm.rm(Op::Mov_r32_rm32, R10D, at(RBP, Frame::ON));
        self.vectors.guarded(self);
        self.asm.op0(Op::Retnq);
    }

    /// Calls the host for the end of the block in `rsi`, or to enter it.
    fn block_stub(&mut self, stub: Label, field: i64) {
        let stay = self.asm.label();
        self.asm.bind(stub);
        self.spill();
        self.asm.rr(Op::Mov_r64_rm64, RDI, RBP);
        self.asm.op0(Op::VEX_Vzeroupper);
        self.asm.m(Op::Call_rm64, at(RBP, field));
        self.asm.rr(Op::Test_rm64_r64, RAX, RAX);
        self.asm.jump(Op::Jne_rel32_64, stay);
        self.return_now();
        self.asm.bind(stay);
        self.reload();
        self.asm.r(Op::Jmp_rm64, RAX);
    }

    /// Emits the operations on the stack: merge the top, which has reached its reconvergence point
    /// `esi`; run the top.
    fn stack_stubs(&mut self) {
        use Register::{ECX, R8, RCX};
        let (settle, resume, over) = (self.stubs.settle, self.stubs.resume, self.stubs.over);
        let go = self.stubs.go;
        self.asm.bind(settle);
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Jne_rel32_64, go);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::TOP));
        self.asm.mr(Op::Mov_rm32_r32, at(R8, ENTRY_BLOCK), ESI);
        let (again, done) = (self.asm.label(), self.asm.label());
        self.asm.bind(again);
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::BOTTOM));
        self.asm.jump(Op::Je_rel32_64, done);
        self.asm.rm(Op::Mov_r32_rm32, ECX, at(R8, ENTRY_BLOCK));
        self.asm.rm(Op::Cmp_r32_rm32, ECX, at(R8, ENTRY_REJOIN));
        self.asm.jump(Op::Jne_rel32_64, done);
        self.asm.ri(Op::Sub_rm64_imm8, R8, ENTRY_SIZE as i32);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::MERGES));
        self.asm.jump(Op::Jmp_rel32_64, again);
        self.asm.bind(done);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::TOP), R8);
        // The jump to the reconvergence point may have been the turn's last back-edge.
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::BACK_EDGES_LEFT), 0);
        self.asm.jump(Op::Jle_rel32_64, over);
        // The top entry, at `r8`, runs its block.
        self.asm.bind(resume);
        self.asm.rm(Op::Mov_r32_rm32, EBX, at(R8, ENTRY_LANES));
        self.asm.rm(Op::Mov_r32_rm32, EAX, at(R8, ENTRY_REJOIN));
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::LANES), EBX);
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::REJOIN), EAX);
        self.lanes();
        self.count_depth();
        self.asm.rm(Op::Mov_r32_rm32, ECX, at(R8, ENTRY_BLOCK));
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::BLOCK_ADDRESSES));
        let entry = iced_x86::MemoryOperand::with_base_index_scale(RAX, RCX, 8);
        self.asm.m(Op::Jmp_rm64, entry);
    }

    /// Sets masks and number of the lanes in `ebx`.
    pub(super) fn lanes(&mut self) {
        self.vectors.running(self);
        self.asm.rr(Op::Popcnt_r32_rm32, R9D, EBX);
    }

    /// Returns to the host with all state in memory and the warp's place up to date.
    fn return_now(&mut self) {
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::STOPPED), stopped::WITHIN as i32);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::BLOCK), NO_BLOCK as i32);
        let out = self.stubs.out;
        self.asm.jump(Op::Jmp_rel32_64, out);
    }

    /// Stores assigned rows to memory.
    pub(super) fn spill(&mut self) {
        self.vectors.spill(self);
    }

    /// Reloads everything that a call may have changed or clobbered. Preserves `rax`.
    fn reload(&mut self) {
        self.asm.rm(Op::Mov_r64_rm64, R11, at(RBP, Frame::CONSTANTS));
        self.asm.rm(Op::Mov_r32_rm32, EBX, at(RBP, Frame::LANES));
        self.lanes();
        self.vectors.reload(self);
    }
}
