//! A visit to a CTA: the held warp, the positions of warps, and the barriers at which they wait.
//!
//! A worker may keep the positions of warps itself, from one visit to the next. It must write them
//! back before the interpreter executes a step or end that uses them: exits and barriers use those
//! of all warps of the CTA, other steps and ends only that of their own warp.

use crate::Declined;
use crate::code::{Dst, Kind};
use crate::context::unrank;
use crate::machine::{Machine, vacant};
use crate::stack::Entry;
use crate::tier::{StackCharges, StackEntry, Visit, WarpRegisters, Worker};
use converge::mechanism::Charges;
use vm::{BACK_EDGES, WARP_SIZE};

impl<'m> Machine<'m> {
    /// Runs a turn of each warp of the CTA.
    pub(crate) fn visit(&mut self, mut worker: Box<dyn Worker + 'm>) -> Result<(), Declined> {
        let mut visit = Visit::new(self);
        let end = worker.visit(&mut visit);
        visit.release();
        self.worker = Some(worker);
        if !self.turn_ended {
            let last = self.ctas[self.slot].storage.warps.len().saturating_sub(1);
            self.turns = self.turns.wrapping_add(last as u32);
            self.group = last;
        }
        end
    }

    /// Has the worker pass on its counts.
    pub(crate) fn flush(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.flush(&mut Visit::new(self));
            self.worker = Some(worker);
        }
    }

    /// Has the worker write the positions of all warps back.
    pub(crate) fn write_back(&mut self) {
        let Some(mut worker) = self.worker.take() else { return };
        let slot = self.slot;
        for of in 0..self.ctas.len() {
            self.slot = of;
            if self.ctas[of].alive && !self.ctas[of].storage.warps.is_empty() {
                let mut visit = Visit::new(self);
                worker.write_back(&mut visit);
                visit.release();
            }
        }
        self.slot = slot;
        self.group = 0;
        self.worker = Some(worker);
    }
}

impl<'t, 'm> Visit<'t, 'm> {
    pub(crate) fn new(machine: &'t mut Machine<'m>) -> Self {
        Self { machine, warp: vacant(), held: None }
    }
}

impl Visit<'_, '_> {
    /// Returns the number of warps of the CTA.
    #[inline]
    #[must_use]
    pub fn warps(&self) -> usize {
        self.machine.ctas[self.machine.slot].storage.warps.len()
    }

    /// Returns the CTA's slot, less than the number of resident CTAs.
    #[inline]
    #[must_use]
    pub fn slot(&self) -> usize {
        self.machine.slot
    }

    /// Holds a warp. Functions without a warp number apply to the held one.
    #[inline]
    pub fn hold(&mut self, warp: usize) {
        if self.held == Some(warp) {
            return;
        }
        self.release();
        let machine = &mut *self.machine;
        let storage = &mut machine.ctas[machine.slot].storage;
        storage.has_positions = true;
        std::mem::swap(&mut storage.warps[warp], &mut self.warp);
        machine.group = warp;
        self.warp.reset_position(machine.context.code);
        self.held = Some(warp);
    }

    /// Returns the number of frames that the held warp keeps ([`crate::code::SaveFrame`]).
    #[inline]
    #[must_use]
    pub fn frames(&self) -> usize {
        self.warp.frames.len()
    }

    /// Goes on to the next CTA if the visited one has ended and the next one has not begun, which
    /// takes less than another visit. Returns `false` if the visit has to end.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    #[inline]
    pub fn next_cta(&mut self) -> Result<bool, Declined> {
        let turns = self.warps() as u32;
        let machine = &mut *self.machine;
        // The CTAs of clusters share memory and barriers, a screen judges each CTA's accesses, and
        // a commit asks the worker for its counts.
        let is_asked = machine.detail.is_some() && machine.commits.allowed;
        let is_alone = machine.context.cluster_size == 1 && !machine.screened && !is_asked;
        if !is_alone || machine.ctas[machine.slot].live != 0 || !machine.may_follow(turns) {
            return Ok(false);
        }
        self.release();
        let machine = &mut *self.machine;
        machine.turns = machine.turns.wrapping_add(turns);
        machine.group = turns as usize - 1;
        machine.end_turn()?;
        let next = &machine.ctas[machine.slot];
        let paused = machine.stats.slots.vector_issues >= machine.issue_limit;
        if paused || !next.alive || !next.storage.is_empty() {
            machine.turn_ended = true;
            return Ok(false);
        }
        machine.allocate_storage(machine.slot, false);
        Ok(true)
    }

    /// Goes on to the next CTA as [`Self::next_cta`] does, in the storage of the visited one, if no
    /// more is to be done. Returns `false`, having changed nothing, if it is.
    #[inline]
    pub fn follow_in_place(&mut self) -> bool {
        let turns = self.warps() as u32;
        let follows =
            self.held.is_none() && self.machine.may_follow(turns) && self.machine.follow_in_place();
        if follows {
            self.machine.turns = self.machine.turns.wrapping_add(turns);
        }
        follows
    }

    /// Returns how many CTAs a worker may begin by itself when the visited one has ended, one after
    /// the other in its storage, and tell of later ([`Self::follow_ahead`]). It has to clear their
    /// shared memory; they have no other memory, and read no register that nothing has written.
    #[must_use]
    pub fn ctas_ahead(&self) -> u64 {
        match self.held {
            None => self.machine.ctas_ahead(),
            Some(_) => 0,
        }
    }

    /// Returns how many rounds over the warps of CTAs there may be before the visit has to end.
    #[must_use]
    pub fn rounds_left(&self) -> u32 {
        self.machine.turns_left() / (self.warps() as u32).max(1)
    }

    /// Goes on to the last of some CTAs that the worker has begun. All before it have ended.
    pub fn follow_ahead(&mut self, count: u32) {
        self.machine.follow_ahead(count.into());
    }

    /// Returns the coordinates of a later CTA, so many behind the visited one.
    #[must_use]
    pub fn coordinates_ahead(&self, count: u64) -> [u32; 3] {
        let machine = &*self.machine;
        unrank(machine.ctas[machine.slot].index + count, machine.context.grid)
    }

    /// Takes note that the worker has begun so many rounds over the warps of CTAs by itself.
    pub fn count_rounds(&mut self, rounds: u32) {
        let turns = (self.warps() as u32).wrapping_mul(rounds);
        self.machine.turns = self.machine.turns.wrapping_add(turns);
        self.keep_counts(true);
    }

    pub(crate) fn release(&mut self) {
        if let Some(warp) = self.held.take() {
            let machine = &mut *self.machine;
            std::mem::swap(&mut machine.ctas[machine.slot].storage.warps[warp], &mut self.warp);
        }
    }

    /// Returns the number of the storage of the CTA's warps. [`Self::registers`] returns the same
    /// pointers for the same number.
    #[inline]
    #[must_use]
    pub fn storage(&self) -> u64 {
        self.machine.ctas[self.machine.slot].storage.number
    }

    /// Returns pointers to the state of a warp that is not held.
    #[inline]
    #[must_use]
    pub fn registers(&mut self, warp: usize) -> WarpRegisters {
        let warp = &mut self.machine.ctas[self.machine.slot].storage.warps[warp];
        WarpRegisters {
            narrow: warp.narrow.as_mut_ptr().cast(),
            wide: warp.wide.as_mut_ptr().cast(),
            preds: warp.preds.as_mut_ptr(),
            scalars: warp.scalars.as_mut_ptr(),
        }
    }

    /// Returns the lanes of a warp that were launched.
    #[inline]
    #[must_use]
    pub fn launched(&self, warp: usize) -> u32 {
        let threads = self.machine.context.threads - warp as u32 * WARP_SIZE;
        if threads >= WARP_SIZE { u32::MAX } else { (1 << threads) - 1 }
    }

    /// Returns the number of the CTA's threads that have not ended.
    #[inline]
    #[must_use]
    pub fn live(&self) -> u32 {
        self.machine.ctas[self.machine.slot].live
    }

    /// Sets the number of the CTA's threads that have not ended.
    #[inline]
    pub fn set_live(&mut self, live: u32) {
        self.machine.ctas[self.machine.slot].live = live;
    }

    /// Returns the value, in a warp, of a step that reads a special register into a scalar; `None`
    /// for any other step.
    #[inline]
    #[must_use]
    pub fn sreg(&self, step: usize, warp: usize) -> Option<u64> {
        match &self.machine.context.code.steps[step].kind {
            Kind::Sreg { reg, dst: Dst::Scalar(_), bits } => {
                let thread = warp as u32 * WARP_SIZE;
                Some(self.machine.scalar_sreg(thread, *reg, *bits))
            }
            _ => None,
        }
    }

    /// Returns the values, by lane of a warp, of a step that reads a special register into a row of
    /// 32-bit values; `None` for any other step.
    #[must_use]
    pub fn sreg_row(&self, step: usize, warp: usize) -> Option<[u32; WARP_SIZE as usize]> {
        match &self.machine.context.code.steps[step].kind {
            Kind::Sreg { reg, dst: Dst::Narrow(_), bits } => {
                let thread = warp as u32 * WARP_SIZE;
                let of = |lane| self.machine.scalar_sreg(thread + lane as u32, *reg, *bits) as u32;
                Some(std::array::from_fn(of))
            }
            _ => None,
        }
    }

    /// Returns the issues of the CTA that have been counted.
    #[must_use]
    pub fn issues(&self) -> u64 {
        self.machine.issues()
    }

    /// Sets the exited lanes of the held warp.
    pub fn set_exited(&mut self, exited: u32) {
        self.warp.exited = exited;
    }

    /// Returns the back-edges left in the turn of the held warp.
    #[inline]
    #[must_use]
    pub fn back_edges_left(&self) -> u32 {
        BACK_EDGES.saturating_sub(self.machine.back_edges)
    }

    /// Sets the back-edges left in the turn of the held warp.
    #[inline]
    pub fn set_back_edges_left(&mut self, left: u32) {
        self.machine.back_edges = BACK_EDGES.saturating_sub(left);
    }

    /// Replaces the stack of the held warp. `resume` steps of its block have been issued; `parked`
    /// says whether it waits at a barrier.
    #[inline]
    pub fn set_stack(&mut self, slots: &[StackEntry], resume: usize, parked: bool) {
        let entry = |slot: &StackEntry| {
            let rejoin = (slot.rejoin != StackEntry::NO_BLOCK).then_some(slot.rejoin);
            Entry::new(slot.block, rejoin, slot.lanes, slot.depth)
        };
        self.warp.stack.replace(slots.iter().map(entry));
        self.warp.resume = resume;
        self.warp.parked = parked;
    }

    /// Adds the charges of a worker's changes to stacks of the CTA's warps. They are the launch's,
    /// because only sums are reported.
    #[inline]
    pub fn charge(&mut self, charges: &StackCharges) {
        let machine = &mut *self.machine;
        machine.stats.charges.add(&Charges {
            splits: charges.split_branches + charges.split_returns,
            merges: charges.merges,
            pushes: charges.pushes,
            pops: charges.merges + charges.emptied,
            max_depth: charges.max_height,
            ..Charges::default()
        });
        if let Some(detail) = &mut machine.detail {
            detail.counts.branch_targets += charges.split_branches + charges.more_paths;
        }
        let paths = 2 * charges.split_branches + charges.more_paths;
        machine.stats.divergent_branches += charges.split_branches;
        machine.stats.divergent_paths += paths;
    }
}
