//! Runs the CTAs of a launch in the canonical schedule.
//!
//! Each warp runs until it waits, has ended, or has taken `vm::BACK_EDGES` loop back-edges; then
//! the next warp of the CTA runs; after the last warp, the next resident CTA. A block runs as a
//! whole: inside a block, only a barrier can end a turn.

use crate::code::{Block, Code, End};
use crate::commit::Commits;
use crate::context::{Context, unrank};
use crate::cta::{Cta, CtaStorage};
use crate::detail::Detail;
use crate::group_products::GroupProducts;
use crate::level;
use crate::slice::Slice;
use crate::stack::{Entry, Target};
use crate::step::StepOutcome;
use crate::storage_pool::StoragePool;
use crate::textures::Objects;
use crate::tier::Worker;
use crate::warp::Warp;
use crate::window::AccessSpan;
use crate::workers::{LaunchPlan, Workers};
use crate::{Declined, LaunchObserver};
use simt::memory::DirectMemory;
use simt::slots::{GroupLanes, LaneSlots};
use simt::{GroupId, Pc, WarpMask};
use std::ops::Range;
use vm::{BACK_EDGES, Counts, STALLED_ROUNDS, WARP_SIZE, quiet_rounds};

/// States are compared so often while [`quiet_rounds`] pass.
const COMPARISONS: u64 = 4;
/// Turns between two calls of the observer.
const POLL_TURNS: u32 = 512;

const NO_ROOM: &str = "the host has no memory for its threads";

/// The outcome of a launch, or of the part of it that one machine has run.
pub(crate) struct Ended {
    pub(crate) stats: Counts,
    /// Its details before [`Detail::finish`].
    pub(crate) detail: Option<Box<Detail>>,
    /// Whether it has ended, rather than been stopped.
    pub(crate) done: bool,
    /// What it has printed.
    pub(crate) output: Vec<u8>,
}

/// The reason why a machine has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// No CTA is left.
    Done,
    /// The observer or another thread has stopped the launch.
    Stopped,
    /// The machine has issued as many instructions as asked.
    Paused,
}

/// The interpreter's state of a launch.
pub(crate) struct Machine<'m> {
    pub(crate) context: &'m Context<'m>,
    pub(crate) memory: DirectMemory<'m>,
    pub(crate) ctas: Vec<Cta>,
    /// Storage of ended CTAs. CTAs that end in their first turn all reuse the same, which stays in
    /// the host's caches.
    #[allow(clippy::vec_box, reason = "storage moves from slot to slot without a copy")]
    spare: Vec<Box<CtaStorage>>,
    /// Storage that earlier launches of the kernel have left.
    pool: &'m StoragePool,
    /// Empty storage for slots whose CTA has ended.
    #[allow(clippy::vec_box, reason = "storage moves from slot to slot without a copy")]
    empty: Vec<Box<CtaStorage>>,
    pub(crate) stats: Counts,
    /// The resident CTA, and in it the warp, whose turn it is.
    pub(crate) slot: usize,
    pub(crate) group: usize,
    pub(crate) back_edges: u32,
    pub(crate) issued: bool,
    /// Whether a worker has ended its turn itself.
    pub(crate) turn_ended: bool,
    /// The number of vector issues at which the machine pauses.
    pub(crate) issue_limit: u64,
    /// CTAs that have not begun: those of the whole grid, or in a parallel launch, those that
    /// this machine has taken.
    rest: Range<u64>,
    workers: Option<&'m Workers>,
    /// By step, the accesses of the first CTA, where windows may follow.
    pub(crate) spans: Vec<AccessSpan>,
    /// Warps that no longer wait, by slot and number, for a worker that keeps their positions.
    pub(crate) released: Vec<(usize, usize)>,
    pub(crate) products: GroupProducts,
    pub(crate) objects: Objects,
    /// What the launch has printed; not more than it may.
    pub(crate) output: Vec<u8>,
    pub(crate) turns: u32,
    /// The value of `turns` at the last call of the observer.
    last_poll: u32,
    /// Whether memory may have changed or a warp was released since the last round.
    pub(crate) progress: bool,
    quiet: u64,
    reference: Option<(u64, u64)>,
    /// What states are compared by, once they are.
    slice: Option<Box<Slice>>,
    /// Rounds since a CTA ended, or others became resident.
    stalled: u64,
    pub(crate) detail: Option<Box<Detail>>,
    pub(crate) observer: &'m mut dyn LaunchObserver,
    /// Whether the observer judges accesses.
    pub(crate) screened: bool,
    /// Runs turns in the interpreter's place.
    pub(crate) worker: Option<Box<dyn Worker + 'm>>,
    pub(crate) commits: Commits,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(
        context: &'m Context<'m>,
        memory: DirectMemory<'m>,
        plan: LaunchPlan<'m>,
        observer: &'m mut dyn LaunchObserver,
        worker: Option<Box<dyn Worker + 'm>>,
        workers: Option<&'m Workers>,
    ) -> Self {
        let detail = plan.detailed.then(|| Box::new(Detail::new(context.code)));
        let stats = if workers.is_some() { Counts::default() } else { context.done };
        let rest = if workers.is_some() { 0..0 } else { context.done.ctas..context.total };
        let screened = observer.screen().is_some();
        Self {
            detail,
            observer,
            screened,
            worker,
            context,
            memory,
            ctas: Vec::new(),
            spare: Vec::new(),
            pool: plan.pool,
            empty: Vec::new(),
            stats,
            commits: Commits::default(),
            slot: 0,
            group: 0,
            back_edges: 0,
            issued: false,
            turn_ended: false,
            issue_limit: u64::MAX,
            rest,
            workers,
            spans: Vec::new(),
            released: Vec::new(),
            products: GroupProducts::default(),
            objects: Objects::default(),
            output: Vec::new(),
            turns: 0,
            last_poll: 0,
            progress: false,
            quiet: 0,
            reference: None,
            slice: None,
            stalled: 0,
        }
    }

    fn begin(&mut self) -> Result<(), Declined> {
        // CTAs of a parallel launch are independent, so they run one after another.
        let cluster = self.context.cluster_size;
        let resident = if self.workers.is_some() { cluster } else { self.context.resident };
        if !self.context.fits(resident) {
            return Err(Declined::Launch(NO_ROOM));
        }
        self.ctas.resize_with(resident, Cta::default);
        // Agrees with `vm::State::skip`.
        self.slot = (self.context.done.ctas % resident.max(1) as u64) as usize;
        for slot in (self.slot..resident).chain(0..self.slot) {
            self.fill_slot(slot);
        }
        Ok(())
    }

    /// Puts the next CTA of the grid into a slot, if there is one.
    fn fill_slot(&mut self, slot: usize) {
        if let Some(workers) = self.workers
            && self.rest.is_empty()
        {
            self.rest = workers.take_ctas();
        }
        let next = self.rest.next();
        let cta = &mut self.ctas[slot];
        cta.alive = next.is_some();
        let Some(next) = next else { return };
        let (context, size) = (self.context, self.context.cluster_size);
        // The CTAs of a cluster share what one of them has claimed.
        if next.is_multiple_of(size as u64) {
            self.memory.next_owner();
        }
        (cta.index, cta.live, cta.issues) = (next, context.threads, 0);
        cta.is_blocked = false;
        if size == 1 {
            cta.id = unrank(next, context.grid);
        } else {
            cta.id = context.clusters.coordinates(next, context.grid);
            cta.index = vm::rank_in(cta.id, context.grid);
            // Others of the cluster may access its memory before its first turn.
            self.allocate_storage(slot, self.worker.is_none());
        }
        self.stats.threads += u64::from(context.threads);
    }

    /// Puts the next CTAs of the grid into the slot of a CTA that has ended, and those of its
    /// cluster, once all of these have ended. Returns the slots that are filled.
    fn refill(&mut self, slot: usize) -> Range<usize> {
        self.ctas[slot].alive = false;
        let cluster = self.cluster_of(slot);
        if self.ctas[cluster.clone()].iter().any(|cta| cta.alive) {
            return slot..slot;
        }
        cluster.clone().for_each(|slot| self.fill_slot(slot));
        cluster
    }

    /// Provides storage for the threads of the CTA in a slot. With `positions`, the positions of
    /// warps are set, too, because no worker keeps them.
    pub(crate) fn allocate_storage(&mut self, slot: usize, positions: bool) {
        let storage = &mut self.ctas[slot].storage;
        match self.spare.pop().or_else(|| self.pool.take(self.context)) {
            Some(spare) => {
                self.empty.push(std::mem::replace(storage, spare));
                storage.reset(self.context.code, positions);
            }
            None => storage.allocate(self.context),
        }
    }

    /// Takes the storage of an ended CTA back.
    fn reclaim_storage(&mut self) {
        let empty = self.empty.pop().unwrap_or_default();
        self.spare.push(std::mem::replace(&mut self.ctas[self.slot].storage, empty));
    }

    /// Runs until at least `issues` vector instructions have been issued in all, or the launch ends
    /// or stops. With `SHARED`, steps are executed by [`level::portable_step`], else by code of its
    /// own.
    #[inline(always)]
    pub(crate) fn advance<const SHARED: bool>(&mut self, issues: u64) -> Result<Flow, Declined> {
        self.issue_limit = issues;
        if self.ctas.is_empty() {
            self.begin()?;
        } else if !self.ctas[self.slot].alive {
            let filled = self.refill(self.slot);
            self.slot = filled.start;
        }
        loop {
            if !self.ctas[self.slot].alive {
                if self.ctas.iter().all(|c| !c.alive) {
                    return Ok(Flow::Done);
                }
                self.next_slot();
                continue;
            }
            if self.ctas[self.slot].storage.is_empty() {
                self.allocate_storage(self.slot, self.worker.is_none());
            }
            self.turn::<SHARED>()?;
            if !std::mem::take(&mut self.turn_ended) {
                if self.is_stopped() {
                    return Ok(Flow::Stopped);
                }
                self.end_turn()?;
            }
            if self.stats.slots.vector_issues >= issues {
                return Ok(Flow::Paused);
            }
        }
    }

    /// Checks whether another thread or the observer has stopped the launch.
    #[inline(always)]
    fn is_stopped(&mut self) -> bool {
        if self.workers.is_some_and(Workers::is_stopped) {
            return true;
        }
        self.turns = self.turns.wrapping_add(1);
        if self.turns.wrapping_sub(self.last_poll) < POLL_TURNS {
            return false;
        }
        self.last_poll = self.turns;
        if !self.observer.poll(self.stats.ctas, self.stats.slots.issues()) {
            return true;
        }
        if self.observer.wants_lanes() {
            self.report_positions();
        }
        false
    }

    /// Reports the positions of warps to the observer.
    #[cold]
    fn report_positions(&mut self) {
        let group = self.group;
        self.write_back();
        self.group = group;
        let blocks = &self.context.code.blocks;
        let alive = self.ctas.iter().filter(|cta| cta.alive);
        let warps = alive.flat_map(|cta| {
            let warps = cta.storage.warps.iter().enumerate();
            warps.map(move |(w, warp)| (cta.index, w as u32, warp))
        });
        let mut lanes = warps.filter_map(|(cta, group, warp)| {
            let top = warp.stack.top().filter(|_| !warp.stale)?;
            let block = &blocks[top.block as usize];
            let pc = (block.first + warp.resume as u64).min(block.pc);
            let group = GroupId { cta, group, first_thread: warp.first_thread };
            Some((group, WarpMask::from_bits(top.lanes.into()), Pc(pc)))
        });
        self.observer.lanes(&mut lanes);
    }

    /// Returns whether other machines run other CTAs of the launch.
    pub(crate) fn is_parallel(&self) -> bool {
        self.workers.is_some()
    }

    /// Returns whether workers may get windows of memory.
    pub(crate) fn has_windows(&self) -> bool {
        self.workers.is_some_and(|workers| workers.windows)
    }

    /// Records that a worker got a window.
    pub(crate) fn record_window(&self) {
        if let Some(workers) = self.workers {
            workers.record_window();
        }
    }

    /// Returns the counts of a run, and releases memory.
    pub(crate) fn ended(mut self, flow: Flow) -> Ended {
        if flow != Flow::Done {
            self.flush();
        }
        self.take_counts();
        self.pool.keep(self.spare.drain(..));
        let output = std::mem::take(&mut self.output);
        Ended { stats: self.stats, detail: self.detail, done: flow == Flow::Done, output }
    }

    fn next_slot(&mut self) {
        self.slot = (self.slot + 1) % self.ctas.len();
        self.group = 0;
        self.issued = false;
    }

    /// Moves on to the next warp, or to the next CTA.
    pub(crate) fn end_turn(&mut self) -> Result<(), Declined> {
        self.group += 1;
        let cta = &self.ctas[self.slot];
        if self.group < cta.storage.warps.len() {
            return Ok(());
        }
        if cta.live == 0 {
            if !cta.storage.asynchronous.is_finished() {
                return Err(Declined::Running("some warps have not issued a product"));
            }
            let charges = &mut self.stats.charges;
            charges.max_depth = charges.max_depth.max(1);
            if cta.storage.has_positions {
                for warp in cta.storage.warps.iter().filter(|warp| !warp.stale) {
                    charges.add(&warp.stack.charges);
                }
            }
            self.reclaim_storage();
            if self.screened {
                let cta = self.ctas[self.slot].index;
                self.observer.screen().into_iter().for_each(|screen| screen.cta_ended(cta));
            }
            self.count_ended_cta();
            // The CTAs of a cluster begin in the order of their ranks.
            let filled = self.refill(self.slot);
            self.slot = filled.last().unwrap_or(self.slot);
            self.next_slot();
            if self.stats.ctas.is_multiple_of(self.context.cluster_size as u64) {
                self.commit_memory();
            }
            return Ok(());
        }
        // From here on, turns of several CTAs interleave, so no CTA can be committed alone.
        self.commits.allowed = false;
        self.ctas[self.slot].is_blocked = !self.issued;
        if !self.issued && self.is_cluster_blocked() {
            return Err(Declined::Running("no warp can go on"));
        }
        let round = self.ctas[self.slot + 1..].iter().all(|cta| !cta.alive);
        self.next_slot();
        if round { self.round() } else { Ok(()) }
    }

    fn count_ended_cta(&mut self) {
        self.stats.ctas += 1;
        self.progress = true;
        self.stalled = 0;
    }

    /// Goes on from the visited CTA, which has ended, to the next one in the same storage, and
    /// returns whether that is possible: the CTAs that follow have not begun, and of the warps of
    /// the one that has ended, the interpreter has looked after none. Nothing is committed.
    #[inline]
    pub(crate) fn follow_in_place(&mut self) -> bool {
        let (slot, next) = (self.slot, (self.slot + 1) % self.ctas.len());
        let cta = &self.ctas[slot];
        let is_alone = self.context.cluster_size == 1 && !self.screened && self.detail.is_none();
        let is_next = match next == slot {
            true => !self.rest.is_empty(),
            false => self.ctas[next].alive && self.ctas[next].storage.is_empty(),
        };
        if !is_alone || !is_next || cta.storage.has_positions {
            return false;
        }
        let charges = &mut self.stats.charges;
        charges.max_depth = charges.max_depth.max(1);
        self.count_ended_cta();
        self.fill_slot(slot);
        if let Ok([ended, next]) = self.ctas.get_disjoint_mut([slot, next]) {
            std::mem::swap(&mut ended.storage, &mut next.storage);
        }
        self.next_slot();
        self.ctas[next].storage.clear(self.context.code);
        true
    }

    /// Returns how many CTAs may follow the visited one as by [`Self::follow_in_place`], if each
    /// needs no more than that its shared memory is cleared.
    pub(crate) fn ctas_ahead(&self) -> u64 {
        let (code, cta) = (self.context.code, &self.ctas[self.slot]);
        let is_alone = self.context.cluster_size == 1 && !self.screened && self.detail.is_none();
        let is_plain = code.cleared.is_empty() && code.local_bytes == 0;
        if !is_alone || !is_plain || cta.storage.has_positions {
            return 0;
        }
        let (others, begun) = self.ctas.split_at(self.slot);
        let others = begun[1..].iter().chain(others);
        let begins =
            |(index, cta): (u64, &Cta)| cta.alive && cta.storage.is_empty() && cta.index == index;
        let end = cta.index + self.ctas.len() as u64;
        match (cta.index + 1..end).zip(others).all(begins) && self.rest.start == end {
            true => self.rest.end.saturating_sub(end),
            false => 0,
        }
    }

    /// Takes note that so many CTAs have followed the visited one, no more than
    /// [`Self::ctas_ahead`] allows: all of these have ended but the last.
    pub(crate) fn follow_ahead(&mut self, count: u64) {
        let (from, resident) = (self.slot, self.ctas.len() as u64);
        // Those in between have come and gone.
        let between = count.saturating_sub(resident);
        self.rest.start += between;
        self.stats.threads += between * u64::from(self.context.threads);
        self.slot = ((self.slot as u64 + between) % resident) as usize;
        for _ in between..count {
            self.fill_slot(self.slot);
            self.next_slot();
        }
        if let Ok([ended, next]) = self.ctas.get_disjoint_mut([from, self.slot]) {
            std::mem::swap(&mut ended.storage, &mut next.storage);
        }
        let charges = &mut self.stats.charges;
        charges.max_depth = charges.max_depth.max(1);
        self.stats.ctas += count - 1;
        self.count_ended_cta();
    }

    /// Returns how many turns there may be before the observer is asked whether the launch goes on.
    pub(crate) fn turns_left(&self) -> u32 {
        POLL_TURNS.saturating_sub(self.turns.wrapping_sub(self.last_poll))
    }

    /// Ends a round over all resident CTAs. A launch whose state repeats is declined, because the
    /// exact engine reports hangs.
    fn round(&mut self) -> Result<(), Declined> {
        self.progress |= self.make_more_resident()?;
        if std::mem::take(&mut self.progress) {
            self.quiet = 0;
            self.reference = None;
            return Ok(());
        }
        self.quiet += 1;
        let rounds = quiet_rounds(self.ctas.len());
        if self.quiet < rounds || !self.quiet.is_multiple_of(rounds / COMPARISONS) {
            return Ok(());
        }
        self.write_back();
        let hash = self.state_hash();
        match self.reference {
            Some((reference, _)) if reference == hash => {
                Err(Declined::Running("its state repeats"))
            }
            Some((_, until)) if self.quiet < until => Ok(()),
            _ => {
                self.reference = Some((hash, 2 * self.quiet));
                Ok(())
            }
        }
    }

    /// As `vm::State` does after a round in which no CTA has ended; whether more are resident.
    fn make_more_resident(&mut self) -> Result<bool, Declined> {
        self.stalled += 1;
        let (before, most) = (self.ctas.len(), self.context.most_resident);
        // CTAs of a parallel launch do not wait for each other.
        if self.stalled < STALLED_ROUNDS || before >= most || self.workers.is_some() {
            return Ok(false);
        }
        self.stalled = 0;
        if !self.context.fits(most) {
            return Err(Declined::Running(NO_ROOM));
        }
        while self.ctas.len() < most && !self.rest.is_empty() {
            self.ctas.push(Cta::default());
            self.fill_slot(self.ctas.len() - 1);
        }
        Ok(self.ctas.len() > before)
    }

    /// A number that is the same for states that agree in all on which their future depends. For
    /// others it may be, too: then a launch is repeated in vain.
    fn state_hash(&mut self) -> u64 {
        let code = self.context.code;
        let slice = self.slice.get_or_insert_with(|| Box::new(Slice::new(code)));
        let alive = self.ctas.iter().filter(|cta| cta.alive);
        slice.turn_to(code, alive.flat_map(|cta| &cta.storage.warps));
        let mut state = 0xcbf2_9ce4_8422_2325u64;
        let clock = if slice.reads_clock() { self.quiet } else { 0 };
        let mut add =
            |word: u64| state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        add(clock);
        for cta in self.ctas.iter().filter(|c| c.alive) {
            add(cta.index);
            for warp in &cta.storage.warps {
                for entry in warp.stack.entries() {
                    add(u64::from(entry.block) << 32 | u64::from(entry.lanes));
                }
                add(warp.resume as u64);
                warp.frames.iter().for_each(|frame| frame.words(&mut add));
                slice.values(warp, &mut add);
            }
        }
        state
    }

    /// Returns whether a CTA that ends its turn now may be followed by the next one at once: nobody
    /// is due to be asked whether the launch goes on.
    #[inline]
    pub(crate) fn may_follow(&self, turns: u32) -> bool {
        let due = self.turns.wrapping_add(turns).wrapping_sub(self.last_poll) >= POLL_TURNS;
        !due && !self.workers.is_some_and(Workers::is_stopped)
    }

    /// Runs a turn of one warp, or, with a worker, of all warps of the CTA.
    #[inline(always)]
    fn turn<const SHARED: bool>(&mut self) -> Result<(), Declined> {
        if let Some(worker) = self.worker.take() {
            return self.visit(worker);
        }
        let code = self.context.code;
        self.back_edges = 0;
        let cta = &mut self.ctas[self.slot];
        if cta.storage.warps[self.group].parked
            || cta.storage.warps[self.group].stack.top().is_none()
        {
            return Ok(());
        }
        // The running warp is taken out of its CTA so that both can be mutated.
        let mut warp = std::mem::replace(&mut cta.storage.warps[self.group], vacant());
        let mut end = Ok(());
        while let Some(&top) = warp.stack.top() {
            match self.block::<SHARED>(code, &mut warp, &top) {
                Ok(StepOutcome::Next) if self.back_edges < BACK_EDGES => {}
                Ok(_) => break,
                Err(declined) => {
                    end = Err(declined);
                    break;
                }
            }
        }
        self.ctas[self.slot].storage.warps[self.group] = warp;
        end
    }

    /// Runs a block, or the rest of it.
    #[inline(always)]
    fn block<const SHARED: bool>(
        &mut self,
        code: &Code,
        warp: &mut Warp,
        top: &Entry,
    ) -> Result<StepOutcome, Declined> {
        let lanes = top.lanes;
        let block = &code.blocks[top.block as usize];
        let steps = &code.steps[block.steps.clone()];
        let first = warp.resume;
        let mut off = 0;
        for (i, step) in steps.iter().enumerate().skip(first) {
            let on = match &step.guard {
                None => lanes,
                Some(guard) => {
                    let on = warp.guarded(guard, lanes);
                    off += (lanes & !on).count_ones();
                    if let Some(detail) = &mut self.detail {
                        detail.predicate_off(block.steps.start + i, lanes & !on);
                    }
                    on
                }
            };
            if on == 0 {
                continue;
            }
            let pc = block.first + i as u64;
            let outcome = match const { SHARED } {
                true => level::portable_step(self, warp, step, pc, on)?,
                false => self.step(warp, step, pc, on)?,
            };
            if outcome == StepOutcome::Park {
                warp.resume = i + 1;
                self.count(warp, top, (first, i + 1 - first), off)?;
                return Ok(StepOutcome::Park);
            }
        }
        warp.resume = 0;
        let issues = steps.len() - first + usize::from(block.end_issues);
        let issues = if block.is_free { 0 } else { issues };
        self.count(warp, top, (first, issues), off)?;
        self.end(warp, block, lanes)
    }

    /// Counts `issues` issues for the same lanes. `off` is the number of their lane slots that
    /// guards turned off.
    #[inline(always)]
    fn count(
        &mut self,
        warp: &Warp,
        top: &Entry,
        (first, issues): (usize, usize),
        off: u32,
    ) -> Result<(), Declined> {
        let n = issues as u64;
        if n == 0 {
            return Ok(());
        }
        self.issue(n)?;
        self.issued = true;
        let is_head = self.context.code.blocks[top.block as usize].is_head;
        self.stats.block_issues += u64::from(first == 0 && is_head);
        let active = u64::from(top.lanes.count_ones());
        let exited = u64::from(warp.exited.count_ones());
        let launched = u64::from(warp.launched.count_ones());
        let never_launched = u64::from(WARP_SIZE) - launched;
        let lanes = GroupLanes { never_launched, exited, waiting: 0, active };
        let one = LaneSlots::of_issues(1, WARP_SIZE, lanes);
        self.stats.slots.add_times(&one, n);
        self.stats.slots.predicate_off(u64::from(off));
        if let Some(detail) = &mut self.detail {
            detail.count(self.context.code, top.block, (first, issues), &one, top.depth);
        }
        Ok(())
    }

    /// Returns the issues of the CTA that have been counted.
    pub(crate) fn issues(&self) -> u64 {
        self.ctas[self.slot].issues
    }

    /// Returns the issues of the CTA before one of the running warp's block.
    pub(crate) fn clock(&self, warp: &Warp, pc: u64) -> u64 {
        let blocks = &self.context.code.blocks;
        let first = warp.stack.top().map_or(0, |top| blocks[top.block as usize].first);
        let since = pc.wrapping_sub(first).wrapping_sub(warp.resume as u64);
        self.ctas[self.slot].issues.wrapping_add(since)
    }

    /// Adds issues to the CTA's count, and declines the launch if they exceed the limit.
    #[inline(always)]
    pub(crate) fn issue(&mut self, n: u64) -> Result<(), Declined> {
        let cta = &mut self.ctas[self.slot];
        cta.issues += n;
        if cta.issues > self.context.limit {
            return Err(Declined::Running("a CTA takes more issues than the limit"));
        }
        Ok(())
    }

    /// Executes the end of a block.
    #[inline(always)]
    pub(crate) fn end(
        &mut self,
        warp: &mut Warp,
        block: &Block,
        lanes: u32,
    ) -> Result<StepOutcome, Declined> {
        let code = self.context.code;
        let place = |block: u32| code.blocks[block as usize].first;
        match &block.end {
            End::Go(to) => {
                if block.end_issues {
                    self.back_edges += u32::from(place(*to) <= block.pc);
                }
                warp.stack.go(*to);
            }
            End::Branch(guard, to, next) => {
                let taken = warp.guarded(guard, lanes);
                let stay = lanes & !taken;
                self.guard_off(stay);
                self.stats.conditional_branches += 1;
                self.target(1);
                if taken == 0 || stay == 0 || to == next {
                    let target = if taken != 0 { *to } else { *next };
                    self.back_edges += u32::from(place(target) <= block.pc);
                    warp.stack.go(target);
                } else {
                    let mut targets = [(*to, place(*to), taken), (*next, place(*next), stay)];
                    targets.sort_unstable_by_key(|t| t.1);
                    self.split(warp, block, &targets);
                }
            }
            End::Switch(index, table) => {
                let beyond = Declined::Running("a branch index is beyond its table");
                let targets = code.targets(lanes, |lane| {
                    let index = usize::try_from(warp.lane(*index, lane)).ok();
                    index.and_then(|i| table.get(i)).copied().ok_or(beyond)
                })?;
                self.count_branch(&targets);
                self.target(targets.len() as u64);
                self.back_edges += u32::from(targets.iter().any(|t| t.1 <= block.pc));
                match targets[..] {
                    [(to, ..)] => warp.stack.go(to),
                    _ => warp.stack.split(block.pc, &targets, block.rejoin),
                }
            }
            End::Call(to, back) => {
                self.back_edges += u32::from(place(*to) <= block.pc);
                warp.stack.call(*to, *back);
            }
            End::CallByAddress(address, callees, back) => {
                self.call_by_address(warp, block.pc, (*address, callees, *back), lanes)?;
            }
            End::Return(guard, next, back) => {
                let returning = guard.as_ref().map_or(lanes, |g| warp.guarded(g, lanes));
                self.guard_off(lanes & !returning);
                let back = code.returns_to(*back, warp, returning)?;
                warp.stack.return_lanes(returning, *next, back);
            }
            End::ReturnBy(..) => return Err(Declined::Running("lanes are at the end of no block")),
            End::Exit(guard, next) => {
                let ending = guard.as_ref().map_or(lanes, |g| warp.guarded(g, lanes));
                self.guard_off(lanes & !ending);
                warp.exited |= ending;
                self.ctas[self.slot].live -= ending.count_ones();
                warp.stack.exit(ending, *next);
                if ending != 0 {
                    self.after_exit()?;
                    self.end_in_cluster(self.group, ending);
                }
            }
        }
        Ok(StepOutcome::Next)
    }

    /// Counts lanes of an end of a block whose guard does not hold.
    #[inline(always)]
    fn guard_off(&mut self, lanes: u32) {
        if let Some(detail) = &mut self.detail {
            detail.guard_off_at_end(lanes);
        }
    }

    /// Counts distinct branch targets.
    #[inline(always)]
    fn target(&mut self, count: u64) {
        if let Some(detail) = &mut self.detail {
            detail.counts.branch_targets += count;
        }
    }

    /// Counts a branch whose lanes go to these targets.
    pub(crate) fn count_branch(&mut self, targets: &[Target]) {
        self.stats.conditional_branches += 1;
        if targets.len() > 1 {
            self.count_divergence(targets);
        }
    }

    fn count_divergence(&mut self, targets: &[Target]) {
        self.stats.divergent_branches += 1;
        self.stats.divergent_paths += targets.len() as u64;
    }

    #[inline(never)]
    fn split(&mut self, warp: &mut Warp, block: &Block, targets: &[Target]) {
        self.count_divergence(targets);
        self.target(targets.len() as u64 - 1);
        self.back_edges += u32::from(targets.iter().any(|t| t.1 <= block.pc));
        warp.stack.split(block.pc, targets, block.rejoin);
    }
}

/// Creates a placeholder for a warp that is taken out of its CTA.
pub(crate) fn vacant() -> Warp {
    Warp {
        narrow: Vec::new(),
        wide: Vec::new(),
        preds: Vec::new(),
        scalars: Vec::new(),
        stack: crate::stack::Stack::vacant(),
        first_thread: 0,
        launched: 0,
        exited: 0,
        parked: true,
        resume: 0,
        stale: false,
        frames: Vec::new(),
    }
}
