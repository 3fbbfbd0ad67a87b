//! The exported functions: names, arguments, and implementations.
//!
//! Pointers and handles are numbers here. Names with `_ptds` and `_ptsz` are for programs compiled
//! for a default stream per thread. Arguments that differ between versions of the interface are
//! words, which each version reads in its own way.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is CUDA's")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        $crate::state::call(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

/// Exports functions that return a status.
macro_rules! exports {
    ($($rows:tt)*) => {
        cuda_abi::exports! { enter; $($rows)* }
    };
}

pub mod arrays;
pub mod code;
pub mod general;
pub mod graphs;
pub mod memory;
pub mod missing;
pub mod plain;

/// Returns the names of functions and the layouts of their arguments.
#[must_use]
pub fn argument_layouts() -> Vec<cuda_abi::ArgumentLayout> {
    let lists = [
        arrays::argument_layouts(),
        general::argument_layouts(),
        graphs::argument_layouts(),
        memory::argument_layouts(),
        code::argument_layouts(),
    ];
    lists.concat()
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let implemented = [
        arrays::list(),
        general::list(),
        graphs::list(),
        memory::list(),
        code::list(),
        plain::list(),
    ];
    let implemented = implemented.into_iter().flatten().map(|(name, _)| (name, true));
    implemented.chain(missing::list().into_iter().map(|(name, _)| (name, false))).collect()
}
