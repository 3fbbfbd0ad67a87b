//! The exported functions are those of NVIDIA's headers of CUDA 13.2, whose names
//! `tests/functions.txt` lists.

use std::collections::BTreeSet;

#[test]
fn every_function_of_the_headers_is_exported_once() {
    let exported = cupti::exports::names();
    let named: BTreeSet<&str> = exported.iter().map(|(name, _)| *name).collect();
    assert_eq!(named.len(), exported.len(), "a function is declared twice");
    let listed: BTreeSet<&str> = include_str!("../functions.txt").lines().collect();
    assert_eq!(named, listed);
}
