//! Launches on the fast engine where it can run them, on the exact one otherwise.

use std::sync::Mutex;

use fast::{Declined, Level};
use simt::memory::{Addr, Snapshot};
use vm::{Claim, Counts, Program, Recheck, State, Tolerated};

use crate::attempt::attempt;
use crate::cache::Cache;
use crate::exact::{End, ExactLaunch, ExactRun, Guest, Restart, report_lanes, run_exact, run_once};
use crate::monitor::{Monitor, Progress, Selected};
use crate::options::{Choice, Options};
use crate::undo::Undo;
use crate::{Counters, Error, PcSlots};

/// A launch of groups of up to 64 lanes.
pub struct Launch<'p> {
    /// The linked program.
    pub program: &'p Program,
    /// What earlier launches of the program were decoded and compiled to.
    pub cache: &'p Mutex<Cache>,
    /// How it is run.
    pub options: Options,
    /// The launch, checked by [`vm::begin_bare`], with memory and heap still to be lent.
    pub state: State<1>,
    /// For tests: a byte of memory that is changed after the fast engine and before the exact one.
    #[doc(hidden)]
    pub corrupt_byte: Option<(Addr, u8)>,
}

/// Which engine has run a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineUsed {
    /// The fast one.
    Fast(Level),
    /// The exact one, and why the fast one declined, if it was tried.
    Exact(Option<Declined>),
    /// The exact one under [`vm::Retry::MECHANISM`], after the launch was found to hang. CTAs that
    /// the fast engine had committed before were not run again: their counts are those of the first
    /// mechanism.
    Retried,
}

/// A launch that was run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What it did.
    pub stats: Counts,
    /// Further counts, if they were asked for.
    pub counters: Counters,
    /// What the kernel printed.
    pub output: Vec<u8>,
    /// The accesses that a tolerant launch was refused.
    pub tolerated: Tolerated<1>,
    /// The engine.
    pub ran: EngineUsed,
    /// The launch itself if it repeats its state and is to be kept, without memory and heap.
    pub waiting: Option<KeptLaunch>,
}

impl Outcome {
    /// Returns whether it has ended in a fault or a hang, and is not kept.
    fn stopped(&self) -> bool {
        matches!(self.end, End::Fault(_) | End::Hang(_)) && self.waiting.is_none()
    }
}

/// A launch that repeats its state, kept without memory and heap.
pub struct KeptLaunch(Box<State<1>>);

impl std::fmt::Debug for KeptLaunch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptLaunch").finish_non_exhaustive()
    }
}

/// A launch before its first issue, for comparing the engines.
type LaunchSnapshot = (State<1>, Snapshot);

/// Runs a launch of the mechanism `ipdom` and of warps of 32 lanes; others are declined by the fast
/// engine. Guest memory changes as the launch changes it, also if it faults or hangs.
///
/// # Errors
/// Returns why a launch that hangs could not begin again, or why the engines could not be compared.
pub fn launch<'p, E: std::error::Error>(
    launch: Launch<'p>,
    mut guest: Guest<'_>,
    restart: Option<Restart<'_, 'p, 1, E>>,
    monitor: &mut dyn Monitor,
) -> Result<Outcome, Error<E>> {
    let Launch { program, cache, options, mut state, corrupt_byte } = launch;
    let both = options.engine == Choice::Both;
    let before = both.then(|| (state.clone(), guest.memory.snapshot()));
    let mut counters = Counters::default();
    if options.detailed {
        counters = Counters::with_pcs(PcSlots::new(program.code().len()));
    }
    let mut declined = None;
    let mut outcome = None;
    let delayed = state.delays_operations(program);
    if options.engine != Choice::Exact && delayed {
        let why = Declined::Launch("its copies are done later than they are issued");
        monitor.selected(&Selected::Exact(&why));
        declined = Some(why);
    } else if options.engine != Choice::Exact {
        match attempt((program, cache), options, &mut state, guest.memory, &mut counters, monitor) {
            Ok(finished) => {
                let counters = std::mem::take(&mut counters);
                let end = if finished.done { End::Done } else { End::Interrupted };
                let (stats, ran) = (finished.stats, EngineUsed::Fast(finished.level));
                let (output, tolerated) = (finished.output, Tolerated::default());
                let waiting = None;
                outcome = Some(Outcome { end, stats, counters, output, tolerated, ran, waiting });
            }
            Err(why) => {
                monitor.selected(&Selected::Exact(&why));
                declined = Some(why);
            }
        }
    }
    // Whether the fast engine has run CTAs of which the exact one has to be told.
    let compared = outcome.is_some() || state.progress().0 > 0;
    let mut outcome = match outcome {
        Some(outcome) => outcome,
        None => {
            let counters = options.detailed.then_some(counters);
            let launch = ExactLaunch { program, state, counters };
            let keeps = options.keeps_waiting;
            let keep = || Undo::keep(guest.memory, guest.heap.as_deref());
            let undo = options.takes_back.then(keep);
            let run = run_exact(launch, &mut guest, restart, keeps, monitor)?;
            let ran = if run.retried { EngineUsed::Retried } else { EngineUsed::Exact(declined) };
            let outcome = of_exact(run, ran, keeps);
            if let Some(undo) = undo.filter(|_| outcome.stopped()) {
                undo.restore(guest.memory, guest.heap.as_deref_mut())?;
            }
            outcome
        }
    };
    // Lanes that made progress one by one ran on the exact engine alone.
    let comparable = outcome.end != End::Interrupted && outcome.ran != EngineUsed::Retried;
    if let Some(before) = before.filter(|_| compared && comparable) {
        if let Some((address, byte)) = corrupt_byte {
            guest.memory.host_write(address, &[byte]).ok();
        }
        compare(program, &before, &mut guest, &mut outcome, monitor)?;
    }
    Ok(outcome)
}

/// Goes on with a launch that was kept because its state repeats, after something else has changed
/// memory. The outcome is of the whole launch; it is kept again if it repeats its state again.
pub fn resume(
    program: &Program,
    KeptLaunch(mut state): KeptLaunch,
    mut guest: Guest<'_>,
    monitor: &mut dyn Monitor,
) -> Outcome {
    state.memory_changed();
    let launch = ExactLaunch { program, state: *state, counters: None };
    of_exact(run_once(launch, &mut guest, monitor), EngineUsed::Exact(None), true)
}

/// The outcome of a run on the exact engine.
fn of_exact(run: ExactRun<1>, ran: EngineUsed, keeps_waiting: bool) -> Outcome {
    let (stats, output) = (*run.state.stats(), run.state.output().to_vec());
    let counters = run.counters.unwrap_or_default();
    let tolerated = run.state.tolerated().clone();
    let waiting = (keeps_waiting && run.end.repeats()).then(|| KeptLaunch(Box::new(run.state)));
    Outcome { end: run.end, stats, counters, output, tolerated, ran, waiting }
}

/// Runs a launch again on the exact engine and compares. Memory becomes the exact engine's.
fn compare(
    program: &Program,
    (fresh, before): &LaunchSnapshot,
    guest: &mut Guest<'_>,
    outcome: &mut Outcome,
    monitor: &mut dyn Monitor,
) -> Result<(), vm::RecheckError> {
    let output = Some(outcome.output.as_slice());
    let claim = Claim { done: outcome.end == End::Done, stats: Some(outcome.stats), output };
    let mut poll = |state: &State<1>| {
        let (blocks_done, issues) = (state.progress().0, state.stats().slots.issues());
        let on = monitor.poll(Progress { blocks_done, issues });
        report_lanes(state, monitor);
        on
    };
    match vm::recheck(program, fresh, (before, guest.memory), &claim, &mut poll)? {
        Recheck::Same => monitor.selected(&Selected::Agree),
        Recheck::Stopped => outcome.end = End::Interrupted,
        other => outcome.end = End::Differs(Box::new(other)),
    }
    Ok(())
}
