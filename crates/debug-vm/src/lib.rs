//! Launches of kernels in the debugger: their code as it is shown, and how they are handed over.
//!
//! The laboratory and the library interfaces hand launches to debuggers through [`run`], so that
//! both show the same code. A launch is in the debugger from before its first issue, on the exact
//! engine; the caller runs what is left of it.

use checks::probe::Place;
use debug::{After, Client, Code, Execution, Function, Instruction, Parameter};
use ir::FuncId;
use isa::SourceFile;
use simt::Pc;
use vm::{Cause, Engine, State};

/// A kernel whose launch is to be debugged.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'p> {
    /// The linked program.
    pub program: &'p vm::Program,
    /// The places of its code, by program counter.
    pub places: &'p [Place],
    /// The text that lines refer to. Code of other texts has no lines.
    pub text: &'p SourceFile,
    /// The kernel.
    pub kernel: FuncId,
    /// The name of the launch's mechanism.
    pub mechanism: &'p str,
    /// Extents of the grid in blocks.
    pub grid: [u64; 3],
    /// Extents of a block in threads.
    pub block: [u64; 3],
}

/// Hands a launch, with its memory, to a debugger; returns it as the debugger leaves it, and what
/// is to become of it.
pub fn run<const N: usize>(
    kernel: &Kernel<'_>,
    state: State<N>,
    client: &mut dyn Client,
) -> (State<N>, After) {
    let module = kernel.program.module();
    let name = module.functions.get(kernel.kernel.index()).map_or("", |f| f.name.as_str());
    let engine = Engine::<N>;
    let mut execution = Execution::new(&engine, kernel.program, state, explain, code(kernel))
        .named(name, kernel.mechanism, (kernel.grid, kernel.block));
    let after = client.launch(&mut execution);
    (execution.into_state(), after)
}

fn explain(cause: &Cause) -> String {
    match cause {
        Cause::Access(error) => places::explain(error),
        other => other.to_string(),
    }
}

fn parameters(kernel: &Kernel<'_>) -> Vec<Parameter> {
    let function = kernel.program.module().functions.get(kernel.kernel.index());
    let params = function.map(ir::Function::params).unwrap_or_default();
    let parameter = |param: &ir::module::Param| Parameter {
        name: param.name.clone(),
        offset: param.offset.into(),
        bytes: param.size.into(),
    };
    params.iter().map(parameter).collect()
}

/// The code as the debugger shows it.
fn code(kernel: &Kernel<'_>) -> Code {
    let (program, text) = (kernel.program, kernel.text);
    let module = program.module();
    let main = main_file(kernel);
    let instruction = |((pc, place), code): ((u64, &Place), &vm::Code)| {
        let file = module.locs.get(code.loc().index()).map(|loc| loc.span.file);
        Instruction {
            pc: Pc(pc),
            text: place.text.clone(),
            line: place.line.filter(|_| main.is_none() || file == main),
            source: place.source.clone(),
        }
    };
    let instructions = (0..).zip(kernel.places).zip(program.code()).map(instruction).collect();
    let end = kernel.places.len() as u64;
    let functions = &module.functions;
    let entries: Vec<Pc> = (0..functions.len()).filter_map(|f| program.entry(f)).collect();
    let next = |entry: Pc| entries.iter().copied().filter(|&e| e > entry).min();
    let shown = functions.iter().zip(&entries).map(|(function, &entry)| Function {
        name: function.name.clone(),
        entry,
        end: next(entry).unwrap_or(Pc(end)),
    });
    let mut code = Code::new(text.name(), text.text(), instructions, shown.collect());
    for (function, &entry) in functions.iter().zip(&entries) {
        let mut pc = entry;
        for block in &function.blocks {
            code.labels.push((block.name.clone(), pc));
            pc.0 += block.insts.len() as u64 + u64::from(block.term.issues());
        }
    }
    code.parameters = parameters(kernel);
    code
}

/// The text in which the kernel stands, if it has a place.
fn main_file(kernel: &Kernel<'_>) -> Option<isa::FileId> {
    let module = kernel.program.module();
    let function = module.functions.get(kernel.kernel.index())?;
    let loc = module.locs.get(function.loc.index())?;
    (function.loc != ir::LocId(0)).then_some(loc.span.file)
}

/// Returns the text in which a kernel stands, of those that its program was made from.
#[must_use]
pub fn text_of<'s>(
    program: &vm::Program,
    kernel: FuncId,
    sources: &'s isa::SourceMap,
) -> Option<&'s SourceFile> {
    let module = program.module();
    let function = module.functions.get(kernel.index())?;
    sources.get(module.locs.get(function.loc.index())?.span.file)
}
