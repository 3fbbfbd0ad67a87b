//! Operations on rows of 32-bit values.

use super::T;
use crate::asm::V;
use crate::emit::forms::{NAN32, makes_nan};
use crate::emit::{Emitter, On};
use fast::code::Src;
use fast::ops::Op32;
use iced_x86::{Code as Op, Register};

use Register::{K5, K7};

/// Operations that are one instruction on two operands.
pub(super) fn binary(op: Op32) -> Option<Op> {
    Some(match op {
        Op32::Add => Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
        Op32::Sub => Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
        Op32::Mul => Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
        Op32::And => Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
        Op32::Or => Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
        Op32::Xor => Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
        // Amounts beyond the width give 0, or the sign, as in PTX.
        Op32::Shl => Op::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
        Op32::ShrU => Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
        Op32::ShrS => Op::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
        Op32::MinU => Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32,
        Op32::MaxU => Op::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32,
        Op32::MinS => Op::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
        Op32::MaxS => Op::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
        Op32::FAdd => Op::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        Op32::FSub => Op::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
        Op32::FMul => Op::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        Op32::FDiv => Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
        _ => return None,
    })
}

/// Operations that are one instruction on one operand.
fn unary(op: Op32) -> Option<Op> {
    Some(match op {
        Op32::Mov => Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
        Op32::AbsS => Op::EVEX_Vpabsd_zmm_k1z_zmmm512b32,
        Op32::Popc => Op::EVEX_Vpopcntd_zmm_k1z_zmmm512b32,
        Op32::Clz => Op::EVEX_Vplzcntd_zmm_k1z_zmmm512b32,
        Op32::FSqrt => Op::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
        Op32::FFromU => Op::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er,
        Op32::FFromS => Op::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er,
        _ => return None,
    })
}

impl Emitter<'_> {
    pub(super) fn narrow(&mut self, op: Op32, dst: u32, src: &[Src; 3], on: On) -> bool {
        let lacking = match op {
            Op32::Popc => !self.features.popcnt,
            Op32::Clz => !self.features.lzcnt,
            _ => false,
        };
        if lacking {
            return false;
        }
        let canonical = makes_nan(op) && self.nan.seen(self.now as usize);
        // Under a mask, a result becomes canonical before it is blended.
        let apart = canonical && self.blend;
        for half in 0..2 {
            let (to, mask) = if apart { (T[0], None) } else { self.open(dst, half, on) };
            self.half(op, (to, mask), src, half);
            if canonical {
                self.canonical32(to);
            }
            if apart {
                self.put(dst, half, on, T[0]);
            } else {
                self.close(dst, half, on);
            }
        }
        true
    }

    fn half(&mut self, op: Op32, to: (Register, Option<Register>), src: &[Src; 3], half: usize) {
        let (to, mask) = to;
        if let Some(one) = unary(op) {
            let a = match op {
                // A move has no broadcast.
                Op32::Mov => V::Z(self.nz(src[0], half, T[2])),
                _ => self.n(src[0], half, T[2]),
            };
            self.asm.v2(one, to, a, mask);
            return;
        }
        if let Some(two) = binary(op) {
            let a = self.nz(src[0], half, T[2]);
            let b = self.n(src[1], half, T[3]);
            self.asm.v3(two, to, a, b, mask);
            return;
        }
        match op {
            Op32::Mad => {
                let a = self.nz(src[0], half, T[2]);
                let b = self.n(src[1], half, T[3]);
                self.asm.v3(Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, T[2], a, b, None);
                let c = self.n(src[2], half, T[3]);
                self.asm.v3(Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, to, T[2], c, mask);
            }
            Op32::FFma => self.fma(to, mask, src, half),
            Op32::Not | Op32::FNeg => {
                let a = self.nz(src[0], half, T[2]);
                let flip = if op == Op32::Not { u32::MAX } else { 0x8000_0000 };
                let flip = self.bits32(flip);
                self.asm.v3(Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, to, a, flip, mask);
            }
            Op32::FAbs => {
                let a = self.nz(src[0], half, T[2]);
                let keep = self.bits32(0x7fff_ffff);
                self.asm.v3(Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, to, a, keep, mask);
            }
            Op32::Neg => {
                let zero = T[3];
                let xor = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(xor, zero, zero, V::Z(zero), None);
                let a = self.n(src[0], half, T[2]);
                self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, to, zero, a, mask);
            }
            Op32::FRcp => {
                let one = self.bits32(1f32.to_bits());
                let (V::B(base, d) | V::M(base, d)) = one else { return };
                let op = Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
                self.asm.rm(op, T[3], crate::asm::at(base, d));
                let a = self.n(src[0], half, T[2]);
                self.asm.v3(Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, to, T[3], a, mask);
            }
            Op32::MulHiU | Op32::MulHiS => {
                let multiply = match op {
                    Op32::MulHiU => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
                    _ => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
                };
                self.high(multiply, (to, mask), src, half);
            }
            // All others are in the tables above.
            _ => {}
        }
    }

    /// `a * b + c`, rounded once.
    fn fma(&mut self, to: Register, mask: Option<Register>, src: &[Src; 3], half: usize) {
        let add = Op::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
        let multiply = Op::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er;
        let c = self.n(src[2], half, T[4]);
        if c == V::Z(to) {
            let a = self.nz(src[0], half, T[2]);
            let b = self.n(src[1], half, T[3]);
            self.asm.v3(add, to, a, b, mask);
            return;
        }
        let (a, b) = (self.n(src[0], half, T[2]), self.n(src[1], half, T[3]));
        for (factor, other, room) in [(a, b, T[3]), (b, a, T[2])] {
            if factor == V::Z(to) {
                let other = self.in_register(other, room, false);
                self.asm.v3(multiply, to, other, c, mask);
                return;
            }
        }
        let a = self.in_register(a, T[2], false);
        if mask.is_none() {
            let c = self.in_register(c, to, false);
            if c != to {
                self.copy(to, c);
            }
            self.asm.v3(add, to, a, b, None);
            return;
        }
        let c = self.in_register(c, T[4], false);
        if c != T[4] {
            self.copy(T[4], c);
        }
        self.asm.v3(add, T[4], a, b, None);
        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, V::Z(T[4]), mask);
    }

    /// High words of products: of even lanes and of odd ones.
    fn high(&mut self, op: Op, to: (Register, Option<Register>), src: &[Src; 3], half: usize) {
        let (to, mask) = to;
        let a = self.nz(src[0], half, T[2]);
        let b = self.nz(src[1], half, T[3]);
        self.asm.v3(op, T[4], a, V::Z(b), None);
        self.asm.v2i(Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, T[5], a, 32);
        self.asm.v2i(Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, T[6], b, 32);
        self.asm.v3(op, T[5], T[5], V::Z(T[6]), None);
        self.asm.v2i(Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, T[4], T[4], 32);
        self.asm.ri64(Register::RAX, 0xaaaa);
        self.asm.rr(Op::VEX_Kmovd_kr_r32, K5, Register::EAX);
        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[4], V::Z(T[5]), Some(K5));
        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, V::Z(T[4]), mask);
    }

    /// Makes NaNs canonical.
    pub(super) fn canonical32(&mut self, value: Register) {
        let compare = Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        self.asm.v3i(compare, K7, value, V::Z(value), 3, None);
        let nan = self.bits32(NAN32);
        if let V::B(base, d) = nan {
            let nan = V::M(base, d);
            self.asm.v2(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, value, nan, Some(K7));
        }
    }

    /// The low words of 64-bit values.
    pub(super) fn low(&mut self, dst: u32, src: Src, on: On) -> bool {
        for half in 0..2 {
            let value = self.nz(src, half, T[2]);
            self.put(dst, half, on, value);
        }
        true
    }

    /// A choice by a predicate.
    pub(super) fn select(&mut self, wide: bool, dst: u32, src: &[Src; 3], on: On) -> bool {
        use Register::{EAX, K6};
        if wide {
            return self.select_wide(dst, src, on);
        }
        self.predicate(src[2], EAX);
        self.asm.rr(Op::VEX_Kmovd_kr_r32, K5, EAX);
        self.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, K6, K5, 16);
        for (half, holds) in [K5, K6].into_iter().enumerate() {
            let b = self.nz(src[1], half, T[2]);
            let a = self.n(src[0], half, T[3]);
            let choose = Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
            let to = if self.blend { T[0] } else { self.open(dst, half, on).0 };
            self.asm.v3(choose, to, b, a, Some(holds));
            if self.blend || to == T[0] {
                self.put(dst, half, on, T[0]);
            }
        }
        true
    }
}
