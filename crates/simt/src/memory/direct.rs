//! A map's regions as plain bytes, for an engine that holds the map alone.
//!
//! While a [`DirectMemory`] lives, nobody else can see the map, so its words need not be accessed as atomics: whole vectors can be
//! copied. Accesses are checked as ever; only the error is left to the caller, who repeats a refused access on the map itself.
//! Exists on little-endian hosts alone, where bytes of words lie in memory in the order of guest addresses.
#![allow(
    unsafe_code,
    reason = "atomic words that are exclusively borrowed have no safe view as bytes"
)]

use std::sync::atomic::AtomicU64;

use super::map::MemoryMap;
use super::region::{Permission, Storage};

/// One region.
struct View<'m> {
    base: u64,
    writable: bool,
    bytes: &'m mut [u8],
}

/// All regions of a map, exclusively borrowed.
pub struct DirectMemory<'m> {
    /// Sorted by address.
    views: Vec<View<'m>>,
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
                    if writable {
                        // Any page may be written from now on.
                        tracked.mark_range(0, region.len);
                    }
                    let all = bytes(tracked.block.words_mut());
                    let bytes = all.get_mut(..usize::try_from(region.len).ok()?)?;
                    views.push(View { base: region.base, writable, bytes });
                }
                Storage::Host(_) => return None,
                Storage::Freed(_) => {}
            }
        }
        Some(DirectMemory { views })
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
        if let Some(view) = self.views.get(hint as usize)
            && let Some(place) = view.place(hint, addr, size, write)
        {
            return Some(place);
        }
        let index = self.views.partition_point(|v| v.base <= addr).checked_sub(1)?;
        self.views[index].place(index as u32, addr, size, write)
    }

    /// The bytes of a region.
    #[inline]
    #[must_use]
    pub fn bytes(&self, region: u32) -> &[u8] {
        self.views[region as usize].bytes
    }

    /// The bytes of a region, to change: one that [`Self::place`] has given for writing.
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
}
