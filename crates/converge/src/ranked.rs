//! Sorted path lists: the path that ranks first runs, and paths that meet are one.
//!
//! What `min-pc`, `max-pc`, `min-sp-pc` and `tf-stack` have in common; they differ in the [`Rank`].
//! Running paths are kept in the order of their rank, at most one at each rank and place, so the
//! list has at most one entry for each lane.

use crate::event::Event;
use crate::lanes::{Ids, count, image};
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// What a path is sorted by; lower runs first. A value, not a parameter of [`Ranked`], which is
/// compiled once for all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    /// The rank of a place, so many calls deep.
    pub(crate) rank: fn(plan: &Plan, pc: Pc, calls: u32) -> [u64; 2],
    /// Whether the rank needs the plan or the depth of calls: else paths that another mechanism
    /// hands over are in order at once.
    pub(crate) planned: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry<const N: usize> {
    rank: [u64; 2],
    pc: Pc,
    calls: u32,
    id: u32,
    lanes: LaneMask<N>,
}

/// A sorted list of paths.
#[derive(Clone, Debug)]
pub(crate) struct Ranked<const N: usize> {
    running: Vec<Entry<N>>,
    parked: Vec<Entry<N>>,
    ids: Ids<N>,
    charges: Charges,
    /// Whether ranks were computed with the plan.
    planned: bool,
    rank: fn(&Plan, Pc, u32) -> [u64; 2],
}

type Targets<'a, const N: usize> = &'a [(Pc, LaneMask<N>)];

impl<const N: usize> Ranked<N> {
    pub(crate) fn new(start: &Start<N>, rank: Rank) -> Self {
        let mut this = Self {
            running: Vec::new(),
            parked: Vec::new(),
            ids: Ids::default(),
            charges: Charges::default(),
            planned: !rank.planned,
            rank: rank.rank,
        };
        let plan = Plan::default();
        for &(pc, lanes) in &start.paths {
            this.insert(&plan, pc, 0, lanes - start.parked);
            this.park(pc, 0, lanes & start.parked);
        }
        this.charges = Charges { max_depth: this.depth().into(), ..Charges::default() };
        this
    }

    fn depth(&self) -> u32 {
        count(self.running.len() + self.parked.len())
    }

    /// Sorts paths that came without a plan.
    fn plan(&mut self, plan: &Plan) {
        if !std::mem::replace(&mut self.planned, true) {
            let rank = self.rank;
            for entry in &mut self.running {
                entry.rank = rank(plan, entry.pc, entry.calls);
            }
            self.running.sort_by_key(|e| (e.rank, e.pc));
        }
    }

    fn position(&self, path: PathId) -> Result<usize, Refusal> {
        let found = self.running.iter().position(|e| e.id == path.0);
        found.ok_or(Refusal::UnknownPath { path: path.0 })
    }

    /// The running path of a name.
    pub(crate) fn path(&self, id: PathId) -> Result<Path<N>, Refusal> {
        Ok(path(&self.running[self.position(id)?], self.depth()))
    }

    /// The running path that holds any of the lanes.
    pub(crate) fn holding(&self, lanes: &LaneMask<N>) -> Option<Path<N>> {
        let found = self.running.iter().find(|e| !e.lanes.is_disjoint(lanes));
        found.map(|e| path(e, self.depth()))
    }

    /// Some lanes of a path become a path of their own for one event, after which they are
    /// elsewhere or with the others again.
    pub(crate) fn part(&mut self, id: PathId, lanes: LaneMask<N>) -> Result<PathId, Refusal> {
        let index = self.position(id)?;
        let own = Entry { lanes, id: self.ids.take(), ..self.running[index] };
        self.running[index].lanes -= lanes;
        self.running.insert(index, own);
        Ok(PathId(own.id))
    }

    /// Puts lanes at a place, where they join those that are there.
    fn insert(&mut self, plan: &Plan, pc: Pc, calls: u32, lanes: LaneMask<N>) {
        if lanes.is_empty() {
            return;
        }
        let rank = (self.rank)(plan, pc, calls);
        match self.running.binary_search_by_key(&(rank, pc), |e| (e.rank, e.pc)) {
            Ok(i) => {
                self.running[i].lanes |= lanes;
                self.charges.merges += 1;
                self.charges.visits += i as u64 + 1;
            }
            Err(i) => {
                let id = self.ids.take();
                self.running.insert(i, Entry { rank, pc, calls, id, lanes });
                self.charges.pushes += 1;
                self.charges.visits += i as u64;
            }
        }
    }

    fn park(&mut self, pc: Pc, calls: u32, lanes: LaneMask<N>) {
        if lanes.any() {
            let id = self.ids.take();
            self.parked.push(Entry { rank: [0; 2], pc, calls, id, lanes });
        }
    }

    fn take(&mut self, index: usize) -> Entry<N> {
        let entry = self.running.remove(index);
        self.ids.give_back(entry.id);
        self.charges.pops += 1;
        entry
    }

    /// Moves a whole path.
    fn advance(&mut self, plan: &Plan, index: usize, next: Pc, calls: u32) {
        let rank = (self.rank)(plan, next, calls);
        let key = (rank, next);
        let before = index.checked_sub(1).map(|i| &self.running[i]);
        let after = self.running.get(index + 1);
        if before.is_none_or(|e| (e.rank, e.pc) < key) && after.is_none_or(|e| (e.rank, e.pc) > key)
        {
            let entry = &mut self.running[index];
            (entry.rank, entry.pc, entry.calls) = (rank, next, calls);
        } else {
            let entry = self.take(index);
            self.insert(plan, next, calls, entry.lanes);
        }
    }

    /// Some lanes leave a path; the others go on.
    fn leave(&mut self, plan: &Plan, index: usize, lanes: LaneMask<N>, next: Pc) {
        self.running[index].lanes -= lanes;
        if self.running[index].lanes.is_empty() {
            self.take(index);
        } else {
            self.advance(plan, index, next, self.running[index].calls);
        }
    }

    /// A path's lanes go to targets at one depth of calls, and some stay at the depth they have.
    fn scatter(
        &mut self,
        plan: &Plan,
        index: usize,
        (targets, calls): (Targets<'_, N>, u32),
        rest: Option<(Pc, LaneMask<N>)>,
    ) {
        let own = self.running[index].calls;
        match (targets, rest) {
            ([], None) => {}
            (&[(pc, _)], None) => self.advance(plan, index, pc, calls),
            ([], Some((pc, _))) => self.advance(plan, index, pc, own),
            _ => {
                self.take(index);
                self.charges.splits += 1;
                for &(pc, lanes) in targets {
                    self.insert(plan, pc, calls, lanes);
                }
                if let Some((pc, lanes)) = rest {
                    self.insert(plan, pc, own, lanes);
                }
            }
        }
    }
}

fn path<const N: usize>(entry: &Entry<N>, depth: u32) -> Path<N> {
    Path { id: PathId(entry.id), pc: entry.pc, lanes: entry.lanes, depth }
}

impl<const N: usize> Mechanism<N> for Ranked<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.running.iter().map(|e| path(e, depth)));
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.running.first().map(|e| path(e, self.depth()))
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        self.plan(plan);
        let index = self.position(path)?;
        let calls = self.running[index].calls;
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => {
                self.advance(plan, index, next, calls);
            }
            Event::Branch { targets, .. } => self.scatter(plan, index, (targets, calls), None),
            Event::Call { targets, .. } => {
                self.scatter(plan, index, (targets, calls.saturating_add(1)), None);
            }
            Event::Return { targets, rest, .. } => {
                self.scatter(plan, index, (targets, calls.saturating_sub(1)), rest);
            }
            Event::Exit { lanes, next, .. } => self.leave(plan, index, lanes, next),
            Event::Park { at, lanes, next } => {
                let parked = self.running[index].lanes & lanes;
                self.leave(plan, index, lanes, next);
                self.park(at, calls, parked);
            }
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
        Ok(())
    }

    fn release(&mut self, plan: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.plan(plan);
        let mut freed: Vec<(u32, LaneMask<N>)> = Vec::new();
        for entry in &mut self.parked {
            freed.push((entry.calls, entry.lanes & lanes));
            entry.lanes -= lanes;
            if entry.lanes.is_empty() {
                self.ids.give_back(entry.id);
            }
        }
        self.parked.retain(|e| e.lanes.any());
        for (calls, lanes) in freed {
            self.insert(plan, next, calls, lanes);
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        out.extend(self.running.iter().chain(&self.parked).map(|e| path(e, depth)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        out.push(self.running.len() as u64);
        let mut parked: Vec<&Entry<N>> = self.parked.iter().collect();
        parked.sort_by_key(|e| (e.pc, e.calls, e.lanes));
        for entry in self.running.iter().chain(parked) {
            image(out, entry.pc, &entry.lanes);
            out.push(u64::from(entry.calls));
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}
