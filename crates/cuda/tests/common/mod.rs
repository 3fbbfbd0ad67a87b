//! What tests that call the driver share.

use cuda::Status;

/// The address of something, as a client gives it.
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
