//! Checks of the clients' arguments, as the documentation of each function says; then the work.
//!
//! A matrix is an address and a leading dimension, a vector an address and a step.
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

pub(crate) mod batches;
pub(crate) mod matrices;
pub(crate) mod vectors;

/// An address in device memory, and a leading dimension or a step.
pub(crate) type Stepped = (u64, i64);
