//! Collects the computations of addresses from a function.

use super::counters::{Counter, CountingLoop};
use super::form::LOOP_AXES;
use super::{Access, Footprints, Guard, Node, special};
use crate::analysis::Webs;
use crate::dom::Dominators;
use crate::graph::{self, Cfg};
use crate::loops::Loops;
use ir::mods::{Cmp, Flags, Space};
use ir::{Function, Inst, Op, Operand, Reg, Symbol, TermKind, Ty};
use smallvec::SmallVec;
use std::ops::Range;

/// The node of what nothing is known of.
pub(super) const UNKNOWN: u32 = 0;
/// Conditions of an access that are looked for, and blocks above it where they are.
const MOST_GUARDS: usize = 16;
const MOST_BLOCKS: usize = 64;
/// Functions with more instructions have no footprints.
const MOST_INSTS: usize = 1 << 14;

/// What a predicate says; operands are numbers of earlier conditions.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Compare { cmp: Cmp, ty: Ty, left: u32, right: u32 },
    Both(u32, u32),
    Any(u32, u32),
    Not(u32),
}

/// What a register holds.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Number(u32),
    Condition(u32),
}

impl Footprints {
    /// Collects the computations of the addresses of a function with this graph and these webs.
    #[must_use]
    pub fn new(function: &Function, cfg: &Cfg, webs: &Webs) -> Self {
        let insts: usize = function.blocks.iter().map(|block| block.insts.len()).sum();
        if insts > MOST_INSTS {
            return Self::default();
        }
        let (loops, dominators) = (Loops::new(cfg), Dominators::new(cfg));
        let (definitions, places) = definitions(function, webs);
        let mut builder = Builder {
            function,
            webs,
            loops: &loops,
            definitions,
            places,
            meanings: vec![None; webs.len()],
            counters: vec![None; webs.len()],
            counting: Vec::new(),
            axes: vec![0],
            conditions: Vec::new(),
            at: (0, 0),
            out: Self { nodes: vec![Node::Unknown], ..Self::default() },
        };
        builder.find_loops(cfg);
        // A register with one definition is defined before its uses in this order.
        for &node in cfg.reverse_postorder() {
            builder.begin_loop(node, (cfg, &dominators));
            for (i, inst) in function.blocks[node.index()].insts.iter().enumerate() {
                builder.inst(node.index(), i, inst);
            }
        }
        for &node in cfg.reverse_postorder() {
            builder.accesses(node, cfg, &dominators);
        }
        builder.out.finish()
    }

    /// Sorts the accesses, and drops all if none of them writes.
    fn finish(mut self) -> Self {
        if self.is_read_only() {
            return Self::default();
        }
        let mut sorted: Vec<_> = std::mem::take(&mut self.places)
            .into_iter()
            .zip(std::mem::take(&mut self.accesses))
            .collect();
        sorted.sort_by_key(|(place, _)| *place);
        (self.places, self.accesses) = sorted.into_iter().unzip();
        self.widened.sort_unstable();
        self
    }
}

/// The first and the last definition of a web.
type Places = [(usize, usize); 2];

/// Counts the definitions of each web, and finds the first and the last of them in the text.
fn definitions(function: &Function, webs: &Webs) -> (Vec<u32>, Vec<Option<Places>>) {
    let (mut count, mut places) = (vec![0; webs.len()], vec![None; webs.len()]);
    for (b, block) in function.blocks.iter().enumerate() {
        for (i, inst) in block.insts.iter().enumerate() {
            let results = (0..inst.results.len()).filter_map(|k| webs.result(b, i, k));
            results.for_each(|web| {
                count[web.index()] += 1;
                places[web.index()].get_or_insert([(b, i); 2])[1] = (b, i);
            });
        }
    }
    webs.live_into(0).iter().for_each(|web| count[web.index()] += 1);
    (count, places)
}

pub(super) struct Builder<'a> {
    pub(super) function: &'a Function,
    pub(super) webs: &'a Webs,
    pub(super) loops: &'a Loops,
    /// By web.
    pub(super) definitions: Vec<u32>,
    pub(super) places: Vec<Option<Places>>,
    meanings: Vec<Option<Meaning>>,
    pub(super) counters: Vec<Option<Counter>>,
    /// The loops that count, each of which has a coordinate.
    pub(super) counting: Vec<CountingLoop>,
    /// By node, the loops whose number of the iteration it depends on, as bits.
    pub(super) axes: Vec<u8>,
    conditions: Vec<Condition>,
    /// The block and the instruction that is collected.
    pub(super) at: (u32, u32),
    pub(super) out: Footprints,
}

impl Builder<'_> {
    pub(super) fn add(&mut self, node: Node) -> u32 {
        if node == Node::Unknown {
            return UNKNOWN;
        }
        let axes = match node {
            Node::Counter { axis, .. } => 1 << (axis - LOOP_AXES.start),
            _ => 0,
        };
        let axes = node.operands().into_iter().fold(axes, |all, of| all | self.axes[of as usize]);
        self.axes.push(axes);
        self.out.nodes.push(node);
        self.out.nodes.len() as u32 - 1
    }

    fn condition(&mut self, condition: Condition) -> Meaning {
        self.conditions.push(condition);
        Meaning::Condition(self.conditions.len() as u32 - 1)
    }

    fn meaning(&self, b: usize, i: usize, inst: &Inst, k: usize) -> Option<Meaning> {
        let web = self.webs.operand(b, i, inst.results.len(), k)?;
        let meaning = match &self.counters[web.index()] {
            Some(counter) => Some(self.counted(counter, (b, i))),
            None => match self.meanings[web.index()]? {
                Meaning::Number(node) => Some(node),
                condition @ Meaning::Condition(_) => return Some(condition),
            },
        };
        let known = meaning.filter(|&node| node != UNKNOWN && self.is_inside(node, b));
        known.map(Meaning::Number)
    }

    /// Returns the node of an operand.
    pub(super) fn number(&mut self, b: usize, i: usize, inst: &Inst, k: usize) -> u32 {
        match inst.operands.get(k) {
            Some(Operand::Reg(_)) => match self.meaning(b, i, inst, k) {
                Some(Meaning::Number(node)) => node,
                _ => UNKNOWN,
            },
            Some(&Operand::Imm(bits)) => {
                // A factor of 2^32 - 4 is one of -4.
                let width = inst.operand_slot(k).and_then(|slot| inst.slot_ty(slot));
                let width = width.map_or(64, Ty::bits).min(64);
                let value = (bits as u64) << (64 - width);
                self.add(Node::Constant(i128::from(value.cast_signed() >> (64 - width))))
            }
            _ => UNKNOWN,
        }
    }

    fn inst(&mut self, b: usize, i: usize, inst: &Inst) {
        let Some(Some(Reg::Lane(_))) = inst.results.first() else { return };
        let Some(web) = self.webs.result(b, i, 0) else { return };
        let increased = self.counters[web.index()].map(|counter| counter.at);
        let first = increased.is_some_and(|at| at != (b, i));
        if self.definitions[web.index()] != 1 && !first || inst.guard.is_some() {
            return;
        }
        self.at = (b as u32, i as u32);
        if first {
            let first = self.value(b, i, inst);
            if let Some(counter) = &mut self.counters[web.index()] {
                counter.first = first;
            }
            return;
        }
        let meaning = match inst.op {
            Op::Setp | Op::And | Op::Or | Op::Not | Op::Mov
                if inst.op == Op::Setp || self.is_predicate(inst) =>
            {
                self.predicate(b, i, inst)
            }
            _ => {
                let node = self.value(b, i, inst);
                (node != UNKNOWN).then_some(Meaning::Number(node))
            }
        };
        self.meanings[web.index()] = meaning;
    }

    fn is_predicate(&self, inst: &Inst) -> bool {
        self.result_bits(inst) == 1
    }

    pub(super) fn result_bits(&self, inst: &Inst) -> u32 {
        match inst.results.first() {
            Some(Some(Reg::Lane(reg))) => self.function.regs[reg.index()].ty.bits(),
            _ => 0,
        }
    }

    fn predicate(&mut self, b: usize, i: usize, inst: &Inst) -> Option<Meaning> {
        let operand = |this: &Self, k| match this.meaning(b, i, inst, k) {
            Some(Meaning::Condition(condition)) => Some(condition),
            _ => None,
        };
        let condition = match inst.op {
            Op::Mov => return operand(self, 0).map(Meaning::Condition),
            Op::Not => Condition::Not(operand(self, 0)?),
            Op::And => Condition::Both(operand(self, 0)?, operand(self, 1)?),
            Op::Or => Condition::Any(operand(self, 0)?, operand(self, 1)?),
            _ => {
                let (cmp, ty) = (inst.mods.cmp?, inst.ty?);
                if inst.mods.bool_op.is_some() || !is_integer(ty) {
                    return None;
                }
                let (left, right) = (self.number(b, i, inst, 0), self.number(b, i, inst, 1));
                if left == UNKNOWN || right == UNKNOWN {
                    return None;
                }
                Condition::Compare { cmp, ty, left, right }
            }
        };
        Some(self.condition(condition))
    }

    /// Returns the node of an instruction's first result.
    pub(super) fn value(&mut self, b: usize, i: usize, inst: &Inst) -> u32 {
        if inst.op == Op::Sreg {
            return match inst.operands.first() {
                Some(&Operand::Sreg(sreg)) => self.add(special(sreg)),
                _ => UNKNOWN,
            };
        }
        if inst.op == Op::Ld {
            return self.loaded(inst);
        }
        let plain = inst.ty.is_some_and(|ty| is_integer(ty) && ty.bits() >= 32)
            && inst.mods.flags == Flags::NONE;
        if !plain {
            return UNKNOWN;
        }
        let operands: SmallVec<[u32; 4]> =
            (0..inst.operands.len()).map(|k| self.number(b, i, inst, k)).collect();
        self.computed(inst, &operands)
    }

    fn loaded(&mut self, inst: &Inst) -> u32 {
        let Some(ty) = inst.ty.filter(|&ty| is_integer(ty)) else { return UNKNOWN };
        let (bits, signed) = (ty.bits(), ty.is_signed());
        match (inst.mods.space, inst.operands.first()) {
            (Some(Space::Param), Some(&Operand::Symbol(Symbol::Param(param), at))) => {
                let Some(param) = self.function.params().get(param as usize) else {
                    return UNKNOWN;
                };
                let offset = i64::from(param.offset).checked_add(at).map(|o| o + inst.offset);
                let Some(Ok(offset)) = offset.map(u32::try_from) else { return UNKNOWN };
                let of = self.add(Node::Param { offset, bytes: ty.bytes() });
                self.add(Node::Extend { of, bits, signed })
            }
            _ if bits < 32 && signed => {
                self.add(Node::Interval(-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            _ if bits < 32 => self.add(Node::Interval(0, (1 << bits) - 1)),
            _ => UNKNOWN,
        }
    }

    /// Returns the node of an integer operation of 32 or 64 bits.
    fn computed(&mut self, inst: &Inst, operands: &[u32]) -> u32 {
        let Some(ty) = inst.ty else { return UNKNOWN };
        let (bits, signed) = (ty.bits(), ty.is_signed());
        let wide = matches!(inst.op, Op::MulWide | Op::MadWide);
        let result = if wide { 2 * bits } else { bits };
        if self.result_bits(inst) != result {
            return UNKNOWN;
        }
        if let (Op::And, &[a, b]) = (inst.op, operands) {
            // What is masked needs not be known.
            let (of, mask) = match self.out.nodes[a as usize] {
                Node::Constant(_) => (b, a),
                _ => (a, b),
            };
            let masked = matches!(self.out.nodes[mask as usize], Node::Constant(_));
            return if masked { self.add(Node::And { of, mask, bits }) } else { UNKNOWN };
        }
        if operands.contains(&UNKNOWN) && !matches!(inst.op, Op::Selp) {
            return UNKNOWN;
        }
        match (inst.op, operands) {
            (Op::Mov, &[a]) => a,
            (Op::CvtaTo | Op::CvtaFrom, &[a]) if inst.mods.space == Some(Space::Global) => a,
            (Op::Cvt, &[a]) => self.converted(inst, a),
            (Op::Add, &[a, b]) => self.add(Node::Add(a, b)),
            (Op::Sub, &[a, b]) => self.add(Node::Subtract(a, b)),
            (Op::Neg, &[a]) => {
                let zero = self.add(Node::Constant(0));
                self.add(Node::Subtract(zero, a))
            }
            (Op::Mul, &[a, b]) => self.add(Node::Multiply(a, b)),
            (Op::Mad, &[a, b, c]) => {
                let product = self.add(Node::Multiply(a, b));
                self.add(Node::Add(product, c))
            }
            (Op::MulWide, &[a, b]) => self.product(a, b, bits, signed),
            (Op::MadWide, &[a, b, c]) => {
                let product = self.product(a, b, bits, signed);
                self.add(Node::Add(product, c))
            }
            (Op::Or, &[a, b]) => self.add(Node::Or(a, b)),
            (Op::Shl, &[a, by]) => match self.power(by, bits) {
                Some(factor) => self.add(Node::Multiply(a, factor)),
                None => UNKNOWN,
            },
            (Op::Shr, &[of, by]) => match self.power(by, bits) {
                Some(divisor) => {
                    let of = self.add(Node::Extend { of, bits, signed });
                    self.add(Node::Quotient(of, divisor))
                }
                None => UNKNOWN,
            },
            (Op::Div | Op::Rem, &[a, b]) if !signed => {
                let a = self.add(Node::Extend { of: a, bits, signed });
                let b = self.add(Node::Extend { of: b, bits, signed });
                let quotient = inst.op == Op::Div;
                self.add(if quotient { Node::Quotient(a, b) } else { Node::Remainder(a, b) })
            }
            (Op::Min | Op::Max, &[a, b]) => {
                let a = self.add(Node::Extend { of: a, bits, signed });
                let b = self.add(Node::Extend { of: b, bits, signed });
                self.add(Node::Either(a, b))
            }
            (Op::Selp, &[a, b, _]) if a != UNKNOWN && b != UNKNOWN => self.add(Node::Either(a, b)),
            _ => UNKNOWN,
        }
    }

    fn product(&mut self, a: u32, b: u32, bits: u32, signed: bool) -> u32 {
        let a = self.widened(a, bits, signed);
        let b = self.widened(b, bits, signed);
        self.add(Node::Multiply(a, b))
    }

    /// Returns the node of an operand that the instruction widens.
    fn widened(&mut self, of: u32, bits: u32, signed: bool) -> u32 {
        let node = self.add(Node::Extend { of, bits, signed });
        self.out.widened.push((self.at, node));
        node
    }

    /// Returns the node of a power of two whose exponent is a constant.
    fn power(&mut self, exponent: u32, bits: u32) -> Option<u32> {
        match self.out.nodes[exponent as usize] {
            Node::Constant(by) if (0..i128::from(bits)).contains(&by) => {
                Some(self.add(Node::Constant(1 << by)))
            }
            _ => None,
        }
    }

    fn converted(&mut self, inst: &Inst, of: u32) -> u32 {
        let (Some(to), Some(from)) = (inst.ty, inst.ty2) else { return UNKNOWN };
        if !is_integer(from) {
            return UNKNOWN;
        }
        let (bits, signed) = (from.bits(), from.is_signed());
        if to.bits() <= bits { of } else { self.widened(of, bits, signed) }
    }

    /// Adds the accesses of a block that have footprints.
    fn accesses(&mut self, node: graph::Node, cfg: &Cfg, dominators: &Dominators) {
        let (function, b) = (self.function, node.index());
        let mut known: Option<Vec<(u32, bool)>> = None;
        for (i, inst) in function.blocks[b].insts.iter().enumerate() {
            let global = matches!(inst.mods.space, None | Some(Space::Global | Space::Generic));
            let (Op::Ld | Op::St, true, Some(ty)) = (inst.op, global, inst.ty) else { continue };
            let address = self.number(b, i, inst, 0);
            if address == UNKNOWN {
                continue;
            }
            let offset = self.add(Node::Constant(inst.offset.into()));
            let address = self.add(Node::Add(address, offset));
            let words =
                if inst.op == Op::Ld { inst.results.len() } else { inst.operands.len() - 1 };
            let writes = inst.op == Op::St;
            let mut conditions =
                known.get_or_insert_with(|| self.conditions_above(node, cfg, dominators)).clone();
            if let (Some(guard), Some(web)) = (inst.guard, self.webs.guard(b, i))
                && let Some(Meaning::Condition(condition)) = self.meanings[web.index()]
            {
                conditions.push((condition, !guard.negated));
            }
            let guards = self.guards_of(conditions);
            let bytes = ty.bytes() * words as u32;
            self.out.accesses.push(Access { address, bytes, writes, guards });
            self.out.places.push((b as u32, i as u32));
        }
    }

    fn guards_of(&mut self, conditions: Vec<(u32, bool)>) -> Range<u32> {
        let first = self.out.guards.len();
        for (condition, holds) in conditions {
            self.guards(condition, holds, first);
        }
        first as u32..self.out.guards.len() as u32
    }

    /// Returns comparisons that hold wherever a block is entered.
    pub(super) fn guards_above(
        &mut self,
        node: graph::Node,
        cfg: &Cfg,
        dominators: &Dominators,
    ) -> Range<u32> {
        let conditions = self.conditions_above(node, cfg, dominators);
        self.guards_of(conditions)
    }

    /// Returns conditions that hold wherever a block is executed: those of branches one of whose
    /// edges leads to all paths to it.
    fn conditions_above(
        &self,
        node: graph::Node,
        cfg: &Cfg,
        dominators: &Dominators,
    ) -> Vec<(u32, bool)> {
        let (mut out, mut below) = (Vec::new(), node);
        for _ in 0..MOST_BLOCKS {
            let Some(above) = dominators.immediate(below) else { break };
            let from = cfg.predecessors(below).iter();
            let mut from = from.filter(|&&from| !self.loops.is_back_edge(from, below));
            if from.next() == Some(&above) && from.next().is_none() {
                out.extend(self.condition_of_edge(above.index(), below.index()));
            }
            below = above;
        }
        out
    }

    /// Returns what holds of a thread that goes from a block to another one.
    fn condition_of_edge(&self, from: usize, to: usize) -> Option<(u32, bool)> {
        let block = &self.function.blocks[from];
        let web = self.webs.condition(from, block.insts.len())?;
        let Some(Meaning::Condition(condition)) = self.meanings[web.index()] else { return None };
        let next = to == from + 1;
        match &block.term.kind {
            TermKind::CondBr(guard, target) => {
                let taken = target.index() == to;
                (taken != next).then_some((condition, taken != guard.negated))
            }
            TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) if next => {
                Some((condition, guard.negated))
            }
            _ => None,
        }
    }

    /// Adds the comparisons that follow from a condition.
    fn guards(&mut self, condition: u32, holds: bool, first: usize) {
        let mut left = vec![(condition, holds)];
        while let Some((condition, holds)) = left.pop() {
            if self.out.guards.len() - first >= MOST_GUARDS {
                return;
            }
            match self.conditions[condition as usize] {
                Condition::Not(of) => left.push((of, !holds)),
                Condition::Both(a, b) if holds => left.extend([(a, true), (b, true)]),
                Condition::Any(a, b) if !holds => left.extend([(a, false), (b, false)]),
                Condition::Compare { cmp, ty, left, right } => {
                    self.compare(cmp, ty, [left, right], holds);
                }
                Condition::Both(..) | Condition::Any(..) => {}
            }
        }
    }

    fn compare(&mut self, cmp: Cmp, ty: Ty, [left, right]: [u32; 2], holds: bool) {
        let signed = ty.is_signed() && !matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs);
        let mut push = |small, large, strict| {
            let bits = ty.bits();
            self.out.guards.push(Guard { small, large, strict, bits, signed });
        };
        match (cmp, holds) {
            (Cmp::Lt | Cmp::Lo, true) | (Cmp::Ge | Cmp::Hs, false) => push(left, right, true),
            (Cmp::Le | Cmp::Ls, true) | (Cmp::Gt | Cmp::Hi, false) => push(left, right, false),
            (Cmp::Gt | Cmp::Hi, true) | (Cmp::Le | Cmp::Ls, false) => push(right, left, true),
            (Cmp::Ge | Cmp::Hs, true) | (Cmp::Lt | Cmp::Lo, false) => push(right, left, false),
            (Cmp::Eq, true) | (Cmp::Ne, false) => {
                push(left, right, false);
                push(right, left, false);
            }
            _ => {}
        }
    }
}

pub(super) fn is_integer(ty: Ty) -> bool {
    use Ty::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64)
}
