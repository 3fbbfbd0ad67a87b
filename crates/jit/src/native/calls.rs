//! Calls from compiled code back into the interpreter.

use super::Code;
use super::ahead::catch_up;
use super::judge::{Log, judge_log};
use super::warp_contexts::CtaContexts;
use crate::access_groups::GroupList;
use crate::counters::{COUNTED, REFUSED, WorkerCounters};
use crate::frame::{BLOCK_COUNTERS, Frame, MAX_FRAMES, RegionCache, TURN_ENDS};
use crate::layout::Layouts;
use crate::warp_context::WarpContext;
use fast::code::End;
use fast::{BARRIERS, Declined, Tally, Until, Visit};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vector::BlockCounts;
use vm::BACK_EDGES;

/// The state that calls back work on.
pub(super) struct Host<'h, 't, 'm> {
    pub(super) visit: &'h mut Visit<'t, 'm>,
    pub(super) code: &'h Code,
    pub(super) contexts: &'h mut CtaContexts,
    /// Those of the other resident CTAs, by slot.
    pub(super) others: &'h mut [Option<Box<CtaContexts>>],
    pub(super) regions: *mut [RegionCache],
    pub(super) layouts: *mut Layouts,
    pub(super) worker_counters: Option<*mut WorkerCounters>,
    pub(super) cta_windows: &'h mut Vec<usize>,
    pub(super) until_commit: &'h mut [bool],
    /// In screened launches.
    pub(super) log: Option<*mut Log>,
    pub(super) end: Result<(), Declined>,
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Host<'_, '_, '_> {
    /// Makes the visit hold the running warp; returns its number.
    fn hold(&mut self, frame: &Frame) -> usize {
        let warp = running(frame);
        self.visit.hold(warp);
        warp
    }

    /// Has the launch be declined at the end of the visit, if it is screened.
    pub(super) fn refuse(&mut self) {
        if let Some(log) = self.log {
            // SAFETY: the log belongs to the runner, which is borrowed for the visit; otherwise
            // only code accesses its entries.
            unsafe { (*log).refused = true };
        }
    }

    /// Has code count the issues of a warp with its live lanes, or of one with all lanes.
    pub(super) fn count_for(&self, frame: &mut Frame, warp: Option<usize>) {
        let Some(worker_counters) = self.worker_counters else { return };
        let context = warp.and_then(|warp| self.contexts.warps.get(warp)).filter(|c| c.live != 0);
        let (never_launched, exited) = context.map_or((0, 0), |c| (c.never_launched, c.exited));
        // SAFETY: the counters belong to the runner, which is borrowed for the visit; otherwise
        // only the code accesses them.
        let histograms = unsafe { &mut (*worker_counters).histograms };
        frame.counters.histograms = histograms.bank(never_launched, exited);
    }
}

/// Returns the number of the running warp.
fn running(frame: &Frame) -> usize {
    (frame.warp as usize).wrapping_sub(frame.warps as usize) / size_of::<WarpContext>()
}

/// Number of the counters of blocks that are not in the frame.
pub(super) fn more_block_counters(code: &Code) -> usize {
    code.facts.block_counts.len().saturating_sub(BLOCK_COUNTERS)
}

/// Adds what the counters of blocks have counted to the tally, and clears them.
pub(super) fn add_block_counters(code: &Code, frame: &mut Frame) {
    // SAFETY: the runner has made this array as long, and keeps it during the visit, in which only
    // code and this function access it.
    let more = unsafe {
        std::slice::from_raw_parts_mut(frame.more_block_counters, more_block_counters(code))
    };
    // Sums are in registers: in the frame, each would wait for the one before.
    let (mut tally, mut sums) = (Tally::default(), [0; 3]);
    let mut add = |cell: &mut u64, counts: &BlockCounts| {
        let (times, lanes) = (*cell >> 32, *cell & 0xffff_ffff);
        *cell = 0;
        tally.issues += times * u64::from(counts.issues);
        tally.lanes += lanes * u64::from(counts.issues);
        tally.blocks += times * u64::from(counts.head);
        tally.branches += times * u64::from(counts.branches);
        for (sum, count) in sums.iter_mut().zip(counts.splits) {
            *sum += times * u64::from(count);
        }
        tally.memory += times * u64::from(counts.memory);
    };
    let (first, others) =
        code.facts.block_counts.split_at(code.facts.block_counts.len().min(BLOCK_COUNTERS));
    frame.block_counters.iter_mut().zip(first).for_each(|(cell, counts)| add(cell, counts));
    more.iter_mut().zip(others).for_each(|(cell, counts)| add(cell, counts));
    let to = &mut frame.tally;
    to.issues += tally.issues;
    to.lanes += tally.lanes;
    to.blocks += tally.blocks;
    to.branches += tally.branches;
    // The interpreter's accesses have been subtracted.
    to.memory = to.memory.wrapping_add(tally.memory);
    let [splits, pushes, merges] = sums;
    frame.splits.split_branches += splits;
    frame.splits.pushes += pushes;
    frame.splits.merges += merges;
}

/// Counts the lanes of the running warp that are not live for its issues since it was last taken.
fn count_not_live(host: &Host<'_, '_, '_>, frame: &mut Frame) {
    add_block_counters(host.code, frame);
    let since = frame.tally.issues - frame.started;
    frame.started = frame.tally.issues;
    if let Some(context) = host.contexts.warps.get(running(frame)) {
        frame.tally.never_launched += since * u64::from(context.never_launched);
        frame.tally.exited += since * u64::from(context.exited);
    }
}

/// Implements [`Frame::turn`].
pub(super) extern "C" fn turn(frame: *mut Frame, which: u32, _: u32) -> u32 {
    let stay = call(frame, |host, frame| {
        if which == TURN_ENDS {
            count_not_live(host, frame);
            host.count_for(frame, None);
        } else {
            add_block_counters(host.code, frame);
            frame.started = frame.tally.issues;
            host.count_for(frame, Some(running(frame)));
        }
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Hands the frame's counts to the interpreter.
pub(super) fn flush(host: &mut Host<'_, '_, '_>, frame: &mut Frame) -> Result<(), Declined> {
    // The tally is not moved out: a copy would wait for the stores of its counts.
    let since = frame.tally.issues - std::mem::take(&mut frame.started);
    if let Some(context) = host.contexts.warps.get(running(frame)) {
        frame.tally.never_launched += since * u64::from(context.never_launched);
        frame.tally.exited += since * u64::from(context.exited);
    }
    host.visit.set_back_edges_left(frame.back_edges_left.max(0) as u32);
    let counted = host.visit.count(&frame.tally);
    frame.tally = Tally::default();
    counted
}

/// Runs a call back; `None` if the code has to return.
pub(super) fn call<T>(
    frame: *mut Frame,
    f: impl FnOnce(&mut Host<'_, '_, '_>, &mut Frame) -> Result<Option<T>, Declined>,
) -> Option<T> {
    // SAFETY: code calls back with the frame that it was entered with. The runner keeps that frame
    // until the code has returned, and nothing else accesses it in the meantime.
    let frame = unsafe { &mut *frame };
    // SAFETY: the runner has stored a host there that lives until the code has returned, and calls
    // back do not nest.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_, '_>>() };
    let f = || {
        catch_up(host, frame);
        f(host, frame)
    };
    match catch_unwind(AssertUnwindSafe(f)) {
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

/// Implements [`Frame::step`].
pub(super) extern "C" fn step(frame: *mut Frame, step: u32, on: u32) -> u32 {
    let (counted, refused) = (step & COUNTED != 0, step & REFUSED != 0);
    let step = step & !(COUNTED | REFUSED);
    let stay = call(frame, |host, frame| {
        if refused {
            return Err(Declined::Running("an access to shared memory is not allowed"));
        }
        host.hold(frame);
        if on == u32::MAX && host.visit.product(step as usize) {
            return Ok(Some(()));
        }
        let block = host.code.facts.block_of[step as usize];
        if !counted {
            judge_log(host, frame);
        }
        if counted {
            host.visit.step_already_counted(block, step as usize, on)?;
        } else if host.visit.asynchronous(step as usize) {
            asynchronous(host, frame, (block, step as usize), on)?;
        } else if host.visit.step(block, step as usize, on)? {
            // Code leaves only such barriers to the interpreter at which the launch stops.
            return Err(Declined::Running("a warp waits where code cannot"));
        }
        if host.visit.frames() > MAX_FRAMES {
            return Err(fast::DEPTH_LIMIT);
        }
        cache_region(host, step, on);
        frame.local_len = host.visit.local_reach() as u64;
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Has the interpreter execute an asynchronous operation, or one on what tells that such an
/// operation has completed: the warp may wait then, and others may go on.
fn asynchronous(
    host: &mut Host<'_, '_, '_>,
    frame: &mut Frame,
    (block, step): (u32, usize),
    on: u32,
) -> Result<(), Declined> {
    // The interpreter does not know of warps that have ended in code.
    for (warp, context) in host.contexts.warps.iter().enumerate() {
        if context.top.is_null() {
            host.visit.end_warp(warp);
        }
    }
    host.visit.set_live(host.contexts.barriers.live);
    frame.parked = u32::from(host.visit.step(block, step, on)?);
    take_released(host);
    Ok(())
}

/// Lets the warps of the cluster go on that the interpreter has released.
fn take_released(host: &mut Host<'_, '_, '_>) {
    while let Some((slot, warp)) = host.visit.take_released() {
        let contexts = match host.others.get_mut(slot) {
            Some(Some(contexts)) if slot != host.visit.slot() => contexts,
            _ => &mut *host.contexts,
        };
        let context = &mut contexts.warps[warp];
        (context.waits, context.start) = (0, host.code.starts.again);
    }
}

/// Records the region of global memory that a step has accessed.
fn cache_region(host: &mut Host<'_, '_, '_>, step: u32, on: u32) {
    if let Ok(found) = host.code.region_entries.binary_search_by_key(&step, |n| n.0)
        && let Some(region) = host.visit.region(step as usize, on)
    {
        let entry = host.code.region_entries[found].1;
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
            && (last.base, last.bytes) != (region.base, region.bytes)
        {
            // SAFETY: the counters belong to the runner, too.
            let worker_counters = unsafe { &mut *worker_counters };
            worker_counters.region_replaced(entry, &last);
        }
    }
}

/// Records that lanes of a warp have ended.
fn after_exit(
    host: &mut Host<'_, '_, '_>,
    frame: &mut Frame,
    warp: usize,
    lanes_not_live: (u32, u32),
    lanes: u32,
) {
    host.contexts.end_lanes(warp, lanes_not_live, lanes);
    if host.visit.code().has_cluster_barriers {
        host.visit.set_live(host.contexts.barriers.live);
        host.visit.end_in_cluster(warp, lanes);
        take_released(host);
    }
    // Other warps may have waited only for these threads.
    for id in 0..BARRIERS {
        if host.contexts.complete(host.code, id) {
            (frame.tally.barriers, frame.tally.progress) = (frame.tally.barriers + 1, 1);
            // Not all threads of the CTA have come to it.
            host.refuse();
        }
    }
}

/// Implements [`Frame::exit`].
pub(super) extern "C" fn exit(frame: *mut Frame, _: u32, lanes: u32) -> u32 {
    let stay = call(frame, |host, frame| {
        let warp = host.hold(frame);
        count_not_live(host, frame);
        let (never_launched, exited) = host.visit.lanes_not_live();
        host.visit.set_exited(exited | lanes);
        after_exit(host, frame, warp, (never_launched, exited | lanes), lanes);
        host.count_for(frame, Some(warp));
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Implements [`Frame::stack_end`].
pub(super) extern "C" fn stack_end(frame: *mut Frame, block: u32, lanes: u32) -> u32 {
    let stay = call(frame, |host, frame| {
        let warp = host.hold(frame);
        count_not_live(host, frame);
        let kind = &host.visit.code().blocks[block as usize].end;
        let exits = matches!(kind, End::Exit(..));
        if let End::Switch(..) = kind {
            // The interpreter counts the branch again.
            frame.tally.branches = frame.tally.branches.wrapping_sub(1);
        }
        let context = &mut host.contexts.warps[warp];
        context.set_top_lanes(lanes);
        host.visit.set_stack(context.stack(), 0, false);
        host.visit.set_live(host.contexts.barriers.live);
        let (_, before) = host.visit.lanes_not_live();
        host.visit.set_back_edges_left(BACK_EDGES);
        host.visit.end(block)?;
        frame.back_edge_taken = u32::from(host.visit.back_edges_left() < BACK_EDGES);
        let context = &mut host.contexts.warps[warp];
        let height = host.visit.stack(&mut context.entries);
        let height = height.ok_or(Declined::Running("a stack is too high"))?;
        context.top = match height.checked_sub(1) {
            Some(top) => context.entries.as_mut_ptr().wrapping_add(top),
            None => std::ptr::null_mut(),
        };
        if exits {
            let (never_launched, exited) = host.visit.lanes_not_live();
            after_exit(host, frame, warp, (never_launched, exited), exited & !before);
            host.count_for(frame, Some(warp));
        }
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Implements [`Frame::find`].
pub(super) extern "C" fn find(frame: *mut Frame, number: u32, on: u32) -> u32 {
    let stay = call(frame, |host, frame| {
        // SAFETY: code has stored a row of 32-bit values there before it calls.
        let row: [u32; 32] = unsafe { frame.lane_room.as_ptr().cast::<[u32; 32]>().read() };
        // SAFETY: the layouts belong to the runner, which is borrowed for the visit; otherwise only
        // the code accesses them, and this does not move their table.
        let layouts = unsafe { &mut *host.layouts };
        if let Some(&site) = host.code.facts.layout_sites.get(number as usize) {
            layouts.find(number as usize, site, &row, on);
        }
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// Implements [`Frame::drain`].
pub(super) extern "C" fn drain(frame: *mut Frame, number: u32) {
    call(frame, |host, frame| {
        let Some(worker_counters) = host.worker_counters else { return Ok(Some(())) };
        // SAFETY: the counters belong to the runner, which is borrowed for the visit; otherwise
        // only the code accesses them.
        let counters = unsafe { &mut *worker_counters };
        let (visit, code, number) = (&mut *host.visit, host.code, number as usize);
        fast::wide(
            #[inline(always)]
            || {
                counters.groups.drain(
                    number / GroupList::SIZE as usize,
                    #[inline(always)]
                    |logged| visit.report(code.facts.block_of[logged.step], logged),
                );
            },
        );
        // The patterns may have moved.
        frame.counters.groups = counters.groups.tables();
        Ok(Some(()))
    });
}
