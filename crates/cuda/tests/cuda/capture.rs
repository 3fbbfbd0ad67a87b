//! Stream capture: work on streams becomes a graph, and calls that cannot be captured are refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;

use crate::common::{at, is, ok, written};

const GLOBAL: i32 = 0;
const RELAXED: i32 = 2;
const NON_BLOCKING: u32 = 1;

const PTX: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .entry add(.param .u64 data, .param .u32 more) {
        .reg .b32 %v, %m; .reg .b64 %a, %o;
        ld.param.u64 %a, [data];
        ld.param.u32 %m, [more];
        mov.u32 %v, %tid.x;
        mul.wide.u32 %o, %v, 4;
        add.u64 %a, %a, %o;
        ld.global.u32 %v, [%a];
        add.u32 %v, %v, %m;
        st.global.u32 [%a], %v;
        ret;
    }\0";

/// Words in the tests' buffer.
const N: usize = 8;

/// A context with a zeroed buffer, a stream, and the kernel that adds to each word.
struct Fixture {
    context: u64,
    data: u64,
    stream: u64,
    add: u64,
}

impl Fixture {
    fn new() -> Self {
        ok(cuInit(0));
        let context = written(|out| cuCtxCreate_v2(out, 0, 0));
        let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
        let add = written(|out| cuModuleGetFunction(out, module, c"add".as_ptr().addr()));
        let data = written(|out| cuMemAlloc_v2(out, 4 * N));
        ok(cuMemsetD8_v2(data, 0, 4 * N));
        let stream = written(|out| cuStreamCreate(out, NON_BLOCKING));
        Self { context, data, stream, add }
    }

    fn launch(&self, stream: u64, more: u32) -> i32 {
        let (mut data, mut more) = (self.data, more);
        let mut params = [at(&mut data), at(&mut more)];
        cuLaunchKernel(self.add, 1, 1, 1, N as u32, 1, 1, 0, stream, at(&mut params), 0)
    }

    /// Returns the value of the buffer's words, which are all equal.
    #[track_caller]
    fn word(&self) -> u32 {
        let mut words = [0_u32; N];
        ok(cuMemcpyDtoH_v2(at(&mut words), self.data, 4 * N));
        let words = *std::hint::black_box(&words);
        assert_eq!(words, [words[0]; N]);
        words[0]
    }

    #[track_caller]
    fn state(&self) -> i32 {
        let mut state = 9;
        ok(cuStreamIsCapturing(self.stream, at(&mut state)));
        *std::hint::black_box(&state)
    }

    #[track_caller]
    fn instantiated(&self, graph: u64) -> u64 {
        written(|out| cuGraphInstantiateWithFlags(out, graph, 0))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
    }
}

#[test]
fn captured_work_runs_with_the_graph() {
    let f = Fixture::new();
    assert_eq!(f.state(), 0);
    ok(cuStreamBeginCapture_v2(f.stream, GLOBAL));
    assert_eq!(f.state(), 1);
    ok(cuMemsetD32Async(f.data, 5, N, f.stream));
    ok(f.launch(f.stream, 2));
    ok(f.launch(f.stream, 3));
    let mut seen = [0_u32; N];
    ok(cuMemcpyDtoHAsync_v2(at(&mut seen), f.data, 4 * N, f.stream));
    // Nothing has been done yet, and other streams work meanwhile.
    assert_eq!(f.word(), 0);
    ok(f.launch(0, 1));
    assert_eq!(f.word(), 1);
    let graph = written(|out| cuStreamEndCapture(f.stream, out));
    assert_eq!(f.state(), 0);
    let exec = f.instantiated(graph);
    for _ in 0..2 {
        ok(cuGraphLaunch(exec, f.stream));
        assert_eq!(f.word(), 10);
        assert_eq!(std::mem::take(std::hint::black_box(&mut seen)), [10; N]);
    }
    // Each node depends on the one before.
    let count = written(|out| cuGraphGetNodes(graph, 0, out)) as usize;
    let edges = written(|out| cuGraphGetEdges(graph, 0, 0, out));
    assert_eq!((count, edges), (4, 3));
    let mut nodes = [0_u64; 4];
    let mut room = 4_u64;
    ok(cuGraphGetNodes(graph, at(&mut nodes), at(&mut room)));
    let kinds = nodes.map(|node| written(|out| cuGraphNodeGetType(node, out)));
    assert_eq!(kinds, [2, 0, 0, 1]);
    assert_eq!(written(|out| cuGraphGetRootNodes(graph, 0, out)), 1);
    assert_eq!(written(|out| cuGraphNodeGetDependencies(nodes[0], 0, out)), 0);
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

#[test]
fn other_streams_take_part_by_events() {
    let f = Fixture::new();
    let other = written(|out| cuStreamCreate(out, NON_BLOCKING));
    let (fork, join) = (written(|out| cuEventCreate(out, 0)), written(|out| cuEventCreate(out, 0)));
    ok(cuStreamBeginCapture_v2(f.stream, GLOBAL));
    ok(f.launch(f.stream, 1));
    ok(cuEventRecord(fork, f.stream));
    ok(cuStreamWaitEvent(other, fork, 0));
    ok(f.launch(other, 10));
    is(cuEventQuery(fork), Status::CAPTURED_EVENT);
    ok(cuEventRecord(join, other));
    ok(cuStreamWaitEvent(f.stream, join, 0));
    ok(f.launch(f.stream, 100));
    // The next node depends on the last launch, which depends on both others.
    let (mut status, mut id, mut graph, mut list, mut count) = (0_i32, 0_u64, 0_u64, 0_u64, 0_u64);
    let (status, places) = (at(&mut status), [at(&mut id), at(&mut graph), at(&mut list)]);
    let [id, of, after] = places;
    ok(cuStreamGetCaptureInfo_v2(f.stream, status, id, of, after, at(&mut count)));
    assert_eq!(*std::hint::black_box(&count), 1);
    let whole = written(|out| cuStreamEndCapture(f.stream, out));
    assert_eq!(*std::hint::black_box(&graph), whole);
    assert_ne!(*std::hint::black_box(&list), 0);
    assert_eq!(written(|out| cuGraphGetEdges(whole, 0, 0, out)), 3);
    ok(cuGraphLaunch(f.instantiated(whole), 0));
    assert_eq!(f.word(), 111);
    // The other stream no longer captures.
    ok(f.launch(other, 1));
    assert_eq!(f.word(), 112);
    is(cuStreamWaitEvent(other, fork, 0), Status::CAPTURED_EVENT);

    // A stream that is not joined back.
    ok(cuStreamBeginCapture_v2(f.stream, GLOBAL));
    ok(cuEventRecord(fork, f.stream));
    ok(cuStreamWaitEvent(other, fork, 0));
    ok(f.launch(other, 1));
    let mut out = 7_u64;
    is(cuStreamEndCapture(other, at(&mut out)), Status::STREAM_CAPTURE_UNMATCHED);
    is(cuStreamEndCapture(f.stream, at(&mut out)), Status::STREAM_CAPTURE_INVALIDATED);
    ok(cuStreamBeginCapture_v2(f.stream, GLOBAL));
    ok(cuEventRecord(fork, f.stream));
    ok(cuStreamWaitEvent(other, fork, 0));
    ok(f.launch(other, 1));
    is(cuStreamEndCapture(f.stream, at(&mut out)), Status::STREAM_CAPTURE_UNJOINED);
    assert_eq!((*std::hint::black_box(&out), f.state(), f.word()), (0, 0, 112));
}

#[test]
fn calls_that_cannot_be_captured_invalidate_the_capture() {
    let f = Fixture::new();
    let event = written(|out| cuEventCreate(out, 0));
    ok(cuEventRecord(event, 0));
    let mut out = 0_u64;
    let cases: [(&dyn Fn() -> i32, Status); 4] = [
        (&|| cuStreamSynchronize(f.stream), Status::STREAM_CAPTURE_UNSUPPORTED),
        (&|| cuStreamQuery(f.stream), Status::STREAM_CAPTURE_UNSUPPORTED),
        (&|| cuCtxSynchronize(), Status::STREAM_CAPTURE_UNSUPPORTED),
        (&|| cuStreamWaitEvent(f.stream, event, 0), Status::STREAM_CAPTURE_ISOLATION),
    ];
    for (call, status) in cases {
        // A thread-local capture, so that other tests' calls do not invalidate it.
        ok(cuStreamBeginCapture_v2(f.stream, 1));
        ok(f.launch(f.stream, 1));
        is(call(), status);
        assert_eq!(f.state(), 2);
        is(f.launch(f.stream, 1), Status::STREAM_CAPTURE_INVALIDATED);
        is(cuStreamEndCapture(f.stream, at(&mut out)), Status::STREAM_CAPTURE_INVALIDATED);
        assert_eq!((f.state(), f.word()), (0, 0));
    }
    // The null stream waits for blocking streams.
    let blocking = written(|out| cuStreamCreate(out, 0));
    ok(cuStreamBeginCapture_v2(blocking, RELAXED));
    is(f.launch(0, 1), Status::STREAM_CAPTURE_IMPLICIT);
    is(cuStreamEndCapture(blocking, at(&mut out)), Status::STREAM_CAPTURE_INVALIDATED);
    ok(f.launch(0, 1));
    assert_eq!(f.word(), 1);

    is(cuStreamBeginCapture_v2(0, GLOBAL), Status::STREAM_CAPTURE_UNSUPPORTED);
    is(cuStreamBeginCapture_v2(f.stream, 3), Status::INVALID_VALUE);
    is(cuStreamEndCapture(f.stream, at(&mut out)), Status::ILLEGAL_STATE);
    ok(cuStreamBeginCapture_v2(f.stream, 1));
    is(cuStreamBeginCapture_v2(f.stream, 1), Status::ILLEGAL_STATE);
    let end = std::thread::scope(|s| {
        s.spawn(|| cuStreamEndCapture(f.stream, at(&mut 0_u64))).join().unwrap()
    });
    is(end, Status::STREAM_CAPTURE_WRONG_THREAD);
    ok(cuStreamDestroy_v2(f.stream));
    let mut mode = RELAXED;
    ok(cuThreadExchangeStreamCaptureMode(at(&mut mode)));
    assert_eq!(std::mem::replace(std::hint::black_box(&mut mode), 5), GLOBAL);
    is(cuThreadExchangeStreamCaptureMode(at(&mut mode)), Status::INVALID_VALUE);
}

/// The sum of the callbacks' arguments.
static CALLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn remember(data: usize) {
    // Callbacks can call the driver.
    assert_ne!(written(|out| cuDriverGetVersion(out)), 0);
    CALLED.fetch_add(data, Ordering::Relaxed);
}

#[test]
fn graphs_call_the_client_and_hold_other_graphs() {
    let f = Fixture::new();
    let called = || CALLED.load(Ordering::Relaxed);
    ok(cuStreamBeginCapture_v2(f.stream, RELAXED));
    ok(f.launch(f.stream, 1));
    ok(cuLaunchHostFunc(f.stream, remember as *const () as usize, 1));
    ok(f.launch(f.stream, 2));
    let inner = written(|out| cuStreamEndCapture(f.stream, out));
    let exec = f.instantiated(inner);
    assert_eq!(called(), 0);
    // A graph launched on a capturing stream becomes a node of the captured graph.
    ok(cuStreamBeginCapture_v2(f.stream, RELAXED));
    ok(cuGraphLaunch(exec, f.stream));
    ok(f.launch(f.stream, 100));
    let outer = written(|out| cuStreamEndCapture(f.stream, out));
    let node = written(|out| cuGraphAddChildGraphNode(out, outer, 0, 0, inner));
    assert_eq!(written(|out| cuGraphNodeGetType(node, out)), 4);
    ok(cuGraphLaunch(f.instantiated(outer), f.stream));
    assert_eq!((f.word(), called()), (106, 2));

    // An executable graph can be updated with a graph of the same topology, and with no other.
    ok(cuStreamBeginCapture_v2(f.stream, RELAXED));
    ok(f.launch(f.stream, 1000));
    ok(cuLaunchHostFunc(f.stream, remember as *const () as usize, 1));
    ok(f.launch(f.stream, 2000));
    let changed = written(|out| cuStreamEndCapture(f.stream, out));
    let mut info = [9_u64; 3];
    ok(cuGraphExecUpdate_v2(exec, changed, at(&mut info)));
    ok(cuGraphLaunch(exec, f.stream));
    assert_eq!((f.word(), called()), (3106, 3));
    written(|out| cuGraphAddEmptyNode(out, outer, 0, 0));
    is(cuGraphExecUpdate_v2(exec, outer, at(&mut info)), Status::GRAPH_EXEC_UPDATE_FAILURE);
    const TOPOLOGY_CHANGED: u32 = 2;
    assert_eq!(std::hint::black_box(&info)[0] as u32, TOPOLOGY_CHANGED);
    ok(cuStreamBeginCapture_v2(f.stream, RELAXED));
    ok(f.launch(f.stream, 1));
    ok(f.launch(f.stream, 2));
    ok(cuLaunchHostFunc(f.stream, remember as *const () as usize, 1));
    let other = written(|out| cuStreamEndCapture(f.stream, out));
    is(cuGraphExecUpdate_v2(exec, other, at(&mut info)), Status::GRAPH_EXEC_UPDATE_FAILURE);
    const TYPE_CHANGED: u32 = 3;
    assert_eq!(std::hint::black_box(&info)[0] as u32, TYPE_CHANGED);
}

#[test]
fn events_belong_to_contexts_and_graphs_record_them() {
    let f = Fixture::new();
    let (event, late) =
        (written(|out| cuEventCreate(out, 0)), written(|out| cuEventCreate(out, 0)));
    let mut time = 0.0_f32;
    is(cuEventElapsedTime(at(&mut time), event, late), Status::INVALID_HANDLE);
    ok(cuEventQuery(late));
    ok(cuEventRecord(event, f.stream));
    ok(cuStreamBeginCapture_v2(f.stream, RELAXED));
    ok(cuStreamWaitEvent(f.stream, event, 1));
    ok(f.launch(f.stream, 1));
    ok(cuEventRecordWithFlags(late, f.stream, 1));
    let graph = written(|out| cuStreamEndCapture(f.stream, out));
    assert_eq!(written(|out| cuGraphGetNodes(graph, 0, out)), 3);
    ok(cuGraphLaunch(f.instantiated(graph), f.stream));
    ok(cuEventElapsedTime(at(&mut time), event, late));
    assert!(*std::hint::black_box(&time) > 0.0);
    is(cuStreamWaitEvent(f.stream, event, 2), Status::INVALID_VALUE);
    is(cuEventRecordWithFlags(event, f.stream, 2), Status::INVALID_VALUE);
    is(cuEventDestroy_v2(99), Status::INVALID_HANDLE);
    // A stream of another context.
    let other = Fixture::new();
    is(cuEventRecord(event, other.stream), Status::INVALID_HANDLE);
    is(cuEventRecord(event, 0), Status::INVALID_HANDLE);
    ok(cuStreamWaitEvent(other.stream, event, 0));
}

#[test]
fn captures_extend_existing_graphs() {
    let f = Fixture::new();
    let graph = written(|out| cuGraphCreate(out, 0));
    let first = written(|out| cuGraphAddEmptyNode(out, graph, 0, 0));
    let mut after = [first];
    ok(cuStreamBeginCaptureToGraph(f.stream, graph, at(&mut after), 0, 1, RELAXED));
    ok(f.launch(f.stream, 1));
    // From here on, nodes depend only on the first node.
    ok(cuStreamUpdateCaptureDependencies(f.stream, at(&mut after), 1, 1));
    ok(f.launch(f.stream, 2));
    is(cuStreamUpdateCaptureDependencies(f.stream, at(&mut [99_u64]), 1, 0), Status::INVALID_VALUE);
    assert_eq!(written(|out| cuStreamEndCapture(f.stream, out)), graph);
    assert_eq!(written(|out| cuGraphNodeGetDependentNodes(first, 0, out)), 2);
    assert_eq!(written(|out| cuGraphGetEdges(graph, 0, 0, out)), 2);
    ok(cuGraphLaunch(f.instantiated(graph), 0));
    assert_eq!(f.word(), 3);
}
