//! Live contexts and modules by number.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use runtime::{Context, Level, MapError, Module, ModuleId, Settings, SymbolKind};

use crate::simtlab_status::{SimtlabInvalidHandle, SimtlabNotFound};
use crate::{Refusal, map};

/// A context with the numbers of its modules.
pub(crate) struct Held {
    pub(crate) context: Context,
    modules: BTreeMap<u64, ModuleId>,
    /// What the last launch has printed.
    pub(crate) output: Vec<u8>,
}

/// All contexts. Each has a lock of its own: launches of different contexts run side by side.
static CONTEXTS: RwLock<BTreeMap<u64, Arc<Mutex<Held>>>> = RwLock::new(BTreeMap::new());
/// Numbers are never given twice, and 0 never.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Settings of contexts: launches take as many threads as `SIMTLAB_JOBS` says, or as the host has;
/// and the vector instructions that `SIMTLAB_SIMD` says at most. `SIMTLAB_COMPUTE_CAPABILITY` says
/// whose limits hold, `none` for none; without it those of each program's target.
pub(crate) fn settings() -> Settings {
    let variable = |name: &str| std::env::var(name).ok();
    let level = variable("SIMTLAB_SIMD").and_then(|name| Level::find(name.trim()));
    let device = variable("SIMTLAB_COMPUTE_CAPABILITY").and_then(|text| text.trim().parse().ok());
    let device = device.unwrap_or_default();
    Settings { threads: runtime::host_threads(variable), level, device, ..Settings::default() }
}

/// A number for a new object.
pub(crate) fn number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn create(memory: u64) -> u64 {
    let mut settings = settings();
    if memory > 0 {
        settings.memory = memory;
    }
    let held =
        Held { context: Context::new(settings), modules: BTreeMap::new(), output: Vec::new() };
    let id = number();
    let mut contexts = CONTEXTS.write().unwrap_or_else(PoisonError::into_inner);
    contexts.insert(id, Arc::new(Mutex::new(held)));
    id
}

pub(crate) fn destroy(id: u64) -> Result<(), Refusal> {
    let mut contexts = CONTEXTS.write().unwrap_or_else(PoisonError::into_inner);
    contexts.remove(&id).map(drop).ok_or_else(|| unknown("context", id))
}

/// Calls `body` with a context, which no other thread has meanwhile.
pub(crate) fn with(
    id: u64,
    body: impl FnOnce(&mut Held) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let contexts = CONTEXTS.read().unwrap_or_else(PoisonError::into_inner);
    let held = contexts.get(&id).cloned().ok_or_else(|| unknown("context", id))?;
    drop(contexts);
    // After a panic the context is as consistent as its methods leave it: they change it last.
    let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut held)
}

fn unknown(what: &str, id: u64) -> Refusal {
    (SimtlabInvalidHandle, format!("there is no {what} {id}"))
}

impl Held {
    pub(crate) fn load(&mut self, module: &Arc<Module>) -> Result<u64, MapError> {
        let loaded = self.context.load(module)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.modules.insert(id, loaded);
        Ok(id)
    }

    pub(crate) fn unload(&mut self, id: u64) -> Result<(), Refusal> {
        let module = self.modules.remove(&id).ok_or_else(|| unknown("module", id))?;
        self.context.unload(module).map_err(|error| match error {
            runtime::ContextError::Map(error) => map(error),
            error => (SimtlabInvalidHandle, error.to_string()),
        })
    }

    pub(crate) fn module(&self, id: u64) -> Result<ModuleId, Refusal> {
        self.modules.get(&id).copied().ok_or_else(|| unknown("module", id))
    }

    /// A kernel of a module.
    pub(crate) fn kernel(
        &self,
        id: u64,
        name: &str,
    ) -> Result<(ModuleId, Arc<Module>, runtime::KernelId), Refusal> {
        let module = self.module(id)?;
        let code = self.context.module(module).ok_or_else(|| unknown("module", id))?;
        if let Some(kernel) = code.kernel(name) {
            return Ok((module, Arc::clone(code), kernel));
        }
        let refused =
            code.refused().iter().find(|r| r.kind == SymbolKind::Kernel && r.name == name);
        let why = refused.map_or_else(
            || format!("there is no kernel `{name}`"),
            |r| format!("the kernel `{name}` cannot run: {}", r.findings.join("; ")),
        );
        Err((SimtlabNotFound, why))
    }
}
