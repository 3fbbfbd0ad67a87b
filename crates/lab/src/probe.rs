//! Looking at the events of a launch, without knowing the machine.
//!
//! A [`Probe`] is handed to a launch by its [`Watch`](crate::machine::Watch). It sees what an engine's observer sees, with lane
//! sets of any group widened to [`CtaMask`](simt::CtaMask), and knows each program counter as a [`Place`]: operation,
//! line of the program's text, line of the source it was compiled from. Several probes can look at one launch ([`Both`]).

use std::sync::Arc;

pub use engine::{EventSink, SINK_WORDS as WORDS, Sinking, WideLanes as Lanes};
use isa::Span;
use places::{Site, Source};
use simt::observe::{Access, Branch, CtaEvent, Events, GroupId, Issue, Sync};

/// What an instruction shows of the schedule, or of which lanes run together, to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shows {
    /// `activemask`, and collectives without named members: the lanes that execute together.
    ActiveLanes,
    /// `elect`: one of the lanes.
    Elected,
    /// A clock, a timer, the processor's number.
    Clock,
    /// An atomic that returns the old value: the order of the updates.
    ReturnedAtomic,
    /// An atomic on floats: sums depend on the order.
    FloatAtomic,
    /// An address that `malloc` gave.
    Allocation,
    /// Output: its order.
    PrintOrder,
}

impl Shows {
    /// What it is called in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveLanes => "active lanes",
            Self::Elected => "elected lane",
            Self::Clock => "clock",
            Self::ReturnedAtomic => "returned atomic",
            Self::FloatAtomic => "float atomic",
            Self::Allocation => "allocation address",
            Self::PrintOrder => "print order",
        }
    }
}

/// One instruction, as people know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Its text, white space made one; the operation's name where a pass made it.
    pub text: Arc<str>,
    /// Its line in the program's text, from 1.
    pub line: Option<u32>,
    /// Where it stands in the program's text.
    pub span: Option<Span>,
    /// The line that it was compiled from.
    pub source: Option<Source>,
    /// What it shows of the schedule.
    pub shows: Option<Shows>,
    /// Whether it orders the memory accesses of the lanes of a warp that take part (`bar.warp.sync`).
    pub orders_warp: bool,
    /// Why a pass put it there; empty if the program has it.
    pub origin: &'static str,
}

impl Place {
    /// `line 12`, with the source line if there is one.
    #[must_use]
    pub fn describe(&self) -> String {
        let line = self.line.map_or_else(|| "an unknown line".to_owned(), |l| format!("line {l}"));
        match &self.source {
            Some(source) => format!("{line} ({source})"),
            None => line,
        }
    }
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid, in x, y, z.
    pub grid: [u64; 3],
    /// Threads of a block, in x, y, z.
    pub block: [u64; 3],
    /// Lanes of an issue group.
    pub width: u32,
}

impl Shape {
    /// Threads of a block.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().copied().fold(1, u64::saturating_mul)
    }

    /// Where a thread stands, given the linear indices of its block and of itself in it.
    #[must_use]
    pub fn site_of(&self, cta: u64, thread: u32) -> Site {
        let width = self.width.clamp(1, 64 * WORDS as u32);
        let (group, lane) = (thread / width, thread % width);
        let id = GroupId { cta, group, first_thread: group * width };
        Site::new(id, &Lanes::lane(lane as usize), self.grid, self.block)
    }
}

/// The launch that begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Grid, block and groups.
    pub shape: Shape,
    /// The code, by program counter.
    pub places: &'a Arc<[Place]>,
}

/// Observes launches: receives their events, and before them what the program counters stand for.
pub trait Probe: EventSink {
    /// Receives a launch that begins. Does nothing by default.
    fn begin(&mut self, _launch: &Beginning<'_>) {}
}

/// Two probes at once.
pub struct Both<'a>(pub &'a mut dyn Probe, pub &'a mut dyn Probe);

impl Both<'_> {
    fn each(&mut self, event: Events, mut tell: impl FnMut(&mut dyn Probe)) {
        for probe in [&mut *self.0, &mut *self.1] {
            if probe.events().has(event) {
                tell(probe);
            }
        }
    }
}

impl Probe for Both<'_> {
    fn begin(&mut self, launch: &Beginning<'_>) {
        self.0.begin(launch);
        self.1.begin(launch);
    }
}

impl EventSink for Both<'_> {
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
    fn cta(&mut self, cta: u64, event: CtaEvent) {
        self.each(Events::CTA, |p| p.cta(cta, event));
    }
}
