//! The probe of all checks.
//!
//! [`Checker`] observes launches on the exact engine and makes [`Findings`] of races
//! ([`crate::race`]), of barriers and collectives that not all threads reach (`rendezvous`), and of
//! values that decide something and that nobody has written (`init`).

use std::sync::Arc;

use crate::init::Init;
use crate::mbarriers::Mbarriers;
use crate::probe::{EventSink, LaunchStart, Place, Probe, Role, Screen, Shape, WORDS};
use crate::products::Products;
use engine::{Exempt, ScreenedAccess, ScreenedLaunch, Verdict};
use findings::{AccessRecord, Check, CheckSet, Finding, Findings, Kind, Location};
use simt::machine::HangKind;
use simt::observe::{
    Access, AccessKind, Asynchronous, CtaEvent, Events, Issue, MbarrierEvent, Sync,
};
use vm::{Asynchrony, Definedness, UndefinedMemory};

use crate::race::{Hazard, LateAccess, Race, Races, RacingAccess, Strictness};
use crate::rendezvous::Rendezvous;
use crate::screening::Screening;

/// Bytes between shared variables that no access may touch where the check `memory` is asked for.
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
    /// How the last of them hangs.
    hang: Option<HangKind>,
    races: Option<Races>,
    rendezvous: Option<Rendezvous>,
    mbarriers: Option<Mbarriers>,
    products: Option<Products>,
    init: Option<Init>,
    /// `None` if a check needs the events of all launches.
    screening: Option<Screening>,
    findings: Findings,
}

impl Checker {
    /// Returns a probe for the launches of a program.
    #[must_use]
    pub fn new(program: &str, checks: CheckSet) -> Self {
        Self {
            launch: Launch::default(),
            begun: 0,
            hang: None,
            races: checks.has(Check::Race).then(|| Races::new(strictness(checks))),
            rendezvous: checks.has(Check::Sync).then(Rendezvous::default),
            mbarriers: checks.has(Check::Sync).then(Mbarriers::default),
            products: checks.has(Check::Race).then(Products::default),
            init: checks.has(Check::Init).then(|| Init::new(checks.has(Check::Strict))),
            screening: Screening::new(checks),
            findings: Findings::new(program, checks),
        }
    }

    /// Moves what was found in the launch that has ended.
    fn collect(&mut self) {
        let hang = self.hang.take();
        let deadlock = hang == Some(HangKind::Deadlock);
        let (launch, findings) = (&self.launch, &mut self.findings);
        if let Some(races) = &mut self.races {
            races.take().iter().for_each(|race| findings.add(race_finding(launch, race)));
            races.take_late().iter().for_each(|late| findings.add(late_finding(launch, late)));
        }
        if let Some(products) = &mut self.products {
            products.take().into_iter().for_each(|found| findings.add(found));
        }
        if let Some(mbarriers) = &mut self.mbarriers {
            let found = mbarriers.take(launch, hang.is_some());
            found.into_iter().for_each(|found| findings.add(found));
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
    fn observes(&self) -> bool {
        self.findings.checks.observes()
    }

    fn screen(&mut self) -> Option<&mut dyn Screen> {
        match self.screening {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn guard(&self) -> u64 {
        if self.findings.checks.has(Check::Memory) { GUARD } else { 0 }
    }

    fn asynchrony(&self) -> Option<Asynchrony> {
        self.observes().then_some(Asynchrony::Late)
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

impl Screen for Checker {
    fn begin(&mut self, launch: &ScreenedLaunch) -> bool {
        self.screening.as_mut().is_some_and(|screening| screening.begin(launch))
    }

    fn judges_accesses(&self) -> bool {
        self.screening.as_ref().is_some_and(Screening::judges_accesses)
    }

    fn access(&mut self, access: &ScreenedAccess<'_>) -> Verdict {
        let undefined = self.init.as_mut().and_then(Init::defined).map(|defined| &defined.memory);
        let judged = self.screening.as_mut().map(|screening| screening.access(access, undefined));
        judged.unwrap_or(Verdict::Refused)
    }

    fn exempt(&mut self, access: &ScreenedAccess<'_>) -> Option<Exempt> {
        let undefined = self.init.as_mut().and_then(Init::defined).map(|defined| &defined.memory);
        self.screening.as_mut()?.exempt(access, undefined)
    }

    fn barrier(&mut self, cta: u64) {
        self.screening.as_mut().into_iter().for_each(|screening| screening.barrier(cta));
    }

    fn cta_ended(&mut self, cta: u64) {
        self.screening.as_mut().into_iter().for_each(|screening| screening.cta_ended(cta));
    }

    fn ended(&mut self) {
        let undefined = self.init.as_mut().and_then(Init::defined);
        let undefined = undefined.map(|defined| &mut defined.memory);
        if let Some(screening) = &mut self.screening {
            screening.ended(undefined);
        }
    }
}

impl EventSink for Checker {
    fn events(&self) -> Events {
        let races = self.races.as_ref().map_or(Events::NONE, Races::events);
        let products = if self.products.is_some() { Events::ISSUE } else { Events::NONE };
        let sync = Events::ISSUE.and(Events::SYNC).and(Events::CTA).and(Events::ASYNC);
        let sync = if self.rendezvous.is_some() { sync } else { Events::NONE };
        races.and(products).and(sync)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        if let Some(races) = &mut self.races {
            races.issue(issue);
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.issue(&self.launch, issue);
        }
        if let Some(products) = &mut self.products {
            products.issue(&self.launch, issue);
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

    fn asynchronous(&mut self, event: &Asynchronous<'_, WORDS>) {
        if let Some(races) = &mut self.races {
            races.asynchronous(event);
        }
        if let Some(products) = &mut self.products {
            products.event(&self.launch, event);
        }
    }

    fn mbarrier(&mut self, event: &MbarrierEvent) {
        if let Some(races) = &mut self.races {
            races.mbarrier(event);
        }
        if let Some(mbarriers) = &mut self.mbarriers {
            mbarriers.event(event);
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
        self.hang = Some(kind);
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
        if let Some(mbarriers) = &mut self.mbarriers {
            mbarriers.forget(&self.launch, cta);
        }
        if let Some(products) = &mut self.products {
            products.forget(cta);
        }
    }
}

/// What the race detector finds for these checks.
fn strictness(checks: CheckSet) -> Strictness {
    Strictness { volatiles: checks.has(Check::Volatile), harmless: checks.has(Check::Strict) }
}

/// The kind of a hazard of asynchronous operations and barriers in shared memory.
fn protocol(hazard: Hazard) -> Option<Kind> {
    Some(match hazard {
        Hazard::Unordered | Hazard::RelaxedOrder | Hazard::SilentStore => return None,
        Hazard::Barrier => Kind::BarrierBeforeInit,
        Hazard::Unfinished => Kind::UnfinishedRead,
        Hazard::WrongPhase { .. } => Kind::WrongPhase,
        Hazard::Overwritten => Kind::OverwrittenInFlight,
        Hazard::Unfenced => Kind::MissingProxyFence,
    })
}

fn protocol_message(launch: &Launch, race: &Race) -> String {
    let (mut operation, mut thread) = (&race.first, &race.second);
    if !operation.asynchronous {
        (operation, thread) = (thread, operation);
    }
    let [at, with] = [operation, thread].map(|access| access.place.describe());
    match race.hazard {
        Hazard::Unfinished => {
            format!("{with} reads what the operation of {at} writes, and has not waited for it")
        }
        Hazard::WrongPhase { wait } => format!(
            "{with} reads what the operation of {at} writes; the wait at {} was for a phase before",
            launch.location(wait).describe()
        ),
        Hazard::Overwritten if thread.asynchronous => {
            format!("the operations of {at} and {with} access the same bytes in any order")
        }
        Hazard::Overwritten if operation.kind == AccessKind::Load => {
            format!("{with} writes what the operation of {at} may still read")
        }
        Hazard::Overwritten => {
            format!("the operation of {at} writes what {with} may still access")
        }
        Hazard::Unfenced => {
            format!("no proxy fence is between the write at {with} and the operation of {at}")
        }
        Hazard::Barrier | Hazard::Unordered | Hazard::RelaxedOrder | Hazard::SilentStore => {
            format!("the barrier is used at {with}, and nothing orders that with {at}")
        }
    }
}

/// An access to the shared memory of a block that may have ended.
fn late_finding(launch: &Launch, late: &LateAccess) -> Finding {
    let access = &late.access;
    let place = access.place.location();
    let who = if access.asynchronous { "the operation of" } else { "the access at" };
    let message =
        format!("a block may end before {who} {} to its shared memory is done", place.describe());
    let mut found = launch.finding(Kind::EarlyExit, message, place);
    let owner = launch.shape.site_of(late.owner, 0).block;
    let [x, y, z] = owner;
    found.causes = vec![format!(
        "byte {:#x} of the shared memory of block ({x},{y},{z}): {} by {}; no thread of the block \
         waits for it",
        late.address,
        crate::race::access_name(access.kind),
        access.site
    )];
    found.site = Some(access.site.clone());
    found.count = late.count;
    found
}

/// A race as a finding: its kind is that of the nearest thing that could order the threads.
fn race_finding(launch: &Launch, race: &Race) -> Finding {
    let (first, second) = (&race.first, &race.second);
    let (a, b) = (first.thread, second.thread);
    let (kind, order) = if let Some(kind) = protocol(race.hazard) {
        (kind, "")
    } else if race.hazard == Hazard::RelaxedOrder {
        (Kind::UnfencedOverwrite, "")
    } else if race.hazard == Hazard::SilentStore {
        (Kind::RaceWithSilentStore, "")
    } else if race.of_volatiles {
        (Kind::RaceOfVolatiles, "")
    } else if race.equal_writes {
        (Kind::RaceOfEqualWrites, "")
    } else if a.cta != b.cta {
        (Kind::RaceBetweenBlocks, "")
    } else if a.index / WARP == b.index / WARP && !first.joint && !second.joint {
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
    let message = if protocol(race.hazard).is_some() {
        protocol_message(launch, race)
    } else if same {
        format!("threads race at {}: a {} and a {}", places[0], one.name(), other.name())
    } else {
        let [at, with] = &places;
        format!("the {} at {at} races with the {} at {with}", one.name(), other.name())
    };
    let mut found = launch.finding(kind, message, one.location.clone());
    let is_operation = |access: &AccessRecord| {
        let of = |a: &&RacingAccess| a.asynchronous && a.place.location() == access.location;
        [first, second].iter().any(of)
    };
    let side = |access: &AccessRecord| match (access.value, is_operation(access)) {
        (Some(value), false) => format!("{} of {value:#x} by {}", access.name(), access.site),
        (None, false) => format!("{} by {}", access.name(), access.site),
        (_, true) => format!("{} by the operation that {} issued", access.name(), access.site),
    };
    let lacking = match race.hazard {
        Hazard::Unfenced => "no proxy fence is between them",
        Hazard::RelaxedOrder => "relaxed accesses are between them, and no fence",
        _ => "nothing orders them",
    };
    found.causes = vec![format!(
        "byte {:#x} of {} memory: {}; {}; {lacking}",
        race.address,
        one.space_name(),
        side(one),
        side(other)
    )];
    if let Hazard::WrongPhase { wait } = race.hazard {
        let place = launch.location(wait);
        let note = "this wait ended with a phase that had completed before".to_owned();
        found.related = Some((place, note));
    }
    let atomics = accesses.iter().filter(|access| access.kind == AccessKind::Atomic).count();
    if race.hazard != Hazard::Unordered {
        // The cure is that of the kind.
    } else if atomics == 1 {
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
