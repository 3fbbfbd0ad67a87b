//! Helpers for tests that call the driver.

pub(crate) mod memory;

use cuda::Status;
use std::process::Command;

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

/// Returns the value that a call writes to its first argument.
#[track_caller]
pub(crate) fn written(call: impl FnOnce(usize) -> i32) -> u64 {
    let mut handle = 0_u64;
    ok(call(at(&mut handle)));
    *std::hint::black_box(&handle)
}

/// Runs an ignored test of this program in a process of its own, where no other test allocates
/// device memory.
pub(crate) fn run_alone(test: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let ran = child.args(["--exact", test, "--ignored"]).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{ran:?}");
}

/// Adds one to the number at an address.
pub(crate) extern "C" fn count(data: usize) {
    let seen: u32 = cuda_abi::host::get(data).unwrap();
    cuda_abi::host::put(data, &(seen + 1)).unwrap();
}
