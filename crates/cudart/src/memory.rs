//! Memory: allocations of all kinds, attributes of addresses, pools.

use crate::copy::{Extent, Pitched};
use crate::driver::{
    cuMemAdvise, cuMemAlloc_v2, cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemAllocManaged,
    cuMemAllocPitch_v2, cuMemFree_v2, cuMemFreeAsync, cuMemFreeHost, cuMemHostAlloc,
    cuMemHostRegister_v2, cuMemPrefetchAsync, cuPointerGetAttribute,
};
use crate::error::{Error, Outcome};
use crate::host::{Ptr, out, put, put_i32, put_u64};
use crate::state::context;

/// The device number that stands for the host in hints (`cudaCpuDeviceId`).
const HOST_DEVICE: i32 = -1;

/// Allocates device memory. An allocation of no bytes is null, which can be freed.
pub(crate) fn alloc(at: Ptr, len: usize) -> Outcome {
    context()?;
    if len == 0 {
        return put_u64(at, 0);
    }
    let address = out(0, |at| cuMemAlloc_v2(at, len))?;
    put_u64(at, address).inspect_err(|_| {
        // The client does not have the address.
        let _ = cuMemFree_v2(address);
    })
}

pub(crate) fn free(address: u64) -> Outcome {
    context()?;
    cuMemFree_v2(address)
}

pub(crate) fn alloc_pitch(at: Ptr, pitch: Ptr, width: usize, height: usize) -> Outcome {
    context()?;
    if width == 0 || height == 0 {
        put_u64(at, 0)?;
        return put_u64(pitch, 0);
    }
    cuMemAllocPitch_v2(at, pitch, width, height, 4)
}

/// Allocates layers of rows, and returns them as `cudaPitchedPtr`.
pub(crate) fn alloc_layers(at: Ptr, extent: Extent) -> Outcome {
    context()?;
    let Extent { width, height, depth } = extent;
    let rows = height.checked_mul(depth).ok_or(Error::MEMORY_ALLOCATION)?;
    let mut p = Pitched { at: 0, pitch: 0, width, height };
    if width != 0 && rows != 0 {
        let pitch = (&raw mut p.pitch).expose_provenance();
        p.at = out(0, |at| cuMemAllocPitch_v2(at, pitch, width, rows, 4))?;
    }
    let words = [p.at, p.pitch as u64, p.width as u64, p.height as u64];
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    put(at, &bytes).inspect_err(|_| {
        // The client does not have the address; freeing null does nothing.
        let _ = cuMemFree_v2(p.at);
    })
}

pub(crate) fn alloc_managed(at: Ptr, len: usize, flags: u32) -> Outcome {
    context()?;
    cuMemAllocManaged(at, len, flags)
}

pub(crate) fn alloc_host(at: Ptr, len: usize, flags: u32) -> Outcome {
    context()?;
    if len == 0 {
        return put_u64(at, 0);
    }
    cuMemHostAlloc(at, len, flags)
}

pub(crate) fn free_host(address: Ptr) -> Outcome {
    context()?;
    if address == 0 { Ok(()) } else { cuMemFreeHost(address) }
}

pub(crate) fn register(address: Ptr, len: usize, flags: u32) -> Outcome {
    context()?;
    cuMemHostRegister_v2(address, len, flags)
}

/// Returns `cudaPointerAttributes`: kind, device, and the address on the device and on the host.
/// Unregistered memory has an address on the host only.
pub(crate) fn attributes(at: Ptr, address: u64) -> Outcome {
    context()?;
    let kind = out(0_i32, |at| cuPointerGetAttribute(at, 2, address));
    let managed = out(0_u8, |at| cuPointerGetAttribute(at, 8, address)).is_ok_and(|m| m != 0);
    let (kind, device, on_device, on_host) = match kind {
        Err(_) => (0, -2, 0, address),
        Ok(kind) => {
            let device = out(0_i32, |at| cuPointerGetAttribute(at, 9, address))?;
            let host = if managed || kind == 1 { address } else { 0 };
            (if managed { 3 } else { kind }, device, address, host)
        }
    };
    put_i32(at, kind)?;
    put_i32(at + 4, device)?;
    put_u64(at + 8, on_device)?;
    put_u64(at + 16, on_host)
}

/// Returns the device of a location. Since version 13, `word` holds its kind (1 is a device, 2 to 4
/// are the host) and number; before that, only a number.
fn place(word: u64) -> Outcome<i32> {
    if !crate::version::is_new() {
        return Ok(word as i32);
    }
    match word as u32 {
        1 => Ok((word >> 32) as i32),
        2..=4 => Ok(HOST_DEVICE),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn known(place: i32) -> Outcome<i32> {
    if place == HOST_DEVICE { Ok(place) } else { crate::state::known_device(place) }
}

/// Prefetches managed memory. Since version 13, flags come before the stream.
pub(crate) fn prefetch(address: u64, len: usize, to: u64, fourth: u64, fifth: u64) -> Outcome {
    context()?;
    let stream = if crate::version::is_new() { fifth } else { fourth };
    cuMemPrefetchAsync(address, len, known(place(to)?)?, stream)
}

pub(crate) fn advise(address: u64, len: usize, advice: i32, to: u64) -> Outcome {
    context()?;
    if !(1..=6).contains(&advice) {
        return Err(Error::INVALID_VALUE);
    }
    // Read-mostly hints have no location.
    let place = if advice <= 2 { HOST_DEVICE } else { known(place(to)?)? };
    cuMemAdvise(address, len, advice, place)
}

pub(crate) fn alloc_async(at: Ptr, len: usize, stream: u64) -> Outcome {
    context()?;
    if len == 0 { put_u64(at, 0) } else { cuMemAllocAsync(at, len, stream) }
}

pub(crate) fn alloc_from(at: Ptr, len: usize, pool: u64, stream: u64) -> Outcome {
    context()?;
    if len == 0 { put_u64(at, 0) } else { cuMemAllocFromPoolAsync(at, len, pool, stream) }
}

pub(crate) fn free_async(address: u64, stream: u64) -> Outcome {
    context()?;
    cuMemFreeAsync(address, stream)
}
