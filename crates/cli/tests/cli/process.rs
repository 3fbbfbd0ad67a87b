//! The command as a process: exit codes, output streams, and readers that close the pipe.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Stores the thread's index; faults if the buffer is shorter than the grid.
const KERNEL: &str = "
kernel @k(out: u64 global) {
  reg %t, %n, %b: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %n = sreg.u32 ntid.x
  %b = sreg.u32 ctaid.x
  %t = mad.u32 %b, %n, %t
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %t
  ret
}
";

fn simtlab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simtlab")).args(args).output().expect("the command starts")
}

/// Creates a folder for one test, with the kernel in it.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("k.ir"), KERNEL).expect("a file");
    folder
}

fn launch(folder: &Path, expected: &str) -> String {
    let text = format!(
        "schema = 1\nmachine = \"ir\"\nmodule = \"k.ir\"\n[buffers]\nout = \"u32[4]:zeros\"\n\
         [[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [4]\nargs = [\"&out\"]\n\
         [[expect]]\nbuffer = \"out\"\nvalues = {expected}\n"
    );
    let file = folder.join("launch.toml");
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

#[test]
fn a_run_that_meets_its_expectations_ends_with_0() {
    let file = launch(&folder("met"), "[0, 1, 2, 3]");
    let output = simtlab(&["run", &file]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("where the lanes went"));
}

#[test]
fn both_engines_run_side_by_side() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    for (name, compared) in
        [("histogram", true), ("reduce", true), ("recursion", true), ("atomic128", false)]
    {
        let kernel = kernels.join(name).display().to_string();
        let output = simtlab(&["run", &kernel, "--engine", "both", "--verbose", "--stats", "none"]);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{name}: {messages}");
        assert_eq!(messages.contains("the engines agree"), compared, "{name}: {messages}");
    }
    let folder = folder("both");
    let file = launch(&folder, "[0, 1, 2, 3]");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, text.replace("block = [4]", "block = [400]")).expect("a file");
    let output = simtlab(&["run", &file, "--engine", "both"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_verbose_run_names_its_schedule() {
    let file = launch(&folder("verbose"), "[0, 1, 2, 3]");
    let output = simtlab(&["run", &file, "--verbose", "--warp-size", "8"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.lines().any(|line| {
            line.starts_with("launch 0, k: ipdom on ir, schedule canonical: each group of 8 lanes")
        }),
        "{text}"
    );
    let quiet = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!quiet.contains("schedule"), "{quiet}");
}

/// Copies `%laneid` to the buffer.
const LANES: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %laneid;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

#[test]
fn check_marks_kernels_that_depend_on_the_size_of_the_warp() {
    let file = folder("lanes").join("k.ptx");
    std::fs::write(&file, LANES).expect("a file");
    let output = simtlab(&["check", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mark = "  kernel `k` is warp-size-dependent: `mov.u32 %r1, %laneid;` at line 10\n";
    assert!(text.ends_with(mark), "{text}");
}

/// Compares the mechanisms on a kernel whose program sees warps of `warp` lanes.
fn compare_under_warp(name: &str, kernel: &str, warp: u32) -> Output {
    let folder = folder(name);
    std::fs::write(folder.join("k.ptx"), kernel).expect("a file");
    let text = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"k.ptx\"\noptions = {{ warp = {warp} }}\n\
         [buffers]\nout = \"u32[1]:zeros\"\n\
         [[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [64]\nargs = [\"&out\"]\n"
    );
    let file = folder.join("launch.toml");
    std::fs::write(&file, text).expect("a file");
    simtlab(&["compare", &file.display().to_string(), "--mechanisms", "ipdom"])
}

#[test]
fn compare_marks_kernels_that_depend_on_the_size_of_the_warp() {
    let output = compare_under_warp("compare-lanes", LANES, 8);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("warp-size-dependent: `k`: `mov.u32 %r1, %laneid;` at line 10"),
        "{text}"
    );
}

/// Adds 1 to 32-bit floats through `a`, and stores 64-bit ones through `b`.
const FLOATS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 a, .param .u64 b) {\n\
    .reg .b64 %rd<3>; .reg .f32 %f<2>; .reg .f64 %fd<2>;\n\
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];\n\
    ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, 0f3F800000; st.global.f32 [%rd1], %f1;\n\
    cvt.f64.f32 %fd1, %f1; st.global.f64 [%rd2], %fd1; ret; }\n";

/// Runs `simtlab` with a launch file that passes these arguments to the kernel twice.
fn floats_by_launch_file(folder: &Path, command: &[&str], buffers: &str, args: &str) -> Output {
    let launch = format!("[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = {args}\n");
    let text = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"k.ptx\"\n[buffers]\n{buffers}\n{launch}{launch}"
    );
    let file = folder.join("launch.toml");
    std::fs::write(&file, text).expect("a file");
    let file = file.display().to_string();
    simtlab(&[&command[..1], &[&file], &command[1..]].concat())
}

#[test]
fn a_buffer_of_doubles_for_an_array_of_floats_gives_a_warning() {
    let folder = folder("floats");
    let ptx = folder.join("k.ptx");
    std::fs::write(&ptx, FLOATS).expect("a file");
    let ptx = ptx.display().to_string();
    let run = |args: &[&str]| {
        let output = simtlab(&[&["run", &ptx, "--grid", "1", "--block", "1"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let message = "the buffer `a` of f64 is passed for a of k, through which the kernel accesses \
                   32-bit floats alone";
    let warned = run(&["--arg", "a=f64[4]", "--arg", "b=f64[1]"]);
    assert_eq!(warned.matches("warning[arg::float64]").count(), 1, "{warned}");
    assert!(warned.contains(message) && warned.contains("--arg 'a=f64[4]'"), "{warned}");
    assert_eq!(run(&["--arg", "a=f32[4]", "--arg", "b=f64[1]"]), "");

    // Two launches with one buffer: one warning, at the argument and the declaration.
    let (buffers, args) = ("x = \"f64[4]\"\ny = \"f64[4]\"", "[\"&x+8\", \"&y\"]");
    let output = floats_by_launch_file(&folder, &["run"], buffers, args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text.matches("warning[arg::float64]").count(), 1, "{text}");
    assert!(text.contains("launch.toml:11:10") && text.contains("declared here"), "{text}");
    // Arguments named after parameters come in any order.
    let args = "[\"b=&y\", \"a=&x\"]";
    let output = floats_by_launch_file(&folder, &["run", "--stats", "json"], buffers, args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("`x` of f64 is passed for a of k"), "{text}");
    let options = ["compare", "--mechanisms", "ipdom", "--json", "-"];
    let output = floats_by_launch_file(&folder, &options, buffers, args);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["warnings"][0]["code"], "arg::float64", "{report}");
}

#[test]
fn machine_options_apply_to_every_row_of_a_comparison() {
    let folder = folder("compare-option");
    std::fs::write(folder.join("k.ptx"), LANES).expect("a file");
    let file = folder.join("k.ptx").display().to_string();
    let launch = ["--grid", "1", "--block", "64", "--arg", "u32[1]:zeros"];
    let compare = |option: &str| {
        let args = [&["compare", &file, "--mechanisms", "ipdom", "--option", option], &launch[..]];
        simtlab(&args.concat())
    };
    // A program that sees warps of 64 lanes, and an option that does not exist.
    let output = compare("warp=64");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = compare("warps=64");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("there is no option `warps`"), "{text}");
}

#[test]
fn warps_of_64_lanes_have_no_collectives() {
    let vote = LANES.replace("mov.u32 %r1, %laneid;", "vote.sync.ballot.b32 %r1, 1, -1;");
    let output = compare_under_warp("compare-64", &vote, 64);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("error[run::unsupported]: `ballot` names lanes by masks of 32 bits"),
        "{text}"
    );
    assert!(text.contains("10 |     vote.sync.ballot.b32 %r1, 1, -1;"), "{text}");
}

/// Stores the number of blocks of the cluster.
const CLUSTERS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %n, %c;
  .reg .b64 %out, %at;
  ld.param.u64 %out, [out];
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %cluster_nctaid.x;
  mul.wide.u32 %at, %c, 4;
  add.u64 %at, %out, %at;
  st.global.u32 [%at], %n;
  ret;
}
";

/// Runs with arguments; returns the words of the buffer `out`.
fn words(folder: &Path, args: &[&str]) -> Vec<u32> {
    let file = folder.join("out.npy");
    let dump = format!("out={}", file.display());
    let output = simtlab(&[&["run"], args, &["--dump", &dump]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bytes = std::fs::read(file).expect("is written");
    // The header has as many bytes as its field says, behind 10 bytes.
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[data..].chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().expect("4"))).collect()
}

#[test]
fn clusters_and_asynchronous_steps_have_options() {
    let folder = folder("clusters");
    let file = folder.join("k.ptx");
    std::fs::write(&file, CLUSTERS).expect("a file");
    let launch =
        [&file.display().to_string(), "--grid", "4", "--block", "1", "--arg", "out=u32[4]"];
    assert_eq!(words(&folder, &[&launch[..], &["--cluster", "2"]].concat()), [2; 4]);
    assert_eq!(words(&folder, &[&launch[..], &["--cluster", "4,1,1"]].concat()), [4; 4]);
    let output = simtlab(&[&["run"], &launch[..], &["--cluster", "3"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    // A thread that does not wait for a copy reads what was there before it, or its last bytes.
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../filetests/tests/checks/unfinished-read.ptx")
        .display()
        .to_string();
    let launch = [&file, "--grid", "1", "--block", "32", "--arg", "in=u32[64]:fill(5)"];
    let launch = [&launch[..], &["--arg", "out=u32[32]"]].concat();
    assert_eq!(words(&folder, &[&launch[..], &["--async", "early"]].concat()), [5; 32]);
    assert_eq!(words(&folder, &[&launch[..], &["--async", "late"]].concat()), [0; 32]);
    let output = simtlab(&[&["run"], &launch[..], &["--async", "never"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    // 1 plus eight products of 1.5 * 2^-24, added in three ways.
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../filetests/tests/matrix/sums-device.ptx")
        .display()
        .to_string();
    let launch = [&file, "--grid", "1", "--block", "32", "--arg", "out=u32[32]"];
    for (rule, low) in [("device", 4), ("exact", 6), ("f32", 8)] {
        let given = [&launch[..], &["--matrix-sums", rule]].concat();
        assert_eq!(words(&folder, &given), [0x3f80_0000 + low; 32], "{rule}");
    }
    let output = simtlab(&[&["run"], &launch[..], &["--matrix-sums", "f64"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn an_expectation_that_is_not_met_ends_with_1() {
    let file = launch(&folder("unmet"), "[0, 1, 2, 4]");
    assert_eq!(simtlab(&["run", &file]).status.code(), Some(1));
}

#[test]
fn bad_input_ends_with_2_and_nothing_on_standard_output() {
    for args in
        [&["run", "no-such-file.ptx"][..], &["conform", "--isa", "nothing"], &["frobnicate"]]
    {
        let output = simtlab(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_fault_ends_with_3_and_names_its_line() {
    let kernel = folder("fault").join("k.ir").display().to_string();
    let output =
        simtlab(&["run", &kernel, "--grid", "2", "--block", "4", "--arg", "out=u32[4]:zeros"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("error[out-of-bounds]") && text.contains("k.ir:13"), "{text}");
}

#[test]
fn conformance_ends_with_one_line_of_counts() {
    let output = simtlab(&["conform", "--isa", "toy"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.ends_with(" passed, 0 failed"), "{last}");
}

#[test]
fn a_closed_output_does_not_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_simtlab"))
        .args(["machines"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
    child.wait().expect("it ends");
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn a_kernel_made_predicated_runs_on_the_machine_that_it_was_made_for() {
    let folder = folder("predicated");
    let (source, assembly) = (folder.join("odd.ir"), folder.join("odd.s"));
    let kernel = KERNEL.replace(
        "  st.global.u32 [%at], %t\n",
        "  %n = and.b32 %t, 1\n  %p = setp.eq.u32 %n, 0\n  @%p br join\nodd:\n  %t = mul.u32 %t, 10\njoin:\n  \
         st.global.u32 [%at], %t\n",
    );
    let kernel = kernel.replace("reg %at", "reg %p: pred\n  reg %at");
    std::fs::write(&source, kernel).expect("a file");
    let (source, assembly) = (source.display().to_string(), assembly.display().to_string());
    let lowered = simtlab(&["lower", &source, "--isa", "prf", "-o", &assembly, "--report"]);
    assert_eq!(lowered.status.code(), Some(0), "{lowered:?}");
    let report = String::from_utf8_lossy(&lowered.stdout);
    assert!(report.contains("predicate registers         2\n"), "{report}");
    let output = simtlab(&["predicate", &source]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("k: 2 predicates needed at once; of 16, they fit"), "{text}");
    let dump = folder.join("odd.npy").display().to_string();
    let dumped = format!("out={dump}");
    let run = ["run", "--isa", "prf", &assembly, "--grid", "1", "--block", "4"];
    let output = simtlab(&[&run[..], &["--arg", "out=u32[4]:zeros", "--dump", &dumped]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bytes = std::fs::read(&dump).expect("the buffer");
    let words = bytes[bytes.len() - 16..].chunks(4).map(|w| w[0]);
    assert_eq!(words.collect::<Vec<_>>(), [0, 10, 2, 30]);
    let refused = simtlab(&["predicate", &source, "--np", "2"]);
    assert_eq!(refused.status.code(), Some(2));
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("needs 3 to 1024 predicate registers, not 2"), "{why}");
}

/// A memory image as the published project stores them: launch block, code that adds each thread's
/// number to a word, the argument, and data that lies in the heap.
const IMAGE: &str = "0x0000000c 0x00000024
0x00000010 0x00000004
0x00000014 0x00000001
0x0000001c 0x00100000
0x00000024 0x800060d8
0x00000028 0x80002120
0x0000002c 0x800001d8
0x00000030 0x8010621d
0x00000034 0x80204100
0x00000038 0x800042a0
0x0000003c 0x8018a280
0x00000040 0x80284030
0x00000044 0x81ffffff
0x00100000 0x10000100
0x10000100 0x00000005
";

#[test]
fn memory_images_of_prf_start_by_their_launch_block_and_memory_is_dumped() {
    let folder = folder("prf-image");
    let path = |name: &str| folder.join(name).display().to_string();
    let (image, dump) = (path("image.hex"), path("dump.hex"));
    std::fs::write(&image, IMAGE).expect("a file");
    let run = ["run", "--isa", "prf", &image, "--threads", "4", "--blocks", "1", "--stats", "none"];
    let to = format!("0x10000000+0x1000={dump}");
    let output = simtlab(&[&run[..], &["--dump-hex", &to]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let words = std::fs::read_to_string(&dump).expect("the dump");
    let expected = "0x10000100 0x00000005\n0x10000104 0x00000001\n0x10000108 0x00000002\n\
                    0x1000010c 0x00000003\n";
    assert_eq!(words, expected);
    // The same code without a launch block, from address 0 on.
    let code = IMAGE.lines().filter(|l| l.starts_with("0x000000") && *l > "0x00000024");
    let words: Vec<&str> = code.filter_map(|l| l.split_once(' ')).map(|(_, word)| word).collect();
    std::fs::write(&image, words.join("\n")).expect("a file");
    let map = "0x100000+4096,0x10000100+16";
    let argument = ["--option", "argument=0x100000", "--map", map];
    let output = simtlab(&[&run[..], &argument, &["--dump-hex", &dump]].concat());
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("4-byte store at 0x0 writes read-only memory"), "{why}");
    let checked = simtlab(&["check", "--isa", "prf", &image]);
    let warned = String::from_utf8_lossy(&checked.stderr);
    assert!(warned.contains("code at 0x0"), "{warned}");
    std::fs::write(&image, IMAGE).expect("a file");
    for (option, value, why) in [
        ("--map", "5", "is not a value of `map`"),
        ("--map", "0xffffffff+2", "is not a value of `map`"),
        ("--dump-hex", "x=y", "a range of addresses and a file"),
        ("--signature", &dump, "the program has no symbol `begin_signature`"),
    ] {
        let output = simtlab(&[&run[..], &[option, value]].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn pmask_programs_print_any_bytes_and_leave_a_signature() {
    let folder = folder("pmask-signature");
    let path = |name: &str| folder.join(name).display().to_string();
    let program = "_start:\n la a1, begin_signature\n li t0, 0x11223344\n sw t0, 4(a1)\n li a0, 1\n li a2, 8\n \
                   li a7, 64\n ecall\n li a0, 0\n li a7, 93\n ecall\n.data\nbegin_signature:\n \
                   .byte 0x41, 0xff, 0x80, 0x42\n .word 0\nend_signature:\n .word 5\n";
    let (source, signature) = (path("signed.s"), path("signature"));
    std::fs::write(&source, program).expect("a file");
    let run = ["run", "--isa", "pmask", &source, "--stats", "none", "--signature", &signature];
    let output = simtlab(&run);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, [0x41, 0xff, 0x80, 0x42, 0x44, 0x33, 0x22, 0x11]);
    let lines = std::fs::read_to_string(&signature).expect("the signature");
    assert_eq!(lines, "4280ff41\n11223344\n");
}

#[test]
fn prf_programs_run_cycle_by_cycle_with_parameters_and_a_trace() {
    let folder = folder("prf");
    let path = |name: &str| folder.join(name).display().to_string();
    let program = "top:\n    addi x4, x4, 1\n    slti x5, x4, 20\n    bne p1, x5, x0\n    \
                   jpnz p1, top\n    halt\n";
    std::fs::write(folder.join("loop.prf"), program).expect("a file");
    std::fs::write(folder.join("slow.toml"), "[memory]\nlatency = 50\n").expect("a file");
    std::fs::write(folder.join("wrong.toml"), "[memory]\nlatency = 0\n").expect("a file");
    let (program, slow, wrong, trace) =
        (path("loop.prf"), path("slow.toml"), path("wrong.toml"), path("trace.json"));
    let base = ["run", &program, "--threads", "70", "--stats", "json"];
    let cycles = |more: &[&str]| -> u64 {
        let output = simtlab(&[&base, more].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, rest) = text.split_once("\"cycles\": ").expect("a count of cycles");
        rest.split([',', '\n']).next().and_then(|n| n.parse().ok()).expect("a number")
    };
    let faithful = cycles(&["--timing", "--trace", &trace]);
    assert_eq!(cycles(&[]), 0, "the functional model has no cycles");
    assert!(cycles(&["--hazards", "interlocked"]) < faithful);
    assert!(cycles(&["--params", &slow]) > faithful);
    let trace = std::fs::read_to_string(trace).expect("the trace");
    assert!(trace.starts_with("{\"displayTimeUnit\"") && trace.contains("write-back"));
    // The address of the arguments as a number: the value of special register 3.
    std::fs::write(folder.join("arg.hex"), "0x24 0xc00063d8\n0x28 0xc000e320\n0x2c 0xc1ffffff\n")
        .expect("a file");
    let hex = path("arg.hex");
    let run = |arg: &str| simtlab(&["run", "--isa", "prf", &hex, "--threads", "1", "--arg", arg]);
    assert_eq!(run("0x10000004").status.code(), Some(0), "{:?}", run("0x10000004"));
    assert_eq!(run("0x30000000").status.code(), Some(3), "nothing is mapped there");
    let refused = simtlab(&[&base[..], &["--params", &wrong]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("`memory.latency` is 0, but possible are 1 to 100000"), "{text}");
    let missing = simtlab(&[&base[..], &["--params", &path("no.toml")]].concat());
    assert_eq!(missing.status.code(), Some(2));
}
