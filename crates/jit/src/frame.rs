//! The block of memory that compiled code and its host share; both know its layout.

use crate::counters::Counters;
use crate::patterns::PatternTables;
use crate::warp_context::{BarrierState, WarpContext};
use fast::{StackCharges, StackEntry, Tally};
use std::mem::{MaybeUninit, offset_of};

/// In place of a block or a resume point: none.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// The region of global memory that a step accessed last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RegionCache {
    /// Guest address of its first byte.
    pub(crate) base: u64,
    /// Bytes; 0 if the step has accessed none.
    pub(crate) len: u64,
    /// Host address of its first byte.
    pub(crate) bytes: *mut u8,
}

impl RegionCache {
    pub(crate) const NONE: Self = Self { base: 0, len: 0, bytes: std::ptr::null_mut() };
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const BASE: i64 = offset_of!(Self, base) as i64;
    pub(crate) const LEN: i64 = offset_of!(Self, len) as i64;
    pub(crate) const BYTES: i64 = offset_of!(Self, bytes) as i64;
}

/// The classified layout of the words at one row of shared-memory addresses: see `emit::together`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct WordLayout {
    /// The greatest offset at which the words of each part are contiguous and in bounds; negative
    /// enough to fail every comparison if they are not contiguous.
    adjacent: i64,
    /// The same under a partial mask, for the words of the running lanes.
    masked: i64,
    /// The same for parts that are broadcasts of one word.
    same: i64,
    /// Host address of the first word of each part.
    first: [u64; 4],
}

impl WordLayout {
    /// Entries in the frame: layouts that code caches at once.
    pub(crate) const COUNT: usize = 4;
}

/// Entries of the stack that code keeps for a warp. A warp with more entries is left to the
/// interpreter.
pub(crate) const STACK_CAPACITY: usize = 64;
/// Bytes of an entry.
pub(crate) const ENTRY_SIZE: i64 = size_of::<StackEntry>() as i64;
pub(crate) const ENTRY_BLOCK: i64 = offset_of!(StackEntry, block) as i64;
pub(crate) const ENTRY_REJOIN: i64 = offset_of!(StackEntry, rejoin) as i64;
pub(crate) const ENTRY_LANES: i64 = offset_of!(StackEntry, lanes) as i64;
pub(crate) const ENTRY_DEPTH: i64 = offset_of!(StackEntry, depth) as i64;

/// The reasons for which code returns.
pub(crate) mod stopped {
    /// No warp of the visit has a turn left.
    pub(crate) const DONE: u32 = 0;
    /// The next warp is one that code cannot take by itself.
    pub(crate) const BEFORE: u32 = 1;
    /// The turn of a warp is over, or the launch is.
    pub(crate) const WITHIN: u32 = 2;
}

/// The memory that code and host share.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// The running lanes.
    pub(crate) lanes: u32,
    /// The reconvergence point of these lanes, or [`NO_BLOCK`].
    pub(crate) rejoin: u32,
    /// The block to enter when the code has returned, or [`NO_BLOCK`] if the warp's place is up to
    /// date.
    pub(crate) block: u32,
    /// Lanes of the warp that were launched and have not exited.
    pub(crate) live: u32,
    /// Back-edges left in the turn.
    pub(crate) back_edges_left: i32,
    /// Why the code has returned: one of [`stopped`].
    pub(crate) stopped: u32,
    pub(crate) constants: *const u64,
    pub(crate) shared: *mut u8,
    pub(crate) shared_len: u64,
    pub(crate) params: *const u8,
    pub(crate) params_len: u64,
    /// Local memory of the CTA's first thread, and bytes per thread.
    pub(crate) local: *mut u8,
    pub(crate) local_len: u64,
    pub(crate) regions: *mut RegionCache,
    /// Counts since the last flush.
    pub(crate) tally: Tally,
    /// Issues in the tally when the running warp's turn began.
    pub(crate) started: u64,
    /// The lowest entry of the stack, the running one, and the one from which on code must not
    /// push.
    pub(crate) bottom: *mut StackEntry,
    pub(crate) top: *mut StackEntry,
    pub(crate) last: *mut StackEntry,
    /// Not 0 if the interpreter has the stack, and the copy here is stale.
    pub(crate) interpreter_owned: u64,
    /// Counts of operations on stacks.
    pub(crate) splits: StackCharges,
    /// The cached layouts.
    pub(crate) layouts: [WordLayout; WordLayout::COUNT],
    /// Counters of launches that run in detail.
    pub(crate) counters: Counters,
    /// The context of the running warp, and the contexts of all warps of the CTA.
    pub(crate) warp: *mut WarpContext,
    pub(crate) warps: *mut WarpContext,
    pub(crate) warps_end: *mut WarpContext,
    pub(crate) barrier_state: *mut BarrierState,
    /// Code addresses of blocks, and of the steps after barriers.
    pub(crate) block_addresses: *const u64,
    pub(crate) resume_addresses: *const u64,
    /// Code that takes a warp that continues from an earlier turn.
    pub(crate) again: u64,
    /// Uniform special registers: values by warp, and values of the CTA.
    pub(crate) sregs: *const u64,
    pub(crate) cta_sregs: *const u64,
    /// Code address where the next entry begins.
    pub(crate) start: u64,
    /// Executes a step: `(frame, step, lanes)`. Not 0 if the code has to return.
    pub(crate) step: extern "sysv64" fn(*mut Frame, u32, u32) -> u32,
    /// Empties the access log of a step: `(frame, number)`, with the step's number among the logged
    /// steps.
    pub(crate) drain: extern "sysv64" fn(*mut Frame, u32),
    /// The active lanes of the step for which `drain` is called.
    pub(crate) on: u32,
    /// Executes the end of a block: `(frame, block)`. Returns the code address to continue at, or
    /// null if the code has to return.
    pub(crate) end: extern "sysv64" fn(*mut Frame, u32) -> *const u8,
    /// Enters a block that may be a reconvergence point; returns as `end` does.
    pub(crate) go: extern "sysv64" fn(*mut Frame, u32) -> *const u8,
    /// The host's state for calls back: a `Host`.
    pub(crate) host: *mut u8,
    /// Scratch memory within a step: four values per lane.
    pub(crate) lane_room: MaybeUninit<LaneRoom>,
}

/// Four 64-bit values per lane.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct LaneRoom(pub(crate) [[u64; 32]; 4]);

macro_rules! offsets {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = offset_of!(Frame, $field) as i64;)*
        }
    };
}

offsets! {
    LANES lanes; LIVE live; REJOIN rejoin; BLOCK block; BACK_EDGES_LEFT back_edges_left;
    STOPPED stopped; CONSTANTS constants; SHARED shared; SHARED_LEN shared_len; PARAMS params;
    PARAMS_LEN params_len; LOCAL local; LOCAL_LEN local_len; REGIONS regions; TALLY tally;
    STARTED started; BOTTOM bottom; TOP top; LAST last; INTERPRETER_OWNED interpreter_owned;
    SPLITS splits; WARP warp; WARPS warps; WARPS_END warps_end; BARRIER_STATE barrier_state;
    BLOCK_ADDRESSES block_addresses; RESUME_ADDRESSES resume_addresses; AGAIN again; SREGS sregs;
    CTA_SREGS cta_sregs; START start; STEP step; DRAIN drain; ON on; END end; GO go;
    LANE_ROOM lane_room;
}

impl Frame {
    const fn layout(entry: usize) -> i64 {
        (offset_of!(Self, layouts) + entry * size_of::<WordLayout>()) as i64
    }

    pub(crate) const fn adjacent(entry: usize) -> i64 {
        Self::layout(entry) + offset_of!(WordLayout, adjacent) as i64
    }

    pub(crate) const fn masked(entry: usize) -> i64 {
        Self::layout(entry) + offset_of!(WordLayout, masked) as i64
    }

    pub(crate) const fn same(entry: usize) -> i64 {
        Self::layout(entry) + offset_of!(WordLayout, same) as i64
    }

    pub(crate) const fn first(entry: usize, part: usize) -> i64 {
        Self::layout(entry) + (offset_of!(WordLayout, first) + 8 * part) as i64
    }
}

macro_rules! tallies {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = Self::TALLY + offset_of!(Tally, $field) as i64;)*
        }
    };
}

tallies! {
    ISSUES issues; LANE_SUM lanes; OFF off; BLOCKS blocks; BRANCHES branches; MEMORY memory;
    PROGRESS progress; COLLECTIVES collectives; UNNAMED unnamed; NEVER_LAUNCHED_SUM never_launched;
    EXITED_SUM exited; ARRIVALS arrivals; BARRIERS barriers;
}

macro_rules! splits {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 =
                Self::SPLITS + offset_of!(StackCharges, $field) as i64;)*
        }
    };
}

splits! {
    SPLIT_BRANCHES split_branches; PUSHES pushes; MERGES merges; EMPTIED emptied;
    MAX_HEIGHT max_height;
}

macro_rules! counters {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 =
                offset_of!(Frame, counters) as i64 + offset_of!(Counters, $field) as i64;)*
        }
    };
}

counters! {
    DEPTH depth; MAX_DEPTH max_depth; DEPTH_SUM depth_sum; EXITED exited;
    NEVER_LAUNCHED never_launched; SITES sites; GUARDED_OFF off; ACTIVE active; STRIDED strided;
    PATTERN_TABLES pattern_tables;
}

macro_rules! pattern_tables {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 =
                Self::PATTERN_TABLES + offset_of!(PatternTables, $field) as i64;)*
        }
    };
}

pattern_tables! { PATTERN_LISTS lists; PATTERNS patterns; }
