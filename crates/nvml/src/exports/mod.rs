//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is NVIDIA's")]

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {{
        // Calls that fail are not recorded.
        let _ = $arguments;
        $crate::library::enter(|| $body)
    }};
}

pub mod general;
pub mod missing;

/// Returns the names of all exported functions that return a status, and whether each is
/// implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let implemented = general::list().into_iter().chain(general::outside());
    let implemented = implemented.map(|(name, _)| (name, true));
    implemented.chain(missing::names().into_iter().map(|name| (name, false))).collect()
}
