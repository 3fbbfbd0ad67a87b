//! Launches that always end run without a journal, on compiled code, too.

use crate::harness::common::elements::of_elements;
use crate::harness::common::launches::number;
use crate::harness::{Count, compare};
use ir::testing::Rng;
use std::io::Write;

fn compare_elements(seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        let (text, program, launch) = of_elements(&mut Rng::new(seed));
        compare(&program, &launch, &mut count)
            .unwrap_or_else(|what| panic!("{seed}: {what}\n{text}"));
    }
    count
}

#[test]
fn launches_that_always_end_are_not_declined() {
    let count = compare_elements(0..60);
    assert!(count.parallel > 30 && count.stopped > 30, "{count:?}");
}

/// Run with `KERNELS=100000 SEED=1 cargo test --release --test jit -- --ignored --nocapture ends`.
#[test]
#[ignore = "a campaign"]
fn many_launches_that_always_end_are_not_declined() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let count = compare_elements(first..first + kernels);
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
