//! Host memory whose bytes a region shows: memory that others own, and that guests access under the
//! same checks as any region.
#![allow(unsafe_code, reason = "memory that others own can only be reached through a pointer")]

use std::ptr::NonNull;

use super::region::Storage;
use super::snapshot::Tracked;
use super::{Addr, MapError, MemoryMap};

/// A range of host memory for [`MemoryMap::use_host`].
#[derive(Debug)]
pub struct HostRange {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: by the contract of `new`, nothing else accesses the range while the map that has it is
// used, from whatever thread, so that it may move between threads as a `&mut [u8]` may.
unsafe impl Send for HostRange {}

impl HostRange {
    /// The range of `len` bytes from `start` on.
    ///
    /// # Safety
    /// Until the value is dropped, the range must be valid for reads and writes and initialised,
    /// and must not be longer than `isize::MAX` bytes. While a function of the map that has it
    /// runs, or what borrows that map lives, nothing else may access it but by atomics; while a
    /// [`DirectMemory`](super::DirectMemory) borrows that map, nothing else may access it at all.
    #[must_use]
    pub const unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the range has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a pointer to the first byte, under the conditions of [`Self::new`].
    pub(super) fn into_start(self) -> NonNull<u8> {
        self.start
    }

    /// Returns whether it consists of whole words, whose bytes lie as those of guests do.
    fn has_words(&self) -> bool {
        cfg!(target_endian = "little") && (self.start.addr().get() | self.len).is_multiple_of(8)
    }
}

impl MemoryMap {
    /// Makes the region that starts at `addr` show a range of host memory of its length, and drops
    /// the bytes that it had. Its bytes still count against the map's limit.
    ///
    /// Between calls of the map's functions the host may write them:
    /// [`host_wrote`](Self::host_wrote) must be called before a snapshot or an engine relies on
    /// which pages have been written.
    ///
    /// # Errors
    /// If no live region starts there, or the range has another length, is not made of words, or
    /// the host is not little-endian.
    pub fn use_host(&mut self, addr: Addr, range: HostRange) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        let region = &mut self.regions[index];
        if range.len() as u64 != region.len || !range.has_words() {
            return Err(MapError::HostRangeShape { name: region.name.clone(), len: region.len });
        }
        let storage = Tracked::of_host(range)
            .map_err(|error| MapError::Host { name: region.name.clone(), error })?;
        self.replace(index, storage);
        Ok(())
    }

    /// Gives the region that starts at `addr` a copy of the bytes of its host range, and drops
    /// that range. Regions without one stay as they are.
    ///
    /// # Errors
    /// If no live region starts there, or the host has no memory for the copy.
    pub fn use_own(&mut self, addr: Addr) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        let region = &self.regions[index];
        if let Storage::Owned(tracked) = &region.storage
            && tracked.is_host()
        {
            let copy = tracked
                .try_clone()
                .map_err(|error| MapError::Host { name: region.name.clone(), error })?;
            self.replace(index, copy);
        }
        Ok(())
    }

    /// Treats all pages of the region that starts at `addr` as written, for the host may have
    /// written them.
    ///
    /// # Errors
    /// If no live region starts there.
    pub fn host_wrote(&mut self, addr: Addr) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        if let Storage::Owned(tracked) = &mut self.regions[index].storage {
            tracked.mark_all();
        }
        Ok(())
    }

    fn replace(&mut self, index: usize, storage: Tracked) {
        self.regions[index].storage = Storage::Owned(storage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Permission, Width};

    #[test]
    fn reads_and_writes_reach_the_host() {
        let mut owner = [1_u64, 2, 3];
        let start = NonNull::from(&mut owner).cast();
        {
            let mut map = MemoryMap::new();
            let at = Addr(0x10_0000);
            map.map_at("host", at, 24, Permission::ReadWrite).unwrap();
            // SAFETY: `owner` outlives the map and is not used before the map is dropped.
            let range = || unsafe { HostRange::new(start, 24) };
            map.use_host(at, range()).unwrap();
            assert_eq!(map.load(at, Width::B8), Ok(1));
            map.store(Addr(at.0 + 20), Width::B1, 9).unwrap();
            // A copy of its own is not the host's.
            map.use_own(at).unwrap();
            assert_eq!(map.load(Addr(at.0 + 16), Width::B8), Ok(9 << 32 | 3));
            map.store(at, Width::B8, 5).unwrap();
            assert_eq!(map.load(at, Width::B8), Ok(5));
            map.use_host(at, range()).unwrap();
            assert_eq!(map.load(at, Width::B8), Ok(1));
        }
        assert_eq!(owner, [1, 2, 9 << 32 | 3]);
    }

    #[test]
    fn other_ranges_are_refused() {
        let mut owner = [1_u64, 2, 3];
        let start = NonNull::from(&mut owner).cast::<u8>();
        let mut map = MemoryMap::new();
        let at = Addr(0x10_0000);
        map.map_at("words", at, 16, Permission::ReadWrite).unwrap();
        map.map_at("bytes", Addr(0x20_0000), 15, Permission::ReadWrite).unwrap();
        // SAFETY: the range is inside `owner`, for both.
        let odd = unsafe { start.add(4) };
        for (at, start, len) in [(at, start, 24), (at, odd, 16), (Addr(0x20_0000), start, 15)] {
            // SAFETY: `owner` outlives the map, and nothing else uses it.
            let range = unsafe { HostRange::new(start, len) };
            let refused = map.use_host(at, range);
            assert!(matches!(refused, Err(MapError::HostRangeShape { .. })), "{refused:?}");
        }
        // SAFETY: as above.
        let range = unsafe { HostRange::new(start, 16) };
        assert!(matches!(map.use_host(Addr(8), range), Err(MapError::NotAllocated { .. })));
    }
}
