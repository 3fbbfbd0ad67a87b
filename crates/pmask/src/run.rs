//! A program from start to end.

use simt::machine::{Machine, Step};
use simt::observe::{Blind, Observer};

use crate::machine::{Launch, LaunchError, Pmask};
use crate::program::Program;
use crate::state::State;
use crate::trap::StopCause;

/// Default limit of steps in a run.
pub const DEFAULT_LIMIT: u64 = 10_000_000_000;

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The program ended itself with this code.
    Exit(i64),
    /// It stopped at a fault.
    Fault(Box<simt::trap::Fault<StopCause>>),
    /// It repeats forever.
    Hang(Box<simt::machine::Hang>),
    /// It took all the steps of its limit.
    Limit(u64),
}

/// A run that has ended, with its last state.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its end.
    pub end: End,
    /// The state then: console, statistics, registers, memory.
    pub state: State,
}

/// Launches a program and runs it to its end, at most `limit` steps.
///
/// # Errors
/// If it cannot be launched.
pub fn run(
    machine: &Pmask,
    program: &Program,
    launch: Launch,
    limit: u64,
) -> Result<Outcome, LaunchError> {
    run_observed(machine, program, launch, limit, &mut Blind)
}

/// [`run`] with an observer.
///
/// # Errors
/// If it cannot be launched.
pub fn run_observed<O: Observer<1>>(
    machine: &Pmask,
    program: &Program,
    launch: Launch,
    limit: u64,
    observer: &mut O,
) -> Result<Outcome, LaunchError> {
    let mut state = machine.launch(program, launch)?;
    let end = match machine.run(program, &mut state, observer, limit) {
        Step::Done => End::Exit(state.host.exit.unwrap_or(0)),
        Step::Fault(fault) => End::Fault(fault),
        Step::Hang(hang) => End::Hang(hang),
        // The limit may fall on the instruction that ends the program.
        Step::Issued => state.host.exit.map_or(End::Limit(limit), End::Exit),
    };
    Ok(Outcome { end, state })
}
