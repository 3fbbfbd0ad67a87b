//! Allocations of device and host memory.

use std::collections::BTreeMap;

use super::page::{PAGE, Pages};
use super::process::SharedMemory;

/// The kind of an allocation.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "pages are owned, and freed with their allocation; nobody reads them here"
)]
pub(crate) enum AllocationKind {
    /// Device memory.
    Device,
    /// Device memory for which another process has, or may have, a handle.
    Exported(SharedMemory),
    /// Device memory of another process, with the number of times that it was opened.
    Imported(SharedMemory, u32),
    /// Physical memory that is mapped by the client.
    Mapped,
    /// The same, for which other processes can have a handle.
    MappedShared,
    /// Managed memory: host pages mapped into device memory at the same address.
    Managed(Pages),
    /// A managed variable, which lives as long as its module.
    Variable(Pages),
    /// Pinned host memory from the driver, with its flags.
    Host(Pages, u32),
    /// Registered host memory, with its flags.
    Registered(u32),
}

/// An allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) len: u64,
    pub(crate) context: u64,
    pub(crate) kind: AllocationKind,
    /// The pool of the allocation; 0 for none.
    pub(crate) pool: u64,
    /// A number that no other allocation gets.
    pub(crate) id: u64,
    /// Whether a launch has accessed it, pinned memory, without a pointer in its parameters.
    pub(crate) is_reached: bool,
}

impl Allocation {
    /// Returns whether the memory is the device's alone.
    pub(crate) fn is_on_device(&self) -> bool {
        use AllocationKind as K;
        matches!(
            self.kind,
            K::Device | K::Exported(_) | K::Imported(..) | K::Mapped | K::MappedShared
        )
    }

    /// Returns whether host and device share the memory at one address.
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.kind, AllocationKind::Managed(_) | AllocationKind::Variable(_))
    }
}

/// All allocations by address.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) live: BTreeMap<u64, Allocation>,
    /// The number of allocations so far.
    pub(crate) count: u64,
    /// The addresses that allocations of graphs have while they live, with the number of graphs and
    /// executable graphs that have a node for them.
    pub(crate) of_graphs: BTreeMap<u64, u32>,
    /// Bytes that graphs have allocated and nobody has freed.
    pub(crate) used_by_graphs: u64,
    /// The most there were.
    pub(crate) most_of_graphs: u64,
}

impl Memory {
    /// Returns the allocation around an address, and its start.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (&start, allocation) = self.live.range(..=address).next_back()?;
        (address - start < allocation.len.max(1)).then_some((start, allocation))
    }

    /// Adds an allocation.
    pub(crate) fn insert(
        &mut self,
        address: u64,
        len: u64,
        context: u64,
        kind: AllocationKind,
        pool: u64,
    ) {
        self.count += 1;
        let (id, is_reached) = (self.count, false);
        self.live.insert(address, Allocation { len, context, kind, pool, id, is_reached });
        if self.of_graphs.contains_key(&address) {
            self.used_by_graphs += len;
            self.most_of_graphs = self.most_of_graphs.max(self.used_by_graphs);
        }
    }

    /// Removes an allocation.
    pub(crate) fn remove(&mut self, address: u64) -> Option<Allocation> {
        let removed = self.live.remove(&address)?;
        if self.of_graphs.contains_key(&address) {
            self.used_by_graphs -= removed.len;
        }
        Some(removed)
    }

    /// Adds a managed variable of a newly loaded module.
    pub(crate) fn insert_variable(&mut self, len: u64, context: u64, pages: Pages) {
        self.insert(pages.address(), len, context, AllocationKind::Variable(pages), 0);
    }

    /// Removes a managed variable with its pages.
    pub(crate) fn forget(&mut self, address: u64) {
        self.live.remove(&address);
    }

    /// Returns whether another process may change memory: what the client has registered, and what
    /// has a handle for others.
    pub(crate) fn may_be_shared(&self) -> bool {
        use AllocationKind as K;
        let may = |kind: &K| {
            matches!(kind, K::Registered(_) | K::Exported(_) | K::Imported(..) | K::MappedShared)
        };
        self.live.values().any(|a| may(&a.kind))
    }

    /// Iterates over pinned host memory by address. It is mapped only for launches that access it.
    pub(crate) fn pinned(&self) -> impl Iterator<Item = (u64, &Allocation)> {
        let is_pinned = |a: &Allocation| {
            matches!(a.kind, AllocationKind::Host(..) | AllocationKind::Registered(_))
        };
        self.live.iter().filter(move |(_, a)| is_pinned(a)).map(|(&at, a)| (at, a))
    }
}

/// Returns the range of whole pages around pinned memory, which is mapped for kernels.
pub(crate) fn pages_of(address: u64, len: u64) -> (u64, u64) {
    let page = PAGE as u64;
    let first = address & !(page - 1);
    let end = address.saturating_add(len).checked_next_multiple_of(page).unwrap_or(!(page - 1));
    (first, end - first)
}
