//! The tables of a comparison: costs of the rows, lane slots, operations of the mechanisms, and
//! costs of their passes.

use std::fmt::Write as _;

use ir::Origin;
use lab::show::paragraph;
use machines::stats::{CodeCost, LaunchStats};
use vm::PredicateCost;

use super::comparison::{Comparison, Row, max_divergence_depth};
use probes::LeastIssues;
use probes::SLOTS;

/// Width of a line in columns.
const LINE: usize = 80;

/// Renders all tables that are not empty.
pub(super) fn tables(out: &mut String, comparison: &Comparison) {
    costs(out, comparison);
    out.push('\n');
    slots(out, &comparison.rows);
    charges(out, &comparison.rows);
    code(out, &comparison.rows);
}

/// The first two columns of a table: a row's name and its warp size.
struct Names {
    width: usize,
}

impl Names {
    /// Fits the name column to the longest name, leaving `rest` columns of the line to the other
    /// columns.
    fn new(head: &str, rows: &[Row], rest: usize) -> Self {
        let most = LINE.saturating_sub(rest + SIZE);
        let lengths = rows.iter().map(|r| r.name().chars().count());
        let width = lengths.filter(|&n| n <= most).max().unwrap_or(0);
        Self { width: width.max(head.chars().count()) }
    }

    fn head(&self, out: &mut String, head: &str) {
        let _ = write!(out, "{head:<0$}{1:>SIZE$}", self.width, "W");
    }

    /// Writes a row's name and warp size. A name that is too long gets a line of its own.
    fn of(&self, out: &mut String, row: &Row) {
        let mut name = row.name();
        if name.chars().count() > self.width {
            let _ = writeln!(out, "{name}");
            name.clear();
        }
        let _ = write!(out, "{name:<0$}{1:>SIZE$}", self.width, row.warp_size);
    }
}

/// Width of the warp size column.
const SIZE: usize = 5;

fn costs(out: &mut String, comparison: &Comparison) {
    let rows = comparison.rows.as_slice();
    // Only cycle-level models have cycles.
    let cycles = rows.iter().any(|r| r.stats.as_ref().is_some_and(|s| s.counts.cycles > 0));
    let names = Names::new("mechanism", rows, if cycles { 65 } else { 55 });
    names.head(out, "mechanism");
    let _ = writeln!(
        out,
        " {:<15} {:>3}{:>10}{:>6}{:>6}{:>6}{:>7}{}",
        "verdict",
        "=",
        "issues",
        "use%",
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
        names.of(out, row);
        let _ = write!(out, " {:<15} {equal:>3}", row.verdict.name());
        match &row.stats {
            Some(stats) => {
                let counts = &stats.counts;
                let factor = row.impact.divergence_impact_factor;
                let _ = writeln!(
                    out,
                    "{:>10}{:>6}{:>6.1}{:>6}{:>7}{}",
                    count(counts.slots.issues()),
                    row.useful.map_or("-".to_owned(), |useful| format!("{useful:.1}")),
                    counts.metric("branch_efficiency").unwrap_or_default(),
                    max_divergence_depth(stats),
                    factor.map_or("-".to_owned(), ratio),
                    cycle_column(cycles, counts.cycles),
                );
            }
            None => {
                let _ = writeln!(out, "{:>10}{:>6}{:>6}{:>6}{:>7}", "-", "-", "-", "-", "-");
            }
        }
    }
    let legend = format!(
        "W: lanes of a group. =: memory as under {}. issues: instructions issued by groups. use%: {}, in % of the lanes of all issues. br%: branches that do not diverge. depth: nested splits. impact: issues over those of the best of the list that a machine could have.",
        comparison.reference_name,
        match comparison.reference_name.starts_with(converge::serial::NAME) {
            true => "thread instructions that serial execution needs",
            false => "lanes that execute, operations on masks apart",
        }
    );
    paragraph(out, "", &legend);
    bounds(out, comparison);
    unsupported(out, comparison);
}

/// Says which issues no mechanism saves.
fn bounds(out: &mut String, comparison: &Comparison) {
    let mut said: Vec<u64> = Vec::new();
    for row in &comparison.rows {
        let Some(least) = row.least.filter(|_| !said.contains(&row.warp_size)) else { continue };
        said.push(row.warp_size);
        let LeastIssues { within_warps, within_blocks } = least;
        let text = format!(
            "{} issues within warps, {} with regrouping over blocks",
            count(within_warps),
            count(within_blocks)
        );
        paragraph(out, &format!("no mechanism needs less, W = {}: ", row.warp_size), &text);
    }
}

/// Says which mechanisms cannot take the kernel, by reason.
fn unsupported(out: &mut String, comparison: &Comparison) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &comparison.unsupported {
        let reason = row.report.as_ref().map_or("", |report| report.message.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(row.label()),
            None => reasons.push((reason, vec![row.label()])),
        }
    }
    for (reason, names) in reasons {
        out.push('\n');
        paragraph(out, "not for this kernel: ", &format!("{}: {reason}", names.join("; ")));
    }
}

/// Formats the cycle column, if the table has one.
fn cycle_column(shown: bool, cycles: u64) -> String {
    let cell = if cycles > 0 { count(cycles) } else { "-".to_owned() };
    if shown { format!("{cell:>10}") } else { String::new() }
}

/// Renders the table of lane slots, in percent.
fn slots(out: &mut String, rows: &[Row]) {
    let names = Names::new("lane slots, %", rows, 54);
    names.head(out, "lane slots, %");
    for (name, _) in SLOTS {
        let _ = write!(out, " {name:>6}");
    }
    out.push('\n');
    for row in rows {
        let Some(stats) = &row.stats else { continue };
        names.of(out, row);
        for (name, of) in SLOTS {
            let slots = &stats.counts.slots;
            let share = 100.0 * of(slots) as f64 / slots.width.max(1) as f64;
            let _ = write!(out, " {share:>0$.1}", name.len().max(6));
        }
        out.push('\n');
    }
    paragraph(out, "", SLOTS_LEGEND);
}

const SLOTS_LEGEND: &str = "masked: off in the mask or predicate that stands for a branch, as diverged lanes are elsewhere. pred.off: off by a guard of the program. empty: no thread.";

/// A column of the table of mechanism operations: its head and its count.
type Charge = (&'static str, fn(&LaunchStats) -> u64);

/// The operations and state of mechanisms.
const CHARGES: [Charge; 7] = [
    ("splits", |s| s.counts.charges.splits),
    ("merges", |s| s.counts.charges.merges),
    ("pushes", |s| s.counts.charges.pushes),
    ("pops", |s| s.counts.charges.pops),
    ("visits", |s| s.counts.charges.visits),
    ("idle", |s| s.counts.slots.idle_issues),
    ("bits", |s| s.state_bits),
];

/// Renders the operations of mechanisms at run time, for those that have any.
fn charges(out: &mut String, rows: &[Row]) {
    let made: Vec<(&Row, &LaunchStats)> = rows
        .iter()
        .filter_map(|row| Some((row, row.stats.as_ref()?)))
        .filter(|(_, stats)| CHARGES.iter().any(|(_, of)| of(stats) > 0))
        .collect();
    if made.is_empty() {
        return;
    }
    let names = Names::new("done and kept", rows, CHARGES.len() * 7);
    out.push('\n');
    names.head(out, "done and kept");
    for (head, _) in CHARGES {
        let _ = write!(out, "{head:>7}");
    }
    out.push('\n');
    for (row, stats) in made {
        names.of(out, row);
        for (_, of) in CHARGES {
            let _ = write!(out, "{:>7}", short(of(stats)));
        }
        out.push('\n');
    }
    paragraph(out, "", CHARGES_LEGEND);
}

const CHARGES_LEGEND: &str = "splits, merges: of paths. pushes, pops: of stack, list or table entries. visits: entries looked at in a search. idle: issues with no lane in the group. bits: state kept for a group at its greatest depth.";

/// Renders the costs of passes, for mechanisms that have one.
fn code(out: &mut String, rows: &[Row]) {
    let made: Vec<(&Row, &CodeCost)> =
        rows.iter().filter_map(|r| Some((r, r.stats.as_ref()?.code.as_ref()?))).collect();
    if made.is_empty() {
        return;
    }
    let names = Names::new("compiled for it", rows, 52);
    out.push('\n');
    names.head(out, "compiled for it");
    let _ = writeln!(
        out,
        "{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}{:>8}",
        "before", "after", "masks", "spills", "others", "preds", "spilled"
    );
    for (row, code) in made {
        let [masks, spills] = [Origin::Mask, Origin::Spill].map(|o| code.inserted(o));
        let others = code.inserted.iter().sum::<u64>() - masks - spills;
        let cell = |of: fn(&PredicateCost) -> u64| {
            code.pass.predicates.as_ref().map_or("-".to_owned(), |p| of(p).to_string())
        };
        names.of(out, row);
        let _ = writeln!(
            out,
            "{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}{:>8}",
            code.pass.before,
            code.pass.after,
            count(masks),
            count(spills),
            count(others),
            cell(|p| p.needed),
            cell(|p| p.spilled),
        );
    }
    paragraph(out, "", CODE_LEGEND);
}

const CODE_LEGEND: &str = "before, after: instructions of the kernel and what it calls. masks, spills, others: issues of what the pass inserted (others: flags, copies, barriers). preds: predicates needed at once. spilled: those with a spill slot.";

/// Formats a count in at most nine columns.
fn count(n: u64) -> String {
    if n < 1_000_000_000 { n.to_string() } else { format!("{:.3}e9", n as f64 / 1e9) }
}

/// Formats a factor in at most six columns.
fn ratio(factor: f64) -> String {
    if factor < 1000.0 { format!("{factor:.2}") } else { format!("{factor:.0}") }
}

/// Formats a count in at most six columns.
fn short(n: u64) -> String {
    if n < 1_000_000 { n.to_string() } else { format!("{:.1e}", n as f64) }
}
