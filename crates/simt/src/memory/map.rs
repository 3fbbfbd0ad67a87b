//! The address map: allocation, freeing, look-up.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::hints::Hints;
use super::journal::Stock;
use super::region::Storage;
use super::snapshot::Tracked;
use super::zeroed::Retired;
use super::{
    Accessing, Addr, CONST_HEAP, GLOBAL_HEAP, MAX_DEVICES, MapError, OutOfHostMemory, Permission,
    Region, RegionId, Sharing, Space,
};

/// Every allocation starts at a multiple of this many bytes, as CUDA's do.
pub const ALLOCATION_ALIGN: u64 = 256;

/// Unmapped bytes after each allocation, at least; longer allocations have a sixteenth of their
/// length.
pub const RED_ZONE: u64 = 256;

/// The most bytes of a red zone.
const MAX_RED_ZONE: u64 = 16 << 20;

/// The largest alignment that can be asked for.
const MAX_ALIGN: u64 = 1 << 30;

/// Regions mapped at a fixed address start at a multiple of this, so that offsets are aligned as
/// addresses are.
const FIXED_ALIGN: u64 = 16;

/// Least number of freed allocations that are remembered.
const QUARANTINE: usize = 16_384;

/// Most bytes of owned memory that a map holds by default.
pub const DEFAULT_LIMIT: u64 = 8 << 30;

/// The heap of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Heap {
    /// Constant memory.
    Const,
    /// Global memory.
    #[default]
    Global,
}

impl Heap {
    /// The addresses it allocates from.
    #[must_use]
    pub const fn range(self) -> Range<u64> {
        match self {
            Self::Const => CONST_HEAP,
            Self::Global => GLOBAL_HEAP,
        }
    }

    /// Its state space.
    #[must_use]
    pub const fn space(self) -> Space {
        match self {
            Self::Const => Space::Const,
            Self::Global => Space::Global,
        }
    }
}

/// A request for an allocation.
#[derive(Clone, Debug)]
pub struct Request {
    /// The name for error texts: the buffer's argument or the variable's name.
    pub name: Arc<str>,
    /// Length in bytes.
    pub len: u64,
    /// The heap.
    pub heap: Heap,
    /// The guests' permission; the host writes through [`MemoryMap::host_write`] regardless.
    pub permission: Permission,
    /// A power of two up to 2^30; less than [`ALLOCATION_ALIGN`] means that.
    pub align: u64,
}

impl Request {
    /// A read-write buffer in global memory.
    #[must_use]
    pub fn global(name: &str, len: u64) -> Self {
        let permission = Permission::ReadWrite;
        Self { name: name.into(), len, heap: Heap::Global, permission, align: ALLOCATION_ALIGN }
    }

    /// A read-only variable in constant memory.
    #[must_use]
    pub fn constant(name: &str, len: u64) -> Self {
        let permission = Permission::ReadOnly;
        Self { name: name.into(), len, heap: Heap::Const, permission, align: ALLOCATION_ALIGN }
    }

    /// The same at a multiple of `align` bytes.
    #[must_use]
    pub fn align(mut self, align: u64) -> Self {
        self.align = align;
        self
    }

    /// The same with this permission.
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.permission = permission;
        self
    }
}

/// The guest memory of one context: global and constant memory, see the [module](super) for the
/// map's layout.
///
/// Always holds: regions are sorted by address and do not overlap; those of a device that are live
/// and owned have `mapped` bytes together, at most `limit` unless a clone or a restore went beyond
/// it.
pub struct MemoryMap {
    pub(super) regions: Vec<Region>,
    /// The regions of the last accesses.
    pub(super) hints: Hints,
    /// Held for 16-byte accesses through a shared view, which no single atomic covers.
    pub(super) wide: Mutex<()>,
    pub(super) counters: Counters,
    /// Chunks for pages that launches journal.
    pub(super) stock: Stock,
    /// Storage for allocations of the lengths of freed ones.
    retired: Retired,
    limit: u64,
}

/// The state that makes the next allocation deterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// Address at which the next allocation is tried, for the constant and the global heap.
    next: [u64; 2],
    next_id: u64,
    /// Number of frees so far.
    frees: u64,
    /// Number of freed regions that are remembered.
    quarantined: usize,
    /// Bytes of live owned regions, by device.
    pub(super) mapped: [u64; MAX_DEVICES],
    /// The device whose memory allocations are.
    pub(super) device: u8,
    /// The device that accesses memory, if regions may be hidden from one.
    pub(super) accessing: Option<Accessing>,
    /// Whether there have been regions with a list of the devices that may access them.
    pub(super) has_lists: bool,
    /// The least length of red zones.
    least_red_zone: u64,
}

impl Counters {
    /// Returns whether devices other than this one have memory.
    pub(super) fn has_others(&self, device: u8) -> bool {
        (0..).zip(self.mapped).any(|(other, mapped)| other != device && mapped > 0)
    }
}

/// The bytes of live owned regions, by device.
pub(super) fn owned_bytes(regions: &[Region]) -> [u64; MAX_DEVICES] {
    let mut bytes = [0; MAX_DEVICES];
    for region in regions.iter().filter(|r| matches!(r.storage, Storage::Owned(_))) {
        bytes[usize::from(region.device)] += region.len;
    }
    bytes
}

impl Default for MemoryMap {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryMap {
    /// An empty map with [`DEFAULT_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// An empty map that holds at most `limit` bytes for each device.
    #[must_use]
    pub fn with_limit(limit: u64) -> Self {
        let counters = Counters {
            next: [CONST_HEAP.start, GLOBAL_HEAP.start],
            next_id: 0,
            frees: 0,
            quarantined: 0,
            mapped: [0; MAX_DEVICES],
            device: 0,
            accessing: None,
            has_lists: false,
            least_red_zone: RED_ZONE,
        };
        let (regions, hints, wide) = (Vec::new(), Hints::default(), Mutex::new(()));
        let (stock, retired) = Default::default();
        Self { regions, hints, wide, counters, stock, retired, limit }
    }

    /// The most bytes the map may own for a device.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The bytes the map owns now.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.counters.mapped.iter().sum()
    }

    /// The bytes the map owns now for a device.
    #[must_use]
    pub fn mapped_of(&self, device: u8) -> u64 {
        self.counters.mapped.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Sets the least length of the red zones of later allocations, up to 2^30, and makes them as
    /// long as the allocation: an access that far beyond one is refused rather than taken for one
    /// to the next.
    pub fn set_least_red_zone(&mut self, bytes: u64) {
        self.counters.least_red_zone = bytes.clamp(RED_ZONE, MAX_ALIGN);
    }

    /// The red zone after an allocation of `len` bytes.
    fn red_zone(&self, len: u64) -> u64 {
        let least = self.counters.least_red_zone;
        let own = if least > RED_ZONE { len.min(MAX_ALIGN) } else { 0 };
        (len / 16).clamp(RED_ZONE, MAX_RED_ZONE).max(least).max(own)
    }

    /// Allocates a zero-filled read-write buffer in global memory. The name is for error texts.
    ///
    /// # Errors
    /// If the limit, the host's memory or the address space does not allow it.
    pub fn allocate(&mut self, name: &str, len: u64) -> Result<Addr, MapError> {
        self.allocate_with(Request::global(name, len))
    }

    /// Allocates zero-filled memory. An allocation of no bytes has an address of its own too.
    ///
    /// # Errors
    /// If the alignment is not a power of two up to 2^30, or the limit, the host's memory or the
    /// address space does not allow it.
    pub fn allocate_with(&mut self, request: Request) -> Result<Addr, MapError> {
        let Request { name, len, heap, permission, align } = request;
        let storage = self.own(&name, len)?;
        let base = match self.place(heap, len, align, &name) {
            Ok(base) => base,
            Err(error) => {
                *self.mapped_now() -= len;
                return Err(error);
            }
        };
        Ok(self.insert(base, len, name, permission, storage))
    }

    /// Maps a zero-filled region at a fixed address, as a program image requires. There are no
    /// red zones around it.
    ///
    /// # Errors
    /// If the address is not a multiple of 16, the range meets a window or a live region or leaves
    /// the address space, or the limit or the host's memory does not allow it.
    pub fn map_at(
        &mut self,
        name: &str,
        base: Addr,
        len: u64,
        permission: Permission,
    ) -> Result<(), MapError> {
        let name: Arc<str> = name.into();
        if !base.is_aligned(FIXED_ALIGN) {
            return Err(MapError::Alignment { name, align: FIXED_ALIGN });
        }
        // A region of no bytes still takes up its address.
        let range = base.0..base.0.saturating_add(len.max(1));
        let meets = |other: &Range<u64>| range.start < other.end && other.start < range.end;
        let obstacle = if base.checked_add(len.max(1)).is_none() {
            Some("the end of the address space".to_owned())
        } else if let Some(space) = [Space::Shared, Space::Local, Space::Param]
            .into_iter()
            .find(|s| s.window().is_some_and(|w| meets(&w)))
        {
            Some(format!("the {space} window"))
        } else {
            let found = self
                .regions
                .iter()
                .find(|r| r.is_live() && meets(&(r.base..r.base + r.len.max(1))));
            found.map(|r| format!("\"{}\" ({} bytes at {})", r.name, r.len, r.base()))
        };
        if let Some(with) = obstacle {
            return Err(MapError::Overlap { name, base, len, with });
        }
        let storage = self.own(&name, len)?;
        self.forget(|r| !meets(&(r.base..r.base + r.len.max(1))));
        self.insert(base.0, len, name, permission, storage);
        Ok(())
    }

    /// Frees the allocation that starts at `addr`. Its addresses are not used again soon, so that a
    /// later access is reported as a use after free.
    ///
    /// # Errors
    /// If no allocation starts there, or it has been freed already.
    pub fn free(&mut self, addr: Addr) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        let region = &mut self.regions[index];
        if matches!(region.storage, Storage::Owned(_)) {
            self.counters.mapped[usize::from(region.device)] -= region.len;
        }
        self.counters.frees += 1;
        self.counters.quarantined += 1;
        let freed = Storage::Freed(self.counters.frees);
        if let Storage::Owned(tracked) = std::mem::replace(&mut region.storage, freed) {
            tracked.retire(&mut self.retired);
        }
        region.reach = 0;
        if self.counters.quarantined > 2 * QUARANTINE {
            let oldest_kept = self.counters.frees - QUARANTINE as u64;
            self.forget(|r| matches!(r.storage, Storage::Freed(when) if when > oldest_kept));
        }
        Ok(())
    }

    /// Returns the address in this process of `len` bytes from `addr` on, for callers that let
    /// other code of the process work on them. With `writes`, their pages count as written. The
    /// bytes stay there until the region is freed or the map is dropped; nothing may access them
    /// while a launch runs. `None` if they are not all inside one live region that the map owns.
    #[must_use]
    pub fn expose(&self, addr: Addr, len: u64, writes: bool) -> Option<usize> {
        let region = &self.regions[self.locate(usize::MAX, addr, len)?];
        let Storage::Owned(tracked) = &region.storage else { return None };
        let offset = addr.0 - region.base;
        if writes {
            tracked.mark_range(offset, len);
        }
        let start = tracked.block.words().as_ptr().expose_provenance();
        Some(start + usize::try_from(offset).ok()?)
    }

    /// Changes what guests may do with the allocation that starts at `addr`.
    ///
    /// # Errors
    /// If no live allocation starts there.
    pub fn set_permission(&mut self, addr: Addr, permission: Permission) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        self.regions[index].permission = permission;
        Ok(())
    }

    /// All regions in order of address, with the freed ones that are remembered.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The parts of a range of addresses in which no live region lies, ascending.
    #[must_use]
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for region in self.regions.iter().filter(|r| r.is_live()) {
            let after = region.base.saturating_add(region.len);
            if after <= at || region.base >= range.end {
                continue;
            }
            if region.base > at {
                gaps.push(at..region.base);
            }
            at = after;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The region around an address, live or freed.
    #[must_use]
    pub fn region_at(&self, addr: Addr) -> Option<&Region> {
        let region = self.regions.get(self.before(addr).checked_sub(1)?)?;
        (addr.0 - region.base < region.len || addr.0 == region.base).then_some(region)
    }

    /// Returns the number of regions that start at or before an address.
    pub(super) fn before(&self, addr: Addr) -> usize {
        self.regions.partition_point(|r| r.base <= addr.0)
    }

    /// The index of the live region with all `size` bytes from `addr` on, trying the region `hint`
    /// first.
    #[inline]
    pub(super) fn locate(&self, hint: usize, addr: Addr, size: u64) -> Option<usize> {
        if self.regions.get(hint).is_some_and(|r| r.holds(addr, size)) {
            return Some(hint);
        }
        self.search(addr, size)
    }

    #[inline(never)]
    fn search(&self, addr: Addr, size: u64) -> Option<usize> {
        let index = self.before(addr).checked_sub(1)?;
        self.regions[index].holds(addr, size).then_some(index)
    }

    /// The index of the live region that starts at `addr`.
    pub(super) fn start_at(&self, addr: Addr) -> Result<usize, MapError> {
        match self.regions.binary_search_by_key(&addr.0, |r| r.base) {
            Ok(index) if self.regions[index].is_live() => Ok(index),
            Ok(index) => {
                Err(MapError::AlreadyFreed { addr, name: Arc::clone(&self.regions[index].name) })
            }
            Err(_) => {
                let inside = self.region_at(addr).map(|r| Arc::clone(&r.name));
                Err(MapError::NotAllocated { addr, inside })
            }
        }
    }

    /// New owned storage, counted against the limit.
    fn own(&mut self, name: &Arc<str>, len: u64) -> Result<Storage, MapError> {
        let mapped = *self.mapped_now();
        let total = mapped.checked_add(len).filter(|&total| total <= self.limit);
        let Some(total) = total else {
            return Err(MapError::Limit { name: Arc::clone(name), len, mapped, limit: self.limit });
        };
        let storage = Tracked::zeroed_from(&mut self.retired, len)
            .map_err(|error| MapError::Host { name: Arc::clone(name), error })?;
        *self.mapped_now() = total;
        Ok(Storage::Owned(storage))
    }

    /// The bytes owned for the device whose memory allocations are.
    fn mapped_now(&mut self) -> &mut u64 {
        &mut self.counters.mapped[usize::from(self.counters.device)]
    }

    /// A free range of the heap for `len` bytes and its red zone.
    fn place(
        &mut self,
        heap: Heap,
        len: u64,
        align: u64,
        name: &Arc<str>,
    ) -> Result<u64, MapError> {
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(MapError::Alignment { name: Arc::clone(name), align });
        }
        let align = align.max(ALLOCATION_ALIGN);
        let next = self.counters.next[heap as usize];
        let found = self.gap(next..heap.range().end, len, align).or_else(|| {
            // The heap has been used up once: give up the quarantine and start again at its
            // beginning.
            self.forget(|_| false);
            self.gap(heap.range(), len, align)
        });
        let Some(base) = found else {
            return Err(MapError::AddressSpace { name: Arc::clone(name), len, heap: heap.space() });
        };
        self.counters.next[heap as usize] = base + len + self.red_zone(len);
        Ok(base)
    }

    /// The lowest aligned address in `range` with room for `len` bytes, and red zones on both
    /// sides.
    fn gap(&self, range: Range<u64>, len: u64, align: u64) -> Option<u64> {
        let mut base = range.start.checked_next_multiple_of(align)?;
        let mut index =
            self.regions.partition_point(|r| r.end().0.saturating_add(RED_ZONE) <= base);
        loop {
            let end = base.checked_add(len)?.checked_add(self.red_zone(len))?;
            if end > range.end {
                return None;
            }
            match self.regions.get(index) {
                Some(r) if r.base < end => {
                    base = (r.base + r.len)
                        .checked_add(self.red_zone(r.len))?
                        .checked_next_multiple_of(align)?;
                    index += 1;
                }
                _ => return Some(base),
            }
        }
    }

    /// Forgets the freed regions that `keep` does not hold for.
    fn forget(&mut self, keep: impl Fn(&Region) -> bool) {
        self.regions.retain(|r| r.is_live() || keep(r));
        self.counters.quarantined = self.regions.iter().filter(|r| !r.is_live()).count();
    }

    fn insert(
        &mut self,
        base: u64,
        len: u64,
        name: Arc<str>,
        permission: Permission,
        storage: Storage,
    ) -> Addr {
        let id = RegionId(self.counters.next_id);
        self.counters.next_id += 1;
        let index = self.before(Addr(base));
        let (device, sharing, reach) = (self.counters.device, Sharing::default(), len);
        let mut region =
            Region { base, reach, permission, storage, len, id, name, device, sharing };
        region.open(self.counters.accessing);
        self.regions.insert(index, region);
        Addr(base)
    }

    /// Returns a deep copy; reports a lack of memory. A host range becomes a copy of its bytes,
    /// owned by the new map.
    ///
    /// # Errors
    /// Returns [`OutOfHostMemory`] if the host does not have that much memory.
    pub fn try_clone(&self) -> Result<Self, OutOfHostMemory> {
        let regions: Vec<Region> =
            self.regions.iter().map(Region::try_clone).collect::<Result<_, _>>()?;
        let mut counters = self.counters;
        counters.mapped = owned_bytes(&regions);
        let (hints, wide, stock) = (Hints::default(), Mutex::new(()), Stock::default());
        let (retired, limit) = (Retired::default(), self.limit);
        Ok(Self { regions, hints, wide, counters, stock, retired, limit })
    }
}

/// See [`MemoryMap::try_clone`]; ends the process where that reports a lack of memory.
impl Clone for MemoryMap {
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| error.abort())
    }
}

impl fmt::Debug for MemoryMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryMap")
            .field("mapped", &self.mapped())
            .field("limit", &self.limit)
            .field("regions", &self.regions)
            .finish()
    }
}
