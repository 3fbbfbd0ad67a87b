//! Floating point beyond the plain operations, and rarer operations on 32-bit integers; see
//! `emit::forms`. Other roundings than to the nearest are a mode of the processor at this level: it
//! is switched around an operation that wants them.

use super::chunk::{Chunk, one_row};
use super::group::{MODE, pointer};
use super::operand::{BLEND, xmm};
use crate::asm::{V, at};
use crate::emit::forms::{Form, What};
use fast::code::{Dst, Generic, Src};
use fast::ops::Rare;
use iced_x86::{Code as Op, Register, RoundingControl};

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const EQUAL: Op = Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
const GREATER: Op = Op::VEX_Vpcmpgtd_ymm_ymm_ymmm256;
const COMPARE: Op = Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;

/// The form of an operation that there is code for, on vectors or on scalars alone.
pub(super) fn form_of(generic: &Generic) -> Option<Form> {
    let form = Form::of(&generic.inst)?;
    let word = |s: &Src| !matches!(s, Src::Wide(_) | Src::Pair(..) | Src::ConstPair(..));
    let scalar = |s: &Src| matches!(s, Src::Const(_) | Src::Line(_, 0, _));
    let dst = match *generic.dst.as_slice() {
        [Dst::Narrow(_)] => true,
        [Dst::Scalar(_)] => generic.src.iter().all(scalar),
        _ => false,
    };
    (dst && generic.src.len() <= 3 && generic.src.iter().all(word)).then_some(form)
}

/// Whether there is code for one of the rarer operations.
pub(super) fn has_rare(op: Rare) -> bool {
    // All have.
    match op {
        Rare::FMin | Rare::FMax | Rare::DivU | Rare::RemU | Rare::DivS | Rare::RemS => true,
        Rare::FunnelL | Rare::FunnelLWrap | Rare::FunnelR | Rare::FunnelRWrap => true,
    }
}

/// A rounding as the processor numbers it, without the exception for inexact results.
pub(super) fn mode(rounding: RoundingControl) -> i32 {
    8 | match rounding {
        RoundingControl::RoundDown => 1,
        RoundingControl::RoundUp => 2,
        RoundingControl::RoundTowardZero => 3,
        _ => 0,
    }
}

impl Chunk<'_, '_> {
    pub(super) fn generic(&mut self, generic: &Generic) {
        let (Some(form), Some(row)) = (form_of(generic), one_row(&generic.dst)) else {
            if let Some(recipe) = self.e.recipe_of(generic) {
                self.recipe(&recipe, generic);
            }
            return;
        };
        let seen = self.e.nan.seen(self.now);
        let value = self.form(&form, &generic.src, seen);
        self.put(row, value);
    }

    /// Where angles are 2^17 or above, or NaNs.
    pub(super) fn far_angles(&mut self, angle: Src) -> Register {
        let value = self.nc(angle);
        self.vvc(AND, value, value, 0x7fff_ffff);
        self.vvc(GREATER, value, value, 131_072f32.to_bits() - 1);
        value
    }

    /// A result, in scratch.
    pub(super) fn form(&mut self, form: &Form, src: &[Src], seen: bool) -> Register {
        let mut operand = |i: usize| {
            let to = self.nc(src.get(i).copied().unwrap_or(Src::Const(0)));
            if form.ftz {
                self.flush(to);
            }
            to
        };
        let a = operand(0);
        let b = if form.operands() > 1 { operand(1) } else { a };
        let c = if form.operands() > 2 { operand(2) } else { a };
        let converts = matches!(form.what, What::Integral | What::ToSigned | What::ToUnsigned);
        let switched = !converts && form.rounding != RoundingControl::RoundToNearest;
        if switched {
            self.round(form.rounding);
        }
        match form.what {
            What::Add => self.vvv(Op::VEX_Vaddps_ymm_ymm_ymmm256, a, a, b),
            What::Sub => self.vvv(Op::VEX_Vsubps_ymm_ymm_ymmm256, a, a, b),
            What::Mul => self.vvv(Op::VEX_Vmulps_ymm_ymm_ymmm256, a, a, b),
            What::Div => self.vvv(Op::VEX_Vdivps_ymm_ymm_ymmm256, a, a, b),
            What::Fma => self.vvv(Op::VEX_Vfmadd213ps_ymm_ymm_ymmm256, a, b, c),
            What::Rcp => {
                let one = self.temp();
                self.constant(one, 1f32.to_bits());
                self.vvv(Op::VEX_Vdivps_ymm_ymm_ymmm256, a, one, a);
            }
            What::Sqrt => self.e.asm.v2(Op::VEX_Vsqrtps_ymm_ymmm256, a, V::Z(a), None),
            What::DivApprox => self.div_approx(a, b),
            What::Approx(what) => self.approximate(what, a),
            What::Same => {}
            What::Integral => {
                self.vi(Op::VEX_Vroundps_ymm_ymmm256_imm8, a, a, mode(form.rounding));
            }
            What::ToSigned => self.signed(a, form.rounding),
            What::ToUnsigned => self.unsigned(a, form.rounding),
        }
        if switched {
            self.e.asm.m(Op::VEX_Vldmxcsr_m32, pointer(MODE));
        }
        if form.is_float() {
            if form.ftz {
                self.flush(a);
            }
            if form.sat {
                self.saturate(a);
            } else if seen {
                self.canonical32(a);
            }
        }
        a
    }

    /// Switches the processor's rounding; what it was is in the frame.
    pub(super) fn round(&mut self, rounding: RoundingControl) {
        // All exceptions masked; the rounding as in the instructions' numbers, two bits from the
        // 13th on.
        let control = 0x1f80 | (mode(rounding) as u64 & 3) << 13;
        let control = at(Register::R11, self.e.pool.word(control));
        self.e.asm.m(Op::VEX_Vstmxcsr_m32, pointer(MODE));
        self.e.asm.m(Op::VEX_Vldmxcsr_m32, control);
    }

    /// Subnormal numbers become zeros of their sign.
    fn flush(&mut self, value: Register) {
        let (small, zero) = (self.temp(), self.temp());
        self.zero(zero);
        self.vvc(AND, small, value, 0x7f80_0000);
        self.vvv(EQUAL, small, small, zero);
        self.vi(Op::VEX_Vpsrld_ymm_ymm_imm8, small, small, 1);
        self.vvv(Op::VEX_Vpandn_ymm_ymm_ymmm256, value, small, value);
        self.free(small);
        self.free(zero);
    }

    /// Clamped to `[+0, 1]`, NaNs to `+0`.
    fn saturate(&mut self, value: Register) {
        let zero = self.temp();
        self.zero(zero);
        // The second operand, if one is a NaN or both are zeros.
        self.vvv(Op::VEX_Vmaxps_ymm_ymm_ymmm256, value, value, zero);
        self.vvc(Op::VEX_Vminps_ymm_ymm_ymmm256, value, value, 1f32.to_bits());
        self.free(zero);
    }

    /// `a / b`, but a zero or a NaN for great divisors.
    fn div_approx(&mut self, a: Register, b: Register) {
        let (great, finite, small) = (self.temp(), self.temp(), self.temp());
        self.vvc(AND, great, b, 0x7fff_ffff);
        self.constant(finite, 0x7f80_0000);
        self.vvv(GREATER, finite, finite, great);
        self.vvc(GREATER, great, great, (126 + 127) << 23);
        self.vvv(AND, great, great, finite);
        self.vvc(AND, small, b, 0x8000_0000);
        self.vvv(Op::VEX_Vmulps_ymm_ymm_ymmm256, small, a, small);
        self.vvv(Op::VEX_Vdivps_ymm_ymm_ymmm256, a, a, b);
        self.e.asm.v3r(BLEND, a, a, small, great);
    }

    /// As signed integers: clamped, NaNs 0.
    fn signed(&mut self, a: Register, rounding: RoundingControl) {
        let (great, nan) = (self.temp(), self.temp());
        self.vi(Op::VEX_Vroundps_ymm_ymmm256_imm8, a, a, mode(rounding));
        self.e.asm.v3i(COMPARE, nan, a, V::Z(a), 7, None);
        let limit = self.bits(2_147_483_648f32.to_bits());
        self.e.asm.v3i(COMPARE, great, a, limit, 0x1d, None);
        self.e.asm.v2(Op::VEX_Vcvttps2dq_ymm_ymmm256, a, V::Z(a), None);
        // What is too great, or too little, is the least number: its negation is the greatest.
        self.vvv(XOR, a, a, great);
        self.vvv(AND, a, a, nan);
    }

    /// As unsigned integers: clamped, NaNs 0.
    fn unsigned(&mut self, a: Register, rounding: RoundingControl) {
        let (great, over, part) = (self.temp(), self.temp(), self.temp());
        self.zero(great);
        self.vvv(Op::VEX_Vmaxps_ymm_ymm_ymmm256, a, a, great);
        self.vi(Op::VEX_Vroundps_ymm_ymmm256_imm8, a, a, mode(rounding));
        let half = self.bits(2_147_483_648f32.to_bits());
        self.e.asm.v3i(COMPARE, great, a, half, 0x1d, None);
        let whole = self.bits(4_294_967_296f32.to_bits());
        self.e.asm.v3i(COMPARE, over, a, whole, 0x1d, None);
        self.vvc(AND, part, great, 2_147_483_648f32.to_bits());
        self.vvv(Op::VEX_Vsubps_ymm_ymm_ymmm256, a, a, part);
        self.e.asm.v2(Op::VEX_Vcvttps2dq_ymm_ymmm256, a, V::Z(a), None);
        self.vi(Op::VEX_Vpslld_ymm_ymm_imm8, great, great, 31);
        self.vvv(XOR, a, a, great);
        self.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, a, a, over);
    }

    /// One of the rarer operations on 32-bit values.
    pub(super) fn rare(&mut self, op: Rare, dst: u32, src: &[Src; 3]) {
        let value = match op {
            Rare::FMin | Rare::FMax => {
                let value = self.min_max(op == Rare::FMax, src);
                if self.e.nan.seen(self.now) {
                    self.canonical32(value);
                }
                value
            }
            Rare::FunnelL | Rare::FunnelLWrap | Rare::FunnelR | Rare::FunnelRWrap => {
                self.funnel(op, src)
            }
            _ => self.divide(op, src),
        };
        self.put(dst, value);
    }

    /// The lesser or the greater; a NaN loses against a number.
    fn min_max(&mut self, max: bool, src: &[Src; 3]) -> Register {
        let (a, b) = (self.nz(src[0]), self.nz(src[1]));
        let (to, other) = (self.temp(), self.temp());
        // Of two zeros the second is taken: both ways, joined, have the sign that is wanted.
        let (op, join) = match max {
            true => (Op::VEX_Vmaxps_ymm_ymm_ymmm256, AND),
            false => (Op::VEX_Vminps_ymm_ymm_ymmm256, Op::VEX_Vpor_ymm_ymm_ymmm256),
        };
        self.vvv(op, to, a, b);
        self.vvv(op, other, b, a);
        self.vvv(join, to, to, other);
        for (nan, number) in [(b, a), (a, b)] {
            self.e.asm.v3i(COMPARE, other, nan, V::Z(nan), 3, None);
            self.e.asm.v3r(BLEND, to, to, number, other);
        }
        self.free(other);
        to
    }

    /// One word of two that are shifted as one value.
    fn funnel(&mut self, op: Rare, src: &[Src; 3]) -> Register {
        let (a, b, count) = (self.nz(src[0]), self.nz(src[1]), self.nc(src[2]));
        if matches!(op, Rare::FunnelLWrap | Rare::FunnelRWrap) {
            self.vvc(AND, count, count, 31);
        } else {
            self.vvc(Op::VEX_Vpminud_ymm_ymm_ymmm256, count, count, 32);
        }
        let (rest, to) = (self.temp(), self.temp());
        self.zero(rest);
        self.vvv(Op::VEX_Vpsubd_ymm_ymm_ymmm256, rest, rest, count);
        self.vvc(Op::VEX_Vpaddd_ymm_ymm_ymmm256, rest, rest, 32);
        let (up, down) = match op {
            Rare::FunnelL | Rare::FunnelLWrap => (count, rest),
            _ => (rest, count),
        };
        // A word that is shifted by all its bits is 0.
        self.vvv(Op::VEX_Vpsllvd_ymm_ymm_ymmm256, to, b, up);
        self.vvv(Op::VEX_Vpsrlvd_ymm_ymm_ymmm256, down, a, down);
        self.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, to, to, down);
        self.free(count);
        self.free(rest);
        to
    }

    /// Quotients and remainders of 32-bit integers: those of 64-bit floats, cut, are exact.
    fn divide(&mut self, op: Rare, src: &[Src; 3]) -> Register {
        let signed = matches!(op, Rare::DivS | Rare::RemS);
        let (a, b) = (self.nz(src[0]), self.nz(src[1]));
        let (to, x, y) = (self.temp(), self.temp(), self.temp());
        for half in 0..2 {
            for (value, float) in [(a, x), (b, y)] {
                self.double_of(float, value, half, signed);
            }
            self.vvv(Op::VEX_Vdivpd_ymm_ymm_ymmm256, x, x, y);
            if signed {
                self.e.asm.rr(Op::VEX_Vcvttpd2dq_xmm_ymmm256, xmm(x), x);
            } else {
                // In the low bits of a float that is as great as 2^52.
                self.vi(Op::VEX_Vroundpd_ymm_ymmm256_imm8, x, x, 8 | 3);
                self.vvq(Op::VEX_Vaddpd_ymm_ymm_ymmm256, x, x, MAGIC);
                self.vi(Op::VEX_Vpshufd_ymm_ymmm256_imm8, x, x, 0x08);
                self.vi(Op::VEX_Vpermq_ymm_ymmm256_imm8, x, x, 0x08);
            }
            if half == 0 {
                self.copy(to, x);
            } else {
                let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
                self.e.asm.v3i(insert, to, to, V::Z(xmm(x)), 1, None);
            }
        }
        // All bits, where the divisor is 0.
        self.zero(x);
        self.vvv(EQUAL, x, x, b);
        self.vvv(Op::VEX_Vpor_ymm_ymm_ymmm256, to, to, x);
        if matches!(op, Rare::RemU | Rare::RemS) {
            self.vvv(Op::VEX_Vpmulld_ymm_ymm_ymmm256, to, to, b);
            self.vvv(Op::VEX_Vpsubd_ymm_ymm_ymmm256, to, a, to);
        }
        to
    }

    /// Half a chunk of integers as 64-bit floats.
    fn double_of(&mut self, to: Register, from: Register, half: usize, signed: bool) {
        let mut source = xmm(from);
        if half == 1 {
            self.e.asm.rri(Op::VEX_Vextracti128_xmmm128_ymm_imm8, xmm(to), from, 1);
            source = xmm(to);
        }
        if signed {
            self.e.asm.rr(Op::VEX_Vcvtdq2pd_ymm_xmmm128, to, source);
        } else {
            self.e.asm.rr(Op::VEX_Vpmovzxdq_ymm_xmmm128, to, source);
            self.vvq(Op::VEX_Vpor_ymm_ymm_ymmm256, to, to, MAGIC);
            self.vvq(Op::VEX_Vsubpd_ymm_ymm_ymmm256, to, to, MAGIC);
        }
    }
}

/// 2^52: of floats from there on the low bits are an integer.
const MAGIC: u64 = 0x4330_0000_0000_0000;
