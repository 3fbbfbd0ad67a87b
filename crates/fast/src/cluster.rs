//! Clusters of several CTAs: their slots, their barrier, and asynchronous stores in their shared
//! memory.
//!
//! The CTAs of a cluster are resident together, in slots that follow each other, and become
//! resident when all that were there before have ended. The rules of the barrier are those of the
//! exact engine (`vm::Clusters`); what it would fault at declines the launch.

use crate::Declined;
use crate::asynchronous::{Event, UNDEFINED, Wait};
use crate::code::AsyncStore;
use crate::cta::Cta;
use crate::machine::Machine;
use crate::memory::Location;
use crate::row::lanes;
use crate::step::StepOutcome;
use crate::warp::Warp;
use ir::mods::Space;
use simt::memory::Addr;
use std::ops::Range;

const APART: Declined = Declined::Running("lanes of a warp are at the barrier of their cluster");

/// What a CTA keeps of the barrier of its cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// By warp, the lanes that have arrived in the current phase and have not ended.
    arrived: Vec<u32>,
    /// By warp, the lanes that have arrived and not waited since.
    owed: Vec<u32>,
    /// Threads that have arrived in the current phase and not ended, and that have ended since.
    count: u32,
    gone: u32,
}

impl Arrivals {
    pub(crate) fn clear(&mut self) {
        self.arrived.clear();
        self.owed.clear();
        (self.count, self.gone) = (0, 0);
    }

    /// Returns whether the phase in which lanes of a warp have arrived has completed.
    pub(crate) fn has_completed(&self, warp: usize, on: u32) -> bool {
        self.arrived.get(warp).is_none_or(|arrived| arrived & on == 0)
    }

    /// The lanes of a warp that have arrived, and those that have to wait.
    fn of(&mut self, warp: usize) -> (&mut u32, &mut u32) {
        if self.arrived.len() <= warp {
            self.arrived.resize(warp + 1, 0);
            self.owed.resize(warp + 1, 0);
        }
        (&mut self.arrived[warp], &mut self.owed[warp])
    }

    /// Lanes of a warp arrive. Returns `false` if some of them have to wait first.
    fn arrive(&mut self, warp: usize, on: u32) -> bool {
        let (arrived, owed) = self.of(warp);
        let may = *owed & on == 0;
        (*arrived, *owed) = (*arrived | on, *owed | on);
        self.count += on.count_ones();
        may
    }

    /// Lanes of a warp wait. Returns those of which the phase has not completed, or `None` if some
    /// of the lanes have not arrived.
    fn wait(&mut self, warp: usize, on: u32) -> Option<u32> {
        let (arrived, owed) = self.of(warp);
        let may = *owed & on == on;
        *owed &= !on;
        may.then_some(*arrived & on)
    }

    /// Lanes of a warp end.
    fn end(&mut self, warp: usize, lanes: u32) {
        let Some(arrived) = self.arrived.get_mut(warp) else { return };
        let ending = (*arrived & lanes).count_ones();
        *arrived &= !lanes;
        (self.count, self.gone) = (self.count - ending, self.gone + ending);
    }

    fn begin_phase(&mut self) {
        self.arrived.fill(0);
        (self.count, self.gone) = (0, 0);
    }
}

impl Machine<'_> {
    /// The slots of the cluster of the CTA in a slot.
    pub(crate) fn cluster_of(&self, slot: usize) -> Range<usize> {
        let size = self.context.cluster_size;
        let first = slot - slot % size;
        first..first + size
    }

    /// The first address of the shared memory of the CTA in a slot.
    pub(crate) fn window_of(&self, slot: usize) -> u64 {
        (slot % self.context.cluster_size) as u64 * vm::CTA_WINDOW
    }

    /// Returns whether no warp of the current CTA's cluster can go on: none could in the last turn
    /// of each of its CTAs, and only they can release each other.
    pub(crate) fn is_cluster_blocked(&self) -> bool {
        let mut ctas = self.ctas[self.cluster_of(self.slot)].iter().filter(|cta| cta.alive);
        ctas.all(|cta| cta.is_blocked)
    }

    /// Executes an arrival, or a wait, at the barrier of the cluster.
    pub(crate) fn cluster_barrier(
        &mut self,
        warp: &mut Warp,
        waits: bool,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        let arrivals = &mut self.ctas[self.slot].storage.asynchronous.arrivals;
        if !waits {
            if !arrivals.arrive(self.group, on) {
                return Err(UNDEFINED);
            }
            if let Some(detail) = &mut self.detail {
                detail.counts.barrier_arrivals += 1;
            }
            self.progress = true;
            self.complete_phase();
            return Ok(StepOutcome::Next);
        }
        match arrivals.wait(self.group, on).ok_or(UNDEFINED)? {
            0 => Ok(StepOutcome::Next),
            parked if parked == on => Ok(self.begin_wait(warp, on, Wait::Cluster)),
            _ => Err(APART),
        }
    }

    /// Completes the phase of the barrier of the cluster if all threads have arrived.
    fn complete_phase(&mut self) {
        let cluster = self.cluster_of(self.slot);
        let alive = |cta: &&Cta| cta.alive;
        let (mut arrived, mut awaited, mut gone) = (0, 0, 0);
        for cta in self.ctas[cluster.clone()].iter().filter(alive) {
            let arrivals = &cta.storage.asynchronous.arrivals;
            (arrived, gone) = (arrived + arrivals.count, gone + arrivals.gone);
            awaited += cta.live;
        }
        if arrived + gone == 0 || arrived < awaited {
            return;
        }
        self.stats.barriers += 1;
        for cta in &mut self.ctas[cluster] {
            cta.storage.asynchronous.arrivals.begin_phase();
        }
        self.release_warps(Event::Cluster);
    }

    /// Lanes of a warp of the current CTA have ended: the barrier may have waited only for them.
    pub(crate) fn end_in_cluster(&mut self, warp: usize, lanes: u32) {
        if !self.context.code.has_cluster_barriers {
            return;
        }
        self.ctas[self.slot].storage.asynchronous.arrivals.end(warp, lanes);
        self.complete_phase();
    }

    /// Returns the slot and the offset of an address in shared memory. `reach` says whether it may
    /// be that of another CTA of the cluster.
    pub(crate) fn home(&self, address: u64, reach: bool) -> Result<(usize, usize), Declined> {
        let at = address & 0xffff_ffff;
        if self.context.cluster_size == 1 {
            return Ok((self.slot, at as usize));
        }
        let (rank, at) = ((at / vm::CTA_WINDOW) as usize, (at % vm::CTA_WINDOW) as usize);
        let cluster = self.cluster_of(self.slot);
        let slot = cluster.start + rank;
        let may = slot == self.slot || reach;
        if may && cluster.contains(&slot) && self.ctas[slot].alive {
            Ok((slot, at))
        } else {
            Err(UNDEFINED)
        }
    }

    /// Returns the ranks of the CTAs of a multicast, all of which have to be there.
    pub(crate) fn ctas_of(&self, mask: u64) -> Result<Vec<usize>, Declined> {
        let (mask, cluster) = (mask & 0xffff, self.cluster_of(self.slot));
        if mask >> cluster.len() != 0 {
            return Err(UNDEFINED);
        }
        let ranks: Vec<usize> = (0..cluster.len()).filter(|rank| mask >> rank & 1 != 0).collect();
        let alive = ranks.iter().all(|rank| self.ctas[cluster.start + rank].alive);
        if alive { Ok(ranks) } else { Err(UNDEFINED) }
    }

    /// Completes bytes at a barrier, or at that at the same offset in each CTA of a multicast.
    pub(crate) fn complete_all(
        &mut self,
        barrier: Option<(usize, usize)>,
        targets: Option<&[usize]>,
        bytes: u64,
    ) -> Result<(), Declined> {
        let Some((slot, at)) = barrier else { return Ok(()) };
        let Some(ranks) = targets else { return self.complete_bytes((slot, at), bytes) };
        let first = self.cluster_of(self.slot).start;
        ranks.iter().try_for_each(|rank| self.complete_bytes((first + rank, at), bytes))
    }

    /// Executes asynchronous stores or reductions in the shared memory of the cluster, one for each
    /// lane that is on.
    pub(crate) fn async_stores(
        &mut self,
        warp: &Warp,
        op: &AsyncStore,
        on: u32,
    ) -> Result<(), Declined> {
        self.stats.memory_instructions += 1;
        self.progress = true;
        let (word, bytes) = (op.memory.word as usize, op.memory.bytes());
        for lane in lanes(on) {
            let thread = warp.first_thread as usize + lane;
            let at = warp.lane(op.memory.address, lane);
            let in_window = Space::of(Addr(warp.lane(op.barrier, lane))) == Space::Shared;
            if op.memory.space == Space::Generic && !in_window {
                return Err(UNDEFINED);
            }
            let barrier = self.barrier_place(warp, op.barrier, lane, true)?;
            let mut values = Vec::with_capacity(bytes as usize);
            for &src in &op.values {
                values.extend_from_slice(&warp.lane(src, lane).to_le_bytes()[..word]);
            }
            self.with_memory(|memory| -> Result<(), Declined> {
                let to = memory.place(&op.memory, at, (bytes, bytes), thread, true)?;
                if !matches!(to, Location::Shared(_) | Location::Cluster(..)) {
                    return Err(UNDEFINED);
                }
                let to = memory.bytes_mut(to, values.len());
                match op.combine {
                    Some(how) => crate::asynchronous::reduce_bytes(how, &values, to),
                    None => to.copy_from_slice(&values),
                }
                Ok(())
            })?;
            self.complete_bytes(barrier, bytes)?;
        }
        Ok(())
    }
}
