//! Calls of the driver by correct and by careless programs: every wrong call returns a documented
//! error.

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::entry_points::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;
use cuda::exports::missing::*;
use cuda_abi::{Abi as _, CUDA_MEMCPY3D_PEER};

use crate::common::memory::alloc;
use crate::common::{at, is, ok, run_alone};

const PTX: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .global .align 4 .u32 factor = 3;
    .visible .entry scale(.param .u64 data, .param .u32 n) {
        .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>;
        ld.param.u64 %d0, [data];
        ld.param.u32 %r0, [n];
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
        mad.lo.u32 %r1, %r1, %r2, %r3;
        setp.ge.u32 %p, %r1, %r0;
        @%p ret;
        mul.wide.u32 %d1, %r1, 4;
        add.u64 %d0, %d0, %d1;
        ld.global.u32 %r4, [factor];
        ld.global.u32 %r3, [%d0];
        mul.lo.u32 %r3, %r3, %r4;
        st.global.u32 [%d0], %r3;
        ret;
    }
    .visible .entry forever() { loop: bra loop; }
    .visible .entry stops() { trap; ret; }\0";

/// Creates a context, which becomes this thread's current one.
fn context() -> u64 {
    ok(cuInit(0));
    let mut context = 0_u64;
    ok(cuCtxCreate_v2(at(&mut context), 0, 0));
    context
}

fn module() -> u64 {
    let mut module = 0_u64;
    ok(cuModuleLoadData(at(&mut module), PTX.as_ptr().addr()));
    module
}

fn function(module: u64, name: &std::ffi::CStr) -> u64 {
    let mut function = 0_u64;
    ok(cuModuleGetFunction(at(&mut function), module, name.as_ptr().addr()));
    function
}

/// Launches `scale` with an array of pointers to its parameters.
fn scale(function: u64, mut data: u64, mut n: u32) -> i32 {
    let mut params = [at(&mut data), at(&mut n)];
    cuLaunchKernel(function, n.div_ceil(64).max(1), 1, 1, 64, 1, 1, 0, 0, at(&mut params), 0)
}

fn read(address: u64, len: usize) -> Vec<u32> {
    let mut out = vec![0_u32; len];
    ok(cuMemcpyDtoH_v2(out.as_mut_ptr().addr(), address, 4 * len));
    out
}

#[test]
fn memory_and_launches() {
    let ctx = context();
    let module = module();
    let scale_kernel = function(module, c"scale");
    let data = alloc(400);
    let host: Vec<u32> = (0..100).collect();
    ok(cuMemcpyHtoD_v2(data, host.as_ptr().addr(), 400));
    ok(scale(scale_kernel, data, 100));
    assert_eq!(read(data, 100), host.iter().map(|v| 3 * v).collect::<Vec<_>>());

    // A packed buffer with padding at its end.
    let mut packed = [0_u8; 16];
    packed[..8].copy_from_slice(&data.to_le_bytes());
    packed[8..12].copy_from_slice(&100_u32.to_le_bytes());
    let mut size = 16_usize;
    let mut extra = [1, at(&mut packed), 2, at(&mut size), 0];
    ok(cuLaunchKernel(scale_kernel, 2, 1, 1, 64, 1, 1, 0, 0, 0, at(&mut extra)));
    assert_eq!(read(data, 100)[7], 63);
    *std::hint::black_box(&mut size) = 8;
    is(
        cuLaunchKernel(scale_kernel, 2, 1, 1, 64, 1, 1, 0, 0, 0, at(&mut extra)),
        Status::INVALID_VALUE,
    );

    // Variables, and fills of rows.
    let (mut variable, mut len) = (0_u64, 0_u64);
    ok(cuModuleGetGlobal_v2(at(&mut variable), at(&mut len), module, c"factor".as_ptr().addr()));
    assert_eq!(len, 4);
    ok(cuMemsetD32_v2(variable, 5, 1));
    ok(cuMemsetD2D32_v2(data, 40, 2, 3, 10));
    ok(scale(scale_kernel, data, 100));
    let got = read(data, 100);
    assert_eq!((got[0], got[2], got[3], got[12]), (10, 10, 3 * 3 * 3 * 5, 10));
    let mut other = alloc(400);
    ok(cuMemcpyDtoD_v2(other, data, 400));
    assert_eq!(read(other, 100), got);
    let mut back = 0_u64;
    ok(cuMemGetAddressRange_v2(at(&mut other), at(&mut back), other + 100));
    assert_eq!(back, 400);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn device_memory_is_memory_of_the_process() {
    let ctx = context();
    let scale_kernel = function(module(), c"scale");
    let data = alloc(400);
    let host: Vec<u32> = (0..100).collect();
    ok(cuMemcpyHtoD_v2(data, host.as_ptr().addr(), 400));
    let mut here = 0_u64;
    ok(simtlab_expose(at(&mut here), data + 8, 392, 1));
    let mut word = [0; 4];
    cuda_abi::host::get_bytes(here as usize, &mut word).unwrap();
    assert_eq!(word, 2_u32.to_le_bytes());
    cuda_abi::host::put_bytes(here as usize, &70_u32.to_le_bytes()).unwrap();
    let mut before = [0_u64; 9];
    assert_eq!(simtlab_counts(at(&mut before), 9), 9);
    ok(scale(scale_kernel, data, 100));
    assert_eq!(read(data, 4), [0, 3, 210, 9]);
    let mut after = [0_u64; 9];
    assert_eq!(simtlab_counts(at(&mut after), 9), 9);
    assert!(after[1] >= before[1] + 128 && after[2] > before[2], "{before:?} {after:?}");
    assert_eq!(simtlab_counts(at(&mut after), 2), 2);

    // Memory of the host is where it is; nothing lies beyond an allocation or at a wrong pointer.
    let mut pinned = 0_u64;
    ok(cuMemAllocHost_v2(at(&mut pinned), 16));
    ok(simtlab_expose(at(&mut here), pinned, 16, 0));
    ok(simtlab_expose(at(&mut here), data, 400, 2));
    ok(simtlab_expose(at(&mut here), pinned, 16, 0));
    assert_eq!(here, pinned);
    for (address, len) in [(data, 401), (data + 400, 1), (data, u64::MAX), (pinned, 17), (0, 1)] {
        is(simtlab_expose(at(&mut here), address, len, 0), Status::INVALID_VALUE);
    }
    ok(cuMemFree_v2(data));
    is(simtlab_expose(0, pinned, 16, 0), Status::INVALID_VALUE);
    let mut registered = 0_u64;
    ok(cuLogsRegisterCallback(1, 0, at(&mut registered)));
    ok(cuLogsUnregisterCallback(registered));
    is(cuLogsRegisterCallback(0, 0, at(&mut registered)), Status::INVALID_VALUE);
    is(cuLogsUnregisterCallback(0), Status::INVALID_VALUE);
    ok(simtlab_host_work(c"aten::mm".as_ptr().addr(), 1, 1000));
    is(simtlab_host_work(0, 1, 1000), Status::INVALID_VALUE);
    ok(cuMemFreeHost(pinned as usize));
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn wrong_images() {
    let ctx = context();
    let mut module = 0_u64;
    let mut load = |image: &[u8]| cuModuleLoadData(at(&mut module), image.as_ptr().addr());
    is(load(b"\x7fELF\x02\x01\x01\0\0\0\0\0"), Status::NO_BINARY_FOR_GPU);
    is(load(b"garbage\0"), Status::INVALID_PTX);
    is(load(b"\xff\xfe\xfd\0"), Status::INVALID_IMAGE);
    is(load(b"\0"), Status::INVALID_IMAGE);
    is(load(b".version 7.0\n.target sm_70\n.entry k() { nonsense; }\0"), Status::INVALID_PTX);
    is(
        load(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 255, 255, 255, 255, 255, 255, 255, 255]),
        Status::INVALID_IMAGE,
    );
    is(cuModuleLoadData(at(&mut module), 0), Status::INVALID_VALUE);
    is(cuModuleLoadData(at(&mut module), 64), Status::INVALID_VALUE);
    is(cuModuleLoadData(0, PTX.as_ptr().addr()), Status::INVALID_VALUE);
    is(
        cuModuleLoad(at(&mut module), c"there is no such file".as_ptr().addr()),
        Status::FILE_NOT_FOUND,
    );
    // The text of errors goes to the client's buffer.
    let mut log = [0_u8; 200];
    let mut kinds = [5_i32, 6];
    let mut values = [at(&mut log), log.len()];
    let bad = b".version 7.0\n.target sm_70\n.entry k() { nonsense; }\0";
    let image = bad.as_ptr().addr();
    is(
        cuModuleLoadDataEx(at(&mut module), image, 2, at(&mut kinds), at(&mut values)),
        Status::INVALID_PTX,
    );
    assert!(String::from_utf8_lossy(&log).contains("ptx:3:"), "{}", String::from_utf8_lossy(&log));
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn wrong_memory() {
    let ctx = context();
    let mut address = 0_u64;
    is(cuMemAlloc_v2(at(&mut address), 0), Status::INVALID_VALUE);
    is(cuMemAlloc_v2(at(&mut address), usize::MAX), Status::OUT_OF_MEMORY);
    is(cuMemAlloc_v2(at(&mut address), 1 << 50), Status::OUT_OF_MEMORY);
    is(cuMemAlloc_v2(0, 16), Status::INVALID_VALUE);
    is(cuMemAlloc_v2(8, 16), Status::INVALID_VALUE);
    let data = alloc(64);
    let mut host = [0_u8; 128];
    is(cuMemcpyDtoH_v2(at(&mut host), data, 65), Status::INVALID_VALUE);
    is(cuMemcpyDtoH_v2(at(&mut host), data + 60, 8), Status::INVALID_VALUE);
    is(cuMemcpyDtoH_v2(0, data, 64), Status::INVALID_VALUE);
    is(cuMemcpyDtoH_v2(64, data, 64), Status::INVALID_VALUE);
    is(cuMemcpyHtoD_v2(data, 64, 64), Status::INVALID_VALUE);
    is(cuMemcpyHtoD_v2(12345, at(&mut host), 4), Status::INVALID_VALUE);
    is(cuMemcpyDtoD_v2(data, 99, 4), Status::INVALID_VALUE);
    is(cuMemcpy(data, 8, 64), Status::INVALID_VALUE);
    is(cuMemsetD32_v2(data + 2, 0, 1), Status::INVALID_VALUE);
    is(cuMemsetD8_v2(data, 0, usize::MAX), Status::INVALID_VALUE);
    is(cuMemFree_v2(data + 4), Status::INVALID_VALUE);
    is(cuMemFree_v2(at(&mut host) as u64), Status::INVALID_VALUE);
    ok(cuMemFree_v2(0));
    ok(cuMemFree_v2(data));
    is(cuMemFree_v2(data), Status::INVALID_VALUE);
    is(cuMemcpyDtoH_v2(at(&mut host), data, 4), Status::INVALID_VALUE);
    // Clients cannot free a module's variable.
    let module = module();
    let mut variable = 0_u64;
    ok(cuModuleGetGlobal_v2(at(&mut variable), 0, module, c"factor".as_ptr().addr()));
    is(cuMemFree_v2(variable), Status::INVALID_VALUE);
    // Host memory.
    let mut page = 0_u64;
    ok(cuMemHostAlloc(at(&mut page), 4096, 0));
    is(cuMemFree_v2(page), Status::INVALID_VALUE);
    ok(cuMemFreeHost(page as usize));
    is(cuMemFreeHost(page as usize), Status::INVALID_VALUE);
    is(cuMemFreeHost(at(&mut host)), Status::INVALID_VALUE);
    ok(cuMemHostRegister_v2(at(&mut host), 128, 0));
    is(cuMemHostRegister_v2(at(&mut host) + 64, 128, 0), Status::HOST_MEMORY_ALREADY_REGISTERED);
    is(cuMemHostRegister_v2(64, 128, 0), Status::INVALID_VALUE);
    ok(cuMemHostUnregister(at(&mut host)));
    is(cuMemHostUnregister(at(&mut host)), Status::HOST_MEMORY_NOT_REGISTERED);
    // Attributes of an address that is not the device's.
    is(cuPointerGetAttribute(at(&mut address), 3, at(&mut host) as u64), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn wrong_launches() {
    let ctx = context();
    let module = module();
    let kernel = function(module, c"scale");
    let data = alloc(64);
    let launch = |grid: [u32; 3], block: [u32; 3], shared: u32, stream: u64, params: usize| {
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, params, 0)
    };
    let (mut d, mut n) = (data, 16_u32);
    let mut params = [at(&mut d), at(&mut n)];
    let good = at(&mut params);
    is(launch([0, 1, 1], [1; 3], 0, 0, good), Status::INVALID_VALUE);
    is(launch([1; 3], [1025, 1, 1], 0, 0, good), Status::INVALID_VALUE);
    is(launch([1; 3], [32, 32, 2], 0, 0, good), Status::INVALID_VALUE);
    is(launch([1; 3], [1; 3], 1 << 20, 0, good), Status::INVALID_VALUE);
    is(launch([1; 3], [1; 3], 0, 4711, good), Status::INVALID_HANDLE);
    is(launch([1; 3], [1; 3], 0, 0, 0), Status::INVALID_VALUE);
    is(launch([1; 3], [1; 3], 0, 0, 64), Status::INVALID_VALUE);
    let mut bad = [at(&mut n), 8];
    is(launch([1; 3], [1; 3], 0, 0, at(&mut bad)), Status::INVALID_VALUE);
    is(cuLaunchKernel(12345, 1, 1, 1, 1, 1, 1, 0, 0, good, 0), Status::INVALID_HANDLE);
    let mut config = [0_u8; 56];
    config[48] = 3;
    is(cuLaunchKernelEx(at(&mut config), kernel, good, 0), Status::INVALID_VALUE);
    is(cuLaunchKernelEx(16, kernel, good, 0), Status::INVALID_VALUE);
    let mut nothing = 0_u64;
    is(cuModuleGetFunction(at(&mut nothing), module, c"none".as_ptr().addr()), Status::NOT_FOUND);
    is(cuModuleGetFunction(at(&mut nothing), module, 0), Status::INVALID_VALUE);
    is(cuModuleGetFunction(at(&mut nothing), 99, c"scale".as_ptr().addr()), Status::INVALID_HANDLE);
    ok(scale(kernel, data, 16));
    ok(cuModuleUnload(module));
    is(cuModuleUnload(module), Status::INVALID_HANDLE);
    is(scale(kernel, data, 16), Status::INVALID_HANDLE);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn synchronous_launches_return_their_faults() {
    run_alone("calls::launches_return_their_faults", &[("SIMTLAB_SYNC", "1")]);
}

#[test]
#[ignore = "started by another test, alone in its process"]
fn launches_return_their_faults() {
    let ctx = context();
    let kernel = function(module(), c"scale");
    let data = alloc(64);
    is(scale(kernel, data, 100), Status::ILLEGAL_ADDRESS);
    is(scale(kernel, data, 16), Status::ILLEGAL_ADDRESS);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn faults_stay_with_their_context() {
    let ctx = context();
    let module = module();
    let kernel = function(module, c"scale");
    let data = alloc(64);
    // The call that launches does not wait for the fault.
    ok(scale(kernel, data, 100));
    // All calls with this context fail from now on.
    is(cuCtxSynchronize(), Status::ILLEGAL_ADDRESS);
    is(scale(kernel, data, 16), Status::ILLEGAL_ADDRESS);
    is(cuMemFree_v2(data), Status::ILLEGAL_ADDRESS);
    is(cuStreamSynchronize(0), Status::ILLEGAL_ADDRESS);
    // Another context is not affected.
    let other = context();
    let module = self::module();
    let data = alloc(64);
    ok(scale(function(module, c"scale"), data, 16));
    ok(cuLaunchKernel(function(module, c"stops"), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    is(cuCtxSynchronize(), Status::LAUNCH_FAILED);
    ok(cuCtxDestroy_v2(other));
    ok(cuCtxDestroy_v2(ctx));
    let last = context();
    let module = self::module();
    ok(cuLaunchKernel(function(module, c"forever"), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    is(cuCtxSynchronize(), Status::LAUNCH_TIMEOUT);
    ok(cuCtxDestroy_v2(last));
}

#[test]
fn contexts_end() {
    let ctx = context();
    let module = module();
    let kernel = function(module, c"scale");
    let data = alloc(64);
    let (mut stream, mut event) = (0_u64, 0_u64);
    ok(cuStreamCreate(at(&mut stream), 0));
    ok(cuEventCreate(at(&mut event), 0));
    ok(cuCtxDestroy_v2(ctx));
    is(cuCtxDestroy_v2(ctx), Status::INVALID_CONTEXT);
    is(cuCtxSynchronize(), Status::INVALID_CONTEXT);
    is(cuCtxSetCurrent(ctx), Status::INVALID_CONTEXT);
    let next = context();
    // Everything of the first context has been destroyed.
    is(scale(kernel, data, 16), Status::INVALID_HANDLE);
    is(cuMemFree_v2(data), Status::INVALID_VALUE);
    is(cuModuleUnload(module), Status::INVALID_HANDLE);
    is(cuStreamDestroy_v2(stream), Status::INVALID_HANDLE);
    is(cuEventRecord(event, 0), Status::INVALID_HANDLE);
    // A thread's current context, destroyed by another thread.
    std::thread::spawn(move || ok(cuCtxDestroy_v2(next))).join().unwrap();
    is(cuCtxSynchronize(), Status::CONTEXT_IS_DESTROYED);
    is(cuMemAlloc_v2(at(&mut stream), 4), Status::CONTEXT_IS_DESTROYED);
    ok(cuCtxSetCurrent(0));
    is(cuMemAlloc_v2(at(&mut stream), 4), Status::INVALID_CONTEXT);
    is(cuCtxPopCurrent_v2(0), Status::INVALID_CONTEXT);
}

#[test]
fn primary_contexts_are_counted() {
    ok(cuInit(0));
    let (mut first, mut second) = (0_u64, 0_u64);
    ok(cuDevicePrimaryCtxRetain(at(&mut first), 0));
    ok(cuDevicePrimaryCtxRetain(at(&mut second), 0));
    assert_eq!(first, second);
    is(cuCtxDestroy_v2(first), Status::INVALID_CONTEXT);
    let (mut flags, mut active) = (0_u32, 0_i32);
    ok(cuDevicePrimaryCtxGetState(0, at(&mut flags), at(&mut active)));
    assert_eq!(active, 1);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuDevicePrimaryCtxRelease_v2(0));
    is(cuDevicePrimaryCtxRelease_v2(0), Status::INVALID_CONTEXT);
    is(cuDevicePrimaryCtxRetain(at(&mut first), 7), Status::INVALID_DEVICE);
}

#[test]
fn many_threads() {
    ok(cuInit(0));
    let mut ctx = 0_u64;
    ok(cuCtxCreate_v2(at(&mut ctx), 0, 0));
    let threads = (0..8_u32).map(|t| {
        std::thread::spawn(move || {
            ok(cuCtxSetCurrent(ctx));
            for round in 0..6 {
                let module = module();
                let kernel = function(module, c"scale");
                let data = alloc(256);
                let host: Vec<u32> = (0..64).map(|i| i + t * round).collect();
                ok(cuMemcpyHtoD_v2(data, host.as_ptr().addr(), 256));
                ok(scale(kernel, data, 64));
                assert_eq!(read(data, 64), host.iter().map(|v| 3 * v).collect::<Vec<_>>());
                ok(cuMemFree_v2(data));
                ok(cuModuleUnload(module));
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|t| t.join().unwrap());
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn graphs_run_in_order() {
    let ctx = context();
    let module = module();
    let kernel = function(module, c"scale");
    let data = alloc(64);
    ok(cuMemsetD32_v2(data, 1, 16));
    let (mut d, mut n) = (data, 16_u32);
    let mut params = [at(&mut d), at(&mut n)];
    let mut node_params = [0_u64; 9];
    node_params[0] = kernel;
    let word = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
    (node_params[1], node_params[2], node_params[3]) = (word(1, 1), word(1, 16), word(1, 1));
    node_params[5] = at(&mut params) as u64;
    let (mut graph, mut exec) = (0_u64, 0_u64);
    ok(cuGraphCreate(at(&mut graph), 0));
    let (mut first, mut second) = (0_u64, 0_u64);
    ok(cuGraphAddKernelNode(at(&mut first), graph, 0, 0, at(&mut node_params)));
    ok(cuGraphAddKernelNode(at(&mut second), graph, at(&mut first), 1, at(&mut node_params)));
    is(cuGraphAddEmptyNode(at(&mut exec), graph, at(&mut [99_u64]), 1), Status::INVALID_VALUE);
    ok(cuGraphInstantiateWithFlags(at(&mut exec), graph, 0));
    ok(cuGraphLaunch(exec, 0));
    assert_eq!(read(data, 16), [9; 16]);
    *std::hint::black_box(&mut n) = 4;
    ok(cuGraphExecKernelNodeSetParams(exec, second, at(&mut node_params)));
    ok(cuGraphLaunch(exec, 0));
    assert_eq!((read(data, 16)[3], read(data, 16)[4]), (81, 27));
    // A graph with a cycle cannot be ordered.
    ok(cuGraphAddDependencies(graph, at(&mut second), at(&mut first), 1));
    is(cuGraphInstantiateWithFlags(at(&mut exec), graph, 0), Status::INVALID_VALUE);
    ok(cuGraphExecDestroy(exec));
    is(cuGraphLaunch(exec, 0), Status::INVALID_VALUE);
    ok(cuGraphDestroy(graph));
    is(cuGraphDestroy(graph), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn managed_and_pinned_memory() {
    let ctx = context();
    let module = module();
    let kernel = function(module, c"scale");
    let mut managed = 0_u64;
    ok(cuMemAllocManaged(at(&mut managed), 64, 1));
    ok(cuMemsetD32_v2(managed, 2, 16));
    ok(scale(kernel, managed, 16));
    let mut out = [0_u32; 16];
    ok(cuMemcpyDtoH_v2(at(&mut out), managed, 64));
    assert_eq!(out, [6; 16]);
    ok(cuMemFree_v2(managed));
    let mut host = vec![5_u32; 16];
    ok(cuMemHostRegister_v2(host.as_mut_ptr().addr(), 64, 2));
    ok(scale(kernel, host.as_ptr().addr() as u64, 16));
    assert_eq!(std::hint::black_box(&mut host)[..], [15; 16]);
    ok(cuMemHostUnregister(host.as_mut_ptr().addr()));
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn managed_variables_have_one_address() {
    let ctx = context();
    let text = c"
        .version 7.0 .target sm_70 .address_size 64
        .visible .global .attribute(.managed) .align 4 .u32 counters[4] = {1, 2, 3, 4};
        .visible .global .u64 where = counters;
        .visible .entry next() {
            .reg .b32 %v; .reg .b64 %a;
            ld.global.u64 %a, [where];
            ld.u32 %v, [%a];
            add.u32 %v, %v, 10;
            st.u32 [%a], %v;
            ld.global.u32 %v, [counters + 4];
            add.u32 %v, %v, 10;
            st.global.u32 [counters + 4], %v;
            ret;
        }";
    let mut module = 0_u64;
    ok(cuModuleLoadData(at(&mut module), text.as_ptr().addr()));
    let (mut address, mut len) = (0_u64, 0_u64);
    let name = c"counters".as_ptr().addr();
    ok(cuModuleGetGlobal_v2(at(&mut address), at(&mut len), module, name));
    assert_eq!(len, 16);
    let (mut managed, mut host) = (0_u8, 0_u64);
    ok(cuPointerGetAttribute(at(&mut managed), 8, address));
    ok(cuPointerGetAttribute(at(&mut host), 4, address + 8));
    assert_eq!((managed, host), (1, address + 8));
    let words = || {
        let mut bytes = [0; 16];
        assert_eq!(runtime::read_host(address, &mut bytes), 16);
        [0, 4, 8, 12].map(|i| u32::from_ne_bytes(bytes[i..i + 4].try_into().unwrap()))
    };
    assert_eq!(words(), [1, 2, 3, 4]);
    let kernel = function(module, c"next");
    ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    assert_eq!(words(), [11, 12, 3, 4]);
    assert_eq!(runtime::write_host(address, &100_u32.to_ne_bytes()), 4);
    ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    assert_eq!(words(), [110, 22, 3, 4]);
    ok(cuMemsetD32_v2(address, 7, 2));
    ok(cuStreamWriteValue32_v2(0, address + 8, 8, 0));
    assert_eq!(words(), [7, 7, 8, 4]);
    ok(cuMemPrefetchAsync_v2(address, 16, 1, 0, 0));
    is(cuMemPrefetchAsync_v2(address, 17, 1, 0, 0), Status::INVALID_VALUE);
    is(cuMemFree_v2(address), Status::INVALID_VALUE);
    ok(cuModuleUnload(module));
    is(cuPointerGetAttribute(at(&mut managed), 8, address), Status::INVALID_VALUE);
    ok(cuModuleLoadData(at(&mut module), text.as_ptr().addr()));
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn unimplemented_calls_return_not_supported() {
    let ctx = context();
    is(cuProfilerInitialize(), Status::NOT_SUPPORTED);
    is(cuImportExternalMemory(), Status::NOT_SUPPORTED);
    let mut table = 7_u64;
    is(cuGetExportTable(at(&mut table), 0), Status::NOT_FOUND);
    assert_eq!(table, 0);
    let mut text = 0_u64;
    ok(cuGetErrorName(700, at(&mut text)));
    assert_ne!(text, 0);
    is(cuGetErrorName(12345, at(&mut text)), Status::INVALID_VALUE);
    let mut address = 0_u64;
    let mut result = 9_i32;
    let name = c"cuMemAlloc".as_ptr().addr();
    ok(cuGetProcAddress_v2(name, at(&mut address), 12000, 0, at(&mut result)));
    assert_eq!((address, result), (cuMemAlloc_v2 as *const () as u64, 0));
    ok(cuGetProcAddress_v2(
        c"cuNothing".as_ptr().addr(),
        at(&mut address),
        12000,
        0,
        at(&mut result),
    ));
    assert_eq!((address, result), (0, 1));
    is(cuInit(1), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(ctx));
}

/// Three times, each block stores its number, waits for all blocks, and reads the next block's
/// word.
const TOGETHER: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
    .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
    .visible .entry rounds(.param .u64 data) {
        .reg .pred %p; .reg .b32 %b, %n, %i, %v, %c; .reg .b64 %a, %own, %next, %o, %h;
        .param .b32 scope; .param .b64 got; .param .b64 handle; .param .b32 flags; .param .b32 status;
        ld.param.u64 %a, [data];
        mov.u32 %b, %ctaid.x;
        mov.u32 %n, %nctaid.x;
        mul.wide.u32 %o, %b, 4;
        add.u64 %own, %a, %o;
        add.u32 %v, %b, 1;
        rem.u32 %v, %v, %n;
        mul.wide.u32 %o, %v, 4;
        add.u64 %next, %a, %o;
        st.param.b32 [scope], 1;
        call.uni (got), cudaCGGetIntrinsicHandle, (scope);
        ld.param.b64 %h, [got];
        st.param.b64 [handle], %h;
        st.param.b32 [flags], 0;
        st.volatile.global.u32 [%own], %b;
        mov.u32 %i, 0;
    again:
        call.uni (status), cudaCGSynchronize, (handle, flags);
        ld.volatile.global.u32 %c, [%next];
        call.uni (status), cudaCGSynchronize, (handle, flags);
        st.volatile.global.u32 [%own], %c;
        add.u32 %i, %i, 1;
        setp.lt.u32 %p, %i, 3;
        @%p bra again;
        ret;
    }\0";

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    let ctx = context();
    let mut linker = 0_u64;
    let (mut image, mut len) = (0_usize, 0_usize);
    ok(cuLinkCreate_v2(0, 0, 0, at(&mut linker)));
    ok(cuLinkAddData_v2(linker, 1, TOGETHER.as_ptr().addr(), TOGETHER.len(), 0, 0, 0, 0));
    // Without the device runtime, its functions have no definition.
    is(cuLinkComplete(linker, at(&mut image), at(&mut len)), Status::INVALID_PTX);
    let library = c"libcudadevrt.a".as_ptr().addr();
    ok(cuLinkAddData_v2(linker, 4, c"!<arch>".as_ptr().addr(), 7, library, 0, 0, 0));
    ok(cuLinkComplete(linker, at(&mut image), at(&mut len)));
    let mut module = 0_u64;
    ok(cuModuleLoadData(at(&mut module), image));
    ok(cuLinkDestroy(linker));
    let rounds = function(module, c"rounds");
    let blocks = 70_u32;
    let mut data = alloc(4 * blocks as usize);
    let mut params = [at(&mut data)];
    let mut launch = |blocks, threads| {
        cuLaunchCooperativeKernel(rounds, blocks, 1, 1, threads, 1, 1, 0, 0, at(&mut params))
    };
    // Twice, because a launch must leave the barrier as it was.
    for _ in 0..2 {
        ok(launch(blocks, 40));
        let wanted: Vec<u32> = (0..blocks).map(|b| (b + 3) % blocks).collect();
        assert_eq!(read(data, blocks as usize), wanted);
    }
    // More blocks than the device holds at once: 2048 threads on each of 16 multiprocessors.
    is(launch(33, 1024), Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    ok(launch(32, 1024));
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn boxes_are_copied_between_contexts() {
    let (first, mut second) = (context(), 0_u64);
    let memory = alloc(64);
    let numbers: [u32; 8] = std::array::from_fn(|i| i as u32 + 1);
    ok(cuMemcpyHtoD_v2(memory, numbers.as_ptr().addr(), 32));
    ok(cuCtxCreate_v2(at(&mut second), 0, 0));
    let there = alloc(64);
    let (mut out, zeros) = ([0_u32; 16], [0_u32; 16]);
    ok(cuMemcpyHtoD_v2(there, zeros.as_ptr().addr(), 64));
    // The second number of each of two rows of four, to rows of eight.
    let mut copy = CUDA_MEMCPY3D_PEER {
        srcXInBytes: 4,
        srcMemoryType: 2,
        srcDevice: memory,
        srcContext: first,
        srcPitch: 16,
        dstMemoryType: 2,
        dstDevice: there,
        dstContext: second,
        dstPitch: 32,
        WidthInBytes: 4,
        Height: 2,
        Depth: 1,
        ..CUDA_MEMCPY3D_PEER::zeroed()
    };
    ok(cuMemcpy3DPeer(at(&mut copy)));
    ok(cuMemcpyDtoH_v2(at(&mut out), there, 64));
    assert_eq!((out[0], out[8]), (2, 6));
    assert_eq!(out.iter().filter(|&&n| n != 0).count(), 2);
    copy.dstContext = 7;
    is(cuMemcpy3DPeerAsync(at(&mut copy), 0), Status::INVALID_CONTEXT);
    copy.srcMemoryType = 9;
    is(cuMemcpy3DPeer(at(&mut copy)), Status::INVALID_VALUE);
    is(cuMemcpy3DPeer(0), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(second));
    ok(cuCtxDestroy_v2(first));
}
