//! The tests of the crate, as one program.

mod facts;
mod prf;
mod small_stack;
mod stats;
mod table;
mod time_travel;
