//! Counters that code keeps in launches that run in detail, beyond lane slots: issues by place,
//! lanes that guards turn off, split levels, and accesses of whole warps with affine addresses, by
//! their position modulo [`Line::ALIKE`]. Other accesses are logged (`notes`).

use crate::frame::Near;
use crate::notes::{NotePlace, Notes, Noting};
use fast::{Line, Lines};

/// Flags in the number of a step that the interpreter is to execute: the observer has already
/// counted the access; or it has if any lane is off.
pub(crate) const TOLD: u32 = 1 << 31;
pub(crate) const TOLD_IN_PART: u32 = 1 << 30;

/// A run of issues that is counted at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) block: u32,
    pub(crate) first: usize,
    pub(crate) issues: usize,
}

/// The counters of a [`Place`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Site {
    pub(crate) times: u64,
    pub(crate) lanes: u64,
    pub(crate) exited: u64,
    pub(crate) absent: u64,
}

/// Counters of a step with affine addresses: one for each aligned position within [`Line::ALIKE`]
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) step: usize,
    /// The first counter, and the number of counters.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The entry of the frame's list of regions that the step accesses; `None` for spaces with a
    /// window.
    pub(crate) near: Option<usize>,
}

impl Stretch {
    /// Number of counters for accesses that are aligned to `align` bytes.
    pub(crate) fn len(align: u64) -> usize {
        (Line::ALIKE / align).max(1) as usize
    }
}

/// The part of the frame that points to the counters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Counters {
    /// Split levels above the running lanes.
    pub(crate) depth: u64,
    pub(crate) most_depth: u64,
    pub(crate) depth_sum: u64,
    /// Exited lanes, and lanes that were never launched.
    pub(crate) exited: u64,
    pub(crate) absent: u64,
    pub(crate) sites: *mut Site,
    pub(crate) off: *mut u64,
    pub(crate) active: *mut u64,
    pub(crate) lines: *mut u64,
    pub(crate) noting: Noting,
}

impl Counters {
    /// For launches that do not run in detail.
    pub(crate) const NONE: Self = Self {
        depth: 0,
        most_depth: 0,
        depth_sum: 0,
        exited: 0,
        absent: 0,
        sites: std::ptr::null_mut(),
        off: std::ptr::null_mut(),
        active: std::ptr::null_mut(),
        lines: std::ptr::null_mut(),
        noting: Noting::NONE,
    };
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct Counting {
    places: Box<[Place]>,
    stretches: Box<[Stretch]>,
    sites: Box<[Site]>,
    off: Box<[u64]>,
    active: Box<[u64; 33]>,
    lines: Box<[u64]>,
    pub(crate) notes: Notes,
    depth_sum: u64,
    most_depth: u64,
    /// Lines whose region has changed since they were counted.
    done: Vec<Lines>,
}

impl Counting {
    pub(crate) fn new(
        places: &[Place],
        stretches: &[Stretch],
        notes: &[NotePlace],
        steps: usize,
    ) -> Self {
        let lines = stretches.iter().map(|s| s.count).sum();
        Self {
            places: places.into(),
            stretches: stretches.into(),
            sites: vec![Site::default(); places.len()].into(),
            off: vec![0; steps].into(),
            active: Box::new([0; 33]),
            lines: vec![0; lines].into(),
            notes: Notes::new(notes),
            depth_sum: 0,
            most_depth: 0,
            done: Vec::new(),
        }
    }

    /// Returns pointers to the counters, for a visit.
    pub(crate) fn counters(&mut self) -> Counters {
        Counters {
            sites: self.sites.as_mut_ptr(),
            off: self.off.as_mut_ptr(),
            active: self.active.as_mut_ptr(),
            lines: self.lines.as_mut_ptr(),
            noting: self.notes.noting(),
            ..Counters::NONE
        }
    }

    /// Takes over the counts of a visit.
    pub(crate) fn take(&mut self, counters: &Counters) {
        self.depth_sum += counters.depth_sum;
        self.most_depth = self.most_depth.max(counters.most_depth);
    }

    /// Moves the counts for a region aside, because its entry `near` now holds another one.
    pub(crate) fn leave(&mut self, near: usize, region: &Near) {
        for stretch in self.stretches.iter().filter(|s| s.near == Some(near)) {
            tell(&mut self.lines, stretch, region.base, &mut self.done);
        }
    }

    /// Returns all counts since the last call, and resets them.
    pub(crate) fn finish(&mut self, nears: &[Near]) -> fast::Counts {
        for stretch in &self.stretches {
            let base = stretch.near.and_then(|n| nears.get(n)).map_or(0, |n| n.base);
            tell(&mut self.lines, stretch, base, &mut self.done);
        }
        let site = |(place, site): (&Place, &mut Site)| {
            let Site { times, lanes, exited, absent } = std::mem::take(site);
            let &Place { block, first, issues } = place;
            fast::Site { block, first, issues, times, lanes, exited, absent }
        };
        let taken = |counts: &mut [u64]| counts.iter_mut().map(std::mem::take).collect();
        let (noted, logged) = self.notes.finish();
        fast::Counts {
            sites: self.places.iter().zip(&mut self.sites).map(site).collect(),
            off: taken(&mut self.off),
            active_lanes: taken(&mut *self.active),
            depth_sum: std::mem::take(&mut self.depth_sum),
            max_depth: self.most_depth,
            lines: std::mem::take(&mut self.done),
            noted,
            logged,
        }
    }
}

/// Moves the counts of a stretch in a region that begins at `base` to a list.
fn tell(lines: &mut [u64], stretch: &Stretch, base: u64, to: &mut Vec<Lines>) {
    let size = Line::ALIKE / stretch.count as u64;
    for (i, count) in lines[stretch.first..][..stretch.count].iter_mut().enumerate() {
        let times = std::mem::take(count);
        if times > 0 {
            to.push(Lines { step: stretch.step, at: base + i as u64 * size, times });
        }
    }
}
