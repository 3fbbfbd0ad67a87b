//! Findings as diagnostics, and a line that counts them.

use isa::{Diagnostic, Diagnostics};

use crate::finding::Finding;
use crate::found::Findings;
use crate::kind::{Check, KINDS};

/// Returns a diagnostic for each finding that is not suppressed. Faults and hangs are left out: the
/// machine has diagnostics for them.
#[must_use]
pub fn diagnostics(findings: &Findings) -> Diagnostics {
    let mut out = Diagnostics::new();
    let shown = findings.iter().filter(|finding| finding.kind.row().check != Check::Memory);
    shown.for_each(|finding| out.push(diagnostic(finding)));
    for row in KINDS {
        let more = findings.omitted(row.kind);
        if more > 0 {
            let message = format!("{more} more findings `{}`, which are not shown", row.name);
            out.push(Diagnostic::new(row.severity, row.name, message));
        }
    }
    for check in findings.incomplete() {
        let message = format!("the check `{}` could not follow all of this run", check.name());
        let note = Diagnostic::warning("checks::incomplete", message);
        out.push(note.note("it may have missed findings; use smaller extents"));
    }
    out
}

fn diagnostic(finding: &Finding) -> Diagnostic {
    let row = finding.kind.row();
    let mut out = Diagnostic::new(row.severity, row.name, &*finding.message);
    let first = finding.accesses.first();
    if let Some(span) = finding.location.span {
        let label =
            first.map_or_else(|| "here".to_owned(), |access| format!("this {}", access.name()));
        out = out.at(span, label);
    } else if let Some(line) = finding.location.line {
        out = out.note(format!("PTX line {line}: `{}`", finding.location.text));
    }
    let other = finding.accesses.get(1).map(|a| (&a.location, format!("and this {}", a.name())));
    let related = finding.related.as_ref().map(|(location, text)| (location, text.clone()));
    for (location, text) in other.into_iter().chain(related) {
        match location.span {
            Some(span) if Some(span) != finding.location.span => out = out.also(span, text),
            None if location.line.is_some() => {
                out = out.note(format!("{}: {text}", location.describe()));
            }
            _ => {}
        }
    }
    if let Some(source) = &finding.location.source {
        out = out.note(format!("compiled from {source}"));
    }
    for cause in &finding.causes {
        out = out.note(&**cause);
    }
    let times =
        if finding.count == 1 { "once".to_owned() } else { format!("{} times", finding.count) };
    let found = match &*finding.kernel {
        "" => format!("found {times}"),
        kernel => format!("in kernel `{}`, found {times}", places::shown(kernel)),
    };
    out.note(found).help(&*finding.cure)
}

/// Counts findings in one line; `None` if there are none, suppressed ones included.
#[must_use]
pub fn summary(findings: &Findings) -> Option<String> {
    let counts: Vec<String> = KINDS
        .iter()
        .filter_map(|row| {
            let places = findings.iter().filter(|f| f.kind == row.kind).count() as u64;
            let places = places + findings.omitted(row.kind);
            (places > 0).then(|| format!("{places} {}", row.name))
        })
        .collect();
    let suppressed = findings.suppressed().len();
    let hidden = if suppressed == 0 { String::new() } else { format!("; {suppressed} suppressed") };
    match (counts.is_empty(), suppressed) {
        (true, 0) => None,
        (true, _) => Some(format!("checks: nothing found{hidden}")),
        (false, _) => Some(format!("checks: {}{hidden}", counts.join(", "))),
    }
}
