//! Results of driver calls: one table of codes, names and descriptions.

/// A `CUresult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of a call's implementation.
pub(crate) type Outcome<T = ()> = Result<T, Status>;

macro_rules! statuses {
    ($($code:literal $name:ident $full:literal $about:literal)+) => {
        impl Status {
            $(
                #[doc = $about]
                pub const $name: Self = Self($code);
            )+
        }

        /// Codes with names and descriptions, as C strings.
        const ALL: &[(i32, &std::ffi::CStr, &std::ffi::CStr)] = &[
            $(($code, cstr(concat!($full, "\0")), cstr(concat!($about, "\0"))),)+
        ];
    };
}

/// Converts a literal that ends with a null byte.
const fn cstr(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

statuses! {
    0 SUCCESS "CUDA_SUCCESS" "no error"
    1 INVALID_VALUE "CUDA_ERROR_INVALID_VALUE" "invalid argument"
    2 OUT_OF_MEMORY "CUDA_ERROR_OUT_OF_MEMORY" "out of memory"
    3 NOT_INITIALIZED "CUDA_ERROR_NOT_INITIALIZED" "initialization error"
    4 DEINITIALIZED "CUDA_ERROR_DEINITIALIZED" "driver shutting down"
    34 STUB_LIBRARY "CUDA_ERROR_STUB_LIBRARY" "driver is a stub library"
    46 DEVICE_UNAVAILABLE "CUDA_ERROR_DEVICE_UNAVAILABLE" "device is busy or unavailable"
    100 NO_DEVICE "CUDA_ERROR_NO_DEVICE" "no device is detected"
    101 INVALID_DEVICE "CUDA_ERROR_INVALID_DEVICE" "invalid device ordinal"
    200 INVALID_IMAGE "CUDA_ERROR_INVALID_IMAGE" "device kernel image is invalid"
    201 INVALID_CONTEXT "CUDA_ERROR_INVALID_CONTEXT" "invalid device context"
    208 ALREADY_MAPPED "CUDA_ERROR_ALREADY_MAPPED" "resource already mapped"
    209 NO_BINARY_FOR_GPU "CUDA_ERROR_NO_BINARY_FOR_GPU"
        "no kernel image is available for execution on the device"
    218 INVALID_PTX "CUDA_ERROR_INVALID_PTX" "a PTX compilation failed"
    226 JIT_COMPILER_NOT_FOUND "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"
        "PTX JIT compiler library not found"
    300 INVALID_SOURCE "CUDA_ERROR_INVALID_SOURCE" "device kernel image is invalid"
    301 FILE_NOT_FOUND "CUDA_ERROR_FILE_NOT_FOUND" "file not found"
    302 SYMBOL_NOT_FOUND "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"
        "shared object symbol not found"
    304 OPERATING_SYSTEM "CUDA_ERROR_OPERATING_SYSTEM"
        "OS call failed or operation not supported on this OS"
    400 INVALID_HANDLE "CUDA_ERROR_INVALID_HANDLE" "invalid resource handle"
    401 ILLEGAL_STATE "CUDA_ERROR_ILLEGAL_STATE"
        "the operation cannot be performed in the present state"
    500 NOT_FOUND "CUDA_ERROR_NOT_FOUND" "named symbol not found"
    600 NOT_READY "CUDA_ERROR_NOT_READY" "device not ready"
    700 ILLEGAL_ADDRESS "CUDA_ERROR_ILLEGAL_ADDRESS" "an illegal memory access was encountered"
    701 OUT_OF_RESOURCES "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        "too many resources requested for launch"
    702 LAUNCH_TIMEOUT "CUDA_ERROR_LAUNCH_TIMEOUT" "the launch timed out and was terminated"
    704 PEER_ACCESS_ALREADY_ENABLED "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"
        "peer access is already enabled"
    705 PEER_ACCESS_NOT_ENABLED "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
        "peer access has not been enabled"
    708 PRIMARY_CONTEXT_ACTIVE "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"
        "cannot set while device is active in this process"
    709 CONTEXT_IS_DESTROYED "CUDA_ERROR_CONTEXT_IS_DESTROYED" "context is destroyed"
    710 ASSERT "CUDA_ERROR_ASSERT" "device-side assert triggered"
    712 HOST_MEMORY_ALREADY_REGISTERED "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
        "part or all of the requested memory range is already mapped"
    713 HOST_MEMORY_NOT_REGISTERED "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"
        "pointer does not correspond to a registered memory region"
    714 HARDWARE_STACK_ERROR "CUDA_ERROR_HARDWARE_STACK_ERROR" "hardware stack error"
    715 ILLEGAL_INSTRUCTION "CUDA_ERROR_ILLEGAL_INSTRUCTION"
        "an illegal instruction was encountered"
    716 MISALIGNED_ADDRESS "CUDA_ERROR_MISALIGNED_ADDRESS" "misaligned address"
    717 INVALID_ADDRESS_SPACE "CUDA_ERROR_INVALID_ADDRESS_SPACE"
        "operation not supported on global/shared address space"
    718 INVALID_PC "CUDA_ERROR_INVALID_PC" "invalid program counter"
    719 LAUNCH_FAILED "CUDA_ERROR_LAUNCH_FAILED" "unspecified launch failure"
    720 COOPERATIVE_LAUNCH_TOO_LARGE "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
        "too many blocks in cooperative launch"
    800 NOT_PERMITTED "CUDA_ERROR_NOT_PERMITTED" "operation not permitted"
    801 NOT_SUPPORTED "CUDA_ERROR_NOT_SUPPORTED" "operation not supported"
    900 STREAM_CAPTURE_UNSUPPORTED "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        "operation not permitted when stream is capturing"
    901 STREAM_CAPTURE_INVALIDATED "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
        "operation failed due to a previous error during capture"
    902 STREAM_CAPTURE_MERGE "CUDA_ERROR_STREAM_CAPTURE_MERGE"
        "operation would result in a merge of separate capture sequences"
    903 STREAM_CAPTURE_UNMATCHED "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"
        "capture was not ended in the same stream as it began"
    904 STREAM_CAPTURE_UNJOINED "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
        "capturing stream has unjoined work"
    905 STREAM_CAPTURE_ISOLATION "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
        "dependency created on uncaptured work in another stream"
    906 STREAM_CAPTURE_IMPLICIT "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
        "operation would make the legacy stream depend on a capturing blocking stream"
    907 CAPTURED_EVENT "CUDA_ERROR_CAPTURED_EVENT"
        "operation not permitted on an event last recorded in a capturing stream"
    908 STREAM_CAPTURE_WRONG_THREAD "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"
        "attempt to terminate a thread-local capture sequence from another thread"
    910 GRAPH_EXEC_UPDATE_FAILURE "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
        "the graph update was not performed"
    999 UNKNOWN "CUDA_ERROR_UNKNOWN" "unknown error"
}

impl Status {
    /// Returns the name, such as `CUDA_ERROR_INVALID_VALUE`.
    #[must_use]
    pub fn name(self) -> Option<&'static std::ffi::CStr> {
        ALL.iter().find(|s| s.0 == self.0).map(|s| s.1)
    }

    /// Returns a short description.
    #[must_use]
    pub fn about(self) -> Option<&'static std::ffi::CStr> {
        ALL.iter().find(|s| s.0 == self.0).map(|s| s.2)
    }
}
