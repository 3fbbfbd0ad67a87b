//! Runs the CTAs of one launch on several host threads, to the same end as on one.
//!
//! Threads run CTAs optimistically, each on a part of memory (`simt::memory::DirectMemory::parts`)
//! that grants a word to any number of CTAs that only read it, to one CTA that writes it, or to any
//! number of CTAs that change it by one commuting operation. While no claim is refused, no CTA can
//! observe the order in which CTAs ran. Memory and each CTA's counts are then those of the
//! canonical schedule, and the launch's counts are their sums. If a claim is refused, or a CTA
//! would fault or hang, all effects are undone and the launch runs on one thread in the canonical
//! schedule.
//!
//! Claims cost time. The first CTA is therefore measured while it runs: which regions it writes
//! (from then on, loads from all other regions need no claims), how many instructions it issues,
//! and how many of its accesses make claims. If claims would cost more than threads save, the
//! launch runs on one thread.

use crate::code::{Code, Dst, Kind};
use crate::context::Context;
use crate::finals::Finals;
use crate::level::{self, Level};
use crate::machine::{Ended, Flow, Machine};
use crate::{Apart, Declined, GoOn, Line, Tier, WarpAccess, WarpAccesses};
use ir::Sreg;
use ir::mods::Space;
use simt::memory::{DirectMemory, Together};
use simt::observe::Access;
use simt::{GroupId, Pc, WarpMask};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use vm::Stats;

/// The maximum number of host threads of a launch.
pub const MOST_THREADS: usize = 256;

/// Issues of the first CTA that are measured before threads start.
const SAMPLE: u64 = 10_000;
/// Issues of a launch below which threads are not worth starting.
const WORTH: u64 = 100_000;
/// The cost of an access with a claim, in issues: in compiled code, where it calls the interpreter,
/// and in the interpreter.
const FOLLOWED: [u64; 2] = [40, 4];
/// The cost of a turn beyond its issues, including a share of the cost of a CTA, in issues.
const TURN: u64 = 100;
/// The maximum number of attempts on several threads. Each knows the regions that earlier ones
/// found to be written.
const ATTEMPTS: usize = 3;
/// The number of launches of a kernel that run on one thread after a claim was refused.
const DISTRUST: u32 = 32;
/// The period between calls of the observer while only other threads still run.
const LOOK: Duration = Duration::from_millis(20);

/// Returns the number of host threads that may run the CTAs of launches.
#[must_use]
pub fn host_threads() -> usize {
    // The query takes longer than a short launch.
    static KNOWN: OnceLock<usize> = OnceLock::new();
    let ask = || thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    *KNOWN.get_or_init(ask)
}

/// The number of threads that ran a launch, or the reason for one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This many.
    Many(usize),
    /// One, as the caller asked.
    Asked,
    /// One, for this reason.
    One(&'static str),
}

/// The thread settings of a kernel, and what its earlier launches have shown.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) threads: usize,
    /// Whether launches take all threads even where that does not pay.
    pub(crate) eager: bool,
    /// Bytes of the journal after which the effects of ended CTAs are committed.
    pub(crate) final_after: usize,
    /// The number of launches still to run on one thread.
    distrust: AtomicU32,
}

impl Plan {
    pub(crate) fn new(threads: usize) -> Self {
        let threads = if threads == 0 { host_threads() } else { threads.min(MOST_THREADS) };
        let final_after = crate::finals::ENOUGH;
        Self { threads, eager: false, final_after, distrust: AtomicU32::new(0) }
    }
}

/// The state that the threads of a launch share.
pub(crate) struct Crew {
    next: AtomicU64,
    /// CTAs below this number may begin.
    open: AtomicU64,
    /// The number of CTAs that a thread takes at once.
    chunk: u64,
    /// Whether workers may get windows of memory, and whether a worker got one.
    pub(crate) windows: bool,
    lent: AtomicBool,
    stop: AtomicBool,
    /// Progress of all threads but the leading one.
    blocks: AtomicU64,
    issues: AtomicU64,
}

impl Crew {
    fn new(done: u64, total: u64, threads: usize, windows: bool) -> Self {
        let chunk = (total / (16 * threads as u64)).clamp(1, 64);
        Self {
            next: AtomicU64::new(done),
            open: AtomicU64::new(done + 1),
            chunk,
            windows,
            lent: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            blocks: AtomicU64::new(0),
            issues: AtomicU64::new(0),
        }
    }

    /// Takes the next CTAs for a thread; returns an empty range if there are none.
    pub(crate) fn more(&self) -> Range<u64> {
        let open = self.open.load(Relaxed);
        let take = |next: u64| (next < open).then(|| (next + self.chunk).min(open));
        match self.next.fetch_update(Relaxed, Relaxed, take) {
            Ok(first) => first..(first + self.chunk).min(open),
            Err(_) => 0..0,
        }
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub(crate) fn lent(&self) {
        if !self.lent.load(Relaxed) {
            self.lent.store(true, Relaxed);
        }
    }

    fn stop(&self) {
        self.stop.store(true, Relaxed);
    }
}

/// The settings of one run of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Way<'w> {
    pub(crate) level: Level,
    pub(crate) detailed: bool,
    /// Runs turns in the interpreter's place.
    pub(crate) tier: Option<&'w dyn Tier>,
    pub(crate) plan: &'w Plan,
    /// Whether the exact engine may resume after committed CTAs, rather than at the launch's start.
    pub(crate) in_parts: bool,
}

/// The reason why a launch is declined, and the statistics of the CTAs that the exact engine is to
/// skip.
pub(crate) type Left = Box<(Declined, Stats)>;

/// Runs a launch. If it is declined, memory is as the CTAs counted in the error have left it.
pub(crate) fn run(
    way: Way<'_>,
    context: &Context<'_>,
    mut memory: DirectMemory<'_>,
    watch: &mut dyn GoOn,
) -> Result<(Ended, Threads), Left> {
    let why = match together(way, context, &mut memory, watch) {
        Attempt::Ended(ended, threads) => return Ok((*ended, Threads::Many(threads))),
        Attempt::Declined(declined) => return Err(Box::new((declined, context.done))),
        Attempt::Alone(why) => why,
        Attempt::Met => Threads::One(MET),
    };
    let worker = way.tier.map(Tier::worker);
    let in_parts = way.in_parts && (!way.detailed || watch.has_parts());
    let mut machine = Machine::new(context, memory, way.detailed, &mut *watch, worker, None);
    machine.finals = Finals::new(in_parts.then_some(way.plan.final_after), context.done);
    match level::advance(way.level, &mut machine, u64::MAX) {
        Ok(flow) => {
            let mut ended = machine.ended(flow);
            summed(&mut ended, context);
            Ok((ended, why))
        }
        Err(declined) => {
            machine.memory.undo();
            let Finals { done, detail, .. } = std::mem::take(&mut machine.finals);
            drop(machine);
            if detail.is_some() {
                let mut ended = (done, detail, false);
                summed(&mut ended, context);
                if let Some(detail) = &ended.1 {
                    watch.done(detail);
                }
            }
            Err(Box::new((declined, done)))
        }
    }
}

const MET: &str = "its blocks met in memory";

/// The outcome of a run on several threads. Unless the launch has ended, memory is as before.
enum Attempt {
    Ended(Box<Ended>, usize),
    Declined(Declined),
    /// The launch must run on one thread.
    Alone(Threads),
    /// A claim was refused.
    Met,
}

/// Runs a launch on several threads, if that is possible and pays.
fn together(
    way: Way<'_>,
    context: &Context<'_>,
    memory: &mut DirectMemory<'_>,
    watch: &mut dyn GoOn,
) -> Attempt {
    let plan = way.plan;
    if plan.threads == 1 {
        return Attempt::Alone(Threads::Asked);
    }
    let why = one_thread(context);
    if let Some(why) = why.or_else(|| too_short(context).filter(|_| !plan.eager)) {
        return Attempt::Alone(Threads::One(why));
    }
    let less = |n: u32| n.checked_sub(1);
    if plan.distrust.fetch_update(Relaxed, Relaxed, less).is_ok() && !plan.eager {
        return Attempt::Alone(Threads::One("its blocks met in memory in an earlier launch"));
    }
    let mut known = Known { written: Vec::new(), windows: true };
    for _ in 0..ATTEMPTS {
        let before = known.clone();
        let attempt = attempt(way, context, memory, &mut known, watch);
        if !matches!(attempt, Attempt::Ended(..)) {
            memory.undo();
        }
        if !matches!(attempt, Attempt::Met) {
            return attempt;
        }
        if known == before {
            break;
        }
    }
    plan.distrust.store(DISTRUST, Relaxed);
    Attempt::Met
}

/// Findings of earlier attempts.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    /// Regions that are written.
    written: Vec<u32>,
    /// Whether windows are still allowed: none has caused a refused claim yet.
    windows: bool,
}

/// Returns why the code of a launch requires one thread, if it does.
fn one_thread(context: &Context<'_>) -> Option<&'static str> {
    if context.total < 2 {
        return Some("it has one block");
    }
    let steps = context.code.steps.iter();
    steps.filter_map(|step| told_order(&step.kind)).next()
}

/// Returns how a step can reveal the order of CTAs, if it can.
fn told_order(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Sreg { reg: Sreg::SmId, dst, .. } if *dst != Dst::None => {
            Some("it asks for its place among the resident blocks")
        }
        Kind::Atomic(atomic)
            if matches!(atomic.memory.space, Space::Global | Space::Generic)
                && atomic.commutes().is_none() =>
        {
            Some("its atomics depend on the order of blocks")
        }
        _ => None,
    }
}

/// Returns why a launch without loops has too few issues for threads, if so.
fn too_short(context: &Context<'_>) -> Option<&'static str> {
    let code: &Code = context.code;
    let most = (code.steps.len() + code.blocks.len()) as u64;
    let warps = u64::from(context.threads).div_ceil(u64::from(vm::WARP_SIZE));
    let few = context.total.saturating_mul(warps).saturating_mul(most) < WORTH;
    (few && !code.has_loops()).then_some(SHORT)
}

const SHORT: &str = "it is short";

/// Returns why threads would not pay, judged by the first CTA as far as it has run.
fn judge(
    way: Way<'_>,
    machine: &Machine<'_>,
    flow: Flow,
    claimed: &Together,
) -> Option<&'static str> {
    let (issues, total) = (machine.stats.slots.vector_issues, machine.context.total);
    if flow == Flow::Done && issues.saturating_mul(total) < WORTH {
        return Some(SHORT);
    }
    let written = claimed.written();
    let dense = machine.spans.iter().filter(|s| s.is_dense() && written.contains(&s.region));
    // With windows, one claim per CTA remains of these. Each access was claimed twice: once for the
    // access, and once for a window that the worker could not get yet.
    let spared: u64 = dense.map(|s| 2 * (s.times - 1)).sum();
    let followed = claimed.followed().saturating_sub(spared);
    let cost = followed * FOLLOWED[usize::from(way.tier.is_none())];
    let threads = (way.plan.threads as u64).min(total);
    let work = issues + TURN * u64::from(machine.turns);
    // Threads must save at least a fifth of the time.
    (5 * (work + cost) > 4 * threads * work)
        .then_some("following its accesses to memory would cost more than threads bring")
}

fn attempt(
    way: Way<'_>,
    context: &Context<'_>,
    memory: &mut DirectMemory<'_>,
    known: &mut Known,
    watch: &mut dyn GoOn,
) -> Attempt {
    let threads = usize::try_from(context.total).unwrap_or(usize::MAX).min(way.plan.threads);
    let (mut parts, claimed) = memory.parts(threads, &known.written);
    let crew = Crew::new(context.done.ctas, context.total, threads, known.windows);
    let Some(first) = parts.pop() else { return Attempt::Alone(Threads::Asked) };
    let mut counts: Vec<Option<Box<dyn Apart>>> = (0..threads).map(|_| None).collect();
    if way.detailed {
        counts.fill_with(|| watch.apart());
        if counts.iter().any(Option::is_none) {
            return Attempt::Alone(Threads::One("something watches its accesses in their order"));
        }
    }
    let (first_counts, counts) = (counts.pop().flatten(), counts);
    let done = &context.done;
    let mut leading = Leading { crew: &crew, done, watch: &mut *watch, counts: first_counts };
    let worker = way.tier.map(Tier::worker);
    let detailed = way.detailed;
    let mut machine = Machine::new(context, first, detailed, &mut leading, worker, Some(&crew));
    let mut ends = match level::advance(way.level, &mut machine, SAMPLE) {
        Ok(Flow::Stopped) => vec![Ok((machine.ended(Flow::Stopped), None))],
        Err(declined) => {
            drop(machine);
            vec![Err(declined)]
        }
        Ok(flow) => {
            if let Some(why) = judge(way, &machine, flow, &claimed).filter(|_| !way.plan.eager) {
                return Attempt::Alone(Threads::One(why));
            }
            claimed.trust();
            crew.open.store(context.total, Relaxed);
            all(way, machine, parts.into_iter().zip(counts).collect(), &crew)
        }
    };
    // The leading machine is the last.
    if let Some(Ok((_, counts))) = ends.last_mut() {
        *counts = leading.counts.take();
    }
    if claimed.refused() {
        let written = claimed.written();
        // A newly found written region explains the refusal; if there is none, a window may have
        // caused it.
        known.windows &= written != known.written || !crew.lent.load(Relaxed);
        known.written = written;
        return Attempt::Met;
    }
    sum(ends, threads, context, watch)
}

/// The outcome of one machine, and the observer of its accesses.
type Part = (Ended, Option<Box<dyn Apart>>);

/// Runs all remaining CTAs, on this thread's machine and on other threads.
fn all(
    way: Way<'_>,
    mut machine: Machine<'_>,
    parts: Vec<(DirectMemory<'_>, Option<Box<dyn Apart>>)>,
    crew: &Crew,
) -> Vec<Result<Part, Declined>> {
    let (context, lead) = (machine.context, thread::current());
    thread::scope(|scope| {
        let mut handles: Vec<ScopedJoinHandle<'_, _>> = Vec::new();
        for part in parts {
            let lead = lead.clone();
            let work = move || {
                let end = follow(way, context, part, crew);
                lead.unpark();
                end
            };
            // If the host has fewer threads than wanted, those that started run all CTAs.
            let Ok(handle) = thread::Builder::new().spawn_scoped(scope, work) else { break };
            handles.push(handle);
        }
        let own = level::advance(way.level, &mut machine, u64::MAX);
        if !matches!(own, Ok(Flow::Done)) {
            crew.stop();
        }
        let mut stopped = false;
        while !handles.iter().all(ScopedJoinHandle::is_finished) {
            thread::park_timeout(LOOK);
            let (blocks, issues) = (machine.stats.ctas, machine.stats.slots.issues());
            if !machine.watch.go_on(blocks, issues) {
                stopped = true;
                crew.stop();
            }
        }
        let ended = |flow| machine.ended(if stopped { Flow::Stopped } else { flow });
        let own = own.map(|flow| (ended(flow), None));
        let others =
            handles.into_iter().map(|h| h.join().unwrap_or_else(|panic| resume_unwind(panic)));
        others.chain([own]).collect()
    })
}

/// Runs CTAs on a thread other than the leading one.
fn follow(
    way: Way<'_>,
    context: &Context<'_>,
    (part, counts): (DirectMemory<'_>, Option<Box<dyn Apart>>),
    crew: &Crew,
) -> Result<Part, Declined> {
    let mut watch = Following { crew, told: (0, 0), counts };
    let worker = way.tier.map(Tier::worker);
    let mut machine = Machine::new(context, part, way.detailed, &mut watch, worker, Some(crew));
    let end = level::advance(way.level, &mut machine, u64::MAX);
    if end.is_err() {
        crew.stop();
    }
    let ended = end.map(|flow| machine.ended(flow));
    ended.map(|ended| (ended, watch.counts))
}

/// Sums the outcomes of all threads, if none was declined.
fn sum(
    ends: Vec<Result<Part, Declined>>,
    threads: usize,
    context: &Context<'_>,
    watch: &mut dyn GoOn,
) -> Attempt {
    if ends.iter().any(|end| matches!(end, Err(Declined::Wrapped))) {
        // This CTA wraps around in every order of CTAs, so one thread would be declined, too.
        return Attempt::Declined(Declined::Wrapped);
    }
    let Ok(parts) = ends.into_iter().collect::<Result<Vec<_>, _>>() else {
        return Attempt::Alone(Threads::One("a block of it may fault or hang"));
    };
    let mut all: Ended = (context.done, None, true);
    for ((stats, detail, done), counts) in parts {
        all.0.add(&stats);
        all.2 &= done;
        match (&mut all.1, detail) {
            (Some(sum), Some(detail)) => sum.add(&detail),
            (sum, detail) => *sum = detail,
        }
        if let Some(counts) = counts {
            watch.join(counts);
        }
    }
    summed(&mut all, context);
    Attempt::Ended(Box::new(all), threads)
}

/// Completes the details of the CTAs that this engine ran.
fn summed((stats, detail, _): &mut Ended, context: &Context<'_>) {
    if let Some(detail) = detail {
        detail.branches += stats.branches - context.done.branches;
        detail.finish(context.code);
    }
}

/// The observer of the leading thread: passes the progress of all threads on to the launch's
/// observer.
struct Leading<'w> {
    crew: &'w Crew,
    /// Statistics of the CTAs that ended before this engine took over.
    done: &'w Stats,
    watch: &'w mut dyn GoOn,
    /// Receives the accesses of this thread. The launch's observer merges them once all threads
    /// have succeeded.
    counts: Option<Box<dyn Apart>>,
}

impl GoOn for Leading<'_> {
    fn go_on(&mut self, blocks: u64, issues: u64) -> bool {
        let (others, theirs) = (&self.crew.blocks, &self.crew.issues);
        let (blocks, issues) = (blocks + self.done.ctas, issues + self.done.slots.issues());
        self.watch.go_on(blocks + others.load(Relaxed), issues + theirs.load(Relaxed))
    }

    fn looks(&mut self) -> bool {
        self.watch.looks()
    }

    fn standing(&mut self, lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {
        self.watch.standing(lanes);
    }

    fn access(&mut self, access: &Access<'_>) {
        if let Some(counts) = &mut self.counts {
            counts.access(access);
        }
    }

    fn accesses(&mut self, access: &Access<'_>, times: u64) {
        if let Some(counts) = &mut self.counts {
            counts.accesses(access, times);
        }
    }

    fn warp(&mut self, access: &WarpAccess<'_>) -> bool {
        self.counts.as_mut().is_some_and(|counts| counts.warp(access))
    }

    fn warps(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        self.counts.as_mut().map_or(0, |counts| counts.warps(accesses))
    }

    fn line(&mut self, line: &Line) -> bool {
        self.counts.as_mut().is_some_and(|counts| counts.line(line))
    }
}

/// The observer of another thread: publishes the thread's progress.
struct Following<'w> {
    crew: &'w Crew,
    told: (u64, u64),
    counts: Option<Box<dyn Apart>>,
}

impl GoOn for Following<'_> {
    fn go_on(&mut self, blocks: u64, issues: u64) -> bool {
        self.crew.blocks.fetch_add(blocks - self.told.0, Relaxed);
        self.crew.issues.fetch_add(issues - self.told.1, Relaxed);
        self.told = (blocks, issues);
        true
    }

    fn access(&mut self, access: &Access<'_>) {
        if let Some(counts) = &mut self.counts {
            counts.access(access);
        }
    }

    fn accesses(&mut self, access: &Access<'_>, times: u64) {
        if let Some(counts) = &mut self.counts {
            counts.accesses(access, times);
        }
    }

    fn warp(&mut self, access: &WarpAccess<'_>) -> bool {
        self.counts.as_mut().is_some_and(|counts| counts.warp(access))
    }

    fn warps(&mut self, accesses: &WarpAccesses<'_>) -> usize {
        self.counts.as_mut().map_or(0, |counts| counts.warps(accesses))
    }

    fn line(&mut self, line: &Line) -> bool {
        self.counts.as_mut().is_some_and(|counts| counts.line(line))
    }
}
