//! Counts of accesses alone, which the fast engine reports in larger units than one access.

use fast::{WarpAccess, WarpAccesses};
use simt::observe::Access;

use super::batch::Batch;
use super::{AffineAccess, Counters};

/// What accesses came to, with those that are still to be counted.
#[derive(Default)]
pub(crate) struct AccessCounts {
    counters: Counters,
    /// Accesses that are counted many at a time.
    batch: Batch,
}

impl AccessCounts {
    /// Counts `times` accesses that differ in nothing that is counted.
    pub(crate) fn add(&mut self, access: &Access<'_>, times: u64) {
        self.counters.congruent_accesses(access, times);
    }

    /// Counts accesses with one stride; `false` if they have to be passed lane by lane.
    pub(crate) fn strided_access(&mut self, line: &fast::StridedAccess) -> bool {
        let &fast::StridedAccess { pc, kind, space, size, first_thread, lanes, at, stride, times } =
            line;
        let line = AffineAccess { pc, kind, space, size, first_thread, lanes, at, stride };
        self.counters.affine_accesses(&line, times)
    }

    /// Counts an access of one warp; `false` if it has to be passed lane by lane.
    pub(crate) fn warp_access(&mut self, access: &WarpAccess<'_>) -> bool {
        fast::wide(
            #[inline(always)]
            || self.counters.warp_access(access, &mut self.batch),
        )
    }

    /// Counts accesses of warps at one instruction; returns how many of the first ones.
    pub(crate) fn warp_accesses(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        fast::wide(
            #[inline(always)]
            || self.counters.warp_accesses(accesses, &mut self.batch),
        )
    }

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
