//! Launches of kernels in the debugger: their code as it is shown, and how they are handed over.
//!
//! The laboratory and the library interfaces hand launches to debuggers through [`run`], so that
//! both show the same code. A launch is in the debugger from before its first issue, on the exact
//! engine; the caller runs what is left of it. Runs to far places begin on the fast engine
//! (`companion`); races and differences from other mechanisms are found by searches (`search`).

mod companion;
mod dwarf;
mod search;

use std::sync::Arc;

use checks::probe::Place;
use debug::{After, Client, Code, Execution, Function, Instruction, Parameter};
use engine::Exact;
use ir::FuncId;
use isa::SourceFile;
use simt::Pc;
use vm::{Cause, Engine, State};

/// Begins the same launch under another mechanism: its code, the places of it, and its state
/// without memory. Returns why it cannot.
pub type Begin<'p, const N: usize> = &'p dyn Fn(&str) -> Result<Begun<'p, N>, String>;

/// A launch under another mechanism.
pub struct Begun<'p, const N: usize> {
    /// The linked program.
    pub program: &'p vm::Program,
    /// The places of its code.
    pub places: &'p Arc<[Place]>,
    /// The state before the first issue, without memory.
    pub state: State<N>,
}

/// A kernel whose launch is to be debugged.
#[derive(Clone, Copy)]
pub struct Kernel<'p, const N: usize> {
    /// The linked program.
    pub program: &'p vm::Program,
    /// The places of its code, by program counter.
    pub places: &'p Arc<[Place]>,
    /// The text that lines refer to, if there is one. Code of other texts has no lines.
    pub text: Option<&'p SourceFile>,
    /// The kernel.
    pub kernel: FuncId,
    /// The name of the launch's mechanism.
    pub mechanism: &'p str,
    /// Extents of the grid in blocks.
    pub grid: [u64; 3],
    /// Extents of a block in threads.
    pub block: [u64; 3],
    /// The launch under another mechanism.
    pub begin: Begin<'p, N>,
}

/// A launch as a debugger leaves it.
pub struct Left<const N: usize> {
    /// Its state, with its memory.
    pub state: State<N>,
    /// What is to become of it: it runs on, or it stops.
    pub after: After,
    /// The mechanism under which it has begun again, if it has: its code is then that of
    /// [`Begun::program`].
    pub again: Option<&'static str>,
}

/// Hands a launch, with its memory, to a debugger, until that leaves it.
pub fn run<const N: usize>(
    kernel: &Kernel<'_, N>,
    state: State<N>,
    client: &mut dyn Client,
) -> Left<N>
where
    State<N>: Exact<N>,
{
    let (mut kernel, mut state, mut again) = (*kernel, state, None);
    let module = kernel.program.module();
    let name = module.functions.get(kernel.kernel.index()).map_or("", |f| f.name.as_str());
    let engine = &Engine::<N>;
    loop {
        let mut execution = Execution::new(engine, kernel.program, state, explain, code(&kernel))
            .named(name, kernel.mechanism, (kernel.grid, kernel.block))
            .with_companion(companion(&kernel));
        let after = client.launch(&mut execution);
        let wanted = execution.take_again().filter(|_| after == After::Again);
        let begun = wanted.and_then(|(name, first)| {
            let other = converge::Entry::find(&name).ok()?;
            Some((other.name, begun(&kernel, other.name, first).ok()?))
        });
        let Some((name, begun)) = begun else {
            // The command has tried it: one that was to begin again and cannot is none.
            let after = if after == After::Again { After::Stop } else { after };
            return Left { state: execution.into_state(), after, again };
        };
        again = Some(name);
        let (program, places) = (begun.program, begun.places);
        kernel = Kernel { program, places, mechanism: name, ..kernel };
        state = begun.state;
    }
}

/// The launch under another mechanism, with the memory and the heap of its start.
pub(crate) fn begun<'p, const N: usize>(
    kernel: &Kernel<'p, N>,
    mechanism: &str,
    mut start: State<N>,
) -> Result<Begun<'p, N>, String>
where
    State<N>: Exact<N>,
{
    let mut begun = (kernel.begin)(mechanism)?;
    std::mem::swap(begun.state.memory_mut(), start.memory_mut());
    begun.state.heap_mut().clone_from(start.heap_mut());
    Ok(begun)
}

/// What a kernel's launches have in the debugger beside the exact engine: runs ahead on the fast
/// one, and searches for races and for differences from other mechanisms.
#[must_use]
pub fn companion<'p, const N: usize>(
    kernel: &Kernel<'p, N>,
) -> Box<dyn debug::Companion<'p, State<N>> + 'p>
where
    State<N>: Exact<N>,
{
    Box::new(companion::Companion { kernel: *kernel })
}

fn explain(cause: &Cause) -> String {
    match cause {
        Cause::Access(error) => places::explain(error),
        other => other.to_string(),
    }
}

fn parameters<const N: usize>(kernel: &Kernel<'_, N>) -> Vec<Parameter> {
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
fn code<const N: usize>(kernel: &Kernel<'_, N>) -> Code {
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
    let instructions =
        (0..).zip(kernel.places.iter()).zip(program.code()).map(instruction).collect();
    let end = kernel.places.len() as u64;
    let functions = &module.functions;
    let entries: Vec<Pc> = (0..functions.len()).filter_map(|f| program.entry(f)).collect();
    let next = |entry: Pc| entries.iter().copied().filter(|&e| e > entry).min();
    let shown = functions.iter().zip(&entries).map(|(function, &entry)| Function {
        name: function.name.clone(),
        entry,
        end: next(entry).unwrap_or(Pc(end)),
    });
    let (name, text) = text.map_or(("", ""), |text| (text.name(), text.text()));
    let mut code = Code::new(name, text, instructions, shown.collect());
    for (function, &entry) in functions.iter().zip(&entries) {
        let mut pc = entry;
        for block in &function.blocks {
            code.labels.push((block.name.clone(), pc));
            pc.0 += block.insts.len() as u64 + u64::from(block.term.issues());
        }
    }
    code.parameters = parameters(kernel);
    if let Some(text) = kernel.text {
        let spans: Vec<_> = kernel.places.iter().map(|place| place.span).collect();
        code.variables = dwarf::variables(text, &spans);
    }
    code
}

/// The text in which the kernel stands, if it has a place.
fn main_file<const N: usize>(kernel: &Kernel<'_, N>) -> Option<isa::FileId> {
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
