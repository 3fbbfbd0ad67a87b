//! What each thread has: a device, the last error, launch configurations; and how calls find their context.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use crate::driver::{
    Within, cuCtxGetCurrent, cuCtxSetCurrent, cuDeviceGetCount, cuDevicePrimaryCtxGetState,
    cuDevicePrimaryCtxRetain, cuInit, note_failed,
};
use crate::error::{Error, Outcome};
use crate::host::out;
use crate::launch::Configuration;

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    static LAST: Cell<i32> = const { Cell::new(0) };
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Configurations that may wait for their launch.
const MAX_CONFIGURATIONS: usize = 1 << 16;

/// Runs a call: a panic is an unknown error, and what fails stays to be asked for, and is told with
/// the arguments as text. That something is not ready is no error.
pub(crate) fn call(
    name: &'static CStr,
    arguments: &dyn Fn() -> String,
    body: impl FnOnce() -> Outcome,
) -> i32 {
    let within = Within::enter(name);
    let end = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::UNKNOWN));
    drop(within);
    let status = end.err().unwrap_or(Error::SUCCESS);
    if status != Error::SUCCESS && status != Error::NOT_READY {
        note(status);
        // What is not supported and what a kernel has faulted with are told by themselves.
        if status != Error::NOT_SUPPORTED && !status.is_sticky() {
            note_failed(name, status, arguments());
        }
    }
    trace(name, status);
    status.0
}

/// Remembers an error.
pub(crate) fn note(error: Error) {
    // At the end of a thread there is nobody left to ask for it.
    let _ = LAST.try_with(|last| last.set(error.0));
}

/// The last error of this thread.
pub(crate) fn last() -> Error {
    Error(LAST.try_with(Cell::get).unwrap_or(0))
}

/// Forgets the last error, unless the context is lost with it.
pub(crate) fn forget() {
    if !last().is_sticky() {
        note(Error::SUCCESS);
    }
}

/// Forgets the last error of a device that was reset.
pub(crate) fn forget_all() {
    note(Error::SUCCESS);
}

fn trace(name: &CStr, status: Error) {
    static TRACE: OnceLock<bool> = OnceLock::new();
    if *TRACE.get_or_init(|| std::env::var("SIMTLAB_TRACE").is_ok_and(|v| v == "1")) {
        say(&format!("{} = {}", name.to_string_lossy(), status.0));
    }
}

/// Says something on the standard error stream.
pub(crate) fn say(text: &str) {
    // The client may have closed it.
    let _ = std::io::stderr().write_all(format!("simtlab: {text}\n").as_bytes());
}

/// Initialises the driver.
pub(crate) fn initialise() -> Outcome {
    cuInit(0)
}

/// How many devices there are.
pub(crate) fn devices() -> Outcome<i32> {
    initialise()?;
    out(0, cuDeviceGetCount)
}

/// Checks the number of a device.
pub(crate) fn known_device(device: i32) -> Outcome<i32> {
    if (0..devices()?).contains(&device) { Ok(device) } else { Err(Error::INVALID_DEVICE) }
}

/// This thread's device.
pub(crate) fn device() -> i32 {
    DEVICE.get()
}

/// Makes a device this thread's; its context from now on.
pub(crate) fn set_device(device: i32) -> Outcome {
    known_device(device)?;
    cuCtxSetCurrent(primary(device)?)?;
    DEVICE.set(device);
    Ok(())
}

/// The primary context of a device, which stays alive.
pub(crate) fn primary(device: i32) -> Outcome<u64> {
    out(0, |at| cuDevicePrimaryCtxRetain(at, device))
}

/// Whether the primary context of a device is alive.
pub(crate) fn is_active(device: i32) -> Outcome<bool> {
    let mut flags = 0_u32;
    let flags = (&raw mut flags).expose_provenance();
    Ok(out(0_i32, |at| cuDevicePrimaryCtxGetState(device, flags, at))? != 0)
}

/// The context of this thread: the one that the driver knows, else the primary one of its device.
pub(crate) fn context() -> Outcome<u64> {
    initialise()?;
    let current = out(0, cuCtxGetCurrent)?;
    if current != 0 {
        return Ok(current);
    }
    if devices()? == 0 {
        return Err(Error::NO_DEVICE);
    }
    let primary = primary(device())?;
    cuCtxSetCurrent(primary)?;
    Ok(primary)
}

/// Puts a configuration down for the launch that follows. That it is a possible one is the launch's to say.
pub(crate) fn push(configuration: Configuration) -> Outcome {
    CONFIGURATIONS.with_borrow_mut(|all| {
        if all.len() >= MAX_CONFIGURATIONS {
            return Err(Error::MEMORY_ALLOCATION);
        }
        all.push(configuration);
        Ok(())
    })
}

/// Takes the last configuration.
pub(crate) fn pop() -> Outcome<Configuration> {
    CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Error::MISSING_CONFIGURATION)
}
