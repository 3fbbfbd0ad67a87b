//! Arrays, textures and surfaces: kernels that sample and store, and programs that do it wrongly.

use cuda::Status;
use cuda::exports::arrays::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda_abi::{
    Abi, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY3D, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC,
};

use crate::common::memory::alloc;
use crate::common::{at, is, ok, settled};

const U8: i32 = 1;
const U32: i32 = 3;
const FLOAT: i32 = 0x20;
const LAYERED: u32 = 1;
const SURFACE: u32 = 2;
const CUBE: u32 = 4;
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const LINEAR: i32 = 2;
const PITCHED: i32 = 3;
const INTEGERS: u32 = 1;
const NORMALIZED: u32 = 2;

/// A kernel that loads eight words of a thread and the handle, and stores four results.
fn kernel(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 handle, .param .u64 data, .param .u64 out) {{
            .reg .b32 %i<12>; .reg .f32 %x<8>; .reg .b16 %h<4>; .reg .b64 %d<8>;
            ld.param.u64 %d0, [handle]; ld.param.u64 %d1, [data]; ld.param.u64 %d2, [out];
            mov.u32 %i8, %tid.x; mul.wide.u32 %d3, %i8, 32; add.u64 %d1, %d1, %d3;
            mul.wide.u32 %d3, %i8, 16; add.u64 %d2, %d2, %d3;
            ld.global.v4.u32 {{%i4, %i5, %i6, %i7}}, [%d1];
            ld.global.v4.u32 {{%i8, %i9, %i10, %i11}}, [%d1+16];
            mov.b32 %x0, %i4; mov.b32 %x1, %i5; mov.b32 %x2, %i6; mov.b32 %x3, %i7;
            mov.b32 %x4, %i8; mov.b32 %x5, %i9; mov.b32 %x6, %i10; mov.b32 %x7, %i11;
            mov.u32 %i0, 0; mov.u32 %i1, 0; mov.u32 %i2, 0; mov.u32 %i3, 0;
            {body}
            st.global.v4.u32 [%d2], {{%i0, %i1, %i2, %i3}};
            ret;
        }}\n"
    )
}

const RESULT: &str = "{%i0, %i1, %i2, %i3}";

fn text() -> String {
    let mut out = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .texref bound;\n",
    );
    let sampled = [
        ("one", format!("tex.1d.v4.s32.f32 {RESULT}, [%d0, {{%x0}}];")),
        ("fetch", format!("tex.1d.v4.s32.s32 {RESULT}, [%d0, {{%i4}}];")),
        ("two", format!("tex.2d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1}}];")),
        ("moved", format!("tex.2d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1}}], {{%i8, %i9}};")),
        ("named", format!("tex.2d.v4.s32.f32 {RESULT}, [bound, {{%x0, %x1}}];")),
        ("sampler", format!("tex.2d.v4.s32.f32 {RESULT}, [bound, %d0, {{%x0, %x1}}];")),
        ("halves", "tex.2d.v2.f16x2.f32 {%i0, %i1}, [%d0, {%x0, %x1}];".to_owned()),
        ("three", format!("tex.3d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1, %x2, %x2}}];")),
        ("layers1", format!("tex.a1d.v4.s32.f32 {RESULT}, [%d0, {{%i4, %x1}}];")),
        ("layers2", format!("tex.a2d.v4.s32.f32 {RESULT}, [%d0, {{%i4, %x1, %x2, %x2}}];")),
        ("cube", format!("tex.cube.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1, %x2, %x2}}];")),
        ("cubes", format!("tex.acube.v4.s32.f32 {RESULT}, [%d0, {{%i4, %x1, %x2, %x3}}];")),
        ("level", format!("tex.level.2d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1}}], %x2;")),
        ("grad", format!("tex.grad.2d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1}}], {{%x2, %x3}}, {{%x4, %x5}};")),
        ("gather", format!("tld4.g.2d.v4.s32.f32 {RESULT}, [%d0, {{%x0, %x1}}];")),
        ("sizes", "txq.width.b32 %i0, [%d0]; txq.height.b32 %i1, [%d0]; txq.depth.b32 %i2, [%d0];
            txq.num_mipmap_levels.b32 %i3, [%d0];".to_owned()),
        ("level_size", "txq.level.width.b32 %i0, [%d0], %i4; txq.filter_mode.b32 %i1, [%d0];
            txq.addr_mode_0.b32 %i2, [%d0]; txq.channel_order.b32 %i3, [%d0];".to_owned()),
        ("load", "suld.b.2d.v2.b32.trap {%i0, %i1}, [%d0, {%i4, %i5}];".to_owned()),
        ("load_zero", "suld.b.2d.b32.zero {%i0}, [%d0, {%i4, %i5}];".to_owned()),
        ("load_near", "suld.b.2d.b32.clamp %i0, [%d0, {%i4, %i5}];".to_owned()),
        ("load_byte", "suld.b.a2d.b8.trap {%h0}, [%d0, {%i6, %i4, %i5, %i5}]; cvt.u32.u16 %i0, %h0;".to_owned()),
        ("store", "sust.b.2d.b32.trap [%d0, {%i4, %i5}], {%i6};".to_owned()),
        ("store_zero", "sust.b.2d.b32.zero [%d0, {%i4, %i5}], {%i6};".to_owned()),
        ("store_byte", "cvt.u16.u32 %h0, %i7; sust.b.a2d.b8.trap [%d0, {%i6, %i4, %i5, %i5}], {%h0};".to_owned()),
        ("format", "sust.p.2d.v4.b32.trap [%d0, {%i4, %i5}], {%i8, %i9, %i10, %i11};".to_owned()),
        ("add", "sured.b.add.2d.u32.trap [%d0, {%i4, %i5}], %i6;".to_owned()),
        ("least", "sured.p.min.2d.b32.trap [%d0, {%i4, %i5}], %i6;".to_owned()),
        ("surface_size", "suq.width.b32 %i0, [%d0]; suq.height.b32 %i1, [%d0]; suq.channel_data_type.b32 %i2, [%d0];".to_owned()),
    ];
    for (name, body) in sampled {
        out += &kernel(name, &body);
    }
    out + "\0"
}

struct Device {
    context: u64,
    module: u64,
}

impl Device {
    fn new() -> Self {
        ok(cuInit(0));
        let (mut context, mut module) = (0_u64, 0_u64);
        ok(cuCtxCreate_v2(at(&mut context), 0, 0));
        ok(cuModuleLoadData(at(&mut module), text().as_ptr().addr()));
        Self { context, module }
    }

    /// The status of a launch of a kernel, one thread for each row, and what the threads stored.
    fn try_run(&self, name: &str, handle: u64, rows: &[[u32; 8]]) -> (i32, Vec<[u32; 4]>) {
        let name = std::ffi::CString::new(name).unwrap();
        let mut function = 0_u64;
        ok(cuModuleGetFunction(at(&mut function), self.module, name.as_ptr().addr()));
        let (mut handle, mut data, mut out) =
            (handle, alloc(32 * rows.len()), alloc(16 * rows.len()));
        ok(cuMemcpyHtoD_v2(data, rows.as_ptr().addr(), 32 * rows.len()));
        let mut params = [at(&mut handle), at(&mut data), at(&mut out)];
        let threads = rows.len() as u32;
        let status = cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, at(&mut params), 0);
        let status = settled(status);
        let mut found = vec![[0_u32; 4]; rows.len()];
        if status == 0 {
            ok(cuMemcpyDtoH_v2(found.as_mut_ptr().addr(), out, 16 * rows.len()));
        }
        (status, found)
    }

    fn run(&self, name: &str, handle: u64, rows: &[[u32; 8]]) -> Vec<[u32; 4]> {
        let (status, found) = self.try_run(name, handle, rows);
        ok(status);
        found
    }

    /// The same for coordinates and results that are floats.
    fn floats(&self, name: &str, handle: u64, rows: &[&[f32]]) -> Vec<[f32; 4]> {
        let padded =
            |row: &&[f32]| std::array::from_fn(|i| row.get(i).copied().unwrap_or(0.0).to_bits());
        let rows: Vec<[u32; 8]> = rows.iter().map(padded).collect();
        let found = self.run(name, handle, &rows);
        found.into_iter().map(|row| row.map(f32::from_bits)).collect()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
    }
}

fn described(size: [u64; 3], format: i32, channels: u32, flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: size[0],
        Height: size[1],
        Depth: size[2],
        Format: format,
        NumChannels: channels,
        Flags: flags,
    }
}

fn array(size: [u64; 3], format: i32, channels: u32, flags: u32) -> u64 {
    let mut out = 0_u64;
    ok(cuArray3DCreate_v2(at(&mut out), at(&mut described(size, format, channels, flags))));
    out
}

/// Copies dense elements into an array, or out of it.
fn copy(array: u64, bytes: &mut [u8], size: [u64; 3], element: u64, into: bool) {
    let host = bytes.as_mut_ptr().addr() as u64;
    let [width, height, depth] = size.map(|n| n.max(1));
    let mut params = CUDA_MEMCPY3D {
        srcMemoryType: if into { 1 } else { 3 },
        srcHost: host,
        srcArray: array,
        srcPitch: width * element,
        srcHeight: height,
        dstMemoryType: if into { 3 } else { 1 },
        dstHost: host,
        dstArray: array,
        dstPitch: width * element,
        dstHeight: height,
        WidthInBytes: width * element,
        Height: height,
        Depth: depth,
        ..CUDA_MEMCPY3D::zeroed()
    };
    ok(cuMemcpy3D_v2(at(&mut params)));
}

/// An array of floats numbered from 0 in the order x, y, z.
fn numbered(size: [u64; 3], flags: u32) -> u64 {
    let array = array(size, FLOAT, 1, flags);
    let count: u64 = size.iter().map(|n| n.max(&1)).product();
    let mut bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
    copy(array, &mut bytes, size, 4, true);
    array
}

fn of_array(kind: i32, handle: u64) -> CUDA_RESOURCE_DESC {
    let mut out = CUDA_RESOURCE_DESC { resType: kind, ..CUDA_RESOURCE_DESC::zeroed() };
    out._res[0] = handle;
    out
}

fn sampled(flags: u32, mode: i32, filter: i32) -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC {
        addressMode: [mode; 3],
        filterMode: filter,
        flags,
        maxMipmapLevelClamp: 100.0_f32.to_bits(),
        ..CUDA_TEXTURE_DESC::zeroed()
    }
}

fn texture(resource: &mut CUDA_RESOURCE_DESC, texture: &mut CUDA_TEXTURE_DESC) -> u64 {
    let mut out = 0_u64;
    ok(cuTexObjectCreate(at(&mut out), at(resource), at(texture), 0));
    out
}

fn surface(array: u64) -> u64 {
    let mut out = 0_u64;
    ok(cuSurfObjectCreate(at(&mut out), at(&mut of_array(ARRAY, array))));
    out
}

#[test]
fn every_geometry_is_sampled() {
    let device = Device::new();
    let point = |handle| texture(&mut of_array(ARRAY, handle), &mut sampled(0, 1, 0));
    let linear = |handle| texture(&mut of_array(ARRAY, handle), &mut sampled(0, 1, 1));

    let line = numbered([10, 0, 0], 0);
    let rows = device.floats("one", linear(line), &[&[3.5], &[4.0], &[4.25], &[-9.0], &[99.0]]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [3.0, 3.5, 3.75, 0.0, 9.0]);
    assert_eq!(rows[0], [3.0, 0.0, 0.0, 1.0]);

    let plane = numbered([4, 3, 0], 0);
    let rows = device.floats("two", linear(plane), &[&[1.5, 2.5], &[2.0, 1.0], &[0.0, 0.0]]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [9.0, 3.5, 0.0]);
    let moved: [u32; 8] = [1.5_f32.to_bits(), 1.5_f32.to_bits(), 0, 0, 1, u32::MAX, 0, 0];
    assert_eq!(f32::from_bits(device.run("moved", point(plane), &[moved])[0][0]), 2.0);
    let halves = device.run(
        "halves",
        linear(plane),
        &[[1.5_f32.to_bits(), 2.5_f32.to_bits(), 0, 0, 0, 0, 0, 0]],
    );
    // 9.0 and 0.0, then 0.0 and 1.0.
    assert_eq!(halves[0][..2], [0x4880, 0x3c00_0000]);
    let gathered = device.floats("gather", point(plane), &[&[2.0, 1.0]]);
    assert_eq!(gathered, [[0.0; 4]], "there is no second component");

    let solid = numbered([3, 2, 4], 0);
    let rows = device.floats("three", linear(solid), &[&[1.5, 0.5, 2.5], &[1.5, 1.0, 3.0]]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [13.0, 17.5]);

    let lines = numbered([5, 0, 3], LAYERED);
    let layer = |layer: u32, x: f32| [layer, x.to_bits(), 0.5_f32.to_bits(), 0, 0, 0, 0, 0];
    let rows = device.run("layers1", point(lines), &[layer(2, 3.5), layer(9, 0.5)]);
    assert_eq!(rows.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), [13.0, 10.0]);
    let planes = numbered([5, 2, 3], LAYERED);
    let rows = device.run("layers2", point(planes), &[layer(1, 3.5), layer(2, 0.5)]);
    assert_eq!(rows.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), [13.0, 20.0]);

    let cube = numbered([2, 2, 6], CUBE);
    let rows = device.floats("cube", point(cube), &[&[1.0, 0.5, 0.5], &[0.1, -0.2, -3.0]]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 22.0]);
    let cubes = numbered([2, 2, 12], CUBE | LAYERED);
    let given = [1, 1.0_f32.to_bits(), 0.5_f32.to_bits(), 0.5_f32.to_bits(), 0, 0, 0, 0];
    assert_eq!(f32::from_bits(device.run("cubes", point(cubes), &[given])[0][0]), 24.0);
}

/// `cudaMallocArray` with a height of 1 makes a plane of one row, which programs sample as a line.
#[test]
fn a_plane_of_one_row_is_sampled_as_a_line() {
    let device = Device::new();
    let values = |height: u64, mode: i32| {
        let plane = numbered([10, height, 0], 0);
        let handle = texture(&mut of_array(ARRAY, plane), &mut sampled(0, mode, 1));
        let rows = device.floats("one", handle, &[&[3.5], &[4.0], &[4.25], &[-9.0], &[99.0]]);
        rows.into_iter().map(|row| row[0]).collect::<Vec<_>>()
    };
    // Clamped, then with a border of zeros, which no row beside the only one shares.
    assert_eq!(values(1, 1), [3.0, 3.5, 3.75, 0.0, 9.0]);
    assert_eq!(values(1, 3), [3.0, 3.5, 3.75, 0.0, 0.0]);
    let plane = texture(&mut of_array(ARRAY, numbered([10, 2, 0], 0)), &mut sampled(0, 1, 1));
    is(device.try_run("one", plane, &[[0; 8]]).0, Status::LAUNCH_FAILED);
}

#[test]
fn levels_views_and_queries() {
    let device = Device::new();
    let mut mipmapped = 0_u64;
    let mut asked = described([8, 4, 0], FLOAT, 1, 0);
    ok(cuMipmappedArrayCreate(at(&mut mipmapped), at(&mut asked), 99));
    for (level, size) in [(0, [8, 4, 0]), (1, [4, 2, 0]), (2, [2, 1, 0]), (3, [1, 1, 0])] {
        let mut array = 0_u64;
        ok(cuMipmappedArrayGetLevel(at(&mut array), mipmapped, level));
        let mut again = 0_u64;
        ok(cuMipmappedArrayGetLevel(at(&mut again), mipmapped, level));
        assert_eq!(array, again);
        let mut found = CUDA_ARRAY3D_DESCRIPTOR::zeroed();
        ok(cuArray3DGetDescriptor_v2(at(&mut found), array));
        assert_eq!([found.Width, found.Height, found.Depth], size);
        let count = size[0] * size[1];
        let mut bytes = (0..count).flat_map(|_| (level as f32).to_le_bytes()).collect::<Vec<_>>();
        copy(array, &mut bytes, size, 4, true);
        is(cuArrayDestroy(array), Status::INVALID_VALUE);
        // A level can be a surface without a flag.
        let seen = device.run("load_zero", surface(array), &[[0; 8]]);
        assert_eq!(seen[0][0], (level as f32).to_bits());
    }
    let mut over = 0_u64;
    is(cuMipmappedArrayGetLevel(at(&mut over), mipmapped, 4), Status::INVALID_VALUE);

    let mut mixed = CUDA_TEXTURE_DESC { mipmapFilterMode: 1, ..sampled(NORMALIZED, 0, 0) };
    let handle = texture(&mut of_array(MIPMAPPED, mipmapped), &mut mixed);
    let rows =
        device.floats("level", handle, &[&[0.1, 0.7, 1.0], &[0.1, 0.7, 1.75], &[0.1, 0.7, 9.0]]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [1.0, 1.75, 3.0]);
    // Four elements of eight for each step along x.
    let rows = device.floats("grad", handle, &[&[0.1, 0.7, 0.5, 0.0, 0.0, 0.25]]);
    assert_eq!(rows[0][0], 2.0);
    assert_eq!(device.run("sizes", handle, &[[0; 8]])[0], [8, 4, 0, 4]);
    assert_eq!(device.run("level_size", handle, &[[2, 0, 0, 0, 0, 0, 0, 0]])[0], [2, 0, 0, 0x10b0]);

    // A view of levels 1 and 2, in which bits are integers.
    let mut view = CUDA_RESOURCE_VIEW_DESC {
        format: 13,
        width: 8,
        height: 4,
        firstMipmapLevel: 1,
        lastMipmapLevel: 2,
        ..CUDA_RESOURCE_VIEW_DESC::zeroed()
    };
    let mut viewed = 0_u64;
    let (mut resource, mut plain) =
        (of_array(MIPMAPPED, mipmapped), sampled(NORMALIZED | INTEGERS, 0, 0));
    ok(cuTexObjectCreate(at(&mut viewed), at(&mut resource), at(&mut plain), at(&mut view)));
    assert_eq!(device.run("sizes", viewed, &[[0; 8]])[0], [4, 2, 0, 2]);
    let half = 0.5_f32.to_bits();
    assert_eq!(
        device.run("two", viewed, &[[half, half, 0, 0, 0, 0, 0, 0]])[0],
        [1.0_f32.to_bits(), 0, 0, 1]
    );

    let mut again = CUDA_RESOURCE_VIEW_DESC::zeroed();
    ok(cuTexObjectGetResourceViewDesc(at(&mut again), viewed));
    assert_eq!(again, view);
    is(cuTexObjectGetResourceViewDesc(at(&mut again), handle), Status::INVALID_VALUE);
    let (mut of, mut how) = (CUDA_RESOURCE_DESC::zeroed(), CUDA_TEXTURE_DESC::zeroed());
    ok(cuTexObjectGetResourceDesc(at(&mut of), viewed));
    ok(cuTexObjectGetTextureDesc(at(&mut how), viewed));
    assert_eq!((of, how), (resource, plain));

    // Levels, layers, formats and sizes that are not there.
    let wrong: [fn(&mut CUDA_RESOURCE_VIEW_DESC); 8] = [
        |v| v.lastMipmapLevel = 4,
        |v| v.firstMipmapLevel = 3,
        |v| v.lastMipmapLevel = u32::MAX,
        |v| v.format = 10,
        |v| v.format = 99,
        |v| v.width = 7,
        |v| v.height = 5,
        |v| v.reserved[3] = 1,
    ];
    for change in wrong {
        let mut view = view;
        change(&mut view);
        let mut out = 0_u64;
        let status =
            cuTexObjectCreate(at(&mut out), at(&mut resource), at(&mut plain), at(&mut view));
        is(status, Status::INVALID_VALUE);
    }
    ok(cuMipmappedArrayDestroy(mipmapped));
    is(cuMipmappedArrayDestroy(mipmapped), Status::INVALID_HANDLE);
    // The object is there, its memory is not.
    let (status, _) = device.try_run("level", handle, &[[0; 8]]);
    is(status, Status::ILLEGAL_ADDRESS);
}

#[test]
fn linear_and_pitched_memory() {
    let device = Device::new();
    let data = alloc(1 << 12);
    let words: Vec<u8> = (0..=255).cycle().take(1 << 12).collect();
    ok(cuMemcpyHtoD_v2(data, words.as_ptr().addr(), 1 << 12));
    let mut linear = CUDA_RESOURCE_DESC { resType: LINEAR, ..CUDA_RESOURCE_DESC::zeroed() };
    linear._res[..3].copy_from_slice(&[data, U8 as u64 | 2 << 32, 200]);
    let handle = texture(&mut linear, &mut sampled(INTEGERS, 0, 0));
    let row = |x: i32| [x.cast_unsigned(), 0, 0, 0, 0, 0, 0, 0];
    let found = device.run("fetch", handle, &[row(3), row(99), row(100), row(-1)]);
    assert_eq!(found, [[6, 7, 0, 1], [198, 199, 0, 1], [0; 4], [0; 4]]);
    let fractions = texture(&mut linear, &mut sampled(0, 0, 0));
    let found = device.run("fetch", fractions, &[row(3)]);
    assert_eq!(found[0].map(f32::from_bits), [6.0 / 255.0, 7.0 / 255.0, 0.0, 1.0]);

    let mut pitched = CUDA_RESOURCE_DESC { resType: PITCHED, ..CUDA_RESOURCE_DESC::zeroed() };
    pitched._res[..5].copy_from_slice(&[data, U8 as u64 | 1 << 32, 60, 10, 96]);
    let handle = texture(&mut pitched, &mut sampled(INTEGERS, 0, 0));
    let [x, y] = [7.5_f32.to_bits(), 2.5_f32.to_bits()];
    assert_eq!(device.run("two", handle, &[[x, y, 0, 0, 0, 0, 0, 0]])[0], [199, 0, 0, 1]);

    let wrong_linear: [fn(&mut CUDA_RESOURCE_DESC); 8] = [
        |r| r._res[0] += 16,
        |r| r._res[0] = 0,
        |r| r._res[0] = 0x1000,
        |r| r._res[1] = 0x77 | 1 << 32,
        |r| r._res[1] = 1 | 3 << 32,
        |r| r._res[2] = u64::MAX,
        |r| r._res[2] = 0,
        |r| r.flags = 1,
    ];
    let wrong_pitched: [fn(&mut CUDA_RESOURCE_DESC); 5] = [
        |r| r._res[4] = 97,
        |r| r._res[4] = 32,
        |r| r._res[3] = 1 << 20,
        |r| r._res[2] = 0,
        |r| r.resType = 7,
    ];
    for (kind, change) in
        wrong_linear.map(|c| (linear, c)).into_iter().chain(wrong_pitched.map(|c| (pitched, c)))
    {
        let mut resource = kind;
        change(&mut resource);
        let (mut out, mut how) = (0_u64, sampled(INTEGERS, 0, 0));
        is(
            cuTexObjectCreate(at(&mut out), at(&mut resource), at(&mut how), 0),
            Status::INVALID_VALUE,
        );
    }
    let wrong_texture: [fn(&mut CUDA_TEXTURE_DESC); 6] = [
        |t| t.addressMode[1] = 4,
        |t| t.addressMode[2] = -1,
        |t| t.filterMode = 2,
        |t| t.mipmapFilterMode = 3,
        |t| t.flags = 0x80,
        // A mean of integers.
        |t| t.filterMode = 1,
    ];
    for change in wrong_texture {
        let (mut out, mut how) = (0_u64, sampled(INTEGERS, 0, 0));
        change(&mut how);
        is(
            cuTexObjectCreate(at(&mut out), at(&mut pitched), at(&mut how), 0),
            Status::INVALID_VALUE,
        );
    }
    let (mut out, mut how) = (0_u64, sampled(0, 0, 0));
    let mut view = CUDA_RESOURCE_VIEW_DESC { width: 200, ..CUDA_RESOURCE_VIEW_DESC::zeroed() };
    is(
        cuTexObjectCreate(at(&mut out), at(&mut linear), at(&mut how), at(&mut view)),
        Status::INVALID_VALUE,
    );
    is(cuTexObjectCreate(0, at(&mut linear), at(&mut how), 0), Status::INVALID_VALUE);
    is(cuTexObjectCreate(at(&mut out), 0, at(&mut how), 0), Status::INVALID_VALUE);
    is(cuTexObjectCreate(at(&mut out), at(&mut linear), 8, 0), Status::INVALID_VALUE);
}

#[test]
fn surfaces_are_read_and_written() {
    let device = Device::new();
    let array = array([6, 4, 0], U32, 1, SURFACE);
    let mut zeros = vec![0; 6 * 4 * 4];
    copy(array, &mut zeros, [6, 4, 0], 4, true);
    let handle = surface(array);
    let row =
        |x: i32, y: i32, value: u32| [x.cast_unsigned(), y.cast_unsigned(), value, 0, 0, 0, 0, 0];
    device.run("store", handle, &[row(8, 1, 77), row(12, 1, 78), row(20, 3, 79)]);
    assert_eq!(device.run("load", handle, &[row(8, 1, 0)])[0][..2], [77, 78]);
    device.run("store_zero", handle, &[row(24, 0, 1), row(0, -1, 1), row(0, 4, 1), row(4, 0, 5)]);
    let found = device.run("load_zero", handle, &[row(20, 3, 0), row(24, 3, 0), row(-4, 1, 0)]);
    assert_eq!(found.iter().map(|row| row[0]).collect::<Vec<_>>(), [79, 0, 0]);
    let found = device.run("load_near", handle, &[row(99, 99, 0), row(8, 1, 0), row(-1, -1, 0)]);
    assert_eq!(found.iter().map(|row| row[0]).collect::<Vec<_>>(), [79, 77, 0]);
    // All threads add to one element; the least of signed numbers is that of the format.
    let many: Vec<_> = (0..64).map(|i| row(0, 2, i)).collect();
    device.run("add", handle, &many);
    device.run("least", handle, &[row(0, 2, u32::MAX), row(1, 2, u32::MAX), row(2, 1, 70)]);
    let mut bytes = vec![0; 6 * 4 * 4];
    copy(array, &mut bytes, [6, 4, 0], 4, false);
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    let mut expected = vec![0; 24];
    (expected[1], expected[8], expected[9], expected[23], expected[12]) = (5, 70, 78, 79, 2016);
    assert_eq!(words, expected);
    assert_eq!(device.run("surface_size", handle, &[[0; 8]])[0], [6, 4, 0x10dc, 0]);

    let colours = self::array([3, 2, 0], 0xc2, 4, SURFACE);
    let handle = surface(colours);
    let mut stored = row(1, 1, 0);
    stored[4..].copy_from_slice(&[0.0_f32, 1.0, 0.5, 9.0].map(f32::to_bits));
    device.run("format", handle, &[stored]);
    assert_eq!(
        device.run("load_near", handle, &[row(4, 1, 0)])[0][0],
        u32::from_le_bytes([0, 255, 128, 255])
    );

    // Faces of a cube are layers.
    let cube = self::array([2, 2, 6], U8, 1, SURFACE | CUBE);
    let handle = surface(cube);
    device.run("store_byte", handle, &[[1, 1, 5, 0xabc, 0, 0, 0, 0]]);
    assert_eq!(device.run("load_byte", handle, &[[1, 1, 5, 0, 0, 0, 0, 0]])[0][0], 0xbc);
    let mut found = CUDA_RESOURCE_DESC::zeroed();
    ok(cuSurfObjectGetResourceDesc(at(&mut found), handle));
    assert_eq!(found, of_array(ARRAY, cube));
}

#[test]
fn a_reference_is_what_it_is_bound_to() {
    let device = Device::new();
    let plane = numbered([4, 3, 0], 0);
    let handle = texture(&mut of_array(ARRAY, plane), &mut sampled(0, 1, 0));
    let (mut bound, mut len) = (0_u64, 0_u64);
    ok(cuModuleGetGlobal_v2(at(&mut bound), at(&mut len), device.module, c"bound".as_ptr().addr()));
    ok(cuMemcpyDtoD_v2(bound, handle, len as usize));
    assert_eq!(device.floats("named", 0, &[&[3.2, 2.9]])[0][0], 11.0);
    // The sampler of another object.
    let linear = texture(&mut of_array(ARRAY, plane), &mut sampled(0, 1, 1));
    assert_eq!(device.floats("sampler", linear, &[&[3.0, 2.5]])[0][0], 10.5);
}

/// Each of these launches fails, and says at what.
#[test]
fn wrong_uses_fail() {
    let row = [0.5_f32.to_bits(), 0.5_f32.to_bits(), 0, 0, 0, 0, 0, 0];
    let make = |kind: usize| {
        let plane = array([4, 3, 0], U32, 1, SURFACE);
        let handle = texture(&mut of_array(ARRAY, plane), &mut sampled(INTEGERS, 1, 0));
        let surface = surface(plane);
        match kind {
            // Destroyed.
            0 => {
                ok(cuTexObjectDestroy(handle));
                is(cuTexObjectDestroy(handle), Status::INVALID_VALUE);
                ("two", handle, row)
            }
            1 => {
                ok(cuSurfObjectDestroy(surface));
                is(cuSurfObjectDestroy(surface), Status::INVALID_VALUE);
                ("load", surface, [0; 8])
            }
            // Of another kind or geometry; none at all.
            2 => ("two", surface, row),
            3 => ("load", handle, [0; 8]),
            4 => ("three", handle, row),
            5 => ("load_byte", surface, [0; 8]),
            6 => ("two", 0, row),
            7 => ("two", handle + 16, row),
            8 => ("named", 0, row),
            // Outside, and not aligned.
            9 => ("load", surface, [12, 0, 0, 0, 0, 0, 0, 0]),
            10 => ("store", surface, [0, 3, 0, 0, 0, 0, 0, 0]),
            11 => ("store", surface, [2, 0, 0, 0, 0, 0, 0, 0]),
            _ => ("add", surface, [u32::MAX - 3, 0, 0, 0, 0, 0, 0, 0]),
        }
    };
    for kind in 0..13 {
        let device = Device::new();
        let (name, handle, row) = make(kind);
        let (status, _) = device.try_run(name, handle, &[row]);
        is(status, Status::LAUNCH_FAILED);
    }
}

#[test]
fn wrong_arrays_are_refused() {
    let device = Device::new();
    let refused = [
        (described([0, 0, 0], FLOAT, 1, 0), Status::INVALID_VALUE),
        (described([4, 0, 4], FLOAT, 1, 0), Status::INVALID_VALUE),
        (described([4, 4, 0], FLOAT, 3, 0), Status::INVALID_VALUE),
        (described([4, 4, 0], 0x33, 1, 0), Status::INVALID_VALUE),
        (described([4, 4, 0], 0xb0, 3, 0), Status::NOT_SUPPORTED),
        (described([4, 4, 0], 0xc1, 4, 0), Status::INVALID_VALUE),
        (described([4, 4, 0], FLOAT, 1, LAYERED), Status::INVALID_VALUE),
        (described([4, 4, 6], FLOAT, 1, 0x100), Status::INVALID_VALUE),
        (described([4, 4, 6], FLOAT, 1, 0x10), Status::NOT_SUPPORTED),
        (described([4, 4, 5], FLOAT, 1, CUBE), Status::INVALID_VALUE),
        (described([4, 5, 6], FLOAT, 1, CUBE), Status::INVALID_VALUE),
        (described([4, 4, 8], FLOAT, 1, CUBE | LAYERED), Status::INVALID_VALUE),
        (described([1 << 18, 0, 0], FLOAT, 1, 0), Status::INVALID_VALUE),
        (described([u64::MAX, 0, 0], FLOAT, 1, 0), Status::INVALID_VALUE),
        (described([16384, 16384, 16384], FLOAT, 4, 0), Status::OUT_OF_MEMORY),
    ];
    let mut out = 0_u64;
    for (mut asked, status) in refused {
        is(cuArray3DCreate_v2(at(&mut out), at(&mut asked)), status);
    }
    is(cuArray3DCreate_v2(at(&mut out), 0), Status::INVALID_VALUE);
    is(
        cuMipmappedArrayCreate(at(&mut out), at(&mut described([4, 4, 0], FLOAT, 1, 0)), 0),
        Status::INVALID_VALUE,
    );

    let plain = array([4, 3, 0], FLOAT, 2, 0);
    let mut found = CUDA_ARRAY_DESCRIPTOR::zeroed();
    ok(cuArrayGetDescriptor_v2(at(&mut found), plain));
    assert_eq!((found.Width, found.Height, found.NumChannels), (4, 3, 2));
    // A surface needs its flag.
    is(cuSurfObjectCreate(at(&mut out), at(&mut of_array(ARRAY, plain))), Status::INVALID_VALUE);
    is(cuSurfObjectCreate(at(&mut out), at(&mut of_array(LINEAR, plain))), Status::INVALID_VALUE);
    let mut how = sampled(0, 0, 0);
    for kind in [ARRAY, MIPMAPPED] {
        let status =
            cuTexObjectCreate(at(&mut out), at(&mut of_array(kind, 0x1234)), at(&mut how), 0);
        is(status, Status::INVALID_HANDLE);
    }

    // Copies stay inside.
    let bytes = [7_u8; 96];
    ok(cuMemcpyHtoA_v2(plain, 8, bytes.as_ptr().addr(), 88));
    is(cuMemcpyHtoA_v2(plain, 16, bytes.as_ptr().addr(), 88), Status::INVALID_VALUE);
    let mut back = [0_u8; 40];
    ok(cuMemcpyAtoH_v2(back.as_mut_ptr().addr(), plain, 24, 40));
    assert_eq!(back, [7; 40]);
    let other = array([8, 0, 0], FLOAT, 1, 0);
    ok(cuMemcpyAtoA_v2(other, 4, plain, 8, 24));
    is(cuMemcpyAtoA_v2(other, 12, plain, 8, 24), Status::INVALID_VALUE);
    let data = alloc(32);
    ok(cuMemcpyAtoD_v2(data, other, 0, 32));
    ok(cuMemcpyDtoA_v2(plain, 0, data, 32));
    is(cuMemcpyDtoA_v2(0x77, 0, data, 32), Status::INVALID_HANDLE);
    ok(cuArrayDestroy(plain));
    is(cuArrayDestroy(plain), Status::INVALID_HANDLE);
    is(cuArrayGetDescriptor_v2(at(&mut found), plain), Status::INVALID_HANDLE);
    drop(device);
    // The context is gone, and its arrays with it.
    let device = Device::new();
    is(cuArrayDestroy(other), Status::INVALID_HANDLE);
    drop(device);
}
