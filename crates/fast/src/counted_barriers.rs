//! Barriers of a number of threads of the CTA (`bar.sync a, b`, `bar.arrive a, b`).
//!
//! Whole warps arrive here, each for all its threads, with those that were never launched, as in
//! the exact engine (`vm`'s `barrier` has the rule). Warps of which lanes have ended or come apart,
//! counts that differ, and barriers that are of all threads elsewhere decline the launch.

use crate::Declined;
use crate::asynchronous::{Event, Wait};
use crate::code::{Asynchronous, Src};
use crate::machine::Machine;
use crate::row::{LANES, lanes};
use crate::step::StepOutcome;
use crate::sync::BARRIERS;
use crate::warp::Warp;

const APART: Declined = Declined::Running("lanes of a warp are at a barrier of some threads");
const UNDEFINED: Declined = Declined::Running("a barrier of some threads is not defined");
const MIXED: Declined = Declined::Running("a barrier has several counts of threads");

/// A barrier that takes a number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountedBarrier {
    /// Threads that have arrived since it last completed.
    arrived: u32,
    /// Threads that it takes, if any have arrived.
    count: u32,
}

impl CountedBarrier {
    /// Returns whether nothing has arrived since it last completed.
    pub(crate) fn is_open(&self) -> bool {
        self.arrived == 0
    }

    /// Adds a warp; returns whether that completes the barrier.
    fn arrive(&mut self, count: u32) -> Result<bool, Declined> {
        if self.arrived > 0 && self.count != count {
            return Err(MIXED);
        }
        (self.arrived, self.count) = (self.arrived + LANES as u32, count);
        let is_complete = self.arrived >= count;
        if is_complete {
            *self = Self::default();
        }
        Ok(is_complete)
    }
}

impl Machine<'_> {
    /// Executes a barrier of a number of threads for the lanes of a warp.
    pub(crate) fn counted_barrier(
        &mut self,
        warp: &mut Warp,
        op: &Asynchronous,
        (waits, plain): (bool, u16),
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        let &[id, count] = op.src.as_slice() else { return Err(UNDEFINED) };
        if on != warp.launched {
            return Err(APART);
        }
        let (id, count) = (same(warp, id, on)?, same(warp, count, on)?);
        let most = u64::from(self.context.threads.next_multiple_of(LANES as u32));
        if id >= BARRIERS as u64 || plain >> id & 1 != 0 {
            return Err(UNDEFINED);
        }
        if count == 0 || count > most || !count.is_multiple_of(LANES as u64) {
            return Err(UNDEFINED);
        }
        if let Some(detail) = &mut self.detail {
            detail.counts.barrier_arrivals += 1;
        }
        self.progress = true;
        let barrier = &mut self.ctas[self.slot].storage.asynchronous.barriers[id as usize];
        if barrier.arrive(count as u32)? {
            self.stats.barriers += 1;
            self.release_warps(Event::Threads);
        } else if waits {
            return Ok(self.begin_wait(warp, on, Wait::Threads(id as usize)));
        }
        Ok(StepOutcome::Next)
    }
}

/// Returns the value that an operand has in all lanes.
fn same(warp: &Warp, src: Src, on: u32) -> Result<u64, Declined> {
    let first = warp.lane(src, on.trailing_zeros() as usize % LANES);
    match lanes(on).all(|lane| warp.lane(src, lane) == first) {
        true => Ok(first),
        false => Err(APART),
    }
}
