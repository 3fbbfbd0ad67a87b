//! The approximate functions of PTX, by the sequences that define them: operations on binary64,
//! each rounded to nearest (`simt::arith::approx` has their numbers, and says where they come
//! from).
//!
//! What this stage emits are operations on 64-bit floats and integers: those of the machine, or
//! those that later stages put in their place. Nothing branches; both sides of a condition are
//! computed.

use super::Target;
use super::build::{Builder, replace_each, word};
use ir::mods::{Cmp, Flag, Flags, Precision, Rounding};
use ir::{Function, Inst, Op, Operand, Reg, RegTy, Ty};
use simt::arith::approx::constants::{COS, EXP2, HALF_PI, LARGE, LOG2, ROUNDER, SIN, TWO_OVER_PI};
use std::convert::Infallible;

/// All but the sign.
const MAGNITUDE: u64 = u64::MAX >> 1;
/// The lower word of a binary64.
const LOWER: u64 = 0xffff_ffff;
const SMALLEST_NORMAL: u64 = 1 << 52;
const NAN: u64 = MAGNITUDE;

/// The function with sequences for its approximations that the target lacks.
pub(super) fn approximations(function: Function, target: Target) -> Function {
    let mut builder = Builder::new(function);
    let Ok(()) = replace_each::<_, Infallible>(&mut builder, |builder, inst| {
        if (target.has)(&inst) || builder.approximation(&inst).is_none() {
            builder.keep(inst);
        }
        Ok(())
    });
    builder.function
}

fn bits(value: f64) -> Operand {
    long(value.to_bits())
}

fn long(value: u64) -> Operand {
    Operand::Imm(u128::from(value))
}

impl Builder {
    /// Emits the sequence of an approximation; `None` if the instruction is none that has one.
    fn approximation(&mut self, inst: &Inst) -> Option<()> {
        let (ty, op) = (inst.ty?, inst.op);
        let &[a] = inst.operands.as_slice() else { return None };
        let ftz = inst.mods.flags == Flags::of(&[Flag::Ftz]);
        if !ftz && inst.mods.flags != Flags::NONE {
            return None;
        }
        let approximate = inst.mods.precision == Some(Precision::Approx);
        match (op, ty) {
            (Op::Rcp | Op::Rsqrt, Ty::F64) if approximate && ftz => {
                let value = self.upper(op, a);
                return self.give_real(inst, value);
            }
            (Op::Rsqrt, Ty::F64) if approximate => {
                let root = self.real(Op::Sqrt, &[a]);
                let value = self.real(Op::Rcp, &[root]);
                return self.give_real(inst, value);
            }
            (Op::Ex2 | Op::Lg2 | Op::Sin | Op::Cos | Op::Tanh | Op::Rsqrt, Ty::F32) => {}
            (Op::Ex2 | Op::Tanh, Ty::F16 | Ty::Bf16) if !ftz => {}
            _ => return None,
        }
        let a = if ftz { self.flush(a) } else { a };
        let x = self.convert_real(Ty::F64, ty, a, RegTy::B64);
        let value = match op {
            Op::Ex2 => self.exp2(x),
            Op::Lg2 => self.log2(x),
            Op::Sin => self.sine(x, 0),
            Op::Cos => self.sine(x, 1),
            Op::Tanh => self.tanh(x),
            _ => {
                let root = self.real(Op::Sqrt, &[x]);
                self.real(Op::Div, &[bits(1.0), root])
            }
        };
        let held = if ty == Ty::F32 { RegTy::B32 } else { RegTy::B16 };
        let value = self.convert_real(ty, Ty::F64, value, held);
        let value = if ftz { self.flush(value) } else { value };
        let same = if ty == Ty::F32 { Ty::B32 } else { Ty::B16 };
        let mut mov = Inst::new(Op::Mov).ty(same).operand(value);
        mov.results.extend(inst.results.first().copied());
        self.emit(mov);
        Some(())
    }

    fn give_real(&mut self, inst: &Inst, value: Operand) -> Option<()> {
        let mut mov = Inst::new(Op::Mov).ty(Ty::B64).operand(value);
        mov.results.extend(inst.results.first().copied());
        self.emit(mov);
        Some(())
    }

    /// An instruction with 64 bits as its result.
    pub(super) fn wide(&mut self, op: Op, ty: Ty, operands: &[Operand]) -> Operand {
        let to = self.function.new_reg("x", RegTy::B64);
        let mut inst = Inst::new(op).ty(ty);
        inst.operands.extend_from_slice(operands);
        if ty == Ty::F64 && op != Op::Selp {
            inst.mods.rounding = Some(Rounding::Rn);
        }
        self.emit(inst.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    /// An operation on numbers, rounded to nearest.
    fn real(&mut self, op: Op, operands: &[Operand]) -> Operand {
        self.wide(op, Ty::F64, operands)
    }

    fn convert_real(&mut self, ty: Ty, from: Ty, value: Operand, held: RegTy) -> Operand {
        let to = self.function.new_reg("x", held);
        let mut cvt = Inst::new(Op::Cvt).ty(ty).operand(value);
        cvt.ty2 = Some(from);
        let widens = ty == Ty::F64 && matches!(from, Ty::F32 | Ty::F16 | Ty::Bf16);
        cvt.mods.rounding = (!widens).then_some(Rounding::Rn);
        self.emit(cvt.result(Reg::Lane(to)));
        Operand::lane(to)
    }

    fn choose(&mut self, holds: Operand, a: Operand, b: Operand) -> Operand {
        self.wide(Op::Selp, Ty::B64, &[a, b, holds])
    }

    /// Horner's rule, every product and sum rounded.
    fn polynomial(&mut self, coefficients: &[f64], x: Operand) -> Operand {
        let mut terms = coefficients.iter().rev().map(|&c| bits(c));
        let highest = terms.next().unwrap_or_else(|| bits(0.0));
        terms.fold(highest, |sum, c| {
            let product = self.real(Op::Mul, &[sum, x]);
            self.real(Op::Add, &[product, c])
        })
    }

    /// `2^x` as `(1 + p) * scale`, for x within 200 of zero.
    fn exp2_parts(&mut self, x: Operand) -> (Operand, Operand) {
        let shifted = self.real(Op::Add, &[x, bits(ROUNDER)]);
        let whole = self.real(Op::Sub, &[shifted, bits(ROUNDER)]);
        let f = self.real(Op::Sub, &[x, whole]);
        let polynomial = self.polynomial(&EXP2, f);
        let p = self.real(Op::Mul, &[f, polynomial]);
        // The integer and the bias of exponents, shifted into their place.
        let start = ROUNDER.to_bits().wrapping_sub(1023);
        let exponent = self.wide(Op::Sub, Ty::U64, &[shifted, long(start)]);
        (p, self.wide(Op::Shl, Ty::B64, &[exponent, word(52)]))
    }

    fn exp2(&mut self, x: Operand) -> Operand {
        // Beyond these, every result is zero or infinite. A NaN passes.
        let below = self.compare(Cmp::Lt, Ty::F64, x, bits(-200.0));
        let x = self.choose(below, bits(-200.0), x);
        let above = self.compare(Cmp::Gt, Ty::F64, x, bits(200.0));
        let x = self.choose(above, bits(200.0), x);
        let (p, scale) = self.exp2_parts(x);
        let sum = self.real(Op::Add, &[bits(1.0), p]);
        self.real(Op::Mul, &[sum, scale])
    }

    fn log2(&mut self, x: Operand) -> Operand {
        // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
        let middle = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let offset = self.wide(Op::Sub, Ty::U64, &[x, long(middle)]);
        let e = self.wide(Op::Shr, Ty::S64, &[offset, word(52)]);
        let up = self.wide(Op::Shl, Ty::B64, &[e, word(52)]);
        let m = self.wide(Op::Sub, Ty::U64, &[x, up]);
        let (less, more) =
            (self.real(Op::Sub, &[m, bits(1.0)]), self.real(Op::Add, &[m, bits(1.0)]));
        let s = self.real(Op::Div, &[less, more]);
        let square = self.real(Op::Mul, &[s, s]);
        let polynomial = self.polynomial(&LOG2, square);
        let product = self.real(Op::Mul, &[s, polynomial]);
        let e = self.convert_real(Ty::F64, Ty::S64, e, RegTy::B64);
        let value = self.real(Op::Add, &[e, product]);
        // Infinity and NaN are themselves, zero gives minus infinity, what is below it a NaN.
        let normal = self.compare(Cmp::Lt, Ty::F64, x, bits(f64::INFINITY));
        let value = self.choose(normal, value, x);
        let zero = self.compare(Cmp::Eq, Ty::F64, x, bits(0.0));
        let value = self.choose(zero, bits(f64::NEG_INFINITY), value);
        let negative = self.compare(Cmp::Lt, Ty::F64, x, bits(0.0));
        self.choose(negative, long(NAN), value)
    }

    /// The sine of `x` plus that many quarter turns.
    fn sine(&mut self, x: Operand, quarters: u64) -> Operand {
        let (near, r_near) = self.turns_near(x);
        let (far, r_far) = self.turns_far(x);
        let magnitude = self.wide(Op::And, Ty::B64, &[x, long(MAGNITUDE)]);
        let small = self.compare(Cmp::Lt, Ty::F64, magnitude, bits(LARGE));
        let (turns, r) = (self.choose(small, near, far), self.choose(small, r_near, r_far));
        let quadrant = self.wide(Op::Add, Ty::U64, &[turns, long(quarters)]);
        let z = self.real(Op::Mul, &[r, r]);
        let part = |this: &mut Self, coefficients: &[f64]| {
            let polynomial = this.polynomial(coefficients, z);
            let product = this.real(Op::Mul, &[z, polynomial]);
            this.real(Op::Add, &[bits(1.0), product])
        };
        let (odd, cosine) = (part(self, &SIN), part(self, &COS));
        let sine = self.real(Op::Mul, &[r, odd]);
        let side = self.wide(Op::And, Ty::B64, &[quadrant, long(1)]);
        let even = self.compare(Cmp::Eq, Ty::U64, side, long(0));
        let value = self.choose(even, sine, cosine);
        let half = self.wide(Op::And, Ty::B64, &[quadrant, long(2)]);
        let sign = self.wide(Op::Shl, Ty::B64, &[half, word(62)]);
        let value = self.wide(Op::Xor, Ty::B64, &[value, sign]);
        let finite = self.compare(Cmp::Lt, Ty::F64, magnitude, bits(f64::INFINITY));
        self.choose(finite, value, long(NAN))
    }

    /// Quarter turns and the rest of a small angle.
    fn turns_near(&mut self, x: Operand) -> (Operand, Operand) {
        let product = self.real(Op::Mul, &[x, bits(std::f64::consts::FRAC_2_PI)]);
        let shifted = self.real(Op::Add, &[product, bits(ROUNDER)]);
        let n = self.real(Op::Sub, &[shifted, bits(ROUNDER)]);
        let first = self.real(Op::Mul, &[n, bits(HALF_PI.0)]);
        let rest = self.real(Op::Sub, &[x, first]);
        let second = self.real(Op::Mul, &[n, bits(HALF_PI.1)]);
        let r = self.real(Op::Sub, &[rest, second]);
        (self.wide(Op::Sub, Ty::U64, &[shifted, long(ROUNDER.to_bits())]), r)
    }

    /// The same of a large angle (Payne and Hanek): the window of digits whose top one weighs two
    /// quarter turns, times the 24 digits of the angle.
    fn turns_far(&mut self, x: Operand) -> (Operand, Operand) {
        let fraction = self.wide(Op::And, Ty::B64, &[x, long(SMALLEST_NORMAL - 1)]);
        let m = self.wide(Op::Or, Ty::B64, &[fraction, long(SMALLEST_NORMAL)]);
        let m = self.wide(Op::Shr, Ty::U64, &[m, word(29)]);
        let exponent = self.wide(Op::Shr, Ty::U64, &[x, word(52)]);
        let exponent = self.wide(Op::And, Ty::B64, &[exponent, long(0x7ff)]);
        // Of what is not large, the start may be anything.
        let start = self.wide(Op::Sub, Ty::U64, &[exponent, long(1023 + 23 + 2 - 64)]);
        let start = self.convert_word(start);
        let shift = self.and(start, word(63));
        let left = self.sub(word(64), shift);
        let index = self.shr(start, word(6));
        let (first, second) = (
            self.compare(Cmp::Eq, Ty::U32, index, word(0)),
            self.compare(Cmp::Eq, Ty::U32, index, word(1)),
        );
        let digits: Vec<Operand> = (0..3)
            .map(|at| {
                let [a, b, c] = [0, 1, 2].map(|from| long(TWO_OVER_PI[at + from]));
                let other = self.choose(second, b, c);
                self.choose(first, a, other)
            })
            .collect();
        let join = |this: &mut Self, high: Operand, low: Operand| {
            let high = this.wide(Op::Shl, Ty::B64, &[high, shift]);
            let low = this.wide(Op::Shr, Ty::U64, &[low, left]);
            this.wide(Op::Or, Ty::B64, &[high, low])
        };
        let high = join(self, digits[0], digits[1]);
        let low = join(self, digits[1], digits[2]);
        let product = self.wide(Op::Mul, Ty::U64, &[m, low]);
        let carried = self.wide(Op::MulHi, Ty::U64, &[m, low]);
        let upper = self.wide(Op::Mul, Ty::U64, &[m, high]);
        let upper = self.wide(Op::Add, Ty::U64, &[upper, carried]);
        let nearest = self.wide(Op::Add, Ty::U64, &[upper, long(1 << 61)]);
        let n = self.wide(Op::Shr, Ty::U64, &[nearest, word(62)]);
        let above = self.wide(Op::Shl, Ty::B64, &[upper, word(2)]);
        let below = self.wide(Op::Shr, Ty::U64, &[product, word(62)]);
        let fraction = self.wide(Op::Or, Ty::B64, &[above, below]);
        let fraction = self.convert_real(Ty::F64, Ty::S64, fraction, RegTy::B64);
        let scale = std::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0;
        let r = self.real(Op::Mul, &[fraction, bits(scale)]);
        let negative = self.compare(Cmp::Lt, Ty::F64, x, bits(0.0));
        let back = self.wide(Op::Sub, Ty::U64, &[long(0), n]);
        let turned = self.wide(Op::Xor, Ty::B64, &[r, long(!MAGNITUDE)]);
        (self.choose(negative, back, n), self.choose(negative, turned, r))
    }

    /// The low word of 64 bits.
    fn convert_word(&mut self, value: Operand) -> Operand {
        let mut cvt = Inst::new(Op::Cvt).ty(Ty::U32).operand(value);
        cvt.ty2 = Some(Ty::U64);
        self.value(cvt)
    }

    /// `(e^2x - 1) / (e^2x + 1)`, the numerator without cancellation.
    fn tanh(&mut self, x: Operand) -> Operand {
        let magnitude = self.wide(Op::And, Ty::B64, &[x, long(MAGNITUDE)]);
        // From 10 on the result rounds to one.
        let below = self.compare(Cmp::Lt, Ty::F64, magnitude, bits(10.0));
        let t = self.choose(below, magnitude, bits(10.0));
        let t = self.real(Op::Mul, &[t, bits(2.0 * std::f64::consts::LOG2_E)]);
        let (p, scale) = self.exp2_parts(t);
        let less = self.real(Op::Sub, &[scale, bits(1.0)]);
        let product = self.real(Op::Mul, &[scale, p]);
        let numerator = self.real(Op::Add, &[less, product]);
        let denominator = self.real(Op::Add, &[numerator, bits(2.0)]);
        let value = self.real(Op::Div, &[numerator, denominator]);
        let sign = self.wide(Op::And, Ty::B64, &[x, long(!MAGNITUDE)]);
        let value = self.wide(Op::Or, Ty::B64, &[value, sign]);
        let number = self.compare(Cmp::Num, Ty::F64, x, x);
        self.choose(number, value, long(NAN))
    }

    /// `1 / a` or `1 / sqrt(a)` of the upper word, rounded to that word; subnormals are zeros.
    fn upper(&mut self, op: Op, a: Operand) -> Operand {
        let a = self.wide(Op::And, Ty::B64, &[a, long(!LOWER)]);
        let a = self.flush_real(a);
        let root = if op == Op::Rcp { a } else { self.real(Op::Sqrt, &[a]) };
        let y = self.real(Op::Div, &[bits(1.0), root]);
        let odd = self.wide(Op::Shr, Ty::U64, &[y, word(32)]);
        let odd = self.wide(Op::And, Ty::B64, &[odd, long(1)]);
        let sum = self.wide(Op::Add, Ty::U64, &[y, odd]);
        let sum = self.wide(Op::Add, Ty::U64, &[sum, long(LOWER >> 1)]);
        let value = self.wide(Op::And, Ty::B64, &[sum, long(!LOWER)]);
        let value = self.flush_real(value);
        let number = self.compare(Cmp::Num, Ty::F64, y, y);
        self.choose(number, value, long(NAN & !LOWER))
    }

    fn flush_real(&mut self, a: Operand) -> Operand {
        let magnitude = self.wide(Op::And, Ty::B64, &[a, long(MAGNITUDE)]);
        let tiny = self.compare(Cmp::Lo, Ty::U64, magnitude, long(SMALLEST_NORMAL));
        let zero = self.wide(Op::And, Ty::B64, &[a, long(!MAGNITUDE)]);
        self.choose(tiny, zero, a)
    }
}
