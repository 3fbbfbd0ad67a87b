//! The commands `explain`, `diff` and `trace`.

use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{VariantRun, Word};
use machines::{End, Isa};
use serde_json::json;
use study::divergence;

use super::target::{Ready, one, ready, write};
use crate::args::{Diff, Explain, Trace, TraceFormat};
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Prints the errors of a command, or returns its exit status.
fn finish(outcome: Result<Exit, Diagnostics>, sources: &SourceMap, out: &mut Out) -> Exit {
    outcome.unwrap_or_else(|found| {
        out.findings(&found, sources);
        Exit::Usage
    })
}

/// Reports a fault or hang; returns the exit status.
fn report_end(run: &VariantRun, sources: &SourceMap, out: &mut Out) -> Exit {
    match run.ends.last() {
        Some(End::Fault(stop) | End::Hang(stop)) => {
            out.finding(&stop.report, sources);
            if stop.is_verdict() { Exit::Unmet } else { Exit::Stopped }
        }
        Some(End::Interrupted) => Exit::Interrupted,
        _ => Exit::Ok,
    }
}

fn only(mut words: Vec<Word>) -> [Word; 4] {
    words.resize(4, None);
    <[Word; 4]>::try_from(words).unwrap_or_default()
}

/// Explains lost lane slots.
pub(crate) fn explain(args: &Explain, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let outcome = run_explain(args, &mut sources, out);
    finish(outcome, &sources, out)
}

fn run_explain(
    args: &Explain,
    sources: &mut SourceMap,
    out: &mut Out,
) -> Result<Exit, Diagnostics> {
    let more = [
        ("mechanism", &args.mechanism),
        ("warp-size", &args.warp_size),
        ("order", &args.target.order),
        ("json", &args.json),
    ];
    let Ready { job, extra } = ready("explain", &args.target, &more, sources)?;
    let [mechanism, size, order, json] = only(extra);
    let variant = divergence::variant_named(&job, &mechanism, &size, &order).map_err(one)?;
    let (run, explanation) = divergence::explain(&job, &variant, &mut ProgressMonitor::new())?;
    let title = format!(
        "{} under {} at W = {}\n",
        job.kernel_names().collect::<Vec<_>>().join(", "),
        variant.mechanism,
        variant.warp_size
    );
    if let Some(word) = &json {
        let mut value = explanation.to_json();
        value["schema"] = json!("simtlab-explain");
        value["version"] = json!(1);
        value["module"] = json!(job.module_name());
        value["mechanism"] = json!(variant.mechanism);
        value["warp_size"] = json!(variant.warp_size);
        emit(word.value.as_str(), word.span, &value, out)?;
    }
    if json.is_none_or(|word| word.value != "-") {
        out.text(&title);
        out.text(&explanation.to_text(args.lines));
    }
    Ok(report_end(&run, sources, out))
}

/// Writes JSON to a file, or to standard output for `-`.
fn emit(
    path: &str,
    span: Span,
    value: &serde_json::Value,
    out: &mut Out,
) -> Result<(), Diagnostics> {
    let text = format!("{value:#}\n");
    if path == "-" {
        out.text(&text);
        return Ok(());
    }
    write(path, span, &text)
}

/// Finds the first difference between two mechanisms.
pub(crate) fn diff(args: &Diff, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let outcome = run_diff(args, &mut sources, out);
    finish(outcome, &sources, out)
}

fn run_diff(args: &Diff, sources: &mut SourceMap, out: &mut Out) -> Result<Exit, Diagnostics> {
    let mechanisms = Some(args.mechanisms.clone());
    let more = [
        ("mechanisms", &mechanisms),
        ("warp-size", &args.warp_size),
        ("order", &args.target.order),
        ("json", &args.json),
    ];
    let Ready { job, extra } = ready("diff", &args.target, &more, sources)?;
    let [mechanisms, size, order, json] = only(extra);
    let place = || Located { value: args.mechanisms.clone(), span: Span::default() };
    let mechanisms = mechanisms.unwrap_or_else(place);
    let variants = divergence::variants_named(&job, &mechanisms, &size, &order);
    let variants = variants.map_err(|mut finding| {
        finding.help.get_or_insert_with(|| "write --mechanisms A,B".to_owned());
        one(finding)
    })?;
    let diff = divergence::diff(&job, &variants, &mut ProgressMonitor::new())?;
    if diff.runs.iter().any(|r| matches!(r.ends.last(), Some(End::Interrupted))) {
        out.note("interrupted\n");
        return Ok(Exit::Interrupted);
    }
    if let Some(word) = &json {
        let mut value = diff.to_json();
        value["schema"] = json!("simtlab-diff");
        value["version"] = json!(1);
        value["module"] = json!(job.module_name());
        emit(word.value.as_str(), word.span, &value, out)?;
    }
    if json.is_none_or(|word| word.value != "-") {
        out.text(&diff.to_text());
    }
    Ok(Exit::Ok)
}

/// The error for a trace of masks of a machine whose groups have none.
fn without_masks(machine: &Isa) -> Diagnostic {
    let message =
        format!("groups of {} have no mask that all their instructions obey", machine.name);
    let with = machines::all().iter().filter(|m| m.group_mask.is_some()).map(|m| m.name);
    let with = with.collect::<Vec<_>>().join(", ");
    Diagnostic::error("cli::trace", message)
        .at(Span::default(), "")
        .help(format!("those of {with} have; `debug` shows lanes step by step"))
}

/// Writes a trace for Perfetto.
pub(crate) fn trace(args: &Trace, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let outcome = run_trace(args, &mut sources, out);
    finish(outcome, &sources, out)
}

fn run_trace(args: &Trace, sources: &mut SourceMap, out: &mut Out) -> Result<Exit, Diagnostics> {
    let path = Some(args.out.clone());
    let more = [
        ("mechanism", &args.mechanism),
        ("warp-size", &args.warp_size),
        ("order", &args.target.order),
        ("out", &path),
    ];
    let Ready { job, extra } = ready("trace", &args.target, &more, sources)?;
    let [mechanism, size, order, path] = only(extra);
    let variant = divergence::variant_named(&job, &mechanism, &size, &order).map_err(one)?;
    let mut bar = ProgressMonitor::new();
    let (run, text, complete) = match args.format {
        TraceFormat::Events => divergence::trace(&job, &variant, args.slices, &mut bar)?,
        TraceFormat::Text => {
            let traced = divergence::trace_masks(&job, &variant, args.slices, &mut bar)?;
            traced.ok_or_else(|| one(without_masks(job.machine())))?
        }
    };
    if args.out == "-" {
        out.text(&text);
    } else {
        write(&args.out, path.map_or(Span::default(), |p| p.span), &text)?;
        if args.format == TraceFormat::Events {
            let open = "open it at https://ui.perfetto.dev or chrome://tracing";
            out.text(&format!("{}: {open}\n", args.out));
        }
    }
    if !complete {
        out.note(&format!("the trace ends after {} slices: --slices N takes more\n", args.slices));
    }
    Ok(report_end(&run, sources, out))
}
