//! Contexts: guest memory with the modules that are loaded into it.

use ir::device::Limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::{Cache, Choice, Level};
use ir::mods::Space;
use simt::memory::{AccessError, Addr, Backing, MapError, MemoryMap, Permission, Request};
use thiserror::Error;
use vm::{Heap, Variables};

use crate::blocks::Blocks;
use crate::mirror::Mirrors;
use crate::module::Module;
use crate::standing::{Standing, Watch};
use hostmem::{read_host, write_host};

/// Bytes copied at a time between guest memory and the host's.
const CHUNK: usize = 1 << 20;

/// What a context is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of guest memory at most.
    pub memory: u64,
    /// Issues of a block after which a launch is taken to hang.
    pub limit: u64,
    /// Which engine runs launches.
    pub engine: Choice,
    /// The vector instructions that launches may use, at most; all that the host has if none. Only time depends on them.
    pub level: Option<Level>,
    /// Threads of the host for each launch, as many as there are if 0. Only time depends on it.
    pub threads: usize,
    /// The device whose limits hold for what launches ask for.
    pub device: Limits,
}

impl Default for Settings {
    /// 8 GiB, the engine's limit, the fast engine where it can, on all threads; devices of the program's target.
    fn default() -> Self {
        let (memory, limit) = (simt::memory::DEFAULT_LIMIT, vm::defaults::LIMIT);
        let device = Limits::default();
        Self { memory, limit, engine: Choice::Fast, level: None, threads: 0, device }
    }
}

/// Threads of the host for each launch, as `SIMTLAB_JOBS` says; 0, for as many as there are, where it says nothing that can be
/// understood. All interfaces that have the setting ask here; `variable` looks up a variable of the environment.
pub fn host_threads(variable: impl FnOnce(&str) -> Option<String>) -> usize {
    variable("SIMTLAB_JOBS").and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// A module in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub(crate) u64);

/// Why memory of a context cannot be used so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextError {
    /// Guest memory.
    #[error(transparent)]
    Access(#[from] Box<AccessError>),
    /// The map.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Memory of the host that is not there.
    #[error("the host has no memory at {0:#x}")]
    Host(u64),
    /// A module that is not loaded (any more).
    #[error("the module is not loaded")]
    Module,
}

pub(crate) struct Loaded {
    pub(crate) module: Arc<Module>,
    pub(crate) variables: Variables,
    /// Launches that were decoded and compiled before.
    pub(crate) cache: Mutex<Cache>,
}

/// Guest memory that lives on between launches, and the modules loaded into it.
pub struct Context {
    pub(crate) settings: Settings,
    pub(crate) memory: MemoryMap,
    pub(crate) mirrors: Mirrors,
    pub(crate) loaded: BTreeMap<ModuleId, Loaded>,
    /// What kernels have got from `malloc`: it lives on between launches, as memory does.
    pub(crate) heap: Heap,
    /// Is told where launches are that take long.
    pub(crate) watch: Option<Watch>,
    /// Which calls of clients allocated and freed memory.
    pub(crate) blocks: Blocks,
    /// The workspace of cooperative launches, once there was one.
    workspace: Option<Addr>,
    next: u64,
    /// A byte that a test changes between the two engines.
    #[cfg(test)]
    pub(crate) tamper: Option<(Addr, u8)>,
}

/// Bytes of a grid's workspace as CUDA's header of cooperative groups has it: its size, and the word of its barrier.
const WORKSPACE: u32 = 8;

impl Context {
    /// A context without modules and memory.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            memory: MemoryMap::with_limit(settings.memory),
            mirrors: Mirrors::default(),
            loaded: BTreeMap::new(),
            heap: Heap::default(),
            watch: None,
            blocks: Blocks::default(),
            workspace: None,
            next: 0,
            #[cfg(test)]
            tamper: None,
        }
    }

    /// Bytes in use, and the most there can be.
    #[must_use]
    pub fn memory_use(&self) -> (u64, u64) {
        (self.memory.mapped(), self.memory.limit())
    }

    /// New memory, all zero. The name is for messages.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate(&mut self, name: &str, len: u64) -> Result<Addr, MapError> {
        self.memory.allocate(name, len)
    }

    /// The same at a multiple of `align` bytes, a power of two up to 2^30; less than 256 means that.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate_aligned(&mut self, name: &str, len: u64, align: u64) -> Result<Addr, MapError> {
        self.memory.allocate_with(Request::global(name, len).align(align))
    }

    /// Has something told where launches are: first after a quarter of a second, later again and
    /// again.
    pub fn set_watch(&mut self, watch: impl FnMut(&Standing) + Send + 'static) {
        self.watch = Some(Box::new(watch));
    }

    /// The device heap of launches from now on. Clients whose contexts have a heap each put the right one in its place.
    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// Frees all that kernels have got from a device heap and not freed.
    pub fn clear_heap(&mut self, heap: &mut Heap) {
        heap.clear(&mut self.memory);
    }

    /// The workspace of a cooperative launch, as it is before one: nobody is at the barrier.
    pub(crate) fn grid_workspace(&mut self) -> Result<Addr, MapError> {
        let address = match self.workspace {
            Some(address) => address,
            None => self.memory.allocate("workspace of the grid", WORKSPACE.into())?,
        };
        self.workspace = Some(address);
        let words = [WORKSPACE.to_le_bytes(), [0; 4]].concat();
        // It has just been allocated, or was before, with this size.
        let written = self.memory.host_write(address, &words);
        debug_assert!(written.is_ok());
        Ok(address)
    }

    /// Frees what [`Self::allocate`] gave.
    ///
    /// # Errors
    /// If nothing that was allocated starts there: it is a variable's, the host's, a kernel's, inside of a buffer, or
    /// freed already.
    pub fn free(&mut self, address: Addr) -> Result<(), MapError> {
        let other = self.mirrors.around(address.0).is_some()
            || self.is_variable(address)
            || self.heap.holds(address)
            || self.workspace == Some(address);
        if other {
            return Err(MapError::NotAllocated { addr: address, inside: None });
        }
        self.memory.free(address)
    }

    fn is_variable(&self, address: Addr) -> bool {
        self.loaded.values().any(|loaded| {
            let count = loaded.module.program().module().vars.len();
            (0..count).any(|i| loaded.variables.address(i) == Some(address))
        })
    }

    /// The live memory around an address: its first address and length.
    #[must_use]
    pub fn allocation(&self, address: Addr) -> Option<(Addr, u64)> {
        let region = self.memory.region_at(address)?;
        (region.backing() != Backing::Freed).then(|| (region.base(), region.len()))
    }

    /// Shows guests `len` bytes of the host's memory, at its own address, which is a multiple of 16.
    ///
    /// # Errors
    /// If the range meets something else.
    pub fn show_host(&mut self, name: &str, address: u64, len: u64) -> Result<(), MapError> {
        self.mirrors.add(&mut self.memory, name, address, len, Permission::ReadWrite)
    }

    /// Shows guests memory of the host that is no buffer of which they were told.
    pub(crate) fn show_host_as(
        &mut self,
        address: u64,
        len: u64,
        permission: Permission,
    ) -> Result<(), MapError> {
        self.mirrors.add(&mut self.memory, "memory of the host", address, len, permission)
    }

    /// Takes host memory back that starts at an address.
    ///
    /// # Errors
    /// If no such range starts there.
    pub fn hide_host(&mut self, address: u64) -> Result<(), MapError> {
        match self.mirrors.around(address) {
            Some((start, _)) if start == address => self.mirrors.remove(&mut self.memory, address),
            _ => Err(MapError::NotAllocated { addr: Addr(address), inside: None }),
        }
    }

    /// The host memory shown around an address: start and length.
    #[must_use]
    pub fn host_around(&self, address: u64) -> Option<(u64, u64)> {
        self.mirrors.around(address)
    }

    /// Whether `len` bytes from `address` on are inside one live allocation.
    ///
    /// # Errors
    /// The error that an access would give.
    pub fn check(&self, address: Addr, len: u64) -> Result<(), ContextError> {
        Ok(self.memory.check(simt::memory::AccessKind::Load, address, len, 1)?)
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// If they are not all inside one live allocation.
    pub fn read(&self, address: Addr, out: &mut [u8]) -> Result<(), ContextError> {
        self.check(address, out.len() as u64)?;
        if self.mirrors.around(address.0).is_some() {
            let whole = read_host(address.0, out) == out.len();
            return if whole { Ok(()) } else { Err(ContextError::Host(address.0)) };
        }
        Ok(self.memory.read_bytes(address, out)?)
    }

    /// Copies bytes in; constant variables are written, too.
    ///
    /// # Errors
    /// If they are not all inside one live allocation.
    pub fn write(&mut self, address: Addr, bytes: &[u8]) -> Result<(), ContextError> {
        self.check(address, bytes.len() as u64)?;
        if self.mirrors.around(address.0).is_some() {
            let whole = write_host(address.0, bytes) == bytes.len();
            return if whole { Ok(()) } else { Err(ContextError::Host(address.0)) };
        }
        Ok(self.memory.host_write(address, bytes)?)
    }

    /// Copies `len` bytes of guest memory to the host's.
    ///
    /// # Errors
    /// If either side has not all of them. What is before a bad address of the host may have been written.
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

    /// Copies `len` bytes of the host's memory to guest memory.
    ///
    /// # Errors
    /// If either side has not all of them. What is before a bad address of the host may have been written.
    pub fn write_from_host(
        &mut self,
        address: Addr,
        host: u64,
        len: u64,
    ) -> Result<(), ContextError> {
        self.check(address, len)?;
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

    /// Copies `len` bytes within guest memory, as if through a buffer; constant variables are written, too.
    ///
    /// # Errors
    /// If either range is not all inside one live allocation; then nothing is written.
    pub fn copy(&mut self, to: Addr, from: Addr, len: u64) -> Result<(), ContextError> {
        self.check(to, len)?;
        self.check(from, len)?;
        let mut buffer = vec![0; len.min(CHUNK as u64) as usize];
        let mut done = 0;
        while done < len {
            let size = (len - done).min(CHUNK as u64);
            // Overlapping ranges: from the end on which the source is read before it is written.
            let at = if to > from { len - done - size } else { done };
            let part = &mut buffer[..size as usize];
            self.read(from.wrapping_add(at), part)?;
            self.write(to.wrapping_add(at), part)?;
            done += size;
        }
        Ok(())
    }

    /// Fills `count` elements with a pattern of 1, 2, 4 or any other number of bytes.
    ///
    /// # Errors
    /// If they are not all inside one live allocation.
    pub fn fill(&mut self, address: Addr, pattern: &[u8], count: u64) -> Result<(), ContextError> {
        let len = count.saturating_mul(pattern.len() as u64);
        self.check(address, len)?;
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

    /// Loads a module: its variables get memory of their own in this context.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn load(&mut self, module: &Arc<Module>) -> Result<ModuleId, MapError> {
        self.load_managed(module, &mut |_| None)
    }

    /// The same; memory of the host for managed variables, in whole pages, is what `pages` gives for a size. Where it gives none, such a
    /// variable is as any other.
    ///
    /// # Errors
    /// If there is no room, or the host's memory meets something else.
    pub fn load_managed(
        &mut self,
        module: &Arc<Module>,
        pages: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<ModuleId, MapError> {
        let mut managed = BTreeMap::new();
        for (var, size) in module.managed() {
            let Some(address) = pages(size) else { continue };
            let shown = self.show_host("managed variable", address, size);
            if let Err(error) = shown {
                return Err(self.unshow(&managed, error));
            }
            managed.insert(var, address);
        }
        // Clients write constants by kernels, too, and devices let them.
        let constants = Permission::ReadWrite;
        let placed = |var: usize| managed.get(&var).copied();
        let program = module.program();
        let variables = match vm::load_variables_at(program, &mut self.memory, constants, &placed) {
            Ok(variables) => variables,
            Err(error) => return Err(self.unshow(&managed, error)),
        };
        for &address in managed.values() {
            if self.mirrors.begin(&self.memory, address).is_err() {
                return Err(self.unshow(
                    &managed,
                    MapError::NotAllocated { addr: Addr(address), inside: None },
                ));
            }
        }
        let id = ModuleId(self.next);
        self.next += 1;
        let module = Arc::clone(module);
        self.loaded.insert(id, Loaded { module, variables, cache: Mutex::default() });
        Ok(id)
    }

    /// Takes back what was shown for a module that cannot be loaded.
    fn unshow(&mut self, managed: &BTreeMap<usize, u64>, error: MapError) -> MapError {
        for &address in managed.values() {
            // It was shown a moment ago.
            let _ = self.hide_host(address);
        }
        error
    }

    /// Unloads a module, with the memory of its variables.
    ///
    /// # Errors
    /// If it is not loaded.
    pub fn unload(&mut self, id: ModuleId) -> Result<(), ContextError> {
        let loaded = self.loaded.remove(&id).ok_or(ContextError::Module)?;
        for (i, var) in loaded.module.program().module().vars.iter().enumerate() {
            let Some(address) = loaded.variables.address(i).filter(|_| var.space != Space::Shared)
            else {
                continue;
            };
            if self.mirrors.around(address.0).is_some() {
                self.hide_host(address.0)?;
            } else {
                self.memory.free(address)?;
            }
        }
        Ok(())
    }

    /// A loaded module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> Option<&Arc<Module>> {
        self.loaded.get(&id).map(|l| &l.module)
    }

    /// Address and size of a global or constant variable of a loaded module.
    #[must_use]
    pub fn variable(&self, id: ModuleId, name: &str) -> Option<(Addr, u64)> {
        let loaded = self.loaded.get(&id)?;
        let index = loaded.module.variable(name)?;
        let var = loaded.module.program().module().vars.get(index)?;
        let address = loaded.variables.address(index)?;
        (var.space != Space::Shared).then_some((address, var.size))
    }
}
