//! Host memory that a guest may access: the one place where guest accesses go through a raw
//! pointer.
#![allow(unsafe_code, reason = "memory that others own can only be reached through a pointer")]

use std::ptr::NonNull;

/// A range of host memory, registered with a guest address map.
///
/// [`MemoryMap::register_host`](super::MemoryMap::register_host) registers it. It is accessed under
/// the same checks as any region; host threads that share the map take turns on it.
#[derive(Debug)]
pub struct HostRange {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: by the contract of `new` nothing else accesses the range while this value lives, from
// whatever thread, so it may move between threads as a `&mut [u8]` may.
unsafe impl Send for HostRange {}

impl HostRange {
    /// The range of `len` bytes from `start` on.
    ///
    /// # Safety
    /// Until the value is dropped, the range must be valid for reads and writes and initialised,
    /// must not be longer than `isize::MAX` bytes, and must be accessed through this value only: as
    /// if it were a `&mut [u8]`.
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

    /// The address of the first byte in the host: it identifies the range, and is never used to
    /// access it.
    pub(super) fn identity(&self) -> usize {
        self.start.addr().get()
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        // SAFETY: `new` promises valid, initialised memory that only this value accesses; the
        // borrow of `self` keeps `bytes_mut` away.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to change.
    pub const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and the exclusive borrow of `self` keeps every other borrow away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_reach_the_host() {
        let mut owner = vec![1u8, 2, 3, 4, 5];
        let start = NonNull::new(owner.as_mut_ptr()).unwrap();
        {
            // SAFETY: `owner` outlives the range and is not used before the range is dropped.
            let mut range = unsafe { HostRange::new(start, owner.len()) };
            assert_eq!((range.len(), range.is_empty()), (5, false));
            assert_eq!(range.bytes(), [1, 2, 3, 4, 5]);
            range.bytes_mut()[4] = 9;
        }
        assert_eq!(owner, [1, 2, 3, 4, 9]);
    }
}
