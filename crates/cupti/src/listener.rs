//! What the driver tells: it becomes records and calls of the client.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_abi::host::{Ptr, get, get_bytes};
use cuda_abi::{
    CUmemorytype, DriverEvent, EVENT_COPY, EVENT_DRIVER_BEGINS, EVENT_DRIVER_ENDS, EVENT_FILL,
    EVENT_KERNEL, EVENT_MANAGED, EVENT_PINNED, EVENT_RUNTIME_BEGINS, EVENT_RUNTIME_ENDS,
};
use culibs::driver::simtlab_listen;

use crate::names::{DRIVER, Names, RUNTIME, kept};
use crate::records::*;
use crate::state::{State, with};
use crate::status::{Outcome, Status};
use crate::{activity, callbacks, client, operations};

/// A call that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) domain: u32,
    /// The function's number; 0 if it has none, and is not told.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) correlation: u32,
    pub(crate) start: u64,
}

thread_local! {
    /// This thread's calls of the driver or the runtime. The client's function, which is told of
    /// one, may make another.
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread is in a function of the client that this library has called.
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
    /// Whether the thread asks the driver something for a record.
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// Asks the driver something, of which nothing is recorded. The state must not be locked.
pub(crate) fn asking<T>(body: impl FnOnce() -> T) -> T {
    let before = ASKS.replace(true);
    let answer = body();
    ASKS.set(before);
    answer
}

/// Has the driver tell what happens, as long as somebody wants to hear of it.
pub(crate) fn update() -> Outcome {
    let listens = with(|state| state.listens());
    let function = if listens { heard as *const () as Ptr } else { 0 };
    simtlab_listen(function).map_err(|_| Status::NOT_INITIALIZED)
}

/// The function that the driver calls.
extern "C" fn heard(event: Ptr) -> u64 {
    catch_unwind(AssertUnwindSafe(|| hear(event))).unwrap_or(0)
}

fn hear(event: Ptr) -> u64 {
    if ASKS.get() {
        return 0;
    }
    let now = activity::now();
    let Ok(event) = get::<DriverEvent>(event) else { return now };
    match event.what {
        EVENT_DRIVER_BEGINS => begins(&event, CUPTI_CB_DOMAIN_DRIVER_API, &DRIVER, now),
        EVENT_RUNTIME_BEGINS => begins(&event, CUPTI_CB_DOMAIN_RUNTIME_API, &RUNTIME, now),
        EVENT_DRIVER_ENDS | EVENT_RUNTIME_ENDS => ends(&event, now),
        EVENT_KERNEL => with(|state| kernel(state, &event, now)),
        EVENT_COPY => with(|state| copy(state, &event, now)),
        EVENT_FILL => with(|state| fill(state, &event, now)),
        _ => {}
    }
    now
}

fn name(event: &DriverEvent) -> String {
    let mut bytes = vec![0; event.name_len.min(1 << 16)];
    // The driver's own text can be read.
    let _ = get_bytes(event.name, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Calls functions of the client, unless one of them makes the call in question.
fn outside(body: impl FnOnce()) {
    if !IS_CALLED.replace(true) {
        body();
        IS_CALLED.set(false);
    }
}

fn begins(event: &DriverEvent, domain: u32, names: &Names, now: u64) {
    let name = name(event);
    let number = names.number(&name);
    let call = Call { domain, number, name, correlation: event.correlation, start: now };
    with(|state| activity::correlate(state, event.correlation));
    CALLS.with_borrow_mut(|calls| calls.push(call.clone()));
    outside(|| callbacks::tell(&call, event, CUPTI_API_ENTER));
}

fn ends(event: &DriverEvent, now: u64) {
    let Some(call) = CALLS.with_borrow_mut(Vec::pop) else { return };
    outside(|| callbacks::tell(&call, event, CUPTI_API_EXIT));
    let kind = match call.domain {
        CUPTI_CB_DOMAIN_DRIVER_API => CUPTI_ACTIVITY_KIND_DRIVER,
        _ => CUPTI_ACTIVITY_KIND_RUNTIME,
    };
    with(|state| {
        let is_silent = call.number == 0 || state.silent.contains(&(kind, call.number));
        if state.kinds.contains(&kind) && !is_silent {
            let record = Api {
                kind,
                cbid: call.number,
                start: call.start,
                end: now,
                processId: std::process::id(),
                threadId: client::thread(),
                correlationId: call.correlation,
                returnValue: event.status.cast_unsigned(),
            };
            state.push(record.to_bytes());
        }
    });
    operations::record(&call, event, (call.start, now));
    outside(|| {
        // Records stay where the client has no room for them.
        let _ = activity::attend();
    });
}

fn kernel(state: &mut State, event: &DriverEvent, now: u64) {
    // The newer kind is recorded if both are wanted.
    let kinds = [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL];
    let Some(kind) = kinds.into_iter().find(|kind| state.kinds.contains(kind)) else { return };
    let record = Kernel {
        kind,
        registersPerThread: event.registers as u16,
        start: event.start,
        end: now,
        completed: now,
        deviceId: event.device.cast_unsigned(),
        contextId: state.context(event.context),
        streamId: state.stream(event.stream),
        gridX: event.grid[0],
        gridY: event.grid[1],
        gridZ: event.grid[2],
        blockX: event.block[0],
        blockY: event.block[1],
        blockZ: event.block[2],
        staticSharedMemory: event.static_shared,
        dynamicSharedMemory: event.dynamic_shared,
        localMemoryPerThread: event.local,
        correlationId: event.correlation,
        gridId: event.correlation.into(),
        name: kept(&name(event)),
        sharedMemoryExecuted: event.static_shared.saturating_add(event.dynamic_shared),
        clusterX: event.cluster[0],
        clusterY: event.cluster[1],
        clusterZ: event.cluster[2],
        ..Kernel::default()
    };
    state.push(record.to_bytes());
}

/// Returns the kind of memory in a record, and whether it is the device's.
fn memory(side: u32) -> (u8, bool) {
    const DEVICE: u32 = CUmemorytype::DEVICE as u32;
    match side {
        DEVICE => (CUPTI_ACTIVITY_MEMORY_KIND_DEVICE as u8, true),
        EVENT_MANAGED => (CUPTI_ACTIVITY_MEMORY_KIND_MANAGED as u8, true),
        EVENT_PINNED => (CUPTI_ACTIVITY_MEMORY_KIND_PINNED as u8, false),
        _ => (CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE as u8, false),
    }
}

fn copy(state: &mut State, event: &DriverEvent, now: u64) {
    if !state.kinds.contains(&CUPTI_ACTIVITY_KIND_MEMCPY) {
        return;
    }
    let ((from, is_from_device), (to, is_to_device)) = (memory(event.from), memory(event.to));
    let direction = match (is_from_device, is_to_device) {
        (false, false) => CUPTI_ACTIVITY_MEMCPY_KIND_HTOH,
        (false, true) => CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
        (true, false) => CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
        (true, true) => CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
    } as u8;
    let record = Memcpy {
        kind: CUPTI_ACTIVITY_KIND_MEMCPY,
        copyKind: direction,
        srcKind: from,
        dstKind: to,
        bytes: event.bytes,
        start: event.start,
        end: now,
        deviceId: event.device.cast_unsigned(),
        contextId: state.context(event.context),
        streamId: state.stream(event.stream),
        correlationId: event.correlation,
        copyCount: 1,
        ..Memcpy::default()
    };
    state.push(record.to_bytes());
}

fn fill(state: &mut State, event: &DriverEvent, now: u64) {
    if !state.kinds.contains(&CUPTI_ACTIVITY_KIND_MEMSET) {
        return;
    }
    let record = Memset {
        kind: CUPTI_ACTIVITY_KIND_MEMSET,
        value: event.value,
        bytes: event.bytes,
        start: event.start,
        end: now,
        deviceId: event.device.cast_unsigned(),
        contextId: state.context(event.context),
        streamId: state.stream(event.stream),
        correlationId: event.correlation,
        memoryKind: memory(event.to).0.into(),
        ..Memset::default()
    };
    state.push(record.to_bytes());
}
