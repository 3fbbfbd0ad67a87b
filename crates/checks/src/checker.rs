//! The probe of all checks.
//!
//! [`Checker`] observes launches on the exact engine and makes [`Findings`] of races
//! ([`crate::race`]), of barriers and collectives that not all threads reach (`rendezvous`), and of
//! values that decide something and that nobody has written (`init`).

use std::sync::Arc;

use crate::init::Init;
use crate::probe::{EventSink, LaunchStart, Place, Probe, Role, Shape, WORDS};
use findings::{AccessRecord, Check, CheckSet, Finding, Findings, Kind, Location};
use simt::machine::HangKind;
use simt::observe::{Access, AccessKind, CtaEvent, Events, Issue, Sync};
use vm::{Definedness, UndefinedMemory};

use crate::race::{Race, Races, RacingAccess};
use crate::rendezvous::Rendezvous;

/// Bytes after each shared variable that no access may touch where the check `memory` is asked for.
pub const GUARD: u64 = 256;

/// Lanes of the architectural warp.
pub(crate) const WARP: u32 = 32;

/// The launch that is observed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    kernel: String,
    pub(crate) index: usize,
    pub(crate) shape: Shape,
    places: Arc<[Place]>,
}

impl Launch {
    pub(crate) fn place(&self, pc: u64) -> Option<&Place> {
        self.places.get(usize::try_from(pc).ok()?)
    }

    pub(crate) fn location(&self, pc: u64) -> Location {
        self.place(pc).map(Place::location).unwrap_or_default()
    }

    /// Returns whether a barrier stands between two lines of the program.
    fn has_barrier_between(&self, [first, last]: [u32; 2]) -> bool {
        let barrier = |place: &Place| place.role == Role::AlignedBarrier || place.orders_warp;
        let mut barriers = self.places.iter().filter(|place| barrier(place));
        barriers.any(|place| place.line.is_some_and(|line| first < line && line < last))
    }

    /// A finding of this launch; what is the same for all of a kind is filled in.
    pub(crate) fn finding(&self, kind: Kind, message: String, location: Location) -> Finding {
        Finding {
            kind,
            code: "".into(),
            kernel: self.kernel.clone(),
            launch: Some(self.index),
            message,
            location,
            site: None,
            accesses: Vec::new(),
            related: None,
            causes: Vec::new(),
            cure: kind.row().cure.to_owned(),
            count: 1,
        }
    }
}

/// The probe of all checks that are on.
pub struct Checker {
    launch: Launch,
    /// Launches that have begun.
    begun: usize,
    /// Whether the last of them has ended in a deadlock.
    deadlock: bool,
    races: Option<Races>,
    rendezvous: Option<Rendezvous>,
    init: Option<Init>,
    findings: Findings,
}

impl Checker {
    /// Returns a probe for the launches of a program.
    #[must_use]
    pub fn new(program: &str, checks: CheckSet) -> Self {
        Self {
            launch: Launch::default(),
            begun: 0,
            deadlock: false,
            races: checks.has(Check::Race).then(Races::default),
            rendezvous: checks.has(Check::Sync).then(Rendezvous::default),
            init: checks.has(Check::Init).then(Init::new),
            findings: Findings::new(program, checks),
        }
    }

    /// Moves what was found in the launch that has ended.
    fn collect(&mut self) {
        let deadlock = std::mem::take(&mut self.deadlock);
        let (launch, findings) = (&self.launch, &mut self.findings);
        if let Some(races) = &mut self.races {
            races.take().iter().for_each(|race| findings.add(race_finding(launch, race)));
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.take(launch, deadlock).into_iter().for_each(|found| findings.add(found));
        }
        let found = self.init.as_mut().map(|init| init.take(&self.launch)).unwrap_or_default();
        found.into_iter().for_each(|found| self.add_init(found));
    }

    /// Returns which global memory is undefined, for its owner to tell of allocations, copies and
    /// what the host writes; `None` if nothing follows it.
    pub fn undefined(&mut self) -> Option<&mut UndefinedMemory> {
        self.init.as_mut()?.defined().map(|defined| &mut defined.memory)
    }

    /// Tells that the host copies bytes of global memory to its own; `what` names the call.
    pub fn copied_to_host(&mut self, at: u64, len: u64, what: &str) {
        if let Some(found) = self.init.as_ref().and_then(|init| init.copied_to_host(at, len, what))
        {
            self.findings.add(found);
        }
    }

    /// Tells that the host reads all of global memory, as it does after the launches of a run.
    pub fn read_by_host(&mut self) {
        self.collect();
        let found = self.init.as_ref().map(Init::read_by_host).unwrap_or_default();
        found.into_iter().for_each(|found| self.add_init(found));
    }

    /// Adds a finding of undefined values, unless it is a race as well: a read that is not ordered
    /// behind its write is one, and was reported as such.
    fn add_init(&mut self, found: Finding) {
        let races = |other: &Finding| {
            let mut places = other.accesses.iter().map(|access| access.location.span);
            other.kind.row().check == Check::Race && places.any(|span| span == found.location.span)
        };
        if found.kind != Kind::UninitialisedShared || !self.findings.iter().any(races) {
            self.findings.add(found);
        }
    }

    /// Removes and returns what was found, not in order yet. The last launch is over.
    pub fn take(&mut self) -> Findings {
        self.collect();
        if self.races.as_ref().is_some_and(|races| !races.complete()) {
            self.findings.set_incomplete(Check::Race);
        }
        if self.init.as_ref().is_some_and(|init| !init.is_complete()) {
            self.findings.set_incomplete(Check::Init);
        }
        let empty = Findings::new(self.findings.program.clone(), self.findings.checks);
        std::mem::replace(&mut self.findings, empty)
    }
}

impl Probe for Checker {
    fn guard(&self) -> u64 {
        if self.findings.checks.has(Check::Memory) { GUARD } else { 0 }
    }

    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.collect();
        self.launch = Launch {
            kernel: launch.kernel.to_owned(),
            index: self.begun,
            shape: launch.shape,
            places: Arc::clone(launch.places),
        };
        self.begun += 1;
        if let Some(races) = &mut self.races {
            races.begin(launch);
        }
    }
}

impl EventSink for Checker {
    fn events(&self) -> Events {
        let races = self.races.as_ref().map_or(Events::NONE, Races::events);
        let sync = Events::ISSUE.and(Events::SYNC).and(Events::CTA);
        races.and(if self.rendezvous.is_some() { sync } else { Events::NONE })
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        if let Some(races) = &mut self.races {
            races.issue(issue);
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.issue(&self.launch, issue);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        if let Some(races) = &mut self.races {
            races.access(access);
        }
    }

    fn sync(&mut self, sync: &Sync<'_, WORDS>) {
        if let Some(races) = &mut self.races {
            races.sync(sync);
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.sync(&self.launch, sync);
        }
    }

    fn lend_definedness(&mut self) -> Option<Box<Definedness>> {
        self.init.as_mut()?.lend(self.launch.index)
    }

    fn return_definedness(&mut self, lent: Box<Definedness>) {
        if let Some(init) = &mut self.init {
            init.take_back(lent);
        }
    }

    fn hang(&mut self, kind: HangKind) {
        self.deadlock = kind == HangKind::Deadlock;
        // The launch may run again unobserved.
        if let Some(undefined) = self.undefined() {
            undefined.forget();
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if let Some(races) = &mut self.races {
            races.cta(cta, event);
        }
        if event != CtaEvent::End {
            return;
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.forget(cta);
        }
    }
}

/// A race as a finding: its kind is that of the nearest thing that could order the threads.
fn race_finding(launch: &Launch, race: &Race) -> Finding {
    let (first, second) = (&race.first, &race.second);
    let (a, b) = (first.thread, second.thread);
    let (kind, order) = if race.equal_writes {
        (Kind::RaceOfEqualWrites, "")
    } else if a.cta != b.cta {
        (Kind::RaceBetweenBlocks, "")
    } else if a.index / WARP == b.index / WARP {
        (Kind::RaceInWarp, "__syncwarp()")
    } else {
        (Kind::RaceInBlock, "__syncthreads()")
    };
    let record = |access: &RacingAccess| AccessRecord {
        kind: access.kind,
        space: race.space,
        address: race.address,
        value: access.value,
        site: access.site.clone(),
        location: access.place.location(),
    };
    // The same whatever order the threads ran in: the write first, then the lower line.
    let mut accesses = vec![record(first), record(second)];
    accesses.sort_by_key(|access| (!access.kind.writes(), access.location.line));
    let places = [accesses[0].location.describe(), accesses[1].location.describe()];
    let [one, other] = [&accesses[0], &accesses[1]];
    let same = places[0] == places[1];
    let message = if same {
        format!("threads race at {}: a {} and a {}", places[0], one.name(), other.name())
    } else {
        let [at, with] = &places;
        format!("the {} at {at} races with the {} at {with}", one.name(), other.name())
    };
    let mut found = launch.finding(kind, message, one.location.clone());
    let side = |access: &AccessRecord| match access.value {
        Some(value) => format!("{} of {value:#x} by {}", access.name(), access.site),
        None => format!("{} by {}", access.name(), access.site),
    };
    found.causes = vec![format!(
        "byte {:#x} of {} memory: {}; {}; nothing orders them",
        race.address,
        one.space_name(),
        side(one),
        side(other)
    )];
    let atomics = accesses.iter().filter(|access| access.kind == AccessKind::Atomic).count();
    if atomics == 1 {
        let plain = accesses.iter().find(|access| access.kind != AccessKind::Atomic);
        let place = plain.map_or_else(String::new, |access| access.location.describe());
        found.cure = format!("make the access at {place} atomic or volatile, too");
    } else if !same && !order.is_empty() {
        let [mut first, mut second] = [one, other];
        if first.location.line > second.location.line {
            (first, second) = (second, first);
        }
        let lines = [first, second].map(|access| access.location.describe());
        let between = [first, second].map(|access| access.location.line.unwrap_or_default());
        found.cure = if launch.has_barrier_between(between) {
            // The one that is missing is on the way back.
            format!("add `{order}` after {}, before {} is executed again", lines[1], lines[0])
        } else {
            format!("add `{order}` between {} and {}", lines[0], lines[1])
        };
    }
    found.site = Some(one.site.clone());
    found.accesses = accesses;
    found.count = race.count;
    found
}
