//! Functions that give something else than a status that is remembered: errors themselves, and registration before `main`.

use std::ffi::c_char;

use crate::device::ChannelFormat;
use crate::error::Error;
use crate::host::Ptr;
use crate::{registry, state};

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> i32 {
    let last = state::last();
    state::forget();
    last.0
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> i32 {
    state::last().0
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: i32) -> *const c_char {
    Error(error).name().as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: i32) -> *const c_char {
    Error(error).about().as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: i32,
) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(image: Ptr) -> u64 {
    registry::add_binary(image)
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_binary: u64) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(binary: u64) {
    registry::remove_binary(binary);
}

/// Sizes of threads and blocks are null in what compilers write.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFunction(
    binary: u64,
    host: Ptr,
    _device: Ptr,
    name: Ptr,
    _threads: i32,
    _thread: Ptr,
    _block: Ptr,
    _block_size: Ptr,
    _grid_size: Ptr,
    _warp_size: Ptr,
) {
    registry::add_kernel(binary, host, name);
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    binary: u64,
    host: Ptr,
    _device: Ptr,
    name: Ptr,
    _external: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    registry::add_variable(binary, host, name);
}

/// Whether the module's managed variables are ready: there are none.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_binary: u64) -> c_char {
    1
}

/// Variables that host and device share by name: their first use would end the program, so it ends here, with the reason.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterManagedVar(
    _binary: u64,
    _host: Ptr,
    _device: Ptr,
    name: Ptr,
    _external: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    let name = crate::host::name(name).unwrap_or_default();
    let name = String::from_utf8_lossy(&name).into_owned();
    crate::driver::note_unsupported(c"__managed__ variables");
    state::say(&format!(
        "the variable `{name}` is __managed__, which is not supported: allocate it with cudaMallocManaged"
    ));
    state::note(Error::NOT_SUPPORTED);
}

/// Names of these functions.
pub(super) const NAMES: &[&str] = &[
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaGetErrorName",
    "cudaGetErrorString",
    "cudaCreateChannelDesc",
    "__cudaRegisterFatBinary",
    "__cudaRegisterFatBinaryEnd",
    "__cudaUnregisterFatBinary",
    "__cudaRegisterFunction",
    "__cudaRegisterVar",
    "__cudaRegisterManagedVar",
    "__cudaInitModule",
];
