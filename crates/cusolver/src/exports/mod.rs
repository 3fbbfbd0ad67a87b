//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

use culibs::device::put_host;
use culibs::{DataType, Error, Outcome, Ptr};

use crate::factor::Pivots;

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        culibs::call::<$crate::Cusolver>(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

/// Calls a function with the type that an argument (`cudaDataType`) is.
macro_rules! in_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        match culibs::DataType::of($dtype)? {
            culibs::DataType::F32 => {
                type $T = f32;
                $body
            }
            culibs::DataType::F64 => {
                type $T = f64;
                $body
            }
            culibs::DataType::C32 => {
                type $T = linalg::c32;
                $body
            }
            culibs::DataType::C64 => {
                type $T = linalg::c64;
                $body
            }
            _ => Err(culibs::Error::NotSupported),
        }
    };
}

pub mod factors;
pub mod general;
pub mod missing;
pub mod sparse;
pub mod spectra;

fn narrow(at: u64) -> Pivots {
    Pivots { at, wide: false }
}

fn wide(at: u64) -> Pivots {
    Pivots { at, wide: true }
}

/// Checks that matrices have one type.
fn same(types: &[i32]) -> Outcome {
    if types.windows(2).all(|w| w[0] == w[1]) { Ok(()) } else { Err(Error::NotSupported) }
}

/// Checks that values have the type of the parts of a matrix's elements.
fn real_of(matrix: i32, values: i32) -> Outcome {
    let real = match DataType::of(matrix)? {
        DataType::F32 | DataType::C32 => DataType::F32,
        _ => DataType::F64,
    };
    if DataType::of(values)? == real { Ok(()) } else { Err(Error::NotSupported) }
}

/// The version: major, minor, patch.
fn parts() -> [i32; 3] {
    match culibs::driver::own_version() {
        Some(12) => [12, 0, 0],
        _ => [11, 7, 5],
    }
}

fn version(out: Ptr) -> Outcome {
    let [major, minor, patch] = parts();
    put_host(out, major * 1000 + minor * 100 + patch)
}

fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| parts().get(kind).copied());
    put_host(out, part.ok_or(Error::InvalidValue)?)
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let lists = [general::list(), factors::list(), spectra::list(), sparse::list()];
    let implemented = lists.into_iter().flatten().map(|name| (name, true));
    implemented.chain(missing::list().into_iter().map(|name| (name, false))).collect()
}
