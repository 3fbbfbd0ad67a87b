//! The contexts of a CTA's warps from its first visit to its last, and the exchange of their state
//! with the interpreter.

use super::Code;
use crate::machine_code::KeptAt;
use crate::pool::PoolRow;
use crate::warp_context::{BarrierState, WarpContext};
use fast::Visit;
use fast::code::Kind;
use vector::Home;
use vector::translate::is_by_warp;
use vm::WARP_SIZE;

/// The contexts of a CTA.
#[derive(Debug)]
pub(super) struct CtaContexts {
    /// The CTA's number in the grid.
    pub(super) cta: u64,
    /// The storage that the warps' rows belong to.
    storage: u64,
    pub(super) warps: Box<[WarpContext]>,
    pub(super) barriers: BarrierState,
    /// Values of special registers: a list per warp of those that differ by warp, and one of those
    /// of the CTA.
    sregs: Box<[u64]>,
    /// Rows of special registers that differ by lane, by warp.
    sreg_rows: Box<[[u32; 32]]>,
    pub(super) cta_sregs: Box<[u64]>,
    /// Memory that code keeps for the warps.
    seats: Box<[PoolRow]>,
}

// SAFETY: pointers to what the contexts own move with it, and `begin` sets those to the storage of
// a CTA anew before code follows them.
unsafe impl Send for CtaContexts {}

impl CtaContexts {
    /// Makes contexts for CTAs with as many warps as the visited one.
    pub(super) fn new(code: &Code, visit: &Visit<'_, '_>) -> Self {
        let (count, each) = (visit.warps(), code.facts.sregs.len());
        let sregs = vec![0; count * each].into_boxed_slice();
        let rows = code.facts.sreg_rows.len();
        let sreg_rows = vec![[0; 32]; count * rows].into_boxed_slice();
        let mut warps = vec![WarpContext::EMPTY; count].into_boxed_slice();
        let seat = code.facts.seat_bytes.div_ceil(size_of::<PoolRow>());
        let mut seats = vec![PoolRow([0; 8]); count * seat].into_boxed_slice();
        for (warp, context) in warps.iter_mut().enumerate() {
            context.sregs = sregs.as_ptr().wrapping_add(warp * each);
            context.sreg_rows = sreg_rows.as_ptr().wrapping_add(warp * rows);
            context.seat = seats.as_mut_ptr().wrapping_add(warp * seat).cast();
            context.local = (warp * WARP_SIZE as usize * visit.code().local_bytes) as u64;
        }
        let cta_sregs = vec![0; each].into_boxed_slice();
        let mut contexts = Self {
            cta: u64::MAX,
            storage: 0,
            warps,
            barriers: BarrierState::default(),
            sregs,
            sreg_rows,
            cta_sregs,
            seats,
        };
        contexts.set_sregs(code, visit);
        contexts
    }

    /// Makes contexts of an earlier launch fit the launch of the visited CTA; returns whether that
    /// is possible.
    pub(super) fn fit(&mut self, code: &Code, visit: &Visit<'_, '_>) -> bool {
        let fits = self.warps.len() == visit.warps();
        if fits {
            (self.cta, self.storage) = (u64::MAX, 0);
            self.set_sregs(code, visit);
        }
        fits
    }

    /// Returns the bytes of host memory that the contexts take, about.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.warps) + size_of_val(&*self.sreg_rows) + size_of_val(&*self.seats)
    }

    /// Sets the values of special registers that are the same in all CTAs.
    fn set_sregs(&mut self, code: &Code, visit: &Visit<'_, '_>) {
        let facts = &code.facts;
        for (warp, list) in self.sregs.chunks_exact_mut(facts.sregs.len().max(1)).enumerate() {
            for (value, &step) in list.iter_mut().zip(&facts.sregs) {
                *value = visit.sreg(step as usize, warp).unwrap_or(0);
            }
        }
        for (warp, rows) in
            self.sreg_rows.chunks_exact_mut(facts.sreg_rows.len().max(1)).enumerate()
        {
            for (row, &step) in rows.iter_mut().zip(&facts.sreg_rows) {
                *row = visit.sreg_row(step as usize, warp).unwrap_or([0; 32]);
            }
        }
    }

    /// Places all warps of the visited CTA at the kernel's entry.
    pub(super) fn begin(&mut self, code: &Code, visit: &mut Visit<'_, '_>) {
        self.cta = visit.cta();
        let entry = visit.code().entry;
        // The CTAs of a slot mostly follow each other in the same storage.
        let storage = visit.storage();
        if std::mem::replace(&mut self.storage, storage) != storage {
            for (warp, context) in self.warps.iter_mut().enumerate() {
                context.set_rows(visit.registers(warp));
            }
        }
        for (warp, context) in self.warps.iter_mut().enumerate() {
            context.begin(visit.launched(warp), code.starts.fresh, entry);
        }
        for (value, &step) in self.cta_sregs.iter_mut().zip(&code.facts.sregs) {
            let kind = &visit.code().steps[step as usize].kind;
            let by_warp = matches!(*kind, Kind::Sreg { reg, .. } if is_by_warp(reg));
            if !by_warp {
                *value = visit.sreg(step as usize, 0).unwrap_or(0);
            }
        }
        // The host sees to all exits where the barrier of the cluster may wait for them.
        let waiting = u32::from(visit.code().has_cluster_barriers);
        self.barriers = BarrierState { live: visit.live(), waiting, ..BarrierState::default() };
    }

    /// Ends lanes of a warp; `lanes_not_live` are those that were never launched and those that
    /// have exited.
    pub(super) fn end_lanes(&mut self, warp: usize, lanes_not_live: (u32, u32), lanes: u32) {
        let context = &mut self.warps[warp];
        context.set_live(lanes_not_live.0, lanes_not_live.1);
        if context.live == 0 {
            (context.start, context.top) = (0, std::ptr::null_mut());
        }
        self.barriers.live -= lanes.count_ones();
    }

    /// Completes a barrier if all threads that have not ended wait there; returns whether it has.
    pub(super) fn complete(&mut self, code: &Code, id: usize) -> bool {
        let arrived = &mut self.barriers.arrived[id];
        if *arrived == 0 || *arrived < self.barriers.live {
            return false;
        }
        let lanes = std::mem::take(arrived);
        let holding = std::mem::take(&mut self.barriers.holding[id]);
        for context in self.warps.iter_mut().filter(|c| c.waits == id as u32 + 1) {
            (context.waits, context.start) = (0, code.starts.again);
            (context.barrier_lanes, context.barrier_holding) = (lanes, holding);
            self.barriers.waiting -= 1;
        }
        true
    }

    /// Returns whether all lanes live of each warp that has not ended.
    pub(super) fn are_warps_whole(&self) -> bool {
        let lanes = self.warps.len() * WARP_SIZE as usize;
        let is_whole = |c: &WarpContext| c.not_live == 0 || c.top.is_null();
        self.barriers.live as usize == lanes || self.warps.iter().all(is_whole)
    }

    /// Copies the place of the held warp from its context to the interpreter.
    pub(super) fn store_position(&self, code: &Code, visit: &mut Visit<'_, '_>, warp: usize) {
        let context = &self.warps[warp];
        let point = code.facts.resume_points.get(context.resume as usize);
        let resume = match point.and_then(|point| point.after) {
            Some(step) => {
                let block = code.facts.block_of[step as usize];
                step as usize + 1 - visit.code().blocks[block as usize].steps.start
            }
            None => 0,
        };
        visit.set_stack(context.stack(), resume, context.waits != 0);
    }

    /// Writes the values of a warp back that the interpreter may ask for.
    pub(super) fn store_values(&mut self, code: &Code, warp: usize) {
        let context = &self.warps[warp];
        if context.top.is_null() {
            return;
        }
        let Some(point) = code.facts.resume_points.get(context.resume as usize) else { return };
        let word = |at: i64, index: usize| -> u64 {
            assert!(at >= 0 && at as usize + 8 * (index + 1) <= code.facts.seat_bytes);
            // SAFETY: the seat has as many bytes as the code was compiled for, and is aligned.
            unsafe { context.seat.add(at as usize).cast::<u64>().add(index).read_unaligned() }
        };
        for (home, at) in &point.kept {
            // SAFETY: the interpreter has made rows for the same kernel, whose numbers `check` has
            // verified, and nothing else accesses them now.
            unsafe {
                match (*home, at) {
                    (Home::Scalar(i), KeptAt::Const(bits)) => {
                        context.scalars.add(i as usize).write(*bits);
                    }
                    (Home::Scalar(i), KeptAt::Seat(at)) => {
                        context.scalars.add(i as usize).write(word(at[0], 0));
                    }
                    (Home::Pred(i), KeptAt::Const(bits)) => {
                        context.preds.add(i as usize).write(*bits as u32);
                    }
                    (Home::Pred(i), KeptAt::Seat(at)) => {
                        let mask = match **at {
                            [low, high] => {
                                word(low, 0) as u32 & 0xffff | (word(high, 0) as u32) << 16
                            }
                            _ => word(at[0], 0) as u32,
                        };
                        context.preds.add(i as usize).write(mask);
                    }
                    (Home::Narrow(i), KeptAt::Const(bits)) => {
                        let row = context.narrow.add(32 * i as usize);
                        (0..32).for_each(|lane| row.add(lane).write(*bits as u32));
                    }
                    (Home::Narrow(i), KeptAt::Seat(at)) => {
                        let row = context.narrow.add(32 * i as usize).cast::<u64>();
                        let part = 16 / at.len();
                        (0..16).for_each(|w| row.add(w).write(word(at[w / part], w % part)));
                    }
                    (Home::Wide(i), KeptAt::Const(bits)) => {
                        let row = context.wide.add(32 * i as usize);
                        (0..32).for_each(|lane| row.add(lane).write(*bits));
                    }
                    (Home::Wide(i), KeptAt::Seat(at)) => {
                        let row = context.wide.add(32 * i as usize);
                        let part = 32 / at.len();
                        (0..32).for_each(|w| row.add(w).write(word(at[w / part], w % part)));
                    }
                }
            }
        }
    }
}
