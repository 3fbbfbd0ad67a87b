//! Compiled code against the exact engine, on the random kernels of the interpreter's test.

use crate::harness::common::calls::TAKEN;
use crate::harness::common::launches::{independent, mixed, number, structured, with_buffers};
use crate::harness::{Count, RunConfig, compare, compare_in, levels};
use fast::Level;
use ir::testing::{KernelShape, Rng};
use std::io::Write;
use vm::Launch;

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    structured(0..4, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 15 || count.steps == 0, "{count:?}");
}

#[test]
fn kernels_of_all_kinds_end_the_same() {
    let mut count = Count::default();
    mixed(0..50, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 30 && count.stopped > 0 || count.steps == 0, "{count:?}");
    assert!(count.native * 2 >= count.steps, "{count:?}");
}

#[test]
fn calls_end_the_same() {
    for (name, text) in TAKEN {
        let mut count = Count::default();
        for seed in 0..7 {
            with_buffers(text, &mut Rng::new(seed), seed, &mut |program, launch| {
                compare(program, launch, &mut count).map_err(|what| format!("{name}: {what}"))
            });
        }
        assert!(count.compared > 20 || count.steps == 0, "{name}: {count:?}");
        // In launches that count accesses, the interpreter accesses local memory.
        assert!(count.native * 4 >= count.steps * 3, "{name}: {count:?}");
    }
}

#[test]
fn both_tiers_end_the_same_in_every_configuration() {
    let mut count = Count::default();
    tiers(0, 120, &mut count);
    assert!(count.compared > 120 && count.parallel > 20, "{count:?}");
}

/// Returns a random way, at any level of the host; without `compiled`, one of the interpreter's.
fn any_way(compiled: bool, rng: &mut Rng) -> RunConfig {
    let levels: Vec<Level> = match compiled {
        true => levels().collect(),
        false => vec![Level::Portable, Level::Avx2, Level::Avx512],
    };
    let levels: Vec<Level> = levels.into_iter().filter(|l| l.is_available()).collect();
    let level = levels.get(rng.below(levels.len().max(1))).copied().unwrap_or(Level::Portable);
    let (assume, detailed) = (!rng.one_in(4), rng.one_in(2));
    let threads = [1, 1, 2, 3, 8][rng.below(5)];
    RunConfig { compiled, level, assume, detailed, threads }
}

/// Runs `kernels` kernels of each kind, each in one way per tier. Most launches have few blocks,
/// which find most errors.
fn tiers(first: u64, kernels: u64, count: &mut Count) {
    let mut rng = Rng::new(first);
    let mut one = |program: &_, launch: &Launch<1>| {
        let configs = [any_way(false, &mut rng), any_way(true, &mut rng)];
        let mut launch = launch.clone();
        if !rng.one_in(16) {
            launch.grid[0] = launch.grid[0].min(1 + rng.below(3) as u32);
        }
        compare_in(configs.into_iter(), program, &launch, count)
    };
    structured(first..first + kernels / 3 / KernelShape::ALL.len() as u64, &mut one);
    mixed(first..first + kernels / 3, &mut one);
    independent(first..first + kernels / 3, &mut one);
}

/// Run as `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test jit -- --ignored
/// --nocapture differential::many`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    let mut one = |program: &_, launch: &_| compare(program, launch, &mut count);
    structured(first..first + kernels / 12, &mut one);
    mixed(first..first + kernels / 2, &mut one);
    say(&count);
}

/// Runs each kernel once on each tier: `KERNELS=1000000 SEED=1 cargo test -p simtlab-jit --release
/// --test jit -- --ignored --nocapture differential::tiers`.
#[test]
#[ignore = "a campaign"]
fn tiers_end_the_same_on_many_kernels() {
    let mut count = Count::default();
    tiers(number("SEED", 1) << 32, number("KERNELS", 1000), &mut count);
    say(&count);
}

fn say(count: &Count) {
    assert!(count.compared > 0, "{count:?}");
    let share = 100.0 * count.native as f64 / count.steps as f64;
    let _ = writeln!(std::io::stdout(), "{count:?}: {share:.1} % of the steps compiled");
}
