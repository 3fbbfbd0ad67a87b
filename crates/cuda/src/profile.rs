//! What profiling tools are told while one listens: calls, kernels, copies and fills.
//!
//! Times are the listener's. Beginnings and ends of calls are told without the driver's lock, what
//! is done in between with it: the listener may not call the driver there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_abi::host::{Ptr, address};
use cuda_abi::{
    Abi as _, Arguments, CUmemorytype, DriverEvent, EVENT_COPY, EVENT_DRIVER_BEGINS,
    EVENT_DRIVER_ENDS, EVENT_FILL, EVENT_KERNEL, EVENT_MANAGED, EVENT_NOW, EVENT_PINNED,
    EVENT_RUNTIME_BEGINS, EVENT_RUNTIME_ENDS,
};
use runtime::Shape;

use crate::client;
use crate::entry::is_child;
use crate::state::Driver;
use crate::state::action::{BoxCopy, Endpoint, Fill};
use crate::state::function::Function;
use crate::state::{calls, current};

/// The address of the listener's function; 0 if none listens.
static LISTENER: AtomicUsize = AtomicUsize::new(0);
/// The number of the last call that was told.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The devices of all contexts. Its lock is taken last.
static DEVICES: Mutex<BTreeMap<u64, i32>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The number of this thread's current call; 0 for none.
    static CURRENT: Cell<u32> = const { Cell::new(0) };
    /// The one before the current call of a library on top of this one.
    static BEFORE: Cell<u32> = const { Cell::new(0) };
    /// Whether that call was told.
    static IS_TOLD: Cell<bool> = const { Cell::new(false) };
    /// Operators of a framework that a plug-in computes in this thread, with when they began.
    static OPERATORS: RefCell<Vec<(Call, u64)>> = const { RefCell::new(Vec::new()) };
    /// Where the arguments of the next call of a library on top of this one are, and of the current
    /// one; 0 if they are not given.
    static GIVEN: Cell<Ptr> = const { Cell::new(0) };
    /// What the call of a library on top of this one, in which this thread is, returns.
    static RETURNED: Cell<i32> = const { Cell::new(0) };
}

/// Sets the listener's function: `uint64_t (*)(const DriverEvent *)`.
pub(crate) fn listen(function: Ptr) {
    LISTENER.store(function, Ordering::Relaxed);
}

/// Returns whether one listens. A child of `fork` tells nothing: the listener may have been in the
/// middle of something.
fn is_heard() -> bool {
    LISTENER.load(Ordering::Relaxed) != 0 && !is_child()
}

/// Tells an event, and returns the listener's time.
fn tell(event: &DriverEvent) -> u64 {
    match LISTENER.load(Ordering::Relaxed) {
        0 => 0,
        listener => client::listener(listener, address(event)),
    }
}

fn event(what: u32, name: &str) -> DriverEvent {
    DriverEvent {
        what,
        correlation: CURRENT.get(),
        name: name.as_ptr().expose_provenance(),
        name_len: name.len(),
        ..DriverEvent::zeroed()
    }
}

/// An event of a call in this thread's context, for which the driver's lock is not taken.
fn of_call(what: u32, name: &str) -> DriverEvent {
    let context = current::top();
    let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    let device = devices.get(&context).copied().unwrap_or(0);
    DriverEvent { context, device, ..event(what, name) }
}

/// Notes the device of a new context.
pub(crate) fn note_context(context: u64, device: i32) {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner).insert(context, device);
}

/// Forgets a context that is destroyed.
pub(crate) fn forget_context(context: u64) {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner).remove(&context);
}

/// Returns the listener's time; 0 if none listens.
pub(crate) fn now() -> u64 {
    if is_heard() { tell(&event(EVENT_NOW, "")) } else { 0 }
}

/// A call of the client that was told; its end is to be told, too.
pub(crate) struct Call {
    number: u32,
    /// The call in which it is made: the listener's function may make one.
    before: u32,
    /// The arguments in the layout of C.
    arguments: Vec<u64>,
}

impl Call {
    /// Begins a call of the function of this name, unless none listens.
    fn begin(what: u32, name: &str, arguments: Vec<u64>) -> Option<Self> {
        if !is_heard() {
            return None;
        }
        let number = CALLS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let before = CURRENT.replace(number);
        let call = Self { number, before, arguments };
        tell(&call.event(what, name));
        Some(call)
    }

    fn event(&self, what: u32, name: &str) -> DriverEvent {
        let arguments = self.arguments.first().map_or(0, address);
        DriverEvent { arguments, correlation: self.number, ..of_call(what, name) }
    }

    /// Begins a call of the driver.
    pub(crate) fn of_driver(name: &str, arguments: Arguments<'_>) -> Option<Self> {
        // Functions of this project's libraries are no calls of the client.
        if !is_heard() || name.starts_with("simtlab") {
            return None;
        }
        Self::begin(EVENT_DRIVER_BEGINS, name, arguments.block())
    }

    /// Ends it.
    pub(crate) fn end(self, status: i32) {
        tell(&DriverEvent { status, ..self.event(EVENT_DRIVER_ENDS, "") });
        CURRENT.set(self.before);
    }
}

/// Notes where the arguments of the next call of a library on top of this one are, in the layout of
/// C, and returns whether one listens.
pub(crate) fn give_arguments(block: Ptr) -> bool {
    if calls::depth() == 0 {
        GIVEN.set(block);
    }
    is_heard()
}

/// Notes that a call of a library on top of this one begins. Those of the runtime are told.
pub(crate) fn library_begins(name: Ptr) {
    if is_heard()
        && let Ok(name) = cuda_abi::host::name(name)
        && name.starts_with("cuda")
    {
        let number = CALLS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        BEFORE.set(CURRENT.replace(number));
        let arguments = GIVEN.get();
        tell(&DriverEvent { arguments, ..of_call(EVENT_RUNTIME_BEGINS, &name) });
        IS_TOLD.set(true);
    }
}

/// Notes what it will return.
pub(crate) fn library_returns(status: i32) {
    RETURNED.set(status);
}

/// Notes that it ends.
pub(crate) fn library_ends() {
    let (status, arguments) = (RETURNED.take(), GIVEN.take());
    if IS_TOLD.take() {
        tell(&DriverEvent { status, arguments, ..of_call(EVENT_RUNTIME_ENDS, "") });
        CURRENT.set(BEFORE.take());
    }
}

/// An event of work in a context, on the stream whose work is done now.
fn of_work(d: &Driver, what: u32, name: &str, context: u64, start: u64) -> DriverEvent {
    let device = d.contexts.get(&context).map_or(0, |c| c.device);
    DriverEvent { start, context, device, stream: d.stream, ..event(what, name) }
}

/// Tells a launch that has ended.
pub(crate) fn launched(
    d: &Driver,
    context: u64,
    (function, shape): (Option<&Function>, &Shape),
    name: &str,
    start: u64,
) {
    if !is_heard() {
        return;
    }
    let frame = |f: &Function| f.code.function(f.kernel).map_or(0, |f| f.frame_size() as i32);
    let fixed = |f: &Function| f.code.shared_bytes(f.kernel) as u32;
    tell(&DriverEvent {
        grid: shape.grid,
        block: shape.block,
        cluster: shape.cluster.unwrap_or_default(),
        dynamic_shared: shape.shared as u32,
        static_shared: function.map_or(0, fixed),
        registers: function.map_or(0, |f| f.registers().unsigned_abs()),
        local: function.map_or(0, frame).unsigned_abs(),
        ..of_work(d, EVENT_KERNEL, name, context, start)
    });
}

/// Notes that a plug-in begins to compute an operator of a framework on the host.
pub(crate) fn operator_begins(name: &str) {
    if let Some(call) = Call::begin(EVENT_DRIVER_BEGINS, name, Vec::new()) {
        let start = now();
        OPERATORS.with_borrow_mut(|open| open.push((call, start)));
    }
}

/// Tells an operator that a plug-in has computed, as a kernel of one thread.
pub(crate) fn operator_ends(d: &Driver, name: &str) {
    let Some((call, start)) = OPERATORS.with_borrow_mut(Vec::pop) else { return };
    CURRENT.set(call.number);
    let work = of_work(d, EVENT_KERNEL, name, current::top(), start);
    tell(&DriverEvent { stream: 0, grid: [1; 3], block: [1; 3], ..work });
    call.end(0);
}

/// Returns the kind of memory of a side of a copy.
fn memory(d: &Driver, side: Endpoint) -> u32 {
    match side {
        Endpoint::Device(_) => CUmemorytype::DEVICE as u32,
        Endpoint::Host(at) => match d.memory.around(at) {
            Some((_, found)) if found.is_managed() => EVENT_MANAGED,
            Some((_, found)) if !found.is_on_device() => EVENT_PINNED,
            Some(_) => CUmemorytype::DEVICE as u32,
            None => CUmemorytype::HOST as u32,
        },
    }
}

/// Tells a copy that is done.
pub(crate) fn copied(
    d: &Driver,
    context: u64,
    (to, from): (Endpoint, Endpoint),
    bytes: u64,
    start: u64,
) {
    if is_heard() {
        let (to, from) = (memory(d, to), memory(d, from));
        let work = of_work(d, EVENT_COPY, "", context, start);
        tell(&DriverEvent { bytes, to, from, ..work });
    }
}

/// Tells a copy of a box.
pub(crate) fn copied_box(d: &Driver, context: u64, copy: &BoxCopy, start: u64) {
    let bytes = copy.width.saturating_mul(copy.height).saturating_mul(copy.depth);
    copied(d, context, (copy.to.side, copy.from.side), bytes, start);
}

/// Tells a fill.
pub(crate) fn filled(d: &Driver, context: u64, fill: &Fill, start: u64) {
    if is_heard() {
        let pattern = fill.pattern.iter().rev();
        let value = pattern.fold(0_u32, |value, &byte| value << 8 | u32::from(byte));
        let each = fill.pattern.len() as u64;
        let bytes = fill.width.saturating_mul(each).saturating_mul(fill.height);
        let to = CUmemorytype::DEVICE as u32;
        let work = of_work(d, EVENT_FILL, "", context, start);
        tell(&DriverEvent { bytes, value, to, ..work });
    }
}
