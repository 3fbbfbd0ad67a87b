//! The warps of a CTA as compiled code sees them: the place and the reconvergence stack of each,
//! and the state of the CTA's barriers. With these, code goes from the turn of one warp to the turn
//! of the next, and lets warps wait for each other, without returning to its host.

use crate::frame::{NO_BLOCK, STACK_CAPACITY};
use fast::{BARRIERS, StackEntry, WarpRegisters};
use std::mem::offset_of;

/// In place of the number of a barrier, counted from 1: the warp waits for something that the
/// interpreter looks after.
pub(crate) const NO_BARRIER: u32 = BARRIERS as u32 + 1;

/// A warp of the CTA as compiled code sees it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct WarpContext {
    /// Address of the code that takes the warp; 0 if the warp has no turn because it waits or has
    /// ended.
    pub(crate) start: u64,
    /// Address of the code where the warp continues.
    pub(crate) at: u64,
    /// The running entry of the stack; null if the warp has ended.
    pub(crate) top: *mut StackEntry,
    pub(crate) narrow: *mut u32,
    pub(crate) wide: *mut u64,
    pub(crate) preds: *mut u32,
    pub(crate) scalars: *mut u64,
    pub(crate) sregs: *const u64,
    /// Rows of special registers whose values differ by lane.
    pub(crate) sreg_rows: *const [u32; 32],
    /// Memory that code keeps for this warp, aligned to a vector.
    pub(crate) seat: *mut u8,
    /// Bytes from the local memory of the CTA's first thread to that of lane 0.
    pub(crate) local: u64,
    /// Lanes that were launched and have not exited.
    pub(crate) live: u32,
    /// Number of lanes that were never launched, number of exited lanes, and their sum.
    pub(crate) never_launched: u32,
    pub(crate) exited: u32,
    pub(crate) not_live: u32,
    /// The barrier at which the warp waits, counted from 1, or [`NO_BARRIER`], or 0; and the lanes
    /// that wait.
    pub(crate) waits: u32,
    pub(crate) on: u32,
    /// At the last barrier that was completed: the number of lanes that have arrived, and of those
    /// in which the predicate holds.
    pub(crate) barrier_lanes: u32,
    pub(crate) barrier_holding: u32,
    /// The barrier step after which the warp continues, as an index into the kernel's list of
    /// resume points, or [`NO_BLOCK`] if it continues at the beginning of a block.
    pub(crate) resume: u32,
    pub(crate) entries: [StackEntry; STACK_CAPACITY],
}

impl WarpContext {
    pub(crate) const EMPTY: Self = Self {
        start: 0,
        at: 0,
        top: std::ptr::null_mut(),
        narrow: std::ptr::null_mut(),
        wide: std::ptr::null_mut(),
        preds: std::ptr::null_mut(),
        scalars: std::ptr::null_mut(),
        sregs: std::ptr::null(),
        sreg_rows: std::ptr::null(),
        seat: std::ptr::null_mut(),
        local: 0,
        live: 0,
        never_launched: 0,
        exited: 0,
        not_live: 0,
        waits: 0,
        on: 0,
        barrier_lanes: 0,
        barrier_holding: 0,
        resume: NO_BLOCK,
        entries: [StackEntry { block: 0, rejoin: NO_BLOCK, lanes: 0, depth: 0 }; STACK_CAPACITY],
    };

    /// Sets the rows, masks and scalars of the warp.
    pub(crate) fn set_rows(&mut self, rows: WarpRegisters) {
        (self.narrow, self.wide) = (rows.narrow, rows.wide);
        (self.preds, self.scalars) = (rows.preds, rows.scalars);
    }

    /// Places the warp at the kernel's entry.
    pub(crate) fn begin(&mut self, launched: u32, start: u64, entry: u32) {
        self.start = start;
        self.top = self.entries.as_mut_ptr();
        self.entries[0] = StackEntry { block: entry, rejoin: NO_BLOCK, lanes: launched, depth: 1 };
        (self.waits, self.resume) = (0, NO_BLOCK);
        self.set_live(!launched, 0);
    }

    /// Sets the lanes that were never launched and the lanes that have exited.
    pub(crate) fn set_live(&mut self, never_launched: u32, exited: u32) {
        self.live = !(never_launched | exited);
        (self.never_launched, self.exited, self.not_live) = (0, 0, 0);
        // `count_ones` is a loop on hosts without the instruction, and the masks are mostly empty.
        if never_launched | exited != 0 {
            (self.never_launched, self.exited) = (never_launched.count_ones(), exited.count_ones());
            self.not_live = self.never_launched + self.exited;
        }
    }

    /// Sets the lanes of the running entry.
    pub(crate) fn set_top_lanes(&mut self, lanes: u32) {
        let top = self.stack().len().wrapping_sub(1);
        if let Some(entry) = self.entries.get_mut(top) {
            entry.lanes = lanes;
        }
    }

    /// The entries of the stack, the running one last.
    pub(crate) fn stack(&self) -> &[StackEntry] {
        if self.top.is_null() {
            return &[];
        }
        let height = (self.top as usize).wrapping_sub(self.entries.as_ptr() as usize)
            / size_of::<StackEntry>();
        &self.entries[..(height + 1).min(STACK_CAPACITY)]
    }
}

/// The state of a CTA's barriers.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct BarrierState {
    /// Threads of the CTA that have not exited.
    pub(crate) live: u32,
    /// Warps that wait at a barrier, and one more in kernels with barriers of clusters.
    pub(crate) waiting: u32,
    /// Lanes that have arrived, by barrier.
    pub(crate) arrived: [u32; BARRIERS],
    /// Of these, lanes in which the predicate holds.
    pub(crate) holding: [u32; BARRIERS],
}

macro_rules! offsets {
    ($of:ident: $($name:ident $field:ident;)*) => {
        impl $of {
            $(pub(crate) const $name: i64 = offset_of!($of, $field) as i64;)*
        }
    };
}

offsets! {
    WarpContext: START start; AT at; TOP top; NARROW narrow; WIDE wide; PREDS preds;
    SCALARS scalars; SREGS sregs; SREG_ROWS sreg_rows; SEAT seat; LOCAL local; LIVE live;
    NEVER_LAUNCHED never_launched; EXITED exited; NOT_LIVE not_live; WAITS waits; ON on;
    RESUME resume; ENTRIES entries;
    BARRIER_LANES barrier_lanes; BARRIER_HOLDING barrier_holding;
}

offsets! {
    BarrierState: LIVE live; WAITING waiting; ARRIVED arrived; HOLDING holding;
}
