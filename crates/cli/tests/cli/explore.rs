//! `simtlab explore` and `simtlab run --schedule`: exit codes, reports, and schedules in files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn case(name: &str) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/tests/explore");
    cases.join(name).display().to_string()
}

fn simtlab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simtlab")).args(args).output().expect("the command starts")
}

/// The kernel in which two blocks take two locks in opposite orders.
const LOCKS: [&str; 6] = ["--grid", "2", "--block", "1", "--arg", "locks=u32[2]"];
/// The kernel in which each of two blocks exchanges a word.
const WRITERS: [&str; 8] =
    ["--grid", "2", "--block", "1", "--arg", "word=u32[1]", "--arg", "old=u32[2]"];

fn explore(name: &str, launch: &[&str], more: &[&str]) -> Output {
    let case = case(name);
    simtlab(&[&["explore", &case, "--mechanisms", "serial"], launch, more].concat())
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore");
    std::fs::create_dir_all(&folder).expect("room");
    folder.join(name)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exit_codes_tell_hangs_from_results() {
    let code = |name: &str, launch: &[&str], more: &[&str]| {
        let output = explore(name, launch, more);
        (output.status.code(), errors(&output))
    };
    let all = ["--exhaustive"];
    assert_eq!(code("locks-in-opposite-orders.ptx", &LOCKS, &all).0, Some(3));
    assert_eq!(code("last-writer.ptx", &WRITERS, &all).0, Some(6));
    assert_eq!(code("last-writer.ptx", &WRITERS, &["--error-exit", "9"]).0, Some(9));
    assert_eq!(code("last-writer-mended.ptx", &WRITERS, &all).0, Some(0));
    let (exit, told) = code("last-writer.ptx", &WRITERS, &["--preemptions", "1"]);
    assert_eq!(exit, Some(2), "{told}");
    assert!(told.contains("--exhaustive"), "{told}");
    let (exit, told) = code("last-writer.ptx", &WRITERS, &["--save", "/no/such/folder/x"]);
    assert_eq!(exit, Some(2), "{told}");
}

#[test]
fn a_saved_schedule_is_replayed_to_the_same_end() {
    let file = scratch("locks.schedule");
    let path = file.display().to_string();
    let found = explore("locks-in-opposite-orders.ptx", &LOCKS, &["--exhaustive", "--save", &path]);
    let told = errors(&found);
    assert!(told.contains("error[order-dependent-hang]"), "{told}");
    let text = std::fs::read_to_string(&file).expect("is saved");
    assert_eq!(text.matches("->").count(), 1, "one preemption suffices:\n{text}");
    let case = case("locks-in-opposite-orders.ptx");
    let run =
        |more: &[&str]| simtlab(&[&["run", &case, "--stats", "none"], &LOCKS[..], more].concat());
    assert_eq!(run(&["--mechanism", "serial"]).status.code(), Some(0));
    for more in [&["--schedule", &path][..], &["--schedule", &path, "--check"]] {
        let output = run(more);
        assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
        assert!(errors(&output).contains("its complete state repeats"), "{}", errors(&output));
    }
    let both = run(&["--schedule", &path, "--mechanism", "serial"]);
    assert_eq!(both.status.code(), Some(2), "the file says the mechanism");
}

#[test]
fn schedules_of_something_else_are_refused() {
    let file = scratch("other.schedule");
    let path = file.display().to_string();
    let case = case("last-writer.ptx");
    let run = || simtlab(&[&["run", &case, "--schedule", &path], &WRITERS[..]].concat());
    let head = "simtlab-schedule 1\nmechanism serial\nwarp-size 32\n";
    for (text, why) in [
        ("launch 0\n", "the first line is"),
        (
            &format!("{head}launch 0 block 0 thread 0 step 0 -> block 9 thread 0\n"),
            "is not of this run",
        ),
        ("simtlab-schedule 1\nmechanism none\nwarp-size 32\n", "none"),
        (&format!("{head}wait\n"), "a line is"),
    ] {
        std::fs::write(&file, text).expect("can write");
        let output = run();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(errors(&output).contains(why), "{text}\n{}", errors(&output));
    }
}

#[test]
fn findings_are_reported_in_every_form() {
    let output = explore("last-writer.ptx", &WRITERS, &["--exhaustive", "--report", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("the report alone");
    let found = &json["findings"][0];
    assert_eq!(found["kind"], "order-dependent-result");
    assert_eq!(found["check"], "schedule");
    assert_eq!(found["accesses"].as_array().map(Vec::len), Some(2));
    assert!(found["message"].as_str().is_some_and(|m| m.contains("line 16")), "{found}");
    let output = explore("last-writer.ptx", &WRITERS, &["--exhaustive", "--report", "sarif"]);
    let sarif: Value = serde_json::from_slice(&output.stdout).expect("the report alone");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "order-dependent-result");
}

#[test]
fn machines_with_one_schedule_are_refused() {
    let toy = scratch("one.toy");
    std::fs::write(&toy, "exit\n").expect("can write");
    let output = simtlab(&["explore", &toy.display().to_string(), "--isa", "toy"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
}
