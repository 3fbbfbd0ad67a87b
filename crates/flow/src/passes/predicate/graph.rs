//! The graph that is if-converted: blocks with their ends made plain.
//!
//! Lanes that end a kernel under a guard just vanish from all masks, so such an end is not an edge
//! ([`Block::kills`]); a branch straight to a block that only ends the thread is the same thing.
//! Returns from a called function lead to one virtual block. Block 0 is a virtual entry, so that no
//! loop is entered at the start of the function.

use crate::graph::{Cfg, CfgBuilder, GraphError};
use ir::{BlockId, Function, Guard, LocId, Operand, TermKind};

/// What a block does after its instructions and its kills.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::passes) enum End {
    /// All lanes here end.
    Stop,
    /// On to a block.
    Jump(u32),
    /// Where the guard holds to the first, else to the second; the two differ.
    Branch(Guard, [u32; 2]),
    /// By an index; out of range is a fault.
    Switch(Operand, Vec<u32>),
}

/// A block.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Block {
    /// The block of the function whose instructions these are; none of a virtual block.
    pub(in crate::passes) source: Option<u32>,
    /// Whether it is a copy of another block.
    pub(in crate::passes) copy: bool,
    /// Lanes that end here before the others go on.
    pub(in crate::passes) kills: Vec<Guard>,
    pub(in crate::passes) end: End,
}

impl Block {
    fn new(source: Option<u32>, end: End) -> Self {
        Self { source, copy: false, kills: Vec::new(), end }
    }

    /// Successors, each once, in order.
    pub(in crate::passes) fn successors(&self) -> Vec<u32> {
        match &self.end {
            End::Stop => Vec::new(),
            End::Jump(to) => vec![*to],
            End::Branch(_, sides) => sides.to_vec(),
            End::Switch(_, targets) => {
                let mut seen = rustc_hash::FxHashSet::default();
                targets.iter().copied().filter(|t| seen.insert(*t)).collect()
            }
        }
    }

    /// Successors, to be renamed.
    pub(super) fn targets_mut(&mut self) -> &mut [u32] {
        match &mut self.end {
            End::Stop => &mut [],
            End::Jump(to) => std::slice::from_mut(to),
            End::Branch(_, sides) => sides,
            End::Switch(_, targets) => targets,
        }
    }
}

/// A function's blocks.
#[derive(Clone, Debug)]
pub(in crate::passes) struct Graph {
    pub(in crate::passes) blocks: Vec<Block>,
}

impl Graph {
    /// Of a verified function without branches on masks.
    /// With `ends_last`, ends of threads are ways to the virtual block behind the last.
    pub(in crate::passes) fn new(function: &Function, ends_last: bool) -> Self {
        let mut graph = Self { blocks: vec![Block::new(None, End::Jump(1))] };
        // The block behind the last is where returns of a called function lead.
        let after = number(function.blocks.len()) + 1;
        let only = |i| !ends_last && only_ends(function, i);
        let ends: Vec<bool> = (0..function.blocks.len()).map(only).collect();
        for i in 0..function.blocks.len() {
            graph.blocks.push(block(function, i, after, &ends, ends_last));
        }
        graph.blocks.push(Block::new(None, End::Stop));
        graph
    }

    /// As the analyses see it.
    pub(in crate::passes) fn cfg(&self) -> Result<Cfg, GraphError> {
        let mut builder = CfgBuilder::new();
        for block in &self.blocks {
            builder.block(block.successors())?;
        }
        builder.build(0)
    }

    /// Name of a block in messages and output.
    pub(in crate::passes) fn name<'f>(&self, function: &'f Function, block: u32) -> &'f str {
        let source = self.blocks.get(block as usize).and_then(|b| b.source);
        source.map_or("end", |i| &function.blocks[i as usize].name)
    }

    /// Place of a block's end.
    pub(in crate::passes) fn loc(&self, function: &Function, block: u32) -> LocId {
        let source = self.blocks.get(block as usize).and_then(|b| b.source);
        source.map_or(function.loc, |i| function.blocks[i as usize].term.loc)
    }

    /// Instructions of a block.
    pub(in crate::passes) fn insts<'f>(
        &self,
        function: &'f Function,
        block: u32,
    ) -> &'f [ir::Inst] {
        match self.blocks[block as usize].source {
            Some(i) => &function.blocks[i as usize].insts,
            None => &[],
        }
    }
}

pub(in crate::passes) fn number(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// Whether a block does nothing but end its threads.
fn only_ends(function: &Function, index: usize) -> bool {
    let block = &function.blocks[index];
    let ends = match block.term.kind {
        TermKind::Exit(None) => true,
        TermKind::Ret(None) => function.is_kernel(),
        _ => false,
    };
    ends && block.insts.is_empty()
}

fn block(function: &Function, index: usize, after: u32, ends: &[bool], ends_last: bool) -> Block {
    let kernel = function.is_kernel() && !ends_last;
    let at = |b: BlockId| b.0 + 1;
    let next = number(index) + 2;
    let mut out = Block::new(Some(number(index)), End::Stop);
    let ending = |b: u32| ends.get(b as usize - 1).copied().unwrap_or(false);
    match &function.blocks[index].term.kind {
        TermKind::Fall => out.end = jump(next, &ending),
        TermKind::Br(to) => out.end = jump(at(*to), &ending),
        TermKind::CondBr(guard, to) => branch(&mut out, *guard, at(*to), next, &ending),
        TermKind::Switch(operand, targets) => {
            let targets: Vec<u32> = targets.iter().map(|&b| at(b)).collect();
            out.end = End::Switch(*operand, targets);
        }
        TermKind::Exit(None) if ends_last => out.end = End::Jump(after),
        TermKind::Exit(Some(guard)) if ends_last => {
            out.end = End::Branch(*guard, [after, next]);
        }
        TermKind::Exit(None) => {}
        TermKind::Ret(None) if kernel => {}
        TermKind::Ret(None) => out.end = End::Jump(after),
        TermKind::Exit(Some(guard)) => {
            out.kills.push(*guard);
            out.end = jump(next, &ending);
        }
        TermKind::Ret(Some(guard)) if kernel => {
            out.kills.push(*guard);
            out.end = jump(next, &ending);
        }
        TermKind::Ret(Some(guard)) => out.end = End::Branch(*guard, [after, next]),
        // Refused before.
        TermKind::MaskBr(..) => {}
    }
    out
}

fn jump(to: u32, ending: &impl Fn(u32) -> bool) -> End {
    if ending(to) { End::Stop } else { End::Jump(to) }
}

fn branch(out: &mut Block, guard: Guard, to: u32, next: u32, ending: &impl Fn(u32) -> bool) {
    out.end = match (ending(to), ending(next)) {
        _ if to == next => jump(to, ending),
        (true, true) => End::Stop,
        (true, false) => {
            out.kills.push(guard);
            End::Jump(next)
        }
        (false, true) => {
            out.kills.push(Guard { negated: !guard.negated, ..guard });
            End::Jump(to)
        }
        (false, false) => End::Branch(guard, [to, next]),
    };
}
