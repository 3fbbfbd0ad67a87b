//! The command `explore`, and runs in recorded schedules.

use std::path::Path;

use ::explore::{How, Plan, RecordedSchedule, conclude, to_text};
use inputs::file::read_input;
use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, Report};
use machines::LaunchMonitor;
use study::divergence;

use super::checks::{self, Checks};
use super::run::{Words, files, prepare};
use super::target::{one, writable, write};
use crate::args::Explore;
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

/// Size limit in bytes of a recorded schedule.
const MOST_SCHEDULE: u64 = 64 << 20;
/// Random schedules that are run if no number is given.
const RANDOM: u64 = 256;
/// Schedules that are run at most if all are wanted and no number is given.
const EXHAUSTIVE: u64 = 10_000;

/// Runs a target in many schedules.
pub(crate) fn explore(args: &Explore, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    match run(args, &mut sources, out) {
        Ok(exit) => exit,
        Err(found) => {
            out.findings(&found, &sources);
            Exit::Usage
        }
    }
}

fn run(args: &Explore, sources: &mut SourceMap, out: &mut Out) -> Result<Exit, Diagnostics> {
    let as_run = args.as_run();
    let mut more: Vec<(&str, Option<String>)> = vec![
        ("mechanisms", args.mechanisms.clone()),
        ("order", args.target.order.clone()),
        ("save", args.save.clone()),
    ];
    more.extend(checks::words(&as_run.checks));
    let more: Vec<(&str, &Option<String>)> =
        more.iter().map(|(name, word)| (*name, word)).collect();
    let mut words = Words::new("explore", &as_run, &more, sources);
    files(&mut words.options).map_err(one)?;
    let mut extra = words.extra.drain(..3);
    let (mechanisms, order, save) = (extra.next(), extra.next(), extra.next());
    drop(extra);
    let checks = Checks::new(&as_run, &mut words, sources)?;
    let (mut job, _) = prepare(&words, sources)?;
    has_schedules(&job)?;
    let mut plan = Plan {
        mechanisms: ::explore::default_mechanisms(&job),
        order: None,
        how: if args.exhaustive { How::Exhaustive(args.preemptions) } else { How::Random },
        schedules: args.schedules.unwrap_or(if args.exhaustive { EXHAUSTIVE } else { RANDOM }),
        seed: job.seed(),
    };
    if let Some(Some(word)) = mechanisms {
        plan.mechanisms =
            machines::mechanisms_named(job.machine(), &word.value, word.span).map_err(one)?;
    }
    if let Some(Some(word)) = order {
        plan.order = Some(divergence::order_named(&word.value, word.span).map_err(one)?);
    }
    let save = save.flatten();
    if let Some(word) = &save {
        writable(&word.value, word.span).map_err(one)?;
    }
    let mut bar = ProgressMonitor::new();
    let exploration = ::explore::explore(&mut job, &plan, &mut bar)?;
    drop(bar);
    let Some(exploration) = exploration else {
        out.note("interrupted\n");
        return Ok(Exit::Interrupted);
    };
    let table = to_text(&exploration);
    if checks.takes_output() {
        out.note(&table);
    } else {
        out.text(&table);
    }
    if let Some(stop) = exploration.stop() {
        out.finding(stop, sources);
    }
    let exit = checks.report(conclude(&exploration), Exit::Ok, sources, out);
    if let Some(word) = save {
        match exploration.witnesses().next() {
            Some(schedule) => write(&word.value, word.span, &schedule.to_string())?,
            None => out.note("no schedule shows a difference: nothing is saved\n"),
        }
    }
    Ok(exit)
}

/// Refuses machines whose schedule cannot be chosen.
pub(super) fn has_schedules(job: &Job) -> Result<(), Diagnostics> {
    let machine = job.machine();
    if machine.has_checks {
        return Ok(());
    }
    let message = format!("machine `{}` has one schedule alone", machine.name);
    let finding = Diagnostic::error("explore::machine", message);
    Err(one(finding.help("schedules are for programs in PTX and in the kernel IR")))
}

/// Reads a recorded schedule, and sets what it says in the words of a run.
pub(super) fn scheduled(
    path: &str,
    words: &mut Words<'_>,
    sources: &mut SourceMap,
) -> Result<RecordedSchedule, Diagnostics> {
    let span = words.run.span;
    let bytes = read_input(Path::new(path), MOST_SCHEDULE, Some(span)).map_err(one)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        one(Diagnostic::error("input::not-text", format!("{path} is not text")).at(span, ""))
    })?;
    let file = sources.add(path, text.as_str());
    let schedule = RecordedSchedule::parse(file, &text)?;
    words.run.mechanism = Some(Located { value: schedule.mechanism.clone(), span });
    words.run.warp_size = Some(Located { value: schedule.warp_size.to_string(), span });
    let policy = Some(("policy", "first".to_owned()));
    let order = schedule.order.clone().map(|order| ("order", order));
    words
        .options
        .extend(policy.into_iter().chain(order).map(|(name, value)| option(name, value, span)));
    Ok(schedule)
}

fn option(name: &str, value: String, span: Span) -> MachineOption {
    let key = Located { value: name.to_owned(), span };
    MachineOption { key, value: Located { value: OptionValue::String(value), span } }
}

/// Runs a job in a recorded schedule.
pub(super) fn replay(
    job: &Job,
    schedule: &RecordedSchedule,
    detailed: bool,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Report, Diagnostics> {
    let (report, fits) = ::explore::run_recorded(job, schedule, detailed, monitor)?;
    match fits {
        Ok(()) => Ok(report),
        Err(unfit) => {
            let finding = Diagnostic::error("schedule::unfit", unfit.to_string());
            Err(one(finding.help("it belongs to another program, or to other arguments or sizes")))
        }
    }
}
