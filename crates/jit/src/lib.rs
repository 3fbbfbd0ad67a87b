//! The compiled tier of the fast engine: x86-64 code with AVX-512 or AVX2, or code by Cranelift on
//! aarch64, made from decoded kernels.
//!
//! A kernel that `fast` has decoded is translated into the vector IR (`vector`). Instructions on
//! virtual registers are selected for it (`select`), and registers are allocated (`vcode`). The
//! code runs turns of the warps of a CTA. Values are in registers and in the warps' seats, and
//! where warps stand is in their contexts (`warp_context`); both are written back where the
//! interpreter asks for them. Code calls the interpreter, at exactly the current place and for
//! exactly the active lanes, for everything that it does not do itself: steps without a form and
//! accesses that fail a check. Any part of the instruction set may be compiled; results, faults,
//! the schedule and the counts are the interpreter's.
//!
//! Code exists for x86-64 hosts with AVX-512 (F, BW, DQ, VL), or with AVX2 and FMA, and for aarch64
//! hosts (`cranelift`), but for launches in detail; other hosts run the interpreter. Pages with
//! code are never writable and executable at the same time. All unsafe code is in one module,
//! behind [`Compiled`], which keeps a kernel and its code together.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod access_groups;
#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod check;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod counters;
#[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
mod cranelift;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod features;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod frame;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod histograms;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod layout;
mod line_totals;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod machine_code;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod native;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pool;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod screen_log;
#[cfg(target_arch = "x86_64")]
mod select;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod translated;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(not(test), allow(dead_code, unused_imports, reason = "its tests use the rest"))]
mod vcode;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod warp_context;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use native::Compiled;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unsupported;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use unsupported::Compiled;

mod ready;
pub use ready::{Decoded, Deferred, Ready};

use thiserror::Error;

/// Makes debug builds examine the register allocations of the calling thread from now on, or no
/// longer, which takes longer than compiling. Other builds do not. For tests.
#[doc(hidden)]
pub fn check_allocations(checked: bool) {
    #[cfg(target_arch = "x86_64")]
    vcode::check_allocations(checked);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = checked;
}

/// Lets this process have compiled code at the portable level, by Cranelift, which is otherwise
/// only on aarch64. For tests.
#[doc(hidden)]
pub fn allow_portable_code() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    features::allow_portable_code();
}

/// Most steps of a kernel that is compiled: compiling takes a few microseconds per step.
pub const MAX_STEPS: usize = 60_000;

/// The reason that a kernel is not compiled; the interpreter runs it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The host's processor lacks the instructions.
    #[error(
        "the host does not have x86-64 with AVX-512 or AVX2 and FMA, or aarch64, or may not use them"
    )]
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
    /// The kernel has no form in the vector IR.
    #[error("the kernel has no form in the vector IR: {0}")]
    Form(String),
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
