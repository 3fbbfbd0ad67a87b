//! Launches that run ahead on the fast engine, to where the exact engine is to go on.
//!
//! The exact engine can go on behind CTAs that the fast one has committed, and nowhere else. A
//! debugger that wants the state at a place far away gets the last such state before it.

use fast::{Declined, LaunchObserver, Level};
use jit::Ready;
use vm::{Program, State};

/// How far a launch has run ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// The state is behind the CTAs that were committed.
    Committed,
    /// The launch has ended after so many issues; what is left of its state is void.
    Ended(u64),
}

/// Runs a launch of the mechanism `ipdom` ahead, on one thread: to the last commit before `until`
/// issues, or before what the fast engine leaves to the exact one, or until `poll` says stop. The
/// state has its memory, and no CTA is resident in it ([`State::is_vacant`]).
///
/// # Errors
/// Returns why no CTA was committed. The state is then as before.
pub(crate) fn run_ahead(
    program: &Program,
    state: &mut State<1>,
    until: u64,
    poll: &mut dyn FnMut() -> bool,
) -> Result<Ahead, Declined> {
    if !state.is_vacant() {
        return Err(Declined::Launch("it has begun already"));
    }
    let before = state.progress().0;
    let mut declined = Declined::Wrapped;
    // With assumptions about indices first, and without if one of them fails.
    for assume in [true, false] {
        // Each CTA is committed, since any of them may be the last before the place.
        let kernel = fast::prepare(program, state, assume)?.commit_after(0);
        let ready = Ready::new(kernel, Level::best(), false);
        match ready.run(&mut *state, &mut Until { until, poll }) {
            Ok(finished) => return Ok(Ahead::Ended(finished.stats.slots.issues())),
            Err(why) => declined = why,
        }
        if state.progress().0 > before {
            return Ok(Ahead::Committed);
        }
        if declined != Declined::Wrapped {
            break;
        }
    }
    Err(declined)
}

/// Stops a launch behind a number of issues.
struct Until<'a> {
    until: u64,
    poll: &'a mut dyn FnMut() -> bool,
}

impl LaunchObserver for Until<'_> {
    fn poll(&mut self, _blocks: u64, issues: u64) -> bool {
        issues <= self.until && (self.poll)()
    }

    fn resume_before(&self) -> Option<u64> {
        Some(self.until)
    }
}
