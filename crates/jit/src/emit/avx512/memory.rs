//! Loads and stores of rows: vectors under masks; see `emit::memory`.

use super::T;
use crate::asm::{Label, V, at};
use crate::emit::memory::{Room, may_meet};
use crate::emit::short::WORDS;
use crate::emit::{Emitter, On};
use fast::code::{Dst, Memory};
use iced_x86::{Code as Op, Register};

use Register::{EAX, K5, K6, RAX, RBP, RDI, RSI};

impl Emitter<'_> {
    pub(super) fn load_adjacent(&mut self, memory: &Memory, on: On) {
        let op = match (memory.word, memory.extend) {
            (1, None) => Op::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
            (1, _) => Op::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
            (2, None) => Op::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            (2, _) => Op::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
            (4, _) => Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
            _ => Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
        };
        match memory.dst[0] {
            Dst::Narrow(row) => {
                for half in 0..2 {
                    let from = at(RDI, 16 * i64::from(memory.word) * half as i64);
                    let (mask, d) = (on.halves()[half], from.displacement);
                    match self.assignment.narrow(row, half) {
                        Some(to) if self.blend => self.asm.v2(op, to, V::M(RDI, d), Some(mask)),
                        Some(to) => self.asm.v2z(op, to, from, mask),
                        None => {
                            self.asm.v2z(op, T[0], from, mask);
                            self.put(row, half, on, T[0]);
                        }
                    }
                }
            }
            Dst::Wide(row) => {
                for quarter in 0..4 {
                    let mask = self.quarter(on, quarter);
                    self.asm.v2z(op, T[0], at(RDI, 64 * quarter as i64), mask);
                    self.put_wide(row, quarter, on, T[0]);
                }
            }
            _ => {}
        }
    }

    /// Offsets of all lanes: of 64-bit addresses in a region in `T[2]` .. `T[5]`, of a window in
    /// `T[2]` and `T[3]`. `rdi` becomes what they count from.
    pub(super) fn offsets(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        let align = memory.bytes();
        match room {
            Room::Map(near) => {
                let (len, bytes) = self.in_region(near, memory, cold);
                self.limit(len, align, cold);
                self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[6], RAX);
                for q in 0..4 {
                    let value = self.w(memory.addr, q, T[2 + q]);
                    let add = Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
                    self.asm.v3(add, T[2 + q], T[6], value, None);
                }
                self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[6], RSI);
                let low = self.bits64(align - 1);
                for q in 0..4 {
                    let mask = self.quarter(on, q);
                    let compare = Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
                    self.asm.v3i(compare, K5, T[2 + q], V::Z(T[6]), 6, Some(mask));
                    let test = Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64;
                    self.asm.v3(test, K6, T[2 + q], low, Some(mask));
                    self.asm.rr(Op::VEX_Kortestb_kr_kr, K5, K6);
                    self.asm.jump(Op::Jne_rel32_64, cold);
                }
                self.asm.rm(Op::Mov_r64_rm64, RDI, bytes);
            }
            Room::Window(bytes, len) => {
                self.limit(at(RBP, len), align, cold);
                self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[6], Register::ESI);
                let (low, offset) = (self.bits32(align as u32 - 1), memory.offset as u32);
                let offset = self.bits32(offset);
                for half in 0..2 {
                    let value = self.nz(memory.addr, half, T[2 + half]);
                    let add = Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
                    self.asm.v3(add, T[2 + half], value, offset, None);
                    let mask = Some(on.halves()[half]);
                    let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
                    self.asm.v3i(compare, K5, T[2 + half], V::Z(T[6]), 6, mask);
                    let test = Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
                    self.asm.v3(test, K6, T[2 + half], low, mask);
                    self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K6);
                    self.asm.jump(Op::Jne_rel32_64, cold);
                    if let Some(bytes) = self.apart_in_local(memory) {
                        let line = self.pool.line32(16 * half as u32, bytes as u32);
                        let line = V::M(Register::R11, line);
                        self.asm.v3(add, T[2 + half], T[2 + half], line, None);
                    }
                }
                self.window(memory, bytes);
            }
        }
    }

    pub(super) fn load_any(&mut self, memory: &Memory, room: Room, on: On, cold: Label) {
        self.offsets(memory, room, on, cold);
        if self.detailed {
            self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM2);
            self.count_access(memory, room.near(), on);
        }
        if memory.word < 4 {
            self.put_offsets(room);
        }
        for (i, &dst) in memory.dst.iter().enumerate() {
            let d = i as i64 * i64::from(memory.word);
            match dst {
                Dst::Narrow(row) if memory.word < 4 => {
                    self.short_words_in(memory, d, on);
                    for half in 0..2 {
                        let from = V::M(RBP, WORDS + 64 * half as i64);
                        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[0], from, None);
                        self.put(row, half, on, T[0]);
                    }
                }
                Dst::Narrow(row) => {
                    for half in 0..2 {
                        self.gather32(room, half, d, (on, may_meet(memory)));
                        self.put(row, half, on, T[0]);
                    }
                }
                Dst::Wide(row) => {
                    for quarter in 0..4 {
                        self.gather64(room, quarter, d, on);
                        self.put_wide(row, quarter, on, T[0]);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn store_adjacent(&mut self, memory: &Memory, on: On) {
        let src = memory.src[0];
        if memory.word == 8 {
            for quarter in 0..4 {
                let value = self.wz(src, quarter, T[0]);
                let mask = self.quarter(on, quarter);
                let to = at(RDI, 64 * quarter as i64);
                self.asm.store(Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm, to, value, mask);
            }
            return;
        }
        let op = match memory.word {
            1 => Op::EVEX_Vpmovdb_xmmm128_k1z_zmm,
            2 => Op::EVEX_Vpmovdw_ymmm256_k1z_zmm,
            _ => Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        };
        for half in 0..2 {
            let value = self.nz(src, half, T[0]);
            let to = at(RDI, 16 * i64::from(memory.word) * half as i64);
            self.asm.store(op, to, value, on.halves()[half]);
        }
    }
}
