//! Operations on floats.

use super::values::lanes_type;
use super::{Lowering, Val};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, types};
use vector::{Arith, LaneOp, Rounding, Value};

impl Lowering<'_> {
    /// Arithmetic that rounds to nearest.
    pub(super) fn float_lanes(&mut self, arith: Arith, args: &[Value], result: Option<Value>) {
        self.each_part(args, result, |this, part| {
            let a = this.floats(args[0], part);
            if arith == Arith::Sqrt {
                return this.b.ins().sqrt(a);
            }
            let b = this.floats(args[1], part);
            match arith {
                Arith::Add => this.b.ins().fadd(a, b),
                Arith::Sub => this.b.ins().fsub(a, b),
                Arith::Mul => this.b.ins().fmul(a, b),
                Arith::Div => this.b.ins().fdiv(a, b),
                _ => {
                    let c = this.floats(args[2], part);
                    this.b.ins().fma(a, b, c)
                }
            }
        });
    }

    /// The lesser or the greater of two floats.
    pub(super) fn extreme_floats(&mut self, op: LaneOp, args: &[Value], result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        self.each_part(args, result, |this, part| {
            let (a, b) = (this.floats(args[0], part), this.floats(args[1], part));
            let first = match op {
                LaneOp::FLeast => return this.b.ins().fmin(a, b),
                LaneOp::FGreatest => return this.b.ins().fmax(a, b),
                LaneOp::FMin => this.b.ins().fcmp(FloatCC::LessThan, a, b),
                _ => this.b.ins().fcmp(FloatCC::LessThan, b, a),
            };
            let [first, a, b] = [first, a, b].map(|v| this.cast(lanes_type(wide), v));
            this.b.ins().bitselect(first, a, b)
        });
    }

    pub(super) fn integral_lanes(&mut self, rounding: Rounding, a: Value, result: Option<Value>) {
        self.each_part(&[a], result, |this, part| {
            let a = this.floats(a, part);
            this.integral(rounding, a)
        });
    }

    /// Floats rounded to integral values.
    pub(super) fn integral(&mut self, rounding: Rounding, a: Val) -> Val {
        match rounding {
            Rounding::Nearest => self.b.ins().nearest(a),
            Rounding::Zero => self.b.ins().trunc(a),
            Rounding::Down => self.b.ins().floor(a),
            Rounding::Up => self.b.ins().ceil(a),
        }
    }

    /// Integers as floats of the lane's width, rounded to nearest.
    pub(super) fn floats_of_integers(&mut self, signed: bool, a: Value, result: Option<Value>) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        let ty = if wide { types::F64X2 } else { types::F32X4 };
        self.each_part(&[a], result, |this, part| {
            let a = this.v(a, part);
            match signed {
                true => this.b.ins().fcvt_from_sint(ty, a),
                false => this.b.ins().fcvt_from_uint(ty, a),
            }
        });
    }

    /// Floats as integers of the lane's width: the top bit alone if a signed one does not fit, all
    /// bits if an unsigned one does not.
    pub(super) fn integers_of_floats(
        &mut self,
        signed: bool,
        rounding: Rounding,
        a: Value,
        result: Option<Value>,
    ) {
        let wide = result.is_some_and(|row| self.is_wide(row));
        self.each_part(&[a], result, |this, part| {
            let a = this.floats(a, part);
            let a = this.integral(rounding, a);
            this.integers(signed, a, wide)
        });
    }

    /// Integral floats as integers.
    fn integers(&mut self, signed: bool, a: Val, wide: bool) -> Val {
        let (least, limit) = match (signed, wide) {
            (true, false) => {
                ((-2_147_483_648f32).to_bits().into(), 2_147_483_648f32.to_bits().into())
            }
            (false, false) => (0, 4_294_967_296f32.to_bits().into()),
            (true, true) => {
                ((-9_223_372_036_854_775_808f64).to_bits(), 9_223_372_036_854_775_808f64.to_bits())
            }
            (false, true) => (0, 18_446_744_073_709_551_616f64.to_bits()),
        };
        let value = match wide {
            false if signed => self.b.ins().fcvt_to_sint_sat(types::I32X4, a),
            false => self.b.ins().fcvt_to_uint_sat(types::I32X4, a),
            true => self.long_integers(signed, a),
        };
        let (least, limit) = (self.float_const(least, wide), self.float_const(limit, wide));
        let above = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, a, least);
        let below = self.b.ins().fcmp(FloatCC::LessThan, a, limit);
        let fits = self.b.ins().band(above, below);
        let fits = self.cast(lanes_type(wide), fits);
        let other = match (signed, wide) {
            (false, _) => u64::MAX,
            (true, false) => 1 << 31,
            (true, true) => 1 << 63,
        };
        let other = self.row_const(other, wide);
        self.b.ins().bitselect(fits, value, other)
    }

    /// Doubles as integers, lane by lane: x86-64 has no instruction for both. Those that do not
    /// fit yield anything.
    pub(super) fn long_integers(&mut self, signed: bool, a: Val) -> Val {
        let [low, high] = [0, 1].map(|lane| {
            let lane = self.b.ins().extractlane(a, lane);
            match signed {
                true => self.b.ins().fcvt_to_sint_sat(types::I64, lane),
                false => self.b.ins().fcvt_to_uint_sat(types::I64, lane),
            }
        });
        let both = self.b.ins().splat(types::I64X2, low);
        self.b.ins().insertlane(both, high, 1)
    }
}
