//! From allocated code to machine instructions.

use super::function::{Function, Inst, Micro, Span};
use super::graph::{Graph, NodeEnd};
use super::liveness::Liveness;
use super::register::{SEAT, View};
use super::slots::Slots;
use super::{Compiled, Resume, encode};
use crate::asm::{Asm, Label, at};
use fast::Level;
use iced_x86::{Code as Op, Register};
use regalloc2::{Allocation, Edit, Output, PReg, ProgPoint, RegClass};

/// The alignment of a seat and of its parts.
const ALIGN: usize = 64;

/// Emits a function.
pub(super) struct Emitter<'a> {
    pub(super) f: &'a Function,
    pub(super) graph: &'a Graph,
    pub(super) output: &'a Output,
    pub(super) liveness: &'a Liveness,
    slots: &'a Slots,
    pub(super) asm: &'a mut Asm,
    /// By node.
    labels: Vec<Label>,
    /// By node: the node to jump to instead, if the node does nothing but jump.
    targets: Vec<u32>,
    /// Labels of instructions.
    locals: Vec<Label>,
    /// Instructions with code out of line, and their labels.
    outside: Vec<(u32, u32)>,
    /// Offsets in the seat: of spill slots, and of saved registers.
    spilled: i64,
    pub(super) saved: i64,
    /// Bytes at `saved` that are used.
    pub(super) saved_bytes: i64,
    pub(super) resumes: Vec<Resume>,
    /// Registers and their places in the seat, for one call at a time.
    pub(super) places: Vec<(PReg, i64)>,
    /// Moves among registers, and to or from spill slots.
    moves: [usize; 2],
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        f: &'a Function,
        graph: &'a Graph,
        output: &'a Output,
        (liveness, slots): (&'a Liveness, &'a Slots),
        asm: &'a mut Asm,
    ) -> Self {
        let spilled = (f.reserved as usize).next_multiple_of(ALIGN);
        let saved = spilled + slots.bytes().next_multiple_of(ALIGN);
        Self {
            f,
            graph,
            output,
            liveness,
            slots,
            labels: graph.nodes.iter().map(|_| asm.label()).collect(),
            asm,
            targets: Vec::new(),
            locals: Vec::new(),
            outside: Vec::new(),
            spilled: spilled as i64,
            saved: saved as i64,
            saved_bytes: 0,
            resumes: Vec::new(),
            places: Vec::new(),
            moves: [0; 2],
        }
    }

    /// Emits all nodes, cold ones last, and then the code out of line.
    pub(super) fn emit(mut self) -> Compiled {
        self.find_targets();
        let count = self.graph.nodes.len() as u32;
        let order = |cold: bool| {
            let (graph, targets) = (self.graph, &self.targets);
            (0..count).filter(move |&node| {
                let kept = targets[node as usize] == node || node == 0;
                kept && graph.nodes[node as usize].cold == cold
            })
        };
        let order: Vec<u32> = order(false).chain(order(true)).collect();
        for (i, &node) in order.iter().enumerate() {
            self.node(node as usize, order.get(i + 1).copied());
        }
        for (inst, locals) in std::mem::take(&mut self.outside) {
            if let Some(data) = self.graph.inst(self.f, inst as usize) {
                let micros = Span { start: data.outside, end: data.micros.end };
                self.micros(inst as usize, data, micros, locals as usize);
            }
        }
        Compiled {
            entry: self.labels[0],
            seat_bytes: ((self.saved + self.saved_bytes) as usize).next_multiple_of(ALIGN),
            resumes: self.resumes,
            moves: self.moves,
        }
    }

    /// Finds nodes that only jump.
    fn find_targets(&mut self) {
        let count = self.graph.nodes.len();
        let empty: Vec<bool> = (0..count).map(|node| self.only_jumps(node)).collect();
        self.targets = (0..count as u32).collect();
        for node in (0..count).rev().filter(|&node| empty[node]) {
            let to = self.graph.successors(node)[0].index();
            if to > node {
                self.targets[node] = self.targets[to];
            } else if !empty[to] {
                self.targets[node] = to as u32;
            }
        }
    }

    fn only_jumps(&self, node: usize) -> bool {
        let range = self.graph.insts(node);
        if self.graph.nodes[node].end != NodeEnd::Jump || range.len() != 1 {
            return false;
        }
        let point = |i| ProgPoint::before(regalloc2::Inst::new(i));
        let edits = &self.output.edits;
        let first = edits.partition_point(|e| e.0 < point(range.start));
        let mut moves = edits[first..].iter().take_while(|e| e.0 < point(range.end));
        moves.all(|(_, Edit::Move { from, to })| from == to)
    }

    fn node(&mut self, node: usize, next: Option<u32>) {
        self.asm.bind(self.labels[node]);
        let range = self.graph.insts(node);
        let first = ProgPoint::before(regalloc2::Inst::new(range.start));
        let mut edit = self.output.edits.partition_point(|e| e.0 < first);
        for i in range {
            self.edits(&mut edit, ProgPoint::before(regalloc2::Inst::new(i)));
            if let Some(inst) = self.graph.inst(self.f, i) {
                self.inst(i, inst);
            }
            self.edits(&mut edit, ProgPoint::after(regalloc2::Inst::new(i)));
        }
        self.end(node, next);
    }

    /// Emits the moves at a point.
    fn edits(&mut self, edit: &mut usize, point: ProgPoint) {
        let output = self.output;
        while let Some((_, Edit::Move { from, to })) =
            output.edits.get(*edit).filter(|e| e.0 == point)
        {
            if from != to {
                self.transfer(*from, *to);
            }
            *edit += 1;
        }
    }

    fn transfer(&mut self, from: Allocation, to: Allocation) {
        self.moves[usize::from(from.is_stack() || to.is_stack())] += 1;
        match (from.as_reg(), to.as_reg()) {
            (Some(from), Some(to)) => {
                let op = match from.class() {
                    RegClass::Int => Op::Mov_r64_rm64,
                    RegClass::Float => Op::VEX_Kmovq_kr_km64,
                    RegClass::Vector if self.f.level == Level::Avx512 => {
                        Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512
                    }
                    RegClass::Vector => Op::VEX_Vmovdqa_ymm_ymmm256,
                };
                let (from, to) = (self.full(from), self.full(to));
                self.asm.rr(op, to, from);
            }
            (Some(from), None) => {
                let to = self.slot(to);
                self.save(from, to);
            }
            (None, Some(to)) => {
                let from = self.slot(from);
                self.restore(to, from);
            }
            // The allocator makes no such moves.
            (None, None) => debug_assert!(false, "a move in memory"),
        }
    }

    /// Returns the offset of a spill slot in the seat.
    pub(super) fn slot(&self, allocation: Allocation) -> i64 {
        self.spilled + allocation.as_stack().map_or(0, |slot| self.slots.offset(slot)) as i64
    }

    pub(super) fn full(&self, register: PReg) -> Register {
        View::full(register.class()).of(register, self.f.level)
    }

    /// Stores a register to the seat.
    pub(super) fn save(&mut self, from: PReg, to: i64) {
        let op = match from.class() {
            RegClass::Int => Op::Mov_rm64_r64,
            RegClass::Float => Op::VEX_Kmovq_m64_kr,
            RegClass::Vector if self.f.level == Level::Avx512 => Op::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
            RegClass::Vector => Op::VEX_Vmovdqu_ymmm256_ymm,
        };
        let from = self.full(from);
        self.asm.mr(op, at(SEAT, to), from);
    }

    /// Loads a register from the seat.
    pub(super) fn restore(&mut self, to: PReg, from: i64) {
        let op = match to.class() {
            RegClass::Int => Op::Mov_r64_rm64,
            RegClass::Float => Op::VEX_Kmovq_kr_km64,
            RegClass::Vector if self.f.level == Level::Avx512 => Op::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
            RegClass::Vector => Op::VEX_Vmovdqu_ymm_ymmm256,
        };
        let to = self.full(to);
        self.asm.rm(op, to, at(SEAT, from));
    }

    fn inst(&mut self, i: usize, inst: &Inst) {
        let locals = self.locals.len();
        for _ in 0..inst.labels {
            self.locals.push(self.asm.label());
        }
        self.micros(i, inst, Span { start: inst.micros.start, end: inst.outside }, locals);
        if inst.outside < inst.micros.end {
            self.outside.push((i as u32, locals as u32));
        }
    }

    fn micros(&mut self, i: usize, inst: &Inst, micros: Span, locals: usize) {
        let f = self.f;
        for (micro, index) in f.micros[micros.range()].iter().zip(micros.start..) {
            match *micro {
                Micro::Op(machine) => {
                    let allocations = self.output.inst_allocs(regalloc2::Inst::new(i));
                    encode::machine(self, &machine, inst, allocations);
                }
                Micro::Local(op, label) => {
                    let to = self.locals[locals + usize::from(label)];
                    self.asm.jump(op, to);
                }
                Micro::Bind(label) => {
                    let label = self.locals[locals + usize::from(label)];
                    self.asm.bind(label);
                }
                Micro::Stub(op, to) => self.asm.jump(op, to),
                Micro::Leave(leave) => self.leave(i, inst, index, leave),
            }
        }
    }

    /// Emits the jumps at the end of a node; `next` is emitted after it.
    fn end(&mut self, node: usize, next: Option<u32>) {
        let target = |to: &regalloc2::Block| self.targets[to.index()];
        let label = |to: u32| self.labels[to as usize];
        match (self.graph.nodes[node].end, self.graph.successors(node)) {
            (NodeEnd::Jump, [to]) => {
                let to = target(to);
                if Some(to) != next {
                    let to = label(to);
                    self.asm.jump(Op::Jmp_rel32_64, to);
                }
            }
            (NodeEnd::Branch(op), [yes, no]) => {
                let (yes, no) = (target(yes), target(no));
                let (to_yes, to_no) = (label(yes), label(no));
                if Some(yes) == next {
                    self.asm.jump(negated(op), to_no);
                } else {
                    self.asm.jump(op, to_yes);
                    if Some(no) != next {
                        self.asm.jump(Op::Jmp_rel32_64, to_no);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the jump on the opposite condition.
fn negated(jump: Op) -> Op {
    const PAIRS: [(Op, Op); 8] = [
        (Op::Jo_rel32_64, Op::Jno_rel32_64),
        (Op::Jb_rel32_64, Op::Jae_rel32_64),
        (Op::Je_rel32_64, Op::Jne_rel32_64),
        (Op::Jbe_rel32_64, Op::Ja_rel32_64),
        (Op::Js_rel32_64, Op::Jns_rel32_64),
        (Op::Jp_rel32_64, Op::Jnp_rel32_64),
        (Op::Jl_rel32_64, Op::Jge_rel32_64),
        (Op::Jle_rel32_64, Op::Jg_rel32_64),
    ];
    let pair = PAIRS.into_iter().find(|&(a, b)| a == jump || b == jump);
    // Other instructions are no conditional jumps; encoding refuses this one.
    pair.map_or(Op::INVALID, |(a, b)| if a == jump { b } else { a })
}
