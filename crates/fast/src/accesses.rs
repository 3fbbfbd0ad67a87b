//! The accesses of launches in detail, as the engine reports them: one by one, or in larger units
//! of which all that is counted is the same.

use simt::Pc;
use simt::memory::Space;
use simt::observe::{Access, AccessKind};
use std::any::Any;

/// Receives the accesses of a launch in detail, each once, in one of these forms.
pub trait AccessSink {
    /// Receives one access, as an observer of the exact engine does.
    fn access(&mut self, access: &Access<'_>);

    /// Receives `times` accesses that no statistic distinguishes. `access` is one of them; the
    /// others have congruent addresses (see [`StridedAccess::CONGRUENCE`]) and may be of any warp.
    fn repeated_access(&mut self, access: &Access<'_>, times: u64) {
        for _ in 0..times {
            self.access(access);
        }
    }

    /// Receives an access of adjacent lanes with a constant stride. Returns `false` if the sink
    /// wants it through another method.
    fn strided_access(&mut self, _access: &StridedAccess) -> bool {
        false
    }

    /// Receives an access of one warp to one space, with any addresses. Returns `false` if the sink
    /// wants it through [`Self::repeated_access`].
    fn warp_access(&mut self, _access: &WarpAccess<'_>) -> bool {
        false
    }

    /// Receives successive accesses of warps to one space at one place, with any addresses. Returns
    /// how many of them, from the first on, the sink has taken; it receives the others through
    /// other methods.
    fn warp_accesses(&mut self, _accesses: &WarpAccesses<'_>) -> usize {
        0
    }
}

/// A sink on a thread of its own.
pub trait ForkedSink: AccessSink + Send {
    /// Converts the sink for a downcast by the observer that created it.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// An access of lanes of one warp to one space.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    /// The place of the instruction.
    pub pc: Pc,
    /// Whether it loads, stores or is an atomic.
    pub kind: AccessKind,
    /// The space accessed, never the generic one.
    pub space: Space,
    /// Bytes per lane.
    pub size: u32,
    /// The active lanes; never 0.
    pub on: u32,
    /// Address by lane, defined for active lanes only; an offset in shared, local and parameter
    /// space.
    pub at: &'a [u64; 32],
    /// The number of accesses. If it is above 1, this is one of them and the others have congruent
    /// addresses (see [`StridedAccess::CONGRUENCE`]).
    pub times: u64,
}

/// Successive accesses of warps to one space, at one place.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccesses<'a> {
    /// The place of the instruction.
    pub pc: Pc,
    /// Whether they load, store or are atomics.
    pub kind: AccessKind,
    /// The space accessed, never the generic one.
    pub space: Space,
    /// Bytes per lane.
    pub size: u32,
    /// The active lanes of each access; never 0.
    pub on: &'a [u32],
    /// The low 32 bits of each address, by access and lane, as in [`WarpAccess`].
    pub at: &'a [[u32; 32]],
    /// The high 32 bits, equal for all addresses.
    pub page: u32,
}

/// An access of adjacent lanes with a constant stride.
#[derive(Clone, Copy, Debug)]
pub struct StridedAccess {
    /// The place of the instruction.
    pub pc: Pc,
    /// Whether it loads, stores or is an atomic.
    pub kind: AccessKind,
    /// The space accessed, never the generic one.
    pub space: Space,
    /// Bytes per lane.
    pub size: u32,
    /// The number of the first lane's thread in its CTA.
    pub first_thread: u32,
    /// The number of lanes.
    pub lanes: u16,
    /// The first lane's address; an offset in shared, local and parameter space.
    pub at: u64,
    /// Bytes from one lane's address to the next lane's.
    pub stride: i64,
    /// The number of accesses. If it is above 1, this is one of them; the others have congruent
    /// addresses (see [`StridedAccess::CONGRUENCE`]), and all of them are of whole warps.
    pub times: u64,
}

impl StridedAccess {
    /// Accesses whose addresses differ by a multiple of this many bytes are reported as one with a
    /// count: they touch the same sectors and banks.
    pub const CONGRUENCE: u64 = 128;
}
