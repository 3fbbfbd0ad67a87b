//! The table of mechanisms, with verdicts and costs.

use std::fmt::Write as _;

use ir::Origin;
use machines::stats::CodeCost;
use vm::PredicateCost;

use super::escape::{grouped, text};
use crate::divergence::{Comparison, Row, Verdict};

/// Columns after the name, with their descriptions.
const COLUMNS: [(&str, &str); 12] = [
    ("W", "lanes of an issue group"),
    ("verdict", "what is said of the run"),
    (
        "= ref.",
        "whether memory and output are those of the reference: fair serial execution, where the machine has it",
    ),
    (
        "useful %",
        "thread instructions that serial execution needs (without it: lanes that execute, operations on masks apart), of all lanes of all issues",
    ),
    ("issues", "instructions issued by groups"),
    ("× best", "issues over those of the best mechanism at the same W that a machine could have"),
    (
        "SIMD %",
        "lanes in the issuing group, of all lane slots; lanes that a mask turns off are in the group, so compare it within one mechanism",
    ),
    ("diverging branches", "branch issues whose lanes went to more than one place, of all"),
    ("depth", "most splits nested at an issue"),
    ("rejoin, mean", "issues of the group from a split to its own rejoin"),
    ("p99", "the time that 99 of 100 splits do not exceed"),
    ("state, bits", "what the mechanism keeps for a group at its greatest depth"),
];

/// The additional column for machines with cycles.
const CYCLES: (&str, &str) = ("cycles", "what the model with a clock took");

/// Columns of the table of compiled code, with their descriptions.
const CODE_COLUMNS: [(&str, &str); 10] = [
    ("W", "lanes of an issue group"),
    ("before", "instructions of the kernel and what it calls"),
    ("after", "the same, as the pass has made them"),
    ("saved masks", "registers that hold masks"),
    ("mask issues", "issues of inserted operations on masks and predicates"),
    ("spill issues", "issues of stores to spill slots and loads from them"),
    ("other issues", "issues of inserted flags, copies and barriers"),
    ("predicates", "most predicates needed at once, that of all lanes counted"),
    ("spilled", "predicates that were given a spill slot"),
    ("stores, loads", "spill stores and loads in the code"),
];

/// Returns a symbol that accompanies the verdict.
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

/// Renders the table. Rows with views have a button that selects them.
pub(super) fn table(comparison: &Comparison) -> String {
    let mut out = String::from(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of mechanisms\" tabindex=\"0\">\
         <table class=\"costs\"><caption>Every mechanism at every warp size</caption>\n<thead><tr><th scope=\"col\">mechanism</th>",
    );
    let timed =
        comparison.rows.iter().any(|r| r.stats.as_ref().is_some_and(|s| s.counts.cycles > 0));
    let columns = [&COLUMNS[..], if timed { &[CYCLES] } else { &[] }].concat();
    heads(&mut out, &columns);
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in comparison.rows.iter().enumerate() {
        line(&mut out, index, row, timed);
    }
    out.push_str("</tbody></table></div>\n");
    long_names(&mut out, &columns);
    out.push_str(&code_table(comparison));
    out
}

fn line(out: &mut String, index: usize, row: &Row, timed: bool) {
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
        out.push_str("<td class=\"n\">–</td>".repeat(9 + usize::from(timed)).as_str());
        out.push_str("</tr>\n");
        return;
    };
    let factor = row.impact.divergence_impact_factor;
    let counts = &stats.counts;
    let efficiency = counts.metric("warp_execution_efficiency").unwrap_or_default();
    let cell = |n: u64| if n > 0 { grouped(n) } else { "–".to_owned() };
    let _ = write!(
        out,
        "<td class=\"n useful\" data-key=\"useful_lane_efficiency\">{}</td><td class=\"n\" data-key=\"inst_executed\">{}</td><td class=\"n\" data-key=\"divergence_impact_factor\">{}</td>\
         <td class=\"n\" data-key=\"warp_execution_efficiency\">{efficiency:.1}</td><td class=\"n\">{} / {}</td>\
         <td class=\"n\" data-key=\"max_divergence_depth\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\" data-key=\"state_bits\">{}</td>",
        row.useful.map_or("–".to_owned(), |useful| format!("{useful:.1}")),
        grouped(counts.slots.issues()),
        factor.map_or("–".to_owned(), |f| format!("{f:.2}")),
        grouped(counts.divergent_branches),
        grouped(counts.branches),
        row.max_divergence_depth(),
        row.times.mean.map_or("–".to_owned(), |mean| format!("{mean:.1}")),
        row.times.p99.map_or("–".to_owned(), grouped),
        cell(stats.state_bits),
    );
    if timed {
        let _ = write!(out, "<td class=\"n\" data-key=\"cycles\">{}</td>", cell(counts.cycles));
    }
    out.push_str("</tr>\n");
}

/// Renders the table of code that passes produced; empty if there is none.
fn code_table(comparison: &Comparison) -> String {
    let mut lines = String::new();
    for (index, row) in comparison.rows.iter().enumerate() {
        let code = row.stats.as_ref().and_then(|stats| stats.code.as_ref());
        code.into_iter().for_each(|code| code_line(&mut lines, index, row, code));
    }
    if lines.is_empty() {
        return lines;
    }
    let mut out = String::from(
        "<div class=\"scroll compiled\" role=\"region\" aria-label=\"Table of compiled code\" tabindex=\"0\">\
         <table class=\"costs compiled\"><caption>Code that compile-time mechanisms run</caption>\n<thead><tr><th scope=\"col\">compiled for</th>",
    );
    heads(&mut out, &CODE_COLUMNS);
    let _ = write!(out, "</tr></thead>\n<tbody>\n{lines}</tbody></table></div>\n");
    long_names(&mut out, &CODE_COLUMNS);
    out
}

fn heads(out: &mut String, columns: &[(&str, &str)]) {
    for (name, long) in columns {
        let _ = write!(out, "<th scope=\"col\"><abbr title=\"{long}\">{name}</abbr></th>");
    }
}

fn long_names(out: &mut String, columns: &[(&str, &str)]) {
    out.push_str("<dl class=\"columns\">");
    for (name, long) in columns {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{long}</dd></div>");
    }
    out.push_str("</dl>\n");
}

fn code_line(out: &mut String, index: usize, row: &Row, code: &CodeCost) {
    let [mask, spill] = [Origin::Mask, Origin::Spill].map(|origin| code.inserted(origin));
    let other = code.inserted.iter().sum::<u64>() - mask - spill;
    let pass = &code.pass;
    let predicates =
        |of: fn(&PredicateCost) -> String| pass.predicates.as_ref().map_or("–".to_owned(), of);
    let cells = [
        row.warp_size.to_string(),
        grouped(pass.before),
        grouped(pass.after),
        grouped(pass.saved_masks),
        grouped(mask),
        grouped(spill),
        grouped(other),
        predicates(|p| grouped(p.needed)),
        predicates(|p| grouped(p.spilled)),
        predicates(|p| format!("{}, {}", grouped(p.stores), grouped(p.loads))),
    ];
    let name = text(&row.name());
    let _ = write!(out, "<tr data-row=\"{index}\"><th scope=\"row\">{name}</th>");
    for cell in cells {
        let _ = write!(out, "<td class=\"n\">{cell}</td>");
    }
    out.push_str("</tr>\n");
}
