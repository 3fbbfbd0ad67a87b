//! Which registers hold values that are read later, after allocation.
//!
//! The allocator knows nothing of calls and switches out of line, so that they cost the code around
//! them nothing. Instead, each of these saves what is live at its place, found here by a backward
//! data flow over the allocated code.

use super::function::Function;
use super::graph::Graph;
use super::register::Registers;
use regalloc2::{Allocation, Edit, Inst, OperandKind, Output, ProgPoint};

/// Live registers. Kept from one function to the next for its memory.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// By node: read before they are written; written.
    read: Vec<Registers>,
    written: Vec<Registers>,
    live_in: Vec<Registers>,
    work: Vec<u32>,
    queued: Vec<bool>,
    /// After each instruction that leaves the warp, in decreasing order of instructions.
    after: Vec<(u32, Registers)>,
}

/// Walks backward over the code of a node.
struct Walk<'a> {
    f: &'a Function,
    graph: &'a Graph,
    output: &'a Output,
}

/// What a backward walk meets.
enum Event {
    Read(Allocation),
    Write(Allocation),
    /// An instruction that leaves the warp has all after it behind it.
    Leaves(u32),
}

impl Walk<'_> {
    fn back(&self, node: usize, mut event: impl FnMut(Event)) {
        let range = self.graph.insts(node);
        let edits = &self.output.edits;
        let end = ProgPoint::before(Inst::new(range.end));
        let mut edit = edits.partition_point(|&(point, _)| point < end);
        let mut edits_from = |point: ProgPoint, event: &mut dyn FnMut(Event)| {
            while let Some((_, Edit::Move { from, to })) =
                edit.checked_sub(1).map(|e| &edits[e]).filter(|e| e.0 >= point)
            {
                event(Event::Write(*to));
                event(Event::Read(*from));
                edit -= 1;
            }
        };
        for i in range.rev() {
            edits_from(ProgPoint::after(Inst::new(i)), &mut event);
            if let Some(inst) = self.graph.inst(self.f, i) {
                if inst.leaves {
                    event(Event::Leaves(i as u32));
                }
                let operands = &self.f.operands[inst.operands.range()];
                let allocations = self.output.inst_allocs(Inst::new(i));
                for (operand, &at) in operands.iter().zip(allocations) {
                    if operand.kind() == OperandKind::Def {
                        event(Event::Write(at));
                    }
                }
                for (operand, &at) in operands.iter().zip(allocations) {
                    if operand.kind() == OperandKind::Use {
                        event(Event::Read(at));
                    }
                }
            }
            edits_from(ProgPoint::before(Inst::new(i)), &mut event);
        }
    }
}

impl Liveness {
    /// Finds what is live after each instruction that leaves the warp.
    pub(super) fn find(&mut self, f: &Function, graph: &Graph, output: &Output) {
        self.after.clear();
        if f.leaves.is_empty() {
            return;
        }
        let walk = Walk { f, graph, output };
        self.summarise(&walk);
        self.solve(graph);
        for node in (0..graph.nodes.len()).rev() {
            let leaves = |i| graph.inst(f, i).is_some_and(|inst| inst.leaves);
            if !graph.insts(node).any(leaves) {
                continue;
            }
            let mut live = self.live_out(graph, node);
            let after = &mut self.after;
            walk.back(node, |event| match event {
                Event::Read(at) => at.as_reg().into_iter().for_each(|r| live.insert(r)),
                Event::Write(at) => at.as_reg().into_iter().for_each(|r| live.remove(r)),
                Event::Leaves(inst) => after.push((inst, live)),
            });
        }
    }

    /// Returns what is live after an instruction that leaves the warp.
    pub(super) fn after(&self, inst: usize) -> Registers {
        let found = self.after.binary_search_by(|&(i, _)| (inst as u32).cmp(&i));
        found.map_or(Registers::default(), |found| self.after[found].1)
    }

    fn summarise(&mut self, walk: &Walk<'_>) {
        self.read.clear();
        self.written.clear();
        for node in 0..walk.graph.nodes.len() {
            let (mut read, mut written) = (Registers::default(), Registers::default());
            walk.back(node, |event| match event {
                Event::Read(at) => at.as_reg().into_iter().for_each(|r| read.insert(r)),
                Event::Write(at) => at.as_reg().into_iter().for_each(|r| {
                    read.remove(r);
                    written.insert(r);
                }),
                Event::Leaves(_) => {}
            });
            self.read.push(read);
            self.written.push(written);
        }
    }

    fn live_out(&self, graph: &Graph, node: usize) -> Registers {
        let of = |live: Registers, to: &regalloc2::Block| live.union(self.live_in[to.index()]);
        graph.successors(node).iter().fold(Registers::default(), of)
    }

    fn solve(&mut self, graph: &Graph) {
        let count = graph.nodes.len();
        self.live_in.clear();
        self.live_in.resize(count, Registers::default());
        self.queued.clear();
        self.queued.resize(count, true);
        self.work.clear();
        self.work.extend(0..count as u32);
        while let Some(node) = self.work.pop() {
            let node = node as usize;
            self.queued[node] = false;
            let out = self.live_out(graph, node);
            let live = self.read[node].union(out.without(self.written[node]));
            if live == self.live_in[node] {
                continue;
            }
            self.live_in[node] = live;
            for before in graph.predecessors(node) {
                if !std::mem::replace(&mut self.queued[before.index()], true) {
                    self.work.push(before.index() as u32);
                }
            }
        }
    }
}
