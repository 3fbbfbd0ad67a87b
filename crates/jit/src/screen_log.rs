//! The log of accesses of screened launches. Code appends an entry before each access; the host
//! judges them later, in their order, for a launch that is declined is taken back anyway.
//!
//! The host tells code which accesses need no entry: those to certain bytes, by place.

use std::mem::offset_of;
use vector::{Access, Scale, Shape};

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
    /// The number of the cell that tells which addresses are exempt.
    pub(crate) cell: u32,
}

/// What code knows of accesses that need no entry: those whose address, without its offset, is less
/// than `count` bytes above `low`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ExemptCell {
    pub(crate) low: u64,
    pub(crate) count: u64,
}

impl ExemptCell {
    pub(crate) const NONE: Self = Self { low: 0, count: 0 };
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const LOW: i64 = offset_of!(Self, low) as i64;
    pub(crate) const COUNT: i64 = offset_of!(Self, count) as i64;
}

/// The accesses for which code asks a cell once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExemptSite {
    /// The least of their offsets.
    pub(crate) first: i64,
    /// The bytes from there to the end of what they access at one address.
    pub(crate) span: u64,
}

impl ExemptSite {
    /// Returns the cell where all accesses to bytes are exempt, if any are.
    pub(crate) fn cell(self, start: u64, end: u64) -> Option<ExemptCell> {
        let count = end.wrapping_sub(start).checked_sub(self.span.max(1) - 1)?;
        Some(ExemptCell { low: start.wrapping_add_signed(self.first.wrapping_neg()), count })
    }
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
    /// Returns how those of an access are given, whose row has 64 bits a lane if it is `wide`.
    pub(crate) fn of(access: &Access, wide: bool) -> Self {
        // A row is an address by itself, unless numbers are scaled.
        let scale = access.shape.scale().unwrap_or(Scale { shift: 0, signed: false });
        match access.shape {
            Shape::One => Self::Line(0),
            Shape::Adjacent => Self::Line(access.word.into()),
            Shape::Any | Shape::Indexed(_) if wide => Self::Wide(scale),
            Shape::Any | Shape::Indexed(_) => Self::Narrow(scale),
        }
    }

    /// The chunks of an entry.
    pub(crate) fn chunks(self) -> usize {
        match self {
            Self::Line(_) => 1,
            Self::Narrow(_) => 3,
            Self::Wide(_) => 5,
        }
    }
}
