//! Functions of the client that streams and graphs call, and that call the driver, which the
//! interface forbids.

use std::ffi::c_void;

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;
use cuda_abi::host::{get, put};

use crate::common::{at, count, is, ok, written};

/// What a function of the client is given, and the statuses that its calls have.
#[repr(C)]
struct Given {
    stream: u64,
    /// A stream that does not wait for the null stream.
    other: u64,
    context: u64,
    module: u64,
    memory: u64,
    counted: u64,
    statuses: [i32; 10],
}

/// The statuses of calls that would wait for the function that makes them, and of others.
const WANTED: [Status; 10] = {
    let (refused, ok) = (Status::NOT_PERMITTED, Status::SUCCESS);
    [refused, refused, refused, refused, refused, Status::NOT_READY, ok, ok, ok, ok]
};

/// Makes the calls of [`WANTED`]: waits for its own stream, its context and the null stream, ends
/// what it runs in, and then what needs no wait.
extern "C" fn calls_the_driver(data: usize) {
    let given: [u64; 6] = get(data).unwrap();
    let [stream, other, context, module, memory, counted] = given;
    let mut word = 0_u32;
    let statuses = [
        cuStreamSynchronize(stream),
        cuCtxSynchronize(),
        cuMemcpyDtoH_v2(at(&mut word), memory, 4),
        cuModuleUnload(module),
        cuCtxDestroy_v2(context),
        cuStreamQuery(stream),
        cuStreamSynchronize(other),
        cuMemsetD32Async(memory, 7, 1, other),
        // It is called after this one.
        cuLaunchHostFunc(stream, count as *const c_void as usize, counted as usize),
        cuCtxGetDevice(at(&mut word)),
    ];
    put(data + 48, &statuses).unwrap();
}

extern "C" fn called_with_a_status(_stream: u64, status: i32, data: usize) {
    assert_eq!(status, 0);
    calls_the_driver(data);
}

const PTX: &[u8] = b".version 7.0 .target sm_70 .address_size 64 .visible .entry k() { ret; }\0";

#[test]
fn calls_that_wait_for_their_own_stream_are_refused() {
    ok(cuInit(0));
    let context = written(|out| cuCtxCreate_v2(out, 0, 0));
    let stream = written(|out| cuStreamCreate(out, 0));
    let mut counted = 0_u32;
    let mut given = Given {
        stream,
        other: written(|out| cuStreamCreate(out, 1)),
        context,
        module: written(|out| cuModuleLoadData(out, PTX.as_ptr().addr())),
        memory: written(|out| cuMemAlloc_v2(out, 4)),
        counted: at(&mut counted) as u64,
        statuses: [0; 10],
    };
    let graph = written(|out| cuGraphCreate(out, 0));
    let mut node = [calls_the_driver as *const c_void as usize, at(&mut given)];
    written(|out| cuGraphAddHostNode(out, graph, 0, 0, at(&mut node)));
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    let calls: [&dyn Fn(usize) -> i32; 3] = [
        &|data| cuLaunchHostFunc(stream, calls_the_driver as *const c_void as usize, data),
        &|data| {
            cuStreamAddCallback(stream, called_with_a_status as *const c_void as usize, data, 0)
        },
        &|_| cuGraphLaunch(exec, stream),
    ];
    for (calls, made) in calls.iter().zip(1_u32..) {
        given.statuses = [-1; 10];
        ok(calls(at(&mut given)));
        ok(cuStreamSynchronize(stream));
        assert_eq!(std::hint::black_box(&given).statuses.map(Status), WANTED);
        assert_eq!(*std::hint::black_box(&counted), made);
        assert_eq!(written(|out| cuMemcpyDtoH_v2(out, given.memory, 4)), 7);
    }
    // Whatever was refused can be done outside.
    ok(cuModuleUnload(given.module));
    ok(cuCtxDestroy_v2(context));
}

/// Destroys the stream that calls it, and what it is given.
extern "C" fn destroys(data: usize) {
    let [stream, event]: [u64; 2] = get(data).unwrap();
    let statuses = [cuStreamDestroy_v2(stream), cuEventDestroy_v2(event), cuStreamQuery(stream)];
    put(data + 16, &statuses).unwrap();
}

#[test]
fn a_function_may_end_its_stream() {
    ok(cuInit(0));
    let context = written(|out| cuCtxCreate_v2(out, 0, 0));
    let stream = written(|out| cuStreamCreate(out, 0));
    let event = written(|out| cuEventCreate(out, 0));
    let mut counted = 0_u32;
    let mut given = [stream, event, 0, 0];
    ok(cuLaunchHostFunc(stream, destroys as *const c_void as usize, at(&mut given)));
    let [.., first, last] = *std::hint::black_box(&given);
    let wanted = u64::from(Status::INVALID_HANDLE.0.cast_unsigned());
    assert_eq!((first, last), (0, wanted));
    is(
        cuLaunchHostFunc(stream, count as *const c_void as usize, at(&mut counted)),
        Status::INVALID_HANDLE,
    );
    is(cuEventRecord(event, 0), Status::INVALID_HANDLE);
    ok(cuCtxSynchronize());
    ok(cuCtxDestroy_v2(context));
}

/// The last reference of an object is given back while the object is destroyed.
extern "C" fn releases(data: usize) {
    let object: u64 = get(data).unwrap();
    put(data + 8, &cuUserObjectRelease(object, 1)).unwrap();
}

#[test]
fn an_object_is_destroyed_once() {
    ok(cuInit(0));
    let mut given = [0_u64, u64::MAX];
    let (data, destroy) = (at(&mut given), releases as *const c_void as usize);
    let object = written(|out| cuUserObjectCreate(out, data, destroy, 1, 1));
    put(data, &object).unwrap();
    ok(cuUserObjectRelease(object, 1));
    let status = std::hint::black_box(&given)[1] as i32;
    assert_ne!(status, 0);
    is(cuUserObjectRetain(object, 1), Status(status));
}
