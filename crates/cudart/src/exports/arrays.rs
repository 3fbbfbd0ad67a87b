//! Arrays, their copies, texture and surface objects.

use cuda_abi::cudaExtent;
use cuda_abi::host::Ptr;

use crate::array::{self, Side};
use crate::driver::*;
use crate::state::{context, known_device};

/// The size of an array of one or two dimensions.
fn flat(width: usize, height: usize) -> cudaExtent {
    cudaExtent { width, height, depth: 0 }
}

exports! {
    cudaMallocArray(out: Ptr, desc: Ptr, width: usize, height: usize, flags: u32)
        => array::create(out, desc, flat(width, height), flags);
    cudaMalloc3DArray(out: Ptr, desc: Ptr, extent: cudaExtent, flags: u32)
        => array::create(out, desc, extent, flags);
    cudaMallocMipmappedArray(out: Ptr, desc: Ptr, extent: cudaExtent, levels: u32, flags: u32)
        => array::create_mipmapped(out, desc, extent, levels, flags);
    cudaGetMipmappedArrayLevel(out: Ptr, mipmapped: u64, level: u32)
        => { context()?; cuMipmappedArrayGetLevel(out, mipmapped, level) };
    cudaFreeArray(array: u64)
        => { context()?; if array == 0 { Ok(()) } else { cuArrayDestroy(array) } };
    cudaFreeMipmappedArray(array: u64)
        => { context()?; if array == 0 { Ok(()) } else { cuMipmappedArrayDestroy(array) } };
    cudaArrayGetInfo(desc: Ptr, extent: Ptr, flags: Ptr, array: u64)
        => array::info(desc, extent, flags, array);
    cudaGetChannelDesc(out: Ptr, array: u64) => array::channels(out, array);
    cudaArrayGetMemoryRequirements(out: Ptr, array: u64, device: i32)
        => { context()?; cuArrayGetMemoryRequirements(out, array, known_device(device)?) };
    cudaMipmappedArrayGetMemoryRequirements(out: Ptr, array: u64, device: i32)
        => { context()?; cuMipmappedArrayGetMemoryRequirements(out, array, known_device(device)?) };
    cudaDeviceGetTexture1DLinearMaxWidth(out: Ptr, desc: Ptr, device: i32)
        => array::linear_width(out, desc, known_device(device)?);

    // Copies.
    cudaMemcpyToArray | cudaMemcpyToArray_ptds
        (to: u64, x: usize, y: usize, from: u64, len: usize, kind: i32)
        => array::fill((to, x, y), from, len, kind, 0);
    cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz
        (to: u64, x: usize, y: usize, from: u64, len: usize, kind: i32, stream: u64)
        => array::fill((to, x, y), from, len, kind, stream);
    cudaMemcpyFromArray | cudaMemcpyFromArray_ptds
        (to: u64, from: u64, x: usize, y: usize, len: usize, kind: i32)
        => array::drain(to, (from, x, y), len, kind, 0);
    cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz
        (to: u64, from: u64, x: usize, y: usize, len: usize, kind: i32, stream: u64)
        => array::drain(to, (from, x, y), len, kind, stream);
    cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds
        (to: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
            kind: i32)
        => array::rows(Side::Array(to, x, y), Side::Memory(from, pitch), (width, height), kind, 0);
    cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz
        (to: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
            kind: i32, stream: u64)
        => array::rows(
            Side::Array(to, x, y), Side::Memory(from, pitch), (width, height), kind, stream);
    cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds
        (to: u64, pitch: usize, from: u64, x: usize, y: usize, width: usize, height: usize,
            kind: i32)
        => array::rows(Side::Memory(to, pitch), Side::Array(from, x, y), (width, height), kind, 0);
    cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz
        (to: u64, pitch: usize, from: u64, x: usize, y: usize, width: usize, height: usize,
            kind: i32, stream: u64)
        => array::rows(
            Side::Memory(to, pitch), Side::Array(from, x, y), (width, height), kind, stream);
    cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds
        (to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, width: usize,
            height: usize, kind: i32)
        => array::rows(
            Side::Array(to, to_x, to_y), Side::Array(from, x, y), (width, height), kind, 0);
    cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds
        (to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, len: usize, kind: i32)
        => array::rows(Side::Array(to, to_x, to_y), Side::Array(from, x, y), (len, 1), kind, 0);

    // Objects.
    cudaCreateTextureObject(out: Ptr, resource: Ptr, texture: Ptr, view: Ptr)
        => array::create_texture(out, resource, texture, view);
    cudaDestroyTextureObject(object: u64)
        => { context()?; if object == 0 { Ok(()) } else { cuTexObjectDestroy(object) } };
    cudaGetTextureObjectResourceDesc(out: Ptr, object: u64)
        => array::resource_of(out, object, false);
    cudaGetTextureObjectTextureDesc(out: Ptr, object: u64) => array::texture_of(out, object);
    cudaGetTextureObjectResourceViewDesc(out: Ptr, object: u64) => array::view_of(out, object);
    cudaCreateSurfaceObject(out: Ptr, resource: Ptr) => array::create_surface(out, resource);
    cudaDestroySurfaceObject(object: u64)
        => { context()?; if object == 0 { Ok(()) } else { cuSurfObjectDestroy(object) } };
    cudaGetSurfaceObjectResourceDesc(out: Ptr, object: u64)
        => array::resource_of(out, object, true);
}
