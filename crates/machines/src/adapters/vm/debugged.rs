//! Launches in the debugger.

use debug::{After, Client, Code, Execution, Function, Instruction, Parameter};
use ir::FuncId;
use simt::Pc;
use simt::memory::MemoryMap;
use vm::{Cause, Engine, State};

use super::program::VmProgram;
use crate::launch::LaunchRequest;

/// Hands a launch to a debugger; returns its state, without the memory, and what becomes of it.
pub(super) fn run<const N: usize>(
    program: &VmProgram,
    (mut state, memory): (State<N>, &mut MemoryMap),
    request: &LaunchRequest<'_>,
    client: &mut dyn Client,
) -> (State<N>, After) {
    std::mem::swap(state.memory_mut(), memory);
    let mut code = code(program);
    if let Some(kernel) = program.module().function(request.kernel) {
        code.parameters = parameters(program, kernel);
    }
    let extents = (request.grid, request.block);
    let engine = Engine::<N>;
    let mut execution = Execution::new(&engine, &program.program, state, explain, code).named(
        request.kernel,
        request.mechanism,
        extents,
    );
    let after = client.launch(&mut execution);
    let mut state = execution.into_state();
    std::mem::swap(state.memory_mut(), memory);
    (state, after)
}

fn explain(cause: &Cause) -> String {
    match cause {
        Cause::Access(error) => places::explain(error),
        other => other.to_string(),
    }
}

fn parameters(program: &VmProgram, kernel: FuncId) -> Vec<Parameter> {
    let function = program.module().functions.get(kernel.index());
    let params = function.map(ir::Function::params).unwrap_or_default();
    let parameter = |param: &ir::module::Param| Parameter {
        name: param.name.clone(),
        offset: param.offset.into(),
        bytes: param.size.into(),
    };
    params.iter().map(parameter).collect()
}

/// The code as the debugger shows it.
fn code(program: &VmProgram) -> Code {
    let places = program.places().iter();
    let instructions = (0..).zip(places).map(|(pc, place)| Instruction {
        pc: Pc(pc),
        text: place.text.clone(),
        line: place.line,
        source: place.source.clone(),
    });
    let end = program.places().len() as u64;
    let functions = &program.module().functions;
    let entries: Vec<Pc> = (0..functions.len()).filter_map(|f| program.program.entry(f)).collect();
    let next = |entry: Pc| entries.iter().copied().filter(|&e| e > entry).min();
    let functions = functions.iter().zip(&entries).map(|(function, &entry)| Function {
        name: function.name.clone(),
        entry,
        end: next(entry).unwrap_or(Pc(end)),
    });
    let functions = functions.collect();
    let text = program.text.text();
    let mut code = Code::new(program.text.name(), text, instructions.collect(), functions);
    for (function, &entry) in program.module().functions.iter().zip(&entries) {
        let mut pc = entry;
        for block in &function.blocks {
            code.labels.push((block.name.clone(), pc));
            pc.0 += block.insts.len() as u64 + u64::from(block.term.issues());
        }
    }
    code
}
