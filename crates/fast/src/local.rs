//! Local memory of a CTA's threads.

use crate::code::Code;
use std::cell::Cell;

/// The local memory of all threads of a CTA, in their order.
#[derive(Default)]
pub(crate) struct LocalMemory {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of each thread.
    len: usize,
    /// Bytes at the start of each thread's memory that may not be 0. Compiled code accesses no
    /// others, so memory for recursive calls costs nothing before it is used.
    reach: Cell<usize>,
}

impl LocalMemory {
    pub(crate) fn new(code: &Code, threads: usize) -> Self {
        let len = code.local_bytes;
        Self { bytes: vec![0; len * threads], len, reach: Cell::new(code.local_reach) }
    }

    /// Returns the index of an access of a thread at an offset, if it is in bounds.
    #[inline(always)]
    pub(crate) fn place(&self, thread: usize, at: u64, bytes: u64, write: bool) -> Option<usize> {
        let end = at.checked_add(bytes).filter(|&end| end <= self.len as u64)?;
        if write {
            self.extend_to(end as usize);
        }
        Some(thread * self.len + at as usize)
    }

    /// Has at least so many bytes of each thread in reach.
    #[inline(always)]
    pub(crate) fn extend_to(&self, bytes: usize) {
        if bytes > self.reach.get() {
            self.reach.set(bytes);
        }
    }

    pub(crate) fn reach(&self) -> usize {
        self.reach.get()
    }

    /// Returns the bytes of host memory that are in use, about.
    pub(crate) fn used(&self) -> usize {
        self.bytes.len().checked_div(self.len).unwrap_or(0) * self.reach.get()
    }

    /// Clears all memory for threads of another CTA.
    pub(crate) fn clear(&mut self, code: &Code) {
        let reach = self.reach.replace(code.local_reach);
        if reach == self.len {
            // Even an empty fill is a call.
            if reach > 0 {
                self.bytes.fill(0);
            }
            return;
        }
        self.bytes.chunks_exact_mut(self.len).for_each(|thread| thread[..reach].fill(0));
    }
}
