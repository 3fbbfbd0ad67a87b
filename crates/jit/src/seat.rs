//! The warps of a CTA as compiled code sees them: the place and the reconvergence stack of each,
//! and the state of the CTA's barriers. With these, code goes from the turn of one warp to the turn
//! of the next, and lets warps wait for each other, without returning to its host.

use crate::frame::{NOWHERE, SLOTS};
use fast::{BARRIERS, Rows, Slot};
use std::mem::offset_of;

/// A warp of the CTA as compiled code sees it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Seat {
    /// Address of the code that takes the warp; 0 if the warp has no turn because it waits or has
    /// ended.
    pub(crate) start: u64,
    /// Address of the code where the warp continues.
    pub(crate) at: u64,
    /// The running entry of the stack; null if the warp has ended.
    pub(crate) top: *mut Slot,
    pub(crate) narrow: *mut u32,
    pub(crate) wide: *mut u64,
    pub(crate) preds: *mut u32,
    pub(crate) scalars: *mut u64,
    pub(crate) sregs: *const u64,
    /// Rows of special registers whose values differ by lane.
    pub(crate) sreg_rows: *const [u32; 32],
    /// Bytes from the local memory of the CTA's first thread to that of lane 0.
    pub(crate) local: u64,
    /// Lanes that were launched and have not exited.
    pub(crate) live: u32,
    /// Number of lanes that were never launched, number of exited lanes, and their sum.
    pub(crate) absent: u32,
    pub(crate) exited: u32,
    pub(crate) gone: u32,
    /// The barrier at which the warp waits, counted from 1, or 0; and the lanes that wait.
    pub(crate) waits: u32,
    pub(crate) on: u32,
    /// The barrier step after which the warp continues, as an index into the kernel's list of
    /// resume points, or [`NOWHERE`] if it continues at the beginning of a block.
    pub(crate) resume: u32,
    /// Not 0 if only the interpreter knows where the warp stands.
    pub(crate) foreign: u32,
    pub(crate) slots: [Slot; SLOTS],
}

impl Seat {
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
        local: 0,
        live: 0,
        absent: 0,
        exited: 0,
        gone: 0,
        waits: 0,
        on: 0,
        resume: NOWHERE,
        foreign: 0,
        slots: [Slot { block: 0, rejoin: NOWHERE, lanes: 0, depth: 0 }; SLOTS],
    };

    /// Places the warp at the kernel's entry.
    pub(crate) fn begin(&mut self, rows: Rows, launched: u32, (start, at, entry): (u64, u64, u32)) {
        (self.start, self.at) = (start, at);
        (self.narrow, self.wide) = (rows.narrow, rows.wide);
        (self.preds, self.scalars) = (rows.preds, rows.scalars);
        self.top = self.slots.as_mut_ptr();
        self.slots[0] = Slot { block: entry, rejoin: NOWHERE, lanes: launched, depth: 1 };
        (self.waits, self.resume, self.foreign) = (0, NOWHERE, 0);
        self.lanes(!launched, 0);
    }

    /// Sets the lanes that were never launched and the lanes that have exited.
    pub(crate) fn lanes(&mut self, absent: u32, exited: u32) {
        self.live = !(absent | exited);
        // `count_ones` is a loop on hosts without the instruction, and the masks are mostly empty.
        let count = |lanes: u32| if lanes == 0 { 0 } else { lanes.count_ones() };
        (self.absent, self.exited) = (count(absent), count(exited));
        self.gone = self.absent + self.exited;
    }

    /// The entries of the stack, the running one last.
    pub(crate) fn stack(&self) -> &[Slot] {
        if self.top.is_null() {
            return &[];
        }
        let height =
            (self.top as usize).wrapping_sub(self.slots.as_ptr() as usize) / size_of::<Slot>();
        &self.slots[..(height + 1).min(SLOTS)]
    }
}

/// The state of a CTA's barriers.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Meeting {
    /// Threads of the CTA that have not exited.
    pub(crate) live: u32,
    /// Warps that wait at a barrier.
    pub(crate) waiting: u32,
    /// Not 0 if no waiting warp needs a result; otherwise the interpreter executes barriers.
    pub(crate) plain: u32,
    /// Lanes that have arrived, by barrier.
    pub(crate) arrived: [u32; BARRIERS],
}

macro_rules! offsets {
    ($of:ident: $($name:ident $field:ident;)*) => {
        impl $of {
            $(pub(crate) const $name: i64 = offset_of!($of, $field) as i64;)*
        }
    };
}

offsets! {
    Seat: START start; AT at; TOP top; NARROW narrow; WIDE wide; PREDS preds; SCALARS scalars; SREGS sregs; SREG_ROWS sreg_rows;
    LOCAL local; LIVE live; ABSENT absent;
    EXITED exited; GONE gone; WAITS waits; ON on; RESUME resume; SLOTS slots;
}

offsets! { Meeting: LIVING live; WAITING waiting; PLAIN plain; ARRIVED arrived; }
