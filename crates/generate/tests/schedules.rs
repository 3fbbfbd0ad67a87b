//! Determinate kernels store the same under every schedule.

use converge::catalogue::Entry;
use generate::kernel::{Shape, module};
use generate::operands::{IN_BYTES, OWN_BYTES, eight_bytes, long, word};
use generate::random::{Pool, named};
use generate::{flow, templates::Group};
use ir::FuncId;
use ir::testing::Rng;
use simt::machine::{Machine, Step};
use vm::{Engine, Launch, Program, begin_bare, catalogued};

const HEAD: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

/// Which side goes first, and where lanes meet, is another question for each of these.
const MECHANISMS: [&str; 5] = ["ipdom", "serial", "min-pc", "max-pc", "multi-path"];

/// A kernel as a program.
fn linked(text: &str, name: &str) -> Program {
    let (tree, _) = ptx::parse(isa::FileId(0), text);
    let (module, found) = ptx::lower(&tree, ptx::Select::Kernel(name));
    let module = module.unwrap_or_else(|| panic!("{name}: {found:?}"));
    Program::link(module).unwrap()
}

/// What a kernel stores in its own buffer under a mechanism. `input` is whether it has the
/// parameters of kernels of forms.
fn stored(program: &Program, shape: Shape, bytes: u64, input: bool, mechanism: &str) -> Vec<u8> {
    let functions = &program.module().functions;
    let number = functions.iter().position(ir::Function::is_kernel).unwrap();
    let entry = Entry::find(mechanism).unwrap();
    let mut launch = Launch::new(FuncId(number as u32), catalogued(entry));
    (launch.grid, launch.block) = ([shape.grid, 1, 1], shape.block);
    launch.variables = vm::load_variables(program, &mut launch.memory).unwrap();
    let threads = u64::from(shape.grid * shape.block.iter().product::<u32>());
    let mut rng = Rng::new(1);
    let out = launch.memory.allocate("out", bytes * threads).unwrap();
    let mut values = vec![out.0.to_le_bytes().to_vec()];
    if input {
        let at = launch.memory.allocate("in", IN_BYTES).unwrap();
        let content: Vec<u8> = (0..IN_BYTES / 8).flat_map(|_| eight_bytes(&mut rng)).collect();
        launch.memory.host_write(at, &content).unwrap();
        let at = at.0.to_le_bytes().to_vec();
        values = vec![at.clone(), values.remove(0), at.clone(), at];
        values.extend([0, 1].map(|_| word(&mut rng).to_le_bytes().to_vec()));
        values.push(long(&mut rng).to_le_bytes().to_vec());
        values.push((0..8).flat_map(|_| eight_bytes(&mut rng)).collect());
    }
    let params = functions[number].params();
    let size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    launch.params = vec![0; size as usize];
    for (param, value) in params.iter().zip(&values) {
        let from = param.offset as usize;
        launch.params[from..from + value.len()].copy_from_slice(value);
    }
    let mut state = begin_bare(program, launch).unwrap();
    let end = loop {
        match Engine::<1>.run_unobserved(program, &mut state, 1 << 20) {
            Step::Issued => {}
            end => break end,
        }
    };
    assert!(matches!(end, Step::Done), "{mechanism}: {end:?}");
    let mut stored = vec![0; (bytes * threads) as usize];
    state.into_memory().read_bytes(out, &mut stored).unwrap();
    stored
}

#[test]
fn kernels_of_forms_store_the_same_under_every_schedule() {
    let pool = Pool::determinate(HEAD);
    let (mut collectives, mut stores, mut differ) = (0, 0, Vec::new());
    for seed in (0..120).step_by(4) {
        let name = format!("k{seed}");
        let kernel = named(&pool, seed, &name);
        let text = module(HEAD, std::slice::from_ref(&kernel));
        collectives += usize::from(text.contains(".sync"));
        let program = linked(&text, &name);
        let run = |mechanism| stored(&program, kernel.shape, OWN_BYTES, true, mechanism);
        let first = run(MECHANISMS[0]);
        // All threads of some kernels end early.
        stores += usize::from(first.iter().any(|&byte| byte != 0));
        differ.extend(MECHANISMS[1..].iter().filter(|m| run(m) != first).map(|m| (seed, *m)));
    }
    assert!(differ.is_empty(), "{differ:?}");
    assert!(collectives > 2 && stores > 25, "{collectives} {stores}");
    assert!(pool.all.iter().any(|t| t.group == Group::Collective));
}

#[test]
fn kernels_of_flow_store_the_same_under_every_schedule() {
    for seed in 0..24 {
        let name = format!("k{seed}");
        let kernel = flow::kernel(seed, &name);
        let text = format!("{HEAD}{}", kernel.text);
        let bytes = flow::FlowKernel::BYTES as u64;
        let program = linked(&text, &name);
        let run = |mechanism| stored(&program, kernel.shape, bytes, false, mechanism);
        let first = run(MECHANISMS[0]);
        for mechanism in &MECHANISMS[1..] {
            assert!(run(mechanism) == first, "{name}: {mechanism}");
        }
        // The IR's own kernel, computed thread by thread.
        let mut rng = Rng::new(seed);
        let kinds = ir::testing::KernelShape::ALL;
        let module = ir::testing::random_kernel(&mut rng, kinds[seed as usize % kinds.len()]);
        let block = kernel.shape.block[0];
        for (thread, words) in first.chunks(flow::FlowKernel::BYTES).enumerate() {
            let (ctaid, tid) = (thread as u32 / block, thread as u32 % block);
            let expected = ir::testing::expected(&module, ctaid, block, tid).unwrap();
            let expected: Vec<u8> = expected.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(words, expected, "{name}, thread {thread}");
        }
    }
}
