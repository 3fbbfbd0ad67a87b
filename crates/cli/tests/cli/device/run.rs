//! `device info` and `device run`.

use std::path::Path;
use std::process::Command;

use crate::device::common::{
    SINES, device, device_with, driver, kernel, output_of, repository, scratch,
};

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
    let rule = [("SIMTLAB_TEST_REPLACE", "sin.approx=>cos.approx")];
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
            "the program has PTX 8.0, the driver supports CUDA 11.8, which compiles PTX up to 7.8",
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
