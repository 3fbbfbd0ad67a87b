//! Which bits of global memory are undefined.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::OriginId;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Most pages whose bits are kept: 128 MiB.
const MOST_PAGES: usize = 1 << 15;

/// The bits of a page that are undefined, and where the values come from that were stored so.
#[derive(Clone, Debug)]
struct Page {
    bits: Box<[u8; PAGE as usize]>,
    /// By granule of 8 bytes.
    origins: FxHashMap<u16, OriginId>,
}

/// The state of bytes that are copied within memory.
#[derive(Clone, Debug)]
pub struct CopiedBits {
    len: u64,
    /// Distance, bits and origin of those that are undefined.
    pieces: Vec<(u64, Vec<u8>, OriginId)>,
}

/// Bits of memory that have no defined value: nobody has written them, or what was written was
/// undefined itself. All other memory is defined.
///
/// Memory of which nothing was written is kept as ranges; bits are kept for pages of which some
/// were. The number of pages is bounded: beyond it memory counts as defined, and
/// [`Self::is_complete`] tells.
#[derive(Clone, Debug, Default)]
pub struct UndefinedMemory {
    /// Ranges of which all bits are undefined and that have no pages, by their starts.
    ranges: BTreeMap<u64, u64>,
    pages: FxHashMap<u64, Page>,
    lossy: bool,
}

impl UndefinedMemory {
    /// Returns whether everything could be followed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.lossy
    }

    /// Returns whether all memory is defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.pages.is_empty()
    }

    /// Makes all memory defined, because what was written to it is not known.
    pub fn forget(&mut self) {
        self.lossy |= !self.is_empty();
        self.ranges.clear();
        self.pages.clear();
    }

    /// Makes newly allocated memory undefined.
    pub fn allocate(&mut self, start: u64, len: u64) {
        self.define(start, len);
        let mut range = start..start.saturating_add(len);
        if let Some(end) = self.fill_page(range.start / PAGE, &range) {
            range.start = end;
        }
        if range.start < range.end && self.fill_page((range.end - 1) / PAGE, &range).is_some() {
            range.end = (range.end - 1) / PAGE * PAGE;
        }
        if range.start < range.end {
            self.ranges.insert(range.start, range.end);
        }
    }

    /// Makes the bytes of a range undefined that a page has whose bits are kept; returns where the
    /// range goes on behind it.
    fn fill_page(&mut self, page: u64, range: &Range<u64>) -> Option<u64> {
        let base = page * PAGE;
        let found = self.pages.get_mut(&page)?;
        let part = range.start.max(base) - base..range.end.min(base + PAGE) - base;
        found.bits[part.start as usize..part.end as usize].fill(0xff);
        found.origins.retain(|granule, _| !part.contains(&(u64::from(*granule) * 8)));
        Some(range.end.min(base + PAGE))
    }

    /// Makes memory defined, which was written or freed.
    pub fn define(&mut self, start: u64, len: u64) {
        if self.is_empty() || len == 0 {
            return;
        }
        let end = start.saturating_add(len);
        let first = start / PAGE * PAGE;
        if end.div_ceil(PAGE) * PAGE - first > PAGE * 64 {
            // Whole pages in the middle at once.
            let middle = start.next_multiple_of(PAGE)..end / PAGE * PAGE;
            self.cut(middle.clone());
            self.pages.retain(|page, _| !middle.contains(&(page * PAGE)));
            self.define_pages(start..middle.start);
            self.define_pages(middle.end..end);
            return;
        }
        self.define_pages(start..end);
    }

    fn define_pages(&mut self, range: Range<u64>) {
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let base = page * PAGE;
            let part = range.start.max(base)..range.end.min(base + PAGE);
            if part.end - part.start == PAGE {
                self.cut(part);
                self.pages.remove(&page);
                continue;
            }
            let Some(found) = self.page(page) else { continue };
            let within = (part.start - base) as usize..(part.end - base) as usize;
            found.bits[within].fill(0);
            if found.bits.iter().all(|&bits| bits == 0) {
                self.pages.remove(&page);
            }
        }
    }

    /// Takes a range out of those that are undefined as a whole.
    fn cut(&mut self, range: Range<u64>) {
        while let Some((&start, &end)) = self.ranges.range(..range.end).next_back() {
            if end <= range.start {
                return;
            }
            self.ranges.remove(&start);
            if end > range.end {
                self.ranges.insert(range.end, end);
            }
            if start < range.start {
                self.ranges.insert(start, range.start);
            }
        }
    }

    /// The bits of a page, which are made if the page lies in a range; `None` if it is defined.
    fn page(&mut self, page: u64) -> Option<&mut Page> {
        let base = page * PAGE;
        if !self.pages.contains_key(&page) {
            let mut bits = Box::new([0; PAGE as usize]);
            let mut any = false;
            for (&start, &end) in self.ranges.range(..base + PAGE).rev() {
                if end <= base {
                    break;
                }
                let part = start.max(base) - base..end.min(base + PAGE) - base;
                bits[part.start as usize..part.end as usize].fill(0xff);
                any = true;
            }
            if !any {
                return None;
            }
            self.cut(base..base + PAGE);
            if self.pages.len() >= MOST_PAGES {
                self.lossy = true;
                return None;
            }
            self.pages.insert(page, Page { bits, origins: FxHashMap::default() });
        }
        self.pages.get_mut(&page)
    }

    /// Returns whether bytes from an address on lie in a range that is undefined as a whole.
    fn range_at(&self, at: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.ranges.range(..=at).next_back()?;
        (at < end).then_some(start..end)
    }

    /// Reads the undefined bits of bytes; returns the origin of the first of them that has one.
    pub(crate) fn read(&self, at: u64, out: &mut [u8]) -> Option<OriginId> {
        out.fill(0);
        if self.is_empty() {
            return None;
        }
        let mut origin = None;
        for (i, bits) in out.iter_mut().enumerate() {
            let at = at.wrapping_add(i as u64);
            match self.pages.get(&(at / PAGE)) {
                Some(page) => {
                    *bits = page.bits[(at % PAGE) as usize];
                    if *bits != 0 && origin.is_none() {
                        origin = page.origins.get(&((at % PAGE / 8) as u16)).copied();
                    }
                }
                None if self.range_at(at).is_some() => *bits = 0xff,
                None => {}
            }
        }
        origin
    }

    /// Sets the undefined bits of bytes, and the origin of those that are.
    pub(crate) fn write(&mut self, at: u64, bits: &[u8], origin: OriginId) {
        if bits.iter().all(|&bits| bits == 0) {
            return self.define(at, bits.len() as u64);
        }
        for (i, &bits) in bits.iter().enumerate() {
            let at = at.wrapping_add(i as u64);
            let page = at / PAGE;
            if self.page(page).is_none() {
                if self.pages.len() >= MOST_PAGES {
                    self.lossy = true;
                    return;
                }
                let bits = Box::new([0; PAGE as usize]);
                self.pages.insert(page, Page { bits, origins: FxHashMap::default() });
            }
            let Some(page) = self.pages.get_mut(&page) else { return };
            page.bits[(at % PAGE) as usize] = bits;
            if bits != 0 {
                page.origins.insert((at % PAGE / 8) as u16, origin);
            }
        }
    }

    /// Returns the state of bytes, for [`Self::paste`].
    #[must_use]
    pub fn copied(&self, from: u64, len: u64) -> CopiedBits {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len && !self.is_empty() {
            let place = from.saturating_add(at);
            let page_end = (place / PAGE + 1) * PAGE;
            let range = self.range_at(place);
            let paged = self.pages.contains_key(&(place / PAGE));
            let next = self.ranges.range(place + 1..).next().map_or(u64::MAX, |r| *r.0);
            let end = match &range {
                // An origin is that of a granule.
                _ if paged => (place / 8 + 1) * 8,
                Some(range) => range.end.min(page_end),
                None => next.min(page_end),
            };
            let size = (end - place).min(len - at);
            if paged || range.is_some() {
                let mut bits = vec![0; size as usize];
                let origin = self.read(place, &mut bits).unwrap_or(OriginId::UNWRITTEN);
                if bits.iter().any(|&bits| bits != 0) {
                    pieces.push((at, bits, origin));
                }
            }
            at += size;
        }
        CopiedBits { len, pieces }
    }

    /// Gives bytes the state of others, which were copied there.
    pub fn paste(&mut self, to: u64, copied: &CopiedBits) {
        self.define(to, copied.len);
        for (at, bits, origin) in &copied.pieces {
            self.write(to.wrapping_add(*at), bits, *origin);
        }
    }

    /// Returns whether all bits of a range are defined.
    #[must_use]
    pub fn is_defined(&self, at: u64, len: u64) -> bool {
        let end = at.saturating_add(len);
        let in_range = |(_, &stop): (&u64, &u64)| stop > at;
        let undefined = |page: u64| {
            let base = page * PAGE;
            self.pages.get(&page).is_some_and(|found| {
                let part = at.max(base) - base..end.min(base + PAGE) - base;
                found.bits[part.start as usize..part.end as usize].iter().any(|&bits| bits != 0)
            })
        };
        self.is_empty()
            || !self.ranges.range(..end).next_back().is_some_and(in_range)
                && !(at / PAGE..end.div_ceil(PAGE)).any(undefined)
    }

    /// Returns bytes around some that are all defined, as these are.
    #[must_use]
    pub fn defined_around(&self, bytes: Range<u64>) -> Option<Range<u64>> {
        let Range { start, end } = bytes;
        let defined = start < end && self.is_defined(start, end - start);
        let page_of = |page: &u64| start / PAGE <= *page && *page <= (end - 1) / PAGE;
        if !defined || self.pages.keys().any(page_of) {
            return None;
        }
        let mut low = self.ranges.range(..start).next_back().map_or(0, |range| *range.1);
        let mut high = self.ranges.range(end..).next().map_or(u64::MAX, |range| *range.0);
        for page in self.pages.keys() {
            match page * PAGE < start {
                true => low = low.max((page + 1) * PAGE),
                false => high = high.min(page * PAGE),
            }
        }
        Some(low..high)
    }

    /// Returns the first byte of a range with an undefined bit, with the origin of what was stored
    /// there (`None`: nothing was), and the number of such bytes.
    #[must_use]
    pub fn first(&self, at: u64, len: u64) -> Option<(u64, Option<OriginId>, u64)> {
        if self.is_empty() {
            return None;
        }
        let end = at.saturating_add(len);
        let (mut first, mut count) = (None, 0);
        let mut note = |at: u64, origin: Option<OriginId>, bytes: u64| {
            count += bytes;
            if first.is_none_or(|(known, _)| at < known) {
                first = Some((at, origin.filter(|&origin| origin != OriginId::UNWRITTEN)));
            }
        };
        for (&start, &stop) in self.ranges.range(..end).rev() {
            if stop <= at {
                break;
            }
            let part = start.max(at)..stop.min(end);
            note(part.start, None, part.end - part.start);
        }
        let pages = self.pages.iter().filter(|(page, _)| {
            let base = *page * PAGE;
            base < end && at < base + PAGE
        });
        for (page, found) in pages {
            let base = page * PAGE;
            for byte in at.max(base)..end.min(base + PAGE) {
                if found.bits[(byte - base) as usize] != 0 {
                    let origin = found.origins.get(&(((byte - base) / 8) as u16));
                    note(byte, origin.copied(), 1);
                }
            }
        }
        first.map(|(at, origin)| (at, origin, count))
    }

    /// Returns whether the undefined bytes of a range lie as padding of structures does: each run
    /// of them is behind a defined byte of the range, shorter than an alignment of at most eight
    /// bytes, not four bytes long, and ends at the first address with that alignment.
    #[must_use]
    pub fn is_padding(&self, at: u64, len: u64) -> bool {
        let end = at.saturating_add(len);
        let mut from = at;
        while from < end {
            let page_end = end.min((from / PAGE + 1) * PAGE);
            if self.is_defined(from, page_end - from) {
                from = page_end;
                continue;
            }
            let mut bits = [0; 64];
            let size = (page_end - from).min(64);
            self.read(from, &mut bits[..size as usize]);
            let Some(first) = bits[..size as usize].iter().position(|&bits| bits != 0) else {
                from += size;
                continue;
            };
            let start = from + first as u64;
            let mut run = [0; 8];
            self.read(start, &mut run);
            let whole = run.iter().position(|&bits| bits == 0).unwrap_or(8) as u64;
            let stop = (start + whole).min(end);
            if start == at || !lies_as_padding(start, stop) {
                return false;
            }
            from = stop;
        }
        true
    }

    /// Returns the origins of all undefined values that were stored.
    pub(crate) fn origins(&self) -> FxHashSet<OriginId> {
        let stored = self.pages.values().flat_map(|page| {
            let is_undefined = |granule: u16| {
                let at = usize::from(granule) * 8;
                page.bits[at..at + 8].iter().any(|&bits| bits != 0)
            };
            let origins = page.origins.iter();
            origins.filter(move |(granule, _)| is_undefined(**granule)).map(|(_, &origin)| origin)
        });
        stored.filter(|&origin| origin != OriginId::UNWRITTEN).collect()
    }
}

/// Whether bytes fill the distance to the next address with an alignment. Four bytes are rather an
/// element that was left out.
fn lies_as_padding(start: u64, stop: u64) -> bool {
    let fills = |align: u64| stop - start < align && start.next_multiple_of(align) == stop;
    stop - start != 4 && [2, 4, 8].into_iter().any(fills)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the bytes of a range that are not in `written` are padding.
    fn padding(written: &[Range<u64>], range: Range<u64>) -> bool {
        let mut memory = UndefinedMemory::default();
        memory.allocate(0x1000, 0x3000);
        for bytes in written {
            memory.define(0x1000 + bytes.start, bytes.end - bytes.start);
        }
        memory.is_padding(0x1000 + range.start, range.end - range.start)
    }

    #[test]
    fn padding_fills_the_distance_to_an_alignment() {
        assert!(padding(&[0..2, 4..8], 0..8), "a short and an int");
        assert!(padding(&[0..1, 8..16, 16..17, 24..32], 0..32), "a char and a long, twice");
        assert!(padding(&[0..8, 8..9], 0..16), "a long and a char");
        assert!(padding(&[0..4, 4..8], 0..8), "nothing is undefined");
        assert!(!padding(&[0..2, 4..8], 2..8), "the first byte is undefined");
        assert!(!padding(&[0..2, 2..4], 0..12), "an element and more");
        assert!(!padding(&[0..4, 8..12], 0..12), "an element");
        assert!(!padding(&[0..3, 6..8], 0..8), "ends before an alignment");
        assert!(!padding(&[0..0x1000, 0x1000..0x2004], 0..0x3000), "a range without pages");
        let elements: Vec<Range<u64>> = (0..0x800).map(|i| 4 * i..4 * i + 2).collect();
        assert!(padding(&elements, 0..0x2000), "shorts aligned to 4");
    }
}
