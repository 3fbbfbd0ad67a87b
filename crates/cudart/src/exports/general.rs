//! Devices, streams, events, graphs.

use cuda_abi::host::Ptr;

use crate::driver::*;
use crate::state::{context, known_device};
use crate::{device, properties, state};

exports! {
    cudaGetDeviceCount(out: Ptr) => device::count(out);
    cudaGetDevice(out: Ptr) => device::current(out);
    cudaSetDevice(device: i32) => state::set_device(device);
    cudaInitDevice(device: i32, _device_flags: u32, _flags: u32)
        => state::primary(known_device(device)?).map(drop);
    cudaChooseDevice(out: Ptr, properties: Ptr) => device::choose(out, properties);
    cudaGetDeviceProperties(out: Ptr, device: i32) => properties::write(out, device);
    cudaGetDeviceProperties_v2(out: Ptr, device: i32) => properties::write_v2(out, device);
    cudaDeviceGetAttribute(out: Ptr, attribute: i32, device: i32)
        => cuDeviceGetAttribute(out, attribute, known_device(device)?);
    cudaDeviceGetPCIBusId(out: Ptr, room: i32, device: i32)
        => cuDeviceGetPCIBusId(out, room, known_device(device)?);
    cudaDeviceGetByPCIBusId(out: Ptr, id: Ptr)
        => { state::initialise()?; cuDeviceGetByPCIBusId(out, id) };
    cudaDeviceGetP2PAttribute(out: Ptr, attribute: i32, from: i32, to: i32)
        => cuDeviceGetP2PAttribute(out, attribute, known_device(from)?, known_device(to)?);
    cudaDeviceCanAccessPeer(out: Ptr, device: i32, peer: i32)
        => device::can_access_peer(out, device, peer);
    cudaDeviceEnablePeerAccess(peer: i32, flags: u32) => device::enable_peer(peer, flags);
    cudaDeviceDisablePeerAccess(peer: i32) => device::disable_peer(peer);
    cudaDeviceSynchronize | cudaThreadSynchronize () => device::synchronize();
    cudaDeviceReset | cudaThreadExit () => device::reset();
    cudaSetDeviceFlags(flags: u32) => device::set_flags(flags);
    cudaGetDeviceFlags(out: Ptr) => device::flags(out);
    cudaDeviceGetLimit | cudaThreadGetLimit (out: Ptr, limit: i32) => device::limit(out, limit);
    cudaDeviceSetLimit | cudaThreadSetLimit (limit: i32, value: usize)
        => device::set_limit(limit, value);
    cudaDeviceGetCacheConfig | cudaThreadGetCacheConfig (out: Ptr)
        => { context()?; cuCtxGetCacheConfig(out) };
    cudaDeviceSetCacheConfig | cudaThreadSetCacheConfig (config: i32)
        => { context()?; cuCtxSetCacheConfig(config) };
    cudaDeviceGetSharedMemConfig(out: Ptr) => { context()?; cuCtxGetSharedMemConfig(out) };
    cudaDeviceSetSharedMemConfig(config: i32) => { context()?; cuCtxSetSharedMemConfig(config) };
    cudaDeviceGetStreamPriorityRange(least: Ptr, greatest: Ptr)
        => device::priorities(least, greatest);
    cudaCtxResetPersistingL2Cache() => { context()?; cuCtxResetPersistingL2Cache() };
    cudaDriverGetVersion(out: Ptr) => device::driver_version(out);
    cudaRuntimeGetVersion(out: Ptr) => device::runtime_version(out);
    cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz
        (name: Ptr, out: Ptr, flags: u64, status: Ptr)
        => device::entry_point(name, out, crate::version::number(), flags, status);
    cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz
        (name: Ptr, out: Ptr, version: i32, flags: u64, status: Ptr)
        => device::entry_point(name, out, version, flags, status);
    cudaProfilerStart | cudaProfilerStop () => context().map(drop);

    // Streams.
    cudaStreamCreate(out: Ptr) => device::create_stream(out, 0, 0);
    cudaStreamCreateWithFlags(out: Ptr, flags: u32) => device::create_stream(out, flags, 0);
    cudaStreamCreateWithPriority(out: Ptr, flags: u32, priority: i32)
        => device::create_stream(out, flags, priority);
    cudaStreamDestroy(stream: u64) => { context()?; cuStreamDestroy_v2(stream) };
    cudaStreamSynchronize | cudaStreamSynchronize_ptsz (stream: u64)
        => { context()?; cuStreamSynchronize(stream) };
    cudaStreamQuery | cudaStreamQuery_ptsz (stream: u64) => { context()?; cuStreamQuery(stream) };
    cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz (stream: u64, event: u64, flags: u32)
        => { context()?; cuStreamWaitEvent(stream, event, flags) };
    cudaStreamGetFlags | cudaStreamGetFlags_ptsz (stream: u64, out: Ptr)
        => { context()?; cuStreamGetFlags(stream, out) };
    cudaStreamGetPriority | cudaStreamGetPriority_ptsz (stream: u64, out: Ptr)
        => { context()?; cuStreamGetPriority(stream, out) };
    cudaStreamGetId | cudaStreamGetId_ptsz (stream: u64, out: Ptr)
        => { context()?; cuStreamGetId(stream, out) };
    cudaStreamGetDevice | cudaStreamGetDevice_ptsz (stream: u64, out: Ptr)
        => device::stream_device(stream, out);
    cudaStreamAddCallback | cudaStreamAddCallback_ptsz
        (stream: u64, function: Ptr, data: Ptr, flags: u32)
        => { context()?; cuStreamAddCallback(stream, function, data, flags) };
    cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz (stream: u64, function: Ptr, data: Ptr)
        => { context()?; cuLaunchHostFunc(stream, function, data) };
    cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz
        (stream: u64, address: u64, len: usize, flags: u32)
        => { context()?; cuStreamAttachMemAsync(stream, address, len, flags) };
    cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz (stream: u64, attribute: i32, value: Ptr)
        => { context()?; cuStreamSetAttribute(stream, attribute, value) };
    cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz (stream: u64, attribute: i32, out: Ptr)
        => { context()?; cuStreamGetAttribute(stream, attribute, out) };
    cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz (to: u64, from: u64)
        => { context()?; cuStreamCopyAttributes(to, from) };

    // Events.
    cudaEventCreate(out: Ptr) => device::create_event(out, 0);
    cudaEventCreateWithFlags(out: Ptr, flags: u32) => device::create_event(out, flags);
    cudaEventDestroy(event: u64) => { context()?; cuEventDestroy_v2(event) };
    cudaEventRecord | cudaEventRecord_ptsz (event: u64, stream: u64)
        => { context()?; cuEventRecord(event, stream) };
    cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz (event: u64, stream: u64, flags: u32)
        => { context()?; cuEventRecordWithFlags(event, stream, flags) };
    cudaEventSynchronize(event: u64) => { context()?; cuEventSynchronize(event) };
    cudaEventQuery(event: u64) => { context()?; cuEventQuery(event) };
    cudaEventElapsedTime | cudaEventElapsedTime_v2 (out: Ptr, start: u64, end: u64)
        => { context()?; cuEventElapsedTime(out, start, end) };
}
