//! The file-test runner: every case is a text file a person can read.
//!
//! A case is a program (or a launch file) with directives in its comments: how to run it, and what
//! should come of it. `docs/file-tests.md` documents the format. [`TestFile`] reads directives,
//! [`run`] runs a case under its matrix of mechanisms and warp sizes, [`bless`] rewrites what may
//! be rewritten: statistics and texts of errors, never values.
//!
//! Nothing here prints; the test harness shows the failures.

mod bless;
mod directive;
mod file;
mod runner;
mod schedules;
mod stages;

pub use bless::bless;
pub use directive::{Directive, directives};
pub use file::TestFile;
pub use runner::{Observed, run};

use std::path::{Path, PathBuf};

/// Runs a case and says what is wrong with it.
///
/// # Errors
/// A text for people: what was expected and what came.
pub fn check(path: &Path) -> Result<(), String> {
    let file = TestFile::read(path)?;
    let observed = run(&file)?;
    file.judge(&observed)
}

/// All cases below a folder: files with a known extension outside folders named `data`, sorted by
/// path.
///
/// # Errors
/// If a folder cannot be read.
pub fn cases(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "data") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| directive::marker(e).is_some()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
