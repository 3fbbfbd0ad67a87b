//! The fast engine: runs launches of the kernel IR to the same end as the exact engine, many lanes
//! at a time.
//!
//! A kernel is decoded for the shape of its launch, using the facts of `flow::analysis`: uniform
//! and affine values become scalars, predicates become masks, and all other values become rows of
//! 32 lanes. A result is blended only where the old values of inactive lanes are still read. A load
//! or store of adjacent words is one access. Warps run in the exact engine's canonical schedule,
//! issue by issue, so results, lane slots and the mechanism's charges are equal by construction,
//! races included.
//!
//! **When in doubt, the exact engine.** A launch that this engine cannot run (recursion,
//! `malloc`, ...) is [`Declined`] before it begins. A launch that would fault or hang, or
//! that breaks an assumption of the analysis, is declined while it runs. Memory is then restored to
//! its state before the launch, or after the last committed CTA (`commit`), and the caller has the
//! exact engine run the rest of the launch and report its end. Faults are therefore reported in one
//! place only.
//!
//! The engine runs warps of 32 lanes under the mechanism `ipdom`; the caller must check that the
//! launch has this mechanism.

mod accesses;
mod asynchronous;
mod bulk;
mod call_graph;
mod cluster;
mod cluster_entry;
pub mod code;
mod commit;
mod context;
mod counted_barriers;
mod cta;
mod decode;
mod detail;
mod disjoint;
mod ends;
mod fragments;
mod frames;
mod group_products;
mod inline;
mod level;
mod lines;
mod local;
mod loop_depths;
mod machine;
mod memory;
mod operands;
pub mod ops;
mod print;
mod progress;
mod row;
mod screen;
mod slice;
mod speed;
mod stack;
mod step;
mod storage;
mod storage_pool;
mod sync;
mod tensor_copies;
mod textures;
mod tier;
mod visit;
mod warp;
mod window;
mod worker_counts;
mod workers;

pub use accesses::{AccessSink, ForkedSink, StridedAccess, WarpAccess, WarpAccesses};
pub use converge::mechanism::Order;
pub use decode::decline_reason;
pub use detail::Detail;
pub use inline::MAX_CALL_DEPTH;
pub use products::{Level, wide};
pub use screen::{
    AccessScreen, Exempt, ExemptUntil, REFUSED, RowPattern, Screen, ScreenedAccess,
    ScreenedAddresses, ScreenedLaunch, Verdict,
};
pub use sync::BARRIERS;
pub use tier::{
    AccessLog, Addresses, CongruentAccesses, CtaMemory, IssueSite, LoggedAccesses, Region,
    StackCharges, StackEntry, StackTop, StridedAccesses, Tally, Tier, Until, Visit, WarpRegisters,
    Worker, WorkerCounts,
};
pub use workers::{MAX_THREADS, Threads, host_threads};

use machine::Ended;
use simt::memory::MemoryMap;
use simt::{GroupId, Pc, WarpMask};
use std::borrow::BorrowMut;
use thiserror::Error;
use vm::{Counts, Program, State};
use workers::DeclinedAt;

/// The reason why a launch is left to the exact engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Declined {
    /// The kernel contains an operation that only the exact engine has.
    #[error("{0}")]
    Kernel(&'static str),
    /// The launch has a setting that only the exact engine supports.
    #[error("{0}")]
    Launch(&'static str),
    /// While the launch ran, a fault, a hang or another event occurred that the exact engine must
    /// judge.
    #[error("while it ran: {0}")]
    Running(&'static str),
    /// While the launch ran, an index that the analysis assumed not to wrap did so over the lanes
    /// of a warp.
    #[error("while it ran: an index wrapped around over the lanes of a warp")]
    Wrapped,
    /// The launch has issued as many instructions as [`run_within`] was to, and has not ended.
    #[error("while it ran: it is long enough to be compiled")]
    Long,
}

/// The reason of a launch whose functions call themselves more often than a [`Tier`] has room for.
/// The interpreter runs it.
pub const DEPTH_LIMIT: Declined = Declined::Running("its calls are nested deeper than code allows");

/// A launch that has ended or was stopped.
#[derive(Debug)]
pub struct Finished {
    /// Whether the launch has ended; `false` if it was stopped.
    pub done: bool,
    /// Guest memory.
    pub memory: MemoryMap,
    /// The launch's statistics, equal to the exact engine's number by number.
    pub stats: Counts,
    /// Further counts, if the launch ran in detail.
    pub detail: Option<Box<Detail>>,
    /// What the kernel has printed.
    pub output: Vec<u8>,
    /// The vector instructions that the interpreter used.
    pub level: Level,
    /// The host threads that ran the launch.
    pub threads: Threads,
}

/// The observer of a launch: it can stop the launch, and decides where accesses go and which of
/// them are final.
pub trait LaunchObserver {
    /// Receives the number of ended CTAs and of issues from time to time; returns `false` to stop
    /// the launch.
    fn poll(&mut self, blocks: u64, issues: u64) -> bool;

    /// Returns whether the observer wants a call of [`Self::lanes`]. Called after
    /// [`Self::poll`].
    fn wants_lanes(&mut self) -> bool {
        false
    }

    /// Receives the positions of the warps of all resident CTAs: for each warp, the lanes and the
    /// place of the path that runs next.
    fn lanes(&mut self, _lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {}

    /// Returns what judges the accesses of the launch, or `None` if nothing does. The same in every
    /// call. A launch that is judged must be run by [`run`].
    fn screen(&mut self) -> Option<&mut dyn Screen> {
        None
    }

    /// Returns what receives the accesses of a launch in detail, or `None` if nothing does.
    fn accesses(&mut self) -> Option<&mut dyn AccessSink> {
        None
    }

    /// Returns whether the observer separates committed accesses, those before the last
    /// [`Self::commit`], from later ones. If not, a launch in detail commits nothing while it
    /// runs.
    fn can_commit(&self) -> bool {
        false
    }

    /// Returns whether a launch that is declined leaves memory as it was before the launch: nothing
    /// is committed while it runs.
    fn takes_all_back(&self) -> bool {
        false
    }

    /// Returns the number of issues behind which nothing is committed, if the exact engine is to go
    /// on before it. A launch that [`Self::poll`] stops is then declined.
    fn resume_before(&self) -> Option<u64> {
        None
    }

    /// Commits all accesses received so far: their CTAs have ended and are final. Later accesses
    /// are void if the launch is declined.
    fn commit(&mut self) {}

    /// Receives the counts of the committed CTAs of a launch in detail that was declined. The
    /// accesses of these CTAs are those up to the last [`Self::commit`].
    fn declined_after_commit(&mut self, _detail: &Detail) {}

    /// Returns a sink that receives the accesses of some CTAs on another thread, or `None` if this
    /// observer needs every access itself, in canonical order.
    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        None
    }

    /// Merges the accesses of a sink that [`Self::fork`] returned.
    fn merge(&mut self, _fork: Box<dyn ForkedSink>) {}
}

impl<F: FnMut(u64, u64) -> bool> LaunchObserver for F {
    fn poll(&mut self, blocks: u64, issues: u64) -> bool {
        self(blocks, issues)
    }
}

/// A decoded launch.
#[derive(Debug)]
pub struct Kernel {
    code: code::Code,
    threading: Box<workers::Threading>,
    pool: Box<storage_pool::StoragePool>,
}

/// Decodes the kernel of a launch that has not begun. With `assume`, decoding takes for granted
/// that indices do not wrap around, which yields faster code, but the launch may be declined as
/// [`Declined::Wrapped`].
///
/// # Errors
/// Returns [`Declined`] if this engine cannot run the launch.
pub fn prepare(program: &Program, state: &State<1>, assume: bool) -> Result<Kernel, Declined> {
    may_run(state, false)?;
    decoded(program, state, assume)
}

/// Returns whether bytes between shared variables are guarded: launches are then screened.
#[must_use]
pub fn has_guards(state: &State<1>) -> bool {
    state.setup().shared.guards > 0
}

/// Decodes the kernel of a launch for runs that are [screened](Screen), as [`prepare`]. `judges` is
/// what [`Screen::judges_accesses`] tells.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_screened(
    program: &Program,
    state: &State<1>,
    assume: bool,
    judges: bool,
) -> Result<Kernel, Declined> {
    may_run(state, true)?;
    let mut kernel = decoded(program, state, assume)?;
    if kernel.code.steps.iter().any(|step| matches!(step.kind, code::Kind::Asynchronous(_))) {
        return Err(Declined::Kernel("it has asynchronous operations, which are checked"));
    }
    if kernel.code.steps.iter().any(|step| matches!(step.kind, code::Kind::Texture(_))) {
        return Err(Declined::Kernel("it has textures or surfaces, which are checked"));
    }
    kernel.code.screened = Some(match judges {
        true => code::Judged::All,
        false if has_guards(state) => code::Judged::Shared,
        false => code::Judged::Nothing,
    });
    Ok(kernel)
}

fn decoded(program: &Program, state: &State<1>, assume: bool) -> Result<Kernel, Declined> {
    let code = decode::decode(program, &state.setup(), assume)?;
    let threading = Box::new(workers::Threading::new(1));
    Ok(Kernel { code, threading, pool: Box::default() })
}

/// Returns the order in which a launch runs the sides of branches.
#[must_use]
pub fn order(state: &State<1>) -> Order {
    state.setup().knobs.order.unwrap_or(Order::Taken)
}

/// Checks the settings of a launch, whatever its kernel does and whether or not it is
/// [screened](Screen).
///
/// # Errors
/// Returns [`Declined::Launch`] if this engine cannot run a launch with these settings.
pub fn may_run(state: &State<1>, screened: bool) -> Result<(), Declined> {
    let setup = state.setup();
    if !state.is_fresh() {
        return Err(Declined::Launch("it has begun already"));
    }
    if setup.width != 32 || setup.warp != 32 {
        return Err(Declined::Launch("its warps are not of 32 lanes"));
    }
    if setup.clusters.size() > 1 && screened {
        return Err(Declined::Launch("its clusters have several CTAs, which are checked"));
    }
    if setup.warp_barriers {
        return Err(Declined::Launch("its barriers count warps"));
    }
    if setup.shared.guards > 0 && !screened {
        return Err(Declined::Launch("bytes between its shared variables are guarded"));
    }
    if !setup.first_path {
        return Err(Declined::Launch("its policy is not `first`"));
    }
    Ok(())
}

/// Runs a launch under the mechanism `ipdom`. With `detailed`, also counts what [`Detail`] holds.
/// On success, guest memory has moved from `state` into [`Finished`].
///
/// # Errors
/// Returns [`Declined`] if the exact engine has to run the launch. `state` is then where that
/// engine must resume, with its memory: untouched, or, if no CTA was resident in it
/// ([`State::is_vacant`]), after the last committed CTA.
pub fn run(
    kernel: &Kernel,
    state: impl BorrowMut<State<1>>,
    level: Level,
    detailed: bool,
    observer: &mut dyn LaunchObserver,
) -> Result<Finished, Declined> {
    run_within(kernel, state, level, detailed, observer, u64::MAX)
}

/// Runs a launch as [`run`] does, if it ends within about so many issues. It then runs on one
/// thread, and the state of a launch that is declined is untouched.
///
/// # Errors
/// [`Declined::Long`] if it does not end within these issues; else as [`run`].
pub fn run_within(
    kernel: &Kernel,
    state: impl BorrowMut<State<1>>,
    level: Level,
    detailed: bool,
    observer: &mut dyn LaunchObserver,
    issues: u64,
) -> Result<Finished, Declined> {
    let plan = workers::LaunchPlan {
        level,
        detailed,
        tier: None,
        threading: &kernel.threading,
        pool: &kernel.pool,
        may_commit: false,
        always_ends: false,
        issues,
    };
    launch(kernel, state, plan, observer)
}

/// Runs a launch under the mechanism `ipdom`, with all turns run by `tier`. With `detailed`, the
/// tier's workers must supply [`WorkerCounts`]. On success, guest memory has moved from `state`
/// into [`Finished`].
///
/// # Errors
/// As [`run`].
pub fn run_on(
    tier: &dyn Tier,
    kernel: &Kernel,
    state: impl BorrowMut<State<1>>,
    level: Level,
    detailed: bool,
    observer: &mut dyn LaunchObserver,
) -> Result<Finished, Declined> {
    let tier = Some(tier);
    let plan = workers::LaunchPlan {
        level,
        detailed,
        tier,
        threading: &kernel.threading,
        pool: &kernel.pool,
        may_commit: false,
        always_ends: false,
        issues: u64::MAX,
    };
    launch(kernel, state, plan, observer)
}

fn launch(
    kernel: &Kernel,
    mut state: impl BorrowMut<State<1>>,
    mut plan: workers::LaunchPlan<'_>,
    observer: &mut dyn LaunchObserver,
) -> Result<Finished, Declined> {
    let state = state.borrow_mut();
    plan.may_commit = state.is_vacant() && !plan.is_limited();
    let setup = state.setup();
    let context = context::Context::new(&kernel.code, &setup, plan.level);
    drop(setup);
    let mut memory = std::mem::take(state.memory_mut());
    let level = plan.level;
    match on_memory(&mut memory, &context, plan, observer) {
        Ok((Ended { stats, detail, done, output }, threads)) => {
            state.print(&output);
            let output = state.output().to_vec();
            Ok(Finished { done, memory, stats, detail, output, level, threads })
        }
        Err(left) => {
            let DeclinedAt { declined, done, output } = *left;
            *state.memory_mut() = memory;
            state.skip(&done);
            state.print(&output);
            Err(declined)
        }
    }
}

/// Runs a launch on `memory`. If it is declined, the error holds the statistics of the CTAs that
/// the exact engine is to skip.
fn on_memory(
    memory: &mut MemoryMap,
    context: &context::Context<'_>,
    plan: workers::LaunchPlan<'_>,
    observer: &mut dyn LaunchObserver,
) -> Result<(Ended, Threads), Box<DeclinedAt>> {
    let host = Declined::Launch("it has memory of the host's, or the host is big-endian");
    let direct = memory.direct().ok_or_else(|| DeclinedAt::begin(host, context))?;
    workers::run(plan, context, direct, observer)
}

impl Kernel {
    /// Returns the decoded code for another tier.
    #[must_use]
    pub fn code(&self) -> &code::Code {
        &self.code
    }

    /// Returns whether a launch with these settings and this memory ends whatever the memory holds:
    /// without a fault, a hang, or an assumption that fails. Such launches run without a journal.
    /// `false` if that is not known.
    #[must_use]
    pub fn always_ends(&self, state: &mut State<1>) -> bool {
        let setup = state.setup();
        let context = context::Context::new(&self.code, &setup, Level::Portable);
        drop(setup);
        let direct = state.memory_mut().direct();
        direct.is_some_and(|memory| ends::always_ends(&context, &memory))
    }

    /// Runs launches on up to `threads` host threads, or on as many as the host has if `threads` is
    /// 0. The default is one. Results do not change.
    #[must_use]
    pub fn on_threads(mut self, threads: usize) -> Self {
        *self.threading = workers::Threading::new(threads);
        self
    }

    /// Sets the journal's size, in bytes, after which the effects of ended CTAs are committed. This
    /// applies to launches whose state has no resident CTA, see [`run`].
    #[must_use]
    pub fn commit_after(mut self, bytes: usize) -> Self {
        self.threading.commit_after = bytes;
        self
    }

    /// Runs launches on all threads even where that does not pay.
    #[must_use]
    pub fn eagerly(mut self) -> Self {
        self.threading.eager = true;
        self
    }
}
