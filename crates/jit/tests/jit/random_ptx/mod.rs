//! Random PTX on all engines: memory is compared bit by bit, and so are the ends of launches and
//! statistics.
//!
//! Kernels are those of [`generate::random`]. A kernel and the ways in which it is run depend only
//! on its seed. On a difference, the test reports the seed and minimises the kernel by deleting
//! statements.
//!
//! `KERNELS=100000 LAUNCHES=8 SEED=0 cargo test -p simtlab-jit --release --test jit --
//! --ignored --nocapture random_ptx::campaign`

mod engines;
mod minimise;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::Range;

use crate::harness::common::launches::number;
use engines::{Count, Difference, Launchable, NotReady, RunConfig, compare, configs, ready};
use generate::kernel::{self, Kernel, Shape};
use generate::random::{self, Pool};
use generate::templates::Group;
use generate::{frame, operands};

/// A difference, with the minimised kernel.
struct Found {
    seed: u64,
    whole: Difference,
    small: Kernel,
    difference: Difference,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, whole, small, difference } = self;
        let shape = small.shape;
        writeln!(f, "seed {seed}: {whole}")?;
        writeln!(f, "made small, {shape:?}, {difference}\n{}", small.text().ptx)
    }
}

/// Returns a kernel without the statements that the front end refuses.
fn without_refused(mut kernel: Kernel, count: &mut Count) -> Result<(Kernel, Launchable), String> {
    for _ in 0..8 {
        match count.time("parsing and linking", || ready(&kernel)) {
            Ok(ready) => return Ok((kernel, ready)),
            Err(NotReady::Statements(wrong)) => {
                for message in wrong.values() {
                    *count.refused.entry(message.clone()).or_default() += 1;
                }
                kernel = kernel.without(&|n| wrong.contains_key(&n));
            }
            Err(NotReady::Other(what)) => return Err(format!("seed {}: {what}", kernel.seed)),
        }
    }
    Err(format!("seed {}: the front end refuses it\n{}", kernel.seed, kernel.text().ptx))
}

/// Returns the first difference of a kernel in some ways.
fn difference(kernel: &Kernel, configs: &[RunConfig]) -> Option<Difference> {
    let ready = ready(kernel).ok()?;
    compare(kernel, &ready, configs, &mut Count::default()).err()
}

/// Runs a kernel in all ways of its seed.
fn run_kernel(kernel: Kernel, count: &mut Count) -> Result<(), Box<Found>> {
    let seed = kernel.seed;
    let (kernel, ready) = without_refused(kernel, count).unwrap_or_else(|what| panic!("{what}"));
    let Err(whole) = compare(&kernel, &ready, &configs(seed), count) else { return Ok(()) };
    let only: Vec<RunConfig> = whole.config.into_iter().collect();
    let small = minimise::minimise(kernel, &mut |k| difference(k, &only).is_some());
    let difference = difference(&small, &only).unwrap_or_else(|| whole.clone());
    Err(Box::new(Found { seed, whole, small, difference }))
}

/// Runs the kernel of a seed.
fn run(pool: &Pool, seed: u64, count: &mut Count) -> Result<(), Box<Found>> {
    run_kernel(random::kernel(pool, seed), count)
}

fn all(pool: &Pool, seeds: Range<u64>, count: &mut Count) -> Result<(), Box<Found>> {
    seeds.into_iter().try_for_each(|seed| run(pool, seed, count))
}

/// Seeds of the tests, which run in two parallel halves.
const SEEDS: u64 = 400;

#[test]
fn random_kernels_end_the_same() {
    end_the_same(0..SEEDS / 2);
}

#[test]
fn more_random_kernels_end_the_same() {
    end_the_same(SEEDS / 2..SEEDS);
}

fn end_the_same(seeds: Range<u64>) {
    let (pool, mut count) = (Pool::new(), Count::default());
    if let Err(found) = all(&pool, seeds, &mut count) {
        panic!("{found}");
    }
    say(&count);
    assert!(!count.refused.keys().any(|message| message.starts_with(engines::LINK)), "{count:?}");
    assert!(count.refused.values().sum::<u64>() * 5 < count.launches, "{count:?}");
    assert!(count.done * 10 > count.launches * 8, "{count:?}");
    assert!(count.compared > count.launches, "{count:?}");
    assert!(count.parallel * 20 > count.launches, "{count:?}");
    assert!(count.steps == 0 || count.native * 2 > count.steps, "{count:?}");
}

/// Runs every atomic on one address, with and without a result, by one lane, by a partial warp, by
/// a full warp, by several warps.
#[test]
fn atomics_on_one_address_end_the_same() {
    let (pool, mut count) = (Pool::new(), Count::default());
    let wanted = |n: &usize| pool.all[*n].group == Group::Atomic && !pool.all[*n].seldom;
    let atomics: Vec<usize> = (0..pool.all.len()).filter(wanted).collect();
    assert!(atomics.len() > 500, "{}", atomics.len());
    for (k, some) in atomics.chunks(24).enumerate() {
        for (threads, thrown_away) in
            [1, 31, 32, 96].into_iter().flat_map(|n| [(n, false), (n, true)])
        {
            let shape = Shape { grid: 1 + k as u32 % 2, block: [threads, 1, 1] };
            let kernel = random::at_one_address(&pool, some, shape, thrown_away);
            if let Err(found) = run_kernel(kernel, &mut count) {
                panic!("{found}");
            }
        }
    }
    say(&count);
    assert!(count.refused.is_empty() && count.compared > count.launches, "{count:?}");
}

#[test]
fn a_seed_determines_the_kernel() {
    let (one, other) = (Pool::new(), Pool::new());
    assert!(one.all.len() > 4000, "{}", one.all.len());
    let opcodes: BTreeSet<&str> = one.all.iter().map(|t| t.opcode).collect();
    assert!(opcodes.len() > 75, "{opcodes:?}");
    for seed in 0..50 {
        assert_eq!(random::kernel(&one, seed), random::kernel(&other, seed));
        assert_eq!(configs(seed), configs(seed));
    }
}

/// A minimised kernel contains what its difference needs, and no more.
#[test]
fn failing_kernels_are_minimised() {
    let pool = Pool::new();
    for seed in 0..10 {
        let kernel = random::kernel(&pool, seed);
        let wanted = "st.global.u32 [%own+340], %t0;";
        let small = minimise::minimise(kernel, &mut |k| k.text().ptx.contains(wanted));
        assert_eq!((small.count(), small.lines()), (1, vec![(0, 1)]), "{}", small.text().ptx);
        assert_eq!(small.functions.len(), 1);
        assert_eq!(small.shape, Shape { grid: 1, block: [1, 1, 1] });
    }
}

/// Continues after a difference, up to `MOST` of them.
#[test]
#[ignore = "a campaign"]
fn campaign() {
    jit::check_allocations(true);
    let (first, kernels) = (number("SEED", 0), number("KERNELS", 1000));
    let (pool, mut count, mut found) = (Pool::new(), Count::default(), 0);
    let mut out = std::io::stdout();
    for seed in first..first + kernels {
        if let Err(what) = run(&pool, seed, &mut count) {
            let _ = writeln!(out, "after {} launches: {what}", count.launches);
            found += 1;
            if found >= number("MOST", 10) {
                break;
            }
        }
        if (seed + 1 - first).is_multiple_of(10_000) {
            let _ = writeln!(out, "{} kernels: {count:?}", seed + 1 - first);
        }
    }
    say(&count);
    assert_eq!(found, 0);
}

fn say(count: &Count) {
    let _ = writeln!(std::io::stdout(), "{count:#?}");
}
