//! The commands `device verify` and `device report`.

use std::time::Duration;

use device::verify::{Plan, Suite, VerifyError, results, verify as run_suites};

use super::{refuse, worker};
use crate::args::device::{Report, Verify};
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

pub(super) fn verify(args: &Verify, out: &mut Out) -> Exit {
    let (suites, time) = match (suites(&args.suite), time(&args.time)) {
        (Ok(suites), Ok(time)) => (suites, time),
        (Err(message), _) | (_, Err(message)) => {
            out.note(&format!("error: {message}\n"));
            return Exit::Usage;
        }
    };
    let worker = match worker() {
        Ok(worker) => worker,
        Err(error) => return refuse(&error, out),
    };
    let plan = Plan {
        choice: args.which.choice(),
        worker,
        patience: args.which.patience(),
        suites,
        folder: args.out.clone(),
        jobs: args.jobs.map_or_else(default_jobs, usize::from),
        module_kernels: args.module_kernels,
        kernels: args.kernels.clone(),
        only: args.only.clone(),
        time,
        most: args.cases.unwrap_or(usize::MAX),
    };
    let mut bar = ProgressMonitor::new();
    let mut lines = |result: &device::verify::CaseResult, progress: device::verify::Progress| {
        let total = progress.done + progress.left;
        let (name, verdict) = (&result.name, result.verdict.name());
        out.text(&format!("{:>5}/{total}  {name}: {verdict}\n", progress.done));
    };
    let end = run_suites(&plan, &mut bar, &mut lines);
    bar.finish();
    match end {
        Ok(progress) => {
            out.text(&format!("{} cases done, {} left\n", progress.done, progress.left));
            match results(&args.out) {
                Ok((_, all)) if all.iter().any(|r| r.verdict.is_difference()) => Exit::Unmet,
                Ok(_) => Exit::Ok,
                Err(error) => wrong(&error, out),
            }
        }
        Err(VerifyError::Device(error)) => refuse(&error, out),
        Err(error @ VerifyError::Interrupted) => {
            out.note(&format!("{error}\n"));
            Exit::Interrupted
        }
        Err(error) => wrong(&error, out),
    }
}

/// Workers of the random suite: each also keeps a host thread busy.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(8))
}

fn wrong(error: &VerifyError, out: &mut Out) -> Exit {
    out.note(&format!("error: {error}\n"));
    Exit::Usage
}

fn suites(text: &str) -> Result<Vec<Suite>, String> {
    if text == "all" {
        return Ok(Suite::ALL.iter().map(|(_, suite)| *suite).collect());
    }
    let named = |name: &str| {
        let found = Suite::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, suite)| *suite).ok_or_else(|| {
            let known: Vec<&str> = Suite::ALL.iter().map(|(name, _)| *name).collect();
            format!("there is no suite `{name}`; suites are {}, all", known.join(", "))
        })
    };
    text.split(',').map(|name| named(name.trim())).collect()
}

/// Longest accepted time in seconds.
const LONGEST: u64 = 7 * 86_400;

fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write 90s, 8m or 1h, up to a week");
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    seconds.filter(|n| *n <= LONGEST).map(Duration::from_secs).ok_or_else(wrong)
}

pub(super) fn report(args: &Report, out: &mut Out) -> Exit {
    for folder in &args.folders {
        match device::report::report(folder) {
            Ok(text) => out.text(&text),
            Err(error) => return wrong(&error, out),
        }
    }
    Exit::Ok
}
