//! Results of calls: one table of numbers, names and descriptions.
//!
//! The driver's `CUresult` and the runtime's `cudaError_t` are one set of numbers, in which the
//! runtime has some that the driver has not. Their names differ, and a few descriptions.

use std::ffi::CStr;

use crate::c_str;

/// A `CUresult` or `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of a call's implementation.
pub type Outcome<T = ()> = Result<T, Status>;

/// A row of the table.
struct Row {
    number: i32,
    /// The driver's name; `None` if it has no such status.
    driver: Option<&'static CStr>,
    runtime: &'static CStr,
    driver_text: &'static CStr,
    runtime_text: &'static CStr,
}

/// Declares statuses: number, name here, the driver's name or `-`, the runtime's name, description,
/// and the runtime's description if it is another one.
macro_rules! statuses {
    ($($number:literal $name:ident $driver:tt $runtime:literal $text:literal $(/ $own:literal)?)+)
    => {
        impl Status {
            $(
                #[doc = concat!("`", $runtime, "`: ", $text, ".")]
                pub const $name: Self = Self($number);
            )+
        }

        /// All statuses, by number.
        const ALL: &[Row] = &[$(Row {
            number: $number,
            driver: statuses!(@name $driver),
            runtime: c_str!($runtime),
            driver_text: c_str!($text),
            runtime_text: statuses!(@first $(c_str!($own),)? c_str!($text)),
        },)+];
    };
    (@name -) => { None };
    (@name $name:literal) => { Some(c_str!($name)) };
    (@first $first:expr $(, $second:expr)?) => { $first };
}

statuses! {
    0 SUCCESS "CUDA_SUCCESS" "cudaSuccess"
        "no error"
    1 INVALID_VALUE "CUDA_ERROR_INVALID_VALUE" "cudaErrorInvalidValue"
        "invalid argument"
    2 OUT_OF_MEMORY "CUDA_ERROR_OUT_OF_MEMORY" "cudaErrorMemoryAllocation"
        "out of memory"
    3 NOT_INITIALIZED "CUDA_ERROR_NOT_INITIALIZED" "cudaErrorInitializationError"
        "initialization error"
    4 DEINITIALIZED "CUDA_ERROR_DEINITIALIZED" "cudaErrorCudartUnloading"
        "driver shutting down"
    9 INVALID_CONFIGURATION - "cudaErrorInvalidConfiguration"
        "invalid configuration argument"
    12 INVALID_PITCH - "cudaErrorInvalidPitchValue"
        "invalid pitch argument"
    13 INVALID_SYMBOL - "cudaErrorInvalidSymbol"
        "invalid device symbol"
    17 INVALID_DEVICE_POINTER - "cudaErrorInvalidDevicePointer"
        "invalid device pointer"
    20 INVALID_CHANNEL_DESCRIPTOR - "cudaErrorInvalidChannelDescriptor"
        "invalid channel descriptor"
    21 INVALID_MEMCPY_DIRECTION - "cudaErrorInvalidMemcpyDirection"
        "invalid copy direction for memcpy"
    34 STUB_LIBRARY "CUDA_ERROR_STUB_LIBRARY" "cudaErrorStubLibrary"
        "driver is a stub library" / "CUDA driver is a stub library"
    35 INSUFFICIENT_DRIVER - "cudaErrorInsufficientDriver"
        "CUDA driver version is insufficient for CUDA runtime version"
    46 DEVICE_UNAVAILABLE "CUDA_ERROR_DEVICE_UNAVAILABLE" "cudaErrorDevicesUnavailable"
        "device is busy or unavailable" / "CUDA-capable device(s) is/are busy or unavailable"
    52 MISSING_CONFIGURATION - "cudaErrorMissingConfiguration"
        "__global__ function call is not configured"
    98 INVALID_DEVICE_FUNCTION - "cudaErrorInvalidDeviceFunction"
        "invalid device function"
    100 NO_DEVICE "CUDA_ERROR_NO_DEVICE" "cudaErrorNoDevice"
        "no device is detected" / "no CUDA-capable device is detected"
    101 INVALID_DEVICE "CUDA_ERROR_INVALID_DEVICE" "cudaErrorInvalidDevice"
        "invalid device ordinal"
    200 INVALID_IMAGE "CUDA_ERROR_INVALID_IMAGE" "cudaErrorInvalidKernelImage"
        "device kernel image is invalid"
    201 INVALID_CONTEXT "CUDA_ERROR_INVALID_CONTEXT" "cudaErrorDeviceUninitialized"
        "invalid device context"
    208 ALREADY_MAPPED "CUDA_ERROR_ALREADY_MAPPED" "cudaErrorAlreadyMapped"
        "resource already mapped"
    209 NO_BINARY_FOR_GPU "CUDA_ERROR_NO_BINARY_FOR_GPU" "cudaErrorNoKernelImageForDevice"
        "no kernel image is available for execution on the device"
    215 UNSUPPORTED_LIMIT "CUDA_ERROR_UNSUPPORTED_LIMIT" "cudaErrorUnsupportedLimit"
        "limit is not supported on this architecture"
    218 INVALID_PTX "CUDA_ERROR_INVALID_PTX" "cudaErrorInvalidPtx"
        "a PTX compilation failed" / "a PTX JIT compilation failed"
    221 JIT_COMPILER_NOT_FOUND "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" "cudaErrorJitCompilerNotFound"
        "PTX JIT compiler library not found"
    300 INVALID_SOURCE "CUDA_ERROR_INVALID_SOURCE" "cudaErrorInvalidSource"
        "device kernel image is invalid"
    301 FILE_NOT_FOUND "CUDA_ERROR_FILE_NOT_FOUND" "cudaErrorFileNotFound"
        "file not found"
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"
        "cudaErrorSharedObjectSymbolNotFound"
        "shared object symbol not found"
    304 OPERATING_SYSTEM "CUDA_ERROR_OPERATING_SYSTEM" "cudaErrorOperatingSystem"
        "OS call failed or operation not supported on this OS"
    400 INVALID_HANDLE "CUDA_ERROR_INVALID_HANDLE" "cudaErrorInvalidResourceHandle"
        "invalid resource handle"
    401 ILLEGAL_STATE "CUDA_ERROR_ILLEGAL_STATE" "cudaErrorIllegalState"
        "the operation cannot be performed in the present state"
    500 NOT_FOUND "CUDA_ERROR_NOT_FOUND" "cudaErrorSymbolNotFound"
        "named symbol not found"
    600 NOT_READY "CUDA_ERROR_NOT_READY" "cudaErrorNotReady"
        "device not ready"
    700 ILLEGAL_ADDRESS "CUDA_ERROR_ILLEGAL_ADDRESS" "cudaErrorIllegalAddress"
        "an illegal memory access was encountered"
    701 OUT_OF_RESOURCES "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" "cudaErrorLaunchOutOfResources"
        "too many resources requested for launch"
    702 LAUNCH_TIMEOUT "CUDA_ERROR_LAUNCH_TIMEOUT" "cudaErrorLaunchTimeout"
        "the launch timed out and was terminated"
    704 PEER_ACCESS_ALREADY_ENABLED "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"
        "cudaErrorPeerAccessAlreadyEnabled"
        "peer access is already enabled"
    705 PEER_ACCESS_NOT_ENABLED "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" "cudaErrorPeerAccessNotEnabled"
        "peer access has not been enabled"
    708 PRIMARY_CONTEXT_ACTIVE "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" "cudaErrorSetOnActiveProcess"
        "cannot set while device is active in this process"
    709 CONTEXT_IS_DESTROYED "CUDA_ERROR_CONTEXT_IS_DESTROYED" "cudaErrorContextIsDestroyed"
        "context is destroyed"
    710 ASSERT "CUDA_ERROR_ASSERT" "cudaErrorAssert"
        "device-side assert triggered"
    712 HOST_MEMORY_ALREADY_REGISTERED "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
        "cudaErrorHostMemoryAlreadyRegistered"
        "part or all of the requested memory range is already mapped"
    713 HOST_MEMORY_NOT_REGISTERED "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"
        "cudaErrorHostMemoryNotRegistered"
        "pointer does not correspond to a registered memory region"
    714 HARDWARE_STACK_ERROR "CUDA_ERROR_HARDWARE_STACK_ERROR" "cudaErrorHardwareStackError"
        "hardware stack error"
    715 ILLEGAL_INSTRUCTION "CUDA_ERROR_ILLEGAL_INSTRUCTION" "cudaErrorIllegalInstruction"
        "an illegal instruction was encountered"
    716 MISALIGNED_ADDRESS "CUDA_ERROR_MISALIGNED_ADDRESS" "cudaErrorMisalignedAddress"
        "misaligned address"
    717 INVALID_ADDRESS_SPACE "CUDA_ERROR_INVALID_ADDRESS_SPACE" "cudaErrorInvalidAddressSpace"
        "operation not supported on global/shared address space"
    718 INVALID_PC "CUDA_ERROR_INVALID_PC" "cudaErrorInvalidPc"
        "invalid program counter"
    719 LAUNCH_FAILED "CUDA_ERROR_LAUNCH_FAILED" "cudaErrorLaunchFailure"
        "unspecified launch failure"
    720 COOPERATIVE_LAUNCH_TOO_LARGE "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
        "cudaErrorCooperativeLaunchTooLarge"
        "too many blocks in cooperative launch"
    800 NOT_PERMITTED "CUDA_ERROR_NOT_PERMITTED" "cudaErrorNotPermitted"
        "operation not permitted"
    801 NOT_SUPPORTED "CUDA_ERROR_NOT_SUPPORTED" "cudaErrorNotSupported"
        "operation not supported"
    900 STREAM_CAPTURE_UNSUPPORTED "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        "cudaErrorStreamCaptureUnsupported"
        "operation not permitted when stream is capturing"
    901 STREAM_CAPTURE_INVALIDATED "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
        "cudaErrorStreamCaptureInvalidated"
        "operation failed due to a previous error during capture"
    902 STREAM_CAPTURE_MERGE "CUDA_ERROR_STREAM_CAPTURE_MERGE" "cudaErrorStreamCaptureMerge"
        "operation would result in a merge of separate capture sequences"
    903 STREAM_CAPTURE_UNMATCHED "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"
        "cudaErrorStreamCaptureUnmatched"
        "capture was not ended in the same stream as it began"
    904 STREAM_CAPTURE_UNJOINED "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
        "cudaErrorStreamCaptureUnjoined"
        "capturing stream has unjoined work"
    905 STREAM_CAPTURE_ISOLATION "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
        "cudaErrorStreamCaptureIsolation"
        "dependency created on uncaptured work in another stream"
    906 STREAM_CAPTURE_IMPLICIT "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
        "cudaErrorStreamCaptureImplicit"
        "operation would make the legacy stream depend on a capturing blocking stream"
    907 CAPTURED_EVENT "CUDA_ERROR_CAPTURED_EVENT" "cudaErrorCapturedEvent"
        "operation not permitted on an event last recorded in a capturing stream"
    908 STREAM_CAPTURE_WRONG_THREAD "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"
        "cudaErrorStreamCaptureWrongThread"
        "attempt to terminate a thread-local capture sequence from another thread"
    910 GRAPH_EXEC_UPDATE_FAILURE "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
        "cudaErrorGraphExecUpdateFailure"
        "the graph update was not performed"
    912 INVALID_CLUSTER_SIZE "CUDA_ERROR_INVALID_CLUSTER_SIZE" "cudaErrorInvalidClusterSize"
        "cluster misconfiguration"
    999 UNKNOWN "CUDA_ERROR_UNKNOWN" "cudaErrorUnknown"
        "unknown error"
}

/// The name and the description of unknown errors.
const UNRECOGNIZED: &CStr = c"unrecognized error code";

impl Status {
    fn row(self) -> Option<&'static Row> {
        ALL.iter().find(|row| row.number == self.0)
    }

    /// Returns the driver's name, such as `CUDA_ERROR_INVALID_VALUE`.
    #[must_use]
    pub fn driver_name(self) -> Option<&'static CStr> {
        self.row()?.driver
    }

    /// Returns the driver's description.
    #[must_use]
    pub fn driver_text(self) -> Option<&'static CStr> {
        self.row().filter(|row| row.driver.is_some()).map(|row| row.driver_text)
    }

    /// Returns the runtime's name, such as `cudaErrorInvalidValue`, or a text for unknown errors.
    #[must_use]
    pub fn runtime_name(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.runtime)
    }

    /// Returns the runtime's description, or a text for unknown errors.
    #[must_use]
    pub fn runtime_text(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.runtime_text)
    }

    /// Returns whether the error leaves its context unusable, so that only a reset of the device
    /// clears it.
    #[must_use]
    pub fn is_sticky(self) -> bool {
        matches!(self.0, 700 | 702 | 710 | 714..=719)
    }

    /// Returns the names of all statuses in the headers, with their numbers.
    pub fn names() -> impl Iterator<Item = (&'static CStr, i32)> {
        let both = |row: &'static Row| [row.driver, Some(row.runtime)].map(|n| (n, row.number));
        ALL.iter().flat_map(both).filter_map(|(name, number)| Some((name?, number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_name_each() {
        for pair in ALL.windows(2) {
            assert!(pair[0].number < pair[1].number, "{:?}", pair[1].runtime);
        }
        assert_eq!(Status::ILLEGAL_ADDRESS.runtime_name(), c"cudaErrorIllegalAddress");
        assert_eq!(Status::ILLEGAL_ADDRESS.driver_name(), Some(c"CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_eq!(Status::INVALID_SYMBOL.driver_text(), None);
        assert_eq!(Status(12345).runtime_text(), c"unrecognized error code");
        assert_eq!(Status(12345).driver_name(), None);
    }

    #[test]
    fn descriptions_may_differ() {
        let text = Status::NO_DEVICE;
        assert_eq!(text.driver_text(), Some(c"no device is detected"));
        assert_eq!(text.runtime_text(), c"no CUDA-capable device is detected");
    }

    #[test]
    fn faults_are_sticky() {
        assert!(Status::ASSERT.is_sticky() && !Status::OUT_OF_RESOURCES.is_sticky());
        assert!(!Status::COOPERATIVE_LAUNCH_TOO_LARGE.is_sticky());
    }
}
