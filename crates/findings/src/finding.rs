//! Findings: what is wrong, where, for whom, why, and what to do.

use std::borrow::Cow;
use std::sync::Arc;

use isa::Span;
use places::{Site, Source};
use simt::observe::{AccessKind, Space};

use crate::kind::Kind;

/// An instruction of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// Its text.
    pub text: Arc<str>,
    /// Its line in the program's text, from 1.
    pub line: Option<u32>,
    /// Its span in the program's text.
    pub span: Option<Span>,
    /// The source line behind it, with the calls through which it was inlined.
    pub source: Option<Source>,
}

impl Location {
    /// Returns the place as `line 12`, or as the source line if there is one.
    #[must_use]
    pub fn describe(&self) -> String {
        match (&self.source, self.line) {
            (Some(source), _) => source.to_string(),
            (None, Some(line)) => format!("line {line}"),
            (None, None) => "an unknown line".to_owned(),
        }
    }

    /// Returns the file and the line that users edit: those of the source, or else of the program.
    #[must_use]
    pub fn file_line<'a>(&'a self, program: &'a str) -> (&'a str, Option<u32>) {
        match &self.source {
            Some(source) => (&source.file, Some(source.line)),
            None => (program, self.line),
        }
    }
}

/// An access that takes part in a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessRecord {
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// The space of the bytes.
    pub space: Space,
    /// Address of the first byte: a guest address, or an offset in shared memory.
    pub address: u64,
    /// What it read or wrote, up to 8 bytes, if that is known.
    pub value: Option<u64>,
    /// The thread.
    pub site: Site,
    /// The instruction.
    pub location: Location,
}

impl AccessRecord {
    /// Returns `read`, `write` or `atomic`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.kind {
            AccessKind::Load => "read",
            AccessKind::Store => "write",
            AccessKind::Atomic => "atomic",
        }
    }

    /// Returns `shared`, `local`, or `global` for all other memory.
    #[must_use]
    pub const fn space_name(&self) -> &'static str {
        match self.space {
            Space::Shared => "shared",
            Space::Local => "local",
            _ => "global",
        }
    }
}

/// A defect of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// The code of a fault or hang; empty for other kinds.
    pub code: Cow<'static, str>,
    /// The kernel's name.
    pub kernel: String,
    /// The launch in which it was found first, counted from 0, if launches are counted.
    pub launch: Option<usize>,
    /// What is wrong here, in one line.
    pub message: String,
    /// The place where it shows.
    pub location: Location,
    /// The threads that it shows for.
    pub site: Option<Site>,
    /// The accesses that take part, the one at `location` first.
    pub accesses: Vec<AccessRecord>,
    /// Another place that takes part, and what happens there.
    pub related: Option<(Location, String)>,
    /// Reasons, each one sentence or two.
    pub causes: Vec<String>,
    /// What to do.
    pub cure: String,
    /// How often it was found.
    pub count: u64,
}

/// What identifies a finding: its kind; its kernel and code; its places.
type Key<'a> = (Kind, [&'a str; 3], [Option<Span>; 2], [u32; 2]);

impl Finding {
    /// Returns whether another finding is the same: of the same kind, at the same places.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Returns the places that identify it: another finding of its kind at these is the same.
    pub(crate) fn key(&self) -> Key<'_> {
        let other = self.accesses.get(1).map(|access| &access.location);
        let other = other.or(self.related.as_ref().map(|(location, _)| location));
        let spans = [self.location.span, other.and_then(|location| location.span)];
        let lines = [self.location.line, other.and_then(|location| location.line)];
        // What has no place is told apart by what it says.
        let text = if self.location.line.is_none() { &*self.message } else { "" };
        (self.kind, [&self.kernel, &self.code, text], spans, lines.map(Option::unwrap_or_default))
    }
}
