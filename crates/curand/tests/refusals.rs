//! Generators whose tables have no open source are refused, and the report of a run says which and
//! why. The driver library is the one that cargo has built beside the test.
#![allow(unsafe_code, reason = "functions with C names, which take addresses as numbers")]

use std::process::Command;

use cuda as _;
use curand as _;

unsafe extern "C" {
    safe fn curandCreateGenerator(out: usize, kind: i32) -> i32;
    safe fn curandCreateGeneratorHost(out: usize, kind: i32) -> i32;
    safe fn curandGetDirectionVectors32(out: usize, set: i32) -> i32;
    safe fn curandGetScrambleConstants32(out: usize) -> i32;
}

/// The status of what a library of another version, or for another device, has.
const ARCH_MISMATCH: i32 = 204;

/// In a process of its own, whose events go to a file.
#[test]
fn refusals_are_named_with_a_reason() {
    if std::env::var_os("SIMTLAB_JOURNAL").is_some() {
        return refuse();
    }
    let test = std::env::current_exe().unwrap();
    let events = test.with_extension("events");
    let _ = std::fs::remove_file(&events);
    let child = Command::new(&test).env("SIMTLAB_JOURNAL", &events).output().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let text = std::fs::read_to_string(&events).unwrap();
    for words in [
        "curandCreateGenerator of MTGP32, whose parameters come with NVIDIA's toolkit; other \
         pseudorandom generators are there",
        "curandCreateGeneratorHost of scrambled Sobol numbers, whose constants only NVIDIA's \
         library has; Sobol numbers that are not scrambled are there",
        "curandGetDirectionVectors32 of scrambled Sobol numbers",
        "curandGetScrambleConstants32",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

fn refuse() {
    let test = std::env::current_exe().unwrap();
    assert!(culibs::driver::load(&test.parent().unwrap().join("libcuda.so")));
    let mut handle = 5_u64;
    let out = (&raw mut handle).expose_provenance();
    for kind in [141, 202, 204] {
        assert_eq!(curandCreateGenerator(out, kind), ARCH_MISMATCH);
        assert_eq!(curandCreateGeneratorHost(out, kind), ARCH_MISMATCH);
    }
    assert_eq!(curandGetDirectionVectors32(out, 102), ARCH_MISMATCH);
    assert_eq!(curandGetScrambleConstants32(out), ARCH_MISMATCH);
    assert_eq!(handle, 5, "a refused call writes nothing");
}
