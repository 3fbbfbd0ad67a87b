//! `serial`: each lane alone. The oracle for results, the worst case for issues.
//!
//! **Source.** The meaning of a kernel itself: each thread executes its own program. Compare the
//! coroutine execution of CPU back ends, where a thread runs until it synchronises.
//!
//! **State.** A place for each lane, the lane that runs, and for how many issues it has run.
//!
//! **Order.** The running lane goes on until it parks or exits, or until it has run for `slice`
//! issues (a knob) while another lane could run; then the next lane in cyclic order does. With
//! `slice` 0 the order is strict: always the lowest lane that is not parked, so that a lane which
//! spins on a higher one never ends. Reads the knob `slice`.
//!
//! **Invariants.** Every path has one lane; lanes never meet again. Fair for `slice` > 0: a lane
//! that can run does so after at most `slice * width` issues of the others.

use crate::event::Event;
use crate::lanes::count;
use crate::mechanism::{Charges, Knobs, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "serial";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Serial<const N: usize> {
    pcs: Vec<Pc>,
    live: LaneMask<N>,
    parked: LaneMask<N>,
    current: usize,
    ran: u64,
    slice: u64,
    charges: Charges,
}

impl<const N: usize> Serial<N> {
    /// A group at its start.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let mut live = LaneMask::EMPTY;
        let mut pcs = Vec::new();
        for &(pc, lanes) in &start.paths {
            live |= lanes;
            pcs.resize(pcs.len().max(lanes.highest().map_or(0, |l| l + 1)), Pc(0));
            for lane in lanes {
                pcs[lane] = pc;
            }
        }
        let charges = Charges { max_depth: live.count().into(), ..Charges::default() };
        let parked = start.parked & live;
        let current = (live - parked).lowest().unwrap_or(0);
        Self { pcs, live, parked, current, ran: 0, slice: knobs.slice, charges }
    }

    fn path(&self, lane: usize) -> Path<N> {
        Path { id: PathId(count(lane)), pc: self.pcs[lane], lanes: LaneMask::lane(lane), depth: 1 }
    }

    /// The first lane that can run from `lane` on, cyclically.
    fn runnable_from(&self, lane: usize) -> Option<usize> {
        let ready = self.live - self.parked;
        let below = LaneMask::first(lane);
        (ready - below).lowest().or(ready.lowest())
    }

    fn choose(&mut self, lane: Option<usize>) {
        if let Some(lane) = lane
            && lane != self.current
        {
            self.current = lane;
            self.ran = 0;
            self.charges.switches += 1;
        }
    }

    /// Decides who runs next after an issue of `lane`.
    fn schedule(&mut self, lane: usize) {
        if self.slice == 0 {
            self.choose(self.runnable_from(0));
            return;
        }
        if lane != self.current {
            // Another policy than "first" picked it: the lane is the one that runs now.
            self.choose(Some(lane));
        }
        self.ran += 1;
        let stopped = !self.live.contains(lane) || self.parked.contains(lane);
        if stopped || self.ran >= self.slice {
            self.ran = 0;
            self.choose(self.runnable_from(lane + 1));
        }
    }
}

impl<const N: usize> Mechanism<N> for Serial<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let Some(first) = self.preferred() else { return };
        out.push(first);
        if self.slice > 0 {
            let rest = self.live - self.parked - first.lanes;
            let later = rest - LaneMask::first(self.current);
            out.extend(later.iter().chain(rest - later).map(|lane| self.path(lane)));
        }
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.runnable_from(self.current).map(|lane| self.path(lane))
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let lane = path.0 as usize;
        if !self.live.contains(lane) || self.parked.contains(lane) {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        let next = match *event {
            Event::Advance { next } | Event::Sync { next, .. } => Some(next),
            Event::Branch { targets, .. } | Event::Call { targets, .. } => {
                targets.first().map(|t| t.0)
            }
            Event::Return { targets, rest, .. } => {
                targets.first().map(|t| t.0).or(rest.map(|r| r.0))
            }
            Event::Exit { lanes, next, .. } => {
                if lanes.contains(lane) {
                    self.live.remove(lane);
                }
                Some(next)
            }
            Event::Park { at, lanes, next } => {
                let parks = lanes.contains(lane);
                self.parked.set(lane, parks);
                Some(if parks { at } else { next })
            }
        };
        self.pcs[lane] = next.unwrap_or(self.pcs[lane]);
        self.schedule(lane);
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        for lane in lanes & self.parked {
            self.pcs[lane] = next;
            self.parked.remove(lane);
        }
        if self.slice == 0
            || !self.live.contains(self.current)
            || self.parked.contains(self.current)
        {
            let from = if self.slice == 0 { 0 } else { self.current };
            self.choose(self.runnable_from(from));
        }
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.live.iter().map(|lane| self.path(lane)));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        // Where one lane is left, `ran` decides nothing: lanes never come back, so when a slice is
        // over the same lane is chosen, and `ran` is 0 again; nothing else reads it.
        let ran = if self.live.count() > 1 { self.ran } else { 0 };
        out.extend([self.current as u64, ran]);
        out.extend(self.live.words().iter().chain(self.parked.words()));
        out.extend(self.live.iter().map(|lane| self.pcs[lane].0));
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::WarpMask;

    fn start() -> Start<1> {
        Start::at(Pc(0), WarpMask::first(3), 4)
    }

    fn advance(m: &mut Serial<1>) -> u32 {
        let p = m.preferred().unwrap();
        m.event(&Plan::default(), p.id, &Event::Advance { next: Pc(p.pc.0 + 1) }).unwrap();
        p.id.0
    }

    #[test]
    fn a_lane_runs_for_its_slice() {
        let mut m = Serial::new(&start(), Knobs { slice: 2, ..Knobs::default() });
        let ran: Vec<u32> = (0..8).map(|_| advance(&mut m)).collect();
        assert_eq!(ran, [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(m.charges().switches, 4);
    }

    #[test]
    fn strict_order_never_preempts_but_passes_a_parked_lane() {
        let plan = Plan::default();
        let mut m = Serial::new(&start(), Knobs { slice: 0, ..Knobs::default() });
        assert_eq!((0..5).map(|_| advance(&mut m)).collect::<Vec<_>>(), [0; 5]);
        let park = Event::Park { at: Pc(5), lanes: WarpMask::from_bits(1), next: Pc(6) };
        m.event(&plan, PathId(0), &park).unwrap();
        assert_eq!(advance(&mut m), 1);
        m.release(&plan, WarpMask::from_bits(1), Pc(6));
        assert_eq!(advance(&mut m), 0);
        let mut all = Vec::new();
        m.runnable(&mut all);
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn a_lane_that_ends_is_gone() {
        let plan = Plan::default();
        let mut m = Serial::new(&start(), Knobs::default());
        let exit = Event::Exit { at: Pc(0), lanes: WarpMask::from_bits(1), next: Pc(1) };
        m.event(&plan, PathId(0), &exit).unwrap();
        assert_eq!(m.event(&plan, PathId(0), &exit), Err(Refusal::UnknownPath { path: 0 }));
        assert_eq!(advance(&mut m), 1);
    }
}
