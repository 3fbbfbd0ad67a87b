//! A map's regions as plain bytes, for an engine that holds the map alone.
//!
//! While a [`DirectMemory`] lives, nobody else can see the map, so its words need not be accessed as atomics: whole vectors can be
//! copied. Accesses are checked as ever; only the error is left to the caller, who repeats a refused access on the map itself.
//! Exists on little-endian hosts alone, where bytes of words lie in memory in the order of guest addresses.
//!
//! Several host threads can have a part of it each ([`DirectMemory::parts`]): a part gives no place that another part has given, unless
//! both only read it.
#![allow(
    unsafe_code,
    reason = "atomic words that are exclusively borrowed have no safe view as bytes"
)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::claims::{Claim, Claims};
use super::journal::{Journal, Stock};
use super::map::MemoryMap;
use super::region::{Permission, Storage};
use super::snapshot::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;

/// One region.
struct View<'m> {
    base: u64,
    writable: bool,
    /// Its bytes, borrowed for `'m` by this view alone.
    bytes: *mut u8,
    len: usize,
    /// By page, whether it has been written since its map's last snapshot.
    dirty: &'m [AtomicU8],
    /// By page, whether its bytes have been kept.
    kept: Box<[AtomicU8]>,
    of: PhantomData<&'m mut [u8]>,
}

// SAFETY: a view is an exclusive borrow of bytes, which may be sent and shared; who reaches the bytes through a shared view is up to the
// handles below.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

/// Whether a page has been kept.
const NOT_KEPT: u8 = 0;
const BEING_KEPT: u8 = 1;
const KEPT: u8 = 2;

/// All regions, and what was in them.
struct Regions<'m> {
    /// Sorted by address.
    views: Vec<View<'m>>,
    /// What handles have kept that are gone.
    journals: Mutex<Vec<Journal>>,
    /// Where journals have their room from.
    stock: &'m Stock,
}

impl Drop for Regions<'_> {
    fn drop(&mut self) {
        let journals = self.journals.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.stock.put(journals.drain(..));
    }
}

/// All regions of a map, exclusively borrowed. What places for writing have been given of can be [taken back](Self::undo).
///
/// Always holds: bytes are reached through places alone. A handle without claims is the only one; handles with claims exist while that one
/// is borrowed, and give places only of what they have claimed.
pub struct DirectMemory<'m> {
    regions: Arc<Regions<'m>>,
    part: Option<Part>,
    /// Pages that it has kept before they were written, in no order.
    journal: RefCell<Journal>,
}

/// A handle among several.
struct Part {
    claims: Arc<Claims>,
    /// In whose name it claims; nobody's is 0.
    owner: u32,
}

/// What the parts of a memory have claimed.
#[derive(Clone)]
pub struct Together(Arc<Claims>);

impl Together {
    /// From now on, what nobody has written may be taken never to be written.
    pub fn trust(&self) {
        self.0.trust();
    }

    /// Whether a part wanted what another one has: then what they have done depends on the order.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.0.refused()
    }

    /// Numbers of the regions that were written.
    #[must_use]
    pub fn written(&self) -> Vec<u32> {
        self.0.written()
    }

    /// Accesses to regions that were written, as far as they were claimed one by one.
    #[must_use]
    pub fn followed(&self) -> u64 {
        self.0.followed()
    }
}

/// A checked place: which region, and which bytes of it. Only the handle that has given it can reach them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    region: u32,
    size: u32,
    offset: usize,
    owner: u32,
    claim: Claim,
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
}

impl MemoryMap {
    /// The map's regions as bytes. `None` if the host is not little-endian, a region is memory of the host's, or the host has no memory
    /// to keep account.
    #[must_use]
    pub fn direct(&mut self) -> Option<DirectMemory<'_>> {
        if cfg!(target_endian = "big") {
            return None;
        }
        let mut views = Vec::with_capacity(self.regions.len());
        let Self { regions, stock, .. } = self;
        for region in regions {
            match &mut region.storage {
                Storage::Owned(tracked) => {
                    let writable = region.permission == Permission::ReadWrite;
                    let len = usize::try_from(region.len).ok()?;
                    let (block, dirty) = tracked.parts();
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
                    views.push(View { base, writable, bytes, len, dirty, kept, of });
                }
                Storage::Host(_) => return None,
                Storage::Freed(_) => {}
            }
        }
        let mut journals = Vec::new();
        journals.try_reserve(1).ok()?;
        let regions = Arc::new(Regions { views, journals: Mutex::new(journals), stock });
        Some(DirectMemory { regions, part: None, journal: RefCell::default() })
    }
}

impl DirectMemory<'_> {
    /// Parts for as many threads, of which `written` says what an earlier attempt has found to be written; and what they claim.
    #[must_use]
    pub fn parts(&mut self, count: usize, written: &[u32]) -> (Vec<DirectMemory<'_>>, Together) {
        let claims = Claims::new(self.regions.views.iter().map(|v| v.len), written);
        let claims = Arc::new(claims);
        self.journals().reserve(count + 1);
        let part = |_| DirectMemory {
            regions: Arc::clone(&self.regions),
            part: Some(Part { claims: Arc::clone(&claims), owner: 0 }),
            journal: RefCell::default(),
        };
        ((0..count).map(part).collect(), Together(claims))
    }

    /// What handles have kept that are gone; with room for those of all handles that are not.
    fn journals(&self) -> MutexGuard<'_, Vec<Journal>> {
        self.regions.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is one of several parts.
    #[inline]
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// What follows is claimed in the name of somebody new. Nothing changes for a memory without parts.
    pub fn next_owner(&mut self) {
        if let Some(part) = &mut self.part {
            part.owner = part.claims.owner().unwrap_or(0);
        }
    }

    /// The place of `size` bytes at `addr`, if all of them are in one live region and may be written, where that is asked for, and no
    /// other part has them. The region numbered `hint` is tried first. Alignment is not looked at.
    #[inline]
    #[must_use]
    pub fn place(&self, hint: u32, addr: u64, size: u64, write: bool) -> Option<Place> {
        let claim = if write { Claim::Write } else { Claim::Read };
        self.find(hint, addr, size, claim)
    }

    /// The place of `size` bytes at `addr`, to be [changed](Self::change) by the operation of this number.
    #[inline]
    #[must_use]
    pub fn place_to_change(&self, hint: u32, addr: u64, size: u64, op: u8) -> Option<Place> {
        self.find(hint, addr, size, Claim::Change(op))
    }

    #[inline]
    fn find(&self, hint: u32, addr: u64, size: u64, claim: Claim) -> Option<Place> {
        let write = claim != Claim::Read;
        let views = &self.regions.views;
        let place = match views.get(hint as usize).and_then(|v| v.offset(addr, size, write)) {
            Some(offset) => (hint, offset),
            None => {
                let index = views.partition_point(|v| v.base <= addr).checked_sub(1)?;
                (index as u32, views[index].offset(addr, size, write)?)
            }
        };
        let ((region, offset), mut owner) = (place, 0);
        if let Some(part) = &self.part {
            owner = part.owner;
            if owner == 0 || !part.claims.claim(owner, region, (offset, size as usize), claim) {
                return None;
            }
        }
        if write && size > 0 && !self.keep(region, offset, size as usize) {
            return None;
        }
        Some(Place { region, size: size as u32, offset, owner, claim })
    }

    /// Keeps the pages of a place that will be written; whether there was memory for them.
    #[inline]
    fn keep(&self, region: u32, offset: usize, size: usize) -> bool {
        let kept = &self.regions.views[region as usize].kept;
        let (first, last) = (offset / PAGE, (offset + size - 1) / PAGE);
        let mut pages = kept[first..=last].iter().enumerate();
        pages.all(|(i, kept)| {
            kept.load(Ordering::Acquire) == KEPT || self.keep_page(region, first + i)
        })
    }

    #[cold]
    #[inline(never)]
    fn keep_page(&self, region: u32, page: usize) -> bool {
        let view = &self.regions.views[region as usize];
        let state = &view.kept[page];
        let was =
            state.compare_exchange(NOT_KEPT, BEING_KEPT, Ordering::Acquire, Ordering::Acquire);
        if was.is_err() {
            // Another part keeps it, which takes no longer than a copy.
            while state.load(Ordering::Acquire) == BEING_KEPT {
                std::hint::spin_loop();
            }
            return state.load(Ordering::Acquire) == KEPT;
        }
        let kept = self.copy_page(view, region, page);
        view.dirty[page].store(1, Ordering::Relaxed);
        state.store(if kept { KEPT } else { NOT_KEPT }, Ordering::Release);
        kept
    }

    fn copy_page(&self, view: &View<'_>, region: u32, page: usize) -> bool {
        let (start, end) = (page * PAGE, ((page + 1) * PAGE).min(view.len));
        // SAFETY: the range is inside the view. Nobody writes a page before it has been kept, and who wants to waits while this goes on.
        let before = unsafe { std::slice::from_raw_parts(view.bytes.add(start), end - start) };
        self.journal.borrow_mut().keep(self.regions.stock, region, page as u32, before)
    }

    /// The region of a place, for somebody who will reach all of it without asking for places: its address, its bytes, and where they
    /// are, which they stay. `None` if there are other parts that may write it, or no memory to keep it.
    #[must_use]
    pub fn whole(&self, place: Place) -> Option<(u64, usize, *mut u8)> {
        let view = self.regions.views.get(place.region as usize)?;
        let write = place.claim != Claim::Read;
        match &self.part {
            None if write && view.len > 0 && !self.keep(place.region, 0, view.len) => return None,
            Some(part) if write || !part.claims.is_unwritten(place.region) => return None,
            _ => {}
        }
        Some((view.base, view.len, view.bytes))
    }

    /// As many of `len` bytes from a place on as are in its region, all of them claimed as the place is, for somebody who will reach them
    /// without asking: how many, and where they are. `None` if another part has some of them, or this is no part.
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

    /// As [`whole`](Self::whole), but no more of a large region than the `window` aligned bytes around the place's first; for a handle that is not one of several parts.
    #[must_use]
    pub fn around(&self, place: Place, window: usize) -> Option<(u64, usize, *mut u8)> {
        let view = self.regions.views.get(place.region as usize)?;
        if self.part.is_some() || window == 0 || place.offset >= view.len {
            return None;
        }
        let start = place.offset - place.offset % window;
        let len = window.min(view.len - start);
        if place.claim != Claim::Read && !self.keep(place.region, start, len) {
            return None;
        }
        Some((view.base + start as u64, len, view.bytes.wrapping_add(start)))
    }

    /// Bytes of a place's region.
    #[must_use]
    pub fn region_len(&self, place: Place) -> usize {
        self.regions.views.get(place.region as usize).map_or(0, |view| view.len)
    }

    /// Bytes kept for [taking back](Self::undo) by this handle.
    #[inline]
    #[must_use]
    pub fn kept(&self) -> usize {
        self.journal.borrow().bytes()
    }

    /// Nothing that was written so far will be taken back. Places for writing that were given so far are no longer to be written to, nor what
    /// [`whole`](Self::whole) and [`around`](Self::around) gave for writing. Does nothing to a part.
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

    /// Takes everything back: memory is as it was in the beginning, or when it was last [settled](Self::settle).
    pub fn undo(&mut self) {
        let views = &self.regions.views;
        let back = |region: u32, page: u32, bytes: &[u8]| {
            let (view, start) = (&views[region as usize], page as usize * PAGE);
            let len = bytes.len().min(view.len - start);
            // SAFETY: the page is inside the view; the handle is borrowed exclusively, and no other one is in use.
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

    /// The address of a region's first byte, and its bytes, if there is such a region and no part may write it.
    #[inline]
    #[must_use]
    pub fn region(&self, region: u32) -> Option<(u64, &[u8])> {
        let view = self.regions.views.get(region as usize)?;
        if let Some(part) = &self.part
            && !part.claims.is_unwritten(region)
        {
            return None;
        }
        // SAFETY: the bytes are borrowed by the view; with parts, nobody writes the region while they exist; without, only through
        // an exclusive borrow of this handle.
        Some((view.base, unsafe { std::slice::from_raw_parts(view.bytes, view.len) }))
    }

    /// Where a place's bytes are, if it is one of this handle's.
    #[inline]
    fn at(&self, place: Place) -> Option<(*mut u8, usize)> {
        let view = self.regions.views.get(place.region as usize)?;
        let size = place.size as usize;
        let inside = place.offset <= view.len && size <= view.len - place.offset;
        let own = place.owner == self.part.as_ref().map_or(0, |p| p.owner);
        (inside && own).then(|| (view.bytes.wrapping_add(place.offset), size))
    }

    /// The bytes of a place.
    #[inline]
    #[must_use]
    pub fn bytes(&self, place: Place) -> &[u8] {
        match self.at(place) {
            // SAFETY: the bytes are inside the view; those of a handle's own places are written by nobody else, and by itself only
            // while it is borrowed exclusively.
            Some((at, size)) if !matches!(place.claim, Claim::Change(_)) => unsafe {
                std::slice::from_raw_parts(at, size)
            },
            _ => &[],
        }
    }

    /// The bytes of a place for writing, to change.
    #[inline]
    pub fn bytes_mut(&mut self, place: Place) -> &mut [u8] {
        match self.at(place) {
            // SAFETY: as above; nobody else reaches the bytes of a place for writing at all.
            Some((at, size)) if place.claim == Claim::Write => unsafe {
                std::slice::from_raw_parts_mut(at, size)
            },
            _ => &mut [],
        }
    }

    /// Replaces the 4 or 8 bytes of a place that was given for it by a function of them, and says whether they have changed. Other
    /// parts may do so at the same time.
    ///
    /// # Panics
    /// If the place was not given for it, or is not aligned.
    pub fn change(&self, place: Place, f: impl Fn(u64) -> u64) -> bool {
        let found = self.at(place).filter(|_| matches!(place.claim, Claim::Change(_)));
        let (at, size) = found.expect("a place to change");
        assert!(matches!(size, 4 | 8) && at.align_offset(size) == 0, "an aligned word");
        let order = Ordering::Relaxed;
        if size == 4 {
            // SAFETY: it is aligned and inside the view, and all who reach it while parts exist do so by atomics of this size.
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
        // There is room for it.
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
