//! Sums, products, and both in one.

use super::super::build::{Builder, word};
use super::super::float::Round;
use super::super::pairs::Pair;
use super::{NAN, Parts, SIGN, pair};
use ir::mods::{Cmp, Rounding};
use ir::{Op, Operand, Ty};

/// 128 bits, the low pair first.
type Quad = [Pair; 2];

impl Builder {
    /// `a + b`, rounded once.
    ///
    /// The significands lie with their top bits at bit 62; the one with the smaller exponent moves
    /// down to the other's. Where more than one bit is lost, the sum has no more than two zeros in
    /// front, so the sticky bit lies below what is rounded.
    pub(super) fn double_sum(&mut self, rounding: Round, a: Pair, b: Pair) -> Option<Pair> {
        let [a, b] = [self.split_double(a), self.split_double(b)];
        let distance = self.sub(a.exponent, b.exponent);
        let a_stays = self.compare(Cmp::Ge, Ty::S32, distance, word(0));
        let back = self.sub(word(0), distance);
        let down = self.select(a_stays, distance, back);
        let down = self.at_most(down, 63);
        let [up_a, up_b] = [a.significand, b.significand].map(|s| self.shl_pair(s, word(10)));
        let moving = self.select_pair(a_stays, up_b, up_a);
        let staying = self.select_pair(a_stays, up_a, up_b);
        let moving = self.down(moving, down);
        let exponent = self.select(a_stays, a.exponent, b.exponent);
        let (sum, difference) = (self.add_pair(staying, moving), self.sub_pair(staying, moving));
        let signs = self.xor(a.sign, b.sign);
        let opposite = self.compare(Cmp::Ne, Ty::B32, signs, word(0));
        let negative = self.compare(Cmp::Lt, Ty::S32, difference[1], word(0));
        let turned = self.negate_pair(difference);
        let positive = self.select_pair(negative, turned, difference);
        let whole = self.select_pair(opposite, positive, sum);
        let moving_sign = self.select(a_stays, b.sign, a.sign);
        let staying_sign = self.select(a_stays, a.sign, b.sign);
        let turned_sign = self.select(negative, moving_sign, staying_sign);
        let sign = self.select(opposite, turned_sign, staying_sign);
        let zeros = self.leading_zeros_pair(whole);
        let significand = self.shl_pair(whole, zeros);
        let exponent = self.add(exponent, word(1));
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack_double(rounding, sign, exponent, significand)?;
        let any = self.or(whole[0], whole[1]);
        let nothing = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        let exact = self.exact_zero(rounding, opposite, staying_sign);
        let value = self.select_pair(nothing, exact, finite);
        let value = self.or_infinity(b.infinite, b.sign, value);
        let value = self.or_infinity(a.infinite, a.sign, value);
        let both = self.logic(Op::And, &[a.infinite, b.infinite]);
        let cancel = self.logic(Op::And, &[both, opposite]);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, cancel]);
        Some(self.select_pair(nan, pair(NAN), value))
    }

    /// The zero that a sum is: of two numbers of opposite signs, or of one sign.
    fn exact_zero(&mut self, rounding: Round, opposite: Operand, sign: Operand) -> Pair {
        let apart = match rounding {
            Round::To(Rounding::Rm) => word(SIGN),
            _ => word(0),
        };
        [word(0), self.select(opposite, apart, sign)]
    }

    /// `a * b`, rounded once.
    pub(super) fn double_product(&mut self, rounding: Round, a: Pair, b: Pair) -> Option<Pair> {
        let [a, b] = [self.split_double(a), self.split_double(b)];
        let sign = self.xor(a.sign, b.sign);
        let [x, y] = [a.significand, b.significand].map(|s| self.shl_pair(s, word(11)));
        let (high, low) = (self.mul_high_pair(false, x, y), self.mul_pair(x, y));
        let zeros = self.leading_zeros_pair(high);
        let significand = self.shl_pair(high, zeros);
        let sticky = self.any_bit(low);
        let significand = [self.or(significand[0], sticky), significand[1]];
        let exponent = self.add(a.exponent, b.exponent);
        let exponent = self.sub(exponent, word(1022));
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack_double(rounding, sign, exponent, significand)?;
        let nothing = self.logic(Op::Or, &[a.zero, b.zero]);
        let value = self.select_pair(nothing, [word(0), sign], finite);
        let infinite = self.logic(Op::Or, &[a.infinite, b.infinite]);
        let value = self.or_infinity(infinite, sign, value);
        let none = self.logic(Op::And, &[infinite, nothing]);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, none]);
        Some(self.select_pair(nan, pair(NAN), value))
    }

    /// `a * b + c`, rounded once.
    ///
    /// The product (106 bits) and the addend lie in 128 bits with their top bits at 125 or 126; the
    /// one with the smaller exponent moves down to the other's. Bits are lost only where the other
    /// one's top bit stays, so the sticky bit lies below what is rounded.
    pub(super) fn double_fused(&mut self, rounding: Round, of: [Pair; 3]) -> Option<Pair> {
        let [a, b, c] = of.map(|x| self.split_double(x));
        let sign = self.xor(a.sign, b.sign);
        let x = self.shl_pair(a.significand, word(11));
        let y = self.shl_pair(b.significand, word(10));
        let product = [self.mul_pair(x, y), self.mul_high_pair(false, x, y)];
        let addend = [pair([0, 0]), self.shl_pair(c.significand, word(9))];
        let exponents = self.add(a.exponent, b.exponent);
        let exponents = self.sub(exponents, word(1023));
        let distance = self.sub(exponents, c.exponent);
        // Of a zero the exponent says nothing: the other one stays where it is.
        let no_product = self.logic(Op::Or, &[a.zero, b.zero]);
        let distance = self.select(c.zero, word(0), distance);
        let distance = self.select(no_product, word(127u32.wrapping_neg()), distance);
        let product_stays = self.compare(Cmp::Ge, Ty::S32, distance, word(0));
        let back = self.sub(word(0), distance);
        let down = self.select(product_stays, distance, back);
        let down = self.at_most(down, 127);
        let moving = self.select_quad(product_stays, addend, product);
        let staying = self.select_quad(product_stays, product, addend);
        let moving = self.down_quad(moving, down);
        let moving_sign = self.select(product_stays, c.sign, sign);
        let staying_sign = self.select(product_stays, sign, c.sign);
        let signs = self.xor(moving_sign, staying_sign);
        let opposite = self.compare(Cmp::Ne, Ty::B32, signs, word(0));
        let sum = self.add_quad(staying, moving);
        let difference = self.sub_quad(staying, moving);
        let negative = self.compare(Cmp::Lt, Ty::S32, difference[1][1], word(0));
        let turned = self.sub_quad([pair([0, 0]); 2], difference);
        let positive = self.select_quad(negative, turned, difference);
        let whole = self.select_quad(opposite, positive, sum);
        let turned_sign = self.select(negative, moving_sign, staying_sign);
        let sum_sign = self.select(opposite, turned_sign, staying_sign);
        let zeros = self.leading_zeros_quad(whole);
        let normal = self.shl_quad(whole, zeros);
        let sticky = self.any_bit(normal[0]);
        let significand = [self.or(normal[1][0], sticky), normal[1][1]];
        let exponent = self.select(product_stays, exponents, c.exponent);
        let exponent = self.add(exponent, word(2));
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack_double(rounding, sum_sign, exponent, significand)?;
        let any = self.each((whole[0], whole[1]), Self::or);
        let any = self.or(any[0], any[1]);
        let nothing = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        let exact = self.exact_zero(rounding, opposite, staying_sign);
        let value = self.select_pair(nothing, exact, finite);
        let product = (sign, no_product);
        Some(self.special_fused([&a, &b, &c], product, value))
    }

    /// The value, or what infinities and NaNs among the operands give.
    fn special_fused(
        &mut self,
        [a, b, c]: [&Parts; 3],
        (sign, no_product): (Operand, Operand),
        value: Pair,
    ) -> Pair {
        let value = self.or_infinity(c.infinite, c.sign, value);
        let infinite = self.logic(Op::Or, &[a.infinite, b.infinite]);
        let value = self.or_infinity(infinite, sign, value);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, c.nan]);
        let no_number = self.logic(Op::And, &[infinite, no_product]);
        let nan = self.logic(Op::Or, &[nan, no_number]);
        let both = self.logic(Op::And, &[infinite, c.infinite]);
        let cancel = self.xor(sign, c.sign);
        let cancel = self.compare(Cmp::Ne, Ty::B32, cancel, word(0));
        let cancel = self.logic(Op::And, &[both, cancel]);
        let nan = self.logic(Op::Or, &[nan, cancel]);
        self.select_pair(nan, pair(NAN), value)
    }

    fn select_quad(&mut self, p: Operand, a: Quad, b: Quad) -> Quad {
        [self.select_pair(p, a[0], b[0]), self.select_pair(p, a[1], b[1])]
    }

    fn add_quad(&mut self, a: Quad, b: Quad) -> Quad {
        let low = self.add_pair(a[0], b[0]);
        let carry = self.compare_pair(Cmp::Lo, false, low, b[0]);
        let carry = self.bit(carry);
        let high = self.add_pair(a[1], b[1]);
        [low, self.add_pair(high, [carry, word(0)])]
    }

    fn sub_quad(&mut self, a: Quad, b: Quad) -> Quad {
        let low = self.sub_pair(a[0], b[0]);
        let borrow = self.compare_pair(Cmp::Lo, false, a[0], b[0]);
        let borrow = self.bit(borrow);
        let high = self.sub_pair(a[1], b[1]);
        [low, self.sub_pair(high, [borrow, word(0)])]
    }

    fn leading_zeros_quad(&mut self, a: Quad) -> Operand {
        let (low, high) = (self.leading_zeros_pair(a[0]), self.leading_zeros_pair(a[1]));
        let beyond = self.add(low, word(64));
        let all = self.compare(Cmp::Eq, Ty::B32, high, word(64));
        self.select(all, beyond, high)
    }

    /// By 127 at most.
    fn shl_quad(&mut self, a: Quad, amount: Operand) -> Quad {
        let far = self.compare(Cmp::Hs, Ty::U32, amount, word(64));
        let [low, high] = self.select_quad(far, [pair([0, 0]), a[0]], a);
        let amount = self.and(amount, word(63));
        let left = self.sub(word(64), amount);
        let crossed = self.shr_pair(false, low, left);
        let moved = self.shl_pair(high, amount);
        [self.shl_pair(low, amount), self.each((moved, crossed), Self::or)]
    }

    /// Moved down by 127 at most, with a sticky bit for what is lost.
    pub(super) fn down_quad(&mut self, a: Quad, amount: Operand) -> Quad {
        let far = self.compare(Cmp::Hs, Ty::U32, amount, word(64));
        let [low, high] = self.select_quad(far, [a[1], pair([0, 0])], a);
        let sunk = self.any_bit(a[0]);
        let sunk = self.select(far, sunk, word(0));
        let amount = self.and(amount, word(63));
        let left = self.sub(word(64), amount);
        let lost = self.shl_pair(low, left);
        let lost = self.any_bit(lost);
        let sticky = self.or(lost, sunk);
        let crossed = self.shl_pair(high, left);
        let moved = self.shr_pair(false, low, amount);
        let [first, second] = self.each((moved, crossed), Self::or);
        [[self.or(first, sticky), second], self.shr_pair(false, high, amount)]
    }
}
