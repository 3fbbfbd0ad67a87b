//! A C program that links and compiles device code, loads it and runs it: `tests/link.c`; before a
//! stand-in for NVIDIA's library (`tests/stand_in.c`), and without one.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda as _;

/// The file that cargo has put beside the test last, for a library: its name has a hash.
fn beside(test: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let files = std::fs::read_dir(test).unwrap().map(|entry| entry.unwrap().path());
    let found = files.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(prefix) && name.ends_with(suffix)
    });
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Makes the shared libraries in a folder of this test's own.
fn libraries() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let deps = exe.parent().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nvjitlink");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(deps.join("libcuda.so"), folder.join("libcuda.so.1")).unwrap();
    std::fs::copy(beside(deps, "libnvjitlink-", ".a"), folder.join("libnvjitlink.a")).unwrap();
    run(Command::new("bash").arg(source("../culibs/link.sh")).arg(&folder));
    folder
}

#[test]
fn a_program_runs_what_it_has_linked() {
    let folder = libraries();
    for version in [12, 13] {
        let name = format!("libnvJitLink.so.{version}");
        let real = folder.join(format!("real{version}"));
        std::fs::create_dir_all(&real).unwrap();
        run(Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Werror", "-shared", "-fPIC"])
            .arg(format!("-Wl,-soname,{name}"))
            .arg(source("tests/stand_in.c"))
            .arg("-o")
            .arg(real.join(&name)));
        let program = folder.join(format!("link{version}"));
        let archive = folder.join(format!("link/{version}/libnvptxcompiler_static.a"));
        // On other machines the archive is not made.
        let compiler = if archive.exists() {
            archive
        } else {
            folder.join(format!("libnvptxcompiler.so.{version}"))
        };
        run(Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Werror"])
            .arg(format!("-DNAMED(name)=__nvJitLink##name##_{version}_1"))
            .arg(format!("-DMAJOR={version}"))
            .arg("-o")
            .arg(&program)
            .arg(source("tests/link.c"))
            .arg(folder.join(&name))
            .arg(compiler)
            .arg(folder.join("libcuda.so.1"))
            .arg("-ldl")
            .arg(format!("-Wl,-rpath,{}", folder.display())));
        // cargo's own path has libraries of other builds.
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", &folder).env_remove("SIMTLAB_NVJITLINK");
        command.env_remove("CUDA_HOME").env_remove("CUDA_PATH");
        command.env_remove("SIMTLAB_NVIDIA_LIBRARIES");
        assert_eq!(run(command.arg("without")), "all checks passed\n");
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", &folder).env_remove("SIMTLAB_NVJITLINK");
        command.env("SIMTLAB_NVIDIA_LIBRARIES", format!("/nonexistent:{}", real.display()));
        assert_eq!(run(command.arg("with")), "all checks passed\n");
    }
}
