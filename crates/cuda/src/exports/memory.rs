//! Memory: allocation, copies, fills, attributes, pools.

use cuda_abi::host::Ptr;
use cuda_abi::{CUipcEventHandle, CUipcMemHandle, CUmemLocation};

use crate::api::{mapping, memory, pointer, pool, process};

exports! {
    cuMemGetInfo_v2(free: Ptr, total: Ptr) => |d| memory::info(d, free, total);
    cuMemAlloc_v2(out: Ptr, len: usize) => |d| memory::alloc(d, out, len);
    cuMemAllocPitch_v2(out: Ptr, pitch: Ptr, width: usize, height: usize, element: u32)
        => |d| memory::alloc_pitch(d, out, pitch, width, height, element);
    cuMemAllocManaged(out: Ptr, len: usize, flags: u32)
        => |d| memory::alloc_managed(d, out, len, flags);
    cuMemFree_v2(address: u64) => |d| memory::free(d, address);
    cuMemGetAddressRange_v2(base: Ptr, len: Ptr, address: u64)
        => |d| memory::address_range(d, base, len, address);
    cuMemAllocHost_v2(out: Ptr, len: usize) => |d| memory::host_alloc_plain(d, out, len);
    cuMemHostAlloc(out: Ptr, len: usize, flags: u32) => |d| memory::host_alloc(d, out, len, flags);
    cuMemFreeHost(address: Ptr) => |d| memory::host_free(d, address);
    cuMemHostRegister | cuMemHostRegister_v2 (address: Ptr, len: usize, flags: u32)
        => |d| memory::host_register(d, address, len, flags);
    cuMemHostUnregister(address: Ptr) => |d| memory::host_unregister(d, address);
    cuMemHostGetDevicePointer_v2(out: Ptr, address: Ptr, flags: u32)
        => |d| memory::host_device_pointer(d, out, address, flags);
    cuMemHostGetFlags(out: Ptr, address: Ptr) => |d| memory::host_flags(d, out, address);
    cuMemAdvise(address: u64, len: usize, advice: i32, device: i32)
        => |d| memory::advise(d, address, len, advice, device);
    cuMemAdvise_v2(address: u64, len: usize, advice: i32, location: CUmemLocation)
        => |d| memory::advise(d, address, len, advice, location.id);
    cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz
        (address: u64, len: usize, device: i32, stream: u64)
        => |d| memory::prefetch(d, address, len, device, stream);
    cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz
        (address: u64, len: usize, location: u64, _flags: u32, stream: u64)
        => |d| memory::prefetch(d, address, len, CUmemLocation::from_word(location).id, stream);

    // Reserved addresses and mappings.
    cuMemGetAllocationGranularity(out: Ptr, properties: Ptr, option: i32)
        => |d| mapping::granularity(d, out, properties, option);
    cuMemAddressReserve(out: Ptr, len: usize, align: usize, wanted: u64, flags: u64)
        => |d| mapping::reserve(d, out, len, align, wanted, flags);
    cuMemAddressFree(address: u64, len: usize) => |d| mapping::free(d, address, len);
    cuMemCreate(out: Ptr, len: usize, properties: Ptr, flags: u64)
        => |d| mapping::create(d, out, len, properties, flags);
    cuMemRelease(handle: u64) => |d| mapping::release(d, handle);
    cuMemRetainAllocationHandle(out: Ptr, address: u64) => |d| mapping::retain(d, out, address);
    cuMemExportToShareableHandle(out: Ptr, handle: u64, kind: i32, flags: u64)
        => |d| mapping::export(d, out, handle, kind, flags);
    cuMemImportFromShareableHandle(out: Ptr, shareable: u64, kind: i32)
        => |d| mapping::import(d, out, shareable, kind);
    cuMemGetAllocationPropertiesFromHandle(out: Ptr, handle: u64)
        => |d| mapping::properties(d, out, handle);
    cuMemMap(address: u64, len: usize, offset: usize, handle: u64, flags: u64)
        => |d| mapping::map(d, address, len, offset, handle, flags);
    cuMemUnmap(address: u64, len: usize) => |d| mapping::unmap(d, address, len);
    cuMemSetAccess(address: u64, len: usize, list: Ptr, count: usize)
        => |d| mapping::set_access(d, address, len, list, count);
    cuMemGetAccess(out: Ptr, location: Ptr, address: u64)
        => |d| mapping::access(d, out, location, address);

    // Other processes.
    cuIpcGetMemHandle(out: Ptr, address: u64) => |d| process::memory_handle(d, out, address);
    cuIpcOpenMemHandle | cuIpcOpenMemHandle_v2 (out: Ptr, handle: CUipcMemHandle, flags: u32)
        => |d| process::open_memory(d, out, handle, flags);
    cuIpcCloseMemHandle(address: u64) => |d| process::close_memory(d, address);
    cuIpcGetEventHandle(out: Ptr, event: u64) => |d| process::event_handle(d, out, event);
    cuIpcOpenEventHandle(out: Ptr, handle: CUipcEventHandle)
        => |d| process::open_event(d, out, handle);

    // Attributes.
    cuPointerGetAttribute(out: Ptr, attribute: i32, address: u64)
        => |d| pointer::attribute(d, out, attribute, address);
    cuPointerGetAttributes(count: u32, attributes: Ptr, values: Ptr, address: u64)
        => |d| pointer::attributes(d, count, attributes, values, address);
    cuPointerSetAttribute(value: Ptr, attribute: i32, address: u64)
        => |d| pointer::set_attribute(d, value, attribute, address);
    cuMemRangeGetAttribute(out: Ptr, size: usize, attribute: i32, address: u64, len: usize)
        => |d| pointer::range_attribute(d, out, size, attribute, address, len);

    // Pools.
    cuDeviceGetDefaultMemPool(out: Ptr, device: i32) => |d| pool::default_of(d, out, device);
    cuDeviceGetMemPool(out: Ptr, device: i32) => |d| pool::current_of(d, out, device);
    cuDeviceSetMemPool(device: i32, pool: u64) => |d| pool::set_current(d, device, pool);
    cuMemGetDefaultMemPool(out: Ptr, location: Ptr, kind: i32)
        => |d| pool::default_at(d, out, location, kind);
    cuMemGetMemPool(out: Ptr, location: Ptr, kind: i32)
        => |d| pool::current_at(d, out, location, kind);
    cuMemSetMemPool(location: Ptr, kind: i32, pool: u64)
        => |d| pool::set_current_at(d, location, kind, pool);
    cuMemPoolCreate(out: Ptr, properties: Ptr) => |d| pool::create(d, out, properties);
    cuMemPoolDestroy(pool: u64) => |d| pool::destroy(d, pool);
    cuMemPoolGetAttribute(pool: u64, attribute: i32, out: Ptr)
        => |d| pool::get_attribute(d, pool, attribute, out);
    cuMemPoolSetAttribute(pool: u64, attribute: i32, value: Ptr)
        => |d| pool::set_attribute(d, pool, attribute, value);
    cuMemPoolTrimTo(pool: u64, keep: usize) => |d| pool::trim(d, pool, keep);
    cuMemPoolExportToShareableHandle(out: Ptr, pool: u64, kind: i32, flags: u64)
        => |d| pool::export(d, out, pool, kind, flags);
    cuMemPoolImportFromShareableHandle(out: Ptr, shareable: u64, kind: i32, flags: u64)
        => |d| pool::import(d, out, shareable, kind, flags);
    cuMemPoolExportPointer(out: Ptr, address: u64)
        => |d| process::export_pointer(d, out, address);
    cuMemPoolImportPointer(out: Ptr, pool: u64, data: Ptr)
        => |d| process::import_pointer(d, out, pool, data);
    cuMemPoolSetAccess(pool: u64, list: Ptr, count: usize)
        => |d| pool::set_access(d, pool, list, count);
    cuMemPoolGetAccess(out: Ptr, pool: u64, location: Ptr)
        => |d| pool::get_access(d, out, pool, location);
    cuMemAllocAsync | cuMemAllocAsync_ptsz (out: Ptr, len: usize, stream: u64)
        => |d| pool::alloc_async(d, out, len, stream);
    cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz
        (out: Ptr, len: usize, pool: u64, stream: u64)
        => |d| pool::alloc_from(d, out, len, pool, stream);
    cuMemFreeAsync | cuMemFreeAsync_ptsz (address: u64, stream: u64)
        => |d| pool::free_async(d, address, stream);
}
