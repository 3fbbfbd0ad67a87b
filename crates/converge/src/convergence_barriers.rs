//! `convergence-barriers`: paths meet where the program waits on a convergence barrier (BSSY,
//! BSYNC, BREAK, YIELD).
//!
//! **Source.** The control-flow model of NVIDIA GPUs from Volta on, as worked out for Turing in
//! "Control flow management in modern GPUs" (Hanoi, 2024), and US patent 10067768. Parts: lanes
//! split only at branches, merge only at a barrier, and control goes to another path only when the
//! running one waits, ends, parks or yields. The barriers are operations of the program
//! ([`SyncOp`]); a pass places them. Without any, paths never merge, which is slow and still
//! correct.
//!
//! **State.** A stack of paths (WS); [`BARRIERS`] barrier registers, each a set of participants;
//! the barriers in the order in which they were set (REC); lanes that wait, with their place and
//! barrier.
//! - *Branch*: the path's groups take its place on the stack, the one to run first on top. Turing
//!   runs the larger group first, which is the default here (knob `order`).
//! - *Set*: the lanes become the barrier's participants. *Wait*: those of them that are
//!   participants leave the stack and wait; others go on. *Break*: lanes stop being participants.
//!   Lanes that exit leave every barrier.
//! - A barrier all of whose participants wait for it is cleared, and they go on from where they
//!   wait, together. The most recently set barrier is looked at first; Hanoi looks at no other,
//!   which differs only where Break has taken lanes out of order.
//! - *Yield*: the top two paths change places if they are siblings, that is, both inside the most
//!   recently set barrier.
//!
//! **Invariants.** Paths on the stack are disjoint and not empty; a lane waits for at most one
//! barrier and is then a participant of it. Any unparked path may be run by another policy
//! (independent thread scheduling); the top is preferred. If barriers are set and waited for out of
//! nesting order, lanes may wait for each other for ever: then no path is runnable, as on hardware.
//! A spin lock ends only if the barrier is waited for after the release and the loop yields.

use crate::event::{Event, SyncOp};
use crate::lanes::{Group, Ids, count, image, position};
use crate::mechanism::{Charges, Knobs, Mechanism, Order, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "convergence-barriers";

/// Barrier registers of a group.
pub const BARRIERS: u16 = 16;

/// Lanes that wait for a barrier at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting<const N: usize> {
    barrier: u16,
    group: Group<N>,
    next: Pc,
}

/// The mechanism.
#[derive(Clone, Debug)]
pub struct ConvergenceBarriers<const N: usize> {
    /// Paths, the preferred one last.
    paths: Vec<Group<N>>,
    parked: Vec<Group<N>>,
    waiting: Vec<Waiting<N>>,
    participants: [LaneMask<N>; BARRIERS as usize],
    /// Barriers with participants, in the order in which they were set.
    set: Vec<u16>,
    ids: Ids<N>,
    order: Order,
    charges: Charges,
}

impl<const N: usize> ConvergenceBarriers<N> {
    /// A group at its start, with no barrier set. Of paths handed over, the last is preferred.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let mut this = Self {
            paths: Vec::new(),
            parked: Vec::new(),
            waiting: Vec::new(),
            participants: [LaneMask::EMPTY; BARRIERS as usize],
            set: Vec::new(),
            ids: Ids::default(),
            order: knobs.order.unwrap_or(Order::Majority),
            charges: Charges::default(),
        };
        for &(pc, lanes) in &start.paths {
            this.push(pc, lanes - start.parked);
            this.park(pc, lanes & start.parked);
        }
        this.charges = Charges::default();
        this.note_depth();
        this
    }

    fn note_depth(&mut self) {
        let now = self.paths.len() + self.parked.len() + self.set.len();
        self.charges.max_depth = self.charges.max_depth.max(count(now).into());
    }

    fn push(&mut self, pc: Pc, lanes: LaneMask<N>) {
        if lanes.any() {
            let id = self.ids.take();
            self.paths.push(Group { id, pc, lanes });
            self.charges.pushes += 1;
        }
    }

    fn park(&mut self, pc: Pc, lanes: LaneMask<N>) {
        if lanes.any() {
            let id = self.ids.take();
            self.parked.push(Group { id, pc, lanes });
        }
    }

    fn take(&mut self, index: usize) -> Group<N> {
        let group = self.paths.remove(index);
        self.ids.give_back(group.id);
        self.charges.pops += 1;
        group
    }

    /// A path's groups take its place.
    fn scatter(&mut self, index: usize, at: Pc, targets: &[(Pc, LaneMask<N>)]) {
        match *targets {
            [] => {}
            [(pc, _)] => self.paths[index].pc = pc,
            _ => {
                let above = self.paths.split_off(index + 1);
                self.take(index);
                let mut sorted = targets.to_vec();
                self.order.sort(at, &mut sorted);
                for &(pc, lanes) in sorted.iter().rev() {
                    self.push(pc, lanes);
                }
                self.paths.extend(above);
                self.charges.splits += 1;
            }
        }
    }

    /// Some lanes leave a path; the others go on.
    fn leave(&mut self, index: usize, lanes: LaneMask<N>, next: Pc) -> LaneMask<N> {
        let left = self.paths[index].lanes & lanes;
        self.paths[index].lanes -= lanes;
        self.paths[index].pc = next;
        if self.paths[index].lanes.is_empty() {
            self.take(index);
        }
        left
    }

    fn sync(&mut self, index: usize, at: Pc, op: SyncOp<N>, next: Pc) -> Result<(), Refusal> {
        let barrier = match op {
            SyncOp::Set { barrier, .. }
            | SyncOp::Wait { barrier }
            | SyncOp::Break { barrier, .. } => barrier,
            SyncOp::Yield => {
                self.paths[index].pc = next;
                self.yield_path(index);
                return Ok(());
            }
            SyncOp::Split { .. } | SyncOp::Join => {
                self.paths[index].pc = next;
                return Ok(());
            }
        };
        if barrier >= BARRIERS {
            return Err(Refusal::NoSuchBarrier { barrier, count: BARRIERS });
        }
        let b = barrier as usize;
        match op {
            SyncOp::Wait { .. } => {
                let lanes = self.paths[index].lanes & self.participants[b];
                let lanes = self.leave(index, lanes, next);
                if lanes.any() {
                    let group = Group { id: self.ids.take(), pc: at, lanes };
                    self.waiting.push(Waiting { barrier, group, next });
                }
            }
            SyncOp::Break { lanes, .. } => {
                let lanes = lanes & self.paths[index].lanes;
                self.paths[index].pc = next;
                self.participants[b] -= lanes;
            }
            _ => {
                let lanes = self.paths[index].lanes;
                self.paths[index].pc = next;
                self.set.retain(|&s| s != barrier);
                self.set.push(barrier);
                self.charges.pushes += 1;
                self.take_over(barrier, lanes);
            }
        }
        self.settle();
        Ok(())
    }

    /// A barrier gets new participants; lanes that still wait for it as the old ones go on.
    fn take_over(&mut self, barrier: u16, lanes: LaneMask<N>) {
        self.participants[barrier as usize] = LaneMask::EMPTY;
        self.free(barrier);
        self.participants[barrier as usize] = lanes;
    }

    /// Clears barriers that all participants wait for.
    fn settle(&mut self) {
        let complete = |this: &Self, barrier: u16| {
            let mine = this.waiting.iter().filter(|w| w.barrier == barrier);
            let arrived = mine.fold(LaneMask::EMPTY, |all, w| all | w.group.lanes);
            this.participants[barrier as usize].is_subset(&arrived)
        };
        while let Some(i) = (0..self.set.len()).rev().find(|&i| complete(self, self.set[i])) {
            let barrier = self.set.remove(i);
            self.participants[barrier as usize] = LaneMask::EMPTY;
            self.charges.pops += 1;
            self.free(barrier);
        }
        self.note_depth();
    }

    /// Lanes that wait for a barrier go on, those that go to one place as one path.
    fn free(&mut self, barrier: u16) {
        let mut freed: Vec<(Pc, LaneMask<N>)> = Vec::new();
        let mut groups = 0;
        for w in self.waiting.iter().filter(|w| w.barrier == barrier) {
            groups += 1;
            self.ids.give_back(w.group.id);
            match freed.iter_mut().find(|f| f.0 == w.next) {
                Some(f) => f.1 |= w.group.lanes,
                None => freed.push((w.next, w.group.lanes)),
            }
        }
        self.waiting.retain(|w| w.barrier != barrier);
        self.charges.merges += groups - freed.len() as u64;
        freed.sort_by_key(|f| std::cmp::Reverse(f.0));
        for (pc, lanes) in freed {
            self.push(pc, lanes);
        }
    }

    fn yield_path(&mut self, index: usize) {
        let Some(below) = index.checked_sub(1) else { return };
        let both = self.paths[index].lanes | self.paths[below].lanes;
        let siblings = match self.set.last() {
            Some(&b) => both.is_subset(&self.participants[b as usize]),
            None => true,
        };
        if siblings {
            self.paths.swap(index, below);
            self.charges.switches += 1;
        }
    }

    fn depth(&self, lanes: &LaneMask<N>) -> u32 {
        let around = |&&b: &&u16| {
            let all = &self.participants[b as usize];
            lanes.is_subset(all) && lanes != all
        };
        1 + count(self.set.iter().filter(around).count())
    }
}

impl<const N: usize> Mechanism<N> for ConvergenceBarriers<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.paths.iter().rev().map(|g| g.path(self.depth(&g.lanes))));
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.paths.last().map(|g| g.path(self.depth(&g.lanes)))
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let index = position(&self.paths, path)?;
        match *event {
            Event::Advance { next } => self.paths[index].pc = next,
            Event::Sync { at, op, next } => self.sync(index, at, op, next)?,
            Event::Branch { at, targets } | Event::Call { at, targets, .. } => {
                self.scatter(index, at, targets);
            }
            Event::Return { at, targets, rest } => {
                let all: Vec<_> = targets.iter().copied().chain(rest).collect();
                self.scatter(index, at, &all);
            }
            Event::Exit { lanes, next, .. } => {
                let gone = self.leave(index, lanes, next);
                for all in &mut self.participants {
                    *all -= gone;
                }
                self.settle();
            }
            Event::Park { at, lanes, next } => {
                let lanes = self.leave(index, lanes, next);
                self.park(at, lanes);
            }
        }
        self.note_depth();
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        let mut freed = LaneMask::EMPTY;
        for group in &mut self.parked {
            freed |= group.lanes & lanes;
            group.lanes -= lanes;
            if group.lanes.is_empty() {
                self.ids.give_back(group.id);
            }
        }
        self.parked.retain(|g| g.lanes.any());
        self.push(next, freed);
        self.note_depth();
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let waiting = self.waiting.iter().map(|w| &w.group);
        let all = self.paths.iter().rev().chain(waiting).chain(&self.parked);
        out.extend(all.map(|g| g.path(self.depth(&g.lanes))));
    }

    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        let row = |what: String, pc, rejoin, lanes| MechanismRow { what, pc, rejoin, lanes };
        for &b in &self.set {
            let lanes = self.participants[b as usize];
            out.push(row(format!("barrier {b}"), None, None, lanes));
        }
        for w in &self.waiting {
            let what = format!("waits for barrier {}", w.barrier);
            out.push(row(what, Some(w.group.pc), Some(w.next), w.group.lanes));
        }
        let plain = |what: &str, g: &Group<N>| row(what.to_owned(), Some(g.pc), None, g.lanes);
        out.extend(self.parked.iter().map(|g| plain("parked", g)));
        out.extend(self.paths.iter().map(|g| plain("path", g)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        out.extend([self.paths.len() as u64, self.waiting.len() as u64, self.set.len() as u64]);
        for g in &self.paths {
            image(out, g.pc, &g.lanes);
        }
        for w in &self.waiting {
            image(out, w.group.pc, &w.group.lanes);
            out.extend([u64::from(w.barrier), w.next.0]);
        }
        for &b in &self.set {
            out.push(u64::from(b));
            out.extend(self.participants[b as usize].words());
        }
        for g in &self.parked {
            image(out, g.pc, &g.lanes);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::WarpMask;

    fn lanes(bits: u64) -> WarpMask {
        WarpMask::from_bits(bits)
    }

    fn group(width: usize) -> ConvergenceBarriers<1> {
        let start = Start::at(Pc(0), WarpMask::first(width), count(width));
        ConvergenceBarriers::new(&start, Knobs::default())
    }

    fn now(m: &ConvergenceBarriers<1>) -> (u64, u64) {
        m.preferred().map_or((u64::MAX, 0), |p| (p.pc.0, p.lanes.bits()))
    }

    fn send(m: &mut ConvergenceBarriers<1>, event: Event<'_, 1>) -> Result<(), Refusal> {
        let id = m.preferred().map_or(PathId(99), |p| p.id);
        m.event(&Plan::default(), id, &event)
    }

    fn op(m: &mut ConvergenceBarriers<1>, op: SyncOp<1>, next: u64) {
        send(m, Event::Sync { at: Pc(next - 1), op, next: Pc(next) }).unwrap();
    }

    fn part(m: &mut ConvergenceBarriers<1>, targets: &[(u64, u64)]) {
        let targets: Vec<_> = targets.iter().map(|&(pc, l)| (Pc(pc), lanes(l))).collect();
        send(m, Event::Branch { at: Pc(1), targets: &targets }).unwrap();
    }

    #[test]
    fn majority_first_and_merge_at_the_wait() {
        let mut m = group(4);
        op(&mut m, SyncOp::Set { barrier: 0, rejoin: Pc(9) }, 1);
        part(&mut m, &[(2, 1), (5, 14)]);
        assert_eq!(now(&m), (5, 14));
        send(&mut m, Event::Branch { at: Pc(5), targets: &[(Pc(9), lanes(14))] }).unwrap();
        op(&mut m, SyncOp::Wait { barrier: 0 }, 10);
        assert_eq!(now(&m), (2, 1));
        send(&mut m, Event::Branch { at: Pc(2), targets: &[(Pc(9), lanes(1))] }).unwrap();
        op(&mut m, SyncOp::Wait { barrier: 0 }, 10);
        assert_eq!(now(&m), (10, 15));
        assert_eq!(m.charges().merges, 1);
    }

    #[test]
    fn without_a_barrier_paths_stay_apart() {
        let mut m = group(4);
        part(&mut m, &[(2, 3), (3, 12)]);
        send(&mut m, Event::Advance { next: Pc(9) }).unwrap();
        let mut all = Vec::new();
        m.paths(&mut all);
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn break_and_exit_let_the_others_go() {
        let mut m = group(4);
        op(&mut m, SyncOp::Set { barrier: 3, rejoin: Pc(9) }, 1);
        part(&mut m, &[(2, 1), (5, 14)]);
        op(&mut m, SyncOp::Wait { barrier: 3 }, 10);
        op(&mut m, SyncOp::Break { barrier: 3, lanes: lanes(1) }, 3);
        // The others are freed on top of the lane that left.
        assert_eq!(now(&m), (10, 14));
        let mut m = group(4);
        op(&mut m, SyncOp::Set { barrier: 3, rejoin: Pc(9) }, 1);
        part(&mut m, &[(2, 1), (5, 14)]);
        op(&mut m, SyncOp::Wait { barrier: 3 }, 10);
        send(&mut m, Event::Exit { at: Pc(2), lanes: lanes(1), next: Pc(3) }).unwrap();
        assert_eq!(now(&m), (10, 14));
    }

    #[test]
    fn yield_changes_to_a_sibling_only() {
        let mut m = group(4);
        op(&mut m, SyncOp::Set { barrier: 0, rejoin: Pc(9) }, 1);
        part(&mut m, &[(2, 1), (5, 14)]);
        op(&mut m, SyncOp::Yield, 6);
        assert_eq!(now(&m), (2, 1));
        op(&mut m, SyncOp::Yield, 3);
        assert_eq!(now(&m), (6, 14));
        // Inside a barrier of its own, the path has no sibling below.
        op(&mut m, SyncOp::Set { barrier: 1, rejoin: Pc(8) }, 7);
        op(&mut m, SyncOp::Yield, 8);
        assert_eq!(now(&m), (8, 14));
    }

    #[test]
    fn lanes_that_take_no_part_pass() {
        let mut m = group(2);
        op(&mut m, SyncOp::Wait { barrier: 7 }, 1);
        assert_eq!(now(&m), (1, 3));
        let e =
            send(&mut m, Event::Sync { at: Pc(1), op: SyncOp::Wait { barrier: 16 }, next: Pc(2) });
        assert_eq!(e, Err(Refusal::NoSuchBarrier { barrier: 16, count: 16 }));
        assert_eq!(now(&m), (1, 3));
    }

    /// 0: set; 1: spin (lane k stays while another holds the lock); 5: release; 6: wait.
    fn spin(with_yield: bool) -> bool {
        let mut m = group(4);
        op(&mut m, SyncOp::Set { barrier: 0, rejoin: Pc(6) }, 1);
        let mut held = false;
        for _ in 0..100 {
            let (pc, bits) = now(&m);
            match pc {
                1 if !held => {
                    held = true;
                    let first = bits & bits.wrapping_neg();
                    match bits & !first {
                        0 => part(&mut m, &[(5, first)]),
                        others => part(&mut m, &[(2, others), (5, first)]),
                    }
                }
                1 => part(&mut m, &[(2, bits)]),
                2 if with_yield => op(&mut m, SyncOp::Yield, 3),
                2 => send(&mut m, Event::Advance { next: Pc(3) }).unwrap(),
                3 => part(&mut m, &[(1, bits)]),
                5 => {
                    held = false;
                    send(&mut m, Event::Advance { next: Pc(6) }).unwrap();
                }
                6 => op(&mut m, SyncOp::Wait { barrier: 0 }, 7),
                _ => return bits == 15,
            }
        }
        false
    }

    #[test]
    fn a_spin_lock_ends_only_with_yield() {
        assert!(spin(true));
        assert!(!spin(false));
    }
}
