//! The contexts of a CTA's warps from its first visit to its last, and the exchange of their state
//! with the interpreter.

use super::Code;
use crate::emit::is_by_warp;
use crate::frame::NO_BLOCK;
use crate::warp_context::{BarrierState, WarpContext};
use fast::code::Kind;
use fast::{BarrierWait, Visit};
use vm::WARP_SIZE;

/// The contexts of a CTA.
#[derive(Debug)]
pub(super) struct CtaContexts {
    /// The CTA's number in the grid.
    pub(super) cta: u64,
    pub(super) warps: Box<[WarpContext]>,
    pub(super) barriers: BarrierState,
    /// Values of special registers: a list per warp of those that differ by warp, and one of those
    /// of the CTA.
    #[allow(dead_code, reason = "contexts point into it")]
    sregs: Box<[u64]>,
    /// Rows of special registers that differ by lane, by warp.
    #[allow(dead_code, reason = "contexts point into it")]
    sreg_rows: Box<[[u32; 32]]>,
    pub(super) cta_sregs: Box<[u64]>,
}

impl CtaContexts {
    /// Makes contexts for CTAs with as many warps as the visited one.
    pub(super) fn new(code: &Code, visit: &Visit<'_, '_>) -> Self {
        let (count, each) = (visit.warps(), code.sregs.len());
        let mut sregs = vec![0; count * each].into_boxed_slice();
        for (warp, list) in sregs.chunks_exact_mut(each.max(1)).enumerate() {
            for (value, &step) in list.iter_mut().zip(&code.sregs) {
                *value = visit.sreg(step as usize, warp).unwrap_or(0);
            }
        }
        let row = |warp, step: &u32| visit.sreg_row(*step as usize, warp).unwrap_or([0; 32]);
        let sreg_rows: Box<[[u32; 32]]> =
            (0..count).flat_map(|warp| code.sreg_rows.iter().map(move |s| row(warp, s))).collect();
        let mut warps = vec![WarpContext::EMPTY; count].into_boxed_slice();
        for (warp, context) in warps.iter_mut().enumerate() {
            context.sregs = sregs.as_ptr().wrapping_add(warp * each);
            context.sreg_rows = sreg_rows.as_ptr().wrapping_add(warp * code.sreg_rows.len());
            context.local = (warp * WARP_SIZE as usize * visit.code().local_bytes) as u64;
        }
        let cta_sregs = vec![0; each].into_boxed_slice();
        Self {
            cta: u64::MAX,
            warps,
            barriers: BarrierState::default(),
            sregs,
            sreg_rows,
            cta_sregs,
        }
    }

    /// Places all warps of the visited CTA at the kernel's entry.
    pub(super) fn begin(&mut self, code: &Code, visit: &mut Visit<'_, '_>) {
        self.cta = visit.cta();
        // Code handles one order of a branch's sides; under the other one the interpreter has all
        // stacks.
        let start = if visit.taken_first() { code.starts.fresh } else { code.starts.before };
        let entry = visit.code().entry;
        for (warp, context) in self.warps.iter_mut().enumerate() {
            let from = (start, code.block_addresses[entry as usize], entry);
            context.begin(visit.registers(warp), visit.launched(warp), from);
            context.interpreter_owned = u32::from(!visit.taken_first());
        }
        for (value, &step) in self.cta_sregs.iter_mut().zip(&code.sregs) {
            let kind = &visit.code().steps[step as usize].kind;
            let by_warp = matches!(*kind, Kind::Sreg { reg, .. } if is_by_warp(reg));
            if !by_warp {
                *value = visit.sreg(step as usize, 0).unwrap_or(0);
            }
        }
        self.barriers = BarrierState { live: visit.live(), plain: 1, ..BarrierState::default() };
    }

    /// Copies the place of the held warp from its context to the interpreter.
    pub(super) fn store_position(&self, code: &Code, visit: &mut Visit<'_, '_>, warp: usize) {
        let context = &self.warps[warp];
        if context.interpreter_owned != 0 {
            return;
        }
        let resume = match code.resume_steps.get(context.resume as usize) {
            Some(&step) => {
                let block = code.block_of[step as usize - 1];
                step as usize - visit.code().blocks[block as usize].steps.start
            }
            None => 0,
        };
        visit.set_stack(context.stack(), resume, context.waits != 0);
    }

    /// Copies the place of the held warp from the interpreter to its context.
    pub(super) fn load_position(&mut self, code: &Code, visit: &Visit<'_, '_>, warp: usize) {
        let context = &mut self.warps[warp];
        let (never_launched, exited) = visit.lanes_not_live();
        context.set_live(never_launched, exited);
        context.interpreter_owned = 0;
        context.resume = NO_BLOCK;
        let Some(top) = visit.top() else {
            (context.start, context.top, context.waits) = (0, std::ptr::null_mut(), 0);
            return;
        };
        if top.resume > 0 {
            let start = visit.code().blocks[top.block as usize].steps.start;
            let found = code.resume_steps.binary_search(&((start + top.resume) as u32));
            // Warps wait only at barriers.
            let found = found.unwrap_or_else(|_| unreachable!());
            (context.resume, context.at) = (found as u32, code.resume_addresses[found]);
        } else {
            context.at = code.block_addresses[top.block as usize];
        }
        let height = visit.stack(&mut context.entries).filter(|_| visit.taken_first());
        // Code needs room for two more entries.
        match height.filter(|&h| h + 2 < context.entries.len()) {
            Some(height) => context.top = context.entries.as_mut_ptr().wrapping_add(height - 1),
            None => context.interpreter_owned = 1,
        }
        if visit.is_parked(warp) {
            // If it matters at which barrier the warp waits, `load_barriers` has set it.
            context.start = 0;
            if context.waits == 0 {
                context.waits = u32::MAX;
            }
        } else {
            context.waits = 0;
            context.start =
                if context.interpreter_owned != 0 { code.starts.before } else { code.starts.again };
        }
    }

    /// Copies the state of barriers to the interpreter.
    pub(super) fn store_barriers(&self, visit: &mut Visit<'_, '_>) {
        visit.set_live(self.barriers.live);
        if self.barriers.plain == 0 {
            return;
        }
        let wait = |(warp, context): (usize, &WarpContext)| {
            let barrier = (context.waits as usize).checked_sub(1)?;
            Some(BarrierWait { warp, barrier, on: context.on })
        };
        visit.set_barriers(&self.barriers.arrived, self.warps.iter().enumerate().filter_map(wait));
    }

    /// Copies the state of barriers from the interpreter.
    pub(super) fn load_barriers(&mut self, code: &Code, visit: &Visit<'_, '_>) {
        self.barriers.live = visit.live();
        self.barriers.waiting = 0;
        for (warp, context) in self.warps.iter_mut().enumerate() {
            if visit.is_parked(warp) {
                self.barriers.waiting += 1;
            } else if context.waits != 0 {
                context.waits = 0;
                context.start = if context.interpreter_owned != 0 {
                    code.starts.before
                } else {
                    code.starts.again
                };
            }
        }
        self.barriers.plain = 0;
        if let Some((arrived, waits)) = visit.barriers() {
            self.barriers.arrived = arrived;
            self.barriers.plain = 1;
            for wait in waits {
                let context = &mut self.warps[wait.warp];
                (context.waits, context.on) = (wait.barrier as u32 + 1, wait.on);
            }
        }
    }
}
