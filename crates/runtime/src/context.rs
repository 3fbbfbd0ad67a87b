//! Contexts: guest memory, and the modules loaded into it.

use ir::device::Limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use checks::Checker;
use checks::probe::Place;
use engine::{Cache, Choice, Level};
use findings::{Check, CheckSet, Findings};
use flow::params::Origins;
use ir::FuncId;
use ir::mods::Space;
use rustc_hash::FxHashMap;
use simt::memory::{
    AccessError, AccessKind, Accessing, Addr, Backing, MapError, MemoryMap, Permission, Request,
    Sharing,
};
use thiserror::Error;
use vm::{Asynchrony, Heap, MatrixSums, Variables};

use crate::blocks::Blocks;
use crate::debugger::DebugClient;
use crate::device_launches::DeviceQueue;
use crate::faults::Faults;
use crate::mirror::{HostActivity, HostOwner, Mirrors};
use crate::reservations::Reservations;
use crate::status::{LaunchStatus, StatusCallback};
use crate::unmapped::Unmapped;
use hostmem::{read_host, write_host};
use modules::Module;

/// Bytes copied at a time between guest and host memory.
const CHUNK: usize = 1 << 20;

/// The settings of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The maximum size of a device's memory in bytes.
    pub memory: u64,
    /// Issues of a block after which a launch counts as a hang.
    pub limit: u64,
    /// Which engine runs launches.
    pub engine: Choice,
    /// The highest level of vector instructions that launches use, or `None` for the host's best.
    /// Results do not change.
    pub level: Option<Level>,
    /// Host threads per launch, or 0 for as many as the host has. Results do not change.
    pub threads: usize,
    /// The device whose limits apply to launches.
    pub device: Limits,
    /// The checks of launches. Where one has to see the events of a launch, the exact engine runs
    /// it.
    pub checks: CheckSet,
    /// What faults of launches do.
    pub faults: Faults,
    /// When steps of asynchronous operations are done, or `None` for what the checks ask for.
    pub asynchrony: Option<Asynchrony>,
    /// How products of matrices of floats are added.
    pub matrix_sums: MatrixSums,
}

impl Default for Settings {
    /// Returns 8 GiB of memory, the engine's default limit, the fast engine where possible on all
    /// host threads, and the limits of devices of the module's target.
    fn default() -> Self {
        let (memory, limit) = (simt::memory::DEFAULT_LIMIT, vm::defaults::LIMIT);
        let device = Limits::default();
        let (engine, checks, faults) = (Choice::Fast, CheckSet::default(), Faults::default());
        Self {
            memory,
            limit,
            engine,
            level: None,
            threads: 0,
            device,
            checks,
            faults,
            asynchrony: None,
            matrix_sums: MatrixSums::default(),
        }
    }
}

/// A module loaded into a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub(crate) u64);

/// The error of an operation on a context.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextError {
    /// An access to guest memory was refused.
    #[error(transparent)]
    Access(#[from] Box<AccessError>),
    /// The memory map refused an operation.
    #[error(transparent)]
    Map(#[from] MapError),
    /// An address range of the host is not mapped.
    #[error("the host has no memory at {0:#x}")]
    Host(u64),
    /// The host unmapped a mapped range before the launch that was to use it began.
    #[error("the host has unmapped the memory at {0:#x}, which was mapped for the launch")]
    HostUnmapped(u64),
    /// The module is not loaded, or no longer.
    #[error("the module is not loaded")]
    Module,
}

pub(crate) struct Loaded {
    pub(crate) module: Arc<Module>,
    pub(crate) variables: Variables,
    /// Launches that were decoded and compiled before.
    pub(crate) cache: Mutex<Cache>,
    /// Where the addresses of atomic operations of system scope come from, by kernel, as far as
    /// known.
    pub(crate) atomics: Mutex<FxHashMap<FuncId, Arc<Origins>>>,
    /// The places of the code, made for the first launch with checks.
    pub(crate) places: OnceLock<Arc<[Place]>>,
    /// Where kernels record what they launch, if they can launch anything.
    pub(crate) queue: Option<DeviceQueue>,
}

/// Guest memory that outlives launches, and the modules loaded into it.
pub struct Context {
    pub(crate) settings: Settings,
    pub(crate) memory: MemoryMap,
    pub(crate) mirrors: Mirrors,
    reservations: Reservations,
    pub(crate) loaded: BTreeMap<ModuleId, Loaded>,
    /// The device heap of `malloc` in kernels. It outlives launches, as memory does.
    pub(crate) heap: Heap,
    /// Receives the progress of long launches.
    pub(crate) callback: Option<StatusCallback>,
    /// Which calls of clients allocated and freed memory.
    pub(crate) blocks: Blocks,
    /// Observes launches, if a check has to.
    pub(crate) checker: Option<Checker>,
    /// Receives launches to be debugged.
    pub(crate) debugger: Option<DebugClient>,
    /// What the checks have found and nobody has taken.
    pub(crate) found: Findings,
    /// How often the host had changed memory when a launch that was kept went on.
    pub(crate) host_changes: u64,
    /// What the host does until a launch has returned.
    pub(crate) host: HostActivity,
    /// Host memory that launches may access and that is not mapped.
    pub(crate) unmapped: Unmapped,
    /// The workspace of cooperative launches, allocated by the first one.
    workspace: Option<Addr>,
    next: u64,
    /// The address at which a test changes memory between the two engines.
    #[cfg(test)]
    pub(crate) corrupt_byte: Option<(Addr, u8)>,
}

/// Bytes of a grid's workspace in the layout of CUDA's cooperative groups header: its size, and the
/// word of the grid barrier.
const WORKSPACE: u32 = 8;

/// Least bytes between allocations where accesses beyond one are looked for, so that few of them
/// are taken for accesses to the next.
const RED_ZONE: u64 = 1 << 20;

impl Context {
    /// Creates a context without modules and memory.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let mut memory = MemoryMap::with_limit(settings.memory);
        if settings.checks.has(Check::Memory) {
            memory.set_least_red_zone(RED_ZONE);
        }
        Self {
            settings,
            memory,
            mirrors: Mirrors::default(),
            reservations: Reservations::default(),
            loaded: BTreeMap::new(),
            heap: Heap::default(),
            callback: None,
            blocks: Blocks::default(),
            checker: crate::checks::checker(settings.checks),
            debugger: None,
            found: Findings::default(),
            host_changes: 0,
            host: HostActivity::Runs,
            unmapped: Unmapped::default(),
            workspace: None,
            next: 0,
            #[cfg(test)]
            corrupt_byte: None,
        }
    }

    /// Returns how often the host had changed its memory when a launch that was kept went on.
    #[must_use]
    pub fn host_changes(&self) -> u64 {
        self.host_changes
    }

    /// Returns the bytes of a device's memory in use, and their limit.
    #[must_use]
    pub fn memory_use(&self, device: u8) -> (u64, u64) {
        (self.memory.mapped_of(device), self.memory.limit())
    }

    /// Sets the device whose memory allocations are from now on, also those of launches.
    pub fn set_device(&mut self, device: u8) {
        self.memory.set_device(device);
    }

    /// Hides all memory that a device may not access from launches, or hides none. Calls for memory
    /// of other devices are refused meanwhile.
    pub fn set_accessing(&mut self, accessing: Option<Accessing>) {
        self.memory.set_accessing(accessing);
    }

    /// Returns the device whose memory lies at an address, and which devices may access it.
    #[must_use]
    pub fn sharing(&self, address: Addr) -> Option<(u8, Sharing)> {
        let region = self.memory.region_at(address)?;
        region.is_live().then(|| (region.device(), region.sharing()))
    }

    /// Changes which devices may access the allocation that starts at `address`.
    ///
    /// # Errors
    /// Returns an error if no live allocation starts there.
    pub fn set_sharing(&mut self, address: Addr, sharing: Sharing) -> Result<(), MapError> {
        self.memory.set_sharing(address, sharing)
    }

    /// Allocates zeroed memory. `name` appears in messages.
    ///
    /// # Errors
    /// Returns an error if there is no room.
    pub fn allocate(&mut self, name: &str, len: u64) -> Result<Addr, MapError> {
        self.allocate_aligned(name, len, 1)
    }

    /// Does the same as [`Self::allocate`] at a multiple of `align`, a power of two up to 2^30; at
    /// least 256 is used.
    ///
    /// # Errors
    /// Returns an error if there is no room.
    pub fn allocate_aligned(&mut self, name: &str, len: u64, align: u64) -> Result<Addr, MapError> {
        let address = self.memory.allocate_with(Request::global(name, len).align(align))?;
        if let Some(undefined) = self.undefined() {
            undefined.allocate(address.0, len);
        }
        Ok(address)
    }

    /// Reserves `len` addresses from a multiple of `align`, a power of two, on. Nothing can be
    /// accessed there until memory is allocated at one of them.
    ///
    /// # Errors
    /// Returns an error if there is no room.
    pub fn reserve(&mut self, len: u64, align: u64) -> Result<Addr, MapError> {
        let found = self.reservations.reserve(len, align).map(Addr);
        found.ok_or_else(|| MapError::AddressSpace {
            name: "reservation".into(),
            len,
            heap: Space::Global,
        })
    }

    /// Reserves `len` addresses from `address` on, if they are free and for reservations.
    pub fn reserve_at(&mut self, address: Addr, len: u64) -> Option<Addr> {
        self.reservations.reserve_at(address.0, len).map(Addr)
    }

    /// Returns the start and length of the reservation around an address.
    #[must_use]
    pub fn reservation(&self, address: Addr) -> Option<(Addr, u64)> {
        self.reservations.around(address.0).map(|(start, len)| (Addr(start), len))
    }

    /// Gives up the reservation that starts at an address, if there is one. Memory that was
    /// allocated in it stays.
    pub fn release_reservation(&mut self, address: Addr) {
        self.reservations.release(address.0);
    }

    /// Allocates zeroed memory at a reserved address.
    ///
    /// # Errors
    /// Returns an error if the addresses are not all free and reserved together, or if there is no
    /// room.
    pub fn allocate_at(&mut self, name: &str, address: Addr, len: u64) -> Result<(), MapError> {
        let is_reserved = self
            .reservation(address)
            .is_some_and(|(start, all)| len <= all - (address.0 - start.0));
        if !is_reserved {
            return Err(MapError::NotAllocated { addr: address, inside: None });
        }
        self.memory.map_at(name, address, len, Permission::ReadWrite)?;
        if let Some(undefined) = self.undefined() {
            undefined.allocate(address.0, len);
        }
        Ok(())
    }

    /// Sets a function that receives the progress of launches: a quarter of a second after a launch
    /// began, and repeatedly after that.
    pub fn set_status_callback(&mut self, callback: impl FnMut(&LaunchStatus) + Send + 'static) {
        self.callback = Some(Box::new(callback));
    }

    /// Returns the device heap that the next launches use. Clients with several heaps per context
    /// swap the right one in.
    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// Frees all allocations of a device heap.
    pub fn clear_heap(&mut self, heap: &mut Heap) {
        heap.clear(&mut self.memory);
    }

    /// Returns the workspace for a cooperative launch, with no block at the grid barrier.
    pub(crate) fn grid_workspace(&mut self) -> Result<Addr, MapError> {
        let address = match self.workspace {
            Some(address) => address,
            None => self.memory.allocate("workspace of the grid", WORKSPACE.into())?,
        };
        // The launches of all devices use it, one at a time.
        self.memory.set_sharing(address, Sharing::All)?;
        self.workspace = Some(address);
        let words = [WORKSPACE.to_le_bytes(), [0; 4]].concat();
        // The workspace was allocated with this size.
        let written = self.memory.host_write(address, &words);
        debug_assert!(written.is_ok());
        Ok(address)
    }

    /// Frees memory that [`Self::allocate`] returned.
    ///
    /// # Errors
    /// Returns an error if no such allocation starts at `address`: the address is inside of one, it
    /// was freed already, or it belongs to a variable, the host, or a device heap.
    pub fn free(&mut self, address: Addr) -> Result<(), MapError> {
        let other = self.mirrors.around(address.0).is_some()
            || self.is_variable(address)
            || self.heap.holds(address)
            || self.workspace == Some(address)
            || self.loaded.values().any(|l| l.queue.is_some_and(|q| q.work == address));
        if other {
            return Err(MapError::NotAllocated { addr: address, inside: None });
        }
        let len = self.allocation(address).map_or(0, |(_, len)| len);
        self.memory.free(address)?;
        if let Some(undefined) = self.undefined() {
            undefined.define(address.0, len);
        }
        Ok(())
    }

    fn is_variable(&self, address: Addr) -> bool {
        self.loaded.values().any(|loaded| {
            let count = loaded.module.program().module().vars.len();
            (0..count).any(|i| loaded.variables.address(i) == Some(address))
        })
    }

    /// Returns the start and length of the live allocation around an address.
    #[must_use]
    pub fn allocation(&self, address: Addr) -> Option<(Addr, u64)> {
        let region = self.memory.region_at(address)?;
        (region.backing() != Backing::Freed).then(|| (region.base(), region.len()))
    }

    /// Maps `len` bytes of host memory into guest memory at the same address, a multiple of 16, for
    /// all devices.
    ///
    /// # Errors
    /// Returns an error if the range overlaps other guest memory.
    pub fn map_host(
        &mut self,
        name: &str,
        address: u64,
        len: u64,
        owner: HostOwner,
    ) -> Result<(), MapError> {
        let (range, permission) = ((address, len), Permission::ReadWrite);
        self.mirrors.add(&mut self.memory, name, range, permission, owner)
    }

    /// Sets the start and length of host memory that launches may access, but that is not mapped. A
    /// launch that accesses it is taken back ([`Failure::Unmapped`](crate::Failure)), and can be
    /// repeated once the memory is mapped. This makes launches cost more.
    pub fn set_unmapped(&mut self, ranges: Vec<(u64, u64)>) {
        self.unmapped = Unmapped::new(ranges);
    }

    /// Sets what the host does during the next launches. While its threads run, launches work on a
    /// copy of host memory, else they access it in place: with [`HostActivity::Shares`] on the
    /// exact engine, unless launches may be taken back.
    pub fn set_host_activity(&mut self, host: HostActivity) {
        self.host = host;
    }

    /// Maps host memory that no client has registered.
    pub(crate) fn map_host_as(
        &mut self,
        address: u64,
        len: u64,
        permission: Permission,
    ) -> Result<(), MapError> {
        let (name, range) = ("memory of the host", (address, len));
        self.mirrors.add(&mut self.memory, name, range, permission, HostOwner::Others)
    }

    /// Backs an allocation by host memory of its length, which receives its content: from now on
    /// the bytes there are the allocation's. [`Self::unmap_host`] frees both.
    ///
    /// # Errors
    /// Returns an error if no allocation starts at `address`, if host memory backs it already, or
    /// if that cannot be written.
    pub fn back_by_host(&mut self, address: Addr, host: u64) -> Result<(), ContextError> {
        let len = self.backed_len(address)?;
        let backed = self.mirrors.back(&self.memory, address.0, len, host);
        backed.map_err(|error| ContextError::Host(error.address))?;
        self.define_shared(address, len);
        Ok(())
    }

    /// The same, but the allocation receives the content of the host memory.
    ///
    /// # Errors
    /// Returns an error if no allocation starts at `address`, or if host memory backs it already.
    pub fn show_host(&mut self, address: Addr, host: u64) -> Result<(), MapError> {
        let len = self.backed_len(address)?;
        self.mirrors.show(address.0, len, host);
        self.define_shared(address, len);
        Ok(())
    }

    /// Returns the length of an allocation that can be backed by host memory.
    fn backed_len(&self, address: Addr) -> Result<u64, MapError> {
        let found = self.allocation(address).filter(|&(start, _)| start == address);
        let is_free = self.mirrors.around(address.0).is_none();
        let len = found.filter(|_| is_free).map(|(_, len)| len);
        len.ok_or(MapError::NotAllocated { addr: address, inside: None })
    }

    /// Defines the bytes of an allocation that others may write.
    fn define_shared(&mut self, address: Addr, len: u64) {
        if let Some(undefined) = self.undefined() {
            undefined.define(address.0, len);
        }
    }

    /// Unmaps the host memory that starts at an address.
    ///
    /// # Errors
    /// Returns an error if no such range starts there.
    pub fn unmap_host(&mut self, address: u64) -> Result<(), MapError> {
        match self.mirrors.around(address) {
            Some((start, _)) if start == address => self.mirrors.remove(&mut self.memory, address),
            _ => Err(MapError::NotAllocated { addr: Addr(address), inside: None }),
        }
    }

    /// Returns the start and length of the mapped host memory around an address.
    #[must_use]
    pub fn host_around(&self, address: u64) -> Option<(u64, u64)> {
        self.mirrors.around(address)
    }

    /// Checks that `len` bytes from `address` on are inside one live allocation.
    ///
    /// # Errors
    /// Returns the error that an access would get.
    pub fn check(&self, address: Addr, len: u64) -> Result<(), ContextError> {
        Ok(self.memory.check(AccessKind::Load, address, len, 1)?)
    }

    /// The same for bytes that are to be written, which the error tells.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_write(&self, address: Addr, len: u64) -> Result<(), ContextError> {
        let checked = self.memory.check(AccessKind::Load, address, len, 1);
        Ok(checked.map_err(|mut error| {
            error.access = AccessKind::Store;
            error
        })?)
    }

    /// Reads guest memory.
    ///
    /// # Errors
    /// Returns an error if the range is not inside one live allocation, or the host has unmapped
    /// it.
    pub fn read(&self, address: Addr, out: &mut [u8]) -> Result<(), ContextError> {
        self.check(address, out.len() as u64)?;
        if let Some(host) = self.mirrors.host_address(address.0) {
            let whole = read_host(host, out) == out.len();
            return if whole { Ok(()) } else { Err(ContextError::Host(address.0)) };
        }
        Ok(self.memory.read_bytes(address, out)?)
    }

    /// Writes guest memory, including constant variables.
    ///
    /// # Errors
    /// Returns an error if the range is not inside one live allocation, or the host has unmapped
    /// it.
    pub fn write(&mut self, address: Addr, bytes: &[u8]) -> Result<(), ContextError> {
        self.check_write(address, bytes.len() as u64)?;
        if let Some(host) = self.mirrors.host_address(address.0) {
            let whole = write_host(host, bytes) == bytes.len();
            return if whole { Ok(()) } else { Err(ContextError::Host(address.0)) };
        }
        self.memory.host_write(address, bytes)?;
        if let Some(undefined) = self.undefined() {
            undefined.define(address.0, bytes.len() as u64);
        }
        Ok(())
    }

    /// Returns the address in this process of `len` bytes of guest memory, for callers that let
    /// other code of the process work on them between launches. With `writes`, the bytes count as
    /// written. The address holds until the memory is freed.
    ///
    /// # Errors
    /// Returns an error if the range is not inside one live allocation.
    pub fn expose(&mut self, address: Addr, len: u64, writes: bool) -> Result<u64, ContextError> {
        self.check(address, len)?;
        if let Some(host) = self.mirrors.host_address(address.0) {
            return Ok(host);
        }
        let at = self.memory.expose(address, len, writes);
        let at = at.ok_or(ContextError::Host(address.0))?;
        if writes && let Some(undefined) = self.undefined() {
            undefined.define(address.0, len);
        }
        Ok(at as u64)
    }

    /// Copies `len` bytes from guest memory to host memory.
    ///
    /// # Errors
    /// Returns an error if either range is not accessible as a whole. Bytes before an unmapped host
    /// address may have been written.
    pub fn read_to_host(&self, host: u64, address: Addr, len: u64) -> Result<(), ContextError> {
        self.check(address, len)?;
        let mut buffer = vec![0; len.min(CHUNK as u64) as usize];
        let mut done = 0;
        while done < len {
            let part = &mut buffer[..(len - done).min(CHUNK as u64) as usize];
            self.read(address.wrapping_add(done), part)?;
            let to = host.wrapping_add(done);
            if write_host(to, part) < part.len() {
                return Err(ContextError::Host(to));
            }
            done += part.len() as u64;
        }
        Ok(())
    }

    /// Copies `len` bytes from host memory to guest memory.
    ///
    /// # Errors
    /// Returns an error if either range is not accessible as a whole. Bytes before an unmapped host
    /// address may have been written.
    pub fn write_from_host(
        &mut self,
        address: Addr,
        host: u64,
        len: u64,
    ) -> Result<(), ContextError> {
        self.check_write(address, len)?;
        let mut buffer = vec![0; len.min(CHUNK as u64) as usize];
        let mut done = 0;
        while done < len {
            let part = &mut buffer[..(len - done).min(CHUNK as u64) as usize];
            let from = host.wrapping_add(done);
            if read_host(from, part) < part.len() {
                return Err(ContextError::Host(from));
            }
            self.write(address.wrapping_add(done), part)?;
            done += part.len() as u64;
        }
        Ok(())
    }

    /// Copies `len` bytes within guest memory, including constant variables. The ranges may
    /// overlap.
    ///
    /// # Errors
    /// Returns an error if either range is not inside one live allocation; nothing is written in
    /// that case.
    pub fn copy(&mut self, to: Addr, from: Addr, len: u64) -> Result<(), ContextError> {
        self.check_write(to, len)?;
        self.check(from, len)?;
        let mut buffer = vec![0; len.min(CHUNK as u64) as usize];
        let mut done = 0;
        // What is undefined moves as the bytes do, which are written below.
        let undefined = self.undefined().map(|undefined| undefined.copied(from.0, len));
        while done < len {
            let size = (len - done).min(CHUNK as u64);
            // Overlapping ranges: starts at the end where each byte is read before it is
            // overwritten.
            let at = if to > from { len - done - size } else { done };
            let part = &mut buffer[..size as usize];
            self.read(from.wrapping_add(at), part)?;
            self.write(to.wrapping_add(at), part)?;
            done += size;
        }
        if let (Some(map), Some(bits)) = (self.undefined(), undefined) {
            map.paste(to.0, &bits);
        }
        Ok(())
    }

    /// Writes `count` copies of a pattern of any length.
    ///
    /// # Errors
    /// Returns an error if the range is not inside one live allocation.
    pub fn fill(&mut self, address: Addr, pattern: &[u8], count: u64) -> Result<(), ContextError> {
        let len = count.saturating_mul(pattern.len() as u64);
        self.check_write(address, len)?;
        if pattern.is_empty() {
            return Ok(());
        }
        let per_chunk = (CHUNK / pattern.len()).max(1) as u64;
        let chunk = pattern.repeat(per_chunk.min(count) as usize);
        let mut done = 0;
        while done < count {
            let part = (count - done).min(per_chunk);
            let bytes = &chunk[..part as usize * pattern.len()];
            self.write(address.wrapping_add(done * pattern.len() as u64), bytes)?;
            done += part;
        }
        Ok(())
    }

    /// Loads a module, and allocates its variables in this context.
    ///
    /// # Errors
    /// Returns an error if there is no room for them.
    pub fn load(&mut self, module: &Arc<Module>) -> Result<ModuleId, MapError> {
        self.load_managed(module, &mut |_| None)
    }

    /// Does the same as [`Self::load`], but places managed variables in host memory: for a size in
    /// bytes, `pages` returns the address of whole pages of the host, or `None` for an ordinary
    /// variable.
    ///
    /// # Errors
    /// Returns an error if there is no room, or the host memory overlaps other guest memory.
    pub fn load_managed(
        &mut self,
        module: &Arc<Module>,
        pages: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<ModuleId, MapError> {
        let mut managed = BTreeMap::new();
        for (var, size) in module.managed() {
            let Some(address) = pages(size) else { continue };
            let mapped = self.map_host("managed variable", address, size, HostOwner::Caller);
            if let Err(error) = mapped {
                return Err(self.unmap_managed(&managed, error));
            }
            managed.insert(var, address);
        }
        // Devices let kernels write constant variables, and some clients do.
        let constants = Permission::ReadWrite;
        let placed = |var: usize| managed.get(&var).copied();
        let program = module.program();
        let variables = match vm::load_variables_at(program, &mut self.memory, constants, &placed) {
            Ok(variables) => variables,
            Err(error) => return Err(self.unmap_managed(&managed, error)),
        };
        for &address in managed.values() {
            if self.mirrors.copy_initial(&self.memory, address).is_err() {
                return Err(self.unmap_managed(
                    &managed,
                    MapError::NotAllocated { addr: Addr(address), inside: None },
                ));
            }
        }
        let id = ModuleId(self.next);
        self.next += 1;
        let module = Arc::clone(module);
        let (cache, places) = (Mutex::default(), OnceLock::new());
        let atomics = Mutex::default();
        self.loaded.insert(id, Loaded { module, variables, cache, atomics, places, queue: None });
        match self.make_queue(id) {
            Ok(queue) => {
                if let Some(loaded) = self.loaded.get_mut(&id) {
                    loaded.queue = queue;
                }
                Ok(id)
            }
            Err(error) => {
                // The module has just been loaded.
                let _ = self.unload(id);
                Err(error)
            }
        }
    }

    /// Unmaps the managed variables of a module that cannot be loaded; returns `error`.
    fn unmap_managed(&mut self, managed: &BTreeMap<usize, u64>, error: MapError) -> MapError {
        for &address in managed.values() {
            // These ranges have just been mapped.
            let _ = self.unmap_host(address);
        }
        error
    }

    /// Unloads a module, and frees its variables.
    ///
    /// # Errors
    /// Returns an error if the module is not loaded.
    pub fn unload(&mut self, id: ModuleId) -> Result<(), ContextError> {
        let loaded = self.loaded.remove(&id).ok_or(ContextError::Module)?;
        if let Some(queue) = loaded.queue {
            self.memory.free(queue.work)?;
        }
        for (i, var) in loaded.module.program().module().vars.iter().enumerate() {
            let Some(address) = loaded.variables.address(i).filter(|_| var.space != Space::Shared)
            else {
                continue;
            };
            if self.mirrors.around(address.0).is_some() {
                self.unmap_host(address.0)?;
            } else {
                self.memory.free(address)?;
            }
        }
        Ok(())
    }

    /// Returns a loaded module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> Option<&Arc<Module>> {
        self.loaded.get(&id).map(|l| &l.module)
    }

    /// Returns the address and size of a global or constant variable of a loaded module.
    #[must_use]
    pub fn variable(&self, id: ModuleId, name: &str) -> Option<(Addr, u64)> {
        let loaded = self.loaded.get(&id)?;
        let index = loaded.module.variable(name)?;
        let var = loaded.module.program().module().vars.get(index)?;
        let address = loaded.variables.address(index)?;
        (var.space != Space::Shared).then_some((address, var.size))
    }
}
