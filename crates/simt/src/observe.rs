//! Hooks: the events of a run, for observers.
//!
//! An [`Observer`] is a type parameter of the engine with a constant set of wanted [`Events`]; an
//! engine asks that constant before it even builds an event, so an observer that wants nothing
//! ([`Blind`]) costs nothing. Events carry enough for tracers, race detectors (happens-before) and
//! per-line statistics, and nothing that is particular to one machine.

use crate::mask::LaneMask;
use crate::slots::{Domain, IssueLanes};

pub use crate::memory::{AccessKind, Space};

/// A place in a program; the machine defines its unit (instruction index, byte address).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pc(pub u64);

/// An issue group of a CTA. Lane `i` of the group is thread `first_thread + i` of the CTA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId {
    /// Linear index of the CTA in the grid.
    pub cta: u64,
    /// Index of the issue group in the CTA (the warp, where the group is a warp).
    pub group: u32,
    /// Linear index in the CTA of the thread in lane 0.
    pub first_thread: u32,
}

/// Kinds of events, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// [`Observer::issue`].
    pub const ISSUE: Self = Self(1);
    /// [`Observer::branch`].
    pub const BRANCH: Self = Self(2);
    /// [`Observer::access`].
    pub const ACCESS: Self = Self(4);
    /// [`Observer::sync`].
    pub const SYNC: Self = Self(8);
    /// [`Observer::cta`].
    pub const CTA: Self = Self(16);
    /// [`Access::values`].
    pub const VALUES: Self = Self(32);
    /// [`Observer::asynchronous`] and [`Observer::mbarrier`].
    pub const ASYNC: Self = Self(64);
    /// Everything.
    pub const ALL: Self = Self(127);

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all of `other` is in the set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One issue.
#[derive(Clone, Copy, Debug)]
pub struct Issue<'a, const N: usize> {
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// The domain that it is counted in.
    pub domain: Domain,
    /// The lane sets; for a uniform issue the sets of the group on whose behalf it runs.
    pub lanes: &'a IssueLanes<N>,
    /// Number of paths that the group's mechanism now holds, this one included.
    pub depth: u32,
    /// Lanes of a guarded branch, return or exit whose guard does not hold: they take part in the
    /// issue, which decides where they go, and are among the lanes that are on.
    pub guard_off: u32,
}

/// A branch issue: distinct next places with their lanes.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a, const N: usize> {
    /// The issue group.
    pub group: GroupId,
    /// The branch.
    pub pc: Pc,
    /// Next places; more than one means that the branch diverged.
    pub targets: &'a [(Pc, LaneMask<N>)],
}

crate::word_enums! {
    /// Memory order of an access.
    #[derive(Default)]
    pub enum Order {
        /// Plain: races with a conflicting access that is not ordered.
        #[default]
        Weak "weak",
        /// Volatile: like relaxed at system scope, never merged.
        Volatile "volatile",
        /// Relaxed.
        Relaxed "relaxed",
        /// Acquire.
        Acquire "acquire",
        /// Release.
        Release "release",
        /// Acquire and release.
        AcqRel "acq_rel",
        /// Sequentially consistent (fences).
        SeqCst "sc",
    }

    /// The scope of a memory order.
    #[derive(Default)]
    pub enum Scope {
        /// The CTA.
        Cta "cta",
        /// The cluster.
        Cluster "cluster",
        /// The device.
        #[default]
        Gpu "gpu",
        /// The system.
        Sys "sys",
    }
}

/// A memory access of one issue.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// The kind of access.
    pub kind: AccessKind,
    /// The space accessed: never [`Space::Generic`], which is resolved first.
    pub space: Space,
    /// The CTA whose shared memory is accessed: another one than the group's in clusters alone. Of
    /// other spaces the group's.
    pub owner: u64,
    /// Memory order.
    pub order: Order,
    /// Scope of the order.
    pub scope: Scope,
    /// Bytes for each lane.
    pub size: u32,
    /// Lane and address, lanes increasing. Addresses are offsets in shared, local and parameter
    /// space, guest addresses else.
    pub lanes: &'a [(u16, u64)],
    /// The bytes that each of these lanes reads or writes, in words of 8 bytes, the lowest first;
    /// of an atomic operation those before it. Empty where the machine does not tell, or
    /// [`Events::VALUES`] is not wanted.
    pub values: &'a [u64],
}

impl Access<'_> {
    /// Returns the words of the bytes of a lane, by its index in [`Self::lanes`]; none if they are
    /// not known.
    #[must_use]
    pub fn words(&self, index: usize) -> &[u64] {
        let words = self.size.div_ceil(8) as usize;
        self.values.get(index * words..(index + 1) * words).unwrap_or_default()
    }
}

/// The kind of a synchronisation event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncKind {
    /// Arrived at a CTA barrier and waits (or has arrived without waiting).
    BarrierArrive,
    /// A CTA barrier completed for these lanes.
    BarrierRelease,
    /// A warp-wide collective (vote, shuffle, match, reduce, warp sync) completed for these lanes.
    Collective,
    /// Lanes came to a collective with [`Sync::members`].
    CollectiveArrive,
    /// A collective with [`Sync::members`] completed for all lanes of the architectural warp that
    /// have come to it. The other members have ended or were never launched. The lanes of the event
    /// are some of them.
    CollectiveComplete,
    /// A memory fence.
    Fence(Order, Scope),
    /// A fence between proxies.
    ProxyFence {
        /// Whether it orders accesses of threads with those of asynchronous operations.
        asynchronous: bool,
    },
    /// Arrived at the barrier of the cluster.
    ClusterArrive,
    /// The barrier of the cluster completed for these lanes.
    ClusterRelease,
}

/// A synchronisation event.
#[derive(Clone, Copy, Debug)]
pub struct Sync<'a, const N: usize> {
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// The kind of event.
    pub kind: SyncKind,
    /// The barrier's number, for barriers; for that of a cluster a number of the cluster.
    pub barrier: u32,
    /// The member mask, for arrivals at collectives and their completion.
    pub members: u32,
    /// The lanes of this group that take part.
    pub lanes: &'a LaneMask<N>,
}

/// An event of asynchronous operations: copies, stores, products of warp groups.
#[derive(Clone, Copy, Debug)]
pub struct Asynchronous<'a, const N: usize> {
    /// The issue group whose lanes the event is about.
    pub group: GroupId,
    /// The instruction: for all events of an operation the one that issued it.
    pub pc: Pc,
    /// The lanes.
    pub lanes: &'a LaneMask<N>,
    /// What happens.
    pub event: AsyncEvent,
}

/// What happens to asynchronous operations. An operation has a number, which no other of its launch
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncEvent {
    /// The lanes issue an operation, or take part in one that others have issued.
    Issue {
        /// The operation.
        operation: u64,
        /// Whether its accesses are those of threads (`st.async`), and not of the async proxy.
        generic: bool,
        /// How the issuing threads may wait for it.
        group: Option<AsyncGroups>,
        /// The barrier at which it completes bytes: the CTA that has it, and its offset there. Of
        /// several the first.
        barrier: Option<(u64, u64)>,
    },
    /// An operation reads or writes bytes.
    Access {
        /// The operation.
        operation: u64,
        /// Load, store or atomic.
        kind: AccessKind,
        /// Global or shared.
        space: Space,
        /// The CTA whose shared memory it is.
        owner: u64,
        /// The first address: an offset in shared memory, or a guest address.
        address: u64,
        /// The number of bytes.
        bytes: u64,
        /// The bytes, the lowest first, if they are at most 16.
        words: Option<[u64; 2]>,
    },
    /// An operation completes: nothing more of it follows.
    Complete {
        /// The operation.
        operation: u64,
    },
    /// The lanes end their groups of operations.
    Commit(AsyncGroups),
    /// The lanes go on from a wait for all but the last `pending` of their groups.
    Wait {
        /// Of what.
        groups: AsyncGroups,
        /// Groups that may be incomplete.
        pending: u64,
        /// Whether the operations have read their sources, and no more.
        reads: bool,
    },
    /// The lanes order their registers with the products that follow (`wgmma.fence`).
    RegisterFence,
}

/// The groups of operations that a thread commits and waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncGroups {
    /// Copies that are not bulk copies (`cp.async`).
    Copies,
    /// Bulk copies.
    Bulk,
    /// Products of warp groups.
    Products,
}

/// An operation on a barrier in shared memory ([`crate::mbarrier`]).
#[derive(Clone, Copy, Debug)]
pub struct MbarrierEvent {
    /// The issue group of the thread that executes it, or that has issued the operation.
    pub group: GroupId,
    /// The lane.
    pub lane: u16,
    /// The instruction.
    pub pc: Pc,
    /// The CTA that has the barrier.
    pub owner: u64,
    /// The barrier's offset in that CTA's shared memory.
    pub offset: u64,
    /// The word of memory before and after.
    pub words: [u64; 2],
    /// What is done.
    pub kind: MbarrierEventKind,
}

/// What is done to a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierEventKind {
    /// It is initialised.
    Init,
    /// It ends.
    Invalidate,
    /// A thread arrives, or changes the bytes of transactions. Whether that releases.
    Change {
        /// Arrivals.
        arrivals: u32,
        /// Whether it has release semantics.
        releases: bool,
    },
    /// An asynchronous operation completes bytes of transactions.
    Complete {
        /// The operation.
        operation: u64,
        /// The bytes.
        bytes: u32,
    },
    /// An arrival that was to come after the copies of a thread does.
    Arrive {
        /// The operation.
        operation: u64,
    },
    /// A thread begins to wait for a phase, or finds that it has not completed.
    Waits,
    /// A thread finds that the phase has completed. Whether that acquires.
    Passes {
        /// Whether it has acquire semantics.
        acquires: bool,
    },
}

/// Life of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtaEvent {
    /// Became resident.
    Begin,
    /// All its threads ended.
    End,
}

/// Receives events. Every method has an empty default; an implementation says in
/// [`Observer::EVENTS`] which it wants.
pub trait Observer<const N: usize> {
    /// The events that this observer wants; others are not built.
    const EVENTS: Events;

    /// Returns whether this observer wants events, of those that observers of its type do.
    #[inline]
    fn wants(&self, events: Events) -> bool {
        Self::EVENTS.has(events)
    }

    /// An issue, before its effects.
    fn issue(&mut self, _issue: &Issue<'_, N>) {}
    /// A branch, after its targets are known.
    fn branch(&mut self, _branch: &Branch<'_, N>) {}
    /// A memory access, after its checks and before its effects.
    fn access(&mut self, _access: &Access<'_>) {}
    /// A synchronisation.
    fn sync(&mut self, _sync: &Sync<'_, N>) {}
    /// An event of asynchronous operations.
    fn asynchronous(&mut self, _event: &Asynchronous<'_, N>) {}
    /// An operation on a barrier in shared memory, after it.
    fn mbarrier(&mut self, _event: &MbarrierEvent) {}
    /// A CTA begins or ends.
    fn cta(&mut self, _cta: u64, _event: CtaEvent) {}
}

/// The observer that wants nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl<const N: usize> Observer<N> for Blind {
    const EVENTS: Events = Events::NONE;
}

/// Two observers at once.
impl<const N: usize, A: Observer<N>, B: Observer<N>> Observer<N> for (A, B) {
    const EVENTS: Events = A::EVENTS.and(B::EVENTS);
    #[inline]
    fn wants(&self, events: Events) -> bool {
        self.0.wants(events) || self.1.wants(events)
    }
    fn issue(&mut self, e: &Issue<'_, N>) {
        self.0.issue(e);
        self.1.issue(e);
    }
    fn branch(&mut self, e: &Branch<'_, N>) {
        self.0.branch(e);
        self.1.branch(e);
    }
    fn access(&mut self, e: &Access<'_>) {
        self.0.access(e);
        self.1.access(e);
    }
    fn sync(&mut self, e: &Sync<'_, N>) {
        self.0.sync(e);
        self.1.sync(e);
    }
    fn asynchronous(&mut self, e: &Asynchronous<'_, N>) {
        self.0.asynchronous(e);
        self.1.asynchronous(e);
    }
    fn mbarrier(&mut self, e: &MbarrierEvent) {
        self.0.mbarrier(e);
        self.1.mbarrier(e);
    }
    fn cta(&mut self, cta: u64, e: CtaEvent) {
        self.0.cta(cta, e);
        self.1.cta(cta, e);
    }
}

/// An observer behind a reference is the same observer.
impl<const N: usize, O: Observer<N>> Observer<N> for &mut O {
    const EVENTS: Events = O::EVENTS;
    #[inline]
    fn wants(&self, events: Events) -> bool {
        (**self).wants(events)
    }
    fn issue(&mut self, e: &Issue<'_, N>) {
        (**self).issue(e);
    }
    fn branch(&mut self, e: &Branch<'_, N>) {
        (**self).branch(e);
    }
    fn access(&mut self, e: &Access<'_>) {
        (**self).access(e);
    }
    fn sync(&mut self, e: &Sync<'_, N>) {
        (**self).sync(e);
    }
    fn asynchronous(&mut self, e: &Asynchronous<'_, N>) {
        (**self).asynchronous(e);
    }
    fn mbarrier(&mut self, e: &MbarrierEvent) {
        (**self).mbarrier(e);
    }
    fn cta(&mut self, cta: u64, e: CtaEvent) {
        (**self).cta(cta, e);
    }
}

/// Any observer behind one type. A machine that is compiled for it and for [`Blind`] is compiled
/// for all.
pub struct AnyObserver<'o, const N: usize> {
    events: Events,
    observer: &'o mut dyn Receiver<N>,
}

impl<'o, const N: usize> AnyObserver<'o, N> {
    /// Hides the type of an observer.
    pub fn new<O: Observer<N>>(observer: &'o mut O) -> Self {
        Self { events: O::EVENTS, observer }
    }
}

/// The methods of an [`Observer`].
trait Receiver<const N: usize> {
    fn issue(&mut self, e: &Issue<'_, N>);
    fn branch(&mut self, e: &Branch<'_, N>);
    fn access(&mut self, e: &Access<'_>);
    fn sync(&mut self, e: &Sync<'_, N>);
    fn asynchronous(&mut self, e: &Asynchronous<'_, N>);
    fn mbarrier(&mut self, e: &MbarrierEvent);
    fn cta(&mut self, cta: u64, e: CtaEvent);
}

impl<const N: usize, O: Observer<N>> Receiver<N> for O {
    fn issue(&mut self, e: &Issue<'_, N>) {
        Observer::issue(self, e);
    }
    fn branch(&mut self, e: &Branch<'_, N>) {
        Observer::branch(self, e);
    }
    fn access(&mut self, e: &Access<'_>) {
        Observer::<N>::access(self, e);
    }
    fn sync(&mut self, e: &Sync<'_, N>) {
        Observer::sync(self, e);
    }
    fn asynchronous(&mut self, e: &Asynchronous<'_, N>) {
        Observer::asynchronous(self, e);
    }
    fn mbarrier(&mut self, e: &MbarrierEvent) {
        Observer::<N>::mbarrier(self, e);
    }
    fn cta(&mut self, cta: u64, e: CtaEvent) {
        Observer::<N>::cta(self, cta, e);
    }
}

impl<const N: usize> Observer<N> for AnyObserver<'_, N> {
    const EVENTS: Events = Events::ALL;
    #[inline]
    fn wants(&self, events: Events) -> bool {
        self.events.has(events)
    }
    fn issue(&mut self, e: &Issue<'_, N>) {
        self.observer.issue(e);
    }
    fn branch(&mut self, e: &Branch<'_, N>) {
        self.observer.branch(e);
    }
    fn access(&mut self, e: &Access<'_>) {
        self.observer.access(e);
    }
    fn sync(&mut self, e: &Sync<'_, N>) {
        self.observer.sync(e);
    }
    fn asynchronous(&mut self, e: &Asynchronous<'_, N>) {
        self.observer.asynchronous(e);
    }
    fn mbarrier(&mut self, e: &MbarrierEvent) {
        self.observer.mbarrier(e);
    }
    fn cta(&mut self, cta: u64, e: CtaEvent) {
        self.observer.cta(cta, e);
    }
}
