//! Blocks in which lanes wait for others, and blocks that only end lanes.
//!
//! A thread that has ended is not waited for at a collective or barrier (PTX ISA: "non-exited
//! threads"). A lane that a branch sends to a block which only ends it must therefore not be held
//! there for lanes that wait until it has ended. [`Notes`] tells which branches are of this kind;
//! the planner of convergence and the pass [`early_exit`](crate::passes::early_exit) use it.

use crate::graph::{Cfg, Node};
use ir::mods::{Barrier, Flag};
use ir::op::Class;
use ir::{Block, BlockId, Function, Inst, Module, Op, Operand, Symbol, TermKind};

/// What a block does to the lanes that come to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockNote {
    /// Lanes may wait in it until other lanes have come or ended.
    pub waits: bool,
    /// It does nothing but end its lanes, at once or after jumps.
    pub ends: bool,
}

/// The functions of a module in which lanes may wait for others.
#[derive(Clone, Debug)]
pub struct Notes {
    waiting: Vec<bool>,
    /// Whether lanes may wait in some function whose address is taken.
    indirect: bool,
}

impl Notes {
    /// Reads all functions of a module, in time near-linear in its size.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let count = module.functions.len();
        let (mut waiting, mut callers) = (vec![false; count], vec![Vec::new(); count]);
        let (mut addressed, mut calling_indirectly) = (vec![false; count], Vec::new());
        for (index, function) in module.functions.iter().enumerate() {
            for inst in function.blocks.iter().flat_map(|b| &b.insts) {
                waiting[index] |= waits(inst);
                for callee in inst.operands.iter().filter_map(named).filter(|&f| f < count) {
                    match inst.op {
                        Op::Call => callers[callee].push(index),
                        _ => addressed[callee] = true,
                    }
                }
                if inst.op == Op::CallInd {
                    calling_indirectly.push(index);
                }
            }
        }
        for reloc in module.vars.iter().flat_map(|var| &var.relocs) {
            if let Symbol::Func(callee) = reloc.symbol
                && callee.index() < count
            {
                addressed[callee.index()] = true;
            }
        }
        let mut this = Self { waiting, indirect: false };
        let mut open: Vec<usize> = (0..count).filter(|&f| this.waiting[f]).collect();
        while let Some(callee) = open.pop() {
            let mut reached = std::mem::take(&mut callers[callee]);
            if addressed[callee] && !std::mem::replace(&mut this.indirect, true) {
                reached.append(&mut calling_indirectly);
            }
            for caller in reached {
                if !std::mem::replace(&mut this.waiting[caller], true) {
                    open.push(caller);
                }
            }
        }
        this
    }

    /// Notes on the blocks of a function of the module, by index.
    #[must_use]
    pub fn blocks(&self, function: &Function) -> Vec<BlockNote> {
        let waits = |block: &Block| block.insts.iter().any(|i| waits(i) || self.is_waiting_call(i));
        let ends = |index| ends(function, BlockId(Node::at(index).get()));
        let blocks = function.blocks.iter().enumerate();
        blocks.map(|(i, block)| BlockNote { waits: waits(block), ends: ends(i) }).collect()
    }

    fn is_waiting_call(&self, inst: &Inst) -> bool {
        let callee = || inst.operands.first().and_then(named);
        match inst.op {
            Op::Call => callee().is_some_and(|f| self.waiting.get(f) == Some(&true)),
            Op::CallInd => self.indirect,
            _ => false,
        }
    }
}

/// Whether a lane that leaves a block may come to one in which lanes wait, by block index.
#[must_use]
pub fn may_wait(cfg: &Cfg, notes: &[BlockNote]) -> Vec<bool> {
    let mut found = vec![false; cfg.len()];
    let waits = |n: &Node| notes.get(n.index()).is_some_and(|note| note.waits);
    let mut open: Vec<Node> = cfg.nodes().filter(waits).collect();
    while let Some(node) = open.pop() {
        for &before in cfg.predecessors(node) {
            if !std::mem::replace(&mut found[before.index()], true) {
                open.push(before);
            }
        }
    }
    found
}

/// The index of the function that an operand names.
fn named(operand: &Operand) -> Option<usize> {
    match operand {
        Operand::Func(f) | Operand::Symbol(Symbol::Func(f), _) => Some(f.index()),
        _ => None,
    }
}

/// Whether lanes may wait at an instruction until others have come or ended.
fn waits(inst: &Inst) -> bool {
    match inst.op.info().class {
        Class::Collective => inst.op != Op::ActiveMask && !inst.mods.flags.has(Flag::NoMask),
        Class::Barrier => inst.mods.barrier != Some(Barrier::Arrive),
        _ => false,
    }
}

/// Longest chain of blocks that only jump which is followed.
const LONGEST: usize = 8;

/// Whether a block of a function only ends its lanes, at once or after jumps.
pub(crate) fn ends(function: &Function, mut at: BlockId) -> bool {
    for _ in 0..LONGEST {
        let Some(block) = function.blocks.get(at.index()).filter(|b| b.insts.is_empty()) else {
            return false;
        };
        at = match block.term.kind {
            TermKind::Exit(None) => return true,
            TermKind::Ret(None) => return function.is_kernel(),
            TermKind::Br(to) => to,
            TermKind::Fall => BlockId(at.0.saturating_add(1)),
            _ => return false,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_tables_are_called_by_address() {
        let text = |table: &str| {
            format!(
                "global @table size 8 align 8
                {table}
                func @meet() {{
                entry:
                  bar.sync 0
                  ret
                }}
                kernel @k() {{
                  reg %f: b64
                entry:
                  %f = ld.global.u64 [@table]
                  calli %f()
                  ret
                }}"
            )
        };
        for (table, waits) in [("reloc 0: u64 @meet", true), ("", false)] {
            let module = ir::text::parse(isa::FileId(0), &text(table)).unwrap();
            let notes = Notes::new(&module).blocks(&module.functions[1]);
            assert_eq!(notes[0].waits, waits, "{table}");
        }
    }
}
