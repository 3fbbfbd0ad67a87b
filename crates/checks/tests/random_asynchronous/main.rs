//! Random kernels of asynchronous operations on all engines, in every order of steps, under all
//! checks.
//!
//! Kernels and the memory that they leave are those of [`generate::asynchronous`]. The exact engine
//! runs each early, late, in a random order, and late under all checks, which find nothing. The
//! fast engine runs those that it does not decline by its interpreter and by compiled code of each
//! level, in detail or not, on one to eight host threads, with the statistics of the exact engine.
//!
//! `KERNELS=10000 SEED=0 cargo test --workspace --test random_asynchronous -- --ignored
//! --nocapture`

mod engines;

use std::io::Write as _;

use engines::{Count, check};
use generate::asynchronous::{Kernel, kernel, kernel_of, parts};

/// Kernels of the tests: of any parts, and of each kind.
const SEEDS: u64 = 24;
const EACH: u64 = 12;

/// What the fast engine leaves to the exact one of these kernels, beside clusters.
const MASKED: &str = "a bulk copy has a byte mask";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs kernels; returns what was run, and how many differ, `most` of them at most.
fn run(kernels: impl Iterator<Item = Kernel>, most: usize) -> (Count, usize) {
    let (mut count, mut found) = (Count::default(), 0);
    let mut out = std::io::stdout();
    for kernel in kernels {
        if let Err(what) = check(&kernel, &mut count) {
            let _ = writeln!(out, "seed {}: {what}", kernel.seed);
            found += 1;
            if found >= most {
                break;
            }
        }
        if count.kernels.is_multiple_of(1000) {
            let _ = writeln!(out, "seed {}: {count:?}", kernel.seed);
        }
    }
    let _ = writeln!(out, "{count:#?}");
    (count, found)
}

/// Every second kind of parts has kernels of its own.
fn of_each_kind(first: usize) -> impl Iterator<Item = Kernel> {
    parts().skip(first).step_by(2).flat_map(|part| (0..EACH).filter_map(|s| kernel_of(part, s)))
}

fn leave_what_their_model_says(kernels: impl Iterator<Item = Kernel>) {
    let (count, found) = run(kernels, 3);
    assert_eq!(found, 0);
    assert!(count.silent == count.kernels && count.exact == 3 * count.kernels, "{count:?}");
    assert!(count.compared > 4 * count.kernels, "{count:?}");
    assert!(count.declined.is_empty(), "{:?}", count.declined);
    let left: Vec<&String> = count.left.keys().filter(|what| !what.ends_with(MASKED)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn parts_leave_what_their_model_says() {
    leave_what_their_model_says(of_each_kind(0));
}

#[test]
fn more_parts_leave_what_their_model_says() {
    leave_what_their_model_says(of_each_kind(1));
}

#[test]
fn kernels_leave_what_their_model_says() {
    leave_what_their_model_says((0..SEEDS).map(kernel));
}

#[test]
fn a_seed_determines_the_kernel() {
    for seed in 0..20 {
        assert_eq!(kernel(seed), kernel(seed));
    }
}

/// The kernel of a seed, of any parts or of the kind that `PART` names.
fn asked(seed: u64) -> Option<Kernel> {
    match std::env::var("PART") {
        Ok(part) => kernel_of(&part, seed),
        Err(_) => Some(kernel(seed)),
    }
}

/// Continues after a difference, up to `MOST` of them.
#[test]
#[ignore = "a campaign"]
fn campaign() {
    jit::check_allocations(true);
    let (first, kernels) = (number("SEED", 0), number("KERNELS", 1000));
    let (_, found) = run((first..first + kernels).filter_map(asked), number("MOST", 10) as usize);
    assert_eq!(found, 0);
}
