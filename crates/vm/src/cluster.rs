//! Clusters: CTAs that are resident together and reach each other's shared memory.
//!
//! **Addresses.** Bits 24 to 31 of a shared address are the rank of the CTA in its cluster, so that
//! an address means the same byte in every CTA of the cluster, and the variables of the CTA of rank
//! 0, or of one without a cluster, begin at address 0. The layout is ours; the PTX ISA fixes only
//! that the window of a CTA is part of the window of its cluster.
//!
//! **Barrier.** The rule implemented is the PTX ISA's for `barrier.cluster`: an arrival never
//! waits, a wait ends when all threads of the cluster that have not exited have arrived, and a
//! thread arrives once and waits once for each phase.

use ir::Sreg;
use simt::observe::{Events, Observer, Sync, SyncKind};
use simt::{CtaMask, LaneMask};
use smallvec::SmallVec;
use thiserror::Error;

use crate::cause::Cause;
use crate::control::fail;
use crate::engine::{Executed, Now, Outcome, Release};
use crate::state::{Cta, Parked, State, Waiting, unrank};

/// Most CTAs of a cluster (CUDA Programming Guide, "Thread Block Clusters": 8, and 16 where a
/// kernel allows sizes that not every device has).
pub const MAX_CLUSTER: u32 = 16;

/// Bytes of the window of a CTA in the shared memory of its cluster.
pub const CTA_WINDOW: u64 = 1 << 24;

/// The clusters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clusters {
    /// CTAs of a cluster in x, y, z.
    pub dims: [u32; 3],
    /// Whether the kernel or the launch says so.
    pub explicit: bool,
}

impl Default for Clusters {
    fn default() -> Self {
        Self { dims: [1; 3], explicit: false }
    }
}

impl Clusters {
    /// CTAs of a cluster.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Clusters of a grid in x, y, z.
    #[must_use]
    pub fn of_grid(&self, grid: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|i| grid[i] / self.dims[i].max(1))
    }

    /// The coordinates of the CTA that is the `order`-th to become resident: clusters in order, and
    /// in each its CTAs by rank.
    #[must_use]
    pub fn coordinates(&self, order: u64, grid: [u32; 3]) -> [u32; 3] {
        let size = u64::from(self.size().max(1));
        let cluster = unrank(order / size, self.of_grid(grid));
        let own = unrank(order % size, self.dims);
        std::array::from_fn(|i| cluster[i] * self.dims[i] + own[i])
    }

    /// The value of a special register for a CTA; `None` for registers of other things.
    #[must_use]
    pub fn sreg(&self, reg: Sreg, grid: [u32; 3], cta: [u32; 3], rank: u32) -> Option<u32> {
        let clusters = self.of_grid(grid);
        let (dims, own) = (self.dims, |i: usize| cta[i] % self.dims[i].max(1));
        Some(match reg {
            Sreg::ClusterIdX => cta[0] / dims[0].max(1),
            Sreg::ClusterIdY => cta[1] / dims[1].max(1),
            Sreg::ClusterIdZ => cta[2] / dims[2].max(1),
            Sreg::NclusterIdX => clusters[0],
            Sreg::NclusterIdY => clusters[1],
            Sreg::NclusterIdZ => clusters[2],
            Sreg::ClusterCtaidX => own(0),
            Sreg::ClusterCtaidY => own(1),
            Sreg::ClusterCtaidZ => own(2),
            Sreg::ClusterNctaidX => dims[0],
            Sreg::ClusterNctaidY => dims[1],
            Sreg::ClusterNctaidZ => dims[2],
            Sreg::ClusterCtaRank => rank,
            Sreg::ClusterNctaRank => self.size(),
            Sreg::ExplicitCluster => self.explicit.into(),
            _ => return None,
        })
    }
}

/// An address of shared memory that an access cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ClusterMisuse {
    /// No CTA of the cluster has the rank.
    #[error("it belongs to the CTA of rank {rank}, and the cluster has {size}")]
    Rank {
        /// The rank in the address.
        rank: u64,
        /// CTAs of the cluster.
        size: u32,
    },
    /// The instruction reaches the memory of its own CTA alone.
    #[error("it belongs to the CTA of rank {rank}; the instruction reaches that of its own CTA")]
    Own {
        /// The rank in the address.
        rank: u64,
    },
    /// A generic address is not one of shared memory.
    #[error("it is not in the shared memory of the cluster")]
    Elsewhere,
    /// The CTA has ended.
    #[error("it belongs to the CTA of rank {rank}, all threads of which have exited")]
    Exited {
        /// The rank in the address.
        rank: u64,
    },
}

/// The linear index of coordinates in a box, x fastest.
#[must_use]
pub fn rank_in(id: [u32; 3], size: [u32; 3]) -> u64 {
    let [x, y, z] = id.map(u64::from);
    x + u64::from(size[0]) * (y + u64::from(size[1]) * z)
}

/// The place of a CTA in its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The slot of the CTA of rank 0: those of a cluster follow each other.
    pub(crate) first_slot: usize,
    pub(crate) rank: u32,
    /// CTAs of the cluster.
    pub(crate) size: u32,
}

impl Place {
    /// The slot of the CTA.
    pub(crate) fn slot(self) -> usize {
        self.first_slot + self.rank as usize
    }

    /// The slots of the cluster.
    pub(crate) fn slots(self) -> std::ops::Range<usize> {
        self.first_slot..self.first_slot + self.size as usize
    }

    /// First shared address of the CTA.
    pub(crate) fn base(self) -> u64 {
        u64::from(self.rank) * CTA_WINDOW
    }

    /// The slot and offset of a shared address. `reach` says whether it may be that of another CTA.
    pub(crate) fn home(self, address: u64, reach: bool) -> Result<(usize, u64), ClusterMisuse> {
        if self.size <= 1 {
            return Ok((self.slot(), address));
        }
        let (rank, offset) = (address / CTA_WINDOW, address % CTA_WINDOW);
        if rank == u64::from(self.rank) {
            return Ok((self.slot(), offset));
        }
        if rank >= u64::from(self.size) {
            return Err(ClusterMisuse::Rank { rank, size: self.size });
        }
        if !reach {
            return Err(ClusterMisuse::Own { rank });
        }
        Ok((self.first_slot + rank as usize, offset))
    }
}

/// What a CTA keeps of the barrier of its cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrivals {
    /// Threads that have arrived in the current phase.
    arrived: CtaMask,
    /// Threads that have arrived and not waited since.
    owed: CtaMask,
}

/// Executes an arrival, or a wait, at the barrier of the cluster.
pub(crate) fn execute<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    waits: bool,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    let first = cta.groups[now.group].first_thread as usize;
    let wrong = now.on.filter(|lane| cta.arrivals.owed.contains(first + lane) != waits);
    if wrong.any() {
        return Err(fail(Cause::ClusterBarrier { waits }, wrong));
    }
    let mut parked = LaneMask::EMPTY;
    for lane in now.on {
        let thread = first + lane;
        cta.arrivals.owed.set(thread, !waits);
        if !waits {
            cta.arrivals.arrived.insert(thread);
        } else if cta.arrivals.arrived.contains(thread) {
            cta.parked[thread] = Some(Parked { pc: now.pc, wait: Waiting::Cluster });
            parked.insert(lane);
        }
    }
    let place = cta.place;
    if waits {
        announce(state, now, SyncKind::ClusterRelease, now.on - parked, observer);
        return Ok(if parked.is_empty() { Outcome::Advance } else { Outcome::Park(parked) });
    }
    announce(state, now, SyncKind::ClusterArrive, now.on, observer);
    complete(state, place, releases, observer);
    Ok(Outcome::Advance)
}

fn announce<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    kind: SyncKind,
    lanes: LaneMask<N>,
    observer: &mut O,
) {
    if !observer.wants(Events::SYNC) || lanes.is_empty() {
        return;
    }
    if let Some(cta) = state.resident[now.slot].as_deref() {
        let group = cta.group_id(now.group);
        let barrier = cta.place.first_slot as u32;
        observer.sync(&Sync { group, pc: now.pc, kind, barrier, members: 0, lanes: &lanes });
    }
}

/// Threads of a cluster that have arrived, and how many it takes.
pub(crate) fn census<const N: usize>(state: &State<N>, place: Place) -> (u32, u32) {
    let ctas = state.resident[place.slots()].iter().flatten();
    ctas.fold((0, 0), |(arrived, live), cta| {
        (arrived + cta.arrivals.arrived.count(), live + arrived_or_live(cta))
    })
}

/// Threads of a CTA that a phase takes: those that have not exited, and those that arrived before.
fn arrived_or_live<const N: usize>(cta: &Cta<N>) -> u32 {
    let gone = cta.arrivals.arrived.iter().filter(|&thread| cta.exited[thread]).count();
    cta.live + gone as u32
}

/// Completes the phase if all threads have arrived, and releases those that wait.
pub(crate) fn complete<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    place: Place,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) {
    let (arrived, expected) = census(state, place);
    if arrived == 0 || arrived < expected {
        return;
    }
    state.stats.barriers += 1;
    for slot in place.slots() {
        let Some(cta) = state.resident[slot].as_deref_mut() else { continue };
        cta.arrivals.arrived = CtaMask::EMPTY;
        let waits = |p: &Option<Parked>| p.is_some_and(|p| p.wait == Waiting::Cluster);
        for thread in 0..cta.parked.len() {
            if waits(&cta.parked[thread]) {
                wake(cta, slot, thread, releases);
            }
        }
        let Some(cta) = state.resident[slot].as_deref() else { continue };
        if !observer.wants(Events::SYNC) {
            continue;
        }
        for release in releases.iter().filter(|r| r.slot == slot) {
            observer.sync(&Sync {
                group: cta.group_id(release.group),
                pc: release.pc,
                kind: SyncKind::ClusterRelease,
                barrier: place.first_slot as u32,
                members: 0,
                lanes: &release.lanes,
            });
        }
    }
}

/// Takes a thread out of its wait, and enters it among those that go on.
pub(crate) fn wake<const N: usize>(
    cta: &mut Cta<N>,
    slot: usize,
    thread: usize,
    releases: &mut SmallVec<[Release<N>; 2]>,
) {
    let Some(parked) = cta.parked[thread].take() else { return };
    let group = cta.group_of(thread);
    let lane = thread - cta.groups[group].first_thread as usize;
    let same = |r: &&mut Release<N>| r.slot == slot && r.group == group && r.pc == parked.pc;
    match releases.iter_mut().find(same) {
        Some(release) => release.lanes.insert(lane),
        None => releases.push(Release { slot, group, lanes: LaneMask::lane(lane), pc: parked.pc }),
    }
}

/// Completes a phase that waited only for threads that have exited.
pub(crate) fn after_exit<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    slot: usize,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) {
    let Some(place) = state.resident[slot].as_deref().map(|cta| cta.place) else { return };
    let waited = state.resident[place.slots()].iter().flatten();
    if waited.clone().any(|cta| cta.arrivals.arrived.any()) {
        complete(state, place, releases, observer);
    }
}
