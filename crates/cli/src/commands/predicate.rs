//! The command `predicate`: straight-line predicated code of a kernel.

use std::path::{Path, PathBuf};

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::JobParts;
use machines::{Image, Isa, Program};

use super::choose_isa;
use super::target::{one, print};
use crate::args::Predicate;
use crate::line::Line;
use crate::out::{Exit, Out};

/// Default number of predicates of a warp.
const USUAL: u32 = 16;

/// The command line with spans.
struct Words<'a> {
    args: &'a Predicate,
    file: Span,
    isa: Option<Span>,
    kernel: Option<Span>,
    np: Option<Span>,
}

pub(crate) fn predicate(args: &Predicate, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("predicate");
    let file = line.path(&args.file);
    let isa = args.isa.isa.as_ref().map(|name| line.option("isa", name));
    let kernel = args.kernel.as_ref().map(|name| line.option("kernel", name));
    let np = args.np.as_ref().map(|n| line.option("np", n));
    line.enter(&mut sources);
    let words = Words { args, file, isa, kernel, np };
    let made = report(&words, &mut sources);
    print(made, &sources, out)
}

/// Returns the reports of the selected kernels, and diagnostics other than errors.
fn report(
    words: &Words<'_>,
    sources: &mut SourceMap,
) -> Result<(String, Diagnostics), Diagnostics> {
    let np = predicates(words).map_err(one)?;
    let named = words.args.isa.isa.as_deref().zip(words.isa);
    let (program, notes) = load(&words.args.file, words.file, named, sources)?;
    let Some(module) = program.module() else {
        let finding = Diagnostic::error(
            "predicate::machine",
            "only programs in PTX or the IR have branches that can become predicates",
        );
        return Err(one(finding.at(words.file, "")));
    };
    let infos = program.kernels();
    let wanted = words.args.kernel.as_deref();
    let kernels: Vec<&str> = if wanted.is_none() {
        infos.iter().map(|k| k.name.as_str()).collect()
    } else {
        let chosen = inputs::kernel::choose_kernel(&infos, wanted);
        let span = words.kernel.unwrap_or(words.file);
        vec![&chosen.map_err(|finding| one(finding.at(span, "")))?.name]
    };
    let mut text = String::new();
    for kernel in kernels {
        let study = study::predicate::study(module, kernel, np).map_err(one)?;
        text.push_str(&study.text());
        if words.args.code {
            text.push('\n');
            text.push_str(&study.code());
        }
    }
    Ok((text, notes))
}

fn predicates(words: &Words<'_>) -> Result<u32, Diagnostic> {
    let (Some(given), Some(span)) = (&words.args.np, words.np) else { return Ok(USUAL) };
    given.parse().map_err(|_| {
        let message = format!("{given:?} is not a number of predicates");
        Diagnostic::error("predicate::np", message).at(span, "").help("write one, as in --np 32")
    })
}

/// Loads the program: a file, or the one that a launch file names.
pub(super) fn load(
    path: &Path,
    at: Span,
    named: Option<(&str, Span)>,
    sources: &mut SourceMap,
) -> Result<(Box<dyn Program>, Diagnostics), Diagnostics> {
    let (isa, path): (&'static Isa, PathBuf) = match launch_file(path) {
        Some(launch) => {
            let parts = JobParts::from_launch_file(&launch, Some(at), sources)?;
            (parts.machine, parts.module)
        }
        None => (choose_isa(named, path, at).map_err(one)?, path.to_owned()),
    };
    let bytes = read_input(&path, MAX_PROGRAM_BYTES, Some(at)).map_err(one)?;
    let text = std::str::from_utf8(&bytes).unwrap_or("");
    let file = sources.add(path.display().to_string(), text);
    let mut found = Diagnostics::new();
    match machines::load(isa, Image { bytes: &bytes, file }, &[], &mut found) {
        Some(program) if !found.has_errors() => Ok((program, found)),
        _ => Err(found),
    }
}

fn launch_file(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join("launch.toml"));
    }
    path.extension().is_some_and(|e| e == "toml").then(|| path.to_owned())
}
