//! Commits the effects of ended CTAs while the launch runs.
//!
//! On one thread, CTAs that end in their first turn run one after another: when one has ended, no
//! other has begun. The exact engine can then resume after it ([`vm::State::skip`]) as well as at
//! the launch's start, to the same end. The journal of what these CTAs have written is then no
//! longer needed, and a small journal stays in the host's caches.
//!
//! A worker gets windows of the large regions that it writes, so that a page enters the journal
//! only when the worker comes to it. Windows grow while a step goes through a region, and are one
//! page long while it writes at scattered places. Because a call of the interpreter for each page
//! costs more than the copy of the page, a region of which a quarter has been given page by page is
//! given as a whole. If that region is large, nothing is committed any more.

use crate::detail::Detail;
use crate::machine::Machine;
use crate::tier::{Region, Until};
use simt::memory::{PAGE_BYTES, Place};
use vm::Counts;

/// Bytes of the journal after which effects are committed. With the pages themselves, these fill
/// half of a common second-level cache.
pub(crate) const COMMIT_BYTES: usize = 256 << 10;
/// Bytes of the longest window. Regions up to twice as long are given as a whole.
const MAX_WINDOW: usize = 64 << 10;
/// Bytes of the shortest window.
const PAGE: usize = PAGE_BYTES as usize;
/// A region is given as a whole when windows that do not follow the one before exceed one for this
/// many of its pages.
const PAGES_PER_JUMP: usize = 4;

/// The state of commits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Whether further CTAs may be committed.
    pub(crate) allowed: bool,
    /// Bytes of the journal after which they are.
    threshold: usize,
    /// The number of issues behind which nothing is committed.
    pub(crate) last: u64,
    /// Statistics of the committed CTAs.
    pub(crate) done: Counts,
    /// Bytes of the launch's output that they have printed.
    pub(crate) output: usize,
    /// Their detailed counts, if the launch runs in detail and a commit has been made.
    pub(crate) detail: Option<Box<Detail>>,
    /// The number of commits.
    pub(crate) count: u64,
    /// The last window of each step.
    last_windows: Vec<StepWindow>,
    /// By region, the number of windows that did not follow the one before.
    jumps: Vec<usize>,
}

/// A window that a step got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StepWindow {
    region: u32,
    /// The window's first byte in the region, and its length in bytes; 0 if the step got no window
    /// yet.
    start: usize,
    len: usize,
    /// The number of commits when the step got it.
    commit: u64,
}

impl Commits {
    /// Starts with the CTAs counted in `done` as committed. Commits are made whenever the journal
    /// exceeds `after` bytes, or never if that is `None`.
    pub(crate) fn new(after: Option<usize>, done: Counts) -> Self {
        let (allowed, threshold) = (after.is_some(), after.unwrap_or(0));
        Self { allowed, threshold, last: u64::MAX, done, ..Self::default() }
    }

    /// Returns the length of the window around `at` that a step gets, in bytes; the window is
    /// aligned to its length. Returns `None` if the step gets the whole region.
    fn window_len(
        &mut self,
        step: usize,
        (region, at): (u32, usize),
        region_len: usize,
    ) -> Option<usize> {
        if region_len <= 2 * MAX_WINDOW {
            return None;
        }
        if self.last_windows.len() <= step {
            self.last_windows.resize(step + 1, StepWindow::default());
        }
        let (last, commit) = (self.last_windows[step], self.count);
        let end = last.start + last.len;
        let len = if last.region != region || at < last.start || at >= end + last.len {
            self.jump(region, region_len)?
        } else if at >= end {
            (2 * last.len).min(MAX_WINDOW)
        } else if last.commit != commit {
            last.len
        } else {
            // An access of the step reaches beyond its window; a window of the same length would
            // not help.
            self.jump(region, region_len)?
        };
        self.last_windows[step] = StepWindow { region, start: at - at % len, len, commit };
        Some(len)
    }

    /// Returns the length of a window that does not follow the one before, or `None` after too many
    /// of these.
    fn jump(&mut self, region: u32, region_len: usize) -> Option<usize> {
        let region = region as usize;
        if self.jumps.len() <= region {
            self.jumps.resize(region + 1, 0);
        }
        self.jumps[region] += 1;
        (PAGES_PER_JUMP * PAGE * self.jumps[region] <= region_len).then_some(PAGE)
    }
}

impl Machine<'_> {
    /// Returns whether a CTA that ends now is committed, if that is not behind the last place.
    #[inline]
    pub(crate) fn commit_is_due(&self) -> bool {
        self.commits.allowed && self.memory.kept() >= self.commits.threshold
    }

    /// Commits the effects of ended CTAs, if allowed and if the journal is large enough. Called
    /// after a CTA has ended.
    #[inline]
    pub(crate) fn commit_memory(&mut self) {
        if self.commit_is_due() && self.stats.slots.issues() <= self.commits.last {
            self.memory.settle();
            self.commits.done = self.stats;
            self.commits.output = self.output.len();
            self.commits.count += 1;
            if self.detail.is_some() {
                self.commit_counts();
            }
        }
    }

    /// Commits the detailed counts.
    #[inline(never)]
    fn commit_counts(&mut self) {
        self.take_counts();
        self.commits.detail.clone_from(&self.detail);
        self.observer.commit();
    }

    /// Returns the part of the written region around `place` that a worker may access from now on.
    pub(crate) fn grant_window(&mut self, step: usize, place: Place) -> Option<Region> {
        let region_len = self.memory.region_len(place);
        let at = (place.region(), place.offset());
        let (base, len, bytes) = match self.commits.window_len(step, at, region_len) {
            Some(window) => self.memory.around(place, window)?,
            None => {
                self.commits.allowed &= region_len <= 2 * MAX_WINDOW;
                self.memory.whole(place)?
            }
        };
        Some(Region { base, len: len as u64, bytes, until: Until::Commit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 1 << 20;

    fn windows(commits: &mut Commits, places: &[usize]) -> Vec<Option<usize>> {
        places.iter().map(|&at| commits.window_len(3, (1, at), LEN)).collect()
    }

    #[test]
    fn windows_grow_while_a_step_writes_on() {
        let mut commits = Commits::default();
        let places = [0, PAGE, 2 * PAGE, 4 * PAGE, 8 * PAGE, 16 * PAGE, 32 * PAGE, 48 * PAGE];
        let pages = [1, 2, 4, 8, 16, 16, 16, 16].map(|pages| Some(pages * PAGE));
        assert_eq!(windows(&mut commits, &places), pages);
        // After a commit, pages enter the journal anew, in windows of the same length.
        commits.count += 1;
        assert_eq!(windows(&mut commits, &[48 * PAGE + 128]), [Some(MAX_WINDOW)]);
    }

    #[test]
    fn a_step_that_jumps_gets_pages_and_then_the_region() {
        let mut commits = Commits::default();
        let most = LEN / PAGE / PAGES_PER_JUMP;
        let places: Vec<usize> = (0..most).map(|i| i * 37 % 64 * 4 * PAGE).collect();
        assert_eq!(windows(&mut commits, &places), vec![Some(PAGE); most]);
        assert_eq!(windows(&mut commits, &[5 * PAGE]), [None]);
        // Jumps are counted for each region; short regions are given as a whole at once.
        assert_eq!(commits.window_len(3, (2, 0), LEN), Some(PAGE));
        assert_eq!(commits.window_len(3, (4, 0), 2 * MAX_WINDOW), None);
    }

    #[test]
    fn lanes_beyond_a_window_count_as_jumps() {
        let mut commits = Commits::default();
        let most = LEN / PAGE / PAGES_PER_JUMP;
        let found = windows(&mut commits, &vec![9 * PAGE + 64; most + 1]);
        assert_eq!(found.iter().filter(|w| **w == Some(PAGE)).count(), most);
        assert_eq!(found.last(), Some(&None));
    }
}
