//! The device heap of `malloc` and `free`.

use crate::cause::Cause;
use simt::Pc;
use simt::memory::{Addr, MemoryMap};
use std::collections::BTreeMap;

/// The allocations of `malloc`. A launch has a heap of its own, unless a heap that outlives it is
/// put in its place ([`State::heap_mut`](crate::State::heap_mut)).
#[derive(Clone, Debug, PartialEq)]
pub struct Heap {
    limit: u64,
    used: u64,
    live: BTreeMap<u64, Block>,
    /// Numbers allocations, for their names.
    count: u64,
}

/// An allocation of `malloc`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    /// Bytes that were asked for.
    bytes: u64,
    /// Bytes that it takes from the heap.
    taken: u64,
    /// The `malloc`, in the program whose launch has executed it.
    at: Pc,
}

impl Default for Heap {
    /// A heap of as many bytes as CUDA has by default.
    fn default() -> Self {
        Self::new(crate::defaults::HEAP)
    }
}

impl Heap {
    /// Makes a heap that allocates at most `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, used: 0, live: BTreeMap::new(), count: 0 }
    }

    /// Returns the most bytes that it allocates.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns whether it has ever allocated anything.
    #[must_use]
    pub fn was_used(&self) -> bool {
        self.count > 0
    }

    /// Returns whether one of its blocks begins at an address.
    #[must_use]
    pub fn holds(&self, address: Addr) -> bool {
        self.live.contains_key(&address.0)
    }

    /// Returns the first address and the size in bytes of each block that is not freed, in the
    /// order of addresses.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.live.iter().map(|(&address, block)| (address, block.bytes))
    }

    /// Returns the instruction that has allocated the block at an address, as a place in the
    /// program whose launch has executed it.
    #[must_use]
    pub fn allocated_at(&self, address: Addr) -> Option<Pc> {
        self.live.get(&address.0).map(|block| block.at)
    }

    /// Frees all blocks, as the end of a context does.
    pub fn clear(&mut self, memory: &mut MemoryMap) {
        for address in std::mem::take(&mut self.live).into_keys() {
            // The list holds only what the map returned and nobody has freed since.
            let freed = memory.free(Addr(address));
            debug_assert!(freed.is_ok());
        }
        self.used = 0;
    }

    /// Returns the address of `size` new bytes; 0 if the heap does not have that many.
    pub(crate) fn allocate(&mut self, memory: &mut MemoryMap, size: u64, at: Pc) -> u64 {
        let taken = size.max(1).checked_next_multiple_of(16);
        let left = self.limit.saturating_sub(self.used);
        let Some(taken) = taken.filter(|&t| t <= left) else { return 0 };
        let Ok(address) = memory.allocate(&format!("malloc #{}", self.count), size) else {
            return 0;
        };
        self.count += 1;
        self.used += taken;
        self.live.insert(address.0, Block { bytes: size, taken, at });
        address.0
    }

    /// Frees an allocation; does nothing for a null pointer.
    pub(crate) fn free(&mut self, memory: &mut MemoryMap, address: u64) -> Result<(), Cause> {
        if address == 0 {
            return Ok(());
        }
        let bad = |why: String| Cause::BadFree { address, why };
        let Some(block) = self.live.remove(&address) else {
            let why = match memory.region_at(Addr(address)) {
                Some(_) => "no kernel's `malloc` gave it, or it was freed before",
                None => "no allocation is there",
            };
            return Err(bad(why.to_owned()));
        };
        self.used -= block.taken;
        memory.free(Addr(address)).map_err(|error| bad(error.to_string()))
    }
}
