//! Devices with memories of their own, by what CUDA's documentation says of each call: kernels
//! reach the memory of another device where access was enabled, copies always do. The number of
//! devices is read once, so the calls are made in processes of their own, on each engine.

use std::process::Command;

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;
use cuda_abi::host::{address, get};
use cuda_abi::{
    Abi, CUDA_MEM_ALLOC_NODE_PARAMS, CUmemAccessDesc, CUmemAllocationProp, CUmemLocation,
    CUmemPoolProps, DeviceStatus,
};

use crate::common::{at, is, ok, written};

/// `add` adds to a word, and to a variable.
const PTX: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .global .u32 sum;
    .visible .entry add(.param .u64 data, .param .u32 more) {
        .reg .b32 %v, %m; .reg .b64 %a;
        ld.param.u64 %a, [data];
        ld.param.u32 %m, [more];
        ld.global.u32 %v, [%a];
        add.u32 %v, %v, %m;
        st.global.u32 [%a], %v;
        red.global.add.u32 [sum], %m;
        ret;
    }\0";

const MEMORY: usize = 8 << 20;

/// Runs a test of this program with three devices, and returns its messages.
fn run(test: &str, engine: &str) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("SIMTLAB_DEVICES", "3")
        .env("SIMTLAB_DEVICE_MEMORY", MEMORY.to_string())
        .env("SIMTLAB_ENGINE", engine)
        .output()
        .unwrap();
    let [out, messages] = [child.stdout, child.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(child.status.success() && out.contains("1 passed"), "{out}{messages}");
    messages
}

/// A context of a device, with the kernel.
struct Fixture {
    device: i32,
    context: u64,
    module: u64,
    add: u64,
}

impl Fixture {
    fn new(device: i32) -> Self {
        let context = written(|out| cuCtxCreate_v2(out, 0, device));
        let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
        let add = written(|out| cuModuleGetFunction(out, module, c"add".as_ptr().addr()));
        Self { device, context, module, add }
    }

    fn all<const N: usize>() -> [Self; N] {
        ok(cuInit(0));
        std::array::from_fn(|device| Self::new(device as i32))
    }

    fn enter(&self) {
        ok(cuCtxSetCurrent(self.context));
    }

    /// Replaces the context, which a fault has ended.
    fn renew(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
        *self = Self::new(self.device);
    }

    /// Memory of this device.
    fn alloc(&self, len: usize) -> u64 {
        self.enter();
        written(|out| cuMemAlloc_v2(out, len))
    }

    /// Adds to a word by a kernel of this device.
    fn add(&self, data: u64, more: u32) -> i32 {
        self.enter();
        let (mut data, mut more) = (data, more);
        let mut params = [at(&mut data), at(&mut more)];
        match cuLaunchKernel(self.add, 1, 1, 1, 1, 1, 1, 0, 0, at(&mut params), 0) {
            0 => cuCtxSynchronize(),
            error => error,
        }
    }
}

fn word(address: u64) -> u32 {
    let mut word = 0_u32;
    ok(cuMemcpyDtoH_v2(at(&mut word), address, 4));
    *std::hint::black_box(&word)
}

#[test]
fn kernels_reach_memory_of_peers_alone() {
    for engine in ["exact", "fast", "both"] {
        let said = run("peers::reach_peers_alone", engine);
        let first = said.lines().find(|line| line.contains("memory of device")).unwrap();
        assert!(
            first.contains("is in memory of device 1, which device 0 may not access")
                && first.contains("\"device memory #1\" (64 bytes")
                && first.contains("device 0 has to enable peer access to device 1"),
            "{engine}: {said}"
        );
        assert!(said.contains("at byte 0 of \"sum\""), "{engine}: {said}");
    }
}

#[test]
#[ignore = "run by the other test, with three devices"]
fn reach_peers_alone() {
    let [mut zero, one, two] = Fixture::all();
    let data = one.alloc(64);
    ok(cuMemsetD32_v2(data, 5, 16));
    is(zero.add(data, 1), Status::ILLEGAL_ADDRESS);
    // The context has failed, as on hardware.
    is(cuCtxSynchronize(), Status::ILLEGAL_ADDRESS);
    zero.renew();
    assert_eq!(word(data), 5);
    // Access is enabled in one direction.
    ok(cuCtxEnablePeerAccess(one.context, 0));
    is(cuCtxEnablePeerAccess(one.context, 0), Status::PEER_ACCESS_ALREADY_ENABLED);
    ok(zero.add(data, 2));
    ok(one.add(data, 4));
    assert_eq!(word(data), 11);
    let later = one.alloc(64);
    ok(zero.add(later, 3));
    assert_eq!(word(later), 3);
    let own = zero.alloc(64);
    is(one.add(own, 1), Status::ILLEGAL_ADDRESS);
    is(two.add(data, 1), Status::ILLEGAL_ADDRESS);
    zero.enter();
    assert_eq!([word(own), word(data)], [0, 11]);
    // Variables of modules are memory of their device, too.
    let (mut there, mut len) = (0_u64, 0_u64);
    ok(cuModuleGetGlobal_v2(at(&mut there), at(&mut len), zero.module, c"sum".as_ptr().addr()));
    assert_eq!((word(there), len), (5, 4));
    let three = Fixture::new(2);
    is(three.add(there, 1), Status::ILLEGAL_ADDRESS);
    // Without access, there is none any more.
    zero.enter();
    ok(cuCtxDisablePeerAccess(one.context));
    is(cuCtxDisablePeerAccess(one.context), Status::PEER_ACCESS_NOT_ENABLED);
    is(zero.add(data, 1), Status::ILLEGAL_ADDRESS);
}

#[test]
fn copies_and_memory_of_the_host_need_no_access() {
    for engine in ["exact", "both"] {
        run("peers::need_no_access", engine);
    }
}

#[test]
#[ignore = "run by the other test, with three devices"]
fn need_no_access() {
    let [zero, one, _] = Fixture::all();
    let [a, b] = [&zero, &one].map(|f| f.alloc(64));
    ok(cuMemsetD32_v2(b, 7, 16));
    ok(cuMemcpyPeer(a, zero.context, b, one.context, 16));
    ok(cuMemcpyDtoD_v2(a + 16, b, 16));
    zero.enter();
    ok(cuMemcpy(a + 32, b, 16));
    ok(cuMemcpyPeerAsync(b + 60, one.context, a + 48, zero.context, 4, 0));
    let words = [a, a + 12, a + 28, a + 44, a + 48, b + 56, b + 60].map(word);
    assert_eq!(words, [7, 7, 7, 7, 0, 7, 0]);
    // Managed and pinned memory is everyone's.
    let managed = written(|out| cuMemAllocManaged(out, 64, 1));
    let mut host = 0_usize;
    ok(cuMemHostAlloc(at(&mut host), 64, 0));
    for f in [&zero, &one] {
        ok(f.add(managed, 3));
        ok(f.add(host as u64, 4));
    }
    assert_eq!((get(managed as usize), get(host)), (Ok(6_u32), Ok(8_u32)));
}

#[test]
fn each_device_has_memory_of_its_own() {
    run("peers::have_memory_of_their_own", "fast");
}

/// The bytes of a device that are free.
fn free(f: &Fixture) -> usize {
    f.enter();
    let mut counts = [0_usize; 2];
    ok(cuMemGetInfo_v2(at(&mut counts[0]), at(&mut counts[1])));
    assert_eq!(counts[1], MEMORY);
    counts[0]
}

#[test]
#[ignore = "run by the other test, with three devices"]
fn have_memory_of_their_own() {
    let [zero, one, two] = Fixture::all();
    let all = [&zero, &one, &two];
    let before = all.map(free);
    let large = 6 << 20;
    let data = all.map(|f| f.alloc(large));
    assert_eq!(all.map(free), before.map(|bytes| bytes - large));
    is(cuMemAlloc_v2(at(&mut 0_u64), large), Status::OUT_OF_MEMORY);
    // Memory is given back to its device, whichever is current.
    zero.enter();
    ok(cuMemFree_v2(data[2]));
    assert_eq!(all.map(free), [before[0] - large, before[1] - large, before[2]]);
    let used = [0, 1, 2].map(|device| {
        let mut status = DeviceStatus::zeroed();
        ok(simtlab_device(at(&mut status), device));
        get::<DeviceStatus>(address(&status)).unwrap().used as usize
    });
    assert_eq!(used, all.map(|f| MEMORY - free(f)));
    two.enter();
    let mut pool = CUmemPoolProps { allocType: 1, location: of(0), ..Abi::zeroed() };
    let pool = written(|out| cuMemPoolCreate(out, at(&mut pool)));
    is(cuMemAllocFromPoolAsync(at(&mut 0_u64), large, pool, 0), Status::OUT_OF_MEMORY);
    let mut physical = CUmemAllocationProp { r#type: 1, location: of(0), ..Abi::zeroed() };
    is(cuMemCreate(at(&mut 0_u64), 4 << 20, at(&mut physical), 0), Status::OUT_OF_MEMORY);
    physical.location = of(2);
    written(|out| cuMemCreate(out, 4 << 20, at(&mut physical), 0));
    is(cuMemCreate(at(&mut 0_u64), 4 << 20, at(&mut physical), 0), Status::OUT_OF_MEMORY);
}

fn of(device: i32) -> CUmemLocation {
    CUmemLocation { r#type: 1, id: device }
}

const NONE: i32 = 0;
const READWRITE: i32 = 3;

fn access(device: i32, flags: i32) -> CUmemAccessDesc {
    CUmemAccessDesc { location: of(device), flags }
}

#[test]
fn pools_and_mappings_have_access_of_their_own() {
    for engine in ["exact", "both"] {
        let said = run("peers::have_access_of_their_own", engine);
        assert!(said.contains("device 1 needs access to the pool or the mapping"), "{said}");
    }
}

#[test]
#[ignore = "run by the other test, with three devices"]
fn have_access_of_their_own() {
    let [zero, mut one, two] = Fixture::all();
    // Peer access does not matter to pools.
    one.enter();
    ok(cuCtxEnablePeerAccess(zero.context, 0));
    zero.enter();
    let pool = written(|out| cuDeviceGetDefaultMemPool(out, 0));
    let data = written(|out| cuMemAllocAsync(out, 64, 0));
    is(one.add(data, 1), Status::ILLEGAL_ADDRESS);
    one.renew();
    ok(cuMemPoolSetAccess(pool, at(&mut access(1, READWRITE)), 1));
    // It holds for memory that was allocated before and after.
    zero.enter();
    let later = written(|out| cuMemAllocAsync(out, 64, 0));
    ok(one.add(data, 2));
    ok(one.add(later, 3));
    assert_eq!([word(data), word(later)], [2, 3]);
    let flags = [0, 1, 2]
        .map(|device| written(|out| cuMemPoolGetAccess(out, pool, at(&mut of(device)))) as i32);
    assert_eq!(flags, [READWRITE, READWRITE, NONE]);
    // A stream of another device allocates memory of the pool's.
    let there = written(|out| cuMemAllocFromPoolAsync(out, 64, pool, 0));
    assert_eq!(written(|out| cuPointerGetAttribute(out, DEVICE_ORDINAL, there)), 0);
    ok(zero.add(there, 9));
    ok(cuMemPoolSetAccess(pool, at(&mut access(1, NONE)), 1));
    is(one.add(there, 1), Status::ILLEGAL_ADDRESS);
    one.renew();
    // Mappings: those devices alone that were named, also if they are not the memory's.
    let unit = 2 << 20;
    let mut physical = CUmemAllocationProp { r#type: 1, location: of(1), ..Abi::zeroed() };
    let handle = written(|out| cuMemCreate(out, unit, at(&mut physical), 0));
    let base = written(|out| cuMemAddressReserve(out, unit, 0, 0, 0));
    ok(cuMemMap(base, unit, 0, handle, 0));
    let mut list = [access(0, READWRITE), access(2, READWRITE)];
    ok(cuMemSetAccess(base, unit, at(&mut list), 2));
    for f in [&zero, &two] {
        ok(f.add(base, 5));
    }
    is(one.add(base, 1), Status::ILLEGAL_ADDRESS);
    one.renew();
    let mut list = [access(0, NONE), access(1, READWRITE)];
    ok(cuMemSetAccess(base, unit, at(&mut list), 2));
    ok(one.add(base, 6));
    assert_eq!(word(base), 16);
    let flags = [0, 1, 2]
        .map(|device| written(|out| cuMemGetAccess(out, at(&mut of(device)), base)) as i32);
    assert_eq!(flags, [NONE, READWRITE, READWRITE]);
    is(zero.add(base, 1), Status::ILLEGAL_ADDRESS);
}

const DEVICE_POINTER: i32 = 3;
const DEVICE_ORDINAL: i32 = 9;

#[test]
fn graphs_and_attributes_follow_devices() {
    run("peers::follow_devices", "both");
}

#[test]
#[ignore = "run by the other test, with three devices"]
fn follow_devices() {
    let [zero, one, two] = Fixture::all();
    zero.enter();
    // A graph allocates memory of device 1 that device 2 may access.
    let graph = written(|out| cuGraphCreate(out, 0));
    let mut allowed = access(2, READWRITE);
    let mut params = CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps { allocType: 1, location: of(1), ..Abi::zeroed() },
        accessDescs: at(&mut allowed),
        accessDescCount: 1,
        bytesize: 64,
        dptr: 0,
    };
    written(|out| cuGraphAddMemAllocNode(out, graph, 0, 0, at(&mut params)));
    let data = get::<CUDA_MEM_ALLOC_NODE_PARAMS>(address(&params)).unwrap().dptr;
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    ok(cuGraphLaunch(exec, 0));
    ok(one.add(data, 1));
    ok(two.add(data, 2));
    assert_eq!(word(data), 3);
    assert_eq!(written(|out| cuPointerGetAttribute(out, DEVICE_ORDINAL, data)), 1);
    // The current context decides whether there is a pointer for kernels.
    assert_eq!(written(|out| cuPointerGetAttribute(out, DEVICE_POINTER, data)), data);
    zero.enter();
    let mut out = 0_u64;
    is(cuPointerGetAttribute(at(&mut out), DEVICE_POINTER, data), Status::INVALID_VALUE);
    let own = zero.alloc(64);
    assert_eq!(written(|out| cuPointerGetAttribute(out, DEVICE_POINTER, own)), own);
    is(zero.add(data, 1), Status::ILLEGAL_ADDRESS);
}
