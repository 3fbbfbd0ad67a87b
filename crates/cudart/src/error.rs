//! Results of runtime calls. Codes are the driver's, except for the few that only the runtime has.

use std::ffi::CStr;

/// A `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

/// The result of a call's implementation.
pub(crate) type Outcome<T = ()> = Result<T, Error>;

macro_rules! errors {
    ($($code:literal $name:ident $full:literal $about:literal)+) => {
        impl Error {
            $(
                #[doc = $about]
                pub const $name: Self = Self($code);
            )+
        }

        /// Codes with names and descriptions, as C strings.
        const ALL: &[(i32, &CStr, &CStr)] = &[
            $(($code, cstr(concat!($full, "\0")), cstr(concat!($about, "\0"))),)+
        ];
    };
}

/// Converts a literal that ends with a null byte.
const fn cstr(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

errors! {
    0 SUCCESS "cudaSuccess" "no error"
    1 INVALID_VALUE "cudaErrorInvalidValue" "invalid argument"
    2 MEMORY_ALLOCATION "cudaErrorMemoryAllocation" "out of memory"
    3 INITIALIZATION "cudaErrorInitializationError" "initialization error"
    4 CUDART_UNLOADING "cudaErrorCudartUnloading" "driver shutting down"
    9 INVALID_CONFIGURATION "cudaErrorInvalidConfiguration" "invalid configuration argument"
    12 INVALID_PITCH "cudaErrorInvalidPitchValue" "invalid pitch argument"
    13 INVALID_SYMBOL "cudaErrorInvalidSymbol" "invalid device symbol"
    17 INVALID_DEVICE_POINTER "cudaErrorInvalidDevicePointer" "invalid device pointer"
    21 INVALID_MEMCPY_DIRECTION "cudaErrorInvalidMemcpyDirection"
        "invalid copy direction for memcpy"
    34 STUB_LIBRARY "cudaErrorStubLibrary" "CUDA driver is a stub library"
    35 INSUFFICIENT_DRIVER "cudaErrorInsufficientDriver"
        "CUDA driver version is insufficient for CUDA runtime version"
    46 DEVICES_UNAVAILABLE "cudaErrorDevicesUnavailable"
        "CUDA-capable device(s) is/are busy or unavailable"
    52 MISSING_CONFIGURATION "cudaErrorMissingConfiguration"
        "__global__ function call is not configured"
    98 INVALID_DEVICE_FUNCTION "cudaErrorInvalidDeviceFunction" "invalid device function"
    100 NO_DEVICE "cudaErrorNoDevice" "no CUDA-capable device is detected"
    101 INVALID_DEVICE "cudaErrorInvalidDevice" "invalid device ordinal"
    200 INVALID_KERNEL_IMAGE "cudaErrorInvalidKernelImage" "device kernel image is invalid"
    201 DEVICE_UNINITIALIZED "cudaErrorDeviceUninitialized" "invalid device context"
    208 ALREADY_MAPPED "cudaErrorAlreadyMapped" "resource already mapped"
    209 NO_KERNEL_IMAGE "cudaErrorNoKernelImageForDevice"
        "no kernel image is available for execution on the device"
    215 UNSUPPORTED_LIMIT "cudaErrorUnsupportedLimit" "limit is not supported on this architecture"
    218 INVALID_PTX "cudaErrorInvalidPtx" "a PTX JIT compilation failed"
    300 INVALID_SOURCE "cudaErrorInvalidSource" "device kernel image is invalid"
    301 FILE_NOT_FOUND "cudaErrorFileNotFound" "file not found"
    302 SYMBOL_MISSING "cudaErrorSharedObjectSymbolNotFound" "shared object symbol not found"
    304 OPERATING_SYSTEM "cudaErrorOperatingSystem"
        "OS call failed or operation not supported on this OS"
    400 INVALID_HANDLE "cudaErrorInvalidResourceHandle" "invalid resource handle"
    401 ILLEGAL_STATE "cudaErrorIllegalState"
        "the operation cannot be performed in the present state"
    500 SYMBOL_NOT_FOUND "cudaErrorSymbolNotFound" "named symbol not found"
    600 NOT_READY "cudaErrorNotReady" "device not ready"
    700 ILLEGAL_ADDRESS "cudaErrorIllegalAddress" "an illegal memory access was encountered"
    701 OUT_OF_RESOURCES "cudaErrorLaunchOutOfResources" "too many resources requested for launch"
    702 LAUNCH_TIMEOUT "cudaErrorLaunchTimeout" "the launch timed out and was terminated"
    704 PEER_ACCESS_ENABLED "cudaErrorPeerAccessAlreadyEnabled" "peer access is already enabled"
    705 PEER_ACCESS_NOT_ENABLED "cudaErrorPeerAccessNotEnabled" "peer access has not been enabled"
    708 SET_ON_ACTIVE "cudaErrorSetOnActiveProcess"
        "cannot set while device is active in this process"
    709 CONTEXT_IS_DESTROYED "cudaErrorContextIsDestroyed" "context is destroyed"
    710 ASSERT "cudaErrorAssert" "device-side assert triggered"
    712 HOST_MEMORY_REGISTERED "cudaErrorHostMemoryAlreadyRegistered"
        "part or all of the requested memory range is already mapped"
    713 HOST_MEMORY_NOT_REGISTERED "cudaErrorHostMemoryNotRegistered"
        "pointer does not correspond to a registered memory region"
    714 HARDWARE_STACK "cudaErrorHardwareStackError" "hardware stack error"
    715 ILLEGAL_INSTRUCTION "cudaErrorIllegalInstruction" "an illegal instruction was encountered"
    716 MISALIGNED_ADDRESS "cudaErrorMisalignedAddress" "misaligned address"
    717 INVALID_ADDRESS_SPACE "cudaErrorInvalidAddressSpace"
        "operation not supported on global/shared address space"
    718 INVALID_PC "cudaErrorInvalidPc" "invalid program counter"
    719 LAUNCH_FAILURE "cudaErrorLaunchFailure" "unspecified launch failure"
    720 COOPERATIVE_LAUNCH_TOO_LARGE "cudaErrorCooperativeLaunchTooLarge"
        "too many blocks in cooperative launch"
    800 NOT_PERMITTED "cudaErrorNotPermitted" "operation not permitted"
    801 NOT_SUPPORTED "cudaErrorNotSupported" "operation not supported"
    900 CAPTURE_UNSUPPORTED "cudaErrorStreamCaptureUnsupported"
        "operation not permitted when stream is capturing"
    901 CAPTURE_INVALIDATED "cudaErrorStreamCaptureInvalidated"
        "operation failed due to a previous error during capture"
    902 CAPTURE_MERGE "cudaErrorStreamCaptureMerge"
        "operation would result in a merge of separate capture sequences"
    903 CAPTURE_UNMATCHED "cudaErrorStreamCaptureUnmatched"
        "capture was not ended in the same stream as it began"
    904 CAPTURE_UNJOINED "cudaErrorStreamCaptureUnjoined" "capturing stream has unjoined work"
    905 CAPTURE_ISOLATION "cudaErrorStreamCaptureIsolation"
        "dependency created on uncaptured work in another stream"
    906 CAPTURE_IMPLICIT "cudaErrorStreamCaptureImplicit"
        "operation would make the legacy stream depend on a capturing blocking stream"
    907 CAPTURED_EVENT "cudaErrorCapturedEvent"
        "operation not permitted on an event last recorded in a capturing stream"
    908 CAPTURE_WRONG_THREAD "cudaErrorStreamCaptureWrongThread"
        "attempt to terminate a thread-local capture sequence from another thread"
    910 GRAPH_UPDATE "cudaErrorGraphExecUpdateFailure" "the graph update was not performed"
    999 UNKNOWN "cudaErrorUnknown" "unknown error"
}

impl Error {
    /// Returns whether the error leaves its context unusable, so that only a reset of the device
    /// clears it.
    #[must_use]
    pub fn is_sticky(self) -> bool {
        matches!(self.0, 700 | 702 | 710 | 714..=719)
    }

    /// Returns the name, or a placeholder for an unknown code.
    pub(crate) fn name(self) -> &'static CStr {
        ALL.iter().find(|e| e.0 == self.0).map_or(c"unrecognized error code", |e| e.1)
    }

    /// Returns a short description.
    pub(crate) fn about(self) -> &'static CStr {
        ALL.iter().find(|e| e.0 == self.0).map_or(c"unrecognized error code", |e| e.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_one_name_each() {
        for pair in ALL.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{:?} before {:?}", pair[0].1, pair[1].1);
        }
        assert_eq!(Error::ILLEGAL_ADDRESS.name(), c"cudaErrorIllegalAddress");
        assert_eq!(Error(12345).about(), c"unrecognized error code");
        assert!(Error::ASSERT.is_sticky() && !Error::OUT_OF_RESOURCES.is_sticky());
        assert!(!Error::COOPERATIVE_LAUNCH_TOO_LARGE.is_sticky());
    }
}
