//! Nodes of graphs: conditions, memory, parameters that are read and changed, clones, objects.

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;
use cuda_abi::{
    Abi, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS,
    CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraphNodeParams, CUmemorytype,
};

use crate::common::{at, count, is, ok, written};

/// `add` adds to one word; `next` does, too, and sets the condition to what is left up to a limit;
/// `set` sets the condition to a value.
const PTX: &str = "
    .version 8.3
    .target sm_80
    .address_size 64
    .extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
    .visible .entry add(.param .u64 data, .param .u32 more) {
        .reg .b32 %v, %m; .reg .b64 %a;
        ld.param.u64 %a, [data];
        ld.param.u32 %m, [more];
        ld.global.u32 %v, [%a];
        add.u32 %v, %v, %m;
        st.global.u32 [%a], %v;
        ret;
    }
    .visible .entry next(.param .u64 data, .param .u32 more, .param .u32 limit,
                         .param .u64 condition) {
        .reg .b32 %v, %m; .reg .b64 %a, %c;
        ld.param.u64 %a, [data];
        ld.param.u32 %m, [more];
        ld.global.u32 %v, [%a];
        add.u32 %v, %v, %m;
        st.global.u32 [%a], %v;
        ld.param.u32 %m, [limit];
        sub.u32 %v, %m, %v;
        ld.param.u64 %c, [condition];
        { .param .b64 h; .param .b32 v;
          st.param.b64 [h], %c; st.param.b32 [v], %v;
          call cudaGraphSetConditional, (h, v); }
        ret;
    }
    .visible .entry set(.param .u32 value, .param .u64 condition) {
        .reg .b32 %v; .reg .b64 %c;
        ld.param.u32 %v, [value];
        ld.param.u64 %c, [condition];
        { .param .b64 h; .param .b32 v;
          st.param.b64 [h], %c; st.param.b32 [v], %v;
          call cudaGraphSetConditional, (h, v); }
        ret;
    }\0";

const IF: i32 = 0;
const WHILE: i32 = 1;
const SWITCH: i32 = 2;
const CONDITIONAL: i32 = 13;
const ASSIGN_DEFAULT: u32 = 1;

/// Returns the structure that a call writes.
#[track_caller]
fn shown<T: Abi>(call: impl FnOnce(usize) -> i32) -> T {
    let mut value = T::zeroed();
    ok(call(at(&mut value)));
    std::hint::black_box(value)
}

/// A context with a word of device memory, the kernels, and a graph.
struct Fixture {
    context: u64,
    module: u64,
    data: u64,
    graph: u64,
}

impl Fixture {
    fn new() -> Self {
        ok(cuInit(0));
        let context = written(|out| cuCtxCreate_v2(out, 0, 0));
        let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
        let data = written(|out| cuMemAlloc_v2(out, 4));
        ok(cuMemsetD32_v2(data, 0, 1));
        let graph = written(|out| cuGraphCreate(out, 0));
        Self { context, module, data, graph }
    }

    fn kernel(&self, name: &std::ffi::CStr) -> u64 {
        written(|out| cuModuleGetFunction(out, self.module, name.as_ptr().addr()))
    }

    /// Adds a launch of one thread to a graph.
    #[track_caller]
    fn launch(&self, graph: u64, after: &[u64], name: &std::ffi::CStr, params: &[usize]) -> u64 {
        let mut node = launch_of(self.kernel(name), params);
        let after = (after.as_ptr().addr(), after.len());
        written(|out| cuGraphAddKernelNode_v2(out, graph, after.0, after.1, at(&mut node)))
    }

    /// Adds a launch of `add`.
    #[track_caller]
    fn add(&self, graph: u64, after: &[u64], more: u32) -> u64 {
        let (mut data, mut more) = (self.data, more);
        self.launch(graph, after, c"add", &[at(&mut data), at(&mut more)])
    }

    /// Adds a conditional node, and returns the handles of its bodies.
    #[track_caller]
    fn conditional(&self, after: &[u64], condition: u64, kind: i32, size: u32) -> Vec<u64> {
        let mut params = conditional_of(condition, kind, size);
        let after = (after.as_ptr().addr(), after.len());
        written(|out| cuGraphAddNode_v2(out, self.graph, after.0, 0, after.1, at(&mut params)));
        let params = std::hint::black_box(params).to_bytes();
        let inside = CUDA_CONDITIONAL_NODE_PARAMS::from_bytes(
            &params[16..16 + size_of::<CUDA_CONDITIONAL_NODE_PARAMS>()],
        );
        assert_ne!(inside.phGraph_out, 0);
        cuda_abi::host::get_list(inside.phGraph_out, size as usize).unwrap()
    }

    #[track_caller]
    fn instantiated(&self) -> u64 {
        written(|out| cuGraphInstantiateWithFlags(out, self.graph, 0))
    }

    /// Launches and returns the word.
    #[track_caller]
    fn word_after(&self, exec: u64) -> u32 {
        ok(cuGraphLaunch(exec, 0));
        self.word()
    }

    #[track_caller]
    fn word(&self) -> u32 {
        shown(|out| cuMemcpyDtoH_v2(out, self.data, 4))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
    }
}

fn launch_of(func: u64, params: &[usize]) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: params.as_ptr().addr(),
        ..CUDA_KERNEL_NODE_PARAMS::zeroed()
    }
}

fn conditional_of(handle: u64, kind: i32, size: u32) -> CUgraphNodeParams {
    let inside = CUDA_CONDITIONAL_NODE_PARAMS {
        handle,
        r#type: kind,
        size,
        ..CUDA_CONDITIONAL_NODE_PARAMS::zeroed()
    };
    let mut bytes = CUgraphNodeParams { r#type: CONDITIONAL, ..Abi::zeroed() }.to_bytes();
    bytes[16..][..size_of_val(&inside)].copy_from_slice(&inside.to_bytes());
    CUgraphNodeParams::from_bytes(&bytes)
}

fn condition(f: &Fixture, default: u32, flags: u32) -> u64 {
    written(|out| cuGraphConditionalHandleCreate(out, f.graph, f.context, default, flags))
}

#[test]
fn a_loop_runs_while_its_condition_is_not_zero() {
    let f = Fixture::new();
    let mut loops = condition(&f, 1, ASSIGN_DEFAULT);
    let before = f.add(f.graph, &[], 100);
    let body = f.conditional(&[before], loops, WHILE, 1)[0];
    let (mut data, mut more, mut limit) = (f.data, 3_u32, 115_u32);
    f.launch(body, &[], c"next", &[at(&mut data), at(&mut more), at(&mut limit), at(&mut loops)]);
    let exec = f.instantiated();
    assert_eq!(f.word_after(exec), 115);
    // The default holds at the beginning of each launch.
    ok(cuMemsetD32_v2(f.data, 0, 1));
    assert_eq!(f.word_after(exec), 115);
    // A default of zero does not enter the loop.
    let never = condition(&f, 0, ASSIGN_DEFAULT);
    let body = f.conditional(&[], never, WHILE, 1)[0];
    f.add(body, &[], 1000);
    is(cuGraphInstantiateWithFlags(at(&mut 0_u64), f.graph, 0), Status::INVALID_VALUE);
    ok(cuGraphExecDestroy(exec));
    ok(cuMemsetD32_v2(f.data, 0, 1));
    assert_eq!(f.word_after(f.instantiated()), 115);
}

#[test]
fn the_value_of_a_condition_selects_work() {
    let f = Fixture::new();
    let mut chosen = condition(&f, 0, 0);
    let mut value = 1_u32;
    let first = f.launch(f.graph, &[], c"set", &[at(&mut value), at(&mut chosen)]);
    let bodies = f.conditional(&[first], chosen, IF, 2);
    f.add(bodies[0], &[], 1);
    f.add(bodies[1], &[], 10);
    let mut switched = condition(&f, 7, ASSIGN_DEFAULT);
    let second = f.launch(f.graph, &[], c"set", &[at(&mut value), at(&mut switched)]);
    let bodies = f.conditional(&[second], switched, SWITCH, 3);
    for (i, &body) in bodies.iter().enumerate() {
        f.add(body, &[], 100 << (4 * i));
    }
    let exec = f.instantiated();
    let set = |node, mut value: u32, mut condition| {
        let params = [at(&mut value), at(&mut condition)];
        let mut params = launch_of(f.kernel(c"set"), &params);
        ok(cuGraphExecKernelNodeSetParams_v2(exec, node, at(&mut params)));
    };
    let mut word = 0;
    for (value, one, other) in [(0, 10, 100), (1, 1, 1600), (2, 1, 25600), (3, 1, 0), (99, 1, 0)] {
        set(first, value, chosen);
        set(second, value, switched);
        word += one + other;
        assert_eq!(f.word_after(exec), word, "{value}");
    }
}

#[test]
fn conditional_nodes_are_checked() {
    let f = Fixture::new();
    let invalid = Status::INVALID_VALUE;
    let mut out = 0_u64;
    let created =
        |graph, flags| cuGraphConditionalHandleCreate(at(&mut 0_u64), graph, f.context, 0, flags);
    is(created(77, 0), invalid);
    is(created(f.graph, 2), invalid);
    let handle = condition(&f, 0, 0);
    for (handle, kind, size) in [
        (handle, IF, 3),
        (handle, IF, 0),
        (handle, WHILE, 2),
        (handle, SWITCH, 1 << 20),
        (handle, 3, 1),
        (handle + 4, IF, 1),
    ] {
        let mut params = conditional_of(handle, kind, size);
        is(cuGraphAddNode_v2(at(&mut out), f.graph, 0, 0, 0, at(&mut params)), invalid);
    }
    let body = f.conditional(&[], handle, IF, 1)[0];
    // A condition belongs to one node, and a body to its node.
    let mut again = conditional_of(handle, IF, 1);
    is(cuGraphAddNode_v2(at(&mut out), f.graph, 0, 0, 0, at(&mut again)), invalid);
    is(cuGraphDestroy(body), invalid);
    is(cuGraphInstantiateWithFlags(at(&mut out), body, 0), invalid);
    is(cuGraphClone(at(&mut out), f.graph), Status::NOT_SUPPORTED);
    // A body calls no function of the host.
    let mut host = [count as *const () as u64, 0];
    ok(cuGraphAddHostNode(at(&mut out), body, 0, 0, at(&mut host)));
    is(cuGraphInstantiateWithFlags(at(&mut out), f.graph, 0), invalid);
    // Bodies in bodies end somewhere.
    let mut inner = f.graph;
    let refused = (0..200).find(|_| {
        let handle = condition(&f, 0, 0);
        let mut params = conditional_of(handle, IF, 1);
        let status = cuGraphAddNode_v2(at(&mut out), inner, 0, 0, 0, at(&mut params));
        let params = std::hint::black_box(params).to_bytes();
        if status == 0 {
            let bodies = usize::from_bytes(&params[32..40]);
            inner = cuda_abi::host::get(bodies).unwrap();
        }
        status != 0
    });
    assert!(refused.is_some_and(|depth| depth > 10));
}

#[test]
fn a_loop_without_an_end_is_a_hang() {
    let f = Fixture::new();
    f.conditional(&[], condition(&f, 1, ASSIGN_DEFAULT), WHILE, 1);
    let exec = f.instantiated();
    ok(cuGraphLaunch(exec, 0));
    is(cuGraphLaunch(exec, 0), Status::LAUNCH_TIMEOUT);
}

/// The parameters of an allocation on device 0.
fn allocation(bytesize: u64) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let mut params = CUDA_MEM_ALLOC_NODE_PARAMS { bytesize, ..Abi::zeroed() };
    (params.poolProps.allocType, params.poolProps.location.r#type) = (1, 1);
    params
}

/// The current and the highest number of bytes that graphs use.
fn used() -> (u64, u64) {
    let read = |attribute| written(|out| cuDeviceGetGraphMemAttribute(0, attribute, out));
    (read(0), read(1))
}

#[test]
fn memory_of_a_graph_lives_from_its_node_to_its_release() {
    let f = Fixture::new();
    let before = used().0;
    let mut params = allocation(4000);
    let node = written(|out| cuGraphAddMemAllocNode(out, f.graph, 0, 0, at(&mut params)));
    let address = std::hint::black_box(params).dptr;
    assert_eq!(
        shown::<CUDA_MEM_ALLOC_NODE_PARAMS>(|out| cuGraphMemAllocNodeGetParams(node, out)).bytesize,
        4000
    );
    let mut fill = CUDA_MEMSET_NODE_PARAMS {
        dst: address,
        value: 6,
        elementSize: 4,
        width: 1000,
        height: 1,
        ..Abi::zeroed()
    };
    let mut after = [node];
    written(|out| cuGraphAddMemsetNode(out, f.graph, at(&mut after), 1, at(&mut fill), f.context));
    // Outside of a launch there is no memory.
    is(cuMemsetD32_v2(address, 1, 1), Status::INVALID_VALUE);
    let exec = f.instantiated();
    assert_eq!(used().0, before);
    ok(cuGraphLaunch(exec, 0));
    assert_eq!(used().0, before + 4000);
    assert_eq!(shown::<u32>(|out| cuMemcpyDtoH_v2(out, address + 3996, 4)), 6);
    is(cuMemcpyDtoH_v2(at(&mut 0_u32), address + 4096, 4), Status::INVALID_VALUE);
    // Memory that nobody has freed cannot be allocated again.
    is(cuGraphLaunch(exec, 0), Status::INVALID_VALUE);
    ok(cuMemFree_v2(address));
    is(cuMemFree_v2(address), Status::INVALID_VALUE);
    ok(cuGraphLaunch(exec, 0));
    // Another graph may free it.
    let other = written(|out| cuGraphCreate(out, 0));
    let free = written(|out| cuGraphAddMemFreeNode(out, other, 0, 0, address));
    assert_eq!(written(|out| cuGraphMemFreeNodeGetParams(free, out)), address);
    is(cuGraphAddMemFreeNode(at(&mut 0_u64), other, 0, 0, address), Status::INVALID_VALUE);
    is(cuGraphAddMemFreeNode(at(&mut 0_u64), other, 0, 0, f.data), Status::INVALID_VALUE);
    let frees = written(|out| cuGraphInstantiateWithFlags(out, other, 0));
    ok(cuGraphLaunch(frees, 0));
    is(cuGraphLaunch(frees, 0), Status::INVALID_VALUE);
    assert_eq!(used().0, before);
    assert!(used().1 >= before + 4000);
    ok(cuDeviceSetGraphMemAttribute(0, 1, at(&mut 0_u64)));
    assert_eq!(used().1, before);
    ok(cuDeviceGraphMemTrim(0));
    is(cuDeviceGraphMemTrim(99), Status::INVALID_DEVICE);
    // The graph's nodes and edges stay, and there is one of it.
    is(cuGraphDestroyNode(node), Status::NOT_SUPPORTED);
    is(cuGraphClone(at(&mut 0_u64), f.graph), Status::NOT_SUPPORTED);
    is(cuGraphInstantiateWithFlags(at(&mut 0_u64), f.graph, 0), Status::INVALID_VALUE);
    // The executable graph keeps the address.
    ok(cuGraphDestroy(f.graph));
    ok(cuGraphLaunch(exec, 0));
    ok(cuGraphExecDestroy(exec));
    ok(cuMemFree_v2(address));
}

#[test]
fn a_launch_frees_memory_of_the_last_one() {
    let f = Fixture::new();
    let mut params = allocation(64);
    written(|out| cuGraphAddMemAllocNode(out, f.graph, 0, 0, at(&mut params)));
    let exec = written(|out| cuGraphInstantiateWithFlags(out, f.graph, 1));
    assert_eq!(written(|out| cuGraphExecGetFlags(exec, out)), 1);
    for _ in 0..3 {
        ok(cuGraphLaunch(exec, 0));
    }
    is(cuGraphInstantiateWithFlags(at(&mut 0_u64), f.graph, 16), Status::INVALID_VALUE);
    is(
        cuGraphAddMemAllocNode(at(&mut 0_u64), f.graph, 0, 0, at(&mut allocation(0))),
        Status::INVALID_VALUE,
    );
    let huge = &mut allocation(1 << 50);
    is(cuGraphAddMemAllocNode(at(&mut 0_u64), f.graph, 0, 0, at(huge)), Status::OUT_OF_MEMORY);
}

#[test]
fn captured_allocations_are_nodes() {
    let f = Fixture::new();
    let stream = written(|out| cuStreamCreate(out, 1));
    let other = written(|out| cuStreamCreate(out, 1));
    let (fork, join) = (written(|out| cuEventCreate(out, 0)), written(|out| cuEventCreate(out, 0)));
    ok(cuStreamBeginCapture_v2(stream, 0));
    let memory = written(|out| cuMemAllocAsync(out, 4, stream));
    ok(cuMemsetD32Async(memory, 5, 1, stream));
    ok(cuEventRecord(fork, stream));
    ok(cuStreamWaitEvent(other, fork, 0));
    ok(cuMemcpyDtoDAsync_v2(f.data, memory, 4, other));
    ok(cuMemFreeAsync(memory, other));
    ok(cuEventRecord(join, other));
    ok(cuStreamWaitEvent(stream, join, 0));
    // The work of the stream has been joined back.
    ok(cuStreamDestroy_v2(other));
    let graph = written(|out| cuStreamEndCapture(stream, out));
    assert_eq!(f.word(), 0);
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    assert_eq!(f.word_after(exec), 5);
    assert_eq!(f.word_after(exec), 5);
    let nodes = written(|out| cuGraphGetNodes(graph, 0, out));
    assert_eq!(nodes, 4);
}

#[test]
fn parameters_are_shown() {
    let f = Fixture::new();
    let add = f.add(f.graph, &[], 42);
    let shown_add: CUDA_KERNEL_NODE_PARAMS = shown(|out| cuGraphKernelNodeGetParams_v2(add, out));
    assert_eq!((shown_add.func, shown_add.gridDimX, shown_add.blockDimX), (f.kernel(c"add"), 1, 1));
    let pointers: Vec<usize> = cuda_abi::host::get_list(shown_add.kernelParams, 2).unwrap();
    assert_eq!(cuda_abi::host::get::<u64>(pointers[0]), Ok(f.data));
    assert_eq!(cuda_abi::host::get::<u32>(pointers[1]), Ok(42));
    // They serve as the parameters of another node.
    let mut again = shown_add;
    written(|out| cuGraphAddKernelNode_v2(out, f.graph, 0, 0, at(&mut again)));
    assert_eq!(f.word_after(f.instantiated()), 84);
    is(cuGraphMemcpyNodeGetParams(add, at(&mut CUDA_MEMCPY3D::zeroed())), Status::INVALID_VALUE);

    let mut copy = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::HOST as u32,
        srcHost: at(&mut [1_u32; 4]) as u64,
        srcPitch: 16,
        srcHeight: 1,
        dstMemoryType: CUmemorytype::DEVICE as u32,
        dstDevice: f.data,
        dstPitch: 16,
        dstHeight: 1,
        WidthInBytes: 4,
        Height: 1,
        Depth: 1,
        ..Abi::zeroed()
    };
    let node = written(|out| cuGraphAddMemcpyNode(out, f.graph, 0, 0, at(&mut copy), f.context));
    assert_eq!(shown::<CUDA_MEMCPY3D>(|out| cuGraphMemcpyNodeGetParams(node, out)), copy);
    let mut fill = CUDA_MEMSET_NODE_PARAMS {
        dst: f.data,
        pitch: 4,
        value: 3,
        elementSize: 2,
        width: 2,
        height: 1,
    };
    let node = written(|out| cuGraphAddMemsetNode(out, f.graph, 0, 0, at(&mut fill), f.context));
    assert_eq!(shown::<CUDA_MEMSET_NODE_PARAMS>(|out| cuGraphMemsetNodeGetParams(node, out)), fill);
    let mut any: CUgraphNodeParams = shown(|out| cuGraphNodeGetParams(node, out));
    assert_eq!((any.r#type, any.reserved1[0]), (2, f.data as i64));
    // A node keeps its type.
    is(cuGraphNodeSetParams(add, at(&mut any)), Status::INVALID_VALUE);
    ok(cuGraphNodeSetParams(node, at(&mut any)));
    let event = written(|out| cuEventCreate(out, 0));
    let record = written(|out| cuGraphAddEventRecordNode(out, f.graph, 0, 0, event));
    let other = written(|out| cuEventCreate(out, 0));
    ok(cuGraphEventRecordNodeSetEvent(record, other));
    assert_eq!(written(|out| cuGraphEventRecordNodeGetEvent(record, out)), other);
    is(cuGraphEventWaitNodeGetEvent(record, at(&mut 0_u64)), Status::INVALID_VALUE);
    let wait = written(|out| cuGraphAddEventWaitNode(out, f.graph, 0, 0, event));
    assert_eq!(written(|out| cuGraphEventWaitNodeGetEvent(wait, out)), event);
}

#[test]
fn nodes_of_executable_graphs_are_changed_and_disabled() {
    let f = Fixture::new();
    let child = written(|out| cuGraphCreate(out, 0));
    f.add(child, &[], 1);
    let node = written(|out| cuGraphAddChildGraphNode(out, f.graph, 0, 0, child));
    let add = f.add(f.graph, &[], 10);
    // The node has a copy of the graph.
    let inner = written(|out| cuGraphChildGraphNodeGetGraph(node, out));
    assert_ne!(inner, child);
    is(cuGraphDestroy(inner), Status::INVALID_VALUE);
    f.add(child, &[], 1000);
    f.add(inner, &[], 100);
    let exec = f.instantiated();
    assert_eq!(f.word_after(exec), 111);
    ok(cuGraphNodeSetEnabled(exec, add, 0));
    assert_eq!(shown::<u32>(|out| cuGraphNodeGetEnabled(exec, add, out)), 0);
    assert_eq!(f.word_after(exec), 212);
    ok(cuGraphNodeSetEnabled(exec, add, 1));
    is(cuGraphNodeSetEnabled(exec, node, 0), Status::INVALID_VALUE);
    // The child's work is replaced by that of a graph like it.
    ok(cuGraphExecChildGraphNodeSetParams(exec, node, child));
    assert_eq!(f.word_after(exec), 212 + 1011);
    f.add(child, &[], 1);
    is(cuGraphExecChildGraphNodeSetParams(exec, node, child), Status::GRAPH_EXEC_UPDATE_FAILURE);
    // A captured launch of the graph is a graph in a node.
    let stream = written(|out| cuStreamCreate(out, 1));
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(cuGraphLaunch(exec, stream));
    let captured = written(|out| cuStreamEndCapture(stream, out));
    let captured = written(|out| cuGraphInstantiateWithFlags(out, captured, 0));
    assert_eq!(f.word_after(captured), 212 + 2022);
}

#[test]
fn nodes_of_clones_are_found() {
    let f = Fixture::new();
    let child = written(|out| cuGraphCreate(out, 0));
    f.add(child, &[], 1);
    let inner = written(|out| cuGraphAddChildGraphNode(out, f.graph, 0, 0, child));
    let add = f.add(f.graph, &[inner], 10);
    let clone = written(|out| cuGraphClone(out, f.graph));
    let cloned = written(|out| cuGraphNodeFindInClone(out, add, clone));
    assert_ne!(cloned, add);
    assert_eq!(written(|out| cuGraphNodeGetContainingGraph(cloned, out)), clone);
    assert_eq!(written(|out| cuGraphNodeGetDependencies(cloned, 0, out)), 1);
    is(cuGraphNodeFindInClone(at(&mut 0_u64), cloned, clone), Status::INVALID_VALUE);
    let (mut data, mut more) = (f.data, 500_u32);
    let mut changed = launch_of(f.kernel(c"add"), &[at(&mut data), at(&mut more)]);
    ok(cuGraphKernelNodeSetParams_v2(cloned, at(&mut changed)));
    assert_eq!(f.word_after(f.instantiated()), 11);
    let exec = written(|out| cuGraphInstantiateWithFlags(out, clone, 0));
    assert_eq!(f.word_after(exec), 11 + 501);
    ok(cuGraphDestroyNode(cloned));
    is(cuGraphNodeFindInClone(at(&mut 0_u64), add, clone), Status::INVALID_VALUE);
    let ids = [f.graph, clone].map(|graph| shown::<u32>(|out| cuGraphGetId(graph, out)));
    assert_ne!(ids[0], ids[1]);
    assert_eq!(shown::<u32>(|out| cuGraphNodeGetLocalId(add, out)), 1);
}

#[test]
fn objects_are_destroyed_with_their_last_reference() {
    let f = Fixture::new();
    let mut calls = 0_u32;
    let data = at(&mut calls);
    let calls = || cuda_abi::host::get::<u32>(data).unwrap();
    let destroy = count as *const () as usize;
    let object = written(|out| cuUserObjectCreate(out, data, destroy, 1, 1));
    is(cuUserObjectCreate(at(&mut 0_u64), data, destroy, 1, 0), Status::INVALID_VALUE);
    is(cuUserObjectCreate(at(&mut 0_u64), data, destroy, 0, 1), Status::INVALID_VALUE);
    is(cuUserObjectRelease(object, 2), Status::INVALID_VALUE);
    // The client's reference becomes the graph's, and the executable graph has one more.
    ok(cuGraphRetainUserObject(f.graph, object, 1, 1));
    f.add(f.graph, &[], 1);
    let exec = f.instantiated();
    let clone = written(|out| cuGraphClone(out, f.graph));
    ok(cuGraphReleaseUserObject(f.graph, object, 1));
    is(cuGraphReleaseUserObject(f.graph, object, 1), Status::INVALID_VALUE);
    ok(cuGraphDestroy(clone));
    assert_eq!(calls(), 0);
    ok(cuGraphExecDestroy(exec));
    assert_eq!(calls(), 1);
    is(cuUserObjectRetain(object, 1), Status::INVALID_VALUE);
}

#[test]
fn graphs_are_printed() {
    let f = Fixture::new();
    let handle = condition(&f, 0, 0);
    let first = f.add(f.graph, &[], 1);
    let body = f.conditional(&[first], handle, IF, 1)[0];
    f.add(body, &[], 1);
    let path = std::env::temp_dir().join(format!("simtlab-graph-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    ok(cuGraphDebugDotPrint(f.graph, name.as_ptr().addr(), 1));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let ids = [f.graph, body].map(|graph| shown::<u32>(|out| cuGraphGetId(graph, out)));
    for line in [
        format!("subgraph cluster_{} {{", ids[0]),
        format!("\"graph_{0}_node_0\" -> \"graph_{0}_node_1\";", ids[0]),
        format!("\"graph_{}_node_1\" -> \"graph_{}_node_0\"[style=\"dashed\"];", ids[0], ids[1]),
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
    }
    assert!(text.contains("KERNEL add\\n") && text.contains("block: 1 x 1 x 1"), "{text}");
    let nowhere = c"/no/such/folder/graph.dot";
    is(cuGraphDebugDotPrint(f.graph, nowhere.as_ptr().addr(), 0), Status::OPERATING_SYSTEM);
}
