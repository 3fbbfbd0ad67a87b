//! Results of calls: numbers and names.

use std::ffi::CStr;

use cuda_abi::c_str;

/// A `CUptiResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

/// The result of a call's implementation.
pub type Outcome<T = ()> = Result<T, Status>;

/// Declares statuses: the number, and the name without its prefix.
macro_rules! statuses {
    ($($number:literal $name:ident $constant:literal)+) => {
        impl Status {
            $(
                #[doc = concat!("`", $constant, "`.")]
                pub const $name: Self = Self($number);
            )+

            /// Names and numbers, as in the header.
            pub const ALL: &[(&str, i64)] = &[$(($constant, $number),)+];

            /// Returns the name.
            #[must_use]
            pub fn name(self) -> Option<&'static CStr> {
                match self.0 {
                    $($number => Some(c_str!($constant)),)+
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    0 SUCCESS "CUPTI_SUCCESS"
    1 INVALID_PARAMETER "CUPTI_ERROR_INVALID_PARAMETER"
    3 INVALID_CONTEXT "CUPTI_ERROR_INVALID_CONTEXT"
    7 INVALID_OPERATION "CUPTI_ERROR_INVALID_OPERATION"
    8 OUT_OF_MEMORY "CUPTI_ERROR_OUT_OF_MEMORY"
    10 PARAMETER_SIZE_NOT_SUFFICIENT "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"
    12 MAX_LIMIT_REACHED "CUPTI_ERROR_MAX_LIMIT_REACHED"
    15 NOT_INITIALIZED "CUPTI_ERROR_NOT_INITIALIZED"
    18 QUEUE_EMPTY "CUPTI_ERROR_QUEUE_EMPTY"
    20 INVALID_STREAM "CUPTI_ERROR_INVALID_STREAM"
    21 INVALID_KIND "CUPTI_ERROR_INVALID_KIND"
    27 NOT_SUPPORTED "CUPTI_ERROR_NOT_SUPPORTED"
    39 MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    999 UNKNOWN "CUPTI_ERROR_UNKNOWN"
}

impl From<cuda_abi::Status> for Status {
    /// The status of an access to the client's memory that is not possible.
    fn from(_: cuda_abi::Status) -> Self {
        Self::INVALID_PARAMETER
    }
}
