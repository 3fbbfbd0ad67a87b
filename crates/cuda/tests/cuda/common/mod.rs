//! Helpers for tests that call the driver.

pub(crate) mod memory;

use cuda::Status;
use cuda::exports::general::cuCtxSynchronize;
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

/// Returns the status of a launch that was refused, else that of the call which waits for it.
pub(crate) fn settled(status: i32) -> i32 {
    if status == 0 { cuCtxSynchronize() } else { status }
}

/// Runs an ignored test of this program in a process of its own, with variables of the environment,
/// where no other test allocates device memory.
pub(crate) fn run_alone(test: &str, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--ignored"]).envs(variables.iter().copied());
    let ran = child.output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{ran:?}");
}

/// Adds one to the number at an address.
pub(crate) extern "C" fn count(data: usize) {
    let seen: u32 = cuda_abi::host::get(data).unwrap();
    cuda_abi::host::put(data, &(seen + 1)).unwrap();
}
