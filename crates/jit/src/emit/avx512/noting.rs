//! Distances between lanes' addresses: in `T[2]` .. `T[5]` those of 64 bits, in `T[2]` and `T[3]`
//! those of 32 bits.

use super::T;
use crate::asm::{Label, V, at};
use crate::emit::{Emitter, On};
use fast::code::Memory;
use iced_x86::{Code as Op, Register};

use Register::{EAX, ECX, EDX, K5, K6, K7, RAX, RCX, RDI, RDX, RSI, XMM6, XMM7};

impl Emitter<'_> {
    pub(super) fn apart64(&mut self, memory: &Memory, on: On) {
        let lanes: [Register; 4] = std::array::from_fn(|q| self.wz(memory.addr, q, T[2 + q]));
        let pick = Op::EVEX_Vpermi2q_zmm_k1z_zmm_zmmm512b64;
        self.asm.rr(Op::Tzcnt_r32_rm32, ECX, on.lanes);
        for (low, to) in [(0, T[6]), (2, T[7])] {
            self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, to, RCX);
            self.asm.v3(pick, to, lanes[low], V::Z(lanes[low + 1]), None);
        }
        self.asm.rr(Op::EVEX_Vmovq_rm64_xmm, RAX, XMM6);
        self.asm.rr(Op::EVEX_Vmovq_rm64_xmm, RDX, XMM7);
        self.asm.ri(Op::Test_rm32_imm32, ECX, 16);
        self.asm.rr(Op::Cmovne_r64_rm64, RAX, RDX);
        self.asm.rr(Op::EVEX_Vpbroadcastq_zmm_k1z_r64, T[6], RAX);
        for (q, lane) in lanes.into_iter().enumerate() {
            self.asm.v3(Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, T[2 + q], lane, V::Z(T[6]), None);
        }
    }

    pub(super) fn apart32(&mut self, memory: &Memory, on: On) {
        let lanes: [Register; 2] = std::array::from_fn(|h| self.nz(memory.addr, h, T[2 + h]));
        self.asm.rr(Op::Tzcnt_r32_rm32, ECX, on.lanes);
        self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[6], ECX);
        let pick = Op::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
        self.asm.v3(pick, T[6], lanes[0], V::Z(lanes[1]), None);
        self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, XMM6);
        self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, T[6], XMM6);
        for (h, lane) in lanes.into_iter().enumerate() {
            self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, T[2 + h], lane, V::Z(T[6]), None);
        }
    }

    pub(super) fn unlike64(&mut self, on: On, to: Label) {
        let whole = on.lanes == EDX;
        if whole {
            self.asm.rr(Op::VEX_Kmovd_kr_r32, K6, EDX);
        }
        let compare = Op::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
        for quarter in 0..4 {
            let those = V::M(RSI, 64 * quarter as i64);
            let mask = if whole {
                self.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, K7, K6, 8 * quarter as i32);
                K7
            } else {
                self.quarter(on, quarter)
            };
            self.asm.v3i(compare, K5, T[2 + quarter], those, 4, Some(mask));
            self.asm.rr(Op::VEX_Kortestb_kr_kr, K5, K5);
            self.asm.jump(Op::Jne_rel32_64, to);
        }
    }

    pub(super) fn unlike32(&mut self, on: On, to: Label) {
        let masks = if on.lanes == EDX {
            self.asm.rr(Op::VEX_Kmovd_kr_r32, K7, EDX);
            self.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, K6, K7, 16);
            [K7, K6]
        } else {
            on.halves()
        };
        let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        for (half, result) in [K5, K6].into_iter().enumerate() {
            let those = V::M(RSI, 64 * half as i64);
            self.asm.v3i(compare, result, T[2 + half], those, 4, Some(masks[half]));
        }
        self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K6);
        self.asm.jump(Op::Jne_rel32_64, to);
    }

    pub(super) fn put_addresses(&mut self, memory: &Memory, wide: bool, to: i64) {
        for i in 0..if wide { 4 } else { 2 } {
            let lanes = match wide {
                true => self.wz(memory.addr, i, T[2 + i]),
                false => self.nz(memory.addr, i, T[2 + i]),
            };
            self.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, at(RDI, to + 64 * i as i64), lanes);
        }
    }
}
