//! Any text that lowers: its first kernels link, and run for a few thousand issues under two
//! mechanisms at two widths. Nothing panics, hangs or grows without bound, and the lane slots add
//! up at every end.

#![no_main]

use converge::catalogue::{CATALOGUE, Entry};
use ir::FuncId;
use ir::module::Signature;
use isa::FileId;
use libfuzzer_sys::fuzz_target;
use simt::machine::{Machine as _, Step};
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Issues of one run: what a fuzzer can wait for.
const ISSUES: u64 = 4000;

/// Kernels of a file that run.
const KERNELS: usize = 2;

/// Bytes of the buffer that parameters point to.
const BUFFER: u64 = 4096;

/// Runs a kernel with every parameter of eight bytes an address of a buffer, and all others small
/// numbers.
fn run(program: &Program, kernel: usize, mechanism: &str, width: u32, threads: u32) {
    let function = &program.module().functions[kernel];
    let Signature::Kernel { params, .. } = &function.signature else { return };
    let Ok(entry) = Entry::find(mechanism) else { return };
    let mut launch: Launch<1> = Launch::new(FuncId(kernel as u32), catalogued(entry));
    let Ok(buffer) = launch.memory.allocate("buffer", BUFFER) else { return };
    let Ok(variables) = load_variables(program, &mut launch.memory) else { return };
    launch.variables = variables;
    let size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0) as usize;
    launch.params = vec![0; size];
    for param in params {
        let at = param.offset as usize;
        match param.size {
            8 => launch.params[at..at + 8].copy_from_slice(&buffer.0.to_le_bytes()),
            4 => launch.params[at..at + 4].copy_from_slice(&7_u32.to_le_bytes()),
            _ => {}
        }
    }
    (launch.block, launch.grid, launch.width) = ([threads, 1, 1], [2, 1, 1], width);
    launch.dynamic_shared = 256;
    launch.heap_limit = 1 << 16;
    launch.stack_limit = 1 << 14;
    launch.limit = ISSUES;
    let engine = Engine::<1>;
    let Ok(mut state) = engine.launch(program, launch) else { return };
    let mut issued = 0;
    while issued < ISSUES {
        match engine.run_unobserved(program, &mut state, 500) {
            Step::Issued => issued += 500,
            Step::Done | Step::Fault(_) | Step::Hang(_) => break,
        }
    }
    assert!(state.stats().slots.identity_holds());
    assert!(state.output().len() < 1 << 24, "a few thousand issues print megabytes");
}

fuzz_target!(|text: &str| {
    let (tree, found) = ptx::parse(FileId::default(), text);
    if found.has_errors() {
        return;
    }
    let (Some(module), _) = ptx::lower(&tree, ptx::Select::All) else { return };
    let kernels: Vec<usize> = module
        .functions
        .iter()
        .enumerate()
        .filter(|(_, f)| matches!(f.signature, Signature::Kernel { .. }))
        .map(|(index, _)| index)
        .take(KERNELS)
        .collect();
    let Ok(program) = Program::link(module) else { return };
    // Which mechanism beside ipdom follows from the text, so that a finding repeats.
    let other = CATALOGUE[text.len() % CATALOGUE.len()].name;
    for kernel in kernels {
        run(&program, kernel, "ipdom", 32, 33);
        run(&program, kernel, other, [8, 16, 32, 64][text.len() / 4 % 4], 40);
    }
});
