//! Looking at the events of a launch, without knowing the machine.
//!
//! A [`Probe`] is handed to a launch by its [`Watch`](crate::machine::Watch). It sees what an engine's observer sees, with lane
//! sets of any group widened to [`CtaMask`](simt::CtaMask), and knows each program counter as a [`Place`]: operation,
//! line of the program's text, line of the source it was compiled from. Several probes can look at one launch ([`Both`]).

use std::sync::Arc;

use isa::Span;
use places::{Site, Source};
use simt::LaneMask;
use simt::observe::{Access, Branch, CtaEvent, Events, GroupId, Issue, Observer, Sync};
use simt::slots::IssueLanes;

/// Words of the widest lane set.
pub const WORDS: usize = 16;

/// A lane set of any group.
pub type Lanes = LaneMask<WORDS>;

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

/// Looks at launches. Every method has an empty default.
pub trait Probe {
    /// The events wanted; others are not told.
    fn events(&self) -> Events;
    /// Whether issues need not be told just now: asked before each, so it has to be quick.
    fn idle(&self) -> bool {
        false
    }
    /// A launch begins.
    fn begin(&mut self, _launch: &Beginning<'_>) {}
    /// An issue, before its effects.
    fn issue(&mut self, _issue: &Issue<'_, WORDS>) {}
    /// A branch, after its targets are known.
    fn branch(&mut self, _branch: &Branch<'_, WORDS>) {}
    /// A memory access.
    fn access(&mut self, _access: &Access<'_>) {}
    /// A synchronisation.
    fn sync(&mut self, _sync: &Sync<'_, WORDS>) {}
    /// A block begins or ends.
    fn cta(&mut self, _cta: u64, _event: CtaEvent) {}
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
    fn events(&self) -> Events {
        self.0.events().and(self.1.events())
    }
    fn begin(&mut self, launch: &Beginning<'_>) {
        self.0.begin(launch);
        self.1.begin(launch);
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

/// A probe as an engine's observer.
pub struct Probing<'a>(pub &'a mut dyn Probe);

/// A lane set in the widest form.
fn widen<const N: usize>(lanes: &LaneMask<N>) -> Lanes {
    let mut words = [0; WORDS];
    for (to, from) in words.iter_mut().zip(lanes.words()) {
        *to = *from;
    }
    LaneMask::from_words(words)
}

impl<const N: usize> Observer<N> for Probing<'_> {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, N>) {
        if !self.0.events().has(Events::ISSUE) || self.0.idle() {
            return;
        }
        let of = issue.lanes;
        let lanes = IssueLanes {
            width: of.width,
            launched: widen(&of.launched),
            exited: widen(&of.exited),
            waiting: widen(&of.waiting),
            active: widen(&of.active),
            unmasked: widen(&of.unmasked),
            on: widen(&of.on),
        };
        let Issue { group, pc, domain, depth, .. } = *issue;
        self.0.issue(&Issue { group, pc, domain, lanes: &lanes, depth });
    }

    fn branch(&mut self, branch: &Branch<'_, N>) {
        if self.0.events().has(Events::BRANCH) {
            let targets: Vec<_> =
                branch.targets.iter().map(|(pc, lanes)| (*pc, widen(lanes))).collect();
            self.0.branch(&Branch { group: branch.group, pc: branch.pc, targets: &targets });
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        if self.0.events().has(Events::ACCESS) {
            self.0.access(access);
        }
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        if self.0.events().has(Events::SYNC) {
            let lanes = widen(sync.lanes);
            let Sync { group, pc, kind, barrier, .. } = *sync;
            self.0.sync(&Sync { group, pc, kind, barrier, lanes: &lanes });
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if self.0.events().has(Events::CTA) {
            self.0.cta(cta, event);
        }
    }
}
