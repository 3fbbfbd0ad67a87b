//! `predicated-stack`: the stack of `ipdom`, with short forward branches run as predicated code.
//!
//! **Source.** What compilers for stack machines do to short branches (if-conversion; LLVM's AMDGPU
//! back end leaves a branch over at most 12 instructions away), done here at run time, so that the
//! same program shows both costs.
//!
//! **State.** A stack (`stack.rs`), and at most one window on top of it: a place, an end, and the
//! lanes that wait in between, by place: the predicates. A branch opens a window if it ends a
//! block, goes forward only, and its immediate post-dominator is at most
//! [`Knobs::predicate`](crate::Knobs::predicate) instructions behind it, with nothing in between
//! that goes back or out. Every place of the window is then issued, one after another, for the
//! lanes that are there: for none of them too, which is an idle issue. So a branch that all lanes
//! take does not save what it jumps over.
//!
//! **Invariants.** No lane of a window is below its place or behind its end. A window needs no
//! entries on the stack: what it charges is its idle issues. Calls, exits, returns and waits inside
//! a window turn it into entries. Else as `ipdom`.

use crate::event::Event;
use crate::lanes::{count, image};
use crate::mechanism::{Charges, Knobs, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Rejoin};
use crate::stack::Stack;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "predicated-stack";

/// Code that runs straight through, each lane from its place on.
#[derive(Clone, Debug)]
struct Window<const N: usize> {
    at: Pc,
    end: Pc,
    /// Distinct places in `at..=end`, in increasing order, with their lanes.
    waiting: Vec<(Pc, LaneMask<N>)>,
}

impl<const N: usize> Window<N> {
    /// The lanes at its place, if any.
    fn active(&self) -> LaneMask<N> {
        self.waiting.first().filter(|g| g.0 == self.at).map_or(LaneMask::EMPTY, |g| g.1)
    }

    fn holds(&self, targets: &[(Pc, LaneMask<N>)]) -> bool {
        targets.iter().all(|t| t.0 > self.at && t.0 <= self.end)
    }

    /// The lanes at its place go to the targets, and its place moves on by one. Gives the number of
    /// merges.
    fn advance(&mut self, targets: &[(Pc, LaneMask<N>)]) -> u64 {
        if self.active().any() {
            self.waiting.remove(0);
        }
        self.at = Pc(self.at.0 + 1);
        let mut merges = 0;
        for &(pc, lanes) in targets {
            match self.waiting.binary_search_by_key(&pc, |g| g.0) {
                Ok(i) => {
                    self.waiting[i].1 |= lanes;
                    merges += 1;
                }
                Err(i) => self.waiting.insert(i, (pc, lanes)),
            }
        }
        merges
    }
}

/// The mechanism.
#[derive(Clone, Debug)]
pub struct PredicatedStack<const N: usize> {
    stack: Stack<N>,
    window: Option<Window<N>>,
    longest: u64,
}

impl<const N: usize> PredicatedStack<N> {
    /// A group at its start.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        Self { stack: Stack::new(start, knobs), window: None, longest: knobs.predicate }
    }

    /// Opens a window if the event is a branch that may have one.
    fn open(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> bool {
        let Event::Branch { at, targets } = *event else { return false };
        if targets.is_empty() || path != self.stack.top_id() {
            return false;
        }
        let Some(end) = short_forward(plan, at, self.longest) else { return false };
        let mut window = Window { at, end, waiting: Vec::new() };
        if !window.holds(targets) {
            return false;
        }
        window.advance(targets);
        self.window = Some(window);
        self.stack.charges.predicated_regions += 1;
        self.stack.charges.splits += u64::from(targets.len() > 1);
        self.close();
        true
    }

    /// Ends the window if all its lanes have come to its end.
    fn close(&mut self) {
        if self.window.as_ref().is_some_and(|w| w.at == w.end)
            && let Some(window) = self.window.take()
        {
            self.stack.jump(window.end);
        }
    }

    /// The event of an issue inside the window. False if the window cannot take it.
    fn inside(&mut self, event: &Event<'_, N>) -> bool {
        let Some(window) = &mut self.window else { return false };
        let active = window.active();
        let next = (Pc(window.at.0 + 1), active);
        let merges = match *event {
            Event::Advance { .. } | Event::Sync { .. } if active.any() => window.advance(&[next]),
            Event::Branch { targets, .. } if window.holds(targets) => {
                self.stack.charges.splits += u64::from(targets.len() > 1);
                window.advance(targets)
            }
            _ if active.is_empty() => window.advance(&[]),
            _ => return false,
        };
        self.stack.charges.merges += merges;
        self.close();
        true
    }

    /// Turns the window into entries of the stack, the lanes at its place on top.
    fn dissolve(&mut self) {
        if let Some(window) = self.window.take() {
            self.stack.enter(window.end, &window.waiting);
        }
    }
}

/// The place where a branch's lanes meet again, if the code up to there may run straight through:
/// at most `longest` instructions, forward only.
fn short_forward(plan: &Plan, at: Pc, longest: u64) -> Option<Pc> {
    let blocks = plan.blocks();
    let index = plan.block_of(at)?;
    let Rejoin::At(end) = blocks[index].rejoin else { return None };
    let branches = blocks[index].end.0 == at.0 + 1 && blocks[index].successors.len() > 1;
    if !branches || end.0 <= at.0 + 1 || end.0 - at.0 - 1 > longest {
        return None;
    }
    let inside = blocks[index..].iter().take_while(|b| b.first < end);
    let straight = |b: &crate::plan::BlockPlan| {
        let forward = |&s: &u32| {
            let to = blocks[s as usize].first;
            to >= b.end && to <= end
        };
        b.function == blocks[index].function
            && b.end <= end
            && !b.successors.is_empty()
            && b.successors.iter().all(forward)
    };
    inside.into_iter().all(straight).then_some(end)
}

impl<const N: usize> Mechanism<N> for PredicatedStack<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        let path = self.stack.preferred()?;
        let Some(window) = &self.window else { return Some(path) };
        let lanes = window.active();
        let depth = path.depth + u32::from(lanes != path.lanes);
        Some(Path { pc: window.at, lanes, depth, ..path })
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        if self.window.is_none() {
            if self.open(plan, path, event) {
                return Ok(());
            }
            return self.stack.event(path, event, |at| plan.rejoin(at));
        }
        if path != self.stack.top_id() {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        if self.inside(event) {
            return Ok(());
        }
        self.dissolve();
        let top = self.stack.top_id();
        self.stack.event(top, event, |at| plan.rejoin(at))
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.stack.release(lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        self.stack.paths(out);
        let (Some(window), Some(top)) = (&self.window, self.stack.preferred()) else { return };
        let below = out.split_off(out.iter().take_while(|p| p.id == top.id).count());
        out.clear();
        out.extend(window.waiting.iter().enumerate().map(|(i, &(pc, lanes))| {
            let depth = top.depth + u32::from(lanes != top.lanes);
            Path { id: PathId(top.id.0.saturating_add(count(i))), pc, lanes, depth }
        }));
        out.extend(below);
    }

    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        self.stack.rows(out);
        let windows = self.window.iter().flat_map(|window| &window.waiting);
        out.extend(windows.map(|&(pc, lanes)| MechanismRow {
            what: "predicated".to_owned(),
            pc: Some(pc),
            rejoin: None,
            lanes,
        }));
    }

    fn charges(&self) -> Charges {
        self.stack.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        self.stack.image(out);
        if let Some(window) = &self.window {
            out.extend([window.at.0, window.end.0]);
            for (pc, lanes) in &window.waiting {
                image(out, *pc, lanes);
            }
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::{FunctionFlow, plan};
    use flow::Cfg;
    use simt::WarpMask;

    /// 0: branch over 1..3 to 3, where all meet.
    fn triangle() -> Plan {
        let cfg = Cfg::new(0, &[vec![1, 2], vec![2], vec![]]).unwrap();
        let places = [0..1, 1..3, 3..4];
        plan(&[FunctionFlow { cfg: &cfg, places: &places, notes: &[], written: 0 }]).unwrap()
    }

    fn issues(plan: &Plan, knobs: Knobs, targets: &[(u64, u64)]) -> (Vec<(u64, u64)>, Charges) {
        let mut m = PredicatedStack::new(&Start::at(Pc(0), WarpMask::first(4), 4), knobs);
        let to: Vec<_> = targets.iter().map(|t| (Pc(t.0), WarpMask::from_bits(t.1))).collect();
        m.event(plan, PathId(0), &Event::Branch { at: Pc(0), targets: &to }).unwrap();
        let mut seen = Vec::new();
        while let Some(p) = m.preferred() {
            seen.push((p.pc.0, p.lanes.bits()));
            let event = match p.pc.0 {
                3 => Event::Exit { at: p.pc, lanes: p.lanes, next: Pc(4) },
                pc => Event::Advance { next: Pc(pc + 1) },
            };
            m.event(plan, p.id, &event).unwrap();
        }
        (seen, m.charges())
    }

    #[test]
    fn a_triangle_needs_no_stack() {
        let (seen, charges) = issues(&triangle(), Knobs::default(), &[(1, 3), (3, 12)]);
        assert_eq!(seen, [(1, 3), (2, 3), (3, 15)]);
        assert_eq!((charges.pushes, charges.predicated_regions, charges.merges), (0, 1, 1));
    }

    #[test]
    fn a_branch_that_all_take_saves_nothing() {
        let (seen, charges) = issues(&triangle(), Knobs::default(), &[(3, 15)]);
        assert_eq!(seen, [(1, 0), (2, 0), (3, 15)]);
        assert_eq!(charges.predicated_regions, 1);
    }

    #[test]
    fn longer_branches_use_the_stack() {
        let knobs = Knobs { predicate: 1, ..Knobs::default() };
        let (seen, charges) = issues(&triangle(), knobs, &[(1, 3), (3, 12)]);
        assert_eq!(seen, [(1, 3), (2, 3), (3, 15)]);
        assert_eq!((charges.pushes, charges.predicated_regions), (1, 0));
    }

    #[test]
    fn lanes_that_end_inside_leave_the_others() {
        let plan = triangle();
        let start = Start::at(Pc(0), WarpMask::first(4), 4);
        let mut m = PredicatedStack::new(&start, Knobs::default());
        let to = [(Pc(1), WarpMask::from_bits(7)), (Pc(3), WarpMask::from_bits(8))];
        m.event(&plan, PathId(0), &Event::Branch { at: Pc(0), targets: &to }).unwrap();
        let gone = Event::Exit { at: Pc(1), lanes: WarpMask::from_bits(1), next: Pc(2) };
        let now = |m: &PredicatedStack<1>| m.preferred().map(|p| (p.id, p.pc.0, p.lanes.bits()));
        m.event(&plan, m.preferred().unwrap().id, &gone).unwrap();
        let (id, pc, lanes) = now(&m).unwrap();
        assert_eq!((pc, lanes), (2, 6));
        m.event(&plan, id, &Event::Advance { next: Pc(3) }).unwrap();
        assert_eq!(now(&m).map(|n| (n.1, n.2)), Some((3, 14)));
    }
}
