//! Devices, streams and events: what the runtime adds to the driver.

use cuda_abi::host::{Ptr, put_i32, put_u64, written};
use cuda_abi::{CUctx_flags, Outcome, Status};

use crate::driver::{
    cuCtxDisablePeerAccess, cuCtxEnablePeerAccess, cuCtxGetCurrent, cuCtxGetDevice,
    cuCtxSynchronize, cuDeviceCanAccessPeer, cuDevicePrimaryCtxReset_v2,
    cuDevicePrimaryCtxSetFlags_v2, cuDriverGetVersion, cuEventCreate, cuGetProcAddress_v2,
    cuStreamCreateWithPriority, cuStreamGetCtx,
};
use crate::state::{self, context, device, known_device, primary};

/// The valid flags of devices.
const FLAGS: u32 = 0xff;

pub(crate) fn count(at: Ptr) -> Outcome {
    match state::devices()? {
        0 => Err(Status::NO_DEVICE),
        devices => put_i32(at, devices),
    }
}

/// Returns the device of the current context, or the device that the thread has chosen if there is
/// none.
pub(crate) fn current(at: Ptr) -> Outcome {
    state::initialise()?;
    let context = written(0_u64, cuCtxGetCurrent)?;
    let device = if context == 0 { device() } else { written(0, cuCtxGetDevice)? };
    put_i32(at, device)
}

/// Chooses the first device: all are alike, so it fits any properties.
pub(crate) fn choose(at: Ptr, _properties: Ptr) -> Outcome {
    known_device(0)?;
    put_i32(at, 0)
}

pub(crate) fn synchronize() -> Outcome {
    context()?;
    cuCtxSynchronize()
}

/// Destroys everything on this thread's device, and clears its failure.
pub(crate) fn reset() -> Outcome {
    state::initialise()?;
    let device = device();
    if state::is_active(device)? {
        let context = primary(device)?;
        cuDevicePrimaryCtxReset_v2(device)?;
        crate::registry::forget(context);
    }
    state::forget_all();
    Ok(())
}

pub(crate) fn set_flags(flags: u32) -> Outcome {
    state::initialise()?;
    if flags & !FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    cuDevicePrimaryCtxSetFlags_v2(device(), flags & CUctx_flags::MASK)
}

/// Returns the flag for mapped host memory, which is always supported.
pub(crate) fn flags(at: Ptr) -> Outcome {
    context()?;
    put_i32(at, CUctx_flags::MAP_HOST as i32)
}

pub(crate) fn can_access_peer(at: Ptr, device: i32, peer: i32) -> Outcome {
    let (device, peer) = (known_device(device)?, known_device(peer)?);
    cuDeviceCanAccessPeer(at, device, peer)
}

pub(crate) fn enable_peer(peer: i32, flags: u32) -> Outcome {
    context()?;
    cuCtxEnablePeerAccess(primary(known_device(peer)?)?, flags)
}

pub(crate) fn disable_peer(peer: i32) -> Outcome {
    context()?;
    cuCtxDisablePeerAccess(primary(known_device(peer)?)?)
}

pub(crate) fn runtime_version(at: Ptr) -> Outcome {
    put_i32(at, crate::version::number())
}

/// Returns 0 if there is no driver.
pub(crate) fn driver_version(at: Ptr) -> Outcome {
    put_i32(at, written(0_i32, cuDriverGetVersion).unwrap_or(0))
}

/// Looks up a driver function. `status` receives 0, or 1 for an unknown name.
pub(crate) fn entry_point(name: Ptr, at: Ptr, version: i32, flags: u64, status: Ptr) -> Outcome {
    context()?;
    let found = written(0_u64, |at| cuGetProcAddress_v2(name, at, version, flags, 0));
    if status != 0 {
        put_i32(status, i32::from(found == Err(Status::NOT_FOUND)))?;
    }
    match found {
        Err(Status::NOT_FOUND) if status != 0 => put_u64(at, 0),
        Err(error) => Err(error),
        Ok(address) => put_u64(at, address),
    }
}

/// Creates a stream. With flag 1, it does not wait for the null stream.
pub(crate) fn create_stream(at: Ptr, flags: u32, priority: i32) -> Outcome {
    context()?;
    cuStreamCreateWithPriority(at, flags, priority)
}

pub(crate) fn stream_device(stream: u64, at: Ptr) -> Outcome {
    context()?;
    let owner = written(0_u64, |at| cuStreamGetCtx(stream, at))?;
    let devices = state::devices()?;
    let of =
        (0..devices).find(|&d| state::is_active(d).unwrap_or(false) && primary(d) == Ok(owner));
    put_i32(at, of.map_or_else(|| written(0, cuCtxGetDevice), Ok)?)
}

pub(crate) fn create_event(at: Ptr, flags: u32) -> Outcome {
    context()?;
    cuEventCreate(at, flags)
}

/// Returns the range of stream priorities.
pub(crate) fn priorities(least: Ptr, greatest: Ptr) -> Outcome {
    context()?;
    crate::driver::cuCtxGetStreamPriorityRange(least, greatest)
}

/// Returns a limit as a `size_t`.
pub(crate) fn limit(at: Ptr, limit: i32) -> Outcome {
    context()?;
    let value =
        written(0_u64, |at| crate::driver::cuCtxGetLimit(at, limit)).map_err(unsupported_limit)?;
    put_u64(at, value)
}

pub(crate) fn set_limit(limit: i32, value: usize) -> Outcome {
    context()?;
    crate::driver::cuCtxSetLimit(limit, value).map_err(unsupported_limit)
}

fn unsupported_limit(error: Status) -> Status {
    if error == Status::INVALID_VALUE { Status::UNSUPPORTED_LIMIT } else { error }
}
