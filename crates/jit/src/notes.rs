//! Accesses that code takes note of in launches that are run in detail, whose addresses lie anyhow.
//!
//! Most steps access the same few patterns over and over: the same lanes, at the same distances from the first of them. So each step has a
//! short list of [`Pattern`]s, the last one first to be looked at, and an access that is like one of them counts there, by how
//! the first lane's address lies in a stretch of memory. Other accesses go into the step's log as they are, which the host looks
//! through when it is full: it makes patterns of them, or tells of them together. A step that mostly has new ones loses its list, and
//! code no longer looks for one.

use fast::{Addresses, Line, Logged, Noted, Remembered};
use std::mem::offset_of;

/// Patterns of a step, at most.
const MOST: u32 = 8;
/// Patterns of all steps, at most.
const MOST_OF_ALL: usize = 4096;
/// Accesses of a step in the log before its list may be found useless.
const TRIED: u64 = 256;
/// Accesses that the list must have served for each in the log.
const FEW: u64 = 4;
/// Entries of a step's log.
const LOG: usize = 32;

/// A step whose accesses are taken note of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotePlace {
    pub(crate) step: usize,
    /// Added to addresses in the log.
    pub(crate) offset: i64,
    /// Addresses are multiples of two to the power of this.
    pub(crate) shift: u32,
    /// Whether they have 64 bits; else 32.
    pub(crate) wide: bool,
}

/// What code knows of a step's patterns, whose places are bytes from the first one, which is none; and of its log.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Shape {
    /// The pattern to look at first, or [`Shape::CLOSED`].
    current: u64,
    /// The first of the list.
    head: u64,
    log: *mut u8,
    /// Entries in the log. One that is not there yet is full.
    logged: u64,
}

impl Shape {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const CURRENT: i64 = offset_of!(Self, current) as i64;
    pub(crate) const HEAD: i64 = offset_of!(Self, head) as i64;
    pub(crate) const LOG: i64 = offset_of!(Self, log) as i64;
    pub(crate) const LOGGED: i64 = offset_of!(Self, logged) as i64;
    /// In the place of the current pattern: the step has no list any more. Negative, and no pattern is.
    const CLOSED: u64 = u64::MAX;
    const NEW: Self = Self { current: 0, head: 0, log: std::ptr::null_mut(), logged: LOG as u64 };
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

/// A log of addresses of 64 or 32 bits, without the offset.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Log<T> {
    /// By entry, the lanes that are on.
    on: [u32; LOG],
    /// By entry and lane.
    at: [[T; 32]; LOG],
}

impl<T: Copy + Default> Log<T> {
    fn new() -> Box<Self> {
        Box::new(Self { on: [0; LOG], at: [[T::default(); 32]; LOG] })
    }
}

/// Where code puts them.
pub(crate) mod log {
    use super::{LOG, Log};
    use std::mem::offset_of;

    pub(crate) const ENTRIES: i32 = LOG as i32;
    pub(crate) const ON: i64 = offset_of!(Log<u64>, on) as i64;
    pub(crate) const AT: i64 = offset_of!(Log<u64>, at) as i64;
    const _: () = assert!(
        ON == offset_of!(Log<u32>, on) as i64 && AT == offset_of!(Log<u32>, at) as i64,
        "the same for both"
    );
}

/// The log of a step, once it has one.
#[derive(Debug)]
enum Room {
    None,
    Narrow(Box<Log<u32>>),
    Wide(Box<Log<u64>>),
}

impl Room {
    fn new(wide: bool) -> Self {
        if wide { Self::Wide(Log::new()) } else { Self::Narrow(Log::new()) }
    }

    fn place(&mut self) -> *mut u8 {
        match self {
            Self::None => std::ptr::null_mut(),
            Self::Narrow(log) => (&raw mut **log).cast(),
            Self::Wide(log) => (&raw mut **log).cast(),
        }
    }

    /// The first entries.
    #[inline(always)]
    fn entries(&self, count: usize) -> (&[u32], Addresses<'_>) {
        match self {
            Self::None => (&[], Addresses::Narrow(&[])),
            Self::Narrow(log) => (&log.on[..count], Addresses::Narrow(&log.at[..count])),
            Self::Wide(log) => (&log.on[..count], Addresses::Wide(&log.at[..count])),
        }
    }

    /// An entry as a pattern has it.
    fn note(&self, i: usize, offset: i64) -> Option<Note> {
        let (on, addresses) = self.entries(i + 1);
        let on = *on.last()?;
        let lane = on.trailing_zeros() as usize % 32;
        Some(match addresses {
            Addresses::Narrow(at) => {
                let at = at.last()?;
                let by = |other: usize| u64::from(at[other].wrapping_sub(at[lane]));
                let apart =
                    std::array::from_fn(
                        |i| {
                            if i < 16 { by(2 * i) | by(2 * i + 1) << 32 } else { 0 }
                        },
                    );
                Note { apart, on, first: at[lane].wrapping_add(offset as u32).into() }
            }
            Addresses::Wide(at) => {
                let at = at.last()?;
                let apart = at.map(|other| other.wrapping_sub(at[lane]));
                Note { apart, on, first: at[lane].wrapping_add_signed(offset) }
            }
        })
    }
}

/// An access in the form of patterns.
struct Note {
    apart: Apart,
    on: u32,
    first: u64,
}

/// How a step's list has served.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    patterns: u32,
    logged: u64,
    /// Accesses that the list has served and that have been told of.
    found: u64,
}

/// What one worker has taken note of.
#[derive(Debug)]
pub(crate) struct Notes {
    places: Box<[NotePlace]>,
    trials: Box<[Trial]>,
    shapes: Box<[Shape]>,
    patterns: Vec<Pattern>,
    rooms: Box<[Room]>,
}

/// Where code finds them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Noting {
    pub(crate) shapes: *mut Shape,
    pub(crate) patterns: *mut Pattern,
}

impl Noting {
    /// Of a launch that is not run in detail.
    pub(crate) const NONE: Self =
        Self { shapes: std::ptr::null_mut(), patterns: std::ptr::null_mut() };
}

impl Notes {
    pub(crate) fn new(places: &[NotePlace]) -> Self {
        Self {
            places: places.into(),
            trials: vec![Trial::default(); places.len()].into(),
            shapes: vec![Shape::NEW; places.len()].into(),
            patterns: vec![Pattern::NONE],
            rooms: places.iter().map(|_| Room::None).collect(),
        }
    }

    pub(crate) fn noting(&mut self) -> Noting {
        Noting { shapes: self.shapes.as_mut_ptr(), patterns: self.patterns.as_mut_ptr() }
    }

    /// Empties a step's log, which is there from then on: what becomes no pattern is told of.
    #[inline(always)]
    pub(crate) fn drain(&mut self, site: usize, tell: impl FnMut(&Logged<'_>)) {
        if site >= self.places.len() {
            return;
        }
        if let Room::None = self.rooms[site] {
            self.rooms[site] = Room::new(self.places[site].wide);
        } else {
            self.empty(site, tell);
        }
        let shape = &mut self.shapes[site];
        (shape.log, shape.logged) = (self.rooms[site].place(), 0);
    }

    /// Has what is in a step's log become patterns, or tells of it.
    #[inline(always)]
    fn empty(&mut self, site: usize, mut tell: impl FnMut(&Logged<'_>)) {
        let count = self.shapes[site].logged.min(LOG as u64) as usize;
        let kept = if self.trials[site].patterns < MOST && !self.is_closed(site) {
            self.keep_all(site, count)
        } else {
            0
        };
        let trial = &mut self.trials[site];
        let tried = trial.logged / TRIED;
        trial.logged += count as u64;
        if trial.logged / TRIED != tried && !self.is_closed(site) {
            self.judge(site);
        }
        let NotePlace { step, offset, .. } = self.places[site];
        let (on, at) = self.rooms[site].entries(count);
        let (on, at) = (&on[kept..], at.from(kept));
        if !on.is_empty() {
            tell(&Logged { step, offset, on, at });
        }
    }

    fn is_closed(&self, site: usize) -> bool {
        self.shapes[site].current == Shape::CLOSED
    }

    /// Counts the first entries of a step's log with those like them, as long as that can be; how many.
    #[inline(never)]
    fn keep_all(&mut self, site: usize, count: usize) -> usize {
        let offset = self.places[site].offset;
        (0..count)
            .take_while(|&i| {
                self.rooms[site].note(i, offset).is_some_and(|note| self.keep(site, &note))
            })
            .count()
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
            (self.shapes[site].current, self.shapes[site].head) = (at, at);
        }
        let lies = (note.first % Line::ALIKE) >> shift;
        self.patterns[index(at)].times[lies as usize] += 1;
        true
    }

    /// Takes a step's list out of use if looking through it was mostly in vain.
    fn judge(&mut self, site: usize) {
        let (mut at, mut found) = (self.shapes[site].head, self.trials[site].found);
        while at != 0 {
            let pattern = &self.patterns[index(at)];
            found += pattern.times.iter().sum::<u64>();
            at = pattern.next;
        }
        if found < FEW * self.trials[site].logged {
            // Its patterns stay where they are, for their counts.
            (self.shapes[site].current, self.shapes[site].head) = (Shape::CLOSED, 0);
        }
    }

    /// Everything that has not been told of.
    pub(crate) fn finish(&mut self) -> (Vec<Noted>, Vec<Remembered>) {
        let (mut noted, mut remembered) = (Vec::new(), Vec::new());
        for site in 0..self.places.len() {
            if !matches!(self.rooms[site], Room::None) {
                self.drain(site, |logged| remembered.push(logged.remembered()));
            }
        }
        for i in 1..self.patterns.len() {
            let none = [0; Line::ALIKE as usize];
            let times = std::mem::replace(&mut self.patterns[i].times, none);
            let pattern = &self.patterns[i];
            self.trials[pattern.site as usize].found += times.iter().sum::<u64>();
            for (lies, times) in (0_u64..).zip(times).filter(|(_, times)| *times > 0) {
                // A little above an address that was accessed: below it there may be another space, above it is room.
                let above = (lies << pattern.shift).wrapping_sub(pattern.first) % Line::ALIKE;
                let first = pattern.first.wrapping_add(above);
                noted.push(Noted { times, ..self.noted(pattern, first) });
            }
        }
        (noted, remembered)
    }

    fn noted(&self, pattern: &Pattern, first: u64) -> Noted {
        let NotePlace { step, wide, .. } = self.places[pattern.site as usize];
        let at =
            std::array::from_fn(|lane| first.wrapping_add(distance(&pattern.apart, lane, wide)));
        Noted { step, on: pattern.on, at, times: 1 }
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
