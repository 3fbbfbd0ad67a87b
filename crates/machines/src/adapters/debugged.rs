//! Launches of machines with listings in the debugger.

use debug::{After, Client, Execution, Function, Instruction};
use simt::Pc;
use simt::inspect::Inspect;
use simt::machine::Machine;

use super::listing::Listing;
use super::runner::{Code, Extents};
use crate::launch::LaunchRequest;

/// Finds the code with which a program has ended itself.
type ExitCode<S> = fn(&S) -> Option<i64>;

/// Hands a launch to a debugger; the state is then where it has left it.
pub(super) fn run<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    launch: (&LaunchRequest<'_>, Extents),
    client: &mut dyn Client,
) -> After {
    with_exit(code, state, launch, (client, |_| None))
}

/// The same on a machine whose programs end themselves with a code.
pub(super) fn with_exit<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    (request, extents): (&LaunchRequest<'_>, Extents),
    (client, exit): (&mut dyn Client, ExitCode<M::State>),
) -> After {
    // Memory moves, the rest is small.
    let memory = std::mem::take(code.machine.memory_mut(state));
    let mut own = state.clone();
    *code.machine.memory_mut(&mut own) = memory;
    let explain = |cause: &M::Cause| cause.to_string();
    let lines = lines(code.listing, code.symbols);
    let mut execution = Execution::new(code.machine, code.program, own, explain, lines).named(
        request.kernel,
        request.mechanism,
        (extents.grid, extents.block),
    );
    execution = execution.with_exit(exit);
    let after = client.launch(&mut execution);
    *state = execution.into_state();
    after
}

/// The statements of a listing, with the program's symbols as functions.
fn lines(listing: &Listing, symbols: &[(String, u64)]) -> debug::Code {
    let text = listing.text.as_ref();
    let written = |span: isa::Span| {
        let text = text.and_then(|text| text.text().get(span.range())).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let instruction = |line: &isa::asm::Line| Instruction {
        pc: Pc(line.address),
        text: written(line.span).into(),
        line: listing.line(line.span),
        source: None,
    };
    let instructions = listing.lines.iter().map(instruction).collect();
    let next = |entry: u64| symbols.iter().map(|s| s.1).filter(|&at| at > entry).min();
    let function = |(name, entry): &(String, u64)| Function {
        name: name.clone(),
        entry: Pc(*entry),
        end: Pc(next(*entry).unwrap_or(u64::MAX)),
    };
    let functions = symbols.iter().map(function).collect();
    let (name, text) = text.map_or(("", ""), |text| (text.name(), text.text()));
    debug::Code::new(name, text, instructions, functions)
}
