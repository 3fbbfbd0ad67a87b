//! Work that waits: for the host, for other streams, for values of memory.

use std::time::{Duration, Instant};

use cuda::Status;
use cuda::exports::callbacks::*;
use cuda::exports::code::*;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::graphs::*;
use cuda::exports::memory::*;

use crate::common::{at, count, is, ok, written};

/// `answer` waits `rounds` times until the first word is the number of the round, and then sets the
/// second word to it. `add` adds to a word.
const PTX: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .entry answer(.param .u64 words, .param .u32 rounds) {
        .reg .b32 %v, %r, %n; .reg .b64 %a; .reg .pred %p;
        ld.param.u64 %a, [words];
        ld.param.u32 %n, [rounds];
        mov.u32 %r, 0;
    next:
        add.u32 %r, %r, 1;
    look:
        ld.volatile.global.u32 %v, [%a];
        setp.ne.u32 %p, %v, %r;
        @%p bra look;
        st.volatile.global.u32 [%a+4], %r;
        setp.lt.u32 %p, %r, %n;
        @%p bra next;
        ret;
    }
    .visible .entry add(.param .u64 data, .param .u32 more) {
        .reg .b32 %v, %m; .reg .b64 %a;
        ld.param.u64 %a, [data];
        ld.param.u32 %m, [more];
        ld.global.u32 %v, [%a];
        add.u32 %v, %v, %m;
        st.global.u32 [%a], %v;
        ret;
    }\0";

const NON_BLOCKING: u32 = 1;

/// A context with the kernels, two streams, and two words that the host sees, too.
struct Fixture {
    context: u64,
    answer: u64,
    add: u64,
    streams: [u64; 2],
    words: u64,
}

impl Fixture {
    fn new(flags: u32) -> Self {
        ok(cuInit(0));
        let context = written(|out| cuCtxCreate_v2(out, 0, 0));
        let module = written(|out| cuModuleLoadData(out, PTX.as_ptr().addr()));
        let [answer, add] = [c"answer", c"add"]
            .map(|name| written(|out| cuModuleGetFunction(out, module, name.as_ptr().addr())));
        let streams = [(); 2].map(|()| written(|out| cuStreamCreate(out, flags)));
        let words = written(|out| cuMemAllocManaged(out, 64, 1));
        Self { context, answer, add, streams, words }
    }

    /// Launches `answer` on words.
    fn answer(&self, stream: u64, words: u64, rounds: u32) -> i32 {
        let (mut words, mut rounds) = (words, rounds);
        let mut params = [at(&mut words), at(&mut rounds)];
        cuLaunchKernel(self.answer, 1, 1, 1, 1, 1, 1, 0, stream, at(&mut params), 0)
    }

    /// Adds to the word at an address.
    fn add(&self, stream: u64, data: u64, more: u32) -> i32 {
        let (mut data, mut more) = (data, more);
        let mut params = [at(&mut data), at(&mut more)];
        cuLaunchKernel(self.add, 1, 1, 1, 1, 1, 1, 0, stream, at(&mut params), 0)
    }

    /// The host's view of a word.
    fn word(&self, index: u64) -> u32 {
        cuda_abi::host::get((self.words + 4 * index) as usize).unwrap()
    }

    fn set_word(&self, index: u64, value: u32) {
        cuda_abi::host::put((self.words + 4 * index) as usize, &value).unwrap();
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        ok(cuCtxDestroy_v2(self.context));
    }
}

/// Waits until something holds, without a call of the driver.
#[track_caller]
fn until(holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it never holds");
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_kernel_and_the_host_alternate() {
    let f = Fixture::new(0);
    let [stream, _] = f.streams;
    ok(f.answer(stream, f.words, 5));
    is(cuStreamQuery(stream), Status::NOT_READY);
    for round in 1..=5 {
        // The host writes beside the word of the kernel.
        f.set_word(2, round);
        f.set_word(0, round);
        until(|| f.word(1) == round);
    }
    ok(cuStreamSynchronize(stream));
    assert_eq!((f.word(2), f.word(1)), (5, 5));
    ok(cuStreamQuery(stream));
}

#[test]
fn a_library_ends_after_its_kernels() {
    let f = Fixture::new(0);
    let [stream, _] = f.streams;
    let library = written(|out| cuLibraryLoadData(out, PTX.as_ptr().addr(), 0, 0, 0, 0, 0, 0));
    let answer = written(|out| cuLibraryGetKernel(out, library, c"answer".as_ptr().addr()));
    let (mut words, mut rounds) = (f.words, 1_u32);
    let mut params = [at(&mut words), at(&mut rounds)];
    ok(cuLaunchKernel(answer, 1, 1, 1, 1, 1, 1, 0, stream, at(&mut params), 0));
    is(cuStreamQuery(stream), Status::NOT_READY);
    let unloads = std::thread::spawn(move || cuLibraryUnload(library));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!unloads.is_finished());
    f.set_word(0, 1);
    ok(unloads.join().unwrap());
    ok(cuStreamSynchronize(stream));
    assert_eq!(f.word(1), 1);
}

#[test]
fn work_after_a_waiting_kernel_waits() {
    let f = Fixture::new(0);
    let [stream, other] = f.streams;
    let data = written(|out| cuMemAlloc_v2(out, 4));
    ok(cuMemsetD32_v2(data, 0, 1));
    let (event, later) =
        (written(|out| cuEventCreate(out, 0)), written(|out| cuEventCreate(out, 0)));
    ok(f.answer(stream, f.words, 1));
    ok(f.add(stream, data, 1));
    ok(cuEventRecord(event, stream));
    // The other stream waits for the event, and a call of the host for all of that.
    ok(cuStreamWaitEvent(other, event, 0));
    ok(f.add(other, data, 10));
    ok(cuLaunchHostFunc(other, count as *const () as usize, (f.words + 12) as usize));
    ok(cuEventRecord(later, other));
    is(cuEventQuery(later), Status::NOT_READY);
    is(cuStreamQuery(other), Status::NOT_READY);
    let mut time = 0_f32;
    is(cuEventElapsedTime(at(&mut time), event, later), Status::NOT_READY);
    // A stream that waits for no other goes on.
    let free = written(|out| cuStreamCreate(out, NON_BLOCKING));
    let seen = written(|out| cuMemAlloc_v2(out, 4));
    ok(cuMemsetD32Async(seen, 9, 1, free));
    ok(cuMemcpyDtoDAsync_v2(f.words + 16, data, 4, free));
    ok(cuStreamSynchronize(free));
    assert_eq!((f.word(4), f.word(3)), (0, 0));
    f.set_word(0, 1);
    ok(cuEventSynchronize(later));
    assert_eq!(f.word(3), 1);
    ok(cuEventElapsedTime(at(&mut time), event, later));
    let mut sum = 0_u32;
    // A copy that returns when it is done.
    ok(cuMemcpyDtoH_v2(at(&mut sum), data, 4));
    assert_eq!(*std::hint::black_box(&sum), 11);
}

#[test]
fn the_null_stream_and_blocking_streams_wait_for_each_other() {
    let f = Fixture::new(0);
    let [stream, other] = f.streams;
    ok(f.answer(stream, f.words, 1));
    // Behind the null stream's work, another blocking stream waits, too.
    ok(f.add(0, f.words + 8, 1));
    ok(f.add(other, f.words + 12, 1));
    let free = written(|out| cuStreamCreate(out, NON_BLOCKING));
    ok(f.add(free, f.words + 16, 1));
    ok(cuStreamSynchronize(free));
    assert_eq!([2, 3, 4].map(|i| f.word(i)), [0, 0, 1]);
    f.set_word(0, 1);
    ok(cuCtxSynchronize());
    assert_eq!([2, 3, 4].map(|i| f.word(i)), [1, 1, 1]);
}

#[test]
fn a_stream_releases_a_waiting_kernel() {
    let f = Fixture::new(NON_BLOCKING);
    let [stream, other] = f.streams;
    let words = written(|out| cuMemAlloc_v2(out, 8));
    ok(cuMemsetD32_v2(words, 0, 2));
    ok(f.answer(stream, words, 2));
    ok(cuStreamWriteValue32(other, words, 1, 0));
    // What the kernel answers is what the other stream waits for.
    ok(cuStreamWaitValue32(other, words + 4, 1, 1));
    ok(cuStreamWriteValue32(other, words, 2, 0));
    ok(cuStreamSynchronize(stream));
    ok(cuStreamSynchronize(other));
    let mut answer = 0_u32;
    ok(cuMemcpyDtoH_v2(at(&mut answer), words + 4, 4));
    assert_eq!(*std::hint::black_box(&answer), 2);
}

#[test]
fn streams_wait_for_values() {
    const AT_LEAST: u32 = 0;
    const EQUAL: u32 = 1;
    const AND: u32 = 2;
    const NOR: u32 = 3;
    let f = Fixture::new(NON_BLOCKING);
    let [stream, _] = f.streams;
    let minus = |n: u32| 0_u32.wrapping_sub(n);
    for (first, wanted, flags, then) in [
        (4, 5, AT_LEAST, 5),
        (minus(3), 2, AT_LEAST, 100),
        (4, 5, EQUAL, 5),
        (0b0101, 0b1010, AND, 0b0111),
        (u32::MAX, 0, NOR, minus(2)),
    ] {
        f.set_word(0, first);
        ok(cuStreamWaitValue32(stream, f.words, wanted, flags));
        is(cuStreamQuery(stream), Status::NOT_READY);
        f.set_word(0, then);
        ok(cuStreamSynchronize(stream));
        // What holds already is not settled for.
        ok(cuStreamWaitValue32(stream, f.words, wanted, flags));
        ok(cuStreamQuery(stream));
    }
    // A batch: a write, a wait for it, and a wait for the host.
    let operation =
        |kind: u64, address: u64, value: u64, flags: u64| [kind, address, value, flags, 0, 0];
    let mut batch = [
        operation(5, f.words + 8, 7 << 32 | 1, 0),
        operation(4, f.words + 8, 7 << 32 | 1, 1),
        operation(6, 0, 0, 0),
        operation(1, f.words, 77, 1),
        operation(2, f.words + 16, 5, 0),
    ];
    f.set_word(0, 0);
    ok(cuStreamBatchMemOp(stream, 5, at(&mut batch), 0));
    assert_eq!([2, 3, 4].map(|i| f.word(i)), [1, 7, 0]);
    f.set_word(0, 77);
    ok(cuStreamSynchronize(stream));
    assert_eq!(f.word(4), 5);
    let invalid = Status::INVALID_VALUE;
    is(cuStreamWaitValue32(stream, f.words + 2, 0, 0), invalid);
    is(cuStreamWaitValue32(stream, f.words, 0, 4), invalid);
    is(cuStreamWaitValue64(stream, f.words + 4, 0, 0), invalid);
    is(cuStreamWaitValue32(stream, 64, 0, 0), invalid);
    is(cuStreamBatchMemOp(stream, 1, at(&mut operation(99, f.words, 0, 0)), 0), invalid);
    is(cuStreamBatchMemOp(stream, 257, at(&mut batch), 0), invalid);
}

#[test]
fn graphs_with_waiting_kernels_run_in_order() {
    let f = Fixture::new(NON_BLOCKING);
    let [stream, other] = f.streams;
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(f.add(stream, f.words + 8, 1));
    ok(f.answer(stream, f.words, 1));
    ok(cuLaunchHostFunc(stream, count as *const () as usize, (f.words + 12) as usize));
    ok(f.add(stream, f.words + 8, 10));
    let graph = written(|out| cuStreamEndCapture(stream, out));
    let exec = written(|out| cuGraphInstantiateWithFlags(out, graph, 0));
    ok(cuGraphLaunch(exec, other));
    ok(cuGraphLaunch(exec, other));
    assert_eq!([2, 3].map(|i| f.word(i)), [1, 0]);
    f.set_word(0, 1);
    ok(cuStreamSynchronize(other));
    assert_eq!([2, 3].map(|i| f.word(i)), [22, 2]);
}

#[test]
fn memory_is_freed_after_its_last_use() {
    let f = Fixture::new(0);
    let [stream, _] = f.streams;
    let memory = written(|out| cuMemAllocAsync(out, 4, stream));
    ok(cuMemsetD32Async(memory, 3, 1, stream));
    ok(f.answer(stream, f.words, 1));
    ok(cuMemcpyDtoDAsync_v2(f.words + 8, memory, 4, stream));
    ok(cuMemFreeAsync(memory, stream));
    let (pinned, words) = (written(|out| cuMemHostAlloc(out, 4096, 0)), f.words);
    let waker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        cuda_abi::host::put(words as usize, &1_u32).unwrap();
    });
    // The call waits for all work.
    ok(cuMemFreeHost(pinned as usize));
    waker.join().unwrap();
    assert_eq!(f.word(2), 3);
    is(cuMemFree_v2(memory), Status::INVALID_VALUE);
}

#[test]
fn batches_are_copied_in_stream_order() {
    let f = Fixture::new(NON_BLOCKING);
    let [stream, _] = f.streams;
    let data = written(|out| cuMemAlloc_v2(out, 8));
    [1, 2].iter().zip(8_u64..).for_each(|(&value, index)| f.set_word(index, value));
    let mut to = [data, data + 4, f.words];
    let mut from = [f.words + 32, f.words + 36, data + 4];
    let mut sizes = [4_u64; 3];
    let (mut attributes, mut indices) = ([0_u64; 8], [0_u64, 2]);
    let mut failed = 9_u64;
    let mut batch = |count, indices: &mut [u64; 2], number, stream| {
        let (to, from, sizes) = (at(&mut to), at(&mut from), at(&mut sizes));
        let (list, out) = (at(&mut attributes), at(&mut failed));
        let end =
            cuMemcpyBatchAsync(to, from, sizes, count, list, at(indices), number, out, stream);
        (Status(end), *std::hint::black_box(&failed))
    };
    assert_eq!(batch(3, &mut indices, 2, stream), (Status::SUCCESS, u64::MAX));
    assert_eq!(f.word(0), 2);
    let invalid = (Status::INVALID_VALUE, u64::MAX);
    assert_eq!(batch(0, &mut indices, 2, stream), invalid);
    assert_eq!(batch(3, &mut indices, 2, 0), invalid);
    assert_eq!(batch(2, &mut indices, 2, stream), invalid);
    assert_eq!(batch(3, &mut [2, 0], 2, stream), invalid);
    sizes = [4, 0, 4];
    let lists = [at(&mut to), at(&mut from), at(&mut sizes), at(&mut attributes)];
    let (index, out) = (at(&mut indices), at(&mut failed));
    let end = cuMemcpyBatchAsync(lists[0], lists[1], lists[2], 3, lists[3], index, 1, out, stream);
    assert_eq!((Status(end), *std::hint::black_box(&failed)), (Status::INVALID_VALUE, 1));
}

#[test]
fn attributes_of_streams_are_kept() {
    const PRIORITY: i32 = 8;
    const POLICY: i32 = 3;
    let f = Fixture::new(NON_BLOCKING);
    let [stream, other] = f.streams;
    let mut value = [0_u32; 16];
    ok(cuStreamGetAttribute(stream, POLICY, at(&mut value)));
    assert_eq!(std::hint::black_box(&value)[0], 1);
    value[0] = 2;
    ok(cuStreamSetAttribute(stream, POLICY, at(&mut value)));
    value[0] = 0_u32.wrapping_sub(3);
    ok(cuStreamSetAttribute(stream, PRIORITY, at(&mut value)));
    ok(cuStreamCopyAttributes(other, stream));
    let mut priority = 0_i32;
    ok(cuStreamGetPriority(other, at(&mut priority)));
    ok(cuStreamGetAttribute(other, POLICY, at(&mut value)));
    assert_eq!((*std::hint::black_box(&priority), std::hint::black_box(&value)[0]), (-3, 2));
    is(cuStreamGetAttribute(stream, 99, at(&mut value)), Status::INVALID_VALUE);
    is(cuStreamSetAttribute(stream, 2, at(&mut value)), Status::INVALID_VALUE);
}
