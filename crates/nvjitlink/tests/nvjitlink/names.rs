//! The exported functions are those of NVIDIA's headers of CUDA 13.5, whose names
//! `tests/functions.txt` lists.

use std::collections::BTreeSet;

use nvjitlink::exports::{jit_link, ptx_compiler};

#[test]
fn every_function_of_the_headers_is_exported_once() {
    let exported = [jit_link::link_functions(), ptx_compiler::compiler_functions()].concat();
    let named: BTreeSet<&str> = exported.iter().copied().collect();
    assert_eq!(named.len(), exported.len(), "a function is declared twice");
    let listed: BTreeSet<&str> = include_str!("../functions.txt").lines().collect();
    assert_eq!(named, listed);
}

#[test]
fn statuses_have_the_numbers_of_the_headers() {
    let listed: BTreeSet<&str> = include_str!("../statuses.tsv").lines().collect();
    let all = nvjitlink::LinkResult::ALL.iter().chain(nvjitlink::CompileResult::ALL);
    let own: Vec<String> = all.map(|(name, number)| format!("{name}\t{number}")).collect();
    assert_eq!(own.iter().map(String::as_str).collect::<BTreeSet<&str>>(), listed);
}
