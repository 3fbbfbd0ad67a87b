//! Arrays, texture and surface objects, and references.

use cuda_abi::host::Ptr;

use super::copies::row_of;
use crate::api::capture::submit_new;
use crate::api::{array, copy, reference, texture};
use crate::execution::transfer::device_endpoint;

exports! {
    cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds (array: u64, offset: u64, from: u64, len: usize)
        => |d| submit_new(d, 0, |d| {
            copy::with_array(d, row_of(array, offset), |d| device_endpoint(d, from), len, true)
        });
    cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds (to: u64, array: u64, offset: u64, len: usize)
        => |d| submit_new(d, 0, |d| {
            copy::with_array(d, row_of(array, offset), |d| device_endpoint(d, to), len, false)
        });
    cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds
        (to: u64, to_offset: u64, from: u64, from_offset: u64, len: usize)
        => |d| submit_new(d, 0, |d| {
            copy::between_arrays(d, (to, to_offset), (from, from_offset), len)
        });
    cuArrayCreate_v2(out: Ptr, description: Ptr) => |d| array::create(d, out, description);
    cuArray3DCreate_v2(out: Ptr, description: Ptr) => |d| array::create_any(d, out, description);
    cuArrayGetDescriptor_v2(out: Ptr, handle: u64) => |d| array::describe(d, out, handle);
    cuArray3DGetDescriptor_v2(out: Ptr, handle: u64) => |d| array::describe_any(d, out, handle);
    cuArrayDestroy(handle: u64) => |d| array::destroy(d, handle);
    cuArrayGetMemoryRequirements(out: Ptr, handle: u64, device: i32)
        => |d| array::requirements(d, out, handle, device);
    cuMipmappedArrayCreate(out: Ptr, description: Ptr, levels: u32)
        => |d| array::mip_create(d, out, description, levels);
    cuMipmappedArrayGetLevel(out: Ptr, handle: u64, level: u32)
        => |d| array::mip_level(d, out, handle, level);
    cuMipmappedArrayDestroy(handle: u64) => |d| array::mip_destroy(d, handle);
    cuMipmappedArrayGetMemoryRequirements(out: Ptr, handle: u64, device: i32)
        => |d| array::mip_requirements(d, out, handle, device);

    cuTexObjectCreate(out: Ptr, resource: Ptr, texture: Ptr, view: Ptr)
        => |d| texture::create(d, out, resource, texture, view);
    cuTexObjectDestroy(object: u64) => |d| texture::destroy(d, object);
    cuTexObjectGetResourceDesc(out: Ptr, object: u64)
        => |d| texture::resource_of(d, out, object);
    cuTexObjectGetTextureDesc(out: Ptr, object: u64) => |d| texture::texture_of(d, out, object);
    cuTexObjectGetResourceViewDesc(out: Ptr, object: u64) => |d| texture::view_of(d, out, object);
    cuSurfObjectCreate(out: Ptr, resource: Ptr) => |d| texture::create_surface(d, out, resource);
    cuSurfObjectDestroy(object: u64) => |d| texture::destroy_surface(d, object);
    cuSurfObjectGetResourceDesc(out: Ptr, object: u64)
        => |d| texture::surface_resource_of(d, out, object);
    cuDeviceGetTexture1DLinearMaxWidth(out: Ptr, format: i32, channels: u32, device: i32)
        => |d| texture::linear_width(d, out, format, channels, device);

    cuModuleGetTexRef(out: Ptr, module: u64, name: Ptr)
        => |d| reference::texture_of_module(d, out, module, name);
    cuModuleGetSurfRef(out: Ptr, module: u64, name: Ptr)
        => |d| reference::surface_of_module(d, out, module, name);
    cuTexRefCreate(out: Ptr) => |d| reference::create(d, out);
    cuTexRefDestroy(texture: u64) => |d| reference::destroy(d, texture);
    cuParamSetTexRef(function: u64, unit: i32, texture: u64)
        => |d| reference::set_parameter(d, function, unit, texture);
    cuTexRefSetArray(texture: u64, array: u64, flags: u32)
        => |d| reference::set_array(d, texture, array, flags);
    cuTexRefSetMipmappedArray(texture: u64, array: u64, flags: u32)
        => |d| reference::set_mipmapped(d, texture, array, flags);
    cuTexRefSetAddress_v2(offset: Ptr, texture: u64, address: u64, len: usize)
        => |d| reference::set_address(d, offset, texture, address, len);
    cuTexRefSetAddress2D_v2 | cuTexRefSetAddress2D_v3
        (texture: u64, description: Ptr, address: u64, pitch: usize)
        => |d| reference::set_address_2d(d, texture, description, address, pitch);
    cuTexRefSetFormat(texture: u64, format: i32, channels: i32)
        => |d| reference::set_format(d, texture, format, channels);
    cuTexRefSetAddressMode(texture: u64, dimension: i32, mode: i32)
        => |d| reference::set_address_mode(d, texture, dimension, mode);
    cuTexRefSetFilterMode(texture: u64, mode: i32)
        => |d| reference::set_filter_mode(d, texture, mode);
    cuTexRefSetMipmapFilterMode(texture: u64, mode: i32)
        => |d| reference::set_level_filter(d, texture, mode);
    cuTexRefSetMipmapLevelBias(texture: u64, bias: f32)
        => |d| reference::set_level_bias(d, texture, bias);
    cuTexRefSetMipmapLevelClamp(texture: u64, least: f32, most: f32)
        => |d| reference::set_level_clamp(d, texture, least, most);
    cuTexRefSetMaxAnisotropy(texture: u64, most: u32)
        => |d| reference::set_anisotropy(d, texture, most);
    cuTexRefSetBorderColor(texture: u64, colour: Ptr)
        => |d| reference::set_border(d, texture, colour);
    cuTexRefSetFlags(texture: u64, flags: u32) => |d| reference::set_flags(d, texture, flags);
    cuTexRefGetAddress_v2(out: Ptr, texture: u64) => |d| reference::address(d, out, texture);
    cuTexRefGetArray(out: Ptr, texture: u64)
        => |d| reference::array_of(d, out, texture, false);
    cuTexRefGetMipmappedArray(out: Ptr, texture: u64)
        => |d| reference::mipmapped_of(d, out, texture);
    cuTexRefGetAddressMode(out: Ptr, texture: u64, dimension: i32)
        => |d| reference::address_mode(d, out, texture, dimension);
    cuTexRefGetFilterMode(out: Ptr, texture: u64)
        => |d| reference::filter_mode(d, out, texture);
    cuTexRefGetFormat(format: Ptr, channels: Ptr, texture: u64)
        => |d| reference::format_of(d, format, channels, texture);
    cuTexRefGetMipmapFilterMode(out: Ptr, texture: u64)
        => |d| reference::level_filter(d, out, texture);
    cuTexRefGetMipmapLevelBias(out: Ptr, texture: u64)
        => |d| reference::level_bias(d, out, texture);
    cuTexRefGetMipmapLevelClamp(least: Ptr, most: Ptr, texture: u64)
        => |d| reference::level_clamp(d, least, most, texture);
    cuTexRefGetMaxAnisotropy(out: Ptr, texture: u64)
        => |d| reference::anisotropy(d, out, texture);
    cuTexRefGetBorderColor(out: Ptr, texture: u64) => |d| reference::border(d, out, texture);
    cuTexRefGetFlags(out: Ptr, texture: u64) => |d| reference::flags(d, out, texture);
    cuSurfRefSetArray(surface: u64, array: u64, flags: u32)
        => |d| reference::set_surface_array(d, surface, array, flags);
    cuSurfRefGetArray(out: Ptr, surface: u64)
        => |d| reference::array_of(d, out, surface, true);
}
