//! The compiled tier of the fast engine: x86-64 code with AVX-512 or AVX2 from decoded kernels.
//!
//! A kernel that `fast` has decoded becomes code that runs one turn of each warp of a CTA on the interpreter's own state: rows, masks
//! and scalars are where the interpreter has them, stacks and who waits at barriers in the seats of the warps (`seat`), or all is
//! brought back before anybody looks. So every step that is not compiled, every switch and end of some threads, and every access that a
//! check does not let through is a call of the interpreter, at exactly that place with exactly those lanes: what is compiled may be any
//! part of the instruction set, and results, faults, the schedule and the counts are the interpreter's.
//!
//! Code exists for hosts with x86-64 and AVX-512 (F, BW, DQ, VL), or AVX2 and FMA; others run the interpreter. What both need is written once, on general
//! registers (`emit`); a level of vector instructions is one implementation of `emit::Vectors`. Each has code for whatever it can, and leaves the
//! rest to the interpreter. Pages with code are never writable while
//! they are executable. All unsafe code is in one module, behind [`Compiled`], which keeps a kernel and its code together.

#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod check;
#[cfg(target_arch = "x86_64")]
mod counts;
#[cfg(target_arch = "x86_64")]
mod emit;
#[cfg(target_arch = "x86_64")]
mod features;
#[cfg(target_arch = "x86_64")]
mod frame;
#[cfg(target_arch = "x86_64")]
mod nan;
#[cfg(target_arch = "x86_64")]
mod native;
#[cfg(target_arch = "x86_64")]
mod notes;
#[cfg(target_arch = "x86_64")]
mod pool;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod seat;

#[cfg(target_arch = "x86_64")]
pub use native::Compiled;

#[cfg(not(target_arch = "x86_64"))]
mod absent;
#[cfg(not(target_arch = "x86_64"))]
pub use absent::Compiled;

mod ready;
pub use ready::{Decoded, Ready};

use thiserror::Error;

/// Steps of a kernel that is compiled, at most: compiling takes a few microseconds for each.
pub const MOST_STEPS: usize = 60_000;

/// Why a kernel is not compiled: the interpreter runs it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The host's processor does not have the instructions.
    #[error("the host does not have x86-64 with AVX-512 or AVX2 and FMA, or may not use them")]
    Host,
    /// The kernel is too large.
    #[error("the kernel is too large to be compiled")]
    TooLarge,
    /// The kernel names what it does not have: a mistake of its decoder's.
    #[error("the kernel was decoded wrongly")]
    Unsound,
    /// There is no memory for code.
    #[error("no memory for code: {0}")]
    Memory(String),
    /// An instruction could not be encoded: a mistake of this crate's.
    #[error("code could not be encoded: {0}")]
    Encoding(String),
}

/// How much of a kernel runs compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Steps that need the interpreter for faults at most.
    pub native: usize,
    /// Steps of the kernel.
    pub steps: usize,
    /// Bytes of code.
    pub bytes: usize,
}
