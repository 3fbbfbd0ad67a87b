//! The warps of a CTA as code knows them: where each stands, with a stack of its own, and what is at barriers. With that, code goes from
//! the turn of one warp to the turn of the next, and lets warps wait for each other, without its host.

use crate::frame::{NOWHERE, SLOTS};
use fast::{BARRIERS, Rows, Slot};
use std::mem::offset_of;

/// A warp.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Seat {
    /// Code that takes the warp, or 0 if it has no turn: it waits or has ended.
    pub(crate) start: u64,
    /// Code where it goes on.
    pub(crate) at: u64,
    /// The entry of the stack that runs; null if the warp has ended.
    pub(crate) top: *mut Slot,
    pub(crate) narrow: *mut u32,
    pub(crate) wide: *mut u64,
    pub(crate) preds: *mut u32,
    pub(crate) scalars: *mut u64,
    pub(crate) sregs: *const u64,
    /// Rows of special registers that differ by lane.
    pub(crate) sreg_rows: *const [u32; 32],
    /// How far behind that of the CTA's first thread local memory of lane 0 is.
    pub(crate) local: u64,
    /// Lanes that were launched and have not ended.
    pub(crate) live: u32,
    /// How many lanes were never launched, how many have ended, and both together.
    pub(crate) absent: u32,
    pub(crate) exited: u32,
    pub(crate) gone: u32,
    /// The barrier that it waits at, counted from 1, or 0; and the lanes that do.
    pub(crate) waits: u32,
    pub(crate) on: u32,
    /// After which barrier of the kernel it goes on, counted from 0, or [`NOWHERE`] if at the beginning of a block.
    pub(crate) resume: u32,
    /// Not 0 if the interpreter alone knows where it stands.
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

    /// The warp at the kernel's beginning.
    pub(crate) fn begin(&mut self, rows: Rows, launched: u32, (start, at, entry): (u64, u64, u32)) {
        (self.start, self.at) = (start, at);
        (self.narrow, self.wide) = (rows.narrow, rows.wide);
        (self.preds, self.scalars) = (rows.preds, rows.scalars);
        self.top = self.slots.as_mut_ptr();
        self.slots[0] = Slot { block: entry, rejoin: NOWHERE, lanes: launched, depth: 1 };
        (self.waits, self.resume, self.foreign) = (0, NOWHERE, 0);
        self.lanes(!launched, 0);
    }

    /// Lanes that were never launched, and that have ended.
    pub(crate) fn lanes(&mut self, absent: u32, exited: u32) {
        self.live = !(absent | exited);
        // Bits are counted one by one on hosts that have no instruction for it.
        let count = |lanes: u32| if lanes == 0 { 0 } else { lanes.count_ones() };
        (self.absent, self.exited) = (count(absent), count(exited));
        self.gone = self.absent + self.exited;
    }

    /// Entries on the stack.
    pub(crate) fn stack(&self) -> &[Slot] {
        if self.top.is_null() {
            return &[];
        }
        let height =
            (self.top as usize).wrapping_sub(self.slots.as_ptr() as usize) / size_of::<Slot>();
        &self.slots[..(height + 1).min(SLOTS)]
    }
}

/// Who is at barriers.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Meeting {
    /// Threads of the CTA that have not ended.
    pub(crate) live: u32,
    /// Warps that wait.
    pub(crate) waiting: u32,
    /// Not 0 if none of them wants to know an outcome: else barriers are the interpreter's.
    pub(crate) plain: u32,
    /// Lanes that have arrived.
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
