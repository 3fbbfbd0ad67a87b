//! `min-pc`: the path at the lowest place runs; paths that meet are one.
//!
//! **Source.** Collange, "Stack-less SIMT reconvergence at low cost" (2011), and the sorted path list of the Simty processor
//! ("Simty: generalized SIMT execution on RISC-V", 2017). No compiler help: compilers place join points behind what joins
//! there, so lanes that are behind get a chance to catch up.
//!
//! **State.** A list of paths sorted by place, at most one for each lane; parked lanes apart.
//!
//! **Invariants.** Running paths stand at distinct places, in increasing order; the first is preferred. Not fair: a path that
//! loops at low places starves the others, so lanes that spin on a lane further down hang. Every unparked path may be run by
//! another policy. Reads no knob.

use crate::event::Event;
use crate::lanes::{Group, Ids, count, image, position};
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "min-pc";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct MinPc<const N: usize> {
    running: Vec<Group<N>>,
    parked: Vec<Group<N>>,
    ids: Ids<N>,
    charges: Charges,
}

impl<const N: usize> MinPc<N> {
    /// A group at its start.
    #[must_use]
    pub fn new(start: &Start<N>) -> Self {
        let mut this = Self {
            running: Vec::new(),
            parked: Vec::new(),
            ids: Ids::default(),
            charges: Charges::default(),
        };
        for &(pc, lanes) in &start.paths {
            this.insert(pc, lanes - start.parked);
            this.park(pc, lanes & start.parked);
        }
        this.charges = Charges { max_depth: this.depth(), ..Charges::default() };
        this
    }

    fn depth(&self) -> u32 {
        count(self.running.len() + self.parked.len())
    }

    /// Puts lanes at a place, where they join those that are there.
    fn insert(&mut self, pc: Pc, lanes: LaneMask<N>) {
        if lanes.is_empty() {
            return;
        }
        match self.running.binary_search_by_key(&pc, |g| g.pc) {
            Ok(i) => {
                self.running[i].lanes |= lanes;
                self.charges.merges += 1;
            }
            Err(i) => {
                let id = self.ids.take();
                self.running.insert(i, Group { id, pc, lanes });
                self.charges.pushes += 1;
            }
        }
    }

    fn park(&mut self, pc: Pc, lanes: LaneMask<N>) {
        if lanes.any() {
            let id = self.ids.take();
            self.parked.push(Group { id, pc, lanes });
        }
    }

    fn take(&mut self, index: usize) -> Group<N> {
        let group = self.running.remove(index);
        self.ids.give_back(group.id);
        group
    }

    /// Moves a whole path.
    fn advance(&mut self, index: usize, next: Pc) {
        let above = index.checked_sub(1).is_none_or(|i| self.running[i].pc < next);
        let below = self.running.get(index + 1).is_none_or(|g| g.pc > next);
        if above && below {
            self.running[index].pc = next;
        } else {
            let group = self.take(index);
            self.charges.visits += count(self.running.len()) as u64;
            self.insert(next, group.lanes);
        }
    }

    /// Some lanes leave a path; the others go on.
    fn leave(&mut self, index: usize, lanes: LaneMask<N>, next: Pc) {
        self.running[index].lanes -= lanes;
        if self.running[index].lanes.is_empty() {
            self.take(index);
            self.charges.pops += 1;
        } else {
            self.advance(index, next);
        }
    }

    fn scatter(
        &mut self,
        index: usize,
        targets: &[(Pc, LaneMask<N>)],
        rest: Option<(Pc, LaneMask<N>)>,
    ) {
        match (targets, rest) {
            ([], None) => {}
            (&[(pc, _)], None) | ([], Some((pc, _))) => self.advance(index, pc),
            _ => {
                self.take(index);
                self.charges.splits += 1;
                self.charges.pops += 1;
                for &(pc, lanes) in targets.iter().chain(rest.as_ref()) {
                    self.insert(pc, lanes);
                }
            }
        }
    }
}

impl<const N: usize> Mechanism<N> for MinPc<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.running.iter().map(|g| g.path(depth)));
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.running.first().map(|g| g.path(self.depth()))
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let index = position(&self.running, path)?;
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.advance(index, next),
            Event::Branch { targets, .. } | Event::Call { targets, .. } => {
                self.scatter(index, targets, None);
            }
            Event::Return { targets, rest, .. } => self.scatter(index, targets, rest),
            Event::Exit { lanes, next, .. } => self.leave(index, lanes, next),
            Event::Park { at, lanes, next } => {
                let parked = self.running[index].lanes & lanes;
                self.leave(index, lanes, next);
                self.park(at, parked);
            }
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth());
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
        self.insert(next, freed);
        self.charges.max_depth = self.charges.max_depth.max(self.depth());
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.running.iter().chain(&self.parked).map(|g| g.path(depth)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        out.push(self.running.len() as u64);
        for group in &self.running {
            image(out, group.pc, &group.lanes);
        }
        let mut parked: Vec<&Group<N>> = self.parked.iter().collect();
        parked.sort_by_key(|g| (g.pc, g.lanes));
        for group in parked {
            image(out, group.pc, &group.lanes);
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

    #[test]
    fn runs_the_lowest_and_joins_at_equal_places() {
        let plan = Plan::default();
        let mut m = MinPc::new(&Start::at(Pc(0), WarpMask::first(4), 4));
        let targets = [(Pc(1), lanes(3)), (Pc(3), lanes(12))];
        let first = m.preferred().unwrap();
        m.event(&plan, first.id, &Event::Branch { at: Pc(0), targets: &targets }).unwrap();
        for pc in [1, 2] {
            let p = m.preferred().unwrap();
            assert_eq!((p.pc, p.lanes), (Pc(pc), lanes(3)));
            m.event(&plan, p.id, &Event::Advance { next: Pc(pc + 1) }).unwrap();
        }
        assert_eq!(m.preferred().map(|p| (p.pc, p.lanes)), Some((Pc(3), lanes(15))));
        let c = m.charges();
        assert_eq!((c.splits, c.merges, c.max_depth), (1, 1, 2));
    }

    #[test]
    fn names_stay_until_the_path_moves() {
        let plan = Plan::default();
        let mut m = MinPc::new(&Start::at(Pc(0), WarpMask::first(4), 4));
        let targets = [(Pc(1), lanes(1)), (Pc(3), lanes(14))];
        let first = m.preferred().unwrap();
        m.event(&plan, first.id, &Event::Branch { at: Pc(0), targets: &targets }).unwrap();
        let mut all = Vec::new();
        m.runnable(&mut all);
        let high = all[1];
        m.event(&plan, all[0].id, &Event::Park { at: Pc(1), lanes: lanes(1), next: Pc(2) })
            .unwrap();
        assert_eq!(m.preferred().map(|p| p.id), Some(high.id));
        m.release(&plan, lanes(1), Pc(2));
        m.event(&plan, high.id, &Event::Advance { next: Pc(4) }).unwrap();
        m.runnable(&mut all);
        let at: Vec<(u64, u64)> = all.iter().map(|p| (p.pc.0, p.lanes.bits())).collect();
        assert_eq!(at, [(2, 1), (4, 14)]);
    }
}
