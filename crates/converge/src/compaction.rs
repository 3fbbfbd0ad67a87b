//! `compaction`: lanes regrouped across the warps of a CTA, free of charge.
//!
//! **Source.** Fung et al., "Dynamic warp formation" (MICRO 2007), and Fung and Aamodt, "Thread
//! block compaction" (HPCA 2011), as a bound: regrouping is free and looks at the whole CTA at
//! every issue. Lanes keep their home column, as register banks demand: of the threads at a place,
//! one a column issues together.
//!
//! **State.** A sorted list of (place, mask) for the CTA (`ranked.rs`), in the order of
//! `min-sp-pc`: deepest calls first, then the lowest place; and the lanes that the place which
//! runs has left.
//!
//! **Invariants.** A path that is offered has at most one lane of each column, the lowest. All
//! threads that stand at a place when its turn comes leave it before another place has one, so each
//! turn costs as many issues as its fullest column has threads. No issue is idle. Without warps of
//! more than one (`slots` equal to the width) it is `min-sp-pc`. Not fair, as that. Reads no knob.
//!
//! The order of places is a heuristic: no order of places is the best for all programs. What no
//! mechanism beats is counted by the laboratory, from the executions of each place by each column.

use crate::event::Event;
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::min_sp_pc::ORDER;
use crate::plan::Plan;
use crate::ranked::Ranked;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "compaction";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Compaction<const N: usize> {
    all: Ranked<N>,
    slots: usize,
    /// Lanes at the place whose turn it is that have not issued in this turn.
    left: LaneMask<N>,
}

impl<const N: usize> Compaction<N> {
    /// A CTA at its start.
    #[must_use]
    pub fn new(start: &Start<N>) -> Self {
        let slots = start.slots.max(1) as usize;
        Self { all: Ranked::new(start, ORDER), slots, left: LaneMask::EMPTY }
    }

    /// The lowest lane of each column, of those whose turn it is.
    fn pick(&self, mut path: Path<N>) -> Path<N> {
        let mine = path.lanes & self.left;
        if mine.any() {
            path.lanes = mine;
        }
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
        if let Some(turn) = out.iter().position(|path| !path.lanes.is_disjoint(&self.left)) {
            out[..=turn].rotate_right(1);
        }
        for path in out {
            *path = self.pick(*path);
        }
    }

    fn preferred(&self) -> Option<Path<N>> {
        let turn = if self.left.any() { self.all.holding(&self.left) } else { None };
        turn.or_else(|| self.all.preferred()).map(|path| self.pick(path))
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let whole = self.all.path(path)?;
        let part = self.pick(whole);
        let path =
            if part.lanes == whole.lanes { path } else { self.all.part(path, part.lanes)? };
        self.all.event(plan, path, event)?;
        if self.left.is_empty() {
            self.left = whole.lanes;
        }
        self.left -= part.lanes;
        Ok(())
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
        out.extend_from_slice(self.left.words());
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

    #[test]
    fn all_threads_leave_a_place_before_those_that_went_back_run() {
        // A loop of two places in one column: without turns thread 0 would go round alone.
        let plan = Plan::default();
        let paths = vec![(Pc(0), WarpMask::first(3))];
        let start = Start { width: 3, paths, parked: LaneMask::EMPTY, slots: 1 };
        let mut m = Compaction::new(&start);
        let mut seen = Vec::new();
        for _ in 0..9 {
            let p = m.preferred().expect("lanes run");
            let mut all = Vec::new();
            m.runnable(&mut all);
            assert_eq!(all[0], p, "the first of the runnable paths is the preferred one");
            seen.push((p.pc.0, p.lanes.bits()));
            let targets = [(Pc(1 - p.pc.0), p.lanes)];
            m.event(&plan, p.id, &Event::Branch { at: p.pc, targets: &targets }).unwrap();
        }
        let round = |place| [(place, 0b001), (place, 0b010), (place, 0b100)];
        assert_eq!(seen, [round(0), round(1), round(0)].concat());
    }
}
