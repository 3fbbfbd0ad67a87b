//! One place for all lanes: what `uniform` and `split-join` have in common.
//!
//! While some lanes are parked, all wait: a guarded barrier holds up the group, since it has no
//! other place to be. An event that would make two places is refused ([`Refusal::Parted`]) and
//! changes nothing.

use crate::event::Event;
use crate::lanes::image;
use crate::mechanism::{Path, PathId, Refusal, Start};
use simt::{LaneMask, Pc};

/// The lanes that run together.
#[derive(Clone, Debug)]
pub(crate) struct Lockstep<const N: usize> {
    mechanism: &'static str,
    pub(crate) pc: Pc,
    pub(crate) lanes: LaneMask<N>,
    parked: LaneMask<N>,
    /// Where the parked lanes stand.
    parked_at: Pc,
}

impl<const N: usize> Lockstep<N> {
    /// A group at its start, under a mechanism of this name.
    ///
    /// # Errors
    /// [`Refusal::Parted`] if it starts at several places.
    pub(crate) fn new(start: &Start<N>, mechanism: &'static str) -> Result<Self, Refusal> {
        let (pc, lanes) = match start.paths[..] {
            [] => (Pc(0), LaneMask::EMPTY),
            [path] => path,
            _ => return Err(Refusal::Parted { mechanism }),
        };
        Ok(Self { mechanism, pc, lanes, parked: start.parked & lanes, parked_at: pc })
    }

    /// The path that runs, if one does.
    pub(crate) fn running(&self, depth: u32) -> Option<Path<N>> {
        let runs = self.lanes.any() && self.parked.is_empty();
        runs.then_some(Path { id: PathId(0), pc: self.pc, lanes: self.lanes, depth })
    }

    fn go(&mut self, targets: &[(Pc, LaneMask<N>)]) -> Result<(), Refusal> {
        match *targets {
            [] => Ok(()),
            [(pc, _)] => {
                self.pc = pc;
                Ok(())
            }
            _ => Err(Refusal::Parted { mechanism: self.mechanism }),
        }
    }

    /// What an event does to lanes that stay together.
    pub(crate) fn event(&mut self, event: &Event<'_, N>) -> Result<(), Refusal> {
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => self.pc = next,
            Event::Branch { targets, .. } | Event::Call { targets, .. } => self.go(targets)?,
            Event::Return { targets, rest, .. } => match rest {
                Some((next, lanes)) if targets.is_empty() => self.go(&[(next, lanes)])?,
                Some(_) => return Err(Refusal::Parted { mechanism: self.mechanism }),
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

    /// Parked lanes go on.
    pub(crate) fn release(&mut self, lanes: LaneMask<N>, next: Pc) {
        if (self.parked & lanes).any() {
            self.parked -= lanes;
            self.pc = next;
        }
    }

    /// The lanes that run, as path 0, and those that are parked, as path 1; both may be empty.
    pub(crate) fn paths(&self, depth: u32) -> [Path<N>; 2] {
        let at = |pc, lanes, id| Path { id: PathId(id), pc, lanes, depth };
        [at(self.pc, self.lanes - self.parked, 0), at(self.parked_at, self.parked, 1)]
    }

    /// What its answers depend on.
    pub(crate) fn image(&self, out: &mut Vec<u64>) {
        image(out, self.pc, &self.lanes);
        image(out, self.parked_at, &self.parked);
    }
}
