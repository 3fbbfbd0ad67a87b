//! Launches on the fast engine, where it can run them.

use std::any::Any;
use std::sync::PoisonError;

use fast::{Apart, Declined, Detail, Finished, GoOn, Level, Threads, WarpAccess, WarpAccesses};
use jit::{Coverage, How, Ready};
use simt::memory::MemoryMap;
use simt::observe::Access;
use vm::{Launch, State};

use super::context::{VmContext, stats};
use crate::machine::{Choice, End, LaunchProblem, LaunchRequest, LaunchResult, Progress, Watch};
use crate::stats::{Batch, Counters, LaunchStats, Line, PcSlots};

/// What came of trying.
pub(super) enum Tried {
    /// The launch has ended, or was interrupted, with these counts.
    Ran(Box<LaunchResult>, Box<vm::Stats>),
    /// The exact engine has to go on with it, and with these counts.
    Begun(Box<State<1>>, Box<Counters>),
    /// The exact engine has to run it.
    Exact,
}

impl VmContext<'_> {
    /// Runs a launch on the fast engine, unless the request or the kernel wants the exact one. Memory changes only if it ran, or has begun.
    pub(super) fn try_fast(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Tried, LaunchProblem> {
        let seen = watch.probe().is_some() || super::options::checks_facts(request.options);
        let why = match request.engine {
            Choice::Exact => Some("asked for"),
            _ if seen => Some("something looks at its events"),
            _ if request.mechanism != "ipdom" => {
                Some("the fast engine has the mechanism ipdom alone")
            }
            _ if request.warp_size != 32 => Some("the fast engine has warps of 32 lanes alone"),
            Choice::Fast | Choice::Interpreted | Choice::Both => None,
        };
        if let Some(why) = why {
            watch.ran_on(&format!("exact ({why})"));
            return Ok(Tried::Exact);
        }
        let mut state = self.fresh(request)?;
        let program = self.program();
        let detailed = request.detailed;
        let blocks = request.grid.iter().product();
        // Counts of CTAs that have ended for good.
        let mut done = if detailed {
            Counters::with_pcs(PcSlots::new(program.program.code().len()))
        } else {
            Counters::default()
        };
        // With assumptions about indices first, and without if one of them fails.
        for assume in [true, false] {
            let how = How {
                assume,
                level: request.level.unwrap_or_else(Level::best).or_less(),
                compile: request.engine != Choice::Interpreted,
                detailed,
                threads: request.threads.count,
                eager: request.threads.eager,
            };
            let ready = program.ready.lock().unwrap_or_else(PoisonError::into_inner).ready(
                &program.program,
                &state,
                how,
            );
            let ready = match ready {
                Ok(ready) => ready,
                Err(declined) => return Ok(exact(declined, state, done, watch)),
            };
            let sums = Sums::default();
            let mut counting = Counting { sums, done, blocks, watch: &mut *watch };
            std::mem::swap(state.memory_mut(), self.memory());
            let ran = ready.run(&mut state, &mut counting);
            std::mem::swap(state.memory_mut(), self.memory());
            match ran {
                Ok(finished) => {
                    if let Some(detail) = &finished.detail {
                        counting.settled();
                        counting.done(detail);
                    }
                    done = counting.done;
                    watch.ran_on(&ran_on(&ready, &finished));
                    let end = if finished.done { End::Done } else { End::Interrupted };
                    if detailed {
                        put_stats(&mut done, &finished.stats);
                    }
                    let engine = "fast";
                    let stats = stats(program, request, &end, &finished.stats, done);
                    let stats = LaunchStats { engine, ..stats };
                    *self.memory() = finished.memory;
                    let output = Vec::new();
                    let words = String::new();
                    let result = LaunchResult { end, stats, output, words };
                    return Ok(Tried::Ran(Box::new(result), Box::new(finished.stats)));
                }
                Err(Declined::Wrapped) if assume => done = counting.done,
                Err(declined) => {
                    done = counting.done;
                    return Ok(exact(declined, state, done, watch));
                }
            }
        }
        Ok(exact(Declined::Wrapped, state, done, watch))
    }

    /// The state before a launch, without memory.
    pub(super) fn fresh(&self, request: &LaunchRequest<'_>) -> Result<State<1>, LaunchProblem> {
        let (launch, _): (Launch<1>, _) = self.prepare(request, MemoryMap::new())?;
        let state = vm::begin_bare(&self.program().program, launch);
        state.map_err(|error| self.problem(&error))
    }
}

/// How a launch was run.
fn ran_on(ready: &Ready, finished: &Finished) -> String {
    let level = finished.level;
    let engine = match ready.coverage() {
        None => format!("fast ({level})"),
        Some(Ok(coverage)) if coverage.native == coverage.steps => {
            format!("fast (compiled, {level})")
        }
        Some(Ok(Coverage { native, steps, .. })) => {
            format!(
                "fast (compiled, {level}; {} of {steps} instructions interpreted)",
                steps - native
            )
        }
        Some(Err(refused)) => format!("fast ({level}; not compiled: {refused})"),
    };
    engine + &on_threads(finished.threads)
}

/// How many threads ran it, where several might have.
fn on_threads(threads: Threads) -> String {
    match threads {
        Threads::Many(n) => format!(", {n} threads"),
        Threads::One(why) => format!(", one thread: {why}"),
        Threads::Asked => String::new(),
    }
}

/// The exact engine has to run a launch, or to go on with it where CTAs of it have ended for good.
fn exact(declined: Declined, state: State<1>, mut done: Counters, watch: &mut dyn Watch) -> Tried {
    watch.ran_on(&format!("exact ({declined})"));
    match state.progress() {
        (0, _) => Tried::Exact,
        _ => {
            put_stats(&mut done, state.stats());
            Tried::Begun(Box::new(state), Box::new(done))
        }
    }
}

/// Counts of accesses.
#[derive(Default)]
struct Sums {
    counters: Counters,
    /// Accesses that wait to be counted.
    batch: Batch,
}

impl Sums {
    fn warp(&mut self, access: &WarpAccess<'_>) -> bool {
        fast::wide(
            #[inline(always)]
            || self.counters.warp(access, &mut self.batch),
        )
    }

    fn warps(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        fast::wide(
            #[inline(always)]
            || self.counters.warps(accesses, &mut self.batch),
        )
    }

    fn finish(mut self) -> Counters {
        self.counters.finish(&mut self.batch);
        self.counters
    }
}

/// Counts accesses, and asks whether to go on.
struct Counting<'w> {
    /// Of accesses since CTAs have last ended for good.
    sums: Sums,
    /// Of all those CTAs; in the end, of all.
    done: Counters,
    blocks: u64,
    watch: &'w mut dyn Watch,
}

impl GoOn for Counting<'_> {
    fn go_on(&mut self, blocks_done: u64, issues: u64) -> bool {
        self.watch.go_on(Progress { blocks_done, blocks: self.blocks, issues })
    }

    fn access(&mut self, access: &Access<'_>) {
        self.sums.counters.accesses(access, 1);
    }

    fn accesses(&mut self, access: &Access<'_>, times: u64) {
        self.sums.counters.accesses(access, times);
    }

    fn line(&mut self, line: &fast::Line) -> bool {
        count_line(&mut self.sums.counters, line)
    }

    fn warp(&mut self, access: &WarpAccess<'_>) -> bool {
        self.sums.warp(access)
    }

    fn warps(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        self.sums.warps(accesses)
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn settled(&mut self) {
        self.done.add_accesses(&std::mem::take(&mut self.sums).finish());
    }

    fn done(&mut self, detail: &Detail) {
        put_detail(&mut self.done, detail);
    }

    fn apart(&self) -> Option<Box<dyn Apart>> {
        Some(Box::new(Beside(Sums::default())))
    }

    fn join(&mut self, apart: Box<dyn Apart>) {
        if let Ok(beside) = apart.into_any().downcast::<Beside>() {
            self.sums.counters.add_accesses(&beside.0.finish());
        }
    }
}

/// Counts accesses of some blocks, on a thread of its own: the sums tell nothing of the order.
struct Beside(Sums);

impl GoOn for Beside {
    fn go_on(&mut self, _: u64, _: u64) -> bool {
        true
    }

    fn access(&mut self, access: &Access<'_>) {
        self.0.counters.accesses(access, 1);
    }

    fn accesses(&mut self, access: &Access<'_>, times: u64) {
        self.0.counters.accesses(access, times);
    }

    fn line(&mut self, line: &fast::Line) -> bool {
        count_line(&mut self.0.counters, line)
    }

    fn warp(&mut self, access: &WarpAccess<'_>) -> bool {
        self.0.warp(access)
    }

    fn warps(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        self.0.warps(accesses)
    }
}

impl Apart for Beside {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

fn count_line(counters: &mut Counters, line: &fast::Line) -> bool {
    let &fast::Line { pc, kind, space, size, first_thread, lanes, at, stride, times } = line;
    let line = Line { pc, kind, space, size, first_thread, lanes, at, stride };
    counters.lines(&line, times)
}

/// Adds what CTAs did beside accesses, of one run of a launch or of a part of it.
fn put_detail(counters: &mut Counters, detail: &Detail) {
    let counts = Counters {
        branches: detail.branches,
        branch_targets: detail.branch_targets,
        max_depth: detail.max_depth,
        depth_sum: detail.depth_sum,
        barrier_arrivals: detail.barrier_arrivals,
        collectives: detail.collectives,
        fences: detail.fences,
        active_lanes: detail.active_lanes.clone(),
        ..Counters::default()
    };
    counters.add_events(&counts);
    for &(place, slots) in &detail.by_place {
        counters.by_pc.add(place, &slots);
    }
}

/// Sets what is counted without details, too: of the whole launch up to now.
fn put_stats(counters: &mut Counters, stats: &vm::Stats) {
    counters.divergent_branches = stats.divergent_branches;
    counters.divergent_targets = stats.divergent_paths;
    counters.depth_issues = stats.slots.vector_issues;
    counters.ctas = stats.ctas;
}
