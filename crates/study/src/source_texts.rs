//! Texts of source files that line tables name.
//!
//! A file is looked up in the folder of the program by the last component of its name alone: line
//! tables are untrusted, and must not choose which files are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inputs::file::read_input;
use lab::run::Job;

/// Size limit of source files in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Most files that are read.
const MAX_FILES: usize = 64;

/// Source files beside a program, each read once.
#[derive(Debug)]
pub(crate) struct SourceTexts {
    program: PathBuf,
    files: BTreeMap<String, Option<String>>,
}

/// Returns the last component of a file's name, in either convention; what reports show.
#[must_use]
pub(crate) fn last_component(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Reads a text file; `None` if it is too large or not text.
pub(crate) fn read_text(path: &Path, limit: u64) -> Option<String> {
    let bytes = read_input(path, limit, None).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

impl SourceTexts {
    /// Looks for files beside the program of a job.
    pub(crate) fn of(job: &Job) -> Self {
        Self { program: job.module_path().to_owned(), files: BTreeMap::new() }
    }

    /// Returns the text of a file.
    pub(crate) fn file(&mut self, name: &str) -> Option<&str> {
        if !self.files.contains_key(name) {
            let last = last_component(name);
            let usable = !matches!(last, "" | "." | "..") && self.files.len() < MAX_FILES;
            let beside = self.program.with_file_name(last);
            let text = usable.then(|| read_text(&beside, MAX_BYTES)).flatten();
            self.files.insert(name.to_owned(), text);
        }
        self.files.get(name)?.as_deref()
    }

    /// Returns a line of a file, from 1.
    pub(crate) fn line(&mut self, name: &str, line: u32) -> Option<&str> {
        self.file(name)?.lines().nth((line as usize).checked_sub(1)?)
    }
}
