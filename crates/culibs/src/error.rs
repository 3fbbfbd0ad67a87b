//! Why a call fails, in the terms that the libraries share.

use std::ffi::CStr;

/// The outcome of a call, or of a part of it.
pub type Outcome<T = ()> = Result<T, Error>;

/// Why a call fails. Each library has a status for each ([`Interface::number`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The handle is not one of the library, is destroyed, or belongs to another context.
    #[error("the handle is not valid in this context")]
    Handle,
    /// Host memory does not suffice.
    #[error("out of memory")]
    OutOfMemory,
    /// An argument is not valid.
    #[error("an argument is not valid")]
    InvalidValue,
    /// The function or one of its options is not implemented.
    #[error("not supported")]
    NotSupported,
    /// The same of one option, with the words that follow the function's name in the report: what
    /// is refused, why, and what to use.
    #[error("not supported {0:?}")]
    Refused(&'static CStr),
    /// The context has failed, or the driver refuses the work.
    #[error("the work cannot be done in this context")]
    Execution,
    /// The function accessed device memory that it must not access. The call succeeds; the context
    /// has failed.
    #[error("an access to device memory was refused")]
    Fault,
    /// A defect of the library.
    #[error("internal error")]
    Internal,
    /// A status of the library's own.
    #[error("status {0}")]
    Status(i32),
}

/// A library's interface: its statuses.
pub trait Interface {
    /// Returns the status for an error.
    fn number(error: Error) -> i32;

    /// Returns the name of a status in the library's header.
    fn name(status: i32) -> &'static CStr;
}
