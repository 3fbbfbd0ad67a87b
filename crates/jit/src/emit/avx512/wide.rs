//! Operations on rows of 64-bit values.

use super::T;
use crate::asm::V;
use crate::emit::forms::{NAN64, is_word, makes_nan64};
use crate::emit::{Emitter, On};
use fast::code::Src;
use fast::ops::Op64;
use iced_x86::{Code as Op, Register};

use Register::{EAX, K5, K6, K7};

fn binary(op: Op64) -> Option<Op> {
    Some(match op {
        Op64::Add => Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
        Op64::Sub => Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
        // Operands of unsigned wide products are widened, so their product is that of the whole
        // values.
        Op64::Mul | Op64::MulWideU => Op::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64,
        Op64::And => Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
        Op64::Or => Op::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        Op64::Xor => Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
        Op64::Shl => Op::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64,
        Op64::ShrU => Op::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64,
        Op64::ShrS => Op::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64,
        Op64::MinU => Op::EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64,
        Op64::MaxU => Op::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64,
        Op64::MinS => Op::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64,
        Op64::MaxS => Op::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64,
        // Low words alone are looked at.
        Op64::MulWideS => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
        Op64::DAdd => Op::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
        Op64::DSub => Op::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
        Op64::DMul => Op::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
        Op64::DDiv => Op::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
        _ => return None,
    })
}

/// The instruction of an operation that is one.
fn plain(op: Op64, src: &[Src; 3]) -> Option<Op> {
    let two = binary(op).filter(|_| !makes_nan64(op))?;
    let words = is_word(src[0]) && is_word(src[1]);
    Some(match op {
        Op64::MulWideU if words => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
        _ => two,
    })
}

impl Emitter<'_> {
    pub(super) fn wide(&mut self, op: Op64, dst: u32, src: &[Src; 3], on: On) -> bool {
        for quarter in 0..4 {
            if let (Some(to), Some(two)) = (self.assignment.wide(dst, quarter), plain(op, src)) {
                let a = self.wz(src[0], quarter, T[2]);
                let b = self.w(src[1], quarter, T[3]);
                // Operands may take the mask register, too.
                let mask = if self.blend { Some(self.quarter(on, quarter)) } else { None };
                self.asm.v3(two, to, a, b, mask);
                continue;
            }
            self.quarter_of(op, src, quarter);
            if makes_nan64(op) {
                self.canonical64(T[0]);
            }
            self.put_wide(dst, quarter, on, T[0]);
        }
        true
    }

    /// A quarter of a result, in `T[0]`.
    fn quarter_of(&mut self, op: Op64, src: &[Src; 3], quarter: usize) {
        let words = is_word(src[0]) && is_word(src[1]);
        if let Some(mut two) = binary(op) {
            if op == Op64::MulWideU && words {
                two = Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64;
            }
            let a = self.wz(src[0], quarter, T[2]);
            let b = self.w(src[1], quarter, T[3]);
            self.asm.v3(two, T[0], a, b, None);
            return;
        }
        match op {
            Op64::Mov => self.wc(src[0], quarter, T[0]),
            Op64::Zext32 => match src[0] {
                Src::Narrow(_) => {
                    self.widened(src[0], quarter, T[0], Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256);
                }
                other => {
                    let a = self.wz(other, quarter, T[2]);
                    let low = self.bits64(u32::MAX.into());
                    self.asm.v3(Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, T[0], a, low, None);
                }
            },
            Op64::Sext32 => {
                self.widened(src[0], quarter, T[0], Op::EVEX_Vpmovsxdq_zmm_k1z_ymmm256);
            }
            Op64::Mad | Op64::MadWideU | Op64::MadWideS => {
                let multiply = match op {
                    Op64::MadWideS => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
                    Op64::MadWideU if words => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
                    _ => Op::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64,
                };
                let a = self.wz(src[0], quarter, T[2]);
                let b = self.w(src[1], quarter, T[3]);
                self.asm.v3(multiply, T[4], a, b, None);
                let c = self.w(src[2], quarter, T[3]);
                self.asm.v3(Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, T[0], T[4], c, None);
            }
            Op64::DFma => {
                let b = self.wz(src[1], quarter, T[3]);
                let c = self.w(src[2], quarter, T[4]);
                self.wc(src[0], quarter, T[0]);
                let op = Op::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
                self.asm.v3(op, T[0], b, c, None);
            }
            Op64::Not => {
                let a = self.wz(src[0], quarter, T[2]);
                let ones = self.bits64(u64::MAX);
                self.asm.v3(Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, T[0], a, ones, None);
            }
            Op64::Neg => {
                let xor = Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64;
                self.asm.v3(xor, T[3], T[3], V::Z(T[3]), None);
                let a = self.w(src[0], quarter, T[2]);
                self.asm.v3(Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, T[0], T[3], a, None);
            }
            // All others are in the table above.
            _ => {}
        }
    }

    fn canonical64(&mut self, value: Register) {
        let compare = Op::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
        self.asm.v3i(compare, K7, value, V::Z(value), 3, None);
        let nan = self.bits64(NAN64);
        if let V::B(base, d) = nan {
            let nan = V::M(base, d);
            self.asm.v2(Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, value, nan, Some(K7));
        }
    }

    pub(super) fn select_wide(&mut self, dst: u32, src: &[Src; 3], on: On) -> bool {
        self.predicate(src[2], EAX);
        self.asm.rr(Op::VEX_Kmovd_kr_r32, K5, EAX);
        for quarter in 0..4 {
            self.wc(src[1], quarter, T[0]);
            let a = self.wz(src[0], quarter, T[2]);
            self.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, K6, K5, 8 * quarter as i32);
            self.asm.v2(Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512, T[0], V::Z(a), Some(K6));
            self.put_wide(dst, quarter, on, T[0]);
        }
        true
    }
}
