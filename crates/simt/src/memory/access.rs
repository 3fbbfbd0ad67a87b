//! Loads, stores and atomics of one owner of the map, and the errors of refused ones.

use std::sync::atomic::Ordering::Relaxed;

use super::hints::Hints;
use super::region::Storage;
use super::{
    AccessError, AccessKind, AccessResult, Addr, MemoryMap, NULL_GUARD, Nearest, Permission,
    Region, Space,
};
use super::{Violation, Width};

/// Bytes moved at a time by [`MemoryMap::copy`].
const COPY_CHUNK: usize = 4096;

/// An access that has been checked: the region's index, and the offset in it.
pub(super) type Target = (usize, u64);

impl MemoryMap {
    /// Checks that `size` bytes at `addr` may be accessed in this way, at a multiple of `align` (a
    /// power of two). Zero bytes may be accessed anywhere.
    ///
    /// Use it before a vector access made of several scalars, and for all lanes of a store before
    /// the first of them is committed.
    ///
    /// # Errors
    /// Returns the error that the access would return.
    #[inline]
    pub fn check(&self, access: AccessKind, addr: Addr, size: u64, align: u64) -> AccessResult<()> {
        if size == 0 && addr.is_aligned(align) {
            return Ok(());
        }
        self.target(access, addr, size, align).map(|_| ())
    }

    /// The value at `addr`, zero-extended.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside a live region.
    #[inline]
    pub fn load(&self, addr: Addr, width: Width) -> AccessResult<u64> {
        let (index, offset) = self.target(AccessKind::Load, addr, width.bytes(), width.bytes())?;
        Ok(self.get(index, offset, width))
    }

    /// Stores the low bits of `value` at `addr`.
    ///
    /// # Errors
    /// If the access is misaligned, not wholly inside a live region, or the region is read-only.
    #[inline]
    pub fn store(&mut self, addr: Addr, width: Width, value: u64) -> AccessResult<()> {
        let (index, offset) = self.target(AccessKind::Store, addr, width.bytes(), width.bytes())?;
        match &mut self.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark(offset);
                tracked.block.put(offset, width, value);
            }
            Storage::Freed(_) => {}
        }
        Ok(())
    }

    /// Replaces the value at `addr` by the low bits of `f` of it and returns the value before. In
    /// memory of the host `f` may be called several times; the last call counts.
    ///
    /// # Errors
    /// As for [`store`](Self::store); then `f` is not called.
    #[inline]
    pub fn atomic(
        &mut self,
        addr: Addr,
        width: Width,
        f: impl FnMut(u64) -> u64,
    ) -> AccessResult<u64> {
        let (index, offset) =
            self.target(AccessKind::Atomic, addr, width.bytes(), width.bytes())?;
        Ok(match &mut self.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark(offset);
                tracked.block.update(offset, width, f)
            }
            Storage::Freed(_) => 0,
        })
    }

    /// The 16-byte value at `addr`.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside a live region.
    pub fn load_u128(&self, addr: Addr) -> AccessResult<u128> {
        let (index, offset) = self.target(AccessKind::Load, addr, 16, 16)?;
        Ok(self.get_u128(index, offset))
    }

    /// Stores 16 bytes at `addr`.
    ///
    /// # Errors
    /// If the access is misaligned, not wholly inside a live region, or the region is read-only.
    pub fn store_u128(&mut self, addr: Addr, value: u128) -> AccessResult<()> {
        let (index, offset) = self.target(AccessKind::Store, addr, 16, 16)?;
        self.put_u128(index, offset, value);
        Ok(())
    }

    /// Replaces the 16-byte value at `addr` by `f` of it and returns the value before.
    ///
    /// # Errors
    /// As for [`store_u128`](Self::store_u128); then `f` is not called.
    pub fn atomic_u128(&mut self, addr: Addr, f: impl FnOnce(u128) -> u128) -> AccessResult<u128> {
        let (index, offset) = self.target(AccessKind::Atomic, addr, 16, 16)?;
        let old = self.get_u128(index, offset);
        self.put_u128(index, offset, f(old));
        Ok(old)
    }

    /// Copies bytes out, from `addr` on.
    ///
    /// # Errors
    /// If they are not all inside one live region.
    pub fn read_bytes(&self, addr: Addr, out: &mut [u8]) -> AccessResult<()> {
        if out.is_empty() {
            return Ok(());
        }
        let target = self.target(AccessKind::Load, addr, out.len() as u64, 1)?;
        self.get_bytes(target, out);
        Ok(())
    }

    /// Reads bytes, from `addr` on. Returns `None` if the host has no room for them.
    ///
    /// # Errors
    /// If they are not all inside one live region.
    pub fn read_vec(&self, addr: Addr, length: usize) -> AccessResult<Option<Vec<u8>>> {
        let mut data = Vec::new();
        if data.try_reserve_exact(length).is_err() {
            return Ok(None);
        }
        data.resize(length, 0);
        self.read_bytes(addr, &mut data)?;
        Ok(Some(data))
    }

    /// Copies bytes in, from `addr` on, under the guest's rules.
    ///
    /// # Errors
    /// If they are not all inside one live region, or it is read-only; then nothing is written.
    pub fn write_bytes(&mut self, addr: Addr, bytes: &[u8]) -> AccessResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let target = self.target(AccessKind::Store, addr, bytes.len() as u64, 1)?;
        self.put_bytes(target, bytes);
        Ok(())
    }

    /// Copies bytes in with the host's authority: read-only memory is written too. This is how
    /// constants and initialised variables get their values.
    ///
    /// # Errors
    /// If the bytes are not all inside one live region; then nothing is written.
    pub fn host_write(&mut self, addr: Addr, bytes: &[u8]) -> AccessResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Read-only regions are left out by the check for a load.
        let target =
            self.target(AccessKind::Load, addr, bytes.len() as u64, 1).map_err(|mut error| {
                error.access = AccessKind::Store;
                error
            })?;
        self.put_bytes(target, bytes);
        Ok(())
    }

    /// Sets `len` bytes from `addr` on to `byte`, under the guest's rules.
    ///
    /// # Errors
    /// If they are not all inside one live region, or it is read-only; then nothing is written.
    pub fn fill(&mut self, addr: Addr, len: u64, byte: u8) -> AccessResult<()> {
        if len == 0 {
            return Ok(());
        }
        let (index, offset) = self.target(AccessKind::Store, addr, len, 1)?;
        match &mut self.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_range(offset, len);
                tracked.block.put_fill(offset, len, byte);
            }
            Storage::Freed(_) => {}
        }
        Ok(())
    }

    /// Copies `len` bytes under the guest's rules, as if through a buffer: the ranges may overlap.
    ///
    /// # Errors
    /// If either range is not inside one live region, or the destination is read-only; then nothing
    /// is written.
    pub fn copy(&mut self, to: Addr, from: Addr, len: u64) -> AccessResult<()> {
        if len == 0 {
            return Ok(());
        }
        let (from_region, from) = self.target(AccessKind::Load, from, len, 1)?;
        let (to_region, to) = self.target(AccessKind::Store, to, len, 1)?;
        let backwards = from_region == to_region && to > from;
        let mut buffer = [0; COPY_CHUNK];
        let mut done = 0;
        while done < len {
            let size = (len - done).min(COPY_CHUNK as u64);
            let at = if backwards { len - done - size } else { done };
            let buffer = &mut buffer[..size as usize];
            self.get_bytes((from_region, from + at), buffer);
            self.put_bytes((to_region, to + at), buffer);
            done += size;
        }
        Ok(())
    }

    /// Checks an access, trying the regions of the last ones first.
    #[inline]
    fn target(
        &self,
        access: AccessKind,
        addr: Addr,
        size: u64,
        align: u64,
    ) -> AccessResult<Target> {
        self.target_near(&self.hints, access, addr, size, align)
    }

    /// Checks an access of at least one byte, trying what the hints say first.
    #[inline]
    pub(super) fn target_near(
        &self,
        hints: &Hints,
        access: AccessKind,
        addr: Addr,
        size: u64,
        align: u64,
    ) -> AccessResult<Target> {
        let hint = hints.near(addr);
        let guess = hint.load(Relaxed);
        if addr.is_aligned(align)
            && let Some(index) = self.locate(guess, addr, size)
        {
            Hints::correct(hint, guess, index);
            let region = &self.regions[index];
            if !access.writes() || region.permission == Permission::ReadWrite {
                return Ok((index, addr.0 - region.base));
            }
        }
        Err(self.refuse(access, addr, size, align))
    }

    #[inline]
    pub(super) fn get(&self, index: usize, offset: u64, width: Width) -> u64 {
        match &self.regions[index].storage {
            Storage::Owned(tracked) => tracked.block.get(offset, width),
            Storage::Freed(_) => 0,
        }
    }

    pub(super) fn get_u128(&self, index: usize, offset: u64) -> u128 {
        match &self.regions[index].storage {
            Storage::Owned(tracked) => tracked.block.get_u128(offset),
            Storage::Freed(_) => 0,
        }
    }

    fn put_u128(&mut self, index: usize, offset: u64, value: u128) {
        match &mut self.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark(offset);
                tracked.block.put_u128(offset, value);
            }
            Storage::Freed(_) => {}
        }
    }

    pub(super) fn get_bytes(&self, (index, offset): Target, out: &mut [u8]) {
        match &self.regions[index].storage {
            Storage::Owned(tracked) => tracked.block.get_bytes(offset, out),
            Storage::Freed(_) => {}
        }
    }

    fn put_bytes(&mut self, (index, offset): Target, bytes: &[u8]) {
        match &mut self.regions[index].storage {
            Storage::Owned(tracked) => {
                tracked.mark_range(offset, bytes.len() as u64);
                tracked.block.put_bytes(offset, bytes);
            }
            Storage::Freed(_) => {}
        }
    }
}

/// The errors of refused accesses.
impl MemoryMap {
    /// The error for an access that the fast check did not pass.
    #[cold]
    #[inline(never)]
    fn refuse(&self, access: AccessKind, addr: Addr, size: u64, align: u64) -> Box<AccessError> {
        let around = self.region_at(addr).filter(|r| r.len > 0);
        let in_window = Space::of(addr).window().is_some();
        let nearest = if in_window { None } else { self.nearest(addr) };
        let violation = match around {
            _ if in_window => Violation::WrongSpace,
            None if addr.0 < NULL_GUARD => Violation::Null,
            _ if !addr.is_aligned(align) => Violation::Misaligned,
            Some(region) if !region.is_live() => Violation::Freed,
            Some(region) if region.is_hidden() => region.violation_of(self.counters.accessing),
            Some(region) if access.writes() && region.holds(addr, size) => Violation::ReadOnly,
            Some(_) => Violation::OutOfBounds,
            None => match &nearest {
                Some(near) if near.distance() <= near.len.max(COPY_CHUNK as u64) => {
                    Violation::OutOfBounds
                }
                _ => Violation::NotMapped,
            },
        };
        Box::new(AccessError {
            violation,
            access,
            space: Space::Generic,
            addr: addr.0,
            size,
            align,
            nearest,
        })
    }

    /// The region around an address, or the one with the fewest bytes in between.
    fn nearest(&self, addr: Addr) -> Option<Nearest> {
        let index = self.before(addr);
        let describe = |r: &Region| Nearest::new(&r.name, r.base, r.len, !r.is_live(), addr.0);
        let below = index.checked_sub(1).and_then(|i| self.regions.get(i)).map(describe);
        let above = self.regions.get(index).map(describe);
        below.into_iter().chain(above).min_by_key(Nearest::distance)
    }
}
