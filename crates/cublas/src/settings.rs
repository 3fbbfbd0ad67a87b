//! Handles, streams, modes, versions.

use std::ffi::CStr;

use culibs::device::put_host;
use culibs::stream::check_stream;
use culibs::{Error, Interface, Outcome, Pod, Ptr};

use crate::handle::{HANDLES, Handle, create as new_handle, get};
use crate::status::Cublas;

/// The version of the interface: major, minor, patch.
fn version() -> [i32; 3] {
    match culibs::driver::own_version() {
        Some(13) => [13, 0, 0],
        _ => [12, 9, 1],
    }
}

pub(crate) fn version_number() -> i32 {
    let [major, minor, patch] = version();
    major * 10_000 + minor * 100 + patch
}

pub(crate) fn create(out: Ptr) -> Outcome {
    if out == 0 {
        return Err(Error::InvalidValue);
    }
    let handle = new_handle()?;
    put_host(out, handle).inspect_err(|_| {
        let _ = HANDLES.remove(handle);
    })
}

pub(crate) fn destroy(handle: u64) -> Outcome {
    HANDLES.remove(handle).map(drop)
}

pub(crate) fn get_version(handle: u64, out: Ptr) -> Outcome {
    // Programs ask before they have a handle, too.
    if handle != 0 {
        get(handle)?;
    }
    put_host(out, version_number())
}

/// Returns a part of the version (`libraryPropertyType`).
pub(crate) fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| version().get(kind).copied());
    put_host(out, part.ok_or(Error::InvalidValue)?)
}

/// Returns the version of the runtime API.
pub(crate) fn runtime_version() -> usize {
    match version()[0] {
        13 => 13_000,
        _ => 12_090,
    }
}

/// Changes a handle.
fn change(handle: u64, to: impl FnOnce(&mut Handle)) -> Outcome {
    get(handle)?;
    HANDLES.with(handle, |h| {
        to(h);
        Ok(())
    })
}

pub(crate) fn set_stream(handle: u64, stream: u64) -> Outcome {
    get(handle)?;
    check_stream(stream)?;
    change(handle, |h| h.stream = stream)
}

pub(crate) fn set_workspace(handle: u64, at: u64, len: usize) -> Outcome {
    get(handle)?;
    // A workspace is aligned to 256 bytes; nothing here needs it.
    if (at == 0 && len > 0) || !at.is_multiple_of(256) {
        return Err(Error::InvalidValue);
    }
    Ok(())
}

/// Sets a mode that has one of these values.
pub(crate) fn set(
    handle: u64,
    value: i32,
    allowed: &[i32],
    to: impl FnOnce(&mut Handle, i32),
) -> Outcome {
    set_if(handle, value, |value| allowed.contains(value), to)
}

/// Sets a number that is allowed.
pub(crate) fn set_if(
    handle: u64,
    value: i32,
    allowed: impl FnOnce(&i32) -> bool,
    to: impl FnOnce(&mut Handle, i32),
) -> Outcome {
    get(handle)?;
    if !allowed(&value) {
        return Err(Error::InvalidValue);
    }
    change(handle, |h| to(h, value))
}

pub(crate) fn set_multiprocessors(handle: u64, value: i32) -> Outcome {
    if value < 0 {
        return Err(Error::InvalidValue);
    }
    change(handle, |h| h.multiprocessors = value)
}

/// Returns something of a handle.
pub(crate) fn read<V: Pod>(handle: u64, out: Ptr, of: fn(&Handle) -> V) -> Outcome {
    let handle = get(handle)?;
    put_host(out, of(&handle))
}

pub(crate) fn status_name(status: i32) -> &'static CStr {
    Cublas::name(status)
}

pub(crate) fn status_text(status: i32) -> &'static CStr {
    match status {
        0 => c"the operation completed successfully",
        1 => c"the library was not initialized",
        3 => c"the resource allocation failed",
        7 => c"an unsupported value or parameter was passed to the function",
        8 => c"the function requires an architectural feature absent from the device",
        11 => c"an access to device memory space failed",
        13 => c"the function failed to launch on the device",
        14 => c"an internal operation failed",
        15 => c"the functionality requested is not supported",
        16 => c"the functionality requested requires some license",
        _ => c"unknown status",
    }
}
