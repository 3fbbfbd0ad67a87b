//! Devices, contexts, streams, events.

use cuda_abi::host::Ptr;

use crate::api::{context, device, event, stream};

exports! {
    // Devices.
    cuDeviceGet(out: Ptr, ordinal: i32) => |d| device::get(d, out, ordinal);
    cuDeviceGetCount(out: Ptr) => |d| device::count(d, out);
    cuDeviceGetName(out: Ptr, room: i32, device: i32) => |d| device::name(d, out, room, device);
    cuDeviceGetUuid | cuDeviceGetUuid_v2 (out: Ptr, device: i32)
        => |d| device::uuid(d, out, device);
    cuDeviceGetLuid(luid: Ptr, mask: Ptr, device: i32) => |d| device::luid(d, luid, mask, device);
    cuDeviceTotalMem_v2(out: Ptr, device: i32) => |d| device::total_memory(d, out, device);
    cuDeviceGetAttribute(out: Ptr, attribute: i32, device: i32)
        => |d| device::attribute(d, out, attribute, device);
    cuDeviceGetProperties(out: Ptr, device: i32) => |d| device::properties(d, out, device);
    cuDeviceComputeCapability(major: Ptr, minor: Ptr, device: i32)
        => |d| device::capability(d, major, minor, device);
    cuDeviceGetPCIBusId(out: Ptr, room: i32, device: i32)
        => |d| device::pci_bus_id(d, out, room, device);
    cuDeviceGetByPCIBusId(out: Ptr, id: Ptr) => |d| device::by_pci_bus_id(d, out, id);
    cuDeviceCanAccessPeer(out: Ptr, device: i32, peer: i32)
        => |d| device::can_access_peer(d, out, device, peer);
    cuDeviceGetP2PAttribute(out: Ptr, attribute: i32, from: i32, to: i32)
        => |d| device::p2p_attribute(d, out, attribute, from, to);
    cuDeviceGetExecAffinitySupport(out: Ptr, kind: i32, device: i32)
        => |d| device::exec_affinity(d, out, kind, device);

    // Primary contexts.
    cuDevicePrimaryCtxRetain(out: Ptr, device: i32) => |d| context::retain_primary(d, out, device);
    cuDevicePrimaryCtxRelease | cuDevicePrimaryCtxRelease_v2 (device: i32)
        => |d| context::release_primary(d, device);
    cuDevicePrimaryCtxReset | cuDevicePrimaryCtxReset_v2 (device: i32)
        => |d| context::reset_primary(d, device);
    cuDevicePrimaryCtxGetState(device: i32, flags: Ptr, active: Ptr)
        => |d| context::primary_state(d, device, flags, active);
    cuDevicePrimaryCtxSetFlags | cuDevicePrimaryCtxSetFlags_v2 (device: i32, flags: u32)
        => |d| context::set_primary_flags(d, device, flags);

    // Contexts.
    cuCtxCreate | cuCtxCreate_v2 (out: Ptr, flags: u32, device: i32)
        => |d| context::create(d, out, flags, device);
    cuCtxCreate_v3(out: Ptr, affinities: Ptr, count: i32, flags: u32, device: i32)
        => |d| context::create_with_affinity(d, out, affinities, count, flags, device);
    cuCtxCreate_v4(out: Ptr, extra: Ptr, flags: u32, device: i32)
        => |d| context::create_with(d, out, extra, flags, device);
    cuCtxDestroy | cuCtxDestroy_v2 | cuCtxDetach (context: u64) => |d| context::destroy(d, context);
    cuCtxAttach(out: Ptr, flags: u32) => |d| context::attach(d, out, flags);
    cuCtxPushCurrent | cuCtxPushCurrent_v2 (context: u64) => |d| context::push_current(d, context);
    cuCtxPopCurrent | cuCtxPopCurrent_v2 (out: Ptr) => |d| context::pop_current(d, out);
    cuCtxSetCurrent(context: u64) => |d| context::set_current(d, context);
    cuCtxGetCurrent(out: Ptr) => |d| context::get_current(d, out);
    cuCtxGetDevice(out: Ptr) => |d| context::device(d, out);
    cuCtxGetDevice_v2(out: Ptr, context: u64) => |d| context::device_of(d, out, context);
    cuCtxGetFlags(out: Ptr) => |d| context::flags(d, out);
    cuCtxSetFlags(flags: u32) => |d| context::set_flags(d, flags);
    cuCtxGetId(context: u64, out: Ptr) => |d| context::id(d, context, out);
    cuCtxGetApiVersion(context: u64, out: Ptr) => |d| context::api_version(d, context, out);
    cuCtxSynchronize() => context::synchronize;
    cuCtxSynchronize_v2(context: u64) => |d| context::synchronize_one(d, context);
    cuCtxGetLimit(out: Ptr, limit: i32) => |d| context::get_limit(d, out, limit);
    cuCtxSetLimit(limit: i32, value: usize) => |d| context::set_limit(d, limit, value as u64);
    cuCtxGetCacheConfig(out: Ptr) => |d| context::get_cache_config(d, out);
    cuCtxSetCacheConfig(config: i32) => |d| context::set_cache_config(d, config);
    cuCtxGetSharedMemConfig(out: Ptr) => |d| context::get_shared_config(d, out);
    cuCtxSetSharedMemConfig(config: i32) => |d| context::set_shared_config(d, config);
    cuCtxGetStreamPriorityRange(least: Ptr, greatest: Ptr)
        => |d| context::priority_range(d, least, greatest);
    cuCtxResetPersistingL2Cache() => context::reset_l2;
    cuCtxEnablePeerAccess(peer: u64, flags: u32) => |d| context::enable_peer(d, peer, flags);
    cuCtxDisablePeerAccess(peer: u64) => |d| context::disable_peer(d, peer);

    // Streams.
    cuStreamCreate(out: Ptr, flags: u32) => |d| stream::create(d, out, flags);
    cuStreamCreateWithPriority(out: Ptr, flags: u32, priority: i32)
        => |d| stream::create_with(d, out, flags, priority);
    cuStreamDestroy | cuStreamDestroy_v2 (stream: u64) => |d| stream::destroy(d, stream);
    cuStreamSynchronize | cuStreamSynchronize_ptsz (stream: u64)
        => |d| stream::synchronize(d, stream);
    cuStreamQuery | cuStreamQuery_ptsz (stream: u64) => |d| stream::query(d, stream);
    cuStreamGetCtx | cuStreamGetCtx_ptsz (stream: u64, out: Ptr)
        => |d| stream::context(d, stream, out);
    cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz (stream: u64, out: Ptr, green: Ptr)
        => |d| stream::contexts(d, stream, out, green);
    cuStreamGetDevice | cuStreamGetDevice_ptsz (stream: u64, out: Ptr)
        => |d| stream::device(d, stream, out);
    cuStreamGetFlags | cuStreamGetFlags_ptsz (stream: u64, out: Ptr)
        => |d| stream::flags(d, stream, out);
    cuStreamGetPriority | cuStreamGetPriority_ptsz (stream: u64, out: Ptr)
        => |d| stream::priority(d, stream, out);
    cuStreamGetId | cuStreamGetId_ptsz (stream: u64, out: Ptr) => |d| stream::id(d, stream, out);
    cuStreamWaitEvent | cuStreamWaitEvent_ptsz (stream: u64, event: u64, flags: u32)
        => |d| stream::wait_event(d, stream, event, flags);
    cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz
        (stream: u64, address: u64, len: usize, flags: u32)
        => |d| stream::attach_memory(d, stream, address, len, flags);
    cuStreamSetAttribute | cuStreamSetAttribute_ptsz (stream: u64, attribute: i32, value: Ptr)
        => |d| stream::set_attribute(d, stream, attribute, value);
    cuStreamGetAttribute | cuStreamGetAttribute_ptsz (stream: u64, attribute: i32, out: Ptr)
        => |d| stream::attribute(d, stream, attribute, out);
    cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz (to: u64, from: u64)
        => |d| stream::copy_attributes(d, to, from);

    // Events.
    cuEventCreate(out: Ptr, flags: u32) => |d| event::create(d, out, flags);
    cuEventDestroy | cuEventDestroy_v2 (event: u64) => |d| event::destroy(d, event);
    cuEventRecord | cuEventRecord_ptsz (event: u64, stream: u64)
        => |d| event::record(d, event, stream);
    cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz (event: u64, stream: u64, flags: u32)
        => |d| event::record_with_flags(d, event, stream, flags);
    cuEventQuery(event: u64) => |d| event::query(d, event);
    cuEventSynchronize(event: u64) => |d| event::synchronize(d, event);
    cuEventElapsedTime | cuEventElapsedTime_v2 (out: Ptr, start: u64, end: u64)
        => |d| event::elapsed(d, out, start, end);

    // Profiling has no effect.
    cuProfilerStart() => |d| d.usable().map(drop);
    cuProfilerStop() => |d| d.usable().map(drop);
}
