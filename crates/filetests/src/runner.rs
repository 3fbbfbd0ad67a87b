//! Running a case under its matrix.
//!
//! Every mechanism at every warp size: expectations are judged for each, slots have to add up, and
//! unless the case says why not, all buffers have to end up the same. What is told to the user is
//! the text that the command line would print.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use checks::Checker;
use debug::{At, Console};
use findings::{CheckSet, Finding, Findings, Kind};
use inputs::Array;
use inputs::launch::{LaunchFile, Located};
use isa::{Diagnostics, SourceMap, Span};
use lab::render::{Paint, render_all};
use lab::run::{
    FinalBuffer, Job, JobParts, Report, RunWords, Settings, Verdict, load_program, wanted,
};
use machines::stats::LaunchStats;
use machines::{
    Choice, DebuggedMonitor, HostThreads, Image, Isa, Level, ProbedMonitor, Program, Unmonitored,
};
use simt::counts::{Unit, metric};

use crate::file::{DebugSession, ExpectedFinding, FILE, StatsLine, TestFile, misplaced};
use crate::stages;

/// The warp sizes of a case that names none.
const WARP_SIZES: [u64; 3] = [8, 16, 32];

/// Issues of a launch in a case that names no limit: cases are short.
const LIMIT: u64 = 20_000_000;

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The exit code and the text, if it is not 0: that of the first entry of the matrix.
    pub failure: Option<(u8, String)>,
    /// The statistics that the case pins, for each entry of the matrix.
    pub(crate) stats: Vec<StatsLine>,
    /// The texts of the stages that the case pins.
    pub(crate) stages: Vec<String>,
    /// What the debugger answers in the sessions of the case.
    pub(crate) debug: Vec<String>,
}

/// Runs a case.
///
/// # Errors
/// If the runner's own rules are broken: slots that do not add up, buffers that differ.
pub fn run(file: &TestFile) -> Result<Observed, String> {
    if !file.stages.is_empty() {
        let texts = file.stages.iter().map(|stage| stages::text(file, stage));
        return Ok(Observed { stages: texts.collect::<Result<_, _>>()?, ..Observed::default() });
    }
    let mut sources = SourceMap::new();
    let name = file.path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let mut text = file.text.clone();
    for (count, more) in &file.append {
        (0..*count).for_each(|_| text.push_str(more));
    }
    sources.add(name.as_str(), text.as_str());
    let refused = |found: &Diagnostics, sources: &SourceMap| Observed {
        failure: Some((2, render_all(found, sources, Paint::Plain))),
        ..Observed::default()
    };
    match prepare(file, &name, &text, &mut sources) {
        Err(found) => Ok(refused(&found, &sources)),
        Ok(None) => Ok(Observed::default()),
        Ok(Some(case)) => {
            let matrix = file.is_pinned() || file.debug.is_empty() || file.is_launch_file();
            let observed = match matrix {
                true => case.run_matrix(file, &mut sources),
                false => Ok(Ok(Observed::default())),
            };
            let sessions = case.debug_sessions(file);
            match observed.and_then(|observed| Ok((observed, sessions?))) {
                Ok((observed, debug)) => observed.map(|observed| Observed { debug, ..observed }),
                Err(found) => Ok(refused(&found, &sources)),
            }
        }
    }
}

/// A case with its program loaded.
pub(crate) struct Case {
    isa: &'static Isa,
    program: Arc<dyn Program>,
    /// What the machine warned of when it loaded the program.
    warnings: Vec<isa::Diagnostic>,
    source: Source,
}

/// Where launches come from.
enum Source {
    /// A launch file.
    Launch(Box<LaunchFile>),
    /// `run:` lines.
    Runs,
}

/// Loads the program. Nothing to run for a case that is only checked.
fn prepare(
    file: &TestFile,
    name: &str,
    text: &str,
    sources: &mut SourceMap,
) -> Result<Option<Case>, Diagnostics> {
    if file.is_launch_file() {
        let read = LaunchFile::parse(text, FILE)?;
        let isa = machines::find(&read.machine.value)
            .map_err(|finding| one(finding.at(read.machine.span, "unknown machine")))?;
        let isa = machines::configured(isa, &read.options).map_err(one)?;
        let path = directory(file).join(&read.module.value);
        let bytes = inputs::file::read_input(
            &path,
            inputs::file::MAX_PROGRAM_BYTES,
            Some(read.module.span),
        )
        .map_err(|finding| one(hide_directory(finding, file)))?;
        let shown = read.module.value.display().to_string();
        let (program, warnings) =
            load_program(isa, &shown, &bytes, &wanted(&read.launches), sources)?;
        let source = Source::Launch(Box::new(read));
        return Ok(Some(Case { isa, program, warnings, source }));
    }
    let options = file.runs.first().map_or(&[][..], |run| &run.options);
    let isa = machines::configured(isa_of(file, name)?, options).map_err(one)?;
    let mut found = Diagnostics::new();
    let kernels = file.runs.iter().map(|run| run.kernel.clone());
    let kernels: Vec<Located<String>> = kernels.collect::<Option<_>>().unwrap_or_default();
    let program =
        machines::load(isa, Image { bytes: text.as_bytes(), file: FILE }, &kernels, &mut found);
    match program {
        Some(_) if found.has_errors() => Err(found),
        Some(_) if file.check => Ok(None),
        Some(program) => {
            let warnings = found.iter().cloned().collect();
            Ok(Some(Case { isa, program: Arc::from(program), warnings, source: Source::Runs }))
        }
        None => Err(found),
    }
}

fn one(finding: isa::Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

fn directory(file: &TestFile) -> &Path {
    file.path.parent().unwrap_or(Path::new(""))
}

/// Messages name paths as a user in the case's folder would.
fn hide_directory(mut finding: isa::Diagnostic, file: &TestFile) -> isa::Diagnostic {
    let prefix = format!("{}/", directory(file).display());
    finding.message = finding.message.replace(&prefix, "");
    finding
}

fn isa_of(file: &TestFile, name: &str) -> Result<&'static Isa, Diagnostics> {
    if let Some(wanted) = &file.machine {
        return machines::find(&wanted.value)
            .map_err(|finding| one(finding.at(wanted.span, "unknown machine")));
    }
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or("");
    machines::by_extension(extension).ok_or_else(|| {
        one(misplaced(Span::new(FILE, 0, 0), format!("no machine reads .{extension} files")))
    })
}

impl Case {
    fn matrix(&self, file: &TestFile) -> Vec<(Located<String>, Located<u64>)> {
        let nowhere = Span::new(FILE, 0, 0);
        let sized = |value: u64| Located { value, span: nowhere };
        let named = |name: &str| Located { value: name.to_owned(), span: nowhere };
        // A case that expects one exact text has one run, unless it says otherwise.
        let single = file.failure.is_some();
        let default = self.isa.mechanisms;
        let mechanisms = match &file.mechanisms {
            Some(names) => names.clone(),
            None if single => default.first().map(|m| named(m.name)).into_iter().collect(),
            None => self.isa.default_mechanisms.iter().map(|m| named(m)).collect(),
        };
        let sizes = match &file.warp_sizes {
            Some(sizes) => sizes.clone(),
            None if single => vec![sized(self.isa.default_warp_size)],
            None => WARP_SIZES.map(sized).to_vec(),
        };
        let pairs =
            mechanisms.iter().flat_map(|m| sizes.iter().map(move |size| (m.clone(), size.clone())));
        pairs.collect()
    }

    fn run_matrix(
        &self,
        file: &TestFile,
        sources: &mut SourceMap,
    ) -> Result<Result<Observed, String>, Diagnostics> {
        if let Some(words) = &file.explore {
            return Ok(self.explore(file, words)?.map(|()| Observed::default()));
        }
        let mut observed = Observed::default();
        let mut first: Option<(String, Vec<FinalBuffer>)> = None;
        for (mechanism, size) in self.matrix(file) {
            let entry = format!("{} at warp size {}", mechanism.value, size.value);
            let run = |engine, level, threads| {
                let ways = (engine, level, threads);
                self.run_entry(file, mechanism.clone(), size.clone(), ways)
            };
            let one = HostThreads::up_to(1);
            let report = run(Choice::Exact, None, one)?;
            if let Some(expected) = &file.findings {
                for checks in ["all,volatile,strict", "all"] {
                    let found = self.check_entry(file, (&mechanism, &size), checks)?;
                    let expected = of_checks(expected, checks);
                    if !as_expected(&found, &expected) {
                        let message = format!("{checks} finds {found:?}, expected {expected:?}");
                        return Ok(Err(format!("under {entry}, {message}")));
                    }
                }
            }
            // What the fast engine takes; elsewhere there is one engine, or the same one twice.
            if mechanism.value == "ipdom" && size.value == 32 {
                let best = Level::best();
                let mut ways = vec![(best, one), (best, HostThreads { count: 4, eager: true })];
                // Code of hosts that have less.
                ways.extend((best > Level::Avx2).then_some((Level::Avx2, one)));
                for (level, threads) in ways {
                    let fast = run(Choice::Compiled, Some(level), threads)?;
                    if let Some(message) = apart(&report, &fast, sources) {
                        let count = threads.count;
                        let message =
                            format!("fast, {level}, on {count} threads against exact: {message}");
                        return Ok(Err(format!("under {entry}, {message}")));
                    }
                }
            }
            if let Err(message) = slots_add_up(&report) {
                return Ok(Err(format!("under {entry}: {message}")));
            }
            if let (None, Some(failure)) = (&observed.failure, failure(&report, sources)) {
                // Which entry it was is told, unless the text is expected.
                let text = if file.failure.is_some() {
                    failure.1
                } else {
                    format!("under {entry}:\n{}", failure.1)
                };
                observed.failure = Some((failure.0, text));
            }
            if !file.statistics.is_empty() {
                observed.stats.push(pinned(file, &mechanism.value, size.value, &report));
            }
            let finished = report.verdict() == Verdict::Met && !report.expected_end;
            match &first {
                _ if !finished || file.may_differ.is_some() => {}
                None => first = Some((entry, report.buffers)),
                Some((reference, buffers)) => {
                    if let Some(message) = difference(buffers, &report.buffers) {
                        return Ok(Err(format!("under {entry} (against {reference}): {message}")));
                    }
                }
            }
        }
        Ok(Ok(observed))
    }

    fn run_entry(
        &self,
        file: &TestFile,
        mechanism: Located<String>,
        size: Located<u64>,
        ways: (Choice, Option<Level>, HostThreads),
    ) -> Result<Report, Diagnostics> {
        self.job(file, mechanism, size, ways)?.run(true, &mut Unmonitored)
    }

    /// Repeats the sessions of the debugger with their commands; returns what it answers.
    fn debug_sessions(&self, file: &TestFile) -> Result<Vec<String>, Diagnostics> {
        let Some((mechanism, size)) = self.matrix(file).into_iter().next() else {
            return Ok(Vec::new());
        };
        let mechanism = match (&file.mechanisms, self.isa.mechanisms.first()) {
            (None, Some(default)) => Located { value: default.name.to_owned(), ..mechanism },
            _ => mechanism,
        };
        let size = match &file.warp_sizes {
            None => Located { value: self.isa.default_warp_size, ..size },
            Some(_) => size,
        };
        let answer = |session: &DebugSession| {
            let ways = (Choice::Exact, None, HostThreads::up_to(1));
            let mechanism = session.mechanism.clone().unwrap_or_else(|| mechanism.clone());
            let size = session.warp_size.clone().unwrap_or_else(|| size.clone());
            let job = self.job(file, mechanism, size, ways)?;
            let lines = session.text.iter();
            let commands: Vec<&str> =
                lines.filter_map(|line| line.strip_prefix("(simtlab) ")).collect();
            let mut console = Console::new(Cursor::new(commands.join("\n")), Vec::new());
            console.echo = true;
            console.at = session.at.as_deref().map(At::parse).unwrap_or_default();
            let monitor = &mut Unmonitored;
            job.run(false, &mut DebuggedMonitor { monitor, client: &mut console })?;
            Ok(String::from_utf8_lossy(&console.into_output()).into_owned())
        };
        file.debug.iter().map(answer).collect()
    }

    /// Runs with checks; returns what they find, ordered.
    fn check_entry(
        &self,
        file: &TestFile,
        (mechanism, size): (&Located<String>, &Located<u64>),
        checks: &str,
    ) -> Result<Vec<ExpectedFinding>, Diagnostics> {
        let ways = (Choice::Exact, None, HostThreads::up_to(1));
        let job = self.job(file, mechanism.clone(), size.clone(), ways)?;
        let checks = CheckSet::parse(checks).unwrap_or_default();
        let mut checker = Checker::new(job.module_name(), checks);
        let mut monitor = ProbedMonitor { monitor: &mut Unmonitored, probe: &mut checker };
        let report = job.run(false, &mut monitor)?;
        Ok(in_short(&study::checks::conclude(checker, &report)))
    }

    pub(crate) fn isa(&self) -> &'static Isa {
        self.isa
    }

    pub(crate) fn job(
        &self,
        file: &TestFile,
        mechanism: Located<String>,
        size: Located<u64>,
        (engine, level, threads): (Choice, Option<Level>, HostThreads),
    ) -> Result<Job, Diagnostics> {
        let mut found = Diagnostics::new();
        let mut settings = match file.runs.first() {
            Some(run) => run.settings(&mut found),
            None => Settings::default(),
        };
        settings.mechanism = Some(mechanism);
        (settings.engine, settings.level, settings.threads) = (engine, level, threads);
        settings.warp_size = Some(size);
        let parts = self.parts(file, &mut found)?;
        if settings.limit.is_none() && parts.run.limit.is_none() {
            settings.limit = Some(LIMIT);
        }
        if found.has_errors() {
            return Err(found);
        }
        let job = Job::prepare_loaded(parts, Arc::clone(&self.program), &settings)?;
        Ok(job.with_warnings(self.warnings.clone()))
    }

    /// A machine without a grid needs no extents.
    fn words(&self, run: &RunWords) -> RunWords {
        let run = run.clone();
        if self.isa.has_grid { run } else { run.without_grid() }
    }

    fn parts(&self, file: &TestFile, found: &mut Diagnostics) -> Result<JobParts, Diagnostics> {
        match &self.source {
            Source::Launch(read) => JobParts::from_parsed((**read).clone(), directory(file)),
            Source::Runs => Ok(JobParts {
                machine: self.isa,
                module: file.path.clone(),
                module_span: Span::new(FILE, 0, 0),
                directory: directory(file).to_owned(),
                run: inputs::launch::RunDefaults::default(),
                options: file.options.clone(),
                buffers: Vec::new(),
                launches: file.runs.iter().map(|run| self.words(run).launch(found)).collect(),
                expectations: file.expectations.clone(),
            }),
        }
    }
}

/// Findings as cases expect them, ordered.
pub(crate) fn in_short(findings: &Findings) -> Vec<ExpectedFinding> {
    let short = |finding: &Finding| {
        let other = finding.accesses.get(1).map(|access| &access.location);
        let other = other.or(finding.related.as_ref().map(|(location, _)| location));
        ExpectedFinding {
            kind: finding.kind.name().to_owned(),
            line: finding.location.line.unwrap_or(0),
            with: other.and_then(|location| location.line),
        }
    };
    let mut found: Vec<ExpectedFinding> = findings.iter().map(short).collect();
    found.sort();
    found
}

/// The findings that checks make.
fn of_checks(expected: &[ExpectedFinding], checks: &str) -> Vec<ExpectedFinding> {
    let checks = CheckSet::parse(checks).unwrap_or_default();
    let made = |found: &&ExpectedFinding| {
        Kind::find(&found.kind).is_ok_and(|kind| checks.has(kind.row().check))
    };
    expected.iter().filter(made).cloned().collect()
}

/// Whether findings are those that a case expects.
pub(crate) fn as_expected(found: &[ExpectedFinding], expected: &[ExpectedFinding]) -> bool {
    let alike = |(found, expected): (&ExpectedFinding, &ExpectedFinding)| {
        let with = expected.with.is_none() || found.with == expected.with;
        (&found.kind, found.line) == (&expected.kind, expected.line) && with
    };
    found.len() == expected.len() && found.iter().zip(expected).all(alike)
}

/// What the command line would end with.
fn failure(report: &Report, sources: &SourceMap) -> Option<(u8, String)> {
    let code = match report.verdict() {
        Verdict::Met => return None,
        Verdict::Unmet => 1,
        Verdict::Stopped => 3,
        Verdict::Differs => 5,
        Verdict::Interrupted => 130,
    };
    Some((code, render_all(&report.findings(), sources, Paint::Plain)))
}

/// What differs between the engines: buffers, statistics, output, what is told to the user.
fn apart(exact: &Report, fast: &Report, sources: &SourceMap) -> Option<String> {
    if failure(exact, sources) != failure(fast, sources) {
        return Some("they end in different ways".to_owned());
    }
    if exact.output != fast.output {
        return Some("their output differs".to_owned());
    }
    for (a, b) in exact.stats.launches.iter().zip(&fast.stats.launches) {
        // All that there is but the engine's name; launches that stop in a fault or a hang are the
        // exact engine's twice.
        let b = LaunchStats { engine: a.engine, ..b.clone() };
        if *a != b {
            return Some(format!("statistics differ: {a:#?}\nagainst {b:#?}"));
        }
    }
    difference(&exact.buffers, &fast.buffers)
}

fn slots_add_up(report: &Report) -> Result<(), String> {
    for launch in &report.stats.launches {
        if !launch.counts.slots.identity_holds() {
            return Err(format!(
                "slots of {} do not add up: {:?}",
                launch.kernel, launch.counts.slots
            ));
        }
    }
    Ok(())
}

fn pinned(file: &TestFile, mechanism: &str, warp_size: u64, report: &Report) -> StatsLine {
    let value = |name: &String| {
        let value = report.stats.value(name, None).unwrap_or(f64::NAN);
        let text = match metric(name).map(|m| m.unit) {
            Some(Unit::Count) => format!("{value}"),
            _ => format!("{value:.2}"),
        };
        (name.clone(), text)
    };
    StatsLine {
        mechanism: mechanism.to_owned(),
        warp_size,
        values: file.statistics.iter().map(value).collect(),
    }
}

/// The first buffer that differs.
fn difference(a: &[FinalBuffer], b: &[FinalBuffer]) -> Option<String> {
    a.iter().zip(b).find(|(a, b)| a.contents != b.contents).map(|(a, b)| {
        let differs = |x: &Array, y: &Array| {
            let result = lab::compare::compare(x, 0, y, inputs::tolerance::Tolerance::EXACT);
            result.describe(&a.name, x)
        };
        format!("mechanisms or warp sizes disagree: {}", differs(&b.contents, &a.contents))
    })
}
