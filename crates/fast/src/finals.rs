//! What CTAs have written, made final while the launch runs.
//!
//! On one thread, CTAs that end in their first turn run one after another: whenever one has ended, no other has begun. So if the exact engine
//! has to finish the launch, it can go on from there ([`vm::State::skip`]) as well as from the launch's start, to the same end. Then pages that were
//! kept for taking writes back are needed no longer, and the few that are kept until next time stay in the host's caches.
//!
//! A worker gets windows of large regions that it writes, so that pages are kept as it comes to them:
//! longer ones while a step goes through a region, a page where it writes here and there. A call of the
//! interpreter for each page costs more than keeping one, and so a region of which a part has been given
//! page by page is given whole; if it is large, nothing is made final any more.

use crate::detail::Detail;
use crate::machine::Machine;
use crate::tier::{Region, Until};
use simt::memory::{PAGE_BYTES, Place};
use vm::Stats;

/// Bytes kept after which what was written is made final: with the pages themselves, half of a common second-level cache.
pub(crate) const ENOUGH: usize = 256 << 10;
/// Bytes of the longest window; regions up to twice as large are given whole.
const WINDOW: usize = 64 << 10;
/// Bytes of the shortest.
const PAGE: usize = PAGE_BYTES as usize;
/// A region is given whole when windows that did not follow each other are one for so many of its
/// pages.
const PAGES_A_JUMP: usize = 4;

/// Up to where a launch is final.
#[derive(Debug, Default)]
pub(crate) struct Finals {
    /// Whether more may become final.
    pub(crate) allowed: bool,
    /// Bytes kept after which it does.
    enough: usize,
    /// What the CTAs have done that are.
    pub(crate) done: Stats,
    /// The same in detail, if that is counted and there are any.
    pub(crate) detail: Option<Box<Detail>>,
    /// How often some became so.
    pub(crate) times: u64,
    /// By step, the last window.
    reached: Vec<Reached>,
    /// By region, windows that did not follow the one before.
    jumps: Vec<usize>,
}

/// A window of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reached {
    region: u32,
    /// Its first byte in the region, and how many they are: none if there was no window.
    start: usize,
    len: usize,
    /// How often something had been made final.
    times: u64,
}

impl Finals {
    /// What was done before is final. More becomes so after so many bytes, if at all.
    pub(crate) fn new(after: Option<usize>, done: Stats) -> Self {
        let (allowed, enough) = (after.is_some(), after.unwrap_or(0));
        Self { allowed, enough, done, ..Self::default() }
    }

    /// Bytes of the window that a step gets of so long a region, aligned to as many, for a place in
    /// it; `None` if it gets the whole region.
    fn window(
        &mut self,
        step: usize,
        (region, at): (u32, usize),
        region_len: usize,
    ) -> Option<usize> {
        if region_len <= 2 * WINDOW {
            return None;
        }
        if self.reached.len() <= step {
            self.reached.resize(step + 1, Reached::default());
        }
        let (last, times) = (self.reached[step], self.times);
        let end = last.start + last.len;
        let len = if last.region != region || at < last.start || at >= end + last.len {
            self.jump(region, region_len)?
        } else if at >= end {
            (2 * last.len).min(WINDOW)
        } else if last.times != times {
            last.len
        } else {
            // Lanes reach beyond the window, which another one of its length does not help.
            self.jump(region, region_len)?
        };
        self.reached[step] = Reached { region, start: at - at % len, len, times };
        Some(len)
    }

    /// Bytes of a window that does not follow the one before, if it is not one too many.
    fn jump(&mut self, region: u32, region_len: usize) -> Option<usize> {
        let region = region as usize;
        if self.jumps.len() <= region {
            self.jumps.resize(region + 1, 0);
        }
        self.jumps[region] += 1;
        (PAGES_A_JUMP * PAGE * self.jumps[region] <= region_len).then_some(PAGE)
    }
}

impl Machine<'_> {
    /// After a CTA has ended: makes what was written final, if that may be and is worth it.
    #[inline]
    pub(crate) fn settle_memory(&mut self) {
        if self.finals.allowed && self.memory.kept() >= self.finals.enough {
            self.memory.settle();
            self.finals.done = self.stats;
            self.finals.times += 1;
            if self.detail.is_some() {
                self.settle_counts();
            }
        }
    }

    /// What has been counted is final, too.
    #[inline(never)]
    fn settle_counts(&mut self) {
        self.take_counts();
        self.finals.detail.clone_from(&self.detail);
        self.watch.settled();
    }

    /// Of the region of a place that is written, what a worker may reach from now on.
    pub(crate) fn lend(&mut self, step: usize, place: Place) -> Option<Region> {
        let region_len = self.memory.region_len(place);
        let at = (place.region(), place.offset());
        let (base, len, bytes) = match self.finals.window(step, at, region_len) {
            Some(window) => self.memory.around(place, window)?,
            None => {
                self.finals.allowed &= region_len <= 2 * WINDOW;
                self.memory.whole(place)?
            }
        };
        Some(Region { base, len: len as u64, bytes, until: Until::Settled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 1 << 20;

    fn windows(finals: &mut Finals, places: &[usize]) -> Vec<Option<usize>> {
        places.iter().map(|&at| finals.window(3, (1, at), LEN)).collect()
    }

    #[test]
    fn windows_grow_while_a_step_goes_through_a_region() {
        let mut finals = Finals::default();
        let places = [0, PAGE, 2 * PAGE, 4 * PAGE, 8 * PAGE, 16 * PAGE, 32 * PAGE, 48 * PAGE];
        let pages = [1, 2, 4, 8, 16, 16, 16, 16].map(|pages| Some(pages * PAGE));
        assert_eq!(windows(&mut finals, &places), pages);
        // What has been made final is kept anew, in as long windows.
        finals.times += 1;
        assert_eq!(windows(&mut finals, &[48 * PAGE + 128]), [Some(WINDOW)]);
    }

    #[test]
    fn a_step_that_jumps_gets_pages_and_then_the_region() {
        let mut finals = Finals::default();
        let most = LEN / PAGE / PAGES_A_JUMP;
        let places: Vec<usize> = (0..most).map(|i| i * 37 % 64 * 4 * PAGE).collect();
        assert_eq!(windows(&mut finals, &places), vec![Some(PAGE); most]);
        assert_eq!(windows(&mut finals, &[5 * PAGE]), [None]);
        // Each region by itself; short ones at once.
        assert_eq!(finals.window(3, (2, 0), LEN), Some(PAGE));
        assert_eq!(finals.window(3, (4, 0), 2 * WINDOW), None);
    }

    #[test]
    fn lanes_beyond_a_window_count_as_jumps() {
        let mut finals = Finals::default();
        let most = LEN / PAGE / PAGES_A_JUMP;
        let found = windows(&mut finals, &vec![9 * PAGE + 64; most + 1]);
        assert_eq!(found.iter().filter(|w| **w == Some(PAGE)).count(), most);
        assert_eq!(found.last(), Some(&None));
    }
}
