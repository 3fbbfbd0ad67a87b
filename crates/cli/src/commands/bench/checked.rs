//! How much slower launches are with checks, by the processor's time.

use std::fmt::Write as _;

use ::checks::Checker;
use findings::CheckSet;
use inputs::launch::MachineOption;
use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::run::Clock;
use machines::probe::Probe;
use machines::{Choice, HostThreads, Level};

use super::clock::thread_time;
use super::median;
use crate::commands::target::one;

/// A kernel, without checks and with each set of them.
pub(super) struct CheckedRow {
    kernel: String,
    /// Median time without checks.
    seconds: f64,
    columns: Vec<Column>,
}

struct Column {
    checks: String,
    seconds: f64,
    /// What ran the last launch, as the monitor was told.
    engine: String,
    /// Defects that were found.
    findings: usize,
}

impl CheckedRow {
    fn slowdown(&self, column: &Column) -> f64 {
        if self.seconds > 0.0 { column.seconds / self.seconds } else { 0.0 }
    }
}

impl Column {
    /// Whether the exact engine ran the launches.
    fn is_exact(&self) -> bool {
        self.engine.starts_with("exact")
    }
}

/// Measures targets without checks and with each check of a list, in turn, on one host thread.
pub(super) fn measure(
    targets: &[String],
    checks: &str,
    (repeats, level, options): (usize, Option<Level>, &[MachineOption]),
    sources: &mut SourceMap,
) -> Result<Vec<CheckedRow>, Diagnostics> {
    let mut sets = Vec::new();
    for name in checks.split(',').map(str::trim) {
        let set = CheckSet::parse(name)
            .map_err(|message| one(Diagnostic::error("cli::check", message)))?;
        sets.push((name, set));
    }
    let mut rows = Vec::with_capacity(targets.len());
    for target in targets {
        let mut job = super::job_of_target(target, options, sources)?;
        let mut time = |probe: Option<&mut dyn Probe>| {
            let how = (false, thread_time as Clock);
            job.time_probed((Choice::Compiled, level), HostThreads::up_to(1), how, probe)
        };
        let mut unchecked = Vec::new();
        // As for the launches of a program, one checker follows all launches.
        let checker = |&(_, set): &(&str, CheckSet)| {
            (Checker::new(target, set), Vec::with_capacity(repeats), String::new())
        };
        let mut checked: Vec<_> = sets.iter().map(checker).collect();
        for _ in 0..repeats {
            unchecked.push(time(None)?.seconds);
            for (checker, times, engine) in &mut checked {
                let timing = time(Some(checker))?;
                times.push(timing.seconds);
                *engine = timing.engines.last().cloned().unwrap_or_default();
            }
        }
        let column = |((name, _), (mut checker, times, engine)): (&(&str, CheckSet), _)| {
            let (checks, findings) = ((*name).to_owned(), Checker::take(&mut checker));
            Column { checks, seconds: median(times), engine, findings: findings.iter().count() }
        };
        let columns = sets.iter().zip(checked).map(column).collect();
        rows.push(CheckedRow { kernel: target.clone(), seconds: median(unchecked), columns });
    }
    Ok(rows)
}

/// Times over the run without checks; a star marks launches of the exact engine.
pub(super) fn table(rows: &[CheckedRow]) -> String {
    let mut out = format!("{:<14} {:>12}", "kernel", "ms unchecked");
    for column in rows.first().map_or(&[][..], |row| &row.columns) {
        let _ = write!(out, " {:>9}", column.checks);
    }
    out.push('\n');
    for row in rows {
        let _ = write!(out, "{:<14} {:>12.3}", row.kernel, row.seconds * 1e3);
        for column in &row.columns {
            let mark = if column.is_exact() { "*" } else { " " };
            let _ = write!(out, " {:>8.2}{mark}", row.slowdown(column));
        }
        out.push('\n');
    }
    if rows.iter().any(|row| row.columns.iter().any(Column::is_exact)) {
        out.push_str("* the exact engine ran the launches\n");
    }
    out
}

pub(super) fn json(rows: &[CheckedRow]) -> serde_json::Value {
    let column = |row: &CheckedRow, column: &Column| {
        serde_json::json!({
            "kernel": row.kernel,
            "check": column.checks,
            "seconds": column.seconds,
            "seconds_unchecked": row.seconds,
            "slowdown": row.slowdown(column),
            "engine": column.engine,
            "findings": column.findings,
        })
    };
    let of = |row: &CheckedRow| -> Vec<serde_json::Value> {
        row.columns.iter().map(|one| column(row, one)).collect()
    };
    serde_json::json!({ "rows": rows.iter().flat_map(of).collect::<Vec<_>>() })
}
