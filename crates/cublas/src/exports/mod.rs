//! The exported functions: names, arguments, and implementations.
//!
//! Pointers and handles are numbers here. Names that end in `_64` take integers of 64 bits.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]
#![allow(clippy::useless_conversion, reason = "integers have either width")]

use std::ffi::c_char;

use culibs::{DataType, Error, Outcome};
use linalg::Scalar;

/// Runs a call.
macro_rules! enter {
    ($name:ident, $arguments:expr, $body:expr) => {
        culibs::call::<$crate::Cublas>(cuda_abi::c_str!(stringify!($name)), $arguments, || $body)
    };
}

pub mod batches;
pub mod extended;
pub mod general;
pub mod level1;
pub mod level2;
pub mod level3;
pub mod missing;
pub mod xt;

/// The type of the parts of a number.
type Part<T> = <T as Scalar>::Real;

/// The first of the types of a mixed product: what it is computed in.
type First<T> = <T as Mixed>::First;
/// The type of its operands.
type Second<T> = <T as Mixed>::Second;
/// The type of its result.
type Third<T> = <T as Mixed>::Third;

/// Three types.
trait Mixed {
    type First;
    type Second;
    type Third;
}

impl<A, B, C> Mixed for (A, B, C) {
    type First = A;
    type Second = B;
    type Third = C;
}

/// The number of `CUDA_R_16F`.
const HALF: i32 = DataType::F16 as i32;

/// The values of `cublasMath_t`: modes, and a flag with them.
const MATH_MODES: &[i32] = &[0, 1, 2, 3, 4, 8, 16, 17, 18, 19, 20, 24];

/// Returns whether a type has 64 bits.
fn is_wide<T>() -> bool {
    size_of::<T>() == 8
}

/// Returns the type of scalars for a type to compute in (`cublasComputeType_t`) of real matrices.
fn scalar_of(compute: i32) -> Outcome<DataType> {
    match compute {
        64 | 65 => Ok(DataType::F16),
        68 | 69 | 74 | 75 | 77 | 78 => Ok(DataType::F32),
        70 | 71 => Ok(DataType::F64),
        72 | 73 => Ok(DataType::I32),
        _ => Err(Error::InvalidValue),
    }
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
extern "C" fn cublasGetStatusName(status: i32) -> *const c_char {
    crate::settings::status_name(status).as_ptr()
}

/// Describes a status.
#[unsafe(no_mangle)]
extern "C" fn cublasGetStatusString(status: i32) -> *const c_char {
    crate::settings::status_text(status).as_ptr()
}

/// Returns the version of the runtime API.
#[unsafe(no_mangle)]
extern "C" fn cublasGetCudartVersion() -> usize {
    crate::settings::runtime_version()
}

/// BLAS's handler of errors, which programs may call: does nothing.
#[unsafe(no_mangle)]
extern "C" fn cublasXerbla(_name: usize, _info: i32) {}

/// Returns whether a handle is valid, for cuBLASLt, whose functions take it, too. Not part of
/// cuBLAS's interface.
#[unsafe(no_mangle)]
extern "C" fn simtlab_cublas_handle(handle: u64) -> i32 {
    crate::handle::get(handle).is_ok().into()
}

/// Returns the names of all exported functions of cuBLAS's interface, and whether each is
/// implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let special = vec![
        "cublasGetStatusName",
        "cublasGetStatusString",
        "cublasGetCudartVersion",
        "cublasXerbla",
    ];
    let lists = [
        general::list(),
        level1::list(),
        level2::list(),
        level3::list(),
        batches::list(),
        extended::list(),
        xt::list(),
        special,
    ];
    let implemented = lists.into_iter().flatten().map(|name| (name, true));
    implemented.chain(missing::list().into_iter().map(|name| (name, false))).collect()
}
