//! Canonical NaNs where their bits are visible.
//!
//! Float arithmetic and comparisons give the same results for every NaN. A value that only they
//! read, through any number of block parameters and selections, need not have the canonical NaN.
//! The processor's NaNs are quiet, so nothing else about them can be seen.

use crate::function::{Function, InstData, Type, Value};
use crate::op::{Conversion, LaneOp, Op};
use fast::ops::{Rel, Test};

/// Returns whether the bits of NaNs among the operands do not matter. Values that are written back
/// between turns are only compared with their own like.
fn is_blind(op: &Op) -> bool {
    match op {
        Op::Lanes(op) => op.is_float(),
        Op::Convert(Conversion::DoubleOfSingle | Conversion::SingleOfDouble(_)) => true,
        Op::Convert(Conversion::SignedOfDouble | Conversion::UnsignedOfDouble) => true,
        Op::Test(Test::F(_)) | Op::Unordered => true,
        Op::BackEdge(_) | Op::Barrier(..) | Op::Await(_) => true,
        _ => false,
    }
}

/// Returns whether an operation with a constant changes signs alone, so that NaNs remain NaNs.
fn is_of_sign(op: LaneOp, bits: u64, ty: Type) -> bool {
    let sign = if ty == Type::Row64 { 1 << 63 } else { 1 << 31 };
    match op {
        LaneOp::Xor => bits == sign,
        LaneOp::And => bits == sign - 1,
        _ => false,
    }
}

/// The bits of a float's exponent in a lane, and its sign.
fn exponent_and_sign(ty: Type) -> (u64, u64) {
    match ty {
        Type::Row64 => (0x7ff0_0000_0000_0000, 1 << 63),
        _ => (0x7f80_0000, 1 << 31),
    }
}

/// Removes selections of the canonical NaN from values whose NaNs nothing sees.
pub fn remove_canonical_nans(function: &mut Function) {
    let visible = visible(function);
    let mut same: Vec<Option<Value>> = vec![None; function.value_count()];
    let mut unordered: Vec<Option<Value>> = vec![None; function.value_count()];
    for block in function.reverse_postorder() {
        for &inst in &function.block(block).insts {
            let InstData { op, args, results } = function.inst(inst);
            match (op, &args[..], &results[..]) {
                (Op::Unordered, [a, b], [mask]) if a == b => unordered[mask.index()] = Some(*a),
                (Op::Select, [mask, _, value], [result])
                    if unordered[mask.index()] == Some(*value) && !visible[result.index()] =>
                {
                    same[result.index()] = Some(*value);
                }
                _ => {}
            }
        }
    }
    function.map_uses(|mut value| {
        while let Some(next) = same[value.index()] {
            value = next;
        }
        value
    });
}

/// Returns for each value whether the bits of its NaNs are visible.
fn visible(function: &Function) -> Vec<bool> {
    let mut visible = vec![false; function.value_count()];
    // Values that are visible if another one is.
    let mut sources: Vec<Vec<Value>> = vec![Vec::new(); function.value_count()];
    let mut work = Vec::new();
    let mut known: Vec<Option<u64>> = vec![None; function.value_count()];
    let mut unordered: Vec<Option<Value>> = vec![None; function.value_count()];
    // By value: the operands of a conjunction, and the value that is compared with another one.
    let mut both: Vec<Option<[Value; 2]>> = vec![None; function.value_count()];
    let mut equal: Vec<Option<[Value; 2]>> = vec![None; function.value_count()];
    for (_, block) in function.blocks() {
        for &inst in &block.insts {
            let InstData { op, args, results } = function.inst(inst);
            match (op, &args[..]) {
                (Op::Const(bits), _) => known[results[0].index()] = Some(*bits),
                (Op::Unordered, [a, b]) if a == b => unordered[results[0].index()] = Some(*a),
                (Op::Lanes(LaneOp::And), &[a, b]) => both[results[0].index()] = Some([a, b]),
                (Op::Test(Test::U(Rel::Eq)), &[a, b]) => equal[results[0].index()] = Some([a, b]),
                _ => {}
            }
        }
    }
    // Whether a mask has the lanes in which a value is subnormal or zero, which no NaN is.
    let is_small = |mask: Value, value: Value| {
        let (exponent, _) = exponent_and_sign(function.ty(value));
        let of = |[test, zero]: [Value; 2]| {
            let [a, bits] = both[test.index()]?;
            let are = known[zero.index()] == Some(0) && known[bits.index()] == Some(exponent);
            Some(are && a == value)
        };
        equal[mask.index()].and_then(of) == Some(true)
    };
    for (_, block) in function.blocks() {
        for &inst in &block.insts {
            let InstData { op, args, results } = function.inst(inst);
            match (op, &args[..]) {
                // Where the second value is selected, it is a number.
                (Op::Select, [mask, a, b]) if unordered[mask.index()] == Some(*b) => {
                    sources[results[0].index()].push(*a);
                }
                (Op::Select, &[mask, _, b]) if is_small(mask, b) => {
                    sources[results[0].index()].push(b);
                }
                (Op::Select, [_, a, b]) => sources[results[0].index()].extend([a, b]),
                (Op::Permute, [a, index]) => {
                    sources[results[0].index()].push(*a);
                    work.push(*index);
                }
                (Op::Lanes(op), [a, b])
                    if known[b.index()].is_some_and(|c| is_of_sign(*op, c, function.ty(*a))) =>
                {
                    sources[results[0].index()].push(*a);
                }
                (Op::Lanes(LaneOp::And), &[a, b]) if known[b.index()].is_some() => {
                    let (exponent, sign) = exponent_and_sign(function.ty(a));
                    match known[b.index()] {
                        // It is the same for all NaNs.
                        Some(bits) if bits == exponent => {}
                        Some(bits) if bits == sign => sources[results[0].index()].push(a),
                        _ => work.push(a),
                    }
                }
                (Op::Interpret(step), args) => {
                    let moved = step.moves.map_or(usize::MAX, |operand| operand as usize + 1);
                    for (at, &arg) in args.iter().enumerate() {
                        match results.first().filter(|_| at == moved) {
                            Some(result) => sources[result.index()].push(arg),
                            None => work.push(arg),
                        }
                    }
                }
                (op, _) if is_blind(op) => {}
                _ => work.extend(args),
            }
        }
        work.extend(block.end.tested());
        for target in block.end.targets() {
            for (param, &arg) in function.block(target.block).params.iter().zip(&target.args) {
                sources[param.index()].push(arg);
            }
        }
    }
    while let Some(value) = work.pop() {
        if !std::mem::replace(&mut visible[value.index()], true) {
            work.extend(&sources[value.index()]);
        }
    }
    visible
}
