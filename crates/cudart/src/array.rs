//! Arrays, and texture and surface objects: the runtime's descriptions as the driver's.

use cuda_abi::host::{Ptr, address, get, put, put_if, written};
use cuda_abi::{
    Abi as _, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUmemorytype, CUresourcetype, CUtexture_flags, Outcome, Status,
    cudaChannelFormatDesc, cudaExtent, cudaMemcpyKind, cudaResourceDesc, cudaResourceViewDesc,
    cudaTextureDesc,
};

use crate::channels::{describe, element_bytes, format};
use crate::copy::{direction, types};
use crate::driver::{
    cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuDeviceGetTexture1DLinearMaxWidth,
    cuMemcpy2DAsync_v2, cuMemcpyAtoHAsync_v2, cuMemcpyHtoAAsync_v2, cuMipmappedArrayCreate,
    cuSurfObjectCreate, cuSurfObjectGetResourceDesc, cuTexObjectCreate, cuTexObjectGetResourceDesc,
    cuTexObjectGetResourceViewDesc, cuTexObjectGetTextureDesc,
};
use crate::state::context;

/// Returns the driver's description of an array.
fn description(desc: Ptr, extent: cudaExtent, flags: u32) -> Outcome<CUDA_ARRAY3D_DESCRIPTOR> {
    let (format, channels) = format(&get::<cudaChannelFormatDesc>(desc)?)?;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width as u64,
        Height: extent.height as u64,
        Depth: extent.depth as u64,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    })
}

pub(crate) fn create(out: Ptr, desc: Ptr, extent: cudaExtent, flags: u32) -> Outcome {
    context()?;
    cuArray3DCreate_v2(out, address(&description(desc, extent, flags)?))
}

pub(crate) fn create_mipmapped(
    out: Ptr,
    desc: Ptr,
    extent: cudaExtent,
    levels: u32,
    flags: u32,
) -> Outcome {
    context()?;
    cuMipmappedArrayCreate(out, address(&description(desc, extent, flags)?), levels)
}

/// Returns the description of an array.
fn described(array: u64) -> Outcome<CUDA_ARRAY3D_DESCRIPTOR> {
    context()?;
    written(CUDA_ARRAY3D_DESCRIPTOR::zeroed(), |out| cuArray3DGetDescriptor_v2(out, array))
}

/// Returns the bytes of an array's elements.
pub(crate) fn bytes_of(array: u64) -> Outcome<u64> {
    let found = described(array)?;
    element_bytes(found.Format, found.NumChannels)
}

pub(crate) fn info(desc: Ptr, extent: Ptr, flags: Ptr, array: u64) -> Outcome {
    let found = described(array)?;
    put_if(desc, &describe(found.Format, found.NumChannels)?)?;
    let size = cudaExtent {
        width: found.Width as usize,
        height: found.Height as usize,
        depth: found.Depth as usize,
    };
    put_if(extent, &size)?;
    put_if(flags, &found.Flags)
}

pub(crate) fn channels(out: Ptr, array: u64) -> Outcome {
    let found = described(array)?;
    put(out, &describe(found.Format, found.NumChannels)?)
}

pub(crate) fn linear_width(out: Ptr, desc: Ptr, device: i32) -> Outcome {
    let (format, channels) = format(&get::<cudaChannelFormatDesc>(desc)?)?;
    cuDeviceGetTexture1DLinearMaxWidth(out, format, channels, device)
}

// Copies.

/// One side of a copy of rows.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// An address and a pitch.
    Memory(u64, usize),
    /// An array, a byte of its rows, and a row.
    Array(u64, usize, usize),
}

/// Copies rows between memory and arrays.
pub(crate) fn rows(
    to: Side,
    from: Side,
    (width, height): (usize, usize),
    kind: i32,
    stream: u64,
) -> Outcome {
    context()?;
    let (to_type, from_type) = types(kind)?;
    let mut copy = CUDA_MEMCPY2D {
        srcMemoryType: from_type,
        dstMemoryType: to_type,
        WidthInBytes: width as u64,
        Height: height as u64,
        ..CUDA_MEMCPY2D::zeroed()
    };
    let short = |pitch: usize| width > pitch && height > 1;
    match from {
        Side::Memory(_, pitch) if short(pitch) => return Err(Status::INVALID_PITCH),
        Side::Memory(at, pitch) => {
            (copy.srcHost, copy.srcDevice, copy.srcPitch) = (at, at, pitch.max(width) as u64);
        }
        Side::Array(array, x, y) => {
            copy.srcMemoryType = CUmemorytype::ARRAY as u32;
            (copy.srcArray, copy.srcXInBytes, copy.srcY) = (array, x as u64, y as u64);
        }
    }
    match to {
        Side::Memory(_, pitch) if short(pitch) => return Err(Status::INVALID_PITCH),
        Side::Memory(at, pitch) => {
            (copy.dstHost, copy.dstDevice, copy.dstPitch) = (at, at, pitch.max(width) as u64);
        }
        Side::Array(array, x, y) => {
            copy.dstMemoryType = CUmemorytype::ARRAY as u32;
            (copy.dstArray, copy.dstXInBytes, copy.dstY) = (array, x as u64, y as u64);
        }
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    cuMemcpy2DAsync_v2(address(&copy), stream)
}

/// Returns the byte of an array at an offset in its rows.
fn byte_of(array: u64, x: usize, y: usize) -> Outcome<u64> {
    let row = described(array)?.Width * bytes_of(array)?;
    let before = row.checked_mul(y as u64).and_then(|at| at.checked_add(x as u64));
    before.ok_or(Status::INVALID_VALUE)
}

/// Copies adjacent bytes into an array, row after row.
pub(crate) fn fill(
    (array, x, y): (u64, usize, usize),
    from: u64,
    len: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    let into =
        [cudaMemcpyKind::HostToDevice, cudaMemcpyKind::DeviceToDevice, cudaMemcpyKind::Default];
    if !into.contains(&direction(kind)?) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    cuMemcpyHtoAAsync_v2(array, byte_of(array, x, y)?, from as Ptr, len, stream)
}

/// Copies bytes of an array, row after row, to adjacent ones.
pub(crate) fn drain(
    to: u64,
    (array, x, y): (u64, usize, usize),
    len: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    let out =
        [cudaMemcpyKind::DeviceToHost, cudaMemcpyKind::DeviceToDevice, cudaMemcpyKind::Default];
    if !out.contains(&direction(kind)?) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    cuMemcpyAtoHAsync_v2(to as Ptr, array, byte_of(array, x, y)?, len, stream)
}

// Objects.

/// Bytes of `flags` behind the union of a resource's description, of version 13.
const RESOURCE_FLAGS: usize = 136;

/// Returns the driver's description of a resource.
fn resource(at: Ptr) -> Outcome<CUDA_RESOURCE_DESC> {
    let given = get::<cudaResourceDesc>(at)?;
    let words = given._res;
    let mut asked = CUDA_RESOURCE_DESC { resType: given.resType, ..CUDA_RESOURCE_DESC::zeroed() };
    if crate::version::is_new() {
        asked.flags = get(at + RESOURCE_FLAGS)?;
    }
    asked._res[0] = words[0];
    let kind = CUresourcetype::of(given.resType)?;
    if matches!(kind, CUresourcetype::LINEAR | CUresourcetype::PITCH2D) {
        let [low, high] = [|word: u64| word as i32, |word: u64| (word >> 32) as i32];
        let desc = cudaChannelFormatDesc {
            x: low(words[1]),
            y: high(words[1]),
            z: low(words[2]),
            w: high(words[2]),
            f: low(words[3]),
        };
        let (format, channels) = format(&desc)?;
        asked._res[1] = u64::from(format as u32) | u64::from(channels) << 32;
        asked._res[2..5].copy_from_slice(&words[4..7]);
    }
    Ok(asked)
}

/// Writes the runtime's description of a resource.
fn put_resource(at: Ptr, found: &CUDA_RESOURCE_DESC) -> Outcome {
    let words = found._res;
    let mut out = cudaResourceDesc { resType: found.resType, ..cudaResourceDesc::zeroed() };
    out._res[0] = words[0];
    let kind = CUresourcetype::of(found.resType)?;
    if matches!(kind, CUresourcetype::LINEAR | CUresourcetype::PITCH2D) {
        let desc = describe(words[1] as i32, (words[1] >> 32) as u32)?;
        let pair = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
        out._res[1] = pair(desc.x, desc.y);
        out._res[2] = pair(desc.z, desc.w);
        out._res[3] = pair(desc.f, 0);
        out._res[4..7].copy_from_slice(&words[2..5]);
    }
    put(at, &out)?;
    if crate::version::is_new() { put(at + RESOURCE_FLAGS, &found.flags) } else { Ok(()) }
}

/// The flags of a texture, with what sets them in the runtime's description.
fn flags(given: &cudaTextureDesc) -> [(CUtexture_flags, bool); 5] {
    [
        // Read mode 0 keeps integers.
        (CUtexture_flags::READ_AS_INTEGER, given.readMode == 0),
        (CUtexture_flags::NORMALIZED_COORDINATES, given.normalizedCoords != 0),
        (CUtexture_flags::SRGB, given.sRGB != 0),
        (CUtexture_flags::DISABLE_TRILINEAR_OPTIMIZATION, given.disableTrilinearOptimization != 0),
        (CUtexture_flags::SEAMLESS_CUBEMAP, given.seamlessCubemap != 0),
    ]
}

pub(crate) fn create_texture(out: Ptr, resource_at: Ptr, texture_at: Ptr, view_at: Ptr) -> Outcome {
    context()?;
    let asked = resource(resource_at)?;
    let given = get::<cudaTextureDesc>(texture_at)?;
    if !matches!(given.readMode, 0 | 1) {
        return Err(Status::INVALID_VALUE);
    }
    let set = flags(&given).into_iter().filter(|(_, set)| *set);
    let texture = CUDA_TEXTURE_DESC {
        addressMode: given.addressMode,
        filterMode: given.filterMode,
        flags: set.map(|(flag, _)| flag as u32).sum(),
        maxAnisotropy: given.maxAnisotropy,
        mipmapFilterMode: given.mipmapFilterMode,
        mipmapLevelBias: given.mipmapLevelBias,
        minMipmapLevelClamp: given.minMipmapLevelClamp,
        maxMipmapLevelClamp: given.maxMipmapLevelClamp,
        borderColor: given.borderColor,
        reserved: [0; 12],
    };
    if view_at == 0 {
        return cuTexObjectCreate(out, address(&asked), address(&texture), 0);
    }
    let given = get::<cudaResourceViewDesc>(view_at)?;
    let view = CUDA_RESOURCE_VIEW_DESC {
        format: given.format,
        width: given.width as u64,
        height: given.height as u64,
        depth: given.depth as u64,
        firstMipmapLevel: given.firstMipmapLevel,
        lastMipmapLevel: given.lastMipmapLevel,
        firstLayer: given.firstLayer,
        lastLayer: given.lastLayer,
        reserved: [0; 16],
    };
    cuTexObjectCreate(out, address(&asked), address(&texture), address(&view))
}

pub(crate) fn create_surface(out: Ptr, resource_at: Ptr) -> Outcome {
    context()?;
    cuSurfObjectCreate(out, address(&resource(resource_at)?))
}

pub(crate) fn resource_of(out: Ptr, object: u64, surface: bool) -> Outcome {
    context()?;
    let found = written(CUDA_RESOURCE_DESC::zeroed(), |at| match surface {
        true => cuSurfObjectGetResourceDesc(at, object),
        false => cuTexObjectGetResourceDesc(at, object),
    })?;
    put_resource(out, &found)
}

pub(crate) fn texture_of(out: Ptr, object: u64) -> Outcome {
    context()?;
    let found = written(CUDA_TEXTURE_DESC::zeroed(), |at| cuTexObjectGetTextureDesc(at, object))?;
    let has = |flag: CUtexture_flags| found.flags & flag as u32 != 0;
    let given = cudaTextureDesc {
        addressMode: found.addressMode,
        filterMode: found.filterMode,
        readMode: i32::from(!has(CUtexture_flags::READ_AS_INTEGER)),
        sRGB: has(CUtexture_flags::SRGB).into(),
        borderColor: found.borderColor,
        normalizedCoords: has(CUtexture_flags::NORMALIZED_COORDINATES).into(),
        maxAnisotropy: found.maxAnisotropy,
        mipmapFilterMode: found.mipmapFilterMode,
        mipmapLevelBias: found.mipmapLevelBias,
        minMipmapLevelClamp: found.minMipmapLevelClamp,
        maxMipmapLevelClamp: found.maxMipmapLevelClamp,
        disableTrilinearOptimization: has(CUtexture_flags::DISABLE_TRILINEAR_OPTIMIZATION).into(),
        seamlessCubemap: has(CUtexture_flags::SEAMLESS_CUBEMAP).into(),
    };
    put(out, &given)
}

pub(crate) fn view_of(out: Ptr, object: u64) -> Outcome {
    context()?;
    let found = written(CUDA_RESOURCE_VIEW_DESC::zeroed(), |at| {
        cuTexObjectGetResourceViewDesc(at, object)
    })?;
    let given = cudaResourceViewDesc {
        format: found.format,
        width: found.width as usize,
        height: found.height as usize,
        depth: found.depth as usize,
        firstMipmapLevel: found.firstMipmapLevel,
        lastMipmapLevel: found.lastMipmapLevel,
        firstLayer: found.firstLayer,
        lastLayer: found.lastLayer,
    };
    put(out, &given)
}
