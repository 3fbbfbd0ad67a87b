//! Memory: allocations of all kinds, attributes of addresses, pools.

use cuda_abi::host::{Ptr, put, put_u64, written};
use cuda_abi::{
    CUmem_advise, CUmemLocation, CUmemLocationType, CUpointer_attribute, Outcome, Status,
    cudaExtent, cudaMemoryType, cudaPitchedPtr, cudaPointerAttributes,
};

use crate::driver::{
    cuMemAdvise, cuMemAlloc_v2, cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemAllocManaged,
    cuMemAllocPitch_v2, cuMemFree_v2, cuMemFreeAsync, cuMemFreeHost, cuMemHostAlloc,
    cuMemHostRegister_v2, cuMemPrefetchAsync, cuPointerGetAttribute,
};
use crate::state::context;

/// The device number that stands for the host in hints (`cudaCpuDeviceId`).
const HOST_DEVICE: i32 = -1;

/// The device number of memory that belongs to no device (`cudaInvalidDeviceId`).
const NO_DEVICE: i32 = -2;

/// Allocates device memory. An allocation of no bytes is null, which can be freed.
pub(crate) fn alloc(at: Ptr, len: usize) -> Outcome {
    context()?;
    if len == 0 {
        return put_u64(at, 0);
    }
    let address = written(0, |at| cuMemAlloc_v2(at, len))?;
    put_u64(at, address).inspect_err(|_| {
        // The client does not have the address.
        let _ = cuMemFree_v2(address);
    })
}

pub(crate) fn free(address: u64) -> Outcome {
    let freed = context().and_then(|_| cuMemFree_v2(address));
    // A child of fork has no device. What it drops is its parent's, and destructors of frameworks
    // take an error for the end of the process.
    if freed == Err(Status::NOT_INITIALIZED) && address != 0 { Ok(()) } else { freed }
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
pub(crate) fn alloc_layers(at: Ptr, extent: cudaExtent) -> Outcome {
    context()?;
    let cudaExtent { width, height, depth } = extent;
    let rows = height.checked_mul(depth).ok_or(Status::OUT_OF_MEMORY)?;
    let mut p = cudaPitchedPtr { ptr: 0, pitch: 0, xsize: width, ysize: height };
    if width != 0 && rows != 0 {
        let pitch = (&raw mut p.pitch).expose_provenance();
        p.ptr = written(0, |at| cuMemAllocPitch_v2(at, pitch, width, rows, 4))?;
    }
    put(at, &p).inspect_err(|_| {
        // The client does not have the address; freeing null does nothing.
        let _ = cuMemFree_v2(p.ptr);
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

/// Returns the attributes of an address. Unregistered memory has an address on the host only.
pub(crate) fn attributes(at: Ptr, address: u64) -> Outcome {
    use CUpointer_attribute as A;
    context()?;
    let get = |attribute: A| written(0, |at| cuPointerGetAttribute(at, attribute as i32, address));
    let is_managed = |at| cuPointerGetAttribute(at, A::IS_MANAGED as i32, address);
    let pointer = |at| cuPointerGetAttribute(at, A::DEVICE_POINTER as i32, address);
    let managed = written(0_u8, is_managed).is_ok_and(|m| m != 0);
    // The driver's memory types have the same numbers.
    let found = match get(A::MEMORY_TYPE) {
        Err(_) => cudaPointerAttributes {
            r#type: cudaMemoryType::Unregistered as i32,
            device: NO_DEVICE,
            devicePointer: 0,
            hostPointer: address,
        },
        Ok(kind) => {
            let on_host = managed || kind == cudaMemoryType::Host as i32;
            cudaPointerAttributes {
                r#type: if managed { cudaMemoryType::Managed as i32 } else { kind },
                device: get(A::DEVICE_ORDINAL)?,
                // Null where the current device cannot access the memory.
                devicePointer: written(0_u64, pointer).unwrap_or(0),
                hostPointer: if on_host { address } else { 0 },
            }
        }
    };
    put(at, &found)
}

/// Returns the device of a location. Before version 13, a number comes in its place.
fn place(location: CUmemLocation) -> Outcome<i32> {
    if !crate::version::is_new() {
        return Ok(location.r#type);
    }
    match CUmemLocationType::of(location.r#type)? {
        CUmemLocationType::DEVICE => Ok(location.id),
        CUmemLocationType::HOST
        | CUmemLocationType::HOST_NUMA
        | CUmemLocationType::HOST_NUMA_CURRENT => Ok(HOST_DEVICE),
        CUmemLocationType::INVALID => Err(Status::INVALID_VALUE),
    }
}

fn known(place: i32) -> Outcome<i32> {
    if place == HOST_DEVICE { Ok(place) } else { crate::state::known_device(place) }
}

/// Prefetches managed memory. Since version 13, flags come before the stream.
pub(crate) fn prefetch(address: u64, len: usize, to: u64, fourth: u64, fifth: u64) -> Outcome {
    context()?;
    let stream = if crate::version::is_new() { fifth } else { fourth };
    cuMemPrefetchAsync(address, len, known(place(CUmemLocation::from_word(to))?)?, stream)
}

pub(crate) fn advise(address: u64, len: usize, advice: i32, to: CUmemLocation) -> Outcome {
    context()?;
    let place = match CUmem_advise::of(advice)? {
        // These hints have no location.
        CUmem_advise::SET_READ_MOSTLY | CUmem_advise::UNSET_READ_MOSTLY => HOST_DEVICE,
        _ => known(place(to)?)?,
    };
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
