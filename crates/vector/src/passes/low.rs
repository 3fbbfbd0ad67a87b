//! Low words of 64-bit lanes: operations of which only low words are read are done on 32-bit lanes.

use crate::function::{Function, Inst, Type, Value};
use crate::op::{LaneOp, Op};
use rustc_hash::FxHashMap;

/// Greatest depth of operations that are done on low words instead.
const MAX_DEPTH: usize = 8;

/// Computes low words from the low words of operands where these decide them.
pub fn narrow_low_words(function: &mut Function) {
    let defined = function.definitions();
    for block in function.reverse_postorder() {
        let mut narrower =
            Narrower { defined: &defined, lows: FxHashMap::default(), insts: Vec::new() };
        for inst in std::mem::take(&mut function.block_mut(block).insts) {
            if let (Op::Low, &[wide]) = (&function.inst(inst).op, &function.inst(inst).args[..])
                && let Some((op, args)) = narrower.low_op(function, wide, 0)
            {
                let data = function.inst_mut(inst);
                (data.op, data.args) = (op, args.into());
            }
            narrower.insts.push(inst);
        }
        let insts = narrower.insts;
        function.block_mut(block).insts = insts;
    }
}

struct Narrower<'d> {
    /// By value: the instruction that defines it.
    defined: &'d [Option<Inst>],
    /// In the current block: low words of values.
    lows: FxHashMap<Value, Value>,
    /// The instructions of the current block so far.
    insts: Vec<Inst>,
}

impl Narrower<'_> {
    /// Returns the operation that yields the low words of a value, if operands decide them.
    fn low_op(
        &mut self,
        function: &mut Function,
        wide: Value,
        depth: usize,
    ) -> Option<(Op, Vec<Value>)> {
        if depth == MAX_DEPTH {
            return None;
        }
        let data = function.inst((*self.defined.get(wide.index())?)?);
        let (op, args) = (data.op.clone(), data.args.clone());
        let op = match op {
            Op::Const(bits) => return Some((Op::Const(bits & 0xffff_ffff), Vec::new())),
            Op::Splat | Op::Line(_) => return Some((op, args.to_vec())),
            // The row itself, by an operation that simplification removes.
            Op::ZeroExtend | Op::SignExtend => {
                let zero = self.add(function, Op::Const(0), &[]);
                return Some((Op::Lanes(LaneOp::Or), vec![args[0], zero]));
            }
            Op::Lanes(
                op @ (LaneOp::Add
                | LaneOp::Sub
                | LaneOp::And
                | LaneOp::Or
                | LaneOp::Xor
                | LaneOp::AndNot
                | LaneOp::Mul),
            ) => op,
            Op::Lanes(LaneOp::MulLowU | LaneOp::MulLowS) => LaneOp::Mul,
            Op::Lanes(LaneOp::Shl) if self.known(function, args[1]).is_some_and(|by| by < 32) => {
                LaneOp::Shl
            }
            Op::Select => {
                let (a, b) =
                    (self.low(function, args[1], depth), self.low(function, args[2], depth));
                return Some((Op::Select, vec![args[0], a, b]));
            }
            _ => return None,
        };
        let args = args.iter().map(|&arg| self.low(function, arg, depth)).collect();
        Some((Op::Lanes(op), args))
    }

    /// Returns the low words of a value.
    fn low(&mut self, function: &mut Function, wide: Value, depth: usize) -> Value {
        if let Some(&low) = self.lows.get(&wide) {
            return low;
        }
        let extended = self.defined.get(wide.index()).copied().flatten().and_then(|inst| {
            let data = function.inst(inst);
            matches!(data.op, Op::ZeroExtend | Op::SignExtend).then(|| data.args[0])
        });
        let low = extended.unwrap_or_else(|| {
            let (op, args) =
                self.low_op(function, wide, depth + 1).unwrap_or((Op::Low, vec![wide]));
            self.add(function, op, &args)
        });
        self.lows.insert(wide, low);
        low
    }

    fn known(&self, function: &Function, value: Value) -> Option<u64> {
        match function.inst((*self.defined.get(value.index())?)?).op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    fn add(&mut self, function: &mut Function, op: Op, args: &[Value]) -> Value {
        let inst = function.add_inst(op, args, &[Type::Row32]);
        self.insts.push(inst);
        function.inst(inst).results[0]
    }
}
