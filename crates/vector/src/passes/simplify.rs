//! Algebraic simplification: constants, neutral elements, complements, products as shifts.

use crate::function::{Function, Inst, Type, Value};
use crate::op::{LaneOp, MaskOp, Op};
use fast::ops::{Logic, Native, Op64, Rel, Test};

/// What an instruction is the same as.
enum Same {
    /// A value.
    Value(Value),
    /// Another operation.
    Op(Op, Vec<Value>),
    /// A row shifted to the left by a constant.
    Shifted(Value, u64),
}

/// Replaces instructions by simpler ones, or by values that are known.
pub fn simplify(function: &mut Function) {
    let mut simplifier =
        Simplifier { same: vec![None; function.value_count()], defined: Vec::new() };
    simplifier.defined.resize(function.value_count(), None);
    for block in function.reverse_postorder() {
        let insts = std::mem::take(&mut function.block_mut(block).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            simplifier.inst(function, inst, &mut kept);
            kept.push(inst);
        }
        function.block_mut(block).insts = kept;
    }
    let same = simplifier.same;
    function.map_uses(|value| same[value.index()].unwrap_or(value));
}

struct Simplifier {
    /// By value: the one that takes its place.
    same: Vec<Option<Value>>,
    /// By value: the instruction that defines it.
    defined: Vec<Option<Inst>>,
}

impl Simplifier {
    /// Simplifies an instruction; adds constants that it needs to those before it.
    fn inst(&mut self, function: &mut Function, inst: Inst, before: &mut Vec<Inst>) {
        let data = function.inst_mut(inst);
        for arg in &mut data.args {
            *arg = self.same[arg.index()].unwrap_or(*arg);
        }
        let results = data.results.clone();
        results.iter().for_each(|r| self.defined[r.index()] = Some(inst));
        // One step may make room for another.
        while let Some(same) = self.simpler(function, inst) {
            match same {
                Same::Value(value) => {
                    self.same[results[0].index()] = Some(value);
                    return;
                }
                Same::Op(op, args) => {
                    let data = function.inst_mut(inst);
                    (data.op, data.args) = (op, args.into());
                }
                Same::Shifted(row, by) => {
                    let ty = function.ty(row);
                    let constant = function.add_inst(Op::Const(by), &[], &[ty]);
                    before.push(constant);
                    self.defined.push(Some(constant));
                    self.same.push(None);
                    let by = function.inst(constant).results[0];
                    let data = function.inst_mut(inst);
                    (data.op, data.args) = (Op::Lanes(LaneOp::Shl), vec![row, by].into());
                }
            }
        }
    }

    fn op<'f>(&self, function: &'f Function, value: Value) -> Option<(&'f Op, &'f [Value])> {
        let inst = function.inst(self.defined[value.index()]?);
        Some((&inst.op, &inst.args))
    }

    fn known(&self, function: &Function, value: Value) -> Option<u64> {
        match self.op(function, value)?.0 {
            Op::Const(bits) => Some(*bits),
            Op::MaskConst(bits) => Some((*bits).into()),
            _ => None,
        }
    }

    fn simpler(&self, function: &Function, inst: Inst) -> Option<Same> {
        let data = function.inst(inst);
        let known = |value: Value| self.known(function, value);
        match (&data.op, &data.args[..]) {
            (Op::Mask(op), args) => self.mask(function, *op, args),
            (Op::Select, &[mask, a, b]) => match known(mask) {
                _ if a == b => Some(Same::Value(a)),
                Some(0) => Some(Same::Value(b)),
                Some(0xffff_ffff) => Some(Same::Value(a)),
                _ => {
                    let bits = self.flush(function, [mask, a, b])?;
                    self.is_flushed(function, b, bits, 0).then_some(Same::Value(b))
                }
            },
            (Op::MaskOfBits, &[bits]) => match self.op(function, bits)? {
                (Op::Const(bits), _) => Some(Same::Op(Op::MaskConst(*bits as u32), Vec::new())),
                (Op::Bits, &[mask]) => Some(Same::Value(mask)),
                _ => None,
            },
            (Op::MaskOfScalar, &[scalar]) => {
                let all = if known(scalar)? & 1 != 0 { u32::MAX } else { 0 };
                Some(Same::Op(Op::MaskConst(all), Vec::new()))
            }
            (Op::Splat, &[scalar]) => {
                let wide = function.ty(data.results[0]) == Type::Row64;
                let bits = known(scalar)?;
                let bits = if wide { bits } else { bits & 0xffff_ffff };
                Some(Same::Op(Op::Const(bits), Vec::new()))
            }
            (Op::Scalar(native), &[a, b, c]) => self.scalar(function, *native, [a, b, c]),
            (Op::Lanes(op), &[a, b]) => {
                let ty = function.ty(a);
                self.lanes(*op, (a, known(a)), (b, known(b)), ty)
            }
            (Op::ZeroExtend, &[a]) => Some(Same::Op(Op::Const(known(a)?), Vec::new())),
            (Op::SignExtend, &[a]) => {
                let bits = i64::from(known(a)? as i32) as u64;
                Some(Same::Op(Op::Const(bits), Vec::new()))
            }
            (Op::Low, &[a]) => match self.op(function, a)? {
                (Op::Const(bits), _) => Some(Same::Op(Op::Const(bits & 0xffff_ffff), Vec::new())),
                (Op::ZeroExtend | Op::SignExtend, &[word]) => Some(Same::Value(word)),
                _ => None,
            },
            (Op::First, &[row]) => match self.op(function, row)? {
                (Op::Const(bits), _) => Some(Same::Op(Op::Const(*bits), Vec::new())),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the bits of exponents and of signs, if a selection replaces values without bits of
    /// exponents by their signs: if it flushes subnormal numbers.
    fn flush(&self, function: &Function, [mask, a, b]: [Value; 3]) -> Option<(u64, u64)> {
        let with = |value: Value| match self.op(function, value)? {
            (Op::Lanes(LaneOp::And), &[of, bits]) if of == b => self.known(function, bits),
            _ => None,
        };
        let sign = with(a)?;
        match self.op(function, mask)? {
            (Op::Test(Test::U(Rel::Eq)), &[test, zero]) => {
                (self.known(function, zero)? == 0).then_some((with(test)?, sign))
            }
            _ => None,
        }
    }

    /// Returns whether a flush does not change a value.
    fn is_flushed(
        &self,
        function: &Function,
        value: Value,
        (exponent, sign): (u64, u64),
        depth: usize,
    ) -> bool {
        const MAX_DEPTH: usize = 8;
        if let Some(bits) = self.known(function, value) {
            return bits & exponent != 0 || bits & sign == bits;
        }
        let is = |value: Value| self.is_flushed(function, value, (exponent, sign), depth + 1);
        let Some((op, args)) = self.op(function, value).filter(|_| depth < MAX_DEPTH) else {
            return false;
        };
        match (op, args) {
            (Op::Select, &[mask, a, b]) => {
                self.flush(function, [mask, a, b]) == Some((exponent, sign)) || is(a) && is(b)
            }
            (Op::Lanes(LaneOp::FMin | LaneOp::FMax), &[a, b]) => is(a) && is(b),
            // Signs do not matter.
            (Op::Lanes(LaneOp::Xor), &[a, bits]) => {
                self.known(function, bits) == Some(sign) && exponent & sign == 0 && is(a)
            }
            (Op::Lanes(LaneOp::And), &[a, bits]) => {
                self.known(function, bits) == Some(exponent | (sign - 1)) && is(a)
            }
            _ => false,
        }
    }

    /// Simplifies an operation on two rows with constants among them.
    fn lanes(
        &self,
        op: LaneOp,
        (a, x): (Value, Option<u64>),
        (b, y): (Value, Option<u64>),
        ty: Type,
    ) -> Option<Same> {
        let all = if ty == Type::Row64 { u64::MAX } else { 0xffff_ffff };
        let constant = |bits: u64| Some(Same::Op(Op::Const(bits & all), Vec::new()));
        if let (Some(x), Some(y)) = (x, y) {
            return constant(folded(op, x, y, ty)?);
        }
        match (op, x, y) {
            (LaneOp::And, Some(0), _) | (LaneOp::And, _, Some(0)) => constant(0),
            (LaneOp::And, Some(bits), _) if bits == all => Some(Same::Value(b)),
            (LaneOp::And, _, Some(bits)) if bits == all => Some(Same::Value(a)),
            (LaneOp::Or | LaneOp::Xor | LaneOp::Add, Some(0), _) => Some(Same::Value(b)),
            (LaneOp::Or | LaneOp::Xor | LaneOp::Add | LaneOp::Sub, _, Some(0)) => {
                Some(Same::Value(a))
            }
            (LaneOp::Shl | LaneOp::Shr | LaneOp::Sar | LaneOp::Rotl, _, Some(0)) => {
                Some(Same::Value(a))
            }
            (LaneOp::Mul, Some(1), _) => Some(Same::Value(b)),
            (LaneOp::Mul, _, Some(1)) => Some(Same::Value(a)),
            // The same product may be written as a shift elsewhere.
            (LaneOp::Mul, Some(bits), _) if bits.is_power_of_two() => {
                Some(Same::Shifted(b, bits.trailing_zeros().into()))
            }
            (LaneOp::Mul, _, Some(bits)) if bits.is_power_of_two() => {
                Some(Same::Shifted(a, bits.trailing_zeros().into()))
            }
            _ => None,
        }
    }

    fn mask(&self, function: &Function, op: MaskOp, args: &[Value]) -> Option<Same> {
        let known = |value: Value| self.known(function, value).map(|bits| bits as u32);
        let complement = |value: Value| match self.op(function, value) {
            Some((Op::Mask(MaskOp::Not), &[of])) => Some(of),
            _ => None,
        };
        let constant = |bits: u32| Some(Same::Op(Op::MaskConst(bits), Vec::new()));
        let &[a, b] = args else {
            let &[a] = args else { return None };
            return match known(a) {
                Some(bits) => constant(!bits),
                None => complement(a).map(Same::Value),
            };
        };
        match (op, known(a), known(b)) {
            (MaskOp::And, Some(0), _) | (MaskOp::And, _, Some(0)) => constant(0),
            (MaskOp::And, Some(u32::MAX), _) => Some(Same::Value(b)),
            (MaskOp::And, _, Some(u32::MAX)) => Some(Same::Value(a)),
            (MaskOp::Or | MaskOp::Xor, Some(0), _) => Some(Same::Value(b)),
            (MaskOp::Or | MaskOp::Xor | MaskOp::AndNot, _, Some(0)) => Some(Same::Value(a)),
            (MaskOp::AndNot, Some(0), _) | (MaskOp::AndNot, _, Some(u32::MAX)) => constant(0),
            (MaskOp::And, ..) if a == b => Some(Same::Value(a)),
            (MaskOp::And, ..) => {
                let swapped = Op::Mask(MaskOp::AndNot);
                match (complement(a), complement(b)) {
                    (_, Some(of)) => Some(Same::Op(swapped, vec![a, of])),
                    (Some(of), _) => Some(Same::Op(swapped, vec![b, of])),
                    _ => None,
                }
            }
            (MaskOp::AndNot, ..) => {
                complement(b).map(|of| Same::Op(Op::Mask(MaskOp::And), vec![a, of]))
            }
            _ => None,
        }
    }

    fn scalar(&self, function: &Function, native: Native, args: [Value; 3]) -> Option<Same> {
        let known = |value: Value| self.known(function, value);
        if let Native::Wide(Op64::Mov) = native {
            return Some(Same::Value(args[0]));
        }
        let constant = |bits: u64| Some(Same::Op(Op::Const(bits), Vec::new()));
        match (native, args.map(known)) {
            (Native::Wide(Op64::Or | Op64::Add), [Some(0), ..]) => Some(Same::Value(args[1])),
            (Native::Wide(Op64::Or | Op64::Add), [_, Some(0), _]) => Some(Same::Value(args[0])),
            (Native::Narrow(op), [Some(a), Some(b), Some(c)]) => {
                constant(op.one(a as u32, b as u32, c as u32).into())
            }
            (Native::Wide(op), [Some(a), Some(b), Some(c)]) => constant(op.one(a, b, c)),
            (Native::Low, [Some(a), ..]) => constant(a & 0xffff_ffff),
            (Native::Logic(Logic::Mov), [Some(a), ..]) => constant(a & 1),
            _ => None,
        }
    }
}

/// Evaluates an operation on constants.
fn folded(op: LaneOp, a: u64, b: u64, ty: Type) -> Option<u64> {
    let bits = if ty == Type::Row64 { 64 } else { 32 };
    Some(match op {
        LaneOp::And => a & b,
        LaneOp::Or => a | b,
        LaneOp::Xor => a ^ b,
        LaneOp::AndNot => !a & b,
        LaneOp::Add => a.wrapping_add(b),
        LaneOp::Sub => a.wrapping_sub(b),
        LaneOp::Mul => a.wrapping_mul(b),
        LaneOp::MinU => a.min(b),
        LaneOp::MaxU => a.max(b),
        LaneOp::Shl | LaneOp::Shr if b >= bits => 0,
        LaneOp::Shl => a << b,
        LaneOp::Shr => a >> b,
        _ => return None,
    })
}
