//! The fast engine against the exact one: equal memory, equal statistics, number by number, at every level of the host.

mod common;

use common::observed::{Noting, Observed, of_fast};
use converge::catalogue::Entry;
use converge::mechanism::{Knobs, Order};
use fast::{Declined, Level};
use ir::FuncId;
use ir::module::Module;
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel};
use ir::text::print;
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use std::io::Write;
use vm::{Engine, Launch, Program, Stats, catalogued, load_variables};

const ORDERS: [Option<Order>; 4] =
    [None, Some(Order::Fallthrough), Some(Order::Minority), Some(Order::Majority)];

/// How a launch went on the two engines.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    compared: u64,
    refused: u64,
    stopped: u64,
}

/// All bytes of a map's regions.
fn bytes(memory: &MemoryMap) -> Vec<Vec<u8>> {
    let region = |r: &simt::memory::Region| {
        let mut out = vec![0; r.len() as usize];
        if r.is_live() && !r.is_empty() {
            memory.read_bytes(r.base(), &mut out).expect("a live region");
        }
        out
    };
    memory.regions().iter().map(region).collect()
}

fn levels() -> Vec<Level> {
    let all = [Level::Portable, Level::Avx2, Level::Avx512];
    all.into_iter().filter(|l| l.is_available()).collect()
}

/// Runs a launch on both; what differs.
fn compare(program: &Program, launch: &Launch<1>, count: &mut Count) -> Result<(), String> {
    let engine = Engine::<1>;
    let Ok(state) = engine.launch(program, launch.clone()) else { return Ok(()) };
    for assume in [true, false] {
        let Ok(kernel) = fast::prepare(program, &state, assume) else {
            count.refused += 1;
            return Ok(());
        };
        let mut exact: Option<(Step<vm::Cause>, Vec<Vec<u8>>, Stats, Observed)> = None;
        for level in levels() {
            let state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let (detailed, mut noting) = (level != Level::Avx2, Noting::default());
            let run = fast::run(&kernel, state, level, detailed, &mut noting);
            let (end, memory, stats, observed) = exact.get_or_insert_with(|| {
                let mut state = engine.launch(program, launch.clone()).expect("it launches");
                let mut observed = Observed::default();
                let end = engine.run(program, &mut state, &mut observed, u64::MAX);
                let stats = *state.stats();
                (end, bytes(&state.into_memory()), stats, observed)
            });
            match run {
                Ok(finished) => {
                    if *end != Step::Done {
                        return Err(format!("{level}: it ends, the exact engine says {end:?}"));
                    }
                    if bytes(&finished.memory) != *memory {
                        return Err(format!("{level}, assume {assume}: memory differs"));
                    }
                    if finished.stats != *stats {
                        return Err(format!("{level}: {:#?}\nexact: {stats:#?}", finished.stats));
                    }
                    if let Some(detail) = &finished.detail {
                        let fast = of_fast(detail, &finished.stats);
                        if fast != observed.counted {
                            let exact = &observed.counted;
                            return Err(format!("{level}: {fast:#?}\nexact: {exact:#?}"));
                        }
                        if noting.accesses != observed.accesses {
                            return Err(format!("{level}: its accesses differ"));
                        }
                    }
                    count.compared += 1;
                }
                Err(Declined::Running(_) | Declined::Wrapped) => count.stopped += 1,
                Err(_) => count.refused += 1,
            }
        }
    }
    Ok(())
}

fn launch(module: &Module, kernel: FuncId, seed: u64) -> (Program, Launch<1>) {
    let program = Program::link(module.clone()).expect("it links");
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(kernel, catalogued(entry));
    launch.variables = load_variables(&program, &mut launch.memory).expect("room");
    launch.knobs = Knobs { order: ORDERS[seed as usize % 4], ..Knobs::default() };
    let blocks =
        [[7, 1, 1], [32, 1, 1], [70, 1, 1], [64, 2, 1], [8, 4, 3], [1, 40, 1], [16, 16, 1]];
    launch.block = blocks[seed as usize % 7];
    (program, launch)
}

fn structured(seeds: std::ops::Range<u64>, count: &mut Count) {
    for seed in seeds {
        for shape in KernelShape::ALL {
            let module = random_kernel(&mut Rng::new(seed), shape);
            let (program, mut launch) =
                launch(&module, FuncId(module.functions.len() as u32 - 1), seed);
            launch.grid = [1 + (seed % 40) as u32, 1, 1];
            let threads = u64::from(launch.block.iter().product::<u32>() * launch.grid[0]);
            let out =
                launch.memory.allocate("out", 4 * KERNEL_WORDS as u64 * threads).expect("room");
            launch.params = out.0.to_le_bytes().to_vec();
            if let Err(what) = compare(&program, &launch, count) {
                panic!("{shape:?} {seed}: {what}\n{}", print(&module));
            }
        }
    }
}

fn mixed(seeds: std::ops::Range<u64>, count: &mut Count) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let text = common::kernel(&mut rng);
        let module = ir::text::parse(isa::FileId::default(), &text)
            .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
        let (program, mut launch) = launch(&module, FuncId(0), seed);
        launch.grid = [1 + (seed % 20) as u32, 1, 1];
        launch.limit = 100_000;
        let mut params = (rng.below(9) as u64).to_le_bytes().to_vec();
        for name in ["a", "b"] {
            let buffer = launch.memory.allocate(name, 4 * u64::from(common::WORDS)).expect("room");
            let content: Vec<u8> =
                (0..common::WORDS).flat_map(|_| (rng.value() as u32).to_le_bytes()).collect();
            launch.memory.host_write(buffer, &content).expect("it is there");
            params.extend(buffer.0.to_le_bytes());
        }
        launch.params = params;
        if let Err(what) = compare(&program, &launch, count) {
            panic!("{seed}: {what}\n{text}");
        }
    }
}

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    structured(0..30, &mut count);
    assert!(count.compared > 50, "{count:?}");
}

#[test]
fn kernels_of_all_kinds_end_the_same() {
    let mut count = Count::default();
    mixed(0..60, &mut count);
    assert!(count.compared > 60 && count.stopped > 0 && count.refused == 0, "{count:?}");
}

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-fast --release --test differential -- --ignored --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(default)
    };
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    structured(first..first + kernels / 6, &mut count);
    mixed(first..first + kernels / 2, &mut count);
    assert!(count.compared > 0, "{count:?}");
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
