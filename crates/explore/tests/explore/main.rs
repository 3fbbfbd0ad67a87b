//! The tests of the crate, as one program.

mod common;
mod enumerate;
mod programs;
mod recorded;
mod strategies;
