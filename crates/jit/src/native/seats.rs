//! The seats of a CTA's warps from its first visit to its last, and the exchange of their state
//! with the interpreter.

use super::Code;
use crate::emit::is_by_warp;
use crate::frame::NOWHERE;
use crate::seat::{Meeting, Seat};
use fast::code::Kind;
use fast::{Visit, Wait};
use vm::WARP_SIZE;

/// The seats of a CTA.
#[derive(Debug)]
pub(super) struct Table {
    /// The CTA's number in the grid.
    pub(super) cta: u64,
    pub(super) seats: Box<[Seat]>,
    pub(super) meeting: Meeting,
    /// Values of special registers: a list per warp of those that differ by warp, and one of those
    /// of the CTA.
    #[allow(dead_code, reason = "seats point into it")]
    sregs: Box<[u64]>,
    /// Rows of special registers that differ by lane, by warp.
    #[allow(dead_code, reason = "seats point into it")]
    sreg_rows: Box<[[u32; 32]]>,
    pub(super) cta_sregs: Box<[u64]>,
}

impl Table {
    /// Makes seats for CTAs with as many warps as the visited one.
    pub(super) fn new(code: &Code, visit: &Visit<'_, '_>) -> Self {
        let (warps, each) = (visit.warps(), code.sregs.len());
        let mut sregs = vec![0; warps * each].into_boxed_slice();
        for (warp, list) in sregs.chunks_exact_mut(each.max(1)).enumerate() {
            for (value, &step) in list.iter_mut().zip(&code.sregs) {
                *value = visit.sreg(step as usize, warp).unwrap_or(0);
            }
        }
        let row = |warp, step: &u32| visit.sreg_row(*step as usize, warp).unwrap_or([0; 32]);
        let sreg_rows: Box<[[u32; 32]]> =
            (0..warps).flat_map(|warp| code.sreg_rows.iter().map(move |s| row(warp, s))).collect();
        let mut seats = vec![Seat::EMPTY; warps].into_boxed_slice();
        for (warp, seat) in seats.iter_mut().enumerate() {
            seat.sregs = sregs.as_ptr().wrapping_add(warp * each);
            seat.sreg_rows = sreg_rows.as_ptr().wrapping_add(warp * code.sreg_rows.len());
            seat.local = (warp * WARP_SIZE as usize * visit.code().local_bytes) as u64;
        }
        let cta_sregs = vec![0; each].into_boxed_slice();
        Self { cta: u64::MAX, seats, meeting: Meeting::default(), sregs, sreg_rows, cta_sregs }
    }

    /// Places all warps of the visited CTA at the kernel's entry.
    pub(super) fn begin(&mut self, code: &Code, visit: &mut Visit<'_, '_>) {
        self.cta = visit.cta();
        // Code handles one order of a branch's sides; under the other one the interpreter has all
        // stacks.
        let start = if visit.taken_first() { code.starts.fresh } else { code.starts.before };
        let entry = visit.code().entry;
        for (warp, seat) in self.seats.iter_mut().enumerate() {
            let from = (start, code.table[entry as usize], entry);
            seat.begin(visit.rows(warp), visit.launched(warp), from);
            seat.foreign = u32::from(!visit.taken_first());
        }
        for (value, &step) in self.cta_sregs.iter_mut().zip(&code.sregs) {
            let by_warp = matches!(visit.code().steps[step as usize].kind, Kind::Sreg { reg, .. } if is_by_warp(reg));
            if !by_warp {
                *value = visit.sreg(step as usize, 0).unwrap_or(0);
            }
        }
        self.meeting = Meeting { live: visit.live(), plain: 1, ..Meeting::default() };
    }

    /// Copies the place of the held warp from its seat to the interpreter.
    pub(super) fn tell(&self, code: &Code, visit: &mut Visit<'_, '_>, warp: usize) {
        let seat = &self.seats[warp];
        if seat.foreign != 0 {
            return;
        }
        let resume = match code.resumes.get(seat.resume as usize) {
            Some(&step) => {
                let block = code.block_of[step as usize - 1];
                step as usize - visit.code().blocks[block as usize].steps.start
            }
            None => 0,
        };
        visit.stand(seat.stack(), resume, seat.waits != 0);
    }

    /// Copies the place of the held warp from the interpreter to its seat.
    pub(super) fn learn(&mut self, code: &Code, visit: &Visit<'_, '_>, warp: usize) {
        let seat = &mut self.seats[warp];
        let (absent, exited) = visit.absent();
        seat.lanes(absent, exited);
        seat.foreign = 0;
        seat.resume = NOWHERE;
        let Some(top) = visit.top() else {
            (seat.start, seat.top, seat.waits) = (0, std::ptr::null_mut(), 0);
            return;
        };
        if top.resume > 0 {
            let start = visit.code().blocks[top.block as usize].steps.start;
            let found = code.resumes.binary_search(&((start + top.resume) as u32));
            // Warps wait only at barriers.
            let found = found.unwrap_or_else(|_| unreachable!());
            (seat.resume, seat.at) = (found as u32, code.after[found]);
        } else {
            seat.at = code.table[top.block as usize];
        }
        let height = visit.stack(&mut seat.slots).filter(|_| visit.taken_first());
        // Code needs room for two more entries.
        match height.filter(|&h| h + 2 < seat.slots.len()) {
            Some(height) => seat.top = seat.slots.as_mut_ptr().wrapping_add(height - 1),
            None => seat.foreign = 1,
        }
        if visit.is_parked(warp) {
            // If it matters at which barrier the warp waits, `learn_meeting` has set it.
            seat.start = 0;
            if seat.waits == 0 {
                seat.waits = u32::MAX;
            }
        } else {
            seat.waits = 0;
            seat.start = if seat.foreign != 0 { code.starts.before } else { code.starts.again };
        }
    }

    /// Copies the state of barriers to the interpreter.
    pub(super) fn tell_meeting(&self, visit: &mut Visit<'_, '_>) {
        visit.set_live(self.meeting.live);
        if self.meeting.plain == 0 {
            return;
        }
        let wait = |(warp, seat): (usize, &Seat)| {
            let barrier = (seat.waits as usize).checked_sub(1)?;
            Some(Wait { warp, barrier, on: seat.on })
        };
        visit.set_barriers(&self.meeting.arrived, self.seats.iter().enumerate().filter_map(wait));
    }

    /// Copies the state of barriers from the interpreter.
    pub(super) fn learn_meeting(&mut self, code: &Code, visit: &Visit<'_, '_>) {
        self.meeting.live = visit.live();
        self.meeting.waiting = 0;
        for (warp, seat) in self.seats.iter_mut().enumerate() {
            if visit.is_parked(warp) {
                self.meeting.waiting += 1;
            } else if seat.waits != 0 {
                seat.waits = 0;
                seat.start = if seat.foreign != 0 { code.starts.before } else { code.starts.again };
            }
        }
        self.meeting.plain = 0;
        if let Some((arrived, waits)) = visit.barriers() {
            self.meeting.arrived = arrived;
            self.meeting.plain = 1;
            for wait in waits {
                let seat = &mut self.seats[wait.warp];
                (seat.waits, seat.on) = (wait.barrier as u32 + 1, wait.on);
            }
        }
    }
}
