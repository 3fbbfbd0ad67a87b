//! The commands `explain`, `diff` and `trace`.

use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, Variant, VariantRun, Word};
use machines::End;
use serde_json::json;
use study::divergence;

use super::target::{Ready, one, ready, write};
use crate::args::{Diff, Explain, Trace};
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Prints the errors of a command, or returns its exit status.
fn finish(outcome: Result<Exit, Diagnostics>, sources: &SourceMap, out: &mut Out) -> Exit {
    outcome.unwrap_or_else(|found| {
        out.findings(&found, sources);
        Exit::Usage
    })
}

/// Returns the variant for the given mechanism, warp size and order.
fn variant(
    job: &Job,
    mechanism: Option<&str>,
    span: Span,
    warp_size: &Word,
    order: &Word,
) -> Result<Variant, Diagnostics> {
    let mechanism = match mechanism {
        None => job.mechanism().to_owned(),
        Some(name) => {
            let names = machines::mechanisms_named(job.machine(), name, span).map_err(one)?;
            match <[String; 1]>::try_from(names) {
                Ok([name]) => name,
                Err(_) => {
                    let finding = Diagnostic::error("run::mechanism", "one mechanism is looked at");
                    return Err(one(finding.at(span, "").help("name one; `compare` takes many")));
                }
            }
        }
    };
    let warp_size = match warp_size {
        None => job.warp_size(),
        Some(word) => {
            let sizes = divergence::numbers_named(&word.value, word.span).map_err(one)?;
            match sizes.as_slice() {
                [size] => *size,
                _ => {
                    let finding = Diagnostic::error("run::number", "one warp size is looked at");
                    return Err(one(finding.at(word.span, "").help("name one")));
                }
            }
        }
    };
    let order = match order {
        None => None,
        Some(word) => Some(divergence::order_named(&word.value, word.span).map_err(one)?),
    };
    Ok(Variant { order, ..Variant::of(&mechanism, warp_size) })
}

/// Reports a fault or hang; returns the exit status.
fn report_end(run: &VariantRun, sources: &SourceMap, out: &mut Out) -> Exit {
    match run.ends.last() {
        Some(End::Fault(stop) | End::Hang(stop)) => {
            out.finding(&stop.report, sources);
            Exit::Stopped
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
    let name = mechanism.as_ref().map(|m| m.value.as_str());
    let span = mechanism.as_ref().map_or(Span::default(), |m| m.span);
    let variant = variant(&job, name, span, &size, &order)?;
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
    let span = mechanisms.as_ref().map_or(Span::default(), |m| m.span);
    let names = machines::mechanisms_named(job.machine(), &args.mechanisms, span).map_err(one)?;
    let [a, b] = names.as_slice() else {
        let message = format!("two mechanisms are needed, not {}", names.len());
        let finding = Diagnostic::error("run::mechanism", message).at(span, "");
        return Err(one(finding.help("write --mechanisms A,B")));
    };
    let variants = [
        variant(&job, Some(a), span, &size, &order)?,
        variant(&job, Some(b), span, &size, &order)?,
    ];
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
    let name = mechanism.as_ref().map(|m| m.value.as_str());
    let span = mechanism.as_ref().map_or(Span::default(), |m| m.span);
    let variant = variant(&job, name, span, &size, &order)?;
    let traced = divergence::trace(&job, &variant, args.slices, &mut ProgressMonitor::new())?;
    let (run, text, complete) = traced;
    if args.out == "-" {
        out.text(&text);
    } else {
        write(&args.out, path.map_or(Span::default(), |p| p.span), &text)?;
        out.text(&format!(
            "{}: open it at https://ui.perfetto.dev or chrome://tracing\n",
            args.out
        ));
    }
    if !complete {
        out.note(&format!("the trace ends after {} slices: --slices N takes more\n", args.slices));
    }
    Ok(report_end(&run, sources, out))
}
