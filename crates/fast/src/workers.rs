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
//! Regions of which each CTA accesses bytes of its own by its instructions' footprints, or which
//! nobody writes ([`crate::disjoint`]), need no claims.
//!
//! Launches that always end ([`crate::ends`]) journal nothing.
//!
//! One thread gains from this, too, where CTAs wait at barriers: it runs them one after another
//! rather than in turns, so that warps find their registers and shared memory in the host's first
//! cache.
//!
//! Claims cost time. The first CTA is therefore measured while it runs: which regions it writes
//! (from then on, loads from all other regions need no claims), how many instructions it issues,
//! and how many of its accesses make claims. If claims would cost more than threads save, the
//! launch runs on one thread. So it does where earlier launches have been slower on several threads
//! ([`crate::speed`]).

use crate::code::{Code, Dst, Kind};
use crate::commit::Commits;
use crate::context::Context;
use crate::disjoint::Proven;
use crate::level;
use crate::machine::{Ended, Flow, Machine};
use crate::print::PRINTS;
use crate::progress::{LeadObserver, WorkerObserver};
use crate::speed::{Choice, Speeds};
use crate::storage_pool::StoragePool;
use crate::{Declined, ForkedSink, LaunchObserver, Tier};
use ir::Sreg;
use ir::mods::Space;
use products::Level;
use simt::memory::{DirectMemory, Together};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};
use vm::Counts;

/// The maximum number of host threads of a launch.
pub const MAX_THREADS: usize = 256;

/// Issues of the first CTA that are measured before threads start.
const SAMPLE_ISSUES: u64 = 10_000;
/// Issues of a launch below which threads are not worth starting, of compiled code (some
/// nanoseconds each) and of the interpreter (some ten).
const MIN_ISSUES: [u64; 2] = [250_000, 50_000];
/// The cost of an access with a claim, in issues: in compiled code, where it calls the interpreter,
/// and in the interpreter.
const CLAIM_COST: [u64; 2] = [40, 4];
/// The cost of a turn beyond its issues, including a share of the cost of a CTA, in issues.
const TURN_COST: u64 = 100;
/// The part of a CTA's work that claims may cost where one thread alone makes them, as a divisor.
const MAX_CLAIMS_OF_ONE: u64 = 2;
/// The maximum number of attempts on several threads. Each knows the regions that earlier ones
/// found to be written.
const MAX_ATTEMPTS: usize = 4;
/// The number of launches of a kernel that run on one thread after a claim was refused.
const BACKOFF_LAUNCHES: u32 = 32;
/// The period between calls of the observer while only other threads still run.
const POLL_PERIOD: Duration = Duration::from_millis(20);

/// Returns the number of host threads that may run the CTAs of launches.
#[must_use]
pub fn host_threads() -> usize {
    // The query takes longer than a short launch.
    static COUNT: OnceLock<usize> = OnceLock::new();
    let query = || thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    *COUNT.get_or_init(query)
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
pub(crate) struct Threading {
    pub(crate) threads: usize,
    /// Whether launches take all threads even where that does not pay.
    pub(crate) eager: bool,
    /// Bytes of the journal after which the effects of ended CTAs are committed.
    pub(crate) commit_after: usize,
    /// The number of launches still to run on one thread.
    backoff: AtomicU32,
    /// Of the launches on one thread, the number of those that are still to run in the canonical
    /// schedule after a claim was refused.
    canonical: AtomicU32,
    /// Whether an access without a footprint has reached a disjoint region.
    footprints_failed: AtomicBool,
    speeds: Speeds,
    /// The speeds of launches on one thread: in the canonical schedule ([`Choice::One`]), and one
    /// CTA after the other.
    orders: Speeds,
}

impl Threading {
    pub(crate) fn new(threads: usize) -> Self {
        let threads = if threads == 0 { host_threads() } else { threads.min(MAX_THREADS) };
        let commit_after = crate::commit::COMMIT_BYTES;
        Self {
            threads,
            eager: false,
            commit_after,
            backoff: AtomicU32::new(0),
            canonical: AtomicU32::new(0),
            footprints_failed: AtomicBool::new(false),
            speeds: Speeds::default(),
            orders: Speeds::default(),
        }
    }
}

/// The state that the threads of a launch share.
pub(crate) struct Workers {
    next: AtomicU64,
    /// CTAs below this number may begin.
    open: AtomicU64,
    /// The number of CTAs that a thread takes at once: of whole clusters.
    chunk: u64,
    /// Whether workers may get windows of memory, and whether a worker got one.
    pub(crate) windows: bool,
    window_granted: AtomicBool,
    stop: AtomicBool,
    /// Progress of all threads but the leading one.
    pub(crate) blocks: AtomicU64,
    pub(crate) issues: AtomicU64,
}

impl Workers {
    fn new((done, total, cluster): (u64, u64, u64), threads: usize, windows: bool) -> Self {
        let chunk = (total / (16 * threads as u64)).clamp(1, 64).next_multiple_of(cluster);
        Self {
            next: AtomicU64::new(done),
            open: AtomicU64::new(done + cluster),
            chunk,
            windows,
            window_granted: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            blocks: AtomicU64::new(0),
            issues: AtomicU64::new(0),
        }
    }

    /// Takes the next CTAs for a thread; returns an empty range if there are none.
    pub(crate) fn take_ctas(&self) -> Range<u64> {
        let open = self.open.load(Relaxed);
        // Chunks begin at multiples of their length: then they mostly write pages of their own.
        let end = |next: u64| ((next / self.chunk + 1) * self.chunk).min(open);
        let take = |next: u64| (next < open).then(|| end(next));
        match self.next.fetch_update(Relaxed, Relaxed, take) {
            Ok(first) => first..end(first),
            Err(_) => 0..0,
        }
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub(crate) fn record_window(&self) {
        if !self.window_granted.load(Relaxed) {
            self.window_granted.store(true, Relaxed);
        }
    }

    fn stop(&self) {
        self.stop.store(true, Relaxed);
    }
}

/// The settings of one run of a launch.
#[derive(Clone, Copy)]
pub(crate) struct LaunchPlan<'w> {
    pub(crate) level: Level,
    pub(crate) detailed: bool,
    /// Runs turns in the interpreter's place.
    pub(crate) tier: Option<&'w dyn Tier>,
    pub(crate) threading: &'w Threading,
    /// Storage of earlier launches.
    pub(crate) pool: &'w StoragePool,
    /// Whether the exact engine may resume after committed CTAs, rather than at the launch's start.
    pub(crate) may_commit: bool,
    /// Whether nothing can decline the launch, so that no effects are taken back.
    pub(crate) always_ends: bool,
    /// The number of issues after which the launch is declined as [`Declined::Long`].
    pub(crate) issues: u64,
}

impl LaunchPlan<'_> {
    /// Returns whether the launch may be declined for its length.
    pub(crate) fn is_limited(&self) -> bool {
        self.issues != u64::MAX
    }
}

/// The reason why a launch is declined, and what the CTAs have left that the exact engine is to
/// skip.
pub(crate) struct DeclinedAt {
    pub(crate) declined: Declined,
    /// Their statistics.
    pub(crate) done: Counts,
    /// What they have printed.
    pub(crate) output: Vec<u8>,
}

impl DeclinedAt {
    /// Returns the reason of a launch of which no further CTA is to be skipped.
    pub(crate) fn begin(declined: Declined, context: &Context<'_>) -> Box<Self> {
        Box::new(Self { declined, done: context.done, output: Vec::new() })
    }
}

/// Runs a launch. If it is declined, memory is as the CTAs counted in the error have left it.
pub(crate) fn run(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    mut memory: DirectMemory<'_>,
    observer: &mut dyn LaunchObserver,
) -> Result<(Ended, Threads), Box<DeclinedAt>> {
    let (resumes, screened) = (observer.resume_before(), observer.screen().is_some());
    let always_ends = resumes.is_none()
        && !screened
        && !plan.is_limited()
        && crate::ends::always_ends(context, &memory);
    let plan = LaunchPlan { always_ends, ..plan };
    let begin = Instant::now();
    let attempt = if screened {
        Attempt::Sequential(Threads::One("checks see its accesses"))
    } else if plan.is_limited() {
        Attempt::Sequential(Threads::One(SHORT))
    } else {
        run_parallel(plan, context, &mut memory, observer)
    };
    let why = match attempt {
        Attempt::Ended(ended, threads) => {
            record_speed(plan, context, (&ended, threads), Choice::Many, begin);
            return Ok((*ended, threads));
        }
        Attempt::Declined(declined) => return Err(DeclinedAt::begin(declined, context)),
        Attempt::Sequential(why) => why,
        Attempt::Conflict => Threads::One(CONFLICT),
    };
    memory.set_journalled(!always_ends);
    let worker = plan.tier.map(Tier::worker);
    let commits = plan.may_commit && !always_ends && !screened && !observer.takes_all_back();
    let may_commit = commits && (!plan.detailed || observer.can_commit());
    let mut machine = Machine::new(context, memory, plan, &mut *observer, worker, None);
    machine.commits = Commits::new(may_commit.then_some(plan.threading.commit_after), context.done);
    machine.commits.last = resumes.unwrap_or(u64::MAX);
    let begun = if screened { machine.begin_screened() } else { Ok(()) };
    let flow = begun.and_then(|()| level::advance(plan.level, &mut machine, plan.issues));
    let flow = match flow {
        Ok(Flow::Stopped) if resumes.is_some() => {
            Err(Declined::Running("whoever runs it has stopped it"))
        }
        // It may end between two calls of the observer.
        Ok(_) if machine.stats.slots.issues() > machine.commits.last => {
            Err(Declined::Running("it ends behind the place"))
        }
        Ok(Flow::Paused) => Err(Declined::Long),
        flow => flow,
    };
    match flow {
        Ok(flow) => {
            let mut ended = machine.ended(flow);
            finish_detail(&mut ended, context);
            record_speed(plan, context, (&ended, why), Choice::One, begin);
            Ok((ended, why))
        }
        Err(declined) => {
            assert!(!always_ends, "a launch that always ends is declined: {declined}");
            machine.memory.undo();
            let Commits { done, detail, output: printed, .. } =
                std::mem::take(&mut machine.commits);
            let mut output = std::mem::take(&mut machine.output);
            output.truncate(printed);
            drop(machine);
            if detail.is_some() {
                let mut ended = Ended { stats: done, detail, done: false, output: Vec::new() };
                finish_detail(&mut ended, context);
                if let Some(detail) = &ended.detail {
                    observer.declined_after_commit(detail);
                }
            }
            Err(Box::new(DeclinedAt { declined, done, output }))
        }
    }
}

/// Records the time of a launch that has ended, of which CTAs ran in the canonical schedule or
/// independently.
fn record_speed(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    (ended, threads): (&Ended, Threads),
    order: Choice,
    begin: Instant,
) {
    let threading = plan.threading;
    // The interpreter's speeds are not those of code.
    if !ended.done || threading.eager || plan.is_limited() {
        return;
    }
    let issues = ended.stats.slots.vector_issues - context.done.slots.vector_issues;
    let time = begin.elapsed();
    match threads {
        Threads::Many(_) => return threading.speeds.record(Choice::Many, issues, time),
        Threads::One(SLOWER) => threading.speeds.record(Choice::One, issues, time),
        Threads::One(_) | Threads::Asked => {}
    }
    if context.code.has_barriers() {
        threading.orders.record(order, issues, time);
    }
}

const SHORT: &str = "it is short";
const SLOWER: &str = "several threads have not been faster";
const CONFLICT: &str = "its blocks met in memory";
const PRINTING: &str = "it prints, in the order of blocks";

/// The outcome of a run on several threads. Unless the launch has ended, memory is as before.
enum Attempt {
    Ended(Box<Ended>, Threads),
    Declined(Declined),
    /// The launch must run on one thread.
    Sequential(Threads),
    /// A claim was refused.
    Conflict,
}

/// Runs a launch on several threads, if that is possible and pays.
fn run_parallel(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    memory: &mut DirectMemory<'_>,
    observer: &mut dyn LaunchObserver,
) -> Attempt {
    let threading = plan.threading;
    let asked = (threading.threads == 1).then_some(Threads::Asked);
    let why = why_one_thread(context);
    if let Some(why) = why.or_else(|| why_too_short(plan, context).filter(|_| !threading.eager)) {
        return Attempt::Sequential(asked.unwrap_or(Threads::One(why)));
    }
    if is_backed_off(&threading.backoff) && !threading.eager {
        let why = Threads::One("its blocks met in memory in an earlier launch");
        return Attempt::Sequential(asked.unwrap_or(why));
    }
    let slower = || !threading.eager && threading.speeds.choose() == Choice::One;
    let one = asked.or_else(|| slower().then_some(Threads::One(SLOWER)));
    let canonical = || {
        !threading.eager
            && (!context.code.has_barriers()
                || is_backed_off(&threading.canonical)
                || threading.orders.choose() == Choice::One)
    };
    if let Some(why) = one.filter(|_| canonical()) {
        return Attempt::Sequential(why);
    }
    let attempt = run_independent(plan, context, memory, observer, one);
    match (attempt, one) {
        (Attempt::Ended(ended, _), Some(why)) => Attempt::Ended(ended, why),
        (Attempt::Sequential(_) | Attempt::Conflict, Some(why)) => {
            threading.canonical.store(BACKOFF_LAUNCHES, Relaxed);
            Attempt::Sequential(why)
        }
        (attempt, _) => attempt,
    }
}

/// Returns whether launches are not to be tried in some way, and counts one of them.
fn is_backed_off(left: &AtomicU32) -> bool {
    left.fetch_update(Relaxed, Relaxed, |n: u32| n.checked_sub(1)).is_ok()
}

/// Runs the CTAs of a launch independently, on all threads, or on one for the reason in `one`.
fn run_independent(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    memory: &mut DirectMemory<'_>,
    observer: &mut dyn LaunchObserver,
    one: Option<Threads>,
) -> Attempt {
    let threading = plan.threading;
    let footprints_failed = threading.footprints_failed.load(Relaxed);
    let proven = match footprints_failed {
        false => Proven::new(context, memory),
        true => Proven::default(),
    };
    // Claims may be refused in regions that are not disjoint.
    let no_claims = !footprints_failed && proven.shared.is_empty();
    let always_ends = plan.always_ends && no_claims;
    let plan = LaunchPlan { always_ends, ..plan };
    memory.set_journalled(!always_ends);
    let threads = if one.is_some() { 1 } else { threading.threads };
    let mut history = AttemptHistory { written: proven.shared.clone(), windows: true, proven };
    for _ in 0..MAX_ATTEMPTS {
        let before = history.clone();
        let attempt = attempt(plan, context, memory, &mut history, (observer, threads));
        if !matches!(attempt, Attempt::Ended(..)) {
            memory.undo();
        }
        if !matches!(attempt, Attempt::Conflict) {
            return attempt;
        }
        if history.proven != before.proven {
            threading.footprints_failed.store(true, Relaxed);
        }
        if history == before {
            break;
        }
    }
    threading.backoff.store(BACKOFF_LAUNCHES, Relaxed);
    Attempt::Conflict
}

/// Findings of earlier attempts.
#[derive(Clone, Debug, PartialEq)]
struct AttemptHistory {
    /// Regions that are written.
    written: Vec<u32>,
    /// Whether windows are still allowed: none has caused a refused claim yet.
    windows: bool,
    /// What footprints tell of regions.
    proven: Proven,
}

/// Returns why the code of a launch requires one thread, if it does.
fn why_one_thread(context: &Context<'_>) -> Option<&'static str> {
    match context.cluster_size as u64 {
        1 if context.total < 2 => return Some("it has one block"),
        size if context.total <= size => return Some("it has one cluster"),
        _ => {}
    }
    let steps = context.code.steps.iter();
    steps.filter_map(|step| order_dependence(&step.kind)).next()
}

/// Returns how a step can reveal the order of CTAs, if it can.
fn order_dependence(kind: &Kind) -> Option<&'static str> {
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
fn why_too_short(plan: LaunchPlan<'_>, context: &Context<'_>) -> Option<&'static str> {
    let code: &Code = context.code;
    let most = (code.steps.len() + code.blocks.len()) as u64;
    let warps = u64::from(context.threads).div_ceil(u64::from(vm::WARP_SIZE));
    let few = context.total.saturating_mul(warps).saturating_mul(most) < min_issues(plan);
    (few && !code.has_loops()).then_some(TOO_SHORT)
}

const TOO_SHORT: &str = "it is short";

fn min_issues(plan: LaunchPlan<'_>) -> u64 {
    MIN_ISSUES[usize::from(plan.tier.is_none())]
}

/// Returns why threads would not pay, judged by the first CTA as far as it has run.
fn why_sequential(
    plan: LaunchPlan<'_>,
    machine: &Machine<'_>,
    flow: Flow,
    claimed: &Together,
    threads: usize,
) -> Option<&'static str> {
    let issues = machine.stats.slots.vector_issues;
    let total = machine.context.total / machine.context.cluster_size as u64;
    if flow == Flow::Done && issues.saturating_mul(total) < min_issues(plan) {
        return Some(TOO_SHORT);
    }
    let written = claimed.written();
    let dense = machine.spans.iter().filter(|s| s.is_dense() && written.contains(&s.region));
    // With windows, one claim per CTA remains of these. Each access was claimed twice: once for the
    // access, and once for a window that the worker could not get yet.
    let spared: u64 = dense.map(|s| 2 * (s.times - 1)).sum();
    let followed = claimed.followed().saturating_sub(spared);
    let cost = followed * CLAIM_COST[usize::from(plan.tier.is_none())];
    let work = issues + TURN_COST * u64::from(machine.turns);
    if threads == 1 {
        return (cost > work / MAX_CLAIMS_OF_ONE)
            .then_some("following its accesses to memory costs");
    }
    let threads = (threads as u64).min(total);
    // Threads must save at least a fifth of the time.
    (5 * (work + cost) > 4 * threads * work)
        .then_some("following its accesses to memory would cost more than threads bring")
}

fn attempt(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    memory: &mut DirectMemory<'_>,
    history: &mut AttemptHistory,
    (observer, threads): (&mut dyn LaunchObserver, usize),
) -> Attempt {
    let threads = usize::try_from(context.total).unwrap_or(usize::MAX).min(threads);
    let (mut parts, claimed) = history.proven.parts(memory, threads, &history.written);
    let ctas = (context.done.ctas, context.total, context.cluster_size as u64);
    let workers = Workers::new(ctas, threads, history.windows);
    let Some(first) = parts.pop() else { return Attempt::Sequential(Threads::Asked) };
    let mut forks: Vec<Option<Box<dyn ForkedSink>>> = (0..threads).map(|_| None).collect();
    if plan.detailed {
        forks.fill_with(|| observer.fork());
        if forks.iter().any(Option::is_none) {
            return Attempt::Sequential(Threads::One(
                "something watches its accesses in their order",
            ));
        }
    }
    let (first_fork, forks) = (forks.pop().flatten(), forks);
    let done = &context.done;
    let mut lead_observer =
        LeadObserver { workers: &workers, done, observer: &mut *observer, fork: first_fork };
    let worker = plan.tier.map(Tier::worker);
    let mut used = Threads::Many(threads);
    let mut machine =
        Machine::new(context, first, plan, &mut lead_observer, worker, Some(&workers));
    let mut ends = match level::advance(plan.level, &mut machine, SAMPLE_ISSUES) {
        Ok(Flow::Stopped) => vec![Ok((machine.ended(Flow::Stopped), None))],
        Err(declined) => {
            drop(machine);
            vec![Err(declined)]
        }
        Ok(flow) => {
            let why = why_sequential(plan, &machine, flow, &claimed, threads);
            let why = why.filter(|_| !plan.threading.eager).map(Threads::One);
            if let Some(why) = why.filter(|_| !plan.always_ends) {
                return Attempt::Sequential(why);
            }
            claimed.trust();
            workers.open.store(context.total, Relaxed);
            // What the first CTA has written stays: the launch goes on, on this thread.
            used = why.unwrap_or(used);
            let others = if why.is_some() { Vec::new() } else { parts };
            run_workers(plan, machine, others.into_iter().zip(forks).collect(), &workers)
        }
    };
    // The leading machine is the last.
    if let Some(Ok((_, fork))) = ends.last_mut() {
        *fork = lead_observer.fork.take();
    }
    let declined = ends.iter().find_map(|end| end.as_ref().err());
    assert!(
        !plan.always_ends || declined.is_none() && !claimed.refused(),
        "a launch that always ends is declined: {declined:?}"
    );
    if claimed.refused() {
        let written = claimed.written();
        // A newly found written region explains the refusal; if there is none, a disjoint region or
        // a window may have caused it.
        if written == history.written && !history.proven.disjoint.is_empty() {
            history.proven.disjoint.clear();
        } else {
            history.windows &= written != history.written || !workers.window_granted.load(Relaxed);
        }
        history.written = written;
        return Attempt::Conflict;
    }
    merge_ends(ends, used, context, observer)
}

/// The outcome of one machine, and the sink of its accesses.
type WorkerEnd = (Ended, Option<Box<dyn ForkedSink>>);

/// Runs all remaining CTAs, on this thread's machine and on other threads.
fn run_workers(
    plan: LaunchPlan<'_>,
    mut machine: Machine<'_>,
    parts: Vec<(DirectMemory<'_>, Option<Box<dyn ForkedSink>>)>,
    workers: &Workers,
) -> Vec<Result<WorkerEnd, Declined>> {
    let (context, lead) = (machine.context, thread::current());
    thread::scope(|scope| {
        let mut handles: Vec<ScopedJoinHandle<'_, _>> = Vec::new();
        for part in parts {
            let lead = lead.clone();
            let work = move || {
                let end = run_worker(plan, context, part, workers);
                lead.unpark();
                end
            };
            // If the host has fewer threads than wanted, those that started run all CTAs.
            let Ok(handle) = thread::Builder::new().spawn_scoped(scope, work) else { break };
            handles.push(handle);
        }
        let own = level::advance(plan.level, &mut machine, u64::MAX);
        if !matches!(own, Ok(Flow::Done)) {
            workers.stop();
        }
        let mut stopped = false;
        while !handles.iter().all(ScopedJoinHandle::is_finished) {
            thread::park_timeout(POLL_PERIOD);
            let (blocks, issues) = (machine.stats.ctas, machine.stats.slots.issues());
            if !machine.observer.poll(blocks, issues) {
                stopped = true;
                workers.stop();
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
fn run_worker(
    plan: LaunchPlan<'_>,
    context: &Context<'_>,
    (part, fork): (DirectMemory<'_>, Option<Box<dyn ForkedSink>>),
    workers: &Workers,
) -> Result<WorkerEnd, Declined> {
    let mut observer = WorkerObserver { workers, reported: (0, 0), fork };
    let worker = plan.tier.map(Tier::worker);
    let mut machine = Machine::new(context, part, plan, &mut observer, worker, Some(workers));
    let end = level::advance(plan.level, &mut machine, u64::MAX);
    if end.is_err() {
        workers.stop();
    }
    let ended = end.map(|flow| machine.ended(flow));
    ended.map(|ended| (ended, observer.fork))
}

/// Sums the outcomes of all threads, if none was declined.
fn merge_ends(
    ends: Vec<Result<WorkerEnd, Declined>>,
    threads: Threads,
    context: &Context<'_>,
    observer: &mut dyn LaunchObserver,
) -> Attempt {
    if ends.iter().any(|end| matches!(end, Err(Declined::Wrapped))) {
        // This CTA wraps around in every order of CTAs, so one thread would be declined, too.
        return Attempt::Declined(Declined::Wrapped);
    }
    let prints = ends.iter().any(|end| matches!(end, Err(why) if *why == PRINTS));
    let Ok(parts) = ends.into_iter().collect::<Result<Vec<_>, _>>() else {
        let why = if prints { PRINTING } else { "a block of it may fault or hang" };
        return Attempt::Sequential(Threads::One(why));
    };
    let mut all = Ended { stats: context.done, detail: None, done: true, output: Vec::new() };
    for (ended, fork) in parts {
        all.stats.add(&ended.stats);
        all.done &= ended.done;
        match (&mut all.detail, ended.detail) {
            (Some(sum), Some(detail)) => sum.add(&detail),
            (sum, detail) => *sum = detail,
        }
        if let Some(fork) = fork {
            observer.merge(fork);
        }
    }
    finish_detail(&mut all, context);
    Attempt::Ended(Box::new(all), threads)
}

/// Completes the details of the CTAs that this engine ran.
fn finish_detail(ended: &mut Ended, context: &Context<'_>) {
    if let Some(detail) = &mut ended.detail {
        detail.finish(context.code, &ended.stats, &context.done);
    }
}
