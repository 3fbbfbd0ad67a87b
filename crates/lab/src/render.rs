//! Diagnostics as text in the style of rustc: the place, a caret, the reason, a remedy.
//!
//! The layout is that of the `annotate-snippets` crate. Plain text is the same on every host, which
//! tests of exact texts rely on; colour only adds escape sequences. Control characters of the input
//! never reach a terminal.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use isa::{Diagnostic, Diagnostics, Label, Severity, SourceFile, SourceMap};

/// Whether the text contains escape sequences for colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Without escape sequences.
    #[default]
    Plain,
    /// With escape sequences, for a terminal.
    Colour,
}

/// Most bytes of source text shown for one diagnostic.
const MAX_WINDOW: usize = 16 << 10;

/// Most bytes of a source line that is shown.
const MAX_LINE: usize = 4 << 10;

/// Width in columns at which source lines are cut.
const WIDTH: usize = 100;

/// Renders a diagnostic, with a final newline.
#[must_use]
pub fn render(finding: &Diagnostic, sources: &SourceMap, paint: Paint) -> String {
    let renderer = match paint {
        Paint::Plain => Renderer::plain(),
        Paint::Colour => Renderer::styled(),
    };
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = clean(&finding.message);
    let title = level.primary_title(message.as_str()).id(finding.code);
    let mut group = Group::with_title(title);
    for element in places(finding, sources) {
        group = group.element(element);
    }
    for note in &finding.notes {
        group = group.element(Level::NOTE.message(clean(note)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(clean(help)));
    }
    let mut text = renderer.term_width(WIDTH).render(&[group]);
    text.push('\n');
    text
}

/// Renders all diagnostics, separated by blank lines, and the number of those that were dropped.
#[must_use]
pub fn render_all(findings: &Diagnostics, sources: &SourceMap, paint: Paint) -> String {
    let mut text =
        findings.iter().map(|d| render(d, sources, paint)).collect::<Vec<_>>().join("\n");
    if findings.dropped() > 0 {
        text.push_str(&format!("\nand {} more findings\n", findings.dropped()));
    }
    text
}

/// Replaces control characters other than newlines.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// The labels in a file, with the byte range of the text that they need.
struct Window<'a> {
    file: &'a SourceFile,
    labels: Vec<(&'a Label, AnnotationKind)>,
    start: usize,
    end: usize,
}

/// Returns the snippets of all files that the diagnostic refers to, that of the primary label
/// first.
fn places<'a>(finding: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Element<'a>> {
    let primary = finding.primary.iter().map(|l| (l, AnnotationKind::Primary));
    let secondary = finding.secondary.iter().map(|l| (l, AnnotationKind::Context));
    let mut windows: Vec<(u32, Window<'a>)> = Vec::new();
    let mut elements = Vec::new();
    for (label, kind) in primary.chain(secondary) {
        let Some(file) = sources.get(label.span.file) else { continue };
        let (start, end) = lines_around(file.text(), label);
        let id = label.span.file.0;
        let Some((_, window)) = windows.iter_mut().find(|(file, _)| *file == id) else {
            windows.push((id, Window { file, labels: vec![(label, kind)], start, end }));
            continue;
        };
        let (from, to) = (window.start.min(start), window.end.max(end));
        if to - from <= MAX_WINDOW {
            (window.start, window.end) = (from, to);
            window.labels.push((label, kind));
        } else {
            // Too far from the others for one snippet, so the place becomes a note.
            let at = file.line_col(label.span.start);
            let text = format!("{} ({}:{}:{})", label.text, file.name(), at.line, at.column);
            elements.push(Element::from(Level::NOTE.message(clean(&text))));
        }
    }
    let snippets = windows.into_iter().map(|(_, window)| window.into_element());
    snippets.chain(elements).collect()
}

/// Returns the byte range of the lines that a label touches. The range is bounded, but exceeds
/// [`MAX_WINDOW`] if the lines do.
fn lines_around(text: &str, label: &Label) -> (usize, usize) {
    let range = clamped(text, label);
    let first = floor(text, range.start.saturating_sub(MAX_WINDOW + 1));
    let last = floor(text, range.end.saturating_add(MAX_WINDOW + 4).min(text.len()));
    let start = text[first..range.start].rfind('\n').map_or(first, |at| first + at + 1);
    let end = text[range.end..last].find('\n').map_or(last, |at| range.end + at);
    (start, end)
}

/// Returns the start of the character that contains byte `at`.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the label's byte range, limited to the text and rounded to whole characters.
fn clamped(text: &str, label: &Label) -> std::ops::Range<usize> {
    let range = label.span.range();
    let start = floor(text, range.start);
    start..floor(text, range.end).max(start)
}

impl<'a> Window<'a> {
    fn into_element(self) -> Element<'a> {
        let name = clean(self.file.name());
        let text = &self.file.text()[self.start..self.end];
        let shown = text.len() <= MAX_WINDOW && text.lines().all(|line| line.len() <= MAX_LINE);
        if !shown {
            let first = self.labels.first().map_or(0, |(label, _)| label.span.start);
            let at = self.file.line_col(first);
            let origin = Origin::path(name).line(at.line as usize).char_column(at.column as usize);
            return Element::from(origin);
        }
        let line = self.file.line_col(self.start as u32).line as usize;
        // The renderer shows C0 controls as symbols but passes C1 controls through. The replacement
        // has the same length in UTF-8, so the labels stay in place.
        let text = text.replace(|c: char| ('\u{80}'..'\u{a0}').contains(&c), "\u{bf}");
        let mut snippet = Snippet::source(text).path(name).line_start(line);
        for (label, kind) in &self.labels {
            let range = clamped(self.file.text(), label);
            let span = range.start - self.start..range.end - self.start;
            let annotation = kind.span(span);
            snippet = snippet.annotation(if label.text.is_empty() {
                annotation
            } else {
                annotation.label(clean(&label.text))
            });
        }
        Element::from(snippet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::{FileId, Span};
    use proptest::prelude::*;

    fn one(text: &str, finding: &Diagnostic) -> String {
        let mut sources = SourceMap::new();
        sources.add("k.ptx", text);
        render(finding, &sources, Paint::Plain)
    }

    fn span(start: u32, end: u32) -> Span {
        Span::new(FileId(0), start, end)
    }

    #[test]
    fn findings_show_place_reason_and_help() {
        let text = "one\n  add.s33 %r1, %r2;\nthree\n";
        let finding = Diagnostic::error("ptx::type", "`.s33` is not a type")
            .at(span(10, 13), "unknown type")
            .also(span(0, 3), "because of this")
            .note("types of `add` are listed in the table")
            .help("did you mean `.s32`?");
        assert_eq!(
            one(text, &finding),
            "\
error[ptx::type]: `.s33` is not a type
 --> k.ptx:2:7
  |
1 | one
  | --- because of this
2 |   add.s33 %r1, %r2;
  |       ^^^ unknown type
  |
  = note: types of `add` are listed in the table
  = help: did you mean `.s32`?
"
        );
    }

    #[test]
    fn findings_without_a_place_are_rendered() {
        let finding = Diagnostic::warning("cli::x", "nothing was run").help("name a kernel");
        assert_eq!(
            one("", &finding),
            "warning[cli::x]: nothing was run\n |\n = help: name a kernel\n"
        );
        assert_eq!(one("", &Diagnostic::error("cli::x", "no")), "error[cli::x]: no\n");
    }

    #[test]
    fn far_places_and_long_lines_stay_short() {
        let text = format!("a\n{}b\n", "x\n".repeat(20_000));
        let finding = Diagnostic::error("t::t", "twice")
            .at(span(40_002, 40_003), "again")
            .also(span(0, 1), "first");
        let shown = one(&text, &finding);
        assert!(shown.contains("k.ptx:20002:1") && shown.contains("first (k.ptx:1:1)"), "{shown}");
        let long = "y".repeat(1 << 20);
        let shown = one(&long, &Diagnostic::error("t::t", "long").at(span(77, 78), ""));
        assert!(shown.len() < 200 && shown.contains("k.ptx:1:78"), "{shown}");
    }

    #[test]
    fn no_control_character_gets_through() {
        let text = "a\u{1b}[31mb\u{7}\r\u{9b}c\u{202e}d\n";
        let finding = Diagnostic::error("t::t", "bad \u{1b}[0m text")
            .at(span(0, 1), "he\u{1b}re")
            .help("\u{7}");
        let shown = one(text, &finding);
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    }

    proptest! {
        #[test]
        fn no_span_panics(text in ".{0,40}\n?.{0,40}", a in 0_u32..200, b in 0_u32..200) {
            let finding = Diagnostic::error("t::t", "m").at(span(a.min(b), a.max(b)), "l").also(span(b, a), "");
            let _ = one(&text, &finding);
        }
    }
}
