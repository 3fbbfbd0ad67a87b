//! `early_exit`: guarded exits in place of branches that only end lanes.
//!
//! A kernel's branch to a block that does nothing but end its lanes becomes a guarded `exit`, if
//! lanes that go the other way may wait for others. Passes that hold the lanes of a branch until
//! both sides have met would otherwise hold lanes that have nothing left to do, while the others
//! wait for them to end. Compilers for NVIDIA's devices make the same replacement.

use super::{PassError, Reason, blame, finish};
use crate::kernel::graph_of;
use crate::waits::{BlockNote, Notes, may_wait};
use ir::{
    Block, BlockId, FuncId, Function, Guard, Module, Operand, Term, TermKind, VerifiedModule,
};

/// The module with the branches of a kernel replaced, if it has such; functions, variables and
/// places keep their numbers.
///
/// # Errors
/// [`PassError`] if the kernel has no flow graph.
pub fn early_exit(
    module: &VerifiedModule,
    kernel: FuncId,
) -> Result<Option<VerifiedModule>, PassError> {
    let Some(function) = module.functions.get(kernel.index()).filter(|f| f.is_kernel()) else {
        // The pass that comes next has to judge it.
        return Ok(None);
    };
    let cfg = graph_of(function).map_err(|e| blame(module, kernel, Reason::Graph(e)))?;
    let notes = Notes::new(module).blocks(function);
    let may_wait = may_wait(&cfg, &notes);
    let exits: Vec<Option<Early>> = (0..function.blocks.len())
        .map(|index| early(function, index, &notes).filter(|_| may_wait[index]))
        .collect();
    if exits.iter().all(Option::is_none) {
        return Ok(None);
    }
    let replaced = replace(function, &exits);
    finish(Module::clone(module), vec![(kernel, replaced)]).map(Some)
}

/// How a branch ends some of its lanes.
#[derive(Clone, Copy)]
struct Early {
    /// The lanes that end.
    guard: Guard,
    /// Where the others jump, if they do not fall into the next block.
    then: Option<BlockId>,
}

fn early(function: &Function, index: usize, notes: &[BlockNote]) -> Option<Early> {
    let TermKind::CondBr(guard, target) = function.blocks.get(index)?.term.kind else {
        return None;
    };
    let ends = |block: usize| notes.get(block).is_some_and(|note| note.ends);
    if ends(target.index()) {
        return Some(Early { guard, then: None });
    }
    let guard = Guard { negated: !guard.negated, ..guard };
    ends(index + 1).then_some(Early { guard, then: Some(target) })
}

/// The function with these exits by block; jumps that they need are blocks of their own.
fn replace(source: &Function, exits: &[Option<Early>]) -> Function {
    // Where each block of the source stands, with the jumps in front of it.
    let mut next = 0u32;
    let mut place = Vec::with_capacity(exits.len());
    for exit in exits {
        place.push(BlockId(next));
        next += 1 + u32::from(exit.is_some_and(|e| e.then.is_some()));
    }
    let moved = |block: BlockId| place.get(block.index()).copied().unwrap_or(block);
    let mut function = Function { blocks: Vec::with_capacity(exits.len()), ..source.clone() };
    for (block, exit) in source.blocks.iter().zip(exits) {
        let mut block = block.clone();
        let blocks = block.insts.iter_mut().flat_map(|inst| &mut inst.operands);
        for operand in blocks {
            if let Operand::Block(to) = operand {
                *to = moved(*to);
            }
        }
        for to in block.term.targets_mut() {
            *to = moved(*to);
        }
        let Some(exit) = exit else {
            function.blocks.push(block);
            continue;
        };
        block.term.kind = TermKind::Exit(Some(exit.guard));
        let Term { origin, loc, .. } = block.term;
        let name = format!("{}.on", block.name);
        function.blocks.push(block);
        if let Some(to) = exit.then {
            let term = Term { kind: TermKind::Br(moved(to)), origin, loc };
            function.blocks.push(Block { name, insts: Vec::new(), term });
        }
    }
    function
}
