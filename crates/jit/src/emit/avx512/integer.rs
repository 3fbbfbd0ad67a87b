//! Rarer operations on rows of 32-bit integers: quotients, remainders, shifts of two words.

use super::T;
use super::operand::ymm;
use crate::asm::{V, at};
use crate::emit::Emitter;
use fast::code::Src;
use fast::ops::Rare;
use iced_x86::{Code as Op, Register, RoundingControl};

use Register::{EAX, K5, RAX, XMM5, XMM6};

impl Emitter<'_> {
    /// Quotients and remainders of 32-bit integers: those of 64-bit floats, cut, are exact.
    pub(super) fn divide(&mut self, op: Rare, src: &[Src; 3], half: usize) {
        let signed = matches!(op, Rare::DivS | Rare::RemS);
        self.nc(src[0], half, T[2]);
        self.nc(src[1], half, T[3]);
        let (widen, cut) = match signed {
            true => (
                Op::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er,
                Op::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae,
            ),
            false => (
                Op::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er,
                Op::EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae,
            ),
        };
        let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
        for (part, to) in [T[0], T[6]].into_iter().enumerate() {
            let (mut a, mut b) = (T[2], T[3]);
            if part == 1 {
                self.asm.v2i(extract, ymm(T[4]), a, 1);
                self.asm.v2i(extract, ymm(T[5]), b, 1);
                (a, b) = (T[4], T[5]);
            }
            self.asm.rr(widen, T[4], ymm(a));
            self.asm.rr(widen, T[5], ymm(b));
            self.asm.v3(Op::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er, T[4], T[4], V::Z(T[5]), None);
            self.asm.rr(cut, ymm(to), T[4]);
        }
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.asm.v3i(insert, T[0], T[0], V::Z(ymm(T[6])), 1, None);
        if signed {
            // All bits, where the divisor is 0: as unsigned ones come out by themselves.
            self.asm.v3(Op::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32, K5, T[3], V::Z(T[3]), None);
            let ternary = Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
            self.asm.v3i(ternary, T[0], T[0], V::Z(T[0]), 0xff, Some(K5));
        }
        if matches!(op, Rare::RemU | Rare::RemS) {
            let multiply = Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
            self.asm.v3(multiply, T[0], T[0], V::Z(T[3]), None);
            self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, T[0], T[2], V::Z(T[0]), None);
        }
    }

    /// The inverse of a divisor that is the same in all lanes, not too great, in all lanes of
    /// `T[6]`; the divisor less 1 in `T[5]`.
    pub(super) fn invert(&mut self, divisor: Src) {
        self.s(divisor, RAX);
        self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
        self.asm.rrr(Op::VEX_Vcvtsi2sd_xmm_xmm_rm64, XMM5, XMM5, RAX);
        if let V::B(base, d) = self.bits64(1f64.to_bits()) {
            self.asm.rm(Op::VEX_Vmovsd_xmm_m64, XMM6, at(base, d));
        }
        let divide = Op::EVEX_Vdivsd_xmm_k1z_xmm_xmmm64_er;
        self.asm.rounded(divide, &[XMM6, XMM6, XMM5], RoundingControl::RoundTowardZero);
        self.asm.rr(Op::EVEX_Vbroadcastsd_zmm_k1z_xmmm64, T[6], XMM6);
        self.asm.r(Op::Dec_rm32, EAX);
        self.asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, T[5], EAX);
    }

    /// Unsigned quotients and remainders by a divisor that [`Self::invert`] has seen. Inverse and
    /// product are rounded towards zero, so that a quotient is right or too small by 1; of 0 the
    /// inverse is infinite, and quotients have all bits.
    pub(super) fn divide_by_one(&mut self, op: Rare, src: &[Src; 3], half: usize) {
        self.nc(src[0], half, T[2]);
        let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
        self.asm.v2i(extract, ymm(T[4]), T[2], 1);
        for (from, to) in [(T[2], T[0]), (T[4], T[4])] {
            let float = if from == T[2] { T[3] } else { T[4] };
            self.asm.rr(Op::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er, float, ymm(from));
            let multiply = Op::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
            self.asm.rounded(multiply, &[float, float, T[6]], RoundingControl::RoundTowardZero);
            self.asm.rr(Op::EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae, ymm(to), float);
        }
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.asm.v3i(insert, T[0], T[0], V::Z(ymm(T[4])), 1, None);
        let (divisor, subtract) =
            (self.n(src[1], half, T[3]), Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32);
        self.asm.v3(Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, T[4], T[0], divisor, None);
        self.asm.v3(subtract, T[4], T[2], V::Z(T[4]), None);
        // A remainder is above the divisor less 1 if the quotient is too small; never if the
        // divisor is 0.
        let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        self.asm.v3i(compare, K5, T[4], V::Z(T[5]), 6, None);
        if op == Rare::DivU {
            let ternary = Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
            self.asm.v3i(ternary, T[3], T[3], V::Z(T[3]), 0xff, None);
            self.asm.v3(subtract, T[0], T[0], V::Z(T[3]), Some(K5));
        } else {
            self.asm.v3(subtract, T[4], T[4], divisor, Some(K5));
            self.copy(T[0], T[4]);
        }
    }

    /// One word of two that are shifted as one value.
    pub(super) fn funnel(&mut self, op: Rare, src: &[Src; 3], half: usize) {
        self.nc(src[2], half, T[4]);
        let wraps = matches!(op, Rare::FunnelLWrap | Rare::FunnelRWrap);
        let (limit, most) = match wraps {
            true => (Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, 31),
            false => (Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, 32),
        };
        let most = self.bits32(most);
        self.asm.v3(limit, T[4], T[4], most, None);
        self.broadcast32(T[5], 32);
        self.asm.v3(Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, T[5], T[5], V::Z(T[4]), None);
        let (a, b) = (self.nz(src[0], half, T[2]), self.nz(src[1], half, T[3]));
        // A word that is shifted by all its bits is 0.
        let (left, right) =
            (Op::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32);
        let (up, down) = match op {
            Rare::FunnelL | Rare::FunnelLWrap => (T[4], T[5]),
            _ => (T[5], T[4]),
        };
        self.asm.v3(left, T[0], b, V::Z(up), None);
        self.asm.v3(right, T[1], a, V::Z(down), None);
        self.asm.v3(Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, T[0], T[0], V::Z(T[1]), None);
    }
}
