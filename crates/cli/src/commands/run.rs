//! `run`.

use std::path::{Path, PathBuf};

use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::argspec::{ArgSpec, parse_argument};
use lab::elem::parse_any_integer;
use lab::launch::{LaunchEntry, Located, RunDefaults};
use lab::machine::{Command, End, unsupported};
use lab::run::{Job, JobParts, Report, Settings, Verdict};
use lab::{npy, show, stats};

use super::choose_isa;
use crate::args::{Run, Stats};
use crate::line::Line;
use crate::out::{Exit, Out};
use crate::progress::Bar;

/// The name of the launch file that a directory is searched for.
const LAUNCH_FILE: &str = "launch.toml";

/// The command's words with their places.
struct Words<'a> {
    path: &'a Path,
    path_span: Span,
    isa: Option<Located<String>>,
    kernel: Option<Located<String>>,
    grid: Option<Located<String>>,
    block: Option<Located<String>>,
    args: Vec<Located<String>>,
    shared: Option<Located<String>>,
    mechanism: Option<Located<String>>,
    warp_size: Option<Located<String>>,
    dump: Vec<Located<String>>,
    seed: Option<Located<String>>,
    limit: Option<Located<String>>,
}

impl<'a> Words<'a> {
    fn new(args: &'a Run, sources: &mut SourceMap) -> Self {
        let mut line = Line::new("run");
        let path_span = line.path(&args.path);
        let mut place = |name: &str, value: &Option<String>| {
            let value = value.clone()?;
            let span = line.option(name, &value);
            Some(Located { value, span })
        };
        let isa = place("isa", &args.isa.isa);
        let kernel = place("kernel", &args.kernel);
        let grid = place("grid", &args.grid);
        let block = place("block", &args.block);
        let shared = place("shared", &args.shared);
        let mechanism = place("mechanism", &args.mechanism);
        let warp_size = place("warp-size", &args.warp_size);
        let seed = place("seed", &args.seed);
        let limit = place("limit", &args.limit);
        let mut all = |name: &str, values: &[String]| {
            let place = |value: &String| {
                let span = line.option(name, value);
                Located { value: value.clone(), span }
            };
            values.iter().map(place).collect()
        };
        let (dump, args_placed) = (all("dump", &args.dump), all("arg", &args.args));
        line.enter(sources);
        Self {
            path: &args.path,
            path_span,
            isa,
            kernel,
            grid,
            block,
            args: args_placed,
            shared,
            mechanism,
            warp_size,
            dump,
            seed,
            limit,
        }
    }
}

/// Runs what the command line or a launch file says.
pub(crate) fn run(args: &Run, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let words = Words::new(args, &mut sources);
    let (job, dumps) = match prepare(&words, &mut sources) {
        Ok(ready) => ready,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    let mut bar = Bar::new();
    let outcome = job.run(args.stats != Stats::None, &mut bar);
    drop(bar);
    let report = match outcome {
        Ok(report) => report,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    let mut exit = print(&report, args.stats, &sources, out);
    for dump in &dumps {
        if let Err(finding) = write_dump(dump, &report) {
            out.finding(&finding, &sources);
            exit = if exit == Exit::Ok { Exit::Usage } else { exit };
        }
    }
    exit
}

/// A buffer to write and where to.
struct Dump {
    buffer: String,
    path: PathBuf,
    span: Span,
}

fn prepare(words: &Words<'_>, sources: &mut SourceMap) -> Result<(Job, Vec<Dump>), Diagnostics> {
    let mut found = Diagnostics::new();
    let settings = settings(words, &mut found);
    let dumps = dumps(words, &mut found);
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
            found.push(finding.at(words.path_span, "").help("name a launch file or a program"));
            return Err(found);
        }
        let parts = JobParts::from_launch_file(&path, Some(words.path_span), sources)?;
        return Ok((Job::prepare(parts, &settings, sources)?, dumps));
    }
    let parts = program_parts(words, &mut found);
    match parts {
        Some(parts) if !found.has_errors() => Ok((Job::prepare(parts, &settings, sources)?, dumps)),
        _ => Err(found),
    }
}

/// Options that a launch file replaces.
fn refuse_program_options(words: &Words<'_>, found: &mut Diagnostics) {
    let options = [
        ("isa", &words.isa),
        ("kernel", &words.kernel),
        ("grid", &words.grid),
        ("block", &words.block),
        ("shared", &words.shared),
    ];
    let given = options.into_iter().filter_map(|(name, word)| Some((name, word.as_ref()?)));
    for (name, word) in given.chain(words.args.first().map(|word| ("arg", word))) {
        let message = format!("--{name} cannot be combined with a launch file");
        let finding = Diagnostic::error("cli::conflict", message).at(word.span, "");
        found.push(finding.help("change the launch file, or run the program itself"));
    }
}

fn settings(words: &Words<'_>, found: &mut Diagnostics) -> Settings {
    let mut whole = |word: &Option<Located<String>>, name: &str, lo: u64, hi: u64| {
        let word = word.as_ref()?;
        let value = parse_any_integer(&word.value).and_then(|v| u64::try_from(v).ok());
        let value = value.filter(|v| (lo..=hi).contains(v));
        if value.is_none() {
            let message = format!("--{name} takes a whole number from {lo} to {hi}");
            found.push(Diagnostic::error("cli::number", message).at(word.span, ""));
        }
        value.map(|value| Located { value, span: word.span })
    };
    Settings {
        mechanism: words.mechanism.clone(),
        warp_size: whole(&words.warp_size, "warp-size", 1, 1024),
        seed: whole(&words.seed, "seed", 0, u64::MAX).map(|v| v.value),
        limit: whole(&words.limit, "limit", 1, u64::MAX).map(|v| v.value),
        ..Settings::default()
    }
}

fn dumps(words: &Words<'_>, found: &mut Diagnostics) -> Vec<Dump> {
    let mut dumps = Vec::new();
    for word in &words.dump {
        match word.value.split_once('=') {
            Some((buffer, path)) if !buffer.is_empty() && !path.is_empty() => {
                dumps.push(Dump { buffer: buffer.to_owned(), path: path.into(), span: word.span });
            }
            _ => {
                let finding = Diagnostic::error("cli::dump", "--dump takes a buffer and a file");
                found.push(finding.at(word.span, "").help("write --dump NAME=FILE.npy"));
            }
        }
    }
    dumps
}

/// One launch of a program, from the command line alone.
fn program_parts(words: &Words<'_>, found: &mut Diagnostics) -> Option<JobParts> {
    let named = words.isa.as_ref().map(|isa| (isa.value.as_str(), isa.span));
    let machine = match choose_isa(named, words.path, words.path_span) {
        Ok(machine) if machine.commands().contains(&Command::Run) => machine,
        Ok(machine) => {
            found.append(unsupported(machine.name(), Command::Run));
            return None;
        }
        Err(finding) => {
            found.push(finding);
            return None;
        }
    };
    let grid = extents("grid", &words.grid, words.path_span, found);
    let block = extents("block", &words.block, words.path_span, found);
    let shared = words.shared.as_ref().and_then(|word| {
        let value = parse_any_integer(&word.value).and_then(|v| u32::try_from(v).ok());
        if value.is_none() {
            let message = "--shared takes a number of bytes from 0 to 4294967295";
            found.push(Diagnostic::error("cli::number", message).at(word.span, ""));
        }
        value.map(|value| Located { value: u64::from(value), span: word.span })
    });
    let mut args: Vec<ArgSpec> = Vec::new();
    for word in &words.args {
        match parse_argument(&word.value, word.span) {
            Ok(arg) => args.push(arg),
            Err(finding) => found.push(finding),
        }
    }
    let args_span = words.args.iter().map(|w| w.span).reduce(Span::to).unwrap_or(words.path_span);
    let launch = LaunchEntry {
        kernel: words.kernel.clone(),
        grid,
        block,
        shared,
        args,
        args_span,
        options: Vec::new(),
        span: words.path_span,
    };
    Some(JobParts {
        machine,
        module: words.path.to_owned(),
        module_span: words.path_span,
        directory: PathBuf::new(),
        run: RunDefaults::default(),
        options: Vec::new(),
        buffers: Vec::new(),
        launches: vec![launch],
        expectations: Vec::new(),
    })
}

/// `X[,Y,Z]`; required.
fn extents(
    name: &str,
    word: &Option<Located<String>>,
    path: Span,
    found: &mut Diagnostics,
) -> Option<Located<[u64; 3]>> {
    let help = format!("write --{name} X, --{name} X,Y or --{name} X,Y,Z");
    let Some(word) = word else {
        let finding = Diagnostic::error("cli::missing", format!("--{name} is missing"));
        found.push(finding.at(path, "to run this").help(help));
        return None;
    };
    let extents: Vec<Option<u64>> = word
        .value
        .split(',')
        .map(|part| parse_any_integer(part).and_then(|v| u64::try_from(v).ok()).filter(|&v| v > 0))
        .collect();
    let mut value = [1; 3];
    if extents.len() > 3 || extents.iter().any(Option::is_none) {
        let message = format!("--{name} takes one to three whole numbers from 1 up");
        found.push(Diagnostic::error("cli::extents", message).at(word.span, "").help(help));
        return None;
    }
    for (to, from) in value.iter_mut().zip(extents.into_iter().flatten()) {
        *to = from;
    }
    Some(Located { value, span: word.span })
}

/// Prints what came of a run; gives the exit code.
fn print(report: &Report, how: Stats, sources: &SourceMap, out: &mut Out) -> Exit {
    // With JSON, standard output holds the report and nothing else.
    let json = how == Stats::Json;
    let say = |out: &mut Out, text: &str| if json { out.note(text) } else { out.text(text) };
    if !report.output.is_empty() {
        say(out, &String::from_utf8_lossy(&report.output));
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
            out.text(if rest { "\n" } else { "" });
            out.text(&stats::to_text(&report.stats));
        }
        Stats::Json => {
            let json = stats::to_json(&report.stats);
            out.text(&format!("{json:#}\n"));
        }
        Stats::None => {}
    }
    if let (false, Some(End::Fault(stop) | End::Hang(stop))) =
        (report.expected_end, report.ends.last())
    {
        out.finding(&stop.report, sources);
    }
    for check in report.checks.iter().filter(|c| !c.passed) {
        out.finding(&show::unmet(check), sources);
    }
    if let Some(line) = show::verdict_line(report) {
        out.note(&format!("{line}\n"));
    }
    match report.verdict() {
        Verdict::Met => Exit::Ok,
        Verdict::Unmet => Exit::Unmet,
        Verdict::Stopped => Exit::Stopped,
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
