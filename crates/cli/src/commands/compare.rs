//! `compare`.

use isa::{Diagnostics, SourceMap};
use lab::divergence::{self, Comparison, Plan};

use super::target::{Ready, ready, write};
use crate::args::Compare;
use crate::out::{Exit, Out};
use crate::progress::Bar;

/// Runs a target under mechanisms and warp sizes.
pub(crate) fn compare(args: &Compare, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    match run(args, &mut sources, out) {
        Ok(Some(comparison)) if comparison.sound() => Exit::Ok,
        Ok(Some(_)) => Exit::Unmet,
        Ok(None) => {
            out.note("interrupted\n");
            Exit::Interrupted
        }
        Err(found) => {
            out.findings(&found, &sources);
            Exit::Usage
        }
    }
}

fn run(
    args: &Compare,
    sources: &mut SourceMap,
    out: &mut Out,
) -> Result<Option<Comparison>, Diagnostics> {
    let more = [
        ("mechanisms", &args.mechanisms),
        ("warp-size", &args.warp_size),
        ("order", &args.target.order),
        ("json", &args.json),
    ];
    let Ready { mut job, extra } = ready("compare", &args.target, &more, sources)?;
    let mut found = Diagnostics::new();
    let mut words = extra.into_iter();
    let (mechanisms, sizes, order, json) = (words.next(), words.next(), words.next(), words.next());
    let mut plan = Plan {
        mechanisms: job.machine().mechanisms().iter().map(|m| m.name.to_owned()).collect(),
        warp_sizes: vec![job.warp_size()],
        order: None,
    };
    if let Some(Some(word)) = mechanisms {
        match divergence::mechanisms_named(job.machine(), &word.value, word.span) {
            Ok(names) => plan.mechanisms = names,
            Err(finding) => found.push(finding),
        }
    }
    if let Some(Some(word)) = sizes {
        match divergence::numbers_named(&word.value, word.span) {
            Ok(sizes) => plan.warp_sizes = sizes,
            Err(finding) => found.push(finding),
        }
    }
    if let Some(Some(word)) = order {
        match divergence::order_named(&word.value, word.span) {
            Ok(order) => plan.order = Some(order),
            Err(finding) => found.push(finding),
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    let mut bar = Bar::new();
    let comparison = divergence::compare(&mut job, &plan, &mut bar)?;
    drop(bar);
    let Some(comparison) = comparison else { return Ok(None) };
    match json.flatten() {
        Some(word) => {
            let text = format!("{:#}\n", divergence::to_json(&comparison));
            if word.value == "-" {
                out.text(&text);
            } else {
                write(&word.value, word.span, &text)?;
                out.text(&divergence::to_text(&comparison));
            }
        }
        None => out.text(&divergence::to_text(&comparison)),
    }
    Ok(Some(comparison))
}
