//! Stops of a machine: the place and the cause of a fault.
//!
//! The cause is the machine's own typed enum; the place is the same for all. Nothing here is
//! rendered: the edge adds the source line (from the program's line table) and the machine's and
//! launch's names.

use crate::mask::LaneMask;
use crate::observe::{GroupId, Pc};
use std::error::Error;
use std::fmt;

/// A machine's type of causes.
pub trait Cause: Error + Clone + Send + Sync + 'static {
    /// Stable short name, such as `out-of-bounds`: what launch files and tests refer to.
    fn code(&self) -> &'static str;
}

/// A fault: the state is that before the instruction, unless the machine says where effects are
/// partial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault<C, const N: usize = 1> {
    /// The cause.
    pub cause: C,
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// The lanes at fault.
    pub lanes: LaneMask<N>,
}

impl<C: fmt::Display, const N: usize> fmt::Display for Fault<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, group, pc, lanes } = self;
        write!(f, "{cause} (CTA {}, group {}, lanes {lanes}, pc {})", group.cta, group.group, pc.0)
    }
}

impl<C: Cause, const N: usize> Error for Fault<C, N> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}
