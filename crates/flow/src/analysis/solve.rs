//! Finds the facts: a least fixed point over webs, with divergence found on the way.
//!
//! All webs begin without a value and grow only more varying; a branch is divergent from the moment
//! its condition is not uniform, and then makes webs varying in turn. Every instruction is looked
//! at again when a web that it reads has grown, which happens a bounded number of times.

use super::divergence::Divergence;
use super::shape::Shape;
use super::transfer::{Rules, tracked};
use super::value::Value;
use super::webs::{Web, Webs};
use super::{Facts, Options};
use crate::dom::PostDominators;
use crate::graph::{Cfg, Node};
use crate::waits::ends;
use ir::op::Class as Kind;
use ir::{BlockId, Function, Inst, Operand, Reg, TermKind};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// How often a web's bounds may grow before they are given up.
const GROWTHS: u8 = 4;

pub(super) fn solve(function: &Function, cfg: &Cfg, shape: Shape, options: Options<'_>) -> Facts {
    let webs = Webs::new(function, cfg);
    let post = PostDominators::new(cfg);
    let mut solver = Solver::new(function, cfg, &webs, shape, options);
    let results = |b: usize| result_slots(function, &webs, b);
    let mut divergence = Divergence::new(cfg, &post, &webs, options.reentrant, results);
    solver.start();
    if steers(function) {
        solver.abandon();
        divergence.partial.fill(true);
    } else {
        solver.run(&mut divergence);
    }
    let Solver { values, blend, parts, assumed, .. } = solver;
    let values = values.into_iter().map(|v| v.unwrap_or(Value::varying())).collect();
    let mut partial = std::mem::take(&mut divergence.partial);
    drop(divergence);
    // Lanes may end there without waiting for others (`crate::waits`).
    for (index, partial) in partial.iter_mut().enumerate() {
        *partial |= ends(function, BlockId(Node::at(index).get()));
    }
    Facts { webs, values, blend, parts, partial, assumed, width: shape.width }
}

/// Whether a function uses masks or steers its mechanism.
fn steers(function: &Function) -> bool {
    function.blocks.iter().any(|block| {
        matches!(block.term.kind, TermKind::MaskBr(..))
            || block.insts.iter().any(|i| matches!(i.op.info().class, Kind::Exec | Kind::Converge))
    })
}

/// Slots of the results of a block's instructions.
fn result_slots(function: &Function, webs: &Webs, block: usize) -> Vec<u32> {
    let mut out = Vec::new();
    for (i, inst) in function.blocks[block].insts.iter().enumerate() {
        let first = webs.slots(webs.place(block, i)).start + 1;
        out.extend((first..first + inst.results.len()).map(|s| s as u32));
    }
    out
}

struct Solver<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    webs: &'a Webs,
    rules: Rules<'a>,
    values: Vec<Option<Value>>,
    grown: Vec<u8>,
    /// Webs that have been said to vary whatever is written into them.
    torn: Vec<bool>,
    blend: Vec<bool>,
    parts: Vec<bool>,
    assumed: Vec<bool>,
    /// For each place, its block and number in it.
    where_is: Vec<(u32, u32)>,
    /// For each web, the places that read it.
    first_reader: Vec<u32>,
    readers: Vec<u32>,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(
        function: &'a Function,
        cfg: &'a Cfg,
        webs: &'a Webs,
        shape: Shape,
        options: Options<'_>,
    ) -> Self {
        let places = webs.places();
        let mut where_is = Vec::with_capacity(places);
        for (b, block) in function.blocks.iter().enumerate() {
            where_is.extend((0..=block.insts.len()).map(|i| (b as u32, i as u32)));
        }
        let (first_reader, readers) = readers(webs);
        Self {
            function,
            cfg,
            webs,
            rules: Rules { function, shape, assume: options.assume },
            values: vec![None; webs.len()],
            grown: vec![0; webs.len()],
            torn: vec![false; webs.len()],
            blend: vec![false; webs.all_slots()],
            parts: vec![false; cfg.len()],
            assumed: vec![false; places],
            where_is,
            first_reader,
            readers,
            queue: VecDeque::new(),
            queued: vec![false; places],
        }
    }

    fn start(&mut self) {
        for web in 0..self.webs.len() {
            if !tracked(self.function.regs[self.webs.regs[web].index()].ty) {
                self.grow(Web(web as u32), Value::varying());
            }
        }
        // A kernel's registers hold zeros at first; a function's what was left there, or its
        // arguments.
        for web in self.webs.at_entry.clone() {
            if self.function.is_kernel() {
                self.grow(web, Value::constant(0));
            } else {
                self.grow(web, Value::varying());
            }
        }
        for &node in self.cfg.reverse_postorder() {
            let b = node.index();
            for i in 0..=self.function.blocks[b].insts.len() {
                self.enqueue(self.webs.place(b, i) as u32);
            }
        }
    }

    /// No facts at all.
    fn abandon(&mut self) {
        self.values.fill(Some(Value::varying()));
        self.blend.fill(true);
        self.parts.fill(true);
    }

    fn enqueue(&mut self, place: u32) {
        if !std::mem::replace(&mut self.queued[place as usize], true) {
            self.queue.push_back(place);
        }
    }

    fn run(&mut self, divergence: &mut Divergence<'a>) {
        while let Some(place) = self.queue.pop_front() {
            self.queued[place as usize] = false;
            let (b, i) = self.where_is[place as usize];
            if !self.cfg.is_reachable(Node::new(b)) {
                continue;
            }
            match self.function.blocks[b as usize].insts.get(i as usize) {
                Some(inst) => self.inst(place as usize, inst),
                None => self.end(b as usize, i as usize, divergence),
            }
        }
    }

    fn inst(&mut self, place: usize, inst: &Inst) {
        let slots = self.webs.slots(place);
        let first_operand = slots.start + 1 + inst.results.len();
        let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
        for (k, operand) in inst.operands.iter().enumerate() {
            let value = match operand {
                Operand::Reg(Reg::Lane(_)) => {
                    let web = self.webs.in_slot(first_operand + k);
                    match web.map(|w| self.values[w.index()]) {
                        Some(Some(value)) => value,
                        // Not yet known: the instruction is looked at again when it is.
                        Some(None) => return,
                        None => Value::varying(),
                    }
                }
                other => self.rules.operand(other),
            };
            operands.push(value);
        }
        let guard = inst.guard.and_then(|_| self.webs.in_slot(slots.start));
        let apart = match guard.map(|w| self.values[w.index()]) {
            None => false,
            Some(None) => return,
            Some(Some(value)) => !value.is_uniform(),
        };
        let derived = self.rules.results(inst, &operands);
        if let Some(first) = derived.first() {
            self.assumed[place] = first.assumed;
        }
        for (k, derived) in derived.iter().enumerate() {
            let slot = slots.start + 1 + k;
            let Some(web) = self.webs.in_slot(slot) else { continue };
            if apart && self.webs.merges(slot) {
                self.blend[slot] = true;
                self.tear(web);
            }
            self.grow(web, derived.value);
        }
    }

    /// The end of a block: whether it parts lanes.
    fn end(&mut self, b: usize, insts: usize, divergence: &mut Divergence<'a>) {
        let branch = matches!(
            self.function.blocks[b].term.kind,
            TermKind::CondBr(..) | TermKind::Switch(..)
        );
        let Some(web) = self.webs.condition(b, insts).filter(|_| branch) else { return };
        let uniform = self.values[web.index()].is_none_or(|v| v.is_uniform());
        if uniform || std::mem::replace(&mut self.parts[b], true) {
            return;
        }
        let mut torn = Vec::new();
        let blend = &mut self.blend;
        divergence.part(Node::at(b), &mut |slot, web| {
            if !std::mem::replace(&mut blend[slot as usize], true) {
                torn.push(web);
            }
        });
        torn.into_iter().for_each(|web| self.tear(web));
    }

    /// One more value that a web may have.
    fn grow(&mut self, web: Web, value: Value) {
        let value = if self.torn[web.index()] { value.mixed() } else { value };
        let old = self.values[web.index()];
        let mut new = old.map_or(value, |old| old.join(&value));
        if old == Some(new) {
            return;
        }
        let grown = &mut self.grown[web.index()];
        *grown = grown.saturating_add(1);
        if old.is_some() && *grown > GROWTHS {
            // Bounds that go on growing are given up, so that this ends.
            new = Value { max: u64::MAX, zeros: 0, known: None, ..new };
            new.span = if new.is_uniform() { 0 } else { u64::MAX };
        }
        if old == Some(new) {
            return;
        }
        self.values[web.index()] = Some(new);
        self.wake(web);
    }

    /// Lanes may have different ones of a web's values.
    fn tear(&mut self, web: Web) {
        if std::mem::replace(&mut self.torn[web.index()], true) {
            return;
        }
        if let Some(value) = self.values[web.index()] {
            self.values[web.index()] = Some(value.mixed());
            self.wake(web);
        }
    }

    fn wake(&mut self, web: Web) {
        let range = self.first_reader[web.index()]..self.first_reader[web.index() + 1];
        for i in range {
            self.enqueue(self.readers[i as usize]);
        }
    }
}

/// For each web, where its list begins, and the places that have it in a slot.
fn readers(webs: &Webs) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; webs.len() + 1];
    let each = || {
        (0..webs.places()).flat_map(|place| {
            let in_slots = webs.slots(place).filter_map(|slot| webs.in_slot(slot));
            in_slots.map(move |web| (web, place as u32))
        })
    };
    each().for_each(|(web, _)| first[web.index() + 1] += 1);
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut next = first.clone();
    let mut list = vec![0; first.last().map_or(0, |&n| n as usize)];
    for (web, place) in each() {
        list[next[web.index()] as usize] = place;
        next[web.index()] += 1;
    }
    (first, list)
}
