//! Regions: the mapped ranges of the address map, and where their bytes are.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::snapshot::{PAGE_BYTES, PAGE_WORDS, Pages, Tracked};
use super::{Addr, HostRange, OutOfHostMemory, Sharing, Space, Width};

/// Identifies an allocation within its map, in order of allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub(super) u64);

impl RegionId {
    /// The number: 0 for the map's first allocation.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The guests' permission on a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Loads only.
    ReadOnly,
    /// Loads, stores and atomics.
    #[default]
    ReadWrite,
}

/// The owner of the bytes that a region shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// The map's own.
    Owned,
    /// A registered range of host memory.
    Host,
    /// None: the region has been freed, and its addresses are in quarantine.
    Freed,
}

/// A mapped range of guest addresses, or one that was freed not long ago.
pub struct Region {
    // First, because every access reads them.
    pub(super) base: u64,
    /// Bytes that can be accessed: `len`, or 0 once freed and while hidden.
    pub(super) reach: u64,
    pub(super) permission: Permission,
    pub(super) storage: Storage,
    pub(super) len: u64,
    pub(super) id: RegionId,
    pub(super) name: Arc<str>,
    pub(super) device: u8,
    pub(super) sharing: Sharing,
}

/// The storage of the bytes.
pub(super) enum Storage {
    Owned(Tracked),
    /// Host threads that share the map take turns; see [`HostRange`].
    Host(Box<Mutex<HostCells>>),
    /// When it was freed, counted in frees.
    Freed(u64),
}

impl Region {
    /// Its identity in the map.
    #[must_use]
    pub const fn id(&self) -> RegionId {
        self.id
    }

    /// Its first address.
    #[must_use]
    pub const fn base(&self) -> Addr {
        Addr(self.base)
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address after its last byte.
    #[must_use]
    pub const fn end(&self) -> Addr {
        Addr(self.base + self.len)
    }

    /// The name it was given: a buffer's argument or a variable's name.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Global or constant, by its address.
    #[must_use]
    pub const fn space(&self) -> Space {
        Space::of(self.base())
    }

    /// Returns the guests' permission.
    #[must_use]
    pub const fn permission(&self) -> Permission {
        self.permission
    }

    /// Returns the owner of its bytes.
    #[must_use]
    pub const fn backing(&self) -> Backing {
        match self.storage {
            Storage::Owned(_) => Backing::Owned,
            Storage::Host(_) => Backing::Host,
            Storage::Freed(_) => Backing::Freed,
        }
    }

    /// Returns whether it has not been freed.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        !matches!(self.storage, Storage::Freed(_))
    }

    /// Returns whether it is live and has all the `size` bytes from `addr` on.
    #[inline]
    pub(super) const fn holds(&self, addr: Addr, size: u64) -> bool {
        let offset = addr.0.wrapping_sub(self.base);
        offset < self.reach && size <= self.reach - offset
    }

    /// A deep copy; a host range becomes a copy of its bytes.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfHostMemory> {
        let storage = match &self.storage {
            Storage::Owned(tracked) => Storage::Owned(tracked.try_clone()?),
            Storage::Host(cells) => {
                let mut copy = Tracked::zeroed(self.len)?;
                with_host(cells, |bytes| copy.block.put_bytes(0, bytes));
                copy.mark_range(0, self.len);
                Storage::Owned(copy)
            }
            Storage::Freed(when) => Storage::Freed(*when),
        };
        Ok(Self { storage, name: Arc::clone(&self.name), ..*self })
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("id", &self.id.0)
            .field("name", &self.name)
            .field("base", &format_args!("{}", self.base()))
            .field("len", &self.len)
            .field("permission", &self.permission)
            .field("backing", &self.backing())
            .finish()
    }
}

/// A host range with the pages of its last snapshot.
pub(super) struct HostCells {
    pub(super) range: HostRange,
    base: Arc<Pages>,
}

impl HostCells {
    pub(super) fn new(range: HostRange) -> Self {
        Self { range, base: Arc::default() }
    }

    /// The contents as pages. Its owner may have written them too, so all of them are compared with
    /// the last snapshot.
    pub(super) fn snapshot(&mut self) -> Arc<Pages> {
        for (index, page) in self.range.bytes().chunks(PAGE_BYTES as usize).enumerate() {
            Pages::update(
                &mut self.base,
                index,
                page.chunks(8).map(|c| get_le(c, 0, c.len()) as u64),
            );
        }
        Arc::clone(&self.base)
    }

    /// Writes the contents of a snapshot back.
    pub(super) fn restore(&mut self, pages: &Arc<Pages>) {
        for (index, page) in self.range.bytes_mut().chunks_mut(PAGE_BYTES as usize).enumerate() {
            let words = pages.get(index).map_or(&[0; PAGE_WORDS], |p| p);
            for (bytes, word) in page.chunks_mut(8).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
            }
        }
        self.base = Arc::clone(pages);
    }
}

/// Calls `f` on the host's bytes while no other host thread accesses them.
pub(super) fn with_host<T>(cells: &Mutex<HostCells>, f: impl FnOnce(&mut [u8]) -> T) -> T {
    // A panic of another thread leaves the bytes in a valid state.
    f(cells.lock().unwrap_or_else(PoisonError::into_inner).range.bytes_mut())
}

/// The little-endian value of `size` bytes (at most 16).
pub(super) fn get_le(bytes: &[u8], offset: u64, size: usize) -> u128 {
    let mut value = [0; 16];
    value[..size].copy_from_slice(&bytes[offset as usize..][..size]);
    u128::from_le_bytes(value)
}

/// Writes the low `size` bytes (at most 16) of a value.
pub(super) fn put_le(bytes: &mut [u8], offset: u64, size: usize, value: u128) {
    bytes[offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Replaces the value of `width` bytes by `f` of it; the value before.
pub(super) fn update_le(
    bytes: &mut [u8],
    offset: u64,
    width: Width,
    f: impl FnOnce(u64) -> u64,
) -> u64 {
    let size = width.bytes() as usize;
    let old = get_le(bytes, offset, size) as u64;
    put_le(bytes, offset, size, f(old).into());
    old
}
