//! Snapshots of a whole map.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use super::map::{Counters, owned_bytes};
use super::region::Storage;
use super::snapshot::{Pages, Tracked};
use super::{MapError, MemoryMap, Permission, Region, RegionId, Sharing};

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
