//! The driver's state, and the entry of calls into it.
//!
//! One lock guards all state: calls of several threads are serialised, and a launch has ended when
//! its call returns. Handles are numbers from one counter, never addresses, so an invalid handle
//! yields an error. In a child of `fork`, calls return `CUDA_ERROR_NOT_INITIALIZED`, as on
//! hardware, without touching the lock.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ir::device::Limits;
use runtime::{Context as Device, Event, EventLog, Heap, Module, ModuleId};

use crate::call::Calls;
use crate::capture::Captures;
use crate::event::EventState;
use crate::failure;
use crate::function::Function;
use crate::graph::{Graph, GraphExec};
use crate::linker::Linker;
use crate::memory::Memory;
use crate::pool::Pools;
use crate::settings::Settings;
use crate::status::{Outcome, Status};

/// The driver, once it is initialised.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);
/// The id of the process that initialised the driver; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// This thread's stack of contexts; the last one is current, and 0 stands for none.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The first handle. Handles resemble neither addresses nor the small numbers with special
/// meanings.
const FIRST_HANDLE: u64 = 0x51_0000_0010;

/// A context of a device.
#[derive(Debug, Default)]
pub(crate) struct Ctx {
    pub(crate) device: i32,
    pub(crate) flags: u32,
    /// The error that all calls with this context return.
    pub(crate) failed: Option<Status>,
    /// Limits that were set, by number.
    pub(crate) limits: BTreeMap<i32, u64>,
    pub(crate) cache_config: i32,
    pub(crate) shared_config: i32,
    /// Contexts whose memory this one can access.
    pub(crate) peers: Vec<u64>,
    /// The device heap of `malloc` in kernels.
    pub(crate) heap: Heap,
}

/// A loaded module or library.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) context: u64,
    pub(crate) code: Arc<Module>,
    pub(crate) id: ModuleId,
    pub(crate) library: bool,
    /// Handles of the functions that the client has looked up, by name.
    pub(crate) functions: BTreeMap<String, u64>,
    /// Addresses of the module's managed variables.
    pub(crate) managed: Vec<u64>,
    /// Names of unusable kernels and variables whose reason has been reported.
    pub(crate) reported: BTreeSet<String>,
}

/// A stream. All its work is done when a call returns.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: u64,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
}

/// All state of the driver.
pub(crate) struct Driver {
    pub(crate) settings: Settings,
    pub(crate) device: Device,
    pub(crate) contexts: BTreeMap<u64, Ctx>,
    /// Primary contexts by device: handle, number of retains, flags.
    pub(crate) primary: BTreeMap<i32, (u64, u32, u32)>,
    pub(crate) memory: Memory,
    pub(crate) pools: Pools,
    pub(crate) modules: BTreeMap<u64, LoadedModule>,
    pub(crate) functions: BTreeMap<u64, Function>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, EventState>,
    pub(crate) linkers: BTreeMap<u64, Linker>,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) graph_execs: BTreeMap<u64, GraphExec>,
    pub(crate) captures: Captures,
    pub(crate) calls: Calls,
    event_log: Option<Arc<EventLog>>,
    /// Whether a lack of device memory has been reported.
    pub(crate) reported_out_of_memory: bool,
    next: u64,
}

impl Driver {
    fn new() -> Self {
        let settings = Settings::new(|name| std::env::var(name).ok());
        let mut device = Device::new(runtime::Settings {
            memory: settings.memory,
            limit: settings.limit,
            engine: settings.engine,
            level: settings.level,
            threads: settings.threads,
            device: Limits::Of(settings.capability()),
        });
        let event_log = settings.event_log.as_deref().and_then(|path| EventLog::open(path).ok());
        let event_log = event_log.map(Arc::new);
        if let Some(log) = event_log.clone() {
            device.set_status_callback(move |status| log.write(&Event::running(status)));
        }
        let driver = Self {
            device,
            contexts: BTreeMap::new(),
            primary: BTreeMap::new(),
            memory: Memory::default(),
            pools: Pools::default(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            linkers: BTreeMap::new(),
            graphs: BTreeMap::new(),
            graph_execs: BTreeMap::new(),
            captures: Captures::default(),
            calls: Calls::default(),
            event_log,
            reported_out_of_memory: false,
            next: FIRST_HANDLE,
            settings,
        };
        driver.log(&Event::Start { process: std::process::id(), interface: "cuda".to_owned() });
        driver
    }

    /// Creates a handle.
    pub(crate) fn handle(&mut self) -> u64 {
        self.next += 16;
        self.next
    }

    /// Writes an event to the event log, if there is one.
    pub(crate) fn log(&self, event: &Event) {
        if let Some(log) = &self.event_log {
            log.write(event);
        }
    }

    /// Returns whether there is an event log.
    pub(crate) fn has_event_log(&self) -> bool {
        self.event_log.is_some()
    }

    /// Prints to the standard error stream.
    pub(crate) fn print_error(&self, text: &str) {
        let text = format!("simtlab: {text}\n");
        // The client may have closed the stream.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Records an unsupported call or option in the event log, and returns the status for it.
    pub(crate) fn unsupported(&self, call: &str) -> Status {
        self.log(&Event::Unsupported { process: std::process::id(), call: call.to_owned() });
        if self.settings.trace {
            self.print_error(&format!("not supported: {call}"));
        }
        Status::NOT_SUPPORTED
    }

    /// Returns this thread's context, whatever its state.
    pub(crate) fn current(&self) -> Outcome<u64> {
        match top() {
            0 => Err(Status::INVALID_CONTEXT),
            context if self.contexts.contains_key(&context) => Ok(context),
            _ => Err(Status::CONTEXT_IS_DESTROYED),
        }
    }

    /// Returns this thread's context, or the error if it has failed.
    pub(crate) fn usable(&self) -> Outcome<u64> {
        let context = self.current()?;
        match self.contexts.get(&context).and_then(|c| c.failed) {
            Some(failed) => Err(failed),
            None => Ok(context),
        }
    }

    /// Returns a context by handle.
    pub(crate) fn context(&self, handle: u64) -> Outcome<&Ctx> {
        self.contexts.get(&handle).ok_or(Status::INVALID_CONTEXT)
    }

    /// Checks a device number.
    pub(crate) fn device(&self, device: i32) -> Outcome<i32> {
        let known = (0..self.settings.devices).contains(&device);
        if known { Ok(device) } else { Err(Status::INVALID_DEVICE) }
    }
}

/// Returns the handle of this thread's context, or 0 for none.
pub(crate) fn top() -> u64 {
    CURRENT.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Pushes a context on this thread's stack.
pub(crate) fn push(context: u64) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}

/// Pops this thread's context; returns 0 if there is none.
pub(crate) fn pop() -> u64 {
    CURRENT.with_borrow_mut(Vec::pop).unwrap_or(0)
}

/// Replaces this thread's context; 0 only removes it.
pub(crate) fn set_top(context: u64) {
    pop();
    if context != 0 {
        push(context);
    }
}

/// Returns whether another process initialised the driver, so that this one is its child.
fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != std::process::id()
}

/// Returns the API version that the driver reports, which is available before it is initialised.
pub(crate) fn version() -> i32 {
    Settings::new(|name| std::env::var(name).ok()).version
}

/// Initialises the driver.
pub(crate) fn initialise(flags: u32) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let end = catch_unwind(|| {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if flags != 0 {
            return Status::INVALID_VALUE.0;
        }
        if driver.is_none() {
            *driver = Some(Driver::new());
            OWNER.store(std::process::id(), Ordering::Relaxed);
        }
        Status::SUCCESS.0
    });
    end.unwrap_or(Status::UNKNOWN.0)
}

/// Runs a call that needs the driver. A panic yields `CUDA_ERROR_UNKNOWN`.
pub(crate) fn enter(name: &str, body: impl FnOnce(&mut Driver) -> Outcome) -> i32 {
    enter_with(name, &String::new, body)
}

/// Does the same as [`enter`], and records the arguments if the call fails.
pub(crate) fn enter_with(
    name: &str,
    arguments: &dyn Fn() -> String,
    body: impl FnOnce(&mut Driver) -> Outcome,
) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let end = catch_unwind(AssertUnwindSafe(|| {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(driver) = driver.as_mut() else { return Status::NOT_INITIALIZED.0 };
        driver.calls.begin(name);
        let status = body(driver).err().unwrap_or(Status::SUCCESS);
        if status != Status::SUCCESS {
            failure::record(driver, name, status, arguments);
        }
        if driver.settings.trace {
            driver.print_error(&format!("{name} = {}", status.0));
        }
        status.0
    }));
    end.unwrap_or(Status::UNKNOWN.0)
}

/// Runs a call that does not need the driver.
pub(crate) fn outside(body: impl FnOnce() -> Outcome) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(end) => end.err().unwrap_or(Status::SUCCESS).0,
        Err(_) => Status::UNKNOWN.0,
    }
}

/// Runs an exported function that is not implemented.
pub(crate) fn unsupported(name: &str) -> i32 {
    enter(name, |driver| Err(driver.unsupported(name)))
}
