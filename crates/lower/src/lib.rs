//! From the kernel IR to the instruction sets of machines.
//!
//! [`legal`] makes words of all values and sequences of what a machine lacks; [`pmask`] writes
//! assembly for RISC-V with PMASK, [`prf`] for the predicate-register-file GPU; [`backend`] lists
//! them. What remains that a machine lacks is an error
//! that names it and the place; nothing is left out silently. A lowering is text for a machine's
//! assembler: this crate knows no machine's code.

mod advice;
pub mod backend;
pub mod legal;
pub mod linx;
pub mod nested;
pub mod pmask;
pub mod prf;
mod variables;

use flow::passes::PassError;
use ir::LocId;
use thiserror::Error;

pub use backend::{BACKENDS, Backend, Lowered, Request, Setting, SettingError, Settings};

/// Why a kernel has no form for a machine.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refused {
    /// The machine lacks something.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Its control flow cannot be put under predicates.
    #[error(transparent)]
    Pass(#[from] PassError),
}

impl Refused {
    /// Where.
    #[must_use]
    pub fn loc(&self) -> LocId {
        match self {
            Self::Missing(missing) => missing.loc,
            Self::Pass(error) => error.loc,
        }
    }
}

/// What a kernel needs and a machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the machine has no {what}")]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// Where it is needed.
    pub loc: LocId,
}
