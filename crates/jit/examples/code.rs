//! Writes the machine code of the first kernel of a PTX file to standard output, for a
//! disassembler:
//!
//! ```sh
//! cargo run --release -p simtlab-jit --example code -- kernels/saxpy/saxpy.ptx 256 > saxpy.bin
//! objdump -D -b binary -m i386:x86-64 -M intel saxpy.bin
//! ```
//!
//! The file is followed by the threads of a block in x, y and z, `detailed` for code that counts
//! everything, and `avx2` for code of that level.

use std::error::Error;
use std::io::Write;

use converge::catalogue::Entry;
use fast::Level;
use ir::FuncId;
use ir::module::Signature;
use simt::machine::Machine;
use vm::{Engine, Launch, Program, catalogued, load_variables};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: code FILE [X [Y [Z]]] [detailed] [avx2]")?;
    let rest: Vec<String> = args.collect();
    let is = |word: &str| rest.iter().any(|arg| arg == word);
    let level = if is("avx2") { Level::Avx2 } else { Level::best() };
    let mut block = [32, 1, 1];
    let numbers = rest.iter().filter(|arg| arg.starts_with(|c: char| c.is_ascii_digit()));
    for (to, arg) in block.iter_mut().zip(numbers) {
        *to = arg.parse()?;
    }
    let (tree, _) = ptx::parse(isa::FileId::default(), &std::fs::read_to_string(file)?);
    let module = ptx::lower(&tree, ptx::Select::All).0.ok_or("this is not PTX that can be run")?;
    let program = Program::link(module).map_err(|e| format!("{e:?}"))?;
    let functions = &program.module().functions;
    let kernel = functions.iter().position(|f| matches!(f.signature, Signature::Kernel { .. }));
    let kernel = kernel.ok_or("there is no kernel")?;
    let mut launch: Launch<1> =
        Launch::new(FuncId(kernel as u32), catalogued(Entry::find("ipdom")?));
    launch.variables = load_variables(&program, &mut launch.memory)?;
    let size = functions[kernel].params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    (launch.params, launch.block) = (vec![0; size as usize], block);
    if let Signature::Kernel { bounds, .. } = &functions[kernel].signature {
        launch.grid = bounds.cluster.unwrap_or([1; 3]);
    }
    let state = Engine::<1>.launch(&program, launch)?;
    let kernel = fast::prepare(&program, &state, true)?;
    let compiled = jit::Compiled::at(kernel, level, is("detailed")).map_err(|(_, why)| why)?;
    std::io::stdout().write_all(compiled.code())?;
    Ok(())
}
