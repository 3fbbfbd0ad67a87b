//! What is told to a user about their input.
//!
//! Front ends collect [`Diagnostic`]s and go on; nothing here renders them. The command line, JSON
//! output and other edges turn the same data into their own form.

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Accepted, but probably not what was meant.
    Warning,
    /// Not accepted.
    Error,
}

/// A place and what to say at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is said at the caret; may be empty.
    pub text: String,
}

/// One finding: what is wrong, where, why, and a way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable short name, such as `ptx::unknown-opcode`.
    pub code: &'static str,
    /// One line: what is wrong.
    pub message: String,
    /// The place that the message is about.
    pub primary: Option<Label>,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Reasons.
    pub notes: Vec<String>,
    /// A way out.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding without a place.
    #[must_use]
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// An error.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Says where, and what to say there.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a reason.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Findings in the order in which they were made, with a cap so that no input can fill memory with
/// them.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

impl Diagnostics {
    /// More findings than this are counted, not kept.
    pub const CAP: usize = 1000;

    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        if self.list.len() < Self::CAP {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether any is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many are errors, those beyond the cap included.
    #[must_use]
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// How many were not kept.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Those that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts those that were kept in the order of the places they are about; those without a place
    /// come first.
    pub fn sort_by_place(&mut self) {
        self.list
            .sort_by_key(|d| d.primary.as_ref().map(|label| (label.span.file, label.span.start)));
    }

    /// Takes over all of `other`.
    pub fn append(&mut self, other: Self) {
        self.dropped += other.dropped;
        let kept_errors = other.list.iter().filter(|d| d.severity == Severity::Error).count();
        self.errors += other.errors - kept_errors;
        for d in other.list {
            self.push(d);
        }
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_counts_what_it_drops() {
        let mut all = Diagnostics::new();
        for _ in 0..Diagnostics::CAP + 3 {
            all.push(Diagnostic::error("t::t", "x"));
        }
        assert_eq!((all.iter().count(), all.dropped()), (Diagnostics::CAP, 3));
        let mut sum = Diagnostics::new();
        sum.append(all);
        assert_eq!(sum.error_count(), Diagnostics::CAP + 3);
    }
}
