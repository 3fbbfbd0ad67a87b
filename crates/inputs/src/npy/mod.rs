//! Reader and writer of NumPy's `.npy` files.
//!
//! The format is NumPy's own (`numpy.lib.format`): the magic bytes `\x93NUMPY`, a version, the
//! length of a header, the header (a Python dictionary with `descr`, `fortran_order` and `shape`,
//! nothing else), then the elements. The reader supports versions 1.0, 2.0 and 3.0, both byte
//! orders, C and Fortran order. The writer's output equals NumPy's byte for byte.
//!
//! | `descr` | element type |
//! |---|---|
//! | `u1` `u2` `u4` `u8` | `u8` to `u64` |
//! | `i1` `i2` `i4` `i8` | `s8` to `s64` |
//! | `f2` `f4` `f8` | `f16` `f32` `f64` |
//! | `b1` | `u8` (0 and 1) |
//! | `V1` `V2` `V4` `V8` | `b8` to `b64`; `V2` is how bfloat16 arrays are stored |
//!
//! Invariant: memory is allocated for bytes that were read, never for a size in a header alone, and
//! only up to the caller's cap.

mod error;
mod header;
mod read;
mod write;

pub use error::NpyError;
pub use header::Header;
pub use read::{load, read};
pub use write::{save, write};
#[cfg(test)]
mod tests;
