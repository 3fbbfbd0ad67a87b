//! `libcusparse.so.12`: the generic part of the public cuSPARSE interface (`cusparse.h`), with its
//! conversions and sorts, computed on the host.
//!
//! Descriptors say where a matrix is and how it is stored. Work reads it as a list of entries,
//! checks its indices, and computes. Numbers of 8 and 16 bits are computed with in `f32`, and
//! rounded once. Buffers are accepted and not used.
//!
//! Functions that are not implemented, among them the older ones of blocked formats, are exported,
//! too; they return `CUSPARSE_STATUS_NOT_SUPPORTED` and are recorded in the driver's event log.
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

mod bands;
mod blocks;
mod convert;
mod entries;
pub mod exports;
mod handle;
mod incomplete;
mod legacy;
mod objects;
mod products;
mod solve;
mod spgemm;
mod status;

pub use status::{Cusparse, STATUSES};
