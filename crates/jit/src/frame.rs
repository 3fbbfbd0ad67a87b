//! The block of memory that compiled code and its host share; both know its layout.

use crate::access_groups::GroupTables;
use crate::counters::Counters;
use crate::layout::LayoutCell;
use crate::screen_log::{ExemptCell, LogChunk};
use crate::warp_context::{BarrierState, WarpContext};
use fast::{StackCharges, StackEntry, Tally};
use std::mem::{MaybeUninit, offset_of};
use vector::Counter;

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

/// Arguments of [`Frame::turn`].
pub(crate) const TURN_ENDS: u32 = 0;
pub(crate) const TURN_BEGINS: u32 = 1;

/// Counters of blocks in the frame; kernels with more have an array for the others.
pub(crate) const BLOCK_COUNTERS: usize = 1024;

/// Entries of the stack of a warp. A branch of a warp of 32 lanes adds at most two for each lane
/// that runs no longer, so that there are 63, and each call one more.
pub(crate) const STACK_CAPACITY: usize = 256;
/// Frames of functions that call themselves for which there is room.
pub(crate) const MAX_FRAMES: usize = STACK_CAPACITY - 63 - fast::MAX_CALL_DEPTH - 1;
/// Bytes of an entry.
pub(crate) const ENTRY_SIZE: i64 = size_of::<StackEntry>() as i64;
pub(crate) const ENTRY_BLOCK: i64 = offset_of!(StackEntry, block) as i64;
pub(crate) const ENTRY_REJOIN: i64 = offset_of!(StackEntry, rejoin) as i64;
pub(crate) const ENTRY_LANES: i64 = offset_of!(StackEntry, lanes) as i64;
pub(crate) const ENTRY_DEPTH: i64 = offset_of!(StackEntry, depth) as i64;

/// The memory that code and host share.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// Back-edges left in the turn.
    pub(crate) back_edges_left: i32,
    pub(crate) constants: *const u64,
    pub(crate) shared: *mut u8,
    pub(crate) shared_len: u64,
    pub(crate) params: *const u8,
    pub(crate) params_len: u64,
    /// Local memory of the CTA's first thread, and bytes per thread.
    pub(crate) local: *mut u8,
    pub(crate) local_len: u64,
    pub(crate) regions: *mut RegionCache,
    /// Layouts of rows of addresses, by site.
    pub(crate) layout_cells: *mut LayoutCell,
    /// Counts since the last flush.
    pub(crate) tally: Tally,
    /// Issues of the CTA that have been counted, in kernels that read clocks.
    pub(crate) clock: u64,
    /// Issues in the tally when the running warp's turn began.
    pub(crate) started: u64,
    /// Counts of operations on stacks.
    pub(crate) splits: StackCharges,
    /// Counters of launches that run in detail.
    pub(crate) counters: Counters,
    /// The context of the running warp, and the contexts of all warps of the CTA.
    pub(crate) warp: *mut WarpContext,
    pub(crate) warps: *mut WarpContext,
    pub(crate) warps_end: *mut WarpContext,
    pub(crate) barrier_state: *mut BarrierState,
    /// Code that takes a warp that continues from an earlier turn.
    pub(crate) again: u64,
    /// Uniform special registers: values by warp, and values of the CTA.
    pub(crate) sregs: *const u64,
    pub(crate) cta_sregs: *const u64,
    /// Code address where the next entry begins.
    pub(crate) start: u64,
    /// Rounds over the warps that code may begin by itself, and how many of these may be first ones
    /// of CTAs that follow; not 0 if others may be the visited CTA's.
    pub(crate) rounds_left: u32,
    pub(crate) ctas_ahead: u32,
    pub(crate) may_stay: u32,
    /// Threads of a CTA.
    pub(crate) threads: u32,
    /// Rounds that code has begun, and CTAs of which the host does not know yet.
    pub(crate) rounds: u32,
    pub(crate) followed: u32,
    /// Executes a step: `(frame, step, lanes)`. Not 0 if the code has to return.
    pub(crate) step: extern "C" fn(*mut Frame, u32, u32) -> u32,
    /// Not 0 if the warp waits after the last step that `step` has executed.
    pub(crate) parked: u32,
    /// Finds the layout of a row of addresses in the room for lanes: `(frame, site, lanes)`. Not 0
    /// if the code has to return.
    pub(crate) find: extern "C" fn(*mut Frame, u32, u32) -> u32,
    /// Empties the access log of a step: `(frame, number)`, with the step's number among the logged
    /// steps.
    pub(crate) drain: extern "C" fn(*mut Frame, u32),
    /// The active lanes of the step for which `drain` is called.
    pub(crate) on: u32,
    /// Ends lanes: `(frame, 0, lanes)`. Not 0 if the code has to return.
    pub(crate) exit: extern "C" fn(*mut Frame, u32, u32) -> u32,
    /// Executes the end of a block for the running warp, whose stack is in its context: `(frame,
    /// block, lanes)`. Not 0 if the code has to return.
    pub(crate) stack_end: extern "C" fn(*mut Frame, u32, u32) -> u32,
    /// Not 0 if `stack_end` has counted a back-edge.
    pub(crate) back_edge_taken: u32,
    /// The turn of a warp with lanes that are not live begins or ends: `(frame, which, 0)`. Not 0
    /// if the code has to return.
    pub(crate) turn: extern "C" fn(*mut Frame, u32, u32) -> u32,
    /// By counter of blocks: lanes, summed over executions, and in the upper half the
    /// number of these. A visit is too short for either to overflow.
    pub(crate) block_counters: [u64; BLOCK_COUNTERS],
    /// Those that follow these, in kernels with more.
    pub(crate) more_block_counters: *mut u64,
    /// Arguments and results of code that counts an access by its pattern.
    pub(crate) note: Note,
    /// In screened launches, where code logs the next access, and the first place at which there
    /// is no room for more.
    pub(crate) log: *mut LogChunk,
    pub(crate) log_end: *mut LogChunk,
    /// Which accesses are exempt, by cell.
    pub(crate) exempt: *mut ExemptCell,
    /// Judges the accesses in the log, and empties it.
    pub(crate) judge: extern "C" fn(*mut Frame),
    /// Tells the screen of a barrier: `(frame, barrier, lanes that have arrived)`.
    pub(crate) completed: extern "C" fn(*mut Frame, u32, u32),
    /// The host's state for calls back: a `Host`.
    pub(crate) host: *mut u8,
    /// Scratch memory within a step.
    pub(crate) lane_room: MaybeUninit<LaneRoom>,
}

/// Arguments and results of code that counts an access by its pattern; addresses by lane are in the
/// frame's room for lanes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Note {
    /// The byte offset of the group's list, and the active lanes.
    group: u64,
    on: u64,
    /// Lane 0's address without the offset, if addresses are affine.
    address: u64,
    /// The pattern, or 0, and the first active lane's address.
    found: u64,
    first: u64,
    /// Two vector registers.
    saved: [u64; 16],
}

/// Five 64-bit values per lane, or a place and eight words of 32 bits.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct LaneRoom(pub(crate) [[u32; 32]; 10]);

macro_rules! offsets {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = offset_of!(Frame, $field) as i64;)*

            /// Returns the name of the field at or before an offset, and the bytes from there.
            pub(crate) fn field(offset: i64) -> Option<(&'static str, i64)> {
                let fields = [$((Self::$name, stringify!($field)),)*];
                let before = fields.into_iter().filter(|field| field.0 <= offset);
                before.max_by_key(|field| field.0).map(|(at, name)| (name, offset - at))
            }
        }
    };
}

offsets! {
    BACK_EDGES_LEFT back_edges_left; CONSTANTS constants; SHARED shared; SHARED_LEN shared_len;
    PARAMS params; PARAMS_LEN params_len; LOCAL local; LOCAL_LEN local_len; REGIONS regions;
    TALLY tally; STARTED started; SPLITS splits; WARP warp; WARPS warps; WARPS_END warps_end;
    BARRIER_STATE barrier_state; AGAIN again; SREGS sregs; CTA_SREGS cta_sregs; START start;
    ROUNDS_LEFT rounds_left; CTAS_AHEAD ctas_ahead; MAY_STAY may_stay; THREADS threads;
    ROUNDS rounds; FOLLOWED followed;
    STEP step; PARKED parked; DRAIN drain; ON on; EXIT exit; TURN turn; STACK_END stack_end;
    BACK_EDGE_TAKEN back_edge_taken; LAYOUT_CELLS layout_cells; FIND find;
    BLOCK_COUNTERS block_counters; MORE_BLOCK_COUNTERS more_block_counters; COUNTERS counters;
    NOTE note; LANE_ROOM lane_room; LOG log; LOG_END log_end; EXEMPT exempt; JUDGE judge;
    COMPLETED completed; CLOCK clock;
}

macro_rules! notes {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 =
                (offset_of!(Frame, note) + offset_of!(Note, $field)) as i64;)*
        }
    };
}

notes! {
    NOTE_GROUP group; NOTE_ON on; NOTE_ADDRESS address; NOTE_FOUND found; NOTE_FIRST first;
    NOTE_SAVED saved;
}

macro_rules! tallies {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 = Self::TALLY + offset_of!(Tally, $field) as i64;)*
        }
    };
}

tallies! {
    OFF off; MEMORY memory; PROGRESS progress; COLLECTIVES collectives; UNNAMED unnamed;
    ARRIVALS arrivals; BARRIERS barriers;
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
    MAX_HEIGHT max_height; MORE_PATHS more_paths; SPLIT_RETURNS split_returns;
}

impl Frame {
    /// Returns the offset of a counter.
    pub(crate) fn of(counter: Counter) -> i64 {
        match counter {
            Counter::SplitBranches => Self::SPLIT_BRANCHES,
            Counter::Pushes => Self::PUSHES,
            Counter::Merges => Self::MERGES,
            Counter::Emptied => Self::EMPTIED,
            Counter::Memory => Self::MEMORY,
            Counter::MorePaths => Self::MORE_PATHS,
            Counter::SplitReturns => Self::SPLIT_RETURNS,
            Counter::Collectives => Self::COLLECTIVES,
            Counter::UnnamedCollectives => Self::UNNAMED,
        }
    }
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
    MAX_DEPTH max_depth; GUARDED_OFF off; HISTOGRAMS histograms; GROUP_TABLES groups;
}

macro_rules! group_tables {
    ($($name:ident $field:ident;)*) => {
        impl Frame {
            $(pub(crate) const $name: i64 =
                Self::GROUP_TABLES + offset_of!(GroupTables, $field) as i64;)*
        }
    };
}

group_tables! { GROUP_LISTS lists; GROUP_PATTERNS patterns; POSITIONS positions; }
