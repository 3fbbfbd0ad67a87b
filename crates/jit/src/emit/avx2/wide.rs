//! Operations on chunks of 64-bit values, half a chunk at a time.

use super::chunk::Chunk;
use super::operand::BLEND64;
use crate::asm::V;
use crate::emit::forms::{NAN64, is_word, makes_nan64};
use fast::code::Src;
use fast::ops::Op64;
use iced_x86::{Code as Op, Register};

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const ADD: Op = Op::VEX_Vpaddq_ymm_ymm_ymmm256;
const SUB: Op = Op::VEX_Vpsubq_ymm_ymm_ymmm256;
const GREATER: Op = Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256;
const PRODUCT: Op = Op::VEX_Vpmuludq_ymm_ymm_ymmm256;
/// The sign bit.
const SIGN: u64 = 1 << 63;

fn binary(op: Op64) -> Option<Op> {
    Some(match op {
        Op64::Add => ADD,
        Op64::Sub => SUB,
        Op64::And => AND,
        Op64::Or => Op::VEX_Vpor_ymm_ymm_ymmm256,
        Op64::Xor => XOR,
        Op64::Shl => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
        Op64::ShrU => Op::VEX_Vpsrlvq_ymm_ymm_ymmm256,
        // Low words alone are looked at.
        Op64::MulWideS => Op::VEX_Vpmuldq_ymm_ymm_ymmm256,
        Op64::DAdd => Op::VEX_Vaddpd_ymm_ymm_ymmm256,
        Op64::DSub => Op::VEX_Vsubpd_ymm_ymm_ymmm256,
        Op64::DMul => Op::VEX_Vmulpd_ymm_ymm_ymmm256,
        Op64::DDiv => Op::VEX_Vdivpd_ymm_ymm_ymmm256,
        _ => return None,
    })
}

impl Chunk<'_, '_> {
    pub(super) fn wide(&mut self, op: Op64, dst: u32, src: &[Src; 3]) {
        let halves = [0, 1].map(|half| {
            let value = self.half(op, src, half);
            if makes_nan64(op) {
                self.canonical64(value);
            }
            value
        });
        self.put_halves(dst, halves);
    }

    /// Half a chunk of a result, in scratch.
    fn half(&mut self, op: Op64, src: &[Src; 3], half: usize) -> Register {
        if let Some(two) = binary(op) {
            let (a, b) = (self.wz(src[0], half), self.w(src[1], half));
            let to = self.temp();
            self.e.asm.v3(two, to, a, b, None);
            return to;
        }
        match op {
            Op64::Mov => self.wc(src[0], half),
            Op64::Zext32 => match src[0] {
                Src::Narrow(_) => self.widened(src[0], half, Op::VEX_Vpmovzxdq_ymm_xmmm128),
                other => {
                    let a = self.wz(other, half);
                    let to = self.temp();
                    self.vvq(AND, to, a, u32::MAX.into());
                    to
                }
            },
            Op64::Sext32 => self.widened(src[0], half, Op::VEX_Vpmovsxdq_ymm_xmmm128),
            Op64::Mul | Op64::MulWideU => self.multiply(src, half),
            Op64::Mad | Op64::MadWideU | Op64::MadWideS => {
                let to = if op == Op64::MadWideS {
                    let (a, b) = (self.wz(src[0], half), self.w(src[1], half));
                    let to = self.temp();
                    self.e.asm.v3(Op::VEX_Vpmuldq_ymm_ymm_ymmm256, to, a, b, None);
                    to
                } else {
                    self.multiply(src, half)
                };
                let c = self.w(src[2], half);
                self.e.asm.v3(ADD, to, to, c, None);
                to
            }
            Op64::DFma => {
                let (b, c) = (self.wz(src[1], half), self.w(src[2], half));
                let to = self.wc(src[0], half);
                self.e.asm.v3(Op::VEX_Vfmadd213pd_ymm_ymm_ymmm256, to, b, c, None);
                to
            }
            Op64::Not => {
                let a = self.wz(src[0], half);
                let to = self.temp();
                self.vvq(XOR, to, a, u64::MAX);
                to
            }
            Op64::Neg => {
                let a = self.w(src[0], half);
                let to = self.temp();
                self.zero(to);
                self.e.asm.v3(SUB, to, to, a, None);
                to
            }
            Op64::ShrS => self.shift_signed(src, half),
            Op64::MinU | Op64::MaxU | Op64::MinS | Op64::MaxS => self.extreme(op, src, half),
            // All others are in the table above.
            _ => self.temp(),
        }
    }

    /// Low words of products. Operands of unsigned wide ones are widened, so their product is that
    /// of the whole values.
    fn multiply(&mut self, src: &[Src; 3], half: usize) -> Register {
        let (a, b) = (self.wz(src[0], half), self.wz(src[1], half));
        let to = self.temp();
        if is_word(src[0]) && is_word(src[1]) {
            self.vvv(PRODUCT, to, a, b);
            return to;
        }
        let cross = self.temp();
        self.vi(Op::VEX_Vpsrlq_ymm_ymm_imm8, cross, a, 32);
        self.vvv(PRODUCT, cross, cross, b);
        self.vi(Op::VEX_Vpsrlq_ymm_ymm_imm8, to, b, 32);
        self.vvv(PRODUCT, to, to, a);
        self.vvv(ADD, cross, cross, to);
        self.vi(Op::VEX_Vpsllq_ymm_ymm_imm8, cross, cross, 32);
        self.vvv(PRODUCT, to, a, b);
        self.vvv(ADD, to, to, cross);
        self.free(cross);
        to
    }

    /// There is no shift that brings the sign along: negative values are inverted before and after.
    fn shift_signed(&mut self, src: &[Src; 3], half: usize) -> Register {
        let (a, by) = (self.wz(src[0], half), self.w(src[1], half));
        let (to, sign) = (self.temp(), self.temp());
        self.zero(sign);
        self.vvv(GREATER, sign, sign, a);
        self.vvv(XOR, to, a, sign);
        self.e.asm.v3(Op::VEX_Vpsrlvq_ymm_ymm_ymmm256, to, to, by, None);
        self.vvv(XOR, to, to, sign);
        self.free(sign);
        to
    }

    fn extreme(&mut self, op: Op64, src: &[Src; 3], half: usize) -> Register {
        let (a, b) = (self.wz(src[0], half), self.wz(src[1], half));
        let to = self.temp();
        let unsigned = matches!(op, Op64::MinU | Op64::MaxU);
        self.greater(to, a, b, unsigned);
        // The greater of the two where the first is: or the second.
        let [yes, no] = if matches!(op, Op64::MaxU | Op64::MaxS) { [a, b] } else { [b, a] };
        self.e.asm.v3r(BLEND64, to, no, yes, to);
        to
    }

    /// Where `a > b`; unsigned numbers are compared as signed ones with their highest bits flipped.
    pub(super) fn greater(&mut self, to: Register, a: Register, b: Register, unsigned: bool) {
        if !unsigned {
            self.vvv(GREATER, to, a, b);
            return;
        }
        let other = self.temp();
        self.vvq(XOR, to, a, SIGN);
        self.vvq(XOR, other, b, SIGN);
        self.vvv(GREATER, to, to, other);
        self.free(other);
    }

    pub(super) fn canonical64(&mut self, value: Register) {
        let nan = self.temp();
        self.e.asm.v3i(Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, nan, value, V::Z(value), 3, None);
        let canonical = self.bits64(NAN64);
        self.blendv(BLEND64, value, value, canonical, nan);
        self.free(nan);
    }
}
