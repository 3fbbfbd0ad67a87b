//! Results of runs as text.

use std::fmt::Write as _;

use inputs::elem::format_bits;
use machines::End;

use crate::run::{FinalBuffer, Report, Verdict};

/// Most elements that are shown of a buffer.
const SHOWN: usize = 6;

/// Formats a buffer's type, shape and first elements.
#[must_use]
pub fn buffer_line(buffer: &FinalBuffer) -> String {
    let array = &buffer.contents;
    let shown: Vec<String> =
        array.iter().take(SHOWN).map(|bits| format_bits(array.ty(), bits)).collect();
    let more = if array.len() > SHOWN { ", ..." } else { "" };
    format!("{} = {} [{}{more}]", buffer.name, array.describe(), shown.join(", "))
}

/// Describes the mechanism and the schedule of each launch; consecutive equal launches share a
/// line.
#[must_use]
pub fn schedule_lines(report: &Report) -> String {
    let mut out = String::new();
    let stats = &report.stats;
    let all: Vec<_> = report.schedules.iter().zip(&stats.launches).collect();
    let mut next = 0;
    while let Some((schedule, launch)) = all.get(next) {
        let alike = all[next..]
            .iter()
            .take_while(|(s, l)| s == schedule && l.kernel == launch.kernel)
            .count();
        let which = match alike {
            1 => format!("launch {next}"),
            _ => format!("launches {next} to {}", next + alike - 1),
        };
        let _ = writeln!(
            out,
            "{which}, {}: {} on {}, schedule {}: {}",
            launch.kernel, stats.mechanism, stats.machine, schedule.class, schedule.about
        );
        next += alike;
    }
    out
}

/// Returns a line for each expectation that is met, and one that counts those that do not apply.
#[must_use]
pub fn check_lines(report: &Report) -> String {
    let mut out = String::new();
    for check in report.checks.iter().filter(|c| c.passed) {
        let _ = writeln!(out, "ok: {}", check.text);
    }
    if report.skipped_checks > 0 {
        let n = report.skipped_checks;
        let (noun, verb) = if n == 1 { ("expectation", "is") } else { ("expectations", "are") };
        let _ = writeln!(out, "{n} {noun} {verb} about other mechanisms or warp sizes");
    }
    out
}

fn ends_with_verdict(report: &Report) -> bool {
    matches!(report.ends.last(), Some(End::Fault(stop)) if stop.is_verdict())
}

/// Summarises a run that was not as expected; `None` for one that was.
#[must_use]
pub fn verdict_line(report: &Report) -> Option<String> {
    match report.verdict() {
        Verdict::Met => None,
        Verdict::Unmet if !report.expected_end && ends_with_verdict(report) => {
            Some("the result depends on an order".to_owned())
        }
        Verdict::Unmet => {
            let all = report.checks.len();
            let failed = report.checks.iter().filter(|c| !c.passed).count();
            Some(format!("{failed} of {all} expectations are not met"))
        }
        Verdict::Stopped => {
            let last = report.ends.len();
            let end = report.ends.last().map_or("", |e| e.name());
            Some(format!("launch {} stopped: {end}", last.saturating_sub(1)))
        }
        Verdict::Differs => Some("the engines differ".to_owned()),
        Verdict::Interrupted => Some("interrupted".to_owned()),
    }
}
