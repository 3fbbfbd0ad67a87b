//! `simtlab exec` with a client in C, and the stand-in for ptxas.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The client, compiled.
fn client() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || {
        let program = scratch("exec-client");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exec.c");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
        let end = cc.arg("-ldl").output().expect("a C compiler: cargo needs one for linking, too");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        program
    };
    BUILT.get_or_init(build).clone()
}

fn exec(options: &[&str], words: &[&str]) -> (Output, String) {
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    command.arg("exec").arg("--libraries").arg(test.parent().unwrap()).args(options).arg("--");
    let output = command.arg(client()).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn what_ran_is_told() {
    let (output, said) = exec(&["--stats"], &[]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("simtlab: 1 launch of 1 kernel, 0 faults, 0 hangs\n"), "{said}");
    assert!(said.lines().any(|l| l.ends_with(" fill") && l.contains(" 100.0% ")), "{said}");
}

#[test]
fn faults_have_a_place_and_a_code() {
    let path = scratch("exec-report.json");
    let (output, said) = exec(&["--json", path.to_str().unwrap()], &["fault"]);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("1 fault, 0 hangs"), "{said}");
    assert!(
        said.contains("st.global.u32 [%a], %i;") && said.contains("compiled from fill.cu:8"),
        "{said}"
    );
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["stops"][0]["code"], "out-of-bounds");
    assert_eq!(report["exit_code"], 0);
}

#[test]
fn the_programs_code_comes_first() {
    let (output, said) = exec(&[], &["7"]);
    assert_eq!(output.status.code(), Some(7), "{said}");
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let wrong = Command::new(simtlab).args(["exec", "--libraries", "/nowhere", "true"]).output();
    assert_eq!(wrong.unwrap().status.code(), Some(2));
}

#[test]
fn ptxas_passes_on_what_can_run() {
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let run = |words: &[&str]| Command::new(simtlab).arg("ptxas").args(words).output().unwrap();
    let version = run(&["--version"]);
    assert!(String::from_utf8_lossy(&version.stdout).contains("release 12.9"));
    let (input, output) = (scratch("good.ptx"), scratch("good.cubin"));
    let good = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }\n";
    std::fs::write(&input, good).unwrap();
    let words = ["-v", "--gpu-name=sm_80", input.to_str().unwrap(), "-o", output.to_str().unwrap()];
    assert!(run(&words).status.success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), good);
    std::fs::write(&input, good.replace("ret;", "nonsense;")).unwrap();
    let bad = run(&words);
    assert_eq!(bad.status.code(), Some(255));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("good.ptx:4:"), "{bad:?}");
    assert_eq!(run(&["-o"]).status.code(), Some(255));
}
