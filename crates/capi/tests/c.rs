//! A C program against the header: compiled with the system's compiler, run against the shared
//! library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo has put the shared library: beside this test.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap().to_owned();
    assert!(deps.join("libsimtlab.so").exists(), "libsimtlab.so is not beside the test");
    deps
}

fn run(source: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "-"));
    let folder = library_folder();
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-pthread"])
        .arg("-I")
        .arg(root.join("include"))
        .arg(root.join("tests").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&folder)
        .arg("-lsimtlab")
        .output()
        .expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", &folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
    assert!(text(&ran.stdout).ends_with("all checks passed\n"), "{}", text(&ran.stdout));
}

#[test]
fn contexts_memory_modules_and_launches() {
    run("api.c");
}

#[test]
fn ptx_run_on_the_hosts_memory() {
    run("ptx_run.c");
}

#[test]
fn an_interpreter_in_c_under_mechanisms() {
    run("session.c");
}
