//! Compares the fast engine with the exact engine at every level of the host: memory and all
//! statistics must be equal.

use crate::common::both::{Count, compare};
use crate::common::launches::{mixed, number, structured};
use std::io::Write;

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    structured(0..30, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 50, "{count:?}");
}

#[test]
fn kernels_of_all_kinds_end_the_same() {
    let mut count = Count::default();
    mixed(0..60, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 60 && count.stopped > 0 && count.refused == 0, "{count:?}");
}

/// Run with `KERNELS=100000 SEED=1 cargo test -p simtlab-fast --release --test fast --
/// --ignored --nocapture differential`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    let mut one = |program: &_, launch: &_| compare(program, launch, &mut count);
    structured(first..first + kernels / 6, &mut one);
    mixed(first..first + kernels / 2, &mut one);
    assert!(count.compared > 0, "{count:?}");
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
