//! From the kernel IR to the instruction sets of machines.
//!
//! [`prf`] writes assembly for the predicate-register-file GPU. What a machine lacks is an error
//! that names it and the place; nothing is left out silently. A lowering is text for a machine's
//! assembler: this crate knows no machine's code.

pub mod nested;
pub mod prf;

use ir::LocId;
use thiserror::Error;

/// What a kernel needs and a machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the machine has no {what}")]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// Where it is needed.
    pub loc: LocId,
}
