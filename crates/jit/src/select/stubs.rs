//! Code that all functions share: entry and exit, the passage from the turn of one warp to the turn
//! of the next, barriers, and calls of the host.

use super::{Outside, notes, screened};
use crate::asm::{Asm, Label, at};
use crate::frame::{
    ENTRY_BLOCK, ENTRY_DEPTH, ENTRY_LANES, ENTRY_REJOIN, Frame, NO_BLOCK, TURN_BEGINS, TURN_ENDS,
};
use crate::warp_context::{BarrierState, WarpContext};
use fast::Level;
use iced_x86::{Code as Op, Register};
use vm::BACK_EDGES;

use Register::{
    EAX, ECX, EDX, ESI, R8, R9, R9D, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RSP,
    XMM0, YMM0,
};

const SAVED: [Register; 6] = [RBX, RBP, R12, R13, R14, R15];

/// How a CTA begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaBegin {
    /// The first block.
    pub(crate) entry: u32,
    /// Bytes of the values of a CTA's special registers.
    pub(crate) sregs_bytes: i32,
}

/// Labels of the shared code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    /// The function that the host calls.
    pub(crate) enter: Label,
    /// Takes a warp: the first of a visit, one at its entry, one that continues.
    pub(crate) first: Label,
    pub(crate) fresh: Label,
    pub(crate) again: Label,
    pub(crate) outside: Outside,
    turn: Label,
    out: Label,
}

impl Shared {
    pub(crate) fn new(asm: &mut Asm) -> Self {
        Self {
            enter: asm.label(),
            first: asm.label(),
            fresh: asm.label(),
            again: asm.label(),
            outside: Outside {
                next: asm.label(),
                step: asm.label(),
                end: asm.label(),
                exit: asm.label(),
                release: asm.label(),
                find: asm.label(),
                notes: [(); 4].map(|()| asm.label()),
                judge: asm.label(),
                turn_end: asm.label(),
                barrier_wait: asm.label(),
            },
            turn: asm.label(),
            out: asm.label(),
        }
    }

    /// Emits the shared code; `entry` is that of the function. CTAs that follow begin as `begin`
    /// says. Launches in detail need code for counts of accesses, and screened ones for their log,
    /// with vectors of a level.
    pub(crate) fn emit(
        &self,
        asm: &mut Asm,
        (entry, begin): (Label, &CtaBegin),
        level: Level,
        (detailed, screened): (bool, bool),
    ) {
        self.entry(asm);
        self.next(asm, begin);
        self.takes(asm, entry);
        self.ends(asm);
        self.release(asm, screened);
        self.call(asm, self.outside.step, Frame::STEP);
        self.call(asm, self.outside.end, Frame::STACK_END);
        self.call(asm, self.outside.exit, Frame::EXIT);
        self.call(asm, self.outside.find, Frame::FIND);
        self.call(asm, self.turn, Frame::TURN);
        if detailed {
            notes::emit(asm, self.outside.notes, level);
        }
        if screened {
            screened::emit(asm, self.outside.judge, level);
        }
    }

    /// Emits the entry point, `(frame)` by the System V convention, and the return.
    fn entry(&self, asm: &mut Asm) {
        asm.bind(self.enter);
        for register in SAVED {
            asm.r(Op::Push_r64, register);
        }
        asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        asm.rr(Op::Mov_r64_rm64, RBP, RDI);
        asm.rm(Op::Mov_r64_rm64, R11, at(RBP, Frame::CONSTANTS));
        asm.m(Op::Jmp_rm64, at(RBP, Frame::START));
        asm.bind(self.out);
        asm.ri(Op::Add_rm64_imm8, RSP, 8);
        for register in SAVED.into_iter().rev() {
            asm.r(Op::Pop_r64, register);
        }
        asm.op0(Op::VEX_Vzeroupper);
        asm.op0(Op::Retnq);
    }

    /// Takes the next warp that has a turn; after the last one, goes on to another round or returns
    /// to the host.
    fn next(&self, asm: &mut Asm, begin: &CtaBegin) {
        let (search, done) = (asm.label(), asm.label());
        asm.bind(self.outside.next);
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        // The host counts the lanes of such warps that do not run.
        asm.mi(Op::Cmp_rm32_imm32, at(R8, WarpContext::NOT_LIVE), 0);
        asm.jump(Op::Je_rel32_64, search);
        asm.ri(Op::Mov_r32_imm32, ESI, TURN_ENDS as i32);
        asm.jump(Op::Call_rel32_64, self.turn);
        asm.bind(self.first);
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        asm.bind(search);
        asm.ri(Op::Add_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::WARPS_END));
        asm.jump(Op::Jae_rel32_64, done);
        asm.rm(Op::Mov_r64_rm64, RAX, at(R8, WarpContext::START));
        asm.rr(Op::Test_rm64_r64, RAX, RAX);
        asm.jump(Op::Je_rel32_64, search);
        asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::WARP), R8);
        asm.rm(Op::Mov_r64_rm64, R15, at(R8, WarpContext::SEAT));
        asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::BACK_EDGES_LEFT), BACK_EDGES as i32);
        let take = asm.label();
        asm.mi(Op::Cmp_rm32_imm32, at(R8, WarpContext::NOT_LIVE), 0);
        asm.jump(Op::Je_rel32_64, take);
        asm.ri(Op::Mov_r32_imm32, ESI, TURN_BEGINS as i32);
        asm.jump(Op::Call_rel32_64, self.turn);
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        asm.bind(take);
        asm.m(Op::Jmp_rm64, at(R8, WarpContext::START));
        asm.bind(done);
        self.round(asm, search, begin);
    }

    /// Begins another round over the warps if the host allows it: of the visited CTA, or, if it has
    /// ended, of the next one.
    fn round(&self, asm: &mut Asm, search: Label, begin: &CtaBegin) {
        let (ended, warps) = (asm.label(), asm.label());
        asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::ROUNDS_LEFT), 0);
        asm.jump(Op::Je_rel32_64, self.out);
        asm.rm(Op::Mov_r64_rm64, R9, at(RBP, Frame::BARRIER_STATE));
        asm.mi(Op::Cmp_rm32_imm32, at(R9, BarrierState::LIVE), 0);
        asm.jump(Op::Je_rel32_64, ended);
        asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::MAY_STAY), 0);
        asm.jump(Op::Je_rel32_64, self.out);
        asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::PROGRESS), 0);
        asm.jump(Op::Je_rel32_64, self.out);
        asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 0);
        asm.bind(warps);
        asm.m(Op::Dec_rm32, at(RBP, Frame::ROUNDS_LEFT));
        asm.m(Op::Inc_rm32, at(RBP, Frame::ROUNDS));
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARPS));
        asm.ri(Op::Sub_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        asm.jump(Op::Jmp_rel32_64, search);
        asm.bind(ended);
        asm.mi(Op::Cmp_rm32_imm32, at(RBP, Frame::CTAS_AHEAD), 0);
        asm.jump(Op::Je_rel32_64, self.out);
        asm.m(Op::Dec_rm32, at(RBP, Frame::CTAS_AHEAD));
        asm.m(Op::Inc_rm32, at(RBP, Frame::FOLLOWED));
        self.begin_cta(asm, begin);
        asm.jump(Op::Jmp_rel32_64, warps);
    }

    /// Begins a CTA, all warps of which have all lanes, in the place of one that has ended, whose
    /// barriers are at `r9`: what `CtaContexts::begin` does.
    fn begin_cta(&self, asm: &mut Asm, begin: &CtaBegin) {
        const VECTOR: usize = 32;
        const BARRIERS: usize = size_of::<BarrierState>() - BarrierState::ARRIVED as usize;
        const { assert!(BARRIERS.is_multiple_of(VECTOR)) };
        asm.rm(Op::Mov_r32_rm32, EAX, at(RBP, Frame::THREADS));
        asm.mr(Op::Mov_rm32_r32, at(R9, BarrierState::LIVE), EAX);
        asm.ri(Op::Mov_r32_imm32, EAX, begin.sregs_bytes);
        asm.mr(Op::Add_rm64_r64, at(RBP, Frame::CTA_SREGS), RAX);
        asm.rrr(Op::VEX_Vpxor_xmm_xmm_xmmm128, XMM0, XMM0, XMM0);
        for place in (0..BARRIERS).step_by(VECTOR) {
            let place = at(R9, BarrierState::ARRIVED + place as i64);
            asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, place, YMM0);
        }
        let (clear, cleared, each) = (asm.label(), asm.label(), asm.label());
        asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::SHARED));
        asm.rr(Op::Mov_r64_rm64, RCX, RAX);
        asm.rm(Op::Add_r64_rm64, RCX, at(RBP, Frame::SHARED_LEN));
        asm.bind(clear);
        asm.rr(Op::Cmp_r64_rm64, RAX, RCX);
        asm.jump(Op::Jae_rel32_64, cleared);
        asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, at(RAX, 0), YMM0);
        asm.ri(Op::Add_rm64_imm32, RAX, VECTOR as i32);
        asm.jump(Op::Jmp_rel32_64, clear);
        asm.bind(cleared);
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARPS));
        asm.address(RAX, self.fresh);
        asm.bind(each);
        asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::START), RAX);
        asm.rm(Op::Lea_r64_m, RCX, at(R8, WarpContext::ENTRIES));
        asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::TOP), RCX);
        let entry = [
            (WarpContext::ENTRIES + ENTRY_BLOCK, begin.entry),
            (WarpContext::ENTRIES + ENTRY_REJOIN, NO_BLOCK),
            (WarpContext::ENTRIES + ENTRY_LANES, u32::MAX),
            (WarpContext::ENTRIES + ENTRY_DEPTH, 1),
            (WarpContext::WAITS, 0),
            (WarpContext::RESUME, NO_BLOCK),
            (WarpContext::LIVE, u32::MAX),
            (WarpContext::NEVER_LAUNCHED, 0),
            (WarpContext::EXITED, 0),
            (WarpContext::NOT_LIVE, 0),
        ];
        for (place, value) in entry {
            asm.mi(Op::Mov_rm32_imm32, at(R8, place), value as i32);
        }
        asm.ri(Op::Add_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::WARPS_END));
        asm.jump(Op::Jb_rel32_64, each);
    }

    /// Takes a warp, whose context is at `r8`.
    fn takes(&self, asm: &mut Asm, entry: Label) {
        asm.bind(self.fresh);
        asm.jump(Op::Jmp_rel32_64, entry);
        asm.bind(self.again);
        asm.m(Op::Jmp_rm64, at(R8, WarpContext::AT));
    }

    /// Ends a turn: `esi` is the block, `edx` the running lanes, `ecx` the resume point, and at a
    /// barrier `r9d` its number, counted from 1. The warp's context is at `r8`.
    fn ends(&self, asm: &mut Asm) {
        let place = |asm: &mut Asm| {
            asm.rm(Op::Mov_r64_rm64, RAX, at(R8, WarpContext::TOP));
            asm.mr(Op::Mov_rm32_r32, at(RAX, ENTRY_BLOCK), ESI);
            asm.mr(Op::Mov_rm32_r32, at(RAX, ENTRY_LANES), EDX);
            asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::RESUME), ECX);
        };
        asm.bind(self.outside.turn_end);
        place(asm);
        asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::AGAIN));
        asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::START), RAX);
        asm.jump(Op::Jmp_rel32_64, self.outside.next);
        asm.bind(self.outside.barrier_wait);
        place(asm);
        asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::WAITS), R9D);
        asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::ON), EDX);
        asm.mi(Op::Mov_rm64_imm32, at(R8, WarpContext::START), 0);
        asm.jump(Op::Jmp_rel32_64, self.outside.next);
    }

    /// Releases the warps that wait at barrier `esi`, counted from 1, at which `edx` lanes have
    /// arrived, `ecx` of them with a predicate that holds. The warps continue in their next turns.
    fn release(&self, asm: &mut Asm, screened: bool) {
        let (each, other) = (asm.label(), asm.label());
        asm.bind(self.outside.release);
        if screened {
            screened::completed(asm);
        }
        asm.m(Op::Inc_rm64, at(RBP, Frame::BARRIERS));
        asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 1);
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARPS));
        asm.rm(Op::Mov_r64_rm64, R9, at(RBP, Frame::BARRIER_STATE));
        asm.rm(Op::Mov_r64_rm64, R10, at(RBP, Frame::AGAIN));
        asm.bind(each);
        asm.mr(Op::Cmp_rm32_r32, at(R8, WarpContext::WAITS), ESI);
        asm.jump(Op::Jne_rel32_64, other);
        asm.mi(Op::Mov_rm32_imm32, at(R8, WarpContext::WAITS), 0);
        asm.mr(Op::Mov_rm64_r64, at(R8, WarpContext::START), R10);
        asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::BARRIER_LANES), EDX);
        asm.mr(Op::Mov_rm32_r32, at(R8, WarpContext::BARRIER_HOLDING), ECX);
        asm.m(Op::Dec_rm32, at(R9, BarrierState::WAITING));
        asm.bind(other);
        asm.ri(Op::Add_rm64_imm32, R8, size_of::<WarpContext>() as i32);
        asm.rm(Op::Cmp_r64_rm64, R8, at(RBP, Frame::WARPS_END));
        asm.jump(Op::Jb_rel32_64, each);
        asm.op0(Op::Retnq);
    }

    /// Calls the host: `(frame, esi, edx)`. Returns to the host if it says so.
    fn call(&self, asm: &mut Asm, stub: Label, field: i64) {
        let stay = asm.label();
        asm.bind(stub);
        asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        asm.rr(Op::Mov_r64_rm64, RDI, RBP);
        asm.op0(Op::VEX_Vzeroupper);
        asm.m(Op::Call_rm64, at(RBP, field));
        asm.ri(Op::Add_rm64_imm8, RSP, 8);
        asm.rm(Op::Mov_r64_rm64, R11, at(RBP, Frame::CONSTANTS));
        asm.rr(Op::Test_rm32_r32, EAX, EAX);
        asm.jump(Op::Je_rel32_64, stay);
        asm.ri(Op::Add_rm64_imm8, RSP, 8);
        asm.jump(Op::Jmp_rel32_64, self.out);
        asm.bind(stay);
        asm.op0(Op::Retnq);
    }
}
