//! The driver's state: tables of the client's objects by handle.
//!
//! The modules below hold the objects and know nothing of the driver. Handles are numbers from one
//! counter, never addresses, so an invalid handle yields an error.

pub(crate) mod action;
pub(crate) mod array;
pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod current;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod linker;
pub(crate) mod mapping;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod page;
pub(crate) mod pending;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod reference;
pub(crate) mod shared;
pub(crate) mod stream;
pub(crate) mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;

use cuda_abi::{Outcome, Status};
use runtime::device::Limits;
use runtime::{Accessing, Check, Context as Device, Event, EventLog, FindingLog, LaunchTotals};

use crate::settings::Settings;
use array::Textures;
use calls::Calls;
use capture::Captures;
use context::Ctx;
use function::Function;
use graph::Graphs;
use linker::Linker;
use mapping::Mappings;
use memory::Memory;
use module::LoadedModule;
use pending::Pending;
use plan::GraphExec;
use pool::Pools;
use reference::Reference;
use shared::Shared;
use stream::{BUILT_IN, EventState, Stream};

/// The first handle. Handles resemble neither addresses nor the small numbers with special
/// meanings.
const FIRST_HANDLE: u64 = 0x51_0000_0010;

/// All state of the driver.
pub(crate) struct Driver {
    pub(crate) settings: Settings,
    pub(crate) device: Device,
    pub(crate) contexts: BTreeMap<u64, Ctx>,
    /// Primary contexts by device: handle, number of retains, flags.
    pub(crate) primary: BTreeMap<i32, (u64, u32, u32)>,
    pub(crate) memory: Memory,
    pub(crate) mappings: Mappings,
    pub(crate) pools: Pools,
    pub(crate) textures: Textures,
    /// Texture and surface references by handle.
    pub(crate) references: BTreeMap<u64, Reference>,
    pub(crate) modules: BTreeMap<u64, LoadedModule>,
    pub(crate) functions: BTreeMap<u64, Function>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, EventState>,
    pub(crate) linkers: BTreeMap<u64, Linker>,
    pub(crate) graphs: Graphs,
    pub(crate) graph_execs: BTreeMap<u64, GraphExec>,
    pub(crate) shared: Shared,
    pub(crate) pending: Pending,
    /// The stream whose work is done now.
    pub(crate) stream: u64,
    pub(crate) captures: Captures,
    pub(crate) calls: Calls,
    /// The counts of all launches that have ended.
    pub(crate) totals: LaunchTotals,
    event_log: Option<Arc<EventLog>>,
    finding_log: FindingLog,
    /// Instructions whose refused accesses were printed: kernel and line.
    pub(crate) tolerated: BTreeSet<(String, u32)>,
    /// Whether a lack of device memory has been reported.
    pub(crate) reported_out_of_memory: bool,
    next: u64,
}

impl Driver {
    /// Creates the state with the settings of the environment.
    pub(crate) fn new() -> Self {
        let settings = Settings::new(|name| std::env::var(name).ok());
        let mut device = Device::new(runtime::Settings {
            memory: settings.memory,
            limit: settings.limit,
            engine: settings.engine,
            level: settings.level,
            threads: settings.threads,
            device: Limits::Of(settings.capability()),
            checks: settings.checks,
            faults: settings.faults,
            asynchrony: settings.asynchrony,
            matrix_sums: settings.matrix_sums,
        });
        let event_log = settings.event_log.as_deref().and_then(|path| EventLog::open(path).ok());
        let event_log = event_log.map(Arc::new);
        if let Some(log) = event_log.clone() {
            device.set_status_callback(move |status| log.write(&status.event()));
        }
        let listening = settings.debugger.as_ref();
        let listening = listening.map(|(at, shown)| device.listen(at, shown.as_deref()));
        let driver = Self {
            device,
            contexts: BTreeMap::new(),
            primary: BTreeMap::new(),
            memory: Memory::default(),
            mappings: Mappings::default(),
            pools: Pools::default(),
            textures: Textures::default(),
            references: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            linkers: BTreeMap::new(),
            graphs: Graphs::default(),
            graph_execs: BTreeMap::new(),
            shared: Shared::default(),
            pending: Pending::default(),
            stream: 0,
            captures: Captures::default(),
            calls: Calls::default(),
            totals: LaunchTotals::default(),
            event_log,
            finding_log: FindingLog::default(),
            tolerated: BTreeSet::new(),
            reported_out_of_memory: false,
            next: FIRST_HANDLE,
            settings,
        };
        if let Some(Err(error)) = listening {
            driver.print_error(&format!("no debugger can be attached: {error}"));
        }
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

    /// Writes an event that only the search for leaks needs.
    pub(crate) fn log_for_leaks(&self, event: impl FnOnce(u32) -> Event) {
        if self.settings.checks.has(Check::Leak) {
            self.log(&event(std::process::id()));
        }
    }

    /// Writes what checks have found to the event log.
    pub(crate) fn log_findings(&mut self) {
        let found = self.device.take_findings();
        for event in self.finding_log.events(found) {
            self.log(&event);
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
        match current::top() {
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

    /// Returns the error of this thread's context, if it has one and that has failed.
    pub(crate) fn not_failed(&self) -> Outcome {
        if self.current().is_ok() {
            self.usable()?;
        }
        Ok(())
    }

    /// Returns a context by handle.
    pub(crate) fn context(&self, handle: u64) -> Outcome<&Ctx> {
        self.contexts.get(&handle).ok_or(Status::INVALID_CONTEXT)
    }

    /// Checks a device number.
    pub(crate) fn device(&self, device: i32) -> Outcome<i32> {
        let count = self.settings.visible.len();
        let known = usize::try_from(device).is_ok_and(|device| device < count);
        if known { Ok(device) } else { Err(Status::INVALID_DEVICE) }
    }

    /// Returns the bytes of a device's memory in use, and how many it has.
    pub(crate) fn memory_use(&self, device: i32) -> (u64, u64) {
        self.device.memory_use(device as u8)
    }

    /// Makes memory that is allocated from now on that of a context's device, and returns it.
    pub(crate) fn allocate_for(&mut self, context: u64) -> Outcome<i32> {
        let device = self.context(context)?.device;
        self.device.set_device(device as u8);
        Ok(device)
    }

    /// Returns what kernels of a context may access: the memory of its device and of its peers.
    pub(crate) fn accessing(&self, context: u64) -> Outcome<Accessing> {
        let context = self.context(context)?;
        let peers = context.peers.iter().filter_map(|peer| self.contexts.get(peer));
        let peers = peers.fold(0, |peers, peer| peers | 1 << peer.device);
        Ok(Accessing { device: context.device as u8, peers })
    }

    /// Returns the context in which a kernel runs: that of its module, or for a library, which has
    /// none, that of the stream.
    pub(crate) fn kernel_context(&self, function: u64, of_stream: u64) -> Outcome<u64> {
        let function = self.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
        let module = self.modules.get(&function.module).ok_or(Status::INVALID_HANDLE)?;
        Ok(if module.library { of_stream } else { module.context })
    }

    /// Checks a stream, and returns its context.
    pub(crate) fn stream_context(&self, stream: u64) -> Outcome<u64> {
        if stream <= BUILT_IN {
            return self.usable();
        }
        let context = self.streams.get(&stream).ok_or(Status::INVALID_HANDLE)?.context;
        match self.context(context)?.failed {
            Some(failed) => Err(failed),
            None => Ok(context),
        }
    }
}
