//! A comparison for people: at most 80 columns, and nothing told by colour alone.

use std::fmt::Write as _;

use ir::Origin;
use simt::slots::{LaneSlots, SlotCause};
use vm::PredicateCost;

use super::compare::{Comparison, Row, max_divergence_depth};
use super::json::{access_name, space_name};
use super::names::paragraph;
use super::race::Race;
use super::verdict::Verdict;
use crate::stats::{CodeCost, LaunchStats};

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
    costs(&mut out, comparison);
    out.push('\n');
    slots(&mut out, &comparison.rows);
    code(&mut out, &comparison.rows);
    remarks(&mut out, comparison);
    out
}

/// Width of the column of mechanisms.
fn name_width(rows: &[Row]) -> usize {
    rows.iter().map(|r| r.name().chars().count()).max().unwrap_or(0).max("mechanism".len())
}

fn costs(out: &mut String, comparison: &Comparison) {
    let rows = comparison.rows.as_slice();
    let width = name_width(rows);
    // Only models with a clock have cycles.
    let cycles = rows.iter().any(|r| r.stats.as_ref().is_some_and(|s| s.cycles > 0));
    let _ = writeln!(
        out,
        "{:<width$}{:>5} {:<15} {:>3}{:>10}{:>6}{:>6}{:>6}{:>7}{}",
        "mechanism",
        "W",
        "verdict",
        "=",
        "issues",
        "SIMD%",
        "br%",
        "depth",
        "impact",
        if cycles { "    cycles" } else { "" }
    );
    for row in rows {
        let equal = match row.equal {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let _ = write!(
            out,
            "{:<width$}{:>5} {:<15} {equal:>3}",
            row.name(),
            row.warp_size,
            row.verdict.name()
        );
        match &row.stats {
            Some(stats) => {
                let factor = row.impact.divergence_impact_factor;
                let _ = writeln!(
                    out,
                    "{:>10}{:>6.1}{:>6.1}{:>6}{:>7}{}",
                    count(stats.slots.issues()),
                    100.0 * stats.slots.execution_efficiency(),
                    value(stats, "branch_efficiency"),
                    max_divergence_depth(stats),
                    factor.map_or("-".to_owned(), ratio),
                    cycle_column(cycles, stats.cycles),
                );
            }
            None => {
                let _ = writeln!(out, "{:>10}{:>6}{:>6}{:>6}{:>7}", "-", "-", "-", "-", "-");
            }
        }
    }
    let legend = format!(
        "W: lanes of a group. =: memory as under {}. issues: instructions issued by groups. SIMD%: lanes in the issuing group. br%: branches that do not diverge. depth: nested splits. impact: issues over those of the best.",
        comparison.reference_name
    );
    paragraph(out, "", &legend);
}

/// Cycles of a run on a model with a clock, in a table that has such runs.
fn cycle_column(shown: bool, cycles: u64) -> String {
    let told = if cycles > 0 { count(cycles) } else { "-".to_owned() };
    if shown { format!("{told:>10}") } else { String::new() }
}

/// A column of the table of lane slots: its head, and how many slots are in it.
pub(super) type Column = (&'static str, fn(&LaneSlots) -> u64);

/// Where lane slots went. Every slot is in one column.
pub(super) const SLOTS: [Column; 7] = [
    ("on", |s| s.of(SlotCause::On)),
    ("diverged", |s| s.of(SlotCause::Diverged)),
    ("masked", |s| s.masked_off),
    ("waiting", |s| s.of(SlotCause::Waiting)),
    ("pred.off", |s| s.of(SlotCause::PredicatedOff).saturating_sub(s.masked_off)),
    ("exited", |s| s.of(SlotCause::Exited)),
    ("empty", |s| s.of(SlotCause::NeverLaunched)),
];

/// Where lane slots went, in percent.
fn slots(out: &mut String, rows: &[Row]) {
    let width = name_width(rows);
    let _ = write!(out, "{:<width$}{:>5}", "lane slots, %", "W");
    for (name, _) in SLOTS {
        let _ = write!(out, " {name:>6}");
    }
    out.push('\n');
    for row in rows {
        let Some(stats) = &row.stats else { continue };
        let _ = write!(out, "{:<width$}{:>5}", row.name(), row.warp_size);
        for (name, of) in SLOTS {
            let whole = stats.slots.width.max(1) as f64;
            let share = 100.0 * of(&stats.slots) as f64 / whole;
            let _ = write!(out, " {share:>0$.1}", name.len().max(6));
        }
        out.push('\n');
    }
    paragraph(out, "", SLOTS_LEGEND);
}

const SLOTS_LEGEND: &str = "masked: off in the mask or predicate that stands for a branch, as diverged lanes are elsewhere. pred.off: off by a guard of the program. empty: no thread.";

/// What passes made of the code, for mechanisms that have one.
fn code(out: &mut String, rows: &[Row]) {
    let made: Vec<(&Row, &CodeCost)> =
        rows.iter().filter_map(|r| Some((r, r.stats.as_ref()?.code.as_ref()?))).collect();
    if made.is_empty() {
        return;
    }
    let width = name_width(rows);
    let _ = writeln!(
        out,
        "\n{:<width$}{:>5}{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}{:>8}",
        "compiled for it", "W", "before", "after", "masks", "spills", "others", "preds", "spilled"
    );
    for (row, code) in made {
        let [masks, spills] = [Origin::Mask, Origin::Spill].map(|o| code.inserted(o));
        let others = code.inserted.iter().sum::<u64>() - masks - spills;
        let told = |of: fn(&PredicateCost) -> u64| {
            code.pass.predicates.as_ref().map_or("-".to_owned(), |p| of(p).to_string())
        };
        let _ = writeln!(
            out,
            "{:<width$}{:>5}{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}{:>8}",
            row.name(),
            row.warp_size,
            code.pass.before,
            code.pass.after,
            count(masks),
            count(spills),
            count(others),
            told(|p| p.needed),
            told(|p| p.spilled),
        );
    }
    paragraph(out, "", CODE_LEGEND);
}

const CODE_LEGEND: &str = "before, after: instructions of the kernel and what it calls. masks, spills, others: issues of what the pass inserted (others: flags, copies, barriers). preds: predicates needed at once. spilled: those with a spill slot.";

fn remarks(out: &mut String, comparison: &Comparison) {
    if let Err(report) = &comparison.reference {
        out.push('\n');
        out.push_str("reference:\n");
        paragraph(out, "", &format!("{}; nothing can be compared with it", report.message));
    }
    for warning in &comparison.warnings {
        out.push_str("\nbefore running, from the text alone:\n");
        paragraph(out, "", &warning.message);
        warning.notes.iter().for_each(|note| paragraph(out, "", note));
    }
    let mut told: Vec<&Race> = Vec::new();
    for race in comparison.rows.iter().flat_map(|r| &r.races) {
        let pair = |r: &Race| (r.first.place.span, r.second.place.span);
        if !told.iter().any(|t| pair(t) == pair(race)) {
            told.push(race);
        }
    }
    told.iter().take(SHOWN).for_each(|race| describe_race(out, race));
    if told.len() > SHOWN {
        let _ = writeln!(out, "\nand {} more pairs of accesses that race", told.len() - SHOWN);
    }
    for (kernel, first, count) in &comparison.warp_size_dependent {
        let at = first.line.map_or(String::new(), |line| format!(" at line {line}"));
        let more = if *count > 1 { format!(", and {} more", count - 1) } else { String::new() };
        let text = format!("`{kernel}`: `{}`{at}{more}", first.text);
        out.push('\n');
        paragraph(out, "warp-size-dependent: ", &text);
    }
    if !comparison.races_complete {
        out.push_str("\nmore memory is used than is followed: races may have been missed\n");
    }
    for row in &comparison.rows {
        let said = row.verdict == Verdict::Racy && row.differences.is_empty();
        if row.verdict == Verdict::Ok || said {
            continue;
        }
        let _ = writeln!(out, "\n{} at W = {}: {}", row.name(), row.warp_size, row.verdict.name());
        if let Some(sentence) = &row.sentence {
            paragraph(out, "", sentence);
        }
        if let Some(report) = &row.report {
            paragraph(out, "", &report.message);
            for note in report.notes.iter().filter(|n| Some(*n) != row.sentence.as_ref()) {
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

fn describe_race(out: &mut String, race: &Race) {
    let bytes = match space_name(race.space) {
        "shared" => format!("offset {:#x} of shared memory", race.address),
        _ => format!("address {:#x}", race.address),
    };
    let times = if race.count == 1 { "once".to_owned() } else { format!("{} times", race.count) };
    let _ = writeln!(out, "\nrace, seen {times}: nothing orders these accesses to {bytes}");
    for side in [&race.first, &race.second] {
        let kind = access_name(side.kind);
        let (block, thread) = (side.thread.cta, side.thread.index);
        let label = format!("{kind}: ");
        let text = format!(
            "block {block}, thread {thread}, {}: `{}`",
            side.place.describe(),
            side.place.text
        );
        paragraph(out, &label, &text);
    }
}

fn value(stats: &LaunchStats, metric: &str) -> f64 {
    crate::stats::metric(metric).map_or(0.0, |m| (m.value)(stats))
}

/// A count in at most nine columns.
fn count(n: u64) -> String {
    if n < 1_000_000_000 { n.to_string() } else { format!("{:.3}e9", n as f64 / 1e9) }
}

/// A factor in at most six columns.
fn ratio(factor: f64) -> String {
    if factor < 1000.0 { format!("{factor:.2}") } else { format!("{factor:.0}") }
}
