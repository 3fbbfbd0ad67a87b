//! Accesses in launches that run in detail, as code of `select` counts them.
//!
//! Accesses of a block whose lanes are the same and whose addresses differ by constants are a
//! group: one count stands for all of them. Whole warps at affine addresses are counted by the low
//! bits of lane 0's address. All others mostly repeat a few patterns: the same lanes, at the same
//! distances from the first of them. Each group has a short list of [`Pattern`]s, and counts by the
//! first lane's address modulo [`StridedAccess::CONGRUENCE`]. Where code knows the layout of the
//! words, it also knows the pattern, and compares nothing but the lanes. What matches no pattern is
//! appended to the group's log, which the host drains when it is full: it adds patterns, or passes
//! accesses to the observer in one batch. A list that mostly fails is dropped.
//!
//! Some accesses take what they take whichever lanes are active, or as simple arithmetic on the
//! lanes says, so that patterns would only tell lanes apart. Of some lanes, code adds these up
//! ([`AccessGroup::direct`]): accesses to shared memory whose lanes have banks of their own, or one
//! word, take one pass; of contiguous words in global memory the sectors are counted.

use crate::frame::RegionCache;
use crate::line_totals::LineTotals;
use fast::{
    AccessLog, Addresses, CongruentAccesses, LoggedAccesses, StridedAccess, StridedAccesses,
};
use simt::memory::{Addr, Space};
use std::mem::offset_of;

/// Most patterns of a group.
const MAX_PATTERNS: u32 = 8;
/// Most patterns of all groups.
const MAX_TOTAL_PATTERNS: usize = 4096;
/// Logged accesses of a group after which its list is judged, each time.
const REVIEW_INTERVAL: u64 = 256;
/// Pattern hits per logged access below which a list is dropped.
const MIN_HITS: u64 = 4;
/// Entries of a group's log.
const LOG_ENTRIES: usize = 32;

const CONGRUENCE: usize = StridedAccess::CONGRUENCE as usize;

/// Counters of whole warps of a group: by the low byte of lane 0's address.
pub(crate) const POSITIONS: usize = 256;

/// Accesses that are counted together.
#[derive(Clone, Debug)]
pub(crate) struct AccessGroup {
    /// Steps, and what they add to the addresses. The first one's decides about positions.
    pub(crate) members: Vec<(u32, i64)>,
    /// Whether addresses have 64 bits rather than 32.
    pub(crate) wide: bool,
    /// Bytes from one lane's address to the next lane's, if they are affine.
    pub(crate) stride: Option<i64>,
    /// The entry of the frame's list of regions that the first step accesses, if positions are
    /// those of host addresses.
    pub(crate) region: Option<usize>,
    /// The number of its counters of whole warps, if it has such.
    pub(crate) positions: Option<usize>,
    /// Whether code may add up what accesses take. If addresses have 32 bits, these are passes over
    /// the banks of shared memory: one each if addresses are affine, else what their layout
    /// [says](crate::layout::RowLayout::PASSES). Otherwise addresses are affine, and name one word,
    /// or contiguous words of [`LineTotals::WORD`] bytes.
    pub(crate) direct: bool,
}

/// In place of a page: none.
const NO_PAGE: u64 = u64::MAX;

/// A group's pattern list and log, as code accesses them. Patterns are named by their byte offset
/// from the first one, which is a sentinel that matches no access.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GroupList {
    /// The pattern to compare first.
    current: u64,
    /// The head of the list.
    head: u64,
    log: *mut u8,
    /// Entries in the log. A log that is not allocated yet counts as full, so that code calls the
    /// host.
    logged: u64,
    /// What the first step adds to addresses.
    offset: i64,
    stride: i64,
    /// Not 0 if the list has been dropped.
    dropped: u64,
    /// Not 0 if affine accesses take one pass each.
    is_one_pass: u64,
    /// Accesses whose passes over the banks of shared memory are known, and those of them that took
    /// two rather than one.
    passed: u64,
    passed_twice: u64,
    /// The page of affine addresses whose accesses are added to the totals, or [`NO_PAGE`].
    line_page: u64,
    totals: LineTotals,
    /// An address in the page.
    line_at: u64,
}

impl GroupList {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const CURRENT: i64 = offset_of!(Self, current) as i64;
    pub(crate) const HEAD: i64 = offset_of!(Self, head) as i64;
    pub(crate) const LOG: i64 = offset_of!(Self, log) as i64;
    pub(crate) const LOGGED: i64 = offset_of!(Self, logged) as i64;
    pub(crate) const OFFSET: i64 = offset_of!(Self, offset) as i64;
    pub(crate) const STRIDE: i64 = offset_of!(Self, stride) as i64;
    pub(crate) const DROPPED: i64 = offset_of!(Self, dropped) as i64;
    pub(crate) const IS_ONE_PASS: i64 = offset_of!(Self, is_one_pass) as i64;
    pub(crate) const PASSED: i64 = offset_of!(Self, passed) as i64;
    pub(crate) const PASSED_TWICE: i64 = offset_of!(Self, passed_twice) as i64;
    pub(crate) const LINE_PAGE: i64 = offset_of!(Self, line_page) as i64;
    pub(crate) const LINE_TIMES: i64 = Self::TOTALS + LineTotals::TIMES;
    pub(crate) const LINE_LANES: i64 = Self::TOTALS + LineTotals::LANES;
    pub(crate) const LINE_SECTORS: i64 = Self::TOTALS + LineTotals::SECTORS;
    const TOTALS: i64 = offset_of!(Self, totals) as i64;

    fn new(group: &AccessGroup) -> Self {
        Self {
            current: 0,
            head: 0,
            log: std::ptr::null_mut(),
            logged: LOG_ENTRIES as u64,
            offset: group.members.first().map_or(0, |m| m.1),
            stride: group.stride.unwrap_or(0),
            dropped: 0,
            is_one_pass: u64::from(group.direct && !group.wide && group.stride.is_some()),
            passed: 0,
            passed_twice: 0,
            line_page: NO_PAGE,
            totals: LineTotals::default(),
            line_at: 0,
        }
    }
}

/// A row by lane: 64 bits each, or 32 bits each in the first half.
type Row = [u64; 32];

/// A set of accesses by the same lanes at the same distances from the first one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    distances: Row,
    /// All bits of the active lanes, none of others.
    lanes: Row,
    /// Number of accesses, by the first lane's address modulo [`StridedAccess::CONGRUENCE`].
    times: [u64; CONGRUENCE],
    /// The active lanes; none in the sentinel.
    on: u32,
    /// The high half of 64-bit addresses; it distinguishes state spaces.
    page: u32,
    next: u64,
    /// The first lane's address in one of the accesses.
    first: u64,
    /// The number of the group.
    group: usize,
}

impl Pattern {
    const NONE: Self = Self {
        distances: [0; 32],
        lanes: [0; 32],
        times: [0; CONGRUENCE],
        on: 0,
        page: 0,
        next: 0,
        first: 0,
        group: 0,
    };
    pub(crate) const DISTANCES: i64 = offset_of!(Self, distances) as i64;
    pub(crate) const LANES: i64 = offset_of!(Self, lanes) as i64;
    pub(crate) const TIMES: i64 = offset_of!(Self, times) as i64;
    pub(crate) const ON: i64 = offset_of!(Self, on) as i64;
    pub(crate) const PAGE: i64 = offset_of!(Self, page) as i64;
    pub(crate) const NEXT: i64 = offset_of!(Self, next) as i64;
    const SIZE: u64 = size_of::<Self>() as u64;

    fn is_of(&self, access: &RelativeAccess, page: u32, wide: bool) -> bool {
        let same = |lane: usize| {
            access.on >> lane & 1 == 0
                || lane_of(&self.distances, lane, wide) == lane_of(&access.distances, lane, wide)
        };
        (self.on, self.page) == (access.on, page) && (0..32).all(same)
    }
}

/// A log of 64-bit or 32-bit addresses, without offsets.
#[derive(Debug)]
#[repr(C, align(64))]
struct Log<T> {
    /// The active lanes, by entry.
    on: [u32; LOG_ENTRIES],
    /// Addresses, by entry and lane.
    at: [[T; 32]; LOG_ENTRIES],
}

impl<T: Copy + Default> Log<T> {
    fn new() -> Box<Self> {
        Box::new(Self { on: [0; LOG_ENTRIES], at: [[T::default(); 32]; LOG_ENTRIES] })
    }
}

/// Field offsets of logs, the same for both widths.
pub(crate) mod log {
    use super::{LOG_ENTRIES, Log};
    use std::mem::offset_of;

    pub(crate) const ENTRIES: i32 = LOG_ENTRIES as i32;
    pub(crate) const ON: i64 = offset_of!(Log<u64>, on) as i64;
    pub(crate) const AT: i64 = offset_of!(Log<u64>, at) as i64;
    const _: () = assert!(
        ON == offset_of!(Log<u32>, on) as i64 && AT == offset_of!(Log<u32>, at) as i64,
        "the same for both"
    );
}

/// The log of a group, allocated when the group is first drained.
#[derive(Debug)]
enum LogBuffer {
    None,
    Narrow(Box<Log<u32>>),
    Wide(Box<Log<u64>>),
}

impl LogBuffer {
    fn pointer(&mut self) -> *mut u8 {
        match self {
            Self::None => std::ptr::null_mut(),
            Self::Narrow(log) => (&raw mut **log).cast(),
            Self::Wide(log) => (&raw mut **log).cast(),
        }
    }

    /// Returns the first `count` entries.
    #[inline(always)]
    fn entries(&self, count: usize) -> (&[u32], Addresses<'_>) {
        match self {
            Self::None => (&[], Addresses::Narrow(&[])),
            Self::Narrow(log) => (&log.on[..count], Addresses::Narrow(&log.at[..count])),
            Self::Wide(log) => (&log.on[..count], Addresses::Wide(&log.at[..count])),
        }
    }

    /// Returns an entry in the form that patterns have.
    fn relative_access(&self, i: usize, offset: i64) -> Option<RelativeAccess> {
        let (on, addresses) = self.entries(i + 1);
        let on = *on.last()?;
        let lane = on.trailing_zeros() as usize % 32;
        Some(match addresses {
            Addresses::Narrow(at) => {
                let at = at.last()?;
                let distances = halves(|other| at[other].wrapping_sub(at[lane]));
                RelativeAccess { distances, on, first: at[lane].wrapping_add(offset as u32).into() }
            }
            Addresses::Wide(at) => {
                let at = at.last()?;
                let distances = at.map(|other| other.wrapping_sub(at[lane]));
                RelativeAccess { distances, on, first: at[lane].wrapping_add_signed(offset) }
            }
        })
    }
}

/// An access in the form that patterns have.
struct RelativeAccess {
    distances: Row,
    on: u32,
    first: u64,
}

/// How well a group's list has served.
#[derive(Clone, Copy, Debug, Default)]
struct HitCounts {
    patterns: u32,
    logged: u64,
    /// Accesses that matched the list and have been reported.
    found: u64,
}

/// The accesses of one worker.
#[derive(Debug)]
pub(crate) struct GroupedAccesses {
    groups: Box<[AccessGroup]>,
    hits: Box<[HitCounts]>,
    lists: Box<[GroupList]>,
    patterns: Vec<Pattern>,
    buffers: Box<[LogBuffer]>,
    /// Accesses of whole warps, by number of the counters.
    positions: Box<[[u64; POSITIONS]]>,
    /// The number of accesses of regions that are not there any more.
    replaced: Vec<StridedAccesses>,
}

/// The part of the frame that points to these.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GroupTables {
    pub(crate) lists: *mut GroupList,
    pub(crate) patterns: *mut Pattern,
    pub(crate) positions: *mut [u64; POSITIONS],
}

impl GroupTables {
    /// For launches that do not run in detail.
    pub(crate) const NONE: Self = Self {
        lists: std::ptr::null_mut(),
        patterns: std::ptr::null_mut(),
        positions: std::ptr::null_mut(),
    };
}

impl GroupedAccesses {
    pub(crate) fn new(groups: &[AccessGroup]) -> Self {
        Self {
            groups: groups.into(),
            hits: vec![HitCounts::default(); groups.len()].into(),
            lists: groups.iter().map(GroupList::new).collect(),
            patterns: vec![Pattern::NONE],
            buffers: groups.iter().map(|_| LogBuffer::None).collect(),
            positions: groups
                .iter()
                .filter(|g| g.positions.is_some())
                .map(|_| [0; POSITIONS])
                .collect(),
            replaced: Vec::new(),
        }
    }

    pub(crate) fn tables(&mut self) -> GroupTables {
        GroupTables {
            lists: self.lists.as_mut_ptr(),
            patterns: self.patterns.as_mut_ptr(),
            positions: self.positions.as_mut_ptr(),
        }
    }

    /// Moves the counts for a region aside, because entry `entry` now holds another one.
    pub(crate) fn region_replaced(&mut self, entry: usize, region: &RegionCache) {
        for index in 0..self.groups.len() {
            if self.groups[index].region == Some(entry) {
                self.take_positions(index, region);
            }
        }
    }

    /// Moves the counts of a group's accesses of whole warps to a list.
    fn take_positions(&mut self, index: usize, region: &RegionCache) {
        let group = &self.groups[index];
        let Some(positions) = group.positions else { return };
        // Positions are those of host addresses: a guest address is as far from them as the first.
        let (base, from) = match group.region {
            Some(_) => (region.base, region.bytes as u64),
            None => (0, 0),
        };
        let zero = group.members.first().map_or(0, |m| m.1);
        for (position, count) in (0_u64..).zip(&mut self.positions[positions]) {
            let times = std::mem::take(count);
            if times == 0 {
                continue;
            }
            let offset = position.wrapping_sub(from);
            self.replaced.extend(group.members.iter().map(|&(step, add)| {
                let offset = offset.wrapping_add_signed(add.wrapping_sub(zero));
                let at = base + offset % StridedAccess::CONGRUENCE;
                StridedAccesses { step: step as usize, at, times }
            }));
        }
    }

    /// Empties a group's log, and allocates it on the first call. Accesses that do not become
    /// patterns are passed to `report`.
    #[inline(always)]
    pub(crate) fn drain(&mut self, group: usize, report: impl FnMut(&LoggedAccesses<'_>)) {
        let Some(of) = self.groups.get(group) else { return };
        if let LogBuffer::None = self.buffers[group] {
            self.buffers[group] = match of.wide {
                true => LogBuffer::Wide(Log::new()),
                false => LogBuffer::Narrow(Log::new()),
            };
        } else {
            self.empty(group, report);
        }
        let list = &mut self.lists[group];
        (list.log, list.logged) = (self.buffers[group].pointer(), 0);
    }

    /// Turns a prefix of the log's entries into patterns and passes the others to `report`.
    #[inline(always)]
    fn empty(&mut self, group: usize, mut report: impl FnMut(&LoggedAccesses<'_>)) {
        let count = self.lists[group].logged.min(LOG_ENTRIES as u64) as usize;
        self.begin_totals(group, count);
        let is_kept = self.lists[group].dropped == 0;
        let kept = match is_kept && self.hits[group].patterns < MAX_PATTERNS {
            true => self.count_prefix(group, count),
            false => 0,
        };
        let hits = &mut self.hits[group];
        let tried = hits.logged / REVIEW_INTERVAL;
        hits.logged += count as u64;
        if hits.logged / REVIEW_INTERVAL != tried && is_kept {
            self.review(group);
        }
        let (on, at) = self.buffers[group].entries(count);
        let (on, at) = (&on[kept..], at.skip(kept));
        if !on.is_empty() {
            for &(step, offset) in &self.groups[group].members {
                report(&LoggedAccesses { step: step as usize, offset, on, at });
            }
        }
    }

    /// Has code add up affine accesses, from where the last logged one is known to be in global
    /// memory.
    #[inline(never)]
    fn begin_totals(&mut self, group: usize, count: usize) {
        let (of, list) = (&self.groups[group], &mut self.lists[group]);
        if !of.direct || !of.wide || of.stride.is_none() || list.line_page != NO_PAGE {
            return;
        }
        let last = count.checked_sub(1);
        let last = last.and_then(|last| self.buffers[group].relative_access(last, list.offset));
        if let Some(access) = last
            && Space::of(Addr(access.first)) == Space::Global
        {
            (list.line_page, list.line_at) = (access.first >> 32, access.first);
        }
    }

    /// Counts the longest prefix of a group's log that fits its patterns; returns its length.
    #[inline(never)]
    fn count_prefix(&mut self, group: usize, count: usize) -> usize {
        let offset = self.lists[group].offset;
        (0..count)
            .take_while(|&i| {
                self.buffers[group]
                    .relative_access(i, offset)
                    .is_some_and(|access| self.count_access(group, &access))
            })
            .count()
    }

    /// Counts an access at its pattern, which is added if there is room. Returns whether it was
    /// counted.
    fn count_access(&mut self, group: usize, access: &RelativeAccess) -> bool {
        let wide = self.groups[group].wide;
        let page = if wide { (access.first >> 32) as u32 } else { 0 };
        let mut at = self.lists[group].head;
        while at != 0 && !self.patterns[index(at)].is_of(access, page, wide) {
            at = self.patterns[index(at)].next;
        }
        if at == 0 {
            let full = self.patterns.len() >= MAX_TOTAL_PATTERNS;
            if self.hits[group].patterns == MAX_PATTERNS || full {
                return false;
            }
            at = self.patterns.len() as u64 * Pattern::SIZE;
            let on = |lane: usize| 0_u64.wrapping_sub(u64::from(access.on >> lane & 1));
            self.patterns.push(Pattern {
                distances: access.distances,
                lanes: if wide { std::array::from_fn(on) } else { halves(|lane| on(lane) as u32) },
                on: access.on,
                page,
                next: self.lists[group].head,
                first: access.first,
                group,
                ..Pattern::NONE
            });
            self.hits[group].patterns += 1;
            (self.lists[group].current, self.lists[group].head) = (at, at);
        }
        self.patterns[index(at)].times[access.first as usize % CONGRUENCE] += 1;
        true
    }

    /// Drops a group's list if searching it mostly failed.
    fn review(&mut self, group: usize) {
        let (mut at, mut found) = (self.lists[group].head, self.hits[group].found);
        while at != 0 {
            let pattern = &self.patterns[index(at)];
            found += pattern.times.iter().sum::<u64>();
            at = pattern.next;
        }
        if found < MIN_HITS * self.hits[group].logged {
            // The patterns stay allocated for their counts.
            self.lists[group].dropped = 1;
        }
    }

    /// Adds accesses that take what a group's totals say, and resets these.
    fn take_totals(&mut self, group: usize, to: &mut Vec<CongruentAccesses>) {
        let (list, stride) = (&mut self.lists[group], self.groups[group].stride.unwrap_or(0));
        let (passed, twice) =
            (std::mem::take(&mut list.passed), std::mem::take(&mut list.passed_twice));
        let (totals, at) = (std::mem::take(&mut list.totals), list.line_at);
        // Two words of one bank take two passes.
        let words = std::array::from_fn(|lane| lane as u64 * CONGRUENCE as u64);
        for &(step, _) in &self.groups[group].members {
            let step = step as usize;
            for (on, times) in [(0b01, passed - twice), (0b11, twice)] {
                to.extend((times > 0).then_some(CongruentAccesses { step, on, at: words, times }));
            }
            to.extend(totals.examples(at).map(|(on, at, times)| {
                let at = std::array::from_fn(|lane| at.wrapping_add(lane as u64 * stride as u64));
                CongruentAccesses { step, on, at, times }
            }));
        }
    }

    /// Returns all accesses that have not been reported, and resets the counts.
    pub(crate) fn finish(
        &mut self,
        regions: &[RegionCache],
    ) -> (Vec<StridedAccesses>, Vec<CongruentAccesses>, Vec<AccessLog>) {
        let (mut congruent, mut logs) = (Vec::new(), Vec::new());
        for group in 0..self.groups.len() {
            let region = self.groups[group].region.and_then(|entry| regions.get(entry));
            self.take_positions(group, region.unwrap_or(&RegionCache::NONE));
            if !matches!(self.buffers[group], LogBuffer::None) {
                self.drain(group, |logged| logs.push(logged.to_log()));
            }
            self.take_totals(group, &mut congruent);
        }
        for pattern in self.patterns.iter_mut().skip(1) {
            let times = std::mem::replace(&mut pattern.times, [0; CONGRUENCE]);
            self.hits[pattern.group].found += times.iter().sum::<u64>();
            for (position, times) in (0_u64..).zip(times).filter(|(_, times)| *times > 0) {
                report(pattern, &self.groups[pattern.group], position, times, &mut congruent);
            }
        }
        (std::mem::take(&mut self.replaced), congruent, logs)
    }
}

/// Adds the accesses of a group that have a pattern, with their number.
fn report(
    pattern: &Pattern,
    group: &AccessGroup,
    position: u64,
    times: u64,
    to: &mut Vec<CongruentAccesses>,
) {
    // Rounds up from an accessed address: an address below it may lie in another space, one above
    // does not.
    let above = position.wrapping_sub(pattern.first) % StridedAccess::CONGRUENCE;
    let zero = group.members.first().map_or(0, |m| m.1);
    to.extend(group.members.iter().map(|&(step, offset)| {
        let first = pattern.first.wrapping_add(above);
        let first = first.wrapping_add_signed(offset.wrapping_sub(zero));
        let at = std::array::from_fn(|lane| {
            first.wrapping_add(lane_of(&pattern.distances, lane, group.wide))
        });
        CongruentAccesses { step: step as usize, on: pattern.on, at, times }
    }));
}

/// The index of the pattern at a byte offset.
fn index(at: u64) -> usize {
    (at / Pattern::SIZE) as usize
}

/// Returns a row of 32-bit values.
fn halves(value: impl Fn(usize) -> u32) -> Row {
    let pair = |i: usize| u64::from(value(2 * i)) | u64::from(value(2 * i + 1)) << 32;
    std::array::from_fn(|i| if i < 16 { pair(i) } else { 0 })
}

fn lane_of(row: &Row, lane: usize, wide: bool) -> u64 {
    if wide { row[lane] } else { row[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
}
