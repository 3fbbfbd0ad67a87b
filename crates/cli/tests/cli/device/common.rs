//! What the tests share: the failing driver, commands, kernels.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Builds the failing driver, linked with this project's library, which cargo puts into the test's
/// folder.
pub(crate) fn driver() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = scratch(&format!("device-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ours = std::env::current_exe().unwrap().parent().unwrap().join("libcuda.so");
        let _ = std::fs::remove_file(folder.join("libcuda.so.1"));
        std::os::unix::fs::symlink(ours, folder.join("libcuda.so.1")).unwrap();
        let library = folder.join("libdriver.so");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
            .arg(format!("-Wl,--no-as-needed,-rpath,{}", folder.display()))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/device/driver.c"))
            .arg(folder.join("libcuda.so.1"))
            .arg("-o")
            .arg(&library)
            .arg("-ldl");
        let end = cc.output().expect("a C compiler: cargo needs one for linking, too");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        library
    })
}

pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

pub(crate) fn output_of(output: &Output) -> CommandOutput {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    CommandOutput { code: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// Runs `simtlab device COMMAND WORDS` with a simulated device and a fault of the driver.
pub(crate) fn device(fault: &str, command: &str, words: &[&str]) -> CommandOutput {
    device_with(&[("SIMTLAB_TEST_DRIVER", fault)], command, words)
}

pub(crate) fn device_with(
    variables: &[(&str, &str)],
    command: &str,
    words: &[&str],
) -> CommandOutput {
    output_of(&device_command(variables, command, words).output().unwrap())
}

pub(crate) fn device_command(variables: &[(&str, &str)], command: &str, words: &[&str]) -> Command {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    simtlab.args(["device", command, "--allow-simulated", "--library"]).arg(driver()).args(words);
    simtlab.envs(variables.iter().copied());
    simtlab
}

/// Writes folders of kernels for the suite of kernels: names and bodies.
pub(crate) fn kernels(name: &str, bodies: &[(&str, &str)]) -> String {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    for (kernel_name, body) in bodies {
        let from = PathBuf::from(kernel(&format!("{name}-{kernel_name}"), body));
        let to = folder.join(kernel_name);
        std::fs::create_dir_all(&to).unwrap();
        for file in ["k.ptx", "launch.toml"] {
            std::fs::copy(from.join(file), to.join(file)).unwrap();
        }
    }
    folder.to_str().unwrap().to_owned()
}

/// Writes a program and its launch file to a folder; returns the folder's path.
pub(crate) fn kernel(name: &str, body: &str) -> String {
    let folder = scratch(&format!("device-kernel-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let program = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
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

pub(crate) const SINES: &str =
    "cvt.rn.f32.u32 %f, %t;\nsin.approx.f32 %f, %f;\nst.global.f32 [%a], %f;";

/// Returns an empty folder for results.
pub(crate) fn folder(name: &str) -> String {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.to_str().unwrap().to_owned()
}

pub(crate) fn report(folder: &str) -> CommandOutput {
    let mut simtlab = Command::new(env!("CARGO_BIN_EXE_simtlab"));
    output_of(&simtlab.args(["device", "report", folder]).output().unwrap())
}
