//! The command line as a source text, so that findings can point into it.
//!
//! `--arg n=i32:1` is wrong in three of its characters; to show them with a caret, the words that a command understood are
//! written out again as one line of text, with the place of each.

use std::path::Path;

use isa::{FileId, SourceMap, Span};

/// A command line written out.
pub(crate) struct Line {
    file: FileId,
    text: String,
}

impl Line {
    /// Begins with the command's name. `sources` must be empty: the line is its first file.
    pub(crate) fn new(command: &str) -> Self {
        Self { file: FileId(0), text: format!("simtlab {command}") }
    }

    /// Adds a word; gives its place.
    pub(crate) fn word(&mut self, word: &str) -> Span {
        // Line ends would make it more than one line.
        let word: String =
            word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let plain = |c: char| c.is_alphanumeric() || "-_=:,./@%+".contains(c);
        let quoted = word.is_empty() || !word.chars().all(plain);
        self.text.push_str(if quoted { " '" } else { " " });
        let start = self.text.len() as u32;
        self.text.push_str(&word);
        let span = Span::new(self.file, start, self.text.len() as u32);
        if quoted {
            self.text.push('\'');
        }
        span
    }

    /// Adds an option with its value; gives the value's place.
    pub(crate) fn option(&mut self, name: &str, value: &str) -> Span {
        self.text.push_str(" --");
        self.text.push_str(name);
        self.word(value)
    }

    /// Adds a path.
    pub(crate) fn path(&mut self, path: &Path) -> Span {
        self.word(&path.display().to_string())
    }

    /// Enters the line into the map as its first file.
    pub(crate) fn enter(self, sources: &mut SourceMap) {
        sources.add("command line", self.text);
    }
}
