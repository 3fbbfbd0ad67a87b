//! Which variables of a module a kernel needs.

use ir::module::{Symbol, VarId};
use ir::{Function, Module, Operand};

/// The variables that a function names, and those whose addresses are in them, each once.
pub(crate) fn needed(module: &Module, function: &Function) -> Vec<VarId> {
    let mut out: Vec<VarId> = Vec::new();
    let add = |symbol: Symbol, out: &mut Vec<VarId>| {
        if let Symbol::Var(id) = symbol
            && !out.contains(&id)
        {
            out.push(id);
        }
    };
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        for operand in &inst.operands {
            if let Operand::Symbol(symbol, _) = *operand {
                add(symbol, &mut out);
            }
        }
    }
    let mut next = 0;
    while let Some(&id) = out.get(next) {
        next += 1;
        for reloc in module.vars.get(id.index()).map_or(&[][..], |var| &var.relocs) {
            add(reloc.symbol, &mut out);
        }
    }
    out
}
