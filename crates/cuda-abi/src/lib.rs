//! The binary interface of CUDA's driver API (`cuda.h`) and runtime API (`driver_types.h`): what
//! the libraries that provide these interfaces share.
//!
//! Structures and constants have the names of the headers, so that a reader finds them there.
//! [`layouts`] and [`NUMBERS`] list them; the tests compare both with real headers.
//!
//! Clients pass addresses. [`host`] copies values from and to them with checks; nothing here
//! dereferences a pointer.

mod declare;
mod driver;
pub mod host;
mod layout;
mod numbers;
mod own;
mod runtime;
mod status;

pub use driver::*;
pub use hostmem::{Argument, Arguments, layout as argument_layout};
pub use layout::{Abi, Extent, Layout, read_at, write_at};
pub use numbers::*;
pub use own::*;
pub use runtime::*;
pub use status::{Outcome, Status};

/// Where the arguments of a function lie in a structure of C that has them in their order, and its
/// bytes.
pub type ArgumentLayout = (&'static str, (Vec<usize>, usize));

/// Returns the layouts of all structures.
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    DRIVER_LAYOUTS.iter().chain(RUNTIME_LAYOUTS)
}
