//! Recognition of a state that comes again: the program then runs in a circle for ever.

use crate::csr::Csrs;
use crate::state::{Masks, Mode, Rsv, State};

/// Everything that decides how a program goes on, memory and the host excepted, for which stands
/// how often they were involved: a state in which all these are as before is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    x: [u64; 32],
    f: [u64; 32],
    pc: u64,
    mode: Mode,
    csr: Csrs,
    masks: Masks,
    rsv: Rsv,
    reservation: Option<(u64, u64)>,
    involved: u64,
}

impl State {
    /// Remembers the state.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            x: self.x,
            f: self.f,
            pc: self.pc,
            mode: self.mode,
            csr: self.csr.clone(),
            masks: self.masks,
            rsv: self.rsv,
            reservation: self.reservation,
            involved: self.involved,
        }
    }

    /// Returns whether the state is the one that was remembered.
    #[must_use]
    pub fn is_at(&self, mark: &Mark) -> bool {
        self.pc == mark.pc
            && self.involved == mark.involved
            && self.x == mark.x
            && self.f == mark.f
            && self.mode == mark.mode
            && self.masks == mark.masks
            && self.rsv == mark.rsv
            && self.reservation == mark.reservation
            && self.csr == mark.csr
    }
}
