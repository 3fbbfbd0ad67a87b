//! Atomic operations on memory that launches share with running threads of the host.
//!
//! A launch that works on a copy of host memory cannot add to a word while a thread of the host
//! adds to it: one of the sums would be lost. Only operations of system scope promise that. So a
//! kernel that may have one on host memory is run on the host's bytes, by the exact engine, which
//! accesses them by atomics of the host and is never taken back. What a kernel's operations are on
//! is told by its parameters, as far as addresses are computed from these.

use flow::params::{Origins, system_atomics};
use ir::FuncId;
use std::sync::{Arc, PoisonError};

use crate::context::{Context, ContextError, Loaded, ModuleId};

/// What the atomic operations of system scope of a launch may be on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicTargets {
    /// Memory around these addresses, which are parts of parameters; none if it has no operations.
    Around(Vec<u64>),
    /// Any memory.
    Any,
}

/// Returns the words of parameters that could be pointers.
pub fn pointer_words(params: &[u8]) -> impl Iterator<Item = u64> {
    params.windows(8).step_by(4).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
}

impl Context {
    /// Returns what the atomic operations of system scope of a launch may be on. `params` is the
    /// parameter block in the kernel's layout.
    ///
    /// # Errors
    /// Returns [`ContextError::Module`] if the module is not loaded.
    pub fn system_atomics(
        &self,
        id: ModuleId,
        kernel: FuncId,
        params: &[u8],
    ) -> Result<AtomicTargets, ContextError> {
        let loaded = self.loaded.get(&id).ok_or(ContextError::Module)?;
        let origins = loaded.system_atomics(kernel);
        if origins.elsewhere {
            return Ok(AtomicTargets::Any);
        }
        let all = loaded.module.params(kernel);
        let ranges = origins.params.iter().filter_map(|&number| all.get(number));
        let words = ranges.flat_map(|param| {
            let start = param.offset as usize;
            let end = start.saturating_add(param.size as usize).min(params.len());
            pointer_words(params.get(start..end).unwrap_or_default())
        });
        Ok(AtomicTargets::Around(words.collect()))
    }
}

impl Loaded {
    /// Returns where the addresses of a kernel's atomic operations of system scope come from.
    fn system_atomics(&self, kernel: FuncId) -> Arc<Origins> {
        let mut known = self.atomics.lock().unwrap_or_else(PoisonError::into_inner);
        let origins = known.entry(kernel).or_insert_with(|| {
            let program = self.module.program();
            let of = |f: u32| system_atomics(&program.module().functions[f as usize]);
            let mut origins = of(kernel.0);
            // Arguments of calls are not followed.
            let mut callees = program.reachable(kernel.0).filter(|&f| f != kernel.0);
            origins.elsewhere |= callees.any(|f| of(f) != Origins::default());
            Arc::new(origins)
        });
        Arc::clone(origins)
    }
}
