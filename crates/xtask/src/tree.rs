//! Where things are in the repository, copying them, and comparing generated files with the
//! committed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    // crates/xtask, seen from the root; cargo sets the variable to the folder that this program is
    // built from.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// `path` as seen from the root, for messages.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The entries of a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = list().with_context(|| format!("cannot list {}", shown(folder)))?;
    paths.sort();
    Ok(paths)
}

/// The files of a folder whose names end in `.EXTENSION`, sorted.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|found| found == extension));
    Ok(paths)
}

/// The files that git tracks or would track, from the root.
pub(crate) fn sources() -> Result<Vec<String>> {
    let list = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("cannot run git")?;
    ensure!(list.status.success(), "git does not list the files of the repository");
    let list = String::from_utf8(list.stdout)?;
    Ok(list.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

/// The contents of the files that git tracks or would track, by path from the root.
pub(crate) fn contents() -> Result<BTreeMap<String, Vec<u8>>> {
    // A file that was removed, but not committed so, is none.
    let read = |path: String| fs::read(root().join(&path)).ok().map(|content| (path, content));
    Ok(sources()?.into_iter().filter_map(read).collect())
}

/// Writes a file, unless it has that content already.
pub(crate) fn put(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| path.display().to_string())
}

/// Makes a folder hold exactly these files; those that are there already keep their times.
pub(crate) fn mirror(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (path, content) in files {
        put(&folder.join(path), content)?;
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in entries(&next)? {
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !files.contains_key(&name) {
                fs::remove_file(&path).with_context(|| name)?;
            }
        }
    }
    Ok(())
}

/// An empty folder at `path`; what was there is gone.
pub(crate) fn fresh_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", shown(path)));
        }
        _ => {}
    }
    fs::create_dir_all(path).with_context(|| format!("cannot create {}", shown(path)))
}

/// How a committed file relates to the one just generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The bytes are the same.
    Same,
    /// It differs.
    Differs,
    /// Generated, but not there before.
    New,
    /// There, but nothing generates it any longer.
    Stale,
}

/// One generated or committed file and what became of it.
pub(crate) type Finding = (PathBuf, Change);

/// Compares the `.EXTENSION` files of `committed` with those of `generated`, and unless
/// `check_only` makes the former like the latter.
pub(crate) fn update(
    committed: &Path,
    generated: &Path,
    extension: &str,
    check_only: bool,
) -> Result<Vec<Finding>> {
    let name_of = |path: &PathBuf| path.file_name().map(PathBuf::from);
    let mut names: BTreeSet<PathBuf> =
        files(committed, extension)?.iter().filter_map(name_of).collect();
    names.extend(files(generated, extension)?.iter().filter_map(name_of));

    let mut findings = Vec::new();
    for name in names {
        let (old, new) = (committed.join(&name), generated.join(&name));
        let change = match (read(&old)?, read(&new)?) {
            (Some(before), Some(after)) if before == after => Change::Same,
            (Some(_), Some(_)) => Change::Differs,
            (None, _) => Change::New,
            (Some(_), None) => Change::Stale,
        };
        if !check_only {
            apply(change, &old, &new)?;
        }
        findings.push((old, change));
    }
    Ok(findings)
}

fn apply(change: Change, old: &Path, new: &Path) -> Result<()> {
    match change {
        Change::Same => Ok(()),
        Change::Differs | Change::New => {
            fs::copy(new, old).map(drop).with_context(|| format!("cannot write {}", shown(old)))
        }
        Change::Stale => {
            fs::remove_file(old).with_context(|| format!("cannot remove {}", shown(old)))
        }
    }
}

/// A file's bytes, or `None` where there is no such file.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", shown(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, fresh_folder, root, update};
    use std::fs;

    #[test]
    fn root_is_the_workspace() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains("[workspace]"));
    }

    #[test]
    fn update_finds_every_kind_of_change_and_settles_them() {
        let base = root().join("target").join("xtask-tests").join(std::process::id().to_string());
        let (old, new) = (base.join("old"), base.join("new"));
        fresh_folder(&old).expect("a folder");
        fresh_folder(&new).expect("a folder");
        for (folder, name, text) in [
            (&old, "differs.ptx", "1"),
            (&old, "other.txt", "kept"),
            (&old, "same.ptx", "1"),
            (&old, "stale.ptx", "1"),
            (&new, "differs.ptx", "2"),
            (&new, "new.ptx", "1"),
            (&new, "same.ptx", "1"),
        ] {
            fs::write(folder.join(name), text).expect("a file");
        }

        let expected = [
            (old.join("differs.ptx"), Change::Differs),
            (old.join("new.ptx"), Change::New),
            (old.join("same.ptx"), Change::Same),
            (old.join("stale.ptx"), Change::Stale),
        ];
        assert_eq!(update(&old, &new, "ptx", true).expect("a comparison"), expected);
        // Checking wrote nothing, so updating finds the same.
        assert_eq!(update(&old, &new, "ptx", false).expect("an update"), expected);
        let settled = update(&old, &new, "ptx", true).expect("a comparison");
        assert!(settled.iter().all(|(_, change)| *change == Change::Same), "{settled:?}");
        assert_eq!(settled.len(), 3);
        assert_eq!(fs::read_to_string(old.join("other.txt")).expect("a file"), "kept");
        fs::remove_dir_all(&base).expect("no test files left");
    }
}
