//! The exported functions by name, except those that return addresses of functions.

use super::{arrays, callbacks, code, copies, free, general, graphs, memory, missing, tensor};

/// Iterates over the names and addresses of the implemented functions.
pub(super) fn implemented() -> impl Iterator<Item = (&'static str, usize)> {
    let lists = [
        general::list(),
        memory::list(),
        copies::list(),
        code::list(),
        graphs::list(),
        free::list(),
        callbacks::list(),
        tensor::list(),
        arrays::list(),
    ];
    lists.into_iter().flatten()
}

/// Iterates over the names of the implemented functions and the layouts of their arguments.
pub(super) fn argument_layouts() -> impl Iterator<Item = cuda_abi::ArgumentLayout> {
    let lists = [
        general::argument_layouts(),
        memory::argument_layouts(),
        copies::argument_layouts(),
        code::argument_layouts(),
        graphs::argument_layouts(),
        callbacks::argument_layouts(),
        tensor::argument_layouts(),
        arrays::argument_layouts(),
    ];
    lists.into_iter().flatten()
}

/// Iterates over the names and addresses of the functions that are not implemented.
pub(super) fn missing() -> impl Iterator<Item = (&'static str, usize)> {
    missing::list().into_iter()
}
