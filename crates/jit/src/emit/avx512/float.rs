//! Floating point beyond the plain operations: other roundings, `.ftz`, `.sat`, approximations,
//! conversions. And rarer operations on 32-bit integers.
//!
//! Subnormals are flushed explicitly: the processor's own flushing looks at results before they are
//! rounded to the format's digits, PTX's after.

use super::T;
use crate::asm::V;
use crate::emit::forms::{Approx, Form, What};
use crate::emit::{Emitter, On};
use fast::code::{Dst, Generic, Src};
use fast::ops::Rare;
use iced_x86::{Code as Op, Register, RoundingControl};

use Register::{EAX, K5, R15, RAX};

/// The instruction of an operation on two operands.
fn two(what: What) -> Op {
    match what {
        What::Add => Op::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        What::Sub => Op::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
        What::Mul => Op::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        _ => Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
    }
}

/// The form of an operation on floats that there is code for, its operands and result.
fn formed(generic: &Generic) -> Option<(Form, [Src; 3], Dst)> {
    let (form, &[dst]) = (Form::of(&generic.inst)?, generic.dst.as_slice()) else { return None };
    let mut src = [Src::Const(0); 3];
    for (to, &from) in src.iter_mut().zip(&generic.src) {
        *to = from;
    }
    let scalar = |s: &Src| matches!(s, Src::Const(_) | Src::Line(_, 0, _));
    let word = |s: &Src| !matches!(s, Src::Wide(_) | Src::Pair(..) | Src::ConstPair(..));
    let possible = generic.src.len() <= 3 && src.iter().all(word);
    let possible = possible
        && match dst {
            Dst::Narrow(_) => true,
            Dst::Scalar(_) => src.iter().all(scalar),
            _ => false,
        };
    possible.then_some((form, src, dst))
}

impl Emitter<'_> {
    /// An operation that the interpreter leaves to the exact engine's function.
    pub(super) fn generic(&mut self, generic: &Generic, on: On) -> bool {
        let Some((form, src, dst)) = formed(generic) else {
            let Some(recipe) = self.recipe_of(generic) else { return false };
            self.recipe(&recipe, generic, on);
            return true;
        };
        let back = match form.what {
            What::Approx(Approx::Sin | Approx::Cos) => Some(self.far_angles(&src, dst, on)),
            _ => None,
        };
        match dst {
            Dst::Narrow(row) => {
                let seen = self.nan.seen(self.now as usize);
                for half in 0..2 {
                    self.form(&form, &src, half, seen);
                    self.put(row, half, on, T[0]);
                }
            }
            Dst::Scalar(scalar) => {
                self.form(&form, &src, 0, true);
                self.asm.rr(Op::EVEX_Vmovd_rm32_xmm, EAX, Register::XMM0);
                self.asm.mr(Op::Mov_rm64_r64, crate::asm::at(R15, 8 * i64::from(scalar)), RAX);
            }
            _ => {}
        }
        if let Some(back) = back {
            self.asm.bind(back);
        }
        true
    }

    /// Leaves angles to the interpreter that are reduced in another way: no lane's may be 2^17 or
    /// above. Where the step ends then.
    fn far_angles(&mut self, src: &[Src; 3], dst: Dst, on: On) -> crate::asm::Label {
        let (cold, back) = self.cold(on);
        let halves = if matches!(dst, Dst::Scalar(_)) { 1 } else { 2 };
        for half in 0..halves {
            let value = self.nz(src[0], half, T[2]);
            let (magnitude, limit) = (self.bits32(0x7fff_ffff), self.bits32(131_072f32.to_bits()));
            self.asm.v3(Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, T[0], value, magnitude, None);
            let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            let mask = if halves == 1 { None } else { Some(on.halves()[half]) };
            self.asm.v3i(compare, K5, T[0], limit, 5, mask);
            self.asm.rr(Op::VEX_Kortestw_kr_kr, K5, K5);
            self.asm.jump(Op::Jne_rel32_64, cold);
        }
        back
    }

    /// Half of a result, in `T[0]`.
    fn form(&mut self, form: &Form, src: &[Src; 3], half: usize, seen: bool) {
        let count = form.operands();
        for (i, &src) in src.iter().enumerate().take(count) {
            self.nc(src, half, T[2 + i]);
            if form.ftz {
                self.flush(T[2 + i]);
            }
        }
        let (a, b, c, rounding) = (T[2], T[3], T[4], form.rounding);
        match form.what {
            What::Add | What::Sub | What::Mul | What::Div => {
                self.asm.rounded(two(form.what), &[T[0], a, b], rounding);
            }
            What::Fma => {
                self.asm.rounded(
                    Op::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
                    &[a, b, c],
                    rounding,
                );
                self.copy(T[0], a);
            }
            What::Rcp => {
                self.broadcast32(T[1], 1f32.to_bits());
                let op = Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er;
                self.asm.rounded(op, &[T[0], T[1], a], rounding);
            }
            What::Sqrt => {
                self.asm.rounded(Op::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, &[T[0], a], rounding);
            }
            What::DivApprox => self.div_approx(),
            What::Approx(what) => self.approximate(what),
            What::Same => self.copy(T[0], a),
            What::Integral => {
                let mode = match rounding {
                    RoundingControl::RoundDown => 1,
                    RoundingControl::RoundUp => 2,
                    RoundingControl::RoundTowardZero => 3,
                    _ => 0,
                };
                // Without the exception for inexact results.
                let op = Op::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae;
                self.asm.v2i(op, T[0], a, 8 | mode);
            }
            What::ToSigned => self.signed(rounding),
            What::ToUnsigned => {
                // Negative numbers and NaNs are 0; greater ones than there are become the greatest.
                let xor = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
                self.asm.v3(xor, T[1], T[1], V::Z(T[1]), None);
                self.asm.v3(Op::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, a, a, V::Z(T[1]), None);
                self.asm.rounded(Op::EVEX_Vcvtps2udq_zmm_k1z_zmmm512b32_er, &[T[0], a], rounding);
            }
        }
        if form.is_float() {
            if form.ftz {
                self.flush(T[0]);
            }
            if form.sat {
                self.saturate(T[0]);
            } else if seen {
                self.canonical32(T[0]);
            }
        }
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, to, V::Z(from), None);
    }

    pub(super) fn broadcast32(&mut self, to: Register, bits: u32) {
        if let V::B(base, d) = self.bits32(bits) {
            self.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, to, crate::asm::at(base, d));
        }
    }

    /// Subnormal numbers become zeros of their sign.
    fn flush(&mut self, value: Register) {
        let (exponent, sign) = (self.bits32(0x7f80_0000), self.bits32(0x8000_0000));
        self.asm.v3(Op::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32, K5, value, exponent, None);
        self.asm.v3(Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, value, value, sign, Some(K5));
    }

    /// Clamped to `[+0, 1]`, NaNs to `+0`.
    fn saturate(&mut self, value: Register) {
        let xor = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
        self.asm.v3(xor, T[1], T[1], V::Z(T[1]), None);
        // The second operand, if one is a NaN or both are zeros.
        self.asm.v3(Op::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, value, value, V::Z(T[1]), None);
        let one = self.bits32(1f32.to_bits());
        self.asm.v3(Op::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, value, value, one, None);
    }

    /// `T[2] / T[3]`, but a zero or a NaN for great divisors.
    fn div_approx(&mut self) {
        let (a, b) = (T[2], T[3]);
        self.asm.v3(Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, T[0], a, V::Z(b), None);
        let and = Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
        let (magnitude, sign) = (self.bits32(0x7fff_ffff), self.bits32(0x8000_0000));
        self.asm.v3(and, T[5], b, magnitude, None);
        let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        let (limit, infinity) = (self.bits32((126 + 127) << 23), self.bits32(0x7f80_0000));
        self.asm.v3i(compare, K5, T[5], limit, 6, None);
        self.asm.v3i(compare, K5, T[5], infinity, 1, Some(K5));
        self.asm.v3(and, T[5], b, sign, None);
        self.asm.v3(Op::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, T[0], a, V::Z(T[5]), Some(K5));
    }

    /// `T[2]` as signed integers: clamped, NaNs 0.
    fn signed(&mut self, rounding: RoundingControl) {
        let a = T[2];
        self.asm.rounded(Op::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er, &[T[0], a], rounding);
        let compare = Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        let limit = self.bits32(2_147_483_648f32.to_bits());
        self.asm.v3i(compare, K5, a, limit, 0x1d, None);
        self.broadcast32(T[1], i32::MAX as u32);
        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[0], V::Z(T[1]), Some(K5));
        self.asm.v3i(compare, K5, a, V::Z(a), 3, None);
        let xor = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
        self.asm.v3(xor, T[0], T[0], V::Z(T[0]), Some(K5));
    }

    /// One of the rarer operations on 32-bit values.
    pub(super) fn rare(&mut self, op: Rare, dst: u32, src: &[Src; 3], on: On) -> bool {
        match op {
            Rare::FMin | Rare::FMax => {
                let seen = self.nan.seen(self.now as usize);
                for half in 0..2 {
                    self.min_max(op == Rare::FMax, src, half);
                    if seen {
                        self.canonical32(T[0]);
                    }
                    self.put(dst, half, on, T[0]);
                }
            }
            Rare::DivU | Rare::RemU if matches!(src[1], Src::Line(_, 0, _) | Src::Const(_)) => {
                self.invert(src[1]);
                for half in 0..2 {
                    self.divide_by_one(op, src, half);
                    self.put(dst, half, on, T[0]);
                }
            }
            Rare::DivU | Rare::RemU | Rare::DivS | Rare::RemS => {
                for half in 0..2 {
                    self.divide(op, src, half);
                    self.put(dst, half, on, T[0]);
                }
            }
            Rare::FunnelL | Rare::FunnelLWrap | Rare::FunnelR | Rare::FunnelRWrap => {
                for half in 0..2 {
                    self.funnel(op, src, half);
                    self.put(dst, half, on, T[0]);
                }
            }
        }
        true
    }

    /// The lesser or the greater; a NaN loses against a number.
    fn min_max(&mut self, max: bool, src: &[Src; 3], half: usize) {
        let (a, b) = (self.nz(src[0], half, T[2]), self.nz(src[1], half, T[3]));
        let range = Op::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae;
        // The sign of the result as compared: minus zero is less.
        self.asm.v3i(range, T[0], a, V::Z(b), 4 | i32::from(max), None);
        let compare = Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        for (nan, other) in [(b, a), (a, b)] {
            self.asm.v3i(compare, K5, nan, V::Z(nan), 3, None);
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[0], V::Z(other), Some(K5));
        }
    }
}
