//! `basic`: lanes that part are taken to meet at the instruction after the branch.
//!
//! **Source.** The rule that simulators without flow analysis use, among them the PTX virtual machines that push "branch + 1" as
//! the place of reconvergence. Here in its honest form: no lane is lost.
//!
//! **State.** A stack of entries: place, rejoin place, lanes (`stack.rs` has its rules). The rejoin place of every branch is the
//! next instruction: lanes that fall through wait there, those that jump run until they come there or end.
//!
//! **Invariants.** Every lane executes its own program. The place is right where it post-dominates the branch, as after the
//! branch that closes a loop; the lanes that jump over it run alone to their end. Such splits are charged as
//! [`Charges::unsound`]: the results of independent lanes are right all the same, but a barrier or collective after the real
//! meeting place waits for lanes that wait below on the stack. The knob `order` matters only to branches with several targets.

use crate::event::Event;
use crate::mechanism::{Charges, Knobs, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Rejoin};
use crate::stack::Stack;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "basic";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Basic<const N: usize>(Stack<N>);

impl<const N: usize> Basic<N> {
    /// A group at its start. Paths handed over by another mechanism become entries without a rejoin place, the last on top.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        Self(Stack::new(start, knobs))
    }
}

impl<const N: usize> Mechanism<N> for Basic<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.0.preferred()
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let before = self.0.charges.splits;
        self.0.event(path, event, |at| Rejoin::At(Pc(at.0 + 1)))?;
        if let Event::Branch { at, .. } = *event
            && self.0.charges.splits > before
        {
            // A successor that post-dominates a block is its immediate post-dominator: nothing lies between the two.
            let sound = plan.rejoin(at) == Rejoin::At(Pc(at.0 + 1));
            self.0.charges.unsound += u64::from(!sound);
        }
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.0.release(lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        self.0.paths(out);
    }

    fn charges(&self) -> Charges {
        self.0.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        self.0.image(out);
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::{FunctionFlow, Priorities, plan};
    use flow::Cfg;
    use simt::WarpMask;

    fn group(plan: &Plan, targets: &[(u64, u64)]) -> Basic<1> {
        let mut m = Basic::new(&Start::at(Pc(0), WarpMask::first(4), 4), Knobs::default());
        let to: Vec<_> = targets.iter().map(|t| (Pc(t.0), WarpMask::from_bits(t.1))).collect();
        m.event(plan, PathId(0), &Event::Branch { at: Pc(0), targets: &to }).unwrap();
        m
    }

    fn planned(successors: &[Vec<u32>]) -> Plan {
        let cfg = Cfg::new(0, successors).unwrap();
        let places: Vec<_> = (0..successors.len() as u64).map(|i| i..i + 1).collect();
        plan(&[FunctionFlow { cfg: &cfg, places: &places }], Priorities::Layout).unwrap()
    }

    #[test]
    fn a_loop_rejoins_behind_its_branch() {
        let plan = planned(&[vec![0, 1], vec![]]);
        let mut m = group(&plan, &[(0, 12), (1, 3)]);
        assert_eq!(m.preferred().map(|p| (p.pc.0, p.lanes.bits())), Some((0, 12)));
        let id = m.preferred().unwrap().id;
        let all = [(Pc(1), WarpMask::from_bits(12))];
        m.event(&plan, id, &Event::Branch { at: Pc(0), targets: &all }).unwrap();
        assert_eq!(m.preferred().map(|p| (p.pc.0, p.lanes.bits())), Some((1, 15)));
        assert_eq!(m.charges().unsound, 0);
    }

    #[test]
    fn a_jump_over_the_next_instruction_never_rejoins() {
        // 0 jumps over 1 to 2.
        let plan = planned(&[vec![1, 2], vec![2], vec![]]);
        let mut m = group(&plan, &[(1, 3), (2, 12)]);
        for (at, lanes) in [(2, 12), (1, 3), (2, 3)] {
            let p = m.preferred().unwrap();
            assert_eq!((p.pc.0, p.lanes.bits()), (at, lanes));
            let event = match at {
                1 => Event::Advance { next: Pc(2) },
                _ => Event::Exit { at: Pc(2), lanes: p.lanes, next: Pc(3) },
            };
            m.event(&plan, p.id, &event).unwrap();
        }
        assert_eq!(m.preferred(), None);
        assert_eq!(m.charges().unsound, 1);
    }
}
