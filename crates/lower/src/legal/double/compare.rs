//! Comparisons and extremes.

use super::super::build::{Builder, word};
use super::super::pairs::Pair;
use super::{INFINITY, NAN, SIGN, pair};
use ir::mods::Cmp;
use ir::{Op, Operand, Ty};

impl Builder {
    /// A comparison; `None` if it is none of floats.
    pub(super) fn compare_double(&mut self, cmp: Cmp, a: Pair, b: Pair) -> Option<Operand> {
        use Cmp::{Eq, Equ, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ltu, Nan, Ne, Neu, Num};
        let nans = [self.is_nan_double(a), self.is_nan_double(b)];
        let unordered = self.logic(Op::Or, &nans);
        let value = match cmp {
            Nan => return Some(unordered),
            Num => return Some(self.logic(Op::Not, &[unordered])),
            Eq | Equ => self.equal_double(a, b),
            Ne | Neu => {
                let equal = self.equal_double(a, b);
                self.logic(Op::Not, &[equal])
            }
            Lt | Ltu => self.less_double(a, b),
            Gt | Gtu => self.less_double(b, a),
            Le | Leu => {
                let above = self.less_double(b, a);
                self.logic(Op::Not, &[above])
            }
            Ge | Geu => {
                let below = self.less_double(a, b);
                self.logic(Op::Not, &[below])
            }
            _ => return None,
        };
        let join = matches!(cmp, Equ | Neu | Ltu | Gtu | Leu | Geu);
        if join {
            return Some(self.logic(Op::Or, &[value, unordered]));
        }
        let ordered = self.logic(Op::Not, &[unordered]);
        Some(self.logic(Op::And, &[value, ordered]))
    }

    pub(super) fn is_nan_double(&mut self, a: Pair) -> Operand {
        let magnitude = [a[0], self.and(a[1], word(!SIGN))];
        self.compare_pair(Cmp::Hi, false, magnitude, pair([0, INFINITY]))
    }

    /// Whether both are zeros, of any sign.
    fn both_zero(&mut self, a: Pair, b: Pair) -> Operand {
        let [low, high] = self.each((a, b), Self::or);
        let high = self.and(high, word(!SIGN));
        let any = self.or(low, high);
        self.compare(Cmp::Eq, Ty::B32, any, word(0))
    }

    /// Of numbers.
    fn equal_double(&mut self, a: Pair, b: Pair) -> Operand {
        let same = self.compare_pair(Cmp::Eq, false, a, b);
        let zeros = self.both_zero(a, b);
        self.logic(Op::Or, &[same, zeros])
    }

    /// Of numbers: their bits are in order as integers, the other way round if they are negative.
    fn less_double(&mut self, a: Pair, b: Pair) -> Operand {
        let [a_key, b_key] = [a, b].map(|x| {
            let sign = self.sign(x[1]);
            let high = self.and(sign, word(!SIGN));
            [self.xor(x[0], sign), self.xor(x[1], high)]
        });
        let less = self.compare_pair(Cmp::Lt, true, a_key, b_key);
        let zeros = self.both_zero(a, b);
        let apart = self.logic(Op::Not, &[zeros]);
        self.logic(Op::And, &[less, apart])
    }

    /// A NaN loses against a number; -0 is less than +0.
    pub(super) fn double_extreme(&mut self, op: Op, a: Pair, b: Pair) -> Pair {
        let less = self.less_double(a, b);
        let (x, y) = if op == Op::Min { (a, b) } else { (b, a) };
        let value = self.select_pair(less, x, y);
        let zeros = self.both_zero(a, b);
        let sign = if op == Op::Min { self.or(a[1], b[1]) } else { self.and(a[1], b[1]) };
        let value = self.select_pair(zeros, [word(0), sign], value);
        let (nan_a, nan_b) = (self.is_nan_double(a), self.is_nan_double(b));
        let value = self.select_pair(nan_a, b, value);
        let value = self.select_pair(nan_b, a, value);
        let neither = self.logic(Op::And, &[nan_a, nan_b]);
        self.select_pair(neither, pair(NAN), value)
    }
}
