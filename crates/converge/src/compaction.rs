//! `compaction`: lanes regrouped across the warps of a CTA: an upper bound.
//!
//! **Source.** Fung et al., "Dynamic warp formation" (MICRO 2007), and Fung and Aamodt, "Thread
//! block compaction" (HPCA 2011), as a bound: regrouping is free and looks at the whole CTA at
//! every issue. Lanes keep their home column, as register banks demand: of the threads at a place,
//! one a column issues together, so a place costs as many issues as its fullest column has threads.
//!
//! **State.** A sorted list of (place, mask) for the CTA (`ranked.rs`), in the order of
//! `min-sp-pc`: deepest calls first, then the lowest place.
//!
//! **Invariants.** A path that is offered has at most one lane of each column, the lowest. No issue
//! is idle. Without warps of more than one (`slots` equal to the width) it is `min-sp-pc`. Not
//! fair, as that. Reads no knob.

use crate::event::Event;
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::min_sp_pc::Order;
use crate::plan::Plan;
use crate::ranked::Ranked;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "compaction";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Compaction<const N: usize> {
    all: Ranked<Order, N>,
    slots: usize,
}

impl<const N: usize> Compaction<N> {
    /// A CTA at its start.
    #[must_use]
    pub fn new(start: &Start<N>) -> Self {
        Self { all: Ranked::new(start), slots: start.slots.max(1) as usize }
    }

    /// The lowest lane of each column.
    fn pick(&self, mut path: Path<N>) -> Path<N> {
        if path.lanes.highest().is_some_and(|l| l >= self.slots) {
            let mut taken = LaneMask::<N>::EMPTY;
            path.lanes = path.lanes.filter(|lane| {
                let column = lane % self.slots;
                let free = !taken.contains(column);
                taken.insert(column);
                free
            });
        }
        path
    }
}

impl<const N: usize> Mechanism<N> for Compaction<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        self.all.runnable(out);
        for path in out {
            *path = self.pick(*path);
        }
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.all.preferred().map(|path| self.pick(path))
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let whole = self.all.path(path)?;
        let part = self.pick(whole);
        let path =
            if part.lanes == whole.lanes { path } else { self.all.part(path, part.lanes)? };
        self.all.event(plan, path, event)
    }

    fn release(&mut self, plan: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.all.release(plan, lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        self.all.paths(out);
    }

    fn charges(&self) -> Charges {
        self.all.charges()
    }

    fn image(&self, out: &mut Vec<u64>) {
        self.all.image(out);
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
    fn a_place_costs_its_fullest_column() {
        // Two columns; threads 0, 2, 4 in column 0 and 1 in column 1 are at place 0, the others at
        // 5.
        let plan = Plan::default();
        let there = WarpMask::from_bits(0b01_0111);
        let others = WarpMask::first(6) - there;
        let paths = vec![(Pc(0), there), (Pc(5), others)];
        let mut m = Compaction::new(&Start { width: 6, paths, parked: LaneMask::EMPTY, slots: 2 });
        let mut seen = Vec::new();
        while let Some(p) = m.preferred() {
            seen.push((p.pc.0, p.lanes.bits()));
            let event = match p.pc.0 {
                0 => Event::Advance { next: Pc(5) },
                at => Event::Exit { at: Pc(at), lanes: p.lanes, next: Pc(6) },
            };
            m.event(&plan, p.id, &event).unwrap();
        }
        assert_eq!(
            seen,
            [(0, 0b0011), (0, 0b0100), (0, 0b1_0000), (5, 0b0011), (5, 0b1100), (5, 0b11_0000)]
        );
        assert_eq!(m.charges().splits, 0);
    }
}
