//! The shared library: its name, its symbols, and processes that fork and close it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda::Status;
use object::{Object as _, ObjectSymbol as _};

/// Returns the path of the shared library, which cargo puts beside this test.
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
    // The library exports nothing else with such a name.
    let others: Vec<_> =
        exported.iter().filter(|s| s.starts_with("cu") && !named.contains(*s)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(named.len() >= 680, "{}", named.len());
}

/// Calls every function that is not implemented: each returns an error and is recorded in the
/// journal.
#[test]
fn unimplemented_functions_are_recorded() {
    // The driver reads the variable once, so the calls are made in another process.
    let journal = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("unsupported.jsonl");
    let _ = std::fs::remove_file(&journal);
    let test = std::env::current_exe().unwrap();
    let ran = Command::new(test)
        .args(["--exact", "library::calls_unimplemented_functions", "--ignored"])
        .env("SIMTLAB_JOURNAL", &journal)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let events = std::fs::read_to_string(&journal).unwrap();
    let named: BTreeSet<String> = runtime::EventLog::read(&events)
        .filter_map(|event| match event {
            runtime::Event::Unsupported { call, .. } => Some(call),
            _ => None,
        })
        .collect();
    let missing = cuda::exports::names().into_iter().filter(|(_, done)| !done);
    let missing: BTreeSet<String> = missing.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(named, missing);
}

/// Runs in the process that [`unimplemented_functions_are_recorded`] starts.
#[test]
#[ignore = "started by another test, with a journal"]
fn calls_unimplemented_functions() {
    assert_eq!(cuda::exports::general::cuDeviceGetCount(0), Status::NOT_INITIALIZED.0);
    let functions = cuda::exports::missing::functions();
    assert!(functions.iter().all(|(_, call)| call() == Status::NOT_INITIALIZED.0));
    assert_eq!(cuda::exports::free::cuInit(0), 0);
    for (name, call) in functions {
        assert_eq!(call(), Status::NOT_SUPPORTED.0, "{name}");
    }
}

/// Compiles a C program and runs it with the driver's path and arguments, for each way in which
/// faults end.
#[cfg(target_os = "linux")]
fn run_program(source: &str, faults: &[&str], arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "-"));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg(root.join("tests").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .output()
        .expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    for faults in faults {
        let mut command = Command::new(&program);
        let ran = command.arg(library()).args(arguments).env("SIMTLAB_FAULTS", faults).output();
        let ran = ran.unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.ends_with("all checks passed\n"), "{said} {ran:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn processes_may_fork_and_close_it() {
    run_program("process.c", &["stop"], &[]);
}

#[test]
#[cfg(target_os = "linux")]
fn host_memory_is_used_in_place_or_copied() {
    run_program("host_memory.c", &["stop", "warn", "launch"], &[]);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_of_the_host_and_launches_add_to_the_same_words() {
    run_program("host_atomics.c", &["stop", "warn"], &[]);
}

#[test]
#[cfg(target_os = "linux")]
fn processes_share_memory_and_events() {
    run_program("two_processes.c", &["stop"], &[]);
}

#[test]
#[cfg(target_os = "linux")]
fn processes_share_memory_by_descriptors() {
    run_program("descriptors.c", &["stop", "warn"], &[]);
}

/// `SIMTLAB_FUZZ_COUNT` makes as many calls.
#[test]
#[cfg(target_os = "linux")]
fn careless_programs_get_errors() {
    let calls = std::env::var("SIMTLAB_FUZZ_COUNT");
    let calls = calls.ok().and_then(|calls| calls.parse().ok()).unwrap_or(20_000_u64);
    let list = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("careless-names");
    let names: Vec<&str> = cuda::exports::names().into_iter().map(|(name, _)| name).collect();
    std::fs::write(&list, names.join("\n")).unwrap();
    let list = list.to_str().unwrap();
    for seed in ["1", "6"] {
        run_program("careless.c", &["stop"], &[list, &calls.to_string(), seed]);
    }
}
