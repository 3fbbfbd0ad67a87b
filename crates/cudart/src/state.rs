//! The state of each thread: a device, the last error, launch configurations; and the context of a
//! call.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::io::Write as _;
use std::mem::{ManuallyDrop, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use cuda_abi::host::written;
use cuda_abi::{Arguments, Outcome, Status, dim3};

use crate::driver::{
    OuterCall, cuCtxGetCurrent, cuCtxSetCurrent, cuDeviceGetCount, cuDevicePrimaryCtxGetState,
    cuDevicePrimaryCtxRetain, cuInit, cuStreamGetFlags, note_failed,
};

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    static LAST: Cell<i32> = const { Cell::new(0) };
    /// Never destroyed: destructors of a C++ program call this library when the thread's variables
    /// are gone.
    static CONFIGURATIONS: RefCell<ManuallyDrop<Vec<Configuration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// A launch configuration, written between `<<<` and `>>>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) grid: dim3,
    pub(crate) block: dim3,
    pub(crate) shared: usize,
    pub(crate) stream: u64,
}

/// The maximum number of configurations that wait for their launch.
const MAX_CONFIGURATIONS: usize = 1 << 16;

/// Runs a call. A panic is an unknown error. An error, other than `cudaErrorNotReady`, becomes the
/// thread's last error, and is recorded with the arguments as text.
pub(crate) fn call(
    name: &'static CStr,
    arguments: Arguments<'_>,
    body: impl FnOnce() -> Outcome,
) -> i32 {
    let within = OuterCall::begin(name, arguments);
    let end = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::UNKNOWN));
    let status = end.err().unwrap_or(Status::SUCCESS);
    within.leave(status.0);
    if status != Status::SUCCESS && status != Status::NOT_READY {
        note(status);
        // Unsupported calls and faults of kernels are recorded elsewhere.
        if status != Status::NOT_SUPPORTED && !status.is_sticky() {
            note_failed(name, status, arguments.text());
        }
    }
    trace(name, status);
    status.0
}

/// Sets the last error.
pub(crate) fn note(error: Status) {
    // This fails when the thread is ending, where nothing can read the error any more.
    let _ = LAST.try_with(|last| last.set(error.0));
}

/// Returns the last error of this thread.
pub(crate) fn last() -> Status {
    Status(LAST.try_with(Cell::get).unwrap_or(0))
}

/// Clears the last error, unless its context is unusable.
pub(crate) fn forget() {
    if !(last().is_sticky() && has_failed()) {
        note(Status::SUCCESS);
    }
}

/// Returns the error that makes the current context unusable, if one does.
pub(crate) fn context_error() -> Outcome {
    // The cheapest call that returns the error without invalidating a stream capture.
    written(0_u32, |at| cuStreamGetFlags(0, at)).map(drop)
}

/// Returns whether a fault has made the current context unusable. Where launches fail alone
/// (`SIMTLAB_FAULTS=launch`), none does.
pub(crate) fn has_failed() -> bool {
    let within = OuterCall::enter(c"cudaGetLastError");
    let failed = context_error().is_err_and(Status::is_sticky);
    drop(within);
    failed
}

/// Clears the last error after a reset of the device.
pub(crate) fn forget_all() {
    note(Status::SUCCESS);
}

fn trace(name: &CStr, status: Status) {
    static TRACE: OnceLock<bool> = OnceLock::new();
    if *TRACE.get_or_init(|| std::env::var("SIMTLAB_TRACE").is_ok_and(|v| v == "1")) {
        print_error(&format!("{} = {}", name.to_string_lossy(), status.0));
    }
}

/// Prints to the standard error stream.
pub(crate) fn print_error(text: &str) {
    // The client may have closed the stream.
    let _ = std::io::stderr().write_all(format!("simtlab: {text}\n").as_bytes());
}

/// Initialises the driver.
pub(crate) fn initialise() -> Outcome {
    cuInit(0)
}

/// Returns the number of devices.
pub(crate) fn devices() -> Outcome<i32> {
    initialise()?;
    written(0, cuDeviceGetCount)
}

/// Checks a device number.
pub(crate) fn known_device(device: i32) -> Outcome<i32> {
    if (0..devices()?).contains(&device) { Ok(device) } else { Err(Status::INVALID_DEVICE) }
}

/// This thread's device.
pub(crate) fn device() -> i32 {
    DEVICE.get()
}

/// Sets this thread's device, and makes its primary context current.
pub(crate) fn set_device(device: i32) -> Outcome {
    known_device(device)?;
    cuCtxSetCurrent(primary(device)?)?;
    DEVICE.set(device);
    Ok(())
}

/// Retains and returns the primary context of a device.
pub(crate) fn primary(device: i32) -> Outcome<u64> {
    written(0, |at| cuDevicePrimaryCtxRetain(at, device))
}

/// Returns whether the primary context of a device is active.
pub(crate) fn is_active(device: i32) -> Outcome<bool> {
    let mut flags = 0_u32;
    let flags = (&raw mut flags).expose_provenance();
    Ok(written(0_i32, |at| cuDevicePrimaryCtxGetState(device, flags, at))? != 0)
}

/// Returns this thread's context: the driver's current one, or the primary context of its device,
/// which then becomes current.
pub(crate) fn context() -> Outcome<u64> {
    initialise()?;
    let current = written(0, cuCtxGetCurrent)?;
    if current != 0 {
        return Ok(current);
    }
    if devices()? == 0 {
        return Err(Status::NO_DEVICE);
    }
    let primary = primary(device())?;
    cuCtxSetCurrent(primary)?;
    Ok(primary)
}

/// Pushes a configuration for the launch that follows. The launch checks it.
pub(crate) fn push(configuration: Configuration) -> Outcome {
    CONFIGURATIONS.with_borrow_mut(|all| {
        if all.len() >= MAX_CONFIGURATIONS {
            return Err(Status::OUT_OF_MEMORY);
        }
        all.push(configuration);
        Ok(())
    })
}

/// Pops the last configuration.
pub(crate) fn pop() -> Outcome<Configuration> {
    CONFIGURATIONS.with_borrow_mut(|all| {
        let last = all.pop();
        if all.is_empty() {
            drop(take(&mut **all));
        }
        last.ok_or(Status::MISSING_CONFIGURATION)
    })
}
