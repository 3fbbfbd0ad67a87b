//! Arrays and mipmapped arrays.
//!
//! Their elements are device memory whose layout only copies and textures know: see
//! [`runtime::texture::Shape`].

use cuda_abi::host::{Ptr, get, put, put_u64};
use cuda_abi::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY3D_DESCRIPTOR,
    CUDA_ARRAY3D_flags, CUarray_format, CUdevice_attribute, Outcome, Status,
};
use runtime::texture::{Channel, Format, Geometry, Resource, Shape, Storage};
use runtime::{Addr, Event};

use crate::api::device::attribute_value;
use crate::errors::of_map;
use crate::execution::order;
use crate::state::Driver;
use crate::state::array::Array;

/// The alignment of arrays in device memory.
const ALIGN: u64 = 512;

/// The flags that are known and mean nothing here, or something.
const FLAGS: u32 = CUDA_ARRAY3D_flags::LAYERED as u32
    | CUDA_ARRAY3D_flags::SURFACE_LDST as u32
    | CUDA_ARRAY3D_flags::CUBEMAP as u32
    | CUDA_ARRAY3D_flags::TEXTURE_GATHER as u32
    | CUDA_ARRAY3D_flags::COLOR_ATTACHMENT as u32;

/// The flags that are refused by name: depths, sparse arrays, deferred mapping.
const REFUSED: u32 = 0xd0;

/// Returns the format of a number and of channels.
pub(crate) fn format(d: &Driver, number: i32, channels: u32) -> Outcome<Format> {
    use CUarray_format as F;
    let known = F::of(number);
    // Formats of compressed blocks and of video.
    let other = matches!(number, 0x50..=0x5e | 0x91..=0xb5);
    let known = known.map_err(|e| if other { d.unsupported("this array format") } else { e })?;
    let (channel, fixed) = match known {
        F::UNSIGNED_INT8 => (Channel::U8, None),
        F::UNSIGNED_INT16 => (Channel::U16, None),
        F::UNSIGNED_INT32 => (Channel::U32, None),
        F::SIGNED_INT8 => (Channel::S8, None),
        F::SIGNED_INT16 => (Channel::S16, None),
        F::SIGNED_INT32 => (Channel::S32, None),
        F::HALF => (Channel::F16, None),
        F::FLOAT => (Channel::F32, None),
        F::UNORM_INT8X1 => (Channel::Unorm8, Some(1)),
        F::UNORM_INT8X2 => (Channel::Unorm8, Some(2)),
        F::UNORM_INT8X4 => (Channel::Unorm8, Some(4)),
        F::UNORM_INT16X1 => (Channel::Unorm16, Some(1)),
        F::UNORM_INT16X2 => (Channel::Unorm16, Some(2)),
        F::UNORM_INT16X4 => (Channel::Unorm16, Some(4)),
        F::SNORM_INT8X1 => (Channel::Snorm8, Some(1)),
        F::SNORM_INT8X2 => (Channel::Snorm8, Some(2)),
        F::SNORM_INT8X4 => (Channel::Snorm8, Some(4)),
        F::SNORM_INT16X1 => (Channel::Snorm16, Some(1)),
        F::SNORM_INT16X2 => (Channel::Snorm16, Some(2)),
        F::SNORM_INT16X4 => (Channel::Snorm16, Some(4)),
    };
    if !matches!(channels, 1 | 2 | 4) || fixed.is_some_and(|fixed| fixed != channels) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Format { channel, channels: channels as u8 })
}

/// The attributes that limit width, height, depth or layers.
fn limits(geometry: Geometry, flags: u32) -> [Option<CUdevice_attribute>; 3] {
    use CUdevice_attribute as A;
    let gather = flags & CUDA_ARRAY3D_flags::TEXTURE_GATHER as u32 != 0;
    match geometry {
        Geometry::D1 => [Some(A::MAXIMUM_TEXTURE1D_WIDTH), None, None],
        Geometry::D2 if gather => [
            Some(A::MAXIMUM_TEXTURE2D_GATHER_WIDTH),
            Some(A::MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
            None,
        ],
        Geometry::D2 => [Some(A::MAXIMUM_TEXTURE2D_WIDTH), Some(A::MAXIMUM_TEXTURE2D_HEIGHT), None],
        Geometry::D3 => [
            Some(A::MAXIMUM_TEXTURE3D_WIDTH),
            Some(A::MAXIMUM_TEXTURE3D_HEIGHT),
            Some(A::MAXIMUM_TEXTURE3D_DEPTH),
        ],
        Geometry::D1Layered => [
            Some(A::MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
            None,
            Some(A::MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
        ],
        Geometry::D2Layered => [
            Some(A::MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
            Some(A::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
            Some(A::MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
        ],
        Geometry::Cube => [Some(A::MAXIMUM_TEXTURECUBEMAP_WIDTH), None, None],
        Geometry::CubeLayered => [
            Some(A::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
            None,
            Some(A::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
        ],
    }
}

/// Returns the shape that a description asks for, without levels.
fn shape(d: &Driver, asked: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<Shape> {
    let format = format(d, asked.Format, asked.NumChannels)?;
    if asked.Flags & REFUSED != 0 {
        return Err(d.unsupported("arrays of depths, sparse arrays and deferred mapping"));
    }
    if asked.Flags & !FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let has = |flag: CUDA_ARRAY3D_flags| asked.Flags & flag as u32 != 0;
    let (layered, cube) = (has(CUDA_ARRAY3D_flags::LAYERED), has(CUDA_ARRAY3D_flags::CUBEMAP));
    let given = [asked.Width, asked.Height, asked.Depth];
    let geometry = match (layered, cube, given.map(|size| size > 0)) {
        (false, true, [true, true, true]) if asked.Depth == 6 => Geometry::Cube,
        (true, true, [true, true, true]) => Geometry::CubeLayered,
        (true, false, [true, false, true]) => Geometry::D1Layered,
        (true, false, [true, true, true]) => Geometry::D2Layered,
        (false, false, [true, false, false]) => Geometry::D1,
        (false, false, [true, true, false]) => Geometry::D2,
        (false, false, [true, true, true]) => Geometry::D3,
        _ => return Err(Status::INVALID_VALUE),
    };
    for (size, limit) in given.into_iter().zip(limits(geometry, asked.Flags)) {
        let most = limit.map(|limit| attribute_value(d, limit as i32));
        if most.is_some_and(|most| size > most as u64) {
            return Err(Status::INVALID_VALUE);
        }
    }
    let [width, height, depth] = given.map(|size| u32::try_from(size.max(1)).unwrap_or(u32::MAX));
    let (extents, layers) = match geometry {
        Geometry::D3 => ([width, height, depth], 1),
        _ => ([width, height, 1], depth),
    };
    let shape = Shape { format, geometry, extents, layers, levels: 1 };
    // What limits do not say: squares, layers in sixes.
    Resource::whole(Storage::Array, 0, shape).check().map_err(|_| Status::INVALID_VALUE)?;
    Ok(shape)
}

/// Allocates an array.
fn allocate(d: &mut Driver, shape: Shape, asked: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<Array> {
    let context = d.usable()?;
    let bytes = shape.bytes().ok_or(Status::INVALID_VALUE)?;
    d.allocate_for(context)?;
    let name = format!("array #{}", d.textures.arrays.len() + d.textures.mipmapped.len() + 1);
    let address = d.device.allocate_aligned(&name, bytes, ALIGN).map_err(|e| of_map(&e))?;
    let call = d.calls.current();
    d.log_for_leaks(|process| Event::Allocated {
        process,
        address: address.0,
        bytes,
        call: call.to_string(),
    });
    d.device.note_allocated(address, bytes, call);
    let (flags, format) = (asked.Flags, asked.Format);
    Ok(Array { shape, address: address.0, context, flags, format, parent: 0 })
}

/// Frees the elements of an array that is in no table any more.
fn release(d: &mut Driver, array: &Array) {
    let address = array.address;
    d.log_for_leaks(|process| Event::Freed { process, address });
    let freed = d.device.free(Addr(address));
    debug_assert!(freed.is_ok(), "an array's memory is its own");
    d.device.note_freed(Addr(address), d.calls.current());
}

pub(crate) fn create(d: &mut Driver, out: Ptr, at: Ptr) -> Outcome {
    let plain = get::<CUDA_ARRAY_DESCRIPTOR>(at)?;
    let asked = CUDA_ARRAY3D_DESCRIPTOR {
        Width: plain.Width,
        Height: plain.Height,
        Depth: 0,
        Format: plain.Format,
        NumChannels: plain.NumChannels,
        Flags: 0,
    };
    create_of(d, out, &asked)
}

pub(crate) fn create_any(d: &mut Driver, out: Ptr, at: Ptr) -> Outcome {
    create_of(d, out, &get(at)?)
}

fn create_of(d: &mut Driver, out: Ptr, asked: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome {
    d.usable()?;
    let shape = shape(d, asked)?;
    let array = allocate(d, shape, asked)?;
    let handle = d.handle();
    if let Err(error) = put_u64(out, handle) {
        release(d, &array);
        return Err(error);
    }
    d.textures.arrays.insert(handle, array);
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, handle: u64) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    match d.textures.arrays.get(&handle) {
        Some(array) if array.parent == 0 => {
            let array = array.clone();
            d.textures.arrays.remove(&handle);
            release(d, &array);
            Ok(())
        }
        // A level goes with its mipmapped array.
        Some(_) => Err(Status::INVALID_VALUE),
        None => Err(Status::INVALID_HANDLE),
    }
}

/// Returns an array by handle.
pub(crate) fn array(d: &Driver, handle: u64) -> Outcome<&Array> {
    d.textures.arrays.get(&handle).ok_or(Status::INVALID_HANDLE)
}

/// Returns a mipmapped array by handle.
pub(crate) fn mipmapped(d: &Driver, handle: u64) -> Outcome<&Array> {
    d.textures.mipmapped.get(&handle).ok_or(Status::INVALID_HANDLE)
}

/// Returns the description that an array would be made by.
fn description(array: &Array) -> CUDA_ARRAY3D_DESCRIPTOR {
    let shape = &array.shape;
    let [width, height, depth] = shape.extents.map(u64::from);
    let layers = u64::from(shape.layers);
    let (height, depth) = match shape.geometry {
        Geometry::D1 => (0, 0),
        Geometry::D2 => (height, 0),
        Geometry::D3 => (height, depth),
        Geometry::D1Layered => (0, layers),
        Geometry::D2Layered | Geometry::Cube | Geometry::CubeLayered => (height, layers),
    };
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: array.format,
        NumChannels: shape.format.channels.into(),
        Flags: array.flags,
    }
}

pub(crate) fn describe(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    d.usable()?;
    let found = description(array(d, handle)?);
    put(
        out,
        &CUDA_ARRAY_DESCRIPTOR {
            Width: found.Width,
            Height: found.Height,
            Format: found.Format,
            NumChannels: found.NumChannels,
        },
    )
}

pub(crate) fn describe_any(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    d.usable()?;
    put(out, &description(array(d, handle)?))
}

fn put_requirements(out: Ptr, shape: &Shape) -> Outcome {
    let size = shape.bytes().ok_or(Status::INVALID_VALUE)?;
    put(out, &CUDA_ARRAY_MEMORY_REQUIREMENTS { size, alignment: ALIGN, reserved: [0; 4] })
}

pub(crate) fn requirements(d: &mut Driver, out: Ptr, handle: u64, device: i32) -> Outcome {
    d.usable()?;
    d.device(device)?;
    put_requirements(out, &array(d, handle)?.shape)
}

pub(crate) fn mip_requirements(d: &mut Driver, out: Ptr, handle: u64, device: i32) -> Outcome {
    d.usable()?;
    d.device(device)?;
    put_requirements(out, &mipmapped(d, handle)?.shape)
}

pub(crate) fn mip_create(d: &mut Driver, out: Ptr, at: Ptr, levels: u32) -> Outcome {
    d.usable()?;
    let asked = get::<CUDA_ARRAY3D_DESCRIPTOR>(at)?;
    let mut shape = shape(d, &asked)?;
    if levels == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // More levels than halve the longest side to one element are not made.
    let longest = shape.extents.into_iter().max().unwrap_or(1);
    shape.levels = levels.min(longest.ilog2() + 1);
    let array = allocate(d, shape, &asked)?;
    let handle = d.handle();
    if let Err(error) = put_u64(out, handle) {
        release(d, &array);
        return Err(error);
    }
    d.textures.mipmapped.insert(handle, array);
    Ok(())
}

pub(crate) fn mip_destroy(d: &mut Driver, handle: u64) -> Outcome {
    d.usable()?;
    let array = d.textures.mipmapped.remove(&handle).ok_or(Status::INVALID_HANDLE)?;
    d.textures.arrays.retain(|_, level| level.parent != handle);
    release(d, &array);
    Ok(())
}

/// Returns the array that a level of a mipmapped array is: the same one each time.
pub(crate) fn mip_level(d: &mut Driver, out: Ptr, handle: u64, level: u32) -> Outcome {
    d.usable()?;
    let whole = mipmapped(d, handle)?;
    if level >= whole.shape.levels {
        return Err(Status::INVALID_VALUE);
    }
    let shape = Shape { extents: whole.shape.extents_at(level), levels: 1, ..whole.shape };
    let address = whole.address + whole.shape.level_offset(level);
    let part = Array { shape, address, parent: handle, ..whole.clone() };
    let mut known = d.textures.arrays.iter();
    let known = known.find(|(_, a)| a.parent == handle && a.address == address);
    if let Some((&known, _)) = known {
        return put_u64(out, known);
    }
    let own = d.handle();
    put_u64(out, own)?;
    d.textures.arrays.insert(own, part);
    Ok(())
}

/// Frees the arrays and objects of a context, and forgets its references.
pub(crate) fn free_all(d: &mut Driver, context: u64) {
    crate::api::reference::forget_context(d, context);
    let objects = d.textures.objects.iter().chain(&d.textures.surfaces);
    let theirs: Vec<u64> =
        objects.filter(|(_, o)| o.context == context).map(|(&handle, _)| handle).collect();
    for handle in theirs {
        crate::api::texture::forget(d, handle);
    }
    let mut gone = Vec::new();
    for table in [&mut d.textures.arrays, &mut d.textures.mipmapped] {
        let theirs: Vec<u64> =
            table.iter().filter(|(_, a)| a.context == context).map(|(&handle, _)| handle).collect();
        gone.extend(theirs.iter().filter_map(|handle| table.remove(handle)));
    }
    let own = gone.iter().filter(|array| array.parent == 0);
    let addresses: Vec<u64> = own.clone().map(|array| array.address).collect();
    if !addresses.is_empty() {
        d.log_for_leaks(|process| Event::Abandoned { process, addresses });
    }
    for array in own {
        let freed = d.device.free(Addr(array.address));
        debug_assert!(freed.is_ok(), "an array's memory is its own");
        d.device.note_freed(Addr(array.address), d.calls.current());
    }
}
