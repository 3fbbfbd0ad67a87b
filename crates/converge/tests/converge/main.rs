//! The tests of the crate, as one program.

mod counts;
mod deadlock;
mod laws;
mod page;
mod scale;
mod structured;
mod walks;
