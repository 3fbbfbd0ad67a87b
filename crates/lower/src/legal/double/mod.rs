//! Sequences for binary64 arithmetic on pairs of words.
//!
//! As in `float`: operands are split into sign, exponent and significand, the exact result is
//! shifted until its top bit is bit 63 of a pair whose bit 0 collects what lies below, and that
//! pair is rounded once (IEEE 754-2019, 4.3). Every NaN that is made is 0x7fffffffffffffff, as in
//! PTX.

mod compare;
mod convert;
mod divide;
mod fused;

use super::build::{Builder, word};
use super::float::Round;
use super::pairs::Pair;
use super::words::{Words, missing};
use crate::Missing;
use ir::mods::{Cmp, Flags, Rounding};
use ir::{Inst, Op, Operand, Ty};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7ff0_0000;
const NAN: [u32; 2] = [u32::MAX, 0x7fff_ffff];
const ONE: [u32; 2] = [0, 0x3ff0_0000];

fn pair(words: [u32; 2]) -> Pair {
    words.map(word)
}

/// A finite number that is not zero: `significand * 2^(exponent - 1075)`, the significand in
/// [2^52, 2^53). Of a zero, the significand is zero.
struct Parts {
    sign: Operand,
    exponent: Operand,
    significand: Pair,
    zero: Operand,
    infinite: Operand,
    nan: Operand,
}

impl Words<'_> {
    /// An operation on numbers of 64 bits.
    pub(super) fn double(&mut self, inst: &Inst) -> Result<(), Missing> {
        let what = || missing(inst, "operations on f64 values");
        if inst.mods.flags != Flags::NONE {
            return Err(what());
        }
        let [a, b, c] = [self.pair(inst, 0), self.pair(inst, 1), self.pair(inst, 2)];
        if inst.op == Op::Setp {
            let cmp = inst.mods.cmp.ok_or_else(what)?;
            let p = self.builder.compare_double(cmp, a, b).ok_or_else(what)?;
            self.put_predicates(inst, p);
            return Ok(());
        }
        let build = &mut self.builder;
        let rounding = Round::To(inst.mods.rounding.unwrap_or(Rounding::Rn));
        let value = match (inst.op, inst.mods.precision) {
            (_, Some(_)) => None,
            (Op::Add, _) => build.double_sum(rounding, a, b),
            (Op::Sub, _) => {
                let b = [b[0], build.xor(b[1], word(SIGN))];
                build.double_sum(rounding, a, b)
            }
            (Op::Mul, _) => build.double_product(rounding, a, b),
            (Op::Fma, _) => build.double_fused(rounding, [a, b, c]),
            (Op::Div, _) => build.double_quotient(rounding, a, b),
            (Op::Rcp, _) => build.double_quotient(rounding, pair(ONE), a),
            (Op::Sqrt, _) => build.double_root(rounding, a),
            (Op::Neg, _) => Some([a[0], build.xor(a[1], word(SIGN))]),
            (Op::Abs, _) => Some([a[0], build.and(a[1], word(!SIGN))]),
            (Op::Copysign, _) => {
                let (sign, rest) = (build.and(a[1], word(SIGN)), build.and(b[1], word(!SIGN)));
                Some([b[0], build.or(sign, rest)])
            }
            (Op::Min | Op::Max, _) if inst.operands.len() == 2 => {
                Some(build.double_extreme(inst.op, a, b))
            }
            _ => None,
        };
        let value = value.ok_or_else(what)?;
        self.put_pair(inst, value);
        Ok(())
    }
}

impl Builder {
    fn split_double(&mut self, a: Pair) -> Parts {
        let sign = self.and(a[1], word(SIGN));
        let magnitude = self.and(a[1], word(!SIGN));
        let biased = self.shr(magnitude, word(20));
        let fraction = [a[0], self.and(a[1], word(0xf_ffff))];
        // A subnormal number is shifted up until bit 52 is its top bit.
        let zeros = self.leading_zeros_pair(fraction);
        let up = self.sub(zeros, word(11));
        let lifted = self.shl_pair(fraction, up);
        let below = self.sub(word(1), up);
        let tiny = self.compare(Cmp::Eq, Ty::B32, biased, word(0));
        let whole = [fraction[0], self.or(fraction[1], word(0x10_0000))];
        let any = self.or(magnitude, a[0]);
        let outside = self.xor(magnitude, word(INFINITY));
        let outside = self.or(outside, a[0]);
        let infinity = pair([0, INFINITY]);
        Parts {
            sign,
            exponent: self.select(tiny, below, biased),
            significand: self.select_pair(tiny, lifted, whole),
            zero: self.compare(Cmp::Eq, Ty::B32, any, word(0)),
            infinite: self.compare(Cmp::Eq, Ty::B32, outside, word(0)),
            nan: self.compare_pair(Cmp::Hi, false, [a[0], magnitude], infinity),
        }
    }

    /// 1 if anything of a pair is set.
    fn any_bit(&mut self, a: Pair) -> Operand {
        let any = self.or(a[0], a[1]);
        let set = self.compare(Cmp::Ne, Ty::B32, any, word(0));
        self.bit(set)
    }

    /// A finite number: its sign, its biased exponent, and its significand with the top bit at bit
    /// 63 and a sticky bit at bit 0. A significand of zero is not looked at by the caller.
    fn pack_double(
        &mut self,
        rounding: Round,
        sign: Operand,
        exponent: Operand,
        significand: Pair,
    ) -> Option<Pair> {
        // Below the smallest normal number the significand moves down: by 63, all but its top bit
        // is in the sticky bit, and that bit lies far below what is kept.
        let below = self.sub(word(1), exponent);
        let tiny = self.compare(Cmp::Gt, Ty::S32, below, word(0));
        let down = self.select(tiny, below, word(0));
        let down = self.at_most(down, 63);
        let moved = self.down(significand, down);
        let kept = self.shr_pair(false, moved, word(11));
        let rest = self.and(moved[0], word(0x7ff));
        let up = self.round_up(rounding, sign, kept[0], rest)?;
        let rounded = self.add_pair(kept, [up, word(0)]);
        // The top bit of the significand adds one to the exponent.
        let base = self.sub(exponent, word(1));
        let base = self.select(tiny, word(0), base);
        let large = self.compare(Cmp::Gt, Ty::S32, exponent, word(2046));
        let base = self.shl(base, word(20));
        let bits = [rounded[0], self.add(base, rounded[1])];
        let beyond = self.compare(Cmp::Hs, Ty::U32, bits[1], word(INFINITY));
        let overflows = self.logic(Op::Or, &[large, beyond]);
        let most = self.overflow_double(rounding, sign);
        let bits = self.select_pair(overflows, most, bits);
        Some([bits[0], self.or(bits[1], sign)])
    }

    /// What is added to a significand for the 11 bits behind it.
    fn round_up(
        &mut self,
        rounding: Round,
        sign: Operand,
        kept: Operand,
        rest: Operand,
    ) -> Option<Operand> {
        let sum = self.add(rest, word(0x7ff));
        let inexact = self.shr(sum, word(11));
        let odd = self.and(kept, word(1));
        Some(match rounding {
            Round::To(Rounding::Rn) => {
                let half = self.add(rest, word(0x3ff));
                let sum = self.add(half, odd);
                self.shr(sum, word(11))
            }
            Round::To(Rounding::Rz) => word(0),
            Round::Odd => {
                let even = self.xor(odd, word(1));
                self.and(inexact, even)
            }
            Round::To(Rounding::Rm) => {
                let negative = self.shr(sign, word(31));
                self.and(inexact, negative)
            }
            Round::To(Rounding::Rp) => {
                let negative = self.shr(sign, word(31));
                let positive = self.xor(negative, word(1));
                self.and(inexact, positive)
            }
            Round::To(_) => return None,
        })
    }

    /// What a number too large becomes: infinity, or the largest number.
    fn overflow_double(&mut self, rounding: Round, sign: Operand) -> Pair {
        let (largest, infinity) = (pair([u32::MAX, INFINITY - 1]), pair([0, INFINITY]));
        let negative = self.compare(Cmp::Ne, Ty::B32, sign, word(0));
        match rounding {
            Round::To(Rounding::Rz) | Round::Odd => largest,
            Round::To(Rounding::Rm) => self.select_pair(negative, infinity, largest),
            Round::To(Rounding::Rp) => self.select_pair(negative, largest, infinity),
            Round::To(_) => infinity,
        }
    }

    /// The value where a predicate holds, else another one, of infinities of a sign.
    fn or_infinity(&mut self, holds: Operand, sign: Operand, value: Pair) -> Pair {
        let infinity = [word(0), self.or(sign, word(INFINITY))];
        self.select_pair(holds, infinity, value)
    }
}
