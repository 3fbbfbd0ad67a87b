//! Snapshots of a whole map.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use super::map::{Counters, owned_bytes};
use super::region::Storage;
use super::snapshot::{Pages, Tracked};
use super::{Addr, MapError, MemoryMap, PAGE_BYTES, Permission, Region, RegionId, Sharing};

/// The state of a map at one time: cheap to keep and to copy, shares every page that was not
/// written in between with the snapshots before and after it. Two snapshots are equal if their maps
/// were, byte for byte and in everything that decides how the maps continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    regions: Arc<[Saved]>,
    counters: Counters,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Saved {
    id: RegionId,
    name: Arc<str>,
    base: u64,
    len: u64,
    permission: Permission,
    contents: Contents,
    device: u8,
    sharing: Sharing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Contents {
    Owned(Arc<Pages>),
    /// With the address of the host range, which is never used to access it.
    Host(Arc<Pages>, usize),
    Freed(u64),
}

impl Contents {
    fn pages(&self) -> Option<&Arc<Pages>> {
        match self {
            Self::Owned(pages) | Self::Host(pages, _) => Some(pages),
            Self::Freed(_) => None,
        }
    }
}

impl Snapshot {
    /// Number of pages of [`PAGE_BYTES`](super::PAGE_BYTES) that it refers to. All-zero pages do
    /// not count.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.regions.iter().filter_map(|r| r.contents.pages()).map(|pages| pages.stored()).sum()
    }

    /// Number of these pages that are the same host memory in `other`.
    #[must_use]
    pub fn pages_shared_with(&self, other: &Self) -> usize {
        let of = |id| other.regions.iter().find(|r| r.id == id).and_then(|r| r.contents.pages());
        let pairs = self.regions.iter().filter_map(|r| Some((r.contents.pages()?, of(r.id)?)));
        pairs.map(|(mine, theirs)| mine.shared_with(theirs)).sum()
    }
}

impl MemoryMap {
    /// The map's state now. Copies only the pages written since the last snapshot or restore (host
    /// ranges are compared whole, as their owner may have written them).
    pub fn snapshot(&mut self) -> Snapshot {
        let save = |r: &mut Region| Saved {
            id: r.id,
            name: Arc::clone(&r.name),
            base: r.base,
            len: r.len,
            permission: r.permission,
            contents: match &mut r.storage {
                Storage::Owned(tracked) if tracked.is_host() => {
                    let identity = identity(tracked);
                    Contents::Host(tracked.snapshot(), identity)
                }
                Storage::Owned(tracked) => Contents::Owned(tracked.snapshot()),
                Storage::Freed(when) => Contents::Freed(*when),
            },
            device: r.device,
            sharing: r.sharing,
        };
        Snapshot { regions: self.regions.iter_mut().map(save).collect(), counters: self.counters }
    }

    /// Restores a snapshot's state: allocations made since are removed, freed ones come back. The
    /// limit stays as it is, even where the snapshot's regions exceed it.
    ///
    /// A host range gets its bytes back, except that a snapshot cannot bring back a range that no
    /// region shows any more. Bytes that the map owned then are not restored to a host range that
    /// has come since: they are the map's again. A range of which the map has got a copy
    /// ([`use_own`](Self::use_own), [`try_clone`](Self::try_clone)) is restored to that.
    ///
    /// # Errors
    /// Returns [`MapError`] if such a host range is not there any more, or if the host has no
    /// memory for what was freed; then nothing is changed.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), MapError> {
        // First all that can fail, then all that changes something.
        let index: BTreeMap<RegionId, usize> =
            self.regions.iter().enumerate().map(|(i, r)| (r.id, i)).collect();
        let plan: Vec<Plan> = snapshot
            .regions
            .iter()
            .map(|saved| self.plan(saved, index.get(&saved.id).copied()))
            .collect::<Result<_, _>>()?;
        let mut old = std::mem::take(&mut self.regions);
        for (saved, plan) in snapshot.regions.iter().zip(plan) {
            let mut storage = match plan {
                Plan::Use(storage) => storage,
                Plan::Keep(index) => std::mem::replace(&mut old[index].storage, Storage::Freed(0)),
            };
            if let (Storage::Owned(tracked), Some(pages)) = (&mut storage, saved.contents.pages()) {
                tracked.restore(pages);
            }
            let &Saved { id, ref name, base, len, permission, device, sharing, .. } = saved;
            let (name, reach) = (Arc::clone(name), len);
            let mut region =
                Region { base, reach, permission, storage, len, id, name, device, sharing };
            region.open(snapshot.counters.accessing);
            self.regions.push(region);
        }
        self.counters = snapshot.counters;
        self.counters.mapped = owned_bytes(&self.regions);
        Ok(())
    }

    /// Returns the storage for a saved region, given the map's region of the same identity.
    fn plan(&self, saved: &Saved, index: Option<usize>) -> Result<Plan, MapError> {
        let candidate = index.filter(|&i| self.regions[i].len == saved.len);
        match (&saved.contents, candidate.map(|i| (i, &self.regions[i].storage))) {
            (Contents::Freed(when), _) => Ok(Plan::Use(Storage::Freed(*when))),
            (_, Some((index, Storage::Owned(tracked)))) if !tracked.is_host() => {
                Ok(Plan::Keep(index))
            }
            (Contents::Host(_, range), Some((index, Storage::Owned(tracked))))
                if identity(tracked) == *range =>
            {
                Ok(Plan::Keep(index))
            }
            (Contents::Host(..), _) => {
                Err(MapError::HostRangeGone { name: Arc::clone(&saved.name) })
            }
            (Contents::Owned(_), _) => match Tracked::zeroed(saved.len) {
                Ok(tracked) => Ok(Plan::Use(Storage::Owned(tracked))),
                Err(error) => Err(MapError::Host { name: Arc::clone(&saved.name), error }),
            },
        }
    }
}

/// The bytes of one region at one time. Shares pages as a [`Snapshot`] does.
#[derive(Clone, Debug, Default)]
pub struct RegionSnapshot(Arc<Pages>);

impl MemoryMap {
    /// Returns the bytes of the region that starts at `addr` now. Copies only the pages written
    /// since the last snapshot or restore.
    ///
    /// # Errors
    /// If no live region starts there.
    pub fn snapshot_region(&mut self, addr: Addr) -> Result<RegionSnapshot, MapError> {
        let index = self.start_at(addr)?;
        match &mut self.regions[index].storage {
            Storage::Owned(tracked) => Ok(RegionSnapshot(tracked.snapshot())),
            Storage::Freed(_) => Ok(RegionSnapshot::default()),
        }
    }

    /// Calls `f` with the offset of each page in which the region that starts at `addr` may differ
    /// from a snapshot of it, the bytes of the page then, and its bytes now: [`PAGE_BYTES`] of
    /// each, fewer at the end of the region. Stops at the first error of `f`.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn changed_pages<E>(
        &self,
        addr: Addr,
        before: &RegionSnapshot,
        mut f: impl FnMut(u64, &[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Ok(index) = self.start_at(addr) else { return Ok(()) };
        let Region { storage: Storage::Owned(tracked), len, .. } = &self.regions[index] else {
            return Ok(());
        };
        let (mut then, mut now) = ([0; PAGE_BYTES as usize], [0; PAGE_BYTES as usize]);
        for page in tracked.changed_since(&before.0) {
            let offset = page as u64 * PAGE_BYTES;
            let size = (len - offset).min(PAGE_BYTES) as usize;
            match before.0.get(page) {
                Some(words) => {
                    let bytes = then.chunks_exact_mut(8).zip(words.iter());
                    bytes.for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
                }
                None => then.fill(0),
            }
            tracked.block.get_bytes(offset, &mut now[..size]);
            f(offset, &then[..size], &now[..size])?;
        }
        Ok(())
    }
}

/// The address of a block's storage in this process.
fn identity(tracked: &Tracked) -> usize {
    NonNull::from(tracked.block.words()).addr().get()
}

/// The storage of a region after a restore.
enum Plan {
    /// In new storage.
    Use(Storage),
    /// That of the map's region of this index.
    Keep(usize),
}
