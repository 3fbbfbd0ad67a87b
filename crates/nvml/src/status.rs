//! Results of calls: numbers, names and descriptions.

use std::ffi::CStr;

use cuda_abi::c_str;

/// An `nvmlReturn_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of a call's implementation.
pub type Outcome<T = ()> = Result<T, Status>;

/// Declares statuses: the number, the name without its prefix, and the description.
macro_rules! statuses {
    ($($number:literal $name:ident $constant:literal $text:literal)+) => {
        impl Status {
            $(
                #[doc = concat!("`", $constant, "`.")]
                pub const $name: Self = Self($number);
            )+

            /// Names and numbers, as in the header.
            pub const ALL: &[(&str, i64)] = &[$(($constant, $number),)+];

            /// Returns the description.
            #[must_use]
            pub fn text(self) -> &'static CStr {
                match self.0 {
                    $($number => c_str!($text),)+
                    _ => c"Unknown Error",
                }
            }
        }
    };
}

statuses! {
    0 SUCCESS "NVML_SUCCESS" "Success"
    1 UNINITIALIZED "NVML_ERROR_UNINITIALIZED" "Uninitialized"
    2 INVALID_ARGUMENT "NVML_ERROR_INVALID_ARGUMENT" "Invalid Argument"
    3 NOT_SUPPORTED "NVML_ERROR_NOT_SUPPORTED" "Not Supported"
    4 NO_PERMISSION "NVML_ERROR_NO_PERMISSION" "Insufficient Permissions"
    5 ALREADY_INITIALIZED "NVML_ERROR_ALREADY_INITIALIZED" "Already Initialized"
    6 NOT_FOUND "NVML_ERROR_NOT_FOUND" "Not Found"
    7 INSUFFICIENT_SIZE "NVML_ERROR_INSUFFICIENT_SIZE" "Insufficient Size"
    8 INSUFFICIENT_POWER "NVML_ERROR_INSUFFICIENT_POWER" "Insufficient External Power"
    9 DRIVER_NOT_LOADED "NVML_ERROR_DRIVER_NOT_LOADED" "Driver Not Loaded"
    10 TIMEOUT "NVML_ERROR_TIMEOUT" "Timeout"
    11 IRQ_ISSUE "NVML_ERROR_IRQ_ISSUE" "Interrupt Request Issue"
    12 LIBRARY_NOT_FOUND "NVML_ERROR_LIBRARY_NOT_FOUND" "NVML Shared Library Not Found"
    13 FUNCTION_NOT_FOUND "NVML_ERROR_FUNCTION_NOT_FOUND" "Function Not Found"
    14 CORRUPTED_INFOROM "NVML_ERROR_CORRUPTED_INFOROM" "Corrupted infoROM"
    15 GPU_IS_LOST "NVML_ERROR_GPU_IS_LOST" "GPU is lost"
    16 RESET_REQUIRED "NVML_ERROR_RESET_REQUIRED" "GPU requires reset"
    17 OPERATING_SYSTEM "NVML_ERROR_OPERATING_SYSTEM" "The operating system has blocked the request."
    18 LIB_RM_VERSION_MISMATCH "NVML_ERROR_LIB_RM_VERSION_MISMATCH" "RM has detected an NVML/RM version mismatch."
    19 IN_USE "NVML_ERROR_IN_USE" "In use by another client"
    20 MEMORY "NVML_ERROR_MEMORY" "Insufficient Memory"
    21 NO_DATA "NVML_ERROR_NO_DATA" "No data"
    22 VGPU_ECC_NOT_SUPPORTED "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED" "vGPU with ECC not supported"
    23 INSUFFICIENT_RESOURCES "NVML_ERROR_INSUFFICIENT_RESOURCES" "Insufficient resources"
    24 FREQ_NOT_SUPPORTED "NVML_ERROR_FREQ_NOT_SUPPORTED" "Frequency not supported"
    25 ARGUMENT_VERSION_MISMATCH "NVML_ERROR_ARGUMENT_VERSION_MISMATCH" "Argument version mismatch"
    26 DEPRECATED "NVML_ERROR_DEPRECATED" "Deprecated"
    27 NOT_READY "NVML_ERROR_NOT_READY" "Not Ready"
    28 GPU_NOT_FOUND "NVML_ERROR_GPU_NOT_FOUND" "No GPUs found"
    29 INVALID_STATE "NVML_ERROR_INVALID_STATE" "Invalid state"
    999 UNKNOWN "NVML_ERROR_UNKNOWN" "Unknown Error"
}

impl From<cuda_abi::Status> for Status {
    /// The status of an access to the client's memory that is not possible.
    fn from(_: cuda_abi::Status) -> Self {
        Self::INVALID_ARGUMENT
    }
}
