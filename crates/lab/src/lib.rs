//! The laboratory behind the command line: launch files, buffers, runs, statistics and reports.
//!
//! The crate turns user input (argument specifications, `.npy` files, launch files) into typed
//! data, with diagnostics that give the place, the reason and a remedy, and turns the results of
//! runs into reports. It never prints: the command line and the file tests decide where text goes.

pub mod argspec;
pub mod array;
pub mod bind;
pub mod compare;
pub mod divergence;
pub mod elem;
pub mod html;
pub mod launch;
pub mod limits;
pub mod machine;
pub mod machines;
pub mod npy;
pub mod predicate;
pub mod probe;
pub mod render;
pub mod run;
pub mod show;
pub mod stats;
mod toml_reader;

pub use argspec::{ArgSpec, ArgValue, BufferSpec};
pub use array::Array;
pub use elem::{ElemType, Scalar};
pub use limits::Limits;
