//! From findings to Python's exceptions.

use isa::{Diagnostic, Diagnostics, Severity, SourceMap};
use lab::render::{Paint, render, render_all};
use machines::Stop;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// What went wrong, without the interpreter.
pub(crate) enum Trouble {
    /// A program that cannot be read or run.
    Compile(Diagnostics, SourceMap),
    /// A launch that cannot begin.
    Launch(Diagnostics, SourceMap),
    /// A launch that faulted (`true`) or hangs.
    Stopped(bool, Box<Stop>, SourceMap),
    /// Guest memory that is not there, or is too much.
    Memory(String),
    /// Stopped by a signal, whose handler has raised this.
    Interrupted(PyErr),
}

pub(crate) fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

impl Trouble {
    /// The exception of the package for it.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let (kind, text, detail) = match self {
            Self::Compile(found, sources) => {
                ("compile", text(&found, &sources), places(&found, &sources))
            }
            Self::Launch(found, sources) => {
                ("launch", text(&found, &sources), places(&found, &sources))
            }
            Self::Stopped(fault, stop, sources) => {
                let kind = if fault { "fault" } else { "hang" };
                (kind, render(&stop.report, &sources, Paint::Plain), stopped(&stop, &sources))
            }
            Self::Memory(text) => ("memory", text, Value::Null),
            Self::Interrupted(error) => return error,
        };
        make(py, kind, text.trim_end(), &detail.to_string()).unwrap_or_else(|error| error)
    }
}

/// Asks the package's Python half for the exception.
fn make(py: Python<'_>, kind: &str, text: &str, detail: &str) -> PyResult<PyErr> {
    let made = py.import("simtlab._errors")?.getattr("make")?.call1((kind, text, detail))?;
    Ok(PyErr::from_value(made))
}

fn text(found: &Diagnostics, sources: &SourceMap) -> String {
    render_all(found, sources, Paint::Plain)
}

/// Findings with their places.
fn places(found: &Diagnostics, sources: &SourceMap) -> Value {
    found.iter().map(|finding| place(finding, sources)).collect()
}

fn place(finding: &Diagnostic, sources: &SourceMap) -> Value {
    let span = finding.primary.as_ref().map(|label| label.span);
    let file = span.and_then(|span| sources.get(span.file));
    let at = span.and_then(|span| file.map(|file| file.line_col(span.start)));
    json!({
        "code": finding.code,
        "severity": severity(finding.severity),
        "message": finding.message,
        "label": finding.primary.as_ref().map(|label| label.text.as_str()),
        "file": file.map(isa::SourceFile::name),
        "line": at.map(|at| at.line),
        "column": at.map(|at| at.column),
        "notes": finding.notes,
        "help": finding.help,
    })
}

fn stopped(stop: &Stop, sources: &SourceMap) -> Value {
    let mut value = place(&stop.report, sources);
    let place = stop.place.as_deref();
    value["line"] = json!(stop.line);
    value["block"] = json!(place.map(|p| p.site.block));
    value["warp"] = json!(place.map(|p| p.site.warp));
    value["lanes"] = json!(place.map(|p| p.site.lanes.as_slice()));
    value["threads"] = json!(place.map(|p| p.site.threads));
    let source = place.and_then(|p| p.source.as_ref());
    let call = |c: &places::InlinedCall| json!([places::shown(&c.function), &*c.file, c.line]);
    value["source"] = json!(source.map(|s| (&*s.file, s.line)));
    value["inlined"] = source.map_or(Value::Null, |s| s.inlined.iter().map(call).collect());
    value
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
