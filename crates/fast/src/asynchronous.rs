//! Asynchronous operations whose steps are all done where they stand, and what tells that they have
//! completed: barriers in shared memory, groups of products.
//!
//! That is the order of the exact engine where no other is asked for (`vm::Asynchrony`). A warp
//! that tries a phase which has not completed, or whose products other warps of its group have not
//! issued, is parked as at a barrier, and goes on when an operation completes what it waits for.
//! What the exact engine would fault at, and waits whose lanes may go on apart, decline the launch.

use crate::Declined;
use crate::cluster::Arrivals;
use crate::code::{AsyncOp, Asynchronous, Dst, Memory, Src};
use crate::counted_barriers::CountedBarrier;
use crate::cta::Cta;
use crate::machine::Machine;
use crate::memory::Location;
use crate::row::{LANES, lanes};
use crate::step::StepOutcome;
use crate::sync::BARRIERS;
use crate::warp::Warp;
use ir::Ty;
use ir::mods::{AtomOp, Bulk};
use simt::matrix::WARPS;
use simt::mbarrier::{Mbarrier, Misuse};
use simt::memory::AccessKind;
use simt::{GroupId, Pc};
use vm::{BulkOp, MbarrierKind, WARP_SIZE, WarpGroup};

pub(crate) const UNDEFINED: Declined =
    Declined::Running("an asynchronous operation is not defined");
const APART: Declined = Declined::Running("lanes of a warp wait for different phases");

/// A warp that waits.
#[derive(Clone, Debug)]
struct Waiter {
    /// Its number in the CTA, and its lanes.
    warp: usize,
    on: u32,
    wait: Wait,
}

#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// For the threads of a counted barrier.
    Threads(usize),
    /// For all threads of the cluster.
    Cluster,
    /// For a phase of the barrier at an offset in shared memory.
    Phase { at: usize, kind: MbarrierKind, operand: u64, dst: Dst, pc: u64 },
    /// Until at most so many groups of its products are unfinished.
    Products(u32),
}

/// What may end waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The threads of a counted barrier have come.
    Threads,
    /// The threads of the cluster have come.
    Cluster,
    /// The word of a barrier in shared memory has changed by an operation on it.
    Phase,
    /// Products have been issued.
    Products,
}

impl Wait {
    /// Returns whether an event may end the wait. The exact engine looks at no others then: a word
    /// that plain stores have changed ends a wait at the next operation on a barrier.
    fn is_for(&self, event: Event) -> bool {
        event
            == match self {
                Self::Threads(_) => Event::Threads,
                Self::Cluster => Event::Cluster,
                Self::Phase { .. } => Event::Phase,
                Self::Products(_) => Event::Products,
            }
    }
}

/// What the warps of a CTA wait for, and what its warp groups have issued.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsyncState {
    waiters: Vec<Waiter>,
    pub(crate) barriers: [CountedBarrier; BARRIERS],
    pub(crate) arrivals: Arrivals,
    groups: Vec<WarpGroup>,
}

impl AsyncState {
    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.waiters.clear();
        self.barriers = Default::default();
        self.arrivals.clear();
        self.groups.iter_mut().for_each(WarpGroup::clear);
    }

    /// Returns whether all warps have issued all products of their groups.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.groups.iter().all(WarpGroup::is_finished)
    }

    pub(crate) fn group(&mut self, index: usize) -> &mut WarpGroup {
        if self.groups.len() <= index {
            self.groups.resize_with(index + 1, WarpGroup::default);
        }
        &mut self.groups[index]
    }
}

impl Cta {
    /// The word of a barrier at a checked offset.
    fn barrier_word(&self, at: usize) -> u64 {
        self.storage
            .shared
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |b| u64::from_le_bytes(*b))
    }

    fn set_barrier_word(&mut self, at: usize, word: u64) {
        if let Some(bytes) = self.storage.shared.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = word.to_le_bytes();
        }
    }

    /// Returns whether the wait of a warp is over after an event.
    fn is_over(&self, waiter: &Waiter, event: Event) -> bool {
        let of = &self.storage.asynchronous;
        if !waiter.wait.is_for(event) {
            return false;
        }
        match waiter.wait {
            Wait::Threads(id) => of.barriers[id].is_open(),
            Wait::Cluster => of.arrivals.has_completed(waiter.warp, waiter.on),
            Wait::Phase { at, kind, operand, .. } => {
                let answer = vm::mbarrier_effect(kind, self.barrier_word(at), operand, 0);
                answer.is_ok_and(|(_, done)| done != 0)
            }
            Wait::Products(most) => {
                let group = of.groups.get(waiter.warp / WARPS);
                group.is_none_or(|group| group.is_done(waiter.warp, most))
            }
        }
    }
}

impl Machine<'_> {
    /// Executes an asynchronous operation, or one on what tells that it has completed.
    #[inline(never)]
    pub(crate) fn asynchronous(
        &mut self,
        warp: &mut Warp,
        op: &Asynchronous,
        pc: u64,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        self.screen_other()?;
        match &op.what {
            AsyncOp::Mbarrier(kind, memory) => {
                return self.mbarrier(warp, (*kind, memory, op), pc, on);
            }
            &AsyncOp::CountedBarrier { waits, plain } => {
                return self.counted_barrier(warp, op, (waits, plain), on);
            }
            AsyncOp::ClusterBarrier { waits } => return self.cluster_barrier(warp, *waits, on),
            AsyncOp::Store(store) => self.async_stores(warp, store, on)?,
            AsyncOp::WaitProducts(most) => return Ok(self.wait_products(warp, *most, on)),
            AsyncOp::Bulk(copy, accesses) => self.bulk_copies(warp, copy, accesses, on)?,
            AsyncOp::Tensor(copy, accesses) => self.tensor_copies(warp, copy, accesses, on)?,
            AsyncOp::WarpGroup(what) => self.warp_group(warp, what, op, pc, on)?,
        }
        Ok(StepOutcome::Next)
    }

    /// Executes an operation on barriers for the active lanes, each on the word that those below it
    /// left.
    fn mbarrier(
        &mut self,
        warp: &mut Warp,
        (kind, memory, op): (MbarrierKind, &Memory, &Asynchronous),
        pc: u64,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        self.stats.memory_instructions += 1;
        let access = match kind {
            MbarrierKind::Init { .. } | MbarrierKind::Inval => AccessKind::Store,
            MbarrierKind::Arrive(_) | MbarrierKind::Expect | MbarrierKind::Complete => {
                AccessKind::Atomic
            }
            _ => AccessKind::Load,
        };
        let operand = |lane: usize, i: usize| op.src.get(i).map_or(0, |&src| warp.lane(src, lane));
        let (mut results, mut places, mut changed) = ([0; LANES], [(0, 0); LANES], false);
        // Most operations of a warp are on one barrier, and its tests are alike.
        let one = warp.uniform(memory.address).is_some();
        let tests = matches!(kind, MbarrierKind::Test { .. } | MbarrierKind::Try { .. });
        let alike = one && tests && op.src.get(1).is_none_or(|&src| warp.uniform(src).is_some());
        let mut known = None;
        for lane in lanes(on) {
            let (slot, at) = match known {
                Some(place) if one => place,
                _ => self.shared_place(warp, memory, lane, 8)?,
            };
            known = Some((slot, at));
            let cta = &mut self.ctas[slot];
            let old = cta.barrier_word(at);
            let made = vm::mbarrier_effect(kind, old, operand(lane, 1), operand(lane, 2) as u32);
            let (word, result) = made.map_err(|_: Misuse| UNDEFINED)?;
            if let Some(word) = word {
                cta.set_barrier_word(at, word);
                changed |= word != old;
            }
            if alike {
                (results, places) = ([result; LANES], [(slot, at); LANES]);
                break;
            }
            (results[lane], places[lane]) = (result, (slot, at));
        }
        self.progress |= changed;
        if matches!(kind, MbarrierKind::Try { .. }) && lanes(on).all(|lane| results[lane] == 0) {
            let first = on.trailing_zeros() as usize % LANES;
            let ((slot, at), operand_of) = (places[first], operand(first, 1));
            let phase = |operand: u64| vm::awaited_phase(kind, operand);
            let differs =
                |l: usize| places[l] != places[first] || phase(operand(l, 1)) != phase(operand_of);
            if lanes(on).any(differs) {
                return Err(APART);
            }
            if slot != self.slot {
                return Err(Declined::Running("a warp waits for a barrier of another block"));
            }
            let dst = op.dst.first().copied().unwrap_or(Dst::None);
            let wait = Wait::Phase { at, kind, operand: operand_of, dst, pc };
            return Ok(self.begin_wait(warp, on, wait));
        }
        self.report_access(warp, memory, access, pc, on);
        if let Some(&dst) = op.dst.first() {
            warp.put_each(dst, on, |lane| results[lane]);
        }
        if access == AccessKind::Atomic {
            self.release_warps(Event::Phase);
        }
        Ok(StepOutcome::Next)
    }

    /// Returns the place in shared memory of a lane's access: the slot of a CTA, and an offset.
    fn shared_place(
        &mut self,
        warp: &Warp,
        memory: &Memory,
        lane: usize,
        bytes: u64,
    ) -> Result<(usize, usize), Declined> {
        let (thread, value) = (warp.first_thread as usize + lane, warp.lane(memory.address, lane));
        match self.with_memory(|m| m.place(memory, value, (bytes, bytes), thread, false))? {
            Location::Shared(at) => Ok((self.slot, at)),
            Location::Cluster(rank, at) => Ok((self.cluster_of(self.slot).start + rank, at)),
            _ => Err(UNDEFINED),
        }
    }

    pub(crate) fn begin_wait(&mut self, warp: &mut Warp, on: u32, wait: Wait) -> StepOutcome {
        let waiter = Waiter { warp: self.group, on, wait };
        self.ctas[self.slot].storage.asynchronous.waiters.push(waiter);
        warp.parked = true;
        StepOutcome::Park
    }

    /// Lets the warps of the cluster go on whose wait is over after an event. None of them is the
    /// running one.
    pub(crate) fn release_warps(&mut self, event: Event) {
        for slot in self.cluster_of(self.slot) {
            self.release_warps_of(slot, event);
        }
    }

    fn release_warps_of(&mut self, slot: usize, event: Event) {
        let cta = &mut self.ctas[slot];
        // Most operations end no wait.
        if !cta.storage.asynchronous.waiters.iter().any(|waiter| cta.is_over(waiter, event)) {
            return;
        }
        let waiters = std::mem::take(&mut cta.storage.asynchronous.waiters);
        let (over, rest): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|w| cta.is_over(w, event));
        cta.storage.asynchronous.waiters = rest;
        for Waiter { warp, on, wait } in over {
            let waiting = &mut self.ctas[slot].storage.warps[warp];
            waiting.parked = false;
            self.progress = true;
            self.released.push((slot, warp));
            if let Wait::Phase { at, dst, pc, .. } = wait {
                waiting.put_all(dst, 1, on);
                self.report_wait((slot, warp), (at, pc), on);
            }
        }
    }

    /// Reports the accesses of lanes whose wait for a phase is over.
    fn report_wait(&mut self, (slot, warp): (usize, usize), (at, pc): (usize, u64), on: u32) {
        if self.detail.is_none() {
            return;
        }
        let code = self.context.code;
        let holds = |b: &&crate::code::Block| !b.is_free && (b.first..=b.pc).contains(&pc);
        let step = code.blocks.iter().find(holds).and_then(|block| {
            code.steps.get(block.steps.start + (pc - block.first) as usize).map(|step| &step.kind)
        });
        let Some(crate::code::Kind::Asynchronous(op)) = step else { return };
        if let AsyncOp::Mbarrier(_, memory) = &op.what {
            let cta = self.ctas[slot].index;
            let first_thread = warp as u32 * WARP_SIZE;
            let group = GroupId { cta, group: warp as u32, first_thread };
            let at = simt::memory::SHARED_WINDOW.start + at as u64;
            self.report_lanes((memory, AccessKind::Load, Pc(pc)), group, (on, |_| at), 1);
        }
    }

    /// Completes bytes at a barrier in the shared memory of the CTA in a slot.
    pub(crate) fn complete_bytes(
        &mut self,
        (slot, at): (usize, usize),
        bytes: u64,
    ) -> Result<(), Declined> {
        let cta = &mut self.ctas[slot];
        let barrier = Mbarrier::load(cta.barrier_word(at)).map_err(|_| UNDEFINED)?;
        let barrier = barrier.complete(bytes as u32).map_err(|_| UNDEFINED)?;
        cta.set_barrier_word(at, barrier.word());
        self.release_warps(Event::Phase);
        Ok(())
    }

    /// Returns the slot and the offset of the barrier that an address names. `reach` says whether
    /// it may be in another CTA of the cluster.
    pub(crate) fn barrier_place(
        &self,
        warp: &Warp,
        barrier: Src,
        lane: usize,
        reach: bool,
    ) -> Result<(usize, usize), Declined> {
        let (slot, at) = self.home(warp.lane(barrier, lane), reach)?;
        let len = self.ctas[slot].storage.shared.len();
        let inside = at.checked_add(8).is_some_and(|end| end <= len);
        if inside { Ok((slot, at)) } else { Err(UNDEFINED) }
    }

    fn bulk_copies(
        &mut self,
        warp: &Warp,
        op: &BulkOp<Src>,
        [to, from]: &[Memory; 2],
        on: u32,
    ) -> Result<(), Declined> {
        self.stats.memory_instructions += 1;
        self.progress = true;
        for lane in lanes(on) {
            let get = |src: Src| warp.lane(src, lane);
            let bytes = get(op.bytes) & 0xffff_ffff;
            let target = get(op.to).wrapping_add_signed(op.offset);
            let [left, right] = op.trimmed.map_or([0; 2], |both| both.map(get));
            let (left, right) = (left & 0xffff_ffff, right & 0xffff_ffff);
            let whole = [bytes, target, get(op.from)].iter().all(|n| n.is_multiple_of(16));
            let mask = op.mask.map(get);
            if !whole || left > 15 || right > 15 {
                return Err(UNDEFINED);
            }
            // A write of some bytes of each 16 is left to the exact engine.
            if op.kind == Bulk::Store && mask.is_some() {
                return Err(Declined::Running("a bulk copy has a byte mask"));
            }
            let left = left.min(bytes);
            let copied = (bytes - left).saturating_sub(right);
            let reach = op.kind != Bulk::Store;
            let barrier = |at| self.barrier_place(warp, at, lane, reach);
            let barrier = op.barrier.map(barrier).transpose()?;
            let thread = warp.first_thread as usize + lane;
            let source = get(op.from).wrapping_add(left);
            let targets = match mask.filter(|_| op.multicast) {
                Some(mask) => Some(self.ctas_of(mask)?),
                None => None,
            };
            self.with_memory(|memory| -> Result<(), Declined> {
                let from = memory.place(from, source, (copied, 1), thread, false)?;
                memory.place(to, get(op.to), (bytes, 1), thread, true)?;
                if copied > 0 {
                    let at = get(op.to).wrapping_add(left);
                    let to = memory.place(to, at, (copied, 1), thread, true)?;
                    let own = targets.is_none().then_some(to);
                    let others = targets.iter().flatten().map(|&rank| memory.at_rank(to, rank));
                    for to in own.into_iter().chain(others.collect::<Vec<_>>()) {
                        memory.copy_or_reduce(from, to, copied as usize, op.combine);
                    }
                }
                Ok(())
            })?;
            self.complete_all(barrier, targets.as_deref(), bytes)?;
        }
        Ok(())
    }

    /// Waits until at most so many groups of the warp's products are unfinished.
    fn wait_products(&mut self, warp: &mut Warp, most: u32, on: u32) -> StepOutcome {
        let (group, number) = (self.group / WARPS, self.group % WARPS);
        if self.ctas[self.slot].storage.asynchronous.group(group).is_done(number, most) {
            return StepOutcome::Next;
        }
        self.begin_wait(warp, on, Wait::Products(most))
    }
}

/// Combines elements with those that are there.
pub(crate) fn reduce_bytes((op, ty): (AtomOp, Ty), from: &[u8], to: &mut [u8]) {
    let size = ty.bytes() as usize;
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(size)) {
        let value = vm::atomic_result(op, ty, word(to), &[word(from)]);
        to.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}
