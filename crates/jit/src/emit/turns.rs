//! The passage from one warp's turn to the next warp's, and barriers.
//!
//! A warp whose turn ends in an ordinary way (all its lanes have exited, it waits at a barrier, it
//! has used up its back-edges) saves its place in its context; then the next warp of the CTA that
//! has a turn runs. Anything else returns to the host, or calls it.

use super::{Emitter, On};
use crate::asm::at;
use crate::frame::{
    ENTRY_BLOCK, ENTRY_LANES, ENTRY_REJOIN, ENTRY_SIZE, Frame, NO_BLOCK, STACK_CAPACITY, stopped,
};
use crate::warp_context::{BarrierState, WarpContext};
use fast::BARRIERS;
use fast::code::{Dst, Kind, Src, Step};
use iced_x86::{Code as Op, Register};
use ir::mods::Barrier;
use vm::BACK_EDGES;

use Register::{EAX, EBX, ECX, EDX, ESI, R8, R9D, R12, R13, R14, R15, RAX, RBP, RCX, RDX, RSI};

/// Registers, and the fields of a warp context that they are loaded from.
const POINTERS: [(Register, i64); 4] = [
    (R12, WarpContext::NARROW),
    (R13, WarpContext::WIDE),
    (R14, WarpContext::PREDS),
    (R15, WarpContext::SCALARS),
];

impl Emitter<'_> {
    pub(super) fn seat_stubs(&mut self) {
        self.next_stub();
        self.takes();
        self.over_stub();
        self.exit_stub();
        if self.code.steps.iter().any(|step| matches!(step.kind, Kind::Barrier { .. })) {
            self.park_stub();
            self.release_stub();
        }
    }

    /// Takes the next warp that has a turn, or returns to the host.
    fn next_stub(&mut self) {
        let (next, first, out) = (self.stubs.next, self.stubs.first, self.stubs.out);
        let (search, done) = (self.asm.label(), self.asm.label());
        self.asm.bind(next);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::ISSUES));
        self.asm.rr(Op::Mov_r64_rm64, RCX, RAX);
        self.asm.rm(Op::Sub_r64_rm64, RAX, at(RBP, Frame::STARTED));
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::STARTED), RCX);
        // Lanes that were absent or had exited throughout the turn.
        self.asm.mi(Op::Cmp_rm32_imm32, at(R8, WarpContext::NOT_LIVE), 0);
        self.asm.jump(Op::Je_rel32_64, search);
        for (lanes, sum) in [
            (WarpContext::NEVER_LAUNCHED, Frame::NEVER_LAUNCHED_SUM),
            (WarpContext::EXITED, Frame::EXITED_SUM),
        ] {
            self.asm.rm(Op::Mov_r32_rm32, ECX, at(R8, lanes));
            self.asm.rr(Op::Imul_r64_rm64, RCX, RAX);
            self.asm.mr(Op::Add_rm64_r64, at(RBP, sum), RCX);
        }
        self.asm.jump(Op::Jmp_rel32_64, search);
        self.asm.bind(first);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.bind(search);
        self.asm.ri(Op::Add_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::WARPS_END));
        self.asm.jump(Op::Jae_rel32_64, done);
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(R8, WarpContext::START));
        self.asm.rr(Op::Test_rm64_r64, RAX, RAX);
        self.asm.jump(Op::Je_rel32_64, search);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::WARP), R8);
        self.asm.r(Op::Jmp_rm64, RAX);
        self.asm.bind(done);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::STOPPED), stopped::DONE as i32);
        self.asm.jump(Op::Jmp_rel32_64, out);
        let before = self.stubs.before;
        self.asm.bind(before);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::STOPPED), stopped::BEFORE as i32);
        self.asm.jump(Op::Jmp_rel32_64, out);
    }

    /// Take a warp: one at its entry, one that continues, and one that continues while the
    /// interpreter has its stack.
    fn takes(&mut self) {
        let (fresh, again, alone) = (self.stubs.fresh, self.stubs.again, self.stubs.alone);
        self.asm.bind(fresh);
        self.sit();
        self.vectors.begin(self);
        let entry = self.blocks[self.code.entry as usize];
        self.asm.jump(Op::Jmp_rel32_64, entry);
        self.asm.bind(again);
        self.sit();
        self.go_on();
        self.asm.bind(alone);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.rm(Op::Mov_r32_rm32, EBX, at(RBP, Frame::LANES));
        self.pointers();
        self.lanes();
        self.go_on();
    }

    /// Loads rows, and continues where the warp context says.
    fn go_on(&mut self) {
        self.vectors.reload(self);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.m(Op::Jmp_rm64, at(R8, WarpContext::AT));
    }

    fn pointers(&mut self) {
        for (register, field) in POINTERS {
            self.asm.rm(Op::Mov_r64_rm64, register, at(R8, field));
        }
        self.asm.rm(Op::Mov_r64_rm64, RDX, at(R8, WarpContext::SREGS));
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::SREGS), RDX);
    }

    /// Loads the state of the warp whose context is at `r8`, except for its rows.
    fn sit(&mut self) {
        self.pointers();
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(R8, WarpContext::TOP));
        self.asm.rm(Op::Mov_r32_rm32, EBX, at(RCX, ENTRY_LANES));
        self.asm.rm(Op::Mov_r32_rm32, EAX, at(RCX, ENTRY_REJOIN));
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::LANES), EBX);
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::REJOIN), EAX);
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::TOP), RCX);
        self.asm.rm(Op::Lea_r64_m, RDX, at(R8, WarpContext::ENTRIES));
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::BOTTOM), RDX);
        self.asm.ri(
            Op::Add_rm64_imm32,
            RDX,
            (STACK_CAPACITY as i64 - 3) as i32 * ENTRY_SIZE as i32,
        );
        self.asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::LAST), RDX);
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::BACK_EDGES_LEFT), BACK_EDGES as i32);
        self.asm.rm(Op::Mov_r32_rm32, EDX, at(R8, WarpContext::LIVE));
        self.asm.mr(Op::Mov_rm32_r32, at(RBP, Frame::LIVE), EDX);
        self.asm.mi(Op::Mov_rm64_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        if self.detailed {
            for (from, to) in [
                (WarpContext::NEVER_LAUNCHED, Frame::NEVER_LAUNCHED),
                (WarpContext::EXITED, Frame::EXITED),
            ] {
                self.asm.rm(Op::Mov_r32_rm32, EDX, at(R8, from));
                self.asm.mr(Op::Mov_rm64_r64, at(RBP, to), RDX);
            }
            self.asm.rr(Op::Mov_r64_rm64, R8, RCX);
            self.count_depth();
        }
        self.lanes();
    }

    /// Ends a turn whose back-edges are used up: the lanes of the stack's top entry, at `r8`, stand
    /// before its block.
    fn over_stub(&mut self) {
        let (over, next) = (self.stubs.over, self.stubs.next);
        self.asm.bind(over);
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::WARP));
        self.asm.mr(Op::Mov_rm64_r64, at(RCX, WarpContext::TOP), R8);
        self.asm.rm(Op::Mov_r32_rm32, ESI, at(R8, ENTRY_BLOCK));
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::BLOCK_ADDRESSES));
        let block = iced_x86::MemoryOperand::with_base_index_scale(RAX, RSI, 8);
        self.asm.rm(Op::Mov_r64_rm64, RAX, block);
        self.asm.mr(Op::Mov_rm64_r64, at(RCX, WarpContext::AT), RAX);
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::AGAIN));
        self.asm.mr(Op::Mov_rm64_r64, at(RCX, WarpContext::START), RAX);
        self.asm.mi(Op::Mov_rm32_imm32, at(RCX, WarpContext::RESUME), NO_BLOCK as i32);
        self.spill();
        self.asm.jump(Op::Jmp_rel32_64, next);
    }

    /// Exits all running lanes, at the end of block `esi`. If the warp has no others, and no
    /// barrier may have waited only for them, the warp has ended.
    fn exit_stub(&mut self) {
        let (exit, slow, next) = (self.stubs.exit, self.stubs.end, self.stubs.next);
        self.asm.bind(exit);
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::TOP));
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::BOTTOM));
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::BARRIER_STATE));
        self.asm.mi(Op::Cmp_rm32_imm32, at(RCX, BarrierState::WAITING), 0);
        self.asm.jump(Op::Jne_rel32_64, slow);
        self.asm.mr(Op::Sub_rm32_r32, at(RCX, BarrierState::LIVE), R9D);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::EMPTIED));
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.mi(Op::Mov_rm64_imm32, at(R8, WarpContext::START), 0);
        self.asm.mi(Op::Mov_rm64_imm32, at(R8, WarpContext::TOP), 0);
        self.asm.jump(Op::Jmp_rel32_64, next);
    }

    /// Parks the warp at a barrier: `ecx` holds its lanes, `eax` the barrier counted from 1, `edx`
    /// the block, `esi` the index of the resume point.
    fn park_stub(&mut self) {
        let (park, next) = (self.stubs.park, self.stubs.next);
        self.asm.bind(park);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        self.asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::WAITS), EAX);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::ON), ECX);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::RESUME), ESI);
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::RESUME_ADDRESSES));
        let resume = iced_x86::MemoryOperand::with_base_index_scale(RAX, RSI, 8);
        self.asm.rm(Op::Mov_r64_rm64, RAX, resume);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::AT), RAX);
        self.asm.mi(Op::Mov_rm64_imm32, at(R8, WarpContext::START), 0);
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::TOP));
        self.asm.mr(Op::Mov_rm32_r32, at(RCX, ENTRY_BLOCK), EDX);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::TOP), RCX);
        self.spill();
        self.asm.jump(Op::Jmp_rel32_64, next);
    }

    /// Releases the warps that wait at barrier `eax`, counted from 1; they continue in their next
    /// turns.
    fn release_stub(&mut self) {
        let release = self.stubs.release;
        let (each, other) = (self.asm.label(), self.asm.label());
        self.asm.bind(release);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::BARRIERS));
        self.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 1);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARPS));
        self.asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::BARRIER_STATE));
        self.asm.rm(Op::Mov_r64_rm64, RDX, at(RBP, Frame::AGAIN));
        self.asm.bind(each);
        self.asm.mr(Op::Cmp_rm32_r32, at(R8, WarpContext::WAITS), EAX);
        self.asm.jump(Op::Jne_rel32_64, other);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, WarpContext::WAITS), 0);
        self.asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::START), RDX);
        self.asm.m(Op::Dec_rm32, at(RCX, BarrierState::WAITING));
        self.asm.bind(other);
        self.asm.ri(Op::Add_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        self.asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::WARPS_END));
        self.asm.jump(Op::Jb_rel32_64, each);
        self.asm.op0(Op::Retnq);
    }

    /// Compiles a barrier of all threads without a result.
    pub(super) fn barrier(&mut self, step: &Step, on: On) -> bool {
        let Kind::Barrier { kind: Barrier::Sync, id: Src::Const(id), pred: None, dst: Dst::None } =
            step.kind
        else {
            return false;
        };
        if id >= BARRIERS as u64 {
            return false;
        }
        let (cold, back) = self.cold(on);
        let (arrived, number) = (BarrierState::ARRIVED + 4 * id as i64, id as i32 + 1);
        self.asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::INTERPRETER_OWNED), 0);
        self.asm.jump(Op::Jne_rel32_64, cold);
        self.asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::BARRIER_STATE));
        self.asm.mi(Op::Cmp_rm32_imm32, at(R8, BarrierState::PLAIN), 0);
        self.asm.jump(Op::Je_rel32_64, cold);
        self.asm.m(Op::Inc_rm64, at(RBP, Frame::ARRIVALS));
        self.asm.rr(Op::Popcnt_r32_rm32, EDX, on.lanes);
        self.asm.rm(Op::Add_r32_rm32, EDX, at(R8, arrived));
        self.asm.ri(Op::Mov_r32_imm32, EAX, number);
        let complete = self.asm.label();
        self.asm.rm(Op::Cmp_r32_rm32, EDX, at(R8, BarrierState::LIVE));
        self.asm.jump(Op::Jae_rel32_64, complete);
        self.asm.mr(Op::Mov_rm32_r32, at(R8, arrived), EDX);
        self.asm.m(Op::Inc_rm32, at(R8, BarrierState::WAITING));
        self.asm.rr(Op::Mov_r32_rm32, ECX, on.lanes);
        self.asm.ri(Op::Mov_r32_imm32, EDX, self.block as i32);
        self.asm.ri(Op::Mov_r32_imm32, ESI, self.resumes.len() as i32);
        let (park, release) = (self.stubs.park, self.stubs.release);
        self.asm.jump(Op::Jmp_rel32_64, park);
        self.asm.bind(complete);
        self.asm.mi(Op::Mov_rm32_imm32, at(R8, arrived), 0);
        self.asm.jump(Op::Call_rel32_64, release);
        self.asm.bind(back);
        true
    }
}
