//! Spill slots that values share.
//!
//! Allocation in one pass (Fastalloc) gives each value that it spills a slot of its own, and a seat
//! of a long function would have tens of thousands of bytes. Here, values whose slots are not in
//! use at the same time get the same place: a linear scan over intervals of the code, in the order
//! of nodes.
//!
//! A slot is in use from its first mention to its last, and if it is in use at the head of a loop
//! that begins after its first mention, to the end of that loop. This covers all paths, because in
//! SSA form a value's definition dominates its uses, and dominators precede what they dominate if
//! each node but the first has a predecessor before it; otherwise no slots are shared.

use super::function::Function;
use super::graph::{Graph, SLOT, vector_bytes};
use regalloc2::{Allocation, Edit, Inst, Output, PReg, RegClass, SpillSlot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places of spill slots. Kept from one function to the next for its memory.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By slot of the allocator, the slot in its place; empty if they are the same.
    place: Vec<u32>,
    /// Number of slots.
    count: usize,
    intervals: Vec<Interval>,
    /// Instructions at which loops begin and end, sorted.
    loops: Vec<(u32, u32)>,
    active: BinaryHeap<Reverse<(u32, u32, bool)>>,
    /// Free places: of vectors, and of others.
    free: [Vec<u32>; 2],
}

/// Where a slot is in use.
#[derive(Clone, Copy, Debug)]
struct Interval {
    from: u32,
    to: u32,
    slot: u32,
    is_vector: bool,
}

impl Slots {
    /// Bytes of all slots.
    pub(super) fn bytes(&self) -> usize {
        self.count * SLOT
    }

    /// Returns the offset of a slot in bytes.
    pub(super) fn offset(&self, slot: SpillSlot) -> usize {
        SLOT * self.place.get(slot.index()).map_or(slot.index(), |&place| place as usize)
    }

    /// Leaves slots as the allocator has numbered them.
    pub(super) fn keep(&mut self, output: &Output) {
        self.place.clear();
        self.count = output.num_spillslots;
    }

    /// Lets values share slots.
    pub(super) fn share(&mut self, f: &Function, graph: &Graph, output: &Output) {
        self.keep(output);
        let earlier = |node: usize| graph.predecessors(node).iter().any(|p| p.index() < node);
        if !(1..graph.nodes.len()).all(earlier) {
            return;
        }
        self.find_intervals(f, graph, output);
        self.extend_over_loops(graph);
        self.assign(vector_bytes(f.level) / SLOT);
    }

    fn find_intervals(&mut self, f: &Function, graph: &Graph, output: &Output) {
        let empty = Interval { from: u32::MAX, to: 0, slot: 0, is_vector: false };
        self.intervals.clear();
        self.intervals.resize(output.num_spillslots, empty);
        let mut mention = |at: Allocation, inst: usize, class: RegClass| {
            if let Some(slot) = at.as_stack() {
                let interval = &mut self.intervals[slot.index()];
                interval.from = interval.from.min(inst as u32);
                interval.to = interval.to.max(inst as u32);
                interval.slot = slot.index() as u32;
                interval.is_vector = class == RegClass::Vector;
            }
        };
        for (point, Edit::Move { from, to }) in &output.edits {
            let class = from.as_reg().or(to.as_reg()).map_or(RegClass::Vector, PReg::class);
            mention(*from, point.inst().index(), class);
            mention(*to, point.inst().index(), class);
        }
        for i in graph.insts(0).start..graph.insts(graph.nodes.len() - 1).end {
            let Some(inst) = graph.inst(f, i) else { continue };
            let operands = &f.operands[inst.operands.range()];
            for (operand, &at) in operands.iter().zip(output.inst_allocs(Inst::new(i))) {
                mention(at, i, operand.class());
            }
        }
        self.intervals.retain(|interval| interval.from <= interval.to);
        self.intervals.sort_unstable_by_key(|interval| interval.from);
    }

    fn extend_over_loops(&mut self, graph: &Graph) {
        self.loops.clear();
        for node in 0..graph.nodes.len() {
            for head in graph.successors(node).iter().filter(|to| to.index() <= node) {
                let (head, end) = (graph.insts(head.index()).start, graph.insts(node).end);
                self.loops.push((head as u32, end as u32));
            }
        }
        self.loops.sort_unstable();
        for interval in &mut self.intervals {
            let first = self.loops.partition_point(|&(head, _)| head <= interval.from);
            for &(head, end) in &self.loops[first..] {
                if head > interval.to {
                    break;
                }
                interval.to = interval.to.max(end);
            }
        }
    }

    /// Gives each interval a place. A vector takes as many slots as `vector`, aligned to that.
    fn assign(&mut self, vector: usize) {
        self.place.resize(self.count, 0);
        self.count = 0;
        self.active.clear();
        self.free.iter_mut().for_each(Vec::clear);
        for interval in &self.intervals {
            while let Some(&Reverse((to, place, is_vector))) = self.active.peek() {
                if to >= interval.from {
                    break;
                }
                self.free[usize::from(!is_vector)].push(place);
                self.active.pop();
            }
            let free = &mut self.free[usize::from(!interval.is_vector)];
            let place = free.pop().unwrap_or_else(|| {
                let place = self.count as u32;
                self.count += vector;
                if !interval.is_vector {
                    // The rest of the vector serves other numbers.
                    free.extend((place + 1..place + vector as u32).rev());
                }
                place
            });
            self.place[interval.slot as usize] = place;
            self.active.push(Reverse((interval.to, place, interval.is_vector)));
        }
    }
}
