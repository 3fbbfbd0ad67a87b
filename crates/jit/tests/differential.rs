//! Compiled code against the exact engine, on random kernels: those of the interpreter's test.

#[allow(dead_code, reason = "the other tests use the rest")]
mod harness;

use harness::common::launches::{mixed, number, structured};
use harness::{Count, compare};
use std::io::Write;

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    structured(0..30, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 50 || count.steps == 0, "{count:?}");
}

#[test]
fn kernels_of_all_kinds_end_the_same() {
    let mut count = Count::default();
    mixed(0..100, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 60 && count.stopped > 0 || count.steps == 0, "{count:?}");
    assert!(count.native * 2 >= count.steps, "{count:?}");
    assert!(count.resumed > 0 || count.steps == 0, "{count:?}");
}

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test differential -- --ignored --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    let mut one = |program: &_, launch: &_| compare(program, launch, &mut count);
    structured(first..first + kernels / 12, &mut one);
    mixed(first..first + kernels / 2, &mut one);
    assert!(count.compared > 0, "{count:?}");
    let share = 100.0 * count.native as f64 / count.steps as f64;
    let _ = writeln!(std::io::stdout(), "{count:?}: {share:.1} % of the steps compiled");
}
