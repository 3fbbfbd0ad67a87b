//! Launches in which the fast engine commits CTAs, so that the exact engine resumes after them.

use super::observed::{Exact, HashingObserver, Observed, bytes, of_fast};
use fast::{Declined, Finished};
use simt::machine::{Machine, Step};
use simt::observe::AnyObserver;
use vm::{Engine, Launch, Program, State};

/// Runs a launch with `run` on the fast engine, with or without detail, and its rest on the exact
/// engine. Returns whether that resumed after committed CTAs; the error says what differs from a
/// launch on the exact engine alone.
pub(crate) fn resumed(
    program: &Program,
    launch: &Launch<1>,
    exact: &Exact,
    detailed: bool,
    run: impl FnOnce(&mut State<1>, &mut HashingObserver) -> Result<Finished, Declined>,
) -> Result<bool, String> {
    let mut state = vm::begin_bare(program, launch.clone()).map_err(|e| e.to_string())?;
    let mut observer = HashingObserver::default();
    let (end, stats, memory, output, resumed, observed) = match run(&mut state, &mut observer) {
        Ok(finished) => {
            let counted = finished.detail.as_ref().map(|d| of_fast(d));
            let accesses = observer.accesses;
            let observed = Observed { counted: counted.unwrap_or_default(), accesses };
            (Step::Done, finished.stats, bytes(&finished.memory), finished.output, false, observed)
        }
        Err(_) => {
            let (resumed, mut observed) = (state.progress().0 > 0, observer.committed());
            let end = Engine::<1>.run_observed(
                program,
                &mut state,
                &mut AnyObserver::new(&mut observed),
                u64::MAX,
            );
            let output = state.output().to_vec();
            (end, *state.stats(), bytes(state.memory()), output, resumed, observed)
        }
    };
    let same = observed.counted == exact.observed.counted
        && observed.accesses.are_congruent(&exact.observed.accesses);
    let what = match () {
        () if end != exact.end => format!("{end:?}\nexact: {:?}", exact.end),
        () if stats != exact.stats => format!("{stats:#?}\nexact: {:#?}", exact.stats),
        () if memory != exact.memory => "memory differs".to_owned(),
        () if output != exact.output => "output differs".to_owned(),
        () if detailed && !same => format!("{observed:#?}\nexact: {:#?}", exact.observed),
        () => return Ok(resumed),
    };
    Err(format!("made final in parts, gone on with: {resumed}: {what}"))
}
