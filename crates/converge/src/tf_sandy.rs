//! `tf-sandy`: thread frontiers on hardware that compares each lane's place with one place of the
//! group.
//!
//! **Source.** Diamos et al., "SIMD re-convergence at thread frontiers" (MICRO 2011): the variant
//! for GPUs with a place for each lane and a group place (Intel's Sandy Bridge). The lanes whose
//! place is the group's place are on. When only some of the lanes that could run are on, a branch
//! is *conservative*: the group goes to the block of the highest priority among the branch's
//! targets, its successors of lower priority, and the frontier of its block, although perhaps no
//! lane is there. Such an *idle issue* finds nobody, and the group goes on in the same way. When
//! all lanes are on, a uniform branch is taken directly.
//!
//! **State.** A place for each lane (kept as a list of paths sorted by depth of calls, block
//! priority and place), the group's place.
//!
//! **Invariants.** Only lanes at the group's place run; none may be there. The group's place never
//! passes a waiting lane: if the plan's frontiers leave one out, the group goes to the first one
//! that waits. Calls, returns, and ends or stops of all lanes that are on lead straight to the path
//! that ranks first. Not fair, as `tf-stack`. Reads the knob
//! `priorities`.

use crate::event::Event;
use crate::lanes::{Group, Ids, count, image};
use crate::mechanism::{Charges, Knobs, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Priorities};
use simt::{LaneMask, Pc};
use std::cmp::Reverse;

/// Its name in the catalogue.
pub const NAME: &str = "tf-sandy";

/// The path at the group's place, which may have no lanes.
const HERE: PathId = PathId(u32::MAX);

/// Lanes at a place, so many calls deep.
#[derive(Clone, Copy, Debug)]
struct Place<const N: usize> {
    calls: u32,
    group: Group<N>,
}

/// The mechanism.
#[derive(Clone, Debug)]
pub struct TfSandy<const N: usize> {
    places: Vec<Place<N>>,
    parked: Vec<Place<N>>,
    /// The group's place, if lanes can run.
    at: Option<(u32, Pc)>,
    ids: Ids<N>,
    priorities: Priorities,
    charges: Charges,
}

type Targets<'a, const N: usize> = &'a [(Pc, LaneMask<N>)];

impl<const N: usize> TfSandy<N> {
    /// A group at its start. Of paths handed over, the first is where the group stands.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let mut this = Self {
            places: Vec::new(),
            parked: Vec::new(),
            at: None,
            ids: Ids::default(),
            priorities: knobs.priorities,
            charges: Charges::default(),
        };
        for &(pc, lanes) in &start.paths {
            this.insert((0, pc), lanes - start.parked);
            this.park((0, pc), lanes & start.parked);
        }
        this.at = this.places.first().map(|p| (p.calls, p.group.pc));
        this.charges = Charges { max_depth: this.depth().into(), ..Charges::default() };
        this
    }

    /// Deeper calls first, then blocks of higher priority, then lower places.
    fn rank(&self, plan: &Plan, (calls, pc): (u32, Pc)) -> (Reverse<u32>, u32, Pc) {
        (Reverse(calls), plan.priority(pc, self.priorities), pc)
    }

    fn depth(&self) -> u32 {
        count(self.places.len() + self.parked.len())
    }

    fn index_of(&self, at: (u32, Pc)) -> Option<usize> {
        self.places.iter().position(|p| (p.calls, p.group.pc) == at)
    }

    fn insert(&mut self, at: (u32, Pc), lanes: LaneMask<N>) {
        if lanes.is_empty() {
            return;
        }
        if let Some(i) = self.index_of(at) {
            self.places[i].group.lanes |= lanes;
            self.charges.merges += 1;
        } else {
            let group = Group { id: self.ids.take(), pc: at.1, lanes };
            self.places.push(Place { calls: at.0, group });
        }
    }

    fn park(&mut self, at: (u32, Pc), lanes: LaneMask<N>) {
        if lanes.any() {
            let group = Group { id: self.ids.take(), pc: at.1, lanes };
            self.parked.push(Place { calls: at.0, group });
        }
    }

    /// Takes the lanes at a place away.
    fn take(&mut self, at: (u32, Pc)) -> LaneMask<N> {
        let Some(i) = self.index_of(at) else { return LaneMask::EMPTY };
        let place = self.places.remove(i);
        self.ids.give_back(place.group.id);
        place.group.lanes
    }

    /// The place of the waiting path that ranks first.
    fn first(&self, plan: &Plan) -> Option<(u32, Pc)> {
        let all = self.places.iter().map(|p| (p.calls, p.group.pc));
        all.min_by_key(|&at| self.rank(plan, at))
    }

    /// Where the group goes from a control instruction at `from`: to its targets or, if not all
    /// lanes are on, to what may come before them.
    fn conservative(&self, plan: &Plan, from: (u32, Pc), targets: &[Pc]) -> Option<(u32, Pc)> {
        let calls = from.0;
        let block = plan.block_of(from.1).map(|b| &plan.blocks()[b]);
        let near = block
            .into_iter()
            .flat_map(|b| b.successors.iter().copied().chain(b.rank(self.priorities).frontier));
        let near = near.filter_map(|s| plan.blocks().get(s as usize));
        let here = plan.priority(from.1, self.priorities);
        let below =
            near.filter(|b| b.rank(self.priorities).priority > here).map(|b| (calls, b.first));
        let targets = targets.iter().map(|&pc| (calls, pc));
        let to = targets.chain(below).min_by_key(|&at| self.rank(plan, at));
        // Lanes that rank before that would be passed.
        let waiting = self.first(plan);
        match (to, waiting) {
            (Some(to), Some(first)) if self.rank(plan, first) < self.rank(plan, to) => Some(first),
            (Some(to), Some(_)) => Some(to),
            (_, waiting) => waiting,
        }
    }

    fn branch(&mut self, plan: &Plan, from: (u32, Pc), targets: Targets<'_, N>) {
        self.take(from);
        let everybody = self.places.is_empty();
        for &(pc, lanes) in targets {
            self.insert((from.0, pc), lanes);
        }
        self.charges.splits += u64::from(targets.len() > 1);
        let places: Vec<Pc> = targets.iter().map(|t| t.0).collect();
        self.at = match places[..] {
            [only] if everybody => Some((from.0, only)),
            _ => self.conservative(plan, from, &places),
        };
    }

    /// Lanes of the group's place go on to `next`.
    fn advance(&mut self, plan: &Plan, from: (u32, Pc), next: Pc) {
        let new_block = plan.block_of(from.1) != plan.block_of(next);
        let lanes = self.take(from);
        let everybody = self.places.is_empty();
        self.insert((from.0, next), lanes);
        self.at = if everybody && lanes.is_empty() {
            None
        } else if new_block && !everybody {
            let to: &[Pc] = if lanes.any() { &[next] } else { &[] };
            self.conservative(plan, from, to)
        } else {
            Some((from.0, next))
        };
    }
}

impl<const N: usize> Mechanism<N> for TfSandy<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        let at = self.at?;
        let lanes = self.index_of(at).map_or(LaneMask::EMPTY, |i| self.places[i].group.lanes);
        Some(Path { id: HERE, pc: at.1, lanes, depth: self.depth() })
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let at = self.at.filter(|_| path == HERE);
        let Some(at) = at else { return Err(Refusal::UnknownPath { path: path.0 }) };
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.advance(plan, at, next),
            Event::Branch { targets, .. } => self.branch(plan, at, targets),
            Event::Call { targets, .. } => {
                self.take(at);
                self.charges.splits += u64::from(targets.len() > 1);
                for &(pc, lanes) in targets {
                    self.insert((at.0.saturating_add(1), pc), lanes);
                }
                self.at = self.first(plan);
            }
            Event::Return { targets, rest, .. } => {
                self.take(at);
                self.charges.splits += u64::from(targets.len() + usize::from(rest.is_some()) > 1);
                for &(pc, lanes) in targets {
                    self.insert((at.0.saturating_sub(1), pc), lanes);
                }
                if let Some((pc, lanes)) = rest {
                    self.insert((at.0, pc), lanes);
                }
                self.at = self.first(plan);
            }
            Event::Exit { lanes, next, .. } | Event::Park { lanes, next, .. } => {
                let all = self.take(at);
                if let Event::Park { .. } = event {
                    self.park(at, all & lanes);
                }
                if (all - lanes).any() {
                    self.insert(at, all - lanes);
                    self.advance(plan, at, next);
                } else {
                    self.at = self.first(plan);
                }
            }
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
        Ok(())
    }

    fn release(&mut self, plan: &Plan, lanes: LaneMask<N>, next: Pc) {
        let mut freed: Vec<(u32, LaneMask<N>)> = Vec::new();
        for place in &mut self.parked {
            freed.push((place.calls, place.group.lanes & lanes));
            place.group.lanes -= lanes;
            if place.group.lanes.is_empty() {
                self.ids.give_back(place.group.id);
            }
        }
        self.parked.retain(|p| p.group.lanes.any());
        for (calls, lanes) in freed {
            self.insert((calls, next), lanes);
        }
        // The lanes released may rank before those that run.
        self.at = match (self.at, self.first(plan)) {
            (Some(at), Some(first)) if self.rank(plan, at) <= self.rank(plan, first) => Some(at),
            (_, first) => first,
        };
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let depth = self.depth();
        let here = |p: &Place<N>| self.at == Some((p.calls, p.group.pc));
        for place in &self.places {
            let path = place.group.path(depth);
            out.push(if here(place) { Path { id: HERE, ..path } } else { path });
        }
        out.extend(self.parked.iter().map(|p| p.group.path(depth)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        let (calls, pc) = self.at.map_or((u32::MAX, Pc(u64::MAX)), |at| at);
        out.extend([u64::from(calls), pc.0, self.places.len() as u64]);
        let sorted = |list: &[Place<N>]| {
            let mut list = list.to_vec();
            list.sort_by_key(|p| (p.calls, p.group.pc, p.group.lanes));
            list
        };
        for place in sorted(&self.places).iter().chain(&sorted(&self.parked)) {
            image(out, place.group.pc, &place.group.lanes);
            out.push(u64::from(place.calls));
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}
