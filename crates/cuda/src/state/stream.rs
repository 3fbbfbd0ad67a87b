//! Streams and events. All work on a stream is done when the call that submits it returns, unless
//! the stream captures, or work before it waits.

use std::collections::BTreeMap;
use std::time::Instant;

use cuda_abi::CUstreamAttrID;

use super::capture::CapturePoint;

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
    /// The number of records that were submitted.
    pub(crate) requested: u64,
    /// The number of the last one that was done.
    pub(crate) done: u64,
    /// The point of a capture, if the event was last recorded there.
    pub(crate) point: Option<CapturePoint>,
}
