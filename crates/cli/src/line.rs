//! The command line as source text, so that diagnostics can refer to parts of it.
//!
//! The error in `--arg n=i32:1` is in three characters. To mark them with a caret, the words that a
//! command has parsed are written to one line of text, with a span for each.

use std::path::Path;

use isa::{FileId, SourceMap, Span};

/// A command line under construction.
pub(crate) struct Line {
    file: FileId,
    text: String,
}

impl Line {
    /// Starts with the command's name. `sources` must be empty when the line is entered: it is the
    /// first file.
    pub(crate) fn new(command: &str) -> Self {
        Self { file: FileId(0), text: format!("simtlab {command}") }
    }

    /// Appends a word; returns its span.
    pub(crate) fn word(&mut self, word: &str) -> Span {
        // Control characters include newlines, which would break the line.
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

    /// Appends an option with its value; returns the value's span.
    pub(crate) fn option(&mut self, name: &str, value: &str) -> Span {
        self.text.push_str(" --");
        self.text.push_str(name);
        self.word(value)
    }

    /// Appends a path; returns its span.
    pub(crate) fn path(&mut self, path: &Path) -> Span {
        self.word(&path.display().to_string())
    }

    /// Adds the line to the map as its first file.
    pub(crate) fn enter(self, sources: &mut SourceMap) {
        sources.add("command line", self.text);
    }
}
