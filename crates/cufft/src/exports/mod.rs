//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        culibs::call::<$crate::Cufft>(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

pub mod general;
pub mod missing;

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let implemented = general::list().into_iter().map(|name| (name, true));
    implemented.chain(missing::list().into_iter().map(|name| (name, false))).collect()
}
