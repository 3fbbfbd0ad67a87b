//! The map as several host threads see it.
//!
//! Every access is a relaxed atomic of a whole 64-bit word, or happens under a lock (16-byte
//! accesses). So whatever the guest's threads race for, the host's behaviour is
//! defined; each aligned access of up to eight bytes is single-copy atomic, as GPUs have it, and
//! 16-byte accesses are so among themselves. Order between accesses comes from
//! [`SharedMemory::fence`].

use std::sync::atomic::{Ordering, fence};
use std::sync::{MutexGuard, PoisonError};

use super::hints::Hints;
use super::region::Storage;
use super::{AccessKind, AccessResult, Addr, MemoryMap, Width};

/// A view of a map that can be cloned for each host thread. While views exist nothing can be
/// allocated or freed.
///
/// Dropping the last view ends the exclusive borrow of the map; a thread's join makes its writes
/// visible.
#[derive(Clone, Debug)]
pub struct SharedMemory<'a> {
    map: &'a MemoryMap,
    /// The regions of this view's last accesses.
    hints: Hints,
}

impl MemoryMap {
    /// Opens the map for several host threads.
    pub fn share(&mut self) -> SharedMemory<'_> {
        SharedMemory { map: self, hints: Hints::default() }
    }
}

impl SharedMemory<'_> {
    /// As [`MemoryMap::check`].
    ///
    /// # Errors
    /// The error that the access would give.
    #[inline]
    pub fn check(&self, access: AccessKind, addr: Addr, size: u64, align: u64) -> AccessResult<()> {
        if size == 0 && addr.is_aligned(align) {
            return Ok(());
        }
        self.target(access, addr, size, align).map(|_| ())
    }

    /// As [`MemoryMap::load`].
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside a live region.
    #[inline]
    pub fn load(&self, addr: Addr, width: Width) -> AccessResult<u64> {
        let (index, offset) = self.target(AccessKind::Load, addr, width.bytes(), width.bytes())?;
        Ok(self.map.get(index, offset, width))
    }

    /// As [`MemoryMap::store`].
    ///
    /// # Errors
    /// If the access is misaligned, not wholly inside a live region, or the region is read-only.
    #[inline]
    pub fn store(&self, addr: Addr, width: Width, value: u64) -> AccessResult<()> {
        let (index, offset) = self.target(AccessKind::Store, addr, width.bytes(), width.bytes())?;
        match &self.map.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_shared(offset);
                tracked.block.put_shared(offset, width, value);
            }
            Storage::Freed(_) => {}
        }
        Ok(())
    }

    /// As [`MemoryMap::atomic`], atomically; `f` may be called several times and its last call
    /// counts.
    ///
    /// # Errors
    /// As for [`store`](Self::store); then `f` is not called.
    pub fn atomic(&self, addr: Addr, width: Width, f: impl FnMut(u64) -> u64) -> AccessResult<u64> {
        let (index, offset) =
            self.target(AccessKind::Atomic, addr, width.bytes(), width.bytes())?;
        Ok(match &self.map.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_shared(offset);
                tracked.block.atomic_shared(offset, width, f)
            }
            Storage::Freed(_) => 0,
        })
    }

    /// As [`MemoryMap::load_u128`]; atomic with respect to other 16-byte accesses.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside a live region.
    pub fn load_u128(&self, addr: Addr) -> AccessResult<u128> {
        let (index, offset) = self.target(AccessKind::Load, addr, 16, 16)?;
        let _turn = self.wide();
        Ok(self.map.get_u128(index, offset))
    }

    /// As [`MemoryMap::store_u128`]; atomic with respect to other 16-byte accesses.
    ///
    /// # Errors
    /// If the access is misaligned, not wholly inside a live region, or the region is read-only.
    pub fn store_u128(&self, addr: Addr, value: u128) -> AccessResult<()> {
        self.update_u128(AccessKind::Store, addr, |_| value).map(|_| ())
    }

    /// As [`MemoryMap::atomic_u128`]; atomic with respect to other 16-byte accesses.
    ///
    /// # Errors
    /// As for [`store_u128`](Self::store_u128); then `f` is not called.
    pub fn atomic_u128(&self, addr: Addr, f: impl FnOnce(u128) -> u128) -> AccessResult<u128> {
        self.update_u128(AccessKind::Atomic, addr, f)
    }

    /// As [`MemoryMap::read_bytes`]; no more than each byte is atomic.
    ///
    /// # Errors
    /// If the bytes are not all inside one live region.
    pub fn read_bytes(&self, addr: Addr, out: &mut [u8]) -> AccessResult<()> {
        if out.is_empty() {
            return Ok(());
        }
        let target = self.target(AccessKind::Load, addr, out.len() as u64, 1)?;
        self.map.get_bytes(target, out);
        Ok(())
    }

    /// As [`MemoryMap::write_bytes`]; no more than each byte is atomic.
    ///
    /// # Errors
    /// If the bytes are not all inside one live region, or it is read-only; then nothing is
    /// written.
    pub fn write_bytes(&self, addr: Addr, bytes: &[u8]) -> AccessResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (index, offset) = self.target(AccessKind::Store, addr, bytes.len() as u64, 1)?;
        match &self.map.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_range(offset, bytes.len() as u64);
                tracked.block.put_bytes_shared(offset, bytes);
            }
            Storage::Freed(_) => {}
        }
        Ok(())
    }

    /// As [`MemoryMap::fill`]; no more than each byte is atomic.
    ///
    /// # Errors
    /// If the bytes are not all inside one live region, or it is read-only; then nothing is
    /// written.
    pub fn fill(&self, addr: Addr, len: u64, byte: u8) -> AccessResult<()> {
        if len == 0 {
            return Ok(());
        }
        let (index, offset) = self.target(AccessKind::Store, addr, len, 1)?;
        match &self.map.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_range(offset, len);
                tracked.block.put_fill_shared(offset, len, byte);
            }
            Storage::Freed(_) => {}
        }
        Ok(())
    }

    /// Orders this thread's accesses before it against those after it, for all host threads that
    /// fence too.
    pub fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn wide(&self) -> MutexGuard<'_, ()> {
        self.map.wide.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_u128(
        &self,
        access: AccessKind,
        addr: Addr,
        f: impl FnOnce(u128) -> u128,
    ) -> AccessResult<u128> {
        let (index, offset) = self.target(access, addr, 16, 16)?;
        let _turn = self.wide();
        match &self.map.regions[index].storage {
            Storage::Owned(tracked) => {
                let old = tracked.block.get_u128(offset);
                let new = f(old);
                tracked.mark_shared(offset);
                tracked.block.put_shared(offset, Width::B8, new as u64);
                tracked.block.put_shared(offset + 8, Width::B8, (new >> 64) as u64);
                Ok(old)
            }
            Storage::Freed(_) => Ok(0),
        }
    }

    #[inline]
    fn target(
        &self,
        access: AccessKind,
        addr: Addr,
        size: u64,
        align: u64,
    ) -> AccessResult<(usize, u64)> {
        self.map.target_near(&self.hints, access, addr, size, align)
    }
}
