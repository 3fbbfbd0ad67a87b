//! Visits to CTAs on one host thread: code runs the turns of all their warps as far as it can.

use super::ahead::{self, SregsAhead};
use super::calls::{
    Host, add_block_counters, drain, exit, find, flush, more_block_counters, stack_end, step, turn,
};
use super::judge::{Log, completed, judge, judge_log};
use super::warp_contexts::CtaContexts;
use super::{Code, Compiled};
use crate::counters::{Counters, WorkerCounters};
use crate::frame::{BLOCK_COUNTERS, Frame, Note, RegionCache};
use crate::layout::Layouts;
use crate::machine_code::Facts;
use fast::{Declined, StackCharges, Tally, Visit, Worker, WorkerCounts};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;

/// The worker of one host thread.
pub(super) struct CompiledWorker<'c> {
    compiled: &'c Compiled,
    code: &'c Code,
    regions: Box<[RegionCache]>,
    layouts: Layouts,
    frame: Box<Frame>,
    more_block_counters: Box<[u64]>,
    /// Contexts of the resident CTAs, by slot.
    resident: Vec<Option<Box<CtaContexts>>>,
    #[allow(clippy::vec_box, reason = "contexts move from slot to slot without a copy")]
    spare: Vec<Box<CtaContexts>>,
    worker_counters: Option<Box<WorkerCounters>>,
    /// In screened launches.
    log: Option<Box<Log>>,
    /// The CTA of the last visit, and the entries of `regions` that are valid for that CTA alone.
    cta: u64,
    cta_windows: Vec<usize>,
    /// By entry of `regions`, whether it is valid only until the next commit; and the number of
    /// commits so far.
    until_commit: Box<[bool]>,
    commits: u64,
    /// Visits whose counts are still in the counters of blocks.
    kept_visits: u32,
    sregs_ahead: SregsAhead,
    /// Most CTAs that code may begin by itself.
    ctas_ahead: u32,
}

/// Most turns of each warp of the only resident CTA in one visit: whoever stops a launch waits for
/// them.
const MAX_PASSES: u32 = 16;

/// Most visits whose counts are kept. The counters of lanes have 32 bits, and a visit adds some ten
/// thousand at most.
const MAX_KEPT_VISITS: u32 = 64;

impl<'c> CompiledWorker<'c> {
    pub(super) fn new(compiled: &'c Compiled, code: &'c Code) -> Self {
        let Compiled { kernel, detailed, .. } = compiled;
        let regions = vec![RegionCache::NONE; code.facts.region_steps.len()].into_boxed_slice();
        // One more for ends of blocks.
        let steps = kernel.code().steps.len() + 1;
        let Facts { issue_cells, access_groups, .. } = &code.facts;
        let worker_counters =
            detailed.then(|| Box::new(WorkerCounters::new(issue_cells, access_groups, steps)));
        Self {
            compiled,
            code,
            regions,
            layouts: code.layouts(),
            frame: Box::new(frame(code)),
            more_block_counters: vec![0; more_block_counters(code)].into(),
            resident: Vec::new(),
            spare: Vec::new(),
            worker_counters,
            log: kernel.code().screened.map(|_| Box::new(Log::new(&code.facts))),
            cta: u64::MAX,
            cta_windows: Vec::new(),
            until_commit: vec![false; code.facts.region_steps.len()].into(),
            commits: 0,
            kept_visits: 0,
            sregs_ahead: SregsAhead::default(),
            ctas_ahead: 1,
        }
    }

    /// Returns where the contexts of the visited CTA are between its visits.
    fn slot_of(&mut self, visit: &Visit<'_, '_>) -> &mut Option<Box<CtaContexts>> {
        let slot = visit.slot();
        if self.resident.len() <= slot {
            self.resident.resize_with(slot + 1, || None);
        }
        &mut self.resident[slot]
    }

    /// Returns the contexts of the visited CTA.
    fn take_contexts(&mut self, visit: &mut Visit<'_, '_>) -> Box<CtaContexts> {
        let (cta, code) = (visit.cta(), self.code);
        let resident = self.slot_of(visit);
        if let Some(contexts) = resident.take_if(|contexts| contexts.cta == cta) {
            return contexts;
        }
        let spare = resident.take().or_else(|| self.spare.pop());
        let mut contexts = spare.unwrap_or_else(|| code.contexts(visit));
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

    /// Invalidates the regions that were valid for the CTA of the last visit alone, or until a
    /// commit that has been made since.
    fn drop_expired_windows(&mut self, visit: &Visit<'_, '_>) {
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
    }

    /// Runs a turn of each warp of the visited CTA.
    fn visit_cta(
        &mut self,
        visit: &mut Visit<'_, '_>,
        contexts: &mut CtaContexts,
    ) -> Result<(), Declined> {
        let end = self.run(visit, contexts);
        visit.set_live(contexts.barriers.live);
        self.charge(visit);
        if let Some(worker_counters) = &mut self.worker_counters {
            worker_counters.take(&self.frame.counters);
        }
        end
    }

    /// Passes on the changes to stacks.
    fn charge(&mut self, visit: &mut Visit<'_, '_>) {
        let splits = std::mem::take(&mut self.frame.splits);
        if splits != StackCharges::default() {
            visit.charge(&splits);
        }
    }

    /// Passes on the counts that have been kept.
    fn flush_kept(&mut self, visit: &mut Visit<'_, '_>) {
        if std::mem::take(&mut self.kept_visits) == 0 {
            return;
        }
        add_block_counters(self.code, &mut self.frame);
        self.charge(visit);
        visit.count_of_ended(&std::mem::take(&mut self.frame.tally));
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
        frame.more_block_counters = self.more_block_counters.as_mut_ptr();
        frame.layout_cells = self.layouts.table();
        frame.counters = self.worker_counters.as_mut().map_or(Counters::NONE, |c| c.counters());
        if let Some(log) = &mut self.log {
            log.begin(frame, visit.slot(), visit.cta());
        }
        // With counts that are kept, the clock has gone on from the last visit to the CTA.
        if self.kept_visits == 0 {
            frame.clock = visit.issues();
        }
        frame.warps = contexts.warps.as_mut_ptr();
        frame.warps_end = frame.warps.wrapping_add(contexts.warps.len());
        frame.barrier_state = &raw mut contexts.barriers;
        frame.cta_sregs = contexts.cta_sregs.as_ptr();
        begin_turns(frame, self.code);
    }

    /// Runs a turn of each warp.
    fn run(
        &mut self,
        visit: &mut Visit<'_, '_>,
        contexts: &mut CtaContexts,
    ) -> Result<(), Declined> {
        self.prepare(visit, contexts);
        let code = self.code;
        let regions = &raw mut *self.regions;
        let layouts = &raw mut self.layouts;
        let worker_counters = self.worker_counters.as_mut().map(|c| &raw mut **c);
        let log = self.log.as_mut().map(|log| &raw mut **log);
        let (cta_windows, until_commit) = (&mut self.cta_windows, &mut self.until_commit);
        let end = Ok(());
        let mut host = Host {
            visit,
            code,
            contexts,
            others: &mut self.resident,
            regions,
            layouts,
            worker_counters,
            cta_windows,
            until_commit,
            log,
            end,
            panic: None,
        };
        self.frame.host = (&raw mut host).cast();
        // SAFETY: there is a function of this type at `enter`: one made by `select::stubs`, in
        // executable memory that `code` owns, or `turns`.
        let enter: extern "C" fn(*mut Frame) =
            unsafe { std::mem::transmute(code.enter as *const u8) };
        let mut pass = 0;
        loop {
            pass += 1;
            let (rounds, ctas) = rounds_ahead(&host, self.kept_visits);
            let ahead = (rounds, ctas.min(self.ctas_ahead));
            ahead::allow(&host, &mut self.frame, &mut self.sregs_ahead, ahead);
            enter(&raw mut *self.frame);
            if let Some(panic) = host.panic.take() {
                resume_unwind(panic);
            }
            std::mem::replace(&mut host.end, Ok(()))?;
            // Where CTAs wait, it is not worth while to prepare many.
            self.ctas_ahead = match ahead::catch_up(&mut host, &mut self.frame) {
                0 => 1,
                _ => MAX_KEPT_VISITS.min(4 * self.ctas_ahead),
            };
            self.cta = host.visit.cta();
            let rounds = std::mem::take(&mut self.frame.rounds);
            if rounds > 0 {
                host.visit.count_rounds(rounds);
                self.kept_visits += rounds;
            }
            judge_log(&mut host, &mut self.frame);
            if self.log.as_ref().is_some_and(|log| log.refused) {
                return Err(fast::REFUSED);
            }
            let ended = host.contexts.barriers.live == 0;
            let keeps = match ended {
                true => may_keep_counts_of_ended(&host, &self.frame, self.kept_visits),
                false => may_keep_counts(&host, &self.frame),
            };
            if self.kept_visits >= MAX_KEPT_VISITS || !keeps {
                break;
            }
            self.kept_visits += 1;
            let progress = std::mem::take(&mut self.frame.tally.progress) != 0;
            if ended && host.cta_windows.is_empty() && host.visit.follow_in_place() {
                host.contexts.begin(code, host.visit);
                self.cta = host.visit.cta();
                begin_turns(&mut self.frame, code);
                pass = 0;
                continue;
            }
            if ended || !progress || pass == MAX_PASSES || self.log.is_some() {
                host.visit.set_back_edges_left(self.frame.back_edges_left.max(0) as u32);
                host.visit.keep_counts(progress);
                return Ok(());
            }
            // No other CTA has a turn in between.
            host.visit.go_on();
            begin_turns(&mut self.frame, code);
        }
        self.kept_visits = 0;
        add_block_counters(code, &mut self.frame);
        flush(&mut host, &mut self.frame)
    }
}

/// Has code begin with the first warp.
fn begin_turns(frame: &mut Frame, code: &Code) {
    frame.started = 0;
    frame.warp = frame.warps.wrapping_sub(1);
    frame.start = code.starts.first;
}

/// Returns how many rounds code may begin by itself, and how many CTAs, so that their counts can be
/// kept with those of so many visits.
fn rounds_ahead(host: &Host<'_, '_, '_>, kept_visits: u32) -> (u32, u32) {
    let left = MAX_KEPT_VISITS.saturating_sub(kept_visits);
    if host.log.is_some() || host.worker_counters.is_some() {
        return (0, 0);
    }
    let keeps = visits_to_keep(host).saturating_sub(u64::from(kept_visits) + 1);
    match keeps.min(left.into()) as u32 {
        0 => (left, 0),
        // Before a CTA follows, the one that has ended cannot have come near the limit.
        keeps => (keeps, keeps),
    }
}

/// Returns of how many visits the issues may be passed on later.
fn visits_to_keep(host: &Host<'_, '_, '_>) -> u64 {
    let visits = || {
        let most = host.code.most_issues?.saturating_mul(host.contexts.warps.len() as u64);
        host.visit.kept_issues()?.checked_div(most)
    };
    visits().unwrap_or(0)
}

/// Returns whether the counts of a visit may be passed on later: nothing looks at them before, and
/// the lanes that run are not told apart by warps, of which all lanes live.
fn may_keep_counts(host: &Host<'_, '_, '_>, frame: &Frame) -> bool {
    has_issued(frame) && host.contexts.are_warps_whole() && host.visit.is_only_resident()
}

/// The same for the last visit to a CTA, all warps of which were launched with all lanes.
fn may_keep_counts_of_ended(host: &Host<'_, '_, '_>, frame: &Frame, kept_visits: u32) -> bool {
    let full = host.visit.launched(host.contexts.warps.len() - 1) == u32::MAX;
    has_issued(frame) && full && visits_to_keep(host) > u64::from(kept_visits)
}

fn has_issued(frame: &Frame) -> bool {
    frame.warp != frame.warps.wrapping_sub(1)
}

impl Drop for CompiledWorker<'_> {
    /// Keeps layouts and contexts for other launches. Layouts of launches in detail point to their
    /// counters.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if self.worker_counters.is_none() {
            self.code.keep_layouts(std::mem::take(&mut self.layouts));
        }
        if let Some(contexts) = self.spare.pop() {
            self.code.keep_contexts(contexts);
        }
    }
}

impl Worker for CompiledWorker<'_> {
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined> {
        // Code for another kernel would access memory out of bounds.
        assert!(ptr::eq(visit.code(), self.compiled.kernel.code()), "another kernel");
        // Code has counters if and only if it was compiled for launches in detail.
        assert!(visit.is_detailed() == self.worker_counters.is_some(), "another kind of launch");
        self.drop_expired_windows(visit);
        let mut contexts = self.take_contexts(visit);
        loop {
            let end = self.visit_cta(visit, &mut contexts);
            if end.is_err() || contexts.barriers.live != 0 {
                // The slot is another one than that in which the visit began, if CTAs followed.
                self.slot_of(visit).replace(contexts);
                return end;
            }
            if !visit.next_cta()? {
                self.spare.push(contexts);
                self.flush_kept(visit);
                return Ok(());
            }
            self.drop_expired_windows(visit);
            contexts.begin(self.code, visit);
        }
    }

    fn write_back(&mut self, visit: &mut Visit<'_, '_>) {
        let Some(Some(contexts)) = self.resident.get_mut(visit.slot()) else { return };
        for warp in 0..contexts.warps.len() {
            visit.hold(warp);
            contexts.store_values(self.code, warp);
            contexts.store_position(self.code, visit, warp);
        }
    }

    fn flush(&mut self, visit: &mut Visit<'_, '_>) {
        self.flush_kept(visit);
    }

    fn counts(&mut self) -> WorkerCounts {
        self.worker_counters
            .as_mut()
            .map_or_else(WorkerCounts::default, |c| c.finish(&self.regions))
    }
}

/// Returns a frame with everything set that is the same in all visits.
fn frame(code: &Code) -> Frame {
    Frame {
        back_edges_left: 0,
        constants: code.constants.as_ptr().cast(),
        shared: ptr::null_mut(),
        shared_len: 0,
        params: ptr::null(),
        params_len: 0,
        local: ptr::null_mut(),
        local_len: 0,
        regions: ptr::null_mut(),
        layout_cells: ptr::null_mut(),
        tally: Tally::default(),
        clock: 0,
        started: 0,
        splits: StackCharges::default(),
        counters: Counters::NONE,
        warp: ptr::null_mut(),
        warps: ptr::null_mut(),
        warps_end: ptr::null_mut(),
        barrier_state: ptr::null_mut(),
        again: code.starts.again,
        sregs: ptr::null(),
        cta_sregs: ptr::null(),
        start: code.starts.first,
        rounds_left: 0,
        ctas_ahead: 0,
        may_stay: 0,
        threads: 0,
        rounds: 0,
        followed: 0,
        step,
        parked: 0,
        find,
        drain,
        on: 0,
        exit,
        stack_end,
        back_edge_taken: 0,
        turn,
        log: ptr::null_mut(),
        log_end: ptr::null_mut(),
        exempt: ptr::null_mut(),
        judge,
        completed,
        block_counters: [0; BLOCK_COUNTERS],
        note: Note::default(),
        more_block_counters: ptr::null_mut(),
        host: ptr::null_mut(),
        lane_room: MaybeUninit::uninit(),
    }
}
