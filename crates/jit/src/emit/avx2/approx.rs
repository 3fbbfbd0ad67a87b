//! Approximate functions: the published sequences of `simt::arith::approx`, operation by operation,
//! four lanes at a time.
//!
//! Each is a sequence of 64-bit IEEE operations on a 32-bit operand; the constants are those
//! published there.

use super::chunk::Chunk;
use super::operand::{BLEND64, COPY, xmm};
use crate::asm::V;
use crate::emit::forms::{Approx, LOG2_SPECIALS};
use iced_x86::{Code as Op, Register};
use simt::arith::approx::constants::{COS, EXP2, HALF_PI, LOG2, ROUNDER, SIN};

const ADD: Op = Op::VEX_Vaddpd_ymm_ymm_ymmm256;
const SUB: Op = Op::VEX_Vsubpd_ymm_ymm_ymmm256;
const MUL: Op = Op::VEX_Vmulpd_ymm_ymm_ymmm256;
const DIV: Op = Op::VEX_Vdivpd_ymm_ymm_ymmm256;
const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const INT_ADD: Op = Op::VEX_Vpaddq_ymm_ymm_ymmm256;
const INT_SUB: Op = Op::VEX_Vpsubq_ymm_ymm_ymmm256;
const LEFT: Op = Op::VEX_Vpsllq_ymm_ymm_imm8;
const COMPARE: Op = Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8;

/// The operand and result, and scratch.
#[derive(Clone, Copy)]
struct Room {
    x: Register,
    t: [Register; 5],
}

impl Chunk<'_, '_> {
    /// Of the 32-bit floats in a register, in their place.
    pub(super) fn approximate(&mut self, what: Approx, a: Register) {
        let low = self.temp();
        let room = Room { x: self.temp(), t: std::array::from_fn(|_| self.temp()) };
        for half in 0..2 {
            let mut source = xmm(a);
            if half == 1 {
                self.e.asm.rri(Op::VEX_Vextracti128_xmmm128_ymm_imm8, xmm(a), a, 1);
                source = xmm(a);
            }
            self.e.asm.rr(Op::VEX_Vcvtps2pd_ymm_xmmm128, room.x, source);
            match what {
                Approx::Rsqrt => {
                    let x = room.x;
                    self.e.asm.v2(Op::VEX_Vsqrtpd_ymm_ymmm256, x, V::Z(x), None);
                    self.float64(room.t[0], 1.0);
                    self.vvv(DIV, x, room.t[0], x);
                }
                Approx::Ex2 => self.exp2(room),
                Approx::Lg2 => self.log2(room),
                Approx::Sin => self.sin_cos(room, 0),
                Approx::Cos => self.sin_cos(room, 1),
                Approx::Tanh => self.tanh(room),
            }
            let to = if half == 0 { low } else { room.x };
            self.e.asm.rr(Op::VEX_Vcvtpd2ps_xmm_ymmm256, xmm(to), room.x);
        }
        let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
        self.e.asm.v3i(insert, a, low, V::Z(xmm(room.x)), 1, None);
        for register in room.t.into_iter().chain([low, room.x]) {
            self.free(register);
        }
    }

    fn float64(&mut self, to: Register, value: f64) {
        let c = self.bits64(value.to_bits());
        self.e.asm.v2(COPY, to, c, None);
    }

    /// With a float constant as the second operand.
    fn vvf(&mut self, op: Op, to: Register, a: Register, c: f64) {
        self.vvq(op, to, a, c.to_bits());
    }

    /// By Horner's rule, into `to`.
    fn polynomial(&mut self, coefficients: &[f64], x: Register, to: Register) {
        let Some((&highest, rest)) = coefficients.split_last() else { return };
        self.float64(to, highest);
        for &c in rest.iter().rev() {
            self.vvv(MUL, to, to, x);
            self.vvf(ADD, to, to, c);
        }
    }

    /// `2^f - 1` of the fraction in `t[3]`, the power of two in `t[1]`.
    fn exp2_parts(&mut self, Room { x, t }: Room) {
        self.float64(t[0], ROUNDER);
        self.vvv(ADD, t[1], x, t[0]);
        self.vvv(SUB, t[2], t[1], t[0]);
        self.vvv(SUB, x, x, t[2]);
        self.polynomial(&EXP2, x, t[3]);
        self.vvv(MUL, t[3], x, t[3]);
        self.vvv(INT_SUB, t[1], t[1], t[0]);
        self.vvq(INT_ADD, t[1], t[1], 1023);
        self.vi(LEFT, t[1], t[1], 52);
    }

    fn exp2(&mut self, room: Room) {
        let Room { x, t } = room;
        // The second operand, if it is a NaN.
        self.float64(t[0], -200.0);
        self.vvv(Op::VEX_Vmaxpd_ymm_ymm_ymmm256, x, t[0], x);
        self.float64(t[0], 200.0);
        self.vvv(Op::VEX_Vminpd_ymm_ymm_ymmm256, x, t[0], x);
        self.exp2_parts(room);
        self.vvf(ADD, t[3], t[3], 1.0);
        self.vvv(MUL, x, t[3], t[1]);
    }

    fn log2(&mut self, Room { x, t }: Room) {
        self.vvf(INT_SUB, t[0], x, std::f64::consts::FRAC_1_SQRT_2);
        // The exponent, alone and as a float: from the high words.
        self.vvq(AND, t[1], t[0], !((1 << 52) - 1));
        self.vi(Op::VEX_Vpsrad_ymm_ymm_imm8, t[0], t[0], 20);
        self.vi(Op::VEX_Vpshufd_ymm_ymmm256_imm8, t[0], t[0], 0x0d);
        self.vi(Op::VEX_Vpermq_ymm_ymmm256_imm8, t[0], t[0], 0x08);
        self.e.asm.rr(Op::VEX_Vcvtdq2pd_ymm_xmmm128, t[0], xmm(t[0]));
        self.vvv(INT_SUB, t[1], x, t[1]);
        self.vvf(SUB, t[2], t[1], 1.0);
        self.vvf(ADD, t[3], t[1], 1.0);
        self.vvv(DIV, t[2], t[2], t[3]);
        self.vvv(MUL, t[3], t[2], t[2]);
        self.polynomial(&LOG2, t[3], t[4]);
        self.vvv(MUL, t[4], t[2], t[4]);
        self.vvv(ADD, t[4], t[0], t[4]);
        for (with, relation, result) in LOG2_SPECIALS {
            let with = self.bits64(f64::to_bits(with));
            self.e.asm.v3i(COMPARE, t[1], x, with, relation, None);
            let result = self.bits64(result.to_bits());
            self.blendv(BLEND64, t[4], t[4], result, t[1]);
        }
        self.copy(x, t[4]);
    }

    /// Of finite angles below 2^17.
    fn sin_cos(&mut self, Room { x, t }: Room, quarters: u64) {
        self.float64(t[0], ROUNDER);
        self.vvf(MUL, t[1], x, std::f64::consts::FRAC_2_PI);
        self.vvv(ADD, t[1], t[1], t[0]);
        self.vvv(SUB, t[2], t[1], t[0]);
        self.vvf(MUL, t[3], t[2], HALF_PI.0);
        self.vvv(SUB, x, x, t[3]);
        self.vvf(MUL, t[3], t[2], HALF_PI.1);
        self.vvv(SUB, x, x, t[3]);
        // t[1]: the quadrant; x: what is left; t[2]: its square.
        self.vvv(INT_SUB, t[1], t[1], t[0]);
        self.vvq(INT_ADD, t[1], t[1], quarters);
        self.vvv(MUL, t[2], x, x);
        for (coefficients, to) in [(&SIN, t[3]), (&COS, t[4])] {
            self.polynomial(coefficients, t[2], to);
            self.vvv(MUL, to, t[2], to);
            self.vvf(ADD, to, to, 1.0);
        }
        self.vvv(MUL, x, x, t[3]);
        // The highest bits of lanes choose.
        self.vi(LEFT, t[0], t[1], 63);
        self.e.asm.v3r(BLEND64, x, x, t[4], t[0]);
        self.vvq(AND, t[1], t[1], 2);
        self.vi(LEFT, t[1], t[1], 62);
        self.vvv(XOR, x, x, t[1]);
    }

    fn tanh(&mut self, room: Room) {
        let Room { x, t } = room;
        // The operand is kept for its sign, and for NaNs.
        self.copy(t[4], x);
        self.vvq(AND, x, x, !(1 << 63));
        // The second operand, if the first is a NaN.
        self.vvf(Op::VEX_Vminpd_ymm_ymm_ymmm256, x, x, 10.0);
        self.vvf(MUL, x, x, 2.0 * std::f64::consts::LOG2_E);
        self.exp2_parts(room);
        self.vvf(SUB, t[2], t[1], 1.0);
        self.vvv(MUL, t[3], t[1], t[3]);
        self.vvv(ADD, t[2], t[2], t[3]);
        self.vvf(ADD, t[3], t[2], 2.0);
        self.vvv(DIV, x, t[2], t[3]);
        self.vvq(AND, x, x, !(1 << 63));
        self.vvq(AND, t[3], t[4], 1 << 63);
        self.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, x, x, t[3]);
        self.e.asm.v3i(COMPARE, t[3], t[4], V::Z(t[4]), 3, None);
        self.e.asm.v3r(BLEND64, x, x, t[4], t[3]);
    }
}
