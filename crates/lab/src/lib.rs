//! Launch files, buffers, runs, statistics and reports: the laboratory behind the command line.
//!
//! What a user writes (argument specifications, `.npy` files, launch files) becomes typed data here, with
//! errors that name the place, the reason and a way out; what a run gives back becomes reports here. Nothing in this
//! crate prints: the command line and the file tests decide where text goes.

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
