//! Memory and heap before launches, to undo what these change.

use simt::memory::{MapError, MemoryMap, Snapshot};
use vm::Heap;

/// What launches are about to change. Pages that they do not write are shared with the memory.
pub struct Undo {
    memory: Snapshot,
    heap: Option<Heap>,
}

impl Undo {
    /// Keeps memory and heap.
    pub fn keep(memory: &mut MemoryMap, heap: Option<&Heap>) -> Self {
        Self { memory: memory.snapshot(), heap: heap.cloned() }
    }

    /// Makes memory and heap what they were.
    ///
    /// # Errors
    /// Returns [`MapError`] if memory of the host is not registered any more, or if the host has no
    /// memory for what was freed.
    pub fn restore(self, memory: &mut MemoryMap, heap: Option<&mut Heap>) -> Result<(), MapError> {
        memory.restore(&self.memory)?;
        if let (Some(now), Some(then)) = (heap, self.heap) {
            *now = then;
        }
        Ok(())
    }
}
