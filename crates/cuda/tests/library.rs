//! The shared library: its name, its symbols, and processes that fork and close it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};

/// Where cargo has put the shared library: beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libcuda.so");
    assert!(library.exists(), "libcuda.so is not beside the test");
    library
}

#[test]
fn every_function_of_the_interface_is_exported() {
    let bytes = std::fs::read(library()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(object::ObjectSymbol::is_definition)
        .filter_map(|s| s.name().ok())
        .collect();
    let missing: Vec<_> = cuda::symbols().filter(|s| !exported.contains(s)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let named: BTreeSet<&str> = cuda::exports::names().into_iter().map(|(name, _)| name).collect();
    let missing: Vec<_> = named.iter().filter(|s| !exported.contains(*s)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Nothing else with such a name.
    let others: Vec<_> =
        exported.iter().filter(|s| s.starts_with("cu") && !named.contains(*s)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(named.len() >= 680, "{}", named.len());
}

#[test]
#[cfg(target_os = "linux")]
fn processes_may_fork_and_close_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("process-c");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg(root.join("tests/process.c"))
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .output()
        .expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).arg(library()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.ends_with("all checks passed\n"), "{said} {ran:?}");
}
