//! A stack of paths with the places where they meet again: what `ipdom`, `basic` and
//! `predicated-stack` have in common.
//!
//! An entry is a place, a rejoin place, lanes. Only the top runs. When its lanes part and are to
//! meet at `r`:
//! - the top becomes the rejoin entry: it waits at `r` with all lanes; unless its own rejoin place
//!   is `r` already (a branch of a loop, say), when it is replaced, so that loops do not grow the
//!   stack;
//! - one entry is pushed for each target other than `r`;
//! - an entry whose place becomes its rejoin place is popped.
//!
//! A branch that meets again only at the end of the function, or never, is given the rejoin place
//! of the entry it happens in. A call leaves the caller's entry waiting at the return place and
//! pushes one without a rejoin place; lanes that return leave the entries above their caller's.
//! While some lanes of the top are parked, all of it waits.

use crate::event::Event;
use crate::lanes::{count, image};
use crate::mechanism::{Charges, Knobs, Order, Path, PathId, Refusal, Start};
use crate::plan::Rejoin;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<const N: usize> {
    pc: Pc,
    rejoin: Option<Pc>,
    lanes: LaneMask<N>,
    parked: LaneMask<N>,
    parked_at: Pc,
    depth: u32,
    /// Waits for the entries above it to return here.
    calls: bool,
}

/// The stack.
#[derive(Clone, Debug)]
pub(crate) struct Stack<const N: usize> {
    stack: Vec<Entry<N>>,
    order: Order,
    pub(crate) charges: Charges,
}

type Targets<'a, const N: usize> = &'a [(Pc, LaneMask<N>)];

impl<const N: usize> Stack<N> {
    /// A group at its start. Paths handed over by another mechanism become entries without a rejoin
    /// place, the last on top.
    pub(crate) fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let entry = |&(pc, lanes): &(Pc, LaneMask<N>)| {
            let parked = lanes & start.parked;
            Entry { pc, rejoin: None, lanes, parked, parked_at: pc, depth: 1, calls: false }
        };
        let stack: Vec<_> = start.paths.iter().map(entry).collect();
        let charges = Charges { max_depth: count(stack.len()).into(), ..Charges::default() };
        Self { stack, order: knobs.order.unwrap_or(Order::Taken), charges }
    }

    fn top(&mut self) -> Result<&mut Entry<N>, Refusal> {
        self.stack.last_mut().ok_or(Refusal::UnknownPath { path: 0 })
    }

    fn push(&mut self, entry: Entry<N>) {
        self.stack.push(entry);
        self.charges.pushes += 1;
        self.charges.max_depth = self.charges.max_depth.max(count(self.stack.len()).into());
    }

    /// Takes entries off that are empty or have reached their rejoin place.
    fn settle(&mut self) {
        loop {
            let height = self.stack.len();
            let Some(top) = self.stack.last_mut() else { return };
            let arrived = top.rejoin == Some(top.pc) && top.parked.is_empty();
            if top.lanes.is_empty() {
                self.stack.pop();
            } else if arrived && height > 1 {
                self.stack.pop();
                self.charges.merges += 1;
            } else {
                top.calls = false;
                return;
            }
            self.charges.pops += 1;
        }
    }

    /// The top goes to `pc` as a whole.
    fn go(&mut self, pc: Pc) -> Result<(), Refusal> {
        self.top()?.pc = pc;
        self.settle();
        Ok(())
    }

    /// The top's lanes part at `at`.
    fn part(&mut self, at: Pc, targets: Targets<'_, N>, rejoin: Rejoin) -> Result<(), Refusal> {
        let top = *self.top()?;
        let (rejoin, depth) = match rejoin {
            Rejoin::At(r) if top.rejoin != Some(r) => {
                self.top()?.pc = r;
                (Some(r), top.depth + 1)
            }
            _ => {
                self.stack.pop();
                (top.rejoin, top.depth)
            }
        };
        self.charges.splits += 1;
        let mut sorted = targets.to_vec();
        self.order.sort(at, &mut sorted);
        for &(pc, lanes) in sorted.iter().rev() {
            if Some(pc) != rejoin {
                self.push(Entry { pc, rejoin, lanes, depth, ..idle(pc) });
            }
        }
        self.settle();
        Ok(())
    }

    fn branch(
        &mut self,
        at: Pc,
        targets: Targets<'_, N>,
        meet: impl Fn(Pc) -> Rejoin,
    ) -> Result<(), Refusal> {
        match *targets {
            [] => Ok(()),
            [(pc, _)] => self.go(pc),
            _ => self.part(at, targets, meet(at)),
        }
    }

    fn call(&mut self, at: Pc, targets: Targets<'_, N>, return_to: Pc) -> Result<(), Refusal> {
        let caller = self.top()?;
        caller.pc = return_to;
        caller.calls = true;
        let depth = caller.depth + count(targets.len().min(2)) - 1;
        self.charges.splits += u64::from(targets.len() > 1);
        let mut sorted = targets.to_vec();
        self.order.sort(at, &mut sorted);
        for &(pc, lanes) in sorted.iter().rev() {
            self.push(Entry { pc, lanes, depth, ..idle(pc) });
        }
        Ok(())
    }

    /// Lanes of the top return: they are then with their caller's entry, if it waits for them where
    /// they go.
    fn finish(
        &mut self,
        at: Pc,
        targets: Targets<'_, N>,
        rest: Option<(Pc, LaneMask<N>)>,
    ) -> Result<(), Refusal> {
        let returning = targets.iter().fold(LaneMask::EMPTY, |all, t| all | t.1);
        let caller = self.stack.iter().rposition(|e| e.calls);
        let known = caller.is_some_and(|c| {
            let e = &self.stack[c];
            returning.is_subset(&e.lanes) && targets.iter().all(|t| t.0 == e.pc)
        });
        if let Some((next, _)) = rest {
            self.top()?.pc = next;
        }
        let first = if known { caller.map_or(0, |c| c + 1) } else { 0 };
        for entry in &mut self.stack[first..] {
            entry.lanes -= returning;
        }
        self.charges.splits += u64::from(rest.is_some() || targets.len() > 1);
        if !known {
            // Nobody waits for them there (paths handed over inside a function): they go their own
            // ways, and first.
            self.stack.retain(|e| e.lanes.any());
            let mut sorted = targets.to_vec();
            self.order.sort(at, &mut sorted);
            for &(pc, lanes) in sorted.iter().rev() {
                self.push(Entry { pc, lanes, ..idle(pc) });
            }
        }
        self.settle();
        Ok(())
    }

    fn exit(&mut self, lanes: LaneMask<N>, next: Pc) -> Result<(), Refusal> {
        self.top()?.pc = next;
        for entry in &mut self.stack {
            entry.lanes -= lanes;
        }
        // Entries in the middle wait for nobody then; they must not hide what they were called
        // from.
        let top = self.stack.len() - 1;
        let mut index = 0;
        self.stack.retain(|e| {
            index += 1;
            e.lanes.any() || index > top
        });
        self.settle();
        Ok(())
    }
}

/// An entry without lanes.
fn idle<const N: usize>(pc: Pc) -> Entry<N> {
    Entry {
        pc,
        rejoin: None,
        lanes: LaneMask::EMPTY,
        parked: LaneMask::EMPTY,
        parked_at: pc,
        depth: 1,
        calls: false,
    }
}

impl<const N: usize> Stack<N> {
    pub(crate) fn preferred(&self) -> Option<Path<N>> {
        let top = self.stack.last().filter(|e| e.parked.is_empty())?;
        let id = PathId(count(self.stack.len() - 1));
        Some(Path { id, pc: top.pc, lanes: top.lanes, depth: top.depth })
    }

    /// The name of the top.
    pub(crate) fn top_id(&self) -> PathId {
        PathId(count(self.stack.len()).saturating_sub(1))
    }

    /// The top, as a whole, goes on at a place.
    pub(crate) fn jump(&mut self, pc: Pc) {
        if let Some(top) = self.stack.last_mut() {
            top.pc = pc;
            self.settle();
        }
    }

    /// The top's lanes are found in groups, the one to run next first, that are to meet at `end`.
    pub(crate) fn enter(&mut self, end: Pc, groups: &[(Pc, LaneMask<N>)]) {
        let Some(&top) = self.stack.last() else { return };
        if let [(pc, _)] = *groups {
            return self.jump(pc);
        }
        let mut depth = top.depth;
        if top.rejoin == Some(end) {
            self.stack.pop();
        } else {
            depth += 1;
            self.stack.last_mut().into_iter().for_each(|e| e.pc = end);
        }
        for &(pc, lanes) in groups.iter().rev().filter(|g| g.0 != end) {
            self.push(Entry { pc, rejoin: Some(end), lanes, depth, ..idle(pc) });
        }
    }

    /// Takes an event of the top; `meet` says where the lanes that part at a place are to meet.
    pub(crate) fn event(
        &mut self,
        path: PathId,
        event: &Event<'_, N>,
        meet: impl Fn(Pc) -> Rejoin,
    ) -> Result<(), Refusal> {
        if path.0 as usize + 1 != self.stack.len() {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.go(next),
            Event::Branch { at, targets } => self.branch(at, targets, meet),
            Event::Call { at, targets, return_to } => self.call(at, targets, return_to),
            Event::Return { at, targets, rest } => self.finish(at, targets, rest),
            Event::Exit { lanes, next, .. } => self.exit(lanes, next),
            Event::Park { at, lanes, next } => {
                let top = self.top()?;
                top.parked = lanes & top.lanes;
                top.parked_at = at;
                self.go(next)
            }
        }
    }

    pub(crate) fn release(&mut self, lanes: LaneMask<N>, next: Pc) {
        for entry in &mut self.stack {
            if (entry.parked & lanes).any() {
                entry.parked -= lanes;
                entry.pc = next;
            }
        }
        self.settle();
    }

    pub(crate) fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let mut above = LaneMask::EMPTY;
        for (i, e) in self.stack.iter().enumerate().rev() {
            let here = e.lanes - above;
            above |= e.lanes;
            let id = PathId(count(i));
            let parked = e.parked & here;
            let at = |pc, lanes| Path { id, pc, lanes, depth: e.depth };
            let both = [at(e.pc, here - parked), at(e.parked_at, parked)];
            out.extend(both.into_iter().filter(|p| p.lanes.any()));
        }
    }

    /// The entries, from the bottom.
    pub(crate) fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        let row = |e: &Entry<N>| MechanismRow {
            what: if e.calls { "caller" } else { "entry" }.to_owned(),
            pc: Some(e.pc),
            rejoin: e.rejoin,
            lanes: e.lanes,
        };
        out.extend(self.stack.iter().map(row));
    }

    pub(crate) fn image(&self, out: &mut Vec<u64>) {
        out.push(self.stack.len() as u64);
        for e in &self.stack {
            image(out, e.pc, &e.lanes);
            image(out, e.parked_at, &e.parked);
            out.push(e.rejoin.map_or(u64::MAX, |pc| pc.0));
            out.push(u64::from(e.depth) << 1 | u64::from(e.calls));
        }
    }
}
