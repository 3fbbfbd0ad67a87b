//! Compares launches on several host threads with the exact engine: memory and statistics must be
//! equal for any kernel.

#[path = "common/both.rs"]
mod both;
#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use both::{Count, compare};
use common::launches::{independent, number};
use std::io::Write;

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut count = Count::default();
    independent(0..80, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.parallel > 60 && count.sequential > 100, "{count:?}");
}

/// Run with `KERNELS=100000 SEED=1 cargo test -p simtlab-fast --release --test threads -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    independent(first..first + kernels, &mut |program, launch| {
        compare(program, launch, &mut count)
    });
    assert!(count.parallel > 0, "{count:?}");
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
