//! Operations on chunks of 32-bit values.

use super::chunk::{Chunk, commutes};
use super::operand::BLEND;
use crate::asm::V;
use crate::emit::forms::{NAN32, makes_nan};
use fast::code::Src;
use fast::ops::Op32;
use iced_x86::{Code as Op, Register};

/// Operations that are one instruction on two operands.
pub(super) fn binary(op: Op32) -> Option<Op> {
    Some(match op {
        Op32::Add => Op::VEX_Vpaddd_ymm_ymm_ymmm256,
        Op32::Sub => Op::VEX_Vpsubd_ymm_ymm_ymmm256,
        Op32::Mul => Op::VEX_Vpmulld_ymm_ymm_ymmm256,
        Op32::And => Op::VEX_Vpand_ymm_ymm_ymmm256,
        Op32::Or => Op::VEX_Vpor_ymm_ymm_ymmm256,
        Op32::Xor => Op::VEX_Vpxor_ymm_ymm_ymmm256,
        // Amounts beyond the width give 0, or the sign, as in PTX.
        Op32::Shl => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
        Op32::ShrU => Op::VEX_Vpsrlvd_ymm_ymm_ymmm256,
        Op32::ShrS => Op::VEX_Vpsravd_ymm_ymm_ymmm256,
        Op32::MinU => Op::VEX_Vpminud_ymm_ymm_ymmm256,
        Op32::MaxU => Op::VEX_Vpmaxud_ymm_ymm_ymmm256,
        Op32::MinS => Op::VEX_Vpminsd_ymm_ymm_ymmm256,
        Op32::MaxS => Op::VEX_Vpmaxsd_ymm_ymm_ymmm256,
        Op32::FAdd => Op::VEX_Vaddps_ymm_ymm_ymmm256,
        Op32::FSub => Op::VEX_Vsubps_ymm_ymm_ymmm256,
        Op32::FMul => Op::VEX_Vmulps_ymm_ymm_ymmm256,
        Op32::FDiv => Op::VEX_Vdivps_ymm_ymm_ymmm256,
        _ => return None,
    })
}

/// Operations that are one instruction on one operand.
fn unary(op: Op32) -> Option<Op> {
    Some(match op {
        Op32::Mov => super::operand::COPY,
        Op32::AbsS => Op::VEX_Vpabsd_ymm_ymmm256,
        Op32::FSqrt => Op::VEX_Vsqrtps_ymm_ymmm256,
        Op32::FFromS => Op::VEX_Vcvtdq2ps_ymm_ymmm256,
        _ => return None,
    })
}

impl Chunk<'_, '_> {
    pub(super) fn narrow(&mut self, op: Op32, dst: u32, src: &[Src; 3]) {
        let value = self.value(op, src);
        if makes_nan(op) && self.e.nan.seen(self.now) {
            self.canonical32(value);
        }
        self.put(dst, value);
    }

    /// A result, in scratch.
    fn value(&mut self, op: Op32, src: &[Src; 3]) -> Register {
        if let Some(one) = unary(op) {
            let a = self.n(src[0]);
            let to = self.temp();
            self.e.asm.v2(one, to, a, None);
            return to;
        }
        if let Some(two) = binary(op) {
            // A constant costs nothing as the second operand.
            let turned = commutes(op) && matches!(src[0], Src::Const(_));
            let [a, b] = if turned { [src[1], src[0]] } else { [src[0], src[1]] };
            let (a, b) = (self.nz(a), self.n(b));
            let to = self.temp();
            self.e.asm.v3(two, to, a, b, None);
            return to;
        }
        match op {
            Op32::Mad => {
                let (a, b) = (self.nz(src[0]), self.n(src[1]));
                let to = self.temp();
                self.e.asm.v3(Op::VEX_Vpmulld_ymm_ymm_ymmm256, to, a, b, None);
                let c = self.n(src[2]);
                self.e.asm.v3(Op::VEX_Vpaddd_ymm_ymm_ymmm256, to, to, c, None);
                to
            }
            Op32::FFma => {
                let (b, c) = (self.nz(src[1]), self.n(src[2]));
                let to = self.nc(src[0]);
                self.e.asm.v3(Op::VEX_Vfmadd213ps_ymm_ymm_ymmm256, to, b, c, None);
                to
            }
            Op32::Not => self.with(Op::VEX_Vpxor_ymm_ymm_ymmm256, src[0], u32::MAX),
            Op32::FNeg => self.with(Op::VEX_Vpxor_ymm_ymm_ymmm256, src[0], 0x8000_0000),
            Op32::FAbs => self.with(Op::VEX_Vpand_ymm_ymm_ymmm256, src[0], 0x7fff_ffff),
            Op32::Neg => {
                let a = self.n(src[0]);
                let to = self.temp();
                self.zero(to);
                self.e.asm.v3(Op::VEX_Vpsubd_ymm_ymm_ymmm256, to, to, a, None);
                to
            }
            Op32::FRcp => {
                let a = self.n(src[0]);
                let to = self.temp();
                self.constant(to, 1f32.to_bits());
                self.e.asm.v3(Op::VEX_Vdivps_ymm_ymm_ymmm256, to, to, a, None);
                to
            }
            Op32::FFromU => self.unsigned_float(src[0]),
            Op32::MulHiU => self.high(Op::VEX_Vpmuludq_ymm_ymm_ymmm256, src),
            Op32::MulHiS => self.high(Op::VEX_Vpmuldq_ymm_ymm_ymmm256, src),
            Op32::Clz => self.leading_zeros(src[0]),
            Op32::Popc => self.population(src[0]),
            // All others are in the tables above.
            _ => self.temp(),
        }
    }

    fn with(&mut self, op: Op, src: Src, bits: u32) -> Register {
        let a = self.nz(src);
        let to = self.temp();
        self.vvc(op, to, a, bits);
        to
    }

    /// Of both halves of each word the exact float; their sum is rounded once.
    fn unsigned_float(&mut self, src: Src) -> Register {
        let a = self.nz(src);
        let (to, low) = (self.temp(), self.temp());
        self.vvc(Op::VEX_Vpand_ymm_ymm_ymmm256, low, a, 0xffff);
        self.vi(Op::VEX_Vpsrld_ymm_ymm_imm8, to, a, 16);
        for half in [to, low] {
            self.e.asm.v2(Op::VEX_Vcvtdq2ps_ymm_ymmm256, half, V::Z(half), None);
        }
        self.vvc(Op::VEX_Vmulps_ymm_ymm_ymmm256, to, to, 65_536f32.to_bits());
        self.vvv(Op::VEX_Vaddps_ymm_ymm_ymmm256, to, to, low);
        to
    }

    /// High words of products: of even lanes and of odd ones.
    fn high(&mut self, op: Op, src: &[Src; 3]) -> Register {
        let (a, b) = (self.nz(src[0]), self.nz(src[1]));
        let (to, odd, other) = (self.temp(), self.temp(), self.temp());
        self.vvv(op, to, a, b);
        self.vi(Op::VEX_Vpsrlq_ymm_ymm_imm8, odd, a, 32);
        self.vi(Op::VEX_Vpsrlq_ymm_ymm_imm8, other, b, 32);
        self.vvv(op, odd, odd, other);
        self.vi(Op::VEX_Vpsrlq_ymm_ymm_imm8, to, to, 32);
        let blend = Op::VEX_Vpblendd_ymm_ymm_ymmm256_imm8;
        self.e.asm.v3i(blend, to, to, V::Z(odd), 0xaa, None);
        to
    }

    /// From the exponent of the value as a float, of which no more than the highest bit may count.
    fn leading_zeros(&mut self, src: Src) -> Register {
        let a = self.nz(src);
        let to = self.temp();
        self.vi(Op::VEX_Vpsrld_ymm_ymm_imm8, to, a, 1);
        self.vvv(Op::VEX_Vpandn_ymm_ymm_ymmm256, to, to, a);
        self.e.asm.v2(Op::VEX_Vcvtdq2ps_ymm_ymmm256, to, V::Z(to), None);
        self.vi(Op::VEX_Vpsrld_ymm_ymm_imm8, to, to, 23);
        let bias = self.temp();
        self.constant(bias, 158);
        // Not below 0, where the sign bit is set; 158, and so 32, for 0.
        self.vvv(Op::VEX_Vpsubusw_ymm_ymm_ymmm256, to, bias, to);
        self.vvc(Op::VEX_Vpminud_ymm_ymm_ymmm256, to, to, 32);
        to
    }

    /// Bits that are set: of each four by a table, summed over bytes and words.
    fn population(&mut self, src: Src) -> Register {
        let a = self.nz(src);
        let (to, high, table) = (self.temp(), self.temp(), self.temp());
        let counts = [0x0302_0201_0201_0100, 0x0403_0302_0302_0201];
        let line = self.e.pool.vector(std::array::from_fn(|i| counts[i % 2]));
        let line = V::M(Register::R11, line);
        self.e.asm.v2(super::operand::COPY, table, line, None);
        self.vvc(Op::VEX_Vpand_ymm_ymm_ymmm256, to, a, 0x0f0f_0f0f);
        self.vi(Op::VEX_Vpsrld_ymm_ymm_imm8, high, a, 4);
        self.vvc(Op::VEX_Vpand_ymm_ymm_ymmm256, high, high, 0x0f0f_0f0f);
        for half in [to, high] {
            self.vvv(Op::VEX_Vpshufb_ymm_ymm_ymmm256, half, table, half);
        }
        self.vvv(Op::VEX_Vpaddb_ymm_ymm_ymmm256, to, to, high);
        self.vvc(Op::VEX_Vpmaddubsw_ymm_ymm_ymmm256, to, to, 0x0101_0101);
        self.vvc(Op::VEX_Vpmaddwd_ymm_ymm_ymmm256, to, to, 0x0001_0001);
        to
    }

    /// Makes NaNs canonical.
    pub(super) fn canonical32(&mut self, value: Register) {
        let nan = self.temp();
        self.e.asm.v3i(Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, nan, value, V::Z(value), 3, None);
        let canonical = self.bits(NAN32);
        self.blendv(BLEND, value, value, canonical, nan);
        self.free(nan);
    }
}
