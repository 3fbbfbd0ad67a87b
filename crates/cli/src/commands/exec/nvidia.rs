//! NVIDIA's libraries as programs would find them. Programs take the presence of nvJitLink for that
//! of its compiler for LTO-IR, which is NVIDIA's: ours is shown where NVIDIA's is.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::{Object as _, ObjectSection as _, ReadCache};

use super::{build, finished};

/// A variable that names NVIDIA's file, and one with folders of NVIDIA's libraries.
const FILE: &str = "SIMTLAB_NVJITLINK";
const FOLDERS: &str = "SIMTLAB_NVIDIA_LIBRARIES";

/// Where toolkits have libraries, and where the loader looks by itself.
const OF_TOOLKITS: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];
const DEFAULT: [&str; 6] = [
    "/usr/local/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

/// Returns whether a program would find NVIDIA's library of a name, or cannot start without it.
pub(super) fn is_expected(name: &str, program: &Path) -> bool {
    std::env::var_os(FILE).is_some_and(|file| !file.is_empty())
        || folders().any(|folder| folder.join(name).exists())
        || needs(name, program)
}

fn folders() -> impl Iterator<Item = PathBuf> {
    let listed = ["LD_LIBRARY_PATH", FOLDERS].into_iter().filter_map(std::env::var_os);
    let listed = listed.flat_map(|list| split(&list));
    let toolkits = build::toolkits().flat_map(|home| OF_TOOLKITS.map(|below| home.join(below)));
    listed.chain(toolkits).chain(DEFAULT.map(PathBuf::from))
}

fn split(list: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(list).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// Returns whether a program names a library among its dynamic strings.
fn needs(name: &str, program: &Path) -> bool {
    let Some(path) = finished::find(program) else { return false };
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return false };
    let Some(section) = object.section_by_name(".dynstr") else { return false };
    let wanted = [name.as_bytes(), b"\0"].concat();
    section.data().is_ok_and(|strings| strings.windows(wanted.len()).any(|w| w == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_need_a_library_are_known() {
        let this = std::env::current_exe().unwrap();
        assert!(!needs("libnvJitLink.so.13", &this));
        #[cfg(target_os = "linux")]
        assert!(needs("libc.so.6", &this));
        assert!(!needs("libc.so.6", Path::new("/nonexistent")));
        assert!(!needs("libc.so.6", Path::new(env!("CARGO_MANIFEST_DIR"))));
    }
}
