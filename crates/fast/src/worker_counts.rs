//! Reports the counts and accesses that workers have gathered themselves in launches in detail.

use crate::code::{Block, Memory, Src, Step};
use crate::machine::Machine;
use crate::tier::{
    AccessLog, Addresses, CongruentAccesses, LoggedAccesses, StridedAccesses, WorkerCounts,
};
use crate::{StridedAccess, WarpAccesses};
use simt::Pc;
use simt::memory::{Addr, Space};
use simt::observe::{Access, AccessKind, GroupId};

const LANES: usize = vm::WARP_SIZE as usize;
/// Logged accesses that are offered to the observer at once.
const BATCH: usize = 32;

impl Machine<'_> {
    /// Collects the worker's counts, if the launch runs in detail.
    pub(crate) fn take_counts(&mut self) {
        if self.detail.is_some()
            && let Some(worker) = &mut self.worker
        {
            let counts = worker.counts();
            self.add_worker_counts(&counts);
        }
    }

    /// Adds a worker's counts to the launch's, and reports its accesses.
    fn add_worker_counts(&mut self, counts: &WorkerCounts) {
        let code = self.context.code;
        if let Some(detail) = &mut self.detail {
            detail.add_counts(code, counts);
        }
        let place = |step: usize| {
            let block = code.blocks.iter().find(|b: &&Block| b.steps.contains(&step))?;
            Some((block.first + (step - block.steps.start) as u64, &code.steps[step]))
        };
        for strided in &counts.strided {
            if let Some((pc, step)) = place(strided.step) {
                self.report_strided(pc, step, strided);
            }
        }
        for congruent in &counts.congruent {
            if let Some((pc, step)) = place(congruent.step) {
                self.report_congruent(pc, step, congruent);
            }
        }
        for logged in counts.logged.iter().map(AccessLog::accesses) {
            if let Some((pc, step)) = place(logged.step) {
                self.report_logged(pc, step, &logged);
            }
        }
    }

    /// Reports accesses of whole warps with affine addresses.
    pub(crate) fn report_strided(&mut self, pc: u64, step: &Step, strided: &StridedAccesses) {
        let Some((op, kind)) = step.access() else { return };
        let stride = if let Src::Line(_, stride, _) = op.address { stride } else { 0 };
        let at = op.space.window().map_or(strided.at, |w| w.start + u64::from(strided.at as u32));
        let space = Space::of(Addr(at));
        let at = if space.window().is_some() { at & 0xffff_ffff } else { at };
        let size = if kind == AccessKind::Atomic { op.word } else { op.bytes() as u32 };
        let (pc, times) = (Pc(pc), strided.times);
        let count = LANES as u16;
        let access = StridedAccess {
            pc,
            kind,
            space,
            size,
            first_thread: 0,
            lanes: count,
            at,
            stride,
            times,
        };
        let Some(sink) = self.observer.accesses() else { return };
        if sink.strided_access(&access) {
            return;
        }
        let here: [(u16, u64); LANES] =
            std::array::from_fn(|i| (i as u16, at.wrapping_add_signed(i as i64 * stride)));
        let (group, order, scope, lanes) = (GroupId::default(), op.order, op.scope, &here[..]);
        let values = &[][..];
        let owner = group.cta;
        let access = Access { group, pc, kind, space, owner, order, scope, size, lanes, values };
        sink.repeated_access(&access, times);
    }

    /// Reports congruent accesses with their number.
    #[inline(always)]
    pub(crate) fn report_congruent(&mut self, pc: u64, step: &Step, congruent: &CongruentAccesses) {
        let Some((op, kind)) = step.access() else { return };
        let what = (op, kind, Pc(pc));
        if !self.offer_warp(what, congruent.on, &mut congruent.at.clone(), congruent.times) {
            let address = |lane: usize| congruent.at[lane];
            self.report_lanes(what, GroupId::default(), (congruent.on, address), congruent.times);
        }
    }

    /// Reports logged accesses.
    #[inline(always)]
    pub(crate) fn report_logged(&mut self, pc: u64, step: &Step, logged: &LoggedAccesses<'_>) {
        let Some((op, kind)) = step.access() else { return };
        let offset = logged.offset;
        let mut low = [[0; LANES]; BATCH];
        for (n, on) in logged.on.chunks(BATCH).enumerate() {
            let at = logged.at.skip(n * BATCH);
            let mut page = Some(0);
            match at {
                Addresses::Narrow(at) => {
                    for (low, at) in low.iter_mut().zip(at) {
                        for lane in 0..LANES {
                            low[lane] = at[lane].wrapping_add(offset as u32);
                        }
                    }
                }
                Addresses::Wide(at) => page = split_halves(&mut low, on, at, offset),
            }
            let window = op.space.window().map(|window| window.start);
            let accepted = match window.or(page.map(|page| u64::from(page) << u32::BITS)) {
                Some(start) => {
                    let at = &low[..on.len()];
                    self.offer_warps((op, kind, Pc(pc)), Addr(start), on, at)
                }
                None => 0,
            };
            for (i, &on) in on.iter().enumerate().skip(accepted) {
                let at = match at {
                    Addresses::Narrow(at) => at[i].map(|at| at.wrapping_add(offset as u32).into()),
                    Addresses::Wide(at) => at[i].map(|at| at.wrapping_add_signed(offset)),
                };
                let congruent = CongruentAccesses { step: logged.step, on, at, times: 1 };
                self.report_congruent(pc, step, &congruent);
            }
        }
    }

    /// Offers accesses to the observer, in the space of the address `start`. Returns the length of
    /// the prefix that it has taken.
    #[inline(always)]
    fn offer_warps(
        &mut self,
        (op, kind, pc): (&Memory, AccessKind, Pc),
        start: Addr,
        on: &[u32],
        at: &[[u32; LANES]],
    ) -> usize {
        let space = Space::of(start);
        let page = if space.window().is_some() { 0 } else { (start.0 >> u32::BITS) as u32 };
        let size = if kind == AccessKind::Atomic { op.word } else { op.bytes() as u32 };
        let accesses = WarpAccesses { pc, kind, space, size, on, at, page };
        self.observer.accesses().map_or(on.len(), |sink| sink.warp_accesses(&accesses))
    }
}

/// Computes the low halves of addresses, and the high half if it is equal for all active lanes.
#[inline(always)]
fn split_halves(
    low: &mut [[u32; LANES]; BATCH],
    on: &[u32],
    at: &[[u64; LANES]],
    offset: i64,
) -> Option<u32> {
    let (&first_on, first) = (on.first()?, at.first()?);
    let lane = first_on.trailing_zeros() as usize % LANES;
    let page = first[lane].wrapping_add_signed(offset) >> u32::BITS;
    let mut others = [0_u64; LANES];
    for ((low, at), on) in low.iter_mut().zip(at).zip(on) {
        for lane in 0..LANES {
            let at = at[lane].wrapping_add_signed(offset);
            low[lane] = at as u32;
            others[lane] |=
                (at >> u32::BITS ^ page) & 0_u64.wrapping_sub(u64::from(on >> lane & 1));
        }
    }
    (others == [0; LANES]).then_some(page as u32)
}
