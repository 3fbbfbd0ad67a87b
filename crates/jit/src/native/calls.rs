//! Calls from compiled code back into the interpreter.

use super::Code;
use super::warp_contexts::CtaContexts;
use crate::counters::{COUNTED, PARTLY_COUNTED, WorkerCounters};
use crate::frame::{Frame, NO_BLOCK, RegionCache, STACK_CAPACITY};
use crate::warp_context::WarpContext;
use fast::code::{End, Kind, Step};
use fast::{Declined, Until, Visit};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The state that calls back work on.
pub(super) struct Host<'h, 't, 'm> {
    pub(super) visit: &'h mut Visit<'t, 'm>,
    pub(super) code: &'h Code,
    pub(super) contexts: &'h mut CtaContexts,
    pub(super) regions: *mut [RegionCache],
    pub(super) worker_counters: Option<*mut WorkerCounters>,
    pub(super) cta_windows: &'h mut Vec<usize>,
    pub(super) until_commit: &'h mut [bool],
    pub(super) end: Result<(), Declined>,
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Host<'_, '_, '_> {
    /// Makes the visit hold the running warp; returns its number.
    fn hold(&mut self, frame: &Frame) -> usize {
        let warp =
            (frame.warp as usize).wrapping_sub(frame.warps as usize) / size_of::<WarpContext>();
        self.visit.hold(warp);
        warp
    }
}

/// Updates the frame's absent and exited lanes and split depth, for counts.
pub(super) fn update_live_lanes(host: &Host<'_, '_, '_>, frame: &mut Frame) {
    let (never_launched, exited) = host.visit.lanes_not_live();
    frame.live = !(never_launched | exited);
    frame.counters.never_launched = never_launched.count_ones().into();
    frame.counters.exited = exited.count_ones().into();
    if let Some(top) = host.visit.top() {
        frame.counters.depth = top.depth.into();
        frame.counters.max_depth = frame.counters.max_depth.max(top.depth.into());
    }
}

/// Copies the stack of the held, running warp from the interpreter to its context, if code can work
/// on it.
fn load_stack(host: &mut Host<'_, '_, '_>, frame: &mut Frame, warp: usize) {
    host.contexts.load_position(host.code, host.visit, warp);
    let context = &mut host.contexts.warps[warp];
    frame.interpreter_owned = context.interpreter_owned.into();
    frame.top = context.top;
    frame.bottom = context.entries.as_mut_ptr();
    frame.last = frame.bottom.wrapping_add(STACK_CAPACITY - 3);
}

/// Returns the stack of the held, running warp to the interpreter, if code has it. The block of the
/// top entry is passed separately.
fn store_stack(host: &mut Host<'_, '_, '_>, frame: &mut Frame, warp: usize) {
    if std::mem::replace(&mut frame.interpreter_owned, 1) != 0 {
        return;
    }
    let context = &mut host.contexts.warps[warp];
    (context.top, context.resume, context.waits) = (frame.top, NO_BLOCK, 0);
    host.contexts.store_position(host.code, host.visit, warp);
}

/// Hands the frame's counts to the interpreter.
pub(super) fn flush(host: &mut Host<'_, '_, '_>, frame: &mut Frame) -> Result<(), Declined> {
    let mut tally = std::mem::take(&mut frame.tally);
    let since = tally.issues - std::mem::take(&mut frame.started);
    let warp = (frame.warp as usize).wrapping_sub(frame.warps as usize) / size_of::<WarpContext>();
    if let Some(context) = host.contexts.warps.get(warp) {
        tally.never_launched += since * u64::from(context.never_launched);
        tally.exited += since * u64::from(context.exited);
    }
    host.visit.set_back_edges_left(frame.back_edges_left.max(0) as u32);
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
fn may_wait(step: &Step) -> bool {
    matches!(step.kind, Kind::Barrier { .. })
}

/// Implements [`Frame::step`].
pub(super) extern "sysv64" fn step(frame: *mut Frame, step: u32, on: u32) -> u32 {
    let counted = step & COUNTED != 0 || step & PARTLY_COUNTED != 0 && on != u32::MAX;
    let step = step & !(COUNTED | PARTLY_COUNTED);
    let stay = call(frame, |host, frame| {
        host.hold(frame);
        let block = host.code.block_of[step as usize];
        if may_wait(&host.visit.code().steps[step as usize]) {
            return barrier(host, frame, (block, step), on);
        }
        if counted {
            host.visit.step_already_counted(block, step as usize, on)?;
        } else if host.visit.step(block, step as usize, on)? {
            return Ok(None);
        }
        cache_region(host, step, on);
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
    store_stack(host, frame, warp);
    host.contexts.store_barriers(host.visit);
    let parks = host.visit.step(block, step as usize, on)?;
    host.contexts.load_barriers(host.code, host.visit);
    if !parks {
        load_stack(host, frame, warp);
    }
    Ok((!parks).then_some(()))
}

/// Records the region of global memory that a step has accessed.
fn cache_region(host: &mut Host<'_, '_, '_>, step: u32, on: u32) {
    if let Ok(found) = host.code.region_steps.binary_search_by_key(&step, |n| n.0)
        && let Some(region) = host.visit.region(step as usize, on)
    {
        let entry = host.code.region_steps[found].1;
        // SAFETY: the slice belongs to the runner, which is borrowed for the visit; otherwise only
        // the code accesses it.
        let regions = unsafe { &mut *host.regions };
        let now = RegionCache { base: region.base, len: region.len, bytes: region.bytes };
        let last = std::mem::replace(&mut regions[entry], now);
        match region.until {
            Until::Launch => {}
            Until::Commit => host.until_commit[entry] = true,
            Until::Cta => host.cta_windows.push(entry),
        }
        if let Some(worker_counters) = host.worker_counters
            && last.base != region.base
        {
            // SAFETY: the counters belong to the runner, too.
            let worker_counters = unsafe { &mut *worker_counters };
            worker_counters.region_replaced(entry, &last);
        }
    }
}

/// Implements [`Frame::drain`].
pub(super) extern "sysv64" fn drain(frame: *mut Frame, number: u32) {
    call(frame, |host, frame| {
        let Some(worker_counters) = host.worker_counters else { return Ok(Some(())) };
        // SAFETY: the counters belong to the runner, which is borrowed for the visit; otherwise
        // only the code accesses them.
        let patterns = unsafe { &mut (*worker_counters).patterns };
        let (visit, code) = (&mut *host.visit, host.code);
        fast::wide(
            #[inline(always)]
            || {
                patterns.drain(
                    number as usize,
                    #[inline(always)]
                    |logged| visit.report(code.block_of[logged.step], logged),
                );
            },
        );
        // The patterns may have moved.
        frame.counters.pattern_tables = patterns.tables();
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
        store_stack(host, frame, warp);
        if exits {
            // Other warps may have waited only for these threads.
            host.contexts.store_barriers(host.visit);
        }
        let ended = host.visit.end(block);
        frame.back_edges_left = host.visit.back_edges_left() as i32;
        ended?;
        if exits {
            host.contexts.load_barriers(host.code, host.visit);
        }
        load_stack(host, frame, warp);
        Ok(next_address(host, frame))
    });
    next.unwrap_or(std::ptr::null())
}

/// Implements [`Frame::go`].
pub(super) extern "sysv64" fn go(frame: *mut Frame, block: u32) -> *const u8 {
    let next = call(frame, |host, frame| {
        let warp = host.hold(frame);
        store_stack(host, frame, warp);
        host.visit.go(block);
        load_stack(host, frame, warp);
        Ok(next_address(host, frame))
    });
    next.unwrap_or(std::ptr::null())
}

/// Returns the code address to continue at; `None` if the turn is over.
fn next_address(host: &Host<'_, '_, '_>, frame: &mut Frame) -> Option<*const u8> {
    if frame.back_edges_left <= 0 {
        return None;
    }
    let top = host.visit.top()?;
    frame.lanes = top.lanes;
    frame.rejoin = top.rejoin.unwrap_or(NO_BLOCK);
    update_live_lanes(host, frame);
    Some(host.code.block_addresses[top.block as usize] as *const u8)
}
