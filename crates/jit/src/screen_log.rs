//! The log of accesses of screened launches. Code appends an entry before each access; the host
//! judges them later, in their order, for a launch that is declined is taken back anyway.

use vector::Scale;

/// What entries consist of: a head, and for addresses that differ by lane, a row behind it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct LogChunk(pub(crate) [u64; 8]);

impl LogChunk {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    /// Fields of a head: the number of the site and the active lanes, 32 bits each; the context of
    /// the warp; a scalar address.
    pub(crate) const SITE: i64 = 0;
    pub(crate) const ON: i64 = 4;
    pub(crate) const WARP: i64 = 8;
    pub(crate) const ADDRESS: i64 = 16;
}

/// Chunks of the log that are filled before the host judges them.
pub(crate) const CHUNKS: usize = 128;

/// Chunks of the longest entry.
pub(crate) const MOST_CHUNKS: usize = 5;

/// A place where code logs accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSite {
    /// The step.
    pub(crate) step: u32,
    pub(crate) addresses: LogAddresses,
}

/// How addresses are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogAddresses {
    /// The scalar, and so many bytes from lane to lane.
    Line(i64),
    /// Rows of 32 bits, of 64 bits, by which the scalar is moved.
    Narrow(Scale),
    Wide(Scale),
}

impl LogAddresses {
    /// The chunks of an entry.
    pub(crate) fn chunks(self) -> usize {
        match self {
            Self::Line(_) => 1,
            Self::Narrow(_) => 3,
            Self::Wide(_) => 5,
        }
    }
}
