//! Processes that use a device: this one, if it has a context there.

use cuda_abi::host::{Ptr, get, put, put_bytes};
use cuda_abi::{Abi, DeviceStatus};

use crate::abi::{nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};
use crate::library::device;
use crate::status::{Outcome, Status};

/// A version of the structure.
pub(crate) trait Info: Abi {
    fn new(status: &DeviceStatus) -> Self;
}

impl Info for nvmlProcessInfo_v1_t {
    fn new(status: &DeviceStatus) -> Self {
        Self { pid: std::process::id(), usedGpuMemory: status.used }
    }
}

impl Info for nvmlProcessInfo_v2_t {
    fn new(status: &DeviceStatus) -> Self {
        // There are no instances without MIG.
        Self {
            pid: std::process::id(),
            usedGpuMemory: status.used,
            gpuInstanceId: u32::MAX,
            computeInstanceId: u32::MAX,
        }
    }
}

/// Writes the processes with a context. `count` says how much room there is, and then how many
/// there are.
pub(crate) fn computing<T: Info>(handle: u64, count: Ptr, out: Ptr) -> Outcome {
    let status = device(handle)?.status;
    let room: u32 = get(count)?;
    let there = u32::from(status.contexts > 0);
    put(count, &there)?;
    if there == 0 {
        return Ok(());
    }
    if room < there {
        return Err(Status::INSUFFICIENT_SIZE);
    }
    Ok(put_bytes(out, &T::new(&status).to_bytes())?)
}

/// Writes that there are none: no process draws, or shares a server of contexts.
pub(crate) fn none(handle: u64, count: Ptr) -> Outcome {
    device(handle)?;
    get::<u32>(count)?;
    Ok(put(count, &0_u32)?)
}
