//! The tests of the crate, as one program.

mod barriers;
mod common;
mod contracts;
mod engine;
mod exec_mask;
mod facts;
mod operations;
mod predicate;
mod random;
mod recheck;
mod undefined_memory;
