//! Visits to CTAs on one host thread: code runs the turns of all their warps as far as it can.

use super::calls::{Host, drain, end, flush, go, stand, step};
use super::seats::Table;
use super::{Code, Compiled};
use crate::counts::{Counters, Counting};
use crate::frame::{Frame, NOWHERE, Near, Together, stopped};
use crate::seat::Seat;
use fast::{Counts, Declined, Splits, Tally, Visit, Worker};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;
use vm::BACK_EDGES;

/// The worker of one host thread.
pub(super) struct Runner<'c> {
    compiled: &'c Compiled,
    nears: Box<[Near]>,
    frame: Box<Frame>,
    /// Seats of the resident CTAs, by slot.
    tables: Vec<Option<Table>>,
    spare: Vec<Table>,
    counting: Option<Box<Counting>>,
    /// The CTA of the last visit, and the entries of `nears` that are valid for that CTA alone.
    cta: u64,
    lent: Vec<usize>,
    /// By entry of `nears`, whether it is valid only until the next commit; and the number of
    /// commits so far.
    kept: Box<[bool]>,
    settled: u64,
}

impl<'c> Runner<'c> {
    pub(super) fn new(compiled: &'c Compiled) -> Self {
        let Compiled { kernel, code, detailed, .. } = compiled;
        let nears = vec![Near::NONE; code.nears.len()].into_boxed_slice();
        let steps = kernel.code().steps.len();
        let Code { places, stretches, notes, .. } = code;
        let counting = detailed.then(|| Box::new(Counting::new(places, stretches, notes, steps)));
        Self {
            compiled,
            nears,
            frame: Box::new(frame(code)),
            tables: Vec::new(),
            spare: Vec::new(),
            counting,
            cta: u64::MAX,
            lent: Vec::new(),
            kept: vec![false; code.nears.len()].into(),
            settled: 0,
        }
    }

    /// Returns the seats of the visited CTA.
    fn table(&mut self, visit: &mut Visit<'_, '_>) -> Table {
        let (slot, cta, code) = (visit.slot(), visit.cta(), &self.compiled.code);
        if self.tables.len() <= slot {
            self.tables.resize_with(slot + 1, || None);
        }
        if let Some(table) = self.tables[slot].take_if(|table| table.cta == cta) {
            return table;
        }
        let spare = self.tables[slot].take().or_else(|| self.spare.pop());
        let mut table = spare.unwrap_or_else(|| Table::new(code, visit));
        table.begin(code, visit);
        table
    }

    /// Invalidates the regions that were valid for the last CTA alone.
    fn leave_windows(&mut self) {
        for near in self.lent.drain(..) {
            let last = std::mem::replace(&mut self.nears[near], Near::NONE);
            if let Some(counting) = &mut self.counting {
                counting.leave(near, &last);
            }
        }
    }

    /// Prepares the frame for a visit.
    fn prepare(&mut self, visit: &mut Visit<'_, '_>, table: &mut Table) {
        let view = visit.view();
        let frame = &mut *self.frame;
        // Code does not check the length of the parameter block.
        assert!(view.params.1 == self.compiled.kernel.code().param_bytes, "other parameters");
        (frame.shared, frame.shared_len) = (view.shared.0, view.shared.1 as u64);
        (frame.params, frame.params_len) = (view.params.0, view.params.1 as u64);
        (frame.local, frame.local_len) = (view.local.0, view.local.1 as u64);
        frame.near = self.nears.as_mut_ptr();
        frame.counters = self.counting.as_mut().map_or(Counters::NONE, |c| c.counters());
        frame.started = 0;
        frame.seats = table.seats.as_mut_ptr();
        frame.seats_end = frame.seats.wrapping_add(table.seats.len());
        frame.seat = frame.seats.wrapping_sub(1);
        frame.meeting = &raw mut table.meeting;
        frame.cta_sregs = table.cta_sregs.as_ptr();
        frame.start = self.compiled.code.starts.first;
    }

    /// Runs a turn of each warp.
    fn run(&mut self, visit: &mut Visit<'_, '_>, table: &mut Table) -> Result<(), Declined> {
        self.prepare(visit, table);
        let code = &self.compiled.code;
        let seats = self.frame.seats;
        let nears = &raw mut *self.nears;
        let counting = self.counting.as_mut().map(|c| &raw mut **c);
        let (lent, kept) = (&mut self.lent, &mut self.kept);
        let end = Ok(());
        let mut host = Host { visit, code, table, nears, counting, lent, kept, end, panic: None };
        loop {
            let frame = &mut *self.frame;
            frame.host = (&raw mut host).cast();
            // SAFETY: the code at `enter` is a function of this type, made by `emit::stubs`, in
            // executable memory that `code` owns.
            let enter: extern "sysv64" fn(*mut Frame) =
                unsafe { std::mem::transmute(code.enter as *const u8) };
            enter(&raw mut *frame);
            if let Some(panic) = host.panic.take() {
                resume_unwind(panic);
            }
            std::mem::replace(&mut host.end, Ok(()))?;
            let warp = (frame.seat as usize).wrapping_sub(seats as usize) / size_of::<Seat>();
            match frame.stopped {
                stopped::DONE => break,
                stopped::BEFORE => {
                    host.visit.hold(warp);
                    alone(&mut host, frame);
                }
                _ => {
                    flush(&mut host, frame)?;
                    host.visit.hold(warp);
                    if frame.block != NOWHERE {
                        host.visit.go(frame.block);
                    }
                    host.table.learn(code, host.visit, warp);
                    frame.start = code.starts.first;
                }
            }
        }
        flush(&mut host, &mut self.frame)
    }
}

impl Worker for Runner<'_> {
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined> {
        // Code for another kernel would access memory out of bounds.
        assert!(ptr::eq(visit.code(), self.compiled.kernel.code()), "another kernel");
        // Code has counters if and only if it was compiled for launches in detail.
        assert!(visit.is_detailed() == self.counting.is_some(), "another kind of launch");
        if visit.cta() != self.cta {
            self.cta = visit.cta();
            self.leave_windows();
        }
        if visit.settled() != self.settled {
            self.settled = visit.settled();
            for (near, kept) in self.kept.iter_mut().enumerate() {
                if std::mem::take(kept) {
                    let last = std::mem::replace(&mut self.nears[near], Near::NONE);
                    if let Some(counting) = &mut self.counting {
                        counting.leave(near, &last);
                    }
                }
            }
        }
        let mut table = self.table(visit);
        let end = self.run(visit, &mut table);
        visit.set_live(table.meeting.live);
        let splits = std::mem::take(&mut self.frame.splits);
        if splits != Splits::default() {
            visit.charge(&splits);
        }
        if let Some(counting) = &mut self.counting {
            counting.take(&self.frame.counters);
        }
        if table.meeting.live == 0 {
            self.spare.push(table);
        } else {
            self.tables[visit.slot()] = Some(table);
        }
        end
    }

    fn settle(&mut self, visit: &mut Visit<'_, '_>) {
        let Some(Some(table)) = self.tables.get(visit.slot()) else { return };
        for warp in 0..table.seats.len() {
            visit.hold(warp);
            table.tell(&self.compiled.code, visit, warp);
        }
    }

    fn counts(&mut self) -> Counts {
        self.counting.as_mut().map_or_else(Counts::default, |c| c.finish(&self.nears))
    }
}

/// Prepares the frame for the turn of the held warp, whose stack the interpreter has.
fn alone(host: &mut Host<'_, '_, '_>, frame: &mut Frame) {
    let Some(top) = host.visit.top() else { return };
    frame.lanes = top.lanes;
    frame.rejoin = top.rejoin.unwrap_or(NOWHERE);
    frame.left = BACK_EDGES as i32;
    frame.foreign = 1;
    stand(host, frame);
    frame.start = host.code.starts.alone;
}

/// Returns a frame with everything set that is the same in all visits.
fn frame(code: &Code) -> Frame {
    Frame {
        lanes: 0,
        rejoin: NOWHERE,
        block: NOWHERE,
        live: 0,
        left: 0,
        stopped: stopped::DONE,
        constants: code.constants.as_ptr().cast(),
        shared: ptr::null_mut(),
        shared_len: 0,
        params: ptr::null(),
        params_len: 0,
        local: ptr::null_mut(),
        local_len: 0,
        near: ptr::null_mut(),
        tally: Tally::default(),
        started: 0,
        bottom: ptr::null_mut(),
        top: ptr::null_mut(),
        last: ptr::null_mut(),
        foreign: 1,
        splits: Splits::default(),
        together: [Together::default(); Together::COUNT],
        counters: Counters::NONE,
        seat: ptr::null_mut(),
        seats: ptr::null_mut(),
        seats_end: ptr::null_mut(),
        meeting: ptr::null_mut(),
        table: code.table.as_ptr(),
        resumes: code.after.as_ptr(),
        again: code.starts.again,
        sregs: ptr::null(),
        cta_sregs: ptr::null(),
        start: code.starts.first,
        step,
        drain,
        on: 0,
        end,
        go,
        host: ptr::null_mut(),
        lane_room: MaybeUninit::uninit(),
    }
}
