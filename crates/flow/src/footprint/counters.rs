//! Registers that each iteration of a loop increases by the same number.
//!
//! A loop counts if its only back edge is a branch after a comparison of an increased register with
//! a limit: `i = first; do { ... i += step; } while (i < limit);`, the form into which compilers
//! bring loops. Then `i` is `first + iteration * step` wherever the loop reads it before the step,
//! and so are other registers that the block of the branch increases, addresses for instance. The
//! number of the iteration is a coordinate. It is one number within an iteration only, so that
//! nothing outside the loop is computed from it.

use super::build::{Builder, UNKNOWN, is_integer};
use super::form::{Counts, Form, LOOP_AXES};
use super::{Bound, Guard, Node};
use crate::analysis::Web;
use crate::dom::Dominators;
use crate::graph::{self, Cfg};
use crate::loops::LoopId;
use ir::mods::{Cmp, Flags};
use ir::{Inst, Op, TermKind, Ty};
use std::ops::Range;

/// Conversions and moves between a register and its increase.
const MOST_COPIES: usize = 4;

/// How often a loop is executed; numbers are nodes.
#[derive(Clone, Debug)]
pub(super) struct Trips {
    pub(super) axis: usize,
    /// The register that is compared: its first value, and its steps.
    first: u32,
    step: u32,
    limit: u32,
    /// Whether it stays below the limit.
    strict: bool,
    bits: u32,
    signed: bool,
    /// Conditions that hold where the loop begins.
    guards: Range<u32>,
}

/// A register of which a loop keeps count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    /// The index of the loop.
    of: usize,
    /// Where it is increased.
    pub(super) at: (usize, usize),
    /// Its value before the loop, and in an iteration.
    pub(super) first: u32,
    pub(super) node: u32,
}

/// A loop that counts.
#[derive(Debug)]
pub(super) struct CountingLoop {
    id: LoopId,
    header: graph::Node,
    latch: usize,
    increases: Vec<Increase>,
    /// The increase of the register that is compared.
    leader: usize,
    test: Test,
    /// By block, whether a path leads there from the end of an iteration.
    follows: Vec<bool>,
}

/// An increase by a number: an instruction, and the operand that is the step.
#[derive(Debug)]
struct Increase {
    web: Web,
    at: (usize, usize),
    step: usize,
}

/// The comparison that decides about another iteration.
#[derive(Debug)]
struct Test {
    /// The instruction, and the operand that is the limit.
    inst: usize,
    limit: usize,
    strict: bool,
    signed: bool,
    bits: u32,
}

impl Trips {
    /// Returns the greatest number of iterations, and what bounds the register that is compared.
    pub(super) fn evaluate(
        &self,
        forms: &[Option<Form>],
        counts: &Counts,
        guards: &[Guard],
    ) -> Option<(u32, Option<Bound>)> {
        let integer = |node: u32| forms[node as usize]?.extended(self.bits, self.signed, counts);
        let (first, limit) = (integer(self.first)?, integer(self.limit)?);
        let step = forms[self.step as usize]?.known().filter(|&step| step > 0)?;
        let (low, mut high) = first.range(counts);
        for guard in &guards[self.guards.start as usize..self.guards.end as usize] {
            let large = forms[guard.large as usize];
            let is_same = (guard.bits, guard.signed) == (self.bits, self.signed);
            if guard.small == self.first
                && is_same
                && let Some(large) = large
            {
                let large = large.extended(self.bits, self.signed, counts);
                let most = large.map(|large| large.range(counts).1 - i128::from(guard.strict));
                high = high.min(most.unwrap_or(high));
            }
        }
        let last = limit.range(counts).1 - i128::from(self.strict);
        // The step that leaves the loop must not wrap around.
        let end = 1i128 << (self.bits - u32::from(self.signed));
        if last.max(high) + step >= end {
            return None;
        }
        let times = u32::try_from((last - low).max(0) / step + 1).ok()?;
        let mut factors = first.factors;
        factors[self.axis] = step;
        let useful = factors.iter().all(|&factor| factor >= 0);
        let bound = Bound { factors, most: (last.max(high) - first.low).max(0) };
        Some((times, useful.then_some(bound)))
    }
}

impl Builder<'_> {
    /// Finds the loops that count, and their registers.
    pub(super) fn find_loops(&mut self, cfg: &Cfg) {
        for id in self.loops.ids() {
            if self.counting.len() == LOOP_AXES.len() {
                return;
            }
            let Some(found) = self.counting_loop(id, cfg) else { continue };
            for Increase { web, at, .. } in &found.increases {
                let (of, at) = (self.counting.len(), *at);
                let counter = Counter { of, at, first: UNKNOWN, node: UNKNOWN };
                self.counters[web.index()] = Some(counter);
            }
            self.counting.push(found);
        }
    }

    fn counting_loop(&self, id: LoopId, cfg: &Cfg) -> Option<CountingLoop> {
        let loops = self.loops;
        let mut latches = loops.latches(cfg, id);
        let (latch, None) = (latches.next()?, latches.next()) else { return None };
        if !loops.is_reducible(id) || loops.innermost(latch) != Some(id) {
            return None;
        }
        let (header, latch) = (loops.header(id), latch.index());
        let increases = self.increases(latch, id);
        let (leader, test) = self.test(latch, header, &increases)?;
        let mut follows = vec![false; cfg.len()];
        let mut work = vec![node_of(latch)];
        while let Some(node) = work.pop() {
            for &next in cfg.successors(node) {
                if !std::mem::replace(&mut follows[next.index()], true) {
                    work.push(next);
                }
            }
        }
        Some(CountingLoop { id, header, latch, increases, leader, test, follows })
    }

    /// Begins a loop, if the block is the header of one that counts.
    pub(super) fn begin_loop(
        &mut self,
        header: graph::Node,
        (cfg, dominators): (&Cfg, &Dominators),
    ) {
        let Some(of) = self.counting.iter().position(|of| of.header == header) else { return };
        let axis = LOOP_AXES.start + of;
        let CountingLoop { id, latch, leader, .. } = self.counting[of];
        let Test { inst, limit, strict, signed, bits } = self.counting[of].test;
        let parts: Vec<(Web, u32, u32)> = (0..self.counting[of].increases.len())
            .map(|i| {
                let Increase { web, at, step } = self.counting[of].increases[i];
                let first = self.counters[web.index()].map_or(UNKNOWN, |counter| counter.first);
                (web, first, self.invariant(at, step, id))
            })
            .collect();
        let limit = self.invariant((latch, inst), limit, id);
        let (_, first, step) = parts[leader];
        if [first, step, limit].contains(&UNKNOWN) {
            return;
        }
        let guards = self.guards_above(header, cfg, dominators);
        self.out.trips.push(Trips { axis, first, step, limit, strict, bits, signed, guards });
        self.add(Node::Trips(self.out.trips.len() as u32 - 1));
        for (i, (web, first, step)) in parts.into_iter().enumerate() {
            if first == UNKNOWN || step == UNKNOWN {
                continue;
            }
            let first = match i == leader {
                true => self.add(Node::Extend { of: first, bits, signed }),
                false => first,
            };
            let node = self.add(Node::Counter { axis, first, step });
            if let Some(counter) = &mut self.counters[web.index()] {
                counter.node = node;
            }
        }
    }

    /// Returns the value of a register of which a loop keeps count, at a place.
    pub(super) fn counted(&self, counter: &Counter, (block, inst): (usize, usize)) -> u32 {
        let of = &self.counting[counter.of];
        let inside = self.loops.contains(of.id, node_of(block));
        if inside && (block != counter.at.0 || inst <= counter.at.1) {
            return counter.node;
        }
        // Elsewhere, it has been increased if an iteration may have ended before.
        if inside || of.follows[block] { UNKNOWN } else { counter.first }
    }

    /// Returns whether a block is in all loops on whose iterations a node depends.
    pub(super) fn is_inside(&self, node: u32, block: usize) -> bool {
        let axes = self.axes[node as usize];
        let mut loops = self.counting.iter().enumerate();
        loops.all(|(of, counting)| {
            axes >> of & 1 == 0 || self.loops.contains(counting.id, node_of(block))
        })
    }

    /// Returns whether an instruction is an unconditional operation on integers of 32 or 64 bits.
    fn is_plain(&self, inst: &Inst) -> bool {
        let ty = inst.ty.filter(|&ty| is_integer(ty) && ty.bits() >= 32);
        let flags = inst.mods.flags == Flags::NONE && inst.guard.is_none();
        flags && ty.is_some_and(|ty| ty.bits() == self.result_bits(inst))
    }

    /// Returns the registers that the last block of a loop increases, each of which has one other
    /// definition, outside of the loop.
    fn increases(&self, latch: usize, id: LoopId) -> Vec<Increase> {
        let block = &self.function.blocks[latch];
        let found = block.insts.iter().enumerate().filter_map(|(i, inst)| {
            let web = self.webs.result(latch, i, 0)?;
            let plain = inst.op == Op::Add && inst.results.len() == 1 && self.is_plain(inst);
            let [outside, inside] = self.places[web.index()]?;
            let other = if outside == (latch, i) { inside } else { outside };
            let is_outside = !self.loops.contains(id, node_of(other.0));
            if !plain || self.definitions[web.index()] != 2 || !is_outside {
                return None;
            }
            let step = (0..2).find(|k| self.is_copy((latch, i), 1 - k, web, latch))?;
            Some(Increase { web, at: (latch, i), step })
        });
        found.collect()
    }

    /// Returns whether an operand is a register, or a copy of it that the same iteration has made.
    fn is_copy(&self, mut at: (usize, usize), mut k: usize, web: Web, latch: usize) -> bool {
        let end = at;
        let word = self.function.blocks[at.0].insts[at.1].ty.map_or(0, Ty::bits);
        for _ in 0..MOST_COPIES {
            let inst = &self.function.blocks[at.0].insts[at.1];
            let Some(operand) = self.webs.operand(at.0, at.1, inst.results.len(), k) else {
                return false;
            };
            if operand == web {
                return at.0 != latch || at.1 <= end.1;
            }
            let Some([from, _]) = self.places[operand.index()] else { return false };
            let copy = &self.function.blocks[from.0].insts[from.1];
            // Conversions to 64 bits and back keep the low word.
            let keeps = match copy.op {
                Op::Mov => true,
                Op::Cvt => [copy.ty, copy.ty2].iter().flatten().all(|ty| is_integer(*ty)),
                _ => false,
            };
            let bits = |ty: Option<Ty>| ty.map_or(0, Ty::bits);
            let keeps = keeps && bits(copy.ty).min(bits(copy.ty2.or(copy.ty))) >= word;
            let plain = copy.mods.flags == Flags::NONE && copy.guard.is_none();
            if self.definitions[operand.index()] != 1 || !keeps || !plain {
                return false;
            }
            (at, k) = (from, 0);
        }
        false
    }

    /// Finds the comparison of an increased register that decides about another iteration.
    fn test(
        &self,
        latch: usize,
        header: graph::Node,
        increases: &[Increase],
    ) -> Option<(usize, Test)> {
        let block = &self.function.blocks[latch];
        let TermKind::CondBr(guard, target) = &block.term.kind else { return None };
        let taken = target.index() == header.index();
        if taken == (latch + 1 == header.index()) {
            return None;
        }
        let condition = self.webs.condition(latch, block.insts.len())?;
        let [(of, i), _] = self.places[condition.index()]?;
        if of != latch || self.definitions[condition.index()] != 1 {
            return None;
        }
        let inst = &block.insts[i];
        let (cmp, ty) = (inst.mods.cmp?, inst.ty?);
        if inst.op != Op::Setp || inst.mods.bool_op.is_some() || inst.guard.is_some() {
            return None;
        }
        if !matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64 | Ty::B32 | Ty::B64) {
            return None;
        }
        let holds = taken != guard.negated;
        let (first_is_small, strict) = match (cmp, holds) {
            (Cmp::Lt | Cmp::Lo, true) | (Cmp::Ge | Cmp::Hs, false) => (true, true),
            (Cmp::Le | Cmp::Ls, true) | (Cmp::Gt | Cmp::Hi, false) => (true, false),
            (Cmp::Gt | Cmp::Hi, true) | (Cmp::Le | Cmp::Ls, false) => (false, true),
            (Cmp::Ge | Cmp::Hs, true) | (Cmp::Lt | Cmp::Lo, false) => (false, false),
            _ => return None,
        };
        let small = usize::from(!first_is_small);
        let web = self.webs.operand(latch, i, inst.results.len(), small)?;
        let leader = increases.iter().position(|of| of.web == web && of.at.1 < i)?;
        let signed = ty.is_signed() && !matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs);
        Some((leader, Test { inst: i, limit: 1 - small, strict, signed, bits: ty.bits() }))
    }

    /// Returns the node of an operand that no iteration changes.
    fn invariant(&mut self, (b, i): (usize, usize), k: usize, id: LoopId) -> u32 {
        let inst = &self.function.blocks[b].insts[i];
        if let Some(web) = self.webs.operand(b, i, inst.results.len(), k) {
            let place = self.places[web.index()].filter(|_| self.definitions[web.index()] == 1);
            let Some([(of, _), _]) = place else { return UNKNOWN };
            if self.loops.contains(id, node_of(of)) {
                return UNKNOWN;
            }
        }
        self.number(b, i, inst, k)
    }
}

fn node_of(block: usize) -> graph::Node {
    graph::Node::new(block as u32)
}
