//! The command `lower`: a kernel as assembly of another machine.

use ::study::lowering::{self, BACKENDS, Backend, Settings};
use isa::{Diagnostic, Diagnostics, SourceMap, Span};

use super::predicate::load;
use super::target::{one, print, writable, write};
use crate::args::Lower;
use crate::line::Line;
use crate::out::{Exit, Out};

/// The command line with spans.
struct Words<'a> {
    args: &'a Lower,
    file: Span,
    isa: Span,
    kernel: Option<Span>,
    options: Vec<Span>,
    output: Option<Span>,
}

pub(crate) fn lower(args: &Lower, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("lower");
    let file = line.path(&args.file);
    let isa = line.option("isa", &args.isa);
    let kernel = args.kernel.as_ref().map(|name| line.option("kernel", name));
    let options = args.options.iter().map(|text| line.option("option", text)).collect();
    let output = args.output.as_ref().map(|path| line.option("output", path));
    line.enter(&mut sources);
    let words = Words { args, file, isa, kernel, options, output };
    let made = written(&words, &mut sources);
    print(made, &sources, out)
}

fn backend(words: &Words<'_>) -> Result<(&'static Backend, Settings), Diagnostic> {
    let name = &words.args.isa;
    let Some(backend) = Backend::find(name) else {
        let known: Vec<&str> = BACKENDS.iter().map(|backend| backend.name).collect();
        let message = format!("kernels cannot be lowered to `{name}`");
        let finding = Diagnostic::error("lower::machine", message).at(words.isa, "");
        return Err(finding.help(format!("there are {}", known.join(", "))));
    };
    let mut given = Vec::new();
    for (text, &span) in words.args.options.iter().zip(&words.options) {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            let message = format!("{text:?} is no setting");
            let finding = Diagnostic::error("lower::option", message).at(span, "");
            finding.help("write NAME=NUMBER")
        })?;
        given.push((name.trim().to_owned(), value.trim().to_owned()));
        let tried = backend.settings(&given);
        tried.map_err(|e| Diagnostic::error("lower::option", e.to_string()).at(span, ""))?;
    }
    match backend.settings(&given) {
        Ok(settings) => Ok((backend, settings)),
        Err(error) => Err(Diagnostic::error("lower::option", error.to_string())),
    }
}

/// Returns what is printed, and diagnostics other than errors.
fn written(
    words: &Words<'_>,
    sources: &mut SourceMap,
) -> Result<(String, Diagnostics), Diagnostics> {
    let args = words.args;
    let (backend, settings) = backend(words).map_err(one)?;
    let (program, notes) = load(&args.file, words.file, None, sources)?;
    let Some(module) = program.module() else {
        let finding = Diagnostic::error(
            "lower::program",
            "only programs in PTX or the IR can be written for another machine",
        );
        return Err(one(finding.at(words.file, "")));
    };
    let infos = program.kernels();
    let chosen = inputs::kernel::choose_kernel(&infos, args.kernel.as_deref());
    let span = words.kernel.unwrap_or(words.file);
    let kernel = &chosen.map_err(|finding| one(finding.at(span, "")))?.name;
    if let (Some(path), Some(span)) = (&args.output, words.output) {
        writable(path, span).map_err(one)?;
    }
    let line = |span: Span| source_line(sources, span);
    let lowered = lowering::lowered(module, kernel, (backend, &settings), &line);
    let lowered = lowered.map_err(one)?;
    let mut text = String::new();
    match (&args.output, words.output) {
        (Some(path), Some(span)) if path != "-" => write(path, span, &lowered.text)?,
        _ if args.report => {}
        _ => text.clone_from(&lowered.text),
    }
    if args.report {
        text.push_str(&lowering::report(kernel, backend.name, &lowered));
    }
    Ok((text, notes))
}

/// The number of a line, and the line.
fn source_line(sources: &SourceMap, span: Span) -> Option<String> {
    let file = sources.get(span.file)?;
    let number = file.line_col(span.start).line;
    let line = file.text().lines().nth(number.checked_sub(1)? as usize)?;
    Some(format!("{number}: {}", line.trim()))
}
