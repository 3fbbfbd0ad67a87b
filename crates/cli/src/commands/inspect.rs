//! The commands `check`, `list` and `cfg`: inspection of programs without running them.

use std::path::{Path, PathBuf};

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use isa::{Diagnostic, Diagnostics, SourceFile, SourceMap, Span};
use lab::run::{Job, JobParts, Settings};
use lab::show;
use machines::{Image, Isa, Program, ProgramSummary, SummaryParts};

use super::run::LAUNCH_FILE;
use super::{choose_isa, reading, refuse};
use crate::args::{Cfg, Check, GraphFormat, IsaChoice, List};
use crate::line::Line;
use crate::out::{Exit, Out};

/// The spans of a command's words.
struct Places {
    files: Vec<Span>,
    isa: Option<Span>,
    /// Spans of the options of [`IsaChoice::reading`].
    reading: Vec<Span>,
}

/// Writes the line of a command that takes files and `--isa`.
fn write_line(command: &str, files: &[&Path], isa: &IsaChoice, sources: &mut SourceMap) -> Places {
    let mut line = Line::new(command);
    let files = files.iter().map(|f| line.path(f)).collect();
    let isa_span = isa.isa.as_ref().map(|name| line.option("isa", name));
    let reading = isa.reading().map(|(name, value)| line.option(name, value)).collect();
    line.enter(sources);
    Places { files, isa: isa_span, reading }
}

fn isa_of(
    choice: &IsaChoice,
    places: &Places,
    path: &Path,
    index: usize,
) -> Result<&'static Isa, Diagnostic> {
    let named = choice.isa.as_deref().zip(places.isa);
    let isa = choose_isa(named, path, places.files[index])?;
    let mut given = choice.reading().zip(&places.reading);
    given.try_fold(isa, |isa, ((option, value), span)| reading(isa, option, Some((value, *span))))
}

/// Reads a program for a function, which also gets the source file if it is a text. Returns all
/// diagnostics, too, and nothing else if there are errors.
fn read_program<T>(
    path: &Path,
    span: Span,
    sources: &mut SourceMap,
    read: impl FnOnce(Image<'_>, Option<&SourceFile>, &mut Diagnostics) -> Option<T>,
) -> (Option<T>, Diagnostics) {
    let mut found = Diagnostics::new();
    let bytes = match read_input(path, MAX_PROGRAM_BYTES, Some(span)) {
        Ok(bytes) => bytes,
        Err(finding) => {
            found.push(finding);
            return (None, found);
        }
    };
    let name = path.display().to_string();
    // Of a text, only the copy in the source map is kept.
    let (file, bytes) = match String::from_utf8(bytes) {
        Ok(text) => (sources.add(name, text), None),
        Err(error) => (sources.add(name, ""), Some(error.into_bytes())),
    };
    let source = sources.get(file).filter(|_| bytes.is_none());
    let text = source.map_or(&[][..], |source| source.text().as_bytes());
    let image = Image { bytes: bytes.as_deref().unwrap_or(text), file };
    let result = read(image, source, &mut found);
    if found.has_errors() { (None, found) } else { (result, found) }
}

/// Reads and loads a program; also returns all diagnostics.
fn load(
    isa: &'static Isa,
    path: &Path,
    span: Span,
    sources: &mut SourceMap,
) -> (Option<Box<dyn Program>>, Diagnostics) {
    read_program(path, span, sources, |image, _, found| machines::load(isa, image, &[], found))
}

/// Reads a program and says what can be told of it, without keeping it; also returns all
/// diagnostics.
fn look_over(
    isa: &'static Isa,
    path: &Path,
    span: Span,
    parts: SummaryParts,
    sources: &mut SourceMap,
) -> (Option<ProgramSummary>, Diagnostics) {
    read_program(path, span, sources, |image, source, found| {
        machines::summary(isa, image, source, parts, found)
    })
}

/// Prints all diagnostics of each file, and a line with the result.
pub(crate) fn check(args: &Check, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let files: Vec<&Path> = args.files.iter().map(AsRef::as_ref).collect();
    let places = write_line("check", &files, &args.isa, &mut sources);
    let mut exit = Exit::Ok;
    for (index, path) in files.into_iter().enumerate() {
        if let Some(file) = launch_file(path) {
            let good =
                check_launches(&file, (path, places.files[index]), &places, &mut sources, out);
            exit = if good { exit } else { Exit::Usage };
            continue;
        }
        let isa = match isa_of(&args.isa, &places, path, index) {
            Ok(isa) => isa,
            Err(finding) => {
                exit = refuse(&finding, &sources, out);
                continue;
            }
        };
        let (program, mut found) =
            look_over(isa, path, places.files[index], SummaryParts::All, &mut sources);
        program.iter().flat_map(|p| &p.warnings).for_each(|warning| found.push(warning.clone()));
        out.findings(&found, &sources);
        let name = path.display();
        match program {
            Some(program) => {
                let kernels = program.kernels.len();
                let plural = if kernels == 1 { "" } else { "s" };
                out.text(&format!("{name}: ok, {kernels} kernel{plural}\n"));
                out.text(&show::dependence_lines(&program.dependences));
                program.remarks.iter().for_each(|remark| out.text(&format!("  {remark}\n")));
            }
            None => {
                let plural = if found.error_count() == 1 { "" } else { "s" };
                out.text(&format!("{name}: {} error{plural}\n", found.error_count()));
                exit = Exit::Usage;
            }
        }
    }
    exit
}

/// Returns the launch file that a path names, if it names one.
fn launch_file(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(LAUNCH_FILE));
    }
    path.extension().is_some_and(|e| e == "toml").then(|| path.to_owned())
}

/// Checks all of a launch file that can be checked before it runs: its program, arguments, buffers
/// and expectations. Prints the result; returns whether it could run.
fn check_launches(
    file: &Path,
    (path, span): (&Path, Span),
    places: &Places,
    sources: &mut SourceMap,
    out: &mut Out,
) -> bool {
    let job = match places.isa {
        Some(isa) => {
            let finding = Diagnostic::error("cli::conflict", "a launch file names its machine");
            let mut found = Diagnostics::new();
            found.push(finding.at(isa, "").help("leave --isa away"));
            Err(found)
        }
        None => JobParts::from_launch_file(file, Some(span), sources)
            .and_then(|parts| Job::prepare(parts, &Settings::default(), sources))
            .and_then(|job| match job.argument_errors() {
                found if found.has_errors() => Err(found),
                _ => Ok(job),
            }),
    };
    let (text, good, found) = match job {
        Ok(job) => {
            let mut found = Diagnostics::new();
            job.warnings().into_iter().for_each(|warning| found.push(warning));
            let launches = job.kernel_names().count();
            let plural = if launches == 1 { "" } else { "es" };
            (format!("ok, {launches} launch{plural}"), true, found)
        }
        Err(found) => {
            let errors = found.error_count();
            let plural = if errors == 1 { "" } else { "s" };
            (format!("{errors} error{plural}"), false, found)
        }
    };
    out.findings(&found, sources);
    out.text(&format!("{}: {text}\n", path.display()));
    good
}

/// Prints a program's kernels.
pub(crate) fn list(args: &List, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let places = write_line("list", &[&args.file], &args.isa, &mut sources);
    let isa = match isa_of(&args.isa, &places, &args.file, 0) {
        Ok(isa) => isa,
        Err(finding) => return refuse(&finding, &sources, out),
    };
    let (program, found) =
        look_over(isa, &args.file, places.files[0], SummaryParts::Kernels, &mut sources);
    out.findings(&found, &sources);
    let Some(program) = program else { return Exit::Usage };
    out.text(&show::kernel_list(&program.kernels));
    Exit::Ok
}

/// Prints a kernel's control-flow graph.
pub(crate) fn cfg(args: &Cfg, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("cfg");
    let files = vec![line.path(&args.file)];
    let isa_span = args.isa.isa.as_ref().map(|name| line.option("isa", name));
    let reading = args.isa.reading().map(|(name, value)| line.option(name, value)).collect();
    let kernel_span = args.kernel.as_ref().map(|name| line.option("kernel", name));
    line.enter(&mut sources);
    let places = Places { files, isa: isa_span, reading };
    let isa = match isa_of(&args.isa, &places, &args.file, 0) {
        Ok(isa) => isa,
        Err(finding) => return refuse(&finding, &sources, out),
    };
    let (program, found) = load(isa, &args.file, places.files[0], &mut sources);
    out.findings(&found, &sources);
    let Some(program) = program else { return Exit::Usage };
    let wanted = args.kernel.as_deref();
    let name = match inputs::kernel::choose_kernel(&program.kernels(), wanted) {
        Ok(kernel) => kernel.name.clone(),
        Err(finding) => {
            let span = kernel_span.unwrap_or(places.files[0]);
            return refuse(&finding.at(span, ""), &sources, out);
        }
    };
    let Some(flow) = program.control_flow(&name) else {
        let finding =
            Diagnostic::error("cli::cfg", format!("{} has no control-flow graphs", isa.name));
        return refuse(&finding, &sources, out);
    };
    out.text(&match args.format {
        GraphFormat::Text => show::flow_text(&flow),
        GraphFormat::Dot => show::flow_dot(&flow),
    });
    Exit::Ok
}
