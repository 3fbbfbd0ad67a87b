//! Windows of global memory that compiled code on one of several threads may access without a claim
//! for each access.
//!
//! A claim for each access would cost compiled code a call. But threads of a CTA mostly access
//! adjacent words. If the first CTA of a machine has accessed each byte of one range once at a
//! step, each later CTA claims a range of the same length when it first comes to that step, and
//! code accesses the range as if it were a region. This claims too much where a CTA skips some of
//! the range. A claim may then be refused although no two CTAs access the same word, and the launch
//! is tried again without windows.

use crate::code::{Memory, Src};
use crate::machine::Machine;
use crate::tier::{Region, Until};
use simt::memory::Place;
use simt::observe::AccessKind;

/// The accesses of a CTA at a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessSpan {
    low: u64,
    /// The address after the last byte.
    high: u64,
    bytes: u64,
    /// The number of accesses, and the region of the last one.
    pub(crate) times: u64,
    pub(crate) region: u32,
}

impl AccessSpan {
    fn add(&mut self, low: u64, len: u64, region: u32) {
        if self.times == 0 {
            self.low = low;
        }
        self.low = self.low.min(low);
        self.high = self.high.max(low.saturating_add(len));
        self.bytes = self.bytes.saturating_add(len);
        self.times += 1;
        self.region = region;
    }

    /// Returns whether several accesses covered one range, each byte of it once.
    pub(crate) fn is_dense(&self) -> bool {
        self.times > 1 && self.bytes == self.high - self.low
    }
}

impl Machine<'_> {
    /// Returns a window from `place` on, the place of the first active lane, if the step accesses
    /// adjacent words and those of the first CTA covered one range.
    pub(crate) fn window(
        &mut self,
        step: usize,
        (memory, kind): (&Memory, AccessKind),
        (address, place): (u64, Place),
        on: u32,
    ) -> Option<Region> {
        let adjacent = matches!(memory.address, Src::Line(_, stride, _)
            if stride == i64::from(memory.word))
            && memory.words == 1
            && kind != AccessKind::Atomic;
        if !adjacent || self.detail.is_some() || !self.has_windows() {
            return None;
        }
        let lanes = 32 - on.leading_zeros() - on.trailing_zeros();
        let len = u64::from(lanes) * u64::from(memory.word);
        if self.stats.ctas == 0 {
            let steps = self.context.code.steps.len();
            self.spans.resize(steps, AccessSpan::default());
            self.spans[step].add(address, len, place.region());
            return None;
        }
        let span = self.spans.get(step).filter(|s| s.is_dense())?;
        let (len, bytes) = self.memory.window(place, (span.high - span.low) as usize)?;
        self.record_window();
        Some(Region { base: address, len: len as u64, bytes, until: Until::Cta })
    }
}
