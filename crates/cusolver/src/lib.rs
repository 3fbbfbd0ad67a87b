//! `libcusolver.so.11` and `.12`: the dense part of the public cuSOLVER interface
//! (`cusolverDn.h`), computed on the host ([`linalg`]).
//!
//! Workspaces are accepted and not used. Functions that are not implemented, among them all of the
//! sparse, refactorisation and multi-device parts, are exported, too; they return
//! `CUSOLVER_STATUS_NOT_SUPPORTED` and are recorded in the driver's event log.

#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

mod eigen;
pub mod exports;
mod factor;
mod handle;
mod infos;
mod nonsymmetric;
mod ordering;
mod permutation;
mod singular;
mod sparse;
mod status;

pub use status::{Cusolver, STATUSES};
