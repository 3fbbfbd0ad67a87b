//! Counters that code keeps in launches that run in detail, beyond lane slots: issues by place,
//! lanes that guards turn off, split levels, and accesses of whole warps with affine addresses, by
//! their position modulo [`StridedAccess::CONGRUENCE`]. Other accesses are logged (`patterns`).

use crate::frame::RegionCache;
use crate::patterns::{AccessPatterns, PatternSite, PatternTables};
use fast::{StridedAccess, StridedAccesses};

/// Flags in the number of a step that the interpreter is to execute: the observer has already
/// counted the access; or it has if any lane is off.
pub(crate) const COUNTED: u32 = 1 << 31;
pub(crate) const PARTLY_COUNTED: u32 = 1 << 30;

/// A run of issues that is counted at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssueSpan {
    pub(crate) block: u32,
    pub(crate) first: usize,
    pub(crate) issues: usize,
}

/// The counters of an [`IssueSpan`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SiteCounters {
    pub(crate) times: u64,
    pub(crate) lanes: u64,
    pub(crate) exited: u64,
    pub(crate) never_launched: u64,
}

/// Counters of a step with affine addresses: one for each aligned position within
/// [`StridedAccess::CONGRUENCE`] bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlignmentCounters {
    pub(crate) step: usize,
    /// The first counter, and the number of counters.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The entry of the frame's list of regions that the step accesses; `None` for spaces with a
    /// window.
    pub(crate) entry: Option<usize>,
}

impl AlignmentCounters {
    /// Number of counters for accesses that are aligned to `align` bytes.
    pub(crate) fn len(align: u64) -> usize {
        (StridedAccess::CONGRUENCE / align).max(1) as usize
    }
}

/// The part of the frame that points to the counters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Counters {
    /// Split levels above the running lanes.
    pub(crate) depth: u64,
    pub(crate) max_depth: u64,
    pub(crate) depth_sum: u64,
    /// Exited lanes, and lanes that were never launched.
    pub(crate) exited: u64,
    pub(crate) never_launched: u64,
    pub(crate) sites: *mut SiteCounters,
    pub(crate) off: *mut u64,
    pub(crate) active: *mut u64,
    pub(crate) strided: *mut u64,
    pub(crate) pattern_tables: PatternTables,
}

impl Counters {
    /// For launches that do not run in detail.
    pub(crate) const NONE: Self = Self {
        depth: 0,
        max_depth: 0,
        depth_sum: 0,
        exited: 0,
        never_launched: 0,
        sites: std::ptr::null_mut(),
        off: std::ptr::null_mut(),
        active: std::ptr::null_mut(),
        strided: std::ptr::null_mut(),
        pattern_tables: PatternTables::NONE,
    };
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct WorkerCounters {
    spans: Box<[IssueSpan]>,
    alignment_counters: Box<[AlignmentCounters]>,
    sites: Box<[SiteCounters]>,
    off: Box<[u64]>,
    active: Box<[u64; 33]>,
    strided: Box<[u64]>,
    pub(crate) patterns: AccessPatterns,
    depth_sum: u64,
    max_depth: u64,
    /// Strided accesses whose region has changed since they were counted.
    replaced: Vec<StridedAccesses>,
}

impl WorkerCounters {
    pub(crate) fn new(
        spans: &[IssueSpan],
        alignment_counters: &[AlignmentCounters],
        pattern_sites: &[PatternSite],
        steps: usize,
    ) -> Self {
        let strided = alignment_counters.iter().map(|s| s.count).sum();
        Self {
            spans: spans.into(),
            alignment_counters: alignment_counters.into(),
            sites: vec![SiteCounters::default(); spans.len()].into(),
            off: vec![0; steps].into(),
            active: Box::new([0; 33]),
            strided: vec![0; strided].into(),
            patterns: AccessPatterns::new(pattern_sites),
            depth_sum: 0,
            max_depth: 0,
            replaced: Vec::new(),
        }
    }

    /// Returns pointers to the counters, for a visit.
    pub(crate) fn counters(&mut self) -> Counters {
        Counters {
            sites: self.sites.as_mut_ptr(),
            off: self.off.as_mut_ptr(),
            active: self.active.as_mut_ptr(),
            strided: self.strided.as_mut_ptr(),
            pattern_tables: self.patterns.tables(),
            ..Counters::NONE
        }
    }

    /// Takes over the counts of a visit.
    pub(crate) fn take(&mut self, counters: &Counters) {
        self.depth_sum += counters.depth_sum;
        self.max_depth = self.max_depth.max(counters.max_depth);
    }

    /// Moves the counts for a region aside, because entry `entry` now holds another one.
    pub(crate) fn region_replaced(&mut self, entry: usize, region: &RegionCache) {
        for counters in self.alignment_counters.iter().filter(|s| s.entry == Some(entry)) {
            take_strided(&mut self.strided, counters, region.base, &mut self.replaced);
        }
    }

    /// Returns all counts since the last call, and resets them.
    pub(crate) fn finish(&mut self, regions: &[RegionCache]) -> fast::WorkerCounts {
        for counters in &self.alignment_counters {
            let base = counters.entry.and_then(|n| regions.get(n)).map_or(0, |n| n.base);
            take_strided(&mut self.strided, counters, base, &mut self.replaced);
        }
        let site = |(place, site): (&IssueSpan, &mut SiteCounters)| {
            let SiteCounters { times, lanes, exited, never_launched } = std::mem::take(site);
            let &IssueSpan { block, first, issues } = place;
            fast::IssueSite { block, first, issues, times, lanes, exited, never_launched }
        };
        let taken = |counts: &mut [u64]| counts.iter_mut().map(std::mem::take).collect();
        let (congruent, logged) = self.patterns.finish();
        fast::WorkerCounts {
            sites: self.spans.iter().zip(&mut self.sites).map(site).collect(),
            off: taken(&mut self.off),
            active_lanes: taken(&mut *self.active),
            depth_sum: std::mem::take(&mut self.depth_sum),
            max_depth: self.max_depth,
            strided: std::mem::take(&mut self.replaced),
            congruent,
            logged,
        }
    }
}

/// Moves the counts of a step's accesses to a region that begins at `base` to a list.
fn take_strided(
    strided: &mut [u64],
    counters: &AlignmentCounters,
    base: u64,
    to: &mut Vec<StridedAccesses>,
) {
    let size = StridedAccess::CONGRUENCE / counters.count as u64;
    for (i, count) in strided[counters.first..][..counters.count].iter_mut().enumerate() {
        let times = std::mem::take(count);
        if times > 0 {
            to.push(StridedAccesses { step: counters.step, at: base + i as u64 * size, times });
        }
    }
}
