//! Comparisons of rows, and masks.
//!
//! A mask is the bits of a word. Where a selection reads a mask that was compared in the same
//! block, it reads the vectors of the comparison; others are made from the bits.

use super::values::{floats_type, lanes_type, parts};
use super::{Lowering, Val, Vals};
use crate::Refused;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, types};
use fast::ops::{Rel, Test};
use ir::mods::Cmp;
use vector::{MaskOp, Op, Value};

/// A relation of floats as one that both kinds of hosts have, or its complement.
pub(super) enum Relation {
    Is(FloatCC),
    IsNot(FloatCC),
    /// Neither is a NaN, and they differ; the complement of this.
    Differs,
    DiffersNot,
    /// Neither is a NaN.
    Numbers,
    NotNumbers,
}

/// Returns the relation of a comparison of floats.
pub(super) fn relation(cmp: Cmp) -> Option<Relation> {
    use Relation::{Differs, DiffersNot, Is, IsNot, NotNumbers, Numbers};
    Some(match cmp {
        Cmp::Eq => Is(FloatCC::Equal),
        Cmp::Ne => Differs,
        Cmp::Lt => Is(FloatCC::LessThan),
        Cmp::Le => Is(FloatCC::LessThanOrEqual),
        Cmp::Gt => Is(FloatCC::GreaterThan),
        Cmp::Ge => Is(FloatCC::GreaterThanOrEqual),
        Cmp::Num => Numbers,
        Cmp::Equ => DiffersNot,
        Cmp::Neu => IsNot(FloatCC::Equal),
        Cmp::Ltu => IsNot(FloatCC::GreaterThanOrEqual),
        Cmp::Leu => IsNot(FloatCC::GreaterThan),
        Cmp::Gtu => IsNot(FloatCC::LessThanOrEqual),
        Cmp::Geu => IsNot(FloatCC::LessThan),
        Cmp::Nan => NotNumbers,
        _ => return None,
    })
}

/// Returns the condition of a relation of integers.
pub(super) fn condition(rel: Rel, signed: bool) -> IntCC {
    match (rel, signed) {
        (Rel::Eq, _) => IntCC::Equal,
        (Rel::Ne, _) => IntCC::NotEqual,
        (Rel::Lt, true) => IntCC::SignedLessThan,
        (Rel::Le, true) => IntCC::SignedLessThanOrEqual,
        (Rel::Gt, true) => IntCC::SignedGreaterThan,
        (Rel::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (Rel::Lt, false) => IntCC::UnsignedLessThan,
        (Rel::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (Rel::Gt, false) => IntCC::UnsignedGreaterThan,
        (Rel::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
    }
}

impl Lowering<'_> {
    /// Compares rows of integers or floats.
    pub(super) fn test(&mut self, test: Test, args: &[Value], result: Option<Value>) {
        let wide = self.is_wide(args[0]);
        match test {
            Test::F(cmp) => {
                let Some(relation) = relation(cmp) else {
                    return self.refuse(Refused::Unsound);
                };
                self.compare(args, result, |this, part| {
                    let (a, b) = (this.floats(args[0], part), this.floats(args[1], part));
                    this.compared_floats(&relation, a, b, wide)
                });
            }
            Test::U(rel) | Test::S(rel) => {
                let condition = condition(rel, matches!(test, Test::S(_)));
                self.compare(args, result, |this, part| {
                    let (a, b) = (this.v(args[0], part), this.v(args[1], part));
                    this.compared(condition, a, b, wide)
                });
            }
        }
    }

    /// Finds the lanes in which one of two floats is a NaN.
    pub(super) fn unordered(&mut self, args: &[Value], result: Option<Value>) {
        let wide = self.is_wide(args[0]);
        self.compare(args, result, |this, part| {
            let (a, b) = (this.floats(args[0], part), this.floats(args[1], part));
            this.compared_floats(&Relation::NotNumbers, a, b, wide)
        });
    }

    /// Compares vectors of integers.
    pub(super) fn compared(&mut self, condition: IntCC, a: Val, b: Val, wide: bool) -> Val {
        use IntCC as C;
        let signed = match condition {
            C::UnsignedLessThan => C::SignedLessThan,
            C::UnsignedLessThanOrEqual => C::SignedLessThanOrEqual,
            C::UnsignedGreaterThan => C::SignedGreaterThan,
            C::UnsignedGreaterThanOrEqual => C::SignedGreaterThanOrEqual,
            _ => return self.b.ins().icmp(condition, a, b),
        };
        if !wide || self.compares_unsigned {
            return self.b.ins().icmp(condition, a, b);
        }
        let sign = self.row_const(1 << 63, true);
        let [a, b] = [a, b].map(|v| self.b.ins().bxor(v, sign));
        self.b.ins().icmp(signed, a, b)
    }

    /// Compares vectors of floats.
    pub(super) fn compared_floats(
        &mut self,
        relation: &Relation,
        a: Val,
        b: Val,
        wide: bool,
    ) -> Val {
        let compare = |this: &mut Self, condition: FloatCC, a: Val, b: Val| {
            let lanes = this.b.ins().fcmp(condition, a, b);
            this.cast(lanes_type(wide), lanes)
        };
        let of_two = |this: &mut Self, relation: &Relation| match relation {
            Relation::Numbers | Relation::NotNumbers => {
                let x = compare(this, FloatCC::Equal, a, a);
                let y = compare(this, FloatCC::Equal, b, b);
                this.b.ins().band(x, y)
            }
            Relation::Differs | Relation::DiffersNot => {
                let x = compare(this, FloatCC::LessThan, a, b);
                let y = compare(this, FloatCC::GreaterThan, a, b);
                this.b.ins().bor(x, y)
            }
            Relation::Is(condition) | Relation::IsNot(condition) => compare(this, *condition, a, b),
        };
        let lanes = of_two(self, relation);
        match relation {
            Relation::IsNot(_) | Relation::DiffersNot | Relation::NotNumbers => {
                self.b.ins().bnot(lanes)
            }
            _ => lanes,
        }
    }

    /// Compares part by part; keeps the vectors, and makes bits of them if anything needs these.
    fn compare(
        &mut self,
        args: &[Value],
        result: Option<Value>,
        mut f: impl FnMut(&mut Self, usize) -> Val,
    ) {
        let Some(mask) = result else { return };
        let wide = self.is_wide(args[0]);
        let uniform = args.iter().all(|&arg| self.is_uniform(arg));
        let count = if uniform { 1 } else { parts(wide) };
        let list: Vals = (0..count).map(|part| f(self, part)).collect();
        if self.needs_bits[mask.index()] {
            let bits = self.bits_of(&list, wide);
            self.put_mask(result, bits);
        }
        self.lanes.insert((mask, wide), list);
    }

    /// Returns the bits of vectors of lanes, of which all bits are the same; one if all lanes are.
    pub(super) fn bits_of(&mut self, list: &[Val], wide: bool) -> Val {
        if let [all] = *list {
            let all = self.cast(types::I32X4, all);
            return self.b.ins().extractlane(all, 0);
        }
        let words: Vals = match wide {
            true => list.chunks(2).map(|p| self.shuffled_lanes(p[0], p[1])).collect(),
            false => list.into(),
        };
        let halves: Vals = words.chunks(2).map(|p| self.b.ins().snarrow(p[0], p[1])).collect();
        let bytes: Vals = halves.chunks(2).map(|p| self.b.ins().snarrow(p[0], p[1])).collect();
        let low = self.b.ins().vhigh_bits(types::I32, bytes[0]);
        let high = self.b.ins().vhigh_bits(types::I32, bytes[1]);
        let high = self.b.ins().ishl_imm_u(high, 16);
        self.b.ins().bor(low, high)
    }

    fn shuffled_lanes(&mut self, a: Val, b: Val) -> Val {
        self.shuffled(a, b, [0, 2, 4, 6])
    }

    /// Returns a part of a mask as a vector of lanes, of which all bits are the same.
    pub(super) fn mask_lanes(&mut self, mask: Value, part: usize, wide: bool) -> Val {
        if !self.lanes.contains_key(&(mask, wide)) {
            let list = self.make_lanes(mask, wide);
            self.lanes.insert((mask, wide), list);
        }
        let list = &self.lanes[&(mask, wide)];
        list[part.min(list.len() - 1)]
    }

    /// Returns whether the vectors of a mask follow from others that are there.
    fn has_lanes(&self, mask: Value, wide: bool) -> bool {
        if self.lanes.contains_key(&(mask, wide)) || self.lanes.contains_key(&(mask, !wide)) {
            return true;
        }
        let Some(inst) = self.defined[mask.index()] else { return false };
        let data = self.source.inst(inst);
        let here = self.source.block(self.current).insts.contains(&inst);
        matches!(data.op, Op::Mask(_))
            && here
            && data.args.iter().all(|&arg| self.lanes.contains_key(&(arg, wide)))
    }

    fn make_lanes(&mut self, mask: Value, wide: bool) -> Vals {
        let count = parts(wide);
        if self.known(mask).is_none() && self.has_lanes(mask, wide) {
            if let Some(list) = self.lanes.get(&(mask, !wide)).cloned() {
                return self.of_other_width(&list, wide);
            }
            if let Some(inst) = self.defined[mask.index()]
                && let Op::Mask(op) = self.source.inst(inst).op
            {
                let args = self.source.inst(inst).args.clone();
                return (0..count)
                    .map(|part| {
                        let a = self.mask_lanes(args[0], part, wide);
                        let b = args.get(1).map_or(a, |&b| self.mask_lanes(b, part, wide));
                        self.logic(op, a, b)
                    })
                    .collect();
            }
        }
        let bits = self.mask(mask);
        self.lanes_of_bits(bits, wide)
    }

    /// Makes vectors of 64-bit lanes from those of 32-bit lanes, or the other way round.
    fn of_other_width(&mut self, list: &[Val], wide: bool) -> Vals {
        if let [all] = *list {
            return std::iter::once(self.cast(lanes_type(wide), all)).collect();
        }
        if wide {
            let half = |this: &mut Self, part: usize| {
                this.half_widened(list[part / 2], part % 2 == 1, true)
            };
            return (0..parts(true)).map(|part| half(self, part)).collect();
        }
        list.chunks(2).map(|pair| self.shuffled_lanes(pair[0], pair[1])).collect()
    }

    /// Makes vectors of the bits of a mask.
    pub(super) fn lanes_of_bits(&mut self, bits: Val, wide: bool) -> Vals {
        let spread = match wide {
            true => {
                let bits = self.widened(bits);
                self.spread(bits, true)
            }
            false => self.spread(bits, false),
        };
        let lanes = if wide { 2 } else { 4 };
        (0..parts(wide))
            .map(|part| {
                let bit = self.lane_consts(wide, |i| 1 << (lanes * part + i));
                let set = self.b.ins().band(spread, bit);
                self.b.ins().icmp(IntCC::Equal, set, bit)
            })
            .collect()
    }

    /// Logic on the bits of masks, or on vectors of lanes; both operands of a complement are the
    /// same.
    fn logic(&mut self, op: MaskOp, a: Val, b: Val) -> Val {
        match op {
            MaskOp::And => self.b.ins().band(a, b),
            MaskOp::Or => self.b.ins().bor(a, b),
            MaskOp::Xor => self.b.ins().bxor(a, b),
            MaskOp::AndNot => {
                let not = self.b.ins().bnot(b);
                self.b.ins().band(a, not)
            }
            MaskOp::Not => self.b.ins().bnot(a),
        }
    }

    pub(super) fn mask_logic(&mut self, op: MaskOp, args: &[Value], result: Option<Value>) {
        let a = self.mask(args[0]);
        let b = if op == MaskOp::Not { a } else { self.mask(args[1]) };
        let bits = self.logic(op, a, b);
        self.put_mask(result, bits);
    }

    /// The first row where the mask is set, else the second.
    pub(super) fn select(&mut self, args: &[Value], result: Option<Value>) {
        let Some(row) = result else { return };
        let wide = self.is_wide(row);
        let list: Vals = (0..parts(wide))
            .map(|part| {
                let mask = self.mask_lanes(args[0], part, wide);
                let (a, b) = (self.v(args[1], part), self.v(args[2], part));
                self.b.ins().bitselect(mask, a, b)
            })
            .collect();
        self.put_row(result, &list);
    }

    /// 1 where the mask is set, else 0.
    pub(super) fn row_of_mask(&mut self, mask: Value, result: Option<Value>) {
        let one = self.row_const(1, false);
        let list: Vals = (0..parts(false))
            .map(|part| {
                let lanes = self.mask_lanes(mask, part, false);
                self.b.ins().band(lanes, one)
            })
            .collect();
        self.put_row(result, &list);
    }

    pub(super) fn mask_of_scalar(&mut self, scalar: Value, result: Option<Value>) {
        if let Some(bits) = self.known(scalar) {
            let all = if bits & 1 != 0 { 0xffff_ffff } else { 0 };
            return self.put(result, super::Place::Const(all));
        }
        let bit = self.s32(scalar);
        let bit = self.b.ins().band_imm_s(bit, 1);
        let all = self.b.ins().ineg(bit);
        self.put_mask(result, all);
        let Some(mask) = result else { return };
        for wide in [false, true] {
            let all = self.b.ins().sextend(types::I64, all);
            let lanes = self.spread(all, wide);
            self.lanes.insert((mask, wide), std::iter::once(lanes).collect());
        }
    }

    pub(super) fn bits_of_mask(&mut self, mask: Value, result: Option<Value>) {
        let bits = self.mask(mask);
        self.put_scalar(result, bits);
    }

    pub(super) fn mask_of_bits(&mut self, scalar: Value, result: Option<Value>) {
        let bits = self.s32(scalar);
        self.put_mask(result, bits);
    }

    /// Returns a vector of floats of a constant.
    pub(super) fn float_const(&mut self, bits: u64, wide: bool) -> Val {
        let lanes = self.row_const(bits, wide);
        self.cast(floats_type(wide), lanes)
    }
}
