//! The tests of the crate, as one program.

mod facts;
mod prf;
mod small_stack;
mod stats;
mod time_travel;
