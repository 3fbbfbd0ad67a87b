//! The entry of calls into a library.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_abi::Arguments;

use crate::driver::{OuterCall, note_failed, note_unsupported};
use crate::error::{Error, Interface, Outcome};

thread_local! {
    /// The name of the function that this thread is in.
    static CURRENT: Cell<&'static CStr> = const { Cell::new(c"") };
}

/// Returns the name of the function that this thread is in.
pub(crate) fn current() -> &'static CStr {
    CURRENT.get()
}

/// Runs the body as a call of a function, and returns its result. Calls do not nest within a
/// library.
pub(crate) fn within(name: &'static CStr, body: impl FnOnce() -> Outcome) -> Outcome {
    CURRENT.set(name);
    let outer = OuterCall::enter(name);
    let end = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::Internal));
    drop(outer);
    end
}

/// Runs a call of a library, and returns its status. A failure is recorded in the driver's event
/// log with the arguments as text; a panic is an internal error.
pub fn call<I: Interface>(
    name: &'static CStr,
    arguments: Arguments<'_>,
    body: impl FnOnce() -> Outcome,
) -> i32 {
    let end = within(name, body);
    match end {
        // The next call that waits tells a fault.
        Ok(()) | Err(Error::Fault) => 0,
        Err(Error::NotSupported) => unsupported::<I>(name),
        Err(Error::Refused(option)) => {
            let words = [name.to_bytes(), b" ", option.to_bytes()].concat();
            note_unsupported(&CString::new(words).unwrap_or_default());
            I::number(Error::NotSupported)
        }
        Err(error) => {
            let status = I::number(error);
            note_failed(name, status, I::name(status), arguments.text());
            status
        }
    }
}

/// Records a call of a function that is not implemented, and returns its status.
pub fn unsupported<I: Interface>(name: &'static CStr) -> i32 {
    note_unsupported(name);
    I::number(Error::NotSupported)
}

/// Returns a dimension as a number of elements.
///
/// # Errors
/// [`Error::InvalidValue`] if it is negative.
pub fn count(dimension: i64) -> Outcome<usize> {
    usize::try_from(dimension).map_err(|_| Error::InvalidValue)
}

/// Returns a product of sizes.
///
/// # Errors
/// [`Error::InvalidValue`] if it does not fit.
pub fn size(factors: &[usize]) -> Outcome<usize> {
    let product = factors.iter().try_fold(1_usize, |all, &factor| all.checked_mul(factor));
    product.filter(|&product| product <= isize::MAX as usize).ok_or(Error::InvalidValue)
}
