//! Compiled code against the exact engine, on random kernels: those of the interpreter's test, and structured ones.

#[allow(dead_code, reason = "the interpreter's own test uses the rest")]
#[path = "../../fast/tests/common/mod.rs"]
mod common;
mod harness;

use harness::{Count, compare, launch, with_buffers};
use ir::FuncId;
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel};
use ir::text::print;
use std::io::Write;

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
        with_buffers(&text, &mut rng, seed, count);
    }
}

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    structured(0..30, &mut count);
    assert!(count.compared > 50 || count.steps == 0, "{count:?}");
}

#[test]
fn kernels_of_all_kinds_end_the_same() {
    let mut count = Count::default();
    mixed(0..100, &mut count);
    assert!(count.compared > 60 && count.stopped > 0 || count.steps == 0, "{count:?}");
    assert!(count.native * 2 >= count.steps, "{count:?}");
}

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test differential -- --ignored --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(default)
    };
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    structured(first..first + kernels / 12, &mut count);
    mixed(first..first + kernels / 2, &mut count);
    assert!(count.compared > 0, "{count:?}");
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
