//! Observation of launches independent of the machine.
//!
//! A [`Probe`] receives the events of an engine's observer, with lane sets widened to
//! [`CtaMask`](simt::CtaMask), and knows each program counter as a [`Place`]: text, line of the
//! program, and line of the source. [`ProbePair`] combines probes.

use std::sync::Arc;

pub use engine::{EventSink, SINK_WORDS as WORDS, Screen, SinkObserver, WideLanes as Lanes};
use findings::Location;
use isa::Span;
use places::{Site, Source};
use simt::machine::HangKind;
use simt::observe::{
    Access, Asynchronous, Branch, CtaEvent, Events, GroupId, Issue, MbarrierEvent, Sync,
};
pub use vm::ScheduleDependence;
use vm::{Asynchrony, Definedness};

/// The part that an instruction has in the order of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It computes or accesses memory.
    #[default]
    Plain,
    /// It branches, calls, returns or ends threads.
    Control,
    /// The lanes that its member mask names wait for each other.
    Collective,
    /// A barrier of the block that all threads of a warp have to execute together.
    AlignedBarrier,
    /// It initialises or invalidates a barrier in shared memory.
    MbarrierInit,
    /// Another operation on a barrier in shared memory.
    Mbarrier,
    /// It issues copies, whose accesses are events of their own (`cp.async`).
    Copy,
}

/// An instruction as users know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Its text with white space collapsed, or the operation's name if a pass inserted it.
    pub text: Arc<str>,
    /// Its line in the program's text, from 1.
    pub line: Option<u32>,
    /// Its span in the program's text.
    pub span: Option<Span>,
    /// The source line.
    pub source: Option<Source>,
    /// What it exposes of the schedule.
    pub exposes: Option<ScheduleDependence>,
    /// Whether it orders the memory accesses of the participating lanes of a warp
    /// (`bar.warp.sync`).
    pub orders_warp: bool,
    /// The part that it has in the order of threads.
    pub role: Role,
    /// Registers of products of warp groups that it accesses: their numbers, with that of the
    /// function in the high half. Moves between registers access none.
    pub registers: Arc<[u64]>,
    /// Whether it is such a product.
    pub product: bool,
    /// Whether it is a product that takes a factor or its metadata from registers.
    pub takes_registers: bool,
    /// The reason why a pass inserted it; empty if the program contains it.
    pub origin: &'static str,
}

impl Place {
    /// Formats the place as `line 12`, with the source line if there is one.
    #[must_use]
    pub fn describe(&self) -> String {
        let line = self.line.map_or_else(|| "an unknown line".to_owned(), |l| format!("line {l}"));
        match &self.source {
            Some(source) => format!("{line} ({source})"),
            None => line,
        }
    }

    /// Returns the place as findings have it.
    #[must_use]
    pub fn location(&self) -> Location {
        Location {
            text: Arc::clone(&self.text),
            line: self.line,
            span: self.span,
            source: self.source.clone(),
        }
    }
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Size of the grid in x, y, z, in blocks.
    pub grid: [u64; 3],
    /// Size of a block in x, y, z, in threads.
    pub block: [u64; 3],
    /// Width of an issue group in lanes.
    pub width: u32,
}

impl Shape {
    /// Returns the number of threads in a block.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().copied().fold(1, u64::saturating_mul)
    }

    /// Returns the coordinates of a thread, given the linear indices of its block and of itself in
    /// the block.
    #[must_use]
    pub fn site_of(&self, cta: u64, thread: u32) -> Site {
        let width = self.width.clamp(1, 64 * WORDS as u32);
        let (group, lane) = (thread / width, thread % width);
        let id = GroupId { cta, group, first_thread: group * width };
        Site::new(id, &Lanes::lane(lane as usize), self.grid, self.block)
    }
}

/// The launch that starts.
#[derive(Clone, Copy, Debug)]
pub struct LaunchStart<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Its extents.
    pub shape: Shape,
    /// The code, by program counter.
    pub places: &'a Arc<[Place]>,
}

/// Observes launches: receives their events, and before them what the program counters stand for.
pub trait Probe: EventSink {
    /// Called when a launch starts.
    fn begin(&mut self, _launch: &LaunchStart<'_>) {}

    /// Returns whether the probe receives events; an engine without events may run launches of one
    /// that does not.
    fn observes(&self) -> bool {
        true
    }

    /// Returns what judges accesses, if launches in which nothing is refused need no events: see
    /// [`Screen`].
    fn screen(&mut self) -> Option<&mut dyn Screen> {
        None
    }

    /// Returns the bytes between shared variables that no access may touch.
    fn guard(&self) -> u64 {
        0
    }

    /// Returns the order of asynchronous steps of launches that do not name one; `None` for the
    /// machine's.
    fn asynchrony(&self) -> Option<Asynchrony> {
        None
    }
}

/// Two probes at once.
pub struct ProbePair<'a>(pub &'a mut dyn Probe, pub &'a mut dyn Probe);

impl ProbePair<'_> {
    fn each(&mut self, event: Events, mut forward: impl FnMut(&mut dyn Probe)) {
        for probe in [&mut *self.0, &mut *self.1] {
            if probe.events().has(event) {
                forward(probe);
            }
        }
    }
}

impl Probe for ProbePair<'_> {
    fn observes(&self) -> bool {
        self.0.observes() || self.1.observes()
    }

    fn guard(&self) -> u64 {
        self.0.guard().max(self.1.guard())
    }

    fn asynchrony(&self) -> Option<Asynchrony> {
        self.0.asynchrony().or(self.1.asynchrony())
    }

    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.0.begin(launch);
        self.1.begin(launch);
    }
}

impl EventSink for ProbePair<'_> {
    fn events(&self) -> Events {
        self.0.events().and(self.1.events())
    }
    fn issue(&mut self, event: &Issue<'_, WORDS>) {
        self.each(Events::ISSUE, |p| p.issue(event));
    }
    fn branch(&mut self, event: &Branch<'_, WORDS>) {
        self.each(Events::BRANCH, |p| p.branch(event));
    }
    fn access(&mut self, event: &Access<'_>) {
        self.each(Events::ACCESS, |p| p.access(event));
    }
    fn sync(&mut self, event: &Sync<'_, WORDS>) {
        self.each(Events::SYNC, |p| p.sync(event));
    }
    fn asynchronous(&mut self, event: &Asynchronous<'_, WORDS>) {
        self.each(Events::ASYNC, |p| p.asynchronous(event));
    }
    fn mbarrier(&mut self, event: &MbarrierEvent) {
        self.each(Events::ASYNC, |p| p.mbarrier(event));
    }
    fn cta(&mut self, cta: u64, event: CtaEvent) {
        self.each(Events::CTA, |p| p.cta(cta, event));
    }
    fn lend_definedness(&mut self) -> Option<Box<Definedness>> {
        self.0.lend_definedness().or_else(|| self.1.lend_definedness())
    }
    fn return_definedness(&mut self, lent: Box<Definedness>) {
        // The one of both that has none has lent it.
        self.0.return_definedness(lent.clone());
        self.1.return_definedness(lent);
    }
    fn hang(&mut self, kind: HangKind) {
        self.0.hang(kind);
        self.1.hang(kind);
    }
}

/// A probe that records executed instructions that expose the schedule.
#[derive(Clone, Debug, Default)]
pub struct ScheduleDependenceProbe {
    places: Arc<[Place]>,
    seen: Vec<bool>,
    found: Vec<(ScheduleDependence, Place)>,
}

impl ScheduleDependenceProbe {
    /// Returns the instructions, the most likely causes of a difference first.
    #[must_use]
    pub fn found(mut self) -> Vec<(ScheduleDependence, Place)> {
        self.found.sort_by_key(|(dependence, place)| (*dependence, place.line));
        self.found.dedup_by(|a, b| a.0 == b.0 && a.1.line == b.1.line);
        self.found
    }
}

impl Probe for ScheduleDependenceProbe {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.places = Arc::clone(launch.places);
        self.seen = vec![false; launch.places.len()];
    }
}

impl EventSink for ScheduleDependenceProbe {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let Ok(pc) = usize::try_from(issue.pc.0) else { return };
        let Some(seen) = self.seen.get_mut(pc).filter(|seen| !**seen) else { return };
        *seen = true;
        if let Some(place) = self.places.get(pc)
            && let Some(dependence) = place.exposes
        {
            self.found.push((dependence, place.clone()));
        }
    }
}
