//! `libcublasLt.so.12` and `.13`: the public cuBLASLt interface (`cublasLt.h`), computed on the
//! host.
//!
//! Descriptors are lists of attributes. There is one algorithm, which heuristics
//! answer if the product is one that is there. Matrices are in column or row order. Groups and
//! emulated arithmetic are exported, and not implemented.

mod algorithm;
mod epilogue;
pub mod exports;
mod handle;
mod layout;
mod matmul;
mod objects;
mod status;
mod transform;

pub use status::{CublasLt, STATUSES};
