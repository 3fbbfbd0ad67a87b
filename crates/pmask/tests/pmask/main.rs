//! The tests of the crate, as one program.

mod bad_input;
mod base;
mod book;
mod common;
mod gather;
mod lanes;
mod programs;
mod qemu;
mod rules;
mod rvv;
mod vectors;
