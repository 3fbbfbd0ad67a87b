//! The compiled tier of the fast engine: x86-64 code with AVX-512 or AVX2, made from decoded
//! kernels.
//!
//! A kernel that `fast` has decoded becomes code that runs turns of the warps of a CTA on the
//! interpreter's own state. Rows, masks and scalars stay where the interpreter keeps them.
//! Reconvergence stacks and waits at barriers live in the warps' contexts (`warp_context`) and are
//! written back before the interpreter reads them. Code therefore calls the interpreter, at exactly
//! the current place and for exactly the active lanes, for everything that it does not do itself:
//! steps that are not compiled, switches, some exits of threads, and accesses that fail a check.
//! Any part of the instruction set may be compiled; results, faults, the schedule and the counts
//! are the interpreter's.
//!
//! Code exists for x86-64 hosts with AVX-512 (F, BW, DQ, VL), or with AVX2 and FMA; other hosts run
//! the interpreter. Both levels share the emitter on general registers (`emit`); each level of
//! vector instructions is one implementation of `emit::Vectors`, and leaves to the interpreter what
//! it cannot do. Pages with code are never writable and executable at the same time. All unsafe
//! code is in one module, behind [`Compiled`], which keeps a kernel and its code together.

#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod check;
#[cfg(target_arch = "x86_64")]
mod counters;
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
mod patterns;
#[cfg(target_arch = "x86_64")]
mod pool;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod warp_context;

#[cfg(target_arch = "x86_64")]
pub use native::Compiled;

#[cfg(not(target_arch = "x86_64"))]
mod unsupported;
#[cfg(not(target_arch = "x86_64"))]
pub use unsupported::Compiled;

mod ready;
pub use ready::{Decoded, Ready};

use thiserror::Error;

/// Most steps of a kernel that is compiled: compiling takes a few microseconds per step.
pub const MAX_STEPS: usize = 60_000;

/// The reason that a kernel is not compiled; the interpreter runs it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The host's processor lacks the instructions.
    #[error("the host does not have x86-64 with AVX-512 or AVX2 and FMA, or may not use them")]
    Host,
    /// The kernel is too large.
    #[error("the kernel is too large to be compiled")]
    TooLarge,
    /// The kernel names rows, blocks or steps that do not exist: an error of its decoder.
    #[error("the kernel was decoded wrongly")]
    Unsound,
    /// The host has no memory for code.
    #[error("no memory for code: {0}")]
    Memory(String),
    /// An instruction could not be encoded: an error of this crate.
    #[error("code could not be encoded: {0}")]
    Encoding(String),
}

/// How much of a kernel runs compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Steps that code executes; accesses that fail a check still call the interpreter.
    pub native: usize,
    /// Steps of the kernel.
    pub steps: usize,
    /// Bytes of code.
    pub bytes: usize,
}
