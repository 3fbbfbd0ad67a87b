//! What a launch did, as far as the order of threads matters: the instructions through which
//! threads affect each other, what they accessed, and whom they met.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use checks::probe::{Place, ScheduleDependence};
use rustc_hash::FxHasher;
use simt::observe::{Access, AccessKind, GroupId, Space, Sync, SyncKind};
use simt::{LaneMask, WarpMask};
use vm::Choice;

/// Most events that are kept of a run.
const MOST_EVENTS: usize = 1 << 16;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Thread {
    pub(crate) cta: u64,
    pub(crate) index: u32,
}

/// What an access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    Read,
    Write,
    /// An update that commutes with others of its name.
    Update(u64),
}

impl Effect {
    /// Returns whether the order of two accesses to common bytes matters.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Read, Self::Read) => false,
            (Self::Update(a), Self::Update(b)) => a != b,
            _ => true,
        }
    }
}

/// Where bytes are: in the shared memory of a CTA, in global memory, or in what stands for the
/// launch's output, heap and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Store {
    Shared(u64),
    Global,
    Host(ScheduleDependence),
}

/// An access of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) store: Store,
    pub(crate) address: u64,
    pub(crate) size: u32,
    pub(crate) thread: Thread,
    pub(crate) kind: AccessKind,
    pub(crate) effect: Effect,
    /// The first 8 bytes that were read or are written, if they are known.
    pub(crate) value: Option<u64>,
}

impl Touch {
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.address..self.address.saturating_add(u64::from(self.size))
    }

    /// Returns whether both have bytes in common and the order of the accesses matters.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let (a, b) = (self.bytes(), other.bytes());
        self.store == other.store
            && a.start < b.end
            && b.start < a.end
            && self.effect.conflicts(other.effect)
    }

    pub(crate) fn space(&self) -> Space {
        match self.store {
            Store::Shared(_) => Space::Shared,
            _ => Space::Global,
        }
    }
}

/// At what threads meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meeting {
    Barrier { cta: u64, barrier: u32 },
    Collective { cta: u64, warp: u32, members: u32 },
}

/// Threads come to a meeting, or go on from it.
#[derive(Clone, Debug)]
pub(crate) struct Rendezvous {
    pub(crate) meeting: Meeting,
    pub(crate) threads: Vec<Thread>,
    pub(crate) completes: bool,
}

/// An instruction through which threads affect each other.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) launch: usize,
    /// The point at which its path was chosen, if there was a choice.
    pub(crate) point: Option<usize>,
    pub(crate) path: Choice,
    pub(crate) group: GroupId,
    pub(crate) lanes: WarpMask,
    pub(crate) pc: u64,
    /// How many such instructions the path has executed before.
    pub(crate) step: u64,
    pub(crate) touches: Vec<Touch>,
    pub(crate) meetings: Vec<Rendezvous>,
}

impl Event {
    /// Returns the thread in a lane.
    fn thread(group: GroupId, lane: usize) -> Thread {
        Thread { cta: group.cta, index: group.first_thread + lane as u32 }
    }

    /// Iterates over the threads.
    pub(crate) fn threads(&self) -> impl Iterator<Item = Thread> {
        self.lanes.iter().map(|lane| Self::thread(self.group, lane))
    }

    /// Returns whether the order of both matters.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.touches.iter().any(|a| other.touches.iter().any(|b| a.conflicts(b)))
    }
}

/// Names an update that commutes with others of the same name, whatever its operands are: one whose
/// old value nobody reads, of integers.
fn update(place: &Place) -> Option<u64> {
    const COMMUTING: [&str; 6] = ["add", "and", "or", "xor", "min", "max"];
    let mnemonic = place.text.split_whitespace().find(|word| !word.starts_with('@'))?;
    let commutes = mnemonic.split('.').any(|part| COMMUTING.contains(&part));
    if place.exposes.is_some() || !commutes {
        return None;
    }
    let mut hasher = FxHasher::default();
    mnemonic.hash(&mut hasher);
    Some(hasher.finish())
}

/// The events of a run.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    /// Whether there were more than are kept.
    pub(crate) truncated: bool,
    /// Whether events are left out: nothing changes any more.
    pub(crate) quiet: bool,
}

impl Trace {
    pub(crate) fn push(&mut self, event: Event, place: Option<&Place>) {
        if self.quiet {
            return;
        }
        if self.events.len() == MOST_EVENTS {
            self.truncated = true;
            return;
        }
        let mut event = event;
        // What these give depends on all others of their kind.
        use ScheduleDependence::{Allocation, Clock, PrintOrder};
        if let Some(kind @ (Allocation | Clock | PrintOrder)) = place.and_then(|p| p.exposes) {
            let thread = event.threads().next().unwrap_or(Thread { cta: 0, index: 0 });
            event.touches.push(Touch {
                store: Store::Host(kind),
                address: 0,
                size: 1,
                thread,
                kind: AccessKind::Store,
                // The lines of an output may stand in any order.
                effect: if kind == PrintOrder { Effect::Update(0) } else { Effect::Write },
                value: None,
            });
        }
        self.events.push(event);
    }

    fn last(&mut self) -> Option<&mut Event> {
        if self.quiet || self.truncated { None } else { self.events.last_mut() }
    }

    pub(crate) fn access(&mut self, access: &Access<'_>, place: Option<&Place>) {
        let store = match access.space {
            Space::Shared => Store::Shared(access.owner),
            Space::Global | Space::Generic => Store::Global,
            _ => return,
        };
        let Some(event) = self.last().filter(|event| event.pc == access.pc.0) else { return };
        let effect = match access.kind {
            AccessKind::Load => Effect::Read,
            AccessKind::Store => Effect::Write,
            AccessKind::Atomic => place.and_then(update).map_or(Effect::Write, Effect::Update),
        };
        for (index, &(lane, address)) in access.lanes.iter().enumerate() {
            let thread = Event::thread(access.group, usize::from(lane));
            let value = access.words(index).first().copied();
            let (size, kind) = (access.size, access.kind);
            event.touches.push(Touch { store, address, size, thread, kind, effect, value });
        }
    }

    pub(crate) fn sync(&mut self, sync: &Sync<'_, 1>) {
        let (cta, warp) = (sync.group.cta, sync.group.first_thread / 32);
        let collective = Meeting::Collective { cta, warp, members: sync.members };
        let barrier = Meeting::Barrier { cta, barrier: sync.barrier };
        let cluster = Meeting::Barrier { cta: u64::MAX, barrier: sync.barrier };
        let (meeting, completes) = match sync.kind {
            SyncKind::BarrierArrive => (barrier, false),
            SyncKind::BarrierRelease => (barrier, true),
            SyncKind::CollectiveArrive => (collective, false),
            SyncKind::CollectiveComplete => (collective, true),
            SyncKind::ClusterArrive => (cluster, false),
            SyncKind::ClusterRelease => (cluster, true),
            SyncKind::Collective | SyncKind::Fence(..) | SyncKind::ProxyFence { .. } => return,
        };
        let lanes: &LaneMask<1> = sync.lanes;
        let threads = lanes.iter().map(|lane| Event::thread(sync.group, lane)).collect();
        if let Some(event) = self.last() {
            event.meetings.push(Rendezvous { meeting, threads, completes });
        }
    }
}
