//! Copies and fills.

use cuda_abi::host::{Ptr, address, get};
use cuda_abi::{
    Abi as _, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype, Outcome, Status, cudaExtent,
    cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaMemcpyKind, cudaPitchedPtr, cudaPos,
};

use crate::array::bytes_of;
use crate::driver::{
    cuMemcpy2DAsync_v2, cuMemcpy3DAsync_v2, cuMemcpyAsync, cuMemcpyBatchAsync,
    cuMemcpyDtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2, cuMemsetD2D8Async,
    cuMemsetD8Async,
};
use crate::registry::variable;
use crate::state::context;

/// Returns the direction of a copy.
pub(crate) fn direction(kind: i32) -> Outcome<cudaMemcpyKind> {
    cudaMemcpyKind::of(kind).map_err(|_| Status::INVALID_MEMCPY_DIRECTION)
}

pub(crate) fn line(to: u64, from: u64, len: usize, kind: i32, stream: u64) -> Outcome {
    context()?;
    match direction(kind)? {
        cudaMemcpyKind::HostToHost | cudaMemcpyKind::Default => {
            cuMemcpyAsync(to, from, len, stream)
        }
        cudaMemcpyKind::HostToDevice => cuMemcpyHtoDAsync_v2(to, from as Ptr, len, stream),
        cudaMemcpyKind::DeviceToHost => cuMemcpyDtoHAsync_v2(to as Ptr, from, len, stream),
        cudaMemcpyKind::DeviceToDevice => cuMemcpyDtoDAsync_v2(to, from, len, stream),
    }
}

/// Submits a batch of copies.
pub(crate) fn batch(
    (to, from, sizes, count): (Ptr, Ptr, Ptr, usize),
    (attributes, indices, number): (Ptr, Ptr, usize),
    eighth: usize,
    ninth: u64,
) -> Outcome {
    context()?;
    let (failed, stream) =
        if crate::version::is_new() { (0, eighth as u64) } else { (eighth, ninth) };
    cuMemcpyBatchAsync(to, from, sizes, count, attributes, indices, number, failed, stream)
}

/// Copies between devices. They share one memory, so this is an ordinary copy.
pub(crate) fn peer(to: u64, there: i32, from: u64, here: i32, len: usize, stream: u64) -> Outcome {
    crate::state::known_device(there)?;
    crate::state::known_device(here)?;
    line(to, from, len, cudaMemcpyKind::DeviceToDevice as i32, stream)
}

/// Returns the memory types of destination and source.
pub(crate) fn types(kind: i32) -> Outcome<(u32, u32)> {
    const HOST: u32 = CUmemorytype::HOST as u32;
    const DEVICE: u32 = CUmemorytype::DEVICE as u32;
    const UNIFIED: u32 = CUmemorytype::UNIFIED as u32;
    Ok(match direction(kind)? {
        cudaMemcpyKind::HostToHost => (HOST, HOST),
        cudaMemcpyKind::HostToDevice => (DEVICE, HOST),
        cudaMemcpyKind::DeviceToHost => (HOST, DEVICE),
        cudaMemcpyKind::DeviceToDevice => (DEVICE, DEVICE),
        cudaMemcpyKind::Default => (UNIFIED, UNIFIED),
    })
}

pub(crate) fn rows(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    (width, height): (usize, usize),
    kind: i32,
    stream: u64,
) -> Outcome {
    context()?;
    let (to_type, from_type) = types(kind)?;
    // One row has no pitch: a sample of cuSOLVER passes one below the width, and its README has
    // what it printed on hardware.
    let (to_pitch, from_pitch) = if height == 1 { (width, width) } else { (to_pitch, from_pitch) };
    if width > to_pitch || width > from_pitch {
        return Err(Status::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    // Each side has its address both as the host's and as the device's.
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: from_type,
        srcHost: from,
        srcDevice: from,
        srcPitch: from_pitch as u64,
        dstMemoryType: to_type,
        dstHost: to,
        dstDevice: to,
        dstPitch: to_pitch as u64,
        WidthInBytes: width as u64,
        Height: height as u64,
        ..CUDA_MEMCPY2D::zeroed()
    };
    cuMemcpy2DAsync_v2(address(&copy), stream)
}

/// Creates the driver's structure for a copy of adjacent bytes.
pub(crate) fn of_line(to: u64, from: u64, len: usize, kind: i32) -> Outcome<CUDA_MEMCPY3D> {
    let (to_type, from_type) = types(kind)?;
    Ok(CUDA_MEMCPY3D {
        srcMemoryType: from_type,
        srcHost: from,
        srcDevice: from,
        dstMemoryType: to_type,
        dstHost: to,
        dstDevice: to,
        WidthInBytes: len as u64,
        Height: 1,
        Depth: 1,
        ..CUDA_MEMCPY3D::zeroed()
    })
}

/// Creates the driver's structure for a copy that the runtime's describes.
pub(crate) fn of_layers(params: Ptr) -> Outcome<CUDA_MEMCPY3D> {
    let p = get::<cudaMemcpy3DParms>(params)?;
    let (mut to_type, mut from_type) = types(p.kind)?;
    // Positions in arrays count elements, and so does the width of a copy with an array.
    let (mut to_element, mut from_element) = (1, 1);
    if p.srcArray != 0 {
        from_element = bytes_of(p.srcArray)?;
        from_type = CUmemorytype::ARRAY as u32;
    }
    if p.dstArray != 0 {
        to_element = bytes_of(p.dstArray)?;
        to_type = CUmemorytype::ARRAY as u32;
    }
    let both = p.srcArray != 0 && p.dstArray != 0;
    let twice = |array: u64, at: u64| array != 0 && at != 0;
    if both && to_element != from_element
        || twice(p.srcArray, p.srcPtr.ptr)
        || twice(p.dstArray, p.dstPtr.ptr)
    {
        return Err(Status::INVALID_VALUE);
    }
    let scaled = |count: usize, element: u64| {
        (count as u64).checked_mul(element).ok_or(Status::INVALID_VALUE)
    };
    Ok(CUDA_MEMCPY3D {
        srcXInBytes: scaled(p.srcPos.x, from_element)?,
        srcArray: p.srcArray,
        dstArray: p.dstArray,
        srcY: p.srcPos.y as u64,
        srcZ: p.srcPos.z as u64,
        srcMemoryType: from_type,
        srcHost: p.srcPtr.ptr,
        srcDevice: p.srcPtr.ptr,
        srcPitch: p.srcPtr.pitch as u64,
        srcHeight: p.srcPtr.ysize as u64,
        dstXInBytes: scaled(p.dstPos.x, to_element)?,
        dstY: p.dstPos.y as u64,
        dstZ: p.dstPos.z as u64,
        dstMemoryType: to_type,
        dstHost: p.dstPtr.ptr,
        dstDevice: p.dstPtr.ptr,
        dstPitch: p.dstPtr.pitch as u64,
        dstHeight: p.dstPtr.ysize as u64,
        WidthInBytes: scaled(p.extent.width, to_element.max(from_element))?,
        Height: p.extent.height as u64,
        Depth: p.extent.depth as u64,
        ..CUDA_MEMCPY3D::zeroed()
    })
}

pub(crate) fn layers(params: Ptr, stream: u64) -> Outcome {
    context()?;
    cuMemcpy3DAsync_v2(address(&of_layers(params)?), stream)
}

/// Copies a box between devices, which have one memory.
pub(crate) fn peer_layers(params: Ptr, stream: u64) -> Outcome {
    let p = get::<cudaMemcpy3DPeerParms>(params)?;
    crate::state::known_device(p.srcDevice)?;
    crate::state::known_device(p.dstDevice)?;
    let same = cudaMemcpy3DParms {
        srcArray: p.srcArray,
        srcPos: p.srcPos,
        srcPtr: p.srcPtr,
        dstArray: p.dstArray,
        dstPos: p.dstPos,
        dstPtr: p.dstPtr,
        extent: p.extent,
        kind: cudaMemcpyKind::Default as i32,
    };
    layers(address(&same), stream)
}

/// Creates the runtime's structure for a copy that the driver's describes, both sides of which are
/// addresses.
pub(crate) fn in_layers(copy: &CUDA_MEMCPY3D) -> cudaMemcpy3DParms {
    const HOST: u32 = CUmemorytype::HOST as u32;
    let pointer = |kind, host: u64, device: u64| if kind == HOST { host } else { device };
    let side = |ptr, pitch: u64, height: u64| cudaPitchedPtr {
        ptr,
        pitch: pitch as usize,
        xsize: pitch as usize,
        ysize: height as usize,
    };
    let pos = |x: u64, y: u64, z: u64| cudaPos { x: x as usize, y: y as usize, z: z as usize };
    let kind = match (copy.srcMemoryType == HOST, copy.dstMemoryType == HOST) {
        (true, true) => cudaMemcpyKind::HostToHost,
        (true, false) => cudaMemcpyKind::HostToDevice,
        (false, true) => cudaMemcpyKind::DeviceToHost,
        (false, false) => cudaMemcpyKind::DeviceToDevice,
    };
    let from = pointer(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
    let to = pointer(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
    cudaMemcpy3DParms {
        srcArray: 0,
        srcPos: pos(copy.srcXInBytes, copy.srcY, copy.srcZ),
        srcPtr: side(from, copy.srcPitch, copy.srcHeight),
        dstArray: 0,
        dstPos: pos(copy.dstXInBytes, copy.dstY, copy.dstZ),
        dstPtr: side(to, copy.dstPitch, copy.dstHeight),
        extent: cudaExtent {
            width: copy.WidthInBytes as usize,
            height: copy.Height as usize,
            depth: copy.Depth as usize,
        },
        kind: kind as i32,
    }
}

/// Returns the address of a part of a variable.
pub(crate) fn part(symbol: Ptr, len: usize, offset: usize) -> Outcome<u64> {
    context()?;
    let (at, size) = variable(symbol)?;
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(at + offset as u64),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn to_symbol(
    symbol: Ptr,
    from: u64,
    len: usize,
    offset: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    if matches!(direction(kind)?, cudaMemcpyKind::HostToHost | cudaMemcpyKind::DeviceToHost) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    line(part(symbol, len, offset)?, from, len, kind, stream)
}

pub(crate) fn from_symbol(
    to: u64,
    symbol: Ptr,
    len: usize,
    offset: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    if matches!(direction(kind)?, cudaMemcpyKind::HostToHost | cudaMemcpyKind::HostToDevice) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    line(to, part(symbol, len, offset)?, len, kind, stream)
}

pub(crate) fn fill(to: u64, value: i32, len: usize, stream: u64) -> Outcome {
    context()?;
    if len == 0 {
        return Ok(());
    }
    cuMemsetD8Async(to, value as u8, len, stream)
}

pub(crate) fn fill_rows(
    to: u64,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: u64,
) -> Outcome {
    context()?;
    if width > pitch && height > 1 {
        return Err(Status::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    cuMemsetD2D8Async(to, pitch, value as u8, width, height, stream)
}

/// The most layers with gaps between them that one call fills: more than any array has.
const MAX_LAYERS: usize = 1 << 16;

pub(crate) fn fill_layers(
    to: cudaPitchedPtr,
    value: i32,
    extent: cudaExtent,
    stream: u64,
) -> Outcome {
    let layer = to.pitch.checked_mul(to.ysize).ok_or(Status::INVALID_VALUE)?;
    if extent.depth > 1 && extent.height > to.ysize {
        return Err(Status::INVALID_VALUE);
    }
    if extent.depth > 1 && layer == 0 {
        return Err(Status::INVALID_PITCH);
    }
    if extent.width == 0 || extent.height == 0 {
        return Ok(());
    }
    // Rows of layers without gaps between them are those of one plane.
    if extent.height == to.ysize && extent.depth > 1 {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Status::INVALID_VALUE)?;
        return fill_rows(to.ptr, to.pitch, value, extent.width, rows, stream);
    }
    if extent.depth > MAX_LAYERS {
        return Err(Status::INVALID_VALUE);
    }
    for z in 0..extent.depth {
        let at = layer.checked_mul(z).and_then(|o| to.ptr.checked_add(o as u64));
        let at = at.ok_or(Status::INVALID_VALUE)?;
        fill_rows(at, to.pitch, value, extent.width, extent.height, stream)?;
    }
    Ok(())
}
