//! The device heap of `malloc` and `free`.

use crate::cause::Cause;
use simt::memory::{Addr, MemoryMap};
use std::collections::BTreeMap;

/// What `malloc` has given out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heap {
    limit: u64,
    used: u64,
    live: BTreeMap<u64, u64>,
    /// Numbers allocations, for their names.
    count: u64,
}

impl Heap {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: 0, live: BTreeMap::new(), count: 0 }
    }

    /// An address of `size` new bytes; 0 if the heap has not that many.
    pub(crate) fn allocate(&mut self, memory: &mut MemoryMap, size: u64) -> u64 {
        let taken = size.max(1).checked_next_multiple_of(16);
        let Some(taken) = taken.filter(|&t| t <= self.limit - self.used) else { return 0 };
        let Ok(address) = memory.allocate(&format!("malloc #{}", self.count), size) else {
            return 0;
        };
        self.count += 1;
        self.used += taken;
        self.live.insert(address.0, taken);
        address.0
    }

    /// Gives an allocation back; of a null pointer, nothing.
    pub(crate) fn free(&mut self, memory: &mut MemoryMap, address: u64) -> Result<(), Cause> {
        if address == 0 {
            return Ok(());
        }
        let bad = |why: String| Cause::BadFree { address, why };
        let Some(taken) = self.live.remove(&address) else {
            let why = match memory.region_at(Addr(address)) {
                Some(_) => "the kernel's `malloc` did not give it, or it was freed before",
                None => "no allocation is there",
            };
            return Err(bad(why.to_owned()));
        };
        self.used -= taken;
        memory.free(Addr(address)).map_err(|error| bad(error.to_string()))
    }
}
