//! Comparisons as text of at most 80 columns, without colour.

use std::fmt::Write as _;

use lab::show::paragraph;

use super::comparison::{Comparison, Row};
use super::tables;
use super::verdict::Verdict;
use checks::race::{Race, access_name, space_name};

/// Most items of a kind that are listed.
const SHOWN: usize = 4;

/// Renders the tables, followed by remarks on the rows.
#[must_use]
pub fn to_text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let kernels = comparison.title();
    paragraph(&mut out, "", &format!("{} in {}", kernels, comparison.module));
    out = out.trim_start().to_owned();
    out.push('\n');
    tables::tables(&mut out, comparison);
    remarks(&mut out, comparison);
    out
}

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
    let mut described: Vec<&Race> = Vec::new();
    for race in comparison.rows.iter().flat_map(|r| &r.races) {
        let pair = |r: &Race| (r.first.place.span, r.second.place.span);
        if !described.iter().any(|t| pair(t) == pair(race)) {
            described.push(race);
        }
    }
    described.iter().take(SHOWN).for_each(|race| describe_race(out, race));
    if described.len() > SHOWN {
        let _ = writeln!(out, "\nand {} more pairs of accesses that race", described.len() - SHOWN);
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
    for rows in alike(&comparison.rows) {
        remark(out, &rows);
    }
}

/// Groups the rows of which there is something to say by what that is: rows that hang for one
/// reason are told once.
pub(crate) fn alike(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let said = row.verdict == Verdict::Racy && row.differences.is_empty();
        if (row.verdict == Verdict::Ok || said) && orders_text(&row.orders).is_none() {
            continue;
        }
        match groups.iter_mut().find(|group| group.iter().any(|other| same(other, row))) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns whether the same is to be said of two rows.
fn same(a: &Row, b: &Row) -> bool {
    let story = |row: &Row| {
        let sentence = row.sentence.as_deref()?;
        let (_, story) = sentence.split_once(": ")?;
        Some(story.replace(&row.mechanism, ""))
    };
    let message = |row: &Row| row.report.as_ref().map(|report| report.message.clone());
    a.verdict == b.verdict
        && message(a) == message(b)
        && a.differences == b.differences
        && a.witnesses == b.witnesses
        && a.orders == b.orders
        && match a.verdict {
            Verdict::Hang => story(a).is_some() && story(a) == story(b),
            _ => a.sentence == b.sentence && a.report == b.report,
        }
}

/// Returns the rows as `ipdom, W = 32; min-pc, W = 8, 32`.
pub(crate) fn labels(rows: &[&Row]) -> String {
    let mut names: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let width = row.warp_size.to_string();
        match names.iter_mut().find(|(name, _)| *name == row.name()) {
            Some((_, widths)) => widths.push(width),
            None => names.push((row.name(), vec![width])),
        }
    }
    let label =
        |(name, widths): &(String, Vec<String>)| format!("{name}, W = {}", widths.join(", "));
    names.iter().map(label).collect::<Vec<_>>().join("; ")
}

fn remark(out: &mut String, rows: &[&Row]) {
    let Some(row) = rows.first() else { return };
    out.push('\n');
    paragraph(out, &format!("{}: ", row.verdict.name()), &labels(rows));
    if let Some(sentence) = &row.sentence {
        paragraph(out, "", sentence);
    }
    if let Some(report) = &row.report {
        paragraph(out, "", &report.message);
        for note in report.notes.iter().filter(|n| Some(*n) != row.sentence.as_ref()) {
            note.lines().for_each(|line| paragraph(out, "", line));
        }
    }
    if let Some(text) = orders_text(&row.orders) {
        paragraph(out, "orders: ", &text);
    }
    for difference in row.differences.iter().take(SHOWN) {
        paragraph(out, "differs: ", &format!("{}: {}", difference.what, difference.text));
    }
    for (dependence, place) in row.witnesses.iter().take(SHOWN) {
        let text = format!("{}: `{}` at {}", dependence.name(), place.text, place.describe());
        paragraph(out, "observes: ", &text);
    }
    if row.witnesses.len() > SHOWN {
        paragraph(out, "", &format!("and {} more", row.witnesses.len() - SHOWN));
    }
}

/// Says under how many orders of branch sides a kernel ends, if not all are alike.
fn orders_text(orders: &[(&str, Verdict)]) -> Option<String> {
    let ends = |verdict: &Verdict| !matches!(verdict, Verdict::Hang | Verdict::Fault);
    let (_, first) = orders.first()?;
    if orders.iter().all(|(_, verdict)| ends(verdict) == ends(first)) {
        return None;
    }
    let ended = orders.iter().filter(|(_, verdict)| ends(verdict)).count();
    let each: Vec<String> =
        orders.iter().map(|(name, verdict)| format!("{name} {}", verdict.name())).collect();
    let count = orders.len();
    Some(format!("ends under {ended} of {count} orders of branch sides: {}", each.join(", ")))
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
        let label = format!("{kind}: ");
        let text = format!("{}, {}: `{}`", side.site, side.place.describe(), side.place.text);
        paragraph(out, &label, &text);
    }
}
