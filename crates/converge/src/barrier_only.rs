//! `barrier-only`: lanes that part stay apart until a barrier releases them together.
//!
//! **Source.** `ReconvergenceBarrier` of GPU Ocelot: the honest reading of "no reconvergence, but
//! groups stay together", and a lower bound for what merging is worth.
//!
//! **State.** A stack of (place, mask).
//!
//! **Invariants.** Paths become one only by being released together. The top of the stack runs;
//! when it parks or ends, the next one does. Every unparked path may be run by another policy.
//! Reads the knob `order` (default: taken first).

use crate::event::Event;
use crate::lanes::{Group, Ids, count, image, position};
use crate::mechanism::{Charges, Knobs, Mechanism, Order, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "barrier-only";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct BarrierOnly<const N: usize> {
    /// Paths, the preferred one last.
    paths: Vec<Group<N>>,
    parked: Vec<Group<N>>,
    ids: Ids<N>,
    order: Order,
    charges: Charges,
}

impl<const N: usize> BarrierOnly<N> {
    /// A group at its start. Of paths handed over, the last is preferred.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let mut this = Self {
            paths: Vec::new(),
            parked: Vec::new(),
            ids: Ids::default(),
            order: knobs.order.unwrap_or(Order::Taken),
            charges: Charges::default(),
        };
        for &(pc, lanes) in &start.paths {
            this.push(pc, lanes - start.parked);
            this.park(pc, lanes & start.parked);
        }
        this.charges = Charges { max_depth: this.depth().into(), ..Charges::default() };
        this
    }

    fn depth(&self) -> u32 {
        count(self.paths.len() + self.parked.len())
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

    /// A path's groups take its place on the stack.
    fn scatter(&mut self, index: usize, at: Pc, targets: &[(Pc, LaneMask<N>)]) {
        match *targets {
            [] => {}
            [(pc, _)] => self.paths[index].pc = pc,
            _ => {
                let above = self.paths.split_off(index + 1);
                self.drop_path(index);
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

    fn drop_path(&mut self, index: usize) {
        let group = self.paths.remove(index);
        self.ids.give_back(group.id);
        self.charges.pops += 1;
    }

    /// Some lanes leave a path; the others go on.
    fn leave(&mut self, index: usize, lanes: LaneMask<N>, next: Pc) -> LaneMask<N> {
        let path = &mut self.paths[index];
        let left = path.lanes & lanes;
        path.lanes -= lanes;
        path.pc = next;
        if path.lanes.is_empty() {
            self.drop_path(index);
        }
        left
    }
}

impl<const N: usize> Mechanism<N> for BarrierOnly<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.paths.iter().rev().map(|g| g.path(depth)));
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.paths.last().map(|g| g.path(self.depth()))
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let index = position(&self.paths, path)?;
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.paths[index].pc = next,
            Event::Branch { at, targets } | Event::Call { at, targets, .. } => {
                self.scatter(index, at, targets);
            }
            Event::Return { at, targets, rest } => {
                let all: Vec<_> = targets.iter().copied().chain(rest).collect();
                self.scatter(index, at, &all);
            }
            Event::Exit { lanes, next, .. } => {
                self.leave(index, lanes, next);
            }
            Event::Park { at, lanes, next } => {
                let lanes = self.leave(index, lanes, next);
                self.park(at, lanes);
            }
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        let mut freed = LaneMask::EMPTY;
        let mut groups = 0;
        for group in &mut self.parked {
            groups += u64::from((group.lanes & lanes).any());
            freed |= group.lanes & lanes;
            group.lanes -= lanes;
            if group.lanes.is_empty() {
                self.ids.give_back(group.id);
            }
        }
        self.parked.retain(|g| g.lanes.any());
        self.charges.merges += u64::max(groups, 1) - 1;
        self.push(next, freed);
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.paths.iter().rev().chain(&self.parked).map(|g| g.path(depth)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        out.push(self.paths.len() as u64);
        for g in self.paths.iter().chain(&self.parked) {
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

    #[test]
    fn paths_meet_only_by_being_released_together() {
        let plan = Plan::default();
        let all = WarpMask::first(4);
        let (a, b) = (WarpMask::from_bits(3), WarpMask::from_bits(12));
        let mut m = BarrierOnly::new(&Start::at(Pc(0), all, 4), Knobs::default());
        let targets = [(Pc(1), a), (Pc(5), b)];
        m.event(&plan, PathId(0), &Event::Branch { at: Pc(0), targets: &targets }).unwrap();
        for lanes in [b, a] {
            let p = m.preferred().unwrap();
            assert_eq!(p.lanes, lanes);
            m.event(&plan, p.id, &Event::Advance { next: Pc(9) }).unwrap();
            let park = Event::Park { at: Pc(9), lanes, next: Pc(10) };
            m.event(&plan, p.id, &park).unwrap();
        }
        assert_eq!(m.preferred(), None);
        m.release(&plan, all, Pc(10));
        assert_eq!(m.preferred().map(|p| (p.pc, p.lanes)), Some((Pc(10), all)));
        assert_eq!(m.charges().merges, 1);
    }
}
