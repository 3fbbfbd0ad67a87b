//! Atomic operations of all lanes on one word whose results nothing reads: where they are integer
//! functions that commute, one operation does what they amount to.

use crate::function::{Block, Function, Inst, Type, Value};
use crate::op::{Atomic, LaneOp, Op, Shape, reduction};
use fast::ops::{Native, Op32, Op64};
use ir::mods::AtomOp;

/// Replaces atomic operations on one word by one for all lanes.
pub fn total_atomics(function: &mut Function) {
    let defined = function.definitions();
    let mut used = vec![false; function.value_count()];
    for block in function.reverse_postorder() {
        let data = function.block(block);
        data.insts
            .iter()
            .flat_map(|&i| &function.inst(i).args)
            .for_each(|v| used[v.index()] = true);
        data.end.uses(|v| used[v.index()] = true);
    }
    for block in function.reverse_postorder() {
        let insts = std::mem::take(&mut function.block_mut(block).insts);
        for inst in insts {
            let data = function.inst(inst);
            let Some(atomic) = on_one_word(&data.op) else {
                function.block_mut(block).insts.push(inst);
                continue;
            };
            let (atomic, args) = (atomic.clone(), data.args.clone());
            let unread = data.results.iter().all(|r| !used[r.index()]);
            let mut to = Builder { function, block, defined: &defined };
            let total = if unread { to.total(&atomic, args[2], args[0]) } else { None };
            if let Some([operand, changes]) = total {
                let data = function.inst_mut(inst);
                data.op = Op::AtomicTotal(Box::new(atomic));
                data.results.clear();
                data.args[2] = operand;
                data.args.insert(3, changes);
            }
            function.block_mut(block).insts.push(inst);
        }
    }
}

/// Returns an operation whose lanes access one word, if they amount to one operation.
fn on_one_word(op: &Op) -> Option<&Atomic> {
    match op {
        Op::Atomic(atomic) if atomic.access.shape == Shape::One => {
            atomic.is_integer_function().then_some(&**atomic)
        }
        _ => None,
    }
}

/// Adds instructions to a block.
struct Builder<'f, 'd> {
    function: &'f mut Function,
    block: Block,
    defined: &'d [Option<Inst>],
}

impl Builder<'_, '_> {
    fn add(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let inst = self.function.append(self.block, op, args, &[ty]);
        self.function.inst(inst).results[0]
    }

    fn constant(&mut self, bits: u64) -> Value {
        self.add(Op::Const(bits), &[], Type::Scalar)
    }

    fn scalar(&mut self, native: Native, a: Value, b: Value) -> Value {
        let zero = self.constant(0);
        self.add(Op::Scalar(native), &[a, b, zero], Type::Scalar)
    }

    /// Returns what the operands of all lanes of a mask amount to, and a scalar that is not 0 if
    /// some lane changes the word although they may not.
    fn total(&mut self, atomic: &Atomic, row: Value, lanes: Value) -> Option<[Value; 2]> {
        let wide = atomic.access.word == 8;
        let inst = self.defined[row.index()].map(|inst| self.function.inst(inst));
        let same = match inst.map(|inst| (&inst.op, &inst.args[..])) {
            Some((&Op::Const(bits), _)) => Some(self.constant(bits)),
            Some((Op::Splat, &[scalar])) if wide => Some(scalar),
            Some((Op::Splat, &[scalar])) => Some(self.scalar(Native::Low, scalar, scalar)),
            _ => None,
        };
        match same {
            Some(scalar) => Some(self.total_of_scalar(atomic.op, scalar, lanes)),
            None if wide => None,
            None => self.total_of_row(atomic, row, lanes),
        }
    }

    fn total_of_scalar(&mut self, op: AtomOp, scalar: Value, lanes: Value) -> [Value; 2] {
        if !matches!(op, AtomOp::Add | AtomOp::Xor) {
            return [scalar, self.constant(0)];
        }
        let bits = self.add(Op::Bits, &[lanes], Type::Scalar);
        let mut times = self.scalar(Native::Narrow(Op32::Popc), bits, bits);
        if op == AtomOp::Xor {
            let one = self.constant(1);
            times = self.scalar(Native::Wide(Op64::And), times, one);
        }
        [self.scalar(Native::Wide(Op64::Mul), scalar, times), scalar]
    }

    fn total_of_row(&mut self, atomic: &Atomic, row: Value, lanes: Value) -> Option<[Value; 2]> {
        let (op, neutral) = reduction(atomic.op, atomic.ty)?;
        let reduced = |this: &mut Self, op, others: u32| {
            let others = this.add(Op::Const(others.into()), &[], Type::Row32);
            let row = this.add(Op::Select, &[lanes, row, others], Type::Row32);
            this.add(Op::Reduce(op), &[row], Type::Scalar)
        };
        let operand = reduced(self, op, neutral);
        let changes = match op {
            LaneOp::Add | LaneOp::Xor => reduced(self, LaneOp::Or, 0),
            _ => self.constant(0),
        };
        Some([operand, changes])
    }
}
