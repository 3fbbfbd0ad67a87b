//! `simtlab exec --check`: the checks on programs that use the driver, in C.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles the client.
fn client() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = scratch("script-client");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/script.c");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
        let end = cc.arg("-ldl").output().expect("a C compiler: cargo needs one for linking, too");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        program
    })
}

/// A case of the file tests.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/tests/checks").join(name)
}

/// A program that has run.
struct Ran {
    code: Option<i32>,
    told: String,
    report: Value,
}

impl Ran {
    /// The kinds of findings with their lines.
    fn found(&self) -> Vec<(String, Option<u64>)> {
        let findings = self.report["findings"].as_array().expect("a report").iter();
        let kind = |f: &Value| f["kind"].as_str().expect("a kind").to_owned();
        findings.map(|f| (kind(f), f["place"]["line"].as_u64())).collect()
    }
}

/// Runs the client with options of `exec` on a file of PTX; steps are separated by spaces.
fn exec(options: &[&str], ptx: &Path, steps: &str) -> Ran {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let report = scratch(&format!("exec-check-{run}.json"));
    let test = std::env::current_exe().expect("this test");
    let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    command.arg("exec").arg("--libraries").arg(test.parent().expect("a folder")).args(options);
    command.arg("--report").arg(format!("json={}", report.display())).arg("--");
    let output = command.arg(client()).arg(ptx).args(steps.split_whitespace()).output();
    let output = output.expect("the command starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read_to_string(report).unwrap_or_default();
    let report = serde_json::from_str(&report).unwrap_or(Value::Null);
    Ran { code: output.status.code(), told, report }
}

/// Steps that launch `k` with one block of 64 threads on a buffer of 64 words, twice.
const TWICE: &str = "alloc:a:256 fill:a:256 launch:k:1:64:a launch:k:1:64:a free:a";

#[test]
fn findings_of_all_launches_are_reported_once() {
    let ran = exec(&["--check"], &case("race-in-block.ptx"), TWICE);
    assert_eq!(ran.code, Some(6), "{}", ran.told);
    assert_eq!(ran.found(), [("race-in-block".to_owned(), Some(18))], "{}", ran.told);
    assert_eq!(ran.report["findings"][0]["count"], 128);
    assert_eq!(ran.report["findings"][0]["launch"], 0);
    for part in [
        "simtlab: 2 launches of 1 kernel, 0 faults, 0 hangs\n",
        "error[race-in-block]: the write at line 18 races with the read at line 21\n",
        "help: add `__syncthreads()` between line 18 and line 21\n",
        "checks: 1 race-in-block\n",
    ] {
        assert!(ran.told.contains(part), "{part}: {}", ran.told);
    }
    let ran = exec(&["--check"], &case("race-in-block-mended.ptx"), TWICE);
    assert_eq!((ran.code, ran.found()), (Some(0), vec![]), "{}", ran.told);
    assert!(ran.told.contains("checks: nothing found\n"), "{}", ran.told);
}

#[test]
fn without_the_check_nothing_is_found() {
    for options in [&[][..], &["--check=sync"]] {
        let ran = exec(options, &case("race-in-block.ptx"), TWICE);
        assert_eq!((ran.code, ran.found()), (Some(0), vec![]), "{}", ran.told);
    }
    let ran = exec(&["--check=rase"], &case("race-in-block.ptx"), TWICE);
    assert!(ran.code == Some(2) && ran.told.contains("did you mean `race`?"), "{}", ran.told);
}

#[test]
fn findings_outlive_a_program_that_a_signal_ends() {
    for (end, code) in [("end:exit", 6), ("end:abort", 134)] {
        let ran = exec(&["--check"], &case("race-in-block.ptx"), &format!("{TWICE} {end}"));
        assert_eq!(ran.code, Some(code), "{}", ran.told);
        assert_eq!(ran.found(), [("race-in-block".to_owned(), Some(18))], "{}", ran.told);
    }
}

#[test]
fn suppressions_and_the_exit_code() {
    let file = scratch("exec-suppressions.txt");
    std::fs::write(&file, "race-in-block kernel=k\n").expect("written");
    let file = file.display().to_string();
    let ran = exec(&["--check", "--suppressions", &file], &case("race-in-block.ptx"), TWICE);
    assert_eq!((ran.code, ran.found()), (Some(0), vec![]), "{}", ran.told);
    assert!(ran.told.contains("checks: nothing found; 1 suppressed\n"), "{}", ran.told);
    let ran = exec(&["--check", "--error-exit", "42"], &case("race-in-block.ptx"), TWICE);
    assert_eq!(ran.code, Some(42), "{}", ran.told);
    std::fs::write(&file, "race-in-blok\n").expect("written");
    let ran = exec(&["--check", "--suppressions", &file], &case("race-in-block.ptx"), TWICE);
    assert!(ran.code == Some(2) && ran.told.contains("did you mean"), "{}", ran.told);
}

/// Each kind that a file test shows is found with the same line through the driver, and its mended
/// twin is silent.
#[test]
fn every_kind_is_found_through_the_driver() {
    for name in [
        "race-in-warp",
        "race-between-blocks",
        "uninitialised-shared",
        "divergent-barrier",
        "absent-lanes",
        "uninitialised-global",
        "uninitialised-local",
        "uninitialised-register",
        "race-of-equal-writes",
    ] {
        let text = std::fs::read_to_string(case(&format!("{name}.ptx"))).expect("a case");
        let option = |name: &str| {
            let value = text.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next());
            value.expect("an extent").to_owned()
        };
        let (grid, block) = (option("--grid"), option("--block"));
        let steps = format!("alloc:a:512 fill:a:512 launch:k:{grid}:{block}:a out:a:512 free:a");
        let ran = exec(&["--check"], &case(&format!("{name}.ptx")), &steps);
        let found = ran.found();
        assert!(found.iter().any(|(kind, _)| kind == name), "{name}: {found:?} {}", ran.told);
        let line = format!("finds: {name} line={}", found[0].1.expect("a line"));
        assert!(text.contains(&line), "{name}: {line} {}", ran.told);
        let ran = exec(&["--check"], &case(&format!("{name}-mended.ptx")), &steps);
        assert_eq!((ran.code, ran.found()), (Some(0), vec![]), "{name}: {}", ran.told);
    }
}

/// Kernels of 32 threads on words: `branch` writes a word if another is not 0, `add` adds 1, `copy`
/// copies, `beyond` writes the word 512 bytes behind that of the thread.
const KERNELS: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .entry branch(.param .u64 from, .param .u64 to) {
      .reg .b32 %i, %v; .reg .b64 %a, %b, %o; .reg .pred %p;
      ld.param.u64 %a, [from]; ld.param.u64 %b, [to];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o;
      ld.global.u32 %v, [%a];
      setp.eq.u32 %p, %v, 0;
      @%p ret;
      st.global.u32 [%b], 1;
      ret;
    }
    .visible .entry add(.param .u64 at) {
      .reg .b32 %i, %v; .reg .b64 %a, %o;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;
      ld.global.u32 %v, [%a];
      add.u32 %v, %v, 1;
      st.global.u32 [%a], %v;
      ret;
    }
    .visible .entry beyond(.param .u64 at) {
      .reg .b32 %i; .reg .b64 %a, %o;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;
      st.global.u32 [%a+512], %i;
      ret;
    }
    .visible .entry neighbour(.param .u64 at) {
      .shared .align 4 .b8 first[128];
      .shared .align 4 .b8 second[128];
      .reg .b32 %i, %f, %s; .reg .b64 %a, %o;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; shl.b32 %i, %i, 2; cvt.u64.u32 %o, %i; add.u64 %a, %a, %o;
      mov.u32 %f, first; mov.u32 %s, second; add.u32 %f, %f, %i; add.u32 %s, %s, %i;
      st.shared.u32 [%f+4], %i;
      bar.warp.sync -1;
      st.shared.u32 [%s], %i;
      st.global.u32 [%a], %i;
      ret;
    }
    .extern .func (.param .b64 r) malloc(.param .b64 bytes);
    .extern .func free(.param .b64 at);
    .visible .entry grow(.param .u64 at) {
      .reg .b32 %i; .reg .b64 %a, %o, %p;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 8; add.u64 %a, %a, %o;
      { .param .b64 bytes; .param .b64 r;
        st.param.b64 [bytes], 40;
        call.uni (r), malloc, (bytes);
        ld.param.b64 %p, [r]; }
      st.global.u64 [%a], %p;
      ret;
    }
    .visible .entry shrink(.param .u64 at) {
      .reg .b32 %i; .reg .b64 %a, %o, %p;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 8; add.u64 %a, %a, %o;
      ld.global.u64 %p, [%a];
      { .param .b64 at;
        st.param.b64 [at], %p;
        call.uni free, (at); }
      ret;
    }
    .visible .entry members(.param .u64 at) {
      .reg .b32 %i; .reg .b16 %s; .reg .b64 %a, %o;
      ld.param.u64 %a, [at];
      mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 8; add.u64 %a, %a, %o;
      cvt.u16.u32 %s, %i;
      st.global.u16 [%a], %s;
      st.global.u32 [%a+4], %i;
      ret;
    }";

fn kernels(name: &str) -> PathBuf {
    let path = scratch(&format!("exec-{name}.ptx"));
    std::fs::write(&path, KERNELS).expect("written");
    path
}

/// Runs steps with a check; asserts the kinds of findings, and parts of what is told.
fn check(name: &str, check: &str, steps: &str, kinds: &[&str], parts: &[&str]) {
    let ran = exec(&[&format!("--check={check}")], &kernels(name), steps);
    let found = ran.found();
    let found: Vec<&str> = found.iter().map(|(kind, _)| &**kind).collect();
    assert_eq!(found, kinds, "{steps}: {}", ran.told);
    for part in parts {
        assert!(ran.told.contains(part), "{steps}: {part}: {}", ran.told);
    }
    let code = if kinds.is_empty() {
        0
    } else if kinds == ["fault"] {
        3
    } else {
        6
    };
    assert_eq!(ran.code, Some(code), "{steps}: {}", ran.told);
}

#[test]
fn memory_that_was_allocated_and_not_written_is_followed() {
    let found = |steps: &str, kinds: &[&str], parts: &[&str]| {
        check("init", "init", steps, kinds, parts);
    };
    found(
        "alloc:a:128 alloc:b:128 fill:b:128 launch:branch:1:32:a,b out:b:128",
        &["uninitialised-global"],
        &[
            "global memory is read at line 9 before it is written, and decides a branch at line 11",
            "found 32 times",
        ],
    );
    found("alloc:a:128 alloc:b:128 in:a:128 launch:branch:1:32:a,b", &[], &[]);
    // A value that was read undefined and stored, where the host copies it.
    found(
        "alloc:a:128 launch:add:1:32:a out:a:128",
        &["uninitialised-global"],
        &["line 19 before it is written, and the 1st call of cuMemcpyDtoH copies it to the host"],
    );
    found("alloc:a:128 launch:add:1:32:a", &[], &[]);
    found("alloc:a:128 fill:a:128 launch:add:1:32:a out:a:128", &[], &[]);
    // Bytes that nobody has written.
    found(
        "alloc:a:256 fill:a:128 launch:add:1:32:a out:a:128 out:a:256",
        &["uninitialised-copy"],
        &[
            "the 2nd call of cuMemcpyDtoH copies bytes to the host that nobody has written",
            "128 of 256 bytes, of which the first is byte 128 of the copy",
        ],
    );
    found("alloc:a:256 fill:a:256 launch:add:1:32:a out:a:256 free:a", &[], &[]);
}

#[test]
fn padding_of_structures_is_copied_in_silence() {
    let copied = "alloc:a:256 launch:members:1:32:a out:a:256";
    check("padding", "init", copied, &[], &[]);
    let parts = ["64 of 256 bytes, of which the first is byte 2 of the copy"];
    check("padding", "init,strict", copied, &["uninitialised-padding"], &parts);
    let half = "alloc:a:256 launch:members:1:16:a out:a:256";
    let parts = ["160 of 256 bytes"];
    check("padding", "init", half, &["uninitialised-copy"], &parts);
}

#[test]
fn accesses_to_the_next_allocation_are_found() {
    let steps = "alloc:a:128 alloc:b:1024 fill:a:128 fill:b:1024 launch:beyond:1:32:a";
    check("memory", "sync", steps, &[], &[]);
    let parts = [
        "384 bytes past the end of \"device memory #1\" (128 bytes",
        "the memory was allocated by the 1st call of cuMemAlloc (128 bytes)",
    ];
    check("memory", "memory", steps, &["fault"], &parts);
    let steps = "alloc:a:128 launch:neighbour:1:32:a";
    check("memory", "sync", steps, &[], &[]);
    check("memory", "memory", steps, &["fault"], &["past the end of \"first\" (128 bytes"]);
    check("memory", "memory", "alloc:a:1024 launch:beyond:1:32:a", &[], &[]);
}

#[test]
fn leaks_are_reported_with_their_calls() {
    let found = |steps: &str, kinds: &[&str], parts: &[&str]| {
        check("leak", "leak", steps, kinds, parts);
    };
    let leak = "128 bytes that the 1st call of cuMemAlloc has allocated are not freed";
    found("alloc:a:128 alloc:b:64 free:b", &["leak"], &[leak, "the program ended"]);
    found("alloc:a:128 end:exit", &["leak"], &[leak]);
    found("alloc:a:128 destroy", &["leak"], &[leak, "its context ended"]);
    found("alloc:a:128 free:a destroy", &[], &[]);
    let grow = "alloc:a:256 launch:grow:1:32:a";
    let left = "20 blocks that `malloc` has allocated in `grow` are not freed";
    let parts = [left, "the device heap still holds 800 bytes of them"];
    found(&format!("{grow} launch:shrink:1:12:a free:a"), &["leak"], &parts);
    found(&format!("{grow} launch:shrink:1:32:a free:a"), &[], &[]);
    check("leak", "race", "alloc:a:128", &[], &[]);
}

#[test]
fn failed_calls_are_explained() {
    let found = |steps: &str, kinds: &[&str], parts: &[&str]| {
        check("api", "api", steps, kinds, parts);
    };
    found(
        "alloc:a:128 free:a free:a",
        &["failed-call"],
        &["cuMemFree_v2 fails with CUDA_ERROR_INVALID_VALUE", "freed by the 1st call of cuMemFree"],
    );
    found(
        "alloc:a:128 free:a+64 free:a",
        &["failed-call"],
        &["is 64 bytes inside memory that was allocated by the 1st call of cuMemAlloc (128 bytes)"],
    );
    found(
        "alloc:a:128 in:a:4096 free:a",
        &["failed-call"],
        &[
            "cuMemcpyHtoD_v2 fails",
            "4096-byte store",
            "reaches 3968 bytes past its end",
            "allocated by the 1st call of cuMemAlloc",
        ],
    );
    found("alloc:a:128 launch:add:1:2048:a free:a", &["failed-call"], &["block size 2048 in x"]);
    found("alloc:a:128 launch:add:0:32:a free:a", &["failed-call"], &["cuLaunchKernel fails"]);
    found("alloc:a:128 in:a:128 launch:add:1:32:a free:a", &[], &[]);
}
