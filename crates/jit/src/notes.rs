//! Accesses that code takes note of in launches that are run in detail, whose addresses lie anyhow.
//!
//! Most steps access the same few patterns over and over: the same lanes, at the same distances from the first of them. So each step has a
//! short list of [`Pattern`]s, the last one first to be looked at, and an access that is like one of them counts there, by how
//! the first lane's address lies in a stretch of memory. Other accesses go into a log as they are, which the host looks
//! through when it is full: it makes patterns of them, or tells of them one by one. A step that mostly has new ones loses its list.

use fast::{Line, Noted};
use std::mem::offset_of;

/// Patterns of a step, at most.
const MOST: u32 = 8;
/// Patterns of all steps, at most.
const MOST_OF_ALL: usize = 4096;
/// Accesses of a step in the log before its list may be found useless.
const TRIED: u64 = 256;
/// Accesses that the list must have served for each in the log.
const FEW: u64 = 4;
/// Entries of the log.
const LOG: usize = 32;

/// A step whose accesses are taken note of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotePlace {
    pub(crate) step: usize,
    /// Addresses are multiples of two to the power of this.
    pub(crate) shift: u32,
    /// Whether they have 64 bits; else 32.
    pub(crate) wide: bool,
}

/// Places of patterns, as bytes from the first one, which is none: the one to look at first, and the first of the list.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Shape {
    current: u64,
    head: u64,
}

impl Shape {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const CURRENT: i64 = offset_of!(Self, current) as i64;
    pub(crate) const HEAD: i64 = offset_of!(Self, head) as i64;
}

/// Distances of lanes from the first one that is on: 64 bits each, or 32 bits in the first half.
type Apart = [u64; 32];

/// Accesses that are alike.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    apart: Apart,
    /// The lanes; no lane in the one that is none.
    on: u32,
    /// The high half of addresses of 64 bits: spaces are told apart by it.
    page: u32,
    shift: u32,
    /// The step, by its number among those that are taken note of.
    site: u32,
    next: u64,
    /// The first lane's address in one of them.
    first: u64,
    /// How many, by how the first lane's address lies.
    times: [u64; Line::ALIKE as usize],
}

impl Pattern {
    const NONE: Self = Self {
        apart: [0; 32],
        on: 0,
        page: 0,
        shift: 0,
        site: 0,
        next: 0,
        first: 0,
        times: [0; Line::ALIKE as usize],
    };
    pub(crate) const ON: i64 = offset_of!(Self, on) as i64;
    pub(crate) const PAGE: i64 = offset_of!(Self, page) as i64;
    pub(crate) const SHIFT: i64 = offset_of!(Self, shift) as i64;
    pub(crate) const NEXT: i64 = offset_of!(Self, next) as i64;
    pub(crate) const TIMES: i64 = offset_of!(Self, times) as i64;
    const SIZE: u64 = size_of::<Self>() as u64;
}

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Note {
    apart: Apart,
    on: u32,
    /// Where the step's shape is, in bytes.
    shape: u32,
    first: u64,
}

impl Note {
    const NONE: Self = Self { apart: [0; 32], on: 0, shape: 0, first: 0 };
    pub(crate) const ON: i64 = offset_of!(Self, on) as i64;
    pub(crate) const SHAPE: i64 = offset_of!(Self, shape) as i64;
    pub(crate) const FIRST: i64 = offset_of!(Self, first) as i64;
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    /// Bytes of the whole log.
    pub(crate) const ROOM: i64 = Self::SIZE * LOG as i64;
}

/// How a step's list has served.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    patterns: u32,
    logged: u64,
    closed: bool,
}

/// What one worker has taken note of.
#[derive(Debug)]
pub(crate) struct Notes {
    places: Box<[NotePlace]>,
    trials: Box<[Trial]>,
    shapes: Box<[Shape]>,
    patterns: Vec<Pattern>,
    log: Box<[Note]>,
    /// Bytes of the log that are filled.
    logged: u64,
}

/// Where code finds them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Noting {
    pub(crate) shapes: *mut Shape,
    pub(crate) patterns: *mut Pattern,
    pub(crate) log: *mut Note,
    pub(crate) logged: u64,
}

impl Noting {
    /// Of a launch that is not run in detail.
    pub(crate) const NONE: Self = Self {
        shapes: std::ptr::null_mut(),
        patterns: std::ptr::null_mut(),
        log: std::ptr::null_mut(),
        logged: 0,
    };
}

impl Notes {
    pub(crate) fn new(places: &[NotePlace]) -> Self {
        Self {
            places: places.into(),
            trials: vec![Trial::default(); places.len()].into(),
            shapes: vec![Shape::default(); places.len()].into(),
            patterns: vec![Pattern::NONE],
            log: vec![Note::NONE; LOG].into(),
            logged: 0,
        }
    }

    pub(crate) fn noting(&mut self) -> Noting {
        Noting {
            shapes: self.shapes.as_mut_ptr(),
            patterns: self.patterns.as_mut_ptr(),
            log: self.log.as_mut_ptr(),
            logged: self.logged,
        }
    }

    /// After code has run.
    pub(crate) fn take(&mut self, noting: &Noting) {
        self.logged = noting.logged;
    }

    /// Empties the log: what becomes no pattern is told of.
    #[inline(always)]
    pub(crate) fn drain(&mut self, mut tell: impl FnMut(&Noted)) {
        let count = std::mem::take(&mut self.logged) / Note::SIZE as u64;
        for i in 0..self.log.len().min(count as usize) {
            let note = self.log[i];
            let site = note.shape as usize / size_of::<Shape>();
            self.trials[site].logged += 1;
            if self.trials[site].closed || !self.keep(site, &note) {
                tell(&self.noted(site, note.on, note.first, &note.apart));
            }
        }
    }

    /// Counts an access with those like it, if it can be.
    fn keep(&mut self, site: usize, note: &Note) -> bool {
        let NotePlace { shift, wide, .. } = self.places[site];
        let page = if wide { (note.first >> 32) as u32 } else { 0 };
        let mut at = self.shapes[site].head;
        while at != 0 && !self.patterns[index(at)].is_like(note, page, wide) {
            at = self.patterns[index(at)].next;
        }
        if at == 0 {
            if self.trials[site].patterns == MOST || self.patterns.len() >= MOST_OF_ALL {
                self.judge(site);
                return false;
            }
            at = self.patterns.len() as u64 * Pattern::SIZE;
            self.patterns.push(Pattern {
                apart: note.apart,
                on: note.on,
                page,
                shift,
                site: site as u32,
                next: self.shapes[site].head,
                first: note.first,
                ..Pattern::NONE
            });
            self.trials[site].patterns += 1;
            self.shapes[site] = Shape { current: at, head: at };
        }
        let lies = (note.first % Line::ALIKE) >> shift;
        self.patterns[index(at)].times[lies as usize] += 1;
        true
    }

    /// Takes a step's list out of use if looking through it was mostly in vain.
    fn judge(&mut self, site: usize) {
        let logged = self.trials[site].logged;
        if !logged.is_multiple_of(TRIED) {
            return;
        }
        let (mut at, mut found) = (self.shapes[site].head, 0);
        while at != 0 {
            let pattern = &self.patterns[index(at)];
            found += pattern.times.iter().sum::<u64>();
            at = pattern.next;
        }
        if found < FEW * logged {
            self.trials[site].closed = true;
            // Its patterns stay where they are, for their counts.
            self.shapes[site] = Shape::default();
        }
    }

    /// Everything that has not been told of.
    pub(crate) fn finish(&mut self) -> Vec<Noted> {
        let mut all = Vec::new();
        self.drain(|noted| all.push(*noted));
        for pattern in &self.patterns {
            let counts = (0_u64..).zip(&pattern.times).filter(|(_, times)| **times > 0);
            for (lies, &times) in counts {
                // A little above an address that was accessed: below it there may be another space, above it is room.
                let above = (lies << pattern.shift).wrapping_sub(pattern.first) % Line::ALIKE;
                let first = pattern.first.wrapping_add(above);
                let site = pattern.site as usize;
                all.push(Noted { times, ..self.noted(site, pattern.on, first, &pattern.apart) });
            }
        }
        all
    }

    #[inline(always)]
    fn noted(&self, site: usize, on: u32, first: u64, apart: &Apart) -> Noted {
        let NotePlace { step, wide, .. } = self.places[site];
        let mut at = [first; 32];
        if wide {
            at.iter_mut().zip(apart).for_each(|(at, by)| *at = at.wrapping_add(*by));
        } else {
            for (at, by) in at.chunks_exact_mut(2).zip(apart) {
                at[0] = at[0].wrapping_add(by & 0xffff_ffff);
                at[1] = at[1].wrapping_add(by >> 32);
            }
        }
        Noted { step, on, at, times: 1 }
    }
}

impl Pattern {
    fn is_like(&self, note: &Note, page: u32, wide: bool) -> bool {
        let same = |lane: usize| {
            note.on >> lane & 1 == 0
                || distance(&self.apart, lane, wide) == distance(&note.apart, lane, wide)
        };
        (self.on, self.page) == (note.on, page) && (0..32).all(same)
    }
}

/// The number of the pattern at so many bytes.
fn index(at: u64) -> usize {
    (at / Pattern::SIZE) as usize
}

fn distance(apart: &Apart, lane: usize, wide: bool) -> u64 {
    if wide { apart[lane] } else { apart[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
}
