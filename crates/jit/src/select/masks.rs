//! Masks in registers, and tests of bits.

use super::{Place, Selector};
use fast::ops::{Rel, Test};
use ir::mods::Cmp;
use vector::{LaneOp, MaskOp, Value};

/// Returns the predicate immediate of a quiet float comparison (`vcmpss`).
pub(super) fn float_relation(cmp: Cmp) -> Option<i32> {
    Some(match cmp {
        Cmp::Eq => 0x00,
        Cmp::Ne => 0x0c,
        Cmp::Lt => 0x11,
        Cmp::Le => 0x12,
        Cmp::Gt => 0x1e,
        Cmp::Ge => 0x1d,
        Cmp::Num => 0x07,
        Cmp::Equ => 0x08,
        Cmp::Neu => 0x04,
        Cmp::Ltu => 0x19,
        Cmp::Leu => 0x1a,
        Cmp::Gtu => 0x16,
        Cmp::Geu => 0x15,
        Cmp::Nan => 0x03,
        _ => return None,
    })
}

impl Selector<'_> {
    /// Returns the operands of a conjunction that is compared with zero or with its only bit, and
    /// whether the comparison holds where a bit is set.
    pub(super) fn bit_test(&self, test: Test, args: &[Value]) -> Option<(Value, Value, bool)> {
        let equal = match test {
            Test::U(Rel::Eq) | Test::S(Rel::Eq) => true,
            Test::U(Rel::Ne) | Test::S(Rel::Ne) => false,
            _ => return None,
        };
        let constant = |value: Value| {
            let inst = self.source.inst(self.defined[value.index()]?);
            if let vector::Op::Const(bits) = inst.op { Some(bits) } else { None }
        };
        let inst = self.source.inst(self.defined[args[0].index()]?);
        let (vector::Op::Lanes(LaneOp::And), &[x, y]) = (&inst.op, &inst.args[..]) else {
            return None;
        };
        let (x, y) = if constant(x).is_some() { (y, x) } else { (x, y) };
        let bits = constant(args[1])?;
        let only = bits.is_power_of_two() && constant(y) == Some(bits);
        match bits {
            0 => Some((x, y, !equal)),
            _ if only => Some((x, y, equal)),
            _ => None,
        }
    }

    pub(super) fn mask_of_scalar(&mut self, scalar: Value, result: Option<Value>) {
        if let Some(bits) = self.known(scalar) {
            let all = if bits & 1 != 0 { 0xffff_ffff } else { 0 };
            return self.put(result, Place::Const(all));
        }
        let bit = self.s(scalar);
        let mask = self.level(|l| l.mask_of_bit(bit));
        self.put(result, Place::Mask(mask));
    }

    pub(super) fn mask_logic(&mut self, op: MaskOp, args: &[Value], result: Option<Value>) {
        let a = self.mask(args[0]);
        let b = if op == MaskOp::Not { a.clone() } else { self.mask(args[1]) };
        let mask = self.level(|l| l.mask_logic(op, a, b));
        self.put(result, Place::Mask(mask));
    }
}
