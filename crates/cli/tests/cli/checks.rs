//! `simtlab run --check`: exit codes, reports in files and on standard output, suppressions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn case(name: &str) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/tests/checks");
    cases.join(name).display().to_string()
}

/// Runs `simtlab run` on a case of one block of 64 threads.
fn run(name: &str, more: &[&str]) -> Output {
    let case = case(name);
    let base = ["run", &case, "--grid", "1", "--block", "64", "--arg", "out=u32[64]"];
    let quiet: &[&str] = if more.contains(&"--stats") { &[] } else { &["--stats", "none"] };
    let all = [&base[..], quiet, more].concat();
    Command::new(env!("CARGO_BIN_EXE_simtlab")).args(all).output().expect("the command starts")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("room");
    folder
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exit_codes_tell_findings_from_faults() {
    let code = |name: &str, more: &[&str]| run(name, more).status.code();
    assert_eq!(code("race-in-block.ptx", &[]), Some(0), "nothing was asked for");
    assert_eq!(code("race-in-block.ptx", &["--check"]), Some(6));
    assert_eq!(code("race-in-block.ptx", &["--check=sync"]), Some(0));
    assert_eq!(code("race-in-block.ptx", &["--check", "--error-exit", "42"]), Some(42));
    assert_eq!(code("race-in-block-mended.ptx", &["--check", "--error-exit", "42"]), Some(0));
    assert_eq!(code("fault.ptx", &["--check"]), Some(3));
    assert_eq!(code("fault.ptx", &["--report", "json", "--error-exit", "9"]), Some(9));
}

#[test]
fn a_race_is_told_with_both_lines_and_a_cure() {
    let output = run("race-in-block.ptx", &["--check"]);
    let told = errors(&output);
    assert!(
        told.contains("error[race-in-block]: the write at line 18 races with the read at line 21")
    );
    assert!(told.contains("add `__syncthreads()` between line 18 and line 21"), "{told}");
    assert!(told.contains("checks: 1 race-in-block\n"), "{told}");
}

/// In a loop that has a barrier, the one that is missing is another.
#[test]
fn the_cure_of_a_race_between_rounds_is_a_second_barrier() {
    let told = errors(&run("race-in-loop.ptx", &["--check"]));
    let cure = "add `__syncthreads()` after line 25, before line 23 is executed again";
    assert!(told.contains(cure), "{told}");
}

#[test]
fn reports_go_to_files_and_one_to_standard_output() {
    let folder = folder("reports");
    let [sarif, text] = ["out.sarif", "out.txt"].map(|name| folder.join(name));
    let reports = [format!("sarif={}", sarif.display()), format!("text={}", text.display())];
    let more = ["--check", "--report", "json", "--report", &reports[0], "--report", &reports[1]];
    let output = run("race-in-block.ptx", &more);
    let json: Value = serde_json::from_slice(&output.stdout).expect("the report alone");
    assert_eq!(json["findings"][0]["kind"], "race-in-block");
    assert_eq!(json["findings"][0]["count"], 64);
    let sarif: Value =
        serde_json::from_slice(&std::fs::read(sarif).expect("written")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "race-in-block");
    assert!(std::fs::read_to_string(text).expect("written").contains("error[race-in-block]"));
}

#[test]
fn faults_and_hangs_are_reported_without_checks() {
    let output = run("fault.ptx", &["--report", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("the report alone");
    let found = &json["findings"][0];
    assert_eq!((&found["kind"], &found["code"]), (&"fault".into(), &"out-of-bounds".into()));
    assert_eq!((&found["place"]["line"], &json["exit_code"]), (&14.into(), &3.into()));
}

#[test]
fn suppressed_findings_do_not_count() {
    let file = folder("suppressions").join("accepted.txt");
    std::fs::write(&file, "race-in-block kernel=k  # known\nabsent-lanes\n").expect("written");
    let file = file.display().to_string();
    let output = run("race-in-block.ptx", &["--check", "--suppressions", &file]);
    let told = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("checks: nothing found; 1 suppressed"), "{told}");
    assert!(told.contains("note[suppressions::unused]"), "{told}");
    std::fs::write(&file, "race-in-blok\n").expect("written");
    let output = run("race-in-block.ptx", &["--check", "--suppressions", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("did you mean `race-in-block`?"), "{}", errors(&output));
}

#[test]
fn wrong_options_end_with_2() {
    let refused = |name: &str, more: &[&str], part: &str| {
        let output = run(name, more);
        let told = errors(&output);
        assert!(output.status.code() == Some(2) && told.contains(part), "{more:?}: {told}");
    };
    refused("fault.ptx", &["--check=rase"], "did you mean `race`?");
    refused("fault.ptx", &["--report", "yaml"], "there is no report `yaml`");
    refused("fault.ptx", &["--report", "json", "--report", "github"], "more than one report");
    refused("fault.ptx", &["--report", "json", "--stats", "json"], "more than one report");
    refused("fault.ptx", &["--report", "json=/nowhere/at/all"], "cannot write");
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let program = kernels.join("pmask/saxpy").display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .args(["run", &program, "--check"])
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("machine `pmask` has no checks"), "{}", errors(&output));
}
