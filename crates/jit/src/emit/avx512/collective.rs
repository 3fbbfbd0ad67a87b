//! Shuffles and reductions of a warp.

use super::T;
use super::narrow::binary;
use crate::asm::V;
use crate::emit::collective::reduction;
use crate::emit::{Emitter, On};
use fast::code::{Collective, Dst, Src};
use iced_x86::{Code as Op, Register};
use ir::Ty;
use ir::mods::{AtomOp, Shuffle};

use Register::{EAX, EDX, K5, K6};

impl Emitter<'_> {
    /// Each lane's value of the lane that it names, if that is on; else its own.
    pub(super) fn shuffle(&mut self, mode: Shuffle, what: &Collective, on: On) {
        // T[5], T[6]: the sources of the halves; eax: in which lanes they are inside of the
        // segment.
        match what.pattern {
            Some((lanes, inside)) => {
                for half in 0..2 {
                    let line = self.lanes_vector(|lane| lanes[lane].into(), half);
                    self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[5 + half], line, None);
                }
                self.asm.ri(Op::Mov_r32_imm32, EDX, inside as i32);
            }
            None => self.sources(mode, what.src[1], what.src[2]),
        }
        for half in 0..2 {
            self.nc(what.src[0], half, T[2 + half]);
        }
        self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[4], on.lanes);
        if let Some(&Dst::Narrow(row)) = what.dst.first() {
            for half in 0..2 {
                let index = T[5 + half];
                // Lanes whose source is on.
                self.asm.v3(Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, T[0], T[4], V::Z(index), None);
                let one = self.bits32(1);
                self.asm.v3(Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, K5, T[0], one, None);
                let permute = Op::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(permute, index, T[2], V::Z(T[3]), None);
                let blend = Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(blend, index, T[2 + half], V::Z(index), Some(K5));
            }
            for half in 0..2 {
                self.put(row, half, on, T[5 + half]);
            }
        }
        if let Some(&Dst::Pred(mask)) = what.dst.get(1) {
            self.asm.rr(Op::Mov_r32_rm32, EAX, EDX);
            self.put_predicate(mask, on);
        }
    }

    /// Sources of a shuffle by a lane or distance and a constant segment.
    fn sources(&mut self, mode: Shuffle, by: Src, segment: Src) {
        let Src::Const(c) = segment else { return };
        let (clamp, segment) = (c as u32 & 0x1f, c as u32 >> 8 & 0x1f);
        let (mut k, add) = ([K5, K6].into_iter(), Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32);
        for half in 0..2 {
            let Some(k) = k.next() else { return };
            let lane = self.lanes_vector(|lane| lane as u32, half);
            let most = self.lanes_vector(|l| l as u32 & segment | clamp & !segment, half);
            let by = self.nz(by, half, T[2]);
            let low = self.bits32(0x1f);
            let and = Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(and, T[2], by, low, None);
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[3], lane, None);
            let to = T[5 + half];
            match mode {
                Shuffle::Up => {
                    self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, to, T[3], V::Z(T[2]), None);
                }
                Shuffle::Down => self.asm.v3(add, to, T[2], lane, None),
                Shuffle::Bfly => {
                    self.asm.v3(Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, to, T[2], lane, None);
                }
                Shuffle::Idx => {
                    let free = self.bits32(!segment);
                    self.asm.v3(and, T[2], T[2], free, None);
                    let least = self.lanes_vector(|lane| lane as u32 & segment, half);
                    self.asm.v3(Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, to, T[2], least, None);
                }
            }
            // Not less than the bound, or not greater; both as signed numbers.
            let relation = if mode == Shuffle::Up { 5 } else { 2 };
            let compare = Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            self.asm.v3i(compare, k, to, most, relation, None);
            let blend = Op::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(blend, to, T[3], V::Z(to), Some(k));
        }
        self.asm.rrr(Op::VEX_Kunpckwd_kr_kr_kr, K5, K6, K5);
        self.asm.rr(Op::VEX_Kmovd_r32_kr, EDX, K5);
    }

    /// A constant vector of 32-bit words by lane.
    fn lanes_vector(&mut self, word: impl Fn(usize) -> u32, half: usize) -> V {
        let pair = |i: usize| {
            let word = |lane| u64::from(word(16 * half + lane));
            word(2 * i) | word(2 * i + 1) << 32
        };
        V::M(Register::R11, self.pool.vector(std::array::from_fn(pair)))
    }

    /// All values of the lanes that are on as one.
    pub(super) fn redux(&mut self, op: AtomOp, ty: Ty, what: &Collective, on: On) {
        let Some((op, neutral)) = reduction(op, ty) else { return };
        let Some(op) = binary(op) else { return };
        for (half, to) in [T[0], T[1]].into_iter().enumerate() {
            let value = self.nz(what.src[0], half, T[2]);
            self.broadcast32(to, neutral);
            let copy = Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
            self.asm.v2(copy, to, V::Z(value), Some(on.halves()[half]));
        }
        self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        for rotation in [0x4e, 0xb1] {
            let shuffle = Op::EVEX_Vshufi32x4_zmm_k1z_zmm_zmmm512b32_imm8;
            self.asm.v3i(shuffle, T[1], T[0], V::Z(T[0]), rotation, None);
            self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        }
        for rotation in [0x4e, 0xb1] {
            self.asm.v2i(Op::EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8, T[1], T[0], rotation);
            self.asm.v3(op, T[0], T[0], V::Z(T[1]), None);
        }
        self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM0);
        self.put_word(what.dst.first(), on);
    }
}
