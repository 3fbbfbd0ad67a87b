//! Launches in the debugger.

use debug::{After, Client};
use debug_vm::{Begin, Left};
use engine::Exact;
use simt::memory::MemoryMap;
use vm::State;

use super::program::VmProgram;
use crate::launch::LaunchRequest;

/// Hands a launch to a debugger; returns it, without the memory, as the debugger leaves it.
pub(super) fn run<'p, const N: usize>(
    program: &'p VmProgram,
    (mut state, memory): (State<N>, &mut MemoryMap),
    (request, begin): (&'p LaunchRequest<'_>, Begin<'p, N>),
    client: &mut dyn Client,
) -> Left<N>
where
    State<N>: Exact<N>,
{
    let Some(kernel) = program.module().function(request.kernel) else {
        return Left { state, after: After::Run, again: None };
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
    let mut left = debug_vm::run(&kernel, state, client);
    std::mem::swap(left.state.memory_mut(), memory);
    left
}
