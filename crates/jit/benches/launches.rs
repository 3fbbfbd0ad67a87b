//! Benchmarks of the work before the first instruction of a launch: linking, decoding, compiling;
//! and of a launch of an empty kernel.

use converge::catalogue::Entry;
use criterion::{Criterion, criterion_group, criterion_main};
use ir::FuncId;
use ir::module::Signature;
use simt::machine::Machine;
use std::path::Path;
use vm::{Engine, Launch, Program, State, catalogued, load_variables};

const EMPTY: &str =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";

/// The bundled kernels that are measured one by one; `compile_times` among the tests measures all.
const NAMES: [&str; 6] =
    ["saxpy", "mandelbrot", "sgemm_tiled", "bitonic_sort", "sha256", "raymarch"];

fn module(text: &str) -> Option<ir::module::Module> {
    let (tree, _) = ptx::parse(isa::FileId::default(), text);
    ptx::lower(&tree, ptx::Select::All).0
}

/// Returns a launch of the first kernel, without buffers: it is prepared, not run.
fn state(program: &Program, block: u32) -> Option<State<1>> {
    let is_kernel = |f: &ir::Function| matches!(f.signature, Signature::Kernel { .. });
    let kernel = program.module().functions.iter().position(is_kernel)?;
    let mut launch: Launch<1> =
        Launch::new(FuncId(kernel as u32), catalogued(Entry::find("ipdom").ok()?));
    launch.variables = load_variables(program, &mut launch.memory).ok()?;
    let params = program.module().functions[kernel].params();
    let size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    launch.params = vec![0; size as usize];
    launch.block = [block, 1, 1];
    Engine::<1>.launch(program, launch).ok()
}

fn launches(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    for name in NAMES {
        let file = folder.join(name).join(name).with_extension("ptx");
        let Some(module) = std::fs::read_to_string(file).ok().and_then(|text| module(&text)) else {
            continue;
        };
        c.bench_function(&format!("link/{name}"), |b| b.iter(|| Program::link(module.clone())));
        let Ok(program) = Program::link(module) else { continue };
        let Some(state) = state(&program, 128) else { continue };
        c.bench_function(&format!("decode/{name}"), |b| {
            b.iter(|| fast::prepare(&program, &state, true));
        });
        c.bench_function(&format!("compile/{name}"), |b| {
            let kernel = || fast::prepare(&program, &state, true).ok();
            let compile =
                |kernel: Option<fast::Kernel>| kernel.map(|k| jit::Compiled::new(k, false));
            b.iter_batched(kernel, compile, criterion::BatchSize::SmallInput);
        });
    }
    empty(c);
}

/// Measures an empty kernel from its state to its end, with compiled code.
fn empty(c: &mut Criterion) {
    let Some(program) = module(EMPTY).and_then(|m| Program::link(m).ok()) else { return };
    let begin = || state(&program, 32);
    let Some(kernel) = begin().and_then(|s| fast::prepare(&program, &s, true).ok()) else { return };
    let ready = jit::Ready::new(kernel, fast::Level::best(), false);
    c.bench_function("launch/empty", |b| {
        let run = |state: Option<State<1>>| state.map(|s| ready.run(s, &mut |_, _| true).is_ok());
        b.iter_batched(begin, run, criterion::BatchSize::SmallInput);
    });
}

criterion_group!(benches, launches);
criterion_main!(benches);
