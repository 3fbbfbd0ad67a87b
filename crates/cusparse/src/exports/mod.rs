//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]

use std::ffi::c_char;

use culibs::device::put_host;
use culibs::{DataType, Error, Interface as _, Outcome, Ptr};

use crate::objects::{DENSE, SPARSE, VECTORS, find};

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        culibs::call::<$crate::Cusparse>(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

/// Calls a function with the type that a number (`cudaDataType`) is.
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

pub mod descriptors;
pub mod generic;
pub mod lists;
pub mod missing;
pub mod systems;

/// Returns the type to compute in for elements of a type.
fn wide_type(dtype: i32) -> Outcome<i32> {
    use DataType as D;
    Ok(match DataType::of(dtype)? {
        D::F64 => D::F64,
        D::C64 => D::C64,
        D::C32 | D::C16 | D::CBF16 => D::C32,
        _ => D::F32,
    } as i32)
}

fn vector_type(descriptor: u64) -> Outcome<i32> {
    wide_type(find(&VECTORS, descriptor)?.dtype as i32)
}

fn matrix_type(descriptor: u64) -> Outcome<i32> {
    wide_type(find(&DENSE, descriptor)?.dtype as i32)
}

fn sparse_type(descriptor: u64) -> Outcome<i32> {
    wide_type(find(&SPARSE, descriptor)?.dtype as i32)
}

/// The version: major, minor, patch.
const VERSION: [i32; 3] = [12, 5, 10];

fn version(handle: u64, out: Ptr) -> Outcome {
    crate::handle::nothing(handle)?;
    let [major, minor, patch] = VERSION;
    put_host(out, major * 1000 + minor * 100 + patch)
}

fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| VERSION.get(kind).copied());
    put_host(out, part.ok_or(Error::InvalidValue)?)
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetErrorName(status: i32) -> *const c_char {
    crate::Cusparse::name(status).as_ptr()
}

/// Describes a status.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetErrorString(status: i32) -> *const c_char {
    let text = match status {
        0 => c"success",
        1 => c"initialization error",
        2 => c"out of memory",
        3 => c"invalid value",
        4 => c"architecture mismatch",
        6 => c"kernel launch failure",
        7 => c"internal error",
        8 => c"matrix type not supported",
        9 => c"zero pivot",
        10 => c"operation not supported",
        11 => c"insufficient resources",
        _ => c"unknown error",
    };
    text.as_ptr()
}

/// Returns the type of a matrix.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetMatType(descriptor: u64) -> i32 {
    crate::legacy::field(descriptor, 0)
}

/// Returns the half of a matrix that is stored.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetMatFillMode(descriptor: u64) -> i32 {
    crate::legacy::field(descriptor, 1)
}

/// Returns whether the diagonal of a matrix is taken for ones.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetMatDiagType(descriptor: u64) -> i32 {
    crate::legacy::field(descriptor, 2)
}

/// Returns the first index of a matrix.
#[unsafe(no_mangle)]
extern "C" fn cusparseGetMatIndexBase(descriptor: u64) -> i32 {
    crate::legacy::field(descriptor, 3)
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let special = vec![
        "cusparseGetErrorName",
        "cusparseGetErrorString",
        "cusparseGetMatType",
        "cusparseGetMatFillMode",
        "cusparseGetMatDiagType",
        "cusparseGetMatIndexBase",
    ];
    let lists = [descriptors::list(), generic::list(), lists::list(), systems::list(), special];
    let implemented = lists.into_iter().flatten().map(|name| (name, true));
    implemented.chain(missing::list().into_iter().map(|name| (name, false))).collect()
}
