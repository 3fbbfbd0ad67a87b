//! The command `exec`: runs a program with the virtual device's libraries in place of NVIDIA's, and
//! reports on its kernels.

mod build;
mod finished;
mod hook;
mod nvidia;
mod program;
mod report;
mod setup;
mod signals;

use std::path::Path;

use events::EventLog;
use findings::report::{Format, diagnostics, summary};
use findings::{CheckSet, Findings, Suppressions};
use isa::SourceMap;
use lab::render::{Paint, render_all};

use super::checks::read;
use crate::args::Exec;
use crate::out::{Exit, Out};

use program::Program;
use report::Report;
use setup::{Folder, Libraries};

pub(crate) fn exec(args: &Exec, out: &mut Out) -> Exit {
    let end = run(args, out);
    match end {
        Ok(exit) => exit,
        Err(message) => {
            out.note(&format!("error: {message}\n"));
            Exit::Usage
        }
    }
}

fn run(args: &Exec, out: &mut Out) -> Result<Exit, String> {
    let this = std::env::current_exe()
        .map_err(|e| format!("this program's own place is not known: {e}"))?;
    let libraries = Libraries::find(args, &this)?;
    let outputs = args.report.iter().map(|report| output(report));
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    let checks = args.check.as_deref().map_or_else(|| Ok(CheckSet::default()), CheckSet::parse)?;
    let mut sources = SourceMap::new();
    let suppressions = match &args.suppressions {
        Some(path) => suppressions(path, &mut sources)?,
        None => Suppressions::default(),
    };
    // From here on signals are forwarded to the program. This process survives them, to print the
    // report and remove the folder.
    signals::catch();
    let folder = Folder::new().map_err(|e| format!("no folder for the run can be made: {e}"))?;
    let program = args.command.first().map_or(Path::new(""), Path::new);
    folder.fill(&libraries, &this, program)?;
    if args.debug {
        let place = folder.path().display();
        out.note(&format!("kernels wait for a debugger: simtlab debug --attach {place}\n"));
    }
    let ended = Program::start(args, &folder, &libraries)?.wait()?;
    let text = std::fs::read_to_string(folder.journal()).unwrap_or_default();
    let report = Report::new(EventLog::read(&text));
    if !args.quiet {
        out.note(&report.text(args.stats, &ended, &libraries));
    }
    if let Some(program) = args.command.first().filter(|p| finished::carries_runtime(p.as_ref())) {
        out.note(&format!(
            "  {} carries NVIDIA's static CUDA runtime, which cannot run here: build it by `simtlab exec -- make` \
            (or nvcc, cmake --build, ...), or with `nvcc -cudart shared`\n",
            program.display()
        ));
    }
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report.json(ended.code())).unwrap_or_default();
        std::fs::write(path, json + "\n")
            .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    }
    let program = args.command.first().map_or_else(String::new, |c| c.display().to_string());
    let mut findings = report.findings(&program, checks);
    findings.finish(&suppressions);
    if args.check.is_some() && !args.quiet {
        tell(&findings, &suppressions, &sources, out);
    }
    for (format, path) in outputs {
        let text = format.render(&findings).unwrap_or_default();
        std::fs::write(path, text).map_err(|e| format!("{path} cannot be written: {e}"))?;
    }
    if args.quiet {
        return Ok(Exit::Child(ended.code()));
    }
    Ok(exit(args, &report, &findings, ended.code()))
}

/// Reads a file of suppressions; an error is a text with places.
fn suppressions(path: &Path, sources: &mut SourceMap) -> Result<Suppressions, String> {
    let read = read(&path.display().to_string(), None, sources);
    read.map_err(|found| render_all(&found, sources, Paint::Plain))
}

/// Prints what checks have found.
fn tell(findings: &Findings, suppressions: &Suppressions, sources: &SourceMap, out: &mut Out) {
    out.findings(&diagnostics(findings), sources);
    let used = findings.suppressed().map(|(index, _)| *index);
    out.findings(&suppressions.unused(used), sources);
    let line = summary(findings).unwrap_or_else(|| "checks: nothing found".to_owned());
    out.note(&format!("{line}\n"));
}

/// Returns the exit status. That of a program that has not ended well comes first.
fn exit(args: &Exec, report: &Report, findings: &Findings, ended: u8) -> Exit {
    if report.has_differences() {
        return Exit::Differs;
    }
    match (ended, findings.exit_code(), args.error_exit) {
        (0, ..) if report.has_stops() => Exit::Stopped,
        (0, found, code) if found != 0 => Exit::Found(code.unwrap_or(found)),
        (0, _, Some(code)) if report.has_errors() => Exit::Child(code),
        (code, ..) => Exit::Child(code),
    }
}

/// Parses a report and its file. Standard output is the program's, and text is always printed.
fn output(word: &str) -> Result<(Format, &str), String> {
    let (name, path) = word.split_once('=').unwrap_or((word, ""));
    match Format::parse(name)? {
        Format::Text => Err("the text is always printed; write --report FORMAT=FILE".to_owned()),
        _ if path.is_empty() => Err(format!("--report {name} needs a file: {name}=FILE")),
        format => Ok((format, path)),
    }
}
