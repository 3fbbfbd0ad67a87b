//! The tests of the crate, as one program.

mod behaviour;
mod bodies;
mod campaign;
mod common;
mod conform;
mod damaged;
mod descriptors;
mod elf;
mod encoding;
mod engine;
mod rows;
mod status;
mod tiles;
mod traps;
mod v64_alu;
mod v64_float;
mod v64_memory;
mod variant;
mod widths;
