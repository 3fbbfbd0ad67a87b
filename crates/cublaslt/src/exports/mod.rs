//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

use std::ffi::c_char;

use culibs::device::put_host;
use culibs::{Error, Interface as _, Outcome, Ptr};

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        culibs::call::<$crate::CublasLt>(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

pub mod general;
pub mod missing;

/// The version: major, minor, patch.
fn parts() -> [i32; 3] {
    match culibs::driver::own_version() {
        Some(13) => [13, 0, 0],
        _ => [12, 9, 1],
    }
}

fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| parts().get(kind).copied());
    put_host(out, part.ok_or(Error::InvalidValue)?)
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetStatusName(status: i32) -> *const c_char {
    crate::CublasLt::name(status).as_ptr()
}

/// Describes a status: by its name.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetStatusString(status: i32) -> *const c_char {
    crate::CublasLt::name(status).as_ptr()
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    let [major, minor, patch] = parts();
    (major * 10_000 + minor * 100 + patch) as usize
}

/// Returns the version of the runtime API.
#[unsafe(no_mangle)]
extern "C" fn cublasLtGetCudartVersion() -> usize {
    if parts()[0] == 13 { 13_000 } else { 12_090 }
}

/// Returns the instructions of the host's processor that may be used: the mask has no effect.
#[unsafe(no_mangle)]
extern "C" fn cublasLtDisableCpuInstructionsSetMask(_mask: u32) -> u32 {
    0
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let special = [
        "cublasLtGetStatusName",
        "cublasLtGetStatusString",
        "cublasLtGetVersion",
        "cublasLtGetCudartVersion",
        "cublasLtDisableCpuInstructionsSetMask",
    ];
    let implemented = general::list().into_iter().chain(special).map(|name| (name, true));
    implemented.chain(missing::list().into_iter().map(|name| (name, false))).collect()
}
