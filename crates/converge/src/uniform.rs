//! `uniform`: all lanes together, always.
//!
//! **Source.** The execution model of machines whose divergence is in masks and predicates (AMD's EXEC, vector-mask
//! instruction sets, full predication): the hardware has one program counter. What compile-time passes produce
//! runs under it.
//!
//! **State.** One place, one mask.
//!
//! **Invariants.** There is at most one path. An event that would make two is refused
//! ([`Refusal::Parted`]) and changes nothing. While some lanes are parked, all wait: a guarded barrier holds up the group,
//! since it has no other place to be.

use crate::event::Event;
use crate::lanes::image;
use crate::mechanism::{Charges, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::Plan;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "uniform";

/// The mechanism.
#[derive(Clone, Debug)]
pub struct Uniform<const N: usize> {
    pc: Pc,
    lanes: LaneMask<N>,
    parked: LaneMask<N>,
    /// Where the parked lanes stand.
    parked_at: Pc,
    charges: Charges,
}

impl<const N: usize> Uniform<N> {
    /// A group at its start.
    ///
    /// # Errors
    /// [`Refusal::Parted`] if it starts at several places.
    pub fn new(start: &Start<N>) -> Result<Self, Refusal> {
        let (pc, lanes) = match start.paths[..] {
            [] => (Pc(0), LaneMask::EMPTY),
            [path] => path,
            _ => return Err(Refusal::Parted { mechanism: NAME }),
        };
        let parked = start.parked & lanes;
        let charges = Charges { max_depth: 1, ..Charges::default() };
        Ok(Self { pc, lanes, parked, parked_at: pc, charges })
    }

    fn go(&mut self, targets: &[(Pc, LaneMask<N>)]) -> Result<(), Refusal> {
        match *targets {
            [] => Ok(()),
            [(pc, _)] => {
                self.pc = pc;
                Ok(())
            }
            _ => Err(Refusal::Parted { mechanism: NAME }),
        }
    }
}

impl<const N: usize> Mechanism<N> for Uniform<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        let runs = self.lanes.any() && self.parked.is_empty();
        runs.then_some(Path { id: PathId(0), pc: self.pc, lanes: self.lanes, depth: 1 })
    }

    fn event(&mut self, _: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        if path != PathId(0) {
            return Err(Refusal::UnknownPath { path: path.0 });
        }
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.pc = next,
            Event::Branch { targets, .. } | Event::Call { targets, .. } => self.go(targets)?,
            Event::Return { targets, rest, .. } => match rest {
                Some((next, lanes)) if targets.is_empty() => self.go(&[(next, lanes)])?,
                Some(_) => return Err(Refusal::Parted { mechanism: NAME }),
                None => self.go(targets)?,
            },
            Event::Exit { lanes, next, .. } => {
                self.lanes -= lanes;
                self.pc = next;
            }
            Event::Park { at, lanes, next } => {
                self.parked = lanes & self.lanes;
                self.parked_at = at;
                self.pc = next;
            }
        }
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        if (self.parked & lanes).any() {
            self.parked -= lanes;
            self.pc = next;
        }
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let at = |pc, lanes, id| Path { id: PathId(id), pc, lanes, depth: 1 };
        let all = [at(self.pc, self.lanes - self.parked, 0), at(self.parked_at, self.parked, 1)];
        out.extend(all.into_iter().filter(|p| p.lanes.any()));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        image(out, self.pc, &self.lanes);
        image(out, self.parked_at, &self.parked);
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
