//! `split-join`: a stack that the program's own `split` and `join` operations push and pop.
//!
//! **Source.** Vortex and instruction sets derived from it (`vx_split`, `vx_join`): `split` pushes
//! the mask, and if lanes are of two minds the others with the place behind it; those for which its
//! predicate holds go on. `join` pops: the other lanes take their turn from behind the split, or
//! the whole mask goes on behind the join. The branch behind the split is run by each side on its
//! own, and so never parts lanes.
//!
//! **State.** A place, a mask, a stack of splits: the mask, the lanes whose turn comes, where those
//! wait that have had it.
//!
//! **Invariants.** One path runs. Every other event than a split keeps the lanes together, and one
//! that would part them is refused ([`Refusal::Parted`]). Splits and joins are balanced: a join
//! without a split is refused ([`Refusal::Unbalanced`]), and so are lanes that end inside a split,
//! for nobody would run its join.

use crate::event::{Event, SyncOp};
use crate::lanes::{count, image};
use crate::lockstep::Lockstep;
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "split-join";

/// An open split.
#[derive(Clone, Copy, Debug)]
struct Open<const N: usize> {
    /// Lanes whose turn comes, and the place behind the split.
    later: LaneMask<N>,
    behind: Pc,
    /// Lanes that have had their turn, and the place behind the join.
    had: LaneMask<N>,
    joined: Pc,
}

/// The mechanism.
#[derive(Clone, Debug)]
pub struct SplitJoin<const N: usize> {
    now: Lockstep<N>,
    open: Vec<Open<N>>,
    charges: Charges,
}

impl<const N: usize> SplitJoin<N> {
    /// A group at its start.
    ///
    /// # Errors
    /// [`Refusal::Parted`] if it starts at several places.
    pub fn new(start: &Start<N>) -> Result<Self, Refusal> {
        let charges = Charges { max_depth: 1, ..Charges::default() };
        Ok(Self { now: Lockstep::new(start, NAME)?, open: Vec::new(), charges })
    }

    fn depth(&self) -> u32 {
        count(self.open.len()).saturating_add(1)
    }

    fn split(&mut self, taken: LaneMask<N>, next: Pc) {
        let first = taken & self.now.lanes;
        // One side alone keeps its lanes: the branch behind goes the other way if none hold.
        let (first, later) = if first.is_empty() {
            (self.now.lanes, first)
        } else {
            (first, self.now.lanes - first)
        };
        self.open.push(Open { later, behind: next, had: LaneMask::EMPTY, joined: next });
        self.charges.pushes += 1 + u64::from(later.any());
        self.charges.splits += u64::from(later.any());
        (self.now.lanes, self.now.pc) = (first, next);
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
    }

    fn join(&mut self, next: Pc) -> Result<(), Refusal> {
        let what = "a join without a split";
        let Some(top) = self.open.last_mut() else { return Err(Refusal::Unbalanced { what }) };
        self.charges.pops += 1;
        if top.later.any() {
            top.had = self.now.lanes;
            top.joined = next;
            self.now.lanes = std::mem::replace(&mut top.later, LaneMask::EMPTY);
            self.now.pc = top.behind;
            return Ok(());
        }
        self.charges.merges += u64::from(top.had.any());
        self.now.lanes |= top.had;
        self.open.pop();
        self.now.pc = next;
        Ok(())
    }
}

impl<const N: usize> Mechanism<N> for SplitJoin<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.now.running(self.depth())
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        if path != PathId(0) {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        match *event {
            Event::Sync { op: SyncOp::Split { taken }, next, .. } => self.split(taken, next),
            Event::Sync { op: SyncOp::Join, next, .. } => self.join(next)?,
            Event::Exit { lanes, .. } if lanes.any() && !self.open.is_empty() => {
                return Err(Refusal::Unbalanced { what: "lanes end inside a split" });
            }
            _ => self.now.event(event)?,
        }
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.now.release(lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.now.paths(self.depth()));
        let at = |pc, lanes, id, depth| Path { id: PathId(id), pc, lanes, depth };
        for (open, depth) in self.open.iter().zip(1..) {
            out.push(at(open.behind, open.later, 2 * depth, depth));
            out.push(at(open.joined, open.had, 2 * depth + 1, depth));
        }
        out.retain(|p| p.lanes.any());
    }

    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        let row = |what: &str, pc, lanes| MechanismRow {
            what: what.to_owned(),
            pc: Some(pc),
            rejoin: None,
            lanes,
        };
        for open in &self.open {
            out.push(row("joined", open.joined, open.had));
            out.push(row("later", open.behind, open.later));
        }
        let running = self.now.paths(self.depth()).into_iter().filter(|path| path.lanes.any());
        out.extend(running.map(|path| row("path", path.pc, path.lanes)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        self.now.image(out);
        for open in &self.open {
            image(out, open.behind, &open.later);
            image(out, open.joined, &open.had);
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

    fn sync(m: &mut SplitJoin<1>, op: SyncOp<1>, next: u64) -> Result<(), Refusal> {
        m.event(&Plan::default(), PathId(0), &Event::Sync { at: Pc(next - 1), op, next: Pc(next) })
    }

    fn at(m: &SplitJoin<1>) -> (u64, u64) {
        m.preferred().map(|p| (p.pc.0, p.lanes.bits())).unwrap()
    }

    #[test]
    fn each_side_has_its_turn_and_then_all_go_on() {
        let mut m = SplitJoin::new(&Start::at(Pc(0), WarpMask::first(4), 4)).unwrap();
        sync(&mut m, SyncOp::Split { taken: WarpMask::from_bits(3) }, 1).unwrap();
        assert_eq!(at(&m), (1, 3));
        sync(&mut m, SyncOp::Join, 9).unwrap();
        assert_eq!(at(&m), (1, 12));
        sync(&mut m, SyncOp::Join, 9).unwrap();
        assert_eq!(at(&m), (9, 15));
        assert_eq!((m.charges.splits, m.charges.merges, m.charges.pushes), (1, 1, 2));
    }

    #[test]
    fn a_split_of_one_mind_has_one_turn() {
        let mut m = SplitJoin::new(&Start::at(Pc(0), WarpMask::first(4), 4)).unwrap();
        for taken in [0, 15] {
            sync(&mut m, SyncOp::Split { taken: WarpMask::from_bits(taken) }, 1).unwrap();
            assert_eq!(at(&m), (1, 15));
            sync(&mut m, SyncOp::Join, 9).unwrap();
            assert_eq!(at(&m), (9, 15));
        }
    }

    #[test]
    fn what_is_not_balanced_is_refused() {
        let mut m = SplitJoin::new(&Start::at(Pc(0), WarpMask::first(4), 4)).unwrap();
        let text = sync(&mut m, SyncOp::Join, 1).unwrap_err().to_string();
        assert_eq!(text, "a join without a split: splits and joins must be balanced");
        sync(&mut m, SyncOp::Split { taken: WarpMask::from_bits(1) }, 1).unwrap();
        let exit = Event::Exit { at: Pc(1), lanes: WarpMask::from_bits(1), next: Pc(2) };
        let refusal = m.event(&Plan::default(), PathId(0), &exit).unwrap_err().to_string();
        assert_eq!(refusal, "lanes end inside a split: splits and joins must be balanced");
    }
}
