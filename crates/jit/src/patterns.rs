//! The access log of launches that run in detail: accesses whose addresses are not affine.
//!
//! Most steps repeat a few patterns: the same lanes, at the same offsets from the first of them. So
//! each step has a short list of [`AccessPattern`]s, of which the last match is compared first. An
//! access that matches a pattern is counted there, by the first lane's address modulo
//! [`StridedAccess::CONGRUENCE`]. Other accesses are appended to the step's log, which the host
//! drains when it is full: it adds them to the patterns, or passes them to the observer in one
//! batch. A step that mostly misses its list loses it, and code stops searching.

use fast::{AccessLog, Addresses, CongruentAccesses, LoggedAccesses, StridedAccess};
use std::mem::offset_of;

/// Most patterns of a step.
const MAX_PATTERNS: u32 = 8;
/// Most patterns of all steps.
const MAX_TOTAL_PATTERNS: usize = 4096;
/// Logged accesses of a step after which its list is judged, each time.
const REVIEW_INTERVAL: u64 = 256;
/// Pattern hits per logged access below which a list is dropped.
const MIN_HITS: u64 = 4;
/// Entries of a step's log.
const LOG_ENTRIES: usize = 32;

/// A step whose accesses are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternSite {
    pub(crate) step: usize,
    /// Added to the addresses in the log.
    pub(crate) offset: i64,
    /// Base-2 logarithm of the addresses' alignment.
    pub(crate) shift: u32,
    /// Whether addresses have 64 bits rather than 32.
    pub(crate) wide: bool,
}

/// A step's pattern list and log, as code accesses them. Patterns are named by their byte offset
/// from the first one, which is a sentinel that matches no access.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PatternList {
    /// The pattern to compare first, or [`PatternList::DISABLED`].
    current: u64,
    /// The head of the list.
    head: u64,
    log: *mut u8,
    /// Entries in the log. A log that is not allocated yet counts as full, so that code calls the
    /// host.
    logged: u64,
}

impl PatternList {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const CURRENT: i64 = offset_of!(Self, current) as i64;
    pub(crate) const HEAD: i64 = offset_of!(Self, head) as i64;
    pub(crate) const LOG: i64 = offset_of!(Self, log) as i64;
    pub(crate) const LOGGED: i64 = offset_of!(Self, logged) as i64;
    /// Marks a step without a list. Negative as a signed number, unlike every pattern's offset.
    const DISABLED: u64 = u64::MAX;
    const NEW: Self =
        Self { current: 0, head: 0, log: std::ptr::null_mut(), logged: LOG_ENTRIES as u64 };
}

/// Offsets of the lanes from the first active one: 64 bits each, or 32 bits each in the first half.
type LaneOffsets = [u64; 32];

/// A set of accesses by the same lanes at the same offsets from the first one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct AccessPattern {
    offsets: LaneOffsets,
    /// The active lanes; none in the sentinel.
    on: u32,
    /// The high half of 64-bit addresses; it distinguishes state spaces.
    page: u32,
    shift: u32,
    /// The number of the step among the logged ones.
    site: u32,
    next: u64,
    /// The first lane's address in one of the accesses.
    first: u64,
    /// Number of accesses, by the first lane's aligned position modulo
    /// [`StridedAccess::CONGRUENCE`].
    times: [u64; StridedAccess::CONGRUENCE as usize],
}

impl AccessPattern {
    const NONE: Self = Self {
        offsets: [0; 32],
        on: 0,
        page: 0,
        shift: 0,
        site: 0,
        next: 0,
        first: 0,
        times: [0; StridedAccess::CONGRUENCE as usize],
    };
    pub(crate) const ON: i64 = offset_of!(Self, on) as i64;
    pub(crate) const PAGE: i64 = offset_of!(Self, page) as i64;
    pub(crate) const SHIFT: i64 = offset_of!(Self, shift) as i64;
    pub(crate) const NEXT: i64 = offset_of!(Self, next) as i64;
    pub(crate) const TIMES: i64 = offset_of!(Self, times) as i64;
    const SIZE: u64 = size_of::<Self>() as u64;
}

/// A log of 64-bit or 32-bit addresses, without the step's offset.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Log<T> {
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

/// Field offsets of [`Log`], the same for both widths.
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

/// The log of a step, allocated when the step is first drained.
#[derive(Debug)]
enum LogBuffer {
    None,
    Narrow(Box<Log<u32>>),
    Wide(Box<Log<u64>>),
}

impl LogBuffer {
    fn new(wide: bool) -> Self {
        if wide { Self::Wide(Log::new()) } else { Self::Narrow(Log::new()) }
    }

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
                let by = |other: usize| u64::from(at[other].wrapping_sub(at[lane]));
                let offsets =
                    std::array::from_fn(
                        |i| {
                            if i < 16 { by(2 * i) | by(2 * i + 1) << 32 } else { 0 }
                        },
                    );
                RelativeAccess { offsets, on, first: at[lane].wrapping_add(offset as u32).into() }
            }
            Addresses::Wide(at) => {
                let at = at.last()?;
                let offsets = at.map(|other| other.wrapping_sub(at[lane]));
                RelativeAccess { offsets, on, first: at[lane].wrapping_add_signed(offset) }
            }
        })
    }
}

/// An access in the form that patterns have.
struct RelativeAccess {
    offsets: LaneOffsets,
    on: u32,
    first: u64,
}

/// How well a step's list has served.
#[derive(Clone, Copy, Debug, Default)]
struct HitCounts {
    patterns: u32,
    logged: u64,
    /// Accesses that matched the list and have been reported.
    found: u64,
}

/// The patterns and logs of one worker.
#[derive(Debug)]
pub(crate) struct AccessPatterns {
    sites: Box<[PatternSite]>,
    hits: Box<[HitCounts]>,
    lists: Box<[PatternList]>,
    patterns: Vec<AccessPattern>,
    buffers: Box<[LogBuffer]>,
}

/// The part of the frame that points to patterns and logs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PatternTables {
    pub(crate) lists: *mut PatternList,
    pub(crate) patterns: *mut AccessPattern,
}

impl PatternTables {
    /// For launches that do not run in detail.
    pub(crate) const NONE: Self =
        Self { lists: std::ptr::null_mut(), patterns: std::ptr::null_mut() };
}

impl AccessPatterns {
    pub(crate) fn new(sites: &[PatternSite]) -> Self {
        Self {
            sites: sites.into(),
            hits: vec![HitCounts::default(); sites.len()].into(),
            lists: vec![PatternList::NEW; sites.len()].into(),
            patterns: vec![AccessPattern::NONE],
            buffers: sites.iter().map(|_| LogBuffer::None).collect(),
        }
    }

    pub(crate) fn tables(&mut self) -> PatternTables {
        PatternTables { lists: self.lists.as_mut_ptr(), patterns: self.patterns.as_mut_ptr() }
    }

    /// Empties a step's log, and allocates it on the first call. Accesses that do not become
    /// patterns are passed to `report`.
    #[inline(always)]
    pub(crate) fn drain(&mut self, site: usize, report: impl FnMut(&LoggedAccesses<'_>)) {
        if site >= self.sites.len() {
            return;
        }
        if let LogBuffer::None = self.buffers[site] {
            self.buffers[site] = LogBuffer::new(self.sites[site].wide);
        } else {
            self.empty(site, report);
        }
        let list = &mut self.lists[site];
        (list.log, list.logged) = (self.buffers[site].pointer(), 0);
    }

    /// Turns a prefix of the log's entries into patterns and passes the others to `report`.
    #[inline(always)]
    fn empty(&mut self, site: usize, mut report: impl FnMut(&LoggedAccesses<'_>)) {
        let count = self.lists[site].logged.min(LOG_ENTRIES as u64) as usize;
        let kept = if self.hits[site].patterns < MAX_PATTERNS && !self.is_disabled(site) {
            self.count_prefix(site, count)
        } else {
            0
        };
        let hits = &mut self.hits[site];
        let tried = hits.logged / REVIEW_INTERVAL;
        hits.logged += count as u64;
        if hits.logged / REVIEW_INTERVAL != tried && !self.is_disabled(site) {
            self.review(site);
        }
        let PatternSite { step, offset, .. } = self.sites[site];
        let (on, at) = self.buffers[site].entries(count);
        let (on, at) = (&on[kept..], at.skip(kept));
        if !on.is_empty() {
            report(&LoggedAccesses { step, offset, on, at });
        }
    }

    fn is_disabled(&self, site: usize) -> bool {
        self.lists[site].current == PatternList::DISABLED
    }

    /// Counts the longest prefix of a step's log that fits its patterns; returns its length.
    #[inline(never)]
    fn count_prefix(&mut self, site: usize, count: usize) -> usize {
        let offset = self.sites[site].offset;
        (0..count)
            .take_while(|&i| {
                self.buffers[site]
                    .relative_access(i, offset)
                    .is_some_and(|access| self.count_access(site, &access))
            })
            .count()
    }

    /// Counts an access at its pattern, which is added if there is room. Returns whether it was
    /// counted.
    fn count_access(&mut self, site: usize, access: &RelativeAccess) -> bool {
        let PatternSite { shift, wide, .. } = self.sites[site];
        let page = if wide { (access.first >> 32) as u32 } else { 0 };
        let mut at = self.lists[site].head;
        while at != 0 && !self.patterns[index(at)].matches(access, page, wide) {
            at = self.patterns[index(at)].next;
        }
        if at == 0 {
            if self.hits[site].patterns == MAX_PATTERNS || self.patterns.len() >= MAX_TOTAL_PATTERNS
            {
                return false;
            }
            at = self.patterns.len() as u64 * AccessPattern::SIZE;
            self.patterns.push(AccessPattern {
                offsets: access.offsets,
                on: access.on,
                page,
                shift,
                site: site as u32,
                next: self.lists[site].head,
                first: access.first,
                ..AccessPattern::NONE
            });
            self.hits[site].patterns += 1;
            (self.lists[site].current, self.lists[site].head) = (at, at);
        }
        let position = (access.first % StridedAccess::CONGRUENCE) >> shift;
        self.patterns[index(at)].times[position as usize] += 1;
        true
    }

    /// Drops a step's list if searching it mostly failed.
    fn review(&mut self, site: usize) {
        let (mut at, mut found) = (self.lists[site].head, self.hits[site].found);
        while at != 0 {
            let pattern = &self.patterns[index(at)];
            found += pattern.times.iter().sum::<u64>();
            at = pattern.next;
        }
        if found < MIN_HITS * self.hits[site].logged {
            // The patterns stay allocated for their counts.
            (self.lists[site].current, self.lists[site].head) = (PatternList::DISABLED, 0);
        }
    }

    /// Returns all accesses that have not been reported, and resets the counts.
    pub(crate) fn finish(&mut self) -> (Vec<CongruentAccesses>, Vec<AccessLog>) {
        let (mut congruent, mut logs) = (Vec::new(), Vec::new());
        for site in 0..self.sites.len() {
            if !matches!(self.buffers[site], LogBuffer::None) {
                self.drain(site, |logged| logs.push(logged.to_log()));
            }
        }
        for i in 1..self.patterns.len() {
            let none = [0; StridedAccess::CONGRUENCE as usize];
            let times = std::mem::replace(&mut self.patterns[i].times, none);
            let pattern = &self.patterns[i];
            self.hits[pattern.site as usize].found += times.iter().sum::<u64>();
            for (position, times) in (0_u64..).zip(times).filter(|(_, times)| *times > 0) {
                // Rounds up from an accessed address: an address below it may lie in another space,
                // one above does not.
                let above = (position << pattern.shift).wrapping_sub(pattern.first)
                    % StridedAccess::CONGRUENCE;
                let first = pattern.first.wrapping_add(above);
                congruent
                    .push(CongruentAccesses { times, ..self.congruent_accesses(pattern, first) });
            }
        }
        (congruent, logs)
    }

    fn congruent_accesses(&self, pattern: &AccessPattern, first: u64) -> CongruentAccesses {
        let PatternSite { step, wide, .. } = self.sites[pattern.site as usize];
        let at = std::array::from_fn(|lane| {
            first.wrapping_add(lane_offset(&pattern.offsets, lane, wide))
        });
        CongruentAccesses { step, on: pattern.on, at, times: 1 }
    }
}

impl AccessPattern {
    fn matches(&self, access: &RelativeAccess, page: u32, wide: bool) -> bool {
        let same = |lane: usize| {
            access.on >> lane & 1 == 0
                || lane_offset(&self.offsets, lane, wide)
                    == lane_offset(&access.offsets, lane, wide)
        };
        (self.on, self.page) == (access.on, page) && (0..32).all(same)
    }
}

/// The index of the pattern at a byte offset.
fn index(at: u64) -> usize {
    (at / AccessPattern::SIZE) as usize
}

fn lane_offset(offsets: &LaneOffsets, lane: usize, wide: bool) -> u64 {
    if wide { offsets[lane] } else { offsets[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
}
