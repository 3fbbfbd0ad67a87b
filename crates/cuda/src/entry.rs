//! The entry of calls into the driver.
//!
//! One lock guards all state: calls of several threads are serialised, and a launch has ended when
//! its call returns. In a child of `fork`, calls return `CUDA_ERROR_NOT_INITIALIZED`, as on
//! hardware, without touching the lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_abi::{Outcome, Status};

use crate::exports::callbacks::call;
use crate::failure;
use crate::settings::Settings;
use crate::state::Driver;

/// The driver, once it is initialised.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);
/// The id of the process that initialised the driver; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Returns whether another process initialised the driver, so that this one is its child.
fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != std::process::id()
}

/// Returns the API version that the driver reports, which is available before it is initialised.
pub(crate) fn version() -> i32 {
    Settings::new(|name| std::env::var(name).ok()).version
}

/// Initialises the driver.
pub(crate) fn initialise(flags: u32) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let end = catch_unwind(|| {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if flags != 0 {
            return Status::INVALID_VALUE.0;
        }
        if driver.is_none() {
            *driver = Some(Driver::new());
            OWNER.store(std::process::id(), Ordering::Relaxed);
        }
        Status::SUCCESS.0
    });
    end.unwrap_or(Status::UNKNOWN.0)
}

/// Runs a call that needs the driver. A panic yields `CUDA_ERROR_UNKNOWN`.
pub(crate) fn enter(name: &str, body: impl FnOnce(&mut Driver) -> Outcome) -> i32 {
    enter_with(name, &String::new, body)
}

/// Does the same as [`enter`], and records the arguments if the call fails.
pub(crate) fn enter_with(
    name: &str,
    arguments: &dyn Fn() -> String,
    body: impl FnOnce(&mut Driver) -> Outcome,
) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let mut calls = Vec::new();
    let end = catch_unwind(AssertUnwindSafe(|| {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(driver) = driver.as_mut() else { return Status::NOT_INITIALIZED.0 };
        driver.calls.begin(name);
        let status = body(driver).err().unwrap_or(Status::SUCCESS);
        if status != Status::SUCCESS {
            failure::record(driver, name, status, arguments);
        }
        if driver.settings.trace {
            driver.print_error(&format!("{name} = {}", status.0));
        }
        calls = std::mem::take(&mut driver.shared.calls);
        status.0
    }));
    for (function, data) in calls {
        call(function, data);
    }
    end.unwrap_or(Status::UNKNOWN.0)
}

/// Runs a call that does not need the driver.
pub(crate) fn outside(body: impl FnOnce() -> Outcome) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(end) => end.err().unwrap_or(Status::SUCCESS).0,
        Err(_) => Status::UNKNOWN.0,
    }
}

/// Runs an exported function that is not implemented.
pub(crate) fn unsupported(name: &str) -> i32 {
    enter(name, |driver| Err(driver.unsupported(name)))
}
