//! Remarks on the rows: races, hangs, faults, refusals, differences, and the instructions that
//! expose the schedule.

use std::fmt::Write as _;

use checks::race::{Race, RacingAccess, access_name};
use machines::probe::Place;

use super::escape::text;
use crate::divergence::{Comparison, Row, Verdict, alike, labels};

/// Most items of a list that are shown.
const SHOWN: usize = 6;

/// Renders a place as a link to its line in the listing.
fn place(place: &Place) -> String {
    let what = text(&place.describe());
    match place.line {
        Some(line) => format!("<a href=\"#t{line}\">{what}</a>"),
        None => what,
    }
}

/// Renders all remarks, or a sentence if there are none.
pub(super) fn remarks(comparison: &Comparison) -> String {
    let mut out = String::new();
    if let Err(report) = &comparison.reference {
        let _ = writeln!(
            out,
            "<p class=\"note\">The reference, {}, did not end well: {}. Nothing can be compared with it.</p>",
            text(&comparison.reference_name),
            text(&report.message)
        );
    }
    for warning in &comparison.warnings {
        let notes: Vec<String> =
            warning.notes.iter().map(|n| format!("<li>{}</li>", text(n))).collect();
        let _ = writeln!(
            out,
            "<article class=\"finding\"><h3>Before running</h3><p><strong>{}</strong></p><ul>{}</ul></article>",
            text(&warning.message),
            notes.concat()
        );
    }
    races(&mut out, comparison);
    for rows in alike(&comparison.rows) {
        about(&mut out, &rows, &comparison.reference_name);
    }
    for row in &comparison.unsupported {
        let reason = row.report.as_ref().map_or("", |report| report.message.as_str());
        let _ = writeln!(
            out,
            "<p class=\"note\">Not for this kernel: {}: {}.</p>",
            text(&row.label()),
            text(reason)
        );
    }
    if comparison.rows.iter().all(|row| row.verdict == Verdict::Ok) {
        let reference = text(&comparison.reference_name);
        let _ = writeln!(
            out,
            "<p>Every run ends with the memory of the reference, {reference}, and no accesses race.</p>"
        );
    }
    out
}

fn races(out: &mut String, comparison: &Comparison) {
    let mut described: Vec<&Race> = Vec::new();
    for race in comparison.rows.iter().flat_map(|r| &r.races) {
        let pair = |r: &Race| (r.first.place.span, r.second.place.span);
        if !described.iter().any(|t| pair(t) == pair(race)) {
            described.push(race);
        }
    }
    for race in described.iter().take(SHOWN) {
        let times =
            if race.count == 1 { "once".to_owned() } else { format!("{} times", race.count) };
        let _ = writeln!(
            out,
            "<article class=\"finding\"><h3>Race</h3><p>Nothing orders these two accesses to the same bytes; seen {times}.</p><ul>{}{}</ul></article>",
            side(&race.first),
            side(&race.second)
        );
    }
    if described.len() > SHOWN {
        let _ = writeln!(
            out,
            "<p>And {} more pairs of accesses that race.</p>",
            described.len() - SHOWN
        );
    }
    if !comparison.races_complete {
        out.push_str("<p class=\"note\">More memory is used than is followed: races may have been missed.</p>\n");
    }
}

fn side(side: &RacingAccess) -> String {
    format!(
        "<li>{} by {} at {}: <code>{}</code></li>",
        access_name(side.kind),
        side.site,
        place(&side.place),
        text(&side.place.text)
    )
}

fn about(out: &mut String, rows: &[&Row], reference: &str) {
    let Some(row) = rows.first() else { return };
    let _ = write!(
        out,
        "<article class=\"finding\"><h3>{}: {}</h3>",
        row.verdict.name(),
        text(&labels(rows))
    );
    if let Some(sentence) = &row.sentence {
        let _ = write!(out, "<p><strong>{}</strong></p>", text(sentence));
    }
    if let Some(report) = &row.report {
        let _ = write!(out, "<p>{}</p>", text(&report.message));
        if !report.notes.is_empty() {
            out.push_str("<ul>");
            for note in report.notes.iter().filter(|n| Some(*n) != row.sentence.as_ref()) {
                let _ = write!(out, "<li>{}</li>", text(note));
            }
            out.push_str("</ul>");
        }
    }
    if !row.differences.is_empty() {
        let _ = write!(out, "<p>Differs from {}:</p><ul>", text(reference));
        for difference in row.differences.iter().take(SHOWN) {
            let (what, how) = (text(&difference.what), text(&difference.text));
            let _ = write!(out, "<li><code>{what}</code> {how}</li>");
        }
        out.push_str("</ul>");
    }
    if !row.witnesses.is_empty() {
        out.push_str("<p>Instructions that show the schedule:</p><ul>");
        for (dependence, at) in row.witnesses.iter().take(SHOWN) {
            let code = text(&at.text);
            let _ =
                write!(out, "<li>{}: <code>{code}</code> at {}</li>", dependence.name(), place(at));
        }
        out.push_str("</ul>");
        if row.witnesses.len() > SHOWN {
            let _ = write!(out, "<p>And {} more.</p>", row.witnesses.len() - SHOWN);
        }
    }
    out.push_str("</article>\n");
}
