//! Launches of machines with listings in the debugger.

use debug::{After, Client, Execution, Function, Instruction};
use simt::Pc;
use simt::inspect::Inspect;
use simt::machine::Machine;

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
    let program = About { exit: |_| None, instructions: |_| Vec::new() };
    described(code, state, launch, (client, program))
}

/// What else there is to know of the programs of a machine.
pub(super) struct About<M: Machine<1>> {
    /// The code with which one has ended itself.
    pub(super) exit: ExitCode<M::State>,
    /// The instructions of one that was not text.
    pub(super) instructions: fn(&M::Program) -> Vec<Instruction>,
}

/// The same on a machine about whose programs more is known.
pub(super) fn described<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    (request, extents): (&LaunchRequest<'_>, Extents),
    (client, about): (&mut dyn Client, About<M>),
) -> After {
    // Memory moves, the rest is small.
    let memory = std::mem::take(code.machine.memory_mut(state));
    let mut own = state.clone();
    *code.machine.memory_mut(&mut own) = memory;
    let explain = |cause: &M::Cause| cause.to_string();
    let lines = lines(code, about.instructions);
    let mut execution = Execution::new(code.machine, code.program, own, explain, lines).named(
        request.kernel,
        request.mechanism,
        (extents.grid, extents.block),
    );
    execution = execution.with_exit(about.exit);
    let after = client.launch(&mut execution);
    *state = execution.into_state();
    after
}

/// The statements of a listing, with the program's symbols as functions.
fn lines<M: Machine<1>>(
    code: &Code<'_, M>,
    binary: fn(&M::Program) -> Vec<Instruction>,
) -> debug::Code {
    let (listing, symbols) = (code.listing, code.symbols);
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
    let mut instructions: Vec<Instruction> = listing.lines.iter().map(instruction).collect();
    if text.is_none() {
        instructions = binary(code.program);
    }
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
