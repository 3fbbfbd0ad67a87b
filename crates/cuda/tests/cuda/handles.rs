//! Handles that are used after what they denoted has been destroyed: the documented error, whatever
//! the call, and nothing else changes.

use std::ffi::c_void;

use cuda::Status;
use cuda::exports::arrays::*;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;
use cuda_abi::{
    Abi as _, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC,
    CUDA_TEXTURE_DESC, CUmemAllocationProp, CUmemLocation, CUmemPoolProps,
};

use crate::common::memory::alloc;
use crate::common::{at, count, is, ok, written};

const PTX: &[u8] = b"
    .version 7.0 .target sm_70 .address_size 64
    .visible .global .u32 v = 3;
    .global .texref t;
    .visible .entry k() { ret; }\0";

const INVALID: Status = Status::INVALID_HANDLE;
/// Graphs and what is of them answer with this one.
const VALUE: Status = Status::INVALID_VALUE;

fn context() -> u64 {
    ok(cuInit(0));
    written(|out| cuCtxCreate_v2(out, 0, 0))
}

fn name(text: &std::ffi::CStr) -> usize {
    text.as_ptr().addr()
}

/// Checks that all of these calls have one status.
#[track_caller]
fn all(wanted: Status, statuses: &[i32]) {
    for (index, &status) in statuses.iter().enumerate() {
        assert_eq!(Status(status), wanted, "call {index}");
    }
}

#[test]
fn streams_and_events() {
    let context = context();
    let stream = written(|out| cuStreamCreate(out, 0));
    let event = written(|out| cuEventCreate(out, 0));
    let kept = written(|out| cuEventCreate(out, 0));
    ok(cuEventRecord(kept, stream));
    ok(cuStreamDestroy_v2(stream));
    ok(cuEventDestroy_v2(event));
    let (data, mut word, host) = (alloc(4), 0_u64, count as *const c_void as usize);
    let out = at(&mut word);
    all(
        INVALID,
        &[
            cuStreamDestroy_v2(stream),
            cuStreamSynchronize(stream),
            cuStreamQuery(stream),
            cuStreamWaitEvent(stream, kept, 0),
            cuStreamWaitEvent(0, event, 0),
            cuStreamGetFlags(stream, out),
            cuStreamGetPriority(stream, out),
            cuStreamGetCtx(stream, out),
            cuStreamGetId(stream, out),
            cuStreamBeginCapture_v2(stream, 0),
            cuStreamEndCapture(stream, out),
            cuStreamIsCapturing(stream, out),
            cuStreamAddCallback(stream, host, out, 0),
            cuLaunchHostFunc(stream, host, out),
            cuMemsetD32Async(data, 0, 1, stream),
            cuMemcpyDtoHAsync_v2(out, data, 4, stream),
            cuMemAllocAsync(out, 4, stream),
            cuMemFreeAsync(data, stream),
            cuEventRecord(kept, stream),
            cuEventRecord(event, 0),
            cuEventQuery(event),
            cuEventSynchronize(event),
            cuEventElapsedTime(out, event, kept),
            cuEventElapsedTime(out, kept, event),
            cuEventDestroy_v2(event),
        ],
    );
    // What the stream has done stays done.
    ok(cuEventSynchronize(kept));
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn modules_and_what_is_in_them() {
    let context = context();
    let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
    let kernel = written(|out| cuModuleGetFunction(out, module, name(c"k")));
    let texture = written(|out| cuModuleGetTexRef(out, module, name(c"t")));
    let library = written(|out| cuLibraryLoadData(out, PTX.as_ptr().addr(), 0, 0, 0, 0, 0, 0));
    let of_library = written(|out| cuLibraryGetKernel(out, library, name(c"k")));
    let variable = written(|out| cuModuleGetGlobal_v2(out, 0, module, name(c"v")));
    let linker = written(|out| cuLinkCreate_v2(0, 0, 0, out));
    ok(cuLinkDestroy(linker));
    ok(cuModuleUnload(module));
    ok(cuLibraryUnload(library));
    let (mut word, mut len) = (0_u64, 0_u64);
    let (out, size, text) = (at(&mut word), at(&mut len), PTX.as_ptr().addr());
    all(
        INVALID,
        &[
            cuModuleUnload(module),
            cuModuleGetFunction(out, module, name(c"k")),
            cuModuleGetGlobal_v2(out, size, module, name(c"v")),
            cuModuleGetTexRef(out, module, name(c"t")),
            cuFuncGetAttribute(out, 0, kernel),
            cuFuncSetAttribute(kernel, 8, 0),
            cuFuncGetModule(out, kernel),
            cuFuncGetName(out, kernel),
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
            cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0),
            cuOccupancyMaxActiveBlocksPerMultiprocessor(out, kernel, 32, 0),
            cuLibraryUnload(library),
            cuLibraryGetKernel(out, library, name(c"k")),
            cuLibraryGetGlobal(out, size, library, name(c"v")),
            cuKernelGetFunction(out, of_library),
            cuKernelGetAttribute(out, 0, of_library, 0),
            cuLaunchKernel(of_library, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
            cuLinkAddData_v2(linker, 1, text, PTX.len(), 0, 0, 0, 0),
            cuLinkComplete(linker, out, size),
            cuLinkDestroy(linker),
        ],
    );
    is(cuMemcpyDtoH_v2(out, variable, 4), VALUE);
    is(cuTexRefSetFormat(texture, 32, 1), VALUE);
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn the_module_of_a_library_lives_as_long_as_it() {
    let context = context();
    let library = written(|out| cuLibraryLoadData(out, PTX.as_ptr().addr(), 0, 0, 0, 0, 0, 0));
    let module = written(|out| cuLibraryGetModule(out, library));
    assert_eq!(written(|out| cuLibraryGetModule(out, library)), module);
    assert_ne!(module, library);
    let of_library = written(|out| cuLibraryGetKernel(out, library, name(c"k")));
    assert_eq!(written(|out| cuModuleGetFunction(out, module, name(c"k"))), of_library);
    assert_eq!(written(|out| cuFuncGetModule(out, of_library)), module);
    let global = written(|out| cuLibraryGetGlobal(out, 0, library, name(c"v")));
    assert_eq!(written(|out| cuModuleGetGlobal_v2(out, 0, module, name(c"v"))), global);
    let _ = written(|out| cuModuleGetTexRef(out, module, name(c"t")));
    let (mut word, mut count) = (0_u64, 0_u32);
    ok(cuModuleGetFunctionCount(at(&mut count), module));
    assert_eq!(count, 1);
    // A library is no module, a module is no library, and a library's is not unloaded by itself.
    all(
        INVALID,
        &[
            cuModuleGetFunction(at(&mut word), library, name(c"k")),
            cuLibraryGetModule(at(&mut word), module),
            cuLibraryUnload(module),
            cuModuleUnload(module),
        ],
    );
    ok(cuLibraryUnload(library));
    is(cuModuleGetFunction(at(&mut word), module, name(c"k")), INVALID);
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn graphs_and_what_is_of_them() {
    let context = context();
    let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
    let kernel = written(|out| cuModuleGetFunction(out, module, name(c"k")));
    let graph = written(|out| cuGraphCreate(out, 0));
    let other = written(|out| cuGraphCreate(out, 0));
    let mut params = [0_u64; 8];
    params[..4].copy_from_slice(&[kernel, 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32]);
    let node = written(|out| cuGraphAddKernelNode_v2(out, graph, 0, 0, at(&mut params)));
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    let gone = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    let object = written(|out| {
        cuUserObjectCreate(out, at(&mut params), count as *const c_void as usize, 1, 1)
    });
    ok(cuUserObjectRelease(object, 1));
    ok(cuGraphExecDestroy(gone));
    ok(cuGraphDestroy(graph));
    let (mut word, mut number, mut node_list) = (0_u64, 1_u64, [node]);
    let (out, length, nodes) = (at(&mut word), at(&mut number), at(&mut node_list));
    all(
        VALUE,
        &[
            cuGraphDestroy(graph),
            cuGraphClone(out, graph),
            cuGraphInstantiateWithFlags(out, graph, 0),
            cuGraphAddEmptyNode(out, graph, 0, 0),
            cuGraphAddEmptyNode(out, other, nodes, 1),
            cuGraphAddChildGraphNode(out, other, 0, 0, graph),
            cuGraphGetNodes(graph, out, length),
            cuGraphNodeGetType(node, out),
            cuGraphDestroyNode(node),
            cuGraphKernelNodeGetParams_v2(node, at(&mut params)),
            cuGraphExecDestroy(gone),
            cuGraphLaunch(gone, 0),
            cuGraphUpload(gone, 0),
            cuGraphExecGetFlags(gone, out),
            cuGraphExecUpdate_v2(exec, graph, at(&mut params)),
            cuGraphRetainUserObject(other, object, 1, 0),
            cuUserObjectRetain(object, 1),
            cuUserObjectRelease(object, 1),
        ],
    );
    // An executable graph outlives its graph, but not its kernel.
    ok(cuGraphLaunch(exec, 0));
    ok(cuModuleUnload(module));
    is(cuGraphLaunch(exec, 0), INVALID);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(other));
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn arrays_textures_and_surfaces() {
    let context = context();
    let (format, edge) = (32, 8);
    let mut plane =
        CUDA_ARRAY_DESCRIPTOR { Width: edge, Height: edge, Format: format, NumChannels: 1 };
    let mut space = CUDA_ARRAY3D_DESCRIPTOR {
        Width: edge,
        Height: edge,
        Format: format,
        NumChannels: 1,
        Flags: 2,
        ..CUDA_ARRAY3D_DESCRIPTOR::zeroed()
    };
    let array = written(|out| cuArray3DCreate_v2(out, at(&mut space)));
    let levels = written(|out| cuMipmappedArrayCreate(out, at(&mut space), 3));
    let level = written(|out| cuMipmappedArrayGetLevel(out, levels, 1));
    let of = |array: u64| {
        let mut resource = CUDA_RESOURCE_DESC::zeroed();
        resource._res[0] = array;
        resource
    };
    let (mut resource, mut how) = (of(array), CUDA_TEXTURE_DESC::zeroed());
    let texture = written(|out| cuTexObjectCreate(out, at(&mut resource), at(&mut how), 0));
    let surface = written(|out| cuSurfObjectCreate(out, at(&mut resource)));
    ok(cuTexObjectDestroy(texture));
    ok(cuSurfObjectDestroy(surface));
    ok(cuArrayDestroy(array));
    ok(cuMipmappedArrayDestroy(levels));
    let mut word = 0_u64;
    let (out, mut of_level) = (at(&mut word), of(level));
    all(
        INVALID,
        &[
            cuArrayDestroy(array),
            cuArrayGetDescriptor_v2(at(&mut plane), array),
            cuArray3DGetDescriptor_v2(at(&mut space), array),
            cuMemcpyHtoA_v2(array, 0, out, 4),
            cuMipmappedArrayDestroy(levels),
            cuMipmappedArrayGetLevel(out, levels, 0),
            cuArrayGetDescriptor_v2(at(&mut plane), level),
            cuTexObjectCreate(out, at(&mut resource), at(&mut how), 0),
            cuTexObjectCreate(out, at(&mut of_level), at(&mut how), 0),
            cuSurfObjectCreate(out, at(&mut resource)),
        ],
    );
    all(
        VALUE,
        &[
            cuTexObjectDestroy(texture),
            cuTexObjectGetResourceDesc(at(&mut resource), texture),
            cuSurfObjectDestroy(surface),
            cuSurfObjectGetResourceDesc(at(&mut resource), surface),
        ],
    );
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn pools_and_memory() {
    let context = context();
    let place = CUmemLocation { r#type: 1, id: 0 };
    let mut properties =
        CUmemPoolProps { allocType: 1, location: place, ..CUmemPoolProps::zeroed() };
    let pool = written(|out| cuMemPoolCreate(out, at(&mut properties)));
    let from_pool = written(|out| cuMemAllocFromPoolAsync(out, 64, pool, 0));
    ok(cuMemFreeAsync(from_pool, 0));
    ok(cuMemPoolDestroy(pool));
    let mut of_device =
        CUmemAllocationProp { r#type: 1, location: place, ..CUmemAllocationProp::zeroed() };
    let physical = written(|out| cuMemCreate(out, 2 << 20, at(&mut of_device), 0));
    let reserved = written(|out| cuMemAddressReserve(out, 2 << 20, 0, 0, 0));
    ok(cuMemRelease(physical));
    let mut word = 0_u64;
    let out = at(&mut word);
    all(
        VALUE,
        &[
            cuMemAllocFromPoolAsync(out, 64, pool, 0),
            cuMemPoolDestroy(pool),
            cuMemPoolTrimTo(pool, 0),
            cuMemPoolGetAttribute(pool, 1, out),
            cuDeviceSetMemPool(0, pool),
            cuMemFreeAsync(from_pool, 0),
            cuMemFree_v2(from_pool),
            cuMemRelease(physical),
            cuMemMap(reserved, 2 << 20, 0, physical, 0),
            cuMemcpyHtoD_v2(from_pool, out, 4),
        ],
    );
    ok(cuMemAddressFree(reserved, 2 << 20));
    is(cuMemAddressFree(reserved, 2 << 20), VALUE);
    ok(cuCtxDestroy_v2(context));
}

/// What belongs to one of two contexts of a device: the other one takes no kernel and no event of
/// it for its streams, but memory and waits.
#[test]
fn contexts_of_one_device() {
    let first = context();
    let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
    let kernel = written(|out| cuModuleGetFunction(out, module, name(c"k")));
    let stream = written(|out| cuStreamCreate(out, 0));
    let event = written(|out| cuEventCreate(out, 0));
    let data = alloc(4);
    ok(cuMemsetD32_v2(data, 5, 1));
    let second = context();
    let other = written(|out| cuStreamCreate(out, 0));
    let launch = |kernel, stream| cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0);
    all(
        INVALID,
        &[
            launch(kernel, other),
            launch(kernel, 0),
            cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 0, other, 0),
            cuLaunchGridAsync(kernel, 1, 1, other),
            cuEventRecord(event, other),
        ],
    );
    is(cuStreamCopyAttributes(other, stream), VALUE);
    ok(launch(kernel, stream));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(cuEventSynchronize(event));
    assert_eq!(written(|out| cuMemcpyDtoH_v2(out, data, 4)), 5);
    // Kernels of libraries have no context, and those of graphs run in their own.
    let library = written(|out| cuLibraryLoadData(out, PTX.as_ptr().addr(), 0, 0, 0, 0, 0, 0));
    let of_library = written(|out| cuLibraryGetKernel(out, library, name(c"k")));
    ok(launch(of_library, stream));
    ok(launch(of_library, other));
    let graph = written(|out| cuGraphCreate(out, 0));
    let mut params = [0_u64; 8];
    params[..4].copy_from_slice(&[kernel, 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32]);
    written(|out| cuGraphAddKernelNode_v2(out, graph, 0, 0, at(&mut params)));
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    ok(cuGraphLaunch(exec, other));
    // With a context goes what belongs to it, and nothing of the other.
    let kept = alloc(4);
    ok(cuCtxDestroy_v2(first));
    is(launch(kernel, other), INVALID);
    is(cuStreamSynchronize(stream), INVALID);
    is(cuMemsetD32_v2(data, 0, 1), VALUE);
    is(cuGraphLaunch(exec, other), INVALID);
    ok(launch(of_library, other));
    ok(cuMemsetD32_v2(kept, 0, 1));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuLibraryUnload(library));
    ok(cuCtxDestroy_v2(second));
}
