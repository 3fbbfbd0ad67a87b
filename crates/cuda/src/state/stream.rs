//! Streams and events. All work on a stream is done when the call that submits it returns, unless
//! the stream captures, or work before it waits.

use std::collections::BTreeMap;
use std::time::Instant;

use cuda_abi::CUstreamAttrID;

use super::capture::CapturePoint;
use super::process::SharedCounts;

/// Handles up to this one denote the null stream.
pub(crate) const LEGACY: u64 = 1;
/// The last handle of the built-in streams: the null stream, the legacy stream, the per-thread
/// stream.
pub(crate) const BUILT_IN: u64 = 2;

/// A stream that a client has created.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: u64,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
    /// The bytes of attributes that were set.
    pub(crate) attributes: BTreeMap<CUstreamAttrID, [u8; ATTRIBUTE]>,
}

/// Bytes of an attribute's value.
pub(crate) const ATTRIBUTE: usize = 64;

/// An event, with the time when it was last recorded.
#[derive(Debug)]
pub(crate) struct EventState {
    pub(crate) context: u64,
    pub(crate) flags: u32,
    pub(crate) at: Option<Instant>,
    /// The number of records that were submitted, and that of the last one that was done, unless
    /// processes count them together.
    pub(crate) own: [u64; 2],
    pub(crate) shared: Option<SharedCounts>,
    /// The point of a capture, if the event was last recorded there.
    pub(crate) point: Option<CapturePoint>,
}

impl EventState {
    pub(crate) fn new(context: u64, flags: u32) -> Self {
        Self { context, flags, at: None, own: [0; 2], shared: None, point: None }
    }

    fn counts(&self) -> [u64; 2] {
        self.shared.as_ref().map_or(self.own, SharedCounts::counts)
    }

    /// Returns the number of records that were submitted.
    pub(crate) fn requested(&self) -> u64 {
        self.counts()[0]
    }

    /// Returns whether a record was done.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        self.counts()[1] >= number
    }

    /// Returns whether all records were done.
    pub(crate) fn is_settled(&self) -> bool {
        let [requested, done] = self.counts();
        done >= requested
    }

    /// Counts a record that is submitted; returns its number.
    pub(crate) fn request(&mut self) -> u64 {
        let number = self.requested() + 1;
        self.set(0, number);
        number
    }

    /// Notes that a record was done.
    pub(crate) fn finish(&mut self, number: u64) {
        self.at = Some(Instant::now());
        if !self.is_done(number) {
            self.set(1, number);
        }
    }

    fn set(&mut self, index: usize, count: u64) {
        self.own[index] = count;
        if let Some(shared) = &self.shared {
            shared.set(index as u64, count);
        }
    }
}
