//! Loops that wait for a write which a mechanism may put off for ever: a warning before anything
//! runs.
//!
//! Source: the static rule of ElTantawy and Aamodt, "MIMD synchronization on SIMT architectures"
//! (MICRO 2016). A loop may hang where lanes of a group rejoin if its exit depends on a read of
//! shared memory, and a write that may be to the same place comes only *after* the point at which
//! the loop's lanes rejoin, or stands on a path *beside* the loop: then lanes that left the loop,
//! or took the other path, wait for lanes that wait for them. What always holds:
//!
//! - a write inside of the loop, apart from the read itself, makes the loop safe: whoever leaves
//!   has let go before;
//! - writes behind a CTA barrier are no reason: no lane passes the barrier before the others come
//!   to it;
//! - the read looks at the same place in every round: a loop that walks over memory does not wait;
//! - lanes of a warp have to part: at the exit of the loop for a write after it, at a branch in
//!   front of both for a write beside it ([`Facts`]). Lanes of different warps do not keep each
//!   other waiting;
//! - addresses are told apart by the parameter or variable that they are computed from; an address
//!   of unknown origin may be any.
//!
//! A call stands for the writes of the called function, and for its loops that wait for a write
//! which it does not do itself: so a lock that one function takes and another lets go is seen where
//! both are called. Not seen are calls through addresses and what a function does by recursion.
//! Warps are taken to have 32 lanes in a block of one dimension. The work in each function is
//! bounded by [`WORK`]; [`SpinWaits::complete`] says whether all loops were looked at.

mod access;
mod calls;
mod search;

use ir::{BlockId, LocId, Module};

#[cfg(doc)]
use crate::analysis::Facts;

/// Instructions and blocks looked at in one function, all loops together.
const WORK: usize = 1 << 22;

/// Where the write stands that the loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteIs {
    /// Behind the place where the loop's lanes rejoin.
    After,
    /// On a path that goes past the loop.
    Beside,
}

/// A loop that may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpinWait {
    /// The function that the loop is in, by index.
    pub function: usize,
    /// The loop's header.
    pub header: BlockId,
    /// All its blocks, in increasing order.
    pub body: Vec<BlockId>,
    /// The read that its exit depends on.
    pub read: LocId,
    /// The branch that leaves it.
    pub exit: LocId,
    /// Where lanes that leave it rejoin; none if only at the function's end.
    pub rejoin: Option<BlockId>,
    /// The write.
    pub write: LocId,
    /// Where that stands.
    pub place: WriteIs,
}

/// What was found in a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinWaits {
    /// The loops, by function and header.
    pub found: Vec<SpinWait>,
    /// Whether everything was looked at.
    pub complete: bool,
}

/// Finds the loops of a module that may wait for ever.
#[must_use]
pub fn spin_waits(module: &Module) -> SpinWaits {
    let mut found = calls::Functions::new(module).search();
    found.found.sort_by_key(|f| (f.function, f.header.0));
    found
}
