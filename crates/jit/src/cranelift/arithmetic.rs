//! Operations on the lanes of rows.

use super::scalars::Shift;
use super::values::lanes_type;
use super::{Lowering, Val};
use crate::Refused;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use vector::{LaneOp, Rounding, Value};

impl Lowering<'_> {
    /// An operation on lanes.
    pub(super) fn lanes_of(&mut self, op: LaneOp, args: &[Value], result: Option<Value>) {
        use LaneOp as L;
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        if self.is_rare(op, wide) {
            return self.rare_lanes(op, args, result);
        }
        match op {
            L::Float(arith, _) => self.float_lanes(arith, args, result),
            L::FMin | L::FMax | L::FLeast | L::FGreatest => self.extreme_floats(op, args, result),
            L::Integral(rounding) => self.integral_lanes(rounding, args[0], result),
            L::FloatOfS(_) | L::FloatOfU(_) => {
                self.floats_of_integers(op == L::FloatOfS(Rounding::Nearest), args[0], result);
            }
            L::SignedOf(rounding) => self.integers_of_floats(true, rounding, args[0], result),
            L::UnsignedOf(rounding) => self.integers_of_floats(false, rounding, args[0], result),
            L::Shl => self.shifted_lanes(Shift::Left, args, result),
            L::Shr => self.shifted_lanes(Shift::Right, args, result),
            L::Sar => self.shifted_lanes(Shift::Signed, args, result),
            L::Rotl => self.rotated_lanes(args, result),
            L::Table(table) => self.each_part(args, result, |this, part| {
                let [a, b, c] = [0, 1, 2].map(|i| this.v(args[i], part));
                this.table(table, [a, b, c], wide)
            }),
            _ if op.operands() == 1 => self.each_part(args, result, |this, part| {
                let a = this.v(args[0], part);
                this.lanes_of_one(op, a, wide)
            }),
            _ => self.each_part(args, result, |this, part| {
                let (a, b) = (this.v(args[0], part), this.v(args[1], part));
                this.lanes_of_two(op, a, b, wide)
            }),
        }
    }

    /// An operation on one integer.
    fn lanes_of_one(&mut self, op: LaneOp, a: Val, wide: bool) -> Val {
        match op {
            LaneOp::Popc => self.population_of_lanes(a, wide),
            LaneOp::Clz => self.leading_zeros(a, wide),
            LaneOp::Reverse => self.reversed(a, wide),
            _ => self.lacking(op, a),
        }
    }

    fn lacking(&mut self, op: LaneOp, instead: Val) -> Val {
        self.refuse(Refused::Form(format!("{op:?} has no pattern")));
        instead
    }

    /// An operation on two integers.
    pub(super) fn lanes_of_two(&mut self, op: LaneOp, a: Val, b: Val, wide: bool) -> Val {
        match op {
            LaneOp::And => self.b.ins().band(a, b),
            LaneOp::Or => self.b.ins().bor(a, b),
            LaneOp::Xor => self.b.ins().bxor(a, b),
            LaneOp::AndNot => {
                let not = self.b.ins().bnot(a);
                self.b.ins().band(b, not)
            }
            LaneOp::Add => self.b.ins().iadd(a, b),
            LaneOp::Sub => self.b.ins().isub(a, b),
            LaneOp::Mul => self.b.ins().imul(a, b),
            LaneOp::MulLowU | LaneOp::MulLowS => self.product_of_words(a, b, op == LaneOp::MulLowS),
            LaneOp::MulHighU | LaneOp::MulHighS => self.high_product(a, b, op == LaneOp::MulHighS),
            LaneOp::MinU | LaneOp::MaxU | LaneOp::MinS | LaneOp::MaxS => {
                self.extreme(op, a, b, wide)
            }
            LaneOp::Bytes => self.bytes(a, b, wide),
            LaneOp::Dot16 => self.dot(a, b),
            _ => self.halves_of_two(op, a, b, wide),
        }
    }

    /// An operation on the 16-bit parts of lanes.
    fn halves_of_two(&mut self, op: LaneOp, a: Val, b: Val, wide: bool) -> Val {
        let [x, y] = [a, b].map(|v| self.cast(types::I16X8, v));
        let value = match op {
            LaneOp::Add16 => self.b.ins().iadd(x, y),
            LaneOp::MinS16 => self.b.ins().smin(x, y),
            LaneOp::MaxS16 => self.b.ins().smax(x, y),
            LaneOp::MinU16 => self.b.ins().umin(x, y),
            LaneOp::MaxU16 => self.b.ins().umax(x, y),
            _ => return self.lacking(op, a),
        };
        self.cast(lanes_type(wide), value)
    }

    /// The products of the low words of 64-bit lanes.
    fn product_of_words(&mut self, a: Val, b: Val, signed: bool) -> Val {
        let low = |this: &mut Self, lanes: Val| {
            let words = this.cast(types::I32X4, lanes);
            let words = this.shuffled(words, words, [0, 2, 0, 2]);
            this.half_widened(words, false, signed)
        };
        let (a, b) = (low(self, a), low(self, b));
        self.b.ins().imul(a, b)
    }

    /// The high words of the products of 32-bit lanes.
    fn high_product(&mut self, a: Val, b: Val, signed: bool) -> Val {
        let [low, high] = [false, true].map(|upper| {
            let [a, b] = [a, b].map(|v| self.half_widened(v, upper, signed));
            let product = self.b.ins().imul(a, b);
            self.cast(types::I32X4, product)
        });
        self.shuffled(low, high, [1, 3, 5, 7])
    }

    /// The smaller or the greater of integers.
    fn extreme(&mut self, op: LaneOp, a: Val, b: Val, wide: bool) -> Val {
        if !wide {
            return match op {
                LaneOp::MinU => self.b.ins().umin(a, b),
                LaneOp::MaxU => self.b.ins().umax(a, b),
                LaneOp::MinS => self.b.ins().smin(a, b),
                _ => self.b.ins().smax(a, b),
            };
        }
        let condition = match op {
            LaneOp::MinU => IntCC::UnsignedLessThan,
            LaneOp::MaxU => IntCC::UnsignedGreaterThan,
            LaneOp::MinS => IntCC::SignedLessThan,
            _ => IntCC::SignedGreaterThan,
        };
        let first = self.compared(condition, a, b, true);
        self.b.ins().bitselect(first, a, b)
    }

    /// The sums of the two products of signed 16-bit halves.
    fn dot(&mut self, a: Val, b: Val) -> Val {
        let [a, b] = [a, b].map(|v| self.cast(types::I16X8, v));
        let [low, high] = [false, true].map(|upper| {
            let [a, b] = [a, b].map(|v| match upper {
                true => self.b.ins().swiden_high(v),
                false => self.b.ins().swiden_low(v),
            });
            self.b.ins().imul(a, b)
        });
        self.b.ins().iadd_pairwise(low, high)
    }

    /// Shifts whose amounts may exceed the width.
    fn shifted_lanes(&mut self, shift: Shift, args: &[Value], result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        if let Some(by) = self.known(args[1]) {
            return self.each_part(&args[..1], result, |this, part| {
                let a = this.v(args[0], part);
                this.shifted_by(shift, a, by, wide)
            });
        }
        if self.is_uniform(args[1]) {
            return self.shifted_by_one(shift, args, result);
        }
        self.each_part(args, result, |this, part| {
            let (a, by) = (this.v(args[0], part), this.v(args[1], part));
            this.shifted_by_lanes(shift, a, by, wide)
        });
    }

    /// A shift by a constant.
    pub(super) fn shifted_by(&mut self, shift: Shift, a: Val, by: u64, wide: bool) -> Val {
        let width = if wide { 64 } else { 32 };
        let by = by.min(width) as i64;
        match shift {
            Shift::Signed => self.b.ins().sshr_imm_u(a, by.min(width as i64 - 1)),
            _ if by == width as i64 => self.row_const(0, wide),
            Shift::Left => self.b.ins().ishl_imm_u(a, by),
            Shift::Right => self.b.ins().ushr_imm_u(a, by),
        }
    }

    /// A shift by an amount that is the same in all lanes.
    fn shifted_by_one(&mut self, shift: Shift, args: &[Value], result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        let most = if wide { 63 } else { 31 };
        let amounts = self.v(args[1], 0);
        let by = self.b.ins().extractlane(amounts, 0);
        let ty = self.b.func.dfg.value_type(by);
        let most = self.b.ins().iconst(ty, most);
        let near = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, by, most);
        let by = self.b.ins().umin(by, most);
        let by = if wide { self.low_word(by) } else { by };
        // All lanes, or none if the amount exceeds the width.
        let kept = self.widened(near);
        let kept = self.b.ins().ineg(kept);
        let kept = self.spread(kept, wide);
        self.each_part(&args[..1], result, |this, part| {
            let a = this.v(args[0], part);
            let value = match shift {
                Shift::Signed => return this.b.ins().sshr(a, by),
                Shift::Left => this.b.ins().ishl(a, by),
                Shift::Right => this.b.ins().ushr(a, by),
            };
            this.b.ins().band(value, kept)
        });
    }

    /// A shift by an amount of its own in each lane: by each power of two whose bit is set.
    fn shifted_by_lanes(&mut self, shift: Shift, a: Val, by: Val, wide: bool) -> Val {
        let bits = if wide { 6 } else { 5 };
        let mut value = a;
        for bit in 0..bits {
            let moved = self.shifted_by(shift, value, 1 << bit, wide);
            let power = self.row_const(1 << bit, wide);
            let set = self.b.ins().band(by, power);
            let set = self.b.ins().icmp(IntCC::Equal, set, power);
            value = self.b.ins().bitselect(set, moved, value);
        }
        let most = self.row_const((1 << bits) - 1, wide);
        let far = self.compared(IntCC::UnsignedGreaterThan, by, most, wide);
        let beyond = match shift {
            Shift::Signed => self.shifted_by(shift, a, 1 << bits, wide),
            _ => self.row_const(0, wide),
        };
        self.b.ins().bitselect(far, beyond, value)
    }

    /// Rotations to the left.
    fn rotated_lanes(&mut self, args: &[Value], result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        let width = if wide { 64 } else { 32 };
        let known = self.known(args[1]).map(|by| by % width);
        self.each_part(args, result, |this, part| {
            let a = this.v(args[0], part);
            if let Some(by) = known {
                let high = this.shifted_by(Shift::Left, a, by, wide);
                let low = this.shifted_by(Shift::Right, a, width - by, wide);
                return this.b.ins().bor(high, low);
            }
            let by = this.v(args[1], part);
            let most = this.row_const(width - 1, wide);
            let by = this.b.ins().band(by, most);
            let whole = this.row_const(width, wide);
            let rest = this.b.ins().isub(whole, by);
            let high = this.shifted_by_lanes(Shift::Left, a, by, wide);
            let low = this.shifted_by_lanes(Shift::Right, a, rest, wide);
            this.b.ins().bor(high, low)
        });
    }
}
