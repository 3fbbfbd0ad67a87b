//! Launches of machines with listings in the debugger.

use debug::{Abilities, After, Client, Execution, Function, Instruction};
use simt::Pc;
use simt::inspect::Inspect;
use simt::machine::Machine;

use super::runner::{Code, Extents};
use crate::launch::LaunchRequest;

/// Finds the code with which a program has ended itself.
type ExitCode<S> = fn(&S) -> Option<i64>;

/// Why lanes of machines with predicates do not part.
const PREDICATED: &str = "lanes of this machine never part: they issue every instruction together, \
                          and its predicate turns some of them off for that one";
/// Why nothing arrives at barriers.
const NO_BARRIERS: &str = "this machine has no barriers";

/// Lanes are turned off by predicates of single instructions.
pub(super) const PREDICATES: Abilities = Abilities {
    masks: false,
    one_file: true,
    no_parting: Some(PREDICATED),
    no_barriers: Some(NO_BARRIERS),
};
/// Lanes are turned off by a mask, until it turns them on again.
pub(super) const MASKS: Abilities =
    Abilities { masks: true, one_file: true, no_parting: None, no_barriers: Some(NO_BARRIERS) };

/// Hands a launch to a debugger, on a machine whose lanes have predicates; the state is then where
/// it has left it.
pub(super) fn predicated<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    launch: (&LaunchRequest<'_>, Extents),
    client: &mut dyn Client,
) -> After {
    run(code, state, launch, (client, PREDICATES))
}

/// The same on a machine with a mask of lanes.
pub(super) fn masked<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    launch: (&LaunchRequest<'_>, Extents),
    client: &mut dyn Client,
) -> After {
    run(code, state, launch, (client, MASKS))
}

fn run<M: Inspect<1>>(
    code: &Code<'_, M>,
    state: &mut <M as Machine<1>>::State,
    launch: (&LaunchRequest<'_>, Extents),
    (client, abilities): (&mut dyn Client, Abilities),
) -> After {
    let program = About { abilities, exit: |_| None, instructions: |_| Vec::new() };
    described(code, state, launch, (client, program))
}

/// What else there is to know of a machine and its programs.
pub(super) struct About<M: Machine<1>> {
    /// What its launches have.
    pub(super) abilities: Abilities,
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
    execution = execution.with_exit(about.exit).with_abilities(about.abilities);
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
    // Names that begin so are an assembler's own, for places in functions.
    let named = symbols.iter().filter(|(name, _)| !name.starts_with(".L"));
    let next = |entry: u64| named.clone().map(|s| s.1).filter(|&at| at > entry).min();
    let function = |(name, entry): &(String, u64)| Function {
        name: name.clone(),
        entry: Pc(*entry),
        end: Pc(next(*entry).unwrap_or(u64::MAX)),
    };
    let functions = named.clone().map(function).collect();
    let (name, text) = text.map_or(("", ""), |text| (text.name(), text.text()));
    let mut lines = debug::Code::new(name, text, instructions, functions);
    lines.labels = symbols.iter().map(|(name, at)| (name.clone(), Pc(*at))).collect();
    lines
}
