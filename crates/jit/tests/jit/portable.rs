//! Code by Cranelift, which is the compiled tier of aarch64 hosts, against the exact engine on all
//! hosts that can run the tests. `LEVEL=portable` has all other tests of this program look at it.

use crate::harness::common::calls::TAKEN;
use crate::harness::common::launches::{mixed, with_buffers};
use crate::harness::{Count, RunConfig, compare_in};
use crate::kernels::{cases, prepared};
use crate::operations::kernel;
use fast::Level;
use ir::testing::Rng;
use vm::{Launch, Program};

/// Compares a launch with the exact engine; returns the first difference.
fn compare(program: &Program, launch: &Launch<1>, count: &mut Count) -> Result<(), String> {
    jit::allow_portable_code();
    let ways = RunConfig::at(std::iter::once(Level::Portable));
    compare_in(ways.filter(|way| way.assume || way.threads == 1), program, launch, count)
}

#[test]
fn bundled_kernels_end_the_same() {
    let mut count = Count::default();
    for case in cases(32) {
        let (program, launch) = prepared(&case);
        if let Err(what) = compare(&program, &launch, &mut count) {
            panic!("{}: {what}", case.name);
        }
    }
    assert!(count.compared >= 20 && count.refused == 0, "{count:?}");
    assert!(count.native * 10 > count.steps * 9, "{count:?}");
}

#[test]
fn random_kernels_end_the_same() {
    let mut count = Count::default();
    mixed(0..10, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.compared > 10, "{count:?}");
}

#[test]
fn calls_end_the_same() {
    for (name, text) in TAKEN {
        let mut count = Count::default();
        for seed in 0..2 {
            with_buffers(text, &mut Rng::new(seed), seed, &mut |program, launch| {
                compare(program, launch, &mut count).map_err(|what| format!("{name}: {what}"))
            });
        }
        assert!(count.compared > 2, "{name}: {count:?}");
    }
}

#[test]
fn operations_on_special_values_are_exact() {
    let mut count = Count::default();
    for seed in 0..16 {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, &mut |program, launch| {
            compare(program, launch, &mut count)
        });
    }
    assert!(count.compared > 8, "{count:?}");
}
