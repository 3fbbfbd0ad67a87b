//! Code that counts an access by its pattern, for all accesses of a function: see
//! [`crate::access_groups`]. Arguments and results are in the frame, and all registers are
//! preserved, so that accesses need no registers for it. Vectors of AVX2 will do at each level.

use crate::access_groups::{GroupList, Pattern, log};
use crate::asm::{Asm, Label, at};
use crate::frame::Frame;
use fast::Level;
use fast::StridedAccess;
use iced_x86::{Code as Op, MemoryOperand, Register};

use Register::{
    EAX, ECX, EDX, ESI, K1, R8, R9, R10, R11, RAX, RBP, RCX, RDI, RDX, RSI, RSP, YMM14, YMM15,
    ZMM0, ZMM14,
};

const SAVED: [Register; 5] = [RAX, RCX, RDX, RSI, RDI];
/// Other registers that a call of the host may change.
const CHANGED: [Register; 4] = [R8, R9, R10, R11];

/// Emits the code for addresses of 32 and of 64 bits by lane, and for affine ones of 32 and of 64.
pub(super) fn emit(asm: &mut Asm, labels: [Label; 4], level: Level) {
    let drain = asm.label();
    for (index, stub) in labels.into_iter().enumerate() {
        let notes = Notes { level, drain, wide: index % 2 == 1, is_line: index >= 2 };
        notes.stub(asm, stub);
    }
    host_call(asm, drain, level, Frame::DRAIN);
}

/// An element of a list, with 8 bytes each.
fn element(base: Register, index: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(base, index, 8, displacement, 1)
}

struct Notes {
    level: Level,
    /// Calls the host to empty a log.
    drain: Label,
    wide: bool,
    /// Whether addresses are affine.
    is_line: bool,
}

impl Notes {
    fn parts(&self) -> i64 {
        if self.wide { 8 } else { 4 }
    }

    /// Emits the code. Within it, `edx` is the active lanes, `rsi` the list, `rax` the first active
    /// lane's address and `ecx` its page, `rdi` a pattern, `ymm15` the first lane's address without
    /// the offset.
    fn stub(&self, asm: &mut Asm, stub: Label) {
        let [search, again, next, none, found, room, done] = [(); 7].map(|()| asm.label());
        asm.bind(stub);
        SAVED.into_iter().for_each(|register| asm.r(Op::Push_r64, register));
        self.save(asm, true);
        asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::NOTE_GROUP));
        asm.rm(Op::Add_r64_rm64, RSI, at(RBP, Frame::GROUP_LISTS));
        asm.rm(Op::Mov_r32_rm32, EDX, at(RBP, Frame::NOTE_ON));
        let [is_counted, other] = [(); 2].map(|()| asm.label());
        if self.is_line {
            self.totals(asm, [is_counted, other]);
            asm.bind(other);
        }
        asm.mi(Op::Cmp_rm32_imm32, at(RSI, GroupList::DROPPED), 0);
        asm.jump(Op::Jne_rel32_64, none);
        self.first_address(asm);
        asm.rm(Op::Mov_r64_rm64, RDI, at(RSI, GroupList::CURRENT));
        asm.rm(Op::Add_r64_rm64, RDI, at(RBP, Frame::GROUP_PATTERNS));
        self.compare(asm, search);
        asm.bind(found);
        asm.ri(Op::And_rm32_imm32, EAX, StridedAccess::CONGRUENCE as i32 - 1);
        asm.m(Op::Inc_rm64, element(RDI, RAX, Pattern::TIMES));
        asm.rm(Op::Sub_r64_rm64, RDI, at(RBP, Frame::GROUP_PATTERNS));
        asm.mr(Op::Mov_rm64_r64, at(RSI, GroupList::CURRENT), RDI);
        asm.bind(done);
        asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::NOTE_FOUND), RDI);
        self.save(asm, false);
        SAVED.into_iter().rev().for_each(|register| asm.r(Op::Pop_r64, register));
        asm.op0(Op::Retnq);
        asm.bind(search);
        asm.rm(Op::Mov_r64_rm64, RDI, at(RSI, GroupList::HEAD));
        asm.bind(again);
        asm.rr(Op::Test_rm64_r64, RDI, RDI);
        asm.jump(Op::Je_rel32_64, none);
        asm.rm(Op::Add_r64_rm64, RDI, at(RBP, Frame::GROUP_PATTERNS));
        self.compare(asm, next);
        asm.jump(Op::Jmp_rel32_64, found);
        asm.bind(next);
        asm.rm(Op::Mov_r64_rm64, RDI, at(RDI, Pattern::NEXT));
        asm.jump(Op::Jmp_rel32_64, again);
        asm.bind(none);
        if self.is_line {
            self.line(asm);
        }
        asm.mi(Op::Cmp_rm32_imm32, at(RSI, GroupList::LOGGED), log::ENTRIES);
        asm.jump(Op::Jb_rel32_64, room);
        asm.jump(Op::Call_rel32_64, self.drain);
        asm.rm(Op::Mov_r64_rm64, RSI, at(RBP, Frame::NOTE_GROUP));
        asm.rm(Op::Add_r64_rm64, RSI, at(RBP, Frame::GROUP_LISTS));
        asm.rm(Op::Mov_r32_rm32, EDX, at(RBP, Frame::NOTE_ON));
        asm.bind(room);
        self.log(asm);
        asm.bind(is_counted);
        asm.ri(Op::Mov_r32_imm32, Register::EDI, 0);
        asm.jump(Op::Jmp_rel32_64, done);
    }

    /// Adds an affine access up, and goes to `counted`; goes to `other` if it is not one of those.
    fn totals(&self, asm: &mut Asm, [counted, other]: [Label; 2]) {
        if !self.wide {
            asm.mi(Op::Cmp_rm32_imm32, at(RSI, GroupList::IS_ONE_PASS), 0);
            asm.jump(Op::Je_rel32_64, other);
            asm.m(Op::Inc_rm64, at(RSI, GroupList::PASSED));
            asm.jump(Op::Jmp_rel32_64, counted);
            return;
        }
        let words = asm.label();
        self.first_address(asm);
        asm.rm(Op::Cmp_r64_rm64, RCX, at(RSI, GroupList::LINE_PAGE));
        asm.jump(Op::Jne_rel32_64, other);
        // Whole warps need few patterns.
        asm.ri(Op::Cmp_rm32_imm32, EDX, -1);
        asm.jump(Op::Je_rel32_64, other);
        asm.mi(Op::Cmp_rm32_imm32, at(RSI, GroupList::STRIDE), 0);
        asm.jump(Op::Jne_rel32_64, words);
        // One word, which lane 0 may as well access.
        asm.ri(Op::Mov_r32_imm32, EDX, 1);
        asm.bind(words);
        asm.m(Op::Inc_rm64, at(RSI, GroupList::LINE_TIMES));
        asm.rr(Op::Popcnt_r64_rm64, RCX, RDX);
        asm.mr(Op::Add_rm64_r64, at(RSI, GroupList::LINE_LANES), RCX);
        // A bit for each word from the beginning of lane 0's sector on; each byte is a sector.
        asm.rm(Op::Mov_r64_rm64, RCX, at(RBP, Frame::NOTE_ADDRESS));
        asm.rm(Op::Add_r64_rm64, RCX, at(RSI, GroupList::OFFSET));
        asm.ri(Op::Shr_rm64_imm8, RCX, 2);
        asm.ri(Op::And_rm32_imm32, ECX, 7);
        asm.rr(Op::Shl_rm64_CL, RDX, Register::CL);
        // The highest bit of each byte that has one.
        asm.ri(Op::Mov_r32_imm32, EAX, 0x7f7f_7f7f);
        asm.rr(Op::Mov_r64_rm64, RCX, RAX);
        asm.ri(Op::Shl_rm64_imm8, RCX, 32);
        asm.rr(Op::Or_r64_rm64, RAX, RCX);
        asm.rr(Op::Mov_r64_rm64, RDI, RDX);
        asm.rr(Op::And_r64_rm64, RDI, RAX);
        asm.rr(Op::Add_r64_rm64, RDI, RAX);
        asm.rr(Op::Or_r64_rm64, RDI, RDX);
        asm.r(Op::Not_rm64, RAX);
        asm.rr(Op::And_r64_rm64, RDI, RAX);
        asm.rr(Op::Popcnt_r64_rm64, RDI, RDI);
        asm.mr(Op::Add_rm64_r64, at(RSI, GroupList::LINE_SECTORS), RDI);
        asm.jump(Op::Jmp_rel32_64, counted);
    }

    /// Saves or restores the vectors.
    fn save(&self, asm: &mut Asm, saves: bool) {
        for (index, to) in (0..).zip([Frame::NOTE_SAVED, Frame::NOTE_SAVED + 64]) {
            let (store, load, first) = match self.level {
                Level::Avx512 => {
                    (Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm, Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512, ZMM14)
                }
                _ => (Op::VEX_Vmovdqu_ymmm256_ymm, Op::VEX_Vmovdqu_ymm_ymmm256, YMM14),
            };
            match saves {
                true => asm.mr(store, at(RBP, to), first + index),
                false => asm.rm(load, first + index, at(RBP, to)),
            }
        }
    }

    /// Finds the first active lane's address.
    fn first_address(&self, asm: &mut Asm) {
        asm.rr(Op::Tzcnt_r32_rm32, ECX, EDX);
        if self.is_line {
            asm.rm(Op::Mov_r64_rm64, RAX, at(RSI, GroupList::STRIDE));
            asm.rr(Op::Imul_r64_rm64, RAX, RCX);
            asm.rm(Op::Add_r64_rm64, RAX, at(RBP, Frame::NOTE_ADDRESS));
        } else {
            let scale = if self.wide { 8 } else { 4 };
            let displacement = Frame::LANE_ROOM;
            let first =
                MemoryOperand::with_base_index_scale_displ_size(RBP, RCX, scale, displacement, 1);
            let (load, register, spread) = match self.wide {
                true => (Op::Mov_r64_rm64, RAX, Op::VEX_Vpbroadcastq_ymm_xmmm64),
                false => (Op::Mov_r32_rm32, EAX, Op::VEX_Vpbroadcastd_ymm_xmmm32),
            };
            asm.rm(load, register, first);
            asm.rm(spread, YMM15, first);
        }
        asm.rm(Op::Add_r64_rm64, RAX, at(RSI, GroupList::OFFSET));
        if self.wide {
            asm.rr(Op::Mov_r64_rm64, RCX, RAX);
            asm.ri(Op::Shr_rm64_imm8, RCX, 32);
        } else {
            asm.rr(Op::Mov_r32_rm32, EAX, EAX);
        }
        asm.mr(Op::Mov_rm64_r64, at(RBP, Frame::NOTE_FIRST), RAX);
    }

    /// Compares the access with the pattern at `rdi`.
    fn compare(&self, asm: &mut Asm, differs: Label) {
        asm.rm(Op::Cmp_r32_rm32, EDX, at(RDI, Pattern::ON));
        asm.jump(Op::Jne_rel32_64, differs);
        if self.wide {
            asm.rm(Op::Cmp_r32_rm32, ECX, at(RDI, Pattern::PAGE));
            asm.jump(Op::Jne_rel32_64, differs);
        }
        if self.is_line {
            return;
        }
        let subtract = match self.wide {
            true => Op::VEX_Vpsubq_ymm_ymm_ymmm256,
            false => Op::VEX_Vpsubd_ymm_ymm_ymmm256,
        };
        for part in 0..self.parts() {
            let of = |list: i64| at(RDI, list + 32 * part);
            let addresses = at(RBP, Frame::LANE_ROOM + 32 * part);
            asm.rm(Op::VEX_Vmovdqu_ymm_ymmm256, YMM14, addresses);
            asm.rrr(subtract, YMM14, YMM14, YMM15);
            asm.rrm(Op::VEX_Vpxor_ymm_ymm_ymmm256, YMM14, YMM14, of(Pattern::DISTANCES));
            asm.rm(Op::VEX_Vptest_ymm_ymmm256, YMM14, of(Pattern::LANES));
            asm.jump(Op::Jne_rel32_64, differs);
        }
    }

    /// Stores affine addresses in the room for lanes.
    fn line(&self, asm: &mut Asm) {
        let (store, register, bytes) = match self.wide {
            true => (Op::Mov_rm64_r64, RAX, 8),
            false => (Op::Mov_rm32_r32, EAX, 4),
        };
        asm.rm(Op::Mov_r64_rm64, RAX, at(RBP, Frame::NOTE_ADDRESS));
        for lane in 0..32 {
            asm.mr(store, at(RBP, Frame::LANE_ROOM + bytes * lane), register);
            if lane < 31 {
                asm.rm(Op::Add_r64_rm64, RAX, at(RSI, GroupList::STRIDE));
            }
        }
    }

    /// Appends the access to the log.
    fn log(&self, asm: &mut Asm) {
        asm.rm(Op::Mov_r64_rm64, RCX, at(RSI, GroupList::LOGGED));
        asm.m(Op::Inc_rm64, at(RSI, GroupList::LOGGED));
        asm.rm(Op::Mov_r64_rm64, RDI, at(RSI, GroupList::LOG));
        let on = MemoryOperand::with_base_index_scale_displ_size(RDI, RCX, 4, log::ON, 1);
        asm.mr(Op::Mov_rm32_r32, on, EDX);
        asm.ri(Op::Shl_rm32_imm8, ECX, if self.wide { 8 } else { 7 });
        asm.rr(Op::Add_r64_rm64, RDI, RCX);
        for part in 0..self.parts() {
            let addresses = at(RBP, Frame::LANE_ROOM + 32 * part);
            asm.rm(Op::VEX_Vmovdqu_ymm_ymmm256, YMM14, addresses);
            asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, at(RDI, log::AT + 32 * part), YMM14);
        }
    }
}

/// Emits the call of a function of the host in the frame, which takes the group there. It preserves
/// all registers that [`Notes::stub`] does not save, and the stack has what that one puts there.
pub(super) fn host_call(asm: &mut Asm, stub: Label, level: Level, function: i64) {
    let wide = level == Level::Avx512;
    let (count, bytes) = if wide { (32, 64) } else { (16, 32) };
    let masks = if wide { 7 } else { 0 };
    let places = |from: i64, count: i64, each: i64| (0..count).map(move |i| from + each * i);
    let mask_room = count * bytes;
    // The stack is aligned here but for two return addresses and the saved registers.
    let general_room = mask_room + 8 * 8;
    let size = general_room + 8 * (CHANGED.len() as i64 + 1);
    asm.bind(stub);
    asm.ri(Op::Sub_rm64_imm32, RSP, size as i32);
    let each = |asm: &mut Asm, saves: bool| {
        for (index, place) in (0..).zip(places(0, count, bytes)) {
            match (wide, saves) {
                (true, true) => {
                    asm.mr(Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm, at(RSP, place), ZMM0 + index);
                }
                (true, false) => {
                    asm.rm(Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512, ZMM0 + index, at(RSP, place));
                }
                (false, true) => {
                    asm.mr(Op::VEX_Vmovdqu_ymmm256_ymm, at(RSP, place), Register::YMM0 + index);
                }
                (false, false) => {
                    asm.rm(Op::VEX_Vmovdqu_ymm_ymmm256, Register::YMM0 + index, at(RSP, place));
                }
            }
        }
        for (index, place) in (0..).zip(places(mask_room, masks, 8)) {
            match saves {
                true => asm.mr(Op::VEX_Kmovq_m64_kr, at(RSP, place), K1 + index),
                false => asm.rm(Op::VEX_Kmovq_kr_km64, K1 + index, at(RSP, place)),
            }
        }
        for (register, place) in CHANGED.into_iter().zip(places(general_room, 4, 8)) {
            match saves {
                true => asm.mr(Op::Mov_rm64_r64, at(RSP, place), register),
                false => asm.rm(Op::Mov_r64_rm64, register, at(RSP, place)),
            }
        }
    };
    each(asm, true);
    asm.rr(Op::Mov_r64_rm64, RDI, RBP);
    asm.rm(Op::Mov_r32_rm32, ESI, at(RBP, Frame::NOTE_GROUP));
    asm.op0(Op::VEX_Vzeroupper);
    asm.m(Op::Call_rm64, at(RBP, function));
    each(asm, false);
    asm.ri(Op::Add_rm64_imm32, RSP, size as i32);
    asm.op0(Op::Retnq);
}
