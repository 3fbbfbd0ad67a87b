//! What users write, as typed data: argument specifications, arrays, launch files.
//!
//! The crate reads text and files and checks all that can be checked without a machine. Errors are
//! diagnostics that give the place, the reason and a remedy. It knows no machine: a kernel is a
//! list of parameters ([`kernel`]), and [`bind`](mod@bind) encodes arguments for them.

pub mod argspec;
pub mod array;
pub mod bind;
pub mod elem;
pub mod file;
pub mod kernel;
pub mod launch;
pub mod limits;
pub mod npy;
pub mod suite;
pub mod tolerance;
mod toml_reader;

pub use argspec::{ArgSpec, ArgValue, BufferSpec};
pub use array::Array;
pub use elem::{ElemType, Scalar};
pub use limits::Limits;
