//! Launches in the debugger.

use debug::{After, Client};
use simt::memory::MemoryMap;
use vm::State;

use super::program::VmProgram;
use crate::launch::LaunchRequest;

/// Hands a launch to a debugger; returns its state, without the memory, and what becomes of it.
pub(super) fn run<const N: usize>(
    program: &VmProgram,
    (mut state, memory): (State<N>, &mut MemoryMap),
    request: &LaunchRequest<'_>,
    client: &mut dyn Client,
) -> (State<N>, After) {
    let Some(kernel) = program.module().function(request.kernel) else {
        return (state, After::Run);
    };
    let kernel = debug_vm::Kernel {
        program: &program.program,
        places: program.places(),
        text: &program.text,
        kernel,
        mechanism: request.mechanism,
        grid: request.grid,
        block: request.block,
    };
    std::mem::swap(state.memory_mut(), memory);
    let (mut state, after) = debug_vm::run(&kernel, state, client);
    std::mem::swap(state.memory_mut(), memory);
    (state, after)
}
