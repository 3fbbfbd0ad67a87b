//! Arithmetic on 64-bit integers as pairs of words.
//!
//! Sequences follow Warren, Hacker's Delight (2nd edition), chapters 2 and 8. Shifts rely on the
//! IR's rule that an amount beyond the width gives zero (or the sign).

use super::build::{Builder, constant, word};
use super::integer::Sums;
use ir::mods::Cmp;
use ir::{Op, Operand, Ty};

/// The low and the high word.
pub(super) type Pair = [Operand; 2];

/// Sums of pairs with carries.
pub(super) const PAIRS: Sums<Pair> = Sums {
    add: Builder::add_pair,
    not: |build, a| build.both(a, Builder::not),
    mul: Builder::mul_pair,
    mul_high: Builder::mul_high_pair,
    below: |build, a, b| build.compare_pair(Cmp::Lo, false, a, b),
    bit: |build, p| [build.bit(p), word(0)],
};

impl Builder {
    pub(super) fn add_pair(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.add(a[0], b[0]);
        let high = self.add(a[1], b[1]);
        if constant(b[0]) == Some(0) || constant(a[0]) == Some(0) {
            return [low, high];
        }
        let carry = self.compare(Cmp::Lo, Ty::U32, low, b[0]);
        let carry = self.bit(carry);
        [low, self.add(high, carry)]
    }

    pub(super) fn sub_pair(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.sub(a[0], b[0]);
        let high = self.sub(a[1], b[1]);
        if constant(b[0]) == Some(0) {
            return [low, high];
        }
        let borrow = self.compare(Cmp::Lo, Ty::U32, a[0], b[0]);
        let borrow = self.bit(borrow);
        [low, self.sub(high, borrow)]
    }

    pub(super) fn negate_pair(&mut self, a: Pair) -> Pair {
        self.sub_pair([word(0), word(0)], a)
    }

    /// The whole product of two words.
    pub(super) fn mul_wide(&mut self, signed: bool, a: Operand, b: Operand) -> Pair {
        let ty = if signed { Ty::S32 } else { Ty::U32 };
        [self.mul(a, b), self.op(Op::MulHi, ty, &[a, b])]
    }

    /// The low half of the product.
    pub(super) fn mul_pair(&mut self, a: Pair, b: Pair) -> Pair {
        let [low, high] = self.mul_wide(false, a[0], b[0]);
        let (x, y) = (self.mul(a[0], b[1]), self.mul(a[1], b[0]));
        let cross = self.add(x, y);
        [low, self.add(high, cross)]
    }

    /// The high half of the product: schoolbook on words, then the signs' share.
    pub(super) fn mul_high_pair(&mut self, signed: bool, a: Pair, b: Pair) -> Pair {
        let low = self.mul_wide(false, a[0], b[0]);
        let (x, y) = (self.mul_wide(false, a[0], b[1]), self.mul_wide(false, a[1], b[0]));
        let high = self.mul_wide(false, a[1], b[1]);
        let middle = self.add_pair(x, [low[1], word(0)]);
        let middle_low = self.add_pair(y, [middle[0], word(0)]);
        let carried = self.add_pair(high, [middle[1], word(0)]);
        let product = self.add_pair(carried, [middle_low[1], word(0)]);
        if !signed {
            return product;
        }
        let (sign_a, sign_b) = (self.sign(a[1]), self.sign(b[1]));
        let share = self.both(b, |this, b| this.and(b, sign_a));
        let product = self.sub_pair(product, share);
        let share = self.both(a, |this, a| this.and(a, sign_b));
        self.sub_pair(product, share)
    }

    /// Does the same to both words.
    pub(super) fn both(
        &mut self,
        a: Pair,
        mut work: impl FnMut(&mut Self, Operand) -> Operand,
    ) -> Pair {
        [work(self, a[0]), work(self, a[1])]
    }

    /// Does the same to the low and to the high words of two pairs.
    pub(super) fn each(
        &mut self,
        (a, b): (Pair, Pair),
        work: fn(&mut Self, Operand, Operand) -> Operand,
    ) -> Pair {
        [work(self, a[0], b[0]), work(self, a[1], b[1])]
    }

    pub(super) fn select_pair(&mut self, p: Operand, a: Pair, b: Pair) -> Pair {
        [self.select(p, a[0], b[0]), self.select(p, a[1], b[1])]
    }

    pub(super) fn shl_pair(&mut self, a: Pair, amount: Operand) -> Pair {
        let (left, right) = (self.sub(word(32), amount), self.sub(amount, word(32)));
        let low = self.shl(a[0], amount);
        let kept = self.shl(a[1], amount);
        let crossed = self.shr(a[0], left);
        let moved = self.shl(a[0], right);
        let high = self.or(kept, crossed);
        [low, self.or(high, moved)]
    }

    pub(super) fn shr_pair(&mut self, signed: bool, a: Pair, amount: Operand) -> Pair {
        let (left, right) = (self.sub(word(32), amount), self.sub(amount, word(32)));
        let kept = self.shr(a[0], amount);
        let crossed = self.shl(a[1], left);
        let low = self.or(kept, crossed);
        if !signed {
            let moved = self.shr(a[1], right);
            return [self.or(low, moved), self.shr(a[1], amount)];
        }
        // A negative distance, as a large one, would give the sign: it must not be joined.
        let moved = self.sar(a[1], right);
        let short = self.compare(Cmp::Lo, Ty::U32, amount, word(32));
        [self.select(short, low, moved), self.sar(a[1], amount)]
    }

    /// A comparison of 64-bit integers.
    pub(super) fn compare_pair(&mut self, cmp: Cmp, signed: bool, a: Pair, b: Pair) -> Operand {
        use Cmp::{Eq, Ge, Gt, Hi, Hs, Le, Lo, Ls, Lt, Ne};
        match cmp {
            Eq | Ne => {
                let [low, high] = self.each((a, b), Self::xor);
                let differ = self.or(low, high);
                self.compare(cmp, Ty::B32, differ, word(0))
            }
            Lt => self.less(signed, a, b),
            Gt => self.less(signed, b, a),
            Lo => self.less(false, a, b),
            Hi => self.less(false, b, a),
            Ge | Le | Hs | Ls => {
                let (x, y) = if matches!(cmp, Ge | Hs) { (a, b) } else { (b, a) };
                let less = self.less(signed && matches!(cmp, Ge | Le), x, y);
                self.logic(Op::Not, &[less])
            }
            // Of floats alone; the verifier lets none through.
            _ => self.logic(Op::Mov, &[Operand::Imm(0)]),
        }
    }

    fn less(&mut self, signed: bool, a: Pair, b: Pair) -> Operand {
        let ty = if signed { Ty::S32 } else { Ty::U32 };
        let above = self.compare(Cmp::Lt, ty, a[1], b[1]);
        let equal = self.compare(Cmp::Eq, Ty::B32, a[1], b[1]);
        let below = self.compare(Cmp::Lo, Ty::U32, a[0], b[0]);
        let low = self.logic(Op::And, &[equal, below]);
        self.logic(Op::Or, &[above, low])
    }

    /// Leading zeros of a pair.
    pub(super) fn leading_zeros_pair(&mut self, a: Pair) -> Operand {
        let (low, high) = (self.op(Op::Clz, Ty::B32, &[a[0]]), self.op(Op::Clz, Ty::B32, &[a[1]]));
        let beyond = self.add(low, word(32));
        let empty = self.compare(Cmp::Eq, Ty::B32, a[1], word(0));
        self.select(empty, beyond, high)
    }

    /// A quotient and a remainder, bit by bit: by zero the quotient is all ones and the remainder
    /// the dividend.
    pub(super) fn divide_pair(&mut self, signed: bool, a: Pair, b: Pair) -> [Pair; 2] {
        if !signed {
            return self.divide_pair_unsigned(a, b);
        }
        let (sign_a, sign_b) = (self.sign(a[1]), self.sign(b[1]));
        let (x, y) = (self.negate_if(a, sign_a), self.negate_if(b, sign_b));
        let [quotient, rest] = self.divide_pair_unsigned(x, y);
        let sign = self.xor(sign_a, sign_b);
        let quotient = self.negate_if(quotient, sign);
        let any = self.or(b[0], b[1]);
        let by_zero = self.compare(Cmp::Eq, Ty::B32, any, word(0));
        let quotient = self.select_pair(by_zero, [word(u32::MAX); 2], quotient);
        [quotient, self.negate_if(rest, sign_a)]
    }

    /// The negation where a mask is all ones, the value where it is zero.
    fn negate_if(&mut self, a: Pair, mask: Operand) -> Pair {
        let flipped = self.both(a, |this, a| this.xor(a, mask));
        self.sub_pair(flipped, [mask, mask])
    }

    fn divide_pair_unsigned(&mut self, a: Pair, b: Pair) -> [Pair; 2] {
        let (mut rest, mut quotient) = ([word(0), word(0)], a);
        for _ in 0..64 {
            // What leaves the quotient's top enters the remainder.
            let beyond = self.shr(rest[1], word(31));
            let next = self.shr(quotient[1], word(31));
            rest = self.shl_pair(rest, word(1));
            rest[0] = self.or(rest[0], next);
            quotient = self.shl_pair(quotient, word(1));
            let less = self.compare_pair(Cmp::Lo, false, rest, b);
            let less = self.bit(less);
            let fits = self.xor(less, word(1));
            let fits = self.or(fits, beyond);
            let mask = self.sub(word(0), fits);
            let taken = self.both(b, |this, b| this.and(b, mask));
            rest = self.sub_pair(rest, taken);
            quotient[0] = self.or(quotient[0], fits);
        }
        [quotient, rest]
    }
}
