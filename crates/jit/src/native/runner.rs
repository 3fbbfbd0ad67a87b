//! Visits to CTAs on one host thread: code runs the turns of all their warps as far as it can.

use super::calls::{Host, drain, end, flush, go, step, update_live_lanes};
use super::warp_contexts::CtaContexts;
use super::{Code, Compiled};
use crate::counters::{Counters, WorkerCounters};
use crate::frame::{Frame, NO_BLOCK, RegionCache, WordLayout, stopped};
use crate::warp_context::WarpContext;
use fast::{Declined, StackCharges, Tally, Visit, Worker, WorkerCounts};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;
use vm::BACK_EDGES;

/// The worker of one host thread.
pub(super) struct CompiledWorker<'c> {
    compiled: &'c Compiled,
    regions: Box<[RegionCache]>,
    frame: Box<Frame>,
    /// Contexts of the resident CTAs, by slot.
    resident: Vec<Option<CtaContexts>>,
    spare: Vec<CtaContexts>,
    worker_counters: Option<Box<WorkerCounters>>,
    /// The CTA of the last visit, and the entries of `regions` that are valid for that CTA alone.
    cta: u64,
    cta_windows: Vec<usize>,
    /// By entry of `regions`, whether it is valid only until the next commit; and the number of
    /// commits so far.
    until_commit: Box<[bool]>,
    commits: u64,
}

impl<'c> CompiledWorker<'c> {
    pub(super) fn new(compiled: &'c Compiled) -> Self {
        let Compiled { kernel, code, detailed, .. } = compiled;
        let regions = vec![RegionCache::NONE; code.region_steps.len()].into_boxed_slice();
        let steps = kernel.code().steps.len();
        let Code { issue_spans, alignment_counters, pattern_sites, .. } = code;
        let worker_counters = detailed.then(|| {
            Box::new(WorkerCounters::new(issue_spans, alignment_counters, pattern_sites, steps))
        });
        Self {
            compiled,
            regions,
            frame: Box::new(frame(code)),
            resident: Vec::new(),
            spare: Vec::new(),
            worker_counters,
            cta: u64::MAX,
            cta_windows: Vec::new(),
            until_commit: vec![false; code.region_steps.len()].into(),
            commits: 0,
        }
    }

    /// Returns the contexts of the visited CTA.
    fn take_contexts(&mut self, visit: &mut Visit<'_, '_>) -> CtaContexts {
        let (slot, cta, code) = (visit.slot(), visit.cta(), &self.compiled.code);
        if self.resident.len() <= slot {
            self.resident.resize_with(slot + 1, || None);
        }
        if let Some(contexts) = self.resident[slot].take_if(|contexts| contexts.cta == cta) {
            return contexts;
        }
        let spare = self.resident[slot].take().or_else(|| self.spare.pop());
        let mut contexts = spare.unwrap_or_else(|| CtaContexts::new(code, visit));
        contexts.begin(code, visit);
        contexts
    }

    /// Invalidates the regions that were valid for the last CTA alone.
    fn drop_cta_windows(&mut self) {
        for entry in self.cta_windows.drain(..) {
            let last = std::mem::replace(&mut self.regions[entry], RegionCache::NONE);
            if let Some(worker_counters) = &mut self.worker_counters {
                worker_counters.region_replaced(entry, &last);
            }
        }
    }

    /// Prepares the frame for a visit.
    fn prepare(&mut self, visit: &mut Visit<'_, '_>, contexts: &mut CtaContexts) {
        let view = visit.cta_memory();
        let frame = &mut *self.frame;
        // Code does not check the length of the parameter block.
        assert!(view.params.1 == self.compiled.kernel.code().param_bytes, "other parameters");
        (frame.shared, frame.shared_len) = (view.shared.0, view.shared.1 as u64);
        (frame.params, frame.params_len) = (view.params.0, view.params.1 as u64);
        (frame.local, frame.local_len) = (view.local.0, view.local.1 as u64);
        frame.regions = self.regions.as_mut_ptr();
        frame.counters = self.worker_counters.as_mut().map_or(Counters::NONE, |c| c.counters());
        frame.started = 0;
        frame.warps = contexts.warps.as_mut_ptr();
        frame.warps_end = frame.warps.wrapping_add(contexts.warps.len());
        frame.warp = frame.warps.wrapping_sub(1);
        frame.barrier_state = &raw mut contexts.barriers;
        frame.cta_sregs = contexts.cta_sregs.as_ptr();
        frame.start = self.compiled.code.starts.first;
    }

    /// Runs a turn of each warp.
    fn run(
        &mut self,
        visit: &mut Visit<'_, '_>,
        contexts: &mut CtaContexts,
    ) -> Result<(), Declined> {
        self.prepare(visit, contexts);
        let code = &self.compiled.code;
        let first = self.frame.warps;
        let regions = &raw mut *self.regions;
        let worker_counters = self.worker_counters.as_mut().map(|c| &raw mut **c);
        let (cta_windows, until_commit) = (&mut self.cta_windows, &mut self.until_commit);
        let end = Ok(());
        let mut host = Host {
            visit,
            code,
            contexts,
            regions,
            worker_counters,
            cta_windows,
            until_commit,
            end,
            panic: None,
        };
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
            let warp =
                (frame.warp as usize).wrapping_sub(first as usize) / size_of::<WarpContext>();
            match frame.stopped {
                stopped::DONE => break,
                stopped::BEFORE => {
                    host.visit.hold(warp);
                    enter_with_interpreter_stack(&mut host, frame);
                }
                _ => {
                    flush(&mut host, frame)?;
                    host.visit.hold(warp);
                    if frame.block != NO_BLOCK {
                        host.visit.go(frame.block);
                    }
                    host.contexts.load_position(code, host.visit, warp);
                    frame.start = code.starts.first;
                }
            }
        }
        flush(&mut host, &mut self.frame)
    }
}

impl Worker for CompiledWorker<'_> {
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined> {
        // Code for another kernel would access memory out of bounds.
        assert!(ptr::eq(visit.code(), self.compiled.kernel.code()), "another kernel");
        // Code has counters if and only if it was compiled for launches in detail.
        assert!(visit.is_detailed() == self.worker_counters.is_some(), "another kind of launch");
        if visit.cta() != self.cta {
            self.cta = visit.cta();
            self.drop_cta_windows();
        }
        if visit.commits() != self.commits {
            self.commits = visit.commits();
            for (entry, expires) in self.until_commit.iter_mut().enumerate() {
                if std::mem::take(expires) {
                    let last = std::mem::replace(&mut self.regions[entry], RegionCache::NONE);
                    if let Some(worker_counters) = &mut self.worker_counters {
                        worker_counters.region_replaced(entry, &last);
                    }
                }
            }
        }
        let mut contexts = self.take_contexts(visit);
        let end = self.run(visit, &mut contexts);
        visit.set_live(contexts.barriers.live);
        let splits = std::mem::take(&mut self.frame.splits);
        if splits != StackCharges::default() {
            visit.charge(&splits);
        }
        if let Some(worker_counters) = &mut self.worker_counters {
            worker_counters.take(&self.frame.counters);
        }
        if contexts.barriers.live == 0 {
            self.spare.push(contexts);
        } else {
            self.resident[visit.slot()] = Some(contexts);
        }
        end
    }

    fn write_back(&mut self, visit: &mut Visit<'_, '_>) {
        let Some(Some(contexts)) = self.resident.get(visit.slot()) else { return };
        for warp in 0..contexts.warps.len() {
            visit.hold(warp);
            contexts.store_position(&self.compiled.code, visit, warp);
        }
    }

    fn counts(&mut self) -> WorkerCounts {
        self.worker_counters
            .as_mut()
            .map_or_else(WorkerCounts::default, |c| c.finish(&self.regions))
    }
}

/// Prepares the frame for the turn of the held warp, whose stack the interpreter has.
fn enter_with_interpreter_stack(host: &mut Host<'_, '_, '_>, frame: &mut Frame) {
    let Some(top) = host.visit.top() else { return };
    frame.lanes = top.lanes;
    frame.rejoin = top.rejoin.unwrap_or(NO_BLOCK);
    frame.back_edges_left = BACK_EDGES as i32;
    frame.interpreter_owned = 1;
    update_live_lanes(host, frame);
    frame.start = host.code.starts.alone;
}

/// Returns a frame with everything set that is the same in all visits.
fn frame(code: &Code) -> Frame {
    Frame {
        lanes: 0,
        rejoin: NO_BLOCK,
        block: NO_BLOCK,
        live: 0,
        back_edges_left: 0,
        stopped: stopped::DONE,
        constants: code.constants.as_ptr().cast(),
        shared: ptr::null_mut(),
        shared_len: 0,
        params: ptr::null(),
        params_len: 0,
        local: ptr::null_mut(),
        local_len: 0,
        regions: ptr::null_mut(),
        tally: Tally::default(),
        started: 0,
        bottom: ptr::null_mut(),
        top: ptr::null_mut(),
        last: ptr::null_mut(),
        interpreter_owned: 1,
        splits: StackCharges::default(),
        layouts: [WordLayout::default(); WordLayout::COUNT],
        counters: Counters::NONE,
        warp: ptr::null_mut(),
        warps: ptr::null_mut(),
        warps_end: ptr::null_mut(),
        barrier_state: ptr::null_mut(),
        block_addresses: code.block_addresses.as_ptr(),
        resume_addresses: code.resume_addresses.as_ptr(),
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
