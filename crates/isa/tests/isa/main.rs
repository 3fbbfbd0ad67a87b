//! The tests of the crate, as one program.

mod assembler;
mod both_ways;
mod common;
mod table;
