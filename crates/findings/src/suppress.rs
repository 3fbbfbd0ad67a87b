//! Suppressions: findings that a user has accepted.
//!
//! A line of the file is a kind (or `*`) and conditions, all of which have to hold. `#` begins a
//! comment.
//!
//! ```text
//! race-in-warp  kernel=reduce  at=reduce.cu:31    # volatile exchange of the old kind
//! race-in-block at="with space.cu"
//! *             kernel=legacy*
//! ```

use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, FileId, Severity, Span};

use crate::finding::{Finding, Location};
use crate::kind::{Check, Kind};

/// Most lines with a suppression.
const MOST: usize = 10_000;

/// One suppression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The kind; `None` for all.
    pub kind: Option<Kind>,
    /// The kernel's name; a `*` at the end stands for any rest.
    pub kernel: Option<String>,
    /// File and line of one of the finding's places.
    pub at: Option<(String, Option<u32>)>,
    /// The line in the file.
    pub span: Span,
}

/// A list of suppressions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Parses a file.
    ///
    /// # Errors
    /// Returns a diagnostic for each line that is malformed.
    pub fn parse(file: FileId, text: &str) -> Result<Self, Diagnostics> {
        let mut found = Diagnostics::new();
        let mut all = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.split('#').next().unwrap_or_default();
            match parse_line(file, start, content) {
                Ok(Some(suppression)) if all.len() < MOST => all.push(suppression),
                Ok(Some(suppression)) => {
                    let message = format!("more than {MOST} suppressions");
                    let found_here = Diagnostic::error("suppressions::too-many", message);
                    found.push(found_here.at(suppression.span, "the first that is too many"));
                    break;
                }
                Ok(None) => {}
                Err(finding) => found.push(finding),
            }
            start += line.len();
        }
        if found.has_errors() { Err(found) } else { Ok(Self(all)) }
    }

    /// Returns the index of the first suppression that applies to a finding.
    #[must_use]
    pub fn find(&self, finding: &Finding, program: &str) -> Option<usize> {
        self.0.iter().position(|suppression| suppression.applies(finding, program))
    }

    /// Returns notes on suppressions that no finding needed.
    #[must_use]
    pub fn unused(&self, used: impl Iterator<Item = usize>) -> Diagnostics {
        let mut is_used = vec![false; self.0.len()];
        used.for_each(|index| is_used[index] = true);
        let mut found = Diagnostics::new();
        for (suppression, _) in self.0.iter().zip(&is_used).filter(|(_, used)| !**used) {
            let message = "no finding needs this suppression";
            let note = Diagnostic::new(Severity::Note, "suppressions::unused", message);
            found.push(note.at(suppression.span, ""));
        }
        found
    }
}

impl Suppression {
    fn applies(&self, finding: &Finding, program: &str) -> bool {
        let kind = self.kind.is_none_or(|kind| kind == finding.kind);
        let kernel = self.kernel.as_ref().is_none_or(|wanted| {
            let names = [finding.kernel.clone(), places::shown(&finding.kernel).to_string()];
            names.iter().any(|name| match wanted.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == wanted,
            })
        });
        let place = |location: &Location| {
            self.at.as_ref().is_none_or(|(file, line)| {
                let is_at = |(name, number): (&str, Option<u32>)| {
                    is_file(name, file) && line.is_none_or(|line| number == Some(line))
                };
                is_at(location.file_line(program)) || is_at((program, location.line))
            })
        };
        let mut places = std::iter::once(&finding.location)
            .chain(finding.accesses.iter().map(|access| &access.location));
        kind && finding.kind.row().check != Check::Memory && kernel && places.any(place)
    }
}

/// Returns whether a path ends with the parts of another one.
fn is_file(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Splits a line at spaces that are not between quotation marks; returns the words without these.
fn split(file: FileId, start: usize, line: &str) -> Vec<(String, Span)> {
    let mut words = Vec::new();
    let (mut word, mut first, mut quoted) = (String::new(), 0, false);
    for (at, c) in line.char_indices().chain([(line.len(), '\n')]) {
        let ends = c.is_whitespace() && (!quoted || at == line.len());
        if ends && at > first {
            let span = Span::new(file, (start + first) as u32, (start + at) as u32);
            words.push((std::mem::take(&mut word), span));
        }
        match c {
            _ if ends => first = at + c.len_utf8(),
            '"' => quoted = !quoted,
            c => word.push(c),
        }
    }
    words
}

fn parse_line(file: FileId, start: usize, line: &str) -> Result<Option<Suppression>, Diagnostic> {
    let words = split(file, start, line);
    let Some(((name, first), conditions)) = words.split_first() else { return Ok(None) };
    let kind = match name.as_str() {
        "*" => None,
        name => Some(Kind::find(name).map_err(|message| {
            Diagnostic::error("suppressions::kind", message).at(*first, "not a kind")
        })?),
    };
    if kind.is_some_and(|kind| kind.row().check == Check::Memory) {
        let message = format!("a {name} cannot be suppressed: it ends the launch");
        return Err(Diagnostic::error("suppressions::kind", message).at(*first, ""));
    }
    let span = words.last().map_or(*first, |(_, last)| first.to(*last));
    let mut suppression = Suppression { kind, kernel: None, at: None, span };
    for (word, span) in conditions {
        condition(&mut suppression, word, *span)?;
    }
    if suppression.kind.is_none() && suppression.kernel.is_none() && suppression.at.is_none() {
        let message = "`*` alone would suppress everything";
        let finding = Diagnostic::error("suppressions::everything", message).at(*first, "");
        return Err(finding.help("add `kernel=NAME` or `at=FILE:LINE`"));
    }
    Ok(Some(suppression))
}

fn condition(to: &mut Suppression, word: &str, span: Span) -> Result<(), Diagnostic> {
    let wrong =
        |message: String| Diagnostic::error("suppressions::condition", message).at(span, "");
    match word.split_once('=') {
        Some((_, "")) => return Err(wrong(format!("`{word}` has no value"))),
        Some(("kernel", name)) => to.kernel = Some(name.to_owned()),
        Some(("at", place)) => {
            let line = place.rsplit_once(':').and_then(|(f, n)| Some((f, n.parse::<u32>().ok()?)));
            to.at = Some(match line {
                Some((file, line)) => (file.to_owned(), Some(line)),
                None => (place.to_owned(), None),
            });
        }
        Some((name, _)) => {
            let near = nearest(name, ["kernel", "at"]);
            let found = wrong(format!("there is no condition `{name}`"));
            return Err(found.help(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "conditions are kernel=NAME and at=FILE:LINE".to_owned(),
            }));
        }
        None => {
            let found = wrong(format!("`{word}` is not a condition"));
            return Err(found.help("conditions are kernel=NAME and at=FILE:LINE"));
        }
    }
    Ok(())
}
