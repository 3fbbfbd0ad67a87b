//! The control flow graph that the allocator works on: reachable blocks, with critical edges split.

use super::function::{Block, Edge, End, Function, Inst, Span};
use super::register::VReg;
use fast::Level;
use iced_x86::Code as Op;
use regalloc2::{Block as Node, InstRange, Operand, PRegSet, RegClass};

/// In place of an instruction: the jump of a block on an edge.
const JUMP: u32 = u32::MAX;
/// Bytes of a unit of spill slots.
pub(super) const SLOT: usize = 8;

/// An instruction, and what it is to its block.
#[derive(Clone, Copy, Debug)]
struct Placed {
    inst: u32,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Body,
    Branch,
    Return,
}

/// How a node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeEnd {
    Jump,
    Branch(Op),
    Exit,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NodeData {
    params: Span,
    insts: Span,
    successors: Span,
    predecessors: Span,
    arguments: [Span; 2],
    pub(super) end: NodeEnd,
    pub(super) cold: bool,
}

/// The graph of a function. Kept from one function to the next for its memory.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<NodeData>,
    /// Instructions of the function in the order of nodes.
    insts: Vec<Placed>,
    successors: Vec<Node>,
    predecessors: Vec<Node>,
    /// By block: the number of edges to it, the node.
    incoming: Vec<u32>,
    node_of: Vec<u32>,
    work: Vec<Block>,
}

impl Graph {
    /// Builds the graph of a function with at least one block. Returns whether all blocks that can
    /// be reached have an end.
    pub(super) fn build(&mut self, f: &Function) -> bool {
        self.count_incoming(f);
        let reached = self.incoming.iter().zip(&f.blocks).filter(|(count, _)| **count > 0);
        if reached.into_iter().any(|(_, block)| matches!(block.end, End::Open)) {
            return false;
        }
        self.nodes.clear();
        self.insts.clear();
        self.node_of.clear();
        self.node_of.resize(f.blocks.len(), 0);
        let reachable = f.order.iter().filter(|b| self.incoming[b.0 as usize] > 0);
        let mut next = 0;
        for block in reachable {
            self.node_of[block.0 as usize] = next;
            let split = match &f.blocks[block.0 as usize].end {
                End::Branch(_, yes, no) => [yes, no].iter().filter(|e| self.is_split(e)).count(),
                _ => 0,
            };
            next += 1 + split as u32;
        }
        self.successors.clear();
        for &block in &f.order {
            if self.incoming[block.0 as usize] == 0 {
                continue;
            }
            let data = &f.blocks[block.0 as usize];
            let start = self.insts.len() as u32;
            let body =
                (data.insts.start..data.insts.end).map(|inst| Placed { inst, role: Role::Body });
            self.insts.extend(body);
            if let Some(last) = self.insts.last_mut() {
                let returns = matches!(data.end, End::Exit | End::Open);
                last.role = if returns { Role::Return } else { Role::Branch };
            }
            let insts = Span { start, end: self.insts.len() as u32 };
            let node = self.nodes.len();
            let (ends, edges) = match data.end {
                End::Jump(edge) => (NodeEnd::Jump, [Some(edge), None]),
                End::Branch(op, yes, no) => (NodeEnd::Branch(op), [Some(yes), Some(no)]),
                End::Exit | End::Open => (NodeEnd::Exit, [None, None]),
            };
            self.node(data.params, insts, ends, data.cold);
            let mut between = node;
            for edge in edges.into_iter().flatten() {
                let split = matches!(data.end, End::Branch(..)) && self.is_split(&edge);
                let to = if split {
                    between += 1;
                    between as u32
                } else {
                    self.node_of[edge.to.0 as usize]
                };
                self.successor(node, to, if split { Span::default() } else { edge.arguments });
            }
            if let End::Branch(_, yes, no) = data.end {
                for edge in [yes, no] {
                    if self.is_split(&edge) {
                        self.edge_node(f, &edge, data.cold);
                    }
                }
            }
        }
        self.find_predecessors();
        true
    }

    /// Counts the edges to each block from blocks that can be reached. The entry has one more.
    fn count_incoming(&mut self, f: &Function) {
        self.incoming.clear();
        self.incoming.resize(f.blocks.len(), 0);
        self.work.clear();
        let mut reach = |to: Block, work: &mut Vec<Block>| {
            let count = &mut self.incoming[to.0 as usize];
            *count += 1;
            if *count == 1 {
                work.push(to);
            }
        };
        reach(f.order[0], &mut self.work);
        while let Some(block) = self.work.pop() {
            match f.blocks[block.0 as usize].end {
                End::Jump(edge) => reach(edge.to, &mut self.work),
                End::Branch(_, yes, no) => {
                    reach(yes.to, &mut self.work);
                    reach(no.to, &mut self.work);
                }
                End::Exit | End::Open => {}
            }
        }
    }

    /// Whether an edge of a branch has a node of its own: arguments are moved there.
    fn is_split(&self, edge: &Edge) -> bool {
        edge.arguments.start < edge.arguments.end || self.incoming[edge.to.0 as usize] > 1
    }

    fn node(&mut self, params: Span, insts: Span, end: NodeEnd, cold: bool) {
        let start = self.successors.len() as u32;
        let (predecessors, successors) = (Span::default(), Span { start, end: start });
        let arguments = [Span::default(); 2];
        let data = NodeData { params, insts, successors, predecessors, arguments, end, cold };
        self.nodes.push(data);
    }

    fn successor(&mut self, node: usize, to: u32, arguments: Span) {
        let data = &mut self.nodes[node];
        data.arguments[(data.successors.end - data.successors.start) as usize] = arguments;
        data.successors.end += 1;
        self.successors.push(Node::new(to as usize));
    }

    fn edge_node(&mut self, f: &Function, edge: &Edge, cold: bool) {
        let start = self.insts.len() as u32;
        self.insts.push(Placed { inst: JUMP, role: Role::Branch });
        let (node, to) = (self.nodes.len(), edge.to.0 as usize);
        let insts = Span { start, end: start + 1 };
        self.node(Span::default(), insts, NodeEnd::Jump, cold || f.blocks[to].cold);
        self.successor(node, self.node_of[to], edge.arguments);
    }

    fn find_predecessors(&mut self) {
        for &to in &self.successors {
            self.nodes[to.index()].predecessors.end += 1;
        }
        let mut start = 0;
        for node in &mut self.nodes {
            let count = node.predecessors.end;
            node.predecessors = Span { start, end: start };
            start += count;
        }
        self.predecessors.clear();
        self.predecessors.resize(self.successors.len(), Node::new(0));
        for node in 0..self.nodes.len() {
            for successor in self.nodes[node].successors.range() {
                let to = &mut self.nodes[self.successors[successor].index()];
                self.predecessors[to.predecessors.end as usize] = Node::new(node);
                to.predecessors.end += 1;
            }
        }
    }

    /// Returns the nodes after a node.
    pub(super) fn successors(&self, node: usize) -> &[Node] {
        &self.successors[self.nodes[node].successors.range()]
    }

    /// Returns the nodes before a node.
    pub(super) fn predecessors(&self, node: usize) -> &[Node] {
        &self.predecessors[self.nodes[node].predecessors.range()]
    }

    /// Returns the range of instructions of a node.
    pub(super) fn insts(&self, node: usize) -> std::ops::Range<usize> {
        self.nodes[node].insts.range()
    }

    /// Returns an instruction of the function, or `None` for the jump of a block on an edge.
    pub(super) fn inst<'f>(&self, f: &'f Function, inst: usize) -> Option<&'f Inst> {
        f.insts.get(self.insts[inst].inst as usize)
    }
}

/// A function and its graph, as the allocator reads them, with the operands of all instructions.
pub(super) struct Allocatable<'a> {
    pub(super) function: &'a Function,
    pub(super) graph: &'a Graph,
    pub(super) operands: &'a [Operand],
    /// Whether registers are allocated in one pass. Predecessors are kept from that: it looks only
    /// for branches among them that define values, of which there are none, and does so for each
    /// value that lives there, which would take most of its time.
    pub(super) one_pass: bool,
    /// The registers whose values are in spill slots where a turn ends in line.
    pub(super) clobbers: PRegSet,
}

impl regalloc2::Function for Allocatable<'_> {
    fn num_insts(&self) -> usize {
        self.graph.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.graph.nodes.len()
    }

    fn entry_block(&self) -> Node {
        Node::new(0)
    }

    fn block_insns(&self, block: Node) -> InstRange {
        let range = self.graph.insts(block.index());
        InstRange::new(regalloc2::Inst::new(range.start), regalloc2::Inst::new(range.end))
    }

    fn block_succs(&self, block: Node) -> &[Node] {
        self.graph.successors(block.index())
    }

    fn block_preds(&self, block: Node) -> &[Node] {
        if self.one_pass { &[] } else { self.graph.predecessors(block.index()) }
    }

    fn block_params(&self, block: Node) -> &[VReg] {
        &self.function.values[self.graph.nodes[block.index()].params.range()]
    }

    fn is_ret(&self, inst: regalloc2::Inst) -> bool {
        self.graph.insts[inst.index()].role == Role::Return
    }

    fn is_branch(&self, inst: regalloc2::Inst) -> bool {
        self.graph.insts[inst.index()].role == Role::Branch
    }

    fn branch_blockparams(&self, block: Node, _: regalloc2::Inst, successor: usize) -> &[VReg] {
        &self.function.values[self.graph.nodes[block.index()].arguments[successor].range()]
    }

    fn inst_operands(&self, inst: regalloc2::Inst) -> &[Operand] {
        let inst = self.graph.inst(self.function, inst.index());
        inst.map_or(&[], |inst| &self.operands[inst.operands.range()])
    }

    fn inst_clobbers(&self, inst: regalloc2::Inst) -> PRegSet {
        let inst = self.graph.inst(self.function, inst.index());
        if inst.is_some_and(|inst| inst.switches) { self.clobbers } else { PRegSet::empty() }
    }

    fn num_vregs(&self) -> usize {
        self.function.registers as usize
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Int | RegClass::Float => 1,
            RegClass::Vector => vector_bytes(self.function.level) / SLOT,
        }
    }
}

/// Bytes of a vector register.
pub(super) fn vector_bytes(level: Level) -> usize {
    if level == Level::Avx512 { 64 } else { 32 }
}
