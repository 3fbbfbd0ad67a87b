//! Loop-invariant code motion: pure instructions move to the least deep loop in which their
//! arguments are defined. Constants stay: they are operands in memory.

use crate::function::{Block, Function, Inst};
use crate::op::Op;
use crate::verify::Dominance;

/// Moves pure instructions out of loops.
pub fn hoist(function: &mut Function) {
    let dominance = Dominance::new(function);
    let depths = dominance.loop_depths(function);
    let mut home: Vec<Block> = vec![Function::ENTRY; function.value_count()];
    for block in dominance.order() {
        let params = function.block(*block).params.clone();
        params.iter().for_each(|p| home[p.index()] = *block);
    }
    for &block in dominance.order() {
        let insts = std::mem::take(&mut function.block_mut(block).insts);
        let mut kept: Vec<Inst> = Vec::with_capacity(insts.len());
        for inst in insts {
            let data = function.inst(inst);
            let mut to = block;
            if data.op.is_pure() && !matches!(data.op, Op::Const(_) | Op::MaskConst(_)) {
                to = data.args.iter().fold(Function::ENTRY, |low, arg| {
                    let of = home[arg.index()];
                    if dominance.dominates(low, of) { of } else { low }
                });
                to = dominance.shallowest(&depths, to, block);
            }
            for result in &function.inst(inst).results {
                home[result.index()] = to;
            }
            if to == block {
                kept.push(inst);
            } else {
                function.block_mut(to).insts.push(inst);
            }
        }
        let list = &mut function.block_mut(block).insts;
        debug_assert!(list.is_empty());
        *list = kept;
    }
}
