//! Conversions among floats and integers.

use super::Avx2;
use crate::frame::Frame;
use crate::select::rows::rounding_bits;
use crate::vcode::{Mem, Part, Source, VReg, View};
use iced_x86::Code as Op;
use vector::{Conversion, Rounding, Type, Value};

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const OR: Op = Op::VEX_Vpor_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const ADD_DOUBLES: Op = Op::VEX_Vaddpd_ymm_ymm_ymmm256;
const SUB_DOUBLES: Op = Op::VEX_Vsubpd_ymm_ymm_ymmm256;

/// Relations of `vcmpps` and `vcmppd`: less than, at least; not at least, or a NaN.
const LESS: i32 = 0x11;
const AT_LEAST: i32 = 0x1d;
const NOT_AT_LEAST: i32 = 0x19;

const TWO_31: f32 = 2_147_483_648.;
const TWO_32: f64 = 4_294_967_296.;
const TWO_52: f64 = 4_503_599_627_370_496.;
const TWO_63: f64 = 9_223_372_036_854_775_808.;
const TWO_84: f64 = TWO_52 * TWO_32;

/// Returns the immediate of a rounding in instructions that have one, without the exception for
/// inexact results.
fn immediate(rounding: Rounding) -> i32 {
    8 | rounding_bits(rounding)
}

impl Avx2<'_, '_> {
    fn double(&mut self, value: f64) -> Mem {
        self.constant(value.to_bits(), true)
    }

    /// A float rounded to an integral value.
    pub(super) fn integral(&mut self, a: VReg, rounding: Rounding, wide: bool) -> VReg {
        let op = match wide {
            true => Op::VEX_Vroundpd_ymm_ymmm256_imm8,
            false => Op::VEX_Vroundps_ymm_ymmm256_imm8,
        };
        self.f.v2i(op, a, immediate(rounding))
    }

    /// The lesser or the greater of two floats, of which zeros differ by their signs.
    pub(super) fn ordered(&mut self, least: bool, a: VReg, b: VReg, wide: bool) -> VReg {
        // Of two zeros each order of the operands takes another one.
        let (op, join) = match (least, wide) {
            (true, false) => (Op::VEX_Vminps_ymm_ymm_ymmm256, OR),
            (true, true) => (Op::VEX_Vminpd_ymm_ymm_ymmm256, OR),
            (false, false) => (Op::VEX_Vmaxps_ymm_ymm_ymmm256, AND),
            (false, true) => (Op::VEX_Vmaxpd_ymm_ymm_ymmm256, AND),
        };
        let (x, y) = (self.f.v3(op, a, b), self.f.v3(op, b, a));
        self.f.v3(join, x, y)
    }

    /// Floats to signed words; the top bit alone if the result does not fit.
    pub(super) fn signed_words(&mut self, a: VReg, rounding: Rounding) -> VReg {
        match rounding {
            Rounding::Nearest => self.f.v2(Op::VEX_Vcvtps2dq_ymm_ymmm256, a),
            Rounding::Zero => self.f.v2(Op::VEX_Vcvttps2dq_ymm_ymmm256, a),
            _ => {
                let a = self.integral(a, rounding, false);
                self.f.v2(Op::VEX_Vcvttps2dq_ymm_ymmm256, a)
            }
        }
    }

    /// Floats to unsigned words; all bits if the result does not fit.
    pub(super) fn unsigned_words(&mut self, a: VReg, rounding: Rounding) -> VReg {
        const COMPARE: Op = Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
        let a = self.integral(a, rounding, false);
        let half = self.constant(TWO_31.to_bits().into(), false);
        let great = self.f.v3i(COMPARE, a, half, AT_LEAST);
        let part = self.f.v3(AND, great, half);
        let rest = self.f.v3(Op::VEX_Vsubps_ymm_ymm_ymmm256, a, part);
        let words = self.f.v2(Op::VEX_Vcvttps2dq_ymm_ymmm256, rest);
        let top = self.f.v2i(Op::VEX_Vpslld_ymm_ymm_imm8, great, 31);
        let words = self.f.v3(XOR, words, top);
        let zero = self.constant(0, false);
        let below = self.f.v3i(COMPARE, a, zero, NOT_AT_LEAST);
        let whole = self.constant((2. * TWO_31).to_bits().into(), false);
        let above = self.f.v3i(COMPARE, a, whole, AT_LEAST);
        let words = self.f.v3(OR, words, below);
        self.f.v3(OR, words, above)
    }

    /// Doubles to 64-bit integers: signed ones, with the top bit alone if the result does not fit,
    /// or unsigned ones, with all bits then.
    pub(super) fn longs(&mut self, a: VReg, rounding: Rounding, signed: bool) -> VReg {
        const COMPARE: Op = Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8;
        let a = self.integral(a, rounding, true);
        // The high word is the quotient by 2^32, the low word the remainder.
        let scale = self.double(1. / TWO_32);
        let high = self.f.v3(Op::VEX_Vmulpd_ymm_ymm_ymmm256, a, scale);
        let high = self.integral(high, Rounding::Down, true);
        let scale = self.double(TWO_32);
        let low = self.f.v4(Op::VEX_Vfnmadd231pd_ymm_ymm_ymmm256, a, high, scale);
        // Sums with 2^52 have the integers as their lowest bits.
        let shift = self.double(if signed { 1.5 * TWO_52 } else { TWO_52 });
        let high = self.f.v3(ADD_DOUBLES, high, shift);
        let high = self.f.v2i(Op::VEX_Vpsllq_ymm_ymm_imm8, high, 32);
        let shift = self.double(TWO_52);
        let low = self.f.v3(ADD_DOUBLES, low, shift);
        let words = self.constant(0xffff_ffff, true);
        let low = self.f.v3(AND, low, words);
        let value = self.f.v3(OR, high, low);
        let (least, limit) = if signed { (-TWO_63, TWO_63) } else { (0., 2. * TWO_63) };
        let (least, limit) = (self.double(least), self.double(limit));
        let below = self.f.v3i(COMPARE, a, least, NOT_AT_LEAST);
        let above = self.f.v3i(COMPARE, a, limit, AT_LEAST);
        let bad = self.f.v3(OR, below, above);
        if signed {
            let top = self.constant(1 << 63, true);
            return self.blend(value, top, bad, true);
        }
        self.f.v3(OR, value, bad)
    }

    /// 64-bit integers to doubles, rounded once: the sum of two exact ones.
    pub(super) fn doubles_of_longs(&mut self, a: VReg, rounding: Rounding, signed: bool) -> VReg {
        // Both words as fractions of powers of two; the sign bit of a signed one is flipped.
        let half = if signed { TWO_63 } else { 0. };
        let high = self.f.v2i(Op::VEX_Vpsrlq_ymm_ymm_imm8, a, 32);
        let start = self.double(TWO_84 + half);
        let high = self.f.v3(XOR, high, start);
        let top = self.double(TWO_52);
        let low = self.f.v3i(Op::VEX_Vpblendw_ymm_ymm_ymmm256_imm8, a, top, 0xcc);
        let offset = TWO_84 + half + TWO_52;
        let offset = self.double(offset);
        let high = self.f.v3(SUB_DOUBLES, high, offset);
        if rounding == Rounding::Nearest {
            return self.f.v3(ADD_DOUBLES, high, low);
        }
        let sum = self.under(rounding, ADD_DOUBLES, View::V, &[high, low]);
        if rounding != Rounding::Down {
            return sum;
        }
        // The sum of two numbers that cancel is -0 here.
        let zero = self.constant(0, true);
        let zero = self.f.v3(Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256, a, zero);
        self.f.v3(Op::VEX_Vpandn_ymm_ymm_ymmm256, zero, sum)
    }

    /// 64-bit integers that are doubles, and are rounded to single precision as the whole ones are:
    /// bits that a double has no room for become one that is set if any is.
    fn sticky(&mut self, a: VReg, signed: bool) -> VReg {
        let most = self.constant(0x7ff, true);
        let low = self.f.v3(AND, a, most);
        let carried = self.f.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, low, most);
        let bit = self.constant(0x800, true);
        let carried = self.f.v3(AND, carried, bit);
        let kept = self.constant(!0x7ff, true);
        let kept = self.f.v3(AND, a, kept);
        let folded = self.f.v3(OR, kept, carried);
        // Integers below 2^53 are doubles as they are.
        let (from, range) = if signed { (1 << 53, 1u64 << 54) } else { (0, 1 << 53) };
        let start = self.constant(from ^ 1 << 63, true);
        let number = self.f.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, a, start);
        let last = self.constant((range - 1) ^ 1 << 63, true);
        let far = self.f.v3(Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256, number, last);
        self.blend(a, folded, far, true)
    }

    /// A quarter of the lanes of a conversion to another width.
    pub(super) fn converted(
        &mut self,
        conversion: Conversion,
        row: Value,
        quarter: usize,
    ) -> Vec<VReg> {
        use Conversion as C;
        if conversion.types()[0] == Type::Row32 {
            let words = self.v(row, quarter);
            let extract = Op::VEX_Vextracti128_xmmm128_ymm_imm8;
            let high = self.f.def(extract, View::X, (words.y(), 1));
            return [words, high].map(|half| self.doubles_of_words(conversion, half)).to_vec();
        }
        let halves = [2 * quarter, 2 * quarter + 1].map(|part| self.v(row, part));
        if conversion == C::UnsignedOfDouble {
            let [low, high] = halves.map(|half| self.longs_of_words(half));
            return vec![self.low_of(low, high)];
        }
        let [low, high] = halves.map(|half| match conversion {
            C::SignedOfDouble => self.f.def(Op::VEX_Vcvttpd2dq_xmm_ymmm256, View::X, (half.y(),)),
            C::SingleOfS(rounding) | C::SingleOfU(rounding) => {
                let signed = matches!(conversion, C::SingleOfS(_));
                let exact = self.sticky(half, signed);
                let double = self.doubles_of_longs(exact, Rounding::Nearest, signed);
                self.singles_of_doubles(double, rounding)
            }
            C::SingleOfDouble(rounding) => self.singles_of_doubles(half, rounding),
            _ => self.lacking(&conversion),
        });
        let insert = Op::VEX_Vinserti128_ymm_ymm_xmmm128_imm8;
        vec![self.f.def(insert, View::V, (low.y(), high.x(), 1))]
    }

    /// Doubles of four words.
    fn doubles_of_words(&mut self, conversion: Conversion, words: VReg) -> VReg {
        let op = match conversion {
            Conversion::DoubleOfSingle => Op::VEX_Vcvtps2pd_ymm_xmmm128,
            Conversion::DoubleOfS => Op::VEX_Vcvtdq2pd_ymm_xmmm128,
            _ => {
                // With the exponent of 2^52, whose value is taken away.
                let longs = self.f.v2(Op::VEX_Vpmovzxdq_ymm_xmmm128, words.x());
                let start = self.double(TWO_52);
                let sum = self.f.v3(OR, longs, start);
                return self.f.v3(SUB_DOUBLES, sum, start);
            }
        };
        self.f.v2(op, words.x())
    }

    fn singles_of_doubles(&mut self, a: VReg, rounding: Rounding) -> VReg {
        self.under(rounding, Op::VEX_Vcvtpd2ps_xmm_ymmm256, View::X, &[a])
    }

    /// Doubles to unsigned words in the low halves of lanes, rounded toward zero; all bits if the
    /// result does not fit.
    fn longs_of_words(&mut self, a: VReg) -> VReg {
        const COMPARE: Op = Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8;
        let a = self.integral(a, Rounding::Zero, true);
        let shift = self.double(TWO_52);
        let words = self.f.v3(ADD_DOUBLES, a, shift);
        let zero = self.double(0.);
        let below = self.f.v3i(COMPARE, a, zero, NOT_AT_LEAST);
        let whole = self.double(TWO_32);
        let within = self.f.v3i(COMPARE, a, whole, LESS);
        let words = self.f.v3(OR, words, below);
        let ones = self.constant(u64::MAX, true);
        let above = self.f.v3(XOR, within, ones);
        self.f.v3(OR, words, above)
    }

    /// Single precision of the half-precision floats in the low halves of words.
    pub(super) fn singles_of_halves(&mut self, a: VReg) -> VReg {
        let halves = self.low_halves(a);
        self.f.v2(Op::VEX_Vcvtph2ps_ymm_xmmm128, halves.x())
    }

    /// Single to half precision, zero-extended.
    pub(super) fn halves_of_singles(&mut self, a: VReg, rounding: Rounding) -> VReg {
        let op = Op::VEX_Vcvtps2ph_xmmm128_ymm_imm8;
        let halves = self.f.def(op, View::X, (a.y(), immediate(rounding) & 3));
        self.f.v2(Op::VEX_Vpmovzxwd_ymm_xmmm128, halves.x())
    }

    /// An operation that rounds so. Other modes than to the nearest are set for it, and the mode of
    /// the host's thread set again.
    pub(super) fn under(&mut self, rounding: Rounding, op: Op, view: View, args: &[VReg]) -> VReg {
        let whole = |register: VReg| register.y();
        if rounding == Rounding::Nearest {
            let sources: Vec<Source> = args.iter().map(|&arg| whole(arg)).collect();
            return self.f.def(op, view, sources.as_slice());
        }
        let control = Mem::pool(self.pool.word(super::floats::control(rounding)));
        let before = Mem::frame(Frame::LANE_ROOM);
        let mut p = self.f.pseudo();
        let (to, rest) = match *args {
            [a, b, c] => (p.output_tied(view, a), vec![b, c]),
            _ => (p.output(view), args.to_vec()),
        };
        p.op(Op::VEX_Vstmxcsr_m32, (before,));
        p.op(Op::VEX_Vldmxcsr_m32, (control,));
        let first = if view == View::X { to.x() } else { whole(to) };
        let operands: Vec<Source> =
            std::iter::once(first).chain(rest.into_iter().map(whole)).collect();
        p.op(op, operands.as_slice());
        p.op(Op::VEX_Vldmxcsr_m32, (before,));
        p.end();
        to
    }
}
