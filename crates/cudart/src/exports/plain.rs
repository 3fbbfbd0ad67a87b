//! Functions whose result does not become the last error: access to errors, and registration before
//! `main`.

use std::ffi::c_char;

use cuda_abi::host::Ptr;
use cuda_abi::{Status, cudaChannelFormatDesc};

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
    Status(error).runtime_name().as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: i32) -> *const c_char {
    Status(error).runtime_text().as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: i32,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f: kind }
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

/// Registers a kernel. Compilers pass null for the sizes of threads and blocks.
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

/// Loads a module with managed variables, before the host first uses one. Returns 0 if that fails.
/// Because the program would then crash at that use without a message, the reason is printed.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(binary: u64) -> c_char {
    match registry::load_binary(binary) {
        Ok(()) => 1,
        Err(error) => {
            let name = error.runtime_name().to_string_lossy();
            state::print_error(&format!(
                "a module with __managed__ variables cannot be loaded: {name}"
            ));
            state::note(error);
            0
        }
    }
}

/// Registers a variable that host and device share. The host accesses it through a pointer.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterManagedVar(
    binary: u64,
    pointer: Ptr,
    _device: Ptr,
    name: Ptr,
    _external: i32,
    _size: usize,
    _constant: i32,
    _global: i32,
) {
    registry::add_managed(binary, pointer, name);
}

cuda_abi::exports_list! {
    cudaGetLastError cudaPeekAtLastError cudaGetErrorName cudaGetErrorString cudaCreateChannelDesc
    __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary
    __cudaRegisterFunction __cudaRegisterVar __cudaRegisterManagedVar __cudaInitModule
}
