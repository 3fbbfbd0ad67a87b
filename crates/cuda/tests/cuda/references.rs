//! Texture and surface references: programs that bind variables of modules to memory.

use std::ffi::CStr;

use cuda::Status;
use cuda::exports::arrays::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda_abi::{Abi as _, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR};

use crate::common::memory::alloc;
use crate::common::{at, is, ok, settled};

const U8: i32 = 1;
const FLOAT: i32 = 0x20;
const INTEGERS: u32 = 1;
const NORMALIZED: u32 = 2;

/// What `nvcc` of CUDA 11 makes of `tex2D(plane, x, y)` and `tex1Dfetch(line, i)` in one thread for
/// each pair of coordinates, and of a surface that is written.
const TEXT: &CStr = c"
.version 7.0
.target sm_52
.address_size 64
.visible .global .texref plane;
.visible .global .texref line;
.visible .global .surfref out;
.visible .global .samplerref sampler;
.visible .global .u32 number;
.visible .entry sample(.param .u64 from, .param .u64 to) {
  .reg .b32 %t; .reg .f32 %f<8>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];
  mov.u32 %t, %tid.x; mul.wide.u32 %d2, %t, 8; add.u64 %d0, %d0, %d2;
  mul.wide.u32 %d2, %t, 4; add.u64 %d1, %d1, %d2;
  ld.global.v2.f32 {%f0, %f1}, [%d0];
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [plane, {%f0, %f1}];
  st.global.f32 [%d1], %f2;
  ret;
}
.visible .entry fetch(.param .u64 from, .param .u64 to) {
  .reg .b32 %t, %i<6>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];
  mov.u32 %t, %tid.x; mul.wide.u32 %d2, %t, 8; add.u64 %d0, %d0, %d2;
  mul.wide.u32 %d2, %t, 4; add.u64 %d1, %d1, %d2;
  ld.global.u32 %i0, [%d0];
  tex.1d.v4.u32.s32 {%i1, %i2, %i3, %i4}, [line, {%i0}];
  st.global.u32 [%d1], %i1;
  ret;
}
.visible .entry store() {
  .reg .b32 %t, %x, %v;
  mov.u32 %t, %tid.x; shl.b32 %x, %t, 2; add.u32 %v, %t, 100;
  sust.b.2d.b32.trap [out, {%x, 1}], {%v};
  ret;
}";

struct Device {
    context: u64,
    module: u64,
}

impl Device {
    fn new() -> Self {
        ok(cuInit(0));
        let (mut context, mut module) = (0_u64, 0_u64);
        ok(cuCtxCreate_v2(at(&mut context), 0, 0));
        ok(cuModuleLoadData(at(&mut module), TEXT.as_ptr().addr()));
        Self { context, module }
    }

    fn texture(&self, name: &CStr) -> u64 {
        let mut reference = 0_u64;
        ok(cuModuleGetTexRef(at(&mut reference), self.module, name.as_ptr().addr()));
        reference
    }

    fn try_run<const N: usize>(&self, name: &CStr, rows: [[u32; 2]; N]) -> (i32, [u32; N]) {
        let mut function = 0_u64;
        ok(cuModuleGetFunction(at(&mut function), self.module, name.as_ptr().addr()));
        let (mut from, mut to) = (alloc(8 * N), alloc(4 * N));
        ok(cuMemcpyHtoD_v2(from, rows.as_ptr().addr(), 8 * N));
        let mut params = [at(&mut from), at(&mut to)];
        let status = cuLaunchKernel(function, 1, 1, 1, N as u32, 1, 1, 0, 0, at(&mut params), 0);
        let status = settled(status);
        let mut found = [0; N];
        if status == 0 {
            ok(cuMemcpyDtoH_v2(found.as_mut_ptr().addr(), to, 4 * N));
        }
        (status, found)
    }

    /// Samples `plane`.
    fn sample<const N: usize>(&self, rows: [[f32; 2]; N]) -> [f32; N] {
        let (status, found) = self.try_run(c"sample", rows.map(|row| row.map(f32::to_bits)));
        ok(status);
        found.map(f32::from_bits)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
    }
}

/// An array of two rows of four floats: 0 to 3, then 4 to 7.
fn plane() -> u64 {
    let (mut array, mut shape) = (0_u64, described(4, 2, FLOAT, 1));
    ok(cuArrayCreate_v2(at(&mut array), at(&mut shape)));
    let numbers: [f32; 8] = std::array::from_fn(|i| i as f32);
    let mut copy = cuda_abi::CUDA_MEMCPY2D {
        srcMemoryType: 1,
        srcHost: numbers.as_ptr().addr() as u64,
        srcPitch: 16,
        dstMemoryType: 3,
        dstArray: array,
        WidthInBytes: 16,
        Height: 2,
        ..cuda_abi::CUDA_MEMCPY2D::zeroed()
    };
    ok(cuMemcpy2D_v2(at(&mut copy)));
    array
}

fn described(width: u64, height: u64, format: i32, channels: u32) -> CUDA_ARRAY_DESCRIPTOR {
    CUDA_ARRAY_DESCRIPTOR { Width: width, Height: height, Format: format, NumChannels: channels }
}

#[test]
fn an_array_is_sampled_by_what_was_set_last() {
    let device = Device::new();
    let (reference, array) = (device.texture(c"plane"), plane());
    ok(cuTexRefSetArray(reference, array, 1));
    // Before the first call that sets more: elements, and the nearest at the border.
    assert_eq!(device.sample([[0.5, 0.5], [3.9, 1.2], [9.0, 9.0]]), [0.0, 7.0, 7.0]);
    // Means of four neighbours: at (2, 1) of 1, 2, 5 and 6.
    ok(cuTexRefSetFilterMode(reference, 1));
    assert_eq!(device.sample([[2.0, 1.0], [0.5, 1.0]]), [3.5, 2.0]);
    // Coordinates from 0 to 1 that repeat, with and without the mirror: 1.125 is the first column.
    ok(cuTexRefSetFilterMode(reference, 0));
    ok(cuTexRefSetFlags(reference, NORMALIZED));
    ok(cuTexRefSetAddressMode(reference, 0, 0));
    assert_eq!(device.sample([[1.125, 0.25], [0.6, 0.75]]), [0.0, 6.0]);
    ok(cuTexRefSetAddressMode(reference, 0, 2));
    assert_eq!(device.sample([[1.125, 0.25]]), [3.0]);
    // Beyond the border its colour.
    let mut colour = [2.5_f32, 0.0, 0.0, 0.0];
    ok(cuTexRefSetAddressMode(reference, 0, 3));
    ok(cuTexRefSetBorderColor(reference, at(&mut colour)));
    assert_eq!(device.sample([[1.125, 0.25], [0.9, 0.25]]), [2.5, 3.0]);
}

#[test]
fn memory_is_bound_as_a_line_and_as_a_plane() {
    let device = Device::new();
    let bytes: [u8; 64] = std::array::from_fn(|i| i as u8 * 3);
    let memory = alloc(512);
    ok(cuMemcpyHtoD_v2(memory, bytes.as_ptr().addr(), 64));
    let line = device.texture(c"line");
    ok(cuTexRefSetFormat(line, U8, 1));
    ok(cuTexRefSetFlags(line, INTEGERS));
    let mut offset = 7_u64;
    ok(cuTexRefSetAddress_v2(at(&mut offset), line, memory, 10));
    let rows = |list: [u32; 4]| list.map(|i| [i, 0]);
    let (status, found) = device.try_run(c"fetch", rows([0, 5, 9, 10]));
    // The tenth element is past the end.
    assert_eq!((status, offset, found), (0, 0, [0, 15, 27, 0]));
    // Textures begin at multiples of 256 bytes: the memory begins in the texture.
    ok(cuTexRefSetAddress_v2(at(&mut offset), line, memory + 6, 10));
    assert_eq!(offset, 6);
    let (status, found) = device.try_run(c"fetch", rows([6, 15, 0, 16]));
    assert_eq!((status, found), (0, [18, 45, 0, 0]));
    is(cuTexRefSetAddress_v2(0, line, memory + 6, 10), Status::INVALID_VALUE);

    // Rows of 3 elements, 32 bytes apart, as fractions of 255.
    let plane = device.texture(c"plane");
    let mut shape = described(3, 2, U8, 1);
    ok(cuTexRefSetAddress2D_v3(plane, at(&mut shape), memory, 32));
    assert_eq!(device.sample([[2.5, 1.5], [0.5, 1.5]]), [34.0 * 3.0 / 255.0, 96.0 / 255.0]);
    is(cuTexRefSetAddress2D_v3(plane, at(&mut shape), memory + 64, 32), Status::INVALID_VALUE);
    is(cuTexRefSetAddress2D_v3(plane, at(&mut shape), memory, 33), Status::INVALID_VALUE);
    let (mut found, mut format, mut channels) = (0_u64, 0, 0);
    ok(cuTexRefGetAddress_v2(at(&mut found), plane));
    ok(cuTexRefGetFormat(at(&mut format), at(&mut channels), plane));
    assert_eq!((found, format, channels), (memory, U8, 1));
}

#[test]
fn a_surface_is_written() {
    let device = Device::new();
    let (mut reference, mut array) = (0_u64, 0_u64);
    ok(cuModuleGetSurfRef(at(&mut reference), device.module, c"out".as_ptr().addr()));
    is(cuSurfRefSetArray(reference, plane(), 0), Status::INVALID_VALUE);
    let mut shape = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 4,
        Height: 2,
        Format: 3,
        NumChannels: 1,
        Flags: 2,
        ..CUDA_ARRAY3D_DESCRIPTOR::zeroed()
    };
    ok(cuArray3DCreate_v2(at(&mut array), at(&mut shape)));
    is(cuSurfRefSetArray(reference, array, 1), Status::INVALID_VALUE);
    is(cuSurfRefGetArray(at(&mut 0_u64), reference), Status::INVALID_VALUE);
    ok(cuSurfRefSetArray(reference, array, 0));
    let mut bound = 0_u64;
    ok(cuSurfRefGetArray(at(&mut bound), reference));
    assert_eq!(bound, array);
    ok(device.try_run(c"store", [[0; 2]; 4]).0);
    let mut found = [0_u32; 8];
    let mut copy = cuda_abi::CUDA_MEMCPY2D {
        srcMemoryType: 3,
        srcArray: array,
        dstMemoryType: 1,
        dstHost: at(&mut found) as u64,
        dstPitch: 16,
        WidthInBytes: 16,
        Height: 2,
        ..cuda_abi::CUDA_MEMCPY2D::zeroed()
    };
    ok(cuMemcpy2D_v2(at(&mut copy)));
    assert_eq!(found, [0, 0, 0, 0, 100, 101, 102, 103]);
    // A texture's functions do not take it.
    is(cuTexRefSetFlags(reference, 0), Status::INVALID_VALUE);
}

#[test]
fn what_was_set_is_returned() {
    let device = Device::new();
    let reference = device.texture(c"plane");
    assert_eq!(device.texture(c"plane"), reference);
    assert_ne!(device.texture(c"line"), reference);
    let word = |call: &dyn Fn(usize) -> i32| {
        let mut value = 0xdead_u32;
        ok(call(at(&mut value)));
        value
    };
    ok(cuTexRefSetAddressMode(reference, 2, 3));
    ok(cuTexRefSetFilterMode(reference, 1));
    ok(cuTexRefSetMipmapFilterMode(reference, 1));
    ok(cuTexRefSetMipmapLevelBias(reference, 0.5));
    ok(cuTexRefSetMipmapLevelClamp(reference, 1.0, 2.0));
    ok(cuTexRefSetMaxAnisotropy(reference, 8));
    ok(cuTexRefSetFlags(reference, NORMALIZED | 16));
    ok(cuTexRefSetFormat(reference, U8, 4));
    assert_eq!(word(&|out| cuTexRefGetAddressMode(out, reference, 2)), 3);
    assert_eq!(word(&|out| cuTexRefGetAddressMode(out, reference, 0)), 0);
    assert_eq!(word(&|out| cuTexRefGetFilterMode(out, reference)), 1);
    assert_eq!(word(&|out| cuTexRefGetMipmapFilterMode(out, reference)), 1);
    assert_eq!(word(&|out| cuTexRefGetMipmapLevelBias(out, reference)), 0.5_f32.to_bits());
    let mut most = 0_u32;
    let least = word(&|out| cuTexRefGetMipmapLevelClamp(out, at(&mut { most }), reference));
    ok(cuTexRefGetMipmapLevelClamp(at(&mut 0_u32), at(&mut most), reference));
    assert_eq!([least, most], [1.0_f32, 2.0].map(f32::to_bits));
    assert_eq!(word(&|out| cuTexRefGetMaxAnisotropy(out, reference)), 8);
    assert_eq!(word(&|out| cuTexRefGetFlags(out, reference)), 18);
    assert_eq!(word(&|out| cuTexRefGetFormat(0, out, reference)), 4);
    let mut colour = [0_u32; 4];
    ok(cuTexRefGetBorderColor(at(&mut colour), reference));
    assert_eq!(colour, [0; 4]);
}

#[test]
fn wrong_arguments_are_refused() {
    let device = Device::new();
    let reference = device.texture(c"plane");
    let mut out = 0_u64;
    let mut named =
        |name: &CStr| cuModuleGetTexRef(at(&mut out), device.module, name.as_ptr().addr());
    for name in [c"out", c"sampler", c"number", c"absent", c"sample"] {
        is(named(name), Status::NOT_FOUND);
    }
    let text = c"plane".as_ptr().addr();
    is(cuModuleGetTexRef(at(&mut out), 1, text), Status::INVALID_HANDLE);
    is(cuModuleGetTexRef(0, device.module, text), Status::INVALID_VALUE);
    is(cuModuleGetSurfRef(at(&mut out), device.module, text), Status::NOT_FOUND);
    let invalid = Status::INVALID_VALUE;
    let array = plane();
    for (unknown, array, flags) in [(1, array, 1), (reference, 1, 1), (reference, array, 0)] {
        is(cuTexRefSetArray(unknown, array, flags), invalid);
        is(cuTexRefSetMipmappedArray(unknown, array, flags), invalid);
    }
    is(cuTexRefGetArray(at(&mut out), reference), invalid);
    is(cuTexRefGetMipmappedArray(at(&mut out), reference), invalid);
    is(cuTexRefGetAddress_v2(at(&mut out), reference), invalid);
    for (dimension, mode) in [(-1, 0), (3, 0), (0, 4), (0, -1)] {
        is(cuTexRefSetAddressMode(reference, dimension, mode), invalid);
    }
    is(cuTexRefGetAddressMode(at(&mut out), reference, 3), invalid);
    is(cuTexRefSetFilterMode(reference, 2), invalid);
    is(cuTexRefSetMipmapFilterMode(reference, -1), invalid);
    is(cuTexRefSetFlags(reference, 0x80), invalid);
    is(cuTexRefSetFormat(reference, U8, 3), invalid);
    is(cuTexRefSetFormat(reference, -1, 1), invalid);
    is(cuTexRefSetBorderColor(reference, 8), invalid);
    is(cuTexRefGetFlags(0, reference), invalid);
    let mut wide = described(1 << 20, 2, FLOAT, 1);
    is(cuTexRefSetAddress2D_v2(reference, at(&mut wide), alloc(512), 1 << 10), invalid);
    is(cuTexRefSetAddress_v2(0, reference, 0x1234_0000, 64), invalid);
    is(cuTexRefSetAddress_v2(at(&mut out), reference, u64::MAX, usize::MAX), invalid);

    // References of modules are not the client's to destroy.
    is(cuTexRefDestroy(reference), invalid);
    let (mut own, mut function) = (0_u64, 0_u64);
    ok(cuTexRefCreate(at(&mut own)));
    ok(cuModuleGetFunction(at(&mut function), device.module, c"sample".as_ptr().addr()));
    ok(cuTexRefSetArray(own, array, 1));
    ok(cuParamSetTexRef(function, -1, own));
    is(cuParamSetTexRef(function, 0, own), invalid);
    is(cuParamSetTexRef(own, -1, own), Status::INVALID_HANDLE);
    ok(cuTexRefDestroy(own));
    is(cuTexRefDestroy(own), invalid);

    // What is bound to nothing is no texture: the launch faults, and the context with it.
    let (status, _) = device.try_run(c"sample", [[0; 2]]);
    assert_ne!(status, 0);
}

#[test]
fn references_end_with_their_module() {
    let device = Device::new();
    let reference = device.texture(c"plane");
    ok(cuModuleUnload(device.module));
    is(cuTexRefSetFlags(reference, 0), Status::INVALID_VALUE);
}
