//! Recordings: what a run consists of, in one file. The command line, the files that it names with
//! what launch files name in turn, and, of launches that were in the debugger, where they stood
//! and what was changed. A page of `compare --html` contains the same.
//!
//! A recording may come from anybody. What is read is bounded, and refused with its place unless
//! all of it is right: its files lie below one folder, its command line has options that choose
//! what runs and nothing that is written, and its commands change launches and do nothing else.

mod read;

use std::collections::BTreeMap;
use std::path::Path;

use debug::{Change, LanePlace, LaunchRecord};
use serde_json::{Value, json};

/// The version of the format.
pub const VERSION: u64 = 1;
/// Most bytes of a recording.
pub const MOST: u64 = 1 << 30;
/// Most bytes of the files in one.
pub const MOST_INPUTS: u64 = MOST / 8;
/// Most words, files, launches, and changes of a launch.
pub const MOST_ITEMS: usize = 1 << 16;

/// What stands before a recording in a page.
const BEGIN: &str = "<script type=\"application/json\" id=\"recording\">";
const END: &str = "</script>";

/// The options that a recorded command line may have, each with a value.
pub const OPTIONS: [&str; 19] = [
    "--kernel",
    "--grid",
    "--block",
    "--shared",
    "--seed",
    "--limit",
    "--isa",
    "--tile-ops",
    "--conventions",
    "--table",
    "--limits-of",
    "--order",
    "--async",
    "--cluster",
    "--matrix-sums",
    "--mechanism",
    "--warp-size",
    "--option",
    "--arg",
];

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Words of the command line: the target, then options; `{{PATH}}` names a file of the
    /// recording.
    pub words: Vec<String>,
    /// Files by their paths, which are relative and have no `..`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Launches that were in the debugger.
    pub launches: Vec<LaunchRecord>,
}

/// Why a text is not a recording that can be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// Not JSON, or not of the format.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// JSON of something else.
    #[error("it is no recording: it has no `simtlab_recording`")]
    Other,
    /// A version that is not known.
    #[error("version {0} of recordings is not known; this version of Simtlab reads version 1")]
    Version(u64),
    /// A page without a recording.
    #[error("the page contains no recording")]
    Page,
    /// A file that would lie elsewhere.
    #[error("the file `{0}` lies outside of the recording")]
    Outside(String),
    /// A word of the command line that a recording does not have.
    #[error("word {index} of the command line, `{word}`, {why}")]
    Word {
        /// Its number, from 0.
        index: usize,
        /// The word.
        word: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A command that does something else than change the launch.
    #[error("change {change} of launch {launch}, `{command}`, {why}")]
    Change {
        /// The number of the launch, from 0.
        launch: usize,
        /// The number of the change, from 0.
        change: usize,
        /// The command.
        command: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Recording {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns what is wrong with it, and where.
    pub fn from_json(text: &str) -> Result<Self, RecordingError> {
        read::recording(text)
    }

    /// Reads a page with a recording in it.
    ///
    /// # Errors
    /// As [`Recording::from_json`]; lines count from the begin of the recording.
    pub fn from_page(page: &str) -> Result<Self, RecordingError> {
        let found = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        Self::from_json(found.ok_or(RecordingError::Page)?.0)
    }

    /// The text of a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let file = |bytes: &Vec<u8>| match std::str::from_utf8(bytes) {
            Ok(text) => json!({"text": text}),
            Err(_) => json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()}),
        };
        let lane = |at: LanePlace| json!([at.block, at.warp, at.lane]);
        let change = |change: &Change| {
            json!({
                "branch": change.branch,
                "position": change.position,
                "focus": lane(change.focus),
                "command": change.command,
            })
        };
        let launch = |launch: &LaunchRecord| {
            json!({
                "changes": launch.changes.iter().map(change).collect::<Vec<_>>(),
                "branch": launch.branch,
                "position": launch.position,
                "focus": lane(launch.focus),
                "digest": format!("{:016x}", launch.digest),
                "again": launch.again,
                "ended": launch.ended,
            })
        };
        let files: serde_json::Map<String, Value> =
            self.files.iter().map(|(name, bytes)| (name.clone(), file(bytes))).collect();
        let document = json!({
            "simtlab_recording": VERSION,
            "words": self.words,
            "files": files,
            "launches": self.launches.iter().map(launch).collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// A page with the recording in it.
    #[must_use]
    pub fn put_into(&self, page: &str) -> String {
        // No text of it ends the element.
        let text = self.to_json().replace('<', "\\u003c");
        match page.rfind("</body>") {
            Some(at) => format!("{}{BEGIN}{text}{END}\n{}", &page[..at], &page[at..]),
            None => page.to_owned(),
        }
    }

    /// Writes the files to a folder, and returns the words of the command line there.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn unpack(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        let word = |word: &String| {
            let named = |word: String, name: &String| {
                let path = folder.join(name);
                word.replace(&format!("{{{{{name}}}}}"), &path.to_string_lossy())
            };
            self.files.keys().fold(word.clone(), named)
        };
        Ok(self.words.iter().map(word).collect())
    }
}
