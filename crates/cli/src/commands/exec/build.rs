//! The environment in which compilers and linkers build programs for the virtual device.
//!
//! `crates/cudart/link.sh` makes the folder `link` beside the libraries, with what linkers look
//! for, for each version of CUDA's runtime. Its places outlive a run: build systems remember
//! them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::search_path;
use super::setup::Libraries;

/// Versions of the runtime, the newest first.
const VERSIONS: [u32; 2] = [13, 12];

/// A header of the toolkit, and the constant in it that says the version.
const HEADER: (&str, &str) = ("include/cuda_runtime_api.h", "#define CUDART_VERSION");

/// Sets the variables that compilers and linkers read.
pub(super) fn environment(command: &mut Command, libraries: &Libraries, capability: Option<&str>) {
    let links = libraries.folder().join("link");
    let Some(version) = version(&links) else { return };
    let ours = links.join(version.to_string());
    let before = |name: &str| std::env::var_os(name);
    command.env("NVCC_PREPEND_FLAGS", nvcc_flags(&ours, before("NVCC_PREPEND_FLAGS")));
    // Compilers look for linkers in the first, and for libraries in the second after all folders of
    // the command line. CMake looks for libraries of targets such as CUDA::cudart in the third.
    for (name, folder) in [
        ("COMPILER_PATH", links.join("tools")),
        ("LIBRARY_PATH", ours.clone()),
        ("CMAKE_LIBRARY_PATH", ours),
        ("PKG_CONFIG_PATH", links.join("pkgconfig")),
    ] {
        if let Some(joined) = search_path(&folder, before(name)) {
            command.env(name, joined);
        }
    }
    command.env("SIMTLAB_LINK_VERSION", version.to_string());
    // Extensions of PyTorch, which asks the device otherwise and makes no PTX for it.
    if before("TORCH_CUDA_ARCH_LIST").is_none() {
        command.env("TORCH_CUDA_ARCH_LIST", format!("{}+PTX", capability.unwrap_or("8.0")));
    }
}

/// Returns the version of the toolkit whose `nvcc` a build would call, if there are libraries for
/// it; without `nvcc`, the newest there is.
fn version(links: &Path) -> Option<u32> {
    let made = |v: &u32| links.join(v.to_string()).is_dir();
    let wanted = toolkits().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join(HEADER.0)).ok()?;
        major(&text)
    });
    wanted.filter(made).or_else(|| VERSIONS.into_iter().find(made))
}

/// Iterates over the folders of toolkits, as build systems look for them.
pub(super) fn toolkits() -> impl Iterator<Item = PathBuf> {
    let above = |program: PathBuf| {
        let program = program.canonicalize().ok()?;
        Some(program.parent()?.parent()?.to_owned())
    };
    let compiler = std::env::var_os("CUDACXX").map(PathBuf::from).and_then(above);
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Vec<PathBuf> = std::env::split_paths(&path).map(|f| f.join("nvcc")).collect();
    let programs = found.into_iter().filter(|program| program.is_file());
    compiler.into_iter().chain(homes.map(PathBuf::from)).chain(programs.filter_map(above))
}

/// Returns the major version that a header of the runtime defines.
fn major(header: &str) -> Option<u32> {
    let line = header.lines().find_map(|line| line.strip_prefix(HEADER.1))?;
    Some(line.trim().parse::<u32>().ok()? / 1000)
}

/// Returns options for `nvcc`. They come before those of the command line, so that a runtime that
/// the command line names stays chosen.
fn nvcc_flags(ours: &Path, before: Option<OsString>) -> OsString {
    let mut flags = OsString::from("-cudart shared");
    // nvcc splits the variable at spaces.
    if !ours.to_string_lossy().contains(char::is_whitespace) {
        flags.push(" -L");
        flags.push(ours);
    }
    if let Some(before) = before.filter(|b| !b.is_empty()) {
        flags.push(OsStr::new(" "));
        flags.push(before);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_were_set_come_last() {
        let flags = |folder: &str, before: Option<&str>| {
            nvcc_flags(Path::new(folder), before.map(Into::into)).into_string()
        };
        assert_eq!(flags("/l/13", None).as_deref(), Ok("-cudart shared -L/l/13"));
        assert_eq!(flags("/l/13", Some("")).as_deref(), Ok("-cudart shared -L/l/13"));
        assert_eq!(flags("/l 13", Some("-O1")).as_deref(), Ok("-cudart shared -O1"));
    }

    #[test]
    fn headers_say_their_version() {
        assert_eq!(major("/* */\n#define CUDART_VERSION  13050\n"), Some(13));
        assert_eq!(major("#define CUDART_VERSION 12090"), Some(12));
        assert_eq!(major("#define CUDART_VERSION (x)"), None);
        assert_eq!(major(""), None);
    }
}
