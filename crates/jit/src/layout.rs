//! Layouts of the words that a row of addresses names: distances of lanes from lane 0, and how the
//! words are loaded and stored by vectors.
//!
//! Most accesses repeat a few layouts. Code keeps one per access and compares a row of addresses
//! with it; if all active lanes are as far from lane 0 as it says, one address decides about all
//! bounds, and vectors and permutations take the place of gathers and scatters. When a layout
//! fails, code tries the others that the access has had; then the host finds another, less often
//! the less these have served.

use std::mem::offset_of;

/// The ways to access words. Contiguous ones are so in each half of a warp; permuted ones lie near
/// each other for each vector's worth of lanes.
pub(crate) mod kind {
    /// One by one.
    pub(crate) const NONE: u32 = 0;
    /// The words are contiguous in lane order.
    pub(crate) const CONTIGUOUS: u32 = 1;
    /// The words are one.
    pub(crate) const SAME: u32 = 2;
    /// The words are permuted within one vector, or within two.
    pub(crate) const ONE_VECTOR: u32 = 3;
    pub(crate) const TWO_VECTORS: u32 = 4;
}

/// A distance that no row of addresses matches a layout at.
const NEVER: i32 = i32::MIN;
/// Greatest distance of a lane from lane 0 in units, and in bytes.
const FAR: i64 = 1 << 30;
/// Layouts that are kept of an access, and those of them that are kept if they have not served.
const MAX_KNOWN: usize = 16;
const MAX_IDLE: usize = 2;
/// Uses from which on a layout has served.
const MIN_USES: u32 = 4;
/// Most misses of an access between searches for a layout, and those from which on no other ones
/// are kept.
const MAX_WAIT: u32 = 1 << 12;
const LONG_WAIT: u32 = 1 << 6;
/// Bytes that a bank of shared memory delivers in a pass.
const BANK: i64 = 4;
/// The mark of an element that a lane stores.
const STORED: u32 = 1 << 31;

/// A layout, as code reads it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct RowLayout {
    /// By lane: the distance from lane 0 in the row's unit.
    distances: [i32; 32],
    /// By lane: the 32-bit element of its part's vectors; a lane of 64 bits has two.
    elements: [u32; 64],
    /// By part, vector of the part and element: the lane of the part that stores there, and the
    /// sign if one does.
    lanes: [u32; 64],
    /// Bytes from lane 0's word to the first byte of the vectors.
    low: i64,
    /// The same in units of the row, rounded down.
    low_units: i64,
    /// Bytes of all that may be accessed.
    span: i64,
    /// By half: bytes from `low` to its first vector.
    halves: [i64; 2],
    /// By part: bytes from its half's first vector to its own.
    windows: [i64; 4],
    /// In launches in detail: the pattern that counts the last access with this layout, and the
    /// first active lane's address less the one that `low` leads to.
    pattern: u64,
    first: i64,
    /// How words are loaded and stored: one of [`kind`].
    loads: u32,
    stores: u32,
    /// Not 0 if the words of a half are in different banks of shared memory, so that lanes take one
    /// pass, or two where `meeting` lanes of both halves are active.
    passes: u32,
    /// Lanes of the first half whose bank is that of the same lane of the second half: all or none.
    meeting: u32,
    /// The address of the next of the access's layouts, in a ring.
    next: u64,
}

impl RowLayout {
    pub(crate) const DISTANCES: i64 = offset_of!(Self, distances) as i64;
    pub(crate) const ELEMENTS: i64 = offset_of!(Self, elements) as i64;
    pub(crate) const LANES: i64 = offset_of!(Self, lanes) as i64;
    pub(crate) const LOW: i64 = offset_of!(Self, low) as i64;
    pub(crate) const LOW_UNITS: i64 = offset_of!(Self, low_units) as i64;
    pub(crate) const SPAN: i64 = offset_of!(Self, span) as i64;
    pub(crate) const HALVES: i64 = offset_of!(Self, halves) as i64;
    pub(crate) const WINDOWS: i64 = offset_of!(Self, windows) as i64;
    pub(crate) const PATTERN: i64 = offset_of!(Self, pattern) as i64;
    pub(crate) const FIRST: i64 = offset_of!(Self, first) as i64;
    pub(crate) const LOADS: i64 = offset_of!(Self, loads) as i64;
    pub(crate) const STORES: i64 = offset_of!(Self, stores) as i64;
    pub(crate) const PASSES: i64 = offset_of!(Self, passes) as i64;
    pub(crate) const MEETING: i64 = offset_of!(Self, meeting) as i64;
    pub(crate) const NEXT: i64 = offset_of!(Self, next) as i64;

    const UNKNOWN: Self = Self {
        distances: [NEVER; 32],
        elements: [0; 64],
        lanes: [0; 64],
        low: 0,
        low_units: 0,
        span: 0,
        halves: [0; 2],
        windows: [0; 4],
        pattern: 0,
        first: 0,
        loads: kind::NONE,
        stores: kind::NONE,
        passes: 0,
        meeting: 0,
        next: 0,
    };

    /// Returns whether a row has this layout, by the distances of its active lanes from lane 0.
    fn is_of(&self, distances: &[i32; 32], on: u32) -> bool {
        lanes(on).all(|lane| self.distances[lane] == distances[lane])
    }
}

/// No layout.
static UNKNOWN: RowLayout = RowLayout::UNKNOWN;

fn address(layout: &RowLayout) -> u64 {
    &raw const *layout as u64
}

/// What code knows of the layouts of an access.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LayoutCell {
    /// The address of the layout that the last rows had.
    layout: u64,
    /// Misses until the host is called.
    wait: u32,
    /// Uses since the host was called.
    uses: u32,
    /// What `wait` begins with.
    interval: u32,
}

impl LayoutCell {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const LAYOUT: i64 = offset_of!(Self, layout) as i64;
    pub(crate) const WAIT: i64 = offset_of!(Self, wait) as i64;
    pub(crate) const USES: i64 = offset_of!(Self, uses) as i64;
}

/// An access whose layout is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayoutSite {
    /// Bytes of a lane's words.
    pub(crate) bytes: u8,
    /// The base-2 logarithm of the unit of the row.
    pub(crate) shift: u8,
    /// 32-bit lanes of a vector, which are a part of a row: 16 or 8.
    pub(crate) part: u8,
}

impl LayoutSite {
    /// Bytes of a vector.
    fn vector(self) -> i64 {
        4 * i64::from(self.part)
    }

    fn part_of(self, lane: usize) -> usize {
        lane / usize::from(self.part)
    }
}

/// The layouts of one worker, kept from launch to launch.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    cells: Box<[LayoutCell]>,
    /// By cell: the layouts that its rows have had. They stay where they are.
    #[allow(clippy::vec_box, reason = "cells point to layouts, and lists grow")]
    known: Vec<Vec<Box<RowLayout>>>,
}

impl Layouts {
    pub(crate) fn new(sites: &[LayoutSite]) -> Self {
        let cell = |_: &LayoutSite| LayoutCell {
            layout: address(&UNKNOWN),
            wait: 1,
            uses: 0,
            interval: 1,
        };
        Self {
            cells: sites.iter().map(cell).collect(),
            known: sites.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Returns the cells by site.
    pub(crate) fn table(&mut self) -> *mut LayoutCell {
        self.cells.as_mut_ptr()
    }

    /// Prepares for another launch: rows without a layout are searched at once.
    pub(crate) fn begin_launch(&mut self) {
        for cell in &mut self.cells {
            (cell.wait, cell.uses, cell.interval) = (1, 0, 1);
        }
    }

    /// Makes the layout of a row that of its site, if there is one.
    pub(crate) fn find(&mut self, number: usize, site: LayoutSite, row: &[u32; 32], on: u32) {
        let (cell, known) = (&mut self.cells[number], &mut self.known[number]);
        let served = cell.uses >= MIN_USES;
        cell.interval = if served { 1 } else { (4 * cell.interval).min(MAX_WAIT) };
        (cell.wait, cell.uses) = (cell.interval, 0);
        let distances = row.map(|address| address.wrapping_sub(row[0]) as i32);
        if let Some(layout) = known.iter().find(|layout| layout.is_of(&distances, on)) {
            cell.layout = address(layout);
            return;
        }
        let most = match served {
            true => MAX_KNOWN - 1,
            false if cell.interval < LONG_WAIT => MAX_IDLE,
            false => 0,
        };
        known.drain(..known.len().saturating_sub(most));
        known.extend(RowLayout::of_all(site, &distances, on).map(Box::new));
        let addresses: Vec<u64> = known.iter().map(|layout| address(layout)).collect();
        for (i, layout) in known.iter_mut().enumerate() {
            layout.next = addresses[(i + 1) % addresses.len()];
        }
        cell.layout = address(known.last().map_or(&UNKNOWN, |layout| layout));
    }
}

/// Returns lanes of the first half whose bank of shared memory is that of the same lane of the
/// second half: all, where they have different words of it, or none. Returns `None` if other lanes
/// share one. Words are aligned.
fn meeting(distances: &[i32; 32], shift: u32) -> Option<u32> {
    let bank = |lane: usize| (i64::from(distances[lane]) << shift).div_euclid(BANK) as u32 % 32;
    let banks =
        |half: usize| (0..16).fold(0_u32, |banks, lane| banks | 1 << bank(16 * half + lane));
    let [first, second] = [0, 1].map(banks);
    if (first | second) == u32::MAX {
        return Some(0);
    }
    let meet = |lane: usize| bank(lane) == bank(16 + lane);
    let same = |lane: usize| distances[lane] == distances[16 + lane];
    let all = first.count_ones() == 16 && (0..16).all(|lane| meet(lane) && !same(lane));
    all.then_some(0xffff)
}

fn lanes(on: u32) -> impl Iterator<Item = usize> {
    let mut left = on;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

impl RowLayout {
    /// Returns the layout of a row by the distances of lanes from lane 0: of all lanes if these
    /// have one, for inactive ones mostly follow the same pattern and may be active the next time;
    /// else, or if only this one is for stores, of the active ones.
    fn of_all(site: LayoutSite, distances: &[i32; 32], on: u32) -> Option<Self> {
        let all = Self::of(site, distances, u32::MAX);
        if all.is_some_and(|all| all.stores != kind::NONE) || on == u32::MAX {
            return all;
        }
        let active = Self::of(site, distances, on);
        all.filter(|_| active.is_none_or(|active| active.stores == kind::NONE)).or(active)
    }

    /// Returns the layout of a row by the distances of its active lanes from lane 0.
    fn of(site: LayoutSite, distances: &[i32; 32], on: u32) -> Option<Self> {
        if !Self::may_exist(site, distances, on) {
            return None;
        }
        let (bytes, shift) = (i64::from(site.bytes), u32::from(site.shift));
        let at = |lane: usize| i64::from(distances[lane]) << shift;
        Self::by_rank(bytes, on, at, false)
            .or_else(|| Self::by_rank(bytes, on, at, true))
            .or_else(|| Self::permuted(site, on, at))?
            .finished(site, on, distances)
    }

    /// Returns whether the words of active lanes are near each other in each part, not too far from
    /// lane 0's, and aligned to each other. Most rows without a layout fail this.
    fn may_exist(site: LayoutSite, distances: &[i32; 32], on: u32) -> bool {
        let bytes = i64::from(site.bytes);
        let most = (2 * site.vector()).max(i64::from(site.part) * bytes) - bytes;
        let first = i64::from(distances[on.trailing_zeros() as usize % 32]) << site.shift;
        let (mut low, mut high, mut odd) = (0, 0, 0);
        let (mut part, mut left) = (usize::MAX, on);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let distance = i64::from(distances[lane]);
            let at = distance << site.shift;
            if distance.abs().max(at.abs()) >= FAR {
                return false;
            }
            if site.part_of(lane) != part {
                (part, low, high) = (site.part_of(lane), at, at);
            }
            (low, high) = (low.min(at), high.max(at));
            if high - low > most {
                return false;
            }
            odd |= at - first;
        }
        on != 0 && odd % bytes == 0
    }

    /// The layout of words that are contiguous in each half, or the same.
    fn by_rank(bytes: i64, on: u32, at: impl Fn(usize) -> i64, same: bool) -> Option<Self> {
        let rank = |lane: usize| if same { 0 } else { lane as i64 % 16 * bytes };
        let starts = [0, 1].map(|half| {
            let first = lanes(on & 0xffff << (16 * half)).next();
            first.map(|lane| at(lane) - rank(lane))
        });
        let some = starts[0].or(starts[1])?;
        let starts = starts.map(|start| start.unwrap_or(some));
        if !lanes(on).all(|lane| at(lane) == starts[lane / 16] + rank(lane)) {
            return None;
        }
        let (loads, stores) = match same {
            true => (kind::SAME, kind::NONE),
            false => (kind::CONTIGUOUS, kind::CONTIGUOUS),
        };
        let width = if same { bytes } else { 16 * bytes };
        Some(Self { loads, stores, ..Self::UNKNOWN }.around(starts, width))
    }

    /// The layout of words within one or two vectors in each part.
    fn permuted(site: LayoutSite, on: u32, at: impl Fn(usize) -> i64) -> Option<Self> {
        let (bytes, vector) = (i64::from(site.bytes), site.vector());
        if !matches!(bytes, 4 | 8) {
            return None;
        }
        let parts = 32 / usize::from(site.part);
        let bounds: [_; 4] = std::array::from_fn(|part| {
            let part = || lanes(on).filter(|&lane| site.part_of(lane) == part).map(&at);
            Some((part().min()?, part().max()? + bytes))
        });
        let some = bounds.iter().copied().flatten().next()?;
        let bounds = bounds.map(|bounds| bounds.unwrap_or(some));
        let widest = bounds.iter().map(|(low, high)| high - low).max()?;
        let (width, loads) = match widest {
            _ if widest <= vector => (vector, kind::ONE_VECTOR),
            _ if widest <= 2 * vector => (2 * vector, kind::TWO_VECTORS),
            _ => return None,
        };
        // Pairs of words belong together more often than not, at the end of a buffer as well.
        let starts = bounds.map(|(low, high)| {
            let even = low - low.rem_euclid(2 * bytes);
            if high - even <= width { even } else { low }
        });
        let half = |half: usize| &starts[half * parts / 2..(half + 1) * parts / 2];
        let halves = [0, 1].map(|i| half(i).iter().copied().min().unwrap_or(0));
        let windows = std::array::from_fn(|part| match part < parts {
            true => starts[part] - halves[2 * part / parts],
            false => 0,
        });
        let farthest = windows.into_iter().max()?;
        let stores = if bytes == 4 { loads } else { kind::NONE };
        let mut this =
            Self { loads, stores, windows, ..Self::UNKNOWN }.around(halves, farthest + width);
        for lane in lanes(on) {
            this.place(site, lane, ((at(lane) - starts[site.part_of(lane)]) / bytes) as usize);
        }
        Some(this)
    }

    /// Sets the element of a lane; two lanes on one are not stored by vectors.
    fn place(&mut self, site: LayoutSite, lane: usize, element: usize) {
        if site.bytes == 8 {
            self.elements[2 * lane] = 2 * element as u32;
            self.elements[2 * lane + 1] = 2 * element as u32 + 1;
            return;
        }
        self.elements[lane] = element as u32;
        let part = usize::from(site.part);
        let lane_of = &mut self.lanes[lane / part * 2 * part + element];
        if *lane_of & STORED != 0 {
            self.stores = kind::NONE;
        }
        *lane_of = (lane % part) as u32 | STORED;
    }

    /// Sets the vectors of both halves.
    fn around(self, starts: [i64; 2], width: i64) -> Self {
        let low = starts[0].min(starts[1]);
        let halves = starts.map(|start| start - low);
        Self { low, span: halves[0].max(halves[1]) + width, halves, ..self }
    }

    /// Sets the distances. Inactive lanes have places of their own as well, for they may be active
    /// the next time.
    fn finished(mut self, site: LayoutSite, on: u32, distances: &[i32; 32]) -> Option<Self> {
        self.distances = *distances;
        let (bytes, shift) = (i64::from(site.bytes), u32::from(site.shift));
        let distance = |at: i64| (at % (1 << shift) == 0).then_some((at >> shift) as i32);
        for lane in lanes(!on) {
            let start = self.low + self.halves[lane / 16];
            let rank = lane as i64 % 16 * bytes;
            self.distances[lane] = match self.loads {
                kind::CONTIGUOUS => distance(start + rank)?,
                kind::SAME => distance(start)?,
                loads => {
                    let part = site.part_of(lane);
                    let of = |e: i64| distance(start + self.windows[part] + e * bytes);
                    let vectors = if loads == kind::ONE_VECTOR { 1 } else { 2 };
                    let mut elements =
                        (0..vectors * site.vector() / bytes).filter(|&e| of(e).is_some());
                    let first = 2 * part * usize::from(site.part);
                    let vacant =
                        |&e: &i64| bytes == 8 || self.lanes[first + e as usize] & STORED == 0;
                    let element = elements.clone().find(vacant).or_else(|| elements.next())?;
                    let distance = of(element)?;
                    self.place(site, lane, element as usize);
                    distance
                }
            };
        }
        let meeting = if bytes == BANK { meeting(&self.distances, shift) } else { None };
        let (passes, meeting) = (u32::from(meeting.is_some()), meeting.unwrap_or(0));
        Some(Self { low_units: self.low >> shift, passes, meeting, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: u8, shift: u8, at: impl Fn(usize) -> i32, on: u32) -> Option<RowLayout> {
        RowLayout::of(LayoutSite { bytes, shift, part: 16 }, &std::array::from_fn(at), on)
    }

    fn stored(layout: &RowLayout, half: usize, vector: usize) -> u16 {
        let lanes = &layout.lanes[16 * (2 * half + vector)..][..16];
        lanes.iter().rev().fold(0, |bits, lane| bits << 1 | (lane >> 31) as u16)
    }

    #[test]
    fn contiguous_halves_may_be_apart() {
        let found = layout(4, 0, |lane| (lane as i32 % 16 - lane as i32 / 16 * 100) * 4, u32::MAX);
        let found = found.expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::CONTIGUOUS, kind::CONTIGUOUS));
        assert_eq!((found.low, found.halves, found.span), (-400, [400, 0], 464));
    }

    #[test]
    fn inactive_lanes_of_contiguous_words_are_expected_there() {
        let odd = 0xaaaa_aaaa;
        let row = |lane: usize| if lane.is_multiple_of(2) && lane > 0 { 77 } else { lane as i32 };
        let found = layout(4, 2, row, odd).expect("a layout");
        assert_eq!(found.distances, std::array::from_fn(|lane| lane as i32));
        assert_eq!((found.low, found.low_units), (0, 0));
    }

    #[test]
    fn permutations_are_inverse() {
        let row = |lane: usize| [5, 0, 9, 3][lane % 4] + 16 * (lane as i32 / 4 % 2) - 31;
        let found = layout(4, 2, row, 0x00ff_00ff).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::TWO_VECTORS, kind::TWO_VECTORS));
        for lane in lanes(0x00ff_00ff) {
            let element = found.elements[lane] as usize;
            let (half, vector) = (lane / 16, element / 16);
            let from = found.lanes[16 * (2 * half + vector) + element % 16];
            assert_eq!(from, (lane as u32 % 16) | STORED);
            let start = found.low + found.halves[half];
            assert_eq!(start + 4 * element as i64, i64::from(row(lane)) * 4);
        }
    }

    #[test]
    fn inactive_lanes_of_permutations_have_elements_of_their_own() {
        let found = layout(4, 2, |lane| lane as i32 ^ 3, 0x0fff_f0f0).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::ONE_VECTOR, kind::ONE_VECTOR));
        for half in 0..2 {
            assert_eq!([0, 1].map(|vector| stored(&found, half, vector)), [0xffff, 0]);
        }
        for lane in 0..32 {
            let at = 4 * i64::from(found.distances[lane]) - found.low - found.halves[lane / 16];
            assert_eq!(at, 4 * i64::from(found.elements[lane]));
        }
        // Units of two words leave too few for lanes of their own.
        let found = layout(4, 3, |lane| lane as i32 % 8, 0x000f_000f).expect("a layout");
        assert_eq!(found.stores, kind::NONE);
    }

    #[test]
    fn two_lanes_on_one_word_are_not_stored_by_vectors() {
        let found = layout(4, 2, |lane| lane as i32 / 2 % 8, u32::MAX).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::ONE_VECTOR, kind::NONE));
        let found = layout(4, 2, |_| 0, u32::MAX).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::SAME, kind::NONE));
    }

    #[test]
    fn passes_are_known_where_halves_have_banks_of_their_own() {
        let passes = |bytes, shift, at: &dyn Fn(i32) -> i32| {
            let found = layout(bytes, shift, |lane| at(lane as i32), u32::MAX);
            found.map(|found| (found.passes, found.meeting))
        };
        assert_eq!(passes(4, 0, &|lane| 4 * (lane ^ 5)), Some((1, 0)));
        assert_eq!(passes(4, 2, &|lane| lane % 16 + lane / 16 * 48), Some((1, 0)));
        // Two words of a bank each, in the same lanes of the halves and in others.
        assert_eq!(passes(4, 2, &|lane| lane % 16 + lane / 16 * 32), Some((1, 0xffff)));
        assert_eq!(passes(4, 2, &|lane| 2 * lane), Some((1, 0xffff)));
        assert_eq!(passes(4, 2, &|lane| 2 * (lane ^ (lane / 16))), Some((0, 0)));
        assert_eq!(passes(4, 2, &|lane| lane % 16), Some((0, 0)));
        assert_eq!(passes(4, 2, &|_| 0), Some((0, 0)));
        assert_eq!(passes(8, 3, &|lane| lane), Some((0, 0)));
        assert_eq!(passes(2, 1, &|lane| lane), Some((0, 0)));
    }

    #[test]
    fn far_or_unaligned_words_have_no_layout() {
        assert!(layout(4, 2, |lane| lane as i32 * 64, u32::MAX).is_none());
        assert!(layout(4, 0, |lane| lane as i32 * 2, u32::MAX).is_none());
        assert!(layout(4, 2, |lane| (lane as i32 & 1) << 30, u32::MAX).is_none());
        assert!(layout(4, 2, |lane| lane as i32, 0).is_none());
    }

    #[test]
    fn searches_are_rare_without_layouts() {
        let site = LayoutSite { bytes: 4, shift: 2, part: 16 };
        let mut layouts = Layouts::new(&[site]);
        let mut random = 1u32;
        for _ in 0..20 {
            let row = std::array::from_fn(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random >> 4
            });
            layouts.find(0, site, &row, u32::MAX);
        }
        assert_eq!(layouts.cells[0].wait, MAX_WAIT);
        assert_eq!(layouts.cells[0].layout, address(&UNKNOWN));
        layouts.cells[0].uses = MIN_USES;
        layouts.find(0, site, &std::array::from_fn(|lane| lane as u32), u32::MAX);
        assert_eq!((layouts.cells[0].wait, layouts.known[0].len()), (1, 1));
        assert_eq!(layouts.cells[0].layout, address(&layouts.known[0][0]));
    }

    #[test]
    fn parts_of_eight_lanes_have_windows_of_their_own() {
        // Each pair of lanes has the words of another, and quarters are apart.
        let row: [i32; 32] =
            std::array::from_fn(|lane| (lane as i32 ^ 2) * 2 + lane as i32 / 8 * 4);
        let site = LayoutSite { bytes: 4, shift: 2, part: 8 };
        let found = RowLayout::of(site, &row, u32::MAX).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::TWO_VECTORS, kind::TWO_VECTORS));
        for (lane, &distance) in row.iter().enumerate() {
            let element = found.elements[lane] as usize;
            let part = lane / 8;
            assert_eq!(found.lanes[16 * part + element], (lane as u32 % 8) | STORED);
            let at = found.low + found.halves[lane / 16] + found.windows[part];
            assert_eq!(at + 4 * element as i64, 4 * i64::from(distance));
            assert!(found.halves[lane / 16] + found.windows[part] + 64 <= found.span);
        }
        let wide = LayoutSite { bytes: 8, shift: 3, part: 8 };
        let found = RowLayout::of(wide, &std::array::from_fn(|lane| lane as i32 ^ 1), u32::MAX);
        let found = found.expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::TWO_VECTORS, kind::NONE));
        assert_eq!(found.elements[..4], [2, 3, 0, 1]);
    }

    #[test]
    fn inactive_lanes_have_the_layout_of_all_if_there_is_one() {
        let site = LayoutSite { bytes: 4, shift: 2, part: 16 };
        let spread: [i32; 32] = std::array::from_fn(|lane| 2 * lane as i32);
        let found = RowLayout::of_all(site, &spread, 0x1234_5678).expect("a layout");
        assert_eq!(found.distances, spread);
        // Inactive lanes on the words of others do not keep vectors from storing.
        let pairs = std::array::from_fn(|lane| (lane as i32 & !1) ^ 2);
        let found = RowLayout::of_all(site, &pairs, 0x5555_5555).expect("a layout");
        assert_eq!((found.loads, found.stores), (kind::ONE_VECTOR, kind::ONE_VECTOR));
        // Inactive lanes far away do not count.
        let far = std::array::from_fn(|lane| if lane < 16 { lane as i32 } else { 1 << 20 });
        assert!(RowLayout::of_all(site, &far, 0xffff).is_some());
    }

    #[test]
    fn layouts_that_serve_are_kept_in_a_ring() {
        let site = LayoutSite { bytes: 4, shift: 2, part: 16 };
        let mut layouts = Layouts::new(&[site]);
        let row = |by: u32| std::array::from_fn(|lane| lane as u32 ^ by);
        for by in 1..=5 {
            layouts.cells[0].uses = MIN_USES;
            layouts.find(0, site, &row(by), u32::MAX);
        }
        let known = &layouts.known[0];
        assert_eq!(known.len(), 5);
        for (i, layout) in known.iter().enumerate() {
            assert_eq!(layout.next, &raw const *known[(i + 1) % 5] as u64);
        }
        // Two are left of those that have not served.
        layouts.find(0, site, &row(6), u32::MAX);
        assert_eq!(layouts.known[0].len(), 1 + MAX_IDLE);
    }
}
