//! A map's regions as plain bytes, for an engine that borrows the map exclusively.
//!
//! While a [`DirectMemory`] lives, nobody else can see the map, so its words need not be accessed
//! as atomics: whole vectors can be copied. Accesses are checked as usual; only the error is left
//! to the caller, who repeats a refused access on the map itself. This exists on little-endian
//! hosts only, where the bytes of words lie in memory in the order of guest addresses.
//!
//! Several host threads can each have a part of it ([`DirectMemory::parts`]): a part grants no
//! place that another part has granted, unless both only read it, or the caller vouches for it
//! ([`DirectMemory::disjoint_parts`]).
#![allow(
    unsafe_code,
    reason = "atomic words that are exclusively borrowed have no safe view as bytes"
)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::claims::{Claim, Claims};
use super::journal::{Journal, Stock};
use super::map::MemoryMap;
use super::region::{Permission, Storage};
use super::snapshot::{PAGE_BYTES, Pages};

const PAGE: usize = PAGE_BYTES as usize;

/// One region.
struct View<'m> {
    base: u64,
    writable: bool,
    /// Its bytes, which only this view borrows for `'m`.
    bytes: *mut u8,
    len: usize,
    /// By page, whether it has been written since its map's last snapshot.
    dirty: &'m [AtomicU8],
    /// That snapshot.
    saved: &'m Pages,
    /// By page, whether its old contents are in a journal.
    kept: Box<[AtomicU8]>,
    of: PhantomData<&'m mut [u8]>,
}

// SAFETY: a view is an exclusive borrow of bytes, which may be sent and shared; the handles below
// decide who accesses the bytes through a shared view.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

/// States of a page with respect to journals.
const NOT_KEPT: u8 = 0;
const BEING_KEPT: u8 = 1;
const KEPT: u8 = 2;

/// How often a thread looks whether another one has journalled a page before it yields.
const SPINS: u32 = 64;

/// All regions, and their old contents.
struct Regions<'m> {
    /// Sorted by address.
    views: Vec<View<'m>>,
    /// Journals of handles that have been dropped.
    journals: Mutex<Vec<Journal>>,
    /// The stock from which journals take their chunks.
    stock: &'m Stock,
}

impl Drop for Regions<'_> {
    fn drop(&mut self) {
        let journals = self.journals.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.stock.put(journals.drain(..));
    }
}

/// All regions of a map, exclusively borrowed. Writes to granted places can be [taken
/// back](Self::undo).
///
/// Always holds: bytes are accessed only through places. A handle without claims is the only one;
/// handles with claims exist while that one is borrowed, and grant only places that they have
/// claimed.
pub struct DirectMemory<'m> {
    regions: Arc<Regions<'m>>,
    part: Option<Part>,
    /// Old contents of pages, journalled before they were written, in no order.
    journal: RefCell<Journal>,
    /// Whether writes can be taken back.
    journalled: bool,
}

/// A handle among several.
struct Part {
    claims: Arc<Claims>,
    /// The owner for whom it claims; 0 for none.
    owner: u32,
}

/// The claims of the parts of a memory.
#[derive(Clone)]
pub struct Together(Arc<Claims>);

impl Together {
    /// Treats regions that nobody has written as unwritten for good from now on.
    pub fn trust(&self) {
        self.0.trust();
    }

    /// Returns whether a claim of a part was refused because of another one: then the effects
    /// depend on the order.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.0.refused()
    }

    /// Returns the numbers of the regions that were written.
    #[must_use]
    pub fn written(&self) -> Vec<u32> {
        self.0.written()
    }

    /// Returns the number of accesses to regions that were written, among those claimed one by one
    /// before [`Self::trust`].
    #[must_use]
    pub fn followed(&self) -> u64 {
        self.0.followed()
    }
}

/// What is known of regions before their owners begin, as lists of their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegionUses<'r> {
    /// Regions that an earlier attempt has found to be written.
    pub written: &'r [u32],
    /// Regions that nobody will write; writes are refused.
    pub unwritten: &'r [u32],
    /// Regions of which each owner accesses bytes of its own.
    pub disjoint: &'r [u32],
}

/// A checked place: a region, and a range of its bytes. Only the handle that has granted it can
/// access them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    region: u32,
    size: u32,
    offset: usize,
    owner: u32,
    claim: Claim,
    /// Whether its region is disjoint between the parts.
    disjoint: bool,
}

impl Place {
    /// The region's number, to be passed as a hint to the next access.
    #[inline]
    #[must_use]
    pub fn region(self) -> u32 {
        self.region
    }

    /// Byte offset in the region.
    #[inline]
    #[must_use]
    pub fn offset(self) -> usize {
        self.offset
    }

    /// Returns whether its region is [disjoint](DirectMemory::disjoint_parts) between the parts.
    #[inline]
    #[must_use]
    pub fn is_disjoint(self) -> bool {
        self.disjoint
    }
}

impl MemoryMap {
    /// Returns the map's regions as bytes. `None` if the host is not little-endian, or
    /// has no memory for the bookkeeping.
    #[must_use]
    pub fn direct(&mut self) -> Option<DirectMemory<'_>> {
        if cfg!(target_endian = "big") {
            return None;
        }
        let mut views = Vec::with_capacity(self.regions.len());
        let Self { regions, stock, .. } = self;
        for region in regions {
            match &mut region.storage {
                Storage::Owned(_) if region.reach < region.len => {}
                Storage::Owned(tracked) => {
                    let writable = region.permission == Permission::ReadWrite;
                    let len = usize::try_from(region.len).ok()?;
                    let (block, dirty, saved) = tracked.parts();
                    let words = block.words_mut();
                    if size_of_val(words) < len {
                        return None;
                    }
                    let bytes = words.as_mut_ptr().cast::<u8>();
                    let pages = if writable { len.div_ceil(PAGE) } else { 0 };
                    let mut kept = Vec::new();
                    kept.try_reserve_exact(pages).ok()?;
                    kept.resize_with(pages, AtomicU8::default);
                    let (base, kept, of) = (region.base, kept.into(), PhantomData);
                    views.push(View { base, writable, bytes, len, dirty, saved, kept, of });
                }
                Storage::Freed(_) => {}
            }
        }
        let mut journals = Vec::new();
        journals.try_reserve(1).ok()?;
        let regions = Arc::new(Regions { views, journals: Mutex::new(journals), stock });
        Some(DirectMemory { regions, part: None, journal: RefCell::default(), journalled: true })
    }
}

impl DirectMemory<'_> {
    /// Returns `count` parts, and their claims. `written` names the regions that an earlier attempt
    /// has found to be written.
    #[must_use]
    pub fn parts(&mut self, count: usize, written: &[u32]) -> (Vec<DirectMemory<'_>>, Together) {
        let claims = Claims::new(self.regions.views.iter().map(|v| v.len), written);
        self.with_claims(count, claims)
    }

    /// As [`Self::parts`]. In disjoint regions, accesses by [`Self::own_place`] make no claims; all
    /// others there are refused.
    ///
    /// # Safety
    /// While the parts exist, no byte of a disjoint region may be part of a place, or of what
    /// [`Self::whole`] and [`Self::around`] return and the caller accesses, for several owners, but
    /// for bytes that all of them only read.
    #[must_use]
    pub unsafe fn disjoint_parts(
        &mut self,
        count: usize,
        uses: RegionUses<'_>,
    ) -> (Vec<DirectMemory<'_>>, Together) {
        let mut claims = Claims::new(self.regions.views.iter().map(|v| v.len), uses.written);
        uses.unwritten.iter().for_each(|&region| claims.declare_unwritten(region));
        uses.disjoint.iter().for_each(|&region| claims.declare_disjoint(region));
        self.with_claims(count, claims)
    }

    fn with_claims(&mut self, count: usize, claims: Claims) -> (Vec<DirectMemory<'_>>, Together) {
        let (claims, journalled) = (Arc::new(claims), self.journalled);
        self.journals().reserve(count + 1);
        let part = |_| DirectMemory {
            journalled,
            regions: Arc::clone(&self.regions),
            part: Some(Part { claims: Arc::clone(&claims), owner: 0 }),
            journal: RefCell::default(),
        };
        ((0..count).map(part).collect(), Together(claims))
    }

    /// Returns the journals of dropped handles, with capacity for those of all live handles.
    fn journals(&self) -> MutexGuard<'_, Vec<Journal>> {
        self.regions.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether writes from now on can be taken back, also those of parts that are made from
    /// now on. In the beginning they can.
    pub fn set_journalled(&mut self, journalled: bool) {
        self.journalled = journalled;
    }

    /// Returns whether one region has all bytes from `low` to `last`, and may be written if
    /// `write`.
    #[must_use]
    pub fn has_range(&self, (low, last): (u64, u64), write: bool) -> bool {
        let views = &self.regions.views;
        let index = views.partition_point(|v| v.base <= low).checked_sub(1);
        let size = last.checked_sub(low).and_then(|n| n.checked_add(1));
        index.zip(size).is_some_and(|(i, size)| views[i].offset(low, size, write).is_some())
    }

    /// Returns whether it is one of several parts.
    #[inline]
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Makes further claims on behalf of a new owner. Does nothing to a memory without parts.
    pub fn next_owner(&mut self) {
        if let Some(part) = &mut self.part {
            part.owner = part.claims.owner().unwrap_or(0);
        }
    }

    /// Returns the place of `size` bytes at `addr` if all of them are in one live region, may be
    /// written if `write`, and are not claimed by another part. The region numbered `hint` is tried
    /// first. Alignment is not checked.
    #[inline]
    #[must_use]
    pub fn place(&self, hint: u32, addr: u64, size: u64, write: bool) -> Option<Place> {
        let claim = if write { Claim::Write } else { Claim::Read };
        self.find(hint, addr, size, claim, false)
    }

    /// As [`Self::place`], for an access that keeps to bytes of its owner wherever its region is
    /// [disjoint](Self::disjoint_parts) between the parts.
    #[inline]
    #[must_use]
    pub fn own_place(&self, hint: u32, addr: u64, size: u64, write: bool) -> Option<Place> {
        let claim = if write { Claim::Write } else { Claim::Read };
        self.find(hint, addr, size, claim, true)
    }

    /// Returns the place of `size` bytes at `addr`, to be [changed](Self::change) by the operation
    /// of this number.
    #[inline]
    #[must_use]
    pub fn place_to_change(&self, hint: u32, addr: u64, size: u64, op: u8) -> Option<Place> {
        self.find(hint, addr, size, Claim::Change(op), false)
    }

    #[inline]
    fn find(&self, hint: u32, addr: u64, size: u64, claim: Claim, own: bool) -> Option<Place> {
        let write = claim != Claim::Read;
        let views = &self.regions.views;
        let place = match views.get(hint as usize).and_then(|v| v.offset(addr, size, write)) {
            Some(offset) => (hint, offset),
            None => {
                let index = views.partition_point(|v| v.base <= addr).checked_sub(1)?;
                (index as u32, views[index].offset(addr, size, write)?)
            }
        };
        let ((region, offset), mut owner, mut disjoint) = (place, 0, false);
        if let Some(part) = &self.part {
            owner = part.owner;
            disjoint = own && part.claims.is_disjoint(region);
            let claims = || part.claims.claim(owner, region, (offset, size as usize), claim);
            if owner == 0 || !disjoint && !claims() {
                return None;
            }
        }
        if write && size > 0 && !self.keep(region, offset, size as usize) {
            return None;
        }
        Some(Place { region, size: size as u32, offset, owner, claim, disjoint })
    }

    /// Journals the pages of a place that will be written; returns whether there was memory for
    /// them.
    #[inline]
    fn keep(&self, region: u32, offset: usize, size: usize) -> bool {
        let (first, last) = (offset / PAGE, (offset + size - 1) / PAGE);
        let View { kept, dirty, .. } = &self.regions.views[region as usize];
        if !self.journalled {
            // Threads that write the same page would wait for each other.
            let clean = dirty[first..=last].iter().filter(|page| page.load(Ordering::Relaxed) != 1);
            clean.for_each(|page| page.store(1, Ordering::Relaxed));
            return true;
        }
        let is_kept = |kept: &AtomicU8| kept.load(Ordering::Acquire) == KEPT;
        kept[first..=last].iter().all(is_kept) || self.keep_pages(region, first..=last)
    }

    #[cold]
    #[inline(never)]
    fn keep_pages(&self, region: u32, pages: RangeInclusive<usize>) -> bool {
        let view = &self.regions.views[region as usize];
        // Other parts may journal some of them meanwhile: these are waited for in the end.
        for page in pages.clone() {
            let state = &view.kept[page];
            let begun =
                state.compare_exchange(NOT_KEPT, BEING_KEPT, Ordering::Acquire, Ordering::Acquire);
            if begun.is_ok() {
                let kept = self.copy_page(view, region, page);
                view.dirty[page].store(1, Ordering::Relaxed);
                state.store(if kept { KEPT } else { NOT_KEPT }, Ordering::Release);
            }
        }
        view.kept[pages].iter().all(|state| {
            // This takes no longer than a copy, unless the other thread is not running.
            let mut spins = 0;
            while state.load(Ordering::Acquire) == BEING_KEPT {
                spins += 1;
                match spins % SPINS {
                    0 => std::thread::yield_now(),
                    _ => std::hint::spin_loop(),
                }
            }
            state.load(Ordering::Acquire) == KEPT
        })
    }

    fn copy_page(&self, view: &View<'_>, region: u32, page: usize) -> bool {
        // Storage begins as zeros. To read them would have the host provide a page.
        if view.dirty[page].load(Ordering::Relaxed) == 0 && view.saved.get(page).is_none() {
            return self.journal.borrow_mut().keep_zero(region, page as u32);
        }
        let (start, end) = (page * PAGE, ((page + 1) * PAGE).min(view.len));
        // SAFETY: the range is inside the view. Nobody writes a page before it has been journalled,
        // and other writers wait meanwhile.
        let before = unsafe { std::slice::from_raw_parts(view.bytes.add(start), end - start) };
        self.journal.borrow_mut().keep(self.regions.stock, region, page as u32, before)
    }

    /// Returns the region of a place, for a caller that will access all of it without asking for
    /// places: its address, its length, and a host pointer, which stays valid. `None` if other
    /// parts may write these bytes, or if there is no memory to journal it. Of a disjoint region,
    /// the caller may access its own bytes alone.
    #[must_use]
    pub fn whole(&self, place: Place) -> Option<(u64, usize, *mut u8)> {
        let view = self.regions.views.get(place.region as usize)?;
        let write = place.claim != Claim::Read;
        match &self.part {
            Some(part) if !place.disjoint && (write || !part.claims.is_unwritten(place.region)) => {
                return None;
            }
            _ if write && view.len > 0 && !self.keep(place.region, 0, view.len) => return None,
            _ => {}
        }
        Some((view.base, view.len, view.bytes))
    }

    /// Claims up to `len` bytes of a region from a place on, in the same way as the place, for a
    /// caller that will access them without asking for places. Returns their number and a host
    /// pointer; `None` if another part has some of them, or if this is not a part.
    #[must_use]
    pub fn window(&self, place: Place, len: usize) -> Option<(usize, *mut u8)> {
        let (part, (at, _)) = (self.part.as_ref()?, self.at(place)?);
        let view = &self.regions.views[place.region as usize];
        let len = len.min(view.len - place.offset);
        let bytes = (place.offset, len);
        if len == 0
            || matches!(place.claim, Claim::Change(_))
            || !part.claims.claim(part.owner, place.region, bytes, place.claim)
            || place.claim == Claim::Write && !self.keep(place.region, place.offset, len)
        {
            return None;
        }
        Some((len, at))
    }

    /// As [`whole`](Self::whole), but at most the `window` aligned bytes around the place's first
    /// byte; for a handle that is not one of several parts, or a place in a disjoint region.
    #[must_use]
    pub fn around(&self, place: Place, window: usize) -> Option<(u64, usize, *mut u8)> {
        let view = self.regions.views.get(place.region as usize)?;
        let shared = self.part.is_some() && !place.disjoint;
        if shared || window == 0 || place.offset >= view.len {
            return None;
        }
        let start = place.offset - place.offset % window;
        let len = window.min(view.len - start);
        if place.claim != Claim::Read && !self.keep(place.region, start, len) {
            return None;
        }
        Some((view.base + start as u64, len, view.bytes.wrapping_add(start)))
    }

    /// Returns the bytes of a place's region.
    #[must_use]
    pub fn region_len(&self, place: Place) -> usize {
        self.regions.views.get(place.region as usize).map_or(0, |view| view.len)
    }

    /// Returns the address and length of each region, in ascending order.
    pub fn extents(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.regions.views.iter().map(|view| (view.base, view.len))
    }

    /// Returns the bytes that this handle has journalled for [undo](Self::undo).
    #[inline]
    #[must_use]
    pub fn kept(&self) -> usize {
        self.journal.borrow().bytes()
    }

    /// Commits all writes so far. Places granted for writing so far must no longer be written to,
    /// nor the memory that [`whole`](Self::whole) and [`around`](Self::around) have returned for
    /// writing. Does nothing to a part.
    pub fn settle(&mut self) {
        if self.part.is_some() {
            return;
        }
        let views = &self.regions.views;
        let forget = |region: u32, page: u32, _: &[u8]| {
            views[region as usize].kept[page as usize].store(NOT_KEPT, Ordering::Relaxed);
        };
        let mut others = self.journals();
        if !others.is_empty() {
            others.iter().for_each(|journal| journal.replay(forget));
            self.regions.stock.put(others.drain(..));
        }
        drop(others);
        let mut journal = self.journal.borrow_mut();
        journal.replay(forget);
        journal.clear();
    }

    /// Takes all writes back: restores memory as it was in the beginning, or at the last
    /// [commit](Self::settle).
    pub fn undo(&mut self) {
        let views = &self.regions.views;
        let back = |region: u32, page: u32, bytes: &[u8]| {
            let (view, start) = (&views[region as usize], page as usize * PAGE);
            let len = bytes.len().min(view.len - start);
            // SAFETY: the page is inside the view; the handle is borrowed exclusively, and no other
            // one is in use.
            let to = unsafe { view.bytes.add(start) };
            // SAFETY: as above; the journal is memory of its own.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, len) };
            view.kept[page as usize].store(NOT_KEPT, Ordering::Release);
        };
        let mut others = self.journals();
        others.push(self.journal.take());
        others.iter().for_each(|journal| journal.replay(back));
        self.regions.stock.put(others.drain(..));
    }

    /// Returns the address of a region's first byte, and its bytes, if the region exists and no
    /// part may write it.
    #[inline]
    #[must_use]
    pub fn region(&self, region: u32) -> Option<(u64, &[u8])> {
        let view = self.regions.views.get(region as usize)?;
        if let Some(part) = &self.part
            && !part.claims.is_unwritten(region)
        {
            return None;
        }
        // SAFETY: the view borrows the bytes. With parts, nobody writes the region while they
        // exist; without, only an exclusive borrow of this handle does.
        Some((view.base, unsafe { std::slice::from_raw_parts(view.bytes, view.len) }))
    }

    /// Returns the host pointer and length of a place, if this handle has granted it.
    #[inline]
    fn at(&self, place: Place) -> Option<(*mut u8, usize)> {
        let view = self.regions.views.get(place.region as usize)?;
        let size = place.size as usize;
        let inside = place.offset <= view.len && size <= view.len - place.offset;
        let own = place.owner == self.part.as_ref().map_or(0, |p| p.owner);
        (inside && own).then(|| (view.bytes.wrapping_add(place.offset), size))
    }

    /// Returns the bytes of a place.
    #[inline]
    #[must_use]
    pub fn bytes(&self, place: Place) -> &[u8] {
        match self.at(place) {
            // SAFETY: the bytes are inside the view; nobody else writes those of a handle's own
            // places, by its claims or by what the caller of `disjoint_parts` vouches for, and the
            // handle itself does only while it is borrowed exclusively.
            Some((at, size)) if !matches!(place.claim, Claim::Change(_)) => unsafe {
                std::slice::from_raw_parts(at, size)
            },
            _ => &[],
        }
    }

    /// Returns the bytes of a place for writing.
    #[inline]
    pub fn bytes_mut(&mut self, place: Place) -> &mut [u8] {
        match self.at(place) {
            // SAFETY: as above; nobody else accesses the bytes of a place for writing at all.
            Some((at, size)) if place.claim == Claim::Write => unsafe {
                std::slice::from_raw_parts_mut(at, size)
            },
            _ => &mut [],
        }
    }

    /// Replaces the 4 or 8 bytes of a place that was granted for it by a function of them, and
    /// returns whether they have changed. Other parts may do so at the same time.
    ///
    /// # Panics
    /// Panics if the place was not granted for it, or is not aligned.
    pub fn change(&self, place: Place, f: impl Fn(u64) -> u64) -> bool {
        let found = self.at(place).filter(|_| matches!(place.claim, Claim::Change(_)));
        let (at, size) = found.expect("a place to change");
        assert!(matches!(size, 4 | 8) && at.align_offset(size) == 0, "an aligned word");
        let order = Ordering::Relaxed;
        if size == 4 {
            // SAFETY: it is aligned and inside the view, and everyone who accesses it while parts
            // exist does so by atomics of this size.
            let word = unsafe { AtomicU32::from_ptr(at.cast()) };
            let update = |old: u32| Some(f(old.into()) as u32);
            word.fetch_update(order, order, update).is_ok_and(|old| update(old) != Some(old))
        } else {
            // SAFETY: as above.
            let word = unsafe { AtomicU64::from_ptr(at.cast()) };
            let update = |old: u64| Some(f(old));
            word.fetch_update(order, order, update).is_ok_and(|old| update(old) != Some(old))
        }
    }
}

impl Drop for DirectMemory<'_> {
    fn drop(&mut self) {
        // The capacity was reserved.
        self.journals().push(self.journal.take());
    }
}

impl View<'_> {
    #[inline]
    fn offset(&self, addr: u64, size: u64, write: bool) -> Option<usize> {
        let offset = addr.wrapping_sub(self.base);
        let len = self.len as u64;
        let fits = offset < len && size <= len - offset && (self.writable || !write);
        fits.then_some(offset as usize)
    }
}

#[cfg(test)]
mod tests;
