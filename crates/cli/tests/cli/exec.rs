//! `simtlab exec` with a client in C, and the substitute for ptxas.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles the client.
pub(super) fn client() -> PathBuf {
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
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, messages)
}

#[test]
fn the_report_lists_launches() {
    let (output, messages) = exec(&["--stats"], &[]);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(messages.contains("simtlab: 1 launch of 1 kernel, 0 faults, 0 hangs\n"), "{messages}");
    assert!(messages.lines().any(|l| l.ends_with(" fill") && l.contains(" 100.0% ")), "{messages}");
}

#[test]
fn faults_have_a_place_and_a_code() {
    let path = scratch("exec-report.json");
    let (output, messages) = exec(&["--json", path.to_str().unwrap()], &["fault"]);
    assert_eq!(output.status.code(), Some(3), "{messages}");
    assert!(messages.contains("1 fault, 0 hangs"), "{messages}");
    assert!(
        messages.contains("st.global.u32 [%a], %i;")
            && messages.contains("compiled from fill.cu:8"),
        "{messages}"
    );
    assert!(
        messages.contains("warp 1, lanes {0-31}, threads (32,0,0) to (63,0,0)\n"),
        "{messages}"
    );
    assert!(messages.contains("parameter 1 of 1, `p`, is 0x"), "{messages}");
    let history = "the memory was allocated by the 1st call of cuMemAlloc (128 bytes)\n";
    assert!(messages.contains(history), "{messages}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["stops"][0]["code"], "out-of-bounds");
    assert_eq!(report["exit_code"], 0);
}

#[test]
fn faults_are_written_as_findings() {
    let path = scratch("exec-report.sarif");
    let report = format!("sarif={}", path.display());
    let (output, messages) = exec(&["--report", &report], &["fault"]);
    assert_eq!(output.status.code(), Some(3), "{messages}");
    let text = std::fs::read_to_string(&path).expect("it is written");
    let sarif: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "fault", "{text}");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "fill.cu", "{text}");
    assert_eq!(place["region"]["startLine"], 8, "{text}");
    let (output, messages) = exec(&["--report", "sarif"], &[]);
    assert!(output.status.code() == Some(2) && messages.contains("needs a file"), "{messages}");
}

#[test]
fn launches_go_on_from_refused_accesses_if_that_is_asked_for() {
    let path = scratch("exec-warned.json");
    let (output, messages) =
        exec(&["--faults", "warn", "--json", path.to_str().unwrap()], &["warned"]);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(
        messages.contains("2 launches of 1 kernel, 0 faults, 0 hangs, refused accesses at 1 place"),
        "{messages}"
    );
    assert!(messages.contains("went on 1 time: 4-byte store at 0x"), "{messages}");
    assert!(messages.contains("warp 1, lanes {0-31}"), "{messages}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["tolerated"][0]["code"], "out-of-bounds");
    assert_eq!(report["tolerated"][0]["issues"], 1);
    let (output, messages) = exec(&["--faults", "warn", "--error-exit", "9"], &["warned"]);
    assert_eq!(output.status.code(), Some(9), "{messages}");
}

#[test]
fn a_launch_that_fails_alone_leaves_memory_and_context() {
    let (output, messages) = exec(&["--faults", "launch"], &["alone"]);
    assert_eq!(output.status.code(), Some(3), "{messages}");
    assert!(messages.contains("2 launches of 1 kernel, 1 fault, 0 hangs\n"), "{messages}");
    // Without it, the context is of no more use.
    let (output, messages) = exec(&[], &["alone"]);
    assert_eq!(output.status.code(), Some(99), "{messages}");
    let (output, _) = exec(&["--faults", "maybe"], &[]);
    assert_eq!(output.status.code(), Some(2));
}

/// Folders with the driver library, and of a runtime what the environment of builds is made of.
#[test]
fn builds_find_the_runtime() {
    let test = std::env::current_exe().unwrap();
    let folder = scratch("exec-build");
    for version in ["12", "13"] {
        std::fs::create_dir_all(folder.join("link").join(version)).unwrap();
    }
    let driver = folder.join("libcuda.so");
    let _ = std::fs::remove_file(&driver);
    std::os::unix::fs::symlink(test.parent().unwrap().join("libcuda.so"), driver).unwrap();
    let toolkit = folder.join("toolkit");
    std::fs::create_dir_all(toolkit.join("include")).unwrap();
    let header = toolkit.join("include/cuda_runtime_api.h");
    std::fs::write(header, "#define CUDART_VERSION  12080\n").unwrap();
    let print = |toolkit: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.arg("exec").arg("--libraries").arg(&folder).args(["--capability", "9.0"]);
        command
            .args(["--async", "random:5", "--matrix-sums", "exact", "--", "env"])
            .env("CUDA_HOME", toolkit)
            .env("NVCC_PREPEND_FLAGS", "-O1");
        command
            .env_remove("TORCH_CUDA_ARCH_LIST")
            .env_remove("CUDACXX")
            .env("PATH", "/usr/bin:/bin");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let folder = folder.canonicalize().unwrap();
    let links = folder.join("link").display().to_string();
    for (toolkit, version) in [(toolkit.as_path(), 12), (Path::new("/nowhere"), 13)] {
        let variables = print(toolkit);
        for line in [
            format!("NVCC_PREPEND_FLAGS=-cudart shared -L{links}/{version} -O1\n"),
            format!("COMPILER_PATH={links}/tools"),
            format!("\nLIBRARY_PATH={links}/{version}"),
            format!("CMAKE_LIBRARY_PATH={links}/{version}"),
            format!("PKG_CONFIG_PATH={links}/pkgconfig"),
            format!("SIMTLAB_LINK_VERSION={version}\n"),
            "TORCH_CUDA_ARCH_LIST=9.0+PTX\n".to_owned(),
            "SIMTLAB_ASYNC=random:5\n".to_owned(),
            "SIMTLAB_MATRIX_SUMS=exact\n".to_owned(),
        ] {
            assert!(variables.contains(&line), "{line} {variables}");
        }
    }
}

/// Programs take the presence of nvJitLink for that of NVIDIA's compiler for LTO-IR.
#[test]
fn nvjitlink_is_shown_where_nvidias_would_be_found() {
    let test = std::env::current_exe().unwrap();
    let folder = scratch("exec-nvjitlink");
    let theirs = folder.join("theirs");
    std::fs::create_dir_all(&theirs).unwrap();
    let driver = folder.join("libcuda.so");
    let _ = std::fs::remove_file(&driver);
    std::os::unix::fs::symlink(test.parent().unwrap().join("libcuda.so"), driver).unwrap();
    for version in [12, 13] {
        std::fs::write(folder.join(format!("libnvJitLink.so.{version}")), "").unwrap();
    }
    std::fs::write(theirs.join("libnvJitLink.so.13"), "").unwrap();
    let list = |variables: &[(&str, &Path)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.arg("exec").arg("--libraries").arg(&folder);
        command.args(["--", "sh", "-c", "cd $SIMTLAB_RUN_LIBRARIES && ls libnvJ* in_front"]);
        for name in ["LD_LIBRARY_PATH", "CUDACXX", "CUDA_HOME", "CUDA_PATH", "SIMTLAB_NVJITLINK"] {
            command.env_remove(name);
        }
        command.env_remove("SIMTLAB_NVIDIA_LIBRARIES").env("PATH", "/usr/bin:/bin");
        command.envs(variables.iter().copied());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let (shown, behind) = text.split_once("in_front:\n").unwrap_or_default();
        assert_eq!(behind, "libnvJitLink.so.12\nlibnvJitLink.so.13\n");
        shown.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
    };
    assert!(list(&[]).is_empty());
    assert_eq!(list(&[("LD_LIBRARY_PATH", &theirs)]), ["libnvJitLink.so.13"]);
    assert_eq!(list(&[("SIMTLAB_NVIDIA_LIBRARIES", &theirs)]), ["libnvJitLink.so.13"]);
    assert_eq!(list(&[("SIMTLAB_NVJITLINK", &theirs)]).len(), 2);
}

#[test]
fn a_runtime_inside_of_a_program_is_named() {
    let compile = |name: &str, text: &str| {
        let (source, program) = (scratch(&format!("{name}.c")), scratch(name));
        std::fs::write(&source, text).unwrap();
        let end = Command::new("cc").arg(&source).arg("-o").arg(&program).output().unwrap();
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        program
    };
    const CODE: &str = "__attribute__((used, section(\".nvFatBinSegment\"))) static int code[6];\n";
    const OURS: &str = "__attribute__((used, section(\".simtlab.cudart\"))) static int ours[2];\n";
    let carries = compile("carries", &format!("{CODE} int main(void) {{ return 0; }}"));
    let forwards = compile("forwards", &format!("{CODE}{OURS} int main(void) {{ return 0; }}"));
    let says = |program: &Path| {
        let test = std::env::current_exe().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.arg("exec").arg("--libraries").arg(test.parent().unwrap()).arg(program);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(says(&carries).contains("carries carries NVIDIA's static CUDA runtime"));
    assert!(!says(&forwards).contains("static CUDA runtime"));
    assert!(!says(Path::new("true")).contains("static CUDA runtime"));
}

#[test]
fn engines_that_agree_leave_the_code_and_the_report_as_they_are() {
    let (output, messages) = exec(&["--engine", "both"], &[]);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(messages.contains("simtlab: 1 launch of 1 kernel, 0 faults, 0 hangs\n"), "{messages}");
    let (output, messages) = exec(&["--engine", "both"], &["fault"]);
    assert_eq!(output.status.code(), Some(3), "{messages}");
    assert!(messages.contains("1 fault, 0 hangs\n"), "{messages}");
}

#[test]
fn the_programs_code_comes_first() {
    let (output, messages) = exec(&[], &["7"]);
    assert_eq!(output.status.code(), Some(7), "{messages}");
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let wrong = Command::new(simtlab).args(["exec", "--libraries", "/nowhere", "true"]).output();
    assert_eq!(wrong.unwrap().status.code(), Some(2));
}

#[test]
fn ptxas_passes_usable_code_on() {
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

#[test]
fn failed_calls_are_reported_once_each() {
    let path = scratch("exec-calls.json");
    let (output, messages) = exec(&["--json", path.to_str().unwrap()], &["calls"]);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(messages.contains("0 faults, 0 hangs, 4 failed calls\n"), "{messages}");
    // Memory freed inside the allocation, and freed twice: one line, with the arguments of the
    // first call.
    let freed: Vec<&str> = messages.lines().filter(|l| l.contains("cuMemFree_v2(")).collect();
    assert_eq!(freed.len(), 1, "{messages}");
    assert!(freed[0].starts_with("  failed 2 times: cuMemFree_v2(address=0x"), "{messages}");
    assert!(freed[0].ends_with("04) = 1 CUDA_ERROR_INVALID_VALUE"), "{messages}");
    // An allocation that does not fit is reported with its sizes, both at once and in the report.
    let memory = "4398046511104 bytes of device memory were asked for; of 42949672960 there are, 0 are in use \
        (SIMTLAB_DEVICE_MEMORY says how many there are)";
    assert!(messages.contains(&format!("simtlab: {memory}\n")), "{messages}");
    assert!(messages.contains("len=4398046511104) = 2 CUDA_ERROR_OUT_OF_MEMORY"), "{messages}");
    assert!(messages.contains(&format!("\n    {memory}\n")), "{messages}");
    assert!(messages.contains(" bx=2048, ") && messages.contains("cuLaunchKernel("), "{messages}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["failed"][0]["times"], 2);
    assert_eq!(report["failed"][1]["name"], "CUDA_ERROR_OUT_OF_MEMORY");
}

#[test]
fn errors_of_calls_can_fail_the_run() {
    let code = |options: &[&str], mode: &str| exec(options, &[mode]).0.status.code();
    for mode in ["calls", "unsupported", "refused"] {
        assert_eq!(code(&[], mode), Some(0), "{mode}");
        assert_eq!(code(&["--error-exit", "9"], mode), Some(9), "{mode}");
    }
    // Success remains success; the program's own exit code and faults take precedence.
    assert_eq!(code(&["--error-exit", "9"], "0"), Some(0));
    assert_eq!(code(&["--error-exit", "9"], "7"), Some(7));
    assert_eq!(code(&["--error-exit", "9"], "fault"), Some(3));
}

#[test]
fn unusable_kernels_are_reported_when_they_are_looked_up() {
    let (_, messages) = exec(&[], &[]);
    assert!(!messages.contains("never"), "{messages}");
    let (_, messages) = exec(&[], &["refused"]);
    assert!(messages.contains("  the kernel `never` cannot run:\n"), "{messages}");
    assert!(messages.contains("nonsense"), "{messages}");
}

/// Runs a shell command under `exec`, in a temporary folder of this test.
fn shell(name: &str, command: &str, around: &str) -> Output {
    let temp = scratch(name);
    let _ = std::fs::remove_dir_all(&temp);
    std::fs::create_dir_all(&temp).unwrap();
    let test = std::env::current_exe().unwrap();
    let mut sh = Command::new("sh");
    sh.arg("-c").arg(format!("{around} exec \"$@\"")).arg("sh").arg(env!("CARGO_BIN_EXE_simtlab"));
    sh.arg("exec").arg("--libraries").arg(test.parent().unwrap());
    sh.args(["--", "sh", "-c", command]).env("TMPDIR", &temp).stdin(Stdio::null());
    let output = sh.output().unwrap();
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0, "the folder of the run is left");
    output
}

#[test]
fn python_finds_the_modules_of_the_run_first() {
    let script = "python=$SIMTLAB_RUN_LIBRARIES/python; test \"${PYTHONPATH%%:*}\" = \"$python\" && \
        test -f $python/sitecustomize.py && \
        test -f $python/simtlab_clients/torch_backend/operators.py && \
        test -e $SIMTLAB_RUN_LIBRARIES/libcuda.so.1 -a -z \"$LD_PRELOAD\" && echo found";
    let ended = shell("exec-python", script, "unset LD_PRELOAD;");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "found\n", "{ended:?}");
}

#[test]
fn a_quiet_run_ends_with_the_programs_code() {
    let (output, messages) = exec(&["--quiet"], &["fault"]);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(!messages.contains("1 fault, 0 hangs"), "{messages}");
    let (output, _) = exec(&["--quiet"], &["7"]);
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn the_folder_is_private() {
    let output = shell("exec-folder", "stat -c '%a %n' \"${SIMTLAB_JOURNAL%/*}\"", "umask 000;");
    let messages = String::from_utf8(output.stdout).unwrap();
    let (mode, name) = messages.trim().split_once(' ').unwrap();
    assert_eq!(mode, "700");
    let (_, random) = name.rsplit_once("simtlab-exec-").unwrap();
    assert!(random.len() == 32 && random.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
}

#[test]
fn an_empty_search_path_stays_without_the_current_directory() {
    for before in ["LD_LIBRARY_PATH=", "LD_LIBRARY_PATH=:", "unset LD_LIBRARY_PATH;"] {
        let around = format!("export LD_LIBRARY_PATH=; {before}");
        let command = "echo \"$LD_LIBRARY_PATH\"; echo \"${SIMTLAB_JOURNAL%/*}\"";
        let output = shell("exec-path", command, &around);
        let messages = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = messages.lines().collect();
        assert_eq!(lines[0], lines[1], "{before}");
    }
}

/// Starts `exec` with a command, without a terminal, in a temporary folder of this test.
fn start(name: &str, options: &[&str], command: &[&str]) -> (Child, PathBuf) {
    let temp = scratch(name);
    let _ = std::fs::remove_dir_all(&temp);
    std::fs::create_dir_all(&temp).unwrap();
    let test = std::env::current_exe().unwrap();
    // Signals that the caller of the tests ignores would be ignored here, too.
    let mut exec = Command::new("env");
    exec.args(["--default-signal=HUP,INT", env!("CARGO_BIN_EXE_simtlab")]);
    exec.arg("exec").arg("--libraries").arg(test.parent().unwrap()).args(options).arg("--");
    exec.args(command).env("TMPDIR", &temp);
    exec.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (exec.spawn().unwrap(), temp)
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn signals_end_the_program_and_what_it_has_started() {
    let script = "sleep 600 & echo $!; wait";
    for (name, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        // Background processes of a shell without job control ignore interrupts, so this one has to
        // be killed at the end.
        let (mut child, temp) = start("exec-signal", &[], &["sh", "-c", script]);
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let sleeping = PathBuf::from(format!("/proc/{}", line.trim()));
        assert!(sleeping.exists());
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name} {messages}");
        assert!(messages.contains("simtlab: 0 launches"), "{name} {messages}");
        assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0, "{name}: the folder is left");
        // The process that inherits an ended one may need a moment to reap it.
        let state = || std::fs::read_to_string(sleeping.join("stat")).unwrap_or_default();
        let gone = |state: String| state.is_empty() || state.contains(") Z ");
        let waited = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            gone(state())
        });
        assert!(waited, "{name}: {} runs on", state());
    }
}

#[test]
fn freed_memory_is_told_with_the_calls() {
    let (output, messages) = exec(&[], &["freed"]);
    assert_eq!(output.status.code(), Some(3), "{messages}");
    assert!(messages.contains("[use-after-free]"), "{messages}");
    let history = "the memory was allocated by the 3rd call of cuMemAlloc (1000 bytes), freed by \
                   the 2nd call of cuMemFree\n";
    assert!(messages.contains(history), "{messages}");
}

#[test]
fn an_interrupted_launch_is_reported_with_its_place() {
    let client = client();
    for engine in ["fast", "exact"] {
        let options = ["--engine", engine, "--limit", "1000000000000000"];
        let command = [client.to_str().unwrap(), "spin"];
        let (child, _) = start(&format!("exec-spin-{engine}"), &options, &command);
        std::thread::sleep(Duration::from_millis(2500));
        signal(&child, "-TERM");
        let output = child.wait_with_output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(143), "{messages}");
        assert!(
            messages.contains("1 launch of 1 kernel, 0 faults, 0 hangs, 1 interrupted\n"),
            "{messages}"
        );
        assert!(messages.contains("  interrupted: `spin` has run for "), "{messages}");
        assert!(messages.contains("0 of 1 blocks have ended\n"), "{messages}");
        assert!(
            messages
                .contains("    block (0,0,0), warp 0, lanes {0-31}, threads (0,0,0) to (31,0,0)\n"),
            "{messages}"
        );
        assert!(messages.contains("      compiled from fill.cu:20\n"), "{engine}: {messages}");
    }
}

#[test]
fn other_reasons_are_not_blamed_on_a_static_runtime() {
    let ended = shell("exec-crash", "kill -SEGV $$", "");
    let messages = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(139), "{messages}");
    assert!(messages.contains("SIGSEGV (11) ended the program before it initialised the driver"));
    assert!(!messages.contains("static"), "{messages}");
    // The folder of this test has a driver library, but no runtime libraries.
    let messages = String::from_utf8(shell("exec-none", "true", "").stderr).unwrap();
    assert!(messages.contains("libcudart.so.12 and libcudart.so.13 are not in "), "{messages}");
    assert!(!messages.contains("static"), "{messages}");
    // With both of them present, only the program itself can be the reason.
    let folder = scratch("exec-libraries");
    std::fs::create_dir_all(&folder).unwrap();
    let test = std::env::current_exe().unwrap();
    std::fs::copy(test.parent().unwrap().join("libcuda.so"), folder.join("libcuda.so")).unwrap();
    for name in ["libcudart.so.12", "libcudart.so.13"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let simtlab = env!("CARGO_BIN_EXE_simtlab");
    let mut command = Command::new(simtlab);
    command.arg("exec").arg("--libraries").arg(&folder).args(["--", "true"]);
    let messages = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(messages.contains("carries NVIDIA's static CUDA runtime cannot"), "{messages}");
}

#[test]
fn other_drivers_are_never_taken() {
    let folder = scratch("exec-other");
    std::fs::create_dir_all(&folder).unwrap();
    // A library of another origin, and a file that is not a library.
    let ran = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtlab"));
        command.env("SIMTLAB_LIBRARIES", folder).args(["exec", "--libraries"]).arg(folder);
        command.args(["--", "true"]).output().unwrap()
    };
    let library = folder.join("libcuda.so");
    std::fs::copy(client(), &library).unwrap();
    for _ in 0..2 {
        let output = ran(&folder);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(
            messages.contains("libcuda.so is another driver, which is not taken"),
            "{messages}"
        );
        std::fs::write(&library, "no library").unwrap();
    }
}
