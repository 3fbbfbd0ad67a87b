//! Launches that hang where lanes of a warp go on together, run again lane by lane.
//!
//! Programs may rely on every thread of a warp going on while others wait. Devices promise it from
//! compute capability 7.0 on; mechanisms that keep lanes waiting for each other at a rejoin point
//! cannot. A launch that hangs under one of them can begin again, with memory as it was before,
//! under [`Retry::MECHANISM`].

use crate::cause::Cause;
use crate::state::State;
use crate::stats::Stats;
use simt::machine::{HangKind, Step};
use simt::memory::{MapError, MemoryMap, Snapshot};

/// What it takes to begin a launch again.
#[derive(Debug)]
pub struct Retry {
    memory: Snapshot,
    done: Stats,
}

impl Retry {
    /// The mechanism under which every lane goes on.
    pub const MECHANISM: &'static str = "serial";

    /// For a launch that is about to run on this memory. CTAs that another engine has run before
    /// for good ([`State::skip`]) stay as they are.
    pub fn new<const N: usize>(memory: &mut MemoryMap, state: &State<N>) -> Self {
        Self { memory: memory.snapshot(), done: *state.stats() }
    }

    /// Whether a launch that ended so may end well where every lane goes on: it hangs, and has not
    /// merely reached its limit.
    #[must_use]
    pub fn may_help<const N: usize>(end: &Step<Cause, N>) -> bool {
        matches!(end, Step::Hang(hang) if hang.kind != HangKind::Limit)
    }

    /// Memory as it was, in a map that holds at most `limit` bytes.
    ///
    /// # Errors
    /// If the host has no room for it, or has unregistered memory of its own.
    pub fn memory(&self, limit: u64) -> Result<MemoryMap, MapError> {
        let mut memory = MemoryMap::with_limit(limit);
        memory.restore(&self.memory)?;
        Ok(memory)
    }

    /// Has the new state of the launch, in which no CTA is resident yet, go on where the first
    /// began.
    pub fn skip<const N: usize>(&self, state: &mut State<N>) {
        state.skip(&self.done);
    }
}
