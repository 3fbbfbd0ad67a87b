//! Lane slots by cause, as the columns of tables.

use simt::slots::{LaneSlots, SlotCause};

/// A column of the table of lane slots: its head and its count.
pub type Column = (&'static str, fn(&LaneSlots) -> u64);

/// The columns of the table of lane slots. Every slot is in exactly one.
pub const SLOTS: [Column; 7] = [
    ("on", |s| s.of(SlotCause::On)),
    ("diverged", |s| s.of(SlotCause::Diverged)),
    ("masked", |s| s.masked_off),
    ("waiting", |s| s.of(SlotCause::Waiting)),
    ("pred.off", LaneSlots::guarded_off),
    ("exited", |s| s.of(SlotCause::Exited)),
    ("empty", |s| s.of(SlotCause::NeverLaunched)),
];
