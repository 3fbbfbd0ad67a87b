//! Quotients and square roots, bit by bit.

use super::super::build::{Builder, word};
use super::super::float::Round;
use super::super::pairs::Pair;
use super::{INFINITY, NAN, SIGN, pair};
use ir::mods::Cmp;
use ir::{Op, Ty};

/// Bits of a result: those of the significand, one that may be lost in front, and one behind.
const BITS: u32 = 55;

impl Builder {
    /// `a / b`, rounded once.
    pub(super) fn double_quotient(&mut self, rounding: Round, a: Pair, b: Pair) -> Option<Pair> {
        let [a, b] = [self.split_double(a), self.split_double(b)];
        let sign = self.xor(a.sign, b.sign);
        let divisor = b.significand;
        let (mut rest, mut whole) = (a.significand, pair([0, 0]));
        for _ in 0..BITS {
            let left = self.sub_pair(rest, divisor);
            let negative = self.sign(left[1]);
            let back = self.both(divisor, |this, d| this.and(d, negative));
            let left = self.add_pair(left, back);
            rest = self.shl_pair(left, word(1));
            let digit = self.add(negative, word(1));
            let [low, high] = self.shl_pair(whole, word(1));
            whole = [self.or(low, digit), high];
        }
        let sticky = self.any_bit(rest);
        let zeros = self.leading_zeros_pair(whole);
        let normal = self.shl_pair(whole, zeros);
        let significand = [self.or(normal[0], sticky), normal[1]];
        // The first digit weighs the quotient of the exponents, and has nine zeros in front.
        let exponent = self.sub(a.exponent, b.exponent);
        let exponent = self.add(exponent, word(1023 + 64 - BITS));
        let exponent = self.sub(exponent, zeros);
        let finite = self.pack_double(rounding, sign, exponent, significand)?;
        let nothing = self.logic(Op::Or, &[a.zero, b.infinite]);
        let value = self.select_pair(nothing, [word(0), sign], finite);
        let infinite = self.logic(Op::Or, &[a.infinite, b.zero]);
        let value = self.or_infinity(infinite, sign, value);
        let zeros = self.logic(Op::And, &[a.zero, b.zero]);
        let infinities = self.logic(Op::And, &[a.infinite, b.infinite]);
        let none = self.logic(Op::Or, &[zeros, infinities]);
        let nan = self.logic(Op::Or, &[a.nan, b.nan]);
        let nan = self.logic(Op::Or, &[nan, none]);
        Some(self.select_pair(nan, pair(NAN), value))
    }

    /// The square root, rounded once.
    pub(super) fn double_root(&mut self, rounding: Round, a: Pair) -> Option<Pair> {
        let a = self.split_double(a);
        // Its whole part, of two bits, lies at bits 54 and 55: 1 with its fraction, or, where the
        // exponent of two would be odd, twice that.
        let odd = self.and(a.exponent, word(1));
        let up = self.sub(word(3), odd);
        let radicand = self.shl_pair(a.significand, up);
        let (mut rest, mut root) = (pair([0, 0]), pair([0, 0]));
        for digit in 0..BITS {
            let next = match 54u32.checked_sub(2 * digit) {
                Some(at) => {
                    let down = self.shr_pair(false, radicand, word(at));
                    self.and(down[0], word(3))
                }
                None => word(0),
            };
            let [low, high] = self.shl_pair(rest, word(2));
            rest = [self.or(low, next), high];
            let [low, high] = self.shl_pair(root, word(2));
            let trial = [self.or(low, word(1)), high];
            let left = self.sub_pair(rest, trial);
            let negative = self.sign(left[1]);
            let back = self.both(trial, |this, d| this.and(d, negative));
            rest = self.add_pair(left, back);
            let digit = self.add(negative, word(1));
            let [low, high] = self.shl_pair(root, word(1));
            root = [self.or(low, digit), high];
        }
        let sticky = self.any_bit(rest);
        let zeros = self.leading_zeros_pair(root);
        let normal = self.shl_pair(root, zeros);
        let significand = [self.or(normal[0], sticky), normal[1]];
        // The root's exponent, without its bias, is half of the radicand's.
        let unbiased = self.sub(a.exponent, word(1023));
        let half = self.sar(unbiased, word(1));
        let exponent = self.add(half, word(1023));
        let finite = self.pack_double(rounding, word(0), exponent, significand)?;
        let value = self.select_pair(a.infinite, pair([0, INFINITY]), finite);
        let negative = self.compare(Cmp::Eq, Ty::B32, a.sign, word(SIGN));
        let nan = self.logic(Op::Or, &[negative, a.nan]);
        let value = self.select_pair(nan, pair(NAN), value);
        Some(self.select_pair(a.zero, [word(0), a.sign], value))
    }
}
