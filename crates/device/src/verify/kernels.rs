//! The suite of bundled kernels: all launch files for PTX under a folder. The repository's kernels
//! are part of the program; they are written to the folder of results.

use std::path::{Path, PathBuf};

use ir::device::Capability;
use isa::FileId;

use super::{Case, Kind, Suite, VerifyError, at};
use crate::record::Identity;

/// Words of instructions whose results no document fixes to the bit, or whose behaviour was taken
/// from texts: with how much a kernel is worth that has them.
const DOUBTFUL: [(&str, u32); 14] = [
    ("mma.sync", 40),
    ("wmma.mma", 40),
    (".approx", 30),
    ("tanh", 30),
    ("activemask", 25),
    ("match.", 20),
    ("redux.", 15),
    ("vote.", 10),
    ("shfl.", 10),
    ("atom.", 8),
    ("red.", 8),
    ("f16", 8),
    ("bar.", 5),
    (".cc", 5),
];

/// Folders below the given one that are searched.
const DEPTH: usize = 3;

/// The files of the bundled kernels: their path below `kernels`, and their content.
const BUNDLED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The kernels below a folder; the bundled ones, written below the folder of results, if none is
/// given. Kernels for newer devices are not run.
pub(super) fn cases(
    out: &Path,
    folder: Option<&Path>,
    device: &Identity,
) -> Result<Vec<Case>, VerifyError> {
    match folder {
        Some(folder) => found(folder, device),
        None => found(&unpacked(out)?, device),
    }
}

/// Writes the bundled kernels where they are missing.
fn unpacked(out: &Path) -> Result<PathBuf, VerifyError> {
    let folder = out.join("cases").join("kernels");
    for (name, content) in BUNDLED {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        let below = path.parent().unwrap_or(&folder);
        std::fs::create_dir_all(below).map_err(at(below))?;
        std::fs::write(&path, content).map_err(at(&path))?;
    }
    Ok(folder)
}

fn found(folder: &Path, device: &Identity) -> Result<Vec<Case>, VerifyError> {
    let mut files = Vec::new();
    find(folder, DEPTH, &mut files)?;
    files.sort();
    Ok(files.iter().filter_map(|file| case(folder, file, device)).collect())
}

fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), VerifyError> {
    for entry in std::fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

/// The case of a launch file; none if it is for another machine.
fn case(folder: &Path, file: &Path, device: &Identity) -> Option<Case> {
    let text = std::fs::read_to_string(file).ok()?;
    let quoted = |key: &str| {
        let line = text.lines().find(|line| line.split('=').next().unwrap_or("").trim() == key)?;
        line.split('"').nth(1)
    };
    if quoted("machine") != Some("ptx") {
        return None;
    }
    let program = std::fs::read_to_string(file.parent()?.join(quoted("module")?)).ok()?;
    let worth = DOUBTFUL.iter().filter(|(word, _)| program.contains(word)).map(|(_, worth)| worth);
    let name = file.strip_prefix(folder).ok()?.with_extension("");
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    let name = format!("kernels-{}", parts.join("-"));
    let value = 1 + worth.sum::<u32>();
    let [major, minor] = device.capability.map(i32::unsigned_abs);
    let own = Capability { major, minor };
    let needed = ptx::target(&ptx::parse(FileId(0), &program).0);
    if let Some(needed) = needed.filter(|&needed| needed > own) {
        let why = format!(
            "the program is for devices of compute capability {needed}, this one has {own}"
        );
        return Some(Case::skipped(Suite::Kernels, &name, value, why));
    }
    Some(Case {
        name,
        suite: Suite::Kernels,
        kind: Kind::Compared,
        value,
        launch_file: file.to_owned(),
        labels: Vec::new(),
        parts: Vec::new(),
    })
}
