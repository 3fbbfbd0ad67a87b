//! `basic`: lanes that part are taken to meet at the instruction after the branch.
//!
//! **Source.** The rule that simulators without flow analysis use, among them the PTX virtual
//! machines that push "branch + 1" as the place of reconvergence. Here in its honest form: no lane
//! is lost.
//!
//! **State.** A stack of entries: place, rejoin place, lanes (`stack.rs` has its rules). The rejoin
//! place of every branch is the next instruction: lanes that fall through wait there, those that
//! jump run until they come there or end.
//!
//! **Invariants.** Every lane executes its own program. The place is right where it post-dominates
//! the branch, as after the branch that closes a loop; the lanes that jump over it run alone to
//! their end. Such splits are charged as
//! [`Charges::unsound_splits`](crate::Charges::unsound_splits): the results of independent lanes
//! are right all the same, but a barrier or collective after the real meeting place waits for lanes
//! that wait below on the stack. The knob `order` matters only to branches with several targets.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Plan, Rejoin};
use crate::stacked::{Rule, Stacked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "basic";

#[derive(Clone, Debug)]
struct NextInstruction;

impl Rule for NextInstruction {
    fn rejoin(_: &Plan, at: Pc) -> Rejoin {
        Rejoin::At(Pc(at.0 + 1))
    }

    /// A successor that post-dominates a block is its immediate post-dominator: nothing lies
    /// between the two.
    fn sound(plan: &Plan, at: Pc) -> bool {
        plan.rejoin(at) == Self::rejoin(plan, at)
    }
}

/// A group at its start. Paths handed over by another mechanism become entries without a rejoin
/// place, the last on top.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    Box::new(Stacked::<NextInstruction, N>::new(start, knobs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::mechanism::PathId;
    use crate::planner::{FunctionFlow, plan};
    use flow::Cfg;
    use simt::WarpMask;

    fn group(plan: &Plan, targets: &[(u64, u64)]) -> Box<dyn Mechanism<1>> {
        let mut m = new(&Start::at(Pc(0), WarpMask::first(4), 4), Knobs::default());
        let to: Vec<_> = targets.iter().map(|t| (Pc(t.0), WarpMask::from_bits(t.1))).collect();
        m.event(plan, PathId(0), &Event::Branch { at: Pc(0), targets: &to }).unwrap();
        m
    }

    fn planned(successors: &[Vec<u32>]) -> Plan {
        let cfg = Cfg::new(0, successors).unwrap();
        let places: Vec<_> = (0..successors.len() as u64).map(|i| i..i + 1).collect();
        plan(&[FunctionFlow { cfg: &cfg, places: &places, notes: &[], written: 0 }]).unwrap()
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
        assert_eq!(m.charges().unsound_splits, 0);
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
        assert_eq!(m.charges().unsound_splits, 1);
    }
}
