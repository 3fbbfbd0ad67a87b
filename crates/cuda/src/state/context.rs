//! Contexts of devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cuda_abi::{CUlimit, Status};
use runtime::{Addr, Heap};

/// A context of a device.
#[derive(Debug, Default)]
pub(crate) struct Ctx {
    pub(crate) device: i32,
    pub(crate) flags: u32,
    /// The error that all calls with this context return.
    pub(crate) failed: Option<Status>,
    /// Limits that were set.
    pub(crate) limits: BTreeMap<CUlimit, u64>,
    pub(crate) cache_config: i32,
    pub(crate) shared_config: i32,
    /// Contexts whose memory this one can access.
    pub(crate) peers: Vec<u64>,
    /// The device heap of `malloc` in kernels.
    pub(crate) heap: Heap,
    /// The kernels that have allocated its blocks, where leaks are looked for.
    pub(crate) heap_owners: HeapOwners,
}

/// Which kernel has allocated each block of a device heap.
#[derive(Debug, Default)]
pub(crate) struct HeapOwners {
    /// By address: the bytes, and the kernel.
    blocks: BTreeMap<u64, (u64, Arc<str>)>,
}

impl HeapOwners {
    /// Notes a launch of a kernel, after which the heap is as it is. Returns the number of blocks
    /// and of bytes that kernels hold, of those for which they have changed.
    pub(crate) fn note_launch(&mut self, heap: &Heap, kernel: &str) -> Vec<(Arc<str>, u64, u64)> {
        let kernel: Arc<str> = kernel.into();
        let mut changed = BTreeSet::new();
        self.blocks.retain(|&address, (_, owner)| {
            let is_live = heap.holds(Addr(address));
            if !is_live {
                changed.insert(owner.clone());
            }
            is_live
        });
        for (address, bytes) in heap.blocks() {
            self.blocks.entry(address).or_insert_with(|| {
                changed.insert(kernel.clone());
                (bytes, kernel.clone())
            });
        }
        let held = |owner: Arc<str>| {
            let own = self.blocks.values().filter(|(_, by)| *by == owner);
            let (blocks, bytes) = own.fold((0, 0), |(n, sum), (bytes, _)| (n + 1, sum + bytes));
            (owner, blocks, bytes)
        };
        changed.into_iter().map(held).collect()
    }
}
