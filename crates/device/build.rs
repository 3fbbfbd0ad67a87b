//! Packs the bundled kernels for PTX into the library, so that a device machine needs the binary
//! alone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Folders below `kernels` that are searched.
const DEPTH: usize = 3;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut launch_files = Vec::new();
    find(&folder, DEPTH, &mut launch_files);
    launch_files.retain(|file| {
        std::fs::read_to_string(file).is_ok_and(|text| text.contains("machine = \"ptx\""))
    });
    let mut files = Vec::new();
    let mut folders: Vec<&Path> = launch_files.iter().filter_map(|file| file.parent()).collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let entries = std::fs::read_dir(folder).expect("a folder of kernels can be read");
        let paths = entries.map(|entry| entry.expect("an entry can be read").path());
        files.extend(paths.filter(|path| {
            path.extension().is_some_and(|e| e == "ptx" || e == "npy")
                || launch_files.contains(path)
        }));
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&folder).expect("files are below the folder");
        let names: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        let file = file.canonicalize().expect("the file is there");
        let _ = writeln!(text, "    ({:?}, include_bytes!({file:?})),", names.join("/"));
    }
    text += "]\n";
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("bundled.rs"), text).expect("the output can be written");
}

fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of kernels can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files);
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
}
