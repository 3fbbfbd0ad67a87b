//! The command `compare`.

use std::path::Path;

use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::run::Word;
use serde_json::Value;
use study::divergence::{self, Comparison, Plan};
use study::html::{self, PageData};
use study::machines::MachineComparison;

use super::recording;
use super::target::{Ready, ready, writable, write};
use crate::args::Compare;
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Compares mechanisms, warp sizes and settings on a target.
pub(crate) fn compare(args: &Compare, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let sound = if args.machines.is_some() {
        run_machines(args, &mut sources, out).map(|done| done.map(|comparison| comparison.sound()))
    } else {
        run(args, &mut sources, out).map(|done| done.map(|comparison| comparison.sound()))
    };
    match sound {
        Ok(Some(true)) => Exit::Ok,
        Ok(Some(false)) => Exit::Unmet,
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

/// Where the reports of a comparison go.
struct ReportPlaces {
    json: Word,
    html: Word,
}

/// What makes the reports of a comparison; only those that are asked for are made.
struct Reports<'a> {
    text: &'a dyn Fn() -> String,
    json: &'a dyn Fn() -> Value,
    html: &'a dyn Fn() -> String,
}

impl ReportPlaces {
    /// Checks that both can be written and are not one file.
    fn new(json: Word, html: Word, found: &mut Diagnostics) -> Self {
        for word in [&json, &html].into_iter().flatten() {
            if let Err(finding) = writable(&word.value, word.span) {
                found.push(finding);
            }
        }
        if let (Some(a), Some(b)) = (&json, &html)
            && a.value == b.value
        {
            let message = "--json and --html name the same place";
            let finding = Diagnostic::error("cli::conflict", message).at(b.span, "");
            found.push(finding.help("give one of them a file of its own"));
        }
        Self { json, html }
    }

    /// Writes the reports; the text goes to standard output if no other report does.
    fn print(self, reports: &Reports<'_>, out: &mut Out) -> Result<(), Diagnostics> {
        let json = self.json.map(|word| (word, format!("{:#}\n", (reports.json)())));
        let html = self.html.map(|word| (word, (reports.html)()));
        let mut table = true;
        for (word, text) in json.into_iter().chain(html) {
            if word.value == "-" {
                out.text(&text);
                table = false;
            } else {
                write(&word.value, word.span, &text)?;
            }
        }
        if table {
            out.text(&(reports.text)());
        }
        Ok(())
    }
}

fn run(
    args: &Compare,
    sources: &mut SourceMap,
    out: &mut Out,
) -> Result<Option<Comparison>, Diagnostics> {
    let axes: Vec<Option<String>> = args.axes.iter().cloned().map(Some).collect();
    let mut more = vec![
        ("mechanisms", &args.mechanisms),
        ("warp-size", &args.warp_size),
        ("order", &args.target.order),
        ("json", &args.json),
        ("html", &args.html),
        ("profiles", &args.profiles),
        ("svg", &args.svg),
    ];
    more.extend(axes.iter().map(|axis| ("axis", axis)));
    let Ready { job, extra } = ready("compare", &args.target, &more, sources)?;
    let mut found = Diagnostics::new();
    let mut words = extra.into_iter();
    let (mechanisms, sizes, order) = (words.next(), words.next(), words.next());
    let (json, html) = (words.next().flatten(), words.next().flatten());
    let (profiles, svg) = (words.next().flatten(), words.next().flatten());
    let mut plan = Plan {
        mechanisms: job.machine().mechanisms.iter().map(|m| m.name.to_owned()).collect(),
        warp_sizes: vec![job.warp_size()],
        order: None,
        settings: divergence::default_settings(job.machine()),
        star: args.axes.is_empty(),
        profiles: Vec::new(),
        record_views: html.is_some() || svg.is_some(),
        jobs: args.jobs.map_or(0, usize::from),
    };
    if let Some(word) = profiles {
        match divergence::profiles_named(job.machine(), &word.value, word.span) {
            Ok(profiles) => plan.profiles = profiles,
            Err(finding) => found.push(finding),
        }
        if args.mechanisms.is_none() {
            plan.mechanisms = Vec::new();
        }
    }
    if let Some(Some(word)) = mechanisms {
        match machines::mechanisms_named(job.machine(), &word.value, word.span) {
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
    if !args.axes.is_empty() {
        let words: Vec<_> = words.flatten().map(|word| (word.value, word.span)).collect();
        match divergence::settings_named(job.machine(), &words) {
            Ok(settings) => plan.settings = settings,
            Err(finding) => found.push(finding),
        }
    }
    let places = ReportPlaces::new(json, html, &mut found);
    if let Some(Err(finding)) = svg.as_ref().map(plots_folder) {
        found.push(finding);
    }
    if found.has_errors() {
        return Err(found);
    }
    let mut bar = ProgressMonitor::new();
    let comparison = divergence::compare(&job, &plan, &mut bar)?;
    drop(bar);
    let Some(comparison) = comparison else { return Ok(None) };
    let reports = Reports {
        text: &|| divergence::to_text(&comparison),
        json: &|| divergence::to_json(&comparison),
        html: &|| {
            let page = html::to_html(&comparison, &PageData::of(&job, &comparison));
            // A page whose inputs are too large has no recording.
            match recording::of(&args.target, (None, None)) {
                Ok(recording) => recording.put_into(&page),
                Err(_) => page,
            }
        },
    };
    places.print(&reports, out)?;
    if let Some(folder) = svg {
        for plot in study::plots::plots(&comparison) {
            let path = Path::new(&folder.value).join(format!("{}.svg", plot.name));
            write(&path.to_string_lossy(), folder.span, &plot.svg)?;
            out.note(&format!("{}: {}\n", path.display(), plot.title));
        }
    }
    Ok(Some(comparison))
}

/// Makes the folder of plots.
fn plots_folder(folder: &Located<String>) -> Result<(), Diagnostic> {
    std::fs::create_dir_all(&folder.value).map_err(|error| {
        let message = format!("cannot make the folder {}: {error}", folder.value);
        let help = "name a folder, or a place where one can be made";
        Diagnostic::error("cli::output", message).at(folder.span, "").help(help)
    })
}

/// Compares machines.
fn run_machines(
    args: &Compare,
    sources: &mut SourceMap,
    out: &mut Out,
) -> Result<Option<MachineComparison>, Diagnostics> {
    let more = [("machines", &args.machines), ("json", &args.json), ("html", &args.html)];
    let Ready { job, extra } = ready("compare", &args.target, &more, sources)?;
    let mut words = extra.into_iter();
    let (list, json, html) =
        (words.next().flatten(), words.next().flatten(), words.next().flatten());
    let mut found = Diagnostics::new();
    let named =
        list.map(|word| study::machines::machines_named(job.machine(), &word.value, word.span));
    let machines = named.transpose().unwrap_or_else(|finding| {
        found.push(finding);
        None
    });
    let places = ReportPlaces::new(json, html, &mut found);
    if found.has_errors() {
        return Err(found);
    }
    let mut bar = ProgressMonitor::new();
    let compared = study::machines::compare(&job, &machines.unwrap_or_default(), &mut bar)?;
    drop(bar);
    let Some(comparison) = compared else { return Ok(None) };
    let reports = Reports {
        text: &|| study::machines::to_text(&comparison),
        json: &|| study::machines::to_json(&comparison),
        html: &|| study::machines::to_html(&comparison),
    };
    places.print(&reports, out)?;
    Ok(Some(comparison))
}
