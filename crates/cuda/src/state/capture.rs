//! Captures in progress, and the streams that participate.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use cuda_abi::CUstreamCaptureMode;

/// A capture in progress.
pub(crate) struct Capture {
    pub(crate) graph: u64,
    pub(crate) origin: u64,
    pub(crate) mode: CUstreamCaptureMode,
    pub(crate) thread: ThreadId,
    /// Whether the graph existed before, and belongs to the client.
    pub(crate) existing: bool,
    pub(crate) invalidated: bool,
}

/// A stream's part in a capture. Its next node depends on the nodes in `after`.
pub(crate) struct CapturingStream {
    pub(crate) capture: u64,
    pub(crate) after: Vec<u64>,
}

/// The point in a capture at which an event was recorded.
#[derive(Clone, Debug)]
pub(crate) struct CapturePoint {
    pub(crate) capture: u64,
    pub(crate) after: Vec<u64>,
}

/// All captures by number, and all participating streams.
#[derive(Default)]
pub(crate) struct Captures {
    pub(crate) live: BTreeMap<u64, Capture>,
    pub(crate) streams: BTreeMap<u64, CapturingStream>,
}

impl Captures {
    /// Invalidates a capture, if it is in progress.
    pub(crate) fn invalidate(&mut self, capture: u64) {
        if let Some(found) = self.live.get_mut(&capture) {
            found.invalidated = true;
        }
    }

    /// Returns whether a capture has been invalidated or is not in progress.
    pub(crate) fn is_invalidated(&self, capture: u64) -> bool {
        self.live.get(&capture).is_none_or(|c| c.invalidated)
    }

    /// Removes a capture, whatever its state.
    pub(crate) fn remove(&mut self, capture: u64) -> Option<Capture> {
        self.streams.retain(|_, part| part.capture != capture);
        self.live.remove(&capture)
    }
}
