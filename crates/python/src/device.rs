//! Guest memory that lives on between launches, shared by the programs that are launched on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ir::mods::Space;
use machines::{ContextState, Program};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use simt::memory::{Addr, MemoryMap};

use crate::raise::Trouble;

/// A program's variables in a memory.
struct Placed {
    variables: vm::Variables,
    /// Where they are.
    addresses: Vec<Addr>,
}

/// Memory, with the variables of the programs that have been launched on it.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) memory: MemoryMap,
    placed: HashMap<u64, Placed>,
}

impl World {
    /// What a context of this program goes on with: the memory is gone from here until
    /// [`Self::back`].
    pub(crate) fn lend(&mut self, id: u64) -> ContextState {
        let variables = self.placed.get(&id).map(|placed| placed.variables.clone());
        ContextState { memory: std::mem::take(&mut self.memory), variables }
    }

    /// Takes back what a context has left.
    pub(crate) fn back(&mut self, id: u64, program: &dyn Program, left: ContextState) {
        self.memory = left.memory;
        let Some(variables) = left.variables else { return };
        let vars = program.module().map_or(&[][..], |module| &module.vars);
        let global = vars.iter().enumerate().filter(|(_, var)| var.space != Space::Shared);
        let addresses = global.filter_map(|(i, _)| variables.address(i)).collect();
        self.placed.insert(id, Placed { variables, addresses });
    }

    fn sweep(&mut self, gone: Vec<Gone>) {
        for gone in gone {
            let addresses = match gone {
                Gone::Array(address) => vec![Addr(address)],
                Gone::Program(id) => self.placed.remove(&id).map_or(Vec::new(), |p| p.addresses),
            };
            for address in addresses {
                // What is not there any more needs no freeing: a launch that panicked has taken its
                // memory with it.
                let _ = self.memory.free(address);
            }
        }
    }
}

/// What is to be freed as soon as the memory can be locked: destructors must not wait for it.
enum Gone {
    Array(u64),
    Program(u64),
}

/// A memory that threads share.
#[derive(Default)]
pub(crate) struct Shared {
    world: Mutex<World>,
    gone: Mutex<Vec<Gone>>,
}

impl Shared {
    /// The memory, locked. Only to be called without the interpreter.
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        world.sweep(gone);
        world
    }

    fn forget(&self, gone: Gone) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(gone);
    }

    /// Frees the variables of a program that is gone.
    pub(crate) fn forget_program(&self, id: u64) {
        self.forget(Gone::Program(id));
    }
}

/// Guest memory, for the package's Python half.
#[pyclass(frozen, module = "simtlab._simtlab")]
pub(crate) struct Device(pub(crate) Arc<Shared>);

fn memory(error: impl ToString) -> Trouble {
    Trouble::Memory(error.to_string())
}

#[pymethods]
impl Device {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// New memory with these bytes; gives its address.
    fn allocate(&self, py: Python<'_>, name: &str, data: PyBackedBytes) -> PyResult<u64> {
        let made = py.detach(|| {
            let mut world = self.0.lock();
            let address = world.memory.allocate(name, data.len() as u64).map_err(memory)?;
            world.memory.host_write(address, &data).map_err(memory)?;
            Ok(address.0)
        });
        made.map_err(|trouble: Trouble| trouble.raise(py))
    }

    /// Frees memory before long.
    fn free(&self, address: u64) {
        self.0.forget(Gone::Array(address));
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        length: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(length).map_err(memory)?;
            bytes.resize(length, 0);
            self.0.lock().memory.read_bytes(Addr(address), &mut bytes).map_err(memory)?;
            Ok(bytes)
        });
        let bytes: Vec<u8> = bytes.map_err(|trouble: Trouble| trouble.raise(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn write(&self, py: Python<'_>, address: u64, data: PyBackedBytes) -> PyResult<()> {
        let done =
            py.detach(|| self.0.lock().memory.host_write(Addr(address), &data).map_err(memory));
        done.map_err(|trouble| trouble.raise(py))
    }

    /// Bytes in use.
    fn used(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.lock().memory.mapped())
    }
}
