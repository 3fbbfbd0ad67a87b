//! Approximate functions: the published sequences of `simt::arith::approx`, operation by operation,
//! eight lanes at a time.
//!
//! Each is a sequence of 64-bit IEEE operations on a 32-bit operand; the constants are those
//! published there.

use super::T;
use super::operand::ymm;
use crate::asm::{V, at};
use crate::emit::Emitter;
use crate::emit::forms::{Approx, LOG2_SPECIALS};
use iced_x86::{Code as Op, Register};
use simt::arith::approx::constants::{COS, EXP2, HALF_PI, LOG2, ROUNDER, SIN};

use Register::K6;

const ADD: Op = Op::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
const SUB: Op = Op::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
const MUL: Op = Op::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
const DIV: Op = Op::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er;
const COMPARE: Op = Op::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;

impl Emitter<'_> {
    /// Of the 32-bit floats in `T[2]`, in `T[0]`.
    pub(super) fn approximate(&mut self, what: Approx) {
        let (widen, cut) =
            (Op::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, Op::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er);
        for part in 0..2 {
            if part == 1 {
                let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
                self.asm.v2i(extract, ymm(T[2]), T[2], 1);
            }
            self.asm.rr(widen, T[0], ymm(T[2]));
            match what {
                Approx::Rsqrt => {
                    self.asm.rr(Op::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, T[0], T[0]);
                    self.float64(T[1], 1.0);
                    self.zzz(DIV, T[0], T[1], T[0]);
                }
                Approx::Ex2 => self.exp2(),
                Approx::Lg2 => self.log2(),
                Approx::Sin => self.sin_cos(0),
                Approx::Cos => self.sin_cos(1),
                Approx::Tanh => self.tanh(),
            }
            if part == 0 {
                self.asm.rr(cut, ymm(T[7]), T[0]);
            } else {
                self.asm.rr(cut, ymm(T[0]), T[0]);
                let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
                self.asm.v3i(insert, T[0], T[7], V::Z(ymm(T[0])), 1, None);
            }
        }
    }

    fn float64(&mut self, to: Register, value: f64) {
        if let V::B(base, d) = self.bits64(value.to_bits()) {
            self.asm.rm(Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, to, at(base, d));
        }
    }

    fn zzz(&mut self, op: Op, to: Register, a: Register, b: Register) {
        self.asm.v3(op, to, a, V::Z(b), None);
    }

    /// With a constant as the second operand.
    fn zzc(&mut self, op: Op, to: Register, a: Register, c: f64) {
        let c = self.bits64(c.to_bits());
        self.asm.v3(op, to, a, c, None);
    }

    /// By Horner's rule, into `to`.
    fn polynomial(&mut self, coefficients: &[f64], x: Register, to: Register) {
        let Some((&highest, rest)) = coefficients.split_last() else { return };
        self.float64(to, highest);
        for &c in rest.iter().rev() {
            self.zzz(MUL, to, to, x);
            self.zzc(ADD, to, to, c);
        }
    }

    /// Of `T[0]`: `2^f - 1` of the fraction in `T[5]`, the power of two in `T[3]`.
    fn exp2_parts(&mut self) {
        self.float64(T[1], ROUNDER);
        self.zzz(ADD, T[3], T[0], T[1]);
        self.zzz(SUB, T[4], T[3], T[1]);
        self.zzz(SUB, T[0], T[0], T[4]);
        self.polynomial(&EXP2, T[0], T[5]);
        self.zzz(MUL, T[5], T[0], T[5]);
        self.zzz(Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, T[3], T[3], T[1]);
        let bias = self.bits64(1023);
        self.asm.v3(Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, T[3], T[3], bias, None);
        self.asm.v2i(Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, T[3], T[3], 52);
    }

    fn exp2(&mut self) {
        // The second operand, if it is a NaN.
        self.float64(T[1], -200.0);
        self.zzz(Op::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae, T[0], T[1], T[0]);
        self.float64(T[1], 200.0);
        self.zzz(Op::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae, T[0], T[1], T[0]);
        self.exp2_parts();
        self.zzc(ADD, T[5], T[5], 1.0);
        self.zzz(MUL, T[0], T[5], T[3]);
    }

    fn log2(&mut self) {
        let subtract = Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
        let root = self.bits64(std::f64::consts::FRAC_1_SQRT_2.to_bits());
        self.asm.v3(subtract, T[1], T[0], root, None);
        self.asm.v2i(Op::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, T[1], T[1], 52);
        self.asm.v2i(Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, T[3], T[1], 52);
        self.zzz(subtract, T[3], T[0], T[3]);
        self.zzc(SUB, T[4], T[3], 1.0);
        self.zzc(ADD, T[5], T[3], 1.0);
        self.zzz(DIV, T[4], T[4], T[5]);
        self.zzz(MUL, T[5], T[4], T[4]);
        self.polynomial(&LOG2, T[5], T[6]);
        self.zzz(MUL, T[6], T[4], T[6]);
        self.asm.rr(Op::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er, T[1], T[1]);
        self.zzz(ADD, T[6], T[1], T[6]);
        for (with, relation, result) in LOG2_SPECIALS {
            let with = self.bits64(with.to_bits());
            self.asm.v3i(COMPARE, K6, T[0], with, relation, None);
            self.float64(T[3], result);
            self.asm.v2(Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512, T[6], V::Z(T[3]), Some(K6));
        }
        self.copy(T[0], T[6]);
    }

    /// Of finite angles below 2^17.
    fn sin_cos(&mut self, quarters: u64) {
        self.float64(T[1], ROUNDER);
        self.zzc(MUL, T[3], T[0], std::f64::consts::FRAC_2_PI);
        self.zzz(ADD, T[3], T[3], T[1]);
        self.zzz(SUB, T[4], T[3], T[1]);
        self.zzc(MUL, T[5], T[4], HALF_PI.0);
        self.zzz(SUB, T[0], T[0], T[5]);
        self.zzc(MUL, T[5], T[4], HALF_PI.1);
        self.zzz(SUB, T[0], T[0], T[5]);
        // T[3]: the quadrant; T[0]: what is left; T[4]: its square.
        self.zzz(Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, T[3], T[3], T[1]);
        let quarters = self.bits64(quarters);
        self.asm.v3(Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, T[3], T[3], quarters, None);
        self.zzz(MUL, T[4], T[0], T[0]);
        for (coefficients, to) in [(&SIN, T[5]), (&COS, T[6])] {
            self.polynomial(coefficients, T[4], to);
            self.zzz(MUL, to, T[4], to);
            self.zzc(ADD, to, to, 1.0);
        }
        self.zzz(MUL, T[0], T[0], T[5]);
        let one = self.bits64(1);
        self.asm.v3(Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64, K6, T[3], one, None);
        self.asm.v2(Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512, T[0], V::Z(T[6]), Some(K6));
        let (two, sign) = (self.bits64(2), self.bits64(1 << 63));
        self.asm.v3(Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64, K6, T[3], two, None);
        self.asm.v3(Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, T[0], T[0], sign, Some(K6));
    }

    fn tanh(&mut self) {
        let and = Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
        // The operand is kept for its sign, and for NaNs.
        self.copy(T[6], T[0]);
        let magnitude = self.bits64(!(1 << 63));
        self.asm.v3(and, T[0], T[0], magnitude, None);
        // The second operand, if the first is a NaN.
        self.zzc(Op::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae, T[0], T[0], 10.0);
        self.zzc(MUL, T[0], T[0], 2.0 * std::f64::consts::LOG2_E);
        self.exp2_parts();
        self.zzc(SUB, T[4], T[3], 1.0);
        self.zzz(MUL, T[5], T[3], T[5]);
        self.zzz(ADD, T[4], T[4], T[5]);
        self.zzc(ADD, T[5], T[4], 2.0);
        self.zzz(DIV, T[0], T[4], T[5]);
        let (magnitude, sign) = (self.bits64(!(1 << 63)), self.bits64(1 << 63));
        self.asm.v3(and, T[0], T[0], magnitude, None);
        self.asm.v3(and, T[5], T[6], sign, None);
        self.zzz(Op::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64, T[0], T[0], T[5]);
        self.asm.v3i(COMPARE, K6, T[6], V::Z(T[6]), 3, None);
        self.asm.v2(Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512, T[0], V::Z(T[6]), Some(K6));
    }
}
