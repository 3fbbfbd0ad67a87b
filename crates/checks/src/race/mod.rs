//! A probe that detects data races.
//!
//! It implements the race rule of the PTX memory model: two accesses to a common byte by different
//! threads, at least one of them a write, race unless one *happens before* the other, or both are
//! strong (atomic, volatile, relaxed or stronger) and each thread is in the other's scope.
//! Happens-before includes the program order of each thread, and:
//!
//! - CTA barriers: arrivals happen before the release;
//! - `bar.warp.sync`: the same for the lanes that its member mask names. Shuffles and votes do not
//!   order memory, and lanes of a warp run in no order that a program may rely on;
//! - release and acquire: a release, or a fence before a strong write, happens before an acquire,
//!   or a strong read before a fence, that reads the value written or one derived from it by
//!   read-modify-writes, within the scopes.
//!
//! Two kinds of races by the rule change no result on a device, and are found on request alone:
//! silent stores, which write what is there, with reads; and stores that follow reads, or writes
//! that a fence has put before, by the order of relaxed accesses alone. The reads of a block that
//! has passed a barrier have their values, and no write that follows a strong read of what the
//! block has written behind the barrier can change them: threads write after they know that they
//! may ("No-Thin-Air" of the PTX ISA forbids that values come from writes that depend on them).
//! Code that compacts arrays in place relies on it.
//!
//! Asynchronous operations take part in the same order: see `asynchronous`.
//!
//! Each thread has an epoch, which each of its releases ends, and a vector clock (the algorithm of
//! FastTrack, Flanagan and Freund 2009, with clocks shared among the threads of a block). Launches
//! are ordered, so each starts with empty clocks. Memory is bounded: [`Races::complete`] tells
//! whether everything could be followed. Every reported race is a race, even if not everything
//! could be followed.

mod asynchronous;
mod happens_before;
mod shadow;
mod vector_clock;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::probe::{EventSink, LaunchStart, Place, Probe, Role, Shape, WORDS};
use places::Site;
use rustc_hash::{FxHashMap, FxHashSet};
use simt::observe::{
    Access, AccessKind, AsyncEvent, AsyncGroups, Asynchronous, CtaEvent, Events, GroupId,
    MbarrierEvent, MbarrierEventKind, Order, Scope, Space, Sync, SyncKind,
};

use asynchronous::{Agent, Barrier, Operations, copies_for, copy_for_others, is_agent};
use happens_before::{BarrierPhase, Location, ThreadClock};
use shadow::{Entry, Shadow};
pub use vector_clock::Thread;

/// Most pairs of instructions that are reported.
const MAX_PAIRS: usize = 32;
/// Lanes of the architectural warp.
const WARP: u32 = 32;
/// Most addresses of strong writes that are followed.
const MAX_LOCATIONS: usize = 1 << 18;

/// One of two accesses that race.
#[derive(Clone, Debug, PartialEq)]
pub struct RacingAccess {
    /// The thread; of an asynchronous operation the first that issued it.
    pub thread: Thread,
    /// Whether an asynchronous operation makes it, and the place is where that was issued.
    pub asynchronous: bool,
    /// Whether several warps have issued that operation together.
    pub joint: bool,
    /// Its coordinates in the launch.
    pub site: Site,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// What it read or wrote of the bytes that both accesses have, up to 8, if that is known.
    pub value: Option<u64>,
    /// The instruction.
    pub place: Place,
}

/// What is wrong with two accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hazard {
    /// Nothing orders them.
    #[default]
    Unordered,
    /// A thread writes what another one has accessed, and relaxed accesses alone are between.
    RelaxedOrder,
    /// A thread reads what another one writes, and that is what was there.
    SilentStore,
    /// One is the initialisation of a barrier in shared memory, the other an operation on it.
    Barrier,
    /// A thread reads what an operation writes, and has not waited for it.
    Unfinished,
    /// The same; and the thread has waited at the operation's barrier, at this place, for a phase
    /// that had completed before.
    WrongPhase {
        /// The wait.
        wait: u64,
    },
    /// Bytes are overwritten that an operation may still read or write.
    Overwritten,
    /// No proxy fence is between a write of a thread and the read of an operation.
    Unfenced,
}

/// An access to the shared memory of a block after which its threads may end before the access is
/// made.
#[derive(Clone, Debug, PartialEq)]
pub struct LateAccess {
    /// The access.
    pub access: RacingAccess,
    /// The block whose memory it is.
    pub owner: u64,
    /// The first byte, as an offset.
    pub address: u64,
    /// Such accesses of the instruction.
    pub count: u64,
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
    /// Whether both write, and always the same value.
    pub equal_writes: bool,
    /// Whether it is none by the memory model, and volatile accesses are to be ordered.
    pub of_volatiles: bool,
    /// What is wrong.
    pub hazard: Hazard,
}

/// What a detector finds beside what leads to wrong results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strictness {
    /// Volatile accesses that nothing orders, which are no races by the memory model.
    pub volatiles: bool,
    /// Races that change no result on a device: stores that relaxed accesses keep behind other
    /// accesses, and silent stores.
    pub harmless: bool,
}

/// The race detector.
#[derive(Debug, Default)]
pub struct Races {
    strictness: Strictness,
    places: Arc<[Place]>,
    shape: Shape,
    threads: FxHashMap<Thread, ThreadClock>,
    shadow: Shadow,
    locations: FxHashMap<shadow::Key, Location>,
    /// Whether a location was in shared memory.
    locations_in_shared: bool,
    barriers: BTreeMap<(u64, u32), BarrierPhase>,
    /// Barriers of warps, by block, warp and member mask.
    warps: BTreeMap<(u64, u32, u32), BarrierPhase>,
    found: BTreeMap<(u64, u64), Race>,
    lossy: bool,
    /// Events of the launch so far.
    now: u64,
    operations: Operations,
    /// Barriers in shared memory, by block and offset.
    mbarriers: FxHashMap<(u64, u64), Barrier>,
    /// The last time that a thread has found a phase of a barrier completed, and where.
    passed: FxHashMap<(Thread, (u64, u64)), (u64, u64)>,
    /// Blocks whose shared memory operations or other blocks have accessed.
    reached: FxHashSet<u64>,
    late: BTreeMap<u64, LateAccess>,
}

impl Races {
    /// Returns a detector.
    #[must_use]
    pub fn new(strictness: Strictness) -> Self {
        Self { strictness, ..Self::default() }
    }

    /// Returns the races, ordered by program counters.
    #[must_use]
    pub fn found(&self) -> Vec<Race> {
        self.found.values().cloned().collect()
    }

    /// Removes and returns the races found so far, ordered by program counters.
    pub fn take(&mut self) -> Vec<Race> {
        std::mem::take(&mut self.found).into_values().collect()
    }

    /// Removes and returns the accesses to blocks that may have ended, ordered by program counters.
    pub fn take_late(&mut self) -> Vec<LateAccess> {
        std::mem::take(&mut self.late).into_values().collect()
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

    fn report(
        &mut self,
        space: Space,
        address: u64,
        (old, now, lacking): (Entry, Entry, Option<Hazard>),
    ) {
        let key = (old.pc.min(now.pc), old.pc.max(now.pc));
        let common = old.bytes & now.bytes;
        let stores = old.kind == AccessKind::Store && now.kind == AccessKind::Store;
        let values = [old.value_of(common), now.value_of(common)];
        let equal_writes = stores && values[0].is_some() && values[0] == values[1];
        let hazard = lacking.unwrap_or_else(|| self.hazard(&old, &now));
        if let Some(race) = self.found.get_mut(&key) {
            race.count += 1;
            let harmless = |hazard| matches!(hazard, Hazard::RelaxedOrder | Hazard::SilentStore);
            if race.equal_writes && !equal_writes || harmless(race.hazard) && !harmless(hazard) {
                // The first that matters is shown.
                let count = race.count;
                self.found.remove(&key);
                return self.add(key, (space, address), [old, now], (count, equal_writes), hazard);
            }
            return;
        }
        if self.found.len() >= MAX_PAIRS {
            self.lossy = true;
            return;
        }
        self.add(key, (space, address), [old, now], (1, equal_writes), hazard);
    }

    /// What is wrong with two accesses of which no order is known, or with two in order without a
    /// proxy fence.
    fn hazard(&self, old: &Entry, now: &Entry) -> Hazard {
        let role = |entry: &Entry| self.role(entry.pc);
        if [old, now].iter().all(|e| matches!(role(e), Role::Mbarrier | Role::MbarrierInit)) {
            return Hazard::Barrier;
        }
        let (operation, thread) = match (is_agent(old.thread), is_agent(now.thread)) {
            (false, false) => return Hazard::Unordered,
            (true, true) if copy_for_others(old.thread, now.thread) => return Hazard::Unordered,
            (true, true) => return Hazard::Overwritten,
            (true, false) => (old, now),
            (false, true) => (now, old),
        };
        let Some(agent) = self.operations.agent(operation.thread) else {
            return Hazard::Unordered;
        };
        let (later, writes) = (thread.at >= operation.at, operation.kind.writes());
        if later && writes && !thread.kind.writes() {
            let barrier = agent.barrier.map(|barrier| (thread.thread, barrier));
            let passed = barrier.and_then(|key| self.passed.get(&key));
            return match passed {
                Some(&(at, wait)) if at >= operation.at => Hazard::WrongPhase { wait },
                // It reads what an operation before this one has written.
                Some(_) => Hazard::Overwritten,
                None => Hazard::Unfinished,
            };
        }
        if later || writes { Hazard::Overwritten } else { Hazard::Unordered }
    }

    /// Returns whether threads issue copies each for itself, or arrivals after these.
    fn issues_copies(&self, event: &Asynchronous<'_, WORDS>) -> bool {
        matches!(self.role(event.pc.0), Role::Copy | Role::Mbarrier)
    }

    fn role(&self, pc: u64) -> Role {
        let place = usize::try_from(pc).ok().and_then(|pc| self.places.get(pc));
        place.map(|place| place.role).unwrap_or_default()
    }

    fn add(
        &mut self,
        key: (u64, u64),
        (space, address): (Space, u64),
        [old, now]: [Entry; 2],
        (count, equal_writes): (u64, bool),
        hazard: Hazard,
    ) {
        let common = old.bytes & now.bytes;
        let (first, second) = (self.racing(&old, common), self.racing(&now, common));
        let of_volatiles = old.is_morally_strong_to(&now);
        let race =
            Race { space, address, first, second, count, equal_writes, of_volatiles, hazard };
        self.found.insert(key, race);
    }

    /// An access as it is reported.
    fn racing(&self, entry: &Entry, bytes: u8) -> RacingAccess {
        let asynchronous = is_agent(entry.thread);
        let agent = self.operations.agent(entry.thread).filter(|_| asynchronous);
        let thread = agent.map_or(entry.thread, |agent| agent.issuer);
        let joint = agent.is_some_and(|agent| agent.joint);
        let site = self.shape.site_of(thread.cta, thread.index);
        let (value, place) = (entry.value_of(bytes), self.place(entry.pc));
        RacingAccess { thread, asynchronous, joint, site, kind: entry.kind, value, place }
    }

    /// Checks and records the access of one lane.
    fn check_access(&mut self, access: &Access<'_>, index: usize, thread: Thread, address: u64) {
        let shared = access.space == Space::Shared;
        let strong = access.kind == AccessKind::Atomic || access.order != Order::Weak;
        // The scope of an operation on a barrier is that of what it orders. Among themselves these
        // operations are atomic in the whole cluster: remote arrivals have the scope of the CTA by
        // default.
        let scope = match self.role(access.pc.0) {
            Role::Mbarrier if access.scope == Scope::Cta => Scope::Cluster,
            _ => access.scope,
        };
        let clock = self.threads.entry(thread).or_default();
        let mut now = Entry {
            thread,
            epoch: clock.epoch(),
            pc: access.pc.0,
            at: self.now,
            proxy: false,
            kind: access.kind,
            strong: strong.then_some(scope),
            volatile: self.strictness.volatiles
                && access.order == Order::Volatile
                && access.kind != AccessKind::Atomic,
            bytes: 0,
            value: None,
            silent: false,
        };
        let words = access.words(index);
        let known = clock.known();
        if shared && access.owner != thread.cta {
            self.reached.insert(access.owner);
        }
        let end = address.saturating_add(u64::from(access.size));
        let mut races = Vec::new();
        for granule in address >> 3..=end.saturating_sub(1) >> 3 {
            let from = address.max(granule << 3) & 7;
            let to = end.saturating_sub(granule << 3).min(8);
            now.bytes = (0xff_u16 << from & 0xff_u16 >> (8 - to)) as u8;
            now.value = value_in(words, address, granule, from..to);
            let key = (shared.then_some(access.owner), granule);
            self.shadow.access(key, now, &known, |old, now| races.push((granule, *old, *now)));
        }
        for (granule, old, now) in races {
            let at = (granule << 3) + u64::from((old.bytes & now.bytes).trailing_zeros() & 7);
            let relaxed = match old.kind {
                AccessKind::Load => known.covers_relaxed_read(old.thread, old.epoch),
                _ if now.kind != AccessKind::Store => false,
                _ => known.covers_overwritten(old.thread, old.epoch),
            };
            let silent = old.is_silent_to(&now).then_some(Hazard::SilentStore);
            let lacking = if relaxed { Some(Hazard::RelaxedOrder) } else { silent };
            self.report(access.space, at.max(address), (old, now, lacking));
        }
        // Barriers in shared memory have phases.
        let barrier = matches!(self.role(access.pc.0), Role::Mbarrier | Role::MbarrierInit);
        if barrier {
            return;
        }
        if strong || access.kind.writes() {
            self.apply_order(access, thread, (shared.then_some(access.owner), address));
        }
    }

    /// Applies release and acquire at an address. A strong write publishes the clock of a
    /// preceding fence or of its own release, and what is complete without one; a weak write
    /// ends what was published there.
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
        let published = clock.publish(thread, access.scope, releases);
        let relaxed = clock.publish_relaxed();
        if published.is_none() && relaxed.is_none() {
            return;
        }
        if self.locations.len() >= MAX_LOCATIONS && !self.locations.contains_key(&key) {
            self.lossy = true;
            return;
        }
        self.locations_in_shared |= key.0.is_some();
        let location = self.locations.entry(key).or_default();
        if let Some((published, scope)) = published {
            location.publish(thread.cta, scope, &published);
        }
        if let Some(relaxed) = relaxed {
            location.publish_relaxed(thread.cta, access.scope, &relaxed);
        }
    }

    /// Checks and records what an operation reads or writes.
    fn operation_access(
        &mut self,
        number: u64,
        kind: AccessKind,
        (owner, address, bytes): (Option<u64>, u64, u64),
        words: &[u64],
    ) {
        let Some(operation) = self.operations.get(number) else { return };
        let (thread, epoch) = operation.agent(kind.writes());
        let known = Arc::clone(&operation.known);
        let mut now = Entry {
            thread,
            epoch,
            pc: operation.pc,
            at: operation.issued,
            proxy: !operation.generic,
            kind,
            strong: (kind == AccessKind::Atomic).then_some(Scope::Gpu),
            volatile: false,
            bytes: 0,
            value: None,
            silent: false,
        };
        self.reached.extend(owner.filter(|_| copies_for(thread).is_none()));
        let end = address.saturating_add(bytes);
        let mut races = Vec::new();
        for granule in address >> 3..=end.saturating_sub(1) >> 3 {
            let from = address.max(granule << 3) & 7;
            let to = end.saturating_sub(granule << 3).min(8);
            now.bytes = (0xff_u16 << from & 0xff_u16 >> (8 - to)) as u8;
            now.value = value_in(words, address, granule, from..to);
            self.shadow.access((owner, granule), now, &known, |old, now| {
                races.push((granule, *old, *now));
            });
        }
        let space = if owner.is_some() { Space::Shared } else { Space::Global };
        for (granule, old, now) in races {
            let at = (granule << 3) + u64::from((old.bytes & now.bytes).trailing_zeros() & 7);
            let ordered = known.covers(old.thread, old.epoch);
            let lacking = ordered.then_some(Hazard::Unfenced);
            if !self.repeats(&old, &now) {
                self.report(space, at.max(address), (old, now, lacking));
            }
        }
    }

    /// Returns whether lanes of a warp have issued one operation several times, as code for whole
    /// warps does that stores tensors: one instruction writes the same values to the same bytes.
    /// Copies that each thread makes for itself are not meant.
    fn repeats(&self, old: &Entry, now: &Entry) -> bool {
        let warp = |entry: &Entry| {
            let issuer = self.operations.agent(entry.thread)?.issuer;
            Some((issuer.cta, issuer.index / WARP))
        };
        let common = old.bytes & now.bytes;
        let value = old.value_of(common);
        copies_for(now.thread).is_none()
            && old.pc == now.pc
            && warp(old).is_some_and(|of_old| warp(now) == Some(of_old))
            && [old, now].iter().all(|entry| entry.kind == AccessKind::Store)
            && value.is_some()
            && value == now.value_of(common)
    }

    /// Finds accesses of operations and of other blocks to the shared memory of a block that ends,
    /// of which none of its threads knows.
    fn find_late(&mut self, cta: u64) {
        let mut known = vector_clock::VectorClock::default();
        for (_, clock) in self.threads.iter().filter(|(thread, _)| thread.cta == cta) {
            known.join(&clock.known());
        }
        let late: Vec<(u64, Entry)> = self
            .shadow
            .of_block(cta)
            .filter(|(_, entry)| entry.thread.cta != cta && copies_for(entry.thread).is_none())
            .filter(|(_, entry)| !known.covers(entry.thread, entry.epoch))
            .map(|(granule, entry)| (granule, *entry))
            .collect();
        for (granule, entry) in late {
            let address = (granule << 3) + u64::from(entry.bytes.trailing_zeros() & 7);
            let access = self.racing(&entry, entry.bytes);
            let new = LateAccess { access, owner: cta, address, count: 0 };
            let known = self.late.entry(entry.pc).or_insert(new);
            known.count += 1;
            known.address = known.address.min(address);
        }
    }

    /// Returns whether an instruction is a barrier of the warp.
    fn orders_warp(&self, pc: u64) -> bool {
        let place = usize::try_from(pc).ok().and_then(|pc| self.places.get(pc));
        place.is_some_and(|place| place.orders_warp)
    }

    /// The reads whose values a product of a warp takes from registers: all that its threads have
    /// read so far, if it takes any.
    fn taken(&self, pc: u64, warp: &[Thread]) -> vector_clock::VectorClock {
        let mut taken = vector_clock::VectorClock::default();
        let place = usize::try_from(pc).ok().and_then(|pc| self.places.get(pc));
        if place.is_some_and(|place| place.takes_registers) {
            for &thread in warp {
                let epoch = self.threads.get(&thread).map_or(1, ThreadClock::epoch);
                taken.advance_reads(thread, epoch);
            }
        }
        taken
    }

    /// What threads of a warp know together, with what they have done so far.
    fn release_warp(&mut self, warp: &[Thread]) -> Arc<vector_clock::VectorClock> {
        let mut known = Arc::default();
        for (i, &thread) in warp.iter().enumerate() {
            let of_thread = self.threads.entry(thread).or_default().release(thread);
            match i {
                0 => known = of_thread,
                _ => Arc::make_mut(&mut known).join(&of_thread),
            }
        }
        known
    }

    /// Records the arrival of lanes at a barrier of the warp.
    fn warp_arrive(&mut self, sync: &Sync<'_, WORDS>) {
        for lane in sync.lanes {
            let thread = Self::thread(sync.group, lane);
            let key = (sync.group.cta, thread.index / WARP, sync.members);
            let phase = self.warps.entry(key).or_default();
            phase.arrive(thread, self.threads.entry(thread).or_default());
        }
    }

    /// Releases all threads that wait at a barrier of the warp with these members.
    fn warp_release(&mut self, sync: &Sync<'_, WORDS>) {
        for lane in sync.lanes {
            let warp = Self::thread(sync.group, lane).index / WARP;
            let key = (sync.group.cta, warp, sync.members);
            let Some(mut phase) = self.warps.remove(&key) else { continue };
            for thread in phase.arrived() {
                phase.release(thread, self.threads.entry(thread).or_default());
            }
        }
    }
}

/// Who commits and waits for groups of operations: threads, of products whole warps.
fn committer(thread: Thread, groups: AsyncGroups) -> Thread {
    match groups {
        AsyncGroups::Bulk | AsyncGroups::Copies => thread,
        AsyncGroups::Products => Thread { index: thread.index - thread.index % WARP, ..thread },
    }
}

/// The committers among the lanes of an event, each once.
fn committers(event: &Asynchronous<'_, WORDS>, groups: AsyncGroups) -> Vec<Thread> {
    let of = |lane| committer(Races::thread(event.group, lane), groups);
    let mut all: Vec<Thread> = event.lanes.iter().map(of).collect();
    all.dedup();
    all
}

/// The threads of an event, by warp.
fn warps(event: &Asynchronous<'_, WORDS>) -> Vec<Vec<Thread>> {
    let threads: Vec<Thread> =
        event.lanes.iter().map(|lane| Races::thread(event.group, lane)).collect();
    let warps = threads.chunk_by(|a, b| a.index / WARP == b.index / WARP);
    warps.map(<[Thread]>::to_vec).collect()
}

/// The CTA and number of a barrier; that of a cluster belongs to no CTA.
fn barrier_of(sync: &Sync<'_, WORDS>) -> (u64, u32) {
    match sync.kind {
        SyncKind::ClusterArrive | SyncKind::ClusterRelease => (u64::MAX, sync.barrier),
        _ => (sync.group.cta, sync.barrier),
    }
}

/// The bytes of a granule that an access has, at their places in it.
fn value_in(words: &[u64], address: u64, granule: u64, bytes: Range<u64>) -> Option<u64> {
    let mut value = 0;
    for at in bytes {
        let byte = ((granule << 3) + at).wrapping_sub(address);
        let word = words.get((byte / 8) as usize)?;
        value |= (word >> (8 * (byte % 8)) & 0xff) << (8 * at);
    }
    Some(value)
}

impl Probe for Races {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.lossy |= self.shadow.lossy;
        self.places = Arc::clone(launch.places);
        self.shape = launch.shape;
        self.threads.clear();
        self.shadow = Shadow::new(self.strictness.harmless);
        self.locations.clear();
        self.locations_in_shared = false;
        self.barriers.clear();
        self.warps.clear();
        self.now = 0;
        self.operations = Operations::default();
        self.mbarriers.clear();
        self.passed.clear();
        self.reached.clear();
    }
}

impl EventSink for Races {
    fn events(&self) -> Events {
        Events::ACCESS.and(Events::VALUES).and(Events::SYNC).and(Events::CTA).and(Events::ASYNC)
    }

    fn access(&mut self, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        if self.role(access.pc.0) == Role::Copy {
            return;
        }
        self.now += 1;
        for (index, &(lane, address)) in access.lanes.iter().enumerate() {
            let thread = Self::thread(access.group, usize::from(lane));
            self.check_access(access, index, thread, address);
        }
    }

    fn sync(&mut self, sync: &Sync<'_, WORDS>) {
        match sync.kind {
            SyncKind::BarrierArrive | SyncKind::ClusterArrive => {
                let phase = self.barriers.entry(barrier_of(sync)).or_default();
                if phase.is_complete() {
                    *phase = BarrierPhase::default();
                }
                for lane in sync.lanes {
                    let thread = Self::thread(sync.group, lane);
                    phase.arrive(thread, self.threads.entry(thread).or_default());
                }
            }
            SyncKind::BarrierRelease | SyncKind::ClusterRelease => {
                let Some(phase) = self.barriers.get_mut(&barrier_of(sync)) else {
                    return;
                };
                for lane in sync.lanes {
                    let thread = Self::thread(sync.group, lane);
                    phase.release(thread, self.threads.entry(thread).or_default());
                }
            }
            SyncKind::CollectiveArrive if self.orders_warp(sync.pc.0) => self.warp_arrive(sync),
            SyncKind::CollectiveComplete if self.orders_warp(sync.pc.0) => self.warp_release(sync),
            SyncKind::Collective | SyncKind::CollectiveArrive | SyncKind::CollectiveComplete => {}
            SyncKind::ProxyFence { asynchronous } => {
                for lane in sync.lanes.iter().filter(|_| asynchronous) {
                    let thread = Self::thread(sync.group, lane);
                    self.threads.entry(thread).or_default().fence_proxies(thread);
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

    fn asynchronous(&mut self, event: &Asynchronous<'_, WORDS>) {
        self.now += 1;
        let of = |lane| Self::thread(event.group, lane);
        match event.event {
            AsyncEvent::Issue { operation, group, barrier, .. } if self.issues_copies(event) => {
                for lane in event.lanes {
                    let thread = of(lane);
                    let known = self.threads.entry(thread).or_default().release(thread);
                    let when = (event.pc.0, self.now);
                    match barrier.filter(|_| group.is_none()) {
                        Some(_) => self.operations.issue_arrival(operation, when, thread, known),
                        None => self.operations.issue_copy(operation, when, thread, known),
                    }
                }
            }
            AsyncEvent::Issue { operation, generic, group, barrier } => {
                for warp in warps(event) {
                    let issuer = warp[0];
                    let taken = self.taken(event.pc.0, &warp);
                    let known = self.release_warp(&warp);
                    let agent = Agent { issuer, barrier, joint: false };
                    let what = (event.pc.0, self.now, generic);
                    self.operations.issue(operation, what, agent, (known, taken));
                    if let Some(groups) = group {
                        self.operations.enter(committer(issuer, groups), groups, operation);
                    }
                }
            }
            AsyncEvent::Access { operation, kind, space, owner, address, bytes, words } => {
                let owner = (space == Space::Shared).then_some(owner);
                let words = words.as_ref().map_or(&[][..], |words| &words[..]);
                self.operation_access(operation, kind, (owner, address, bytes), words);
            }
            AsyncEvent::Complete { operation } => self.operations.complete(operation),
            AsyncEvent::Commit(groups) => {
                for by in committers(event, groups) {
                    self.operations.commit(by, groups);
                }
            }
            AsyncEvent::Wait { groups, pending, reads } => {
                for by in committers(event, groups) {
                    let seen = self.operations.wait((by, groups), pending, reads);
                    let lanes = event.lanes.iter().map(of);
                    for thread in lanes.filter(|&thread| committer(thread, groups) == by) {
                        self.threads.entry(thread).or_default().acquire(&seen);
                    }
                }
            }
            AsyncEvent::RegisterFence => {}
        }
    }

    fn mbarrier(&mut self, event: &MbarrierEvent) {
        self.now += 1;
        let thread = Self::thread(event.group, usize::from(event.lane));
        let key = (event.owner, event.offset);
        let barrier = self.mbarriers.entry(key).or_default();
        match event.kind {
            MbarrierEventKind::Init => *barrier = Barrier::default(),
            MbarrierEventKind::Invalidate => drop(self.mbarriers.remove(&key)),
            MbarrierEventKind::Change { arrivals, releases } => {
                let clock = self.threads.entry(thread).or_default();
                if arrivals > 0
                    && let Some((published, _)) = clock.publish(thread, Scope::Cluster, releases)
                {
                    barrier.join(&published);
                }
                barrier.change(event.words);
            }
            MbarrierEventKind::Complete { operation, .. } => {
                if let Some(operation) = self.operations.get(operation) {
                    barrier.join_operation(operation);
                }
                barrier.change(event.words);
            }
            MbarrierEventKind::Arrive { operation } => {
                if let Some(operation) = self.operations.get(operation) {
                    barrier.join_arrival(operation);
                }
                barrier.change(event.words);
            }
            MbarrierEventKind::Waits => {}
            MbarrierEventKind::Passes { acquires } => {
                if acquires {
                    self.threads.entry(thread).or_default().acquire(barrier.completed());
                }
                self.passed.insert((thread, key), (self.now, event.pc.0));
            }
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            if self.reached.remove(&cta) {
                self.find_late(cta);
            }
            self.shadow.forget(cta);
            self.threads.retain(|thread, _| thread.cta != cta);
            self.barriers.retain(|key, _| key.0 != cta);
            self.warps.retain(|key, _| key.0 != cta);
            if self.locations_in_shared {
                self.locations.retain(|key, _| key.0 != Some(cta));
            }
        }
    }
}

/// Names a space; every space but shared memory counts as `global`, as threads share no other.
#[must_use]
pub const fn space_name(space: Space) -> &'static str {
    match space {
        Space::Shared => "shared",
        _ => "global",
    }
}

/// Names the kind of an access.
#[must_use]
pub const fn access_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "read",
        AccessKind::Store => "write",
        AccessKind::Atomic => "atomic",
    }
}
