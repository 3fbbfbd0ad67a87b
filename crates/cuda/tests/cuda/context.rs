//! The state that a context keeps between calls: memory, its device heap, modules with unusable
//! parts, workspaces of grids.

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda::Status;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::memory::*;
use cuda_abi::{Abi, CUmemLocation, CUmemPoolProps};

use crate::common::memory::alloc;
use crate::common::{at, is, ok, run_alone, settled, written};

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// Serialises tests of this file.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a context, which becomes this thread's current one.
fn context() -> u64 {
    ok(cuInit(0));
    let mut context = 0_u64;
    ok(cuCtxCreate_v2(at(&mut context), 0, 0));
    context
}

fn module(text: &str) -> u64 {
    let text = format!("{HEAD}{text}\0");
    let mut module = 0_u64;
    ok(cuModuleLoadData(at(&mut module), text.as_ptr().addr()));
    module
}

fn function(module: u64, name: &CStr) -> u64 {
    let mut function = 0_u64;
    ok(cuModuleGetFunction(at(&mut function), module, name.as_ptr().addr()));
    function
}

fn read(address: u64, len: usize) -> Vec<u32> {
    let mut out = vec![0_u32; len];
    ok(cuMemcpyDtoH_v2(out.as_mut_ptr().addr(), address, 4 * len));
    out
}

/// Launches one thread with the address of an eight-byte word.
fn launch(function: u64, mut word: u64) -> i32 {
    let mut params = [at(&mut word)];
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, at(&mut params), 0)
}

/// The parameters of `cuCtxCreate` since version 13.
#[repr(C)]
#[derive(Default)]
struct CreateParams {
    affinities: usize,
    count: i32,
    graphics: usize,
}

#[test]
fn memory_whose_address_cannot_be_written_is_freed() {
    run_alone("context::is_freed", &[]);
}

#[test]
#[ignore = "started by another test, alone in its process"]
fn is_freed() {
    let context = context();
    let left = || {
        let mut free = 0_u64;
        ok(cuMemGetInfo_v2(at(&mut free), 0));
        free
    };
    let (before, nowhere, mut address) = (left(), 8, 0_u64);
    is(cuMemAlloc_v2(nowhere, 1 << 20), Status::INVALID_VALUE);
    is(cuMemAllocManaged(nowhere, 1 << 20, 1), Status::INVALID_VALUE);
    is(cuMemAllocPitch_v2(at(&mut address), nowhere, 1 << 10, 1 << 10, 4), Status::INVALID_VALUE);
    is(cuMemAllocPitch_v2(nowhere, at(&mut address), 1 << 10, 1 << 10, 4), Status::INVALID_VALUE);
    is(cuMemAllocAsync(nowhere, 1 << 20, 0), Status::INVALID_VALUE);
    assert_eq!(left(), before);
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn contexts_are_created_with_parameters_that_ask_for_nothing() {
    let _alone = alone();
    ok(cuInit(0));
    let (mut context, mut params) = (0_u64, CreateParams::default());
    ok(cuCtxCreate_v4(at(&mut context), 0, 0, 0));
    ok(cuCtxDestroy_v2(context));
    ok(cuCtxCreate_v4(at(&mut context), at(&mut params), 0, 0));
    let mut data = 0_u64;
    ok(cuMemAlloc_v2(at(&mut data), 64));
    ok(cuCtxDestroy_v2(context));
    params.count = 1;
    is(cuCtxCreate_v4(at(&mut context), at(&mut params), 0, 0), Status::INVALID_VALUE);
    params = CreateParams { graphics: 64, ..CreateParams::default() };
    is(cuCtxCreate_v4(at(&mut context), at(&mut params), 0, 0), Status::NOT_SUPPORTED);
    is(cuCtxCreate_v4(at(&mut context), 64, 0, 0), Status::INVALID_VALUE);
}

#[test]
fn large_allocations_begin_with_large_pages() {
    let _alone = alone();
    const LARGE: u64 = 2 << 20;
    let ctx = context();
    // A small allocation before each, so that none is aligned by chance.
    for len in [2 << 20, (2 << 20) + 1, 5 << 20] {
        alloc(100);
        assert_eq!(alloc(len) % LARGE, 0, "{len}");
        let (mut from_pool, mut managed) = (0_u64, 0_u64);
        ok(cuMemAllocAsync(at(&mut from_pool), len, 0));
        assert_eq!(from_pool % LARGE, 0, "{len}");
        ok(cuMemAllocManaged(at(&mut managed), len, 1));
        assert_eq!(managed % LARGE, 0, "{len}");
        // The last byte is mapped and zero.
        let mut last = 1_u8;
        ok(cuMemcpyDtoH_v2(at(&mut last), managed + len as u64 - 1, 1));
        assert_eq!(std::hint::black_box(last), 0);
        ok(cuMemFree_v2(managed));
    }
    assert_eq!(alloc((2 << 20) - 1) % 256, 0);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn pools_of_places_are_those_of_devices() {
    let _alone = alone();
    let ctx = context();
    let pool_at = |kind: i32, place: CUmemLocation| {
        let (mut place, mut pool) = (place, 0_u64);
        (cuMemGetDefaultMemPool(at(&mut pool), at(&mut place), kind), std::hint::black_box(pool))
    };
    let device = CUmemLocation { r#type: 1, id: 0 };
    let default = written(|out| cuDeviceGetDefaultMemPool(out, 0));
    assert_eq!(pool_at(1, device), (Status::SUCCESS.0, default));
    assert_eq!(pool_at(1, CUmemLocation { r#type: 1, id: 99 }).0, Status::INVALID_DEVICE.0);
    assert_eq!(pool_at(1, CUmemLocation { r#type: 2, id: 0 }).0, Status::NOT_SUPPORTED.0);
    assert_eq!(pool_at(2, device).0, Status::NOT_SUPPORTED.0);
    let mut properties = CUmemPoolProps { allocType: 1, location: device, ..Abi::zeroed() };
    let own = written(|out| cuMemPoolCreate(out, at(&mut properties)));
    let mut place = device;
    ok(cuMemSetMemPool(at(&mut place), 1, own));
    assert_eq!(written(|out| cuMemGetMemPool(out, at(&mut place), 1)), own);
    assert_eq!(written(|out| cuDeviceGetMemPool(out, 0)), own);
    ok(cuMemSetMemPool(at(&mut place), 1, default));
    ok(cuMemPoolDestroy(own));
    is(cuMemGetMemPool(0, at(&mut place), 1), Status::INVALID_VALUE);
    is(cuMemGetMemPool(64, 0, 1), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(ctx));
}

const HEAP: &str = "
    .extern .func (.param .b64 r) malloc (.param .b64 size);
    .extern .func free (.param .b64 p);
    .visible .entry make(.param .u64 at) {
        .reg .b64 %a, %p; .reg .b32 %v;
        ld.param.u64 %a, [at];
        { .param .b64 size; .param .b64 r; st.param.b64 [size], 16;
          call.uni (r), malloc, (size); ld.param.b64 %p, [r]; }
        st.global.u32 [%p], 7;
        st.global.u64 [%a], %p;
        ret;
    }
    .visible .entry use(.param .u64 at) {
        .reg .b64 %a, %p; .reg .b32 %v;
        ld.param.u64 %a, [at];
        ld.global.u64 %p, [%a];
        ld.global.u32 %v, [%p];
        add.u32 %v, %v, 1;
        st.global.u32 [%p], %v;
        ret;
    }
    .visible .entry drop(.param .u64 at) {
        .reg .b64 %a, %p;
        ld.param.u64 %a, [at];
        ld.global.u64 %p, [%a];
        { .param .b64 p; st.param.b64 [p], %p; call.uni free, (p); }
        ret;
    }";

#[test]
fn blocks_of_the_device_heap_outlive_their_launch() {
    let _alone = alone();
    let ctx = context();
    let module = module(HEAP);
    let [make, uses, drop] = [c"make", c"use", c"drop"].map(|name| function(module, name));
    let word = alloc(8);
    for _ in 0..3 {
        ok(launch(make, word));
        ok(launch(uses, word));
        // A kernel of another module can free the memory, too.
        let other = self::module(HEAP);
        ok(launch(function(other, c"drop"), word));
        ok(cuModuleUnload(other));
    }
    // The whole heap can be allocated repeatedly: nothing leaks.
    let mut limit = 0_u64;
    ok(cuCtxGetLimit(at(&mut limit), 2));
    assert_eq!(limit, 8 << 20);
    is(cuCtxSetLimit(2, 4096), Status::INVALID_VALUE);
    // Memory that an earlier launch has freed cannot be freed again.
    is(settled(launch(drop, word)), Status::LAUNCH_FAILED);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn the_device_heap_finds_a_use_after_a_launch_that_freed() {
    let _alone = alone();
    let ctx = context();
    let module = module(HEAP);
    let [make, uses, drop] = [c"make", c"use", c"drop"].map(|name| function(module, name));
    let word = alloc(8);
    ok(launch(make, word));
    ok(launch(drop, word));
    is(settled(launch(uses, word)), Status::ILLEGAL_ADDRESS);
    ok(cuCtxDestroy_v2(ctx));
}

#[test]
fn the_device_heap_has_its_limit_and_ends_with_its_context() {
    run_alone("context::has_its_limit_and_ends_with_its_context", &[]);
}

#[test]
#[ignore = "started by another test, alone in its process"]
fn has_its_limit_and_ends_with_its_context() {
    let ctx = context();
    let (mut free, mut left) = (0_usize, 0_usize);
    ok(cuMemGetInfo_v2(at(&mut free), 0));
    ok(cuCtxSetLimit(2, 32));
    let kernels = module(HEAP);
    let make = function(kernels, c"make");
    let word = alloc(8);
    ok(launch(make, word));
    let first = read(word, 2);
    ok(launch(make, word));
    assert_ne!(read(word, 2), first);
    // There is no room for a third allocation: the kernel gets a null pointer and stores to it.
    is(settled(launch(make, word)), Status::ILLEGAL_ADDRESS);
    ok(cuCtxDestroy_v2(ctx));
    let next = context();
    ok(cuMemGetInfo_v2(at(&mut left), 0));
    assert_eq!(std::hint::black_box(left), free);
    // Another context has a heap of its own.
    let kernels = module(HEAP);
    let word = alloc(8);
    ok(launch(function(kernels, c"make"), word));
    ok(launch(function(kernels, c"drop"), word));
    ok(cuCtxDestroy_v2(next));
}

/// Variables remain usable whether a kernel names them or not, and so do functions whose addresses
/// they hold. Definitions that need an unsupported one are unusable.
#[test]
fn a_kernel_that_cannot_run_leaves_the_rest_of_its_module() {
    let _alone = alone();
    let ctx = context();
    let module = module(
        ".func (.reg .b32 %r) f() { mov.u32 %r, 7; ret; }
        .func (.reg .b32 %r) g() { nonsense.b32 %r; ret; }
        .visible .global .u64 pf = f;
        .visible .global .u64 pg = g;
        .visible .global .u64 both[2] = { f, g };
        .visible .const .u32 alone = 9;
        .visible .entry bad() { .reg .b32 %r; nonsense.b32 %r; ret; }
        .visible .entry worse() { .reg .b64 %a; ld.global.u64 %a, [pg]; ret; }
        .visible .entry good(.param .u64 at) {
            .reg .b32 %v; .reg .b64 %a, %f;
            ld.param.u64 %a, [at];
            ld.global.u64 %f, [pf];
            proto: .callprototype (.reg .b32 _) _ ();
            call (%v), %f, (), proto;
            st.global.u32 [%a], %v;
            ret;
        }",
    );
    let (mut address, mut len) = (0_u64, 0_u64);
    let mut global = |name: &CStr| {
        cuModuleGetGlobal_v2(at(&mut address), at(&mut len), module, name.as_ptr().addr())
    };
    ok(global(c"pf"));
    is(global(c"pg"), Status::NOT_SUPPORTED);
    is(global(c"both"), Status::NOT_SUPPORTED);
    is(global(c"neither"), Status::NOT_FOUND);
    ok(global(c"alone"));
    assert_eq!((read(address, 1), std::hint::black_box(len)), (vec![9], 4));
    let word = alloc(4);
    ok(launch(function(module, c"good"), word));
    assert_eq!(read(word, 1), [7]);
    for name in [c"bad", c"worse"] {
        let name = name.as_ptr().addr();
        is(cuModuleGetFunction(at(&mut address), module, name), Status::NOT_SUPPORTED);
    }
    ok(cuCtxDestroy_v2(ctx));
}

/// `this_grid().sync()` as in CUDA's cooperative groups header: the second word of the workspace is
/// the barrier, and the last block to arrive flips its highest bit. Without a workspace, it traps.
const GRID: &str = "
    .func sync() {
        .reg .pred %p; .reg .b32 %hi, %lo, %x, %y, %z, %n, %old, %now; .reg .b64 %a, %h;
        mov.u32 %hi, %envreg1; mov.u32 %lo, %envreg2;
        cvt.u64.u32 %a, %lo; cvt.u64.u32 %h, %hi; shl.b64 %h, %h, 32; or.b64 %a, %a, %h;
        setp.ne.u64 %p, %a, 0;
        @%p bra there;
        trap;
    there:
        bar.sync 0;
        mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %tid.z;
        add.u32 %x, %x, %y; add.u32 %x, %x, %z;
        setp.ne.u32 %p, %x, 0;
        @%p bra all;
        mov.u32 %x, %nctaid.x; mov.u32 %y, %nctaid.y; mov.u32 %z, %nctaid.z;
        mul.lo.u32 %n, %x, %y; mul.lo.u32 %n, %n, %z;
        sub.u32 %n, %n, 1; sub.u32 %n, 0x80000000, %n;
        mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z;
        add.u32 %x, %x, %y; add.u32 %x, %x, %z;
        setp.eq.u32 %p, %x, 0;
        selp.b32 %n, %n, 1, %p;
        atom.add.release.gpu.u32 %old, [%a+4], %n;
    again:
        ld.acquire.gpu.u32 %now, [%a+4];
        xor.b32 %now, %now, %old;
        setp.ge.s32 %p, %now, 0;
        @%p bra again;
    all:
        bar.sync 0;
        ret;
    }
    // In each round, a block's 96 threads add 1 to its word, and compare it with the block before.
    .visible .entry rounds(.param .u64 at) {
        .reg .pred %p; .reg .b32 %b, %n, %r, %v, %w; .reg .b64 %a, %from, %to;
        ld.param.u64 %a, [at];
        mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x;
        mul.wide.u32 %to, %b, 4; add.u64 %to, %to, %a;
        add.u32 %v, %b, %n; sub.u32 %v, %v, 1; rem.u32 %v, %v, %n;
        mul.wide.u32 %from, %v, 4; add.u64 %from, %from, %a;
        mov.u32 %r, 0;
    next:
        ld.volatile.global.u32 %v, [%from];
        call.uni sync, ();
        atom.global.add.u32 %w, [%to], 1;
        call.uni sync, ();
        ld.volatile.global.u32 %w, [%to];
        // All 96 threads of all blocks have added in every round so far.
        add.u32 %v, %v, 96;
        setp.eq.u32 %p, %v, %w;
        @%p bra good;
        trap;
    good:
        call.uni sync, ();
        add.u32 %r, %r, 1;
        setp.lt.u32 %p, %r, 5;
        @%p bra next;
        ret;
    }";

#[test]
fn grids_of_cooperative_launches_have_a_workspace() {
    let _alone = alone();
    let ctx = context();
    let module = module(GRID);
    let kernel = function(module, c"rounds");
    let words = alloc(4 * 200);
    let cooperative = |blocks: u32, threads: u32| {
        let mut at_words = words;
        let mut params = [at(&mut at_words)];
        cuLaunchCooperativeKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, 0, at(&mut params))
    };
    // Several launches of different sizes.
    for blocks in [1, 2, 7, 100, 3, 200] {
        ok(cuMemsetD32_v2(words, 0, 200));
        ok(cooperative(blocks, 96));
        assert!(read(words, blocks as usize).iter().all(|&sum| sum == 5 * 96), "{blocks}");
    }
    // More blocks than the device holds at once.
    let mut per = 0_i32;
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(at(&mut per), kernel, 96, 0));
    let mut processors = 0_i32;
    ok(cuDeviceGetAttribute(at(&mut processors), 16, 0));
    let most = (std::hint::black_box(per) * std::hint::black_box(processors)) as u32;
    is(cooperative(most + 1, 96), Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    is(cooperative(1, 2000), Status::INVALID_VALUE);
    // An ordinary launch has no workspace.
    is(settled(launch(kernel, words)), Status::LAUNCH_FAILED);
    ok(cuCtxDestroy_v2(ctx));
}
