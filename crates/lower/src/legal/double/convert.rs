//! Conversions from and to binary64, and between binary32 and integers of 64 bits.

use super::super::build::{Builder, word};
use super::super::float::Round;
use super::super::half::half;
use super::super::narrow::integral;
use super::super::pairs::Pair;
use super::super::words::{Words, missing};
use super::{INFINITY, NAN, SIGN, pair};
use crate::Missing;
use ir::mods::{Cmp, Flag, Rounding};
use ir::{Inst, Op, Operand, Ty};

/// The NaN of binary32.
const SINGLE_NAN: u32 = 0x7fff_ffff;
const SINGLE_INFINITY: u32 = 0x7f80_0000;

impl Words<'_> {
    /// A conversion with 64 bits on one side or both, one of them a float.
    pub(in crate::legal) fn convert_double(&mut self, inst: &Inst) -> Result<(), Missing> {
        let (ty, from) = (inst.ty.unwrap_or(Ty::B32), inst.ty2.unwrap_or(Ty::B32));
        let what = || missing(inst, &format!("conversion from {from} to {ty}"));
        let flushes = inst.mods.flags.has(Flag::Ftz);
        let rounding = inst.mods.rounding;
        let single = ty == Ty::F32 || from == Ty::F32;
        let between = ty.is_float() && from != ty && integral(rounding);
        if inst.mods.flags.iter().any(|flag| flag != Flag::Ftz) || flushes && !single || between {
            return Err(what());
        }
        let whole = |ty: Ty| !ty.is_float() && half(ty).is_none() && ty.bits() >= 32;
        let to = Round::To(rounding.unwrap_or(Rounding::Rn));
        if whole(from) && ty.is_float() {
            let value = self.integer_pair(inst, from);
            let value = match ty {
                Ty::F64 => self.builder.double_of_integer(to, value).ok_or_else(what)?,
                Ty::F32 => {
                    let value = self.builder.single_of_integer(to, value).ok_or_else(what)?;
                    [value, word(0)]
                }
                _ => return Err(what()),
            };
            self.put_pair(inst, value);
            return Ok(());
        }
        let double = match from {
            Ty::F64 => self.pair(inst, 0),
            Ty::F32 | Ty::F16 | Ty::Bf16 => {
                let mut single = self.low(inst, 0);
                if from != Ty::F32 {
                    single = self.builder.widen(single, from);
                } else if flushes {
                    single = self.builder.flush(single);
                }
                self.builder.double_of_single(single)
            }
            _ => return Err(what()),
        };
        let build = &mut self.builder;
        let value = match ty {
            Ty::F64 if integral(rounding) => build.integral_double(rounding, double),
            Ty::F64 => {
                let nan = build.is_nan_double(double);
                Some(build.select_pair(nan, pair(NAN), double))
            }
            Ty::F32 => {
                let single = build.single_of_double(to, double).ok_or_else(what)?;
                let flushed = if flushes { build.flush(single) } else { single };
                Some([flushed, word(0)])
            }
            Ty::F16 | Ty::Bf16 if matches!(to, Round::To(Rounding::Rn)) => {
                let single = build.single_of_double(Round::Odd, double).ok_or_else(what)?;
                Some([build.narrow_float(single, ty), word(0)])
            }
            ty if whole(ty) => build.integer_of_double(rounding, ty, double),
            _ => None,
        };
        let value = value.ok_or_else(what)?;
        self.put_pair(inst, value);
        Ok(())
    }

    /// An integer as its sign, zero or [`SIGN`], and its magnitude.
    fn integer_pair(&mut self, inst: &Inst, from: Ty) -> (Operand, Pair) {
        let value = match from.bits() {
            64 => self.pair(inst, 0),
            _ => {
                let low = self.low(inst, 0);
                [low, if from.is_signed() { self.builder.sign(low) } else { word(0) }]
            }
        };
        if !from.is_signed() {
            return (word(0), value);
        }
        let build = &mut self.builder;
        let mask = build.sign(value[1]);
        let flipped = build.both(value, |build, x| build.xor(x, mask));
        (build.and(mask, word(SIGN)), build.sub_pair(flipped, [mask, mask]))
    }
}

impl Builder {
    fn double_of_integer(
        &mut self,
        rounding: Round,
        (sign, magnitude): (Operand, Pair),
    ) -> Option<Pair> {
        let zeros = self.leading_zeros_pair(magnitude);
        let significand = self.shl_pair(magnitude, zeros);
        let exponent = self.sub(word(1023 + 63), zeros);
        let value = self.pack_double(rounding, sign, exponent, significand)?;
        let any = self.or(magnitude[0], magnitude[1]);
        let nothing = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        Some(self.select_pair(nothing, pair([0, 0]), value))
    }

    fn single_of_integer(
        &mut self,
        rounding: Round,
        (sign, magnitude): (Operand, Pair),
    ) -> Option<Operand> {
        let zeros = self.leading_zeros_pair(magnitude);
        let normal = self.shl_pair(magnitude, zeros);
        let sticky = self.compare(Cmp::Ne, Ty::B32, normal[0], word(0));
        let sticky = self.bit(sticky);
        let significand = self.or(normal[1], sticky);
        let exponent = self.sub(word(127 + 63), zeros);
        let value = self.pack(rounding, sign, exponent, significand)?;
        let any = self.or(magnitude[0], magnitude[1]);
        let nothing = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        Some(self.select(nothing, word(0), value))
    }

    /// Exact.
    pub(in crate::legal) fn double_of_single(&mut self, a: Operand) -> Pair {
        let parts = self.split(a);
        let exponent = self.add(parts.exponent, word(1023 - 127));
        let exponent = self.shl(exponent, word(20));
        let fraction = self.and(parts.significand, word(0x7f_ffff));
        let high = self.shr(fraction, word(3));
        let high = self.or(high, exponent);
        let value = [self.shl(fraction, word(29)), self.or(high, parts.sign)];
        let value = self.select_pair(parts.zero, [word(0), parts.sign], value);
        let value = self.or_infinity(parts.infinite, parts.sign, value);
        self.select_pair(parts.nan, pair(NAN), value)
    }

    pub(in crate::legal) fn single_of_double(
        &mut self,
        rounding: Round,
        a: Pair,
    ) -> Option<Operand> {
        let parts = self.split_double(a);
        let up = self.shl_pair(parts.significand, word(11));
        let sticky = self.compare(Cmp::Ne, Ty::B32, up[0], word(0));
        let sticky = self.bit(sticky);
        let significand = self.or(up[1], sticky);
        let exponent = self.sub(parts.exponent, word(1023 - 127));
        let value = self.pack(rounding, parts.sign, exponent, significand)?;
        let value = self.select(parts.zero, parts.sign, value);
        let infinity = self.or(parts.sign, word(SINGLE_INFINITY));
        let value = self.select(parts.infinite, infinity, value);
        Some(self.select(parts.nan, word(SINGLE_NAN), value))
    }

    /// The magnitude of a number below 2^64 as an integer; larger ones give no such.
    fn whole_part(&mut self, rounding: Option<Rounding>, a: Pair) -> Option<Pair> {
        let parts = self.split_double(a);
        let up = self.shl_pair(parts.significand, word(11));
        // By more than 127 nothing is left but what is sticky.
        let down = self.sub(word(1023 + 63), parts.exponent);
        let beyond = self.compare(Cmp::Lt, Ty::S32, down, word(0));
        let down = self.select(beyond, word(0), down);
        let down = self.at_most(down, 127);
        let [fraction, kept] = self.down_quad([pair([0, 0]), up], down);
        let inexact = self.any_bit(fraction);
        let negative = self.shr(parts.sign, word(31));
        let more = match rounding? {
            Rounding::Rzi | Rounding::Rz => word(0),
            Rounding::Rni => {
                let half = self.shr(fraction[1], word(31));
                let below = [fraction[0], self.and(fraction[1], word(!SIGN))];
                let below = self.any_bit(below);
                let odd = self.and(kept[0], word(1));
                let or = self.or(below, odd);
                self.and(half, or)
            }
            Rounding::Rmi => self.and(inexact, negative),
            Rounding::Rpi => {
                let positive = self.xor(negative, word(1));
                self.and(inexact, positive)
            }
            _ => return None,
        };
        Some(self.add_pair(kept, [more, word(0)]))
    }

    /// Out of range gives the nearest; a NaN gives the top bit alone.
    fn integer_of_double(&mut self, rounding: Option<Rounding>, ty: Ty, a: Pair) -> Option<Pair> {
        let magnitude = self.whole_part(rounding, a)?;
        let exponent = self.shr(a[1], word(20));
        let exponent = self.and(exponent, word(0x7ff));
        let huge = self.compare(Cmp::Gt, Ty::S32, exponent, word(1023 + 63));
        let (top, most) = match ty.bits() {
            64 => (pair([0, SIGN]), pair([u32::MAX, if ty.is_signed() { !SIGN } else { !0 }])),
            _ => (pair([SIGN, 0]), pair([if ty.is_signed() { !SIGN } else { !0 }, 0])),
        };
        let least = if ty.is_signed() { top } else { pair([0, 0]) };
        let negative = self.compare(Cmp::Lt, Ty::S32, a[1], word(0));
        let limit = self.select_pair(negative, least, most);
        let above = self.compare_pair(Cmp::Hi, false, magnitude, limit);
        let outside = self.logic(Op::Or, &[huge, above]);
        let turned = self.negate_pair(magnitude);
        let value = self.select_pair(negative, turned, magnitude);
        let value = self.select_pair(outside, limit, value);
        let nan = self.is_nan_double(a);
        let value = self.select_pair(nan, top, value);
        if ty.bits() == 32 && ty.is_signed() {
            return Some([value[0], self.sign(value[0])]);
        }
        Some(if ty.bits() == 32 { [value[0], word(0)] } else { value })
    }

    fn integral_double(&mut self, rounding: Option<Rounding>, a: Pair) -> Option<Pair> {
        let magnitude = self.whole_part(rounding, a)?;
        let sign = self.and(a[1], word(SIGN));
        let value = self.double_of_integer(Round::To(Rounding::Rn), (sign, magnitude))?;
        let value = [value[0], self.or(value[1], sign)];
        // From 2^52 on every number is one.
        let exponent = self.and(a[1], word(INFINITY));
        let large = self.compare(Cmp::Hs, Ty::U32, exponent, word((1023 + 52) << 20));
        let value = self.select_pair(large, a, value);
        let nan = self.is_nan_double(a);
        Some(self.select_pair(nan, pair(NAN), value))
    }
}
