//! What compiled code and its host share: one block of memory that both know the layout of.

use crate::counts::Counters;
use crate::notes::Noting;
use crate::seat::{Meeting, Seat};
use fast::{Slot, Splits, Tally};
use std::mem::{MaybeUninit, offset_of};

/// No block.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Where a step's last access of global memory was.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Near {
    /// Guest address of the region.
    pub(crate) base: u64,
    /// Bytes of it: 0 if there has been no access.
    pub(crate) len: u64,
    /// Where it is in the host's memory.
    pub(crate) bytes: *mut u8,
}

impl Near {
    pub(crate) const NONE: Self = Self { base: 0, len: 0, bytes: std::ptr::null_mut() };
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const BASE: i64 = offset_of!(Self, base) as i64;
    pub(crate) const LEN: i64 = offset_of!(Self, len) as i64;
    pub(crate) const BYTES: i64 = offset_of!(Self, bytes) as i64;
}

/// How the words of accesses by the same addresses lie: see `emit::together`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Together {
    /// The greatest offset for which the words of each part lie side by side inside; less than any if they do not.
    adjacent: i64,
    /// The same if some lanes do not run: words of those that do.
    masked: i64,
    /// The same for parts that have one word each.
    same: i64,
    /// Where the parts' first words are in the host's memory.
    first: [u64; 4],
}

impl Together {
    /// How many of them code has at once.
    pub(crate) const COUNT: usize = 4;
}

/// Entries of the stack that code keeps of a warp; while a warp has more, it is the interpreter's.
pub(crate) const SLOTS: usize = 64;
/// Bytes of an entry.
pub(crate) const SLOT: i64 = size_of::<Slot>() as i64;
pub(crate) const SLOT_BLOCK: i64 = offset_of!(Slot, block) as i64;
pub(crate) const SLOT_REJOIN: i64 = offset_of!(Slot, rejoin) as i64;
pub(crate) const SLOT_LANES: i64 = offset_of!(Slot, lanes) as i64;
pub(crate) const SLOT_DEPTH: i64 = offset_of!(Slot, depth) as i64;

/// Why code has returned.
pub(crate) mod stopped {
    /// No warp is left in the visit.
    pub(crate) const DONE: u32 = 0;
    /// The next warp is one that code cannot take by itself.
    pub(crate) const BEFORE: u32 = 1;
    /// The turn of a warp is over, or the launch is.
    pub(crate) const WITHIN: u32 = 2;
}

/// The shared block.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// Lanes that run.
    pub(crate) lanes: u32,
    /// The block at which they wait for others, or [`NOWHERE`].
    pub(crate) rejoin: u32,
    /// The block to go to when the code returns, or [`NOWHERE`] if the warp stands where it should.
    pub(crate) block: u32,
    /// Lanes of the warp that were launched and have not ended.
    pub(crate) live: u32,
    /// Back-edges until the turn is over.
    pub(crate) left: i32,
    /// Why the code has returned: one of [`stopped`].
    pub(crate) stopped: u32,
    pub(crate) constants: *const u64,
    pub(crate) shared: *mut u8,
    pub(crate) shared_len: u64,
    pub(crate) params: *const u8,
    pub(crate) params_len: u64,
    /// Local memory of the CTA's first thread, and the bytes of each.
    pub(crate) local: *mut u8,
    pub(crate) local_len: u64,
    pub(crate) near: *mut Near,
    /// Counts since the last look.
    pub(crate) tally: Tally,
    /// Issues among them when the warp began that runs.
    pub(crate) started: u64,
    /// The lowest entry of the stack, the one that runs, and the last that others may be put on.
    pub(crate) bottom: *mut Slot,
    pub(crate) top: *mut Slot,
    pub(crate) last: *mut Slot,
    /// Not 0 if the stack is the interpreter's, and its copy here is not to be looked at.
    pub(crate) foreign: u64,
    /// What code has done to stacks.
    pub(crate) splits: Splits,
    /// How words of accesses lie.
    pub(crate) together: [Together; Together::COUNT],
    /// Further counts of launches that are run in detail.
    pub(crate) counters: Counters,
    /// The warp that runs, and all warps of the CTA.
    pub(crate) seat: *mut Seat,
    pub(crate) seats: *mut Seat,
    pub(crate) seats_end: *mut Seat,
    pub(crate) meeting: *mut Meeting,
    /// Addresses of blocks, and of steps after barriers.
    pub(crate) table: *const u64,
    pub(crate) resumes: *const u64,
    /// Where a warp begins that goes on.
    pub(crate) again: u64,
    /// Special registers that are scalars: values by warp and those of the CTA.
    pub(crate) sregs: *const u64,
    pub(crate) cta_sregs: *const u64,
    /// Where to begin.
    pub(crate) start: u64,
    /// Executes a step: `(frame, step, lanes)`; not 0 if the code has to return.
    pub(crate) step: extern "sysv64" fn(*mut Frame, u32, u32) -> u32,
    /// Empties the log of accesses of a step, by its number among those that are taken note of: `(frame, number)`.
    pub(crate) drain: extern "sysv64" fn(*mut Frame, u32),
    /// The lanes that are on meanwhile.
    pub(crate) on: u32,
    /// Executes the end of a block: `(frame, block)`; where to go on, or null if the code has to return.
    pub(crate) end: extern "sysv64" fn(*mut Frame, u32) -> *const u8,
    /// Goes to a block that lanes may wait for: as `end`.
    pub(crate) go: extern "sysv64" fn(*mut Frame, u32) -> *const u8,
    /// The host's own.
    pub(crate) host: *mut u8,
    /// Room for four values of each lane, within a step.
    pub(crate) lane_room: MaybeUninit<LaneRoom>,
}

/// Four values of each lane.
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
    LANES lanes; LIVE live; REJOIN rejoin; BLOCK block; LEFT left; STOPPED stopped; CONSTANTS constants; SHARED shared;
    SHARED_LEN shared_len; PARAMS params; PARAMS_LEN params_len; LOCAL local; LOCAL_LEN local_len; NEAR near; TALLY tally; STARTED started; BOTTOM bottom; TOP top; LAST last;
    FOREIGN foreign; SPLITS splits; SEAT seat; SEATS seats; SEATS_END seats_end; MEETING meeting; TABLE table; RESUMES resumes;
    AGAIN again; SREGS sregs; CTA_SREGS cta_sregs; START start; STEP step; DRAIN drain; ON on; END end; GO go; LANE_ROOM lane_room;
}

impl Frame {
    const fn together(entry: usize) -> i64 {
        (offset_of!(Self, together) + entry * size_of::<Together>()) as i64
    }

    pub(crate) const fn adjacent(entry: usize) -> i64 {
        Self::together(entry) + offset_of!(Together, adjacent) as i64
    }

    pub(crate) const fn masked(entry: usize) -> i64 {
        Self::together(entry) + offset_of!(Together, masked) as i64
    }

    pub(crate) const fn same(entry: usize) -> i64 {
        Self::together(entry) + offset_of!(Together, same) as i64
    }

    pub(crate) const fn first(entry: usize, part: usize) -> i64 {
        Self::together(entry) + (offset_of!(Together, first) + 8 * part) as i64
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
    ISSUES issues; LANE_SUM lanes; OFF off; BLOCKS blocks; BRANCHES branches; MEMORY memory; PROGRESS progress;
    COLLECTIVES collectives; UNNAMED unnamed; ABSENT_SUM absent; EXITED_SUM exited; ARRIVALS arrivals; BARRIERS barriers;
}

macro_rules! splits {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = Self::SPLITS + offset_of!(Splits, $field) as i64;)*
        }
    };
}

splits! { PARTED parted; PUSHES pushes; MERGES merges; ENDED ended; MOST most; }

macro_rules! counters {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = offset_of!(Frame, counters) as i64 + offset_of!(Counters, $field) as i64;)*
        }
    };
}

counters! {
    DEPTH depth; MOST_DEPTH most_depth; DEPTH_SUM depth_sum; EXITED exited; ABSENT absent;
    SITES sites; GUARDED_OFF off; ACTIVE active; LINES lines; NOTING noting;
}

macro_rules! noting {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = Self::NOTING + offset_of!(Noting, $field) as i64;)*
        }
    };
}

noting! { SHAPES shapes; PATTERNS patterns; }
