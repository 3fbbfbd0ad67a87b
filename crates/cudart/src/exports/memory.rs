//! Memory: allocation, copies, fills, symbols, attributes, pools.

use cuda_abi::host::Ptr;
use cuda_abi::{
    CUipcEventHandle, CUipcMemHandle, CUmemLocation, cudaExtent, cudaMemcpyKind, cudaPitchedPtr,
};

use crate::driver::*;
use crate::state::{context, known_device};
use crate::{copy, memory};

exports! {
    cudaMalloc(out: Ptr, len: usize) => memory::alloc(out, len);
    cudaFree(address: u64) => memory::free(address);
    cudaMallocPitch(out: Ptr, pitch: Ptr, width: usize, height: usize)
        => memory::alloc_pitch(out, pitch, width, height);
    cudaMalloc3D(out: Ptr, extent: cudaExtent) => memory::alloc_layers(out, extent);
    cudaMallocManaged(out: Ptr, len: usize, flags: u32) => memory::alloc_managed(out, len, flags);
    cudaMallocHost(out: Ptr, len: usize) => memory::alloc_host(out, len, 0);
    cudaHostAlloc(out: Ptr, len: usize, flags: u32) => memory::alloc_host(out, len, flags);
    cudaFreeHost(address: Ptr) => memory::free_host(address);
    cudaHostRegister(address: Ptr, len: usize, flags: u32) => memory::register(address, len, flags);
    cudaHostUnregister(address: Ptr) => { context()?; cuMemHostUnregister(address) };
    cudaHostGetDevicePointer(out: Ptr, address: Ptr, flags: u32)
        => { context()?; cuMemHostGetDevicePointer_v2(out, address, flags) };
    cudaHostGetFlags(out: Ptr, address: Ptr) => { context()?; cuMemHostGetFlags(out, address) };
    cudaMemGetInfo(free: Ptr, total: Ptr) => { context()?; cuMemGetInfo_v2(free, total) };
    cudaPointerGetAttributes(out: Ptr, address: u64) => memory::attributes(out, address);
    cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz
        (address: u64, len: usize, to: u64, fourth: u64, fifth: u64)
        => memory::prefetch(address, len, to, fourth, fifth);
    cudaMemAdvise(address: u64, len: usize, advice: i32, to: CUmemLocation)
        => memory::advise(address, len, advice, to);
    cudaMemRangeGetAttribute(out: Ptr, size: usize, attribute: i32, address: u64, len: usize)
        => { context()?; cuMemRangeGetAttribute(out, size, attribute, address, len) };

    // Other processes. The handles are the driver's.
    cudaIpcGetMemHandle(out: Ptr, address: u64) => { context()?; cuIpcGetMemHandle(out, address) };
    cudaIpcOpenMemHandle(out: Ptr, handle: CUipcMemHandle, flags: u32)
        => { context()?; cuIpcOpenMemHandle_v2(out, handle, flags) };
    cudaIpcCloseMemHandle(address: u64) => { context()?; cuIpcCloseMemHandle(address) };
    cudaIpcGetEventHandle(out: Ptr, event: u64) => { context()?; cuIpcGetEventHandle(out, event) };
    cudaIpcOpenEventHandle(out: Ptr, handle: CUipcEventHandle)
        => { context()?; cuIpcOpenEventHandle(out, handle) };

    // Copies.
    cudaMemcpy | cudaMemcpy_ptds (to: u64, from: u64, len: usize, kind: i32)
        => copy::line(to, from, len, kind, 0);
    cudaMemcpyAsync | cudaMemcpyAsync_ptsz (to: u64, from: u64, len: usize, kind: i32, stream: u64)
        => copy::line(to, from, len, kind, stream);
    // Since version 13, no index of a failed copy comes before the stream.
    cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz
        (to: Ptr, from: Ptr, sizes: Ptr, count: usize, attributes: Ptr, indices: Ptr, number: usize,
         eighth: usize, ninth: u64)
        => copy::batch((to, from, sizes, count), (attributes, indices, number), eighth, ninth);
    cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz
        (to: u64, from: u64, len: usize, _attributes: Ptr, stream: u64)
        => copy::line(to, from, len, cudaMemcpyKind::Default as i32, stream);
    cudaMemcpyPeer(to: u64, there: i32, from: u64, here: i32, len: usize)
        => copy::peer(to, there, from, here, len, 0);
    cudaMemcpyPeerAsync(to: u64, there: i32, from: u64, here: i32, len: usize, stream: u64)
        => copy::peer(to, there, from, here, len, stream);
    cudaMemcpy2D | cudaMemcpy2D_ptds
        (to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
            kind: i32)
        => copy::rows((to, to_pitch), (from, from_pitch), (width, height), kind, 0);
    cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz
        (to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
            kind: i32, stream: u64)
        => copy::rows((to, to_pitch), (from, from_pitch), (width, height), kind, stream);
    cudaMemcpy3D | cudaMemcpy3D_ptds (params: Ptr) => copy::layers(params, 0);
    cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds (params: Ptr) => copy::peer_layers(params, 0);
    cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz (params: Ptr, stream: u64)
        => copy::peer_layers(params, stream);
    cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz (params: Ptr, stream: u64)
        => copy::layers(params, stream);
    cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds
        (symbol: Ptr, from: u64, len: usize, offset: usize, kind: i32)
        => copy::to_symbol(symbol, from, len, offset, kind, 0);
    cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz
        (symbol: Ptr, from: u64, len: usize, offset: usize, kind: i32, stream: u64)
        => copy::to_symbol(symbol, from, len, offset, kind, stream);
    cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds
        (to: u64, symbol: Ptr, len: usize, offset: usize, kind: i32)
        => copy::from_symbol(to, symbol, len, offset, kind, 0);
    cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz
        (to: u64, symbol: Ptr, len: usize, offset: usize, kind: i32, stream: u64)
        => copy::from_symbol(to, symbol, len, offset, kind, stream);

    // Fills.
    cudaMemset | cudaMemset_ptds (to: u64, value: i32, len: usize) => copy::fill(to, value, len, 0);
    cudaMemsetAsync | cudaMemsetAsync_ptsz (to: u64, value: i32, len: usize, stream: u64)
        => copy::fill(to, value, len, stream);
    cudaMemset2D | cudaMemset2D_ptds
        (to: u64, pitch: usize, value: i32, width: usize, height: usize)
        => copy::fill_rows(to, pitch, value, width, height, 0);
    cudaMemset2DAsync | cudaMemset2DAsync_ptsz
        (to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64)
        => copy::fill_rows(to, pitch, value, width, height, stream);
    cudaMemset3D | cudaMemset3D_ptds (to: cudaPitchedPtr, value: i32, extent: cudaExtent)
        => copy::fill_layers(to, value, extent, 0);
    cudaMemset3DAsync | cudaMemset3DAsync_ptsz
        (to: cudaPitchedPtr, value: i32, extent: cudaExtent, stream: u64)
        => copy::fill_layers(to, value, extent, stream);

    // Pools.
    cudaMallocAsync | cudaMallocAsync_ptsz (out: Ptr, len: usize, stream: u64)
        => memory::alloc_async(out, len, stream);
    cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz
        (out: Ptr, len: usize, pool: u64, stream: u64)
        => memory::alloc_from(out, len, pool, stream);
    cudaFreeAsync | cudaFreeAsync_ptsz (address: u64, stream: u64)
        => memory::free_async(address, stream);
    cudaDeviceGetDefaultMemPool(out: Ptr, device: i32)
        => cuDeviceGetDefaultMemPool(out, known_device(device)?);
    cudaDeviceGetMemPool(out: Ptr, device: i32) => cuDeviceGetMemPool(out, known_device(device)?);
    cudaDeviceSetMemPool(device: i32, pool: u64) => cuDeviceSetMemPool(known_device(device)?, pool);
    cudaMemGetDefaultMemPool(out: Ptr, location: Ptr, kind: i32)
        => { context()?; cuMemGetDefaultMemPool(out, location, kind) };
    cudaMemGetMemPool(out: Ptr, location: Ptr, kind: i32)
        => { context()?; cuMemGetMemPool(out, location, kind) };
    cudaMemSetMemPool(location: Ptr, kind: i32, pool: u64)
        => { context()?; cuMemSetMemPool(location, kind, pool) };
    cudaMemPoolCreate(out: Ptr, properties: Ptr)
        => { context()?; cuMemPoolCreate(out, properties) };
    cudaMemPoolDestroy(pool: u64) => { context()?; cuMemPoolDestroy(pool) };
    cudaMemPoolGetAttribute(pool: u64, attribute: i32, out: Ptr)
        => { context()?; cuMemPoolGetAttribute(pool, attribute, out) };
    cudaMemPoolSetAttribute(pool: u64, attribute: i32, value: Ptr)
        => { context()?; cuMemPoolSetAttribute(pool, attribute, value) };
    cudaMemPoolTrimTo(pool: u64, keep: usize) => { context()?; cuMemPoolTrimTo(pool, keep) };
    cudaMemPoolExportToShareableHandle(out: Ptr, pool: u64, kind: i32, flags: u32)
        => { context()?; cuMemPoolExportToShareableHandle(out, pool, kind, flags.into()) };
    cudaMemPoolImportFromShareableHandle(out: Ptr, shareable: u64, kind: i32, flags: u32)
        => { context()?; cuMemPoolImportFromShareableHandle(out, shareable, kind, flags.into()) };
    cudaMemPoolExportPointer(out: Ptr, address: u64)
        => { context()?; cuMemPoolExportPointer(out, address) };
    cudaMemPoolImportPointer(out: Ptr, pool: u64, data: Ptr)
        => { context()?; cuMemPoolImportPointer(out, pool, data) };
    cudaMemPoolSetAccess(pool: u64, list: Ptr, count: usize)
        => { context()?; cuMemPoolSetAccess(pool, list, count) };
    cudaMemPoolGetAccess(out: Ptr, pool: u64, location: Ptr)
        => { context()?; cuMemPoolGetAccess(out, pool, location) };
}
