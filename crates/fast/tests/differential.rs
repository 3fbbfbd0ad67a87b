//! The fast engine against the exact one: equal memory, equal statistics, number by number, at every level of the host.

#[path = "common/both.rs"]
mod both;
mod common;

use both::{Count, compare};
use converge::catalogue::Entry;
use converge::mechanism::{Knobs, Order};
use ir::FuncId;
use ir::module::Module;
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel};
use ir::text::print;
use std::io::Write;
use vm::{Launch, Program, catalogued, load_variables};

const ORDERS: [Option<Order>; 4] =
    [None, Some(Order::Fallthrough), Some(Order::Minority), Some(Order::Majority)];

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
