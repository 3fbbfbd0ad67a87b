//! Launches in the debugger.

use debug::{After, Client};
use debug_vm::Begin;
use engine::Exact;
use simt::memory::MemoryMap;
use vm::State;

use super::program::VmProgram;
use crate::launch::LaunchRequest;

/// Hands a launch to a debugger; returns its state, without the memory, and what becomes of it.
pub(super) fn run<'p, const N: usize>(
    program: &'p VmProgram,
    (mut state, memory): (State<N>, &mut MemoryMap),
    (request, begin): (&'p LaunchRequest<'_>, Begin<'p, N>),
    client: &mut dyn Client,
) -> (State<N>, After)
where
    State<N>: Exact<N>,
{
    let Some(kernel) = program.module().function(request.kernel) else {
        return (state, After::Run);
    };
    let kernel = debug_vm::Kernel {
        program: &program.program,
        places: program.places(),
        text: Some(&program.text),
        kernel,
        mechanism: request.mechanism,
        grid: request.grid,
        block: request.block,
        begin,
    };
    std::mem::swap(state.memory_mut(), memory);
    let (mut state, after) = debug_vm::run(&kernel, state, client);
    std::mem::swap(state.memory_mut(), memory);
    (state, after)
}
