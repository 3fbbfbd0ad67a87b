//! Kernels that end, have no race, and observe neither the schedule nor how lanes converge:
//! whatever runs them must store the same words.
//!
//! The kernel has one parameter, `out: u64 global`, and is launched with one-dimensional grids and
//! blocks. Thread `g` of the grid stores into the [`KERNEL_WORDS`] 32-bit words at `out + 4 *
//! KERNEL_WORDS * g`, which hold 0 before. Loops end because each jump back uses up some of the
//! thread's fuel.

mod build;
mod reference;

use super::Rng;
use crate::module::Module;

pub use reference::{Unfinished, expected};

/// Words that each thread stores into.
pub const KERNEL_WORDS: usize = 4;

/// What the control flow of a kernel may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelShape {
    /// Nested conditionals and loops, each with one entry and one exit.
    Structured,
    /// Loops may also be left or gone on with from within, and functions and threads may end early.
    Breaks,
    /// Any graph: branches anywhere, into loops as well.
    Graph,
}

impl KernelShape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Structured, Self::Breaks, Self::Graph];
}

/// A random kernel `random` with functions that it calls. It is verified.
#[must_use]
pub fn random_kernel(rng: &mut Rng, shape: KernelShape) -> Module {
    build::module(rng, shape)
}
