//! The options `--check`, `--report`, `--suppressions` and `--error-exit`: what is found, written
//! for people and for other programs, and the exit code.

use std::path::{Path, PathBuf};

use ::checks::Checker;
use findings::report::{Format, diagnostics, summary};
use findings::{Check, CheckSet, Findings, Suppressions};
use inputs::file::read_input;
use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::render::{Paint, render_all};
use lab::run::{Job, Report};

use super::run::Words;
use super::target::one;
use crate::args::{CheckOptions, Run, Stats};
use crate::out::{Exit, Out};

/// Size limit in bytes of a file of suppressions.
const MOST_SUPPRESSIONS: u64 = 4 << 20;

/// Where a report goes.
struct Output {
    format: Format,
    /// The file; standard output if there is none.
    path: Option<Located<String>>,
}

/// The options, read and checked.
pub(super) struct Checks {
    set: CheckSet,
    outputs: Vec<Output>,
    suppressions: Suppressions,
    error_exit: Option<u8>,
    /// Whether anything of it was asked for.
    wanted: bool,
}

/// The options as words with names, for diagnostics that refer to them.
pub(super) fn words(options: &CheckOptions) -> Vec<(&'static str, Option<String>)> {
    let path = options.suppressions.as_ref().map(|path| path.display().to_string());
    let reports = options.report.iter().map(|report| ("report", Some(report.clone())));
    [("check", options.check.clone()), ("suppressions", path)].into_iter().chain(reports).collect()
}

impl Checks {
    /// Reads the options, which stand in the extra words in the order of [`words`].
    pub(super) fn new(
        args: &Run,
        words: &mut Words<'_>,
        sources: &mut SourceMap,
    ) -> Result<Self, Diagnostics> {
        let wrong = |message: String, at: &Located<String>| {
            one(Diagnostic::error("cli::check", message).at(at.span, ""))
        };
        let mut extra = std::mem::take(&mut words.extra).into_iter();
        let mut next = || extra.next().flatten();
        let set = match next() {
            Some(word) => CheckSet::parse(&word.value).map_err(|message| wrong(message, &word))?,
            None => CheckSet::default(),
        };
        let suppressions = match next() {
            Some(word) => read(&word.value, Some(word.span), sources)?,
            None => Suppressions::default(),
        };
        let mut outputs = Vec::new();
        for word in extra.flatten() {
            let (name, path) = match word.value.split_once('=') {
                Some((name, path)) => (name, Some(path.to_owned())),
                None => (&*word.value, None),
            };
            let format = Format::parse(name).map_err(|message| wrong(message, &word))?;
            let path = path.map(|value| Located { value, span: word.span });
            outputs.push(Output { format, path });
        }
        let printed = |output: &&Output| output.path.is_none() && output.format != Format::Text;
        let statistics = usize::from(args.stats == Stats::Json);
        if outputs.iter().any(|o| printed(&o))
            && outputs.iter().filter(printed).count() + statistics > 1
        {
            let message = "more than one report would go to standard output";
            let finding = Diagnostic::error("cli::check", message);
            return Err(one(finding.help("write --report FORMAT=FILE")));
        }
        let options = &args.checks;
        let wanted = options.check.is_some() || !outputs.is_empty();
        Ok(Self { set, outputs, suppressions, error_exit: options.error_exit, wanted })
    }

    /// Returns the checker of a job's launches, if anything is to be checked or reported.
    pub(super) fn checker(&self, job: &Job) -> Result<Option<Checker>, Diagnostics> {
        let machine = job.machine();
        if self.set.observes() && !machine.has_checks {
            let message = format!("machine `{}` has no checks", machine.name);
            let finding = Diagnostic::error("checks::machine", message);
            return Err(one(finding.help("`--check` is for programs in PTX and in the kernel IR")));
        }
        Ok(self.wanted.then(|| Checker::new(job.module_name(), self.set)))
    }

    /// Returns whether the checker has to see the events of launches.
    pub(super) fn observes(&self) -> bool {
        self.set.observes() || self.set.has(Check::Memory)
    }

    /// Returns whether standard output is for a report alone.
    pub(super) fn takes_output(&self) -> bool {
        self.outputs.iter().any(|o| o.path.is_none() && o.format != Format::Text)
    }

    /// Writes the reports; returns the exit status, given that of the run.
    pub(super) fn conclude(
        &self,
        checker: Option<Checker>,
        (report, exit): (&Report, Exit),
        sources: &SourceMap,
        out: &mut Out,
    ) -> Exit {
        let Some(checker) = checker else { return exit };
        let findings = study::checks::conclude(checker, report);
        self.report(findings, exit, sources, out)
    }

    /// Writes the reports of findings; returns the exit status, given that of the run.
    pub(super) fn report(
        &self,
        mut findings: Findings,
        exit: Exit,
        sources: &SourceMap,
        out: &mut Out,
    ) -> Exit {
        findings.finish(&self.suppressions);
        let shown = diagnostics(&findings);
        if self.outputs.iter().all(|output| output.format != Format::Text || output.path.is_some())
            && !findings.checks.observes()
            && !findings.checks.has(Check::Schedule)
        {
            // Faults and hangs alone, which the run has reported.
        } else {
            out.findings(&shown, sources);
        }
        let used = findings.suppressed().map(|(index, _)| *index);
        out.findings(&self.suppressions.unused(used), sources);
        if let Some(line) = summary(&findings) {
            out.note(&format!("{line}\n"));
        }
        let mut written = true;
        for output in &self.outputs {
            if let Err(finding) = write(output, &findings, &shown, sources, out) {
                out.finding(&finding, sources);
                written = false;
            }
        }
        self.exit(&findings, exit, written)
    }

    fn exit(&self, findings: &Findings, exit: Exit, written: bool) -> Exit {
        match (exit, findings.exit_code()) {
            (Exit::Usage | Exit::Differs | Exit::Interrupted, _) => exit,
            _ if !written => Exit::Usage,
            (_, 0) => exit,
            (_, code) => Exit::Found(self.error_exit.unwrap_or(code)),
        }
    }
}

/// Reads a file of suppressions. `span` is that of its name on the command line.
pub(super) fn read(
    path: &str,
    span: Option<Span>,
    sources: &mut SourceMap,
) -> Result<Suppressions, Diagnostics> {
    let bytes = read_input(Path::new(path), MOST_SUPPRESSIONS, span).map_err(one)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let finding = Diagnostic::error("input::not-text", format!("{path} is not text"));
        one(match span {
            Some(span) => finding.at(span, ""),
            None => finding,
        })
    })?;
    let file = sources.add(path, text.as_str());
    Suppressions::parse(file, &text)
}

fn write(
    output: &Output,
    findings: &Findings,
    shown: &Diagnostics,
    sources: &SourceMap,
    out: &mut Out,
) -> Result<(), Diagnostic> {
    let text = output.format.render(findings);
    let Some(path) = &output.path else {
        // Text for people has gone to standard error.
        out.text(text.as_deref().unwrap_or_default());
        return Ok(());
    };
    let text = text.unwrap_or_else(|| {
        let line = summary(findings).map_or_else(String::new, |line| line + "\n");
        render_all(shown, sources, Paint::Plain) + &line
    });
    std::fs::write(PathBuf::from(&path.value), text).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.value);
        Diagnostic::error("cli::output", message).at(path.span, "")
    })
}
