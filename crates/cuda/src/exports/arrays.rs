//! Arrays, texture and surface objects.

use cuda_abi::host::Ptr;

use super::copies::row_of;
use crate::api::capture::submit_new;
use crate::api::{array, copy, texture};
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
}
