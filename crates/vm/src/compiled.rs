//! The exact engine for the two widths that states have, compiled in this crate.
//!
//! The engine is generic over what observes it, and in each crate that calls it with an observer
//! the compiler would make all of it once more. Callers of which speed is not asked go through
//! [`Compiled`], whose methods are not generic: the engine is then there once without an observer
//! and once a width for all observers together.

use crate::cause::Cause;
use crate::defined::Definedness;
use crate::engine;
use crate::facts::{FactCheck, Violation};
use crate::program::Program;
use crate::schedule::{self, Canonical, Scheduler};
use crate::state::State;
use converge::Path;
use simt::machine::Step;
use simt::observe::{AnyObserver, Blind};

/// States that the exact engine runs: those of groups of up to 64 and up to 1,024 lanes.
pub trait Compiled<const N: usize>: Sized {
    /// Issues up to `limit` instructions.
    fn run_unobserved(&mut self, program: &Program, limit: u64) -> Step<Cause, N>;

    /// Issues up to `limit` instructions, observed.
    fn run_observed(
        &mut self,
        program: &Program,
        observer: &mut AnyObserver<'_, N>,
        limit: u64,
    ) -> Step<Cause, N>;

    /// Issues up to `limit` instructions and follows undefined values; `None` if what follows them
    /// stops the launch.
    fn run_defined(
        &mut self,
        program: &Program,
        defined: &mut Definedness,
        observer: &mut AnyObserver<'_, N>,
        limit: u64,
    ) -> Option<Step<Cause, N>>;

    /// Issues one instruction and checks the facts that the analyses hold of it.
    ///
    /// # Errors
    /// Returns the first fact that does not hold.
    fn step_checked(
        &mut self,
        program: &Program,
        facts: &mut FactCheck,
    ) -> Result<Step<Cause, N>, Box<Violation>>;

    /// Returns the path whose instruction is issued next.
    ///
    /// # Errors
    /// Returns the end of the launch if there is none.
    fn next_path(&mut self, program: &Program) -> Result<Path<N>, Step<Cause, N>>;
}

macro_rules! compiled {
    ($lanes:literal, |$program:ident, $state:ident, $limit:ident| $unobserved:expr) => {
        impl Compiled<$lanes> for State<$lanes> {
            fn run_unobserved(&mut self, program: &Program, limit: u64) -> Step<Cause, $lanes> {
                let ($program, $state, $limit) = (program, self, limit);
                $unobserved
            }

            fn run_observed(
                &mut self,
                program: &Program,
                observer: &mut AnyObserver<'_, $lanes>,
                limit: u64,
            ) -> Step<Cause, $lanes> {
                engine::run(program, self, observer, limit)
            }

            fn run_defined(
                &mut self,
                program: &Program,
                defined: &mut Definedness,
                observer: &mut AnyObserver<'_, $lanes>,
                limit: u64,
            ) -> Option<Step<Cause, $lanes>> {
                defined.run(&mut Canonical, program, self, observer, limit)
            }

            fn step_checked(
                &mut self,
                program: &Program,
                facts: &mut FactCheck,
            ) -> Result<Step<Cause, $lanes>, Box<Violation>> {
                facts.step(program, self)
            }

            fn next_path(
                &mut self,
                program: &Program,
            ) -> Result<Path<$lanes>, Step<Cause, $lanes>> {
                engine::next(program, self, &mut AnyObserver::new(&mut Blind))
            }
        }
    };
}

compiled!(1, |program, state, limit| engine::run(program, state, &mut Blind, limit));
// Few launches have groups so wide: what events there are is asked when they run.
compiled!(16, |program, state, limit| {
    state.run_observed(program, &mut AnyObserver::new(&mut Blind), limit)
});

/// Issues up to `limit` instructions in the order of a strategy, and follows undefined values if
/// that is wanted; `None` if the strategy or what follows the values stops the launch.
pub fn run_scheduled(
    schedule: &mut Scheduler<'_, '_, 1>,
    program: &Program,
    state: &mut State<1>,
    (observer, defined): (&mut AnyObserver<'_, 1>, Option<&mut Definedness>),
    limit: u64,
) -> Option<Step<Cause, 1>> {
    match defined {
        Some(defined) => defined.run(schedule, program, state, observer, limit),
        None => schedule::run(schedule, program, state, observer, limit),
    }
}
