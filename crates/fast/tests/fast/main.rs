//! The interpreter of the fast engine against the exact engine.

#[allow(dead_code, reason = "the compiled tier's tests use the rest")]
mod common;

mod calls;
mod differential;
mod ends;
mod limits;
mod threads;
mod windows;
