//! Words of lanes at any offsets: where those of half a warp turn out to lie side by side, or to be
//! one, it is one access; else it is a gather or a scatter, which processors take apart into as
//! many as there are lanes.
//!
//! Offsets of all lanes that are on have been checked. Those of lanes that are off can be anything:
//! they are compared with under masks, and reached under masks.

use super::T;
use super::operand::ymm;
use crate::asm::{Label, V, at, indexed};
use crate::emit::memory::{Room, may_meet};
use crate::emit::short::WORDS;
use crate::emit::{ALL, Emitter, On};
use crate::frame::Frame;
use fast::code::{Memory, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};

use Register::{EAX, K5, K6, RAX, RDI};

impl Emitter<'_> {
    /// Distances of half the lanes from the first of them, in `T[6]` and `T[7]`, and the offset of
    /// that in `rax`.
    fn distances(&mut self, room: Room, half: usize) {
        if let Room::Window(..) = room {
            let (offsets, first) = (T[2 + half], xmm(T[2 + half]));
            self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[6], first);
            self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, T[6], offsets, V::Z(T[6]), None);
            self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, first);
            // The first lane may be off, and its offset a little below the beginning.
            self.asm.rr(Op::Movsxd_r64_rm32, RAX, EAX);
            return;
        }
        let first = xmm(T[2 + 2 * half]);
        self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, T[7], first);
        for (part, to) in [T[6], T[7]].into_iter().enumerate() {
            let subtract = Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
            self.asm.v3(subtract, to, T[2 + 2 * half + part], V::Z(T[7]), None);
        }
        self.asm.rr(Op::EVEX_Vmovq_rm64_xmm, RAX, first);
    }

    /// Goes to a label unless 32-bit words of half the lanes lie side by side; `rax` becomes the
    /// offset of the first.
    fn side_by_side(&mut self, room: Room, half: usize, on: On, apart: Label) {
        self.distances(room, half);
        if let Room::Window(..) = room {
            let line = V::M(Register::R11, self.pool.line32(0, 4));
            let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            self.asm.v3i(compare, K5, T[6], line, 4, Some(on.halves()[half]));
            self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K5);
        } else {
            let compare = Op::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
            for (part, k) in [K5, K6].into_iter().enumerate() {
                let line = V::M(Register::R11, self.pool.line64(8 * part as u64, 4));
                let mask = self.quarter(on, 2 * half + part);
                self.asm.v3i(compare, k, T[6 + part], line, 4, Some(mask));
            }
            self.asm.rr(Op::VEX_Kortestb_kr_kr, K5, K6);
        }
        self.asm.jump(Op::Jne_rel32_64, apart);
    }

    /// See [`crate::emit::Vectors::lay`].
    pub(super) fn lay(&mut self, addr: Src, entry: usize, (side, one): (Label, Label)) {
        let halves: [Register; 2] = std::array::from_fn(|half| self.nz(addr, half, T[2 + half]));
        for (half, lanes) in halves.into_iter().enumerate() {
            self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[6], xmm(lanes));
            let subtract = Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(subtract, T[4 + half], lanes, V::Z(T[6]), None);
            self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, xmm(lanes));
            self.asm.mr(Op::Mov_rm64_r64, at(Register::RBP, Frame::first(entry, half)), RAX);
        }
        let line = V::M(Register::R11, self.pool.line32(0, 4));
        let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        let test = Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
        for (half, k) in [K5, K6].into_iter().enumerate() {
            self.asm.v3i(compare, k, T[4 + half], line, 4, Some(ALL.halves()[half]));
        }
        self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K6);
        self.asm.jump(Op::Je_rel32_64, side);
        for (half, k) in [K5, K6].into_iter().enumerate() {
            self.asm.v3(test, k, T[4 + half], V::Z(T[4 + half]), Some(ALL.halves()[half]));
        }
        self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K6);
        self.asm.jump(Op::Je_rel32_64, one);
    }

    /// Loads 32-bit words of half the lanes into `T[0]` if they lie side by side or are one, and
    /// goes to a label then.
    fn load_half(&mut self, room: Room, half: usize, d: i64, on: On, done: Label) {
        let (apart, many) = (self.asm.label(), self.asm.label());
        self.side_by_side(room, half, on, apart);
        let from = MemoryOperand { displacement: d, ..indexed(RDI, RAX) };
        let mask = on.halves()[half];
        self.asm.v2z(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, T[0], from, mask);
        self.asm.jump(Op::Jmp_rel32_64, done);
        self.asm.bind(apart);
        if let Room::Window(..) = room {
            let test = Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            self.asm.v3(test, K5, T[6], V::Z(T[6]), Some(mask));
            self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K5);
        } else {
            let test = Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64;
            for (part, k) in [K5, K6].into_iter().enumerate() {
                let mask = self.quarter(on, 2 * half + part);
                self.asm.v3(test, k, T[6 + part], V::Z(T[6 + part]), Some(mask));
            }
            self.asm.rr(Op::VEX_Kortestb_kr_kr, K5, K6);
        }
        self.asm.jump(Op::Jne_rel32_64, many);
        // Some lane is on, and has the offset that the first one has.
        self.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[0], from);
        self.asm.jump(Op::Jmp_rel32_64, done);
        self.asm.bind(many);
    }

    /// Half a row of 32-bit words into `T[0]`. Uses `T[1]`.
    pub(super) fn gather32(&mut self, room: Room, half: usize, d: i64, (on, meet): (On, bool)) {
        let done = self.asm.label();
        if meet {
            self.load_half(room, half, d, on, done);
        }
        self.gather_apart(room, half, d, on);
        self.asm.bind(done);
    }

    fn gather_apart(&mut self, room: Room, half: usize, d: i64, on: On) {
        if let Room::Window(..) = room {
            self.asm.rr(Op::VEX_Kmovw_kr_km16, K5, on.halves()[half]);
            let from = lanes_at(d, T[2 + half]);
            self.asm.gather(Op::EVEX_Vpgatherdd_zmm_k1_vm32z, T[0], from, K5);
            return;
        }
        for (part, to) in [T[0], T[1]].into_iter().enumerate() {
            let quarter = 2 * half + part;
            let mask = self.quarter(on, quarter);
            self.asm.rr(Op::VEX_Kmovb_kr_km8, K5, mask);
            let from = lanes_at(d, T[2 + quarter]);
            self.asm.gather(Op::EVEX_Vpgatherqd_ymm_k1_vm64z, ymm(to), from, K5);
        }
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.asm.v3i(insert, T[0], T[0], V::Z(ymm(T[1])), 1, None);
    }

    /// A quarter of a row of 64-bit words into `T[0]`.
    pub(super) fn gather64(&mut self, room: Room, quarter: usize, d: i64, on: On) {
        let mask = self.quarter(on, quarter);
        self.asm.rr(Op::VEX_Kmovb_kr_km8, K5, mask);
        let index = self.index64(room, quarter);
        self.asm.gather(Op::EVEX_Vpgatherqq_zmm_k1_vm64z, T[0], lanes_at(d, index), K5);
    }

    /// The 64-bit offsets of a quarter of the lanes: `T[7]`, or where they are.
    pub(super) fn index64(&mut self, room: Room, quarter: usize) -> Register {
        let Room::Window(..) = room else { return T[2 + quarter] };
        let half = T[2 + quarter / 2];
        let mut from = ymm(half);
        if !quarter.is_multiple_of(2) {
            let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
            self.asm.v2i(extract, ymm(T[7]), half, 1);
            from = ymm(T[7]);
        }
        self.asm.rr(Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256, T[7], from);
        T[7]
    }

    pub(super) fn store_any(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.offsets(memory, room, on, cold);
        if self.detailed {
            self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM2);
            self.count_access(memory, room.near(), on);
        }
        if memory.word < 4 {
            self.put_offsets(room);
        }
        for (i, &src) in memory.src.iter().enumerate() {
            let d = i as i64 * i64::from(memory.word);
            if memory.word < 4 {
                for half in 0..2 {
                    let value = self.nz(src, half, T[0]);
                    let to = at(Register::RBP, WORDS + 64 * half as i64);
                    self.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, to, value);
                }
                self.short_words_out(memory, d, on);
                continue;
            }
            if memory.word == 8 {
                for quarter in 0..4 {
                    let value = self.wz(src, quarter, T[0]);
                    let mask = self.quarter(on, quarter);
                    self.asm.rr(Op::VEX_Kmovb_kr_km8, K5, mask);
                    let index = self.index64(room, quarter);
                    let to = lanes_at(d, index);
                    self.asm.store(Op::EVEX_Vpscatterqq_vm64z_k1_zmm, to, value, K5);
                }
                continue;
            }
            for half in 0..2 {
                let value = self.nz(src, half, T[0]);
                if !may_meet(memory) {
                    self.scatter32(room, half, d, on, value);
                    continue;
                }
                let (apart, done) = (self.asm.label(), self.asm.label());
                self.side_by_side(room, half, on, apart);
                let to = MemoryOperand { displacement: d, ..indexed(RDI, RAX) };
                let op = Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm;
                self.asm.store(op, to, value, on.halves()[half]);
                self.asm.jump(Op::Jmp_rel32_64, done);
                self.asm.bind(apart);
                self.scatter32(room, half, d, on, value);
                self.asm.bind(done);
            }
        }
    }

    /// Half a row of 32-bit words to anywhere. Uses `T[1]`.
    fn scatter32(&mut self, room: Room, half: usize, d: i64, on: On, value: Register) {
        if let Room::Window(..) = room {
            self.asm.rr(Op::VEX_Kmovw_kr_km16, K5, on.halves()[half]);
            let to = lanes_at(d, T[2 + half]);
            self.asm.store(Op::EVEX_Vpscatterdd_vm32z_k1_zmm, to, value, K5);
            return;
        }
        for part in 0..2 {
            let quarter = 2 * half + part;
            let mask = self.quarter(on, quarter);
            self.asm.rr(Op::VEX_Kmovb_kr_km8, K5, mask);
            let mut from = ymm(value);
            if part == 1 {
                let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
                self.asm.v2i(extract, ymm(T[1]), value, 1);
                from = ymm(T[1]);
            }
            let to = lanes_at(d, T[2 + quarter]);
            self.asm.store(Op::EVEX_Vpscatterqd_vm64z_k1_ymm, to, from, K5);
        }
    }
}

/// The words of lanes at offsets from `rdi`.
fn lanes_at(displacement: i64, offsets: Register) -> MemoryOperand {
    MemoryOperand { displacement, ..indexed(RDI, offsets) }
}

fn xmm(zmm: Register) -> Register {
    Register::XMM0 + (zmm as u32 - Register::ZMM0 as u32)
}
