//! A probe that detects data races.
//!
//! It implements the race rule of the PTX memory model: two accesses to a common byte by different
//! threads, at least one of them a write, race unless one *happens before* the other, or both are
//! strong (atomic, volatile, relaxed or stronger) and each thread is in the other's scope.
//! Happens-before includes the program order of each thread, and:
//!
//! - CTA barriers: arrivals happen before the release;
//! - `bar.warp.sync`: the same for its lanes, where lanes of one warp that wait at two of them at
//!   the same time are assumed to synchronise. Shuffles and votes do not order memory, and lanes of
//!   a warp run in no order that a program may rely on;
//! - release and acquire: a release, or a fence before a strong write, happens before an acquire,
//!   or a strong read before a fence, that reads the value written or one derived from it by
//!   read-modify-writes, within the scopes.
//!
//! Each thread has an epoch, which each of its releases ends, and a vector clock (the algorithm of
//! FastTrack, Flanagan and Freund 2009, with clocks shared among the threads of a block). Launches
//! are ordered, so each starts with empty clocks. Memory is bounded: [`Races::complete`] tells
//! whether everything could be followed. Every reported race is a race, even if not everything
//! could be followed.

mod happens_before;
mod shadow;
mod vector_clock;

use std::collections::BTreeMap;
use std::sync::Arc;

use machines::probe::{EventSink, LaunchStart, Place, Probe, Shape, WORDS};
use places::Site;
use rustc_hash::FxHashMap;
use simt::observe::{
    Access, AccessKind, CtaEvent, Events, GroupId, Issue, Order, Space, Sync, SyncKind,
};

use happens_before::{BarrierPhase, Location, ThreadClock};
use shadow::{Entry, Shadow};
pub use vector_clock::Thread;

/// Most pairs of instructions that are reported.
const MAX_PAIRS: usize = 32;
/// Lanes of the architectural warp.
const WARP: u32 = 32;
/// Most addresses with a release that are followed.
const MAX_LOCATIONS: usize = 1 << 16;

/// One of two accesses that race.
#[derive(Clone, Debug, PartialEq)]
pub struct RacingAccess {
    /// The thread.
    pub thread: Thread,
    /// Its coordinates in the launch.
    pub site: Site,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// The instruction.
    pub place: Place,
}

/// Two instructions whose accesses race, at the first address where they did.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// The space of the bytes.
    pub space: Space,
    /// Address of the first byte: a guest address, or an offset in shared memory.
    pub address: u64,
    /// The access that was executed first in this run.
    pub first: RacingAccess,
    /// The other access.
    pub second: RacingAccess,
    /// Number of races between these two instructions.
    pub count: u64,
}

/// The race detector.
#[derive(Debug, Default)]
pub struct Races {
    places: Arc<[Place]>,
    shape: Shape,
    threads: FxHashMap<Thread, ThreadClock>,
    shadow: Shadow,
    locations: FxHashMap<shadow::Key, Location>,
    barriers: BTreeMap<(u64, u32), BarrierPhase>,
    warps: BTreeMap<(u64, u32), BarrierPhase>,
    found: BTreeMap<(u64, u64), Race>,
    lossy: bool,
}

impl Races {
    /// Returns the races, ordered by program counters.
    #[must_use]
    pub fn found(&self) -> Vec<Race> {
        self.found.values().cloned().collect()
    }

    /// Returns whether everything could be followed. If not, races may have been missed.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.lossy && !self.shadow.lossy
    }

    /// Returns the thread of a lane.
    fn thread(group: GroupId, lane: usize) -> Thread {
        let lane = u32::try_from(lane).unwrap_or(u32::MAX);
        Thread { cta: group.cta, index: group.first_thread.saturating_add(lane) }
    }

    fn place(&self, pc: u64) -> Place {
        let index = usize::try_from(pc).unwrap_or(usize::MAX);
        self.places.get(index).cloned().unwrap_or_default()
    }

    fn report(&mut self, space: Space, address: u64, old: Entry, now: Entry) {
        let key = (old.pc.min(now.pc), old.pc.max(now.pc));
        if let Some(race) = self.found.get_mut(&key) {
            race.count += 1;
            return;
        }
        if self.found.len() >= MAX_PAIRS {
            self.lossy = true;
            return;
        }
        let side = |e: Entry| {
            let site = self.shape.site_of(e.thread.cta, e.thread.index);
            RacingAccess { thread: e.thread, site, kind: e.kind, place: self.place(e.pc) }
        };
        let race = Race { space, address, first: side(old), second: side(now), count: 1 };
        self.found.insert(key, race);
    }

    /// Checks and records the access of one lane.
    fn check_access(&mut self, access: &Access<'_>, thread: Thread, address: u64) {
        let shared = access.space == Space::Shared;
        let strong = access.kind == AccessKind::Atomic || access.order != Order::Weak;
        let clock = self.threads.entry(thread).or_default();
        let mut now = Entry {
            thread,
            epoch: clock.epoch(),
            pc: access.pc.0,
            kind: access.kind,
            strong: strong.then_some(access.scope),
            bytes: 0,
        };
        let known = clock.known();
        let end = address.saturating_add(u64::from(access.size));
        let mut races = Vec::new();
        for granule in address >> 3..=end.saturating_sub(1) >> 3 {
            let from = address.max(granule << 3) & 7;
            let to = end.saturating_sub(granule << 3).min(8);
            now.bytes = (0xff_u16 << from & 0xff_u16 >> (8 - to)) as u8;
            let key = (shared.then_some(thread.cta), granule);
            self.shadow.access(key, now, &known, |old| races.push((granule, *old)));
        }
        for (granule, old) in races {
            let at = (granule << 3) + u64::from((old.bytes & now.bytes).trailing_zeros() & 7);
            self.report(access.space, at.max(address), old, now);
        }
        if strong || access.kind.writes() {
            self.apply_order(access, thread, (shared.then_some(thread.cta), address));
        }
    }

    /// Applies release and acquire at an address. A strong write publishes the clock of a
    /// preceding fence or of its own release; a weak write ends what was published there.
    fn apply_order(&mut self, access: &Access<'_>, thread: Thread, key: shadow::Key) {
        let strong = access.kind == AccessKind::Atomic || access.order != Order::Weak;
        if !strong {
            self.locations.remove(&key);
            return;
        }
        let clock = self.threads.entry(thread).or_default();
        if access.kind != AccessKind::Store
            && let Some(location) = self.locations.get(&key)
        {
            let acquires = matches!(access.order, Order::Acquire | Order::AcqRel | Order::SeqCst);
            clock.read(thread, location, access.scope, acquires);
        }
        if !access.kind.writes() {
            return;
        }
        let releases = matches!(access.order, Order::Release | Order::AcqRel | Order::SeqCst);
        if access.kind == AccessKind::Store {
            self.locations.remove(&key);
        }
        let Some((published, scope)) = clock.publish(thread, access.scope, releases) else {
            return;
        };
        if self.locations.len() >= MAX_LOCATIONS && !self.locations.contains_key(&key) {
            self.lossy = true;
            return;
        }
        self.locations.entry(key).or_default().publish(thread.cta, scope, &published);
    }

    /// Returns whether an instruction is a barrier of the warp.
    fn orders_warp(&self, pc: u64) -> bool {
        let place = usize::try_from(pc).ok().and_then(|pc| self.places.get(pc));
        place.is_some_and(|place| place.orders_warp)
    }

    /// Records the arrival of lanes at a barrier of the warp.
    fn warp_arrive(&mut self, group: GroupId, lanes: impl Iterator<Item = usize>) {
        for lane in lanes {
            let thread = Self::thread(group, lane);
            let phase = self.warps.entry((group.cta, thread.index / WARP)).or_default();
            phase.arrive(thread, self.threads.entry(thread).or_default());
        }
    }

    /// Releases all threads that wait at a barrier of the warp in these lanes' warps.
    fn warp_release(&mut self, group: GroupId, lanes: impl Iterator<Item = usize>) {
        for lane in lanes {
            let warp = Self::thread(group, lane).index / WARP;
            let Some(mut phase) = self.warps.remove(&(group.cta, warp)) else { continue };
            for thread in phase.arrived() {
                phase.release(thread, self.threads.entry(thread).or_default());
            }
        }
    }
}

impl Probe for Races {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.lossy |= self.shadow.lossy;
        self.places = Arc::clone(launch.places);
        self.shape = launch.shape;
        self.threads.clear();
        self.shadow = Shadow::default();
        self.locations.clear();
        self.barriers.clear();
        self.warps.clear();
    }
}

impl EventSink for Races {
    fn events(&self) -> Events {
        Events::ACCESS.and(Events::SYNC).and(Events::CTA).and(Events::ISSUE)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        if self.orders_warp(issue.pc.0) {
            self.warp_arrive(issue.group, issue.lanes.on.iter());
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        for &(lane, address) in access.lanes {
            self.check_access(access, Self::thread(access.group, usize::from(lane)), address);
        }
    }

    fn sync(&mut self, sync: &Sync<'_, WORDS>) {
        match sync.kind {
            SyncKind::BarrierArrive => {
                let phase = self.barriers.entry((sync.group.cta, sync.barrier)).or_default();
                if phase.is_complete() {
                    *phase = BarrierPhase::default();
                }
                for lane in sync.lanes {
                    let thread = Self::thread(sync.group, lane);
                    phase.arrive(thread, self.threads.entry(thread).or_default());
                }
            }
            SyncKind::BarrierRelease => {
                let Some(phase) = self.barriers.get_mut(&(sync.group.cta, sync.barrier)) else {
                    return;
                };
                for lane in sync.lanes {
                    let thread = Self::thread(sync.group, lane);
                    phase.release(thread, self.threads.entry(thread).or_default());
                }
            }
            SyncKind::Collective => {
                if self.orders_warp(sync.pc.0) {
                    self.warp_release(sync.group, sync.lanes.iter());
                }
            }
            SyncKind::Fence(_, scope) => {
                for lane in sync.lanes {
                    let thread = Self::thread(sync.group, lane);
                    self.threads.entry(thread).or_default().fence(thread, scope);
                }
            }
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            self.shadow.forget(cta);
            self.threads.retain(|thread, _| thread.cta != cta);
            self.barriers.retain(|key, _| key.0 != cta);
            self.warps.retain(|key, _| key.0 != cta);
            self.locations.retain(|key, _| key.0 != Some(cta));
        }
    }
}

/// Names a space; every space but shared memory counts as `global`, as threads share no other.
pub(crate) const fn space_name(space: Space) -> &'static str {
    match space {
        Space::Shared => "shared",
        _ => "global",
    }
}

/// Names the kind of an access.
pub(crate) const fn access_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "read",
        AccessKind::Store => "write",
        AccessKind::Atomic => "atomic",
    }
}
