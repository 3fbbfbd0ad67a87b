//! The library's state: how often it is initialised; devices and their handles.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_abi::host::written;
use cuda_abi::{Abi as _, DeviceStatus};
use culibs::driver::simtlab_device;

use crate::abi::{NVML_INIT_FLAG_FORCE_INIT, NVML_INIT_FLAG_NO_ATTACH, NVML_INIT_FLAG_NO_GPUS};
use crate::status::{Outcome, Status};
use crate::utilization;

/// How often the library is initialised, less how often it is shut down.
static USERS: AtomicU32 = AtomicU32::new(0);

/// The handle of the first device; those of others follow. They resemble no address.
const FIRST_HANDLE: u64 = 0x6e76_6d6c_0000;

/// Runs a call that needs the library to be initialised. A panic is `NVML_ERROR_UNKNOWN`.
pub(crate) fn enter(body: impl FnOnce() -> Outcome) -> i32 {
    if USERS.load(Ordering::Relaxed) == 0 {
        return Status::UNINITIALIZED.0;
    }
    outside(body)
}

/// Runs any call.
pub(crate) fn outside(body: impl FnOnce() -> Outcome) -> i32 {
    let end = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::UNKNOWN));
    end.err().unwrap_or(Status::SUCCESS).0
}

pub(crate) fn initialise(flags: u32) -> Outcome {
    let known = NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH | NVML_INIT_FLAG_FORCE_INIT;
    if flags & !known != 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let first = describe(0).map_err(|_| Status::DRIVER_NOT_LOADED)?;
    utilization::begin(first.busy);
    let more = USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
    more.map(drop).map_err(|_| Status::INSUFFICIENT_RESOURCES)
}

pub(crate) fn shut_down() -> Outcome {
    let fewer = USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    fewer.map(drop).map_err(|_| Status::UNINITIALIZED)
}

/// A device with its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) index: u32,
    pub(crate) status: DeviceStatus,
}

fn describe(index: i32) -> Result<DeviceStatus, cuda_abi::Status> {
    written(DeviceStatus::zeroed(), |out| simtlab_device(out, index))
}

/// Returns a device by number.
pub(crate) fn by_index(index: u32) -> Outcome<Device> {
    let number = i32::try_from(index).map_err(|_| Status::INVALID_ARGUMENT)?;
    Ok(Device { index, status: describe(number)? })
}

/// Returns a device by handle.
pub(crate) fn device(handle: u64) -> Outcome<Device> {
    let index = handle.checked_sub(FIRST_HANDLE).and_then(|n| u32::try_from(n).ok());
    by_index(index.ok_or(Status::INVALID_ARGUMENT)?)
}

/// Returns all devices.
pub(crate) fn devices() -> Outcome<Vec<Device>> {
    let count = describe(0)?.devices;
    (0..count).map(by_index).collect()
}

impl Device {
    /// Returns the handle.
    pub(crate) fn handle(&self) -> u64 {
        FIRST_HANDLE + u64::from(self.index)
    }

    /// Returns the identifier as text.
    pub(crate) fn uuid(&self) -> String {
        let mut text = String::from("GPU");
        for (position, byte) in self.status.uuid.iter().enumerate() {
            if matches!(position, 0 | 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }

    /// Returns the place on the bus, with as many digits of the domain.
    pub(crate) fn bus_id(&self, digits: usize) -> String {
        let DeviceStatus { pci_domain, pci_bus, pci_device, .. } = self.status;
        format!("{pci_domain:0digits$X}:{pci_bus:02X}:{pci_device:02X}.0")
    }
}
