//! Shared parts of the divergence commands: preparing a target, and writing reports.

use std::path::Path;

use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, Word};

use super::run::{Words, files, prepare};
use crate::args::Target;
use crate::out::{Exit, Out};

/// A prepared job, with the command's own options in the order of the request.
pub(super) struct Ready {
    pub(super) job: Job,
    pub(super) extra: Vec<Word>,
}

/// Prepares a target. `more` lists the command's own options.
pub(super) fn ready(
    command: &str,
    target: &Target,
    more: &[(&str, &Option<String>)],
    sources: &mut SourceMap,
) -> Result<Ready, Diagnostics> {
    let run = target.as_run();
    let mut words = Words::new(command, &run, more, sources);
    if let Some(output) = files(&mut words.options).map_err(one)?.first() {
        let message = format!("`{command}` writes no files of the machine's own");
        let finding = Diagnostic::error("cli::conflict", message).at(output.path.span, "");
        return Err(one(finding.help("run it with `simtlab run`")));
    }
    let (job, _) = prepare(&words, sources)?;
    Ok(Ready { job, extra: words.extra })
}

/// Prints the text of a command and the diagnostics beside it, or why there is none.
pub(super) fn print(
    made: Result<(String, Diagnostics), Diagnostics>,
    sources: &SourceMap,
    out: &mut Out,
) -> Exit {
    match made {
        Ok((text, notes)) => {
            out.findings(&notes, sources);
            out.text(&text);
            Exit::Ok
        }
        Err(found) => {
            out.findings(&found, sources);
            Exit::Usage
        }
    }
}

/// Wraps a single diagnostic.
pub(super) fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

/// Checks before the run whether a report can probably be written to `path`.
pub(super) fn writable(path: &str, span: Span) -> Result<(), Diagnostic> {
    let place = Path::new(path);
    let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let reason = match place {
        _ if path == "-" => return Ok(()),
        place if place.is_dir() => "it is a directory",
        place if place.file_name().is_none() => "it names no file",
        _ if !folder.is_dir() => "there is no such folder",
        _ => return Ok(()),
    };
    let message = format!("cannot write {path}: {reason}");
    Err(Diagnostic::error("cli::output", message)
        .at(span, "")
        .help("name a file in a folder that there is"))
}

/// Writes a report to a file.
pub(super) fn write(path: &str, span: Span, text: &str) -> Result<(), Diagnostics> {
    std::fs::write(Path::new(path), text).map_err(|error| {
        let message = format!("cannot write {path}: {error}");
        one(Diagnostic::error("cli::output", message)
            .at(span, "")
            .help("check the path and its permissions"))
    })
}
