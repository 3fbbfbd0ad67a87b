//! Texture and surface references of modules, by the rules of texture objects.
//!
//! The variable of a reference is the object that it is bound to. It is written anew by each call
//! that changes the reference; where the parts do not fit together yet, it is cleared, and a kernel
//! that samples it faults.

use cuda_abi::host::{Ptr, get, get_bytes, name, put, put_i32, put_if, put_u64, put_u64_if};
use cuda_abi::{
    Abi, CUDA_ARRAY_DESCRIPTOR, CUDA_RESOURCE_DESC, CUdevice_attribute, CUresourcetype,
    CUtexture_flags, Outcome, Status,
};
use runtime::texture::{AddressMode, BYTES, Descriptor, Filter, Sampler};
use runtime::{Addr, ReferenceKind};

use crate::api::array::{array, format, mipmapped};
use crate::api::device::attribute_value;
use crate::api::texture::{FLAGS, resource, sampler};
use crate::errors::of_context;
use crate::state::Driver;
use crate::state::reference::{Bound, Reference};

/// The only flag of arrays that are bound: their format is taken.
const OVERRIDE_FORMAT: u32 = 1;

/// The only texture unit that parameters of textures can have.
const DEFAULT_UNIT: i32 = -1;

/// Writes the handle of a module's reference by name.
fn find(d: &mut Driver, out: Ptr, module: u64, text: Ptr, wanted: ReferenceKind) -> Outcome {
    let context = d.usable()?;
    let name = name(text)?;
    let module = super::module::loaded(d, module)?;
    let found = d.modules.get(&module).ok_or(Status::INVALID_HANDLE)?;
    if found.code.reference(&name) != Some(wanted) {
        return Err(Status::NOT_FOUND);
    }
    let (at, _) = d.device.variable(found.id, &name).ok_or(Status::NOT_FOUND)?;
    let variable = Some((module, at.0));
    let known = d.references.iter().find(|(_, known)| known.variable == variable);
    let handle = match known {
        Some((&handle, _)) => handle,
        None => {
            let handle = d.handle();
            let surface = wanted == ReferenceKind::Surface;
            d.references.insert(handle, Reference::new(context, variable, surface));
            handle
        }
    };
    put_u64(out, handle)
}

pub(crate) fn texture_of_module(d: &mut Driver, out: Ptr, module: u64, name: Ptr) -> Outcome {
    find(d, out, module, name, ReferenceKind::Texture)
}

pub(crate) fn surface_of_module(d: &mut Driver, out: Ptr, module: u64, name: Ptr) -> Outcome {
    find(d, out, module, name, ReferenceKind::Surface)
}

/// Makes a reference that no kernel names.
pub(crate) fn create(d: &mut Driver, out: Ptr) -> Outcome {
    let context = d.usable()?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.references.insert(handle, Reference::new(context, None, false));
    Ok(())
}

/// Destroys a reference that the client has made; those of modules live as long as these.
pub(crate) fn destroy(d: &mut Driver, handle: u64) -> Outcome {
    if known(d, handle, false)?.variable.is_some() {
        return Err(Status::INVALID_VALUE);
    }
    d.references.remove(&handle);
    Ok(())
}

/// Forgets the references of a module.
pub(crate) fn forget_module(d: &mut Driver, module: u64) {
    d.references.retain(|_, known| known.variable.is_none_or(|(of, _)| of != module));
}

/// Forgets the references of a context.
pub(crate) fn forget_context(d: &mut Driver, context: u64) {
    d.references.retain(|_, known| known.context != context);
}

fn known(d: &Driver, handle: u64, surface: bool) -> Outcome<&Reference> {
    d.usable()?;
    let found = d.references.get(&handle).filter(|known| known.surface == surface);
    found.ok_or(Status::INVALID_VALUE)
}

/// Changes a reference, and writes its variable.
fn change(
    d: &mut Driver,
    handle: u64,
    surface: bool,
    change: impl FnOnce(&mut Reference),
) -> Outcome {
    known(d, handle, surface)?;
    let Some(reference) = d.references.get_mut(&handle) else { return Err(Status::INVALID_VALUE) };
    change(reference);
    let reference = reference.clone();
    let Some((_, address)) = reference.variable else { return Ok(()) };
    let bytes = descriptor(d, &reference).map_or([0; BYTES], |made| made.encode());
    d.device.write(Addr(address), &bytes).map_err(|e| of_context(&e))
}

/// Describes what a reference is bound to as texture objects do.
fn described(reference: &Reference) -> Outcome<CUDA_RESOURCE_DESC> {
    use CUresourcetype as R;
    let (number, channels) = reference.format;
    let format = u64::from(number.cast_unsigned()) | u64::from(channels) << 32;
    let (kind, words) = match reference.bound {
        Bound::Nothing => return Err(Status::INVALID_VALUE),
        Bound::Array(array) => (R::ARRAY, vec![array]),
        Bound::Mipmapped(array) => (R::MIPMAPPED_ARRAY, vec![array]),
        Bound::Linear { address, bytes } => (R::LINEAR, vec![address, format, bytes]),
        Bound::Pitched { address, width, height, pitch } => {
            (R::PITCH2D, vec![address, format, width, height, pitch])
        }
    };
    let mut asked = CUDA_RESOURCE_DESC { resType: kind as i32, ..Abi::zeroed() };
    asked._res[..words.len()].copy_from_slice(&words);
    Ok(asked)
}

/// Returns the object that a reference is.
fn descriptor(d: &Driver, reference: &Reference) -> Outcome<Descriptor> {
    let surface = reference.surface;
    let resource = resource(d, &described(reference)?, surface)?;
    let sampler =
        if surface { Sampler::default() } else { sampler(&reference.texture, &resource)? };
    Ok(Descriptor { surface, resource, sampler })
}

/// Binds a reference to memory that a texture object could have.
fn bind(d: &mut Driver, handle: u64, bound: Bound, format: Option<(i32, u32)>) -> Outcome {
    let mut bare = known(d, handle, false)?.clone();
    bare.bound = bound;
    bare.format = format.unwrap_or(bare.format);
    resource(d, &described(&bare)?, false)?;
    change(d, handle, false, |reference| {
        (reference.bound, reference.format) = (bare.bound, bare.format);
    })
}

/// Returns the status for an argument that is no handle of an array.
fn no_array(status: Status) -> Status {
    if status == Status::INVALID_HANDLE { Status::INVALID_VALUE } else { status }
}

pub(crate) fn set_array(d: &mut Driver, handle: u64, of: u64, flags: u32) -> Outcome {
    if flags != OVERRIDE_FORMAT {
        return Err(Status::INVALID_VALUE);
    }
    let bound = array(d, of).map_err(no_array)?;
    let format = (bound.format, u32::from(bound.shape.format.channels));
    bind(d, handle, Bound::Array(of), Some(format))
}

pub(crate) fn set_mipmapped(d: &mut Driver, handle: u64, of: u64, flags: u32) -> Outcome {
    if flags != OVERRIDE_FORMAT {
        return Err(Status::INVALID_VALUE);
    }
    let bound = mipmapped(d, of).map_err(no_array)?;
    let format = (bound.format, u32::from(bound.shape.format.channels));
    bind(d, handle, Bound::Mipmapped(of), Some(format))
}

/// Binds linear memory. Textures begin at aligned addresses: where the memory begins in the texture
/// is written to `offset`.
pub(crate) fn set_address(
    d: &mut Driver,
    offset: Ptr,
    handle: u64,
    address: u64,
    len: usize,
) -> Outcome {
    known(d, handle, false)?;
    let align = attribute_value(d, CUdevice_attribute::TEXTURE_ALIGNMENT as i32) as u64;
    let skipped = address % align;
    if offset == 0 && skipped != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let bytes = (len as u64).checked_add(skipped).ok_or(Status::INVALID_VALUE)?;
    put_u64_if(offset, skipped)?;
    bind(d, handle, Bound::Linear { address: address - skipped, bytes }, None)
}

pub(crate) fn set_address_2d(
    d: &mut Driver,
    handle: u64,
    description: Ptr,
    address: u64,
    pitch: usize,
) -> Outcome {
    let CUDA_ARRAY_DESCRIPTOR { Width: width, Height: height, Format, NumChannels } =
        get(description)?;
    format(d, Format, NumChannels)?;
    let bound = Bound::Pitched { address, width, height, pitch: pitch as u64 };
    bind(d, handle, bound, Some((Format, NumChannels)))
}

pub(crate) fn set_format(d: &mut Driver, handle: u64, number: i32, channels: i32) -> Outcome {
    let channels = u32::try_from(channels).map_err(|_| Status::INVALID_VALUE)?;
    format(d, number, channels)?;
    change(d, handle, false, |reference| match reference.bound {
        // An array has a format of its own.
        Bound::Array(_) | Bound::Mipmapped(_) => {}
        _ => reference.format = (number, channels),
    })
}

/// Returns the place of a dimension.
fn dimension(number: i32) -> Outcome<usize> {
    usize::try_from(number).ok().filter(|&at| at < 3).ok_or(Status::INVALID_VALUE)
}

/// Checks that a number is one of so many.
fn one_of(number: i32, count: usize) -> Outcome {
    let known = usize::try_from(number).is_ok_and(|number| number < count);
    if known { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn set_address_mode(d: &mut Driver, handle: u64, of: i32, mode: i32) -> Outcome {
    let at = dimension(of)?;
    one_of(mode, AddressMode::ALL.len())?;
    change(d, handle, false, |reference| reference.texture.addressMode[at] = mode)
}

pub(crate) fn set_filter_mode(d: &mut Driver, handle: u64, mode: i32) -> Outcome {
    one_of(mode, Filter::ALL.len())?;
    change(d, handle, false, |reference| reference.texture.filterMode = mode)
}

pub(crate) fn set_level_filter(d: &mut Driver, handle: u64, mode: i32) -> Outcome {
    one_of(mode, Filter::ALL.len())?;
    change(d, handle, false, |reference| reference.texture.mipmapFilterMode = mode)
}

pub(crate) fn set_level_bias(d: &mut Driver, handle: u64, bias: f32) -> Outcome {
    change(d, handle, false, |reference| reference.texture.mipmapLevelBias = bias.to_bits())
}

pub(crate) fn set_level_clamp(d: &mut Driver, handle: u64, least: f32, most: f32) -> Outcome {
    change(d, handle, false, |reference| {
        reference.texture.minMipmapLevelClamp = least.to_bits();
        reference.texture.maxMipmapLevelClamp = most.to_bits();
    })
}

pub(crate) fn set_anisotropy(d: &mut Driver, handle: u64, most: u32) -> Outcome {
    change(d, handle, false, |reference| reference.texture.maxAnisotropy = most)
}

pub(crate) fn set_border(d: &mut Driver, handle: u64, colour: Ptr) -> Outcome {
    let mut bytes = [0; 16];
    get_bytes(colour, &mut bytes)?;
    change(d, handle, false, |reference| reference.texture.borderColor = Abi::from_bytes(&bytes))
}

pub(crate) fn set_flags(d: &mut Driver, handle: u64, flags: u32) -> Outcome {
    // References know no seamless cubes.
    if flags & !(FLAGS & !(CUtexture_flags::SEAMLESS_CUBEMAP as u32)) != 0 {
        return Err(Status::INVALID_VALUE);
    }
    change(d, handle, false, |reference| reference.texture.flags = flags)
}

/// Checks the texture of a kernel's parameters: kernels find references by their names.
pub(crate) fn set_parameter(d: &mut Driver, function: u64, unit: i32, handle: u64) -> Outcome {
    d.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
    known(d, handle, false)?;
    if unit == DEFAULT_UNIT { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

// What has been set.

pub(crate) fn address(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    match known(d, handle, false)?.bound {
        Bound::Linear { address, .. } | Bound::Pitched { address, .. } => put_u64(out, address),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn array_of(d: &mut Driver, out: Ptr, handle: u64, surface: bool) -> Outcome {
    match known(d, handle, surface)?.bound {
        Bound::Array(array) => put_u64(out, array),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn mipmapped_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    match known(d, handle, false)?.bound {
        Bound::Mipmapped(array) => put_u64(out, array),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn address_mode(d: &mut Driver, out: Ptr, handle: u64, of: i32) -> Outcome {
    put_i32(out, known(d, handle, false)?.texture.addressMode[dimension(of)?])
}

pub(crate) fn filter_mode(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put_i32(out, known(d, handle, false)?.texture.filterMode)
}

pub(crate) fn format_of(d: &mut Driver, number: Ptr, channels: Ptr, handle: u64) -> Outcome {
    let format = known(d, handle, false)?.format;
    put_if(number, &format.0)?;
    put_if(channels, &format.1)
}

pub(crate) fn level_filter(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put_i32(out, known(d, handle, false)?.texture.mipmapFilterMode)
}

pub(crate) fn level_bias(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put(out, &known(d, handle, false)?.texture.mipmapLevelBias)
}

pub(crate) fn level_clamp(d: &mut Driver, least: Ptr, most: Ptr, handle: u64) -> Outcome {
    let texture = known(d, handle, false)?.texture;
    put(least, &texture.minMipmapLevelClamp)?;
    put(most, &texture.maxMipmapLevelClamp)
}

pub(crate) fn anisotropy(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put(out, &known(d, handle, false)?.texture.maxAnisotropy)
}

pub(crate) fn border(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put(out, &known(d, handle, false)?.texture.borderColor)
}

pub(crate) fn flags(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    put(out, &known(d, handle, false)?.texture.flags)
}

// Surfaces.

pub(crate) fn set_surface_array(d: &mut Driver, handle: u64, of: u64, flags: u32) -> Outcome {
    let mut bare = known(d, handle, true)?.clone();
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    bare.bound = Bound::Array(of);
    resource(d, &described(&bare)?, true).map_err(no_array)?;
    change(d, handle, true, |reference| reference.bound = bare.bound)
}
