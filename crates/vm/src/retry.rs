//! Launches that hang because lanes of a warp wait for each other, run again lane by lane.
//!
//! Programs may rely on every thread of a warp making progress while others wait. Devices promise
//! it from compute capability 7.0 on; mechanisms that make lanes wait for each other at a rejoin
//! point cannot. A launch that hangs under one of them can begin again, with memory as it was
//! before, under [`Retry::MECHANISM`].

use crate::state::State;
use simt::counts::Counts;
use simt::memory::{MapError, MemoryMap, Snapshot};

/// The state that is needed to begin a launch again.
#[derive(Debug)]
pub struct Retry {
    memory: Snapshot,
    done: Counts,
}

impl Retry {
    /// The mechanism under which every lane makes progress.
    pub const MECHANISM: &'static str = "serial";

    /// Prepares for a launch that is about to run on this memory. The effects of CTAs that another
    /// engine has committed ([`State::skip`]) remain.
    pub fn new<const N: usize>(memory: &mut MemoryMap, state: &State<N>) -> Self {
        Self { memory: memory.snapshot(), done: *state.stats() }
    }

    /// Makes memory what it was, and returns what it has been until now.
    ///
    /// # Errors
    /// If the host has no room for what was freed meanwhile.
    pub fn restore(&self, memory: &mut MemoryMap) -> Result<Snapshot, MapError> {
        let now = memory.snapshot();
        memory.restore(&self.memory)?;
        Ok(now)
    }

    /// Makes the new state of the launch, in which no CTA is resident yet, continue where the first
    /// began.
    pub fn skip<const N: usize>(&self, state: &mut State<N>) {
        state.skip(&self.done);
    }
}
