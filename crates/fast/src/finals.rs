//! What CTAs have written, made final while the launch runs.
//!
//! On one thread, CTAs that end in their first turn run one after another: whenever one has ended, no other has begun. So if the exact engine
//! has to finish the launch, it can go on from there ([`vm::State::skip`]) as well as from the launch's start, to the same end. Then pages that were
//! kept for taking writes back are needed no longer, and the few that are kept until next time stay in the host's caches.
//!
//! A worker gets windows of large regions that it writes, so that pages are kept as it comes to them. Where it writes here and there, windows
//! would have to be kept again and again: then it gets the whole region, and nothing is made final any more.

use crate::detail::Detail;
use crate::machine::Machine;
use crate::tier::{Region, Until};
use simt::memory::Place;
use vm::Stats;

/// Bytes kept after which what was written is made final: with the pages themselves, half of a common second-level cache.
pub(crate) const ENOUGH: usize = 256 << 10;
/// Bytes of a window; regions up to twice as large are given whole.
const WINDOW: usize = 64 << 10;
/// Windows of a step that do not follow the one before, until it gets the whole region.
const JUMPS: u32 = 24;

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
    /// By step, the last window, and how many were not the next one.
    reached: Vec<Reached>,
}

/// The windows of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    /// The region, and the number of the window after the last.
    next: (u32, usize),
    jumps: u32,
}

impl Finals {
    /// What was done before is final. More becomes so after so many bytes, if at all.
    pub(crate) fn new(after: Option<usize>, done: Stats) -> Self {
        let (allowed, enough) = (after.is_some(), after.unwrap_or(0));
        Self { allowed, enough, done, detail: None, times: 0, reached: Vec::new() }
    }

    /// Whether a step that reaches a window of a region is one that goes through it.
    fn goes_through(&mut self, step: usize, (region, window): (u32, usize)) -> bool {
        if self.reached.len() <= step {
            self.reached.resize(step + 1, Reached::default());
        }
        let reached = &mut self.reached[step];
        let follows = reached.next == (region, window);
        reached.next = (region, window + 1);
        reached.jumps += u32::from(!follows);
        reached.jumps <= JUMPS
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
        let window = (place.region(), place.offset() / WINDOW);
        let large = self.memory.region_len(place) > 2 * WINDOW;
        if self.finals.allowed && large && self.finals.goes_through(step, window) {
            let (base, len, bytes) = self.memory.around(place, WINDOW)?;
            return Some(Region { base, len: len as u64, bytes, until: Until::Settled });
        }
        self.finals.allowed &= !large;
        let (base, len, bytes) = self.memory.whole(place)?;
        Some(Region { base, len: len as u64, bytes, until: Until::Settled })
    }
}
