//! Predicate registers by liveness; what does not fit lives in spill slots.
//!
//! The code is straight but for the jumps back of loops, so a predicate is live from its definition
//! to its last use, and through every loop that it comes into from outside and is used in. When no
//! register is free, the predicate whose next use is furthest gives its up (Belady, 1966): it is
//! stored where it is defined, and loaded where it is used next. At the end of a loop, the
//! registers hold again what they held at its start, as far as the loop uses it. A call leaves
//! nothing in registers: the callee has the same ones. Stores follow definitions, so a slot is
//! right wherever its predicate is live.

use super::graph::number;
use super::steps::{ALL, Pred, Step};
use ir::op::Class;
use rustc_hash::FxHashMap;

/// A predicate register: 1 is the first that can be written.
pub(super) type Register = u32;

/// What the allocation inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    pub(super) to: Register,
    pub(super) slot: u32,
}

/// Registers of a step, and what has to happen around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Loads in front of it.
    pub(super) fills: Vec<Fill>,
    /// The register of the predicate that it reads; 0 is all lanes.
    pub(super) reads: Register,
    /// The register of the one that it defines.
    pub(super) writes: Register,
    /// The slot that what it defines is stored to.
    pub(super) store: Option<u32>,
}

/// An allocation.
#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) places: Vec<Place>,
    /// Most predicates live at once, the lanes that came in not counted.
    pub(super) peak: u32,
    /// Registers that are written.
    pub(super) used: u32,
    pub(super) slots: u32,
    /// Predicates that have a slot.
    pub(super) spilled: u32,
    /// The register that each predicate was defined in first.
    pub(super) first: Vec<Register>,
    /// The slot of each.
    pub(super) slot_of: Vec<Option<u32>>,
}

/// Where predicates are defined and used.
struct Life {
    /// First definition and last use, loops regarded; none of a predicate that is never defined.
    span: Vec<Option<(u32, u32)>>,
    /// Places of use, ends of loops that bring it round among them, in order.
    uses: Vec<Vec<u32>>,
    /// Values that each loop uses and that come from outside, by the place of its end.
    carried: FxHashMap<u32, Vec<Pred>>,
}

/// The predicate that a step reads, and the one it defines.
fn parts(step: &Step) -> (Option<Pred>, Option<Pred>) {
    let some = |p: Pred| (p != ALL).then_some(p);
    match step {
        Step::Do { under, .. } | Step::Exit { under, .. } => (some(*under), None),
        Step::And { to, from, .. } | Step::Copy { to, from, .. } => (some(*from), some(*to)),
        Step::Back { pred, .. } => (some(*pred), None),
        Step::Head { .. } | Step::Name(_) | Step::Close | Step::Out => (None, None),
    }
}

fn calls(step: &Step) -> bool {
    matches!(step, Step::Do { inst, .. } if inst.op.info().class == Class::Call)
}

impl Life {
    fn new(steps: &[Step], preds: usize) -> Self {
        let mut this = Self {
            span: vec![None; preds],
            uses: vec![Vec::new(); preds],
            carried: FxHashMap::default(),
        };
        for (at, step) in steps.iter().enumerate() {
            let at = number(at);
            let (reads, writes) = parts(step);
            if let Some(p) = reads {
                this.uses[p.0 as usize].push(at);
                if let Some((_, end)) = &mut this.span[p.0 as usize] {
                    *end = at;
                }
            }
            if let Some(p) = writes {
                let (_, end) = this.span[p.0 as usize].get_or_insert((at, at));
                *end = at;
            }
        }
        this.carry(steps);
        this
    }

    /// What comes into a loop and is used in it lives to its end. Inner loops end first.
    fn carry(&mut self, steps: &[Step]) {
        let mut heads: Vec<u32> = Vec::new();
        // Predicates that are used in each open loop.
        let mut used: Vec<Vec<Pred>> = Vec::new();
        let mut around: Vec<(Pred, u32)> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let at = number(at);
            if let (Some(pred), Some(list)) = (parts(step).0, used.last_mut()) {
                list.push(pred);
            }
            match step {
                Step::Head { .. } => {
                    heads.push(at);
                    used.push(Vec::new());
                }
                Step::Back { .. } => {
                    let (Some(head), Some(mut list)) = (heads.pop(), used.pop()) else { continue };
                    list.sort_unstable_by_key(|p| p.0);
                    list.dedup();
                    list.retain(|p| self.span[p.0 as usize].is_some_and(|s| s.0 < head));
                    for pred in &list {
                        let i = pred.0 as usize;
                        if let Some((_, end)) = &mut self.span[i] {
                            *end = (*end).max(at);
                        }
                        around.push((*pred, at));
                    }
                    if let Some(outer) = used.last_mut() {
                        outer.extend(&list);
                    }
                    self.carried.insert(at, list);
                }
                _ => {}
            }
        }
        let changed: Vec<Pred> = around.iter().map(|a| a.0).collect();
        for (pred, at) in around {
            self.uses[pred.0 as usize].push(at);
        }
        for pred in changed {
            let uses = &mut self.uses[pred.0 as usize];
            uses.sort_unstable();
            uses.dedup();
        }
    }

    /// The next use after a place; beyond everything if there is none.
    fn next_use(&self, pred: Pred, after: u32) -> u32 {
        let uses = &self.uses[pred.0 as usize];
        uses.get(uses.partition_point(|&u| u <= after)).copied().unwrap_or(u32::MAX)
    }

    fn ends(&self, pred: Pred) -> u32 {
        self.span[pred.0 as usize].map_or(0, |s| s.1)
    }

    /// Most spans that overlap behind a step.
    fn peak(&self, steps: usize) -> u32 {
        let mut change = vec![0i64; steps + 1];
        for &(start, end) in self.span.iter().flatten() {
            change[start as usize] += 1;
            change[end as usize] -= 1;
        }
        let (mut now, mut most) = (0, 0);
        for c in change {
            now += c;
            most = most.max(now);
        }
        u32::try_from(most).unwrap_or(u32::MAX)
    }
}

/// Gives registers 1 to `registers` to predicates.
pub(super) fn allocate(steps: &[Step], preds: usize, registers: u32) -> Allocation {
    let life = Life::new(steps, preds);
    // Which predicates go to memory is known only at the end; decisions do not depend on it, so a
    // second run has the stores right.
    let first = Allocator::run(steps, &life, preds, registers, vec![None; preds]);
    let (slot_of, slots) = slots(&life, &first.spilled);
    let mut second = Allocator::run(steps, &life, preds, registers, slot_of.clone());
    second.used = second.used.max(1);
    Allocation {
        places: second.places,
        peak: life.peak(steps.len()),
        used: second.used,
        slots,
        spilled: number(slot_of.iter().flatten().count()),
        first: second.first,
        slot_of,
    }
}

/// A slot for each spilled predicate, free again behind its last use.
fn slots(life: &Life, spilled: &[bool]) -> (Vec<Option<u32>>, u32) {
    let mut order: Vec<(u32, u32, usize)> = Vec::new();
    for (i, span) in life.span.iter().enumerate() {
        if let (true, Some((start, end))) = (spilled[i], span) {
            order.push((*start, *end, i));
        }
    }
    order.sort_unstable();
    let mut of = vec![None; spilled.len()];
    let mut free: Vec<u32> = Vec::new();
    let mut busy = std::collections::BinaryHeap::new();
    let mut count = 0;
    for (start, end, i) in order {
        while let Some(&std::cmp::Reverse((until, slot))) = busy.peek() {
            if until >= start {
                break;
            }
            busy.pop();
            free.push(slot);
        }
        let slot = free.pop().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        of[i] = Some(slot);
        busy.push(std::cmp::Reverse((end, slot)));
    }
    (of, count)
}

struct Allocator<'a> {
    life: &'a Life,
    /// What registers 1.. hold.
    held: Vec<Option<Pred>>,
    register: FxHashMap<Pred, Register>,
    slot_of: Vec<Option<u32>>,
    spilled: Vec<bool>,
    first: Vec<Register>,
    places: Vec<Place>,
    used: u32,
    /// What registers hold at the heads of open loops.
    heads: Vec<Vec<Option<Pred>>>,
}

impl<'a> Allocator<'a> {
    fn run(
        steps: &[Step],
        life: &'a Life,
        preds: usize,
        registers: u32,
        slot_of: Vec<Option<u32>>,
    ) -> Self {
        let mut this = Self {
            life,
            held: vec![None; registers as usize],
            register: FxHashMap::default(),
            slot_of,
            spilled: vec![false; preds],
            first: vec![0; preds],
            places: Vec::with_capacity(steps.len()),
            used: 0,
            heads: Vec::new(),
        };
        for (at, step) in steps.iter().enumerate() {
            let place = this.step(number(at), step);
            this.places.push(place);
        }
        this
    }

    fn step(&mut self, at: u32, step: &Step) -> Place {
        let mut place = Place::default();
        let (reads, writes) = parts(step);
        match step {
            Step::Head { .. } => self.heads.push(self.held.clone()),
            Step::Back { .. } => self.restore(at, &mut place),
            _ => {}
        }
        if let Some(pred) = reads {
            place.reads = self.bring(pred, at, &mut place);
        }
        if calls(step) {
            self.clobber(at);
        }
        self.end_lives(at);
        if let Some(pred) = writes {
            let known = self.register.get(&pred).copied();
            let register = known.unwrap_or_else(|| self.take(at, pred));
            place.writes = register;
            place.store = self.slot_of[pred.0 as usize];
            if self.first[pred.0 as usize] == 0 {
                self.first[pred.0 as usize] = register;
            }
            self.end_lives(at);
        }
        place
    }

    /// The register of a predicate, loaded if it is not in one.
    fn bring(&mut self, pred: Pred, at: u32, place: &mut Place) -> Register {
        if let Some(&register) = self.register.get(&pred) {
            return register;
        }
        let to = self.take(at, pred);
        self.spilled[pred.0 as usize] = true;
        place.fills.push(Fill { to, slot: self.slot_of[pred.0 as usize].unwrap_or(0) });
        to
    }

    /// A register for a predicate: a free one, or that of the predicate whose next use is furthest.
    fn take(&mut self, at: u32, pred: Pred) -> Register {
        let free = self.held.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            let next = |i: &usize| {
                self.held[*i].map_or(u32::MAX, |p| self.life.next_use(p, at.saturating_sub(1)))
            };
            (0..self.held.len()).max_by_key(next).unwrap_or(0)
        });
        self.put(index, Some(pred));
        number(index) + 1
    }

    fn put(&mut self, index: usize, pred: Option<Pred>) {
        if let Some(old) = self.held[index].take() {
            self.register.remove(&old);
            // It is live, or its register would have been free.
            self.spilled[old.0 as usize] = true;
        }
        if let Some(pred) = pred {
            self.held[index] = Some(pred);
            self.register.insert(pred, number(index) + 1);
            self.used = self.used.max(number(index) + 1);
        }
    }

    fn clobber(&mut self, at: u32) {
        self.end_lives(at);
        for index in 0..self.held.len() {
            self.put(index, None);
        }
    }

    /// Registers of predicates that are not used again are free.
    fn end_lives(&mut self, at: u32) {
        for index in 0..self.held.len() {
            if let Some(pred) = self.held[index]
                && self.life.ends(pred) <= at
            {
                self.held[index] = None;
                self.register.remove(&pred);
            }
        }
    }

    /// At the end of a loop: what it uses from outside is where it was at its head.
    fn restore(&mut self, at: u32, place: &mut Place) {
        let Some(head) = self.heads.pop() else { return };
        let carried = self.life.carried.get(&at).map_or(&[][..], Vec::as_slice);
        for (index, was) in head.into_iter().enumerate() {
            let Some(pred) = was else { continue };
            let known = carried.binary_search_by_key(&pred.0, |p| p.0).is_ok();
            if !known || self.held[index] == Some(pred) {
                continue;
            }
            if let Some(register) = self.register.remove(&pred) {
                self.held[register as usize - 1] = None;
            }
            self.spilled[pred.0 as usize] = true;
            self.put(index, Some(pred));
            let to = number(index) + 1;
            place.fills.push(Fill { to, slot: self.slot_of[pred.0 as usize].unwrap_or(0) });
        }
    }
}
