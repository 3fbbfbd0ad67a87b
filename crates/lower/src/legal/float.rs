//! Sequences for binary32 arithmetic on words, for machines that round each operation once.
//!
//! Operations that a target lacks are computed on integers: operands are split into sign, exponent
//! and significand, the exact result is shifted until its top bit is bit 31 of a word whose bit 0
//! collects what lies below (the sticky bit), and that word is rounded once (IEEE 754-2019, 4.3).
//! Every NaN that is made is 0x7fffffff, as in PTX.

use super::build::{Builder, word};
use super::narrow::integral;
use super::ops::{operand, result};
use super::pairs::Pair;
use ir::mods::{Cmp, Flag, Flags, Precision, Rounding};
use ir::{Inst, Op, Operand, Ty};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fff_ffff;
const ONE: u32 = 0x3f80_0000;

/// How the exact result becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// As IEEE 754 has it.
    To(Rounding),
    /// Towards zero, with the lowest bit set if that is not exact: a second rounding, to at least
    /// two bits less, gives what one would.
    Odd,
}

/// A finite number that is not zero: `significand * 2^(exponent - 150)`, the significand in
/// [2^23, 2^24). Of a zero, the significand is zero.
pub(super) struct Parts {
    pub(super) sign: Operand,
    pub(super) exponent: Operand,
    pub(super) significand: Operand,
    pub(super) zero: Operand,
    pub(super) infinite: Operand,
    pub(super) nan: Operand,
}

impl Builder {
    /// Emits the sequence for an operation on floats; `None` if there is none.
    pub(super) fn expand_float(&mut self, inst: &Inst) -> Option<()> {
        let flags = inst.mods.flags;
        if inst.op == Op::Slct {
            return self.select_by_sign(inst);
        }
        if flags.has(Flag::Ftz) {
            return self.flushed(inst);
        }
        if flags.has(Flag::Sat) {
            return self.saturated(inst);
        }
        if flags != Flags::NONE {
            return None;
        }
        if let Some(precision) = inst.mods.precision {
            return self.approximate(inst, precision);
        }
        let [a, b, c] = [operand(inst, 0), operand(inst, 1), operand(inst, 2)];
        let rounding = Round::To(inst.mods.rounding.unwrap_or(Rounding::Rn));
        let value = match inst.op {
            Op::Fma => self.fused(rounding, [a, b, c])?,
            // A zero of the product's sign leaves the sign of a product of zero.
            Op::Mul => {
                let signs = self.xor(a, b);
                let zero = self.and(signs, word(SIGN));
                self.fused(rounding, [a, b, zero])?
            }
            Op::Add => self.fused(rounding, [a, word(ONE), b])?,
            Op::Sub => {
                let b = self.xor(b, word(SIGN));
                self.fused(rounding, [a, word(ONE), b])?
            }
            Op::Div => self.quotient(rounding, a, b)?,
            Op::Rcp => self.quotient(rounding, word(ONE), a)?,
            Op::Sqrt => self.root(rounding, a)?,
            Op::Neg => self.xor(a, word(SIGN)),
            Op::Abs => self.and(a, word(!SIGN)),
            Op::Copysign => {
                let (sign, rest) = (self.and(a, word(SIGN)), self.and(b, word(!SIGN)));
                self.or(sign, rest)
            }
            Op::Min | Op::Max if inst.operands.len() == 2 => self.extreme_float(inst.op, a, b),
            Op::Cvt => self.convert_float(inst, a)?,
            _ => return None,
        };
        self.put(result(inst, 0), value);
        Some(())
    }

    /// Approximations whose published sequences round once.
    fn approximate(&mut self, inst: &Inst, precision: Precision) -> Option<()> {
        let [a, b] = [operand(inst, 0), operand(inst, 1)];
        let value = match (inst.op, precision) {
            (Op::Rcp | Op::Sqrt, Precision::Approx) => self.nearest(inst.op, &[a]),
            (Op::Div, Precision::Full) => self.nearest(Op::Div, &[a, b]),
            (Op::Div, Precision::Approx) => {
                // The reciprocal of a divisor beyond 2^126 is subnormal, and taken for a zero.
                let magnitude = self.and(b, word(!SIGN));
                let above = self.compare(Cmp::Hi, Ty::U32, magnitude, word(0x7e80_0000));
                let finite = self.compare(Cmp::Lo, Ty::U32, magnitude, word(INFINITY));
                let large = self.logic(Op::And, &[above, finite]);
                let sign = self.and(b, word(SIGN));
                let signs = self.xor(a, sign);
                let zero = self.and(signs, word(SIGN));
                // Infinity times zero is none.
                let product = self.nearest(Op::Mul, &[a, sign]);
                let number = self.compare(Cmp::Num, Ty::F32, product, product);
                let product = self.select(number, zero, product);
                let quotient = self.nearest(Op::Div, &[a, b]);
                self.select(large, product, quotient)
            }
            _ => return None,
        };
        self.put(result(inst, 0), value);
        Some(())
    }

    /// An operation, rounded to nearest; that of the machine, if it has it.
    fn nearest(&mut self, op: Op, operands: &[Operand]) -> Operand {
        let mut inst = Inst::new(op).ty(Ty::F32);
        inst.operands.extend_from_slice(operands);
        inst.mods.rounding = Some(Rounding::Rn);
        self.value(inst)
    }

    /// `slct`; flushing to zero concerns the operand that is compared.
    pub(super) fn select_by_sign(&mut self, inst: &Inst) -> Option<()> {
        let [a, b, mut c] = [operand(inst, 0), operand(inst, 1), operand(inst, 2)];
        let ty = inst.ty2.unwrap_or(Ty::S32);
        if ty == Ty::F32 && inst.mods.flags.has(Flag::Ftz) {
            c = self.flush(c);
        }
        let p = self.compare(Cmp::Ge, ty, c, word(0));
        let value = self.select(p, a, b);
        self.put(result(inst, 0), value);
        Some(())
    }

    /// Subnormal operands and results are zeros.
    fn flushed(&mut self, inst: &Inst) -> Option<()> {
        let plain: Flags = inst.mods.flags.iter().filter(|&f| f != Flag::Ftz).collect();
        let mut inner = inst.clone();
        inner.mods.flags = plain;
        let source = if inst.op == Op::Cvt { inst.ty2 } else { inst.ty };
        let floats = match inst.op {
            Op::Setp | Op::Set => inst.operands.len().min(2),
            _ => inst.operands.len(),
        };
        if source == Some(Ty::F32) {
            for index in 0..floats {
                inner.operands[index] = self.flush(inst.operands[index]);
            }
        }
        if inst.op == Op::Setp || inst.ty != Some(Ty::F32) {
            self.emit(inner);
            return Some(());
        }
        inner.results.clear();
        let value = self.value(inner);
        let value = self.flush(value);
        self.put(result(inst, 0), value);
        Some(())
    }

    pub(super) fn flush(&mut self, a: Operand) -> Operand {
        let exponent = self.and(a, word(INFINITY));
        let tiny = self.compare(Cmp::Eq, Ty::B32, exponent, word(0));
        let zero = self.and(a, word(SIGN));
        self.select(tiny, zero, a)
    }

    /// The result clamped to [0, 1]; NaN gives zero.
    fn saturated(&mut self, inst: &Inst) -> Option<()> {
        if inst.ty != Some(Ty::F32) {
            return None;
        }
        let mut inner = inst.clone();
        inner.mods.flags = inst.mods.flags.iter().filter(|&f| f != Flag::Sat).collect();
        inner.results.clear();
        let value = self.value(inner);
        let positive = self.compare(Cmp::Gt, Ty::F32, value, word(0));
        let below = self.compare(Cmp::Lt, Ty::F32, value, word(ONE));
        let value = self.select(below, value, word(ONE));
        let value = self.select(positive, value, word(0));
        self.put(result(inst, 0), value);
        Some(())
    }

    /// A NaN loses against a number; -0 is less than +0.
    fn extreme_float(&mut self, op: Op, a: Operand, b: Operand) -> Operand {
        let less = self.compare(Cmp::Lt, Ty::F32, a, b);
        let (x, y) = if op == Op::Min { (a, b) } else { (b, a) };
        let value = self.select(less, x, y);
        let equal = self.compare(Cmp::Eq, Ty::F32, a, b);
        let signs = if op == Op::Min { self.or(a, b) } else { self.and(a, b) };
        let value = self.select(equal, signs, value);
        let (nan_a, nan_b) =
            (self.compare(Cmp::Nan, Ty::F32, a, a), self.compare(Cmp::Nan, Ty::F32, b, b));
        let value = self.select(nan_a, b, value);
        let value = self.select(nan_b, a, value);
        let neither = self.logic(Op::And, &[nan_a, nan_b]);
        self.select(neither, word(NAN), value)
    }

    pub(super) fn split(&mut self, a: Operand) -> Parts {
        let sign = self.and(a, word(SIGN));
        let magnitude = self.and(a, word(!SIGN));
        let biased = self.shr(magnitude, word(23));
        let fraction = self.and(a, word(0x7f_ffff));
        // A subnormal number is shifted up until bit 23 is its top bit.
        let zeros = self.op(Op::Clz, Ty::B32, &[fraction]);
        let up = self.sub(zeros, word(8));
        let lifted = self.shl(fraction, up);
        let below = self.sub(word(1), up);
        let tiny = self.compare(Cmp::Eq, Ty::B32, biased, word(0));
        let whole = self.or(fraction, word(0x80_0000));
        Parts {
            sign,
            exponent: self.select(tiny, below, biased),
            significand: self.select(tiny, lifted, whole),
            zero: self.compare(Cmp::Eq, Ty::B32, magnitude, word(0)),
            infinite: self.compare(Cmp::Eq, Ty::B32, magnitude, word(INFINITY)),
            nan: self.compare(Cmp::Hi, Ty::U32, magnitude, word(INFINITY)),
        }
    }

    /// A finite float: its sign, its biased exponent, and its significand with the top bit at bit
    /// 31 and a sticky bit at bit 0. A significand of zero is not looked at by the caller.
    pub(super) fn pack(
        &mut self,
        rounding: Round,
        sign: Operand,
        exponent: Operand,
        significand: Operand,
    ) -> Option<Operand> {
        // Below the smallest normal number the significand moves down, by 32 at most.
        let below = self.sub(word(1), exponent);
        let tiny = self.compare(Cmp::Gt, Ty::S32, below, word(0));
        let down = self.select(tiny, below, word(0));
        let down = self.at_most(down, 32);
        let left = self.sub(word(32), down);
        let lost = self.shl(significand, left);
        let sticky = self.compare(Cmp::Ne, Ty::B32, lost, word(0));
        let sticky = self.bit(sticky);
        let moved = self.shr(significand, down);
        let moved = self.or(moved, sticky);
        let (kept, rest) = (self.shr(moved, word(8)), self.and(moved, word(0xff)));
        let up = match rounding {
            Round::To(Rounding::Rn) => {
                let odd = self.and(kept, word(1));
                let half = self.add(rest, word(0x7f));
                let sum = self.add(half, odd);
                self.shr(sum, word(8))
            }
            Round::To(Rounding::Rz) => word(0),
            // One, if the lowest bit is not set yet.
            Round::Odd => {
                let sum = self.add(rest, word(0xff));
                let inexact = self.shr(sum, word(8));
                let odd = self.and(kept, word(1));
                let even = self.xor(odd, word(1));
                self.and(inexact, even)
            }
            Round::To(Rounding::Rm | Rounding::Rp) => {
                let sum = self.add(rest, word(0xff));
                let away = self.shr(sum, word(8));
                let negative = self.shr(sign, word(31));
                let outward = match rounding {
                    Round::To(Rounding::Rm) => negative,
                    _ => self.xor(negative, word(1)),
                };
                self.and(away, outward)
            }
            Round::To(_) => return None,
        };
        let rounded = self.add(kept, up);
        // The top bit of the significand adds one to the exponent.
        let base = self.sub(exponent, word(1));
        let base = self.select(tiny, word(0), base);
        let large = self.compare(Cmp::Gt, Ty::S32, exponent, word(254));
        let base = self.shl(base, word(23));
        let bits = self.add(base, rounded);
        let beyond = self.compare(Cmp::Hs, Ty::U32, bits, word(INFINITY));
        let overflows = self.logic(Op::Or, &[large, beyond]);
        let most = self.overflow(rounding, sign);
        let bits = self.select(overflows, most, bits);
        Some(self.or(bits, sign))
    }

    /// What a number too large becomes: infinity, or the largest number.
    fn overflow(&mut self, rounding: Round, sign: Operand) -> Operand {
        let largest = INFINITY - 1;
        match rounding {
            Round::To(Rounding::Rz) | Round::Odd => word(largest),
            Round::To(Rounding::Rm | Rounding::Rp) => {
                let negative = self.compare(Cmp::Ne, Ty::B32, sign, word(0));
                let (below, above) = match rounding {
                    Round::To(Rounding::Rm) => (INFINITY, largest),
                    _ => (largest, INFINITY),
                };
                self.select(negative, word(below), word(above))
            }
            _ => word(INFINITY),
        }
    }

    /// A pair moved down, with a sticky bit for what is lost.
    pub(super) fn down(&mut self, a: Pair, amount: Operand) -> Pair {
        let moved = self.shr_pair(false, a, amount);
        let back = self.shl_pair(moved, amount);
        let lost = self.compare_pair(Cmp::Ne, false, a, back);
        let sticky = self.bit(lost);
        [self.or(moved[0], sticky), moved[1]]
    }

    /// `a * b + c`, rounded once.
    ///
    /// The product (48 bits) and the addend lie in pairs with their top bits at 60 or 61; the one
    /// with the smaller exponent moves down to the other's. Bits are lost only where the other
    /// one's top bit stays, so the sticky bit lies below what is rounded.
    pub(super) fn fused(&mut self, rounding: Round, [a, b, c]: [Operand; 3]) -> Option<Operand> {
        let [a, b, c] = [self.split(a), self.split(b), self.split(c)];
        let sign = self.xor(a.sign, b.sign);
        let product = self.mul_wide(false, a.significand, b.significand);
        let product = self.shl_pair(product, word(14));
        let addend = [word(0), self.shl(c.significand, word(5))];
        let exponents = self.add(a.exponent, b.exponent);
        let distance = self.sub(exponents, c.exponent);
        let distance = self.sub(distance, word(127));
        // Of a zero the exponent says nothing: the other one stays where it is.
        let no_product = self.logic(Op::Or, &[a.zero, b.zero]);
        let distance = self.select(c.zero, word(0), distance);
        let distance = self.select(no_product, word(63u32.wrapping_neg()), distance);
        let product_stays = self.compare(Cmp::Ge, Ty::S32, distance, word(0));
        let back = self.sub(word(0), distance);
        let down = self.select(product_stays, distance, back);
        let down = self.at_most(down, 63);
        let moving = self.select_pair(product_stays, addend, product);
        let staying = self.select_pair(product_stays, product, addend);
        let moving = self.down(moving, down);
        let moving_sign = self.select(product_stays, c.sign, sign);
        let staying_sign = self.select(product_stays, sign, c.sign);
        let signs = self.xor(moving_sign, staying_sign);
        let opposite = self.compare(Cmp::Ne, Ty::B32, signs, word(0));
        let (sum, difference) = (self.add_pair(staying, moving), self.sub_pair(staying, moving));
        let negative = self.compare(Cmp::Lt, Ty::S32, difference[1], word(0));
        let turned = self.negate_pair(difference);
        let distance_of = self.select_pair(negative, turned, difference);
        let whole = self.select_pair(opposite, distance_of, sum);
        let turned_sign = self.select(negative, moving_sign, staying_sign);
        let sum_sign = self.select(opposite, turned_sign, staying_sign);
        let zeros = self.leading_zeros_pair(whole);
        let normal = self.shl_pair(whole, zeros);
        let rest = self.compare(Cmp::Ne, Ty::B32, normal[0], word(0));
        let sticky = self.bit(rest);
        let significand = self.or(normal[1], sticky);
        // Bit 63 stands for 2^(63 - 314) times the operands' exponents, or 2^(63 - 187).
        let by_product = self.sub(exponents, word(124));
        let by_addend = self.add(c.exponent, word(3));
        let exponent = self.select(product_stays, by_product, by_addend);
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack(rounding, sum_sign, exponent, significand)?;
        let any = self.or(whole[0], whole[1]);
        let nothing = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        let exact = match rounding {
            Round::To(Rounding::Rm) => self.select(opposite, word(SIGN), staying_sign),
            _ => self.select(opposite, word(0), staying_sign),
        };
        let value = self.select(nothing, exact, finite);
        let addend = self.or(c.sign, word(INFINITY));
        let value = self.select(c.infinite, addend, value);
        let infinite = self.logic(Op::Or, &[a.infinite, b.infinite]);
        let outward = self.or(sign, word(INFINITY));
        let value = self.select(infinite, outward, value);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, c.nan]);
        let no_number = self.logic(Op::And, &[infinite, no_product]);
        let nan = self.logic(Op::Or, &[nan, no_number]);
        let both = self.logic(Op::And, &[infinite, c.infinite]);
        let cancel = self.xor(sign, c.sign);
        let cancel = self.compare(Cmp::Ne, Ty::B32, cancel, word(0));
        let cancel = self.logic(Op::And, &[both, cancel]);
        let nan = self.logic(Op::Or, &[nan, cancel]);
        Some(self.select(nan, word(NAN), value))
    }

    /// A quotient, by four divisions that give seven bits each.
    fn quotient(&mut self, rounding: Round, a: Operand, b: Operand) -> Option<Operand> {
        let [a, b] = [self.split(a), self.split(b)];
        let sign = self.xor(a.sign, b.sign);
        // A divisor of zero gives no quotient that is looked at.
        let divisor = self.or(b.significand, word(0));
        let (mut rest, mut whole) = (a.significand, word(0));
        for _ in 0..4 {
            let dividend = self.shl(rest, word(7));
            let digit = self.op(Op::Div, Ty::S32, &[dividend, divisor]);
            let product = self.mul(digit, divisor);
            rest = self.sub(dividend, product);
            let up = self.shl(whole, word(7));
            whole = self.add(up, digit);
        }
        let inexact = self.compare(Cmp::Ne, Ty::B32, rest, word(0));
        let sticky = self.bit(inexact);
        let zeros = self.op(Op::Clz, Ty::B32, &[whole]);
        let normal = self.shl(whole, zeros);
        let significand = self.or(normal, sticky);
        let exponent = self.sub(a.exponent, b.exponent);
        let exponent = self.add(exponent, word(130));
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack(rounding, sign, exponent, significand)?;
        let nothing = self.logic(Op::Or, &[a.zero, b.infinite]);
        let value = self.select(nothing, sign, finite);
        let infinite = self.logic(Op::Or, &[a.infinite, b.zero]);
        let outward = self.or(sign, word(INFINITY));
        let value = self.select(infinite, outward, value);
        let zeros = self.logic(Op::And, &[a.zero, b.zero]);
        let infinities = self.logic(Op::And, &[a.infinite, b.infinite]);
        let none = self.logic(Op::Or, &[zeros, infinities]);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, none]);
        Some(self.select(nan, word(NAN), value))
    }

    /// A square root, digit by digit: 26 bits of it and a remainder.
    fn root(&mut self, rounding: Round, a: Operand) -> Option<Operand> {
        let a = self.split(a);
        // Its whole part, of two bits, lies at bit 24: 1 with its fraction, or, where the exponent
        // of two would be odd, twice that.
        let odd = self.and(a.exponent, word(1));
        let up = self.sub(word(2), odd);
        let radicand = self.shl(a.significand, up);
        let (mut rest, mut root) = (word(0), word(0));
        for digit in 0..26u32 {
            let next = match 12u32.checked_sub(digit) {
                Some(at) => {
                    let down = self.shr(radicand, word(2 * at));
                    self.and(down, word(3))
                }
                None => word(0),
            };
            let up = self.shl(rest, word(2));
            rest = self.or(up, next);
            let trial = self.shl(root, word(2));
            let trial = self.or(trial, word(1));
            let left = self.sub(rest, trial);
            let negative = self.sign(left);
            let back = self.and(trial, negative);
            rest = self.add(left, back);
            let doubled = self.shl(root, word(1));
            let digit = self.add(negative, word(1));
            root = self.or(doubled, digit);
        }
        let inexact = self.compare(Cmp::Ne, Ty::B32, rest, word(0));
        let sticky = self.bit(inexact);
        let zeros = self.op(Op::Clz, Ty::B32, &[root]);
        let normal = self.shl(root, zeros);
        let significand = self.or(normal, sticky);
        // The root's exponent, without its bias, is half of the radicand's.
        let unbiased = self.sub(a.exponent, word(127));
        let half = self.sar(unbiased, word(1));
        let exponent = self.add(half, word(127));
        let finite = self.pack(rounding, word(0), exponent, significand)?;
        let value = self.select(a.infinite, word(INFINITY), finite);
        let negative = self.compare(Cmp::Ne, Ty::B32, a.sign, word(0));
        let nan = self.logic(Op::Or, &[negative, a.nan]);
        let value = self.select(nan, word(NAN), value);
        Some(self.select(a.zero, a.sign, value))
    }

    fn convert_float(&mut self, inst: &Inst, a: Operand) -> Option<Operand> {
        let (ty, from) = (inst.ty?, inst.ty2?);
        let rounding = inst.mods.rounding;
        match (ty, from) {
            (Ty::F32, Ty::F32) if integral(rounding) => self.integral(rounding?, a),
            (Ty::F32, Ty::F32) => {
                let nan = self.compare(Cmp::Nan, Ty::F32, a, a);
                Some(self.select(nan, word(NAN), a))
            }
            (Ty::F32, Ty::U32) if matches!(rounding, None | Some(Rounding::Rn)) => {
                // Half of it, its lowest bit kept as a sticky one, converts as a signed number.
                let (half, bit) = (self.shr(a, word(1)), self.and(a, word(1)));
                let half = self.or(half, bit);
                let half = self.signed_to_float(half);
                let twice = self.op(Op::Add, Ty::F32, &[half, half]);
                let plain = self.signed_to_float(a);
                let large = self.compare(Cmp::Lt, Ty::S32, a, word(0));
                Some(self.select(large, twice, plain))
            }
            (Ty::S32 | Ty::U32, Ty::F32) => {
                let whole = match rounding {
                    Some(Rounding::Rzi | Rounding::Rz) => a,
                    Some(rounding) => self.integral(rounding, a)?,
                    None => return None,
                };
                let low = self.float_to_signed(whole);
                if ty == Ty::S32 {
                    return Some(low);
                }
                let bound = word(0x4f00_0000);
                let less = self.op(Op::Sub, Ty::F32, &[whole, bound]);
                let high = self.float_to_signed(less);
                let high = self.xor(high, word(SIGN));
                let large = self.compare(Cmp::Ge, Ty::F32, whole, bound);
                let value = self.select(large, high, low);
                let positive = self.compare(Cmp::Gt, Ty::F32, whole, word(0));
                Some(self.select(positive, value, word(0)))
            }
            _ => None,
        }
    }

    fn signed_to_float(&mut self, a: Operand) -> Operand {
        let mut convert = Inst::new(Op::Cvt).ty(Ty::F32).operand(a);
        (convert.ty2, convert.mods.rounding) = (Some(Ty::S32), Some(Rounding::Rn));
        self.value(convert)
    }

    fn float_to_signed(&mut self, a: Operand) -> Operand {
        let mut convert = Inst::new(Op::Cvt).ty(Ty::S32).operand(a);
        (convert.ty2, convert.mods.rounding) = (Some(Ty::F32), Some(Rounding::Rzi));
        self.value(convert)
    }

    /// An integral float. From 2^23 on every float is one.
    fn integral(&mut self, rounding: Rounding, a: Operand) -> Option<Operand> {
        let (sign, magnitude) = (self.and(a, word(SIGN)), self.and(a, word(!SIGN)));
        let truncated = self.float_to_signed(a);
        let truncated = self.signed_to_float(truncated);
        let value = match rounding {
            Rounding::Rzi => truncated,
            Rounding::Rni => {
                let bound = word(0x4b00_0000);
                let up = self.op(Op::Add, Ty::F32, &[magnitude, bound]);
                self.op(Op::Sub, Ty::F32, &[up, bound])
            }
            Rounding::Rmi => {
                let above = self.compare(Cmp::Gt, Ty::F32, truncated, a);
                let one = self.select(above, word(ONE), word(0));
                self.op(Op::Sub, Ty::F32, &[truncated, one])
            }
            Rounding::Rpi => {
                let below = self.compare(Cmp::Lt, Ty::F32, truncated, a);
                let one = self.select(below, word(ONE), word(0));
                self.op(Op::Add, Ty::F32, &[truncated, one])
            }
            _ => return None,
        };
        let value = self.and(value, word(!SIGN));
        let value = self.or(value, sign);
        // NaN is made canonical; the others are themselves.
        let large = self.compare(Cmp::Hs, Ty::U32, magnitude, word(0x4b00_0000));
        let value = self.select(large, a, value);
        let nan = self.compare(Cmp::Hi, Ty::U32, magnitude, word(INFINITY));
        Some(self.select(nan, word(NAN), value))
    }
}
