//! Launches whose state repeats: code keeps registers of warps where the interpreter does not look,
//! and has to write back what tells such a launch from one that goes on.

use crate::harness::common::spins::{ends, spin};
use fast::{Declined, Level};
use jit::Compiled;

/// Returns how a kernel ends with code; `None` if there is none on this host.
fn compiled(text: &str, issues: u64) -> Option<Result<bool, Declined>> {
    if !Level::Avx512.is_available() {
        return None;
    }
    Some(ends(text, issues, &|kernel, state, observer| {
        let compiled = Compiled::at(kernel, Level::Avx512, false);
        compiled.unwrap_or_else(|(_, refused)| panic!("{refused}")).run(state, observer)
    }))
}

#[test]
fn spins_that_count_are_left_to_the_exact_engine_early() {
    let counts = spin("  %p = setp.ne.u32 %n, 0");
    let Some(repeats) = compiled(&counts, 1 << 24) else { return };
    assert_eq!(repeats, Err(Declined::Running("its state repeats")));
    // A count, by scalar or by row, that decides when the loop ends.
    let limited = spin("  %p = setp.lt.u32 %i, 300000");
    assert_eq!(compiled(&limited, 1 << 28), Some(Ok(true)));
    let limited = spin("  %n = add.u32 %v, %i\n  %p = setp.ne.u32 %n, 12345");
    assert_eq!(compiled(&limited, 1 << 24), Some(Ok(false)));
}

#[test]
fn atomics_that_change_nothing_are_no_progress() {
    let unchanged = [
        "add.global.u32 [%a+8], 0",
        "max.global.u32 [%a+8], 0",
        "cas.global.b32 [%a+8], 7, %t",
        "add.global.u32 [%at+16], 0",
        "add.global.u32 [%at+16], %z",
        "and.global.b32 [%at+16], 0xffffffff",
        "cas.global.b32 [%at+16], 7, %t",
    ];
    // All lanes together do not change the word either.
    let changed = [
        "xor.global.b32 [%a+8], 1",
        "xor.global.b32 [%a+8], %t",
        "add.global.u32 [%a+8], 0x8000000",
        "exch.global.b32 [%a+8], %t",
        "add.global.u32 [%at+16], 0x40000000",
        "add.global.u32 [%at+16], %i",
        "xor.global.b32 [%at+16], %t",
    ];
    for (list, changes) in [(&unchanged[..], false), (&changed, true)] {
        for (atomic, result) in list.iter().flat_map(|a| [(a, "_"), (a, "%w")]) {
            let text = spin(&format!(
                "  {result} = atom.{atomic}\n  %v = mov.b32 %w\n  %p = setp.ne.u32 %n, 0"
            ));
            let Some(end) = compiled(&text, 1 << 20) else { return };
            let expected =
                if changes { Ok(false) } else { Err(Declined::Running("its state repeats")) };
            assert_eq!(end, expected, "{result} = {atomic}");
        }
    }
}
