//! Regions: the mapped ranges of the address map, and where their bytes are.

use std::fmt;
use std::sync::Arc;

use super::snapshot::Tracked;
use super::{Addr, OutOfHostMemory, Sharing, Space};

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
    /// A range of host memory ([`MemoryMap::use_host`](super::MemoryMap::use_host)).
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
    /// Those of the map, or of a host range.
    Owned(Tracked),
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
    pub fn backing(&self) -> Backing {
        match &self.storage {
            Storage::Owned(tracked) if tracked.is_host() => Backing::Host,
            Storage::Owned(_) => Backing::Owned,
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
