//! `ipdom`: a stack that rejoins lanes at the immediate post-dominator of the branch where they
//! parted.
//!
//! **Source.** Fung et al., "Dynamic warp formation and scheduling for efficient GPU control flow"
//! (MICRO 2007), section 3; the rules are those of GPGPU-Sim's `simt_stack`. GPGPU-Sim runs the
//! taken side first, which is the default here; the knob `order` gives the choices of other tools
//! (Ocelot: fall-through; Ventus: fewer lanes, which bounds the stack to log2(W) levels; Hanoi:
//! more lanes).
//!
//! **State.** A stack of entries: place, rejoin place, lanes (`stack.rs` has its rules). The rejoin
//! place of a branch is the first instruction of its immediate post-dominator; a branch that has
//! none before the end of the function, or none at all, keeps the rejoin place of the entry it
//! happens in.
//!
//! **Invariants.** The lanes of an entry that waits contain those of all entries above it that it
//! waits for; lanes that wait nowhere else are where their highest entry is. Not fair: lanes parked
//! below the top, or beside lanes that spin, run only after those have reached the rejoin place.
//! While some lanes of the top are parked, all of it waits.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Plan, Rejoin};
use crate::stacked::{Rule, Stacked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "ipdom";

#[derive(Clone, Debug)]
struct PostDominator;

impl Rule for PostDominator {
    fn rejoin(plan: &Plan, at: Pc) -> Rejoin {
        plan.rejoin(at)
    }
}

/// A group at its start. Paths handed over by another mechanism become entries without a rejoin
/// place, the last on top.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    Box::new(Stacked::<PostDominator, N>::new(start, knobs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::lanes::count;
    use crate::mechanism::Order;
    use crate::plan::{BlockPlan, BlockRank};
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
            ranks: [BlockRank { priority: count(i), frontier: None }; 2],
            starts: [Pc(i as u64); 3],
            successors: Vec::new(),
        };
        Plan::new(rejoin.iter().enumerate().map(block).collect()).unwrap()
    }

    fn now(m: &dyn Mechanism<1>) -> (u64, u64) {
        m.preferred().map_or((u64::MAX, 0), |p| (p.pc.0, p.lanes.bits()))
    }

    fn send(m: &mut dyn Mechanism<1>, plan: &Plan, event: Event<'_, 1>) {
        let id = m.preferred().unwrap().id;
        m.event(plan, id, &event).unwrap();
    }

    #[test]
    fn a_diamond_rejoins() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        assert_eq!(now(&*m), (2, 12));
        send(&mut *m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&*m), (1, 3));
        send(&mut *m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&*m), (3, 15));
        let c = m.charges();
        assert_eq!((c.splits, c.pushes, c.pops, c.max_depth), (1, 2, 2, 3));
    }

    #[test]
    fn a_loop_does_not_grow_the_stack() {
        // 0 branches to itself or on to 1; lanes leave one at a time.
        let plan = plan(&[Some(1), None]);
        let mut m = new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        for gone in 0..3u32 {
            let stay = 15 << (gone + 1) & 15;
            let targets = [(Pc(0), lanes(stay)), (Pc(1), lanes(1 << gone))];
            send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &targets });
            assert_eq!(now(&*m), (0, stay));
        }
        assert_eq!(m.charges().max_depth, 2);
        send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &[(Pc(1), lanes(8))] });
        assert_eq!(now(&*m), (1, 15));
    }

    #[test]
    fn order_is_a_knob() {
        let plan = plan(&[Some(3), None, None, None]);
        let targets = [(Pc(1), lanes(1)), (Pc(2), lanes(14))];
        for (order, first) in
            [(Order::Taken, 2), (Order::Fallthrough, 1), (Order::Minority, 1), (Order::Majority, 2)]
        {
            let knobs = Knobs { order: Some(order), ..Knobs::default() };
            let mut m = new(&Start::at(Pc(0), lanes(15), 4), knobs);
            send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &targets });
            assert_eq!(now(&*m).0, first, "{order:?}");
        }
    }

    #[test]
    fn a_divergent_call_returns_together() {
        let plan = plan(&[None; 8]);
        let mut m = new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(4), lanes(3)), (Pc(6), lanes(12))];
        send(&mut *m, &plan, Event::Call { at: Pc(0), targets: &targets, return_to: Pc(1) });
        assert_eq!(now(&*m), (4, 3));
        // One of the two lanes returns early.
        let back = [(Pc(1), lanes(1))];
        let rest = Some((Pc(5), lanes(2)));
        send(&mut *m, &plan, Event::Return { at: Pc(4), targets: &back, rest });
        assert_eq!(now(&*m), (5, 2));
        send(
            &mut *m,
            &plan,
            Event::Return { at: Pc(5), targets: &[(Pc(1), lanes(2))], rest: None },
        );
        assert_eq!(now(&*m), (6, 12));
        send(
            &mut *m,
            &plan,
            Event::Return { at: Pc(6), targets: &[(Pc(1), lanes(12))], rest: None },
        );
        assert_eq!(now(&*m), (1, 15));
    }

    #[test]
    fn parked_lanes_hold_up_the_stack() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        send(&mut *m, &plan, Event::Park { at: Pc(2), lanes: lanes(12), next: Pc(3) });
        assert_eq!(m.preferred(), None);
        let mut all = Vec::new();
        m.paths(&mut all);
        let at: Vec<_> = all.iter().map(|p| (p.pc.0, p.lanes.bits())).collect();
        assert_eq!(at, [(2, 12), (1, 3)]);
        m.release(&plan, lanes(12), Pc(3));
        assert_eq!(now(&*m), (1, 3));
    }

    #[test]
    fn lanes_that_exit_leave_every_entry() {
        let plan = plan(&[Some(3), None, None, None]);
        let mut m = new(&Start::at(Pc(0), lanes(15), 4), Knobs::default());
        let targets = [(Pc(1), lanes(3)), (Pc(2), lanes(12))];
        send(&mut *m, &plan, Event::Branch { at: Pc(0), targets: &targets });
        send(&mut *m, &plan, Event::Exit { at: Pc(2), lanes: lanes(12), next: Pc(3) });
        send(&mut *m, &plan, Event::Advance { next: Pc(3) });
        assert_eq!(now(&*m), (3, 3));
    }
}
