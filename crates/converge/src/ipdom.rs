//! `ipdom`: a stack that rejoins lanes at the immediate post-dominator of the branch where they parted.
//!
//! **Source.** Fung et al., "Dynamic warp formation and scheduling for efficient GPU control flow" (MICRO 2007), section 3;
//! the rules are those of GPGPU-Sim's `simt_stack`. GPGPU-Sim runs the taken side first, which is the default here; the knob
//! `order` gives the choices of other tools (Ocelot: fall-through; Ventus: fewer lanes, which bounds the stack to log2(W) levels;
//! Hanoi: more lanes).
//!
//! **State.** A stack of entries: place, rejoin place, lanes. Only the top runs. When its lanes part at a branch with rejoin
//! place `r`:
//! - the top becomes the rejoin entry: it waits at `r` with all lanes; unless its own rejoin place is `r` already (a branch of
//!   a loop, say), when it is replaced, so that loops do not grow the stack;
//! - one entry is pushed for each target other than `r`;
//! - an entry whose place becomes its rejoin place is popped.
//!
//! A branch that meets again only at the end of the function, or never, is given the rejoin place of the entry it happens in. A
//! call leaves the caller's entry waiting at the return place and pushes one without a rejoin place; lanes that return leave the
//! entries above their caller's.
//!
//! **Invariants.** The lanes of an entry that waits contain those of all entries above it that it waits for; lanes that wait
//! nowhere else are where their highest entry is. Not fair: lanes parked below the top, or beside lanes that spin, run only after
//! those have reached the rejoin place. While some lanes of the top are parked, all of it waits.

use crate::event::Event;
use crate::lanes::{count, image};
use crate::mechanism::{Charges, Knobs, Mechanism, Order, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Rejoin};
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "ipdom";

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

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Ipdom<const N: usize> {
    stack: Vec<Entry<N>>,
    order: Order,
    charges: Charges,
}

type Targets<'a, const N: usize> = &'a [(Pc, LaneMask<N>)];

impl<const N: usize> Ipdom<N> {
    /// A group at its start. Paths handed over by another mechanism become entries without a rejoin place, the last on top.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let entry = |&(pc, lanes): &(Pc, LaneMask<N>)| {
            let parked = lanes & start.parked;
            Entry { pc, rejoin: None, lanes, parked, parked_at: pc, depth: 1, calls: false }
        };
        let stack: Vec<_> = start.paths.iter().map(entry).collect();
        let charges = Charges { max_depth: count(stack.len()), ..Charges::default() };
        Self { stack, order: knobs.order.unwrap_or(Order::Taken), charges }
    }

    fn top(&mut self) -> Result<&mut Entry<N>, Refusal> {
        self.stack.last_mut().ok_or(Refusal::UnknownPath { path: 0 })
    }

    fn push(&mut self, entry: Entry<N>) {
        self.stack.push(entry);
        self.charges.pushes += 1;
        self.charges.max_depth = self.charges.max_depth.max(count(self.stack.len()));
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

    fn branch(&mut self, plan: &Plan, at: Pc, targets: Targets<'_, N>) -> Result<(), Refusal> {
        match *targets {
            [] => Ok(()),
            [(pc, _)] => self.go(pc),
            _ => self.part(at, targets, plan.rejoin(at)),
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

    /// Lanes of the top return: they are then with their caller's entry, if it waits for them where they go.
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
            // Nobody waits for them there (paths handed over inside a function): they go their own ways, and first.
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
        // Entries in the middle wait for nobody then; they must not hide what they were called from.
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

impl<const N: usize> Mechanism<N> for Ipdom<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        let top = self.stack.last().filter(|e| e.parked.is_empty())?;
        let id = PathId(count(self.stack.len() - 1));
        Some(Path { id, pc: top.pc, lanes: top.lanes, depth: top.depth })
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        if path.0 as usize + 1 != self.stack.len() {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.go(next),
            Event::Branch { at, targets } => self.branch(plan, at, targets),
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

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        for entry in &mut self.stack {
            if (entry.parked & lanes).any() {
                entry.parked -= lanes;
                entry.pc = next;
            }
        }
        self.settle();
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
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

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        out.push(self.stack.len() as u64);
        for e in &self.stack {
            image(out, e.pc, &e.lanes);
            image(out, e.parked_at, &e.parked);
            out.push(e.rejoin.map_or(u64::MAX, |pc| pc.0));
            out.push(u64::from(e.depth) << 1 | u64::from(e.calls));
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BlockPlan;
    use simt::WarpMask;

    fn lanes(bits: u64) -> WarpMask {
        WarpMask::from_bits(bits)
    }

    /// Blocks of one instruction each, all of whose branches rejoin as given.
    fn plan(rejoin: &[Option<u64>]) -> Plan {
        let block = |(i, r): (usize, &Option<u64>)| BlockPlan {
            first: Pc(i as u64),
            end: Pc(i as u64 + 1),
            function: 0,
            rejoin: r.map_or(Rejoin::FunctionEnd, |pc| Rejoin::At(Pc(pc))),
            priority: count(i),
            frontier: None,
            successors: Vec::new(),
        };
        Plan::new(rejoin.iter().enumerate().map(block).collect()).unwrap()
    }

    fn now(m: &Ipdom<1>) -> (u64, u64) {
        m.preferred().map_or((u64::MAX, 0), |p| (p.pc.0, p.lanes.bits()))
    }

    fn send(m: &mut Ipdom<1>, plan: &Plan, event: Event<'_, 1>) {
        let id = m.preferred().unwrap().id;
        m.event(plan, id, &event).unwrap();
    }

    #[test]
    fn a_diamond_rejoins() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        assert_eq!(now(&m), (2, 12));
        send(&mut m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&m), (1, 3));
        send(&mut m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&m), (3, 15));
        let c = m.charges();
        assert_eq!((c.splits, c.pushes, c.pops, c.max_depth), (1, 2, 2, 3));
    }

    #[test]
    fn a_loop_does_not_grow_the_stack() {
        // 0 branches to itself or on to 1; lanes leave one at a time.
        let plan = plan(&[Some(1), None]);
        let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        for gone in 0..3u32 {
            let stay = 15 << (gone + 1) & 15;
            let targets = [(Pc(0), lanes(stay)), (Pc(1), lanes(1 << gone))];
            send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &targets });
            assert_eq!(now(&m), (0, stay));
        }
        assert_eq!(m.charges().max_depth, 2);
        send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &[(Pc(1), lanes(8))] });
        assert_eq!(now(&m), (1, 15));
    }

    #[test]
    fn order_is_a_knob() {
        let plan = plan(&[Some(3), None, None, None]);
        let targets = [(Pc(1), lanes(1)), (Pc(2), lanes(14))];
        for (order, first) in
            [(Order::Taken, 2), (Order::Fallthrough, 1), (Order::Minority, 1), (Order::Majority, 2)]
        {
            let knobs = Knobs { order: Some(order), ..Knobs::default() };
            let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), knobs);
            send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &targets });
            assert_eq!(now(&m).0, first, "{order:?}");
        }
    }

    #[test]
    fn a_divergent_call_returns_together() {
        let plan = plan(&[None; 8]);
        let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(4), lanes(3)), (Pc(6), lanes(12))];
        send(&mut m, &plan, Event::Call { at: Pc(0), targets: &targets, return_to: Pc(1) });
        assert_eq!(now(&m), (4, 3));
        // One of the two lanes returns early.
        let back = [(Pc(1), lanes(1))];
        let rest = Some((Pc(5), lanes(2)));
        send(&mut m, &plan, Event::Return { at: Pc(4), targets: &back, rest });
        assert_eq!(now(&m), (5, 2));
        send(&mut m, &plan, Event::Return { at: Pc(5), targets: &[(Pc(1), lanes(2))], rest: None });
        assert_eq!(now(&m), (6, 12));
        send(
            &mut m,
            &plan,
            Event::Return { at: Pc(6), targets: &[(Pc(1), lanes(12))], rest: None },
        );
        assert_eq!(now(&m), (1, 15));
    }

    #[test]
    fn parked_lanes_hold_up_the_stack() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        send(&mut m, &plan, Event::Park { at: Pc(2), lanes: lanes(12), next: Pc(3) });
        assert_eq!(m.preferred(), None);
        let mut all = Vec::new();
        m.paths(&mut all);
        let at: Vec<_> = all.iter().map(|p| (p.pc.0, p.lanes.bits())).collect();
        assert_eq!(at, [(2, 12), (1, 3)]);
        m.release(&plan, lanes(12), Pc(3));
        assert_eq!(now(&m), (1, 3));
    }

    #[test]
    fn lanes_that_exit_leave_every_entry() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = Ipdom::new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        send(&mut m, &plan, Event::Exit { at: Pc(2), lanes: lanes(12), next: Pc(3) });
        send(&mut m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&m), (3, 3));
    }
}
