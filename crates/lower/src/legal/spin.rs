//! Loops that wait for what other threads store: a value that a strong read or an atomic gives
//! decides whether they are left.
//!
//! Weak reads are not looked at: no other thread's store need ever be seen by them (PTX ISA, Memory
//! Consistency Model).

use flow::kernel::{block_of, graph_of};
use flow::{Loops, Node};
use ir::mods::Order;
use ir::{BlockId, Function, Guard, Inst, LaneReg, Op, Operand, Reg, TermKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The blocks that lead back to the start of such loops, with the guard of lanes that go back, if
/// not all do.
pub(super) fn waits(function: &Function) -> FxHashMap<BlockId, Option<Guard>> {
    let read = read(function);
    let Some(cfg) = graph_of(function).ok().filter(|_| !read.is_empty()) else {
        return FxHashMap::default();
    };
    let loops = Loops::new(&cfg);
    let decides = |node: Node| decides(function, node, &read);
    let waiting = loops.ids().filter(|&id| loops.exits(&cfg, id).any(|(from, _)| decides(from)));
    let back = waiting.flat_map(|id| {
        let head = block_of(loops.header(id));
        loops.latches(&cfg, id).map(move |latch| (block_of(latch), head))
    });
    back.map(|(latch, head)| (latch, guard(function, latch, head))).collect()
}

/// The guard of lanes that go from a block to another.
fn guard(function: &Function, from: BlockId, to: BlockId) -> Option<Guard> {
    match function.blocks[from.index()].term.kind {
        TermKind::CondBr(guard, target) if target == to => Some(guard),
        _ => None,
    }
}

/// Whether the end of a block depends on these registers.
fn decides(function: &Function, node: Node, read: &FxHashSet<LaneReg>) -> bool {
    match &function.blocks[block_of(node).index()].term.kind {
        TermKind::CondBr(guard, _) | TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) => {
            read.contains(&guard.pred)
        }
        TermKind::Switch(Operand::Reg(Reg::Lane(reg)), _) => read.contains(reg),
        _ => false,
    }
}

/// Registers that depend on what strong reads and atomics give.
fn read(function: &Function) -> FxHashSet<LaneReg> {
    let mut readers: FxHashMap<LaneReg, Vec<&Inst>> = FxHashMap::default();
    let (mut found, mut work) = (FxHashSet::default(), Vec::new());
    let add = |inst: &Inst, found: &mut FxHashSet<LaneReg>, work: &mut Vec<LaneReg>| {
        for result in inst.results.iter().flatten() {
            if let Reg::Lane(reg) = *result
                && found.insert(reg)
            {
                work.push(reg);
            }
        }
    };
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        for operand in &inst.operands {
            if let Operand::Reg(Reg::Lane(reg)) = *operand {
                readers.entry(reg).or_default().push(inst);
            }
        }
        if let Some(guard) = inst.guard {
            readers.entry(guard.pred).or_default().push(inst);
        }
        if strong(inst) {
            add(inst, &mut found, &mut work);
        }
    }
    while let Some(reg) = work.pop() {
        for inst in readers.remove(&reg).unwrap_or_default() {
            add(inst, &mut found, &mut work);
        }
    }
    found
}

fn strong(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld => matches!(inst.mods.order, Some(order) if order != Order::Weak),
        op => matches!(op, Op::Atom | Op::AtomVec),
    }
}
