//! Launches on the exact engine.

use fast::Declined;
use simt::machine::{Hang, HangKind, Step};
use simt::memory::MemoryMap;
use simt::observe::AnyObserver;
use simt::trap::Fault;
use vm::{
    Cause, Compiled, Definedness, FactCheck, Heap, Program, Recheck, Retry, State, Violation,
};

use crate::ahead::{self, Ahead};
use crate::monitor::{Monitor, Progress};
use crate::scheduled;
use crate::sink::{EventSink, SinkObserver};
use crate::{Counters, Error};

/// Issues between two calls of [`Monitor::poll`].
pub(crate) const SLICE: u64 = 1 << 16;

/// Guest storage that outlives launches, lent to one of them.
pub struct Guest<'g> {
    /// Global memory.
    pub memory: &'g mut MemoryMap,
    /// The device heap; the launch has one of its own if `None`.
    pub heap: Option<&'g mut Heap>,
}

impl Guest<'_> {
    /// Lends the storage to a state, or takes it back.
    pub fn swap<const N: usize>(&mut self, state: &mut State<N>) {
        std::mem::swap(state.memory_mut(), self.memory);
        if let Some(heap) = &mut self.heap {
            std::mem::swap(state.heap_mut(), heap);
        }
    }
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End<const N: usize = 1> {
    /// All threads ended.
    Done,
    /// A fault.
    Fault(Box<Fault<Cause, N>>),
    /// A hang, or the limit of issues.
    Hang(Box<Hang<N>>),
    /// The monitor stopped it.
    Interrupted,
    /// The engines do not agree: a fault of this project, not of the program.
    Differs(Box<Recheck>),
}

impl<const N: usize> End<N> {
    /// Returns whether the launch does what it has done before until something else changes memory.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Hang(hang) if hang.kind == HangKind::Repeats)
    }
}

/// A launch for the exact engine.
pub struct ExactLaunch<'p, const N: usize> {
    /// The linked program.
    pub program: &'p Program,
    /// The launch, whose memory and heap are still to be lent.
    pub state: State<N>,
    /// Where its events are counted, if they are.
    pub counters: Option<Counters>,
}

/// A launch that the exact engine has run.
pub struct ExactRun<const N: usize> {
    /// How it ended.
    pub end: End<N>,
    /// The state at the end, with statistics and output, without memory and heap.
    pub state: State<N>,
    /// What was counted, if anything was.
    pub counters: Option<Counters>,
    /// Whether this is the second run, under [`Retry::MECHANISM`].
    pub retried: bool,
}

/// Begins a launch again under [`Retry::MECHANISM`], after it was found to hang.
pub type Restart<'a, 'p, const N: usize, E> = &'a mut dyn FnMut() -> Result<ExactLaunch<'p, N>, E>;

/// States that the exact engine runs: those of groups of up to 64 and up to 1,024 lanes.
pub trait Exact<const N: usize>: Compiled<N> {
    /// Issues instructions to the end of the launch, or until the monitor stops it. The state has
    /// its memory and heap.
    fn run(
        &mut self,
        program: &Program,
        counters: Option<&mut Counters>,
        monitor: &mut dyn Monitor,
    ) -> End<N>;

    /// Issues up to `limit` instructions and counts their events.
    fn run_counted(
        &mut self,
        program: &Program,
        counters: &mut Counters,
        limit: u64,
    ) -> Step<Cause, N>;

    /// Issues instructions to the end of the launch, however it ends, and checks every fact that
    /// the analyses hold of the program. The state has its memory.
    ///
    /// # Errors
    /// Returns the first fact that does not hold.
    fn check(&mut self, program: &Program, facts: &mut FactCheck) -> Result<(), Box<Violation>>;

    /// Runs a launch of the mechanism `ipdom` ahead on the fast engine, on one thread: to the last
    /// commit before `until` issues, or before what that engine leaves to the exact one, or until
    /// `poll` says stop. The state has its memory, and no CTA is resident in it.
    ///
    /// # Errors
    /// Returns why no CTA was committed. The state is then as before.
    fn run_ahead(
        &mut self,
        program: &Program,
        until: u64,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<Ahead, Declined>;
}

// Methods that are not generic, so that the interpreter is compiled in this crate.
impl Exact<1> for State<1> {
    fn run(
        &mut self,
        program: &Program,
        counters: Option<&mut Counters>,
        monitor: &mut dyn Monitor,
    ) -> End<1> {
        if monitor.attached().strategy.is_some() {
            return scheduled::run(self, program, counters, monitor);
        }
        drive(self, program, counters, monitor, report_lanes)
    }

    fn run_counted(
        &mut self,
        program: &Program,
        counters: &mut Counters,
        limit: u64,
    ) -> Step<Cause> {
        self.run_observed(program, &mut AnyObserver::new(counters), limit)
    }

    fn check(&mut self, program: &Program, facts: &mut FactCheck) -> Result<(), Box<Violation>> {
        while self.step_checked(program, facts)? == Step::Issued {}
        Ok(())
    }

    fn run_ahead(
        &mut self,
        program: &Program,
        until: u64,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<Ahead, Declined> {
        ahead::run_ahead(program, self, until, poll)
    }
}

impl Exact<16> for State<16> {
    fn run(
        &mut self,
        program: &Program,
        counters: Option<&mut Counters>,
        monitor: &mut dyn Monitor,
    ) -> End<16> {
        drive(self, program, counters, monitor, |_, _| {})
    }

    fn run_counted(
        &mut self,
        program: &Program,
        counters: &mut Counters,
        limit: u64,
    ) -> Step<Cause, 16> {
        self.run_observed(program, &mut AnyObserver::new(counters), limit)
    }

    fn check(&mut self, program: &Program, facts: &mut FactCheck) -> Result<(), Box<Violation>> {
        while self.step_checked(program, facts)? == Step::Issued {}
        Ok(())
    }

    fn run_ahead(
        &mut self,
        _: &Program,
        _: u64,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<Ahead, Declined> {
        Err(Declined::Launch("its groups have more than 64 lanes"))
    }
}

/// Passes where lanes are, if the monitor wants to know.
pub(crate) fn report_lanes(state: &State<1>, monitor: &mut dyn Monitor) {
    if monitor.wants_lanes() {
        let paths = state.paths();
        monitor.lanes(&mut paths.iter().map(|(group, path)| (*group, path.lanes, path.pc)));
    }
}

fn drive<const N: usize>(
    state: &mut State<N>,
    program: &Program,
    mut counters: Option<&mut Counters>,
    monitor: &mut dyn Monitor,
    report: impl Fn(&State<N>, &mut dyn Monitor),
) -> End<N>
where
    State<N>: Exact<N>,
{
    let mut defined = monitor.sink().and_then(EventSink::lend_definedness);
    if let Some(defined) = &mut defined {
        defined.begin(program);
    }
    let end = loop {
        let step = match (monitor.sink(), &mut counters) {
            (Some(sink), Some(counters)) => {
                let both = &mut (&mut **counters, SinkObserver(sink));
                slice(program, state, &mut AnyObserver::new(both), &mut defined)
            }
            (Some(sink), None) => {
                let sink = &mut SinkObserver(sink);
                slice(program, state, &mut AnyObserver::new(sink), &mut defined)
            }
            (None, Some(counters)) => Some(state.run_counted(program, counters, SLICE)),
            (None, None) => Some(state.run_unobserved(program, SLICE)),
        };
        match step {
            Some(Step::Issued) => {}
            Some(Step::Done) => break End::Done,
            Some(Step::Fault(fault)) => break End::Fault(fault),
            Some(Step::Hang(hang)) => break End::Hang(hang),
            None => break End::Interrupted,
        }
        let (blocks_done, issues) = (state.progress().0, state.stats().slots.issues());
        if !monitor.poll(Progress { blocks_done, issues }) {
            break End::Interrupted;
        }
        report(state, monitor);
    };
    if let (Some(mut defined), Some(sink)) = (defined, monitor.sink()) {
        defined.end();
        sink.return_definedness(defined);
    }
    end
}

fn slice<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut AnyObserver<'_, N>,
    defined: &mut Option<Box<Definedness>>,
) -> Option<Step<Cause, N>>
where
    State<N>: Exact<N>,
{
    match defined {
        Some(defined) => state.run_defined(program, defined, observer, SLICE),
        None => Some(state.run_observed(program, observer, SLICE)),
    }
}

/// Runs a launch on the exact engine. With `restart`, a launch that hangs before its limit begins
/// again from where this one began; if the second run does not end well either, the first one is
/// returned, with its memory; with `keeps_waiting`, the second one if its state repeats. The second
/// run has no [`EventSink`](crate::EventSink): the sink has seen the first.
///
/// # Errors
/// Returns why a launch that hangs could not begin again.
pub fn run_exact<'p, const N: usize, E: std::error::Error>(
    launch: ExactLaunch<'p, N>,
    guest: &mut Guest<'_>,
    restart: Option<Restart<'_, 'p, N, E>>,
    keeps_waiting: bool,
    monitor: &mut dyn Monitor,
) -> Result<ExactRun<N>, Error<E>>
where
    State<N>: Exact<N>,
{
    let Some(restart) = restart else { return Ok(run_once(launch, guest, monitor)) };
    let retry = Retry::new(guest.memory, &launch.state);
    let heap = guest.heap.as_deref().cloned();
    let first = run_once(launch, guest, monitor);
    if !matches!(&first.end, End::Hang(hang) if hang.kind != HangKind::Limit) {
        return Ok(first);
    }
    let hung = retry.restore(guest.memory)?;
    let mut launch = restart().map_err(Error::Restart)?;
    retry.skip(&mut launch.state);
    let hung_heap =
        guest.heap.as_deref_mut().zip(heap).map(|(at, heap)| std::mem::replace(at, heap));
    let second = run_once(launch, guest, &mut WithoutSink(monitor));
    if second.end == End::Done || keeps_waiting && second.end.repeats() {
        return Ok(ExactRun { retried: true, ..second });
    }
    guest.memory.restore(&hung)?;
    if let (Some(at), Some(heap)) = (guest.heap.as_deref_mut(), hung_heap) {
        *at = heap;
    }
    Ok(first)
}

pub(crate) fn run_once<const N: usize>(
    launch: ExactLaunch<'_, N>,
    guest: &mut Guest<'_>,
    monitor: &mut dyn Monitor,
) -> ExactRun<N>
where
    State<N>: Exact<N>,
{
    let ExactLaunch { program, mut state, mut counters } = launch;
    guest.swap(&mut state);
    let end = state.run(program, counters.as_mut(), monitor);
    guest.swap(&mut state);
    if let (End::Hang(hang), Some(sink)) = (&end, monitor.sink()) {
        sink.hang(hang.kind);
    }
    ExactRun { end, state, counters, retried: false }
}

/// A monitor whose sink receives nothing.
struct WithoutSink<'m>(&'m mut dyn Monitor);

impl Monitor for WithoutSink<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.0.poll(progress)
    }

    fn wants_lanes(&mut self) -> bool {
        self.0.wants_lanes()
    }

    fn lanes(
        &mut self,
        lanes: &mut dyn Iterator<Item = (simt::GroupId, simt::WarpMask, simt::Pc)>,
    ) {
        self.0.lanes(lanes);
    }
}
