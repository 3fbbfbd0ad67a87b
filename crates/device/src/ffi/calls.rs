//! The functions of the driver that this crate calls, with their types from the public interface.
#![allow(unsafe_code, reason = "functions of another library are found by name")]
#![allow(non_snake_case, reason = "names as the driver API writes them")]

use std::ffi::{CStr, c_char, c_float, c_int, c_uint, c_void};

/// A result: 0 is success.
pub(super) type Status = c_int;
/// A context, module, function, event or stream.
type Handle = *mut c_void;
/// Gives a text for a result.
pub(super) type ErrorText = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;

macro_rules! calls {
    ($($field:ident $symbol:literal: $ty:ty;)+) => {
        /// Functions of an open library.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: $ty,)+
        }

        impl Calls {
            /// Finds all functions by `address`, which gives 0 for those that are missing.
            ///
            /// # Errors
            /// The first one that is missing.
            pub(super) fn load(
                address: &dyn Fn(&CStr) -> usize,
            ) -> Result<Self, &'static str> {
                Ok(Self {
                    $($field: {
                        let name = CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes());
                        let at = name.map_or(0, address);
                        if at == 0 {
                            return Err($symbol);
                        }
                        // SAFETY: the public interface gives the function of this name this type.
                        unsafe { std::mem::transmute::<usize, $ty>(at) }
                    },)+
                })
            }
        }
    };
}

calls! {
    cuInit "cuInit": unsafe extern "C" fn(c_uint) -> Status;
    cuDriverGetVersion "cuDriverGetVersion": unsafe extern "C" fn(*mut c_int) -> Status;
    cuGetErrorName "cuGetErrorName": ErrorText;
    cuGetErrorString "cuGetErrorString": ErrorText;
    cuDeviceGetCount "cuDeviceGetCount": unsafe extern "C" fn(*mut c_int) -> Status;
    cuDeviceGet "cuDeviceGet": unsafe extern "C" fn(*mut c_int, c_int) -> Status;
    cuDeviceGetName "cuDeviceGetName": unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Status;
    cuDeviceGetUuid "cuDeviceGetUuid": unsafe extern "C" fn(*mut u8, c_int) -> Status;
    cuDeviceTotalMem_v2 "cuDeviceTotalMem_v2":
        unsafe extern "C" fn(*mut usize, c_int) -> Status;
    cuDeviceGetAttribute "cuDeviceGetAttribute":
        unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Status;
    cuDevicePrimaryCtxRetain "cuDevicePrimaryCtxRetain":
        unsafe extern "C" fn(*mut Handle, c_int) -> Status;
    cuDevicePrimaryCtxRelease_v2 "cuDevicePrimaryCtxRelease_v2":
        unsafe extern "C" fn(c_int) -> Status;
    cuCtxSetCurrent "cuCtxSetCurrent": unsafe extern "C" fn(Handle) -> Status;
    cuCtxSynchronize "cuCtxSynchronize": unsafe extern "C" fn() -> Status;
    cuMemGetInfo_v2 "cuMemGetInfo_v2": unsafe extern "C" fn(*mut usize, *mut usize) -> Status;
    cuMemAlloc_v2 "cuMemAlloc_v2": unsafe extern "C" fn(*mut u64, usize) -> Status;
    cuMemFree_v2 "cuMemFree_v2": unsafe extern "C" fn(u64) -> Status;
    cuMemcpyHtoD_v2 "cuMemcpyHtoD_v2": unsafe extern "C" fn(u64, *const c_void, usize) -> Status;
    cuMemcpyDtoH_v2 "cuMemcpyDtoH_v2": unsafe extern "C" fn(*mut c_void, u64, usize) -> Status;
    cuModuleLoadDataEx "cuModuleLoadDataEx": unsafe extern "C" fn(
        *mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void,
    ) -> Status;
    cuModuleUnload "cuModuleUnload": unsafe extern "C" fn(Handle) -> Status;
    cuModuleGetFunction "cuModuleGetFunction":
        unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Status;
    cuFuncSetAttribute "cuFuncSetAttribute":
        unsafe extern "C" fn(Handle, c_int, c_int) -> Status;
    cuLaunchKernel "cuLaunchKernel": unsafe extern "C" fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void,
        *mut *mut c_void,
    ) -> Status;
    cuEventCreate "cuEventCreate": unsafe extern "C" fn(*mut Handle, c_uint) -> Status;
    cuEventDestroy_v2 "cuEventDestroy_v2": unsafe extern "C" fn(Handle) -> Status;
    cuEventRecord "cuEventRecord": unsafe extern "C" fn(Handle, Handle) -> Status;
    cuEventElapsedTime "cuEventElapsedTime":
        unsafe extern "C" fn(*mut c_float, Handle, Handle) -> Status;
}
