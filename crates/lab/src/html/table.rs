//! The table of mechanisms: verdicts and costs.

use std::fmt::Write as _;

use super::escape::{grouped, text};
use crate::divergence::{Comparison, Row, Verdict};
use crate::stats::metric;

/// Columns after the name, with what their heads say at length.
const COLUMNS: [(&str, &str); 10] = [
    ("W", "lanes of an issue group"),
    ("verdict", "what is said of the run"),
    ("= serial", "whether memory and output are those of fair serial execution"),
    ("issues", "instructions issued by groups"),
    ("× best", "issues over those of the best mechanism at the same W"),
    ("SIMD %", "lanes in the issuing group, of all lane slots"),
    ("diverging branches", "branch issues whose lanes went to more than one place, of all"),
    ("depth", "most splits nested at an issue"),
    ("rejoin, mean", "issues of the group from a split to its own rejoin"),
    ("p99", "the time that 99 of 100 splits do not exceed"),
];

/// A sign beside the verdict's word, for a quick look.
const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "✓",
        Verdict::OrderDependent => "≈",
        Verdict::Racy => "⚠",
        Verdict::Hang => "∞",
        Verdict::Fault | Verdict::Unsound => "✗",
        Verdict::Unsupported => "–",
    }
}

/// The table. Each row has a button that chooses it for the views below.
pub(super) fn table(comparison: &Comparison) -> String {
    let mut out = String::from(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of mechanisms\" tabindex=\"0\">\
         <table class=\"costs\"><caption>Every mechanism at every warp size</caption>\n<thead><tr><th scope=\"col\">mechanism</th>",
    );
    for (name, long) in COLUMNS {
        let _ = write!(out, "<th scope=\"col\"><abbr title=\"{long}\">{name}</abbr></th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in comparison.rows.iter().enumerate() {
        line(&mut out, index, row);
    }
    out.push_str("</tbody></table></div>\n<dl class=\"columns\">");
    for (name, long) in COLUMNS {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{long}</dd></div>");
    }
    out.push_str("</dl>\n");
    out
}

fn line(out: &mut String, index: usize, row: &Row) {
    let name = text(&row.name());
    let chosen = match row.views.is_some() {
        true => {
            format!("<button type=\"button\" class=\"choose\" data-row=\"{index}\">{name}</button>")
        }
        false => name,
    };
    let equal = match row.equal {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    };
    let verdict = row.verdict.name();
    let _ = write!(
        out,
        "<tr data-row=\"{index}\"><th scope=\"row\">{chosen}</th><td class=\"n\">{}</td>\
         <td class=\"verdict v-{verdict}\"><span aria-hidden=\"true\">{}</span> {verdict}</td><td>{equal}</td>",
        row.warp_size,
        sign(row.verdict)
    );
    let Some(stats) = &row.stats else {
        out.push_str("<td class=\"n\">–</td>".repeat(7).as_str());
        out.push_str("</tr>\n");
        return;
    };
    let factor = row.impact.divergence_impact_factor;
    let efficiency = metric("warp_execution_efficiency").map_or(0.0, |m| (m.value)(stats));
    let branches = &stats.counters;
    let _ = writeln!(
        out,
        "<td class=\"n\" data-key=\"inst_executed\">{}</td><td class=\"n\" data-key=\"divergence_impact_factor\">{}</td>\
         <td class=\"n\" data-key=\"warp_execution_efficiency\">{efficiency:.1}</td><td class=\"n\">{} / {}</td>\
         <td class=\"n\" data-key=\"max_divergence_depth\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        grouped(stats.slots.issues()),
        factor.map_or("–".to_owned(), |f| format!("{f:.2}")),
        grouped(branches.divergent_branches),
        grouped(branches.branches),
        row.max_divergence_depth(),
        if row.times.rejoined > 0 { format!("{:.1}", row.times.mean) } else { "–".to_owned() },
        if row.times.rejoined > 0 { grouped(row.times.p99) } else { "–".to_owned() },
    );
}
