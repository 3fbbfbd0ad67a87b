//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is NVIDIA's")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Outcome, Status};

/// Runs a call. A panic is `CUPTI_ERROR_UNKNOWN`.
fn run(body: impl FnOnce() -> Outcome) -> i32 {
    let end = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::UNKNOWN));
    end.err().unwrap_or(Status::SUCCESS).0
}

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {{
        // Calls that fail are not recorded.
        let _ = $arguments;
        $crate::exports::run(|| $body)
    }};
}

pub mod general;
pub mod missing;

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let implemented = general::list().into_iter().map(|(name, _)| (name, true));
    implemented.chain(missing::names().into_iter().map(|name| (name, false))).collect()
}
