//! `device verify` and `device report`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::device::common::{
    SINES, device, device_command, device_with, driver, folder, kernels, output_of, report,
    repository,
};

#[test]
fn suites_resume_where_they_stopped() {
    let fault = "mul.wide.u32 %a, %t, 4;\nst.global.u32 [%a], %t;";
    let bodies = [("plain", "st.global.u32 [%a], %t;"), ("sines", SINES), ("fault", fault)];
    let kernels = kernels("device-suite", &bodies);
    let out = folder("device-verify");
    let words = ["--suite", "kernels", "--kernels", &kernels, "--out", &out];
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
    let rule = [("SIMTLAB_TEST_REPLACE", "m8n8k4.row.row=>m8n8k4.row.col")];
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
    let words = ["--suite", "arithmetic", "--only", "arithmetic-00", "--cases", "9", "--out", &out];
    // The first module of a batch of eight has the approximate functions, and is split in two. One
    // instruction gives other results, another one does not exist.
    let rules = [
        ("SIMTLAB_TEST_REPLACE", "sin.approx.f32=>cos.approx.f32"),
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
    assert!(output.text.contains("41 cases done, 0 left"), "{}", output.text);
    let output = report(&out);
    assert!(output.text.contains("| sync | 41 | 41 | 0 |"), "{}", output.text);
    let fault = "- sync-fault-alignment (sync): agrees; device: launch 0 failed: cuEventCreate \
                 failed: CUDA_ERROR_MISALIGNED_ADDRESS (716)";
    assert!(output.text.contains(fault), "{}", output.text);
    // Kernels that hang are told by the driver or stopped by the watchdog, and the next one runs.
    let hang = "- sync-flag-of-nobody (sync): agrees; device: launch 0 failed: cuEventCreate \
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
    let words = ["--suite", "random", "--module-kernels", "20", "--cases", "2", "--out", &out];
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for name in ["random-flow-20x000: agrees", "random-forms-20x000: agrees"] {
        assert!(output.text.contains(name), "{}", output.text);
    }
    // What agrees is kept by its seeds and hashes.
    let record = std::fs::read(Path::new(&out).join("records/random-forms-20x000.record")).unwrap();
    let record = String::from_utf8_lossy(&record);
    assert!(record.contains("[\"forms_19\",\"") && record.len() < 200_000, "{}", record.len());
    assert!(!Path::new(&out).join("cases/random/random-forms-20x000.ptx").exists());
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

#[test]
fn a_random_kernel_that_the_driver_refuses_does_not_hide_the_others() {
    let out = folder("device-random-refused");
    let only = ["--module-kernels", "20", "--only", "random-flow-20x000"];
    let words = [&["--suite", "random", "--out", &out][..], &only].concat();
    let rules = [("SIMTLAB_TEST_REFUSE", ".visible .entry flow_17(")];
    let output = device_with(&rules, "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("random-flow-20x000a: agrees"), "{}", output.text);
    assert!(output.text.contains("random-flow-20x000b: refused"), "{}", output.text);
    assert!(report(&out).text.contains("| random-flow-20x000b | flow_17 "), "{}", output.text);
}

#[test]
fn cases_can_be_chosen_by_their_instructions() {
    let out = folder("device-only");
    let words =
        ["--suite", "arithmetic", "--only", "sin.approx.f32 ", "--only", "none", "--out", &out];
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for name in ["arithmetic-000: agrees", "arithmetic-grid-0: agrees", "2 cases done, 0 left"] {
        assert!(output.text.contains(name), "{name}: {}", output.text);
    }
    // Approximations are held against ours all over their range.
    let grid = "  - sin.approx.f32 %f32_0, %f32_1; 65536 of 65536 agree, at most 0 ulp apart";
    assert!(report(&out).text.contains(grid), "{}", report(&out).text);
    // Of results that agree the record has hashes.
    let record = Path::new(&out).join("records/arithmetic-000.record");
    assert!(std::fs::metadata(record).unwrap().len() < 100_000);
}

#[test]
fn a_kernel_that_hangs_is_stopped_and_the_next_one_runs() {
    let bodies = [
        ("a", "st.global.u32 [%a], %t;"),
        ("b", "mov.u32 %t, 7;\nst.global.u32 [%a], %t;"),
        ("c", "st.global.u32 [%a], 5;"),
    ];
    let (kernels, out) = (kernels("device-hanging", &bodies), folder("device-hanging-out"));
    let words = ["--suite", "kernels", "--kernels", &kernels, "--timeout", "1", "--out", &out];
    let output = device_with(&[("SIMTLAB_TEST_HANG", "mov.u32 %t, 7;")], "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    let lines =
        ["kernels-a-launch: agrees", "kernels-b-launch: ends differ", "kernels-c-launch: agrees"];
    for line in lines {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
    assert!(report(&out).text.contains("launch 0 did not end within 1 s; ours: done"));
}

#[test]
fn an_interrupted_suite_continues_where_it_ended() {
    let bodies = [
        ("a", "st.global.u32 [%a], %t;"),
        ("b", "mov.u32 %t, 7;\nst.global.u32 [%a], %t;"),
        ("c", "st.global.u32 [%a], 5;"),
    ];
    let kernels = kernels("device-interrupted", &bodies);
    let out = folder("device-interrupted-out");
    let words = ["--suite", "kernels", "--kernels", &kernels, "--timeout", "4", "--out", &out];
    let mut first = device_command(&[("SIMTLAB_TEST_HANG", "mov.u32 %t, 7;")], "verify", &words);
    let mut child = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The second kernel hangs once the first has ended.
    let results = Path::new(&out).join("results.jsonl");
    while child.try_wait().unwrap().is_none()
        && !std::fs::read_to_string(&results).is_ok_and(|text| text.contains("kernels-a-launch"))
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = output_of(&child.wait_with_output().unwrap());
    assert_eq!(output.code, Some(130), "{}", output.text);
    assert!(output.text.contains("the same command continues"), "{}", output.text);
    let recorded = std::fs::read_to_string(&results).unwrap();
    assert!(!recorded.contains("kernels-b-launch"), "{recorded}");
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for line in ["kernels-b-launch: agrees", "kernels-c-launch: agrees"] {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
}

#[test]
fn a_driver_is_given_programs_of_its_own_ptx_version() {
    // A driver of CUDA 11.8 takes PTX up to 7.8; a kernel of a later version is named, the others
    // run.
    let newer = kernels("device-old", &[("newer", "st.global.u32 [%a], %t;")]);
    let out = folder("device-old-out");
    let words = ["--suite", "kernels", "--kernels", &newer, "--out", &out];
    let output = device("old", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let report = report(&out);
    let reason = "| kernels-newer-launch | refused: the program has PTX 8.0, the driver supports \
                  CUDA 11.8, which compiles PTX up to 7.8 |";
    assert!(report.text.contains(reason), "{}", report.text);
    let words = ["--suite", "arithmetic", "--only", "arithmetic-000", "--out", &out];
    let output = device("old", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("arithmetic-000: agrees"), "{}", output.text);
    let program = Path::new(&out).join("cases/arithmetic/arithmetic-000.ptx");
    assert!(std::fs::read_to_string(program).unwrap().starts_with(".version 7.8\n"));
}

#[test]
fn a_device_without_room_is_tried_again() {
    let kernels = kernels("device-full", &[("a", "st.global.u32 [%a], %t;"), ("b", SINES)]);
    let out = folder("device-full-out");
    let words = ["--suite", "kernels", "--kernels", &kernels, "--out", &out];
    let output = device("full", "verify", &words);
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("the device has no room for 256 bytes"), "{}", output.text);
    assert!(output.text.contains("end the processes that `nvidia-smi` lists"), "{}", output.text);
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("2 cases done, 0 left"), "{}", output.text);
}

#[test]
fn suites_need_a_driver_and_a_device() {
    let out = folder("device-none");
    let output = device("no-device", "verify", &["--out", &out]);
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("the driver finds no device"), "{}", output.text);
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    simtlab.args(["device", "verify", "--library", "/nowhere/libcuda.so.1", "--out", &out]);
    let output = output_of(&simtlab.output().unwrap());
    assert_eq!(output.code, Some(4), "{}", output.text);
    assert!(output.text.contains("cannot be opened"), "{}", output.text);
    assert!(!Path::new(&out).exists());
}

#[test]
fn results_of_another_version_or_device_are_refused() {
    let kernels = kernels("device-versions", &[("a", "st.global.u32 [%a], %t;")]);
    let out = folder("device-versions-out");
    let words = ["--suite", "kernels", "--kernels", &kernels, "--out", &out];
    assert_eq!(device("", "verify", &words).code, Some(0));
    let owner = Path::new(&out).join("device.json");
    let text = std::fs::read_to_string(&owner).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["tool"] = "simtlab 0.0.1".into();
    std::fs::write(&owner, json.to_string()).unwrap();
    let reason = format!("{out} holds results of simtlab 0.0.1, this program is simtlab ");
    for output in [device("", "verify", &words), report(&out)] {
        assert_eq!(output.code, Some(2), "{}", output.text);
        assert!(output.text.contains(&reason), "{}", output.text);
    }
    json.as_object_mut().unwrap().remove("tool");
    std::fs::write(&owner, json.to_string()).unwrap();
    let output = device("", "verify", &words);
    assert!(output.text.contains("holds results of an unknown version"), "{}", output.text);
    std::fs::write(&owner, text.replace("\"uuid\": \"", "\"uuid\": \"00")).unwrap();
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(2), "{}", output.text);
    assert!(output.text.contains("holds results of another device: "), "{}", output.text);
    std::fs::write(&owner, &text).unwrap();
    std::fs::write(Path::new(&out).join("results.jsonl"), "{\"name\": 1}\n").unwrap();
    let output = device("", "verify", &words);
    assert_eq!(output.code, Some(2), "{}", output.text);
    assert!(output.text.contains("results.jsonl is damaged: line 1: "), "{}", output.text);
}

#[test]
fn what_cannot_be_compared_is_named() {
    let out = folder("device-skipped");
    let suites = ["--suite", "arithmetic,matrix,statistics", "--out", &out];
    let only = ["--only", "texture", "--only", "wgmma", "--only", "counters"];
    let nothing = [("PATH", "/nowhere")];
    let output = device_with(&nothing, "verify", &[&suites[..], &only].concat());
    assert_eq!(output.code, Some(0), "{}", output.text);
    let report = report(&out);
    for line in [
        "| arithmetic-texture-weights | launch files have no textures: ",
        "| matrix-wgmma | only devices of compute capability 9.0 have `wgmma` (sm_90a), this one \
         has 8.0 |",
        "| statistics-counters | NVIDIA's profiler `ncu` is not in PATH: ",
    ] {
        assert!(report.text.contains(line), "{line}: {}", report.text);
    }
}

#[test]
fn sums_of_warp_groups_are_compared() {
    let out = folder("device-wgmma");
    let words = ["--suite", "matrix", "--only", "wgmma-f32-f16", "--out", &out];
    let output = device("hopper", "verify", &words);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("matrix-wgmma-f32-f16: agrees"), "{}", output.text);
    let own = report(&out).text;
    assert!(own.contains("  - 1 minus 1: 0x0\n"), "{own}");
    // The driver puts an `mma` of each warp in its place, which reads B where the descriptor points
    // to. It is one of compute capability 8.0, which adds otherwise.
    let mma = "{ .reg .b32 w, b<2>; mad.lo.u32 w, %l, 4, %s; ld.shared.b32 b0, [w]; \
               ld.shared.b32 b1, [w+128]; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
               {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {b0, b1}, {%d0, %d1, %d2, %d3}; }";
    let rules = [
        (".target sm_90a", ".target sm_80"),
        ("fence.proxy.async; ", ""),
        ("wgmma.fence.sync.aligned;", ""),
        ("wgmma.commit_group.sync.aligned;", ""),
        ("wgmma.wait_group.sync.aligned 0;", ""),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, \
             {%a0, %a1, %a2, %a3}, %desc, %p, 1, 1, 0;",
            mma,
        ),
    ];
    let rules = rules.map(|(from, to)| format!("{from}=>{to}")).join("\u{1}");
    let variables = [("SIMTLAB_TEST_DRIVER", "hopper"), ("SIMTLAB_TEST_REPLACE", &*rules)];
    let out = folder("device-wgmma-replaced");
    let words = ["--suite", "matrix", "--only", "wgmma-f32-f16", "--out", &out];
    let output = device_with(&variables, "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    let report = report(&out);
    for line in [
        "- matrix-wgmma-f32-f16 (matrix): differs; device: done\n  - \
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16\n  - \
         device: bits of fraction beside 1 and -1: 24; \
         ours: bits of fraction beside 1 and -1: 25\n",
        "  - device: added after terms 0 and 1 cancelled: 8-15; \
         ours: added after terms 0 and 1 cancelled: none\n",
        "  - infinity times 0: 0x7fffffff\n",
        "  - 1 minus 1: 0x0\n",
    ] {
        assert!(report.text.contains(line), "{line}: {}", report.text);
    }
}

#[test]
fn bundled_kernels_are_part_of_the_program() {
    let (out, elsewhere) = (folder("device-bundled"), folder("device-elsewhere"));
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    simtlab.args(["device", "verify", "--allow-simulated", "--suite", "kernels", "--library"]);
    simtlab.arg(driver()).args(["--only", "hgemm", "--out", &out]).current_dir(&elsewhere);
    let output = output_of(&simtlab.output().unwrap());
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("kernels-hgemm_mma-launch: agrees"), "{}", output.text);
    // They are the files of the repository.
    let mut files = 0;
    let unpacked = Path::new(&out).join("cases/kernels");
    for folder in std::fs::read_dir(&unpacked).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let source = repository("kernels").join(&name).join(file.file_name().unwrap());
            if file.is_file() {
                assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(source).unwrap());
                files += 1;
            }
        }
    }
    assert!(files > 150, "{files}");
}

/// The profiler's output for a launch: its metrics with their values.
fn counted(csv: &mut String, launch: usize, metrics: &[(&str, String)]) {
    for (metric, value) in metrics {
        *csv += &format!(
            "\"{launch}\",\"77\",\"simtlab\",\"k{launch}\",\"Command line profiler metrics\",\
             \"{metric}\",\"\",\"{value}\"\n"
        );
    }
}

/// What NVIDIA's documents say of the kernels of the counters: accesses, then sectors of loads and
/// of stores, then passes over the banks.
const COUNTED: [(u64, u64, u64); 18] = [
    (4, 4, 0),
    (8, 4, 0),
    (32, 4, 0),
    (32, 4, 0),
    (1, 4, 0),
    (5, 4, 0),
    (8, 4, 0),
    (0, 8, 0),
    (0, 36, 0),
    (0, 4, 1),
    (0, 4, 1),
    (0, 4, 2),
    (0, 4, 4),
    (0, 4, 8),
    (0, 4, 16),
    (0, 4, 32),
    (0, 4, 1),
    (0, 4, 2),
];

#[test]
fn counters_of_a_profiler_are_compared() {
    use std::os::unix::fs::PermissionsExt as _;
    let (out, bin) = (folder("device-counters"), folder("device-counters-bin"));
    std::fs::create_dir_all(&bin).unwrap();
    let mut csv = "==PROF== Connected to process 77\n\"ID\",\"Process ID\",\"Process Name\",\
                   \"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\
                   \"Metric Value\"\n"
        .to_owned();
    let global = "l1tex__t_sectors_pipe_lsu_mem_global_op_";
    for (launch, (loads, stores, passes)) in COUNTED.into_iter().enumerate() {
        // One count is wrong.
        let wrong = u64::from(launch == 1);
        let (loaded, stored) = (format!("{global}ld.sum"), format!("{global}st.sum"));
        let shared = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
        let metrics = [(&*loaded, loads + wrong), (&*stored, stores), (shared, passes)];
        counted(&mut csv, launch, &metrics.map(|(metric, count)| (metric, count.to_string())));
    }
    for (launch, threads) in [(18, "2,000"), (19, "5,00"), (20, "2,100")] {
        let warps = ("smsp__inst_executed.sum", "100".to_owned());
        let threads = ("smsp__thread_inst_executed.sum", threads.to_owned());
        counted(&mut csv, launch, &[warps, threads]);
    }
    std::fs::write(Path::new(&bin).join("counts.csv"), csv).unwrap();
    let profiler = Path::new(&bin).join("ncu");
    let script = "#!/bin/sh\nset -e\n[ \"$1 $2\" = \"--csv --log-file\" ]\nlog=$3\n\
                  [ \"$4\" = --metrics ]\nshift 5\n\"$@\"\ncat \"${0%/*}/counts.csv\" > \"$log\"\n";
    std::fs::write(&profiler, script).unwrap();
    std::fs::set_permissions(&profiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let words = ["--suite", "statistics", "--only", "counters", "--out", &out];
    let output = device_with(&[("PATH", &path)], "verify", &words);
    assert_eq!(output.code, Some(1), "{}", output.text);
    let report = report(&out);
    let line = "  - `global words 8 bytes apart from byte 0 on: \
                l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`: 1 of 1 elements differ";
    let named: Vec<&str> = report.text.lines().filter(|l| l.starts_with("  - `")).collect();
    assert_eq!(named[0], line, "{}", report.text);
    assert!(report.text.contains("device 9, ours 8"), "{}", report.text);
    assert_eq!(named.len(), 1, "{}", report.text);
    // A profiler that may not count says why.
    let script = "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM' > \"$3\"\nshift 5\nexec \"$@\"\n";
    std::fs::write(&profiler, script).unwrap();
    let out = folder("device-counters-refused");
    let words = ["--suite", "statistics", "--only", "counters", "--out", &out];
    let output = device_with(&[("PATH", &path)], "verify", &words);
    assert!(output.text.contains("statistics-counters: not run"), "{}", output.text);
    assert!(self::report(&out).text.contains("done: ERR_NVGPUCTRPERM |"), "{}", output.text);
}
