//! Physical memory of devices, and where it is mapped.

use std::collections::BTreeMap;

use cuda_abi::{CUmemAllocationProp, Outcome, Status};

use super::process::SharedMemory;

/// Physical memory.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) len: u64,
    pub(crate) properties: CUmemAllocationProp,
    /// The client's references to the handle.
    pub(crate) references: u32,
    /// The address at which it is mapped.
    pub(crate) mapped: Option<u64>,
    /// The bytes while nothing can access them; `None` for zeros, and for shared memory.
    pub(crate) content: Option<Vec<u8>>,
    /// Where the bytes are if other processes can have a handle.
    pub(crate) shared: Option<SharedMemory>,
}

/// A mapping of physical memory to addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) len: u64,
    pub(crate) handle: u64,
    /// The devices that can access it, as bits.
    pub(crate) devices: u16,
}

/// All physical memory by handle, and all mappings by address.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    pub(crate) physical: BTreeMap<u64, Physical>,
    pub(crate) mapped: BTreeMap<u64, Mapping>,
}

impl Mappings {
    /// Returns physical memory by handle, to be changed.
    pub(crate) fn find_mut(&mut self, handle: u64) -> Outcome<&mut Physical> {
        self.physical.get_mut(&handle).ok_or(Status::INVALID_VALUE)
    }

    /// Returns the mapping around an address, and its start.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, Mapping)> {
        let (&start, &mapping) = self.mapped.range(..=address).next_back()?;
        (address - start < mapping.len).then_some((start, mapping))
    }

    /// Lists the mappings that a range consists of.
    ///
    /// # Errors
    /// [`Status::INVALID_VALUE`] for a range with a part that is not mapped, and for one that
    /// begins or ends inside a mapping.
    pub(crate) fn within(&self, start: u64, len: u64) -> Outcome<Vec<u64>> {
        let end = start.checked_add(len).ok_or(Status::INVALID_VALUE)?;
        let mut found = Vec::new();
        let mut at = start;
        while at < end {
            let mapping = self.mapped.get(&at).ok_or(Status::INVALID_VALUE)?;
            found.push(at);
            at += mapping.len;
        }
        if at == end && len > 0 { Ok(found) } else { Err(Status::INVALID_VALUE) }
    }

    /// Returns whether a range meets a mapping.
    pub(crate) fn meets(&self, start: u64, len: u64) -> bool {
        let before = self.mapped.range(..start.saturating_add(len)).next_back();
        before.is_some_and(|(&at, mapping)| at + mapping.len > start)
    }

    /// Returns the bytes of physical memory of a device that no device can access now.
    pub(crate) fn hidden(&self, device: i32) -> u64 {
        let is_hidden = |physical: &&Physical| {
            let mapping = physical.mapped.and_then(|at| self.mapped.get(&at));
            let is_here = physical.properties.location.id == device;
            is_here && mapping.is_none_or(|mapping| mapping.devices == 0)
        };
        self.physical.values().filter(is_hidden).map(|physical| physical.len).sum()
    }

    /// Forgets physical memory that has neither references nor a mapping.
    pub(crate) fn forget_unused(&mut self, handle: u64) {
        let is_unused = |p: &Physical| p.references == 0 && p.mapped.is_none();
        if self.physical.get(&handle).is_some_and(is_unused) {
            self.physical.remove(&handle);
        }
    }
}
