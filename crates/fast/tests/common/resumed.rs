//! Launches of which the fast engine makes CTAs final, so that the exact engine goes on after them.

use super::observed::{Exact, bytes};
use fast::{Declined, Finished};
use simt::machine::{Machine, Step};
use simt::observe::Blind;
use vm::{Engine, Launch, Program, State};

/// Has `run` run a launch on the fast engine, and the exact engine what is left of it. Whether it went on after CTAs, or what differs from a
/// launch on the exact engine alone.
pub(crate) fn resumed(
    program: &Program,
    launch: &Launch<1>,
    exact: &Exact,
    run: impl FnOnce(&mut State<1>) -> Result<Finished, Declined>,
) -> Result<bool, String> {
    let mut state = vm::begin_bare(program, launch.clone()).map_err(|e| e.to_string())?;
    let (end, stats, memory, resumed) = match run(&mut state) {
        Ok(finished) => (Step::Done, finished.stats, bytes(&finished.memory), false),
        Err(_) => {
            let resumed = state.progress().0 > 0;
            let end = Engine::<1>.run(program, &mut state, &mut Blind, u64::MAX);
            (end, *state.stats(), bytes(state.memory()), resumed)
        }
    };
    let what = match () {
        () if end != exact.end => format!("{end:?}\nexact: {:?}", exact.end),
        () if stats != exact.stats => format!("{stats:#?}\nexact: {:#?}", exact.stats),
        () if memory != exact.memory => "memory differs".to_owned(),
        () => return Ok(resumed),
    };
    Err(format!("made final in parts, gone on with: {resumed}: {what}"))
}
