//! Runs ahead on the fast engine, and searches.
//!
//! The fast engine knows no breakpoints. It runs a copy of the program that has a `trap` at each
//! place, which it leaves to the exact engine: so it stops behind the last block that it has
//! committed before the first of these places is reached. Nothing that was executed up to there
//! differs from the program itself.

use std::sync::atomic::Ordering;

use debug::{Ahead, Goal, Search, Searcher, Segment};
use engine::Exact;
use ir::{Inst, Module, Op};
use simt::Pc;
use vm::{Program, State};

use crate::Kernel;
use crate::search::{Difference, Races, Side};

/// The mechanism that the fast engine has.
const FAST: &str = "ipdom";

/// What a kernel's launches have beside the exact engine.
pub(crate) struct Companion<'p, const N: usize> {
    pub(crate) kernel: Kernel<'p, N>,
}

impl<'p, const N: usize> debug::Companion<'p, State<N>> for Companion<'p, N>
where
    State<N>: Exact<N>,
{
    fn may_run_ahead(&self, state: &State<N>) -> bool {
        state.is_vacant()
    }

    fn run_ahead(&self, state: &mut State<N>, goal: &Goal<'_>) -> Result<Ahead, String> {
        if self.kernel.mechanism != FAST {
            return Err(format!("it has the mechanism `{FAST}` alone"));
        }
        let marked;
        let program = match goal.places {
            [] => self.kernel.program,
            places => {
                marked = with_traps(self.kernel.program, places)?;
                &marked
            }
        };
        let mut poll = || !goal.interrupt.load(Ordering::Relaxed);
        match state.run_ahead(program, goal.until, &mut poll) {
            Ok(engine::Ahead::Committed) => Ok(Ahead::Reached(state.stats().slots.issues())),
            Ok(engine::Ahead::Ended(at)) => Ok(Ahead::Ended(at)),
            Err(declined) => Err(declined.to_string()),
        }
    }

    fn other(&self, mechanism: Option<&str>) -> Result<String, String> {
        let name = mechanism.unwrap_or(vm::Retry::MECHANISM);
        let entry = converge::Entry::find(name).map_err(|error| error.to_string())?;
        (self.kernel.begin)(entry.name)?;
        Ok(entry.name.to_owned())
    }

    fn search(
        &self,
        search: &Search,
        mut segments: Vec<Segment<State<N>>>,
    ) -> Result<Box<dyn Searcher + 'p>, String> {
        let kernel = &self.kernel;
        match search {
            Search::Race => Ok(Box::new(Races::new(kernel, segments))),
            Search::Difference(other) => {
                let [(0, start)] = segments.as_mut_slice() else {
                    return Err(
                        "the launch was changed: only as it began can it be compared with \
                                another mechanism"
                            .to_owned(),
                    );
                };
                let mut begun = (kernel.begin)(other)?;
                let memory = start.memory().try_clone().map_err(|error| error.to_string())?;
                *begun.state.memory_mut() = memory;
                begun.state.heap_mut().clone_from(start.heap_mut());
                let theirs = Side::new(begun.program, begun.places, begun.state);
                let (_, start) = segments.remove(0);
                let ours = Side::new(kernel.program, kernel.places, start);
                Ok(Box::new(Difference::new(ours, theirs, other)))
            }
        }
    }
}

/// The program with a trap at each place, or before it in its block. Places keep their numbers.
fn with_traps(program: &Program, places: &[Pc]) -> Result<Program, String> {
    let mut module = program.module().clone();
    for &place in places {
        let found = instruction_before(program, &mut module, place);
        let inst = found.ok_or_else(|| {
            format!("it cannot stop at {:#x}, a branch that is all of its block", place.0)
        })?;
        *inst = Inst { loc: inst.loc, ..Inst::new(Op::Trap) };
    }
    Program::link(module).map_err(|errors| {
        let first = errors.first().map(|error| error.kind.to_string());
        first.unwrap_or_else(|| "it cannot be linked with traps".to_owned())
    })
}

/// The instruction at a place, or the one before it in the block that the place ends.
fn instruction_before<'m>(
    program: &Program,
    module: &'m mut Module,
    place: Pc,
) -> Option<&'m mut Inst> {
    let entry = |f: usize| program.entry(f).filter(|entry| *entry <= place);
    let function = (0..module.functions.len()).filter(|&f| entry(f).is_some());
    let function = function.max_by_key(|&f| entry(f))?;
    let mut left = usize::try_from(place.0 - entry(function)?.0).ok()?;
    for block in &mut module.functions[function].blocks {
        let length = block.insts.len() + usize::from(block.term.issues());
        if left < length {
            let last = block.insts.len().checked_sub(1)?;
            return block.insts.get_mut(left.min(last));
        }
        left -= length;
    }
    None
}
