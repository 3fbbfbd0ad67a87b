//! `uniform`: all lanes together, always.
//!
//! **Source.** The execution model of machines whose divergence is in masks and predicates (AMD's
//! EXEC, vector-mask instruction sets, full predication): the hardware has one program counter.
//! What compile-time passes produce runs under it.
//!
//! **State.** One place, one mask.
//!
//! **Invariants.** There is at most one path (`lockstep.rs` has its rules). An event that would
//! make two is refused ([`Refusal::Parted`]) and changes nothing. While some lanes are parked, all
//! wait.

use crate::event::Event;
use crate::lockstep::Lockstep;
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "uniform";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Uniform<const N: usize>(Lockstep<N>);

impl<const N: usize> Uniform<N> {
    /// A group at its start.
    ///
    /// # Errors
    /// [`Refusal::Parted`] if it starts at several places.
    pub fn new(start: &Start<N>) -> Result<Self, Refusal> {
        Ok(Self(Lockstep::new(start, NAME)?))
    }
}

impl<const N: usize> Mechanism<N> for Uniform<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.0.running(1)
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        if path != PathId(0) {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        self.0.event(event)
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.0.release(lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.0.paths(1).into_iter().filter(|p| p.lanes.any()));
    }

    fn charges(&self) -> Charges {
        Charges { max_depth: 1, ..Charges::default() }
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
    use simt::WarpMask;

    #[test]
    fn parting_is_refused_and_changes_nothing() {
        let plan = Plan::default();
        let mut m = Uniform::new(&Start::at(Pc(0), WarpMask::first(4), 4)).unwrap();
        let mut before = Vec::new();
        m.image(&mut before);
        let targets = [(Pc(1), WarpMask::from_bits(1)), (Pc(5), WarpMask::from_bits(14))];
        let branch = Event::Branch { at: Pc(0), targets: &targets };
        let refusal = m.event(&plan, PathId(0), &branch).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "lanes part under the mechanism `uniform`, which keeps all lanes together"
        );
        let mut after = Vec::new();
        m.image(&mut after);
        assert_eq!(before, after);
    }

    #[test]
    fn the_group_waits_for_its_parked_lanes() {
        let plan = Plan::default();
        let mut m = Uniform::new(&Start::at(Pc(0), WarpMask::first(4), 4)).unwrap();
        let lanes = WarpMask::from_bits(3);
        m.event(&plan, PathId(0), &Event::Park { at: Pc(0), lanes, next: Pc(1) }).unwrap();
        assert!(m.preferred().is_none());
        let mut paths = Vec::new();
        m.paths(&mut paths);
        assert_eq!(
            paths.iter().map(|p| (p.pc, p.lanes.bits())).collect::<Vec<_>>(),
            [(Pc(1), 12), (Pc(0), 3)]
        );
        m.release(&plan, lanes, Pc(1));
        assert_eq!(m.preferred().map(|p| (p.pc, p.lanes.bits())), Some((Pc(1), 15)));
    }
}
