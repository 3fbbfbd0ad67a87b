//! Launches on the exact engine in the schedule of a strategy.

use std::cell::RefCell;

use simt::machine::Step;
use simt::observe::AnyObserver;
use vm::{Definedness, Program, Scheduler, SchedulerState, State, StrategyObserver};

use crate::Counters;
use crate::exact::{End, SLICE, report_lanes};
use crate::monitor::{Attached, Monitor, Progress};
use crate::sink::{EventSink, SinkObserver};

/// Issues instructions to the end of the launch, or until the strategy or the monitor stops it.
/// Events are counted even where nobody wants the counts, so that the interpreter is compiled once
/// for all observers.
pub(crate) fn run(
    state: &mut State<1>,
    program: &Program,
    counters: Option<&mut Counters>,
    monitor: &mut dyn Monitor,
) -> End {
    let mut unwanted = Counters::default();
    let counters = counters.unwrap_or(&mut unwanted);
    let mut defined = monitor.sink().and_then(EventSink::lend_definedness);
    if let Some(defined) = &mut defined {
        defined.begin(program);
    }
    if let Some(strategy) = monitor.attached().strategy {
        strategy.begin();
    }
    let mut scheduler = SchedulerState::default();
    let end = loop {
        let step = slice(state, program, (counters, &mut scheduler, &mut defined), monitor);
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
        report_lanes(state, monitor);
    };
    if let (Some(mut defined), Some(sink)) = (defined, monitor.sink()) {
        defined.end();
        sink.return_definedness(defined);
    }
    end
}

/// What a launch keeps from slice to slice.
type Kept<'a> = (&'a mut Counters, &'a mut SchedulerState, &'a mut Option<Box<Definedness>>);

fn slice(
    state: &mut State<1>,
    program: &Program,
    (counters, scheduler, defined): Kept<'_>,
    monitor: &mut dyn Monitor,
) -> Option<Step<vm::Cause, 1>> {
    let Attached { sink, strategy } = monitor.attached();
    let strategy = RefCell::new(strategy?);
    let mut schedule = Scheduler { strategy: &strategy, state: scheduler };
    let events = StrategyObserver(&strategy);
    let defined = defined.as_deref_mut();
    match sink {
        Some(sink) => {
            let all = &mut (counters, (events, SinkObserver(sink)));
            let observer = &mut AnyObserver::new(all);
            vm::run_scheduled(&mut schedule, program, state, (observer, defined), SLICE)
        }
        None => {
            let all = &mut (counters, events);
            let observer = &mut AnyObserver::new(all);
            vm::run_scheduled(&mut schedule, program, state, (observer, None), SLICE)
        }
    }
}
