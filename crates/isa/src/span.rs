//! Places in source text.
//!
//! A [`Span`] is a byte range in one file of a [`SourceMap`]. Spans are small and `Copy`, so every
//! token, syntax node and instruction carries one; line and column are computed only when something
//! is shown.

use std::fmt;
use std::sync::Arc;

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A half-open byte range `start..end` of one file.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    #[must_use]
    pub const fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span that covers both (of the same file).
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span just after this one: where something missing should have been.
    #[must_use]
    pub const fn after(self) -> Self {
        Self { file: self.file, start: self.end, end: self.end }
    }

    /// The byte range, for slicing.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}..{}", self.file.0, self.start, self.end)
    }
}

/// A position for people: both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineCol {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A file's name and text, with its line starts.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
}

impl SourceFile {
    /// A file of `text` shown under `name`.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self::of(name.into(), text.into())
    }

    /// The same, compiled here once: callers may be crates that are not optimised.
    fn of(name: Arc<str>, text: Arc<str>) -> Self {
        let bytes = text.as_bytes();
        let lines = bytes.iter().filter(|&&b| b == b'\n').count();
        let mut starts = Vec::with_capacity(lines + 1);
        starts.push(0);
        starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        Self { name, text, line_starts: starts.into() }
    }

    /// The name it is shown under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset; offsets past the end count as the end.
    #[must_use]
    pub fn line_col(&self, offset: u32) -> LineCol {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&s| s as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        let column = self.text.get(start..offset).map_or(offset - start, |s| s.chars().count());
        LineCol { line: line as u32, column: column as u32 + 1 }
    }
}

/// All files of one run, by [`FileId`].
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile::new(name, text));
        id
    }

    /// The file of an id, if the map has it.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// `name:line:column` of a span's start.
    #[must_use]
    pub fn describe(&self, span: Span) -> String {
        match self.get(span.file) {
            Some(file) => {
                let at = file.line_col(span.start);
                format!("{}:{}:{}", file.name(), at.line, at.column)
            }
            None => "<unknown>".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_column_count_characters_from_one() {
        let file = SourceFile::new("t", "ab\nüx\n");
        assert_eq!(file.line_col(0), LineCol { line: 1, column: 1 });
        assert_eq!(file.line_col(3), LineCol { line: 2, column: 1 });
        assert_eq!(file.line_col(5), LineCol { line: 2, column: 2 });
        assert_eq!(file.line_col(99), LineCol { line: 3, column: 1 });
    }

    #[test]
    fn spans_join_and_point_after() {
        let a = Span::new(FileId(0), 2, 4);
        let b = Span::new(FileId(0), 7, 9);
        assert_eq!(a.to(b).range(), 2..9);
        assert_eq!(b.after().range(), 9..9);
    }
}
