//! `min-pc`: the path at the lowest place runs; paths that meet are one.
//!
//! **Source.** Collange, "Stack-less SIMT reconvergence at low cost" (2011), and the sorted path
//! list of the Simty processor ("Simty: generalized SIMT execution on RISC-V", 2017). No compiler
//! help: compilers place join points behind what joins there, so lanes that are behind get a chance
//! to catch up.
//!
//! **State.** A list of paths sorted by place, at most one for each lane; parked lanes apart.
//!
//! **Invariants.** Running paths stand at distinct places, in increasing order; the first is
//! preferred. Not fair: a path that loops at low places starves the others, so lanes that spin on a
//! lane further down hang. Every unparked path may be run by another policy. Reads the knob
//! `layout`.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Layout, Plan};
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "min-pc";

const LOWEST: Rank = Rank { rank: |_, pc, _| [pc.0, 0], planned: false };

/// The same in the layout of a number.
fn laid_out<const LAYOUT: usize>(plan: &Plan, pc: Pc, _: u32) -> [u64; 2] {
    [plan.laid_out(pc, Layout::ALL[LAYOUT].1).0, 0]
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    const FILE: usize = Layout::File as usize;
    const COMPILER: usize = Layout::Compiler as usize;
    let rank = match knobs.layout {
        Layout::KernelFirst => LOWEST,
        Layout::File => Rank { rank: laid_out::<FILE>, planned: true },
        Layout::Compiler => Rank { rank: laid_out::<COMPILER>, planned: true },
    };
    Box::new(Ranked::new(start, rank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use simt::WarpMask;

    fn lanes(bits: u64) -> WarpMask {
        WarpMask::from_bits(bits)
    }

    #[test]
    fn runs_the_lowest_and_joins_at_equal_places() {
        let plan = Plan::default();
        let mut m = new(&Start::at(Pc(0), WarpMask::first(4), 4), Knobs::default());
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
        let mut m = new(&Start::at(Pc(0), WarpMask::first(4), 4), Knobs::default());
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
