//! The access log of launches that run in detail: accesses whose addresses are not affine.
//!
//! Most steps repeat a few patterns: the same lanes, at the same offsets from the first of them. So
//! each step has a short list of [`Pattern`]s, of which the last match is compared first. An access
//! that matches a pattern is counted there, by the first lane's address modulo [`Line::ALIKE`].
//! Other accesses are appended to the step's log, which the host drains when it is full: it adds
//! them to the patterns, or passes them to the observer in one batch. A step that mostly misses its
//! list loses it, and code stops searching.

use fast::{Addresses, Line, Logged, Noted, Remembered};
use std::mem::offset_of;

/// Most patterns of a step.
const MOST: u32 = 8;
/// Most patterns of all steps.
const MOST_OF_ALL: usize = 4096;
/// Logged accesses of a step after which its list is judged, each time.
const TRIED: u64 = 256;
/// Pattern hits per logged access below which a list is dropped.
const FEW: u64 = 4;
/// Entries of a step's log.
const LOG: usize = 32;

/// A step whose accesses are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotePlace {
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
pub(crate) struct Shape {
    /// The pattern to compare first, or [`Shape::CLOSED`].
    current: u64,
    /// The head of the list.
    head: u64,
    log: *mut u8,
    /// Entries in the log. A log that is not allocated yet counts as full, so that code calls the
    /// host.
    logged: u64,
}

impl Shape {
    pub(crate) const SIZE: i64 = size_of::<Self>() as i64;
    pub(crate) const CURRENT: i64 = offset_of!(Self, current) as i64;
    pub(crate) const HEAD: i64 = offset_of!(Self, head) as i64;
    pub(crate) const LOG: i64 = offset_of!(Self, log) as i64;
    pub(crate) const LOGGED: i64 = offset_of!(Self, logged) as i64;
    /// Marks a step without a list. Negative as a signed number, unlike every pattern's offset.
    const CLOSED: u64 = u64::MAX;
    const NEW: Self = Self { current: 0, head: 0, log: std::ptr::null_mut(), logged: LOG as u64 };
}

/// Offsets of the lanes from the first active one: 64 bits each, or 32 bits each in the first half.
type Apart = [u64; 32];

/// A set of accesses by the same lanes at the same offsets from the first one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    apart: Apart,
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
    /// Number of accesses, by the first lane's aligned position modulo [`Line::ALIKE`].
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

/// A log of 64-bit or 32-bit addresses, without the step's offset.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Log<T> {
    /// The active lanes, by entry.
    on: [u32; LOG],
    /// Addresses, by entry and lane.
    at: [[T; 32]; LOG],
}

impl<T: Copy + Default> Log<T> {
    fn new() -> Box<Self> {
        Box::new(Self { on: [0; LOG], at: [[T::default(); 32]; LOG] })
    }
}

/// Field offsets of [`Log`], the same for both widths.
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

/// The log of a step, allocated when the step is first drained.
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

/// An access in the form that patterns have.
struct Note {
    apart: Apart,
    on: u32,
    first: u64,
}

/// How well a step's list has served.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    patterns: u32,
    logged: u64,
    /// Accesses that matched the list and have been reported.
    found: u64,
}

/// The patterns and logs of one worker.
#[derive(Debug)]
pub(crate) struct Notes {
    places: Box<[NotePlace]>,
    trials: Box<[Trial]>,
    shapes: Box<[Shape]>,
    patterns: Vec<Pattern>,
    rooms: Box<[Room]>,
}

/// The part of the frame that points to patterns and logs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Noting {
    pub(crate) shapes: *mut Shape,
    pub(crate) patterns: *mut Pattern,
}

impl Noting {
    /// For launches that do not run in detail.
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

    /// Empties a step's log, and allocates it on the first call. Accesses that do not become
    /// patterns are passed to `tell`.
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

    /// Turns a prefix of the log's entries into patterns and passes the others to `tell`.
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

    /// Counts the longest prefix of a step's log that fits its patterns; returns its length.
    #[inline(never)]
    fn keep_all(&mut self, site: usize, count: usize) -> usize {
        let offset = self.places[site].offset;
        (0..count)
            .take_while(|&i| {
                self.rooms[site].note(i, offset).is_some_and(|note| self.keep(site, &note))
            })
            .count()
    }

    /// Counts an access at its pattern, which is added if there is room. Returns whether it was
    /// counted.
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

    /// Drops a step's list if searching it mostly failed.
    fn judge(&mut self, site: usize) {
        let (mut at, mut found) = (self.shapes[site].head, self.trials[site].found);
        while at != 0 {
            let pattern = &self.patterns[index(at)];
            found += pattern.times.iter().sum::<u64>();
            at = pattern.next;
        }
        if found < FEW * self.trials[site].logged {
            // The patterns stay allocated for their counts.
            (self.shapes[site].current, self.shapes[site].head) = (Shape::CLOSED, 0);
        }
    }

    /// Returns all accesses that have not been reported, and resets the counts.
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
                // Rounds up from an accessed address: an address below it may lie in another space,
                // one above does not.
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

/// The index of the pattern at a byte offset.
fn index(at: u64) -> usize {
    (at / Pattern::SIZE) as usize
}

fn distance(apart: &Apart, lane: usize, wide: bool) -> u64 {
    if wide { apart[lane] } else { apart[lane / 2] >> (32 * (lane % 2)) & 0xffff_ffff }
}
