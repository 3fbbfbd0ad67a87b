//! Helpers for tests that call the driver.

pub(crate) mod fat;
pub(crate) mod memory;

use cuda::Status;

/// Returns the address of a value, as a client passes it.
pub(crate) fn at<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value).addr()
}

#[track_caller]
pub(crate) fn ok(status: i32) {
    assert_eq!(Status(status), Status::SUCCESS);
}

#[track_caller]
pub(crate) fn is(status: i32, wanted: Status) {
    assert_eq!(Status(status), wanted);
}
