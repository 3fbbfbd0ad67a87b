//! Calls from compiled code back into the interpreter.

use super::Code;
use super::seats::Table;
use crate::counts::{Counting, TOLD, TOLD_IN_PART};
use crate::frame::{Frame, NOWHERE, Near, SLOTS};
use crate::seat::Seat;
use fast::code::{End, Kind, Step};
use fast::{Declined, Until, Visit};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The state that calls back work on.
pub(super) struct Host<'h, 't, 'm> {
    pub(super) visit: &'h mut Visit<'t, 'm>,
    pub(super) code: &'h Code,
    pub(super) table: &'h mut Table,
    pub(super) nears: *mut [Near],
    pub(super) counting: Option<*mut Counting>,
    pub(super) lent: &'h mut Vec<usize>,
    pub(super) kept: &'h mut [bool],
    pub(super) end: Result<(), Declined>,
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Host<'_, '_, '_> {
    /// Makes the visit hold the running warp; returns its number.
    fn hold(&mut self, frame: &Frame) -> usize {
        let warp = (frame.seat as usize).wrapping_sub(frame.seats as usize) / size_of::<Seat>();
        self.visit.hold(warp);
        warp
    }
}

/// Updates the frame's absent and exited lanes and split depth, for counts.
pub(super) fn stand(host: &Host<'_, '_, '_>, frame: &mut Frame) {
    let (absent, exited) = host.visit.absent();
    frame.live = !(absent | exited);
    frame.counters.absent = absent.count_ones().into();
    frame.counters.exited = exited.count_ones().into();
    if let Some(top) = host.visit.top() {
        frame.counters.depth = top.depth.into();
        frame.counters.most_depth = frame.counters.most_depth.max(top.depth.into());
    }
}

/// Copies the stack of the held, running warp from the interpreter to its seat, if code can work on
/// it.
fn borrow_stack(host: &mut Host<'_, '_, '_>, frame: &mut Frame, warp: usize) {
    host.table.learn(host.code, host.visit, warp);
    let seat = &mut host.table.seats[warp];
    frame.foreign = seat.foreign.into();
    frame.top = seat.top;
    frame.bottom = seat.slots.as_mut_ptr();
    frame.last = frame.bottom.wrapping_add(SLOTS - 3);
}

/// Returns the stack of the held, running warp to the interpreter, if code has it. The block of the
/// top entry is passed separately.
fn give_stack_back(host: &mut Host<'_, '_, '_>, frame: &mut Frame, warp: usize) {
    if std::mem::replace(&mut frame.foreign, 1) != 0 {
        return;
    }
    let seat = &mut host.table.seats[warp];
    (seat.top, seat.resume, seat.waits) = (frame.top, NOWHERE, 0);
    host.table.tell(host.code, host.visit, warp);
}

/// Hands the frame's counts to the interpreter.
pub(super) fn flush(host: &mut Host<'_, '_, '_>, frame: &mut Frame) -> Result<(), Declined> {
    let mut tally = std::mem::take(&mut frame.tally);
    let since = tally.issues - std::mem::take(&mut frame.started);
    let warp = (frame.seat as usize).wrapping_sub(frame.seats as usize) / size_of::<Seat>();
    if let Some(seat) = host.table.seats.get(warp) {
        tally.absent += since * u64::from(seat.absent);
        tally.exited += since * u64::from(seat.exited);
    }
    host.visit.set_back_edges_left(frame.left.max(0) as u32);
    host.visit.count(&tally)
}

/// Runs a call back; `None` if the code has to return.
fn call<T>(
    frame: *mut Frame,
    f: impl FnOnce(&mut Host<'_, '_, '_>, &mut Frame) -> Result<Option<T>, Declined>,
) -> Option<T> {
    // SAFETY: code calls back with the frame that it was entered with. The runner keeps that frame
    // until the code has returned, and nothing else accesses it in the meantime.
    let frame = unsafe { &mut *frame };
    // SAFETY: the runner has stored a host there that lives until the code has returned, and calls
    // back do not nest.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_, '_>>() };
    match catch_unwind(AssertUnwindSafe(|| f(host, frame))) {
        Ok(Ok(value)) => value,
        Ok(Err(declined)) => {
            host.end = Err(declined);
            None
        }
        Err(panic) => {
            host.panic = Some(panic);
            None
        }
    }
}

/// Returns whether a warp may wait in a step.
fn waits(step: &Step) -> bool {
    matches!(step.kind, Kind::Barrier { .. })
}

/// Implements [`Frame::step`].
pub(super) extern "sysv64" fn step(frame: *mut Frame, step: u32, on: u32) -> u32 {
    let told = step & TOLD != 0 || step & TOLD_IN_PART != 0 && on != u32::MAX;
    let step = step & !(TOLD | TOLD_IN_PART);
    let stay = call(frame, |host, frame| {
        host.hold(frame);
        let block = host.code.block_of[step as usize];
        if waits(&host.visit.code().steps[step as usize]) {
            return barrier(host, frame, (block, step), on);
        }
        if told {
            host.visit.step_told(block, step as usize, on)?;
        } else if host.visit.step(block, step as usize, on)? {
            return Ok(None);
        }
        look_near(host, step, on);
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Executes a barrier that code leaves to the interpreter.
fn barrier(
    host: &mut Host<'_, '_, '_>,
    frame: &mut Frame,
    (block, step): (u32, u32),
    on: u32,
) -> Result<Option<()>, Declined> {
    let warp = host.hold(frame);
    // The interpreter reads the stack to record where the warp stands.
    give_stack_back(host, frame, warp);
    host.table.tell_meeting(host.visit);
    let parks = host.visit.step(block, step as usize, on)?;
    host.table.learn_meeting(host.code, host.visit);
    if !parks {
        borrow_stack(host, frame, warp);
    }
    Ok((!parks).then_some(()))
}

/// Records the region of global memory that a step has accessed.
fn look_near(host: &mut Host<'_, '_, '_>, step: u32, on: u32) {
    if let Ok(found) = host.code.nears.binary_search_by_key(&step, |n| n.0)
        && let Some(region) = host.visit.region(step as usize, on)
    {
        let near = host.code.nears[found].1;
        // SAFETY: the slice belongs to the runner, which is borrowed for the visit; otherwise only
        // the code accesses it.
        let nears = unsafe { &mut *host.nears };
        let now = Near { base: region.base, len: region.len, bytes: region.bytes };
        let last = std::mem::replace(&mut nears[near], now);
        match region.until {
            Until::Launch => {}
            Until::Settled => host.kept[near] = true,
            Until::Cta => host.lent.push(near),
        }
        if let Some(counting) = host.counting
            && last.base != region.base
        {
            // SAFETY: the counters belong to the runner, too.
            let counting = unsafe { &mut *counting };
            counting.leave(near, &last);
        }
    }
}

/// Implements [`Frame::drain`].
pub(super) extern "sysv64" fn drain(frame: *mut Frame, number: u32) {
    call(frame, |host, frame| {
        let Some(counting) = host.counting else { return Ok(Some(())) };
        // SAFETY: the counters belong to the runner, which is borrowed for the visit; otherwise
        // only the code accesses them.
        let notes = unsafe { &mut (*counting).notes };
        let (visit, code) = (&mut *host.visit, host.code);
        fast::wide(
            #[inline(always)]
            || {
                notes.drain(
                    number as usize,
                    #[inline(always)]
                    |logged| visit.announce(code.block_of[logged.step], logged),
                );
            },
        );
        // The patterns may have moved.
        frame.counters.noting = notes.noting();
        Ok(Some(()))
    });
}

/// Implements [`Frame::end`].
pub(super) extern "sysv64" fn end(frame: *mut Frame, block: u32) -> *const u8 {
    let next = call(frame, |host, frame| {
        let warp = host.hold(frame);
        let end = &host.visit.code().blocks[block as usize].end;
        if let End::Branch(..) = end {
            // The interpreter counts the branch again.
            frame.tally.branches -= 1;
        }
        let exits = matches!(end, End::Exit(..));
        flush(host, frame)?;
        give_stack_back(host, frame, warp);
        if exits {
            // Other warps may have waited only for these threads.
            host.table.tell_meeting(host.visit);
        }
        let ended = host.visit.end(block);
        frame.left = host.visit.back_edges_left() as i32;
        ended?;
        if exits {
            host.table.learn_meeting(host.code, host.visit);
        }
        borrow_stack(host, frame, warp);
        Ok(next(host, frame))
    });
    next.unwrap_or(std::ptr::null())
}

/// Implements [`Frame::go`].
pub(super) extern "sysv64" fn go(frame: *mut Frame, block: u32) -> *const u8 {
    let next = call(frame, |host, frame| {
        let warp = host.hold(frame);
        give_stack_back(host, frame, warp);
        host.visit.go(block);
        borrow_stack(host, frame, warp);
        Ok(next(host, frame))
    });
    next.unwrap_or(std::ptr::null())
}

/// Returns the code address to continue at; `None` if the turn is over.
fn next(host: &Host<'_, '_, '_>, frame: &mut Frame) -> Option<*const u8> {
    if frame.left <= 0 {
        return None;
    }
    let top = host.visit.top()?;
    frame.lanes = top.lanes;
    frame.rejoin = top.rejoin.unwrap_or(NOWHERE);
    stand(host, frame);
    Some(host.code.table[top.block as usize] as *const u8)
}
