//! A map's regions as plain bytes, for an engine that holds the map alone.
//!
//! While a [`DirectMemory`] lives, nobody else can see the map, so its words need not be accessed as atomics: whole vectors can be
//! copied. Accesses are checked as ever; only the error is left to the caller, who repeats a refused access on the map itself.
//! Exists on little-endian hosts alone, where bytes of words lie in memory in the order of guest addresses.
#![allow(
    unsafe_code,
    reason = "atomic words that are exclusively borrowed have no safe view as bytes"
)]

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::map::MemoryMap;
use super::region::{Permission, Storage};
use super::snapshot::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;

/// One region.
struct View<'m> {
    base: u64,
    writable: bool,
    bytes: &'m mut [u8],
    /// By page, whether it has been written since its map's last snapshot.
    dirty: &'m [AtomicU8],
    /// By page, whether its bytes have been kept.
    kept: Vec<Cell<bool>>,
}

/// A page as it was.
struct Kept {
    region: u32,
    page: u32,
    bytes: Box<[u8]>,
}

/// All regions of a map, exclusively borrowed. What places for writing have been given of can be [taken back](Self::undo).
pub struct DirectMemory<'m> {
    /// Sorted by address.
    views: Vec<View<'m>>,
    /// Pages before they were written, in no order.
    journal: RefCell<Vec<Kept>>,
}

/// A checked place: which region, and the offset of the first byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region's number, to be passed as a hint to the next access.
    pub region: u32,
    /// Byte offset in the region.
    pub offset: usize,
}

impl MemoryMap {
    /// The map's regions as bytes. `None` if the host is not little-endian or a region is memory of the host's.
    #[must_use]
    pub fn direct(&mut self) -> Option<DirectMemory<'_>> {
        if cfg!(target_endian = "big") {
            return None;
        }
        let mut views = Vec::with_capacity(self.regions.len());
        for region in &mut self.regions {
            match &mut region.storage {
                Storage::Owned(tracked) => {
                    let writable = region.permission == Permission::ReadWrite;
                    let (block, dirty) = tracked.parts();
                    let all = bytes(block.words_mut());
                    let bytes = all.get_mut(..usize::try_from(region.len).ok()?)?;
                    let pages = if writable { bytes.len().div_ceil(PAGE) } else { 0 };
                    let kept = vec![Cell::new(false); pages];
                    views.push(View { base: region.base, writable, bytes, dirty, kept });
                }
                Storage::Host(_) => return None,
                Storage::Freed(_) => {}
            }
        }
        Some(DirectMemory { views, journal: RefCell::default() })
    }
}

/// Words as bytes.
fn bytes(words: &mut [AtomicU64]) -> &mut [u8] {
    let len = size_of_val(words);
    // SAFETY: an `AtomicU64` has the size and the bit validity of a `u64`, whose bytes are all initialised; any bytes are
    // a valid value of it; `u8` has no alignment. The exclusive borrow of the words lasts as long as that of the bytes.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), len) }
}

impl DirectMemory<'_> {
    /// The place of `size` bytes at `addr`, if all of them are in one live region and may be written, where that is asked for.
    /// The region numbered `hint` is tried first. Alignment is not looked at.
    #[inline]
    #[must_use]
    pub fn place(&self, hint: u32, addr: u64, size: u64, write: bool) -> Option<Place> {
        let place = match self.views.get(hint as usize) {
            Some(view) => view.place(hint, addr, size, write),
            None => None,
        };
        let place = match place {
            Some(place) => place,
            None => {
                let index = self.views.partition_point(|v| v.base <= addr).checked_sub(1)?;
                self.views[index].place(index as u32, addr, size, write)?
            }
        };
        if write && size > 0 {
            self.keep(place, size as usize);
        }
        Some(place)
    }

    /// Keeps the pages of a place that will be written.
    #[inline]
    fn keep(&self, place: Place, size: usize) {
        let kept = &self.views[place.region as usize].kept;
        let (first, last) = (place.offset / PAGE, (place.offset + size - 1) / PAGE);
        for (i, kept) in kept[first..=last].iter().enumerate() {
            if !kept.get() {
                self.keep_page(place.region, first + i);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_page(&self, region: u32, page: usize) {
        let view = &self.views[region as usize];
        let end = ((page + 1) * PAGE).min(view.bytes.len());
        let bytes = view.bytes[page * PAGE..end].into();
        self.journal.borrow_mut().push(Kept { region, page: page as u32, bytes });
        view.dirty[page].store(1, Ordering::Relaxed);
        view.kept[page].set(true);
    }

    /// Keeps a whole region that may be written, for somebody who will write it without asking for places.
    pub fn keep_region(&self, region: u32) {
        let view = &self.views[region as usize];
        if view.writable && !view.bytes.is_empty() {
            self.keep(Place { region, offset: 0 }, view.bytes.len());
        }
    }

    /// Takes everything back: memory is as it was in the beginning.
    pub fn undo(&mut self) {
        for Kept { region, page, bytes } in self.journal.get_mut().drain(..) {
            let view = &mut self.views[region as usize];
            view.bytes[page as usize * PAGE..][..bytes.len()].copy_from_slice(&bytes);
            view.kept[page as usize].set(false);
        }
    }

    /// The address of a region's first byte, and its bytes, if there is such a region.
    #[inline]
    #[must_use]
    pub fn region(&self, region: u32) -> Option<(u64, &[u8])> {
        self.views.get(region as usize).map(|view| (view.base, &*view.bytes))
    }

    /// The bytes of a region.
    #[inline]
    #[must_use]
    pub fn bytes(&self, region: u32) -> &[u8] {
        self.views[region as usize].bytes
    }

    /// The bytes of a region, to change: one that [`Self::place`] has given for writing, where it has.
    #[inline]
    pub fn bytes_mut(&mut self, region: u32) -> &mut [u8] {
        self.views[region as usize].bytes
    }
}

impl View<'_> {
    #[inline]
    fn place(&self, region: u32, addr: u64, size: u64, write: bool) -> Option<Place> {
        let offset = addr.wrapping_sub(self.base);
        let len = self.bytes.len() as u64;
        let fits = offset < len && size <= len - offset && (self.writable || !write);
        fits.then_some(Place { region, offset: offset as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, Width};
    use super::*;

    #[test]
    fn places_follow_the_map() {
        let mut map = MemoryMap::new();
        let a = map.allocate("a", 100).unwrap();
        let c = map.allocate_with(Request::constant("c", 8)).unwrap();
        let gone = map.allocate("gone", 8).unwrap();
        map.free(gone).unwrap();
        let mut direct = map.direct().unwrap();
        let place = direct.place(9, a.0 + 96, 4, true).unwrap();
        direct.bytes_mut(place.region)[place.offset..][..4].copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(direct.place(0, a.0 + 97, 4, false), None);
        assert_eq!(direct.place(0, gone.0, 1, false), None);
        assert_eq!(direct.place(0, c.0, 8, true), None);
        assert!(direct.place(0, c.0, 8, false).is_some());
        assert_eq!(map.load(a.wrapping_add(96), Width::B4), Ok(0x0403_0201));
    }

    #[test]
    fn what_was_written_can_be_taken_back() {
        let mut map = MemoryMap::new();
        let a = map.allocate("a", 3 * PAGE_BYTES + 100).unwrap();
        let b = map.allocate("b", 64).unwrap();
        map.host_write(a, &[7; 5000]).unwrap();
        let before = map.snapshot();
        for undo in [true, false] {
            let mut direct = map.direct().unwrap();
            for (at, size) in [(a.0 + 4090, 12), (a.0 + 3 * PAGE_BYTES + 90, 10), (a.0 + 4095, 1)] {
                let place = direct.place(0, at, size, true).unwrap();
                direct.bytes_mut(place.region)[place.offset..][..size as usize].fill(9);
            }
            let region = direct.place(0, b.0, 1, false).unwrap().region;
            direct.keep_region(region);
            direct.bytes_mut(region).fill(1);
            if undo {
                direct.undo();
            }
            let mut bytes = [0; 64];
            map.read_bytes(b, &mut bytes).unwrap();
            assert_eq!(bytes, [u8::from(!undo); 64]);
            assert_eq!(map.snapshot() == before, undo);
        }
        // What was written is marked as such: a snapshot is taken back in full.
        map.restore(&before).unwrap();
        assert_eq!(map.snapshot(), before);
        assert_eq!(map.load(a.wrapping_add(4092), Width::B4), Ok(0x0707_0707));
    }
}
