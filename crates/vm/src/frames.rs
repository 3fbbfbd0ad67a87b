//! Variables in the call frames of a thread, for messages.

use simt::memory::{BlockInfo, Symbol};
use simt::observe::Space;

use crate::cause::Cause;
use crate::engine::{Failure, Now};
use crate::program::Program;
use crate::state::{Cta, State};

/// The name of a frame's `alloca` memory.
const ALLOCA: &str = "alloca";

/// Names the local variable nearest to a refused access of local memory, among all on the stack of
/// the first failing lane.
#[cold]
pub(crate) fn name_local<const N: usize>(
    program: &Program,
    state: &State<N>,
    now: &Now<N>,
    failure: &mut Failure<N>,
) {
    let (Cause::Access(error), lanes) = &mut **failure else { return };
    if error.space != Space::Local {
        return;
    }
    let Some((cta, lane)) = state.resident[now.slot].as_deref().zip(lanes.iter().next()) else {
        return;
    };
    let thread = cta.groups[now.group].thread(lane);
    let symbols = local_variables(program, cta, now, thread);
    let info = BlockInfo { space: Space::Local, len: cta.local[thread].len(), symbols: &symbols };
    let (violation, access) = (error.violation, error.access);
    *error = info.error(violation, access, error.addr, error.size, error.align);
}

/// Returns the variables of the function that a thread executes, then those of its callers.
fn local_variables<const N: usize>(
    program: &Program,
    cta: &Cta<N>,
    now: &Now<N>,
    thread: usize,
) -> Vec<Symbol> {
    let frames = &cta.frames;
    let running = (now.pc.0, frames.local[thread]);
    let callers = frames.stack[thread].iter().rev();
    let callers = callers.map(|frame| (frame.return_to.0.saturating_sub(1), frame.local));
    let mut out = Vec::new();
    for (pc, (base, end)) in std::iter::once(running).chain(callers) {
        let Some(code) = program.at(simt::Pc(pc)) else { continue };
        let function = code.function();
        let Some(declared) = program.module.functions.get(function) else { continue };
        out.extend(declared.locals.iter().map(|local| Symbol {
            name: local.name.as_str().into(),
            offset: u64::from(base) + u64::from(local.offset),
            len: local.size.into(),
        }));
        let allocated = base + program.functions[function].local_bytes;
        if end > allocated {
            let (offset, len) = (allocated.into(), (end - allocated).into());
            out.push(Symbol { name: ALLOCA.into(), offset, len });
        }
    }
    out
}
