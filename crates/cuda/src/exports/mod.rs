//! The exported functions: names, arguments, and implementations.
//!
//! Pointers and handles are numbers here: this crate does not dereference a client's pointer,
//! except to call a function that the client passes. Names with `_ptds` and `_ptsz` are for
//! programs compiled for a default stream per thread.
#![allow(unsafe_code, reason = "functions with C names, and calls of functions that clients give")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is CUDA's")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

/// Enters the driver.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        $crate::entry::enter_with(stringify!($name), $arguments, $body)
    };
}

/// Exports functions that enter the driver.
macro_rules! exports {
    ($($rows:tt)*) => {
        cuda_abi::exports! { enter; $($rows)* }
    };
}

pub mod arrays;
pub mod callbacks;
pub mod code;
pub mod copies;
pub mod entry_points;
pub mod free;
pub mod general;
pub mod graphs;
pub mod memory;
pub mod missing;
mod table;
pub mod tensor;

/// Returns the names of functions and the layouts of their arguments.
#[must_use]
pub fn argument_layouts() -> Vec<cuda_abi::ArgumentLayout> {
    table::argument_layouts().collect()
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let implemented = table::implemented().chain(entry_points::list());
    let implemented = implemented.map(|(name, _)| (name, true));
    implemented.chain(table::missing().map(|(name, _)| (name, false))).collect()
}
