//! `libcublas.so.12` and `.13`: the public cuBLAS interface (`cublas_v2.h`), computed on the host.
//!
//! Functions check their arguments as the documentation says of each, then submit work to the
//! handle's stream. Work copies operands, computes ([`linalg`]) and copies results. Numbers of 8
//! and 16 bits are computed with in `f32`, and rounded once. Math modes, atomics, workspaces and
//! algorithms are accepted, and change nothing.
//!
//! Functions that are not implemented are exported, too; they return `CUBLAS_STATUS_NOT_SUPPORTED`
//! and are recorded in the driver's event log. The interface before version 2 (`cublas.h`) is not
//! implemented.

mod batched;
mod checked;
pub mod exports;
mod extended;
mod factor;
mod handle;
mod level1;
mod level2;
mod level3;
mod settings;
mod status;
mod transfer;
mod xt;

pub use status::{Cublas, STATUSES};
