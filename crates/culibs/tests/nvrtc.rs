//! The library in front of NVRTC, before a stand-in for NVIDIA's.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libnvrtc.so.13";

/// The folders of a test: `ours` with our library, `real` with the stand-in, and a program that is
/// linked with ours, with options.
struct Built {
    ours: PathBuf,
    real: PathBuf,
    program: PathBuf,
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn run(command: &mut Command) {
    let output = command.output().expect("a compiler and a shell: cargo needs the former, too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn build(test: &str, options: &[&OsStr]) -> Built {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let [ours, real] = ["ours", "real"].map(|name| folder.join(name));
    for made in [&ours, &real] {
        std::fs::create_dir_all(made).unwrap();
    }
    run(Command::new("bash").arg(source("link.sh")).arg(&ours));
    let compiler = || {
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]);
        compiler
    };
    run(compiler()
        .args(["-shared", "-fPIC", "-Wl,-soname,libnvrtc.so.13"])
        .arg(source("tests/stand_in.c"))
        .arg("-o")
        .arg(real.join(LIBRARY)));
    let program = folder.join("program");
    run(compiler()
        .arg(source("tests/nvrtc.c"))
        .arg(ours.join(LIBRARY))
        .args(options)
        .arg("-o")
        .arg(&program));
    Built { ours, real, program }
}

impl Built {
    /// Runs the program; returns its exit code and what it says on the standard error stream.
    fn run(&self, argument: Option<&str>, variables: &[(&str, &OsStr)]) -> (Option<i32>, String) {
        let mut command = Command::new(&self.program);
        for name in ["SIMTLAB_NVRTC", "CUDA_HOME", "CUDA_PATH"] {
            command.env_remove(name);
        }
        let output = command
            .args(argument)
            .env("LD_LIBRARY_PATH", &self.ours)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn machine_code_is_ptx_wherever_the_real_library_is() {
    let built = build("nvrtc-places", &[]);
    let done = (Some(0), String::new());
    let both = std::env::join_paths([&built.ours, &built.real]).unwrap();
    assert_eq!(built.run(None, &[("LD_LIBRARY_PATH", &both)]), done);
    let file = built.real.join(LIBRARY);
    assert_eq!(built.run(None, &[("SIMTLAB_NVRTC", file.as_ref())]), done);
    let home = built.real.parent().unwrap().join("home");
    std::fs::create_dir_all(home.join("lib64")).unwrap();
    std::fs::copy(&file, home.join("lib64").join(LIBRARY)).unwrap();
    assert_eq!(built.run(None, &[("CUDA_HOME", home.as_ref())]), done);
}

#[test]
fn the_program_names_its_folder_of_libraries() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nvrtc-runpath/real");
    let mut option = std::ffi::OsString::from("-Wl,-rpath,");
    option.push(&folder);
    let built = build("nvrtc-runpath", &["-Wl,--enable-new-dtags".as_ref(), &option]);
    assert_eq!(built.run(None, &[]), (Some(0), String::new()));
}

#[test]
fn without_the_real_library_every_call_is_an_error_that_is_told_once() {
    let built = build("nvrtc-missing", &[]);
    let ours = built.ours.join(LIBRARY);
    for variables in [&[][..], &[("SIMTLAB_NVRTC", ours.as_ref())][..]] {
        let (code, said) = built.run(Some("without"), variables);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("SIMTLAB_NVRTC"), "{said}");
    }
}
