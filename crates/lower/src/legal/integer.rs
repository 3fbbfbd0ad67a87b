//! Sequences for operations on words as integers and as bits.
//!
//! Most are from Warren, Hacker's Delight (2nd edition): high products (8-2), unsigned division by
//! a signed one (9-3), population count (5-1), leading zeros (5-3), reversal (7-1). What the
//! operations do with amounts and fields beyond the width is the PTX ISA's rule, as in
//! `simt::arith`.

use super::build::{Builder, constant, word};
use super::ops::{operand, result};
use ir::mods::{BoolOp, Cmp, Flag, Flags};
use ir::{Inst, Op, Operand, Ty};

/// What sums with carries need of values of a width.
pub(super) struct Sums<V> {
    pub(super) add: fn(&mut Builder, V, V) -> V,
    pub(super) not: fn(&mut Builder, V) -> V,
    pub(super) mul: fn(&mut Builder, V, V) -> V,
    /// The high half of a product, signed or not.
    pub(super) mul_high: fn(&mut Builder, bool, V, V) -> V,
    /// Whether one number is below another.
    pub(super) below: fn(&mut Builder, V, V) -> Operand,
    /// A predicate as 0 or 1.
    pub(super) bit: fn(&mut Builder, Operand) -> V,
}

/// Words.
const WORDS: Sums<Operand> = Sums {
    add: |build, a, b| build.op(Op::Add, Ty::U32, &[a, b]),
    not: Builder::not,
    mul: Builder::mul,
    mul_high: |build, signed, a, b| {
        build.op(Op::MulHi, if signed { Ty::S32 } else { Ty::U32 }, &[a, b])
    },
    below: |build, a, b| build.compare(Cmp::Lo, Ty::U32, a, b),
    bit: Builder::bit,
};

/// Registers of 64 bits.
const CELLS: Sums<Operand> = Sums {
    add: |build, a, b| build.wide(Op::Add, Ty::U64, &[a, b]),
    not: |build, a| build.wide(Op::Not, Ty::B64, &[a]),
    mul: |build, a, b| build.wide(Op::Mul, Ty::U64, &[a, b]),
    mul_high: |build, signed, a, b| {
        build.wide(Op::MulHi, if signed { Ty::S64 } else { Ty::U64 }, &[a, b])
    },
    below: |build, a, b| build.compare(Cmp::Lo, Ty::U64, a, b),
    bit: |build, p| build.wide(Op::Selp, Ty::B64, &[Operand::Imm(1), Operand::Imm(0), p]),
};

/// The operand that is the carry of a sum.
pub(super) fn carry_at(op: Op) -> usize {
    if matches!(op, Op::MadCarry | Op::MadHiCarry) { 3 } else { 2 }
}

impl Builder {
    /// Emits the sequence for an operation on integers; `None` if there is none.
    pub(super) fn expand_integer(&mut self, inst: &Inst) -> Option<()> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let signed = ty.is_signed();
        let [a, b, c] = [operand(inst, 0), operand(inst, 1), operand(inst, 2)];
        let kept = Flags::of(&[Flag::Wrap, Flag::ShiftAmt, Flag::Upper]);
        let value = match inst.op {
            Op::Slct => return self.select_by_sign(inst),
            Op::AndNot if ty == Ty::Pred => {
                let b = self.logic(Op::Not, &[b]);
                self.logic(Op::And, &[a, b])
            }
            Op::AddCarry | Op::SubCarry | Op::MadCarry | Op::MadHiCarry if ty.bits() == 64 => {
                self.with_carry_wide(inst, [a, b, c]);
                return Some(());
            }
            _ if !matches!(ty, Ty::U32 | Ty::S32 | Ty::B32) => return None,
            _ if !inst.mods.flags.is_subset(kept) => return None,
            Op::Mad => {
                let product = self.mul(a, b);
                self.add(product, c)
            }
            Op::MulHi => self.mul_high(signed, a, b),
            Op::MadHi => {
                let high = self.op(Op::MulHi, ty, &[a, b]);
                self.add(high, c)
            }
            Op::Mul24 | Op::Mad24 | Op::Mul24Hi | Op::Mad24Hi => self.product24(inst, a, b, c),
            Op::AddCarry | Op::SubCarry | Op::MadCarry | Op::MadHiCarry => {
                self.with_carry(inst, [a, b, c]);
                return Some(());
            }
            Op::Sad => {
                let (x, y) = (self.sub(a, b), self.sub(b, a));
                let less = self.compare(Cmp::Lt, ty, a, b);
                let distance = self.select(less, y, x);
                self.add(distance, c)
            }
            Op::Rem if signed => {
                let quotient = self.op(Op::Div, ty, &[a, b]);
                let product = self.mul(quotient, b);
                self.sub(a, product)
            }
            Op::Div | Op::Rem if !signed => self.divide_unsigned(inst.op, a, b),
            Op::Abs if !signed => a,
            Op::Abs => {
                let sign = self.sign(a);
                let folded = self.xor(a, sign);
                self.sub(folded, sign)
            }
            Op::Neg => self.sub(word(0), a),
            Op::Min | Op::Max => {
                let mut value = self.extreme(inst.op, ty, a, b);
                if inst.operands.len() > 2 {
                    value = self.extreme(inst.op, ty, value, c);
                }
                value
            }
            Op::Not => self.xor(a, word(u32::MAX)),
            Op::AndNot => {
                let b = self.not(b);
                self.and(a, b)
            }
            Op::Cnot => {
                let empty = self.compare(Cmp::Eq, Ty::B32, a, word(0));
                self.bit(empty)
            }
            Op::Lop3 => return self.truth_table(inst),
            Op::ShfL | Op::ShfR => self.funnel(inst, a, b, c),
            Op::Bfe => self.extract(signed, a, b, c),
            Op::Bfi => self.insert(inst),
            Op::Bfind => self.find(inst, signed, a),
            Op::Brev => self.reverse(a),
            Op::Popc => self.ones(a),
            Op::Clz => self.leading_zeros(a),
            Op::Prmt => self.permute(inst, [a, b, c])?,
            Op::Bmsk => {
                let wrap = inst.mods.flags.has(Flag::Wrap);
                let (at, length) = match wrap {
                    true => (self.and(a, word(31)), self.and(b, word(31))),
                    false => (a, b),
                };
                let ones = self.low_ones(length);
                self.shl(ones, at)
            }
            Op::Dp4a => self.dot(inst, 8),
            Op::Dp2a => self.dot(inst, 16),
            _ => return None,
        };
        self.put(result(inst, 0), value);
        Some(())
    }

    /// The high word of a product, by products of halves.
    fn mul_high(&mut self, signed: bool, a: Operand, b: Operand) -> Operand {
        let halves = |this: &mut Self, x| [this.and(x, word(0xffff)), this.shr(x, word(16))];
        let ([al, ah], [bl, bh]) = (halves(self, a), halves(self, b));
        let low = self.mul(al, bl);
        let carry = self.shr(low, word(16));
        let cross = self.mul(ah, bl);
        let first = self.add(cross, carry);
        let cross = self.mul(al, bh);
        let middle = self.and(first, word(0xffff));
        let second = self.add(cross, middle);
        let high = self.mul(ah, bh);
        let (x, y) = (self.shr(first, word(16)), self.shr(second, word(16)));
        let high = self.add(high, x);
        let high = self.add(high, y);
        if !signed {
            return high;
        }
        let (sign_a, sign_b) = (self.sign(a), self.sign(b));
        let (x, y) = (self.and(sign_a, b), self.and(sign_b, a));
        let high = self.sub(high, x);
        self.sub(high, y)
    }

    fn product24(&mut self, inst: &Inst, a: Operand, b: Operand, c: Operand) -> Operand {
        let ty = inst.ty.unwrap_or(Ty::U32);
        let low24 = |this: &mut Self, x| match ty.is_signed() {
            true => {
                let up = this.shl(x, word(8));
                this.sar(up, word(8))
            }
            false => this.and(x, word(0xff_ffff)),
        };
        let (a, b) = (low24(self, a), low24(self, b));
        let low = self.mul(a, b);
        let value = if matches!(inst.op, Op::Mul24Hi | Op::Mad24Hi) {
            let high = self.op(Op::MulHi, ty, &[a, b]);
            let (x, y) = (self.shl(high, word(16)), self.shr(low, word(16)));
            self.or(x, y)
        } else {
            low
        };
        match inst.op {
            Op::Mad24 | Op::Mad24Hi => self.add(value, c),
            _ => value,
        }
    }

    fn with_carry(&mut self, inst: &Inst, operands: [Operand; 3]) {
        let carry = operand(inst, carry_at(inst.op));
        let (sum, out) = self.sum_with_carry(inst, operands, carry, &WORDS);
        self.put(result(inst, 0), sum);
        self.put(result(inst, 1), out);
    }

    /// The same on registers of 64 bits.
    fn with_carry_wide(&mut self, inst: &Inst, operands: [Operand; 3]) {
        let carry = operand(inst, carry_at(inst.op));
        let (sum, out) = self.sum_with_carry(inst, operands, carry, &CELLS);
        if let Some(to) = result(inst, 0) {
            let mov = Inst::new(Op::Mov).ty(Ty::B64).operand(sum);
            self.emit(mov.result(ir::Reg::Lane(to)));
        }
        self.put(result(inst, 1), out);
    }

    /// The sum of an operation with a carry in, and its carry out.
    pub(super) fn sum_with_carry<V: Copy>(
        &mut self,
        inst: &Inst,
        [a, b, c]: [V; 3],
        carry: Operand,
        on: &Sums<V>,
    ) -> (V, Operand) {
        let signed = inst.ty.is_some_and(Ty::is_signed);
        let (a, b) = match inst.op {
            Op::AddCarry => (a, b),
            Op::SubCarry => (a, (on.not)(self, b)),
            Op::MadCarry => ((on.mul)(self, a, b), c),
            _ => ((on.mul_high)(self, signed, a, b), c),
        };
        let sum = (on.add)(self, a, b);
        let first = (on.below)(self, sum, b);
        let carry = (on.bit)(self, carry);
        let whole = (on.add)(self, sum, carry);
        let second = (on.below)(self, whole, sum);
        (whole, self.logic(Op::Or, &[first, second]))
    }

    /// By a divisor of 2^31 or more the quotient is 0 or 1; else half of the dividend is divided.
    /// By zero it is all ones, and the remainder the dividend.
    fn divide_unsigned(&mut self, op: Op, a: Operand, b: Operand) -> Operand {
        let half = self.shr(a, word(1));
        let quotient = self.op(Op::Div, Ty::S32, &[half, b]);
        let quotient = self.shl(quotient, word(1));
        let large = self.compare(Cmp::Lt, Ty::S32, b, word(0));
        let quotient = self.select(large, word(0), quotient);
        let product = self.mul(quotient, b);
        let rest = self.sub(a, product);
        let more = self.compare(Cmp::Hs, Ty::U32, rest, b);
        if op == Op::Div {
            let one = self.bit(more);
            return self.add(quotient, one);
        }
        let less = self.sub(rest, b);
        self.select(more, less, rest)
    }

    fn extreme(&mut self, op: Op, ty: Ty, a: Operand, b: Operand) -> Operand {
        let less = self.compare(Cmp::Lt, ty, a, b);
        match op {
            Op::Min => self.select(less, a, b),
            _ => self.select(less, b, a),
        }
    }

    /// A function of three bits, by its truth table: for each value of the third one a function of
    /// two.
    fn truth_table(&mut self, inst: &Inst) -> Option<()> {
        let [a, b, c] = [operand(inst, 0), operand(inst, 1), operand(inst, 2)];
        let table = constant(operand(inst, 3))?;
        let pick = |first: u32| (0..4).fold(0, |f, i| f | (table >> (2 * i + first) & 1) << i);
        let (off, on) = (self.of_two(pick(0), a, b), self.of_two(pick(1), a, b));
        let differ = self.xor(off, on);
        let flip = self.and(differ, c);
        let value = self.xor(off, flip);
        if let Some(join) = inst.mods.bool_op
            && let Some(to) = result(inst, 1)
        {
            let any = self.compare(Cmp::Ne, Ty::B32, value, word(0));
            let op = match join {
                BoolOp::And => Op::And,
                BoolOp::Or => Op::Or,
                BoolOp::Xor => Op::Xor,
            };
            let joined = self.logic(op, &[any, operand(inst, 4)]);
            self.put(Some(to), joined);
        }
        self.put(result(inst, 0), value);
        Some(())
    }

    /// The function of two bits whose value for (a, b) is bit 2a + b of the table.
    fn of_two(&mut self, table: u32, a: Operand, b: Operand) -> Operand {
        if table >> 3 & 1 == 1 && !matches!(table, 0b1000 | 0b1010 | 0b1100 | 0b1110) {
            let complement = self.of_two(!table & 15, a, b);
            return self.not(complement);
        }
        match table {
            0b0000 => word(0),
            0b0001 => {
                let any = self.or(a, b);
                self.not(any)
            }
            0b0010 => {
                let a = self.not(a);
                self.and(a, b)
            }
            0b0011 => self.not(a),
            0b0100 => {
                let b = self.not(b);
                self.and(a, b)
            }
            0b0101 => self.not(b),
            0b0110 => self.xor(a, b),
            0b0111 => {
                let both = self.and(a, b);
                self.not(both)
            }
            0b1000 => self.and(a, b),
            0b1010 => b,
            0b1100 => a,
            _ => self.or(a, b),
        }
    }

    fn funnel(&mut self, inst: &Inst, low: Operand, high: Operand, amount: Operand) -> Operand {
        let amount = match inst.mods.flags.has(Flag::Wrap) {
            true => self.and(amount, word(31)),
            false => self.at_most(amount, 32),
        };
        let left = self.sub(word(32), amount);
        let (x, y) = match inst.op {
            Op::ShfL => (self.shl(high, amount), self.shr(low, left)),
            _ => (self.shr(low, amount), self.shl(high, left)),
        };
        self.or(x, y)
    }

    /// As many ones as a word says, from the low end; a word of ones from 32 on.
    fn low_ones(&mut self, count: Operand) -> Operand {
        let above = self.shl(word(1), count);
        let ones = self.sub(above, word(1));
        match constant(count) {
            Some(32..) => word(u32::MAX),
            _ => ones,
        }
    }

    fn extract(&mut self, signed: bool, a: Operand, at: Operand, length: Operand) -> Operand {
        let (at, length) = (self.and(at, word(0xff)), self.and(length, word(0xff)));
        if !signed {
            let moved = self.shr(a, at);
            let ones = self.low_ones(length);
            return self.and(moved, ones);
        }
        let moved = self.sar(a, at);
        let length = self.at_most(length, 32);
        let above = self.sub(word(32), length);
        let up = self.shl(moved, above);
        self.sar(up, above)
    }

    fn insert(&mut self, inst: &Inst) -> Operand {
        let (field, into) = (operand(inst, 0), operand(inst, 1));
        let at = self.and(operand(inst, 2), word(0xff));
        let length = self.and(operand(inst, 3), word(0xff));
        let ones = self.low_ones(length);
        let mask = self.shl(ones, at);
        let field = self.shl(field, at);
        let differ = self.xor(into, field);
        let flip = self.and(differ, mask);
        self.xor(into, flip)
    }

    /// The position of the highest bit that differs from the sign, or its distance from the top.
    fn find(&mut self, inst: &Inst, signed: bool, a: Operand) -> Operand {
        let a = match signed {
            true => {
                let sign = self.sign(a);
                self.xor(a, sign)
            }
            false => a,
        };
        let zeros = self.op(Op::Clz, Ty::B32, &[a]);
        if inst.mods.flags.has(Flag::ShiftAmt) {
            let none = self.compare(Cmp::Eq, Ty::B32, a, word(0));
            return self.select(none, word(u32::MAX), zeros);
        }
        self.sub(word(31), zeros)
    }

    fn reverse(&mut self, a: Operand) -> Operand {
        let mut value = a;
        for (distance, mask) in
            [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f), (8, 0x00ff_00ff)]
        {
            let low = self.and(value, word(mask));
            let low = self.shl(low, word(distance));
            let high = self.shr(value, word(distance));
            let high = self.and(high, word(mask));
            value = self.or(low, high);
        }
        let (low, high) = (self.shl(value, word(16)), self.shr(value, word(16)));
        self.or(low, high)
    }

    fn ones(&mut self, a: Operand) -> Operand {
        let pairs = self.shr(a, word(1));
        let pairs = self.and(pairs, word(0x5555_5555));
        let pairs = self.sub(a, pairs);
        let high = self.shr(pairs, word(2));
        let high = self.and(high, word(0x3333_3333));
        let low = self.and(pairs, word(0x3333_3333));
        let fours = self.add(low, high);
        let high = self.shr(fours, word(4));
        let bytes = self.add(fours, high);
        let bytes = self.and(bytes, word(0x0f0f_0f0f));
        let sum = self.mul(bytes, word(0x0101_0101));
        self.shr(sum, word(24))
    }

    /// The ones below the highest one and it itself, then what is left.
    fn leading_zeros(&mut self, a: Operand) -> Operand {
        let mut smeared = a;
        for distance in [1, 2, 4, 8, 16] {
            let down = self.shr(smeared, word(distance));
            smeared = self.or(smeared, down);
        }
        let above = self.not(smeared);
        self.op(Op::Popc, Ty::B32, &[above])
    }

    /// Four of eight bytes, in the generic mode alone.
    fn permute(&mut self, inst: &Inst, [a, b, selectors]: [Operand; 3]) -> Option<Operand> {
        if inst.mods.permute.is_some() {
            return None;
        }
        let mut value = word(0);
        for index in 0..4 {
            let byte = match constant(selectors) {
                Some(all) => self.byte(a, b, all >> (4 * index) & 15),
                None => self.byte_by(a, b, selectors, index),
            };
            let byte = self.shl(byte, word(8 * index));
            value = self.or(value, byte);
        }
        Some(value)
    }

    /// The byte of a constant selector: bit 3 replicates its sign.
    fn byte(&mut self, a: Operand, b: Operand, selector: u32) -> Operand {
        let from = if selector & 4 == 0 { a } else { b };
        let up = self.shl(from, word(24 - 8 * (selector & 3)));
        if selector & 8 == 0 {
            return self.shr(up, word(24));
        }
        let sign = self.sign(up);
        self.and(sign, word(0xff))
    }

    fn byte_by(&mut self, a: Operand, b: Operand, selectors: Operand, index: u32) -> Operand {
        let selector = self.shr(selectors, word(4 * index));
        let second = self.and(selector, word(4));
        let first = self.compare(Cmp::Eq, Ty::B32, second, word(0));
        let from = self.select(first, a, b);
        let at = self.and(selector, word(3));
        let at = self.shl(at, word(3));
        let amount = self.sub(word(24), at);
        let up = self.shl(from, amount);
        let (plain, sign) = (self.shr(up, word(24)), self.sign(up));
        let sign = self.and(sign, word(0xff));
        let replicate = self.and(selector, word(8));
        let plainly = self.compare(Cmp::Eq, Ty::B32, replicate, word(0));
        self.select(plainly, plain, sign)
    }

    /// Products of bytes, or of halves and bytes, summed with the third operand.
    fn dot(&mut self, inst: &Inst, first: u32) -> Operand {
        let (ty, ty2) = (inst.ty.unwrap_or(Ty::U32), inst.ty2.unwrap_or(Ty::U32));
        let upper = if inst.mods.flags.has(Flag::Upper) { 16 } else { 0 };
        let mut sum = operand(inst, 2);
        for index in 0..32 / first {
            let a = self.field(operand(inst, 0), index * first, first, ty);
            let b = self.field(operand(inst, 1), upper + index * 8, 8, ty2);
            let product = self.mul(a, b);
            sum = self.add(sum, product);
        }
        sum
    }

    fn field(&mut self, a: Operand, at: u32, bits: u32, ty: Ty) -> Operand {
        let up = self.shl(a, word(32 - bits - at));
        match ty.is_signed() {
            true => self.sar(up, word(32 - bits)),
            false => self.shr(up, word(32 - bits)),
        }
    }
}
