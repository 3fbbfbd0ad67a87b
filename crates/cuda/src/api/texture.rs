//! Texture and surface objects: the documented rules of every field, and their bytes on the
//! device.

use cuda_abi::host::{Ptr, get, put_bytes, put_u64};
use cuda_abi::{
    Abi as _, CUDA_ARRAY3D_flags, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC,
    CUdevice_attribute, CUresourceViewFormat, CUresourcetype, CUtexture_flags, Outcome, Status,
};
use runtime::Addr;
use runtime::texture::{
    AddressMode, BYTES, Channel, Descriptor, Filter, Format, Geometry, Resource, Sampler, Shape,
    Storage,
};

use crate::api::array::{array, format, mipmapped};
use crate::api::device::attribute_value;
use crate::errors::{of_context, of_map};
use crate::state::Driver;
use crate::state::array::{Array, Object};
use crate::state::memory::AllocationKind;

/// The alignment of objects in device memory.
const ALIGN: u64 = 64;

/// All flags of textures.
pub(super) const FLAGS: u32 = CUtexture_flags::READ_AS_INTEGER as u32
    | CUtexture_flags::NORMALIZED_COORDINATES as u32
    | CUtexture_flags::SRGB as u32
    | CUtexture_flags::DISABLE_TRILINEAR_OPTIMIZATION as u32
    | CUtexture_flags::SEAMLESS_CUBEMAP as u32;

/// Words of the union in a description of a resource.
struct Union([u64; 16]);

impl Union {
    /// Format and channels of linear and pitched memory.
    fn format(&self, d: &Driver) -> Outcome<Format> {
        format(d, self.0[1] as i32, (self.0[1] >> 32) as u32)
    }
}

fn limit(d: &Driver, attribute: CUdevice_attribute) -> u64 {
    attribute_value(d, attribute as i32) as u64
}

/// Returns the memory that a description names.
pub(super) fn resource(d: &Driver, asked: &CUDA_RESOURCE_DESC, surface: bool) -> Outcome<Resource> {
    use CUdevice_attribute as A;
    if asked.flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let union = Union(asked._res);
    let whole = |a: &Array| Resource::whole(Storage::Array, a.address, a.shape);
    let kind = CUresourcetype::of(asked.resType)?;
    if surface && kind != CUresourcetype::ARRAY {
        return Err(Status::INVALID_VALUE);
    }
    let flat = |format, width: u64, height: u64, storage| -> Outcome<Resource> {
        let geometry = if storage == Storage::Linear { Geometry::D1 } else { Geometry::D2 };
        let size = |size| u32::try_from(size).map_err(|_| Status::INVALID_VALUE);
        let extents = [size(width)?, size(height)?, 1];
        let shape = Shape { format, geometry, extents, layers: 1, levels: 1 };
        let address = union.0[0];
        let aligned = address.is_multiple_of(limit(d, A::TEXTURE_ALIGNMENT));
        let known = d.memory.around(address).map(|(_, allocation)| &allocation.kind);
        if matches!(known, Some(AllocationKind::Host(..) | AllocationKind::Registered(_))) {
            return Err(d.unsupported("textures of pinned memory"));
        }
        if !aligned || known.is_none() && d.device.allocation(Addr(address)).is_none() {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Resource::whole(storage, address, shape))
    };
    let found = match kind {
        CUresourcetype::ARRAY => {
            let array = array(d, union.0[0])?;
            // NVIDIA's own programs (its sample `bindlessTexture`) write levels of mipmapped arrays
            // that do not have the flag.
            let has_flag = array.flags & CUDA_ARRAY3D_flags::SURFACE_LDST as u32 != 0;
            if surface && !has_flag && array.parent == 0 {
                return Err(Status::INVALID_VALUE);
            }
            whole(array)
        }
        CUresourcetype::MIPMAPPED_ARRAY => whole(mipmapped(d, union.0[0])?),
        CUresourcetype::LINEAR => {
            let format = union.format(d)?;
            let elements = union.0[2] / format.bytes() as u64;
            if elements > limit(d, A::MAXIMUM_TEXTURE1D_LINEAR_WIDTH) {
                return Err(Status::INVALID_VALUE);
            }
            flat(format, elements, 1, Storage::Linear)?
        }
        CUresourcetype::PITCH2D => {
            let [width, height, pitch] = [union.0[2], union.0[3], union.0[4]];
            let most = [
                (width, A::MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
                (height, A::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
                (pitch, A::MAXIMUM_TEXTURE2D_LINEAR_PITCH),
            ];
            let over = most.into_iter().any(|(size, attribute)| size > limit(d, attribute));
            if over || !pitch.is_multiple_of(limit(d, A::TEXTURE_PITCH_ALIGNMENT)) {
                return Err(Status::INVALID_VALUE);
            }
            flat(union.format(d)?, width, height, Storage::Pitched(pitch))?
        }
    };
    found.check().map_err(|_| Status::INVALID_VALUE)?;
    Ok(found)
}

/// Returns the part of a resource that a view names, with the view's format.
fn viewed(d: &Driver, whole: Resource, view: &CUDA_RESOURCE_VIEW_DESC) -> Outcome<Resource> {
    if whole.storage != Storage::Array || view.reserved != [0; 16] {
        return Err(Status::INVALID_VALUE);
    }
    let block = (25..=38).contains(&view.format);
    let format = CUresourceViewFormat::of(view.format);
    let format =
        format.map_err(|e| if block { d.unsupported("views of compressed blocks") } else { e })?;
    let format = if format == CUresourceViewFormat::NONE {
        whole.shape.format
    } else {
        view_format(format as i32)
    };
    let shape = whole.shape;
    let depth = if shape.geometry == Geometry::D3 { shape.extents[2] } else { shape.layers };
    let sizes =
        [(view.width, shape.extents[0]), (view.height, shape.extents[1]), (view.depth, depth)];
    // Sizes are those of the array; a dimension that it does not have may be left out.
    let sized = sizes.into_iter().all(|(given, own)| given == u64::from(own) || given <= 1);
    let count = |first: u32, last: u32| last.checked_sub(first).and_then(|n| n.checked_add(1));
    let levels = count(view.firstMipmapLevel, view.lastMipmapLevel);
    let layers = match shape.geometry {
        Geometry::D1 | Geometry::D2 | Geometry::D3 => Some(shape.layers),
        _ => count(view.firstLayer, view.lastLayer),
    };
    let (Some(levels), Some(layers)) = (levels, layers) else { return Err(Status::INVALID_VALUE) };
    if !sized || view.width == 0 || format.bytes() != shape.format.bytes() {
        return Err(Status::INVALID_VALUE);
    }
    let layered = shape.geometry.is_layered() || shape.geometry.is_cube();
    let part = Resource {
        shape: Shape { format, ..shape },
        first_level: view.firstMipmapLevel,
        levels,
        first_layer: if layered { view.firstLayer } else { 0 },
        layers,
        ..whole
    };
    part.check().map_err(|_| Status::INVALID_VALUE)?;
    Ok(part)
}

/// The format of a view: three for each type of channel, of one, two and four channels.
fn view_format(number: i32) -> Format {
    const TYPES: [Channel; 8] = [
        Channel::U8,
        Channel::S8,
        Channel::U16,
        Channel::S16,
        Channel::U32,
        Channel::S32,
        Channel::F16,
        Channel::F32,
    ];
    let index = (number - 1).clamp(0, 23) as usize;
    Format { channel: TYPES[index / 3], channels: [1, 2, 4][index % 3] }
}

/// Returns the sampler that a description asks for.
pub(super) fn sampler(asked: &CUDA_TEXTURE_DESC, resource: &Resource) -> Outcome<Sampler> {
    let mode = |number: i32| {
        let known = usize::try_from(number).ok().and_then(|i| AddressMode::ALL.get(i));
        known.copied().ok_or(Status::INVALID_VALUE)
    };
    let filter = |number: i32| {
        let known = usize::try_from(number).ok().and_then(|i| Filter::ALL.get(i));
        known.copied().ok_or(Status::INVALID_VALUE)
    };
    if asked.flags & !FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let has = |flag: CUtexture_flags| asked.flags & flag as u32 != 0;
    let [x, y, z] = asked.addressMode;
    let sampler = Sampler {
        modes: [mode(x)?, mode(y)?, mode(z)?],
        filter: filter(asked.filterMode)?,
        level_filter: filter(asked.mipmapFilterMode)?,
        normalized: has(CUtexture_flags::NORMALIZED_COORDINATES),
        integers: has(CUtexture_flags::READ_AS_INTEGER),
        srgb: has(CUtexture_flags::SRGB),
        seamless: has(CUtexture_flags::SEAMLESS_CUBEMAP),
        anisotropy: asked.maxAnisotropy.min(16) as u8,
        bias: f32::from_bits(asked.mipmapLevelBias),
        levels: [asked.minMipmapLevelClamp, asked.maxMipmapLevelClamp].map(f32::from_bits),
        border: asked.borderColor.map(f32::from_bits),
    };
    let array = resource.storage == Storage::Array;
    let integers = resource.shape.format.channel.reads_integers(sampler.integers);
    // A mean of integers is none; linear memory is read by index.
    if integers && sampler.filter == Filter::Linear && resource.storage != Storage::Linear {
        return Err(Status::INVALID_VALUE);
    }
    // Levels are found by coordinates from 0 to 1.
    let mipmapped = array && resource.shape.levels > 1;
    if mipmapped && !sampler.normalized {
        return Err(Status::INVALID_VALUE);
    }
    Ok(sampler)
}

/// Makes an object on the device.
fn make(d: &mut Driver, out: Ptr, descriptor: &Descriptor, object: Object) -> Outcome {
    d.allocate_for(object.context)?;
    let name = if descriptor.surface { "surface object" } else { "texture object" };
    let at = d.device.allocate_aligned(name, BYTES as u64, ALIGN).map_err(|e| of_map(&e))?;
    let written = d.device.write(at, &descriptor.encode()).map_err(|e| of_context(&e));
    let table = if descriptor.surface { &mut d.textures.surfaces } else { &mut d.textures.objects };
    table.insert(at.0, object);
    let written = written.and_then(|()| put_u64(out, at.0));
    written.inspect_err(|_| forget(d, at.0))
}

/// Destroys an object of any kind.
pub(crate) fn forget(d: &mut Driver, handle: u64) {
    let texture = d.textures.objects.remove(&handle);
    if texture.or_else(|| d.textures.surfaces.remove(&handle)).is_some() {
        let freed = d.device.free(Addr(handle));
        debug_assert!(freed.is_ok(), "an object's memory is its own");
    }
}

pub(crate) fn create(
    d: &mut Driver,
    out: Ptr,
    resource_at: Ptr,
    texture_at: Ptr,
    view_at: Ptr,
) -> Outcome {
    let context = d.usable()?;
    let asked = get::<CUDA_RESOURCE_DESC>(resource_at)?;
    let texture = get::<CUDA_TEXTURE_DESC>(texture_at)?;
    let view = match view_at {
        0 => None,
        at => Some(get::<CUDA_RESOURCE_VIEW_DESC>(at)?),
    };
    let mut resource = resource(d, &asked, false)?;
    if let Some(view) = &view {
        resource = viewed(d, resource, view)?;
    }
    let sampler = sampler(&texture, &resource)?;
    let object = Object {
        context,
        resource: asked.to_bytes(),
        texture: texture.to_bytes(),
        view: view.map(|view| view.to_bytes()),
    };
    make(d, out, &Descriptor { surface: false, resource, sampler }, object)
}

pub(crate) fn create_surface(d: &mut Driver, out: Ptr, resource_at: Ptr) -> Outcome {
    let context = d.usable()?;
    let asked = get::<CUDA_RESOURCE_DESC>(resource_at)?;
    let resource = resource(d, &asked, true)?;
    let object = Object { context, resource: asked.to_bytes(), texture: Vec::new(), view: None };
    let sampler = Sampler::default();
    make(d, out, &Descriptor { surface: true, resource, sampler }, object)
}

pub(crate) fn destroy(d: &mut Driver, handle: u64) -> Outcome {
    object(d, handle)?;
    forget(d, handle);
    Ok(())
}

pub(crate) fn destroy_surface(d: &mut Driver, handle: u64) -> Outcome {
    surface(d, handle)?;
    forget(d, handle);
    Ok(())
}

fn object(d: &Driver, handle: u64) -> Outcome<&Object> {
    d.usable()?;
    d.textures.objects.get(&handle).ok_or(Status::INVALID_VALUE)
}

fn surface(d: &Driver, handle: u64) -> Outcome<&Object> {
    d.usable()?;
    d.textures.surfaces.get(&handle).ok_or(Status::INVALID_VALUE)
}

pub(crate) fn resource_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put_bytes(out, &object(d, handle)?.resource)
}

pub(crate) fn texture_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put_bytes(out, &object(d, handle)?.texture)
}

pub(crate) fn view_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    let view = object(d, handle)?.view.as_ref().ok_or(Status::INVALID_VALUE)?;
    put_bytes(out, view)
}

pub(crate) fn surface_resource_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put_bytes(out, &surface(d, handle)?.resource)
}

/// The most elements of a texture of linear memory.
pub(crate) fn linear_width(
    d: &mut Driver,
    out: Ptr,
    number: i32,
    channels: u32,
    device: i32,
) -> Outcome {
    d.device(device)?;
    format(d, number, channels)?;
    put_u64(out, limit(d, CUdevice_attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH))
}
