//! `simtlab device` from end to end, with Simtlab's own driver library in place of a device, and
//! with a driver that fails.
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

/// The driver that fails, compiled and linked with our own, which cargo has put beside the test.
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

struct Ran {
    code: Option<i32>,
    said: String,
}

fn ran(output: &Output) -> Ran {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    Ran { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() }
}

/// `simtlab device COMMAND WORDS` with our own library allowed, and a fault of the driver.
fn device(fault: &str, command: &str, words: &[&str]) -> Ran {
    device_with(&[("SIMTLAB_TEST_DRIVER", fault)], command, words)
}

fn device_with(variables: &[(&str, &str)], command: &str, words: &[&str]) -> Ran {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    simtlab.args(["device", command, "--allow-simulated", "--library"]).arg(driver()).args(words);
    ran(&simtlab.envs(variables.iter().copied()).output().unwrap())
}

/// A launch file of its own with its program.
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
fn the_library_is_told() {
    let told = device("", "info", &[]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(told.said.contains("Simtlab's own: simulated, not a device"), "{}", told.said);
    assert!(told.said.contains("CUDA 12.9, PTX up to 8.8"), "{}", told.said);
    let told = device("", "info", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&told.said).unwrap();
    assert_eq!((&json["device"]["simulated"], &json["newest_ptx"]), (&true.into(), &"8.8".into()));
}

#[test]
fn our_own_library_is_no_device() {
    let folder = driver().parent().unwrap();
    for library in ["libdriver.so", "libcuda.so.1"] {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        simtlab.args(["device", "info", "--library"]).arg(folder.join(library));
        let told = ran(&simtlab.output().unwrap());
        assert_eq!(told.code, Some(4), "{}", told.said);
        assert!(told.said.contains("is Simtlab's own driver library"), "{}", told.said);
    }
    // By its name, too, as a program under `simtlab exec` would find it.
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    let told =
        ran(&simtlab.args(["device", "info"]).env("LD_LIBRARY_PATH", folder).output().unwrap());
    assert_eq!(told.code, Some(4), "{}", told.said);
    assert!(told.said.contains("is Simtlab's own driver library"), "{}", told.said);
}

#[test]
fn bundled_kernels_agree_with_themselves() {
    // Several launches, atomics without order, dynamic shared memory, structures as parameters.
    for name in ["reduce", "saxpy", "hash_table", "dynamic_shared", "hgemm_mma"] {
        let path = repository(&format!("kernels/{name}"));
        let told = device("", "run", &["--compare", path.to_str().unwrap()]);
        assert_eq!(told.code, Some(0), "{name}: {}", told.said);
        assert!(told.said.contains("agree"), "{name}: {}", told.said);
    }
}

#[test]
fn a_hang_of_one_mechanism_is_not_held_against_the_device() {
    let path = repository("kernels/spinlock/textbook.toml");
    let told = device("", "run", &["--compare", path.to_str().unwrap()]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(told.said.contains("under ipdom ours does not end"), "{}", told.said);
    assert!(told.said.contains("lane by lane (`serial`)"), "{}", told.said);
}

#[test]
fn what_kernels_print_is_shown() {
    let path = repository("kernels/printf");
    let told = device("", "run", &["--compare", path.to_str().unwrap()]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let mut ours = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    let ours = ours.args(["run", "--stats", "none"]).arg(&path).output().unwrap();
    let first = String::from_utf8_lossy(&ours.stdout);
    let line = first.lines().next().unwrap();
    assert!(told.said.contains(line), "{line}: {}", told.said);
}

#[test]
fn a_wrong_bit_has_a_line_and_a_lane() {
    let path = kernel("wrong", SINES);
    let told = device("wrong", "run", &["--compare", &path]);
    assert_eq!(told.code, Some(1), "{}", told.said);
    assert!(
        told.said.contains("out: 1 of 64 elements differ, at most 1 ulp apart"),
        "{}",
        told.said
    );
    assert!(told.said.contains("  out[17]: device "), "{}", told.said);
    let place = "written at line 13 `st.global.f32 [%a], %f;`, launch 0, block 0, warp 0, lane 17";
    assert!(told.said.contains(place), "{}", told.said);
}

#[test]
fn another_function_differs_in_most_elements() {
    let path = kernel("cosine", SINES);
    let rule = [("SIMTLAB_TEST_REPLACE", "sin.approx=cos.approx")];
    let told = device_with(&rule, "run", &["--compare", &path]);
    assert_eq!(told.code, Some(1), "{}", told.said);
    assert!(told.said.contains("and 56 more"), "{}", told.said);
}

#[test]
fn records_are_compared_without_a_device() {
    let path = kernel("record", SINES);
    let file = scratch("device.record");
    let record = file.to_str().unwrap();
    let told = device("", "run", &["--record", record, &path]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let recorded = |record: &Path, path: &str| {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        simtlab.args(["device", "run", path, "--recorded"]).arg(record);
        ran(&simtlab.output().unwrap())
    };
    let told = recorded(&file, &path);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(told.said.contains("simulated") && told.said.contains("agree"), "{}", told.said);
    // Another program, a damaged file, one of another version, and one that is wrong.
    let other = kernel("record-other", "st.global.u32 [%a], %t;");
    let told = recorded(&file, &other);
    assert_eq!(told.code, Some(2), "{}", told.said);
    assert!(told.said.contains("recorded from another program"), "{}", told.said);
    let bytes = std::fs::read(&file).unwrap();
    let damaged = |name: &str, change: &dyn Fn(&mut Vec<u8>), reason: &str| {
        let file = scratch(name);
        let mut bytes = bytes.clone();
        change(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        let told = recorded(&file, &path);
        assert_eq!(told.code, Some(2), "{}", told.said);
        assert!(told.said.contains(reason), "{}", told.said);
    };
    damaged("device-short.record", &|b| b.truncate(100), "cut short or damaged");
    damaged("device-version.record", &|b| b[8] = 9, "version 9 of the format");
    damaged("device-bit.record", &|b| b[300] ^= 1, "checksum");
    let wrong = scratch("device-wrong.record");
    let told = device("wrong", "run", &["--record", wrong.to_str().unwrap(), &path]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let told = recorded(&wrong, &path);
    assert_eq!(told.code, Some(1), "{}", told.said);
    assert!(told.said.contains("lane 17"), "{}", told.said);
}

#[test]
fn what_goes_wrong_has_a_reason_and_a_code() {
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
        let told = device(fault, "run", &["--timeout", "1", &path]);
        assert_eq!(told.code, Some(code), "{fault}: {}", told.said);
        assert!(told.said.contains(reason), "{fault}: {}", told.said);
    }
    let run = |words: &[&str]| {
        let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        ran(&simtlab.args(["device", "run"]).args(words).output().unwrap())
    };
    let told = run(&["--library", "/nowhere/libcuda.so.1", &path]);
    assert_eq!(told.code, Some(4), "{}", told.said);
    assert!(told.said.contains("cannot be opened"), "{}", told.said);
    let told = run(&["--library", "libc.so.6", &path]);
    assert_eq!(told.code, Some(4), "{}", told.said);
    assert!(told.said.contains("has no function `cuInit`"), "{}", told.said);
    let told = device("", "run", &["--device", "7", &path]);
    assert_eq!(told.code, Some(4), "{}", told.said);
    assert!(told.said.contains("finds no device 7: there are 1"), "{}", told.said);
    let pmask = repository("kernels/pmask/saxpy");
    let told = device("", "run", &[pmask.to_str().unwrap()]);
    assert_eq!(told.code, Some(2), "{}", told.said);
    assert!(told.said.contains("a device runs PTX"), "{}", told.said);
}

#[test]
fn faults_are_compared() {
    let path = kernel("fault", "mul.wide.u32 %a, %t, 4;\nst.global.u32 [%a], %t;");
    let told = device("", "run", &["--compare", &path]);
    assert_eq!(told.code, Some(3), "{}", told.said);
    assert!(told.said.contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "{}", told.said);
    // A device that hangs where we do not.
    let path = kernel("hangs", SINES);
    let told = device("hang", "run", &["--compare", "--timeout", "1", &path]);
    assert_eq!(told.code, Some(1), "{}", told.said);
    assert!(told.said.contains("the ends differ"), "{}", told.said);
}

/// A fresh folder for results.
fn folder(name: &str) -> String {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.to_str().unwrap().to_owned()
}

fn report(folder: &str) -> Ran {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    ran(&simtlab.args(["device", "report", folder]).output().unwrap())
}

#[test]
fn suites_go_on_where_they_stopped() {
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
    assert_eq!(none.code, Some(0), "{}", none.said);
    assert!(none.said.contains("0 cases done, 3 left"), "{}", none.said);
    let all = device("", "verify", &words);
    assert_eq!(all.code, Some(0), "{}", all.said);
    assert!(all.said.contains("3 cases done, 0 left"), "{}", all.said);
    // Approximations are worth more than copies.
    let place = |name: &str| all.said.find(name).unwrap();
    assert!(place("kernels-sines-launch") < place("kernels-plain-launch"), "{}", all.said);
    // A line that was cut short is one case to run again.
    let results = Path::new(&out).join("results.jsonl");
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, &text[..text.len() - 20]).unwrap();
    let again = device("", "verify", &words);
    assert!(again.said.contains("    3/3  ") && !again.said.contains("2/3"), "{}", again.said);
    let told = report(&out);
    assert!(told.said.contains("| kernels | 3 | 3 | 0 |"), "{}", told.said);
    assert_eq!(report("/nowhere").code, Some(2));
}

#[test]
fn wrong_sums_of_matrices_are_found() {
    let out = folder("device-matrix");
    let words = ["--suite", "matrix", "--cases", "8", "--out", &out];
    let told = device("", "verify", &words);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let out = folder("device-matrix-wrong");
    let words = ["--suite", "matrix", "--cases", "8", "--out", &out];
    // The products of another layout.
    let rule = [("SIMTLAB_TEST_REPLACE", "m8n8k4.row.row=m8n8k4.row.col")];
    let told = device_with(&rule, "verify", &words);
    assert_eq!(told.code, Some(1), "{}", told.said);
    let told = report(&out);
    let named: Vec<&str> = told.said.lines().filter(|l| l.starts_with("  - `")).collect();
    assert!(!named.is_empty(), "{}", told.said);
    let row_row = |line: &&str| line.starts_with("  - `mma.sync.aligned.m8n8k4.row.row.");
    assert!(named.iter().all(row_row), "{}", told.said);
}

#[test]
fn planted_wrong_results_are_found_and_ranked() {
    let out = folder("device-planted");
    let words = ["--suite", "arithmetic", "--cases", "9", "--out", &out];
    // The first module of a batch of eight has the approximate functions, and becomes two. One
    // instruction gives other results, another one does not exist.
    let rules = [
        ("SIMTLAB_TEST_REPLACE", "sin.approx.f32=cos.approx.f32"),
        ("SIMTLAB_TEST_REFUSE", "tanh.approx.f32 "),
    ];
    let told = device_with(&rules, "verify", &words);
    assert_eq!(told.code, Some(1), "{}", told.said);
    assert!(told.said.contains("9 cases done"), "{}", told.said);
    let told = report(&out);
    assert!(told.said.contains("## What differs\n\n- arithmetic-000a "), "{}", told.said);
    let named: Vec<&str> = told.said.lines().filter(|l| l.starts_with("  - `")).collect();
    assert_eq!(named.len(), 1, "{}", told.said);
    assert!(named[0].starts_with("  - `sin.approx.f32 %f32_0, %f32_1;`: "), "{}", told.said);
    let refused: Vec<&str> = told.said.lines().filter(|l| l.contains("b | tanh")).collect();
    assert!(matches!(refused[..], [line] if line.contains("error   : planted")), "{}", told.said);
    // The case can be run alone.
    let alone = format!("{out}/cases/arithmetic/arithmetic-000b.toml");
    let told = device("", "run", &["--compare", &alone]);
    assert_eq!(told.code, Some(0), "{}", told.said);
}

#[test]
fn barriers_and_locks_end_as_ours() {
    let out = folder("device-sync");
    let told = device("", "verify", &["--suite", "sync", "--out", &out]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(told.said.contains("36 cases done, 0 left"), "{}", told.said);
    let told = report(&out);
    assert!(told.said.contains("| sync | 36 | 36 | 0 |"), "{}", told.said);
    // Kernels that hang are told by the driver or stopped by the watchdog, and the next one runs.
    let hang = "- sync-flag-of-nobody (sync): agrees; device: launch 0 failed: cuLaunchKernel \
                failed: CUDA_ERROR_LAUNCH_TIMEOUT (702)";
    assert!(told.said.contains(hang), "{}", told.said);
    for line in ["  - ipdom: hangs (repeats)", "  - serial: ends", "  - convergence-barriers: "] {
        assert!(told.said.contains(line), "{line}: {}", told.said);
    }
}

#[test]
fn what_hangs_on_the_device_alone_is_stopped() {
    let out = folder("device-sync-hang");
    let words = ["--suite", "sync", "--timeout", "1", "--cases", "2", "--out", &out];
    let told = device("hang", "verify", &words);
    assert_eq!(told.code, Some(1), "{}", told.said);
    let ends = told.said.matches(": ends differ").count();
    assert_eq!(ends, 2, "{}", told.said);
    assert!(report(&out).said.contains("launch 0 did not end within 1 s"), "{}", told.said);
}

#[test]
fn divergence_is_measured() {
    let out = folder("device-statistics");
    let told = device("", "verify", &["--suite", "statistics", "--out", &out]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(told.said.contains("statistics-switch: measured"), "{}", told.said);
    let told = report(&out);
    // A switch runs its ways one after the other, and lanes meet behind a loop.
    let ratio = |label: &str| {
        let line = told.said.lines().find(|l| l.contains(&format!("  - {label}: "))).unwrap();
        let (_, ratio) = line.split_once("issues, ratio ").unwrap();
        ratio.split(';').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((7.5..8.5).contains(&ratio("8 ways")), "{}", told.said);
    assert!((1.9..2.1).contains(&ratio("8 lanes jump")), "{}", told.said);
    assert!((0.95..1.2).contains(&ratio("1 to 16 trips by lane")), "{}", told.said);
}

#[test]
fn random_kernels_of_both_generators_agree() {
    let out = folder("device-random");
    let words = ["--suite", "random", "--cases", "2", "--out", &out];
    let told = device("", "verify", &words);
    assert_eq!(told.code, Some(0), "{}", told.said);
    for name in ["random-flow-000: agrees", "random-forms-000: agrees"] {
        assert!(told.said.contains(name), "{}", told.said);
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
    let told = device("", "verify", &["--suite", "matrix", "--cases", "36", "--out", &out]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    let told = report(&out);
    let notes: Vec<&str> = told.said.lines().filter(|l| l.contains("bits of fraction")).collect();
    assert!(notes.len() > 7, "{}", told.said);
    assert!(notes.iter().all(|l| l.starts_with("  - bits of fraction beside 1 and -1: ")));
    assert!(notes.iter().any(|l| l.ends_with(": 24")), "{}", told.said);
    assert!(told.said.contains("  - infinity times 0: 0x7fffffff"), "{}", told.said);
}
