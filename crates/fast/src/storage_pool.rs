//! Storage of CTAs that launches of a kernel leave to its later launches: a short launch takes
//! longer to get new pages from the host than to run.

use crate::context::Context;
use crate::cta::CtaStorage;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Most bytes of storage that a kernel keeps.
const MAX_BYTES: usize = 1 << 20;
/// Most bytes that all kernels of the process keep.
const MAX_BYTES_OF_ALL: usize = 64 << 20;

/// Bytes that the kernels of the process keep.
static BYTES_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// The storage that a kernel keeps between launches.
#[derive(Default)]
pub(crate) struct StoragePool {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    #[allow(clippy::vec_box, reason = "storage moves to slots without a copy")]
    storage: Vec<Box<CtaStorage>>,
    bytes: usize,
}

impl StoragePool {
    /// Returns storage for a CTA of a launch that is as an earlier launch left it, if there is.
    pub(crate) fn take(&self, context: &Context<'_>) -> Option<Box<CtaStorage>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut storage = kept.storage.pop()?;
        kept.remove(storage.bytes());
        drop(kept);
        // Launches of a kernel may differ in what they need.
        storage.fit(context).then_some(storage)
    }

    /// Keeps the storage of a launch that has ended, as far as there is room.
    pub(crate) fn keep(&self, ended: impl Iterator<Item = Box<CtaStorage>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for storage in ended {
            let bytes = storage.bytes();
            if kept.bytes + bytes > MAX_BYTES || !kept.add(bytes) {
                return;
            }
            kept.storage.push(storage);
        }
    }
}

impl Kept {
    /// Counts storage that is added; returns whether there is room for it.
    fn add(&mut self, bytes: usize) -> bool {
        let room = |all: usize| all.checked_add(bytes).filter(|&all| all <= MAX_BYTES_OF_ALL);
        let added = BYTES_OF_ALL.fetch_update(Relaxed, Relaxed, room).is_ok();
        self.bytes += if added { bytes } else { 0 };
        added
    }

    fn remove(&mut self, bytes: usize) {
        self.bytes -= bytes;
        BYTES_OF_ALL.fetch_sub(bytes, Relaxed);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.remove(self.bytes);
    }
}

impl std::fmt::Debug for StoragePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoragePool").finish_non_exhaustive()
    }
}
