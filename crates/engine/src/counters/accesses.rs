//! Counts of accesses alone, which the fast engine reports in larger units than one access.

use std::any::Any;

use fast::{AccessSink, ForkedSink, StridedAccess, WarpAccess, WarpAccesses};
use simt::observe::Access;

use super::Counters;
use super::batch::Batch;

/// What accesses came to, with those that are still to be counted.
#[derive(Default)]
pub(crate) struct AccessCounts {
    counters: Counters,
    /// Accesses that are counted many at a time.
    batch: Batch,
}

impl AccessSink for AccessCounts {
    fn access(&mut self, access: &Access<'_>) {
        self.repeated_access(access, 1);
    }

    fn repeated_access(&mut self, access: &Access<'_>, times: u64) {
        self.counters.congruent_accesses(access, times);
    }

    fn strided_access(&mut self, line: &StridedAccess) -> bool {
        self.counters.strided_access(line)
    }

    fn warp_access(&mut self, access: &WarpAccess<'_>) -> bool {
        fast::wide(
            #[inline(always)]
            || self.counters.warp_access(access, &mut self.batch),
        )
    }

    fn warp_accesses(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        fast::wide(
            #[inline(always)]
            || self.counters.warp_accesses(accesses, &mut self.batch),
        )
    }
}

/// The counts do not depend on the order of CTAs.
impl ForkedSink for AccessCounts {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl AccessCounts {
    /// Adds the counts of other CTAs.
    pub(crate) fn merge(&mut self, other: Self) {
        self.counters.add_accesses(&other.finish());
    }

    /// Counts what is left, and returns all counts.
    pub(crate) fn finish(mut self) -> Counters {
        self.counters.finish(&mut self.batch);
        self.counters
    }
}
