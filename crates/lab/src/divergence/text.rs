//! A comparison for people: at most 80 columns, and nothing told by colour alone.

use std::fmt::Write as _;

use simt::slots::SlotCause;

use super::compare::{Comparison, Row, max_divergence_depth};
use super::names::paragraph;
use super::verdict::Verdict;
use crate::stats::LaunchStats;

/// Witnesses named one by one.
const SHOWN: usize = 4;

/// The tables and what there is to say about rows.
#[must_use]
pub fn to_text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let kernels = comparison.kernels.join(", ");
    paragraph(&mut out, "", &format!("{} in {}", kernels, comparison.module));
    out = out.trim_start().to_owned();
    out.push('\n');
    costs(&mut out, &comparison.rows);
    out.push('\n');
    slots(&mut out, &comparison.rows);
    remarks(&mut out, comparison);
    out
}

/// Width of the column of mechanisms.
fn name_width(rows: &[Row]) -> usize {
    rows.iter().map(|r| r.mechanism.chars().count()).max().unwrap_or(0).max("mechanism".len())
}

fn costs(out: &mut String, rows: &[Row]) {
    let width = name_width(rows);
    let _ = writeln!(
        out,
        "{:<width$} {:>4}  {:<15} {:>5} {:>10} {:>6} {:>5} {:>5} {:>6}",
        "mechanism", "W", "verdict", "equal", "issues", "SIMD%", "br%", "depth", "impact"
    );
    for row in rows {
        let equal = match row.equal {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let _ = write!(
            out,
            "{:<width$} {:>4}  {:<15} {equal:>5}",
            row.mechanism,
            row.warp_size,
            row.verdict.name()
        );
        match &row.stats {
            Some(stats) => {
                let factor = row.impact.divergence_impact_factor;
                let _ = writeln!(
                    out,
                    " {:>10} {:>6.1} {:>5.1} {:>5} {:>6}",
                    count(stats.slots.issues()),
                    100.0 * stats.slots.execution_efficiency(),
                    value(stats, "branch_efficiency"),
                    max_divergence_depth(stats),
                    factor.map_or("-".to_owned(), ratio),
                );
            }
            None => {
                let _ = writeln!(out, " {:>10} {:>6} {:>5} {:>5} {:>6}", "-", "-", "-", "-", "-");
            }
        }
    }
    let _ = writeln!(out, "W: lanes of a group. issues: instructions issued by groups. SIMD%: lanes in");
    let _ = writeln!(out, "the issuing group. br%: branches that do not diverge. depth: nested splits.");
    let _ = writeln!(out, "impact: issues over those of the best mechanism at the same W.");
}

/// Where lane slots went, in percent.
fn slots(out: &mut String, rows: &[Row]) {
    let width = name_width(rows);
    let causes = [
        (SlotCause::On, "on"),
        (SlotCause::Diverged, "diverged"),
        (SlotCause::Waiting, "waiting"),
        (SlotCause::PredicatedOff, "pred.off"),
        (SlotCause::Exited, "exited"),
        (SlotCause::NeverLaunched, "no thread"),
    ];
    let _ = write!(out, "{:<width$} {:>4}", "lane slots, %", "W");
    for (_, name) in causes {
        let _ = write!(out, " {name:>8}");
    }
    out.push('\n');
    for row in rows {
        let Some(stats) = &row.stats else { continue };
        let _ = write!(out, "{:<width$} {:>4}", row.mechanism, row.warp_size);
        for (cause, name) in causes {
            let whole = stats.slots.width.max(1) as f64;
            let share = 100.0 * stats.slots.of(cause) as f64 / whole;
            let _ = write!(out, " {share:>0$.1}", name.len().max(8));
        }
        out.push('\n');
    }
}

fn remarks(out: &mut String, comparison: &Comparison) {
    if let Err(report) = &comparison.reference {
        out.push('\n');
        out.push_str("reference (fair serial):\n");
        paragraph(out, "", &format!("{}; nothing can be compared with it", report.message));
    }
    for row in &comparison.rows {
        if row.verdict == Verdict::Ok {
            continue;
        }
        let _ = writeln!(out, "\n{} at W = {}: {}", row.mechanism, row.warp_size, row.verdict.name());
        if let Some(report) = &row.report {
            paragraph(out, "", &report.message);
            for note in &report.notes {
                note.lines().for_each(|line| paragraph(out, "", line));
            }
        }
        for difference in row.differences.iter().take(SHOWN) {
            paragraph(out, "differs: ", &format!("{}: {}", difference.what, difference.text));
        }
        for (shows, place) in row.witnesses.iter().take(SHOWN) {
            let text = format!("{}: `{}` at {}", shows.name(), place.text, place.describe());
            paragraph(out, "observes: ", &text);
        }
        if row.witnesses.len() > SHOWN {
            paragraph(out, "", &format!("and {} more", row.witnesses.len() - SHOWN));
        }
    }
}

fn value(stats: &LaunchStats, metric: &str) -> f64 {
    crate::stats::metric(metric).map_or(0.0, |m| (m.value)(stats))
}

/// A count in at most ten columns.
fn count(n: u64) -> String {
    if n < 10_000_000_000 { n.to_string() } else { format!("{:.3}e9", n as f64 / 1e9) }
}

/// A factor in at most six columns.
fn ratio(factor: f64) -> String {
    if factor < 1000.0 { format!("{factor:.2}") } else { format!("{factor:.0}") }
}
