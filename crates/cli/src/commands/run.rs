//! The command `run`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ::checks::Checker;
use ::explore::RecordedSchedule;
use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::launch::{Located, MachineOption, OptionValue, RunDefaults};
use inputs::npy;
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, JobParts, Report, RunWords, Verdict, Word};
use lab::show;
use lab::stats::{self, RunTimes};
use machines::probe::ProbePair;
use machines::{
    Choice, Command, HostThreads, LaunchMonitor, Level, ProbedMonitor, host_threads, unsupported,
};
use probes::Rejoins;

use super::checks::{self, Checks};
use super::choose_isa;
use super::explore;
use super::memory::{self, MemoryFile};
use super::recording;
use super::target::one;
use crate::args::{EngineName, LevelName, Run, Stats};
use crate::line::Line;
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Size limit in bytes of a program's console input.
const MOST_INPUT: u64 = 16 << 20;

/// The name of the launch file in a folder.
pub(super) const LAUNCH_FILE: &str = "launch.toml";

/// The command's words with spans.
pub(super) struct Words<'a> {
    path: &'a Path,
    isa: Word,
    dump: Vec<Located<String>>,
    dump_hex: Vec<Located<String>>,
    signature: Vec<Located<String>>,
    pub(super) options: Vec<MachineOption>,
    pub(super) run: RunWords,
    engine: Choice,
    level: Option<Level>,
    threads: HostThreads,
    /// Options that `run` does not have, in the order of the request.
    pub(super) extra: Vec<Word>,
}

impl<'a> Words<'a> {
    /// Collects the words of a command with the arguments of `run` and the options in `more`.
    pub(super) fn new(
        command: &str,
        args: &'a Run,
        more: &[(&str, &Option<String>)],
        sources: &mut SourceMap,
    ) -> Self {
        let mut line = Line::new(command);
        let span = line.path(&args.subject.path);
        let mut place = |name: &str, value: &Option<String>| -> Word {
            let value = value.clone()?;
            let span = line.option(name, &value);
            Some(Located { value, span })
        };
        let isa = place("isa", &args.subject.isa.isa);
        let mut run = RunWords {
            kernel: place("kernel", &args.subject.kernel),
            grid: place("grid", &args.subject.grid),
            block: place("block", &args.subject.block),
            shared: place("shared", &args.subject.shared),
            mechanism: place("mechanism", &args.mechanism),
            warp_size: place("warp-size", &args.warp_size),
            seed: place("seed", &args.subject.seed),
            limit: place("limit", &args.subject.limit),
            args: Vec::new(),
            options: Vec::new(),
            span,
        };
        let extra = more.iter().map(|(name, value)| place(name, value)).collect();
        let mut all = |name: &str, values: &[String]| -> Vec<Located<String>> {
            let place = |value: &String| {
                let span = line.option(name, value);
                Located { value: value.clone(), span }
            };
            values.iter().map(place).collect()
        };
        let dump = all("dump", &args.dump);
        let dump_hex = all("dump-hex", &args.dump_hex);
        let signature = all("signature", &args.signature);
        run.args = all("arg", &args.subject.args);
        let option = |(shown, name, value): (&str, String, String)| {
            let text = if shown == "option" { format!("{name}={value}") } else { value.clone() };
            let span = line.option(shown, &text);
            let key = Located { value: name, span };
            MachineOption { key, value: Located { value: OptionValue::String(value), span } }
        };
        let reading = args.subject.isa.reading();
        let reading = reading.map(|(name, value)| (name, name.to_owned(), value.to_owned()));
        let order = args.order.iter().map(|order| ("order", "order".to_owned(), order.clone()));
        let options = reading.chain(order).chain(args.machine.given()).map(option).collect();
        line.enter(sources);
        let engine = match args.engine {
            EngineName::Fast => Choice::Fast,
            EngineName::Interpreted => Choice::Interpreted,
            EngineName::Compiled => Choice::Compiled,
            EngineName::Exact => Choice::Exact,
            EngineName::Both => Choice::Both,
        };
        let (level, threads) = (level(args.simd), threads(args.jobs));
        let path = args.subject.path.as_path();
        Self { path, isa, dump, dump_hex, signature, options, run, engine, level, threads, extra }
    }
}

/// Returns the level of a launch, from the option or else the environment.
pub(super) fn level(option: Option<LevelName>) -> Option<Level> {
    let variable = || Level::find(std::env::var("SIMTLAB_SIMD").ok()?.trim());
    option.map(Level::from).or_else(variable)
}

/// Returns the host threads of a launch, from the option or else the environment; 0 means as many
/// as the host has.
pub(super) fn threads(option: Option<u16>) -> HostThreads {
    let variable = || host_threads(|name| std::env::var(name).ok());
    HostThreads::up_to(option.map_or_else(variable, usize::from))
}

/// Runs a program or a launch file.
pub(crate) fn run(args: &Run, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let more = checks::words(&args.checks);
    let more: Vec<(&str, &Option<String>)> =
        more.iter().map(|(name, word)| (*name, word)).collect();
    let mut words = Words::new("run", args, &more, &mut sources);
    let outputs = match files(&mut words.options) {
        Ok(outputs) => outputs,
        Err(finding) => return super::refuse(&finding, &sources, out),
    };
    let ready = Checks::new(args, &mut words, &mut sources).and_then(|checks| {
        let schedule = match &args.schedule {
            Some(path) => Some(explore::scheduled(path, &mut words, &mut sources)?),
            None => None,
        };
        let (job, dumps) = prepare(&words, &mut sources)?;
        if schedule.is_some() {
            explore::has_schedules(&job)?;
        }
        let checker = checks.checker(&job)?;
        Ok((job, dumps, checks, checker, schedule))
    });
    let (job, dumps, checks, mut checker, schedule) = match ready {
        Ok(ready) => ready,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    // The run may write files that it has read.
    let recorded = match args.record.as_ref().map(|_| recording::of_run(args)).transpose() {
        Ok(recorded) => recorded,
        Err(error) => return refuse_recording(args, &error, out),
    };
    let mut bar = ProgressMonitor::new();
    let mut rejoins = Rejoins::default();
    let checking = checker.as_mut().filter(|_| checks.observes());
    let wanted = (args.stats, schedule.as_ref());
    let outcome = observed(&job, wanted, &mut rejoins, checking, &mut bar);
    let engines = bar.finish();
    if args.verbose {
        engines.iter().for_each(|engine| out.note(&format!("engine: {engine}\n")));
    }
    let report = match outcome {
        Ok(mut report) => {
            let times = RunTimes { launches: rejoins.by_launch(), total: rejoins.times() };
            report.stats.times = Some(times).filter(|t| !t.launches.is_empty());
            report
        }
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    if args.verbose {
        out.note(&show::schedule_lines(&report));
    }
    let mut exit = print(&report, (args.stats, checks.takes_output()), &sources, out);
    exit = checks.conclude(checker, (&report, exit), &sources, out);
    for output in &outputs {
        if let Err(finding) = output.write(&report) {
            out.finding(&finding, &sources);
            exit = if exit == Exit::Ok { Exit::Usage } else { exit };
        }
    }
    for finding in dumps.write(&report) {
        out.finding(&finding, &sources);
        exit = if exit == Exit::Ok { Exit::Usage } else { exit };
    }
    if let (Some(path), Some(mut recorded)) = (&args.record, recorded) {
        recording::note_ends(&mut recorded, &report);
        if let Err(error) = std::fs::write(path, recorded.to_json()) {
            let refused = refuse_recording(args, &error.to_string(), out);
            exit = if exit == Exit::Ok { refused } else { exit };
        }
    }
    exit
}

/// Says why there is no recording.
fn refuse_recording(args: &Run, error: &str, out: &mut Out) -> Exit {
    let path = args.record.as_deref().unwrap_or(Path::new("")).display();
    let message = format!("{path} cannot be written: {error}");
    super::refuse(&Diagnostic::error("cli::output", message), &SourceMap::new(), out)
}

/// Runs a job with the probes that its reports need, and in the schedule that is given.
fn observed(
    job: &Job,
    (stats, schedule): (Stats, Option<&RecordedSchedule>),
    rejoins: &mut Rejoins,
    checker: Option<&mut Checker>,
    bar: &mut ProgressMonitor,
) -> Result<Report, Diagnostics> {
    let detailed = stats != Stats::None;
    let run = |monitor: &mut dyn LaunchMonitor| match schedule {
        None => job.run(detailed, monitor),
        Some(schedule) => explore::replay(job, schedule, detailed, monitor),
    };
    // Reconvergence times require a look at each issue, so only the full report measures them.
    match (checker, stats == Stats::Json) {
        (None, false) => run(bar),
        (None, true) => run(&mut ProbedMonitor { monitor: bar, probe: rejoins }),
        (Some(probe), false) => run(&mut ProbedMonitor { monitor: bar, probe }),
        (Some(checker), true) => {
            let mut both = ProbePair(rejoins, checker);
            run(&mut ProbedMonitor { monitor: bar, probe: &mut both })
        }
    }
}

/// A file that a machine's option asks for.
pub(super) struct OutputFile {
    /// The option.
    option: String,
    pub(super) path: Located<String>,
}

/// Handles options that name files: replaces the value of `params` by the file's text, and returns
/// the files to write.
pub(super) fn files(options: &mut [MachineOption]) -> Result<Vec<OutputFile>, Diagnostic> {
    let mut outputs = Vec::new();
    for option in options {
        let OptionValue::String(value) = &mut option.value.value else { continue };
        match option.key.value.as_str() {
            "params" => {
                let path = Path::new(value.as_str());
                let bytes = read_input(path, MAX_PROGRAM_BYTES, Some(option.value.span))?;
                *value = String::from_utf8(bytes).map_err(|_| {
                    let message = format!("{} is not text", path.display());
                    Diagnostic::error("input::not-text", message).at(option.value.span, "")
                })?;
            }
            name @ ("trace" | "vcd" | "changes") if value != "off" => {
                let option_name = name.to_owned();
                let path = std::mem::replace(value, "on".to_owned());
                let path = Located { value: path, span: option.value.span };
                outputs.push(OutputFile { option: option_name, path });
            }
            _ => {}
        }
    }
    Ok(outputs)
}

impl OutputFile {
    /// Writes what the launches left for it: timelines with a process for each launch, other texts
    /// one behind the other.
    fn write(&self, report: &Report) -> Result<(), Diagnostic> {
        let launches = &report.stats.launches;
        let texts = launches.iter().flat_map(|launch| &launch.texts);
        let text: String = match self.option.as_str() {
            "trace" => lab::trace_events::document(&report.stats),
            option => {
                texts.filter(|(of, _)| *of == option).map(|(_, text)| text.as_str()).collect()
            }
        };
        std::fs::write(&self.path.value, text).map_err(|error| {
            let message = format!("cannot write {}: {error}", self.path.value);
            Diagnostic::error("cli::output", message).at(self.path.span, "")
        })
    }
}

/// Files to write after a run.
#[derive(Default)]
pub(super) struct Dumps {
    buffers: Vec<Dump>,
    memory: Vec<MemoryFile>,
}

impl Dumps {
    /// Writes the files; returns what went wrong.
    fn write(&self, report: &Report) -> Vec<Diagnostic> {
        let buffers = self.buffers.iter().filter_map(|dump| write_dump(dump, report).err());
        buffers.chain(memory::write(&self.memory, report)).collect()
    }
}

/// A buffer to write, and its file.
struct Dump {
    buffer: String,
    path: PathBuf,
    span: Span,
}

pub(super) fn prepare(
    words: &Words<'_>,
    sources: &mut SourceMap,
) -> Result<(Job, Dumps), Diagnostics> {
    let mut found = Diagnostics::new();
    let mut settings = words.run.settings(&mut found);
    (settings.engine, settings.threads) = (words.engine, words.threads);
    settings.level = words.level;
    let dumps = dumps(words, &mut found);
    settings.memory = dumps.memory.iter().map(|file| file.request.clone()).collect();
    let is_directory = words.path.is_dir();
    let is_launch_file = words.path.extension().is_some_and(|e| e == "toml");
    if is_directory || is_launch_file {
        refuse_program_options(words, &mut found);
        if found.has_errors() {
            return Err(found);
        }
        let path = if is_directory { words.path.join(LAUNCH_FILE) } else { words.path.to_owned() };
        if is_directory && !path.is_file() {
            let message = format!("{} holds no {LAUNCH_FILE}", words.path.display());
            let finding = Diagnostic::error("cli::directory", message);
            found.push(finding.at(words.run.span, "").help("name a launch file or a program"));
            return Err(found);
        }
        let mut parts = JobParts::from_launch_file(&path, Some(words.run.span), sources)?;
        same_machine(words, &parts)?;
        override_options(words, &mut parts);
        return Ok((Job::prepare(parts, &settings, sources)?, dumps));
    }
    let parts = program_parts(words, &mut found);
    match parts {
        Some(parts) if !found.has_errors() => Ok((Job::prepare(parts, &settings, sources)?, dumps)),
        _ => Err(found),
    }
}

/// Reports options that a launch file excludes.
fn refuse_program_options(words: &Words<'_>, found: &mut Diagnostics) {
    for (name, word) in words.run.launch_words() {
        let message = format!("--{name} cannot be combined with a launch file");
        let finding = Diagnostic::error("cli::conflict", message).at(word.span, "");
        found.push(finding.help("change the launch file, or run the program itself"));
    }
}

/// Checks that `--isa` agrees with the machine of a launch file.
fn same_machine(words: &Words<'_>, parts: &JobParts) -> Result<(), Diagnostics> {
    let Some(isa) = &words.isa else { return Ok(()) };
    let named = machines::find(&isa.value).map_err(|f| one(f.at(isa.span, "unknown machine")))?;
    if named.name == parts.machine.name {
        return Ok(());
    }
    let message = format!("the launch file is for {}, not for {}", parts.machine.name, isa.value);
    Err(one(Diagnostic::error("cli::conflict", message).at(isa.span, "")))
}

/// Appends the command line's machine options to those of the launch file; later options take
/// precedence.
fn override_options(words: &Words<'_>, parts: &mut JobParts) {
    parts.options.extend(words.options.iter().cloned());
    for launch in parts.launches.iter_mut().filter(|launch| !launch.options.is_empty()) {
        launch.options.extend(words.options.iter().cloned());
    }
}

fn dumps(words: &Words<'_>, found: &mut Diagnostics) -> Dumps {
    let mut buffers = Vec::new();
    for word in &words.dump {
        match word.value.split_once('=') {
            Some((buffer, path)) if !buffer.is_empty() && !path.is_empty() => {
                buffers.push(Dump {
                    buffer: buffer.to_owned(),
                    path: path.into(),
                    span: word.span,
                });
            }
            _ => {
                let finding = Diagnostic::error("cli::dump", "--dump takes a buffer and a file");
                found.push(finding.at(word.span, "").help("write --dump NAME=FILE.npy"));
            }
        }
    }
    let memory = memory::files((&words.dump_hex, &words.signature), found);
    Dumps { buffers, memory }
}

/// Describes one launch of a program from the command line alone.
fn program_parts(words: &Words<'_>, found: &mut Diagnostics) -> Option<JobParts> {
    let named = words.isa.as_ref().map(|isa| (isa.value.as_str(), isa.span));
    let machine = match choose_isa(named, words.path, words.run.span) {
        Ok(machine) if machine.supports(Command::Run) => machine,
        Ok(machine) => {
            found.append(unsupported(machine.name, Command::Run));
            return None;
        }
        Err(finding) => {
            found.push(finding);
            return None;
        }
    };
    let mut run = words.run.clone();
    // Extents default to 1 on machines without a grid, and if machine options give the number of
    // threads or blocks.
    let counted = words.options.iter().any(|o| matches!(&*o.key.value, "threads" | "blocks"));
    if !machine.has_grid || counted {
        run = run.without_grid();
    }
    let mut options = options(words, found);
    if let Some(name) = machine.bare_argument {
        options.extend(bare_arguments(&mut run.args, name));
    }
    let launch = run.launch(found);
    Some(JobParts {
        machine,
        module: words.path.to_owned(),
        module_span: words.run.span,
        directory: PathBuf::new(),
        run: RunDefaults::default(),
        options,
        buffers: Vec::new(),
        launches: vec![launch],
        expectations: Vec::new(),
    })
}

/// Moves arguments that are bare numbers to options of this name.
fn bare_arguments(args: &mut Vec<Located<String>>, name: &str) -> Vec<MachineOption> {
    let is_number = |arg: &mut Located<String>| {
        let digits = arg.value.strip_prefix("0x");
        digits.map_or_else(|| arg.value.parse::<u64>(), |d| u64::from_str_radix(d, 16)).is_ok()
    };
    let option = |Located { value, span }| {
        let key = Located { value: name.to_owned(), span };
        MachineOption { key, value: Located { value: OptionValue::String(value), span } }
    };
    args.extract_if(.., is_number).map(option).collect()
}

/// Returns the machine's options, with `input=@FILE` and `input=@-` replaced by the contents.
fn options(words: &Words<'_>, found: &mut Diagnostics) -> Vec<MachineOption> {
    let mut options = words.options.clone();
    for option in &mut options {
        let OptionValue::String(text) = &mut option.value.value else { continue };
        let Some(path) = text.strip_prefix('@').filter(|_| option.key.value == "input") else {
            continue;
        };
        match input(path, option.value.span) {
            Ok(contents) => *text = contents,
            Err(finding) => found.push(finding),
        }
    }
    options
}

/// Reads the text of a file, or of standard input for `-`.
fn input(path: &str, span: Span) -> Result<String, Diagnostic> {
    let bytes = if path == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(MOST_INPUT + 1).read_to_end(&mut bytes);
        let wrong = |why: String| Diagnostic::error("cli::input", why).at(span, "");
        read.map_err(|error| wrong(format!("cannot read standard input: {error}")))?;
        if bytes.len() as u64 > MOST_INPUT {
            return Err(wrong(format!("standard input has more than {MOST_INPUT} bytes")));
        }
        bytes
    } else {
        read_input(Path::new(path), MOST_INPUT, Some(span))?
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the input is not UTF-8 text: byte at offset {at}");
        Diagnostic::error("cli::input", message).at(span, "")
    })
}

/// Prints the results of a run; returns the exit status.
pub(super) fn print(
    report: &Report,
    (how, taken): (Stats, bool),
    sources: &SourceMap,
    out: &mut Out,
) -> Exit {
    // With JSON, standard output contains only the report.
    let json = how == Stats::Json || taken;
    let say = |out: &mut Out, text: &str| if json { out.note(text) } else { out.text(text) };
    if !report.output.is_empty() {
        // Programs may print any bytes: signatures, images.
        if json { out.note_bytes(&report.output) } else { out.bytes(&report.output) }
    }
    if report.checks.is_empty() {
        for buffer in &report.buffers {
            say(out, &format!("{}\n", show::buffer_line(buffer)));
        }
    }
    say(out, &show::check_lines(report));
    match how {
        Stats::Text => {
            let rest = report.checks.iter().any(|c| c.passed) || !report.buffers.is_empty();
            say(out, if rest { "\n" } else { "" });
            say(out, &stats::to_text(&report.stats));
        }
        Stats::Json => {
            let json = stats::to_json(&report.stats);
            out.text(&format!("{json:#}\n"));
        }
        Stats::None => {}
    }
    out.findings(&report.findings(), sources);
    if let Some(line) = show::verdict_line(report) {
        out.note(&format!("{line}\n"));
    }
    match report.verdict() {
        Verdict::Met => Exit::Ok,
        Verdict::Unmet => Exit::Unmet,
        Verdict::Stopped => Exit::Stopped,
        Verdict::Differs => Exit::Differs,
        Verdict::Interrupted => Exit::Interrupted,
    }
}

fn write_dump(dump: &Dump, report: &Report) -> Result<(), Diagnostic> {
    let array = report.buffer(&dump.buffer).ok_or_else(|| {
        let names: Vec<&str> = report.buffers.iter().map(|b| b.name.as_str()).collect();
        Diagnostic::error("cli::dump", format!("there is no buffer `{}`", dump.buffer))
            .at(dump.span, "")
            .help(format!("buffers are {}", names.join(", ")))
    })?;
    npy::save(&dump.path, array).map_err(|error| {
        let message = format!("cannot write {}: {error}", dump.path.display());
        Diagnostic::error("cli::output", message).at(dump.span, "")
    })
}
