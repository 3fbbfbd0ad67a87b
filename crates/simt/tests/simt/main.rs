//! The tests of the crate, as one program, but for those of `claims`, which run under a model
//! checker.

mod arith;
mod mask;
mod matrix;
mod mbarrier;
mod memory;
mod memory_model;
mod memory_shared;
mod sparse;
mod sums;
