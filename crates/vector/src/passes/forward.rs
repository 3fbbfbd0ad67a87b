//! Selections within selections by one mask.
//!
//! If a value is only read through a selection by a mask, its lanes outside of the mask do not
//! matter, and neither do those of its operands: a selection by the same mask among these may be
//! passed over. So a chain of operations under one mask is selected once, at its end.

use crate::function::{Function, Inst, Value};
use crate::op::{MaskOp, Op};

/// Passes over selections whose other lanes do not matter.
pub fn forward_selected(function: &mut Function) {
    let defined = function.definitions();
    let mut uses = vec![0u32; function.value_count()];
    let order = function.reverse_postorder();
    for &block in &order {
        let data = function.block(block);
        for &inst in &data.insts {
            function.inst(inst).args.iter().for_each(|a| uses[a.index()] += 1);
        }
        data.end.uses(|value| uses[value.index()] += 1);
    }
    for &block in &order {
        for inst in function.block(block).insts.clone() {
            let data = function.inst(inst);
            if let (Op::Select, &[mask, value, _]) = (&data.op, &data.args[..]) {
                let passed = passed(function, &defined, mask, value);
                function.inst_mut(inst).args[1] = passed;
                forward(function, &defined, &uses, mask, passed);
            }
        }
    }
}

/// Returns whether two masks have no lane in common: those of the two sides of a branch.
fn are_disjoint(function: &Function, defined: &[Option<Inst>], a: Value, b: Value) -> bool {
    let logic = |value: Value| {
        let data = function.inst(defined[value.index()]?);
        match (&data.op, &data.args[..]) {
            (Op::Mask(op), &[x, y]) => Some((*op, x, y)),
            _ => None,
        }
    };
    match (logic(a), logic(b)) {
        (Some((MaskOp::And, x, p)), Some((MaskOp::AndNot, _, q)))
        | (Some((MaskOp::AndNot, _, q)), Some((MaskOp::And, x, p))) => p == q || x == q,
        _ => false,
    }
}

/// Returns what a value has where a mask is set.
fn passed(function: &Function, defined: &[Option<Inst>], mask: Value, mut value: Value) -> Value {
    while let Some(inst) = defined[value.index()] {
        let data = function.inst(inst);
        let (Op::Select, &[by, set, clear]) = (&data.op, &data.args[..]) else { break };
        value = match by {
            by if by == mask => set,
            by if are_disjoint(function, defined, by, mask) => clear,
            _ => break,
        };
    }
    value
}

/// Passes over selections among the operands of a value that only lanes of the mask are read of.
fn forward(
    function: &mut Function,
    defined: &[Option<Inst>],
    uses: &[u32],
    mask: Value,
    value: Value,
) {
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        let Some(inst) = defined[value.index()].filter(|_| uses[value.index()] == 1) else {
            continue;
        };
        if !matches!(function.inst(inst).op, Op::Lanes(_)) {
            continue;
        }
        for index in 0..function.inst(inst).args.len() {
            let arg = passed(function, defined, mask, function.inst(inst).args[index]);
            function.inst_mut(inst).args[index] = arg;
            work.push(arg);
        }
    }
}
