//! `simtlab device` end to end, with this project's driver library in place of a device, and with a
//! driver that fails.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Builds the failing driver, linked with this project's library, which cargo puts into the test's
/// folder.
fn driver() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = scratch(&format!("device-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ours = std::env::current_exe().unwrap().parent().unwrap().join("libcuda.so");
        std::fs::copy(ours, folder.join("libcuda.so.1")).unwrap();
        let library = folder.join("libdriver.so");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
            .arg(format!("-Wl,--no-as-needed,-rpath,{}", folder.display()))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device.c"))
            .arg(folder.join("libcuda.so.1"))
            .arg("-o")
            .arg(&library)
            .arg("-ldl");
        let end = cc.output().expect("a C compiler: cargo needs one for linking, too");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        library
    })
}

struct CommandOutput {
    code: Option<i32>,
    text: String,
}

fn output_of(output: &Output) -> CommandOutput {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    CommandOutput { code: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// Runs `simtlab device COMMAND WORDS` with a simulated device and a fault of the driver.
fn device(fault: &str, command: &str, words: &[&str]) -> CommandOutput {
    device_with(&[("SIMTLAB_TEST_DRIVER", fault)], command, words)
}

fn device_with(variables: &[(&str, &str)], command: &str, words: &[&str]) -> CommandOutput {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    simtlab.args(["device", command, "--allow-simulated", "--library"]).arg(driver()).args(words);
    output_of(&simtlab.envs(variables.iter().copied()).output().unwrap())
}

/// Writes a program and its launch file to a folder; returns the folder's path.
fn kernel(name: &str, body: &str) -> String {
    let folder = scratch(&format!("device-kernel-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let program = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .u32 %t; .reg .u64 %a, %i; .reg .f32 %f;\nmov.u32 %t, %tid.x;\n\
         mul.wide.u32 %i, %t, 4;\nld.param.u64 %a, [out];\nadd.u64 %a, %a, %i;\n{body}\nret;\n}}\n"
    );
    std::fs::write(folder.join("k.ptx"), program).unwrap();
    let launch = "schema = 1\nmachine = \"ptx\"\nmodule = \"k.ptx\"\n[buffers]\n\
                  out = \"f32[64]:zeros\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\n\
                  block = [64]\nargs = [\"&out\"]\n";
    std::fs::write(folder.join("launch.toml"), launch).unwrap();
    folder.to_str().unwrap().to_owned()
}

const SINES: &str = "cvt.rn.f32.u32 %f, %t;\nsin.approx.f32 %f, %f;\nst.global.f32 [%a], %f;";

#[test]
fn device_info_reports_the_library() {
    let output = device("", "info", &[]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("Simtlab's own: simulated, not a device"), "{}", output.text);
    assert!(output.text.contains("CUDA 12.9, PTX up to 8.8"), "{}", output.text);
    let output = device("", "info", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!((&json["device"]["simulated"], &json["newest_ptx"]), (&true.into(), &"8.8".into()));
}

#[test]
fn our_own_library_is_not_taken_for_a_device() {
    let folder = driver().parent().unwrap();
    for library in ["libdriver.so", "libcuda.so.1"] {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        simtlab.args(["device", "info", "--library"]).arg(folder.join(library));
        let output = output_of(&simtlab.output().unwrap());
        assert_eq!(output.code, Some(4), "{}", output.text);
        assert!(output.text.contains("is Simtlab's own driver library"), "{}", output.text);
    }
    // It is rejected too if the loader finds it by name, as under `simtlab exec`.
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    let output = output_of(
        &simtlab.args(["device", "info"]).env("LD_LIBRARY_PATH", folder).output().unwrap(),
    );
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("is Simtlab's own driver library"), "{}", output.text);
}

#[test]
fn bundled_kernels_agree_with_themselves() {
    // Several launches, unordered atomics, dynamic shared memory, structures as parameters.
    for name in ["reduce", "saxpy", "hash_table", "dynamic_shared", "hgemm_mma"] {
        let path = repository(&format!("kernels/{name}"));
        let output = device("", "run", &["--compare", path.to_str().unwrap()]);
        assert_eq!(output.code, Some(0), "{name}: {}", output.text);
        assert!(output.text.contains("agree"), "{name}: {}", output.text);
    }
}

#[test]
fn a_hang_of_one_mechanism_is_not_held_against_the_device() {
    let path = repository("kernels/spinlock/textbook.toml");
    let output = device("", "run", &["--compare", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("under ipdom ours does not end"), "{}", output.text);
    assert!(output.text.contains("lane by lane (`serial`)"), "{}", output.text);
}

#[test]
fn output_of_kernels_is_printed() {
    let path = repository("kernels/printf");
    let output = device("", "run", &["--compare", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let mut ours = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    let ours = ours.args(["run", "--stats", "none"]).arg(&path).output().unwrap();
    let first = String::from_utf8_lossy(&ours.stdout);
    let line = first.lines().next().unwrap();
    assert!(output.text.contains(line), "{line}: {}", output.text);
}

#[test]
fn a_wrong_bit_has_a_line_and_a_lane() {
    let path = kernel("wrong", SINES);
    let output = device("wrong", "run", &["--compare", &path]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(
        output.text.contains("out: 1 of 64 elements differ, at most 1 ulp apart"),
        "{}",
        output.text
    );
    assert!(output.text.contains("  out[17]: device "), "{}", output.text);
    let place = "written at line 13 `st.global.f32 [%a], %f;`, launch 0, block 0, warp 0, lane 17";
    assert!(output.text.contains(place), "{}", output.text);
}

#[test]
fn another_function_differs_in_most_elements() {
    let path = kernel("cosine", SINES);
    let rule = [("SIMTLAB_TEST_REPLACE", "sin.approx=cos.approx")];
    let output = device_with(&rule, "run", &["--compare", &path]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("and 56 more"), "{}", output.text);
}

#[test]
fn records_are_compared_without_a_device() {
    let path = kernel("record", SINES);
    let file = scratch("device.record");
    let record = file.to_str().unwrap();
    let output = device("", "run", &["--record", record, &path]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let recorded = |record: &Path, path: &str| {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        simtlab.args(["device", "run", path, "--recorded"]).arg(record);
        output_of(&simtlab.output().unwrap())
    };
    let output = recorded(&file, &path);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("simulated") && output.text.contains("agree"), "{}", output.text);
    // Another program, a damaged file, a file of another version, and an invalid one.
    let other = kernel("record-other", "st.global.u32 [%a], %t;");
    let output = recorded(&file, &other);
    assert_eq!(output.code, Some(2), "{}", output.text);
    assert!(output.text.contains("recorded from another program"), "{}", output.text);
    let bytes = std::fs::read(&file).unwrap();
    let damaged = |name: &str, change: &dyn Fn(&mut Vec<u8>), reason: &str| {
        let file = scratch(name);
        let mut bytes = bytes.clone();
        change(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        let output = recorded(&file, &path);
        assert_eq!(output.code, Some(2), "{}", output.text);
        assert!(output.text.contains(reason), "{}", output.text);
    };
    damaged("device-short.record", &|b| b.truncate(100), "cut short or damaged");
    damaged("device-version.record", &|b| b[8] = 9, "version 9 of the format");
    damaged("device-bit.record", &|b| b[300] ^= 1, "checksum");
    let wrong = scratch("device-wrong.record");
    let output = device("wrong", "run", &["--record", wrong.to_str().unwrap(), &path]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let output = recorded(&wrong, &path);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("lane 17"), "{}", output.text);
}

#[test]
fn errors_have_a_reason_and_an_exit_code() {
    let path = kernel("fails", SINES);
    let cases = [
        ("no-device", 4, "the driver finds no device"),
        (
            "old",
            4,
            "the program has PTX 7.0, the driver supports CUDA 11.8, which compiles PTX up to 7.8",
        ),
        ("full", 4, "the device has no room for 256 bytes"),
        ("compile", 4, "ptxas error: a planted message"),
        ("dies", 3, "the process that used the device ended: signal: 6"),
        ("hang", 3, "launch 0 did not end within 1 s"),
    ];
    for (fault, code, reason) in cases {
        let output = device(fault, "run", &["--timeout", "1", &path]);
        assert_eq!(output.code, Some(code), "{fault}: {}", output.text);
        assert!(output.text.contains(reason), "{fault}: {}", output.text);
    }
    let run = |words: &[&str]| {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        output_of(&simtlab.args(["device", "run"]).args(words).output().unwrap())
    };
    let output = run(&["--library", "/nowhere/libcuda.so.1", &path]);
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("cannot be opened"), "{}", output.text);
    let output = run(&["--library", "libc.so.6", &path]);
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("has no function `cuInit`"), "{}", output.text);
    let output = device("", "run", &["--device", "7", &path]);
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("finds no device 7: there are 1"), "{}", output.text);
    let pmask = repository("kernels/pmask/saxpy");
    let output = device("", "run", &[pmask.to_str().unwrap()]);
    assert_eq!(output.code, Some(2), "{}", output.text);
    assert!(output.text.contains("a device runs PTX"), "{}", output.text);
}

#[test]
fn faults_are_compared() {
    let path = kernel("fault", "mul.wide.u32 %a, %t, 4;\nst.global.u32 [%a], %t;");
    let output = device("", "run", &["--compare", &path]);
    assert_eq!(output.code, Some(3), "{}", output.text);
    assert!(output.text.contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "{}", output.text);
    // The device hangs where the virtual device does not.
    let path = kernel("hangs", SINES);
    let output = device("hang", "run", &["--compare", "--timeout", "1", &path]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("the ends differ"), "{}", output.text);
}

/// Returns an empty folder for results.
fn folder(name: &str) -> String {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.to_str().unwrap().to_owned()
}

fn report(folder: &str) -> CommandOutput {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    output_of(&simtlab.args(["device", "report", folder]).output().unwrap())
}

#[test]
fn suites_resume_where_they_stopped() {
    let kernels = scratch("device-suite");
    for (name, body) in [
        ("plain", "st.global.u32 [%a], %t;"),
        ("sines", SINES),
        ("fault", "mul.wide.u32 %a, %t, 4;\nst.global.u32 [%a], %t;"),
    ] {
        let from = PathBuf::from(kernel(&format!("suite-{name}"), body));
        let to = kernels.join(name);
        std::fs::create_dir_all(&to).unwrap();
        for file in ["k.ptx", "launch.toml"] {
            std::fs::copy(from.join(file), to.join(file)).unwrap();
        }
    }
    let out = folder("device-verify");
    let words = ["--suite", "kernels", "--kernels", kernels.to_str().unwrap(), "--out", &out];
    let none = device("", "verify", &[&words[..], &["--time", "0s"]].concat());
    assert_eq!(none.code, Some(0), "{}", none.text);
    assert!(none.text.contains("0 cases done, 3 left"), "{}", none.text);
    let all = device("", "verify", &words);
    assert_eq!(all.code, Some(0), "{}", all.text);
    assert!(all.text.contains("3 cases done, 0 left"), "{}", all.text);
    // Kernels with approximate operations run before those that only copy.
    let place = |name: &str| all.text.find(name).unwrap();
    assert!(place("kernels-sines-launch") < place("kernels-plain-launch"), "{}", all.text);
    // A truncated line causes one case to run again.
    let results = Path::new(&out).join("results.jsonl");
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, &text[..text.len() - 20]).unwrap();
    let again = device("", "verify", &words);
    assert!(again.text.contains("    3/3  ") && !again.text.contains("2/3"), "{}", again.text);
    let output = report(&out);
    assert!(output.text.contains("| kernels | 3 | 3 | 0 |"), "{}", output.text);
    assert_eq!(report("/nowhere").code, Some(2));
}

#[test]
fn wrong_sums_of_matrices_are_found() {
    let out = folder("device-matrix");
    let words = ["--suite", "matrix", "--cases", "8", "--out", &out];
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let out = folder("device-matrix-wrong");
    let words = ["--suite", "matrix", "--cases", "8", "--out", &out];
    // One instruction multiplies matrices in another layout.
    let rule = [("SIMTLAB_TEST_REPLACE", "m8n8k4.row.row=m8n8k4.row.col")];
    let output = device_with(&rule, "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    let output = report(&out);
    let named: Vec<&str> = output.text.lines().filter(|l| l.starts_with("  - `")).collect();
    assert!(!named.is_empty(), "{}", output.text);
    let row_row = |line: &&str| line.starts_with("  - `mma.sync.aligned.m8n8k4.row.row.");
    assert!(named.iter().all(row_row), "{}", output.text);
}

#[test]
fn planted_wrong_results_are_found_and_ranked() {
    let out = folder("device-planted");
    let words = ["--suite", "arithmetic", "--cases", "9", "--out", &out];
    // The first module of a batch of eight has the approximate functions, and is split in two. One
    // instruction gives other results, another one does not exist.
    let rules = [
        ("SIMTLAB_TEST_REPLACE", "sin.approx.f32=cos.approx.f32"),
        ("SIMTLAB_TEST_REFUSE", "tanh.approx.f32 "),
    ];
    let output = device_with(&rules, "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("9 cases done"), "{}", output.text);
    let output = report(&out);
    assert!(output.text.contains("## What differs\n\n- arithmetic-000a "), "{}", output.text);
    let named: Vec<&str> = output.text.lines().filter(|l| l.starts_with("  - `")).collect();
    assert_eq!(named.len(), 1, "{}", output.text);
    assert!(named[0].starts_with("  - `sin.approx.f32 %f32_0, %f32_1;`: "), "{}", output.text);
    let refused: Vec<&str> = output.text.lines().filter(|l| l.contains("b | tanh")).collect();
    assert!(matches!(refused[..], [line] if line.contains("error   : planted")), "{}", output.text);
    // A single case can be run alone.
    let alone = format!("{out}/cases/arithmetic/arithmetic-000b.toml");
    let output = device("", "run", &["--compare", &alone]);
    assert_eq!(output.code, Some(0), "{}", output.text);
}

#[test]
fn barriers_and_locks_end_as_ours() {
    let out = folder("device-sync");
    let output = device("", "verify", &["--suite", "sync", "--out", &out]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("36 cases done, 0 left"), "{}", output.text);
    let output = report(&out);
    assert!(output.text.contains("| sync | 36 | 36 | 0 |"), "{}", output.text);
    // Kernels that hang are told by the driver or stopped by the watchdog, and the next one runs.
    let hang = "- sync-flag-of-nobody (sync): agrees; device: launch 0 failed: cuLaunchKernel \
                failed: CUDA_ERROR_LAUNCH_TIMEOUT (702)";
    assert!(output.text.contains(hang), "{}", output.text);
    for line in ["  - ipdom: hangs (repeats)", "  - serial: ends", "  - convergence-barriers: "] {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
}

#[test]
fn what_hangs_on_the_device_alone_is_stopped() {
    let out = folder("device-sync-hang");
    let words = ["--suite", "sync", "--timeout", "1", "--cases", "2", "--out", &out];
    let output = device("hang", "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    let ends = output.text.matches(": ends differ").count();
    assert_eq!(ends, 2, "{}", output.text);
    assert!(report(&out).text.contains("launch 0 did not end within 1 s"), "{}", output.text);
}

#[test]
fn divergence_is_measured() {
    let out = folder("device-statistics");
    let output = device("", "verify", &["--suite", "statistics", "--out", &out]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("statistics-switch: measured"), "{}", output.text);
    let output = report(&out);
    // A switch runs its ways one after the other, and lanes meet behind a loop.
    let ratio = |label: &str| {
        let line = output.text.lines().find(|l| l.contains(&format!("  - {label}: "))).unwrap();
        let (_, ratio) = line.split_once("issues, ratio ").unwrap();
        ratio.split(';').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((7.5..8.5).contains(&ratio("8 ways")), "{}", output.text);
    assert!((1.9..2.1).contains(&ratio("8 lanes jump")), "{}", output.text);
    assert!((0.95..1.2).contains(&ratio("1 to 16 trips by lane")), "{}", output.text);
}

#[test]
fn random_kernels_of_both_generators_agree() {
    let out = folder("device-random");
    let words = ["--suite", "random", "--cases", "2", "--out", &out];
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for name in ["random-flow-000: agrees", "random-forms-000: agrees"] {
        assert!(output.text.contains(name), "{}", output.text);
    }
    // What agrees is kept by its seeds and hashes.
    let record = std::fs::read(Path::new(&out).join("records/random-forms-000.record")).unwrap();
    let record = String::from_utf8_lossy(&record);
    assert!(record.contains("[\"forms_499\",\"") && record.len() < 200_000, "{}", record.len());
    assert!(!Path::new(&out).join("cases/random/random-forms-000.ptx").exists());
}

#[test]
fn sums_of_matrices_are_explained() {
    let out = folder("device-sums");
    let output = device("", "verify", &["--suite", "matrix", "--cases", "36", "--out", &out]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let output = report(&out);
    let notes: Vec<&str> = output.text.lines().filter(|l| l.contains("bits of fraction")).collect();
    assert!(notes.len() > 7, "{}", output.text);
    assert!(notes.iter().all(|l| l.starts_with("  - bits of fraction beside 1 and -1: ")));
    assert!(notes.iter().any(|l| l.ends_with(": 24")), "{}", output.text);
    assert!(output.text.contains("  - infinity times 0: 0x7fffffff"), "{}", output.text);
}
